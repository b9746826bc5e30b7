//! The machine for debuggers and monitors: parts, measures, and runs with breakpoints.

mod events;
pub(crate) mod listing;
mod measures;
mod observer;
mod registers;

use std::ops::ControlFlow;

use wireloom_isa::microengine::{Signal, Version, text::signal_name};
use wireloom_machine::watch::{
    Breakpoint, Event, Goal, Halt, Listing, Measure, Memory, Part, RegisterValue, Thread, Watched,
    Why,
};
use wireloom_machine::{Result, Settled, Sink};
use wireloom_net::Frame;
use wireloom_sim::Stop;

pub use listing::Sources;
use observer::Watch;

use crate::energy::Metered;
use crate::engine::State;
use crate::machine::Ixp;
use crate::processor::Processor;
use crate::trace::Trace;

/// Cycles of a run after which traced events are collected.
const CHUNK: u64 = 1 << 15;

/// The most events that are kept until a caller fetches them. The oldest are lost.
const EVENTS: usize = 1 << 14;

/// The memories, by number: the name, and the words at each address.
const MEMORIES: [(&str, u32); 3] = [("sram", 1), ("sdram", 2), ("scratch", 1)];

/// The last signal of version 2. The first signal is 1.
const SIGNALS: u8 = 15;

fn state_name(state: State) -> &'static str {
    match state {
        State::Stopped => "stopped",
        State::Ready => "ready",
        State::Running => "running",
        State::Waiting => "waiting",
    }
}

impl<E: Metered> Ixp<E> {
    fn contents(&self, memory: usize) -> &[u32] {
        let chip = &self.processor.chip;
        match memory {
            0 => chip.sram.words(),
            1 => chip.sdram.words(),
            2 => chip.scratch.words(),
            _ => &[],
        }
    }

    /// The engine and the context of a thread.
    fn place(&self, thread: usize) -> (usize, usize) {
        let contexts = self.processor.chip.spec.engine.contexts as usize;
        (thread / contexts, thread % contexts)
    }

    fn version(&self) -> Version {
        self.processor.chip.spec.engine.version
    }

    /// The index of each engine's program among the listings. Engines can share a program.
    fn programs(&self) -> Vec<Option<usize>> {
        listing::distinct(&self.processor.chip.engines).1
    }

    /// Collects traced events, if a caller fetches events.
    fn keep_traced(&mut self) {
        let traced = self.processor.chip.trace.take();
        if self.keeps_events {
            let contexts = self.processor.chip.spec.engine.contexts as usize;
            let version = self.version();
            let told = traced.iter().map(|event| events::told(event, contexts, version));
            self.events.extend(told);
            let many = self.events.len().saturating_sub(EVENTS);
            self.events.drain(..many);
        }
    }
}

impl<E: Metered> Watched for Ixp<E> {
    fn parts(&self) -> Vec<Part> {
        measures::all(&self.processor).0
    }

    fn measures(&self) -> Vec<Measure> {
        measures::all(&self.processor).1
    }

    fn sample(&self, values: &mut Vec<u64>) {
        measures::sample(&self.processor, values);
    }

    fn cycle(&self) -> u64 {
        self.processor.chip.core_cycle(self.processor.now())
    }

    fn hertz(&self) -> f64 {
        self.processor.chip.spec.core.clock.rate()
    }

    fn listings(&self) -> Vec<Listing> {
        let (programs, _) = listing::distinct(&self.processor.chip.engines);
        let version = self.version();
        programs.into_iter().map(|program| listing::of(program, version, &self.sources)).collect()
    }

    fn threads(&self) -> Vec<Thread> {
        let version = self.version();
        let programs = self.programs();
        let parts = measures::threads(&self.processor);
        let mut threads = Vec::new();
        for (number, engine) in self.processor.chip.engines.iter().enumerate() {
            for context in engine.contexts() {
                let waits_for = match context.state {
                    State::Waiting => {
                        let bits = (0..16).filter(|bit| context.mask >> bit & 1 != 0);
                        let names = bits.map(|bit| signal_name(version, Signal(bit)));
                        let join = if context.any { " or " } else { " and " };
                        names.collect::<Vec<_>>().join(join)
                    }
                    _ => String::new(),
                };
                threads.push(Thread {
                    part: parts + threads.len(),
                    state: state_name(context.state),
                    listing: programs[number],
                    address: context.pc.into(),
                    waits_for,
                    instructions: context.instructions,
                });
            }
        }
        threads
    }

    fn registers(&self, thread: usize) -> Vec<RegisterValue> {
        let (engine, context) = self.place(thread);
        let engine = self.processor.chip.engines.get(engine);
        engine.map_or_else(Vec::new, |engine| registers::of(engine, context))
    }

    fn memories(&self) -> Vec<Memory> {
        let memory = |(number, (name, words)): (usize, &(&str, u32))| Memory {
            name: (*name).to_owned(),
            words: *words,
            addresses: self.contents(number).len() as u64 / u64::from(*words),
        };
        MEMORIES.iter().enumerate().map(memory).collect()
    }

    fn read(&self, memory: usize, address: u64, count: usize) -> Vec<u32> {
        let Some((_, words)) = MEMORIES.get(memory) else { return Vec::new() };
        let contents = self.contents(memory);
        let first = address.saturating_mul(u64::from(*words));
        let from = usize::try_from(first).unwrap_or(usize::MAX).min(contents.len());
        contents[from..].iter().take(count).copied().collect()
    }

    fn signals(&self) -> Vec<(u32, String)> {
        let version = self.version();
        // On version 1 every signal has a name.
        let last = match version {
            Version::One => Signal::NAMES.len() as u8,
            Version::Two => SIGNALS,
        };
        (1..=last).map(|number| (number.into(), signal_name(version, Signal(number)))).collect()
    }

    fn supply(&mut self, frames: &[Frame<'_>]) -> Result {
        self.accept(frames)
    }

    fn to_come(&self) -> u64 {
        self.processor.chip.cards.to_come() + self.held()
    }

    fn is_busy(&self) -> bool {
        self.processor.chip.cards.is_inside()
    }

    fn done(&self) -> u64 {
        self.processor.chip.cards.left + self.lost + self.processor.chip.cards.lost.len() as u64
    }

    fn resume(&mut self, goal: Goal, breakpoints: &[Breakpoint]) -> Result<Halt> {
        let needs_trace = breakpoints
            .iter()
            .any(|at| matches!(at, Breakpoint::Signal { .. } | Breakpoint::Memory { .. }));
        self.processor.chip.trace =
            if needs_trace || self.keeps_events { Trace::of(usize::MAX) } else { Trace::off() };
        let programs = self.programs();
        let mut watch = Watch::new(&self.processor, goal, breakpoints, &programs, self.done());
        let mut left = goal.cycles();
        while left > 0 {
            if self.held() > 0 && self.processor.chip.cards.to_come() == 0 {
                self.proceed();
            }
            let part = left.min(CHUNK);
            let ran = self.processor.observe_cycles(part, &mut watch);
            watch.begin_trace();
            self.keep_traced();
            self.processor.begins_to_count();
            match ran.map_err(|error| self.failure(error))? {
                ControlFlow::Break(halt) => return Ok(halt),
                ControlFlow::Continue(Stop::Silent)
                    if self.processor.chip.cards.to_come() > 0 || self.held() == 0 =>
                {
                    return Ok(Halt { why: Why::Silent, thread: None });
                }
                // Packets that waited for a tick come next.
                ControlFlow::Continue(Stop::Silent) => {}
                ControlFlow::Continue(_) => left -= part,
            }
        }
        let why = if matches!(goal, Goal::Cycles(_)) { Why::Goal } else { Why::Late };
        Ok(Halt { why, thread: None })
    }

    fn collect(&mut self, sink: Sink<'_>) -> Result<Settled> {
        self.settle(sink)
    }

    fn keep_events(&mut self, keep: bool) {
        self.keeps_events = keep;
    }

    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events).into()
    }
}

/// The number of a thread.
fn thread(contexts: usize, engine: usize, context: u8) -> usize {
    engine * contexts + usize::from(context)
}

/// The number of contexts of each engine.
fn contexts<E>(processor: &Processor<E>) -> usize {
    processor.chip.spec.engine.contexts as usize
}

//! The machine for debuggers and monitors: its parts, what they do, and runs that break.

mod listings;
mod measures;

use wireloom_isa::raw::{Network, Register};
use wireloom_machine::watch::{
    Access, Breakpoint, Event, Goal, Halt, Listing, Measure, Memory as Words, Part, RegisterValue,
    Thread, Watched, Why,
};
use wireloom_machine::{Error, Result, Settled, Sink};
use wireloom_net::Frame;

pub use listings::Programs;

use super::{Raw, STEP};
use crate::device::{Begun, Memory};
use crate::layout::Layout;
use crate::switch::{Block, Doing};
use measures::THREADS;

/// Packets at a port that fill its bar; more can wait.
const PORT_PLACES: u64 = 256;
/// The most events that are kept until they are asked for; the oldest are lost.
const EVENTS: usize = 1 << 14;
/// The name of the memory.
const MEMORY: &str = "memory";

/// What is checked after each cycle of a run.
struct Watch<'a> {
    goal: Goal,
    breakpoints: &'a [Breakpoint],
    /// Instructions that each thread had executed, and where it was.
    before: Vec<(u64, u64)>,
    /// Instructions of the run, by thread.
    count: u64,
    /// Packets that had left.
    left: u64,
}

impl Raw {
    /// Packets that have left.
    pub(super) fn has_left(&self) -> u64 {
        self.accepted - self.pending.iter().map(|pending| pending.len() as u64).sum::<u64>()
    }

    /// Instructions that each thread has executed, and the number of its next one.
    fn progress(&self) -> Vec<(u64, u64)> {
        let both = self.chip.tiles.iter().zip(&self.chip.switches);
        both.flat_map(|(tile, switch)| {
            [(tile.executed, u64::from(tile.pc / 4)), (switch.executed, switch.pc.into())]
        })
        .collect()
    }

    /// What a processor does next, and on what it waits, in words.
    fn state(&self, thread: usize) -> (&'static str, String) {
        let (chip, now) = (&self.chip, self.chip.cycles() + 1);
        let tile = thread / THREADS;
        let doing = match thread % THREADS {
            0 => chip.tiles[tile].doing(&chip.layout, &chip.queues, now),
            _ => chip.switches[tile].doing(&chip.queues, now),
        };
        let told = |(from, to): (String, String), is_empty| match is_empty {
            true => format!("a word from {from}"),
            false => format!("room at {to}"),
        };
        match doing {
            Doing::Stopped => ("stopped", String::new()),
            Doing::Running => ("running", String::new()),
            Doing::Pipeline => ("pipeline", String::new()),
            Doing::Memory => ("memory", "a line".to_owned()),
            Doing::Network(block) => {
                let (queue, is_empty) = match block {
                    Block::Empty(queue) => (queue, true),
                    Block::Full(queue) => (queue, false),
                };
                ("network", told(chip.layout.parties(queue), is_empty))
            }
        }
    }

    /// The thread of the processor of a tile.
    fn thread_of(&self, (x, y): (u8, u8)) -> usize {
        THREADS * (usize::from(y) * self.chip.layout.columns + usize::from(x))
    }

    fn memory(&mut self) -> Option<&mut Memory> {
        let (place, side) = self.placement.memory;
        self.chip.device(place, side)
    }

    fn keep_event(&mut self, thread: Option<usize>, what: String) {
        if self.keeps_events {
            if self.events.len() == EVENTS {
                self.events.pop_front();
            }
            self.events.push_back(Event { cycle: self.cycle(), thread, what });
        }
    }

    /// Runs until the goal or a breakpoint.
    fn go(&mut self, goal: Goal, breakpoints: &[Breakpoint]) -> Result<Halt> {
        let needs_memory = breakpoints.iter().any(|at| matches!(at, Breakpoint::Memory { .. }));
        let keeps = needs_memory || self.keeps_events;
        if let Some(memory) = self.memory() {
            memory.keep_begun(keeps);
        }
        let is_open = matches!(goal, Goal::Cycles(_)) && breakpoints.is_empty();
        let step = if is_open && !keeps { STEP } else { 1 };
        let (before, left) = (self.progress(), self.has_left());
        let mut watch = Watch { goal, breakpoints, before, count: 0, left };
        let mut left = goal.cycles();
        while left > 0 {
            if self.to_come() == 0 {
                return Ok(Halt { why: Why::Silent, thread: None });
            }
            if matches!(goal, Goal::Arrival { .. }) {
                return Ok(Halt { why: Why::Goal, thread: None });
            }
            let cycles = left.min(step);
            self.run(cycles)?;
            left -= cycles;
            let entered = self.collect_left()?;
            if step == 1
                && let Some(halt) = self.check(&mut watch, &entered)
            {
                return Ok(halt);
            }
        }
        let why = if matches!(goal, Goal::Cycles(_)) { Why::Goal } else { Why::Late };
        Ok(Halt { why, thread: None })
    }

    /// Looks for a breakpoint, or the goal, after a cycle in which these packets began to enter.
    fn check(&mut self, watch: &mut Watch<'_>, entered: &[u64]) -> Option<Halt> {
        let begun = self.memory().map(Memory::take_begun).unwrap_or_default();
        for Begun { origin, address, words, is_write } in &begun {
            let way = if *is_write { "writes" } else { "reads" };
            let thread = self.thread_of(*origin);
            let what = format!("{way} {words} words of memory at {:#x}", address / 4);
            self.keep_event(Some(thread), what);
        }
        for number in entered {
            self.keep_event(None, format!("packet {number} enters"));
        }
        let left = self.has_left();
        if left > watch.left {
            self.keep_event(None, format!("{} packets have left", left));
        }
        let now = self.progress();
        let is_at = |listing: usize, addresses: &[u64], thread: usize| {
            let (before, now) = (watch.before[thread], now[thread]);
            before != now
                && addresses.contains(&now.1)
                && self.programs.as_ref().is_some_and(|all| all.of[thread] == Some(listing))
        };
        // The place of a breakpoint that is hit, with its thread.
        let hit = |breakpoint: &Breakpoint| match breakpoint {
            Breakpoint::Instruction { listing, addresses, thread } => {
                let all = 0..now.len();
                let mut threads = all.filter(|at| thread.is_none_or(|thread| thread == *at));
                threads.find(|at| is_at(*listing, addresses, *at)).map(Some)
            }
            Breakpoint::Packet(number) => entered.contains(number).then_some(None),
            Breakpoint::Memory { first, last, access, .. } => {
                let touches = |begun: &&Begun| {
                    let from = u64::from(begun.address / 4);
                    let to = from + u64::from(begun.words.max(1)) - 1;
                    let is_wanted = match access {
                        Access::Read => !begun.is_write,
                        Access::Write => begun.is_write,
                        Access::Any => true,
                    };
                    is_wanted && from <= *last && *first <= to
                };
                begun.iter().find(touches).map(|begun| Some(self.thread_of(begun.origin)))
            }
            Breakpoint::Signal { .. } => None,
        };
        let breaks = watch.breakpoints.iter().enumerate();
        let mut breaks = breaks.filter_map(|(place, breakpoint)| Some((place, hit(breakpoint)?)));
        if let Some((place, thread)) = breaks.next() {
            return Some(Halt { why: Why::Breakpoint(place), thread });
        }
        let done = |thread: usize| now[thread].0 - watch.before[thread].0;
        let mut reached = None;
        match watch.goal {
            Goal::Instructions { thread, count, .. } => {
                let mut threads = match thread {
                    Some(thread) => thread..thread + 1,
                    None => 0..now.len(),
                };
                watch.count += threads.clone().map(done).sum::<u64>();
                if watch.count >= count {
                    reached = Some(threads.find(|thread| done(*thread) > 0));
                }
            }
            Goal::Packets { count, .. } if left >= watch.left + count => reached = Some(None),
            _ => {}
        }
        watch.before = now;
        reached.map(|thread| Halt { why: Why::Goal, thread })
    }
}

impl Watched for Raw {
    fn parts(&self) -> Vec<Part> {
        measures::list(self).parts
    }

    fn measures(&self) -> Vec<Measure> {
        measures::list(self).measures
    }

    fn sample(&self, values: &mut Vec<u64>) {
        values.append(&mut measures::list(self).values);
    }

    fn cycle(&self) -> u64 {
        self.chip.cycles()
    }

    fn hertz(&self) -> f64 {
        f64::from(self.spec.chip.clock_mhz) * 1e6
    }

    fn listings(&self) -> Vec<Listing> {
        self.programs.as_ref().map(|programs| programs.listings.clone()).unwrap_or_default()
    }

    fn threads(&self) -> Vec<Thread> {
        let parts = measures::threads(self);
        let progress = self.progress().into_iter().enumerate();
        progress
            .map(|(number, (instructions, address))| {
                let (state, waits_for) = self.state(number);
                let listing = self.programs.as_ref().and_then(|programs| programs.of[number]);
                let part = parts + number;
                Thread { part, state, listing, address, waits_for, instructions }
            })
            .collect()
    }

    fn registers(&self, thread: usize) -> Vec<RegisterValue> {
        let (tile, is_switch) = (thread / THREADS, thread % THREADS == 1);
        let value = |register: String, value| RegisterValue { register, names: Vec::new(), value };
        let (Some(processor), Some(switch)) =
            (self.chip.tiles.get(tile), self.chip.switches.get(tile))
        else {
            return Vec::new();
        };
        if is_switch {
            let registers = switch.registers.iter().enumerate();
            return registers.map(|(number, word)| value(format!("${number}"), *word)).collect();
        }
        let mut all = Vec::new();
        for (number, word) in (0..).zip(&processor.registers) {
            let register = Register(number);
            if register.network().is_none() {
                all.push(value(register.name(true).to_owned(), *word));
            }
        }
        all.push(value("hi".to_owned(), processor.hi_lo.0));
        all.push(value("lo".to_owned(), processor.hi_lo.1));
        // Networks that have a word for the processor.
        let now = self.chip.cycles() + 1;
        for network in Network::ALL {
            let queue = self.chip.layout.to_processor(tile, network as usize);
            if let Some(word) = self.chip.queues[queue].front(now) {
                all.push(value(network.register_names().0.to_owned(), word));
            }
        }
        all
    }

    fn memories(&self) -> Vec<Words> {
        let addresses = u64::from(self.spec.memory.megabytes) << 18;
        vec![Words { name: MEMORY.to_owned(), words: 1, addresses }]
    }

    fn read(&self, memory: usize, address: u64, count: usize) -> Vec<u32> {
        let addresses = (address..).take(if memory == 0 { count } else { 0 });
        let words = addresses.map_while(|address| {
            let address = u32::try_from(address.checked_mul(4)?).ok()?;
            self.chip.word(address)
        });
        words.collect()
    }

    fn signals(&self) -> Vec<(u32, String)> {
        Vec::new()
    }

    fn supply(&mut self, frames: &[Frame<'_>]) -> Result {
        frames.iter().try_for_each(|frame| self.accept(frame))
    }

    fn to_come(&self) -> u64 {
        self.accepted + self.lines.coming.len() as u64 - self.has_left()
    }

    fn is_busy(&self) -> bool {
        self.to_come() > 0
    }

    fn done(&self) -> u64 {
        self.has_left()
    }

    fn resume(&mut self, goal: Goal, breakpoints: &[Breakpoint]) -> Result<Halt> {
        let halt = self.go(goal, breakpoints);
        self.metering.charge(&self.chip);
        halt.map_err(|error| Error::new(error.message))
    }

    fn collect(&mut self, sink: Sink<'_>) -> Result<Settled> {
        Ok(self.pass_on(sink))
    }

    fn keep_events(&mut self, keep: bool) {
        self.keeps_events = keep;
    }

    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events).into()
    }
}

/// The programs of a machine's chip.
pub(super) fn programs(machine: &Raw) -> Programs {
    let Layout { columns, rows, .. } = machine.chip.layout;
    let (compiled, files) = (&machine.compiled, &machine.program.files);
    Programs::of(&compiled.image, &compiled.text, files, (columns as u8, rows as u8))
}

//! The machine for debuggers and monitors: its parts, their states, and runs with breakpoints.

mod lines;
mod listings;
mod measures;

use std::collections::VecDeque;

use wireloom_isa::raw::{Network, Register};
use wireloom_machine::watch::{
    Access, Breakpoint, Event, Goal, Halt, HeldQueue, Listing, Measure, Memory as Words, Part,
    RegisterValue, Thread, Watched, Why,
};
use wireloom_machine::{Result, Settled, Sink};
use wireloom_net::Frame;

pub(super) use lines::located;
pub use listings::Programs;
use measures::NETWORKS;
pub(super) use measures::{List, THREADS, threads as first_thread};

use super::place::Edge;
use super::{Raw, STEP};
use crate::Chip;
use crate::device::{Begun, Memory};
use crate::layout::Layout;
use crate::switch::{Block, Doing};

/// Packets that fill the bar of a port. More can wait.
pub(super) const PORT_PLACES: u64 = 256;
/// Limit on the events that are kept. The oldest are dropped.
const EVENTS: usize = 1 << 14;
/// The name of the memory that all tiles share.
pub(super) const MEMORY: &str = "memory";

/// The events that a debugger has not taken yet, if it takes events.
#[derive(Clone, Debug, Default)]
pub struct Events {
    events: VecDeque<Event>,
    are_kept: bool,
}

/// A machine whose chip is watched. The meaning of a packet depends on the machine.
pub trait Observed {
    /// Returns the chip.
    fn chip(&self) -> &Chip;

    /// Returns the chip for changes.
    fn chip_mut(&mut self) -> &mut Chip;

    /// Returns the programs, if they are known.
    fn programs(&self) -> Option<&Programs>;

    /// Returns the events for a debugger.
    fn events(&mut self) -> &mut Events;

    /// Returns the ports with memories.
    fn memory_ports(&self) -> Vec<Edge>;

    /// Simulates `cycles` cycles.
    ///
    /// # Errors
    /// If a program fails, or units wait and none can go on.
    fn simulate(&mut self, cycles: u64) -> Result;

    /// Takes the packets that have left the chip. Returns the packets that began to enter.
    ///
    /// # Errors
    /// If words that left have no meaning.
    fn take_left(&mut self) -> Result<Vec<u64>>;

    /// Returns the number of packets that have left.
    fn has_left(&self) -> u64;

    /// Returns the number of packets that were given and have not left.
    fn to_come(&self) -> u64;

    /// Goes on after a pause without packets. Returns whether packets came.
    fn proceed(&mut self) -> bool {
        false
    }
}

/// The state that is checked after each cycle of a run.
struct Watch<'a> {
    goal: Goal,
    breakpoints: &'a [Breakpoint],
    /// Instructions that each thread had executed, and its address.
    before: Vec<(u64, u64)>,
    /// Instructions that the goal's threads have executed in this run.
    count: u64,
    /// The number of packets that had left.
    left: u64,
}

/// Returns the instructions that each thread has executed, and the number of its next one.
fn progress(chip: &Chip) -> Vec<(u64, u64)> {
    let both = chip.tiles.iter().zip(&chip.switches);
    both.flat_map(|(tile, switch)| {
        [(tile.executed, u64::from(tile.pc / 4)), (switch.executed, switch.pc.into())]
    })
    .collect()
}

/// Returns the state of a processor, and the reason if it waits, as text.
fn state(chip: &Chip, thread: usize) -> (&'static str, String) {
    let now = chip.cycles() + 1;
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

/// Returns the thread of the processor of a tile.
fn thread_of(chip: &Chip, (x, y): (u8, u8)) -> usize {
    THREADS * (usize::from(y) * chip.layout.columns + usize::from(x))
}

/// Returns the threads of a chip: the processor and the switch of each tile.
pub(super) fn threads(chip: &Chip, programs: Option<&Programs>) -> Vec<Thread> {
    let parts = first_thread(chip);
    let progress = progress(chip).into_iter().enumerate();
    progress
        .map(|(number, (instructions, address))| {
            let (state, waits_for) = state(chip, number);
            let listing = programs.and_then(|programs| programs.of[number]);
            let part = parts + number;
            Thread { part, state, listing, address, waits_for, instructions }
        })
        .collect()
}

/// Returns the registers of a thread.
pub(super) fn registers(chip: &Chip, thread: usize) -> Vec<RegisterValue> {
    let (tile, is_switch) = (thread / THREADS, thread % THREADS == 1);
    let value = |register: String, value| RegisterValue { register, names: Vec::new(), value };
    let (Some(processor), Some(switch)) = (chip.tiles.get(tile), chip.switches.get(tile)) else {
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
    // Shows networks that have a word for the processor.
    let now = chip.cycles() + 1;
    for network in Network::ALL {
        let queue = chip.layout.to_processor(tile, network as usize);
        if let Some(word) = chip.queues[queue].front(now) {
            all.push(value(network.register_names().0.to_owned(), word));
        }
    }
    all
}

/// Returns words of memory from a word's address on, as programs left them.
pub(super) fn words(chip: &Chip, address: u64, count: usize) -> Vec<u32> {
    let words = (address..).take(count).map_while(|address| {
        let address = u32::try_from(address.checked_mul(4)?).ok()?;
        chip.word(address)
    });
    words.collect()
}

/// Returns the queues on the chip that hold words, with the writer and the reader of each.
pub(super) fn held(chip: &Chip) -> Vec<HeldQueue> {
    let places = u64::from(chip.spec().queue_words);
    let queues = chip.queues.iter().enumerate().filter(|(_, queue)| !queue.is_empty());
    let held = queues.map(|(number, queue)| {
        let (from, to) = chip.layout.parties(number);
        let what = NETWORKS[chip.layout.network(number)];
        HeldQueue { what, from, to, held: queue.written() - queue.passed, places }
    });
    held.collect()
}

impl Events {
    /// Sets whether events are kept.
    pub fn keep_from_now(&mut self, keep: bool) {
        self.are_kept = keep;
    }

    /// Takes the events that were kept.
    pub fn take(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events).into()
    }

    fn keep(&mut self, event: Event) {
        if self.are_kept {
            if self.events.len() == EVENTS {
                self.events.pop_front();
            }
            self.events.push_back(event);
        }
    }
}

fn keep_event(machine: &mut impl Observed, thread: Option<usize>, what: String) {
    let cycle = machine.chip().cycles();
    machine.events().keep(Event { cycle, thread, what });
}

/// Runs until the goal or a breakpoint is reached.
///
/// # Errors
/// As [`Observed::simulate`] and [`Observed::take_left`].
pub(super) fn go(
    machine: &mut impl Observed,
    goal: Goal,
    breakpoints: &[Breakpoint],
) -> Result<Halt> {
    let needs_memory = breakpoints.iter().any(|at| matches!(at, Breakpoint::Memory { .. }));
    let keeps = needs_memory || machine.events().are_kept;
    for (place, side) in machine.memory_ports() {
        if let Some(memory) = machine.chip_mut().device::<Memory>(place, side) {
            memory.keep_begun(keeps);
        }
    }
    let is_open = matches!(goal, Goal::Cycles(_)) && breakpoints.is_empty();
    let step = if is_open && !keeps { STEP } else { 1 };
    let (before, left) = (progress(machine.chip()), machine.has_left());
    let mut watch = Watch { goal, breakpoints, before, count: 0, left };
    let mut left = goal.cycles();
    while left > 0 {
        if machine.to_come() == 0 && !machine.proceed() {
            return Ok(Halt { why: Why::Silent, thread: None });
        }
        if matches!(goal, Goal::Arrival { .. }) {
            return Ok(Halt { why: Why::Goal, thread: None });
        }
        let cycles = left.min(step);
        machine.simulate(cycles)?;
        left -= cycles;
        let entered = machine.take_left()?;
        if step == 1
            && let Some(halt) = check(machine, &mut watch, &entered)
        {
            return Ok(halt);
        }
    }
    let why = if matches!(goal, Goal::Cycles(_)) { Why::Goal } else { Why::Late };
    Ok(Halt { why, thread: None })
}

/// Looks for a breakpoint or the goal, after a cycle in which the packets `entered` began to enter.
fn check(machine: &mut impl Observed, watch: &mut Watch<'_>, entered: &[u64]) -> Option<Halt> {
    let mut begun = Vec::new();
    for (place, side) in machine.memory_ports() {
        if let Some(memory) = machine.chip_mut().device::<Memory>(place, side) {
            begun.append(&mut memory.take_begun());
        }
    }
    for Begun { origin, address, words, is_write } in &begun {
        let way = if *is_write { "writes" } else { "reads" };
        let thread = thread_of(machine.chip(), *origin);
        let what = format!("{way} {words} words of memory at {:#x}", address / 4);
        keep_event(machine, Some(thread), what);
    }
    for number in entered {
        keep_event(machine, None, format!("packet {number} enters"));
    }
    let left = machine.has_left();
    if left > watch.left {
        keep_event(machine, None, format!("{left} packets have left"));
    }
    let now = progress(machine.chip());
    let is_at = |listing: usize, addresses: &[u64], thread: usize| {
        let (before, now) = (watch.before[thread], now[thread]);
        before != now
            && addresses.contains(&now.1)
            && machine.programs().is_some_and(|all| all.of[thread] == Some(listing))
    };
    // Returns the place of a breakpoint that is hit, with its thread.
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
            begun.iter().find(touches).map(|begun| Some(thread_of(machine.chip(), begun.origin)))
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

impl Raw {
    /// Returns the number of packets that have left.
    pub(super) fn has_left(&self) -> u64 {
        self.accepted - self.pending.iter().map(|pending| pending.len() as u64).sum::<u64>()
    }
}

impl Observed for Raw {
    fn chip(&self) -> &Chip {
        &self.chip
    }

    fn chip_mut(&mut self) -> &mut Chip {
        &mut self.chip
    }

    fn programs(&self) -> Option<&Programs> {
        self.programs.as_ref()
    }

    fn events(&mut self) -> &mut Events {
        &mut self.events
    }

    fn memory_ports(&self) -> Vec<Edge> {
        vec![self.placement.memory]
    }

    fn simulate(&mut self, cycles: u64) -> Result {
        self.run(cycles)
    }

    fn take_left(&mut self) -> Result<Vec<u64>> {
        self.collect_left()
    }

    fn has_left(&self) -> u64 {
        Self::has_left(self)
    }

    fn to_come(&self) -> u64 {
        self.accepted + self.lines.coming.len() as u64 - Self::has_left(self)
    }

    fn proceed(&mut self) -> bool {
        Self::proceed(self)
    }
}

impl Watched for Raw {
    fn parts(&self) -> Vec<Part> {
        measures::of_engine(self).parts
    }

    fn measures(&self) -> Vec<Measure> {
        measures::of_engine(self).measures
    }

    fn sample(&self, values: &mut Vec<u64>) {
        values.append(&mut measures::of_engine(self).values);
    }

    fn cycle(&self) -> u64 {
        self.chip.cycles()
    }

    fn hertz(&self) -> f64 {
        f64::from(self.spec.chip.clock_mhz) * 1e6
    }

    fn listings(&self) -> Vec<Listing> {
        self.programs.as_ref().map_or(Vec::new(), |all| all.listings.clone())
    }

    fn threads(&self) -> Vec<Thread> {
        threads(&self.chip, self.programs.as_ref())
    }

    fn registers(&self, thread: usize) -> Vec<RegisterValue> {
        registers(&self.chip, thread)
    }

    fn memories(&self) -> Vec<Words> {
        let addresses = u64::from(self.spec.memory.megabytes) << 18;
        vec![Words { name: MEMORY.to_owned(), words: 1, addresses }]
    }

    fn read(&self, memory: usize, address: u64, count: usize) -> Vec<u32> {
        words(&self.chip, address, if memory == 0 { count } else { 0 })
    }

    fn queues(&self) -> Option<Vec<HeldQueue>> {
        Some(held(&self.chip))
    }

    fn signals(&self) -> Vec<(u32, String)> {
        Vec::new()
    }

    fn supply(&mut self, frames: &[Frame<'_>]) -> Result {
        frames.iter().try_for_each(|frame| self.accept(frame))
    }

    fn to_come(&self) -> u64 {
        Observed::to_come(self) + self.held()
    }

    fn is_busy(&self) -> bool {
        Observed::to_come(self) > 0
    }

    fn done(&self) -> u64 {
        Self::has_left(self)
    }

    fn resume(&mut self, goal: Goal, breakpoints: &[Breakpoint]) -> Result<Halt> {
        let halt = go(self, goal, breakpoints);
        self.metering.charge(&self.chip);
        halt
    }

    fn collect(&mut self, sink: Sink<'_>) -> Result<Settled> {
        Ok(self.pass_on(sink))
    }

    fn keep_events(&mut self, keep: bool) {
        self.events.keep_from_now(keep);
    }

    fn take_events(&mut self) -> Vec<Event> {
        self.events.take()
    }
}

/// Returns the programs of a machine's chip.
pub(super) fn programs(machine: &Raw) -> Programs {
    let Layout { columns, rows, .. } = machine.chip.layout;
    let (compiled, files) = (&machine.compiled, &machine.program.files);
    Programs::of_engine(&compiled.image, &compiled.text, files, (columns as u8, rows as u8))
}

//! The machine for debuggers and monitors: its parts and measures, and runs with breakpoints.
//!
//! A watched machine simulates every cycle ([`wireloom_sim::Effort::Naive`]). Otherwise run-ahead
//! would execute instructions before their issue time, and a debugger would see their effects too
//! early.

use std::collections::VecDeque;

use wireloom_machine::watch::{
    Access, Breakpoint, Event, Goal, Halt, Listing, Measure, MeasureKind, Memory, Part, PartKind,
    RegisterValue, Thread, Watched, Why,
};
use wireloom_machine::{Error, Result, Settled, Sink};
use wireloom_net::Frame;
use wireloom_power::Account;

use crate::Spec;
use crate::energy::groups;
use crate::kind::{Mpsoc, settled};
use crate::mpe::SHARED;
use crate::platform::Look;
use crate::spec::Set;

/// The maximum number of events that are kept until they are taken. Further events displace the
/// oldest.
const EVENTS: usize = 1 << 14;
/// The name of shared memory, and of the program of all threads.
const MEMORY: &str = "shared";
pub(super) const PROGRAM: &str = "threads";

/// The state that a machine keeps for its debugger or monitor.
pub struct Watching {
    name: String,
    hertz: f64,
    processors: usize,
    threads: usize,
    /// The number of registers of the instruction set, and the letter before their numbers.
    registers: (usize, char),
    shared_words: u64,
    /// The maximum number of packets inside packet I/O, and the number of its threads.
    places: [u64; 2],
    /// The number of simulated cycles.
    cycle: u64,
    offered: u64,
    events: VecDeque<Event>,
    keeps_events: bool,
}

impl Watching {
    /// The state for a machine that has not run.
    pub fn new(spec: &Spec) -> Self {
        Self {
            name: spec.name.clone(),
            hertz: spec.processor.clock.rate(),
            processors: spec.processors as usize,
            threads: spec.threads as usize,
            registers: match spec.processor.instruction_set {
                Set::Armv4 => (15, 'r'),
                Set::Rv32im => (32, 'x'),
            },
            shared_words: u64::from(spec.memory.bytes) / 4,
            places: [spec.io.packets.into(), spec.io.threads.into()],
            cycle: 0,
            offered: 0,
            events: VecDeque::new(),
            keeps_events: false,
        }
    }

    fn all_threads(&self) -> usize {
        self.processors * self.threads
    }

    fn keep_event(&mut self, thread: Option<usize>, what: String) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.events.push_back(Event { cycle: self.cycle, thread, what });
    }
}

/// Parts, measures and values, in the same order.
#[derive(Default)]
struct List {
    parts: Vec<Part>,
    measures: Vec<Measure>,
    values: Vec<u64>,
}

impl List {
    fn part(&mut self, name: impl Into<String>, kind: PartKind, within: Option<usize>) -> usize {
        self.parts.push(Part { name: name.into(), kind, within });
        self.parts.len() - 1
    }

    fn measure(&mut self, part: usize, name: &'static str, kind: MeasureKind, value: u64) {
        self.measures.push(Measure { part, name, kind });
        self.values.push(value);
    }
}

/// All parts and measures, with their current values.
fn list(watching: &Watching, look: &Look, account: &Account) -> List {
    use MeasureKind::{Busy, Count, Energy, Level, State};
    let picojoules = |energy: wireloom_sim::Energy| energy.as_picojoules() as u64;
    let mut list = List::default();
    let whole = list.part(&watching.name, PartKind::Machine, None);
    for number in 0..watching.processors {
        list.part(format!("processor {number}"), PartKind::Engine, Some(whole));
    }
    for number in 0..watching.processors {
        for thread in 0..watching.threads {
            list.part(format!("thread {thread}"), PartKind::Thread, Some(1 + number));
        }
    }
    let cycle = watching.cycle;
    list.measure(whole, "packets left", Count, look.done[0]);
    list.measure(whole, "energy", Energy, picojoules(account.total()));
    for (number, busy) in look.busy.iter().enumerate() {
        list.measure(1 + number, "busy", State, *busy);
        list.measure(1 + number, "idle", State, cycle.saturating_sub(*busy));
        list.measure(1 + number, "energy", Energy, picojoules(account.unit(number)));
    }
    for (number, thread) in look.threads.iter().enumerate() {
        let part = 1 + watching.processors + number;
        let [waiting, idle] = thread.waited;
        list.measure(part, "running", State, cycle.saturating_sub(waiting + idle));
        list.measure(part, "waiting", State, waiting);
        list.measure(part, "idle", State, idle);
        list.measure(part, "instructions", Count, thread.instructions);
    }
    let [messages, bytes, under_way] = look.network;
    let part = list.part("network", PartKind::Bus, Some(whole));
    list.measure(part, "messages", Count, messages);
    list.measure(part, "bytes", Count, bytes);
    // The network has no fixed number of places for messages, so it has no level.
    list.measure(part, "messages sent", Count, messages + under_way);
    let part = list.part("broker", PartKind::Queue, Some(whole));
    // Each waiting call is a packet that waits for a thread.
    list.measure(part, "calls", Level { places: watching.places[0] }, look.waiting);
    for served in &look.served {
        let kind = if served.is_memory { PartKind::Memory } else { PartKind::Unit };
        let part = list.part(&served.name, kind, Some(whole));
        list.measure(part, "busy", Busy, served.busy);
        list.measure(part, "calls", Count, served.count);
    }
    let part = list.part("packet I/O", PartKind::Port, Some(whole));
    list.measure(part, "packets", Level { places: watching.places[0] }, look.io[0]);
    list.measure(part, "lost", Count, look.done[1]);
    let part = list.part("threads of packet I/O", PartKind::Queue, Some(whole));
    list.measure(part, "threads", Level { places: watching.places[1] }, look.io[1]);
    for (name, energy) in groups(account) {
        let part = list.part(format!("{name}, power"), PartKind::Unit, Some(whole));
        list.measure(part, "energy", Energy, picojoules(energy));
    }
    list
}

impl Mpsoc {
    fn look(&self) -> Look {
        self.engine.look(self.watching.cycle)
    }

    fn list(&self) -> List {
        list(&self.watching, &self.look(), &self.engine.energy())
    }

    /// Runs until the goal is reached or a breakpoint is hit.
    fn go(&mut self, goal: Goal, breakpoints: &[Breakpoint]) -> Result<Halt> {
        let is_open = matches!(goal, Goal::Cycles(_)) && breakpoints.is_empty();
        let step = if is_open && !self.watching.keeps_events { u64::MAX } else { 1 };
        let mut before = self.look();
        let from = before.done.iter().sum::<u64>();
        let (_, mut taken) = self.engine.taken_since(u64::MAX);
        let (mut count, mut left) = (0, goal.cycles());
        while left > 0 {
            if self.to_come() == 0 && self.engine.is_at_rest() {
                return Ok(Halt { why: Why::Silent, thread: None });
            }
            let cycles = left.min(step);
            self.watching.cycle += cycles;
            self.engine.run_to_cycle(self.watching.cycle).map_err(Error::new)?;
            left -= cycles;
            if step > 1 {
                continue;
            }
            let now = self.look();
            let (packets, all) = self.engine.taken_since(taken);
            taken = all;
            if self.watching.keeps_events {
                self.tell(&before, &now, &packets);
            }
            if let Some(place) =
                breakpoints.iter().position(|at| hit(at, &before, &now, &packets).is_some())
            {
                let thread = hit(&breakpoints[place], &before, &now, &packets).flatten();
                return Ok(Halt { why: Why::Breakpoint(place), thread });
            }
            let done = |thread: usize| {
                now.threads[thread].instructions.saturating_sub(before.threads[thread].instructions)
            };
            match goal {
                Goal::Instructions { thread, count: wanted, .. } => {
                    let mut threads = match thread {
                        Some(thread) => thread..thread + 1,
                        None => 0..now.threads.len(),
                    };
                    count += threads.clone().map(done).sum::<u64>();
                    if count >= wanted {
                        let thread = threads.find(|thread| done(*thread) > 0);
                        return Ok(Halt { why: Why::Goal, thread });
                    }
                }
                Goal::Packets { count: wanted, .. }
                    if now.done.iter().sum::<u64>() >= from + wanted =>
                {
                    return Ok(Halt { why: Why::Goal, thread: None });
                }
                Goal::Arrival { .. } if now.io[0] > 0 => {
                    return Ok(Halt { why: Why::Goal, thread: None });
                }
                _ => {}
            }
            before = now;
        }
        let why = if matches!(goal, Goal::Cycles(_)) { Why::Goal } else { Why::Late };
        Ok(Halt { why, thread: None })
    }

    /// Keeps the changes in a cycle as events.
    fn tell(&mut self, before: &Look, now: &Look, packets: &[u64]) {
        for packet in packets {
            self.watching.keep_event(None, format!("packet {packet} is taken"));
        }
        for (number, (before, now)) in before.threads.iter().zip(&now.threads).enumerate() {
            if before.waits_for != now.waits_for {
                let what = match now.waits_for.as_str() {
                    "" => "goes on".to_owned(),
                    awaited => format!("waits for {awaited}"),
                };
                self.watching.keep_event(Some(number), what);
            }
        }
        let left = now.done[0] - before.done[0];
        if left > 0 {
            self.watching.keep_event(None, format!("{} packets have left", now.done[0]));
        }
    }
}

/// Whether a cycle hits a breakpoint, and at which thread.
fn hit(
    breakpoint: &Breakpoint,
    before: &Look,
    now: &Look,
    packets: &[u64],
) -> Option<Option<usize>> {
    let threads = || before.threads.iter().zip(&now.threads).enumerate();
    match breakpoint {
        Breakpoint::Instruction { addresses, thread, .. } => threads()
            .filter(|(number, _)| thread.is_none_or(|thread| thread == *number))
            .find(|(_, (before, now))| {
                let moved =
                    before.instructions != now.instructions || before.address != now.address;
                moved && addresses.contains(&now.address)
            })
            .map(|(number, _)| Some(number)),
        Breakpoint::Packet(number) => packets.contains(number).then_some(None),
        Breakpoint::Memory { first, last, access, .. } => threads()
            .find(|(_, (before, now))| {
                let begun = now.access.filter(|_| before.access != now.access);
                begun.is_some_and(|(address, is_write)| {
                    let word = u64::from(address.wrapping_sub(SHARED) / 4);
                    let is_wanted = match access {
                        Access::Read => !is_write,
                        Access::Write => is_write,
                        Access::Any => true,
                    };
                    is_wanted && (*first..=*last).contains(&word)
                })
            })
            .map(|(number, _)| Some(number)),
        Breakpoint::Signal { .. } => None,
    }
}

impl Watched for Mpsoc {
    fn parts(&self) -> Vec<Part> {
        self.list().parts
    }

    fn measures(&self) -> Vec<Measure> {
        self.list().measures
    }

    fn sample(&self, values: &mut Vec<u64>) {
        values.append(&mut self.list().values);
    }

    fn cycle(&self) -> u64 {
        self.watching.cycle
    }

    fn hertz(&self) -> f64 {
        self.watching.hertz
    }

    fn listings(&self) -> Vec<Listing> {
        vec![self.engine.listing(PROGRAM)]
    }

    fn threads(&self) -> Vec<Thread> {
        let first = 1 + self.watching.processors;
        let threads = self.look().threads.into_iter().enumerate();
        threads
            .map(|(number, thread)| Thread {
                part: first + number,
                state: match thread.waits_for.as_str() {
                    "" => "running",
                    _ if thread.is_idle => "idle",
                    _ => "waiting",
                },
                listing: Some(0),
                address: thread.address,
                waits_for: thread.waits_for,
                instructions: thread.instructions,
            })
            .collect()
    }

    fn registers(&self, thread: usize) -> Vec<RegisterValue> {
        if thread >= self.watching.all_threads() {
            return Vec::new();
        }
        let (count, letter) = self.watching.registers;
        let values = self.engine.registers(thread as u32, count);
        let name = |number: usize| match number {
            number if number == count => "pc".to_owned(),
            number => format!("{letter}{number}"),
        };
        let values = values.into_iter().enumerate();
        values
            .map(|(number, value)| RegisterValue {
                register: name(number),
                names: Vec::new(),
                value,
            })
            .collect()
    }

    fn memories(&self) -> Vec<Memory> {
        vec![Memory { name: MEMORY.to_owned(), words: 1, addresses: self.watching.shared_words }]
    }

    fn read(&self, memory: usize, address: u64, count: usize) -> Vec<u32> {
        if memory > 0 { Vec::new() } else { self.engine.shared(address, count) }
    }

    fn signals(&self) -> Vec<(u32, String)> {
        Vec::new()
    }

    fn supply(&mut self, frames: &[Frame<'_>]) -> Result {
        self.watching.offered += frames.len() as u64;
        self.engine.offer(frames.iter().map(Frame::to_packet).collect());
        Ok(())
    }

    fn to_come(&self) -> u64 {
        self.watching.offered - self.done()
    }

    fn is_busy(&self) -> bool {
        self.to_come() > 0
    }

    fn done(&self) -> u64 {
        self.look().done.iter().sum()
    }

    fn resume(&mut self, goal: Goal, breakpoints: &[Breakpoint]) -> Result<Halt> {
        self.go(goal, breakpoints)
    }

    fn collect(&mut self, sink: Sink<'_>) -> Result<Settled> {
        settled(Ok(self.engine.take(sink)))
    }

    fn keep_events(&mut self, keep: bool) {
        self.watching.keeps_events = keep;
    }

    fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.watching.events).into()
    }
}

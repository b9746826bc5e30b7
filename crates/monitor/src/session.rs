//! A watched machine with its packets, breakpoints and history.

mod tables;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wireloom_io::Source;
use wireloom_ir::{Output, Verdict};
use wireloom_machine::watch::{
    Breakpoint, Event, Goal, Halt, HeldQueue, Listing, Measure, Memory, Part, PartKind,
    RegisterValue, Thread, Watched, Why,
};
use wireloom_machine::{Error, Machine, Result};
use wireloom_net::Packet;

use crate::history::{History, Sample};
use crate::sources;

pub use tables::Table;

/// The machine gets more packets while fewer than this are in it and on its lines.
const LOW: u64 = 256;
/// The default number of cycles between two samples.
pub const GRAIN: u64 = 64;
/// Cycles between two samples while no packet is in the machine.
const IDLE: u64 = 1 << 20;
/// The number of departed packets whose verdicts are kept.
const LEFT: usize = 256;
/// A run with packets ends after this number of cycles in which no packet leaves.
const PATIENCE: u64 = 4_000_000;

/// Describes a verdict in words.
pub type Verdicts = Box<dyn Fn(Verdict) -> String>;

/// A departed packet.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Departure {
    /// The number of the packet.
    pub packet: u64,
    /// The verdict in words.
    pub verdict: String,
    /// The length of the packet on departure.
    pub bytes: usize,
}

/// Why a run has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The run reached its goal or its limit of cycles.
    Done {
        /// The thread at which it ended.
        thread: Option<usize>,
    },
    /// The run reached a breakpoint.
    Breakpoint {
        /// The number of the breakpoint.
        number: u32,
        /// The thread at which it ended.
        thread: Option<usize>,
    },
    /// Every packet has left.
    Finished,
    /// Packets are in the machine, and none has left for a long time.
    Stuck,
    /// The goal was not reached within the given cycles.
    Late,
    /// The user interrupted the run.
    Interrupted,
}

/// A numbered breakpoint.
#[derive(Clone, Debug)]
pub struct Numbered {
    pub number: u32,
    /// The command that set it, as the user wrote it.
    pub text: String,
    pub breakpoint: Breakpoint,
}

pub struct Session {
    machine: Box<dyn Machine>,
    source: Box<dyn Source>,
    /// Packets that were read, and that the machine has not been given yet.
    waiting: VecDeque<Packet>,
    verdict: Verdicts,
    /// Whether there are such packets, or more may be read.
    has_more: bool,
    /// The packets that the machine has been given.
    supplied: u64,
    grain: u64,
    breakpoints: Vec<Numbered>,
    next: u32,
    history: History,
    left: VecDeque<Departure>,
    interrupt: Arc<AtomicBool>,
    /// The constant description of the machine's parts.
    pub parts: Vec<Part>,
    /// The measures of the parts.
    pub measures: Vec<Measure>,
    /// The programs, with the texts of their sources.
    pub listings: Vec<Listing>,
    pub memories: Vec<Memory>,
    /// The signals by number, with their names.
    pub signals: Vec<(u32, String)>,
    /// The names of the threads.
    pub names: Vec<String>,
    /// The clock frequency in Hz.
    pub hertz: f64,
}

impl Session {
    /// Watches a machine that runs these packets; `verdict` describes a verdict in words. A run
    /// ends when `interrupt` becomes true.
    ///
    /// # Errors
    /// If the machine cannot be watched, or the packets cannot be read.
    pub fn new(
        mut machine: Box<dyn Machine>,
        source: Box<dyn Source>,
        verdict: Verdicts,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Self> {
        let refused = || {
            Error::new("the machine cannot be watched")
                .with_help("say a simulated one: --on ixp1200")
        };
        let watched = machine.watch().ok_or_else(refused)?;
        let (parts, measures) = (watched.parts(), watched.measures());
        let mut listings = watched.listings();
        sources::add(&mut listings);
        let names = watched.threads().iter().map(|thread| name(&parts, thread.part)).collect();
        let (memories, signals) = (watched.memories(), watched.signals());
        let hertz = watched.hertz();
        let mut session = Self {
            machine,
            source,
            waiting: VecDeque::new(),
            verdict,
            has_more: true,
            supplied: 0,
            grain: GRAIN,
            breakpoints: Vec::new(),
            next: 1,
            history: History::new(&measures),
            left: VecDeque::new(),
            interrupt,
            parts,
            measures,
            listings,
            memories,
            signals,
            names,
            hertz,
        };
        session.feed()?;
        session.sample();
        Ok(session)
    }

    fn watched(&mut self) -> &mut dyn Watched {
        self.machine.watch().expect("a machine that could be watched still can")
    }

    /// Supplies packets while the machine has few. It gets no more than it needs, since entries can
    /// change only before packets that it does not have yet.
    fn feed(&mut self) -> Result {
        while self.has_more {
            let room = LOW.saturating_sub(self.watched().to_come());
            if room == 0 {
                break;
            }
            if self.waiting.is_empty() {
                let batch = self.source.next_batch()?;
                self.waiting.extend(batch.iter().map(|frame| frame.to_packet()));
            }
            let count = self.waiting.len().min(room as usize);
            let next: Vec<Packet> = self.waiting.drain(..count).collect();
            self.has_more = count > 0;
            self.supplied += count as u64;
            self.watched().supply(&next.iter().map(Packet::frame).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn sample(&mut self) {
        let mut values = Vec::with_capacity(self.measures.len());
        let watched = self.watched();
        watched.sample(&mut values);
        let cycle = watched.cycle();
        self.history.push(cycle, &values);
    }

    /// Records the packets that have left.
    fn collect(&mut self) -> Result {
        let (left, verdict) = (&mut self.left, &self.verdict);
        let mut sink = |output: Output<'_>| {
            if left.len() == LEFT {
                left.pop_front();
            }
            left.push_back(Departure {
                packet: output.sequence,
                verdict: verdict(output.verdict),
                bytes: output.bytes.len(),
            });
        };
        let watched = self.machine.watch().expect("a machine that could be watched still can");
        watched.collect(&mut sink).map(|_| ())
    }

    /// Runs until the goal is reached, or without a goal as long as packets leave, and for at most
    /// `most` cycles.
    ///
    /// # Errors
    /// If the program performs an undefined operation, or packets cannot be read.
    pub fn run(&mut self, goal: Option<Goal>, most: u64) -> Result<Ended> {
        let mut left = goal.map_or(most, |goal| goal.cycles().min(most));
        let mut wanted = match goal {
            Some(Goal::Instructions { count, .. } | Goal::Packets { count, .. }) => count,
            _ => u64::MAX,
        };
        let mut quiet = 0;
        let breakpoints: Vec<Breakpoint> =
            self.breakpoints.iter().map(|numbered| numbered.breakpoint.clone()).collect();
        while left > 0 && wanted > 0 {
            if self.interrupt.load(Ordering::Relaxed) {
                return Ok(Ended::Interrupted);
            }
            self.feed()?;
            let grain = self.grain;
            let watched = self.watched();
            let (from, done) = (watched.cycle(), watched.done());
            let is_busy = watched.is_busy();
            let within = (grain - from % grain).min(left);
            let before = counted(watched, goal);
            let part = match goal {
                // Little happens without a packet, so one sample is enough.
                None | Some(Goal::Cycles(_) | Goal::Packets { .. }) if !is_busy => {
                    Goal::Arrival { within: left.min(IDLE) }
                }
                None | Some(Goal::Cycles(_) | Goal::Arrival { .. }) => Goal::Cycles(within),
                Some(Goal::Instructions { thread, .. }) => {
                    Goal::Instructions { thread, count: wanted, within }
                }
                Some(Goal::Packets { .. }) => Goal::Packets { count: wanted, within },
            };
            let halt = watched.resume(part, &breakpoints);
            let (now, progress) = (watched.cycle(), watched.done() > done);
            let (is_empty, after) = (watched.to_come() == 0, counted(watched, goal));
            self.sample();
            self.collect()?;
            let Halt { why, thread } = halt?;
            match why {
                Why::Breakpoint(place) => {
                    let number = self.breakpoints[place].number;
                    return Ok(Ended::Breakpoint { number, thread });
                }
                Why::Goal if matches!(part, Goal::Instructions { .. } | Goal::Packets { .. }) => {
                    return Ok(Ended::Done { thread });
                }
                // The machine gets more packets, unless it already has many that make no progress.
                Why::Silent if self.has_more && self.watched().to_come() < LOW => {}
                Why::Silent => {
                    return Ok(if is_empty { Ended::Finished } else { Ended::Stuck });
                }
                Why::Goal | Why::Late => {}
            }
            let cycles = now.saturating_sub(from).max(1);
            left = left.saturating_sub(cycles);
            wanted = wanted.saturating_sub(after - before);
            quiet = if progress || !is_busy { 0 } else { quiet + cycles };
            let is_open = !matches!(goal, Some(Goal::Cycles(_)));
            if is_open && is_empty && !self.has_more {
                return Ok(Ended::Finished);
            }
            if is_open && quiet > PATIENCE {
                return Ok(Ended::Stuck);
            }
        }
        match goal {
            Some(Goal::Instructions { .. } | Goal::Packets { .. }) if wanted > 0 => Ok(Ended::Late),
            _ => Ok(Ended::Done { thread: None }),
        }
    }

    pub fn set_grain(&mut self, cycles: u64) {
        self.grain = cycles.max(1);
    }

    /// The current cycle.
    pub fn cycle(&mut self) -> u64 {
        self.watched().cycle()
    }

    /// Packets in the machine or on its lines, and packets that have left or were lost.
    pub fn packets(&mut self) -> (u64, u64) {
        let watched = self.watched();
        (watched.to_come(), watched.done())
    }

    /// The threads and their current state.
    pub fn threads(&mut self) -> Vec<Thread> {
        self.watched().threads()
    }

    pub fn registers(&mut self, thread: usize) -> Vec<RegisterValue> {
        self.watched().registers(thread)
    }

    /// The non-empty queues; `None` if the machine does not name both ends of its queues.
    pub fn queues(&mut self) -> Option<Vec<HeldQueue>> {
        self.watched().queues()
    }

    pub fn read(&mut self, memory: usize, address: u64, count: usize) -> Vec<u32> {
        self.watched().read(memory, address, count)
    }

    /// The packets that left last, oldest first.
    pub fn left(&self) -> impl DoubleEndedIterator<Item = &Departure> {
        self.left.iter()
    }

    /// The last value of each measure, as the machine reported it.
    pub fn now(&self) -> &[u64] {
        self.history.now()
    }

    /// Returns samples of these cycles: see [`History::rows`].
    pub fn rows(&self, from: u64, to: u64, most: usize) -> Vec<&Sample> {
        self.history.rows(from, to, most)
    }

    /// Sets whether events are kept.
    pub fn keep_events(&mut self, keep: bool) {
        self.watched().keep_events(keep);
    }

    /// Takes the events that were kept.
    pub fn take_events(&mut self) -> Vec<Event> {
        self.watched().take_events()
    }

    /// Adds a breakpoint and returns its number.
    pub fn add(&mut self, text: &str, breakpoint: Breakpoint) -> u32 {
        let number = self.next;
        self.next += 1;
        self.breakpoints.push(Numbered { number, text: text.to_owned(), breakpoint });
        number
    }

    /// Removes a breakpoint. Returns whether there was one.
    pub fn delete(&mut self, number: u32) -> bool {
        let count = self.breakpoints.len();
        self.breakpoints.retain(|numbered| numbered.number != number);
        self.breakpoints.len() < count
    }

    pub fn breakpoints(&self) -> &[Numbered] {
        &self.breakpoints
    }
}

/// Returns the count that a goal advances: instructions or packets.
fn counted(watched: &dyn Watched, goal: Option<Goal>) -> u64 {
    match goal {
        Some(Goal::Instructions { thread: Some(thread), .. }) => {
            watched.threads().get(thread).map_or(0, |thread| thread.instructions)
        }
        Some(Goal::Instructions { thread: None, .. }) => {
            watched.threads().iter().map(|thread| thread.instructions).sum()
        }
        Some(Goal::Packets { .. }) => watched.done(),
        None | Some(Goal::Cycles(_) | Goal::Arrival { .. }) => 0,
    }
}

/// The name of a thread: the numbers of its engine and of the thread within it.
fn name(parts: &[Part], part: usize) -> String {
    let among = |part: usize, kind: PartKind| {
        let within = parts[part].within;
        let like = |other: &&Part| other.kind == kind && other.within == within;
        parts[..part].iter().filter(like).count()
    };
    match parts[part].within {
        Some(engine) if parts[engine].kind == PartKind::Engine => {
            let (engine, thread) = (among(engine, PartKind::Engine), among(part, PartKind::Thread));
            format!("{engine}.{thread}")
        }
        _ => among(part, PartKind::Thread).to_string(),
    }
}

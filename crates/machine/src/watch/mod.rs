//! Machines that can be watched and stepped: the interface that debuggers and monitors use.
//!
//! A [`Watched`] machine describes its parts and what is measured of them once. Its measures only
//! grow: the difference of two samples says exactly what happened between them, so a monitor may
//! keep few samples of a long run and lose detail only, never truth. A run goes on until its goal
//! or a breakpoint; nothing happens between two runs.

mod listing;

use wireloom_net::Frame;

pub use listing::{Instruction, Listing, Place, Source, loom_lines};

use crate::{Result, Settled, Sink};

/// A simulated machine that can be watched and stepped.
pub trait Watched {
    /// The parts, each after the one that it belongs to.
    fn parts(&self) -> Vec<Part>;

    /// What is measured, in the order of [`sample`](Self::sample).
    fn measures(&self) -> Vec<Measure>;

    /// Appends the value of each measure now.
    fn sample(&self, values: &mut Vec<u64>);

    /// The cycle of the main clock.
    fn cycle(&self) -> u64;

    /// The main clock, in cycles a second.
    fn hertz(&self) -> f64;

    /// The programs of the machine, each once.
    fn listings(&self) -> Vec<Listing>;

    /// The threads and what they do now. Their order and number never change.
    fn threads(&self) -> Vec<Thread>;

    /// The registers of a thread; none if there is no such thread.
    fn registers(&self, thread: usize) -> Vec<RegisterValue>;

    /// The memories.
    fn memories(&self) -> Vec<Memory>;

    /// Words of a memory from an address on, as many as there are, at most `count`.
    fn read(&self, memory: usize, address: u64, count: usize) -> Vec<u32>;

    /// The queues that hold something now, each with the parts at its ends, of a machine that names
    /// both ends of its queues.
    fn queues(&self) -> Option<Vec<HeldQueue>> {
        None
    }

    /// The numbers of the signals that threads wait for; empty if there are none.
    fn signals(&self) -> Vec<(u32, String)>;

    /// Gives the machine packets, without running it.
    ///
    /// # Errors
    /// If a packet comes from a port that the machine does not have.
    fn supply(&mut self, frames: &[Frame<'_>]) -> Result;

    /// Packets that it was given and that have not left.
    fn to_come(&self) -> u64;

    /// Whether a packet waits for the machine or is in it; others come later on its lines.
    fn is_busy(&self) -> bool;

    /// Packets that have left, or were lost.
    fn done(&self) -> u64;

    /// Runs until the goal or a breakpoint.
    ///
    /// # Errors
    /// If the program does something without a meaning.
    fn resume(&mut self, goal: Goal, breakpoints: &[Breakpoint]) -> Result<Halt>;

    /// Passes on what has left.
    ///
    /// # Errors
    /// If the program gave an output without a meaning.
    fn collect(&mut self, sink: Sink<'_>) -> Result<Settled>;

    /// Whether events are kept from now on, for [`take_events`](Self::take_events).
    fn keep_events(&mut self, keep: bool);

    /// Takes the events that were kept, in the order in which they happened.
    fn take_events(&mut self) -> Vec<Event>;
}

/// A part of a machine.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Part {
    /// Its name among those of the same part.
    pub name: String,
    /// Its kind.
    pub kind: PartKind,
    /// The number of the part that it belongs to.
    pub within: Option<usize>,
}

/// Kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The whole machine.
    Machine,
    /// A processing element.
    Engine,
    /// A thread of an engine.
    Thread,
    /// A memory.
    Memory,
    /// Another unit that serves commands.
    Unit,
    /// A bus or a link.
    Bus,
    /// A queue.
    Queue,
    /// A port.
    Port,
}

/// Something that is measured of a part.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Measure {
    /// The number of the part.
    pub part: usize,
    /// Its name among those of the part.
    pub name: &'static str,
    /// What its value means.
    pub kind: MeasureKind,
}

/// The meaning of a measure's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasureKind {
    /// Cycles that the part has been in this state. It is in at most one at a time.
    State,
    /// Cycles of the main clock in which it was in use.
    Busy,
    /// Something that is counted: commands, words, packets.
    Count,
    /// The present fill of a queue with this many places; the only values that can fall.
    Level {
        /// The places.
        places: u64,
    },
    /// Energy in picojoules.
    Energy,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Thread {
    /// Its part.
    pub part: usize,
    /// What it does, in a word: one of the state measures of its part, or `stopped`.
    pub state: &'static str,
    /// Its program; none if it has no program.
    pub listing: Option<usize>,
    /// The address of its next instruction.
    pub address: u64,
    /// What it waits for, if it waits.
    pub waits_for: String,
    /// Instructions that it has executed.
    pub instructions: u64,
}

/// A register.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RegisterValue {
    /// Its name in the machine.
    pub register: String,
    /// Names in the program that hold at the thread's address.
    pub names: Vec<String>,
    /// Its value.
    pub value: u32,
}

/// A memory.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Memory {
    /// Its name.
    pub name: String,
    /// Words of 32 bits at an address.
    pub words: u32,
    /// Addresses.
    pub addresses: u64,
}

/// A queue that holds something.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct HeldQueue {
    /// What it belongs to, such as a network.
    pub what: &'static str,
    /// The part that writes it.
    pub from: String,
    /// The part that reads it.
    pub to: String,
    /// The words in it.
    pub held: u64,
    /// The words that have room.
    pub places: u64,
}

/// How far a run goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// This number of cycles of the main clock.
    Cycles(u64),
    /// This number of instructions, of a thread or of any, within a number of cycles.
    Instructions {
        /// The thread.
        thread: Option<usize>,
        /// How many.
        count: u64,
        /// The most cycles.
        within: u64,
    },
    /// Until this number of packets has left or was lost, within a number of cycles.
    Packets {
        /// How many.
        count: u64,
        /// The most cycles.
        within: u64,
    },
    /// Until a packet waits for the machine or is in it, within a number of cycles.
    Arrival {
        /// The most cycles.
        within: u64,
    },
}

impl Goal {
    /// The most cycles of the run.
    pub fn cycles(self) -> u64 {
        match self {
            Self::Cycles(cycles) => cycles,
            Self::Instructions { within, .. }
            | Self::Packets { within, .. }
            | Self::Arrival { within } => within,
        }
    }
}

/// Where a run breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breakpoint {
    /// Before a thread executes an instruction at one of these addresses.
    Instruction {
        /// The program.
        listing: usize,
        /// The addresses.
        addresses: Vec<u64>,
        /// The thread; all of the program if none is given.
        thread: Option<usize>,
    },
    /// When the machine begins to take a packet, by its number.
    Packet(u64),
    /// When a thread gets a signal.
    Signal {
        /// The number of the signal; any if none is given.
        signal: Option<u32>,
        /// The thread; any if none is given.
        thread: Option<usize>,
    },
    /// When a memory begins an access to one of these addresses.
    Memory {
        /// The memory.
        memory: usize,
        /// The first address.
        first: u64,
        /// The last address.
        last: u64,
        /// What the access does.
        access: Access,
    },
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// Either, or both.
    Any,
}

/// Why a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halt {
    /// The reason.
    pub why: Why,
    /// The thread that it is about.
    pub thread: Option<usize>,
}

/// The reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The goal is reached.
    Goal,
    /// The most cycles have passed before the goal was reached.
    Late,
    /// The breakpoint of this number in the list.
    Breakpoint(usize),
    /// Nothing will ever happen again without new packets.
    Silent,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Event {
    /// The cycle.
    pub cycle: u64,
    /// The thread that it is about.
    pub thread: Option<usize>,
    /// What happened, in a few words.
    pub what: String,
}

//! Machines that can be watched and stepped: the interface for debuggers and monitors.
//!
//! A [`Watched`] machine describes its parts and their measures once. Its measures only grow, so
//! the difference of two samples gives the exact change between them. A monitor may therefore keep
//! few samples of a long run: it loses detail, but stays correct. A run continues to its goal or a
//! breakpoint; nothing happens between two runs.

mod listing;

use wireloom_net::Frame;

pub use listing::{Instruction, Listing, Place, Source, loom_lines};

use crate::{Result, Settled, Sink};

/// A simulated machine that can be watched and stepped.
pub trait Watched {
    /// The parts, each after its enclosing part.
    fn parts(&self) -> Vec<Part>;

    /// The measures, in the order of [`sample`](Self::sample).
    fn measures(&self) -> Vec<Measure>;

    /// Appends the current value of each measure.
    fn sample(&self, values: &mut Vec<u64>);

    /// The current cycle of the main clock.
    fn cycle(&self) -> u64;

    /// The frequency of the main clock in hertz.
    fn hertz(&self) -> f64;

    /// The programs of the machine, without duplicates.
    fn listings(&self) -> Vec<Listing>;

    /// The threads and their current states. Their order and number never change.
    fn threads(&self) -> Vec<Thread>;

    /// The registers of a thread; empty if the thread does not exist.
    fn registers(&self, thread: usize) -> Vec<RegisterValue>;

    fn memories(&self) -> Vec<Memory>;

    /// Reads up to `count` words of a memory from an address on; fewer at its end.
    fn read(&self, memory: usize, address: u64, count: usize) -> Vec<u32>;

    /// The queues that currently hold words, each with the parts at its ends; `None` if the machine
    /// does not name both ends of its queues.
    fn queues(&self) -> Option<Vec<HeldQueue>> {
        None
    }

    /// The signals that threads can wait for, with their names; empty if there are none.
    fn signals(&self) -> Vec<(u32, String)>;

    /// Supplies packets to the machine without running it.
    ///
    /// # Errors
    /// If a packet comes from a port that the machine does not have.
    fn supply(&mut self, frames: &[Frame<'_>]) -> Result;

    /// The number of supplied packets that have not left.
    fn to_come(&self) -> u64;

    /// Whether a packet waits for the machine or is in it. Other packets may still be on the lines.
    fn is_busy(&self) -> bool;

    /// The number of packets that have left or were lost.
    fn done(&self) -> u64;

    /// Runs until the goal or a breakpoint.
    ///
    /// # Errors
    /// If the program does something undefined.
    fn resume(&mut self, goal: Goal, breakpoints: &[Breakpoint]) -> Result<Halt>;

    /// Passes on the outputs that have left.
    ///
    /// # Errors
    /// If the program produced an invalid output.
    fn collect(&mut self, sink: Sink<'_>) -> Result<Settled>;

    /// Turns the recording of events for [`take_events`](Self::take_events) on or off.
    fn keep_events(&mut self, keep: bool);

    /// Takes the recorded events, oldest first.
    fn take_events(&mut self) -> Vec<Event>;
}

/// A part of a machine.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Part {
    /// The name, unique within the enclosing part.
    pub name: String,
    pub kind: PartKind,
    /// The number of the enclosing part.
    pub within: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// The whole machine.
    Machine,
    /// A processing element.
    Engine,
    /// A thread of an engine.
    Thread,
    Memory,
    /// Another unit that serves commands.
    Unit,
    /// A bus or a link.
    Bus,
    Queue,
    Port,
}

/// A measure of a part.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Measure {
    /// The number of the part.
    pub part: usize,
    /// The name, unique within the part.
    pub name: &'static str,
    /// The meaning of the value.
    pub kind: MeasureKind,
}

/// The meaning of a measure's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MeasureKind {
    /// Cycles of the part in this state. A part is in at most one state at a time.
    State,
    /// Cycles of the main clock in which the part was in use.
    Busy,
    /// A counter, such as commands, words or packets.
    Count,
    /// The current fill of a queue with this number of places. Only these values can fall.
    Level { places: u64 },
    /// Energy in picojoules.
    Energy,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Thread {
    /// The number of the thread's part.
    pub part: usize,
    /// The current state in a word: one of the state measures of the thread's part, or `stopped`.
    pub state: &'static str,
    /// The index of the thread's program in the listings; `None` if it has no program.
    pub listing: Option<usize>,
    /// The address of the next instruction.
    pub address: u64,
    /// The awaited event; empty if the thread does not wait.
    pub waits_for: String,
    /// The number of executed instructions.
    pub instructions: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RegisterValue {
    /// The register's name in the machine.
    pub register: String,
    /// The program's names for the register that are valid at the thread's address.
    pub names: Vec<String>,
    pub value: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Memory {
    pub name: String,
    /// The number of 32-bit words at each address.
    pub words: u32,
    pub addresses: u64,
}

/// A queue that holds words.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct HeldQueue {
    /// The network or part that the queue belongs to.
    pub what: &'static str,
    /// The part that writes it.
    pub from: String,
    /// The part that reads it.
    pub to: String,
    /// The number of words in the queue.
    pub held: u64,
    /// The capacity of the queue in words.
    pub places: u64,
}

/// The goal of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Runs this number of cycles of the main clock.
    Cycles(u64),
    /// Runs this number of instructions, of one thread or of all, within a number of cycles.
    Instructions {
        /// The thread; `None` for any.
        thread: Option<usize>,
        /// The number of instructions.
        count: u64,
        /// The maximum number of cycles.
        within: u64,
    },
    /// Runs until this number of packets has left or was lost, within a number of cycles.
    Packets {
        /// The number of packets.
        count: u64,
        /// The maximum number of cycles.
        within: u64,
    },
    /// Runs until a packet waits for the machine or is in it, within a number of cycles.
    Arrival {
        /// The maximum number of cycles.
        within: u64,
    },
}

impl Goal {
    /// The maximum number of cycles of the run.
    pub fn cycles(self) -> u64 {
        match self {
            Self::Cycles(cycles) => cycles,
            Self::Instructions { within, .. }
            | Self::Packets { within, .. }
            | Self::Arrival { within } => within,
        }
    }
}

/// The condition at which a run breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breakpoint {
    /// Before a thread executes an instruction at one of these addresses.
    Instruction {
        /// The index of the program in the listings.
        listing: usize,
        addresses: Vec<u64>,
        /// The thread; `None` for all threads of the program.
        thread: Option<usize>,
    },
    /// When the machine begins to take the packet of this number.
    Packet(u64),
    /// When a thread gets a signal.
    Signal {
        /// The number of the signal; `None` for any.
        signal: Option<u32>,
        /// The thread; `None` for any.
        thread: Option<usize>,
    },
    /// When a memory begins an access to one of these addresses.
    Memory {
        /// The number of the memory.
        memory: usize,
        first: u64,
        /// The last address, inclusive.
        last: u64,
        /// The kinds of access that match.
        access: Access,
    },
}

/// The kind of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
    /// Reads, writes, or both.
    Any,
}

/// The end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halt {
    pub why: Why,
    /// The thread that caused it, if there is one.
    pub thread: Option<usize>,
}

/// The reason for the end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The goal was reached.
    Goal,
    /// The maximum number of cycles passed before the goal was reached.
    Late,
    /// A breakpoint was hit, with this index in the list.
    Breakpoint(usize),
    /// The machine is idle until new packets are supplied.
    Silent,
}

/// An event for debuggers.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Event {
    pub cycle: u64,
    /// The thread that the event concerns, if there is one.
    pub thread: Option<usize>,
    /// The event in a few words.
    pub what: String,
}

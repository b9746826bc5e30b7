//! The code that processors execute.

use wireloom_sim::parts::issue::Rounds;

use super::caches::Caches;
use super::context::Context;
use super::local_memory::Constants;
use super::noc_payload::Request;
use super::run::Run;

/// The code that all threads of all processors execute: a compiled program, or a load that only
/// takes time.
pub trait Workload {
    /// The private state of a hardware thread: its register bank.
    type Thread: Clone;

    /// The initial state of a thread; `number` counts all threads of the chip.
    fn thread(&self, number: u32) -> Self::Thread;

    /// Issues the thread's next instruction. An instruction that waits has had no effect; it is
    /// executed again, without a cycle of its own, when the awaited event has happened.
    fn issue(&self, thread: &mut Self::Thread, port: &mut Port<'_>) -> Issued;

    /// The number of instructions of a thread that does not wait, from its next one on, that
    /// run-ahead may execute: they have no observable effect before their issue time, take one
    /// cycle each, and find all their data in the caches, as long as the caches do not change. Also
    /// returns whether the instruction after them is known to miss. A workload without run-ahead
    /// returns 0: see `platform/lookahead.rs`.
    fn at_hand(&self, _: &mut Self::Thread, _: &mut Context, _: &Caches) -> (u32, bool) {
        (0, true)
    }

    /// Issues those instructions of [`at_hand`](Self::at_hand) whose issue times lie before an
    /// edge, and the following instructions that only take time. Returns their number.
    fn issue_before(&self, _: &mut Self::Thread, _edge: u64, _: Rounds, _: &mut Caches) -> u32 {
        0
    }

    /// The read-only data of the program.
    fn constants(&self) -> Constants {
        Constants::default()
    }

    /// The first step of each part of packet processing; empty if it has only one part.
    fn parts(&self) -> &[String] {
        &[]
    }

    /// The part that a thread executes.
    fn part(&self, _number: u32) -> u32 {
        0
    }

    /// The address of a thread's next instruction; `None` if the workload has no addresses.
    fn address(&self, _thread: &Self::Thread) -> Option<u32> {
        None
    }

    /// The number of instructions of its program; 0 if it has none.
    fn instructions(&self) -> usize {
        0
    }

    /// The number of a thread's next instruction in its program.
    fn index(&self, _thread: &Self::Thread) -> usize {
        0
    }

    /// The place of a thread in the program, for reports.
    fn place(&self, thread: &Self::Thread) -> String;

    /// An address of the program, for reports.
    fn place_at(&self, address: u32) -> String {
        format!("0x{address:08x}")
    }

    /// Whether only the first thread executes at the start. The other hardware threads then execute
    /// the threads that it creates.
    fn is_application(&self) -> bool {
        false
    }

    /// Begins a created thread on a hardware thread.
    fn begin(&self, _thread: &mut Self::Thread, _start: Start) {}

    /// The initial contents of shared memory, by address within it.
    fn variables(&self) -> &[(u32, Vec<u8>)] {
        &[]
    }
}

/// The start of a created thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The address of the thread's function.
    pub function: u32,
    /// The argument of the function.
    pub argument: u32,
}

/// The targets of an instruction's accesses outside its registers.
pub struct Port<'a> {
    /// The thread's message passing engine and local store.
    pub context: &'a mut Context,
    pub(super) caches: &'a mut Caches,
    /// The current cycle of the processors' clock.
    pub(super) cycle: u64,
    /// Whether instructions may be executed before their issue time if that cannot be observed.
    pub may_be_ahead: bool,
    /// The message that the instruction sends: at most one.
    pub(super) request: Option<Request>,
    /// The following instructions that only take time. The workload does not issue them one by one.
    pub(super) behind: Run,
}

/// An instruction that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The number of cycles for which the instruction blocks the issue of others: 1 or more.
    pub cycles: u32,
    pub outcome: Outcome,
}

/// The outcome of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The instruction is complete.
    Done,
    /// The instruction is complete, and the thread continues at another address.
    Jumped,
    /// The instruction waits; the thread's context holds the awaited event.
    Waits,
    /// The instruction cannot be executed; the thread's context holds the problem.
    Failed,
}

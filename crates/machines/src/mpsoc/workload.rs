//! What processors execute.

use super::caches::Caches;
use super::context::Context;
use super::own::Constants;
use super::parcel::Request;

/// What all threads of all processors execute: a compiled program, or a load that only takes time.
pub trait Workload {
    /// What a hardware thread has of its own: its register bank.
    type Thread;

    /// A thread when the machine begins; `number` is among all threads of the chip.
    fn thread(&self, number: u32) -> Self::Thread;

    /// Issues the thread's next instruction. One that waits has had no effect; it is executed again, without a cycle of its own, when what
    /// it waits for is there.
    fn issue(&self, thread: &mut Self::Thread, port: &mut Port<'_>) -> Issued;

    /// How many instructions of a thread that waits for nothing, from its next one on, have no effect that anybody could tell before their time, take a cycle each,
    /// and have all that they need at hand, as long as the caches do not change; and whether the one behind them is known to have not.
    fn at_hand(&self, _: &mut Self::Thread, _: &mut Context, _: &Caches) -> (u32, bool) {
        (0, true)
    }

    /// Issues those of them whose turns come before an edge, and those behind the last one that only take their time; answers how many.
    fn issue_before(&self, _: &mut Self::Thread, _edge: u64, _: Rounds, _: &mut Caches) -> u32 {
        0
    }

    /// What its program reads and never changes.
    fn constants(&self) -> Constants {
        Constants::default()
    }

    /// The parts into which the processing of packets is cut: the steps with which they begin; none if it is not cut.
    fn parts(&self) -> &[String] {
        &[]
    }

    /// The part that a thread executes.
    fn part(&self, _number: u32) -> u32 {
        0
    }

    /// What a thread is at, for reports.
    fn place(&self, thread: &Self::Thread) -> String;

    /// Whether only the first thread executes when the machine begins, and the others what it creates.
    fn is_application(&self) -> bool {
        false
    }

    /// A hardware thread begins what was created.
    fn begin(&self, _thread: &mut Self::Thread, _start: Start) {}

    /// What shared memory holds when the machine begins, from addresses within it on.
    fn variables(&self) -> &[(u32, Vec<u8>)] {
        &[]
    }
}

/// What a thread that was created executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The function.
    pub function: u32,
    /// Its argument.
    pub argument: u32,
}

/// What an instruction reaches beside its registers.
pub struct Port<'a> {
    /// The thread's message passing engine and local store.
    pub context: &'a mut Context,
    pub(super) caches: &'a mut Caches,
    /// The cycle of the processors' clock.
    pub(super) cycle: u64,
    /// Whether instructions may be executed before their time if nobody can tell.
    pub may_be_ahead: bool,
    /// What the instruction sends: at most one message.
    pub(super) request: Option<Request>,
    /// The instructions behind it that only take their time: the workload is not asked for them.
    pub(super) behind: Run,
}

/// The turns of a thread that nobody keeps from them.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// The edge of its next one.
    pub(super) first: u64,
    /// From one to the next, in edges.
    pub(super) edges: u64,
}

/// So many instructions of so many cycles each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Run {
    pub(super) count: u16,
    pub(super) cycles: u8,
}

impl Run {
    /// Takes those of a single cycle; answers how many there are.
    #[inline(always)]
    pub(super) fn take_singles(&mut self) -> u64 {
        let singles = if self.cycles == 1 { std::mem::take(&mut self.count) } else { 0 };
        u64::from(singles)
    }

    /// Of all of them.
    pub(super) fn cycles(self) -> u64 {
        u64::from(self.count) * u64::from(self.cycles)
    }
}

/// An instruction that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// For how many cycles it keeps others from being issued: 1 or more.
    pub cycles: u32,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done.
    Done,
    /// It is done, and the thread goes on somewhere else.
    Jumped,
    /// It waits; the thread's context says for what.
    Waits,
    /// It cannot be executed; the thread's context says why.
    Failed,
}

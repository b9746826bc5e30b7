//! Policies by which hardware threads share the pipeline of a processor.
//!
//! The parts here decide which thread issues an instruction in a cycle; the machine handles
//! execution and waits. Threads are bits of masks, and at most 32 share a pipeline. There are two
//! schemes:
//!
//! - A [`Barrel`]: each instruction passes all stages before its thread issues the next one. So no
//!   two instructions of a thread are in the pipeline, and a jump costs nothing.
//! - A [`SwitchOnWait`]: one thread has the pipeline until it waits.
//!
//! [`IssueSlots`] is a barrel with run-ahead: it simulates only the cycles in which threads contend
//! or do something that other parts can observe.

mod ahead;

pub use ahead::{IssueSlots, NEVER, Rounds, Threads};

/// The maximum number of pipeline stages.
pub const STAGES: usize = 16;

/// The instructions in a pipeline of at most [`STAGES`] stages: for each future edge, the thread
/// whose instruction leaves there. At most one instruction is issued at an edge and all have the
/// same latency, so at most one leaves. In masks, bit `n` is thread `n`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pipeline {
    /// A ring, indexed by the edge modulo its length.
    leaving: [u32; STAGES],
}

impl Pipeline {
    /// Adds an instruction of a thread, as a mask, which leaves at an edge.
    #[inline(always)]
    pub fn put(&mut self, leaves: u64, thread: u32) {
        self.leaving[leaves as usize % STAGES] = thread;
    }

    /// Removes the thread whose instruction leaves at an edge. Returns it as a mask, or 0. Each
    /// edge is taken once.
    #[inline(always)]
    pub fn take(&mut self, edge: u64) -> u32 {
        std::mem::take(&mut self.leaving[edge as usize % STAGES])
    }

    /// Returns the threads whose instructions are in the pipeline.
    pub fn piped(&self) -> u32 {
        self.leaving.iter().fold(0, |piped, thread| piped | thread)
    }
}

/// Round robin among threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// The threads that come first, which follow the thread that had its turn last.
    first: u32,
}

impl Default for Round {
    /// Starts with thread 0 first.
    fn default() -> Self {
        Self { first: u32::MAX }
    }
}

impl Round {
    /// Returns the next thread in turn among those that are ready, as a mask. At least one must be
    /// ready.
    #[inline(always)]
    pub fn next(self, ready: u32) -> u32 {
        let first = ready & self.first;
        let among = if first != 0 { first } else { ready };
        among & among.wrapping_neg()
    }

    /// Ends the turn of a thread, given as a mask.
    #[inline(always)]
    pub fn had(&mut self, turn: u32) {
        self.first = !(turn | turn.wrapping_sub(1));
    }
}

/// The threads of a mask, by their numbers.
#[inline(always)]
pub fn threads_of(mut mask: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let first = (mask != 0).then_some(mask.trailing_zeros());
        mask &= mask.wrapping_sub(1);
        first
    })
}

/// A pipeline with interleaved threads. At each edge the next ready thread issues an instruction.
/// It can issue its next one after that has left the pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Barrel {
    pipeline: Pipeline,
    round: Round,
    stages: u64,
    /// The first edge at which the next instruction can be issued.
    free: u64,
}

impl Barrel {
    /// Creates an empty pipeline with this number of stages, 1 to [`STAGES`].
    pub fn new(stages: u64) -> Self {
        Self { pipeline: Pipeline::default(), round: Round::default(), stages, free: 0 }
    }

    /// Returns the threads whose instructions are in the pipeline.
    pub fn piped(&self) -> u32 {
        self.pipeline.piped()
    }

    /// Runs the cycle of an edge. It must be called for every edge. Threads whose instructions
    /// leave the pipeline become ready, unless they wait. Returns the thread that issues an
    /// instruction and is no longer ready, as a mask, or 0 if none does.
    #[inline]
    pub fn cycle(&mut self, edge: u64, ready: &mut u32, waiting: u32) -> u32 {
        *ready |= self.pipeline.take(edge) & !waiting;
        if *ready == 0 || self.free > edge {
            return 0;
        }
        let turn = self.round.next(*ready);
        self.round.had(turn);
        *ready ^= turn;
        self.pipeline.put(edge + self.stages, turn);
        turn
    }

    /// Keeps the last issued instruction in the first stage until an edge.
    pub fn hold(&mut self, free: u64) {
        self.free = free;
    }

    /// Whether nothing happens after this edge until a thread is ready.
    pub fn is_over(&self, edge: u64, ready: u32) -> bool {
        ready == 0 && self.pipeline.piped() == 0 && self.free <= edge + 1
    }
}

/// A pipeline that belongs to one thread until it waits: block multithreading.
#[derive(Clone, Copy, Debug, Default)]
pub struct SwitchOnWait {
    round: Round,
    current: u32,
}

impl SwitchOnWait {
    /// The thread that has the pipeline.
    pub fn current(&self) -> u32 {
        self.current
    }

    /// Passes the pipeline to the next ready thread, if there is one.
    #[inline]
    pub fn give_way(&mut self, ready: u32) {
        if ready != 0 {
            let turn = self.round.next(ready);
            self.round.had(turn);
            self.current = turn.trailing_zeros();
        }
    }
}

#[cfg(test)]
mod tests;

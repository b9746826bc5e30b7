//! A barrel pipeline that runs ahead: its threads issue in turn.
//!
//! While no thread delays another one, each issues at its own edges, once in every round. So the
//! issue edges of its available instructions are known. Only those edges are simulated at which a
//! thread does something that other parts can observe, or at which threads contend.

use super::{Round, STAGES, threads_of};

/// The value for "no edge".
pub const NEVER: u64 = u64::MAX;

/// The issue edges of a thread that nothing delays.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// The edge of the next issue.
    pub first: u64,
    /// The interval between two issues, in edges.
    pub edges: u64,
}

/// The threads that share a pipeline.
///
/// A thread has *available* instructions. They start at its next instruction, take one cycle each,
/// and have no effect before their issue edge that other parts can observe. They keep these
/// properties as long as [`changes`](Self::changes) returns the same number.
pub trait Threads {
    /// Issues the next instruction of a thread at the edge [`IssueSlots::edge`]. Sets
    /// [`IssueSlots::free`] and, if the thread waits, its bit in [`IssueSlots::waiting`].
    fn issue(&mut self, slots: &mut IssueSlots, thread: u32);

    /// Returns the number of a thread's available instructions, and whether no more will become
    /// available before the instruction after them is issued.
    fn available(&mut self, thread: u32) -> (u32, bool);

    /// Issues those available instructions of a thread whose issue edges lie before an edge.
    /// Returns their number.
    fn issue_before(&mut self, thread: u32, edge: u64, rounds: Rounds) -> u32;

    /// Takes the one-cycle instructions after the issued one that only take time. Returns their
    /// number.
    fn take_singles(&mut self, thread: u32) -> u64;

    /// Returns a number that changes whenever available instructions may have changed.
    fn changes(&self) -> u64;

    /// Whether a thread has failed. No more instructions are issued then.
    fn has_failed(&self) -> bool;
}

/// The issue slots of a pipeline: which threads can issue, and when. In masks, bit `n` is thread
/// `n`.
#[derive(Clone, Debug)]
pub struct IssueSlots {
    /// Threads whose next instruction can be issued.
    pub ready: u32,
    /// Waiting threads.
    pub waiting: u32,
    /// The first edge at which the next instruction can be issued.
    pub free: u64,
    /// The edge of the current or last cycle. Simulated time may not have reached it yet.
    pub edge: u64,
    /// The edge of the next cycle with work, unless a thread resumes before; [`NEVER`] if there is
    /// none.
    pub next_edge: u64,
    stages: u64,
    round: Round,
    lanes: [Lane; 32],
    /// Threads with instructions in the pipeline.
    piped: u32,
    /// Threads whose instructions leave the pipeline at edge `n`, at index `n` modulo the number of
    /// stages.
    leaving: [u32; STAGES],
    /// The last edge that was simulated because of contention, and its index in
    /// [`leaving`](Self::leaving).
    contended: (u64, usize),
    /// The edge at which the thread that had the last turn issued its instruction.
    issued: u64,
    /// All instructions issued before this edge are counted.
    counted: u64,
    /// [`Threads::changes`] when threads were last examined.
    changes: u64,
}

/// The issue state of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// The edge of the next issue, if the thread has no instruction in the pipeline.
    since: u64,
    /// The edge of the next uncounted instruction, if nothing delays the thread.
    next: u64,
    /// The edge at which the thread does something that other parts can observe. If it waits, the
    /// edge at which its instruction leaves the pipeline.
    acts: u64,
    /// Whether `acts` is certain: the thread has no more available instructions when it reaches
    /// that edge.
    is_certain: bool,
    /// The thread's index in [`IssueSlots::leaving`], if it has an instruction in the pipeline.
    place: u8,
}

impl Lane {
    /// Delays the next instruction by `edges` edges.
    fn put_off(&mut self, edges: u64) {
        self.since += edges;
        self.next += edges;
        self.acts += edges;
    }
}

impl IssueSlots {
    /// Creates an empty pipeline with this number of stages, 1 to [`STAGES`], and with ready and
    /// waiting threads.
    pub fn new(stages: u64, ready: u32, waiting: u32) -> Self {
        Self {
            ready,
            waiting,
            free: 0,
            edge: 0,
            next_edge: 0,
            stages,
            round: Round::default(),
            lanes: [Lane::default(); 32],
            piped: 0,
            leaving: [0; STAGES],
            contended: (0, 0),
            issued: 0,
            counted: 0,
            changes: 0,
        }
    }

    /// Executes the cycles before `limit`. It skips cycles in which threads only proceed or wait:
    /// an instruction of the next ready thread enters the pipeline, and the thread can issue its
    /// next one when that has left. Nothing may reach the threads before `limit`.
    #[inline]
    pub fn run(&mut self, limit: u64, threads: &mut impl Threads) {
        let mut edge = self.next_edge;
        while !threads.has_failed() {
            if self.ready != 0 || self.free > edge {
                if edge >= limit {
                    break;
                }
                self.edge = edge;
                self.contend(threads);
            } else {
                // Each thread has its own edges.
                let Some((acts, thread)) = self.first_to_act() else {
                    edge = NEVER;
                    break;
                };
                edge = acts;
                if edge >= limit {
                    break;
                }
                self.edge = edge;
                self.act(thread, threads);
            }
            edge += 1;
        }
        self.next_edge = edge;
    }

    /// Executes a cycle in which more than one thread may be ready to issue.
    #[inline(always)]
    fn contend(&mut self, threads: &mut impl Threads) {
        let edge = self.edge;
        let place = self.place(edge);
        let mut leaves = self.leaving[place];
        if leaves & self.waiting != 0 {
            self.leave(leaves.trailing_zeros());
            leaves = 0;
        }
        let among = self.ready | leaves;
        let turn = match among {
            _ if self.free > edge => 0,
            0 => return,
            _ if among & (among - 1) == 0 => among,
            _ => {
                self.recall(place);
                self.round.next(among)
            }
        };
        let thread = turn.trailing_zeros();
        if turn != leaves {
            if leaves != 0 {
                self.count_before(leaves.trailing_zeros(), edge, threads);
                self.lanes[leaves.trailing_zeros() as usize].since = edge;
            }
            self.ready = among ^ turn;
            self.piped = self.piped & !leaves | turn;
            self.leaving[place] = turn;
        }
        if turn == 0 {
            return;
        }
        self.had_turn(turn, edge);
        let lane = &mut self.lanes[thread as usize];
        if turn != leaves {
            lane.place = place as u8;
            lane.put_off(edge - lane.since);
        }
        if lane.acts == edge {
            self.act(thread, threads);
        }
    }

    /// The index in `leaving` of an edge at which threads contend. Most such edges are consecutive,
    /// so this usually avoids a division, which is slow on the host.
    #[inline(always)]
    fn place(&mut self, edge: u64) -> usize {
        let (last, place) = self.contended;
        let place = match place + 1 {
            _ if edge != last + 1 => (edge % self.stages) as usize,
            next if next == self.stages as usize => 0,
            next => next,
        };
        self.contended = (edge, place);
        place % STAGES
    }

    /// The first thread in the pipeline to do something that other parts can observe, and the edge.
    #[inline(always)]
    fn first_to_act(&self) -> Option<(u64, u32)> {
        threads_of(self.piped).map(|thread| (self.lanes[thread as usize].acts, thread)).min()
    }

    /// Updates the round: finds the thread that issued last before this edge, whose index is
    /// `place`. The threads after it come first.
    fn recall(&mut self, place: usize) {
        let (mut edge, mut place) = (self.edge, place);
        for _ in 0..self.stages.min(self.edge) {
            edge -= 1;
            place = if place == 0 { self.stages as usize } else { place } - 1;
            let turn = self.leaving[place % STAGES];
            if edge <= self.issued {
                return;
            }
            if turn != 0 {
                self.had_turn(turn, edge);
                return;
            }
        }
    }

    /// Records that a thread, given as a mask, issued last, at an edge.
    #[inline(always)]
    fn had_turn(&mut self, turn: u32, edge: u64) {
        self.round.had(turn);
        self.issued = edge;
    }

    /// Executes an action of a thread in the pipeline that other parts can observe. A waiting
    /// thread leaves the pipeline.
    fn act(&mut self, thread: u32, threads: &mut impl Threads) {
        let (edge, turn) = (self.edge, 1 << thread);
        if self.waiting & turn != 0 {
            self.leave(thread);
            return;
        }
        self.count_before(thread, edge, threads);
        if !self.lanes[thread as usize].is_certain && self.look_ahead(thread, threads) {
            return;
        }
        self.had_turn(turn, edge);
        threads.issue(self, thread);
        let singles = threads.take_singles(thread);
        let lane = &mut self.lanes[thread as usize];
        lane.next = edge + self.stages * (1 + singles);
        lane.acts = lane.next;
        self.look_ahead(thread, threads);
        self.look_again(edge, turn, threads);
    }

    /// If available instructions may have changed, examines all other threads again from an edge
    /// on. The thread in the mask `turn` is up to date.
    #[inline(always)]
    pub fn look_again(&mut self, edge: u64, turn: u32, threads: &mut impl Threads) {
        if threads.changes() != self.changes {
            self.changes = threads.changes();
            self.look_at_others(edge, turn, threads);
            self.next_edge = self.next_edge.min(edge);
        }
    }

    /// Whether available instructions may have changed since they were last examined. `changes` is
    /// the number that [`changes`](Threads::changes) returns now.
    pub fn has_changed(&self, changes: u64) -> bool {
        changes != self.changes
    }

    fn look_at_others(&mut self, edge: u64, turn: u32, threads: &mut impl Threads) {
        for thread in threads_of((self.piped | self.ready) & !turn & !self.waiting) {
            if self.is_piped(thread) {
                self.count_before(thread, edge, threads);
            }
            let lane = &mut self.lanes[thread as usize];
            lane.acts = lane.next;
            self.look_ahead(thread, threads);
        }
    }

    /// Finds the edge at which a thread does something that other parts can observe, from its next
    /// uncounted instruction on. Returns whether a later instruction does it.
    #[inline(always)]
    fn look_ahead(&mut self, thread: u32, threads: &mut impl Threads) -> bool {
        let is_waiting = self.waiting & 1 << thread != 0;
        let (available, is_all) = if is_waiting { (0, true) } else { threads.available(thread) };
        let lane = &mut self.lanes[thread as usize];
        lane.acts += self.stages * u64::from(available);
        lane.is_certain = is_all;
        available != 0
    }

    /// Counts the available instructions that a thread issues before an edge.
    #[inline(always)]
    fn count_before(&mut self, thread: u32, edge: u64, threads: &mut impl Threads) {
        let lane = &mut self.lanes[thread as usize];
        let edge = edge.min(lane.acts);
        if lane.next < edge {
            let rounds = Rounds { first: lane.next, edges: self.stages };
            lane.next += self.stages * u64::from(threads.issue_before(thread, edge, rounds));
        }
    }

    /// Counts the available instructions that all threads issue before an edge. Required before a
    /// change of anything on which they depend.
    pub fn count_all_before(&mut self, edge: u64, threads: &mut impl Threads) {
        for thread in threads_of(self.piped & !self.waiting) {
            self.count_before(thread, edge, threads);
        }
    }

    /// Counts the instructions that threads have issued before an edge, for a report.
    pub fn settle(&mut self, edge: u64, threads: &mut impl Threads) {
        self.count_all_before(edge, threads);
        self.counted = self.counted.max(edge);
    }

    /// Resumes a thread at an edge, or when its instruction leaves the pipeline. Returns the edge.
    /// `singles` one-cycle instructions that only take time follow the instruction.
    pub fn go_on(&mut self, thread: u32, edge: u64, singles: u64) -> u64 {
        let is_piped = self.is_piped(thread);
        self.ready |= if is_piped { 0 } else { 1 << thread };
        let lane = &mut self.lanes[thread as usize];
        lane.since = if is_piped { lane.next } else { edge };
        lane.next = lane.since + self.stages * singles;
        lane.acts = lane.next;
        lane.is_certain = false;
        lane.since
    }

    /// Removes a thread from the pipeline.
    fn leave(&mut self, thread: u32) {
        self.piped &= !(1 << thread);
        self.leaving[usize::from(self.lanes[thread as usize].place) % STAGES] = 0;
    }

    /// Whether instructions of a thread are in the pipeline.
    fn is_piped(&self, thread: u32) -> bool {
        self.piped & 1 << thread != 0
    }

    /// Returns the number of a thread's instructions that are counted but not yet issued.
    pub fn to_come(&self, thread: u32) -> u16 {
        if self.ready & 1 << thread == 0 && !self.is_piped(thread) {
            return 0;
        }
        let lane = &self.lanes[thread as usize];
        let from = if self.is_piped(thread) { self.counted } else { lane.since };
        (lane.next.saturating_sub(from) / self.stages) as u16
    }
}

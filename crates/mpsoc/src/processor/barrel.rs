//! A barrel pipeline: threads issue in turn.
//!
//! While no thread delays another one, each issues at edges of its own: one in every round. So the
//! issue edges of its available instructions are known, and only those edges are simulated at which
//! a thread does something that other parts can observe, or at which threads contend.

use wireloom_sim::parts::issue::{STAGES, threads_of};

use super::{Hardware, Outside, Processor};
use crate::workload::{Rounds, Run, Workload};

/// The positions of a processor's threads in their programs and in the pipeline. In masks, bit `n`
/// is thread `n`.
#[derive(Clone, Debug)]
pub(super) struct IssueSlots {
    lanes: [Lane; 32],
    /// Threads with instructions in the pipeline.
    piped: u32,
    /// Threads whose instructions leave the pipeline at edge `n`: at index `n` modulo the number of
    /// stages.
    leaving: [u32; STAGES],
    /// The last edge that was simulated because of contention, and its place in
    /// [`leaving`](Self::leaving).
    contended: (u64, usize),
    /// The edge at which the thread in front of the first ones in the round has issued an
    /// instruction.
    issued: u64,
    /// All instructions issued before this edge are counted.
    counted: u64,
    /// The change counter of the caches when threads were last examined.
    changes: u64,
}

/// A thread that can issue.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// The edge of its next issue, if it has no instruction in the pipeline.
    since: u64,
    /// The edge of the next uncounted instruction, if nothing delays the thread.
    next: u64,
    /// The edge at which it does something that other parts can observe, or misses a cache; if it
    /// waits, the edge at which its instruction leaves the pipeline.
    acts: u64,
    /// Whether that is certain: it has no more available instructions when it reaches that edge.
    is_certain: bool,
    /// Its place in [`IssueSlots::leaving`], if it has an instruction in the pipeline.
    place: u8,
}

impl Lane {
    /// Delays its next instruction by so many edges.
    fn put_off(&mut self, edges: u64) {
        self.since += edges;
        self.next += edges;
        self.acts += edges;
    }
}

impl IssueSlots {
    pub(super) fn new() -> Self {
        Self {
            lanes: [Lane::default(); 32],
            piped: 0,
            leaving: [0; STAGES],
            contended: (0, 0),
            issued: 0,
            counted: 0,
            changes: 0,
        }
    }

    /// The place of an edge at which threads contend: most such edges are consecutive, and the host
    /// divides slowly.
    #[inline(always)]
    fn place(&mut self, edge: u64, stages: u64) -> usize {
        let (last, place) = self.contended;
        let place = match place + 1 {
            _ if edge != last + 1 => (edge % stages) as usize,
            next if next == stages as usize => 0,
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

    /// Resumes a thread at an edge, or when its instruction leaves the pipeline; returns the edge.
    /// `run` follows the instruction.
    pub(super) fn go_on(&mut self, thread: u32, edge: u64, run: &mut Run, stages: u64) -> u64 {
        let is_piped = self.is_piped(thread);
        let lane = &mut self.lanes[thread as usize];
        lane.since = if is_piped { lane.next } else { edge };
        lane.next = lane.since + stages * run.take_singles();
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
    pub(super) fn is_piped(&self, thread: u32) -> bool {
        self.piped & 1 << thread != 0
    }

    /// The number of a ready thread's instructions that are counted but not yet issued.
    pub(super) fn to_come(&self, thread: u32, stages: u64) -> u16 {
        let lane = &self.lanes[thread as usize];
        let from = if self.is_piped(thread) { self.counted } else { lane.since };
        (lane.next.saturating_sub(from) / stages) as u16
    }
}

impl<T> Processor<T> {
    /// Executes the cycles before an edge, and skips those in which threads only proceed or wait:
    /// an instruction of the next ready thread enters the pipeline; the thread can issue its next
    /// one when that has left.
    pub(super) fn barrel<W: Workload<Thread = T>>(
        &mut self,
        limit: u64,
        workload: &W,
        outside: &mut Outside<'_>,
    ) {
        let mut edge = self.next_edge;
        while !self.has_failed {
            if self.ready != 0 || self.free > edge {
                if edge >= limit {
                    break;
                }
                self.edge = edge;
                self.contend(workload, outside);
            } else {
                // Each thread has edges of its own.
                let Some((acts, thread)) = self.lanes.first_to_act() else {
                    edge = super::NEVER;
                    break;
                };
                edge = acts;
                if edge >= limit {
                    break;
                }
                self.edge = edge;
                self.act(thread, workload, outside);
            }
            edge += 1;
        }
        self.next_edge = edge;
    }

    /// Executes a cycle in which more than one thread may be ready to issue.
    fn contend<W: Workload<Thread = T>>(&mut self, workload: &W, outside: &mut Outside<'_>) {
        let edge = self.edge;
        let place = self.lanes.place(edge, self.stages);
        let mut leaves = self.lanes.leaving[place];
        if leaves & self.waiting != 0 {
            self.lanes.leave(leaves.trailing_zeros());
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
                self.count_before(leaves.trailing_zeros(), edge, workload);
                self.lanes.lanes[leaves.trailing_zeros() as usize].since = edge;
            }
            self.ready = among ^ turn;
            self.lanes.piped = self.lanes.piped & !leaves | turn;
            self.lanes.leaving[place] = turn;
        }
        if turn == 0 {
            return;
        }
        self.had_turn(turn, edge);
        let lane = &mut self.lanes.lanes[thread as usize];
        if turn != leaves {
            lane.place = place as u8;
            lane.put_off(edge - lane.since);
        }
        if lane.acts == edge {
            self.act(thread, workload, outside);
        }
    }

    /// Finds the threads that come first in the round: those after the thread that issued last
    /// before this edge, which has that place.
    fn recall(&mut self, place: usize) {
        let (mut edge, mut place) = (self.edge, place);
        for _ in 0..self.stages.min(self.edge) {
            edge -= 1;
            place = if place == 0 { self.stages as usize } else { place } - 1;
            let turn = self.lanes.leaving[place % STAGES];
            if edge <= self.lanes.issued {
                return;
            }
            if turn != 0 {
                self.had_turn(turn, edge);
                return;
            }
        }
    }

    /// Records that a thread, as a mask, issued last, at an edge.
    #[inline(always)]
    fn had_turn(&mut self, turn: u32, edge: u64) {
        self.round.had(turn);
        self.lanes.issued = edge;
    }

    /// Executes an action of a thread in the pipeline that other parts can observe; a thread that
    /// waits leaves the pipeline.
    fn act<W: Workload<Thread = T>>(
        &mut self,
        thread: u32,
        workload: &W,
        outside: &mut Outside<'_>,
    ) {
        let (edge, turn) = (self.edge, 1 << thread);
        if self.waiting & turn != 0 {
            self.lanes.leave(thread);
            return;
        }
        self.count_before(thread, edge, workload);
        if !self.lanes.lanes[thread as usize].is_certain && self.look_ahead(thread, workload) {
            return;
        }
        self.had_turn(turn, edge);
        self.issue(thread, workload, outside);
        let singles = self.runs[thread as usize % 32].take_singles();
        let lane = &mut self.lanes.lanes[thread as usize];
        lane.next = edge + self.stages * (1 + singles);
        lane.acts = lane.next;
        self.look_ahead(thread, workload);
        self.look_again(edge, turn, workload);
    }

    /// If the caches have changed, recomputes the available instructions of the threads from an
    /// edge on, except for this thread (as a mask), which is up to date.
    #[inline(always)]
    pub(super) fn look_again<W: Workload<Thread = T>>(
        &mut self,
        edge: u64,
        turn: u32,
        workload: &W,
    ) {
        if self.caches.changes() != self.lanes.changes {
            self.lanes.changes = self.caches.changes();
            self.look_at_others(edge, turn, workload);
            self.next_edge = self.next_edge.min(edge);
        }
    }

    /// Whether the caches have changed since the last examination of the threads, and this matters
    /// to a thread.
    pub(in super::super) fn has_changed(&self) -> bool {
        self.has_lanes() && self.caches.changes() != self.lanes.changes
    }

    fn look_at_others<W: Workload<Thread = T>>(&mut self, edge: u64, turn: u32, workload: &W) {
        for thread in threads_of((self.lanes.piped | self.ready) & !turn & !self.waiting) {
            if self.lanes.is_piped(thread) {
                self.count_before(thread, edge, workload);
            }
            let lane = &mut self.lanes.lanes[thread as usize];
            lane.acts = lane.next;
            self.look_ahead(thread, workload);
        }
    }

    /// Finds the edge at which a thread does something that other parts can observe, from its next
    /// uncounted instruction on; returns whether that is a later instruction.
    #[inline(always)]
    fn look_ahead<W: Workload<Thread = T>>(&mut self, thread: u32, workload: &W) -> bool {
        let lane = &mut self.lanes.lanes[thread as usize];
        if self.waiting & 1 << thread != 0 || self.runs[thread as usize % 32].count != 0 {
            lane.is_certain = true;
            return false;
        }
        let Hardware { registers, context, .. } = &mut self.threads[thread as usize];
        let (at_hand, is_all) = workload.at_hand(registers, context, &self.caches);
        lane.acts += self.stages * u64::from(at_hand);
        lane.is_certain = is_all;
        at_hand != 0
    }

    /// Counts the available instructions that a thread issues before an edge.
    #[inline(always)]
    fn count_before<W: Workload<Thread = T>>(&mut self, thread: u32, edge: u64, workload: &W) {
        let lane = &mut self.lanes.lanes[thread as usize];
        let edge = edge.min(lane.acts);
        if lane.next < edge {
            let rounds = Rounds { first: lane.next, edges: self.stages };
            let hardware = &mut self.threads[thread as usize];
            let issued =
                workload.issue_before(&mut hardware.registers, edge, rounds, &mut self.caches);
            hardware.context.spent.add(Run { count: issued as u16, cycles: 1 });
            lane.next += self.stages * u64::from(issued);
        }
    }

    /// Counts the available instructions that all threads issue before an edge.
    pub(super) fn count_all_before<W: Workload<Thread = T>>(&mut self, edge: u64, workload: &W) {
        for thread in threads_of(self.lanes.piped & !self.waiting) {
            self.count_before(thread, edge, workload);
        }
    }

    /// Counts the instructions that threads have issued before an edge, for a report.
    pub(in super::super) fn settle<W: Workload<Thread = T>>(&mut self, edge: u64, workload: &W) {
        self.count_all_before(edge, workload);
        self.lanes.counted = self.lanes.counted.max(edge);
    }
}

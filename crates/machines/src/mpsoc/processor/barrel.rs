//! A pipeline that threads take turns in.
//!
//! While no thread keeps another one from its turn, each has the pipeline at edges of its own: one in every round. So it is known when each issues what it has
//! at hand, and only edges are looked at at which a thread does something that others can tell, or at which threads contend.

use super::{Hardware, Outside, Processor, behind, next_in_turn, threads_of};
use crate::mpsoc::pipeline::STAGES;
use crate::mpsoc::workload::{Rounds, Run, Workload};

/// Where the threads of a processor are in their programs and in the pipeline. Of masks, bit `n` is thread `n`.
#[derive(Debug)]
pub(super) struct Lanes {
    lanes: [Lane; 32],
    /// Those that have instructions in the pipeline.
    piped: u32,
    /// Whose instructions leave the pipeline at edge `n`: at `n` modulo the stages.
    leaving: [u32; STAGES],
    /// The edge that was looked at last because threads contend, and its place in [`leaving`](Self::leaving).
    contended: (u64, usize),
    /// The edge at which the thread before those that come first in the round has issued an instruction.
    issued: u64,
    /// Before this edge all is counted that was issued.
    counted: u64,
    /// How often the caches had changed when threads were looked at last.
    changes: u64,
}

/// A thread that can go on.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    /// The edge at which it issues an instruction next, if none is in the pipeline.
    since: u64,
    /// The edge of the next instruction that is not counted, if nobody keeps it from its turn.
    next: u64,
    /// The edge at which it does something that others can tell, or has not all at hand; if it waits, the edge at which its instruction leaves the pipeline.
    acts: u64,
    /// Whether that is certain: it has no more at hand when it comes to that edge.
    is_certain: bool,
    /// Where in [`Lanes::leaving`] it stands, if it has an instruction in the pipeline.
    place: u8,
}

impl Lane {
    /// It issues its next instruction so much later.
    fn put_off(&mut self, edges: u64) {
        self.since += edges;
        self.next += edges;
        self.acts += edges;
    }
}

impl Lanes {
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

    /// The place of an edge at which threads contend: most come one behind the other, and the host divides slowly.
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

    /// The first of those in the pipeline to do something that others can tell, and the edge.
    #[inline(always)]
    fn first_to_act(&self) -> Option<(u64, u32)> {
        threads_of(self.piped).map(|thread| (self.lanes[thread as usize].acts, thread)).min()
    }

    /// A thread that waited goes on at an edge, or when its instruction leaves the pipeline; answers when. `run` is behind the instruction.
    pub(super) fn go_on(&mut self, thread: u32, edge: u64, run: &mut Run, stages: u64) -> u64 {
        let is_piped = self.is_piped(thread);
        let lane = &mut self.lanes[thread as usize];
        lane.since = if is_piped { lane.next } else { edge };
        lane.next = lane.since + stages * run.take_singles();
        lane.acts = lane.next;
        lane.is_certain = false;
        lane.since
    }

    /// A thread has no instruction in the pipeline any more.
    fn leave(&mut self, thread: u32) {
        self.piped &= !(1 << thread);
        self.leaving[usize::from(self.lanes[thread as usize].place) % STAGES] = 0;
    }

    /// Whether instructions of a thread are in the pipeline.
    pub(super) fn is_piped(&self, thread: u32) -> bool {
        self.piped & 1 << thread != 0
    }

    /// How many instructions of a thread that can go on are counted and were not issued.
    pub(super) fn to_come(&self, thread: u32, stages: u64) -> u16 {
        let lane = &self.lanes[thread as usize];
        let from = if self.is_piped(thread) { self.counted } else { lane.since };
        (lane.next.saturating_sub(from) / stages) as u16
    }
}

impl<T> Processor<T> {
    /// Cycles before an edge, those left out in which threads only go on or wait: an instruction of the next ready thread enters the pipeline; the thread can
    /// issue its next one when it has left.
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
                // Each has edges of its own.
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

    /// A cycle in which perhaps more than one thread could issue an instruction.
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
                next_in_turn(among, self.first)
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
        (self.first, self.lanes.issued) = (behind(turn), edge);
        let lane = &mut self.lanes.lanes[thread as usize];
        if turn != leaves {
            lane.place = place as u8;
            lane.put_off(edge - lane.since);
        }
        if lane.acts == edge {
            self.act(thread, workload, outside);
        }
    }

    /// Finds the threads that come first in the round: those behind the one that has issued an instruction last before this edge, which has that place.
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
                (self.first, self.lanes.issued) = (behind(turn), edge);
                return;
            }
        }
    }

    /// A thread in the pipeline does something that others can tell, or it has left if it waits.
    fn act<W: Workload<Thread = T>>(&mut self, thread: u32, workload: &W, outside: &mut Outside<'_>) {
        let (edge, turn) = (self.edge, 1 << thread);
        if self.waiting & turn != 0 {
            self.lanes.leave(thread);
            return;
        }
        self.count_before(thread, edge, workload);
        if !self.lanes.lanes[thread as usize].is_certain && self.look_ahead(thread, workload) {
            return;
        }
        (self.first, self.lanes.issued) = (behind(turn), edge);
        self.issue(thread, workload, outside);
        let singles = self.runs[thread as usize % 32].take_singles();
        let lane = &mut self.lanes.lanes[thread as usize];
        lane.next = edge + self.stages * (1 + singles);
        lane.acts = lane.next;
        self.look_ahead(thread, workload);
        self.look_again(edge, turn, workload);
    }

    /// If the caches have changed, what threads have at hand is another thing from an edge on; this one (as a mask) was looked at already.
    #[inline(always)]
    pub(super) fn look_again<W: Workload<Thread = T>>(&mut self, edge: u64, turn: u32, workload: &W) {
        if self.caches.changes() != self.lanes.changes {
            self.lanes.changes = self.caches.changes();
            self.look_at_others(edge, turn, workload);
            self.next_edge = self.next_edge.min(edge);
        }
    }

    /// Whether the caches have changed since threads were looked at last, to which that matters.
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

    /// Finds the edge at which a thread does something that others can tell, from its next instruction that is not counted on; answers whether that is not
    /// this instruction.
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

    /// Counts what a thread has at hand and issues before an edge.
    #[inline(always)]
    fn count_before<W: Workload<Thread = T>>(&mut self, thread: u32, edge: u64, workload: &W) {
        let lane = &mut self.lanes.lanes[thread as usize];
        let edge = edge.min(lane.acts);
        if lane.next < edge {
            let rounds = Rounds { first: lane.next, edges: self.stages };
            let hardware = &mut self.threads[thread as usize];
            let issued = workload.issue_before(&mut hardware.registers, edge, rounds, &mut self.caches);
            hardware.context.spent.add(Run { count: issued as u16, cycles: 1 });
            lane.next += self.stages * u64::from(issued);
        }
    }

    /// The same for all threads.
    pub(super) fn count_all_before<W: Workload<Thread = T>>(&mut self, edge: u64, workload: &W) {
        for thread in threads_of(self.lanes.piped & !self.waiting) {
            self.count_before(thread, edge, workload);
        }
    }

    /// Counts what threads have issued before an edge, for a report.
    pub(in super::super) fn settle<W: Workload<Thread = T>>(&mut self, edge: u64, workload: &W) {
        self.count_all_before(edge, workload);
        self.lanes.counted = edge;
    }
}

//! A pipeline that threads take turns in.

use super::{NEVER, Outside, Processor, behind, next_in_turn};
use crate::mpsoc::pipeline::STAGES;
use crate::mpsoc::workload::{Run, Workload};

/// Threads each of which issues an instruction in every round of the pipeline, in a slot of its own.
struct Slots {
    /// Of each: the edge at which it does something else than to issue an instruction of a single cycle, and the thread as a mask.
    slots: [(u64, u32); STAGES],
    count: usize,
}

impl Slots {
    fn add(&mut self, edge: u64, thread: u32) {
        self.slots[self.count] = (edge, thread);
        self.count += 1;
    }

    fn remove(&mut self, place: usize) {
        self.count -= 1;
        self.slots[place] = self.slots[self.count];
    }

    fn all(&self) -> &[(u64, u32)] {
        &self.slots[..self.count]
    }

    /// The first edge at which one does something else, and its place.
    fn first(&self) -> Option<(u64, usize)> {
        self.all().iter().zip(0..).map(|((edge, _), place)| (*edge, place)).min()
    }
}

impl<T> Processor<T> {
    /// Cycles before an edge, those left out in which only waiting is done: an instruction of the next ready thread enters the pipeline; the thread can
    /// issue its next one when it has left.
    pub(super) fn barrel<W: Workload<Thread = T>>(
        &mut self,
        limit: u64,
        workload: &W,
        outside: &mut Outside<'_>,
    ) {
        // What changes in every cycle is at hand here, and put back behind the last.
        let Self { next_edge: mut edge, mut ready, .. } = *self;
        while edge < limit {
            self.edge = edge;
            ready |= self.pipeline.take(edge) & !self.waiting;
            if ready != 0 && self.free <= edge {
                let turn = next_in_turn(ready, self.first);
                self.first = behind(turn);
                ready ^= turn;
                self.pipeline.put(edge + self.stages, turn);
                let thread = turn.trailing_zeros();
                // The next cycle can issue one of a single cycle's behind it, whatever `free` is.
                if !self.runs[thread as usize % 32].issue_single() {
                    self.issue(thread, workload, outside);
                }
            }
            if ready == 0 && self.free <= edge + 1 {
                self.apart(limit, workload, outside);
                edge = self.edge;
            }
            edge = if ready != 0 && self.free <= edge + 1 {
                edge + 1
            } else {
                match self.pipeline.next(edge) {
                    Some(leaves) if ready == 0 => leaves,
                    Some(leaves) => self.free.min(leaves),
                    // It sleeps when it could issue something again.
                    None if ready == 0 && self.free > edge + 1 => self.free - 1,
                    None if ready == 0 => NEVER,
                    None => self.free,
                }
            };
            if self.has_failed {
                break;
            }
        }
        (self.next_edge, self.ready) = (edge, ready);
    }

    /// Cycles behind the present one and before an edge, as long as no thread keeps another one from its turn: each has a slot of the pipeline for itself,
    /// and none is ready before it has left. So only the cycles are looked at in which an instruction does more than to take its cycle.
    fn apart<W: Workload<Thread = T>>(&mut self, limit: u64, workload: &W, outside: &mut Outside<'_>) {
        let (begin, stages) = (self.edge, self.stages);
        if self.is_naive || self.has_failed || limit <= begin + stages {
            return;
        }
        let mut slots = Slots { slots: [(0, 0); STAGES], count: 0 };
        for leaves in begin + 1..=begin + stages {
            let turn = self.pipeline.at(leaves);
            if turn != 0 {
                let run = self.runs[turn.trailing_zeros() as usize];
                if run.keeps_others() {
                    return;
                }
                slots.add(leaves + stages * u64::from(run.count), turn);
            }
        }
        self.pipeline.clear();
        // When the last instruction was issued, and the edge behind all that this has done.
        let (mut issued, mut end) = (begin, limit);
        while let Some((edge, place)) = slots.first().filter(|(edge, _)| *edge < limit) {
            self.edge = edge;
            let turn = slots.slots[place].1;
            if self.waiting & turn != 0 {
                slots.remove(place);
                continue;
            }
            let thread = turn.trailing_zeros();
            self.execute(thread, workload, outside);
            (self.first, issued) = (behind(turn), edge);
            let run = self.runs[thread as usize];
            if self.free > edge + 1 || run.keeps_others() || self.has_failed {
                slots.remove(place);
                self.pipeline.put(edge + stages, turn);
                end = edge + 1;
                break;
            }
            slots.slots[place].0 = edge + stages * (1 + u64::from(run.count));
        }
        for (edge, turn) in slots.all() {
            let rounds = ((edge - end) as u32 / stages as u32) as u16;
            self.runs[turn.trailing_zeros() as usize] = Run { count: rounds, cycles: 1 };
            let leaves = edge - stages * u64::from(rounds);
            self.pipeline.put(leaves, *turn);
            let before = leaves - stages;
            if before > issued {
                (self.first, issued) = (behind(*turn), before);
            }
        }
        self.edge = self.edge.max(issued);
    }
}

//! A pipeline that threads take turns in, as a simulator has it that looks at every cycle.

use super::{NEVER, Outside, Processor, behind, next_in_turn};
use crate::mpsoc::context::Wait;
use crate::mpsoc::workload::Workload;

impl<T> Processor<T> {
    /// The cycle of an edge.
    pub(super) fn every_cycle<W: Workload<Thread = T>>(
        &mut self,
        edge: u64,
        workload: &W,
        outside: &mut Outside<'_>,
    ) {
        self.edge = edge;
        self.ready |= self.pipeline.take(edge) & !self.waiting;
        if self.ready != 0 && self.free <= edge {
            let turn = next_in_turn(self.ready, self.first);
            self.first = behind(turn);
            self.ready ^= turn;
            self.pipeline.put(edge + self.stages, turn);
            self.issue(turn.trailing_zeros(), workload, outside);
        }
        let is_over = self.ready == 0 && self.pipeline.piped() == 0 && self.free <= edge + 1;
        self.next_edge = if is_over { NEVER } else { edge + 1 };
    }

    /// Finds out anew what each thread does, as a simulator would that keeps no lists.
    pub(super) fn look(&mut self) {
        (self.ready, self.waiting) = (0, 0);
        let piped = self.pipeline.piped();
        for (lane, hardware) in self.threads.iter().enumerate() {
            let bit = 1 << lane;
            let waits = hardware.context.wait != Wait::Nothing;
            let is_piped = piped & bit != 0;
            self.waiting |= if waits { bit } else { 0 };
            self.ready |= if waits || is_piped { 0 } else { bit };
        }
    }
}

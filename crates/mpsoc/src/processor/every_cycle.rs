//! A barrel pipeline, simulated by polling in every cycle.

use super::{NEVER, Outside, Processor};
use crate::context::Wait;
use crate::workload::Workload;

impl<T> Processor<T> {
    /// Executes the cycle of an edge.
    pub(super) fn every_cycle<W: Workload<Thread = T>>(
        &mut self,
        edge: u64,
        workload: &W,
        outside: &mut Outside<'_>,
    ) {
        self.edge = edge;
        let turn = self.every_cycle.cycle(edge, &mut self.ready, self.waiting);
        if turn != 0 {
            self.issue(turn.trailing_zeros(), workload, outside);
            self.every_cycle.hold(self.free);
        }
        let is_over = self.every_cycle.is_over(edge, self.ready);
        self.next_edge = if is_over { NEVER } else { edge + 1 };
    }

    /// Recomputes the state of each thread, like a simulator without lists.
    pub(super) fn look(&mut self) {
        (self.ready, self.waiting) = (0, 0);
        let piped = self.every_cycle.piped();
        for (lane, hardware) in self.threads.iter().enumerate() {
            let bit = 1 << lane;
            let waits = hardware.context.wait != Wait::Nothing;
            let is_piped = piped & bit != 0;
            self.waiting |= if waits { bit } else { 0 };
            self.ready |= if waits || is_piped { 0 } else { bit };
        }
    }
}

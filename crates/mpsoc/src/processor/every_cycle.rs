//! A barrel pipeline, simulated by polling in every cycle.

use super::{Executing, NEVER, Outside, Processor};
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
        let Self { core, slots, every_cycle, .. } = self;
        slots.edge = edge;
        let turn = every_cycle.cycle(edge, &mut slots.ready, slots.waiting);
        if turn != 0 {
            Executing { core, workload, outside }.issue_next(slots, turn.trailing_zeros());
            every_cycle.hold(slots.free);
        }
        let is_over = every_cycle.is_over(edge, slots.ready);
        slots.next_edge = if is_over { NEVER } else { edge + 1 };
    }

    /// Recomputes the state of each thread, as a simulator without event lists does.
    pub(super) fn look(&mut self) {
        (self.slots.ready, self.slots.waiting) = (0, 0);
        let piped = self.every_cycle.piped();
        for (lane, hardware) in self.core.threads.iter().enumerate() {
            let bit = 1 << lane;
            let waits = hardware.context.wait != Wait::Nothing;
            let is_piped = piped & bit != 0;
            self.slots.waiting |= if waits { bit } else { 0 };
            self.slots.ready |= if waits || is_piped { 0 } else { bit };
        }
    }
}

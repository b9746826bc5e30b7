//! Cycles of engines: what the chip shows them, and what it counts of them.

use wireloom_sim::{Activity, EnergySink, Kernel};

use super::{Chip, Event};
use crate::engine::{Around, Cycle};
use crate::trace::{Event as Traced, What};
use crate::units::Refused;

impl<E: EnergySink> Chip<E> {
    /// A cycle of an engine.
    pub(super) fn engine_cycle(
        &mut self,
        number: usize,
        kernel: &mut Kernel<Event>,
    ) -> Result<Activity, Refused> {
        let now = kernel.now();
        let engine = &mut self.engines[number];
        if let Some(since) = self.asleep[number].take() {
            engine.slept(kernel.edges(number + 1).saturating_sub(since + 1));
        }
        let mut around = Around {
            pool: &mut self.pool,
            now,
            receive_ready: self.fbi.lines.receive_ready != 0,
            transmit_full: false,
            began: None,
            issued: None,
        };
        around.transmit_full = engine.asks_for_room() && self.fbi.is_full();
        let cycle = engine.cycle(&mut around);
        let (began, issued) = (around.began, around.issued);
        if let Some(handle) = issued {
            kernel.wake(wireloom_sim::Unit(0));
            self.note(now, What::Issue, handle, 0);
        }
        if let Some((context, mask)) = began
            && self.trace.is_on()
        {
            self.trace.add(Traced {
                cycle: self.spec.core.clock.edge_from(now),
                what: What::Run,
                engine: number as u8,
                context,
                value: mask.into(),
                command: None,
            });
        }
        Ok(match cycle? {
            Cycle::Idle => {
                self.asleep[number] = Some(kernel.edges(number + 1));
                self.stop_drained(kernel);
                Activity::Asleep
            }
            Cycle::Busy | Cycle::Lost => Activity::Awake,
        })
    }
}

//! Engine cycles: the chip's inputs to them, and the counts that it keeps.

use wireloom_isa::microengine::Signal;
use wireloom_sim::{Activity, EnergySink, EventSink, Kernel};

use super::{Chip, Event};
use crate::engine::{Around, Cycle, Outside};
use crate::trace::{Event as Traced, What};
use crate::units::Refused;

impl<E: EnergySink> Chip<E> {
    /// Runs a cycle of an engine.
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
            full_rings: 0,
            began: None,
            issued: None,
        };
        if engine.asks_for_room() {
            around.transmit_full = self.fbi.is_full();
            around.full_rings = self.scratch.full_rings();
        }
        let cycle = engine.cycle(&mut around);
        let (began, issued) = (around.began, around.issued);
        if !self.engines[number].second.outside.is_empty() {
            self.outside(number, kernel)?;
        }
        if let Some(handle) = issued {
            kernel.wake(wireloom_sim::Unit(0));
            self.locate(handle)?;
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

    /// Carries out the actions that an engine requests for itself and its neighbours.
    fn outside(&mut self, number: usize, kernel: &mut Kernel<Event>) -> Result<(), Refused> {
        let asked = std::mem::take(&mut self.engines[number].second.outside);
        for outside in asked {
            match outside {
                Outside::Neighbour { register, value } => {
                    let next = self.engines.get_mut(number + 1).ok_or_else(|| {
                        Refused(format!(
                            "engine {number} writes to a neighbour, and has no next one"
                        ))
                    })?;
                    next.second.take_neighbour(register, value);
                }
                Outside::Signal { engine, context, signal } => {
                    let other = number.checked_add_signed(engine.into());
                    let other = other.filter(|other| {
                        let engine = self.engines.get(*other);
                        engine.is_some_and(|it| usize::from(context) < it.contexts().len())
                    });
                    let other = other.ok_or_else(|| {
                        Refused(format!(
                            "engine {number} signals an engine next to it, or a context, that is \
                             not there"
                        ))
                    })?;
                    self.signal(other as u8, context, Signal(signal), kernel);
                }
                Outside::Later { cycles, context, signal } => {
                    let clock = self.spec.engine.clock;
                    let at = kernel.now() + clock.cycles(cycles.max(1));
                    kernel.send_at(at, Event::Signal(number as u8, context, Signal(signal)));
                }
            }
        }
        Ok(())
    }
}

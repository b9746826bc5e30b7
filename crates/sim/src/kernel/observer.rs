//! Observers see the events and cycles of a run and can break it.

use std::convert::Infallible;
use std::ops::ControlFlow;

use super::{Kernel, Model, Unit};

/// An observer of a run; see [`Kernel::observe`]. A run without an observer pays nothing: the
/// observer `()` is compiled away.
pub trait Observer<M: Model> {
    /// The reason why the observer breaks a run; [`Infallible`] if it never does.
    type Break;

    /// Sees an event before it arrives.
    fn arrives(&mut self, _event: &M::Event, _model: &M, _kernel: &Kernel<M::Event>) {}

    /// Sees the model after an event has arrived, and may break the run.
    fn has_arrived(&mut self, _model: &M, _kernel: &Kernel<M::Event>) -> ControlFlow<Self::Break> {
        ControlFlow::Continue(())
    }

    /// Sees the model after a unit has had a cycle, and may break the run.
    fn has_cycled(
        &mut self,
        _unit: Unit,
        _model: &M,
        _kernel: &Kernel<M::Event>,
    ) -> ControlFlow<Self::Break> {
        ControlFlow::Continue(())
    }
}

impl<M: Model> Observer<M> for () {
    type Break = Infallible;
}

/// The last step of a run that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// An event has arrived.
    Event,
    /// A unit has had a cycle.
    Cycle(Unit),
}

/// Breaks a run after one event or one cycle.
#[derive(Clone, Copy, Debug)]
pub struct SingleStep;

impl<M: Model> Observer<M> for SingleStep {
    type Break = Happened;

    fn has_arrived(&mut self, _: &M, _: &Kernel<M::Event>) -> ControlFlow<Happened> {
        ControlFlow::Break(Happened::Event)
    }

    fn has_cycled(&mut self, unit: Unit, _: &M, _: &Kernel<M::Event>) -> ControlFlow<Happened> {
        ControlFlow::Break(Happened::Cycle(unit))
    }
}

/// Breaks a run as soon as a condition on the model and the kernel holds. It checks the condition
/// after each event and each cycle.
#[derive(Clone, Copy, Debug)]
pub struct Breakpoint<F>(pub F);

impl<F> Breakpoint<F> {
    fn check<M: Model>(
        &mut self,
        happened: Happened,
        model: &M,
        kernel: &Kernel<M::Event>,
    ) -> ControlFlow<Happened>
    where
        F: FnMut(&M, &Kernel<M::Event>) -> bool,
    {
        if (self.0)(model, kernel) {
            return ControlFlow::Break(happened);
        }
        ControlFlow::Continue(())
    }
}

impl<M: Model, F: FnMut(&M, &Kernel<M::Event>) -> bool> Observer<M> for Breakpoint<F> {
    type Break = Happened;

    fn has_arrived(&mut self, model: &M, kernel: &Kernel<M::Event>) -> ControlFlow<Happened> {
        self.check(Happened::Event, model, kernel)
    }

    fn has_cycled(
        &mut self,
        unit: Unit,
        model: &M,
        kernel: &Kernel<M::Event>,
    ) -> ControlFlow<Happened> {
        self.check(Happened::Cycle(unit), model, kernel)
    }
}

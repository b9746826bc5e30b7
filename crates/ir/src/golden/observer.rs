//! Observation of the golden model's threads.

use wireloom_bits::Bits;
use wireloom_net::PacketInHand;
use wireloom_offloads::Store;

use super::activation::Activation;
use super::decode::{Elements, Place};
use crate::{ArrayId, ContextId, EngineId, StepId, Value};

/// An observer of threads. It is told of steps and operations in the order in which they happen;
/// those of a called engine lie between [`before`](Self::before) and [`after`](Self::after) of the
/// call.
///
/// Operations have numbers from 0 in the order of [`Step::for_each_op`](crate::Step::for_each_op).
/// Constants, and operations that do not happen because their guard is 0, are not reported.
pub trait Observer {
    /// A thread begins a step.
    fn step(&mut self, now: &Moment<'_>) {
        let _ = now;
    }

    /// An operation is about to happen: its operands have their values.
    fn before(&mut self, operation: u32, now: &Moment<'_>) {
        let _ = (operation, now);
    }

    /// An operation has happened: its results have their values too. An exit has no `after`, nor
    /// has an `if` inside which the step ended.
    fn after(&mut self, operation: u32, now: &Moment<'_>) {
        let _ = (operation, now);
    }
}

/// Observes nothing, and costs nothing.
impl Observer for () {}

/// The state of a thread at a moment.
pub struct Moment<'a> {
    /// The engine that the thread executes.
    pub engine: EngineId,
    /// The step.
    pub step: StepId,
    /// The packet; a called engine has none.
    pub packet: Option<&'a PacketInHand>,
    /// The engine's offloads.
    pub store: &'a Store,
    pub(super) activation: &'a Activation,
    /// The place of value 0 of each step.
    pub(super) bases: &'a [Place],
    pub(super) arrays: &'a [Elements],
}

impl Moment<'_> {
    /// Returns a value of the step. Values that are not defined yet have no meaning.
    ///
    /// # Panics
    /// If the step has no such value.
    pub fn value(&self, value: Value) -> Bits {
        self.activation.bits(self.bases[self.step.index()] + value.index())
    }

    /// Returns the value of a context variable.
    ///
    /// # Panics
    /// If the engine has no such variable.
    pub fn context(&self, variable: ContextId) -> Bits {
        self.activation.bits(variable.index())
    }

    /// Returns an element of a context array; `None` if there is none at that index.
    ///
    /// # Panics
    /// If the engine has no such array.
    pub fn element(&self, array: ArrayId, index: &Bits) -> Option<Bits> {
        let place = self.arrays[array.index()].at(index.to_u128()?)?;
        Some(self.activation.bits(place))
    }
}

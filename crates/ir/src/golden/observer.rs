//! Observers of the threads of the golden model.

use wireloom_bits::Bits;
use wireloom_net::PacketInHand;
use wireloom_offloads::Store;

use super::activation::Activation;
use super::decode::{Elements, Place};
use crate::{ArrayId, ContextId, EngineId, StepId, Value};

/// An observer of threads. The golden model reports steps and operations in execution order. It
/// reports the operations of a called engine between [`before`](Self::before) and
/// [`after`](Self::after) of the call.
///
/// Operations are numbered from 0 in the order of [`Step::for_each_op`](crate::Step::for_each_op).
/// Constants and operations with a guard of 0 are not reported.
pub trait Observer {
    /// A thread begins a step.
    fn step(&mut self, now: &Moment<'_>) {
        let _ = now;
    }

    /// An operation is about to execute. Its operands have their values.
    fn before(&mut self, operation: u32, now: &Moment<'_>) {
        let _ = (operation, now);
    }

    /// An operation has executed. Its results have their values. An exit has no `after`, nor does
    /// an `if` inside which the step ended.
    fn after(&mut self, operation: u32, now: &Moment<'_>) {
        let _ = (operation, now);
    }
}

/// Observes nothing, at no cost.
impl Observer for () {}

/// The state of a thread at a moment.
pub struct Moment<'a> {
    /// The engine that the thread executes.
    pub engine: EngineId,
    pub step: StepId,
    /// The current packet; `None` in a called engine.
    pub packet: Option<&'a PacketInHand>,
    /// The engine's offloads.
    pub store: &'a Store,
    pub(super) activation: &'a Activation,
    /// The place of value 0 of each step.
    pub(super) bases: &'a [Place],
    pub(super) arrays: &'a [Elements],
}

impl Moment<'_> {
    /// Returns a value of the step. The result is meaningless if the value is not yet defined.
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

    /// Returns an element of a context array; `None` if the index is out of range.
    ///
    /// # Panics
    /// If the engine has no such array.
    pub fn element(&self, array: ArrayId, index: &Bits) -> Option<Bits> {
        let place = self.arrays[array.index()].at(index.to_u128()?)?;
        Some(self.activation.bits(place))
    }
}

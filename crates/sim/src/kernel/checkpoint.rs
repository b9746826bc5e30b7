//! Checkpoints: the state of a whole machine at a point of a run.

use super::{Kernel, Model};
use crate::Time;

/// A copy of a model and its kernel: time, clocks, pending events, sleeping units, random numbers
/// and statistics. A run that continues from it equals the original run.
///
/// A checkpoint can be taken between two runs, also after a break in the middle of an instant.
#[derive(Clone, Debug)]
pub struct Checkpoint<M: Model> {
    model: M,
    kernel: Kernel<M::Event>,
}

impl<M: Model<Event: Clone> + Clone> Checkpoint<M> {
    /// Copies a machine.
    pub fn take(model: &M, kernel: &Kernel<M::Event>) -> Self {
        Self { model: model.clone(), kernel: kernel.clone() }
    }

    /// The time of the checkpoint.
    pub fn time(&self) -> Time {
        self.kernel.now()
    }

    /// Returns a machine in the state of the checkpoint. It can be called any number of times.
    pub fn restore(&self) -> (M, Kernel<M::Event>) {
        (self.model.clone(), self.kernel.clone())
    }
}

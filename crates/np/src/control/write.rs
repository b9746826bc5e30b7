//! Writes of entries over the control port.

use wireloom_bits::Bits;

use crate::processor::plan::{Plan, Service};
use crate::processor::services::first_pipe_target;
use crate::simulation::Operation;

/// A write of one whole entry over the control port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlWrite {
    /// Number of the control target in the memory map.
    pub target: u8,
    /// An index, or the number of a burst.
    pub address: u32,
    pub value: Bits,
}

impl From<ControlWrite> for Operation {
    fn from(write: ControlWrite) -> Self {
        Self::Write { target: write.target, address: write.address, value: write.value }
    }
}

impl Plan {
    /// Returns the writes, one for each pipe, of a service's control target, which is counted from
    /// the service's first.
    pub(crate) fn in_every_pipe(
        &self,
        service: &Service,
        target: usize,
        address: u32,
        value: &Bits,
    ) -> Vec<ControlWrite> {
        let first = 1 + first_pipe_target(self, service) + target;
        let write = |pipe: usize| ControlWrite {
            target: (first + pipe * self.targets_a_pipe()) as u8,
            address,
            value: value.clone(),
        };
        (0..self.machine.lanes()).map(write).collect()
    }
}

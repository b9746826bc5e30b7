//! Changes of prefix tables as accesses of the control port.

use wireloom_bits::Bits;

use super::plan::Service;
use super::{Processor, lookup, services};
use crate::machine::Realisation;
use crate::tables::Write;

/// A write over the control port: one whole entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlWrite {
    /// Number of the control target, as the memory map has it.
    pub target: u8,
    /// What is written there: an index, or a burst.
    pub address: u32,
    /// The entry.
    pub value: Bits,
}

impl Processor {
    /// What the control port has to write, in every pipe, to carry out a write of a trie's image
    /// ([`TrieImage::insert`](crate::tables::TrieImage::insert)); nothing for a barrier, where
    /// [`lookup_cycles`](Self::lookup_cycles) are to be waited, or if the offload is no trie.
    pub fn control_writes(&self, offload: &str, write: &Write) -> Vec<ControlWrite> {
        let plan = &self.plan;
        let Some(service) = self.trie(offload) else { return Vec::new() };
        let Some((offset, address, value)) = lookup::access(plan, service, write) else { return Vec::new() };
        let first = 1 + services::first_pipe_target(plan, service) + offset;
        (0..plan.machine.lanes())
            .map(|pipe| ControlWrite {
                target: (first + pipe * plan.targets_a_pipe()) as u8,
                address,
                value: value.clone(),
            })
            .collect()
    }

    /// Core cycles after which every lookup that had been begun in a trie has ended; `None` if the offload is no trie.
    pub fn lookup_cycles(&self, offload: &str) -> Option<u64> {
        self.trie(offload).map(|service| lookup::latency(&self.plan, service).into())
    }

    fn trie(&self, offload: &str) -> Option<&Service> {
        let mut services = self.plan.services.iter();
        services.find(|s| s.offload == offload && s.rule.realisation == Realisation::Trie)
    }
}

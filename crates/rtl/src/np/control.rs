//! Changes of prefix tables as accesses of the control port.

use wireloom_bits::Bits;
use wireloom_offloads::Row;

use super::patterns::{PatternWrite, Patterns};
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
        self.in_every_pipe(service, offset, address, value)
    }

    /// Core cycles after which every lookup that had been begun in a trie has ended; `None` if the offload is no trie.
    pub fn lookup_cycles(&self, offload: &str) -> Option<u64> {
        self.trie(offload).map(|service| lookup::latency(&self.plan, service).into())
    }

    /// The patterns of a `match` offload with these rows, to be changed; nothing if it is none.
    ///
    /// # Errors
    /// If they do not fit the machine's automaton: a sentence without a final stop.
    pub fn patterns(&self, offload: &str, rows: &[Row]) -> Option<Result<Patterns, String>> {
        self.realised(offload, Realisation::Automaton).map(|service| Patterns::new(service, rows))
    }

    /// What the control port has to write, in every pipe, to carry out a write of patterns; nothing if the offload has none.
    pub fn pattern_writes(&self, offload: &str, (target, address, value): PatternWrite) -> Vec<ControlWrite> {
        let service = self.realised(offload, Realisation::Automaton);
        service.map_or(Vec::new(), |service| self.in_every_pipe(service, target, address, &value))
    }

    /// Core cycles after which every search that had been begun has ended.
    pub fn search_cycles(&self) -> u64 {
        super::patterns::longest_search(&self.plan)
    }

    fn in_every_pipe(
        &self,
        service: &Service,
        target: usize,
        address: u32,
        value: &Bits,
    ) -> Vec<ControlWrite> {
        let plan = &self.plan;
        let first = 1 + services::first_pipe_target(plan, service) + target;
        let write = |pipe: usize| ControlWrite {
            target: (first + pipe * plan.targets_a_pipe()) as u8,
            address,
            value: value.clone(),
        };
        (0..plan.machine.lanes()).map(write).collect()
    }

    fn trie(&self, offload: &str) -> Option<&Service> {
        self.realised(offload, Realisation::Trie)
    }

    fn realised(&self, offload: &str, realisation: Realisation) -> Option<&Service> {
        let mut services = self.plan.services.iter();
        services.find(|service| service.offload == offload && service.rule.realisation == realisation)
    }
}

//! The accesses that the header ports of each part of a split step serve.

use std::collections::HashMap;

use wireloom_ir::{Op, Step, Value};

use crate::analysis::Definitions;
use crate::analysis::address::Addresses;
use crate::analysis::known_bits::Known;
use crate::analysis::ports::HeaderPorts;
use crate::analysis::ports::{Sort, Span, groups};

/// The accesses of each part so far.
pub(super) struct PartPorts {
    limits: HeaderPorts,
    /// The bytes of each header access, by operation.
    spans: Vec<Option<Span>>,
    addresses: Addresses,
    used: HashMap<(u32, Sort), Vec<Span>>,
}

impl PartPorts {
    /// Creates the state for a step of these operations, with no port used.
    pub fn new(limits: HeaderPorts, step: &Step, ops: &[Op], known: &[Known]) -> Self {
        let definitions = Definitions::of(step);
        let addresses = Addresses::new(step, &definitions, known);
        let width = |v: Value| step.values[v.index()].width;
        let spans = ops.iter().map(|op| Span::of(op, &addresses, width)).collect();
        Self { limits, spans, addresses, used: HashMap::new() }
    }

    /// Returns the bytes of an access.
    pub fn span(&self, op: usize) -> Option<Span> {
        self.spans[op]
    }

    /// Returns whether a value differs from another by a constant number of bytes. Later parts then
    /// recompute it from that value. So all accesses keep their common root.
    pub fn is_derived(&self, value: Value) -> bool {
        self.addresses.of(value).root != Some(value)
    }

    /// Serves an access in a part, if a port is available. Returns whether one is.
    pub fn admit(&mut self, part: u32, sort: Sort, span: Span) -> bool {
        let used = self.used.entry((part, sort)).or_default();
        used.push(span);
        let limit = if sort == Sort::Read { self.limits.reads } else { self.limits.writes };
        let found = groups(used, self.limits.bytes, sort);
        let length = |members: &[usize]| {
            let first = members.iter().map(|i| used[*i].first).min().unwrap_or(0);
            let end = members.iter().map(|i| used[*i].end).max().unwrap_or(0);
            end - first
        };
        let alone = used.len() == 1;
        let fits = found.len() <= limit as usize
            && found.iter().all(|members| length(members) <= i64::from(self.limits.bytes));
        if !fits && !alone {
            used.pop();
        }
        fits || alone
    }
}

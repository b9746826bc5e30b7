//! Groups the header accesses of a step that share a port of the header memory.
//!
//! A port reads or writes a run of bytes that begins at any byte. Accesses form a *group* if their
//! addresses have one root ([`address`]) and they lie within the length of a run. A group needs one
//! port. All reads of a step happen at its beginning and all writes at its end, so a step needs as
//! many read ports and write ports as it has groups, whatever its regions.
//!
//! Groups are formed from the lowest address up. Each begins at the first access not yet served.
//! This gives the fewest groups. Writes that overlap stay together: within a group they happen in
//! program order, while ports have no order.
//!
//! [`address`]: super::address

use std::collections::BTreeMap;

use wireloom_ir::{Engine, Meta, Op, OpKind, Step, Value};

use super::address::{Address, Addresses};
use super::context::KnownContext;
use super::known_bits::Known;
use super::{Definitions, is_pure};

/// The ports of a header memory. All reads of a step happen at its beginning and all writes at its
/// end. A port serves accesses within a run of bytes that begins at any byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderPorts {
    /// Maximum number of runs that a step can read. At least 1.
    pub reads: u32,
    /// Maximum number of runs that a step can write. At least 1.
    pub writes: u32,
    /// Length of a run in bytes. At least 1.
    pub bytes: u32,
}

impl HeaderPorts {
    /// Creates ports for runs of 16 bytes.
    pub fn new(reads: u32, writes: u32) -> Self {
        Self { reads, writes, bytes: 16 }
    }
}

/// The groups of a step.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct StepPorts {
    /// The groups of reads, in order of their addresses.
    pub reads: Vec<Group>,
    /// The groups of writes, in order of their addresses.
    pub writes: Vec<Group>,
}

/// Accesses that one port serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The zero-extended value that `offset` is relative to. `None` means zero. In a step that
    /// `split` has fitted to header ports, pure operations compute the root of a read from
    /// constants, and from context and metadata at the beginning of the step.
    pub root: Option<Value>,
    /// The start of the run, in bytes from the root. The sum with the root is exact, needs 17 bits
    /// and is never negative.
    pub offset: i64,
    /// Length of the run in bytes. It exceeds the run of a port only if a single access does.
    pub bytes: u32,
    /// The accesses, in program order.
    pub accesses: Vec<GroupAccess>,
}

/// An access of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupAccess {
    /// The block of the step's code: 0 is `request`, 1 is `edit`, 2 is `jump`.
    pub block: usize,
    /// Index of the operation in the block: a `packet.read` or `packet.write`.
    pub op: usize,
    /// The start of the field, in bits from the start of the run.
    pub bit: u32,
    /// Width of the field in bits.
    pub width: u32,
}

/// Returns the groups of each step of an engine, for ports that serve runs of `bytes` bytes. The
/// code has no `if`.
pub fn ports(engine: &Engine, bytes: u32) -> Vec<StepPorts> {
    let known = KnownContext::of(engine).values(engine);
    engine.steps.iter().zip(&known).map(|(step, known)| of_step(step, known, bytes)).collect()
}

/// Returns the groups of a step, given the known bits of each of its values.
pub fn of_step(step: &Step, known: &[Known], bytes: u32) -> StepPorts {
    let definitions = Definitions::of(step);
    let addresses = Addresses::new(step, &definitions, known);
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for (block, code) in step.code.blocks().enumerate() {
        for (index, op) in code.ops.iter().enumerate() {
            if let Some(span) = Span::of(op, &addresses, |v| definitions.width(v)) {
                let list = if is_read(op) { &mut reads } else { &mut writes };
                list.push((span, GroupAccess { block, op: index, bit: 0, width: span.width }));
            }
        }
    }
    let group = |list: &[(Span, GroupAccess)], sort| {
        let spans: Vec<Span> = list.iter().map(|(span, _)| *span).collect();
        let groups = groups(&spans, bytes, sort);
        groups.into_iter().map(|members| Group::of(list, &members)).collect()
    };
    StepPorts { reads: group(&reads, Sort::Read), writes: group(&writes, Sort::Write) }
}

/// Returns the first reason why an engine cannot be built with header ports, if there is one: the
/// step and the problem.
pub fn misfit(engine: &Engine, limits: &HeaderPorts) -> Option<String> {
    let found = ports(engine, limits.bytes);
    engine.steps.iter().zip(&found).find_map(|(step, ports)| {
        let long = |groups: &[Group]| groups.iter().any(|g| g.bytes > limits.bytes);
        let what = if long(&ports.reads) || long(&ports.writes) {
            "has a header field longer than a port serves"
        } else if ports.reads.len() > limits.reads as usize {
            "reads more of the header than its ports serve"
        } else if ports.writes.len() > limits.writes as usize {
            "writes more of the header than its ports serve"
        } else if !ports.reads.iter().filter_map(|g| g.root).all(|root| is_known_early(step, root))
        {
            "reads at an offset that is not yet known when the step begins"
        } else {
            return None;
        };
        Some(format!("step {} {what}", step.name))
    })
}

/// Returns whether a value depends only on constants, and on context and metadata that no earlier
/// operation of the step changes.
fn is_known_early(step: &Step, value: Value) -> bool {
    let mut written = Vec::new();
    let mut changed = Vec::new();
    for op in step.code.blocks().flat_map(|block| &block.ops) {
        if op.results.contains(&value) {
            let is_same = match op.kind {
                OpKind::ReadContext(id) => !written.contains(&id),
                OpKind::ReadMeta(meta) => !changed.contains(&meta),
                _ => is_pure(&op.kind),
            };
            return is_same && op.kind.operands().into_iter().all(|v| is_known_early(step, v));
        }
        match op.kind {
            OpKind::WriteContext(id, _) => written.push(id),
            OpKind::WriteMeta(meta, _) => changed.push(meta),
            OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => {
                changed.extend([Meta::Length, Meta::Window]);
            }
            _ => {}
        }
    }
    false
}

fn is_read(op: &Op) -> bool {
    matches!(op.kind, OpKind::ReadPacket { .. })
}

impl Group {
    fn of(list: &[(Span, GroupAccess)], members: &[usize]) -> Self {
        let spans = || members.iter().map(|i| list[*i].0);
        let first = spans().map(|s| s.first).min().expect("a group has accesses");
        let end = spans().map(|s| s.end).max().expect("a group has accesses");
        let accesses = members.iter().map(|i| {
            let (span, access) = list[*i];
            GroupAccess { bit: (span.first - first) as u32 * 8 + span.bit, ..access }
        });
        Self {
            root: spans().next().expect("a group has accesses").root,
            offset: first,
            bytes: (end - first) as u32,
            accesses: accesses.collect(),
        }
    }
}

/// The bytes of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The value that the bytes are relative to. `None` means zero.
    pub root: Option<Value>,
    /// The first byte, relative to the root.
    pub first: i64,
    /// The byte after the last, relative to the root.
    pub end: i64,
    /// Number of bits of the first byte before the field.
    bit: u32,
    width: u32,
}

impl Span {
    /// Returns the bytes that a read or write of a header field accesses. Other operations have
    /// none.
    pub fn of(op: &Op, addresses: &Addresses, width: impl Fn(Value) -> u32) -> Option<Self> {
        let (base, bit, width) = match op.kind {
            OpKind::ReadPacket { base, bit } => (base, bit, width(op.results[0])),
            OpKind::WritePacket { base, bit, value } => (base, bit, width(value)),
            _ => return None,
        };
        let Address { root, offset } = addresses.of(base);
        Some(Self {
            root,
            first: offset + i64::from(bit / 8),
            end: offset + i64::from((bit + width).div_ceil(8)),
            bit: bit % 8,
            width,
        })
    }

    /// Returns whether both spans have the same root and share a byte.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.root == other.root && self.first < other.end && other.first < self.end
    }
}

/// The sort of accesses in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sort {
    /// Reads. They may be grouped freely.
    Read,
    /// Writes. They stay in one group if they share bytes.
    Write,
}

/// Forms the fewest groups of accesses that each lie within `bytes` bytes, with their members in
/// order. A group is longer only if a single access or overlapping writes need it.
pub fn groups(spans: &[Span], bytes: u32, sort: Sort) -> Vec<Vec<usize>> {
    let mut roots: BTreeMap<Option<Value>, Vec<usize>> = BTreeMap::new();
    for (index, span) in spans.iter().enumerate() {
        roots.entry(span.root).or_default().push(index);
    }
    let mut groups = Vec::new();
    for members in roots.values_mut() {
        members.sort_by_key(|i| (spans[*i].first, spans[*i].end));
        // Accesses that must stay together, with their common range of bytes.
        let mut units: Vec<(i64, i64, Vec<usize>)> = Vec::new();
        for &member in &*members {
            let span = spans[member];
            match units.last_mut() {
                Some((_, end, unit)) if sort == Sort::Write && span.first < *end => {
                    *end = span.end.max(*end);
                    unit.push(member);
                }
                _ => units.push((span.first, span.end, vec![member])),
            }
        }
        while let Some(first) = units.first().map(|u| u.0) {
            let limit = (first + i64::from(bytes)).max(units[0].1);
            let mut group = Vec::new();
            units.retain_mut(|(_, end, unit)| {
                if *end <= limit {
                    group.append(unit);
                }
                *end > limit
            });
            group.sort_unstable();
            groups.push(group);
        }
    }
    groups
}

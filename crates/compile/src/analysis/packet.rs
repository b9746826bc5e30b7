//! Finds which operations on the packet depend on each other.
//!
//! The packet consists of four resources: the bytes, their number (length and window), the egress
//! port, and the arrival data (ingress port and time; a packet taken from a park brings its own).
//! Two operations conflict if one writes a resource that the other reads or writes. Fields are
//! distinguished: two fields with known offsets from the same root do not conflict unless they
//! overlap.
//!
//! Offsets are computed modulo 2^16. Fields stay disjoint even if one of them wraps: it is then far
//! outside the header window, where writes have no effect and reads return zero.

use wireloom_ir::{BinaryOp, EngineId, Meta, Op, OpKind, Step, Value};

use super::Definitions;
use super::effects::Effects;

const BYTES: u8 = 1;
const SIZE: u8 = 2;
const EGRESS: u8 = 4;
const ARRIVAL: u8 = 8;
const ALL: u8 = BYTES | SIZE | EGRESS | ARRIVAL;

/// A field of the header window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Field {
    /// The value that differs from the field's base by a constant. `None` if the base is a
    /// constant.
    pub root: Option<Value>,
    /// Number of bytes from the root, modulo 2^16.
    pub offset: u16,
    /// First bit after that byte.
    pub bit: u32,
    /// Width in bits.
    pub width: u32,
}

impl Field {
    /// Returns whether the two fields may share a bit.
    pub fn may_overlap(&self, other: &Self) -> bool {
        if self.root != other.root {
            return true;
        }
        let apart = i64::from(other.offset.wrapping_sub(self.offset) as i16) * 8;
        let (a, b) = (i64::from(self.bit), apart + i64::from(other.bit));
        a < b + i64::from(other.width) && b < a + i64::from(self.width)
    }
}

/// The effect of an operation on the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    reads: u8,
    writes: u8,
    field: Option<Field>,
}

impl Access {
    /// Returns whether the operation changes the packet.
    pub fn writes(&self) -> bool {
        self.writes != 0
    }

    /// Returns whether the operation reads or changes the packet.
    pub fn touches(&self) -> bool {
        self.reads | self.writes != 0
    }

    /// Returns the field that the operation reads or writes, if it accesses one.
    pub fn field(&self) -> Option<&Field> {
        self.field.as_ref()
    }

    /// Returns whether the order of the two operations matters.
    pub fn conflicts(&self, other: &Self) -> bool {
        let mut shared = self.writes & (other.reads | other.writes) | self.reads & other.writes;
        if let (Some(a), Some(b)) = (&self.field, &other.field)
            && !a.may_overlap(b)
        {
            shared &= !BYTES;
        }
        shared != 0
    }
}

/// The effects of a step's operations on the packet.
pub struct Packets<'a> {
    effects: &'a Effects,
    engine: EngineId,
    /// The root and the offset of each value that has them.
    addresses: Vec<(Option<Value>, u16)>,
    widths: Vec<u32>,
}

impl<'a> Packets<'a> {
    /// Analyses a step of an engine.
    pub fn new(
        effects: &'a Effects,
        engine: EngineId,
        step: &Step,
        definitions: &Definitions<'_>,
    ) -> Self {
        let mut addresses: Vec<(Option<Value>, u16)> =
            (0..step.values.len()).map(|i| (Some(Value(i as u32)), 0)).collect();
        step.for_each_op(|op| {
            let [result] = op.results[..] else { return };
            if step.values[result.index()].width != 16 {
                return;
            }
            let number = |v: Value| definitions.constant(v).map(|c| c.low_u64() as u16);
            addresses[result.index()] = match &op.kind {
                OpKind::Const(bits) => (None, bits.low_u64() as u16),
                OpKind::Binary(BinaryOp::Add, a, b) => match (number(*a), number(*b)) {
                    (_, Some(c)) => moved(addresses[a.index()], c),
                    (Some(c), _) => moved(addresses[b.index()], c),
                    _ => return,
                },
                OpKind::Binary(BinaryOp::Sub, a, b) => match number(*b) {
                    Some(c) => moved(addresses[a.index()], c.wrapping_neg()),
                    None => return,
                },
                _ => return,
            };
        });
        Self { effects, engine, addresses, widths: step.values.iter().map(|v| v.width).collect() }
    }

    fn field(&self, base: Value, bit: u32, width: u32) -> Field {
        let (root, offset) = self.addresses[base.index()];
        Field { root, offset, bit, width }
    }

    /// Returns the effect of an operation on the packet. The contents of an `if` are not
    /// considered. An exit has no effect.
    pub fn access(&self, op: &Op) -> Access {
        let (reads, writes, field) = match &op.kind {
            OpKind::ReadPacket { base, bit } => {
                let width = self.widths[op.results[0].index()];
                (BYTES, 0, Some(self.field(*base, *bit, width)))
            }
            OpKind::WritePacket { base, bit, value } => {
                (SIZE, BYTES, Some(self.field(*base, *bit, self.widths[value.index()])))
            }
            OpKind::ReadMeta(meta) => (resource(*meta), 0, None),
            OpKind::WriteMeta(meta, _) => (0, resource(*meta), None),
            OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => {
                (SIZE, BYTES | SIZE, None)
            }
            OpKind::Call { offload, method, .. } => {
                let call = self.effects.call(self.engine, *offload, *method);
                let part = if call.whole_packet { ALL } else { BYTES | SIZE };
                let of = |touches| if touches { part } else { 0 };
                (of(call.reads_packet), of(call.writes_packet), None)
            }
            _ => (0, 0, None),
        };
        Access { reads, writes, field }
    }
}

fn moved((root, offset): (Option<Value>, u16), by: u16) -> (Option<Value>, u16) {
    (root, offset.wrapping_add(by))
}

fn resource(meta: Meta) -> u8 {
    match meta {
        Meta::Length | Meta::Window => SIZE,
        Meta::Egress => EGRESS,
        Meta::Ingress | Meta::Arrival => ARRIVAL,
    }
}

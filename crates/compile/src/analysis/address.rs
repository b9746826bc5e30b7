//! The positions of header accesses: a run-time value, the *root*, plus a constant number of bytes.
//!
//! Offsets in the packet have 16 bits and wrap. Here the sum of root and offset is exact: an
//! addition is followed only if the known bits of its operands prove that it does not wrap. So the
//! distance between two accesses of one root is always the difference of their offsets.

use wireloom_ir::{BinaryOp, OpKind, Step, Value};

use super::known_bits::Known;
use super::{Definitions, is_pure};

/// A number of bytes: the zero-extended value of `root`, or 0 if there is none, plus `offset`. It
/// is never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The part that is known only at run time.
    pub root: Option<Value>,
    /// The constant part.
    pub offset: i64,
}

/// The address that each value of a step represents.
pub struct Addresses(Vec<Address>);

impl Addresses {
    /// Finds the addresses of a step, given the known bits of each of its values.
    pub fn new(step: &Step, definitions: &Definitions<'_>, known: &[Known]) -> Self {
        let mut addresses: Vec<_> = (0..step.values.len() as u32)
            .map(|index| Address { root: Some(Value(index)), offset: 0 })
            .collect();
        step.for_each_op(|op| {
            if let ([result], true) =
                (&op.results[..], is_pure(&op.kind) && op.results[0].index() < known.len())
            {
                let address = address(
                    &op.kind,
                    &addresses,
                    definitions,
                    known,
                    known[result.index()].width(),
                );
                addresses[result.index()] = address.unwrap_or(addresses[result.index()]);
            }
        });
        Self(addresses)
    }

    /// Returns the address of a value. A value added to the step since the analysis is its own
    /// root.
    pub fn of(&self, value: Value) -> Address {
        self.0.get(value.index()).copied().unwrap_or(Address { root: Some(value), offset: 0 })
    }
}

fn address(
    kind: &OpKind,
    addresses: &[Address],
    definitions: &Definitions<'_>,
    known: &[Known],
    width: u32,
) -> Option<Address> {
    let constant = |v: Value| definitions.constant(v)?.to_u64().and_then(|c| i64::try_from(c).ok());
    let (a, moved) = match kind {
        OpKind::Const(bits) => {
            let offset = bits.to_u64().and_then(|c| i64::try_from(c).ok())?;
            return Some(Address { root: None, offset });
        }
        OpKind::Extend(a) => return Some(addresses[a.index()]),
        OpKind::Slice(a, 0) => {
            return (known[a.index()].significant() <= width).then(|| addresses[a.index()]);
        }
        OpKind::Binary(BinaryOp::Add, a, b) => match (constant(*a), constant(*b)) {
            (_, Some(c)) => (*a, c),
            (Some(c), _) => (*b, c),
            _ => return None,
        },
        OpKind::Binary(BinaryOp::Sub, a, b) => (*a, -constant(*b)?),
        _ => return None,
    };
    let width = definitions.width(a);
    if width > 32 {
        return None;
    }
    let (min, max) =
        (known[a.index()].min().low_u64() as i64, known[a.index()].max().low_u64() as i64);
    // Either the sum never leaves the range of the width, or it always wraps. For example,
    // subtracting 4 adds 2^16 - 4.
    let range = 1i64 << width;
    let turns = (min + moved).div_euclid(range);
    let same = turns == (max + moved).div_euclid(range);
    let base = addresses[a.index()];
    same.then(|| Address { root: base.root, offset: base.offset + moved - turns * range })
}

//! Where header accesses begin: a run-time value, the *root*, and a constant number of bytes from it.
//!
//! Offsets in the packet have 16 bits and wrap. Here the sum of root and offset is exact: an addition is followed
//! only if what is known of its operands excludes that it wraps, so that two accesses of one root always lie as far
//! apart as their offsets say.

use wireloom_ir::{BinaryOp, OpKind, Step, Value};

use super::known_bits::Known;
use super::{Definitions, is_pure};

/// A number of bytes: the value of `root`, zero-extended, or 0 if there is none, and `offset`. Never negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// What is known only at run time.
    pub root: Option<Value>,
    /// What is constant.
    pub offset: i64,
}

/// The addresses that the values of a step stand for.
pub struct Addresses(Vec<Address>);

impl Addresses {
    /// Of a step, with what is known of each of its values.
    pub fn new(step: &Step, definitions: &Definitions<'_>, known: &[Known]) -> Self {
        let mut addresses: Vec<_> = (0..step.values.len() as u32)
            .map(|index| Address { root: Some(Value(index)), offset: 0 })
            .collect();
        step.for_each_op(|op| {
            if let ([result], true) =
                (&op.results[..], is_pure(&op.kind) && op.results[0].index() < known.len())
            {
                let address =
                    address(&op.kind, &addresses, definitions, known, known[result.index()].width());
                addresses[result.index()] = address.unwrap_or(addresses[result.index()]);
            }
        });
        Self(addresses)
    }

    /// Of a value; one that the step has got since is its own root.
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
    let (min, max) = (known[a.index()].min().low_u64() as i64, known[a.index()].max().low_u64() as i64);
    // Either it never leaves the range of the width, or it always wraps: adding 2^16 - 4 is how 4 is subtracted.
    let range = 1i64 << width;
    let turns = (min + moved).div_euclid(range);
    let same = turns == (max + moved).div_euclid(range);
    let base = addresses[a.index()];
    same.then(|| Address { root: base.root, offset: base.offset + moved - turns * range })
}

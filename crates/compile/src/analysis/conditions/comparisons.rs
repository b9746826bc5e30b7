//! Comparisons with constants that known comparisons decide.
//!
//! A condition that excludes one case after the other, as programs write it, compares the same
//! value many times: `kind != 2 && kind != 3 && ... && kind == 1`. Only the last comparison counts.

use std::collections::HashMap;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, OpKind, Value};

use super::super::Definitions;

/// The values that are known to equal a constant.
#[derive(Default)]
pub struct Comparisons<'a> {
    /// For each value: the constant, and the comparison that says so.
    equal: HashMap<Value, (&'a Bits, Value)>,
}

impl<'a> Comparisons<'a> {
    /// Returns whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.equal.is_empty()
    }

    /// Learns from a comparison whose result is known. The first constant of a value counts.
    pub fn learn(&mut self, definitions: &Definitions<'a>, comparison: Value, bit: bool) {
        let Some(OpKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b)) =
            definitions.kind(comparison)
        else {
            return;
        };
        if let Some((value, constant)) = compared(definitions, *a, *b)
            && bit == (*op == BinaryOp::Eq)
        {
            self.equal.entry(value).or_insert((constant, comparison));
        }
    }

    /// Returns the result of a comparison with a constant, if another comparison decides it.
    pub fn decide(&self, definitions: &Definitions<'a>, comparison: Value) -> Option<bool> {
        let OpKind::Binary(op, a, b) = definitions.kind(comparison)? else { return None };
        let (value, _) = compared(definitions, *a, *b)?;
        let (constant, said) = *self.equal.get(&value)?;
        if said == comparison {
            return None;
        }
        let operand =
            |of: Value| if of == value { Some(constant) } else { definitions.constant(of) };
        let (x, y) = (operand(*a)?, operand(*b)?);
        match op {
            BinaryOp::Eq => Some(x == y),
            BinaryOp::Ne => Some(x != y),
            BinaryOp::Ult => Some(x < y),
            BinaryOp::Ule => Some(x <= y),
            _ => None,
        }
    }
}

/// Returns the value that a comparison compares with a constant, and the constant.
pub(super) fn compared<'a>(
    definitions: &Definitions<'a>,
    a: Value,
    b: Value,
) -> Option<(Value, &'a Bits)> {
    let with = |value, constant| Some((value, definitions.constant(constant)?));
    with(a, b).or_else(|| with(b, a))
}

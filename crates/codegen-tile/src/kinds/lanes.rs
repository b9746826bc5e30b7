//! Sums of structures, field by field.

use crate::code::{NOTHING, Operand};
use crate::lower::Lower;
use crate::words::Words;

/// Adds each field modulo its width. The first field is the most significant one.
pub fn add(
    lower: &mut Lower<'_>,
    a: &[Operand],
    b: &[Operand],
    width: u32,
    fields: &[(String, u32)],
) -> Words {
    let code = &mut lower.code;
    if let [(_, only)] = fields {
        return code.sum(a, b, *only, NOTHING);
    }
    let mut top = width;
    let mut lanes = Vec::new();
    for (_, own) in fields {
        top -= own;
        let (a, b) = (code.slice(a, width, top, *own), code.slice(b, width, top, *own));
        lanes.push((code.sum(&a, &b, *own, NOTHING), *own));
    }
    code.concat(&lanes)
}

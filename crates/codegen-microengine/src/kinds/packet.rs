//! Ranges of bytes of the whole packet: header window and payload.

use crate::lower::Lower;
use crate::operand::{Operand, Register};
use crate::words;

/// Computes the length of the packet in bytes.
pub fn length(lower: &mut Lower<'_>) -> Register {
    let total = lower.code.register();
    let (window, payload) = (lower.state.window, lower.state.payload);
    lower.code.alu(total, window.into(), "+", payload.into());
    total
}

/// Sets `target` to `first + count`, or to the length of the packet if that is less.
pub fn end(lower: &mut Lower<'_>, target: Register, first: Operand, count: Operand) {
    let total = length(lower);
    let code = &mut *lower.code;
    let inside = code.label();
    code.alu(target, first, "+", count);
    words::compare(code, &vec![total.into()], &vec![target.into()]);
    code.branch("br=cout", inside);
    code.set(target, total.into());
    code.place(inside);
}

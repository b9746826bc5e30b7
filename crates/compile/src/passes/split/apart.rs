//! Makes the guards of packet changes visibly exclusive if the changes share a part only because
//! their guards exclude each other.
//!
//! ```text
//! %0:u1 = context.read s.v7                %0:u1 = context.read s.v7
//! %1:u1 = context.read s.v9                %1:u1 = context.read s.v9
//! packet.insert %2, %3 when %0       =>    packet.insert %2, %3 when %0
//! packet.insert %2, %4 when %1             %5:u1 = not %0
//!                                          %6:u1 = and %1, %5
//!                                          packet.insert %2, %4 when %6
//! ```
//!
//! An earlier part may have computed the guards. Then this part does not show that they exclude
//! each other. Hardware needs to know that: it resizes the packet once in a step, and writes either
//! after the resize or without one.

use wireloom_ir::{BinaryOp, Code, Op, OpKind, Step, UnaryOp, Value, ValueInfo};

use crate::analysis::Definitions;
use crate::analysis::conditions::Guards;

/// A change of the packet in a part: its position in the edit, and its operation in the step being
/// split.
pub(super) type Change = (usize, usize);

/// Adds the complements of earlier guards to later guards of a part where needed. `ops` and
/// `guards` belong to the step being split.
pub(super) fn keep_apart(part: &mut Step, changes: &[Change], ops: &[Op], guards: &Guards<'_>) {
    let found = unknown(part, changes, ops, guards);
    let Code::Regions { edit, .. } = &mut part.code else { return };
    // Go from the last change to the first, so that positions stay valid. Several complements for
    // one change move it by two operations each.
    let (mut last, mut at) = (usize::MAX, 0);
    for (position, other) in found.into_iter().rev() {
        at = if position == last { at + 2 } else { position };
        last = position;
        let guard = edit.ops[at].guard.expect("it excludes another");
        let loc = edit.ops[at].loc;
        let first = Value(part.values.len() as u32);
        let both = Value(first.0 + 1);
        part.values
            .extend([ValueInfo { width: 1, name: None }, ValueInfo { width: 1, name: None }]);
        edit.ops[at].guard = Some(both);
        let op = |kind, result| Op { kind, results: vec![result], guard: None, loc };
        let added = [
            op(OpKind::Unary(UnaryOp::Not, other), first),
            op(OpKind::Binary(BinaryOp::And, guard, first), both),
        ];
        edit.ops.splice(at..at, added);
    }
}

/// Returns the positions of changes, in order, each with the guard of an earlier change that
/// excludes its own guard, although the part does not show that.
fn unknown(
    part: &Step,
    changes: &[Change],
    ops: &[Op],
    guards: &Guards<'_>,
) -> Vec<(usize, Value)> {
    let Code::Regions { edit, .. } = &part.code else { return Vec::new() };
    if !changes.iter().any(|(_, op)| is_resize(&ops[*op].kind)) {
        return Vec::new();
    }
    let definitions = Definitions::of(part);
    let here = Guards::new(&definitions);
    let mut found = Vec::new();
    for (number, (position, op)) in changes.iter().enumerate() {
        for (before, other) in &changes[..number] {
            let (a, b) = (edit.ops[*before].guard, edit.ops[*position].guard);
            let shares = is_resize(&ops[*op].kind) || is_resize(&ops[*other].kind);
            if shares
                && guards.exclusive(ops[*other].guard, ops[*op].guard)
                && !here.exclusive(a, b)
            {
                found.extend(a.map(|guard| (*position, guard)));
            }
        }
    }
    found.dedup();
    found
}

fn is_resize(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. })
}

/// Returns whether an operation resizes the packet or writes one of its fields.
pub(super) fn is_change(kind: &OpKind) -> bool {
    is_resize(kind) || matches!(kind, OpKind::WritePacket { .. })
}

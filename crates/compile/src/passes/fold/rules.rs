//! The identities, by operator. Every rule makes the operation cheaper or closer to a constant. No
//! two rules undo each other.

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, OpKind, UnaryOp, Value};

use super::Simpler::{Becomes, Constant, Is};
use super::{Folder, Simpler};

/// Returns a simpler form of an operation of `width` bits whose operands are not all constant.
pub(super) fn simplify(f: &mut Folder<'_>, kind: &OpKind, width: u32) -> Option<Simpler> {
    match *kind {
        OpKind::Unary(op, a) => unary(f, op, a, width),
        OpKind::Binary(op, a, b) => {
            // Constants go to the right.
            if op.commutes() && f.constant(a).is_some() {
                return Some(Becomes(OpKind::Binary(op, b, a)));
            }
            if op.is_comparison() {
                comparison(f, op, a, b)
            } else {
                match op {
                    BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => bitwise(f, op, a, b, width),
                    _ => arithmetic(f, op, a, b, width),
                }
            }
        }
        OpKind::Select(c, a, b) => select(f, c, a, b, width),
        OpKind::Extend(a) => match *f.kind(a)? {
            OpKind::Extend(inner) => Some(Becomes(OpKind::Extend(inner))),
            _ => None,
        },
        OpKind::Slice(a, lo) => slice(f, a, lo, width),
        OpKind::Concat(ref parts) => concat(f, parts),
        _ => None,
    }
}

fn not_of(f: &Folder<'_>, value: Value) -> Option<Value> {
    match f.kind(value) {
        Some(OpKind::Unary(UnaryOp::Not, inner)) => Some(*inner),
        _ => None,
    }
}

fn unary(f: &mut Folder<'_>, op: UnaryOp, a: Value, width: u32) -> Option<Simpler> {
    match (op, f.kind(a)?) {
        (UnaryOp::Not, OpKind::Unary(UnaryOp::Not, x))
        | (UnaryOp::Neg, OpKind::Unary(UnaryOp::Neg, x)) => Some(Is(*x)),
        (UnaryOp::Neg | UnaryOp::Popcount, _) if width == 1 => Some(Is(a)),
        (UnaryOp::Clz, _) if width == 1 => Some(Becomes(OpKind::Unary(UnaryOp::Not, a))),
        _ => None,
    }
}

fn arithmetic(f: &mut Folder<'_>, op: BinaryOp, a: Value, b: Value, width: u32) -> Option<Simpler> {
    match op {
        BinaryOp::Sub if a == b => return Some(Constant(Bits::zero(width))),
        BinaryOp::Umin | BinaryOp::Umax if a == b => return Some(Is(a)),
        _ => {}
    }
    if op.is_shift() && f.constant(a).is_some_and(Bits::is_zero) {
        return Some(Is(a));
    }
    let c = f.constant(b)?.clone();
    match op {
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Shl | BinaryOp::Lshr if c.is_zero() => {
            Some(Is(a))
        }
        BinaryOp::Umin if c.is_ones() => Some(Is(a)),
        BinaryOp::Umax if c.is_zero() => Some(Is(a)),
        BinaryOp::Mul | BinaryOp::Umin if c.is_zero() => Some(Is(b)),
        BinaryOp::Umax if c.is_ones() => Some(Is(b)),
        BinaryOp::Mul | BinaryOp::Udiv if c == Bits::new(width, 1) => Some(Is(a)),
        BinaryOp::Udiv if c.is_zero() => Some(Constant(Bits::ones(width))),
        BinaryOp::Urem if c.is_zero() => Some(Is(a)),
        BinaryOp::Urem if c == Bits::new(width, 1) => Some(Constant(Bits::zero(width))),
        BinaryOp::Shl | BinaryOp::Lshr if c.to_shift() >= width => {
            Some(Constant(Bits::zero(width)))
        }
        BinaryOp::Mul | BinaryOp::Udiv | BinaryOp::Urem if is_power_of_two(&c) => {
            let shift = c.significant() - 1;
            if op == BinaryOp::Urem {
                let low = f.new_op(shift, OpKind::Slice(a, 0));
                return Some(Becomes(OpKind::Extend(low)));
            }
            let count = f.new_op(32, OpKind::Const(Bits::new(32, shift.into())));
            let shift = if op == BinaryOp::Mul { BinaryOp::Shl } else { BinaryOp::Lshr };
            Some(Becomes(OpKind::Binary(shift, a, count)))
        }
        // (x + c1) + c2, and the same for differences.
        BinaryOp::Add | BinaryOp::Sub => {
            let (inner, x, c1) = match *f.kind(a)? {
                OpKind::Binary(inner @ (BinaryOp::Add | BinaryOp::Sub), x, c1) => {
                    (inner, x, f.constant(c1)?)
                }
                _ => return None,
            };
            let signed = |op, c: &Bits| if op == BinaryOp::Sub { c.neg() } else { c.clone() };
            let sum = signed(inner, c1).add(&signed(op, &c));
            let sum = f.new_op(width, OpKind::Const(sum));
            Some(Becomes(OpKind::Binary(BinaryOp::Add, x, sum)))
        }
        _ => None,
    }
}

fn is_power_of_two(c: &Bits) -> bool {
    c.significant() > 1 && c.sub(&Bits::new(c.width(), 1)).and(c).is_zero()
}

fn bitwise(f: &mut Folder<'_>, op: BinaryOp, a: Value, b: Value, width: u32) -> Option<Simpler> {
    let zero = || Constant(Bits::zero(width));
    let ones = || Constant(Bits::ones(width));
    if a == b {
        return Some(if op == BinaryOp::Xor { zero() } else { Is(a) });
    }
    if not_of(f, a) == Some(b) || not_of(f, b) == Some(a) {
        return Some(if op == BinaryOp::And { zero() } else { ones() });
    }
    if let Some(c) = f.constant(b) {
        match op {
            BinaryOp::And if c.is_zero() => return Some(Is(b)),
            BinaryOp::Or if c.is_ones() => return Some(Is(b)),
            BinaryOp::And if c.is_ones() => return Some(Is(a)),
            BinaryOp::Or | BinaryOp::Xor if c.is_zero() => return Some(Is(a)),
            BinaryOp::Xor if c.is_ones() => return Some(Becomes(OpKind::Unary(UnaryOp::Not, a))),
            _ => {}
        }
    }
    // Absorption: x & (x & y), x & (x | y), x & (!x & y), x & (!x | y), and their duals.
    let dual = match op {
        BinaryOp::And => BinaryOp::Or,
        BinaryOp::Or => BinaryOp::And,
        _ => return None,
    };
    for (x, other) in [(a, b), (b, a)] {
        let Some(&OpKind::Binary(inner, p, q)) = f.kind(other) else { continue };
        if inner == op && (p == x || q == x) {
            return Some(Is(other));
        }
        if inner == dual && (p == x || q == x) {
            return Some(Is(x));
        }
        let complement = |v: Value| not_of(f, v) == Some(x) || not_of(f, x) == Some(v);
        let rest = if complement(p) { q } else { p };
        if complement(p) || complement(q) {
            if inner == op {
                return Some(if op == BinaryOp::And { zero() } else { ones() });
            }
            if inner == dual {
                return Some(Becomes(OpKind::Binary(op, x, rest)));
            }
        }
    }
    None
}

fn comparison(f: &mut Folder<'_>, op: BinaryOp, a: Value, b: Value) -> Option<Simpler> {
    let truth = |value| Some(Constant(Bits::bool(value)));
    if a == b {
        return truth(matches!(op, BinaryOp::Eq | BinaryOp::Ule));
    }
    let width = f.width(a);
    let (ca, cb) = (f.constant(a).cloned(), f.constant(b).cloned());
    match (op, &ca, &cb) {
        (BinaryOp::Ult, _, Some(c)) if c.is_zero() => return truth(false),
        (BinaryOp::Ult, Some(c), _) if c.is_ones() => return truth(false),
        (BinaryOp::Ule, Some(c), _) if c.is_zero() => return truth(true),
        (BinaryOp::Ule, _, Some(c)) if c.is_ones() => return truth(true),
        (BinaryOp::Ule, _, Some(c)) if c.is_zero() => {
            return Some(Becomes(OpKind::Binary(BinaryOp::Eq, a, b)));
        }
        (BinaryOp::Ult, Some(c), _) if c.is_zero() => {
            return Some(Becomes(OpKind::Binary(BinaryOp::Ne, b, a)));
        }
        (BinaryOp::Ult, _, Some(c)) if *c == Bits::new(width, 1) => {
            let zero = f.new_op(width, OpKind::Const(Bits::zero(width)));
            return Some(Becomes(OpKind::Binary(BinaryOp::Eq, a, zero)));
        }
        (BinaryOp::Ule, Some(c), _) if *c == Bits::new(width, 1) => {
            let zero = f.new_op(width, OpKind::Const(Bits::zero(width)));
            return Some(Becomes(OpKind::Binary(BinaryOp::Ne, b, zero)));
        }
        _ => {}
    }
    if let (BinaryOp::Eq | BinaryOp::Ne, Some(c)) = (op, &cb) {
        if width == 1 {
            let is = c.is_zero() == (op == BinaryOp::Ne);
            return Some(if is { Is(a) } else { Becomes(OpKind::Unary(UnaryOp::Not, a)) });
        }
        // A comparison of a choice between constants with a constant is the condition, or is
        // decided.
        if let Some(&OpKind::Select(condition, x, y)) = f.kind(a)
            && let (Some(x), Some(y)) = (f.constant(x), f.constant(y))
        {
            let (if_true, if_false) =
                ((x == c) == (op == BinaryOp::Eq), (y == c) == (op == BinaryOp::Eq));
            return Some(match (if_true, if_false) {
                (true, false) => Is(condition),
                (false, true) => Becomes(OpKind::Unary(UnaryOp::Not, condition)),
                (same, _) => Constant(Bits::bool(same)),
            });
        }
    }
    // Zero-extended values compare like their operands.
    let narrow = |f: &Folder<'_>, v: Value| match f.kind(v) {
        Some(OpKind::Extend(inner)) => Some((*inner, f.width(*inner))),
        _ => None,
    };
    match (narrow(f, a), narrow(f, b), &ca, &cb) {
        (Some((x, wx)), Some((y, wy)), _, _) if wx == wy => Some(Becomes(OpKind::Binary(op, x, y))),
        (Some((x, wx)), _, _, Some(c)) if c.significant() <= wx => {
            let c = f.new_op(wx, OpKind::Const(c.resize(wx)));
            Some(Becomes(OpKind::Binary(op, x, c)))
        }
        (Some(_), _, _, Some(_)) => truth(op != BinaryOp::Eq),
        (_, Some((y, wy)), Some(c), _) if c.significant() <= wy => {
            let c = f.new_op(wy, OpKind::Const(c.resize(wy)));
            Some(Becomes(OpKind::Binary(op, c, y)))
        }
        (_, Some(_), Some(_), _) => truth(op == BinaryOp::Ne),
        _ => None,
    }
}

fn select(f: &mut Folder<'_>, c: Value, a: Value, b: Value, width: u32) -> Option<Simpler> {
    if let Some(condition) = f.constant(c) {
        return Some(Is(if condition.is_zero() { b } else { a }));
    }
    if a == b {
        return Some(Is(a));
    }
    if let Some(inner) = not_of(f, c) {
        return Some(Becomes(OpKind::Select(inner, b, a)));
    }
    // The outer condition decides an inner choice.
    if let Some(&OpKind::Select(inner, x, _)) = f.kind(a)
        && inner == c
    {
        return Some(Becomes(OpKind::Select(c, x, b)));
    }
    if let Some(&OpKind::Select(inner, _, y)) = f.kind(b)
        && inner == c
    {
        return Some(Becomes(OpKind::Select(c, a, y)));
    }
    if width == 1 {
        let is = |v: Value| f.constant(v).map(|bits| !bits.is_zero());
        match (is(a), is(b)) {
            (Some(true), Some(false)) => return Some(Is(c)),
            (Some(false), Some(true)) => return Some(Becomes(OpKind::Unary(UnaryOp::Not, c))),
            (Some(true), None) => return Some(Becomes(OpKind::Binary(BinaryOp::Or, c, b))),
            (None, Some(false)) => return Some(Becomes(OpKind::Binary(BinaryOp::And, c, a))),
            (Some(false), None) => {
                let not = f.new_op(1, OpKind::Unary(UnaryOp::Not, c));
                return Some(Becomes(OpKind::Binary(BinaryOp::And, not, b)));
            }
            (None, Some(true)) => {
                let not = f.new_op(1, OpKind::Unary(UnaryOp::Not, c));
                return Some(Becomes(OpKind::Binary(BinaryOp::Or, not, a)));
            }
            _ => {}
        }
        // c ? c : b is c | b; c ? a : c is c & a.
        if a == c {
            return Some(Becomes(OpKind::Binary(BinaryOp::Or, c, b)));
        }
        if b == c {
            return Some(Becomes(OpKind::Binary(BinaryOp::And, c, a)));
        }
    }
    None
}

fn slice(f: &mut Folder<'_>, a: Value, lo: u32, width: u32) -> Option<Simpler> {
    if lo == 0 && width == f.width(a) {
        return Some(Is(a));
    }
    match f.kind(a)?.clone() {
        OpKind::Slice(inner, below) => Some(Becomes(OpKind::Slice(inner, below + lo))),
        OpKind::Binary(BinaryOp::Lshr, inner, amount) => {
            // Bits that the shift moved down.
            let from = lo.checked_add(f.constant(amount)?.to_shift())?;
            let is_inside = from.checked_add(width)? <= f.width(inner);
            is_inside.then_some(Becomes(OpKind::Slice(inner, from)))
        }
        OpKind::Extend(inner) => {
            let own = f.width(inner);
            if lo >= own {
                return Some(Constant(Bits::zero(width)));
            }
            if lo + width <= own {
                return Some(Becomes(OpKind::Slice(inner, lo)));
            }
            let part = if lo == 0 { inner } else { f.new_op(own - lo, OpKind::Slice(inner, lo)) };
            Some(Becomes(OpKind::Extend(part)))
        }
        OpKind::Concat(parts) => {
            // The requested bits of each part, most significant first.
            let mut kept = Vec::new();
            let mut top = f.width(a);
            for part in parts {
                let own = f.width(part);
                let base = top - own;
                top = base;
                let (first, end) = (lo.max(base), (lo + width).min(base + own));
                if first < end {
                    kept.push((part, first - base, end - first, own));
                }
            }
            if let [(part, from, _, _)] = kept[..] {
                return Some(Becomes(OpKind::Slice(part, from)));
            }
            let kept =
                kept.into_iter()
                    .map(|(part, from, count, own)| {
                        if count == own { part } else { f.new_op(count, OpKind::Slice(part, from)) }
                    })
                    .collect();
            Some(Becomes(OpKind::Concat(kept)))
        }
        _ => None,
    }
}

fn concat(f: &mut Folder<'_>, parts: &[Value]) -> Option<Simpler> {
    if let [only] = parts {
        return Some(Is(*only));
    }
    // Flatten nested concatenations.
    if parts.iter().any(|p| matches!(f.kind(*p), Some(OpKind::Concat(_)))) {
        let flat = parts
            .iter()
            .flat_map(|p| match f.kind(*p) {
                Some(OpKind::Concat(inner)) => inner.clone(),
                _ => vec![*p],
            })
            .collect();
        return Some(Becomes(OpKind::Concat(flat)));
    }
    // Leading zeros become an extension.
    if f.constant(parts[0]).is_some_and(Bits::is_zero) {
        let rest = match &parts[1..] {
            [only] => *only,
            rest => {
                let width = rest.iter().map(|v| f.width(*v)).sum();
                f.new_op(width, OpKind::Concat(rest.to_vec()))
            }
        };
        return Some(Becomes(OpKind::Extend(rest)));
    }
    // Join neighbouring constants, and neighbouring slices of one value.
    for (i, pair) in parts.windows(2).enumerate() {
        let joined = match (f.kind(pair[0]), f.kind(pair[1])) {
            (Some(OpKind::Const(a)), Some(OpKind::Const(b))) => {
                let bits = a.concat(b);
                f.new_op(bits.width(), OpKind::Const(bits))
            }
            (Some(&OpKind::Slice(a, high)), Some(&OpKind::Slice(b, low)))
                if a == b && low + f.width(pair[1]) == high =>
            {
                let width = f.width(pair[0]) + f.width(pair[1]);
                f.new_op(width, OpKind::Slice(a, low))
            }
            _ => continue,
        };
        let mut merged = parts.to_vec();
        merged.splice(i..i + 2, [joined]);
        return Some(Becomes(OpKind::Concat(merged)));
    }
    None
}

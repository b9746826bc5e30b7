//! Bounds of values. They show which narrowing may lose bits, which arithmetic may wrap, and which
//! comparisons are already decided.

use std::collections::{HashMap, HashSet};

use wireloom_bits::Bits;

use super::fold;
use crate::hir::{BinaryOp, Expr, ExprKind, Root, Type, VarId};
use crate::source::Span;

/// The bounds of a number, enumeration or `bool`, at the width of the expression.
#[derive(Clone, Debug)]
pub(super) struct Range {
    pub(super) least: Bits,
    pub(super) most: Bits,
}

impl Range {
    fn all(width: u32) -> Self {
        Self { least: Bits::zero(width), most: Bits::ones(width) }
    }

    fn up_to(most: Bits) -> Self {
        Self { least: Bits::zero(most.width()), most }
    }

    fn exactly(value: Bits) -> Self {
        Self { least: value.clone(), most: value }
    }
}

/// Facts besides the expressions themselves.
pub(super) struct Facts<'a> {
    /// Returns the width of a type in bits.
    pub(super) width: &'a dyn Fn(&Type) -> u32,
    /// The ranges of the variables of open loops.
    pub(super) loops: &'a HashMap<VarId, Range>,
}

/// Facts about arithmetic that the checked expressions do not contain.
#[derive(Default)]
pub(super) struct Wraps {
    /// The constant expressions whose computation wrapped. Folding leaves only their values.
    pub(super) folded: HashMap<Span, Wrap>,
    /// The expressions that are cast to their own width, which states that they may wrap.
    pub(super) intended: HashSet<Span>,
}

/// An operation that may exceed its width.
#[derive(Clone, Debug)]
pub(super) struct Wrap {
    pub(super) span: Span,
    /// The width in bits.
    pub(super) width: u32,
    /// The largest exact value; `None` if the exact value may be negative.
    pub(super) most: Option<Bits>,
}

/// Returns bounds of an expression. The bounds must include all possible values; the full range is
/// always correct.
pub(super) fn range(expr: &Expr, facts: &Facts<'_>) -> Range {
    let own = (facts.width)(&expr.ty);
    let of = |e: &Expr| range(e, facts);
    match &expr.kind {
        ExprKind::Const(bits) => Range::exactly(bits.clone()),
        ExprKind::Read(place) => match place.root {
            Root::Var(var) if place.path.is_empty() => {
                facts.loops.get(&var).cloned().unwrap_or_else(|| Range::all(own))
            }
            _ => Range::all(own),
        },
        ExprKind::Cast(inner) if is_number(&inner.ty) => {
            let inner = of(inner);
            if inner.most.significant() <= own {
                Range { least: inner.least.resize(own), most: inner.most.resize(own) }
            } else {
                Range::all(own)
            }
        }
        ExprKind::Conditional(_, a, b) => {
            let (a, b) = (of(a), of(b));
            Range { least: a.least.min(b.least), most: a.most.max(b.most) }
        }
        ExprKind::Concat(parts) => match parts.first() {
            Some(first) => {
                let high = of(first).most.significant();
                Range::up_to(filled(high + own - (facts.width)(&first.ty), own))
            }
            None => Range::all(own),
        },
        ExprKind::Slice(inner, _, lo) => {
            let cut = of(inner).most.lshr(*lo);
            if cut.significant() <= own { Range::up_to(cut.resize(own)) } else { Range::all(own) }
        }
        ExprKind::Binary(op, a, b) => binary(*op, &of(a), &of(b), own),
        // A count is at most the number of bits.
        ExprKind::Popcount(_) | ExprKind::Clz(_) => Range::up_to(Bits::new(own, own.into())),
        _ => Range::all(own),
    }
}

/// Returns the first operation that may wrap at its own width, if the lost bits would be visible in
/// a computation at a larger width.
pub(super) fn wrap(expr: &Expr, facts: &Facts<'_>, known: &Wraps) -> Option<Wrap> {
    if known.intended.contains(&expr.span) {
        return None;
    }
    let of = |e: &Expr| wrap(e, facts, known);
    match &expr.kind {
        ExprKind::Const(_) => known.folded.get(&expr.span).cloned(),
        ExprKind::Conditional(_, a, b) => of(a).or_else(|| of(b)),
        ExprKind::Not(a) => of(a),
        ExprKind::Neg(a) => of(a).or_else(|| {
            let zero = range(a, facts).most.is_zero();
            (!zero).then(|| Wrap { span: expr.span, width: (facts.width)(&expr.ty), most: None })
        }),
        ExprKind::Binary(op, a, b) => match op {
            // The other operand has no high bits, so it masks the bits that differ.
            BinaryOp::And => of(a).and_then(|wrapped| of(b).map(|_| wrapped)),
            BinaryOp::Or
            | BinaryOp::Xor
            | BinaryOp::Div
            | BinaryOp::Rem
            | BinaryOp::Min
            | BinaryOp::Max => of(a).or_else(|| of(b)),
            BinaryOp::Shr => of(a),
            BinaryOp::Shl => of(a).or_else(|| exceeds(expr, *op, a, b, facts)),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
                of(a).or_else(|| of(b)).or_else(|| exceeds(expr, *op, a, b, facts))
            }
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge => None,
        },
        _ => None,
    }
}

fn exceeds(whole: &Expr, op: BinaryOp, a: &Expr, b: &Expr, facts: &Facts<'_>) -> Option<Wrap> {
    let width = (facts.width)(&whole.ty);
    // W0603 already reports a count that shifts out all bits.
    if op == BinaryOp::Shl && fold::value(b).is_some_and(|count| count.to_shift() >= width) {
        return None;
    }
    let most = exact(op, &range(a, facts), &range(b, facts));
    let fits = most.as_ref().is_some_and(|most| most.significant() <= width);
    (!fits).then_some(Wrap { span: whole.span, width, most })
}

/// Returns the wrap of an operation on two constants, if it wraps.
pub(super) fn folded(op: BinaryOp, a: &Bits, b: &Bits, span: Span) -> Option<Wrap> {
    if !matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl) {
        return None;
    }
    let most = exact(op, &Range::exactly(a.clone()), &Range::exactly(b.clone()));
    let fits = most.as_ref().is_some_and(|most| most.significant() <= a.width());
    (!fits).then(|| Wrap { span, width: a.width(), most })
}

/// Returns the largest exact result of a sum, difference, product or left shift; `None` if the
/// result may be negative.
fn exact(op: BinaryOp, a: &Range, b: &Range) -> Option<Bits> {
    let width = a.most.width().max(b.most.width());
    match op {
        BinaryOp::Add => Some(a.most.resize(width + 1).add(&b.most.resize(width + 1))),
        BinaryOp::Mul => Some(a.most.resize(2 * width).mul(&b.most.resize(2 * width))),
        BinaryOp::Sub if a.least < b.most => None,
        BinaryOp::Sub => Some(a.most.sub(&b.least)),
        _ => {
            // A count of the width or more returns zero and loses all bits.
            let own = a.most.width();
            Some(a.most.resize(2 * own).shl(b.most.to_shift().min(own)))
        }
    }
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Bits(_) | Type::Bool | Type::Enum(_))
}

/// Returns the largest value with `significant` significant bits.
fn filled(significant: u32, width: u32) -> Bits {
    if significant == 0 {
        Bits::zero(width)
    } else {
        Bits::ones(significant.min(width)).resize(width)
    }
}

fn binary(op: BinaryOp, a: &Range, b: &Range, own: u32) -> Range {
    let constant = (b.least == b.most).then_some(&b.most);
    match op {
        BinaryOp::And => Range::up_to(a.most.clone().min(b.most.clone())),
        BinaryOp::Or | BinaryOp::Xor => {
            Range::up_to(filled(a.most.significant().max(b.most.significant()), own))
        }
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl => match exact(op, a, b) {
            Some(most) if most.significant() <= own => {
                let least = match op {
                    BinaryOp::Add => a.least.add(&b.least),
                    BinaryOp::Sub => a.least.sub(&b.most),
                    BinaryOp::Mul => a.least.mul(&b.least),
                    _ => a.least.shl(b.least.to_shift()),
                };
                Range { least, most: most.resize(own) }
            }
            _ => Range::all(own),
        },
        // Division by zero returns all ones, so only a constant divisor bounds the quotient.
        BinaryOp::Div => match constant {
            Some(by) if !by.is_zero() => Range { least: a.least.udiv(by), most: a.most.udiv(by) },
            _ => Range::all(own),
        },
        BinaryOp::Rem => match constant {
            Some(by) if !by.is_zero() => {
                Range::up_to(a.most.clone().min(by.sub(&Bits::new(own, 1))))
            }
            _ => Range::up_to(a.most.clone()),
        },
        BinaryOp::Shr => match constant {
            Some(count) => {
                Range { least: a.least.lshr(count.to_shift()), most: a.most.lshr(count.to_shift()) }
            }
            None => Range::up_to(a.most.clone()),
        },
        BinaryOp::Min => Range {
            least: a.least.clone().min(b.least.clone()),
            most: a.most.clone().min(b.most.clone()),
        },
        BinaryOp::Max => Range {
            least: a.least.clone().max(b.least.clone()),
            most: a.most.clone().max(b.most.clone()),
        },
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
            Range::all(own)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hir::Meta;

    fn width(ty: &Type) -> u32 {
        match ty {
            Type::Bits(n) => *n,
            _ => 1,
        }
    }

    fn unknown(bits: u32) -> Expr {
        let kind = ExprKind::Slice(
            Box::new(Expr {
                kind: ExprKind::Meta(Meta::Arrival),
                ty: Type::Bits(64),
                span: Span::default(),
            }),
            bits - 1,
            0,
        );
        Expr { kind, ty: Type::Bits(bits), span: Span::default() }
    }

    fn number(bits: u32, value: u64) -> Expr {
        fold::constant(Bits::new(bits, value.into()), Type::Bits(bits), Span::default())
    }

    fn bound(op: BinaryOp, a: Expr, b: Expr) -> u64 {
        let ty = a.ty.clone();
        let loops = HashMap::new();
        let facts = Facts { width: &width, loops: &loops };
        range(&fold::binary(op, a, b, ty, Span::default()), &facts).most.low_u64()
    }

    #[test]
    fn masks_shifts_and_remainders_bound_a_value() {
        assert_eq!(bound(BinaryOp::And, unknown(16), number(16, 0x3f)), 0x3f);
        assert_eq!(bound(BinaryOp::Shr, unknown(16), number(16, 12)), 15);
        assert_eq!(bound(BinaryOp::Rem, unknown(16), number(16, 10)), 9);
        assert_eq!(bound(BinaryOp::Div, unknown(16), number(16, 0)), 0xffff);
        assert_eq!(bound(BinaryOp::Or, number(16, 4), unknown(16)), 0xffff);
    }

    #[test]
    fn sums_that_can_wrap_are_unbounded() {
        let wide = |e: Expr| fold::cast(e, Type::Bits(17), 17, Span::default());
        assert_eq!(bound(BinaryOp::Add, unknown(16), unknown(16)), 0xffff);
        assert_eq!(bound(BinaryOp::Add, wide(unknown(16)), wide(unknown(16))), 0x1fffe);
        assert_eq!(bound(BinaryOp::Sub, number(16, 1), unknown(16)), 0xffff);
    }
}

//! Bounds of values: what narrowing may lose, and which comparisons are already decided.

use wireloom_bits::Bits;

use super::fold;
use crate::hir::{BinaryOp, Expr, ExprKind, Type};

/// An upper bound of the value of a number, enumeration or `bool`, at `width`, the expression's own
/// width.
///
/// Every case must return at least the largest possible value; all ones is always correct.
pub(super) fn upper(expr: &Expr, width: &dyn Fn(&Type) -> u32) -> Bits {
    let own = width(&expr.ty);
    let of = |e: &Expr| upper(e, width);
    match &expr.kind {
        ExprKind::Const(bits) => bits.clone(),
        ExprKind::Cast(inner) if is_number(&inner.ty) => {
            let inner = of(inner);
            if inner.significant() <= own { inner.resize(own) } else { Bits::ones(own) }
        }
        ExprKind::Conditional(_, a, b) => of(a).max(of(b)),
        ExprKind::Concat(parts) => match parts.first() {
            Some(first) => filled(of(first).significant() + own - width(&first.ty), own),
            None => Bits::ones(own),
        },
        ExprKind::Slice(inner, _, lo) => {
            let cut = of(inner).lshr(*lo);
            if cut.significant() <= own { cut.resize(own) } else { Bits::ones(own) }
        }
        ExprKind::Binary(op, a, b) => binary(*op, (&of(a), &of(b)), fold::value(b), own),
        _ => Bits::ones(own),
    }
}

fn is_number(ty: &Type) -> bool {
    matches!(ty, Type::Bits(_) | Type::Bool | Type::Enum(_))
}

/// The largest value with `significant` significant bits.
fn filled(significant: u32, width: u32) -> Bits {
    if significant == 0 {
        Bits::zero(width)
    } else {
        Bits::ones(significant.min(width)).resize(width)
    }
}

fn binary(op: BinaryOp, (a, b): (&Bits, &Bits), divisor: Option<&Bits>, own: u32) -> Bits {
    let ones = || Bits::ones(own);
    match op {
        BinaryOp::And => a.min(b).clone(),
        BinaryOp::Or | BinaryOp::Xor => filled(a.significant().max(b.significant()), own),
        BinaryOp::Add => {
            let sum = a.add(b);
            if sum < *a { ones() } else { sum }
        }
        BinaryOp::Mul if a.significant() + b.significant() <= own => a.mul(b),
        // Division by zero gives all ones, so only a constant divisor bounds the quotient.
        BinaryOp::Div => match divisor {
            Some(by) if !by.is_zero() => a.udiv(by),
            _ => ones(),
        },
        BinaryOp::Rem => match divisor {
            Some(by) if !by.is_zero() => a.min(&by.sub(&Bits::new(own, 1))).clone(),
            _ => a.clone(),
        },
        BinaryOp::Shr => divisor.map_or_else(|| a.clone(), |count| a.lshr(count.to_shift())),
        BinaryOp::Shl => match divisor {
            Some(count)
                if u64::from(a.significant()) + u64::from(count.to_shift()) <= own.into() =>
            {
                a.shl(count.to_shift())
            }
            _ => ones(),
        },
        _ => ones(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::fold;
    use crate::hir::Meta;
    use crate::source::Span;

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
        upper(&fold::binary(op, a, b, ty, Span::default()), &width).low_u64()
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

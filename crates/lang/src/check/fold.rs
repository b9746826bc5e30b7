//! Builds expressions, and folds those with constant operands.

use wireloom_bits::Bits;

use crate::hir::{BinaryOp, Expr, ExprKind, Root, Struct, Type, VarId};
use crate::source::Span;

/// Builds a constant.
pub(super) fn constant(value: Bits, ty: Type, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(value), ty, span }
}

/// Returns the value of a constant expression; `None` for other expressions.
pub(super) fn value(expr: &Expr) -> Option<&Bits> {
    match &expr.kind {
        ExprKind::Const(bits) => Some(bits),
        _ => None,
    }
}

/// Applies an operator to two values.
pub(super) fn apply(op: BinaryOp, a: &Bits, b: &Bits) -> Bits {
    match op {
        BinaryOp::Add => a.add(b),
        BinaryOp::Sub => a.sub(b),
        BinaryOp::Mul => a.mul(b),
        BinaryOp::Div => a.udiv(b),
        BinaryOp::Rem => a.urem(b),
        BinaryOp::And => a.and(b),
        BinaryOp::Or => a.or(b),
        BinaryOp::Xor => a.xor(b),
        BinaryOp::Shl => a.shl(b.to_shift()),
        BinaryOp::Shr => a.lshr(b.to_shift()),
        BinaryOp::Eq => Bits::bool(a == b),
        BinaryOp::Ne => Bits::bool(a != b),
        BinaryOp::Lt => Bits::bool(a < b),
        BinaryOp::Le => Bits::bool(a <= b),
        BinaryOp::Gt => Bits::bool(a > b),
        BinaryOp::Ge => Bits::bool(a >= b),
        BinaryOp::Min => a.min(b).clone(),
        BinaryOp::Max => a.max(b).clone(),
    }
}

/// Builds a binary operator. Except for shifts, both operands have the same type.
pub(super) fn binary(op: BinaryOp, left: Expr, right: Expr, ty: Type, span: Span) -> Expr {
    if let (Some(a), Some(b)) = (value(&left), value(&right)) {
        return constant(apply(op, a, b), ty, span);
    }
    Expr { kind: ExprKind::Binary(op, Box::new(left), Box::new(right)), ty, span }
}

/// Builds a conversion of the packed bits to a type of `width` bits.
pub(super) fn cast(inner: Expr, ty: Type, width: u32, span: Span) -> Expr {
    if inner.ty == ty {
        return Expr { span, ..inner };
    }
    if let Some(v) = value(&inner) {
        return constant(v.resize(width), ty, span);
    }
    Expr { kind: ExprKind::Cast(Box::new(inner)), ty, span }
}

/// Builds `!x`, where `x` is `bool`.
pub(super) fn logical_not(inner: Expr, span: Span) -> Expr {
    if let Some(v) = value(&inner) {
        return constant(v.not(), Type::Bool, span);
    }
    Expr { kind: ExprKind::LogicalNot(Box::new(inner)), ty: Type::Bool, span }
}

/// Builds `a && b` or `a || b`.
pub(super) fn logical(and: bool, left: Expr, right: Expr, span: Span) -> Expr {
    match value(&left).map(Bits::is_zero) {
        // The left side decides alone.
        Some(false) if !and => return constant(Bits::bool(true), Type::Bool, span),
        Some(true) if and => return constant(Bits::bool(false), Type::Bool, span),
        Some(_) => return Expr { span, ..right },
        None => {}
    }
    let (a, b) = (Box::new(left), Box::new(right));
    Expr {
        kind: if and { ExprKind::AndThen(a, b) } else { ExprKind::OrElse(a, b) },
        ty: Type::Bool,
        span,
    }
}

/// Builds `c ? a : b`. Both choices have the same type.
pub(super) fn conditional(condition: Expr, then: Expr, otherwise: Expr, span: Span) -> Expr {
    match value(&condition).map(Bits::is_zero) {
        Some(true) => return Expr { span, ..otherwise },
        Some(false) => return Expr { span, ..then },
        None => {}
    }
    let ty = then.ty.clone();
    Expr {
        kind: ExprKind::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise)),
        ty,
        span,
    }
}

/// Builds the selection of bits `hi..=lo`.
pub(super) fn slice(inner: Expr, hi: u32, lo: u32, span: Span) -> Expr {
    let width = hi - lo + 1;
    if let Some(v) = value(&inner) {
        return constant(v.slice(lo, width), Type::Bits(width), span);
    }
    Expr { kind: ExprKind::Slice(Box::new(inner), hi, lo), ty: Type::Bits(width), span }
}

/// Builds the selection of `count` bits from an index. Bits past the end read as zero.
pub(super) fn run(inner: Expr, index: Expr, count: u32, span: Span) -> Expr {
    let ty = Type::Bits(count);
    if let (Some(v), Some(i)) = (value(&inner), value(&index)) {
        return constant(v.lshr(i.to_shift()).resize(count), ty, span);
    }
    Expr { kind: ExprKind::Run(Box::new(inner), Box::new(index), count), ty, span }
}

/// Builds `popcount(x)`.
pub(super) fn popcount(inner: Expr, span: Span) -> Expr {
    let ty = inner.ty.clone();
    match value(&inner) {
        Some(v) => constant(v.popcount(), ty, span),
        None => Expr { kind: ExprKind::Popcount(Box::new(inner)), ty, span },
    }
}

/// Builds `clz(x)`.
pub(super) fn clz(inner: Expr, span: Span) -> Expr {
    let ty = inner.ty.clone();
    match value(&inner) {
        Some(v) => constant(v.clz(), ty, span),
        None => Expr { kind: ExprKind::Clz(Box::new(inner)), ty, span },
    }
}

/// Builds `concat(parts)`. There is at least one part, and `width` bits in total.
pub(super) fn concat(parts: Vec<Expr>, width: u32, span: Span) -> Expr {
    if let Some(values) = parts.iter().map(value).collect::<Option<Vec<_>>>() {
        return constant(join(&values), Type::Bits(width), span);
    }
    Expr { kind: ExprKind::Concat(parts), ty: Type::Bits(width), span }
}

/// Builds a structure or array from all of its parts, in order.
pub(super) fn aggregate(parts: Vec<Expr>, ty: Type, span: Span) -> Expr {
    if let Some(values) = parts.iter().map(value).collect::<Option<Vec<_>>>() {
        return constant(join(&values), ty, span);
    }
    Expr { kind: ExprKind::Aggregate(parts), ty, span }
}

fn join(values: &[&Bits]) -> Bits {
    let mut all = values.iter();
    let first = (*all.next().expect("an aggregate has parts")).clone();
    all.fold(first, |high, low| high.concat(low))
}

/// Builds the access to field `index` of a structure value.
pub(super) fn field(
    inner: Expr,
    index: usize,
    of: &Struct,
    width: impl Fn(&Type) -> u32,
    span: Span,
) -> Expr {
    let ty = of.fields[index].ty.clone();
    if let Some(v) = value(&inner) {
        let behind: u32 = of.fields[index + 1..].iter().map(|f| width(&f.ty)).sum();
        return constant(v.slice(behind, width(&ty)), ty, span);
    }
    Expr { kind: ExprKind::Field(Box::new(inner), index as u32), ty, span }
}

/// Builds the access to an element of `width` bits of an array of `count`. An index past the end
/// reads zero.
pub(super) fn element(
    inner: Expr,
    index: Expr,
    element: Type,
    count: u32,
    width: u32,
    span: Span,
) -> Expr {
    if let (Some(v), Some(i)) = (value(&inner), value(&index)) {
        let i = i.to_shift();
        let bits =
            if i < count { v.slice((count - 1 - i) * width, width) } else { Bits::zero(width) };
        return constant(bits, element, span);
    }
    Expr { kind: ExprKind::Index(Box::new(inner), Box::new(index)), ty: element, span }
}

/// Whether evaluating the expression can have a side effect.
pub(super) fn has_effect(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(..) | ExprKind::Offload(..) | ExprKind::Resize(_) => true,
        _ => expr.parts().iter().any(|e| has_effect(e)),
    }
}

/// Evaluates an expression that depends on one variable only; otherwise returns `None`.
pub(super) fn evaluate(
    expr: &Expr,
    var: VarId,
    at: &Bits,
    width: &dyn Fn(&Type) -> u32,
) -> Option<Bits> {
    let of = |e: &Expr| evaluate(e, var, at, width);
    Some(match &expr.kind {
        ExprKind::Const(bits) => bits.clone(),
        ExprKind::Read(place) => match place.root {
            Root::Var(v) if v == var && place.path.is_empty() => at.clone(),
            _ => return None,
        },
        ExprKind::Slice(a, hi, lo) => of(a)?.slice(*lo, hi - lo + 1),
        ExprKind::Run(a, i, count) => of(a)?.lshr(of(i)?.to_shift()).resize(*count),
        ExprKind::Not(a) => of(a)?.not(),
        ExprKind::Neg(a) => of(a)?.neg(),
        ExprKind::Popcount(a) => of(a)?.popcount(),
        ExprKind::Clz(a) => of(a)?.clz(),
        ExprKind::LogicalNot(a) => of(a)?.not(),
        ExprKind::Binary(op, a, b) => apply(*op, &of(a)?, &of(b)?),
        ExprKind::AndThen(a, b) => {
            if of(a)?.is_zero() {
                Bits::bool(false)
            } else {
                of(b)?
            }
        }
        ExprKind::OrElse(a, b) => {
            if of(a)?.is_zero() {
                of(b)?
            } else {
                Bits::bool(true)
            }
        }
        ExprKind::Conditional(c, a, b) => {
            if of(c)?.is_zero() {
                of(b)?
            } else {
                of(a)?
            }
        }
        ExprKind::Cast(a) => of(a)?.resize(width(&expr.ty)),
        ExprKind::Index(a, i) => {
            let (Type::Array(_, count), ExprKind::Const(all)) = (&a.ty, &a.kind) else {
                return None;
            };
            let (i, each) = (of(i)?.to_shift(), width(&expr.ty));
            if i < *count { all.slice((count - 1 - i) * each, each) } else { Bits::zero(each) }
        }
        ExprKind::Concat(parts) => {
            let values = parts.iter().map(of).collect::<Option<Vec<_>>>()?;
            join(&values.iter().collect::<Vec<_>>())
        }
        _ => return None,
    })
}

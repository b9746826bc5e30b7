//! Checks operators with two and three operands.

use std::collections::HashMap;

use wireloom_bits::Bits;

use super::constants::{is_literal, is_widthless};
use super::types::MAX_BITS;
use super::{Checker, fold, range};
use crate::ast::{self, BinaryOp, Expr, ExprKind};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, Type};
use crate::source::Span;

/// Returns the operator of the checked program. `&&` and `||` have none.
pub(super) fn plain(op: BinaryOp) -> hir::BinaryOp {
    match op {
        BinaryOp::Add => hir::BinaryOp::Add,
        BinaryOp::Sub => hir::BinaryOp::Sub,
        BinaryOp::Mul => hir::BinaryOp::Mul,
        BinaryOp::Div => hir::BinaryOp::Div,
        BinaryOp::Rem => hir::BinaryOp::Rem,
        BinaryOp::And => hir::BinaryOp::And,
        BinaryOp::Or => hir::BinaryOp::Or,
        BinaryOp::Xor => hir::BinaryOp::Xor,
        BinaryOp::Shl => hir::BinaryOp::Shl,
        BinaryOp::Shr => hir::BinaryOp::Shr,
        BinaryOp::Eq => hir::BinaryOp::Eq,
        BinaryOp::Ne => hir::BinaryOp::Ne,
        BinaryOp::Lt => hir::BinaryOp::Lt,
        BinaryOp::Le => hir::BinaryOp::Le,
        BinaryOp::Gt => hir::BinaryOp::Gt,
        BinaryOp::Ge => hir::BinaryOp::Ge,
        BinaryOp::AndThen | BinaryOp::OrElse => unreachable!("handled as logical operators"),
    }
}

impl Checker<'_> {
    pub(super) fn binary(
        &mut self,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
        hint: Option<&Type>,
        span: Span,
    ) -> Option<hir::Expr> {
        match op {
            BinaryOp::AndThen | BinaryOp::OrElse => {
                let (a, b) = (self.expr(left, None), self.expr(right, None));
                self.warn_constant_operand(op, (left, a.as_ref()), (right, b.as_ref()));
                let (a, b) = (a.and_then(|a| self.truth(a)), b.and_then(|b| self.truth(b)));
                Some(fold::logical(op == BinaryOp::AndThen, a?, b?, span))
            }
            BinaryOp::Shl | BinaryOp::Shr => {
                let value = self.expr(left, hint);
                let count = self.expr(right, None);
                let (value, count) = (self.number(value?)?, self.number(count?)?);
                Some(self.shift(op, value, count, span))
            }
            _ if op.is_logical() && is_literal(left) && is_literal(right) => {
                let result = self.literal_comparison(op, left, right)?;
                Some(fold::constant(Bits::bool(result), Type::Bool, span))
            }
            _ => {
                let both = self.operands(left, right, if op.is_logical() { None } else { hint });
                let (a, b) = both.as_ref().map(|(a, b)| (&a.ty, &b.ty)).unzip();
                self.warn_precedence(op, (left, a), (right, b));
                let (a, b) = both?;
                match op.is_logical() {
                    true => self.comparison(op, a, b, span),
                    false => self.arithmetic(op, a, b, span),
                }
            }
        }
    }

    /// Checks both operands. An operand without a width (or without a type, such as a bare
    /// aggregate) takes the type of the other operand.
    pub(super) fn operands(
        &mut self,
        left: &Expr,
        right: &Expr,
        hint: Option<&Type>,
    ) -> Option<(hir::Expr, hir::Expr)> {
        let open = |e: &Expr| is_widthless(e) || matches!(e.kind, ExprKind::Aggregate(_));
        match (open(left), open(right)) {
            (true, false) => {
                let b = self.expr(right, None)?;
                let wanted = self.wanted_beside(&b.ty);
                Some((self.expr(left, Some(&wanted))?, b))
            }
            (false, true) => {
                let a = self.expr(left, None)?;
                let wanted = self.wanted_beside(&a.ty);
                let b = self.expr(right, Some(&wanted))?;
                Some((a, b))
            }
            (true, true) => {
                let (a, b) = (self.expr(left, hint), self.expr(right, hint));
                Some((a?, b?))
            }
            (false, false) => {
                let (a, b) = (self.expr(left, None), self.expr(right, None));
                Some((a?, b?))
            }
        }
    }

    /// Returns the type that a literal takes next to an operand.
    fn wanted_beside(&self, other: &Type) -> Type {
        match other {
            Type::Bool | Type::Enum(_) => Type::Bits(self.width(other)),
            _ => other.clone(),
        }
    }

    pub(super) fn arithmetic(
        &mut self,
        op: BinaryOp,
        a: hir::Expr,
        b: hir::Expr,
        span: Span,
    ) -> Option<hir::Expr> {
        let (a, b) = (self.number(a), self.number(b));
        let (a, b) = (a?, b?);
        if matches!(op, BinaryOp::Div | BinaryOp::Rem)
            && fold::value(&b).is_some_and(|v| v.is_zero())
        {
            let answer = if op == BinaryOp::Div { "all ones" } else { "the dividend" };
            self.report(
                Diagnostic::new(
                    "W0604",
                    b.span,
                    format!("this is a division by zero; the result is {answer}"),
                )
                .help("check the divisor"),
            );
        }
        let width = self.width(&a.ty).max(self.width(&b.ty));
        let (a, b) = (self.widen(a, width), self.widen(b, width));
        self.note_wrap(plain(op), &a, &b, span);
        Some(fold::binary(plain(op), a, b, Type::Bits(width), span))
    }

    /// Records whether an operation on constants wraps.
    fn note_wrap(&mut self, op: hir::BinaryOp, a: &hir::Expr, b: &hir::Expr, span: Span) {
        let (Some(x), Some(y)) = (fold::value(a), fold::value(b)) else { return };
        let folded = &mut self.wraps.folded;
        let operand = |e: &hir::Expr| folded.get(&e.span).cloned();
        let inherited = match op {
            hir::BinaryOp::And => operand(a).and_then(|wrap| operand(b).map(|_| wrap)),
            _ => operand(a).or_else(|| operand(b)),
        };
        match inherited.or_else(|| range::folded(op, x, y, span)) {
            Some(wrap) => {
                folded.insert(span, wrap);
            }
            None => {
                folded.remove(&span);
            }
        }
    }

    pub(super) fn shift(
        &mut self,
        op: BinaryOp,
        value: hir::Expr,
        count: hir::Expr,
        span: Span,
    ) -> hir::Expr {
        let ty = value.ty.clone();
        let width = self.width(&ty);
        if let Some(n) = fold::value(&count)
            && n.to_shift() >= width
        {
            let message = format!("a `u{width}` shifted by {n} is always zero");
            let wider = (width * 2).min(MAX_BITS);
            let help = match wider > width {
                true => format!("widen it first: `(u{wider})x`"),
                false => "it cannot be wider".to_owned(),
            };
            self.report(
                Diagnostic::new("W0603", span, message)
                    .help(format!("the result has the width of the left operand; {help}")),
            );
        }
        self.check_wrap(&count, None);
        self.note_wrap(plain(op), &value, &count, span);
        fold::binary(plain(op), value, count, ty, span)
    }

    fn comparison(
        &mut self,
        op: BinaryOp,
        a: hir::Expr,
        b: hir::Expr,
        span: Span,
    ) -> Option<hir::Expr> {
        let equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
        for side in [&a, &b] {
            if side.ty == Type::Void {
                return self.void_value(side.span);
            }
        }
        if equality && a.ty == b.ty {
            self.warn_decided(op, &a, &b, span);
            return Some(fold::binary(plain(op), a, b, Type::Bool, span));
        }
        let is_number = |t: &Type| matches!(t, Type::Bits(_) | Type::Bool | Type::Enum(_));
        let two_enums = matches!((&a.ty, &b.ty), (Type::Enum(x), Type::Enum(y)) if x != y);
        if two_enums || (equality && !(is_number(&a.ty) && is_number(&b.ty))) {
            let message = format!(
                "`{}` and `{}` cannot be compared",
                self.type_name(&a.ty),
                self.type_name(&b.ty)
            );
            self.report(
                Diagnostic::new("E0306", span, message)
                    .also(a.span, format!("`{}`", self.type_name(&a.ty)))
                    .also(b.span, format!("`{}`", self.type_name(&b.ty)))
                    .help("cast one of them to the type of the other"),
            );
            return None;
        }
        let (a, b) = (self.number(a)?, self.number(b)?);
        let width = self.width(&a.ty).max(self.width(&b.ty));
        let (a, b) = (self.widen(a, width), self.widen(b, width));
        self.warn_decided(op, &a, &b, span);
        Some(fold::binary(plain(op), a, b, Type::Bool, span))
    }

    /// Reports W0602: one side is constant, and the range of the other side decides the comparison.
    fn warn_decided(&mut self, op: BinaryOp, a: &hir::Expr, b: &hir::Expr, span: Span) {
        // Move the constant to the right.
        let (value, limit, op) = match (fold::value(a), fold::value(b)) {
            (None, Some(limit)) => (a, limit, op),
            (Some(limit), None) => (b, limit, mirrored(op)),
            _ => return,
        };
        if !matches!(value.ty, Type::Bits(_) | Type::Bool | Type::Enum(_)) {
            return;
        }
        // The variable of a loop varies from round to round, so its range decides nothing.
        let width = |ty: &Type| self.width(ty);
        let facts = range::Facts { width: &width, loops: &HashMap::new() };
        let most = range::range(value, &facts).most;
        let always = match op {
            BinaryOp::Lt if limit.is_zero() => Some(false),
            BinaryOp::Lt if most < *limit => Some(true),
            BinaryOp::Le if most <= *limit => Some(true),
            BinaryOp::Gt if most <= *limit => Some(false),
            BinaryOp::Ge if limit.is_zero() => Some(true),
            BinaryOp::Ge if most < *limit => Some(false),
            BinaryOp::Eq if most < *limit => Some(false),
            BinaryOp::Ne if most < *limit => Some(true),
            _ => None,
        };
        let Some(always) = always else { return };
        let message = format!("this comparison is always {always}");
        let help = format!(
            "the value is an unsigned number from 0 to {most}, and is compared with {limit}"
        );
        self.report(Diagnostic::new("W0602", span, message).help(help));
    }

    pub(super) fn conditional(
        &mut self,
        condition: &Expr,
        then: &Expr,
        otherwise: &Expr,
        hint: Option<&Type>,
        span: Span,
    ) -> Option<hir::Expr> {
        let condition = self.condition(condition);
        // An aggregate takes its type from the context of the whole expression. A literal takes its
        // type from the other choice first.
        let aggregate = |e: &Expr| matches!(e.kind, ExprKind::Aggregate(_));
        let (a, b) = if aggregate(then) || aggregate(otherwise) {
            let (a, b) = (self.expr(then, hint), self.expr(otherwise, hint));
            (a?, b?)
        } else {
            self.operands(then, otherwise, hint)?
        };
        let condition = condition?;
        let (a, b) = if a.ty == b.ty {
            if a.ty == Type::Void {
                return self.void_value(a.span);
            }
            (a, b)
        } else {
            let different = |t: &Type| !matches!(t, Type::Bits(_) | Type::Bool | Type::Enum(_));
            let two_enums = matches!((&a.ty, &b.ty), (Type::Enum(_), Type::Enum(_)));
            if different(&a.ty) || different(&b.ty) || two_enums {
                let (x, y) = (self.type_name(&a.ty), self.type_name(&b.ty));
                self.report(
                    Diagnostic::new("E0306", span, format!("the two choices are `{x}` and `{y}`"))
                        .help("cast one of them to the type of the other"),
                );
                return None;
            }
            let (a, b) = (self.number(a)?, self.number(b)?);
            let width = self.width(&a.ty).max(self.width(&b.ty));
            (self.widen(a, width), self.widen(b, width))
        };
        Some(fold::conditional(condition, a, b, span))
    }

    /// Returns the new value of `place OP= value`.
    pub(super) fn compound(
        &mut self,
        op: BinaryOp,
        old: hir::Expr,
        value: &ast::Expr,
        span: Span,
    ) -> Option<hir::Expr> {
        let old = self.number(old)?;
        let ty = old.ty.clone();
        let hint = if matches!(op, BinaryOp::Shl | BinaryOp::Shr) { None } else { Some(&ty) };
        let value = self.expr(value, hint)?;
        let value = self.number(value)?;
        if hint.is_none() {
            return Some(self.shift(op, old, value, span));
        }
        self.arithmetic(op, old, value, span)
    }
}

/// Returns the operator for swapped operands.
fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        other => other,
    }
}

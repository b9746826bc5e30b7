//! Checks expressions.

use super::constants::{is_literal, is_widthless};
use super::place::{Access, Resolved};
use super::types::MAX_BITS;
use super::{Checker, fold};
use crate::ast::{Expr, ExprKind, Name, TypeExpr, UnaryOp};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, Type};
use crate::source::Span;

impl Checker<'_> {
    /// Checks an expression. `hint` is the wanted type, which widthless literals and bare
    /// aggregates take. All other expressions keep their own type, and the caller converts them.
    pub(super) fn expr(&mut self, e: &Expr, hint: Option<&Type>) -> Option<hir::Expr> {
        self.nested(e.span, |c| c.expr_inner(e, hint))
    }

    fn expr_inner(&mut self, e: &Expr, hint: Option<&Type>) -> Option<hir::Expr> {
        if is_literal(e) {
            return self.typed_literal(e, hint);
        }
        match &e.kind {
            ExprKind::Number(_) | ExprKind::SizeOf(..) => {
                unreachable!("literals are handled above")
            }
            ExprKind::Address(bits) => {
                Some(fold::constant(bits.clone(), Type::Bits(bits.width()), e.span))
            }
            ExprKind::Bool(value) => {
                Some(fold::constant(wireloom_bits::Bits::bool(*value), Type::Bool, e.span))
            }
            ExprKind::Name(_)
            | ExprKind::Field(..)
            | ExprKind::Index(..)
            | ExprKind::Slice(..)
            | ExprKind::Run(..) => Some(match self.resolve(e, Access::Read)? {
                Resolved::Value(value) => hir::Expr { span: e.span, ..value },
                Resolved::Place(place) => hir::Expr {
                    ty: place.ty.clone(),
                    kind: hir::ExprKind::Read(place),
                    span: e.span,
                },
            }),
            ExprKind::Call(callee, args) => self.call(e, callee, args),
            ExprKind::Unary(op, operand) => self.unary(*op, operand, hint, e.span),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right, hint, e.span),
            ExprKind::Conditional(condition, then, otherwise) => {
                self.conditional(condition, then, otherwise, hint, e.span)
            }
            ExprKind::Cast(ty, operand) => self.cast(ty, operand, e.span),
            ExprKind::Concat(parts) => self.concat(parts, e.span),
            ExprKind::Aggregate(parts) => self.aggregate(parts, hint, e.span),
        }
    }

    fn unary(
        &mut self,
        op: UnaryOp,
        operand: &Expr,
        hint: Option<&Type>,
        span: Span,
    ) -> Option<hir::Expr> {
        if op == UnaryOp::LogicalNot {
            let value = self.expr(operand, None)?;
            if matches!(value.ty, Type::Bits(2..) | Type::Enum(_)) {
                self.negated_numbers.insert(span);
            }
            return Some(fold::logical_not(self.truth(value)?, span));
        }
        let value = self.expr(operand, hint)?;
        let value = self.number(value)?;
        let ty = value.ty.clone();
        let folded = fold::value(&value);
        Some(match op {
            UnaryOp::Plus => hir::Expr { span, ..value },
            UnaryOp::Not => match folded {
                Some(bits) => fold::constant(bits.not(), ty, span),
                None => hir::Expr { kind: hir::ExprKind::Not(Box::new(value)), ty, span },
            },
            UnaryOp::Neg => match folded {
                Some(bits) => fold::constant(bits.neg(), ty, span),
                None => hir::Expr { kind: hir::ExprKind::Neg(Box::new(value)), ty, span },
            },
            UnaryOp::LogicalNot => unreachable!("checked as a condition above"),
        })
    }

    fn cast(&mut self, written: &TypeExpr, operand: &Expr, span: Span) -> Option<hir::Expr> {
        let ty = self.ty(written);
        if ty == Some(Type::Void) {
            self.report(Diagnostic::new("E0313", written.span, "nothing can be cast to `void`"));
            return None;
        }
        let ty = ty?;
        let width = self.width(&ty);
        if is_literal(operand) {
            let literal = self.literal(operand)?;
            let value = if ty == Type::Bool {
                wireloom_bits::Bits::bool(literal.significant() > 0)
            } else {
                literal.cut(width)
            };
            return Some(fold::constant(value, ty, span));
        }
        let packed = Type::Bits(width.min(MAX_BITS));
        let hint = match operand.kind {
            ExprKind::Aggregate(_) => Some(&ty),
            // A number of any width converts to `bool`.
            _ if ty == Type::Bool => None,
            _ => Some(&packed),
        };
        let value = self.in_extent(false, |c| c.expr(operand, hint))?;
        if matches!((&value.ty, &ty), (Type::Bits(from), Type::Bits(to)) if to > from) {
            // A cast of the result widens too late.
            self.in_extent(false, |c| c.check_wrap(&value, Some(width)));
            self.wraps.intended.remove(&span);
        } else {
            self.wraps.intended.insert(span);
        }
        match (&value.ty, &ty) {
            (Type::Void, _) => self.void_value(value.span),
            (Type::Bool | Type::Bits(1), Type::Bool) => Some(fold::cast(value, ty, width, span)),
            (_, Type::Bool) => Some(hir::Expr { span, ..self.is_not_zero(value) }),
            _ => Some(fold::cast(value, ty, width, span)),
        }
    }

    fn concat(&mut self, parts: &[Expr], span: Span) -> Option<hir::Expr> {
        if parts.is_empty() {
            self.report(Diagnostic::new("E0519", span, "`concat` needs at least one value"));
            return None;
        }
        let mut values = Vec::new();
        let mut width = 0u64;
        for part in parts {
            if is_widthless(part) {
                self.report(
                    Diagnostic::new("E0416", part.span, "a literal in `concat` has no width")
                        .help("give it one with a cast: `(u8)0`"),
                );
                continue;
            }
            let Some(value) = self.expr(part, None) else { continue };
            if value.ty == Type::Void {
                self.void_value::<()>(part.span);
                continue;
            }
            let own = self.width(&value.ty);
            width += u64::from(own);
            values.push(if matches!(value.ty, Type::Bits(_)) || own > MAX_BITS {
                value
            } else {
                fold::cast(value, Type::Bits(own), own, part.span)
            });
        }
        if values.len() < parts.len() {
            return None;
        }
        if width > u64::from(MAX_BITS) {
            let message = format!("this concatenation has {width} bits; the limit is {MAX_BITS}");
            self.report(Diagnostic::new("E0415", span, message));
            return None;
        }
        Some(fold::concat(values, width as u32, span))
    }

    fn aggregate(
        &mut self,
        parts: &[(Option<Name>, Expr)],
        hint: Option<&Type>,
        span: Span,
    ) -> Option<hir::Expr> {
        // The name and the type of each part. Elements of an array have empty names.
        let (ty, slots): (Type, Vec<(String, Type)>) = match hint {
            Some(ty @ Type::Struct(id)) => {
                let fields = &self.structs[id.index()].fields;
                (ty.clone(), fields.iter().map(|f| (f.name.clone(), f.ty.clone())).collect())
            }
            Some(ty @ Type::Array(element, count)) => {
                (ty.clone(), vec![(String::new(), (**element).clone()); *count as usize])
            }
            Some(other) => {
                let message = format!(
                    "braces give a structure or an array, but `{}` is needed",
                    self.type_name(other)
                );
                self.report(Diagnostic::new("E0306", span, message));
                return None;
            }
            None => {
                self.report(
                    Diagnostic::new("E0406", span, "the type of these braces is unknown")
                        .help("write the type before them: `(Route){ ... }`"),
                );
                return None;
            }
        };
        let named = parts.first().is_some_and(|(name, _)| name.is_some());
        if let Some((_, odd)) = parts.iter().find(|(name, _)| name.is_some() != named) {
            self.report(
                Diagnostic::new("E0408", odd.span, "named and unnamed parts are mixed")
                    .help("name all of them (`.field = value`) or none"),
            );
            return None;
        }
        if !named && parts.len() > slots.len() {
            let message = format!(
                "`{}` has {} parts, but {} are given",
                self.type_name(&ty),
                slots.len(),
                parts.len()
            );
            self.report(Diagnostic::new("E0407", parts[slots.len()].1.span, message));
            return None;
        }
        let mut values: Vec<Option<hir::Expr>> = vec![None; slots.len()];
        let mut given: Vec<Option<Span>> = vec![None; slots.len()];
        let mut in_order = true;
        let mut last = 0;
        let mut complete = true;
        for (i, (name, part)) in parts.iter().enumerate() {
            let slot = match name {
                None => Some(i),
                Some(name) => self.named_slot(name, &slots, &ty),
            };
            let Some(slot) = slot else {
                complete = false;
                continue;
            };
            if let (Some(name), Some(before)) = (name, given[slot]) {
                let message = format!("`{}` is given twice", name.text);
                self.report(
                    Diagnostic::new("E0212", name.span, message).also(before, "the first time"),
                );
                complete = false;
                continue;
            }
            given[slot] = Some(name.as_ref().map_or(part.span, |n| n.span));
            in_order &= slot >= last;
            last = slot;
            let wanted = &slots[slot].1;
            let place = match name {
                Some(name) => format!("field `{}`", name.text),
                None => "this part".into(),
            };
            let value = self.expr(part, Some(wanted)).and_then(|v| self.coerce(v, wanted, &place));
            complete &= value.is_some();
            values[slot] = value;
        }
        if !complete {
            return None;
        }
        let effects = values.iter().flatten().filter(|v| fold::has_effect(v)).count();
        if !in_order && effects > 1 {
            self.report(
                Diagnostic::new("E0417", span, "calls in named parts must be in the order of the fields")
                    .help("they happen in that order; reorder the parts, or put the results into variables first"),
            );
            return None;
        }
        let all = values
            .into_iter()
            .zip(&slots)
            .map(|(value, (_, ty))| value.unwrap_or_else(|| self.zero(ty, span)))
            .collect();
        Some(fold::aggregate(all, ty, span))
    }

    fn named_slot(&mut self, name: &Name, slots: &[(String, Type)], ty: &Type) -> Option<usize> {
        if matches!(ty, Type::Array(..)) {
            self.report(Diagnostic::new(
                "E0408",
                name.span,
                "the elements of an array have no names",
            ));
            return None;
        }
        let found = slots.iter().position(|(n, _)| **n == *name.text);
        if found.is_none() {
            self.unknown_field(name, ty);
        }
        found
    }

    /// Reports that a structure lacks a field, or that a type has no fields.
    pub(super) fn unknown_field(&mut self, name: &Name, ty: &Type) {
        let Type::Struct(id) = ty else {
            let message = format!("`{}` has no fields", self.type_name(ty));
            self.report(
                Diagnostic::new("E0316", name.span, message)
                    .help("only structures and headers have fields"),
            );
            return;
        };
        let of = &self.structs[id.index()];
        let message = format!("`{}` has no field `{}`", of.name, name.text);
        let names: Vec<&str> = of.fields.iter().map(|f| f.name.as_str()).collect();
        let help = crate::suggest::suggest_or_list(&name.text, "its fields", names);
        let declared = of.span;
        self.report(
            Diagnostic::new("E0203", name.span, message)
                .also(declared, "declared here")
                .help_if(help),
        );
    }
}

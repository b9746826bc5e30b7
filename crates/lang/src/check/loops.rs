//! Checks `for` loops. The values of the loop variable are computed at compile time.

use wireloom_bits::Bits;

use super::range::Range;
use super::scope::Symbol;
use super::stmt::Frame;
use super::{Checker, fold};
use crate::ast::{self, BinaryOp, ForLoop};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, MAX_UNROLL, StmtKind, Type, VarId, VarKind};

impl Checker<'_> {
    pub(super) fn for_loop(&mut self, l: &ForLoop) -> Option<StmtKind> {
        self.scoped(|c| {
            let ty = c.value_type(&l.ty);
            let first = match &ty {
                Some(ty) => c.loop_constant(&l.first, ty),
                None => None,
            };
            let ty = match ty {
                Some(Type::Bits(n)) => Type::Bits(n),
                Some(other) => {
                    let message =
                        format!("a loop counts with a number, not with `{}`", c.type_name(&other));
                    c.report(
                        Diagnostic::new("E0512", l.ty.span, message)
                            .help("write `for (u8 i = 0; i < 16; i++)`"),
                    );
                    return None;
                }
                None => return None,
            };
            let var = c.cx.add_var(&l.name.text, ty.clone(), VarKind::Local, l.name.span);
            c.cx.uses[var.index()].exempt = true;
            // The head of the loop may assign its own variable.
            c.declare(&l.name, Symbol::Var(var));
            let condition = c.condition(&l.condition);
            let next = c.advance(l, var, &ty);
            c.redefine(&l.name, Symbol::LoopVar(var));
            let values = match (first, condition, next) {
                (Some(first), Some(condition), Some(next)) => {
                    c.loop_values(l, var, first, &condition, &next)
                }
                _ => None,
            };
            if let Some(values) = &values
                && let (Some(least), Some(most)) = (values.iter().min(), values.iter().max())
            {
                let range = Range { least: least.clone(), most: most.clone() };
                c.cx.loop_ranges.insert(var, range);
            }
            c.body.frames.push(Frame::default());
            let body = c.nested(l.body.span, |c| Some(c.single(&l.body)));
            c.body.frames.pop();
            c.cx.loop_ranges.remove(&var);
            let (values, body) = (values?, body?);
            if values.is_empty() {
                c.report(
                    Diagnostic::new("W0716", l.head, "this loop never runs")
                        .help("its condition is false from the start"),
                );
            }
            Some(StmtKind::For { var, values, body })
        })
    }

    /// Checks the first value. If it is not constant, the bounds of the loop are not constant.
    fn loop_constant(&mut self, e: &ast::Expr, ty: &Type) -> Option<Bits> {
        let value = self.expr(e, Some(ty))?;
        let value = self.coerce(value, ty, "the loop's variable")?;
        match fold::value(&value) {
            Some(bits) => Some(bits.clone()),
            None => {
                self.not_constant_bound(e.span);
                None
            }
        }
    }

    fn not_constant_bound(&mut self, span: crate::source::Span) {
        self.report(Diagnostic::new("E0510", span, "the bounds of a loop must be constant").help(
            "loops are unrolled; for a run-time number of rounds, jump back to an earlier step with `next`",
        ));
    }

    /// Returns the next value of the variable, as an expression of the current value.
    fn advance(&mut self, l: &ForLoop, var: VarId, ty: &Type) -> Option<hir::Expr> {
        let old = hir::Expr {
            kind: hir::ExprKind::Read(hir::Place {
                root: hir::Root::Var(var),
                path: Vec::new(),
                ty: ty.clone(),
                span: l.advance.span,
            }),
            ty: ty.clone(),
            span: l.advance.span,
        };
        let (place, next) = match &l.advance.kind {
            ast::StmtKind::Increment(place, op) => {
                let one = fold::constant(Bits::new(self.width(ty), 1), ty.clone(), l.advance.span);
                (place, self.arithmetic(*op, old, one, l.advance.span))
            }
            ast::StmtKind::Assign(place, None, value) => (place, self.expr(value, Some(ty))),
            ast::StmtKind::Assign(place, Some(op), value) => {
                (place, self.compound(*op, old, value, l.advance.span))
            }
            _ => {
                self.report(
                    Diagnostic::new(
                        "E0512",
                        l.advance.span,
                        "the third part of a `for` must change its variable",
                    )
                    .help(format!("write `{}++`", l.name.text)),
                );
                return None;
            }
        };
        if !matches!(&place.kind, ast::ExprKind::Name(n) if *n == l.name.text) {
            self.report(
                Diagnostic::new(
                    "E0512",
                    place.span,
                    "the third part of a `for` must change its variable",
                )
                .help(format!("write `{}++`", l.name.text)),
            );
            return None;
        }
        self.coerce(next?, ty, "the loop's variable")
    }

    fn loop_values(
        &mut self,
        l: &ForLoop,
        var: VarId,
        first: Bits,
        condition: &hir::Expr,
        next: &hir::Expr,
    ) -> Option<Vec<Bits>> {
        let mut values = Vec::new();
        let mut at = first;
        loop {
            let width = |ty: &Type| self.width(ty);
            let Some(goes_on) = fold::evaluate(condition, var, &at, &width) else {
                self.not_constant_bound(condition.span);
                return None;
            };
            if goes_on.is_zero() {
                return Some(values);
            }
            if values.len() >= MAX_UNROLL {
                let message = format!("this loop runs more than {MAX_UNROLL} times");
                self.report(Diagnostic::new("E0511", l.head, message).help(
                    "loops are unrolled; for long ones jump back to an earlier step. Does the variable wrap before it \
                     reaches the bound?",
                ));
                return None;
            }
            let Some(after) = fold::evaluate(next, var, &at, &width) else {
                self.not_constant_bound(next.span);
                return None;
            };
            values.push(std::mem::replace(&mut at, after));
        }
    }

    /// Returns the new value of `i++` outside of the head of a loop.
    pub(super) fn incremented(&mut self, op: BinaryOp, old: hir::Expr) -> Option<hir::Expr> {
        let span = old.span;
        let old = self.number(old)?;
        let one = fold::constant(Bits::new(self.width(&old.ty), 1), old.ty.clone(), span);
        self.arithmetic(op, old, one, span)
    }
}

//! Implicit conversions, and errors where a conversion must be explicit.

use wireloom_bits::Bits;

use super::{Checker, fold, range};
use crate::ast;
use crate::diagnostics::Diagnostic;
use crate::hir::{BinaryOp, Expr, Type};
use crate::source::Span;

impl Checker<'_> {
    /// Converts a value to the type of the place that it is assigned to, passed to or returned
    /// from. `place` names it in messages, for example "this constant" or "variable `x`".
    pub(super) fn coerce(&mut self, value: Expr, to: &Type, place: &str) -> Option<Expr> {
        if value.ty == *to {
            return if value.ty == Type::Void { self.void_value(value.span) } else { Some(value) };
        }
        let span = value.span;
        let (from_name, to_name) = (self.type_name(&value.ty), self.type_name(to));
        match (&value.ty, to) {
            (Type::Void, _) => self.void_value(span),
            (Type::Bits(_) | Type::Bool | Type::Enum(_), Type::Bits(width)) => {
                let (from, width) = (self.width(&value.ty), *width);
                if from > width {
                    self.warn_narrowing(&value, width, place);
                }
                Some(self.widen(value, width))
            }
            (Type::Bits(_) | Type::Enum(_), Type::Bool) => {
                let message = format!("{place} is `bool`, but this is `{from_name}`");
                self.report(
                    Diagnostic::new("E0308", span, message).help(
                        "write `true` or `false`, a comparison (`x != 0`), or a cast `(bool)x`",
                    ),
                );
                None
            }
            (Type::Bits(_) | Type::Bool, Type::Enum(_)) => {
                let message =
                    format!("{place} is of enumeration `{to_name}`, but this is `{from_name}`");
                self.report(
                    Diagnostic::new("E0307", span, message)
                        .help(format!("name one of its members, or cast: `({to_name})x`")),
                );
                None
            }
            _ => {
                let message = format!("{place} is of type `{to_name}`, but this is `{from_name}`");
                let both_packed = !matches!(value.ty, Type::Void) && !matches!(to, Type::Void);
                let help =
                    both_packed.then(|| format!("a cast `({to_name})x` converts by packed bits"));
                self.report(
                    Diagnostic::new("E0306", span, message)
                        .here(format!("`{from_name}`"))
                        .help_if(help),
                );
                None
            }
        }
    }

    /// Reports W0601, unless the value provably fits.
    fn warn_narrowing(&mut self, value: &Expr, width: u32, place: &str) {
        let most = self.range(value).most;
        if most.significant() <= width {
            return;
        }
        let from = self.type_name(&value.ty);
        let message = format!("{place} is `u{width}`, but this is `{from}`: high bits can be lost");
        let known =
            if most.is_ones() { String::new() } else { format!(" (it can be as large as {most})") };
        self.report(
            Diagnostic::new("W0601", value.span, message)
                .help(format!("to truncate, write `(u{width})x` or `x[{}:0]`{known}", width - 1)),
        );
    }

    /// Converts a value to a number: `bool` to `u1`, and an enumeration to its underlying type.
    pub(super) fn number(&mut self, value: Expr) -> Option<Expr> {
        match &value.ty {
            Type::Bits(_) => Some(value),
            Type::Bool | Type::Enum(_) => {
                let (width, span) = (self.width(&value.ty), value.span);
                Some(fold::cast(value, Type::Bits(width), width, span))
            }
            Type::Void => self.void_value(value.span),
            Type::Struct(_) | Type::Array(..) => {
                let message =
                    format!("a number is needed here, but this is `{}`", self.type_name(&value.ty));
                self.report(
                    Diagnostic::new("E0310", value.span, message)
                        .help("take a field or an element of it, or cast it to `uN`"),
                );
                None
            }
        }
    }

    /// Checks a condition. A number that is not zero counts as true.
    pub(super) fn condition(&mut self, e: &ast::Expr) -> Option<Expr> {
        let value = self.expr(e, None)?;
        self.truth(value)
    }

    /// Converts a value to `bool`.
    pub(super) fn truth(&mut self, value: Expr) -> Option<Expr> {
        if value.ty == Type::Bool {
            return Some(value);
        }
        let value = self.number(value)?;
        Some(self.is_not_zero(value))
    }

    /// Builds `x != 0` for any type that has values.
    pub(super) fn is_not_zero(&self, value: Expr) -> Expr {
        let (ty, span) = (value.ty.clone(), value.span);
        let zero = self.zero(&ty, span);
        fold::binary(BinaryOp::Ne, value, zero, Type::Bool, span)
    }

    /// Builds a value with all bits zero.
    pub(super) fn zero(&self, ty: &Type, span: Span) -> Expr {
        fold::constant(Bits::zero(self.width(ty)), ty.clone(), span)
    }

    /// Converts a value to a `uN`, and reports arithmetic that may have wrapped before it is
    /// widened.
    pub(super) fn widen(&mut self, value: Expr, width: u32) -> Expr {
        let span = value.span;
        self.check_wrap(&value, Some(width));
        fold::cast(value, Type::Bits(width), width, span)
    }

    /// Returns the bounds of a number, given the ranges of the variables of open loops.
    pub(super) fn range(&self, value: &Expr) -> range::Range {
        let width = |ty: &Type| self.width(ty);
        range::range(value, &range::Facts { width: &width, loops: &self.cx.loop_ranges })
    }

    /// Reports W0606, or E0418 in an offset or a length, if narrow arithmetic may wrap before its
    /// value is used at width `to`. `to` is `None` for the count of a shift.
    pub(super) fn check_wrap(&mut self, value: &Expr, to: Option<u32>) {
        if !matches!(value.ty, Type::Bits(_)) || to.is_some_and(|to| to <= self.width(&value.ty)) {
            return;
        }
        let width = |ty: &Type| self.width(ty);
        let facts = range::Facts { width: &width, loops: &self.cx.loop_ranges };
        let Some(wrap) = range::wrap(value, &facts, &self.wraps) else { return };
        // A negative count is too large at any width.
        if to.is_none() && wrap.most.is_none() {
            return;
        }
        let (narrow, span) = (wrap.width, wrap.span);
        let bound = match &wrap.most {
            Some(most) => format!("it can be as large as {most}"),
            None => "it can be less than 0".to_owned(),
        };
        let wider = to.map_or_else(String::new, |to| format!(" and is then widened to `u{to}`"));
        let (code, what) = if self.body.extent && to.is_some() {
            ("E0418", "the arithmetic of an offset or length")
        } else {
            ("W0606", "arithmetic")
        };
        let message = format!("{what} wraps at `u{narrow}`{wider}: {bound}");
        let needed = || wrap.most.as_ref().map_or(narrow, Bits::significant);
        let cast = to.unwrap_or_else(needed);
        self.report(Diagnostic::new(code, span, message).help(format!(
            "widen an operand first, `(u{cast})x`; if it is meant to wrap, cast the result to \
             its own width, `(u{narrow})(...)`"
        )));
    }

    /// Checks an expression and converts it to `u16`, the type of offsets and counts.
    pub(super) fn offset(&mut self, e: &ast::Expr, place: &str) -> Option<Expr> {
        self.in_extent(true, |c| {
            let value = c.expr(e, Some(&Type::Bits(16)))?;
            let value = c.number(value)?;
            c.coerce(value, &Type::Bits(16), place)
        })
    }

    /// Runs `work` on a value. `extent` says whether the value is an offset or a length in the
    /// packet, where arithmetic that may wrap before it is widened is an error.
    pub(super) fn in_extent<T>(&mut self, extent: bool, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.body.extent, extent);
        let out = work(self);
        self.body.extent = outer;
        out
    }
}

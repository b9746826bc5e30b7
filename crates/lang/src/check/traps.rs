//! Warns about operators that C programs often get wrong: precedence, `!` that applies to one
//! operand only, a constant in place of a second comparison, and chains of comparisons.

use super::constants::is_widthless;
use super::{Checker, fold};
use crate::ast::{BinaryOp, Expr, ExprKind, UnaryOp};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, Type};
use crate::source::Span;

/// An operand and its type, if known.
type Operand<'a> = (&'a Expr, Option<&'a Type>);

/// The maximum length of a text that a help line quotes, in bytes.
const MAX_QUOTED: usize = 60;

impl Checker<'_> {
    /// Reports W0608 and W0609: in `f & m == m` and `!f & m`, the comparison or the `!` applies to
    /// one operand only.
    pub(super) fn warn_precedence(&mut self, op: BinaryOp, left: Operand<'_>, right: Operand<'_>) {
        let bitwise = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
        if bitwise && !is_true_or_false(left) {
            self.warn_comparison(op, right.0, left.0, false);
            self.warn_negation(op, right.0, left, false);
        }
        if bitwise && !is_true_or_false(right) {
            self.warn_comparison(op, left.0, right.0, true);
        }
        if (bitwise || op.is_logical()) && !is_true_or_false(right) {
            self.warn_negation(op, left.0, right, true);
        }
        if is_order(op) {
            self.warn_chain(op, left.0, right.0);
        }
    }

    /// Reports W0611: `a < b < c`, which compares `true` or `false` with `c`.
    fn warn_chain(&mut self, op: BinaryOp, left: &Expr, right: &Expr) {
        let ExprKind::Binary(inner, x, y) = &left.kind else { return };
        if left.grouped || !is_order(*inner) {
            return;
        }
        let texts = self.quoted(x.span).zip(self.quoted(y.span)).zip(self.quoted(right.span));
        let ((x, y), z) = texts.unwrap_or_else(|| (("a".into(), "b".into()), "c".into()));
        let (first, second) = (sign(*inner), sign(op));
        let message = format!("`{second}` compares the result of `{first}`, which is 0 or 1");
        self.report(
            Diagnostic::new("W0611", left.span, message)
                .here("`true` or `false`")
                .help(format!("write `{x} {first} {y} && {y} {second} {z}`")),
        );
    }

    /// Reports `x == y | other`, or `other | x == y`.
    fn warn_comparison(&mut self, op: BinaryOp, operand: &Expr, other: &Expr, is_left: bool) {
        let ExprKind::Binary(inner, x, y) = &operand.kind else { return };
        if operand.grouped || !is_comparison(*inner) {
            return;
        }
        let (outer, inner) = (sign(op), sign(*inner));
        let meant = self.quoted(x.span).zip(self.quoted(y.span)).zip(self.quoted(other.span)).map(
            |((x, y), other)| match is_left {
                true => format!("`{x} {inner} ({y} {outer} {other})`"),
                false => format!("`({other} {outer} {x}) {inner} {y}`"),
            },
        );
        let meant = meant.unwrap_or_else(|| format!("`(a {outer} b) {inner} c`"));
        let message = format!("`{outer}` has the result of `{inner}` as an operand");
        self.report(
            Diagnostic::new("W0608", operand.span, message)
                .here(format!("`{inner}` binds more tightly than `{outer}`"))
                .help(format!(
                    "to compare the result of `{outer}`, write {meant}; else put this comparison \
                     in parentheses"
                )),
        );
    }

    /// Reports `!x & other` and `!x == other`, or `other & !x`, if `x` is a number.
    fn warn_negation(&mut self, op: BinaryOp, operand: &Expr, other: Operand<'_>, is_left: bool) {
        let ExprKind::Unary(UnaryOp::LogicalNot, negated) = &operand.kind else { return };
        let one_bit = matches!(other.1, Some(Type::Bits(1))) && !is_widthless(other.0);
        if operand.grouped || one_bit || !self.negated_numbers.contains(&operand.span) {
            return;
        }
        let outer = sign(op);
        let texts = self.quoted(negated.span).zip(self.quoted(other.0.span));
        let (x, y) = texts.unwrap_or_else(|| ("x".to_owned(), "y".to_owned()));
        let help = match (is_left, op.is_logical()) {
            (true, true) => format!("to negate the comparison, write `!({x} {outer} {y})`"),
            (true, false) => {
                format!("to negate the result, write `!({x} {outer} {y})`; to invert bits, `~{x}`")
            }
            (false, _) => format!("to invert the bits, write `~{x}`"),
        };
        let message = format!("`!` applies to `{x}` alone, and its result is `true` or `false`");
        self.report(
            Diagnostic::new("W0609", operand.span, message)
                .help(format!("{help}; else put the `!` in parentheses, `(!{x})`")),
        );
    }

    /// Reports W0610: an operand of `&&` or `||` that is a constant but not a truth value.
    pub(super) fn warn_constant_operand(
        &mut self,
        op: BinaryOp,
        left: (&Expr, Option<&hir::Expr>),
        right: (&Expr, Option<&hir::Expr>),
    ) {
        let (Some(a), Some(b)) = (left.1, right.1) else { return };
        let (constant, other, is_right) = match (fold::value(a), fold::value(b)) {
            (None, Some(_)) => ((right.0, b), left.0, true),
            (Some(_), None) => ((left.0, a), right.0, false),
            // Conditions over constants select variants of a program.
            _ => return,
        };
        let (written, value) = constant;
        let bits = fold::value(value).expect("one side is constant");
        let is_truth = match value.ty {
            Type::Bits(_) => bits.significant() <= 1,
            Type::Enum(_) => false,
            _ => true,
        };
        if is_truth {
            return;
        }
        let shown = self.quoted(written.span).unwrap_or_else(|| bits.to_string());
        let message = format!(
            "`{shown}` is a constant, so this operand of `{}` is always {}",
            sign(op),
            !bits.is_zero()
        );
        let help = self.constant_meant(op, &shown, other, is_right);
        self.report(Diagnostic::new("W0610", written.span, message).help(help));
    }

    /// Describes the likely intention of a constant operand of `&&` or `||`, for the help line.
    fn constant_meant(&self, op: BinaryOp, shown: &str, other: &Expr, is_right: bool) -> String {
        let nonzero = format!("to test whether it is zero, `{shown} != 0`");
        let Some(text) = self.quoted(other.span) else {
            return format!("compare it with something: `x == {shown}`; {nonzero}");
        };
        // In `x == 1 || 2` or `x == 1 || x == 2 || 3`, find the comparison next to the constant.
        let mut near = other;
        while let ExprKind::Binary(BinaryOp::AndThen | BinaryOp::OrElse, a, b) = &near.kind {
            near = if is_right { b } else { a };
        }
        if let ExprKind::Binary(compare, x, _) = &near.kind
            && is_comparison(*compare)
            && let Some(x) = self.quoted(x.span)
        {
            let again = format!("{x} {} {shown}", sign(*compare));
            let both = match is_right {
                true => format!("{text} {} {again}", sign(op)),
                false => format!("{again} {} {text}", sign(op)),
            };
            return format!("to compare with it too, write `{both}`; {nonzero}");
        }
        if op == BinaryOp::AndThen {
            return format!("for the bits that both have, write `{text} & {shown}`; {nonzero}");
        }
        format!("to compare with it, write `{text} == {shown}`; {nonzero}")
    }

    /// Returns the text of a span on one line, unless it is too long or has comments.
    pub(super) fn quoted(&self, span: Span) -> Option<String> {
        let file = self.sources.files.get(span.file.0 as usize)?;
        let text = file.text.get(span.start as usize..span.end as usize)?;
        let plain = text.len() <= MAX_QUOTED && !text.contains("//") && !text.contains("/*");
        plain.then(|| text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// Whether an operator compares by size.
fn is_order(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge)
}

fn is_comparison(op: BinaryOp) -> bool {
    op.is_logical() && !matches!(op, BinaryOp::AndThen | BinaryOp::OrElse)
}

/// Whether an operand is a truth value by its type or its form, or had an error. Bitwise operators
/// on truth values are intentional: they evaluate both sides.
fn is_true_or_false((written, ty): Operand<'_>) -> bool {
    let by_form = match &written.kind {
        ExprKind::Binary(op, a, b) => {
            let bitwise = matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Xor);
            let known = |e: &Expr| is_true_or_false((e, Some(&Type::Void)));
            op.is_logical() || (bitwise && known(a) && known(b))
        }
        ExprKind::Unary(UnaryOp::LogicalNot, _) | ExprKind::Bool(_) => true,
        _ => false,
    };
    match ty {
        Some(ty) => by_form || *ty == Type::Bool,
        None => by_form || !is_widthless(written),
    }
}

/// Returns the operator as written in the source.
fn sign(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
        BinaryOp::Eq => "==",
        BinaryOp::Ne => "!=",
        BinaryOp::Lt => "<",
        BinaryOp::Le => "<=",
        BinaryOp::Gt => ">",
        BinaryOp::Ge => ">=",
        BinaryOp::AndThen => "&&",
        BinaryOp::OrElse => "||",
    }
}

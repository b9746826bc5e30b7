//! Checks constants: named constants, values of `--set`, numbers that must be constant, and
//! literals.

use wireloom_bits::Bits;

use super::literal::Literal;
use super::scope::Symbol;
use super::{Checker, Resolution, fold};
use crate::ast::{self, BinaryOp, Expr, ExprKind, SizeOperand, TypeExpr, TypeKind, UnaryOp};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, Type};
use crate::source::Span;

impl<'a> Checker<'a> {
    /// Resolves a named constant and returns its value.
    pub(super) fn resolve_const(&mut self, index: usize) -> Option<hir::Expr> {
        let entry = &mut self.consts[index];
        let (decl, level, replaced) = (entry.decl, entry.level, entry.replaced);
        match &entry.state {
            Resolution::Done(value) => return value.clone(),
            Resolution::InProgress => {
                let message = format!("the value of `{}` depends on itself", decl.name.text);
                self.report(Diagnostic::new("E0403", decl.name.span, message));
                return None;
            }
            Resolution::Open => entry.state = Resolution::InProgress,
        }
        let value = self.nested(decl.name.span, |c| {
            c.at_level(level, |c| match replaced {
                Some(value) => c.set_value(decl, value),
                None => c.const_decl(decl),
            })
        });
        self.consts[index].state = Resolution::Done(value.clone());
        value
    }

    /// Returns the value of a `const` declaration.
    pub(super) fn const_decl(&mut self, decl: &ast::ConstDecl) -> Option<hir::Expr> {
        if matches!(decl.ty.kind, TypeKind::Auto) {
            return self.constant(&decl.value, None);
        }
        let ty = self.value_type(&decl.ty)?;
        self.constant(&decl.value, Some(&ty))
    }

    fn set_value(&mut self, decl: &ast::ConstDecl, value: &Expr) -> Option<hir::Expr> {
        let ty = self.value_type(&decl.ty)?;
        if !matches!(ty, Type::Bits(_) | Type::Bool | Type::Enum(_)) {
            let message = format!(
                "`{}` is of type `{}` and cannot be set",
                decl.name.text,
                self.type_name(&ty)
            );
            self.report(
                Diagnostic::new("E0414", value.span, message)
                    .also(decl.name.span, "declared here")
                    .help("numbers, `bool` and enumerations can be set from the command line"),
            );
            return None;
        }
        // The name counts as used, even if the program declares the constant only for `--set`.
        self.constant(value, Some(&ty))
    }

    /// Checks an expression that must be constant, and converts it to `ty` if given.
    pub(super) fn constant(&mut self, e: &Expr, ty: Option<&Type>) -> Option<hir::Expr> {
        let outer = std::mem::replace(&mut self.body.constant, true);
        let value = self.expr(e, ty);
        self.body.constant = outer;
        let value = match ty {
            Some(ty) => self.coerce(value?, ty, "this constant")?,
            None => value?,
        };
        if fold::value(&value).is_none() {
            self.report(Diagnostic::new("E0402", e.span, "this is not constant").help(
                "a constant is computed from literals, other constants, enumeration members and sizes",
            ));
            return None;
        }
        Some(value)
    }

    /// Checks a constant number of any width. A literal gets the width that it needs.
    pub(super) fn const_number(&mut self, e: &Expr) -> Option<Bits> {
        if is_literal(e) {
            let literal = self.literal(e)?;
            if literal.is_negative() {
                let message =
                    format!("{literal} is negative; a number of at least 0 is needed here");
                self.report(Diagnostic::new("E0401", e.span, message));
                return None;
            }
            return Some(literal.cut(literal.significant().max(1)));
        }
        let value = self.constant(e, None)?;
        let value = self.number(value)?;
        fold::value(&value).cloned()
    }

    /// Checks `static_assert(condition, "message");`.
    pub(super) fn static_assert(&mut self, assert: &ast::StaticAssert) {
        let Some(condition) = self.condition(&assert.condition) else { return };
        match fold::value(&condition) {
            Some(v) if v.is_zero() => {
                let message = match &assert.message {
                    Some(text) => format!("static_assert failed: {text}"),
                    None => "static_assert failed".into(),
                };
                self.report(
                    Diagnostic::new("E0404", assert.condition.span, message).here("this is false"),
                );
            }
            Some(_) => {}
            None => {
                self.report(
                    Diagnostic::new("E0402", assert.condition.span, "this is not constant")
                        .help("static_assert is decided when the program is compiled"),
                );
            }
        }
    }

    /// Returns the exact value of an expression for which [`is_literal`] holds.
    pub(super) fn literal(&mut self, e: &Expr) -> Option<Literal> {
        match &e.kind {
            ExprKind::Number(value) => Some(Literal::of(value)),
            ExprKind::SizeOf(bytes, operand) => {
                let bits = self.size_of(operand)?;
                Some(Literal::number(if *bytes { bits.div_ceil(8) } else { bits }.into()))
            }
            ExprKind::Unary(op, a) => {
                let a = self.literal(a)?;
                Some(match op {
                    UnaryOp::Neg => a.negate(),
                    UnaryOp::Not => a.complement(),
                    UnaryOp::Plus | UnaryOp::LogicalNot => a,
                })
            }
            ExprKind::Binary(op, a, b) => {
                let (left, right) = (self.literal(a)?, self.literal(b)?);
                if matches!(op, BinaryOp::Div | BinaryOp::Rem) && right == Literal::number(0) {
                    self.report(
                        Diagnostic::new("E0412", b.span, "a literal is divided by zero")
                            .help("only a division at run time has a defined result for it"),
                    );
                    return None;
                }
                let result = left.binary(*op, &right);
                if result.is_none() {
                    self.report(
                        Diagnostic::new(
                            "E0412",
                            e.span,
                            "the value of this needs more than 1024 bits",
                        )
                        .help("the widest type is `u1024`"),
                    );
                }
                result
            }
            ExprKind::Conditional(condition, a, b) => {
                let chosen = if self.literal_truth(condition)? { a } else { b };
                self.literal(chosen)
            }
            _ => unreachable!("asked only of what is_literal admits"),
        }
    }

    /// Returns the exact result of a condition for which [`is_literal_truth`] holds.
    fn literal_truth(&mut self, e: &Expr) -> Option<bool> {
        match &e.kind {
            ExprKind::Bool(value) => Some(*value),
            ExprKind::Unary(UnaryOp::LogicalNot, a) => Some(!self.literal_truth(a)?),
            ExprKind::Binary(BinaryOp::AndThen, a, b) => {
                Some(self.literal_truth(a)? && self.literal_truth(b)?)
            }
            ExprKind::Binary(BinaryOp::OrElse, a, b) => {
                Some(self.literal_truth(a)? || self.literal_truth(b)?)
            }
            ExprKind::Binary(op, a, b) if op.is_logical() => self.literal_comparison(*op, a, b),
            _ => Some(self.literal(e)?.significant() > 0),
        }
    }

    /// Returns the exact result of a comparison of literals.
    pub(super) fn literal_comparison(
        &mut self,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
    ) -> Option<bool> {
        let (left, right) = (self.literal(left), self.literal(right));
        let order = left?.cmp(&right?);
        Some(match op {
            BinaryOp::Eq => order.is_eq(),
            BinaryOp::Ne => order.is_ne(),
            BinaryOp::Lt => order.is_lt(),
            BinaryOp::Le => order.is_le(),
            BinaryOp::Gt => order.is_gt(),
            _ => order.is_ge(),
        })
    }

    /// Gives a literal the wanted type; without one, `u32` or `u64`.
    pub(super) fn typed_literal(&mut self, e: &Expr, hint: Option<&Type>) -> Option<hir::Expr> {
        let literal = self.literal(e)?;
        let width = match hint {
            Some(Type::Bits(n)) => *n,
            _ if literal.fits(32) => 32,
            _ => 64,
        };
        if !literal.fits(width) {
            let help = match hint {
                Some(Type::Bits(_)) if literal.is_negative() => {
                    format!(
                        "u{width} begins at 0; its negative numbers are those above half of its range"
                    )
                }
                Some(Type::Bits(_)) => format!("the largest u{width} is {}", Bits::ones(width)),
                _ => {
                    "nothing here gives it a width, and a literal alone is u32 or u64; write a cast"
                        .into()
                }
            };
            let message = format!("{literal} does not fit in u{width}");
            self.report(Diagnostic::new("E0401", e.span, message).help(help));
            return None;
        }
        Some(fold::constant(literal.cut(width), Type::Bits(width), e.span))
    }

    /// Returns the width in bits of the operand of `sizeof` or `bitsof`.
    fn size_of(&mut self, operand: &SizeOperand) -> Option<u32> {
        let ty = match operand {
            SizeOperand::Type(written) => self.value_type(written)?,
            SizeOperand::Expr(e) => match self.as_type(e) {
                Some(written) => self.value_type(&written)?,
                None => match &e.kind {
                    ExprKind::Name(name) => match self.lookup(name) {
                        // The size of a view is the size of its header. `sizeof` neither evaluates
                        // the offset nor counts as a use of the view.
                        Some(Symbol::View(id)) => Type::Struct(self.cx.view_headers[id.index()]?),
                        Some(Symbol::LocalView(_, header)) => Type::Struct(header),
                        _ => self.expr(e, None)?.ty,
                    },
                    _ => self.expr(e, None)?.ty,
                },
            },
        };
        if ty == Type::Void {
            return self.void_value(operand_span(operand));
        }
        Some(self.width(&ty))
    }

    /// Returns the type that an expression names, such as `Route` or `Route[4]`.
    fn as_type(&self, e: &Expr) -> Option<TypeExpr> {
        match &e.kind {
            ExprKind::Name(name) => match self.lookup(name)? {
                Symbol::Type(_) => {
                    Some(TypeExpr { kind: TypeKind::Named(name.clone()), span: e.span })
                }
                _ => None,
            },
            ExprKind::Index(element, size) => {
                let element = Box::new(self.as_type(element)?);
                Some(TypeExpr { kind: TypeKind::Array(element, size.clone()), span: e.span })
            }
            _ => None,
        }
    }

    /// Reports that an expression has no value.
    pub(super) fn void_value<T>(&mut self, span: Span) -> Option<T> {
        self.report(Diagnostic::new("E0313", span, "this has no value").help(
            "call a `void` function, or an operation without a result, as a statement of its own",
        ));
        None
    }
}

/// Whether the expression consists only of literals. It then has a value but no width.
pub(super) fn is_literal(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Number(_) | ExprKind::SizeOf(..) => true,
        ExprKind::Unary(UnaryOp::Not | UnaryOp::Neg | UnaryOp::Plus, a) => is_literal(a),
        ExprKind::Binary(op, a, b) => !op.is_logical() && is_literal(a) && is_literal(b),
        ExprKind::Conditional(condition, a, b) => {
            is_literal_truth(condition) && is_literal(a) && is_literal(b)
        }
        _ => false,
    }
}

/// Whether the expression is a condition that contains only literals.
fn is_literal_truth(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Bool(_) => true,
        ExprKind::Unary(UnaryOp::LogicalNot, a) => is_literal_truth(a),
        ExprKind::Binary(BinaryOp::AndThen | BinaryOp::OrElse, a, b) => {
            is_literal_truth(a) && is_literal_truth(b)
        }
        ExprKind::Binary(op, a, b) if op.is_logical() => is_literal(a) && is_literal(b),
        _ => is_literal(e),
    }
}

/// Whether the expression takes its width from the context. This holds for literals, and for
/// choices among literals and shifts of literals.
pub(super) fn is_widthless(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Number(_) | ExprKind::SizeOf(..) => true,
        ExprKind::Unary(UnaryOp::Not | UnaryOp::Neg | UnaryOp::Plus, a) => is_widthless(a),
        ExprKind::Binary(BinaryOp::Shl | BinaryOp::Shr, a, _) => is_widthless(a),
        ExprKind::Binary(op, a, b) => !op.is_logical() && is_widthless(a) && is_widthless(b),
        ExprKind::Conditional(_, a, b) => is_widthless(a) && is_widthless(b),
        _ => false,
    }
}

fn operand_span(operand: &SizeOperand) -> Span {
    match operand {
        SizeOperand::Type(t) => t.span,
        SizeOperand::Expr(e) => e.span,
    }
}

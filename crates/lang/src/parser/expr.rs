//! Parses types and expressions.

use std::rc::Rc;

use super::{Attempt, Failed, MAX_NESTING, Parser, is_bits_type};
use crate::ast::{BinaryOp, Expr, ExprKind, SizeOperand, TypeExpr, TypeKind, UnaryOp};
use crate::diagnostics::Diagnostic;
use crate::lexer::Token;
use crate::source::Span;

/// Returns the operator of a token and its precedence.
fn binary_operator(token: Token) -> Option<(BinaryOp, u8)> {
    Some(match token {
        Token::OrOr => (BinaryOp::OrElse, 1),
        Token::AndAnd => (BinaryOp::AndThen, 2),
        Token::Pipe => (BinaryOp::Or, 3),
        Token::Caret => (BinaryOp::Xor, 4),
        Token::Amp => (BinaryOp::And, 5),
        Token::EqEq => (BinaryOp::Eq, 6),
        Token::NotEq => (BinaryOp::Ne, 6),
        Token::Lt => (BinaryOp::Lt, 7),
        Token::Le => (BinaryOp::Le, 7),
        Token::Gt => (BinaryOp::Gt, 7),
        Token::Ge => (BinaryOp::Ge, 7),
        Token::Shl => (BinaryOp::Shl, 8),
        Token::Shr => (BinaryOp::Shr, 8),
        Token::Plus => (BinaryOp::Add, 9),
        Token::Minus => (BinaryOp::Sub, 9),
        Token::Star => (BinaryOp::Mul, 10),
        Token::Slash => (BinaryOp::Div, 10),
        Token::Percent => (BinaryOp::Rem, 10),
        _ => return None,
    })
}

/// Returns the operator of an assignment token. The inner `None` is plain `=`.
pub(super) fn assignment(token: Token) -> Option<Option<BinaryOp>> {
    Some(match token {
        Token::Assign => None,
        Token::PlusEq => Some(BinaryOp::Add),
        Token::MinusEq => Some(BinaryOp::Sub),
        Token::StarEq => Some(BinaryOp::Mul),
        Token::SlashEq => Some(BinaryOp::Div),
        Token::PercentEq => Some(BinaryOp::Rem),
        Token::AmpEq => Some(BinaryOp::And),
        Token::PipeEq => Some(BinaryOp::Or),
        Token::CaretEq => Some(BinaryOp::Xor),
        Token::ShlEq => Some(BinaryOp::Shl),
        Token::ShrEq => Some(BinaryOp::Shr),
        _ => return None,
    })
}

/// Whether an operand can begin with the token. This distinguishes a cast from a name in
/// parentheses.
fn begins_operand(token: Token) -> bool {
    use Token::{
        Bitsof, Char, Colons, Concat, Dotted, False, Ident, LBrace, LParen, Not, Number, Sizeof,
        Tilde, True,
    };
    matches!(
        token,
        Ident
            | Number
            | Dotted
            | Colons
            | Char
            | True
            | False
            | LParen
            | LBrace
            | Not
            | Tilde
            | Sizeof
            | Bitsof
            | Concat
    )
}

/// Returns the replacement for a type of C.
fn c_type(word: &str) -> Option<&'static str> {
    Some(match word {
        "char" | "unsigned" | "signed" | "short" | "long" | "int" | "uint8_t" | "uint16_t"
        | "uint32_t" | "uint64_t" | "size_t" => {
            "write the exact width: `u8`, `u16`, `u32`, `u48`, ...; all numbers are unsigned"
        }
        "float" | "double" => "there are no floating-point numbers; scale by a power of two",
        "union" => "cast between structures of the same width instead",
        "typedef" => "a `struct`, `enum` or `header` names a type",
        "static" => {
            "leave it out; functions are always inlined, and `array` and `counter` offloads keep \
             values from packet to packet"
        }
        "extern" | "volatile" | "register" | "inline" => {
            "leave it out; functions are always inlined"
        }
        _ => return None,
    })
}

impl Parser<'_> {
    pub(super) fn at_bits_type(&self) -> bool {
        self.peek() == Token::Ident && is_bits_type(self.word())
    }

    /// Whether the next token can only begin a type.
    pub(super) fn at_type_keyword(&self) -> bool {
        matches!(self.peek(), Token::Bool | Token::Void | Token::Auto)
            || self.at_bits_type()
            || self.at_p4_type(0)
    }

    /// Whether a type of P4, such as `bit<32>`, begins `ahead` tokens further.
    fn at_p4_type(&self, ahead: usize) -> bool {
        let parts = [Token::Ident, Token::Lt, Token::Number, Token::Gt];
        parts.iter().enumerate().all(|(i, part)| self.peek_at(ahead + i) == *part)
            && matches!(
                self.text(self.cursor.tokens[self.cursor.at + ahead].span),
                "bit" | "int" | "varbit"
            )
    }

    /// Parses `bit<32>` as `u32`, and reports it.
    fn p4_type(&mut self) -> Attempt<TypeExpr> {
        let start = self.advance();
        self.advance();
        let width = self.advance();
        self.advance();
        let span = self.since(start);
        let (written, width) = (self.text(span).to_owned(), self.text(width).parse::<u32>());
        let help = match &width {
            Ok(width) => format!("write `u{width}`; all numbers are unsigned"),
            Err(_) => "write `u` and the width in decimal: `u32`".to_owned(),
        };
        let message = format!("`{written}` is P4, but not Loom C");
        self.sink.push(Diagnostic::new("E0115", span, message).help(help));
        let kind = TypeKind::Bits(width.map_err(|_| Failed)?);
        Ok(TypeExpr { kind, span })
    }

    /// Parses a type without array brackets.
    pub(super) fn base_type(&mut self) -> Attempt<TypeExpr> {
        let span = self.span();
        if self.at_p4_type(0) {
            return self.p4_type();
        }
        let kind = match self.peek() {
            Token::Bool => TypeKind::Bool,
            Token::Void => TypeKind::Void,
            Token::Auto => TypeKind::Auto,
            Token::Ident if self.at_bits_type() => {
                TypeKind::Bits(self.word()[1..].parse().unwrap_or(u32::MAX))
            }
            Token::Ident => match c_type(self.word()) {
                Some(help) => {
                    let message = format!("`{}` is C, but not Loom C", self.word());
                    self.sink.push(Diagnostic::new("E0115", span, message).help(help));
                    self.advance();
                    // `unsigned long int` is one error, not three.
                    while self.peek() == Token::Ident && c_type(self.word()).is_some() {
                        self.advance();
                    }
                    if self.at_type_keyword() {
                        return self.base_type();
                    }
                    return Ok(TypeExpr { kind: TypeKind::Bits(32), span });
                }
                None => TypeKind::Named(self.word().into()),
            },
            Token::Struct | Token::Enum | Token::Header if self.peek_at(1) == Token::Ident => {
                // Accepts `struct Route r;` as in C.
                self.advance();
                TypeKind::Named(self.word().into())
            }
            _ => return Err(self.expected("a type")),
        };
        self.advance();
        if self.peek() == Token::Star {
            let star = self.advance();
            self.sink.push(
                Diagnostic::new("E0115", star, "there are no pointers").help(
                    "pass values; a header parameter that receives a view refers to the packet",
                ),
            );
        }
        Ok(TypeExpr { kind, span: self.since(span) })
    }

    /// Parses a type in a cast, `sizeof`, result or offload, where `u8[16]` is an array.
    pub(super) fn full_type(&mut self) -> Attempt<TypeExpr> {
        let base = self.base_type()?;
        self.array_suffix(base)
    }

    /// Parses `[N]` after a type or a declared name. As in C, `u8 a[2][3]` declares two arrays of
    /// three.
    pub(super) fn array_suffix(&mut self, base: TypeExpr) -> Attempt<TypeExpr> {
        let mut sizes = Vec::new();
        while self.peek() == Token::LBracket {
            let open = self.advance();
            let size = self.unangled(Self::expr)?;
            self.expect_close(Token::RBracket, "`]`", open)?;
            if sizes.len() as u32 >= MAX_NESTING / 8 {
                return Err(self.too_deep(open));
            }
            sizes.push(size);
        }
        let span = self.since(base.span);
        Ok(sizes.into_iter().rev().fold(base, |element, size| TypeExpr {
            kind: TypeKind::Array(Box::new(element), Box::new(size)),
            span,
        }))
    }

    /// Runs `parse` with `>` as an operator.
    pub(super) fn unangled<T>(&mut self, parse: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.in_angles, false);
        let out = parse(self);
        self.in_angles = outer;
        out
    }

    /// Creates a node, unless the tree is too tall: `a + a + a + ...` nests without parentheses.
    fn node(&mut self, kind: ExprKind, start: Span) -> Attempt<Expr> {
        let expr = Expr::new(kind, self.since(start));
        if expr.height > MAX_NESTING {
            let span = expr.span;
            return Err(self.too_deep(span));
        }
        Ok(expr)
    }

    pub(super) fn expr(&mut self) -> Attempt<Expr> {
        self.nested(|p| {
            let start = p.span();
            let condition = p.binary(1)?;
            if p.peek() == Token::Question {
                p.advance();
                let then = p.expr()?;
                p.expect(Token::Colon, "`:`")?;
                let otherwise = p.expr()?;
                let kind =
                    ExprKind::Conditional(Box::new(condition), Box::new(then), Box::new(otherwise));
                return p.node(kind, start);
            }
            Ok(condition)
        })
    }

    /// Like [`expr`](Self::expr), but reports an assignment that is used as a value.
    pub(super) fn value(&mut self) -> Attempt<Expr> {
        let value = self.expr()?;
        if assignment(self.peek()).is_some()
            || matches!(self.peek(), Token::PlusPlus | Token::MinusMinus)
        {
            let span = self.span();
            self.sink.push(
                Diagnostic::new("E0113", span, "an assignment is a statement, not a value")
                    .help("to compare, write `==`; to assign, give it a statement of its own"),
            );
            return Err(Failed);
        }
        Ok(value)
    }

    fn binary(&mut self, least: u8) -> Attempt<Expr> {
        let start = self.span();
        let mut left = self.unary()?;
        while let Some((op, strength)) = binary_operator(self.peek()) {
            let closes =
                self.in_angles && matches!(self.peek(), Token::Gt | Token::Shr | Token::Ge);
            if strength < least || closes {
                break;
            }
            self.advance();
            let right = self.nested(|p| p.binary(strength + 1))?;
            left = self.node(ExprKind::Binary(op, Box::new(left), Box::new(right)), start)?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Attempt<Expr> {
        let start = self.span();
        let op = match self.peek() {
            Token::Not => UnaryOp::LogicalNot,
            Token::Tilde => UnaryOp::Not,
            Token::Minus => UnaryOp::Neg,
            Token::Plus => UnaryOp::Plus,
            Token::Star | Token::Amp => {
                self.sink.push(Diagnostic::new("E0115", start, "there are no pointers").help(
                    "pass values; a header parameter that receives a view refers to the packet",
                ));
                self.advance();
                return self.nested(Self::unary);
            }
            Token::PlusPlus | Token::MinusMinus => {
                self.sink.push(
                    Diagnostic::new("E0113", start, "`++` and `--` are statements, not values")
                        .help("give it a statement of its own"),
                );
                return Err(Failed);
            }
            Token::LParen if self.at_cast() => {
                let open = self.advance();
                let ty = self.full_type()?;
                self.expect_close(Token::RParen, "`)`", open)?;
                let operand = self.nested(Self::unary)?;
                return self.node(ExprKind::Cast(Box::new(ty), Box::new(operand)), start);
            }
            _ => return self.postfix(),
        };
        self.advance();
        let operand = self.nested(Self::unary)?;
        self.node(ExprKind::Unary(op, Box::new(operand)), start)
    }

    /// At `(`, returns whether a type in parentheses and an operand follow. A name in parentheses
    /// is a type only if the next token cannot continue an expression.
    fn at_cast(&self) -> bool {
        match self.peek_at(1) {
            Token::Bool | Token::Void => return true,
            Token::Struct | Token::Enum | Token::Header => return true,
            Token::Ident => {}
            _ => return false,
        }
        let word = self.cursor.tokens[self.cursor.at + 1].span;
        let sure = is_bits_type(self.text(word)) || self.at_p4_type(1);
        let mut ahead = 2;
        while self.peek_at(ahead) == Token::LBracket {
            // Sizes in casts are short. A longer text in brackets is an index.
            let close = (1..32).find(|&k| self.peek_at(ahead + k) == Token::RBracket);
            let Some(close) = close else { return sure };
            ahead += close + 1;
        }
        sure || (self.peek_at(ahead) == Token::RParen && begins_operand(self.peek_at(ahead + 1)))
    }

    fn postfix(&mut self) -> Attempt<Expr> {
        let start = self.span();
        let mut value = self.primary()?;
        loop {
            let kind = match self.peek() {
                Token::Dot => {
                    self.advance();
                    let field = self.field_name()?;
                    ExprKind::Field(Box::new(value), field)
                }
                Token::Arrow => {
                    self.sink.push(
                        Diagnostic::new("E0115", self.span(), "there are no pointers")
                            .help("write `.` to access a field"),
                    );
                    self.advance();
                    let field = self.field_name()?;
                    ExprKind::Field(Box::new(value), field)
                }
                Token::LBracket => {
                    let open = self.advance();
                    let index = self.unangled(Self::expr)?;
                    let kind = if self.eat(Token::Colon) {
                        let low = self.unangled(Self::expr)?;
                        ExprKind::Slice(Box::new(value), Box::new(index), Box::new(low))
                    } else if self.eat(Token::PlusColon) {
                        let count = self.unangled(Self::expr)?;
                        ExprKind::Run(Box::new(value), Box::new(index), Box::new(count))
                    } else {
                        ExprKind::Index(Box::new(value), Box::new(index))
                    };
                    self.expect_close(Token::RBracket, "`]`", open)?;
                    kind
                }
                Token::LParen => {
                    let args = self.arguments()?;
                    ExprKind::Call(Box::new(value), args)
                }
                _ => return Ok(value),
            };
            value = self.node(kind, start)?;
        }
    }

    /// Parses `(a, b)`.
    pub(super) fn arguments(&mut self) -> Attempt<Vec<Expr>> {
        let open = self.expect(Token::LParen, "`(`")?;
        let mut out = Vec::new();
        while self.peek() != Token::RParen {
            out.push(self.unangled(Self::value)?);
            if !self.eat(Token::Comma) {
                break;
            }
        }
        self.expect_close(Token::RParen, "`)`", open)?;
        Ok(out)
    }

    fn primary(&mut self) -> Attempt<Expr> {
        let start = self.span();
        let kind = match self.peek() {
            Token::Number => ExprKind::Number(self.number()?),
            Token::Char => ExprKind::Number(self.character()?),
            Token::Dotted | Token::Colons => ExprKind::Address(self.address()?),
            Token::True | Token::False => {
                let value = self.peek() == Token::True;
                self.advance();
                ExprKind::Bool(value)
            }
            Token::Ident if !self.at_bits_type() => match self.scope_operator() {
                Some(member) => ExprKind::Name(member?),
                None => {
                    let name = self.word().into();
                    self.advance();
                    ExprKind::Name(name)
                }
            },
            Token::LParen => {
                let open = self.advance();
                let inner = self.unangled(Self::value)?;
                self.expect_close(Token::RParen, "`)`", open)?;
                // The span in messages includes the parentheses.
                return Ok(Expr { span: self.since(start), grouped: true, ..inner });
            }
            Token::LBrace => return self.aggregate(),
            Token::Concat => {
                self.advance();
                ExprKind::Concat(self.arguments()?)
            }
            Token::Sizeof | Token::Bitsof => {
                let bytes = self.peek() == Token::Sizeof;
                self.advance();
                let open = self.expect(Token::LParen, "`(`")?;
                let operand = if self.at_type_keyword() {
                    SizeOperand::Type(self.unangled(Self::full_type)?)
                } else {
                    SizeOperand::Expr(self.unangled(Self::expr)?)
                };
                self.expect_close(Token::RParen, "`)`", open)?;
                ExprKind::SizeOf(bytes, Box::new(operand))
            }
            Token::Str => {
                self.sink.push(Diagnostic::new("E0115", start, "a string is not a value").help(
                    "patterns stand in the table file; a string names a file or a static_assert's message",
                ));
                self.advance();
                return Err(Failed);
            }
            _ => return Err(self.expected("an expression")),
        };
        self.node(kind, start)
    }

    /// Reports `Reason::A` of C++, if it follows, and reads it as `A`.
    fn scope_operator(&mut self) -> Option<Attempt<Rc<str>>> {
        let span = self.span();
        let rest = self.cursor.text[span.end as usize..].strip_prefix("::")?;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let member: Rc<str> = rest[..rest.find(|c| !word(c)).unwrap_or(rest.len())].into();
        let message = format!("`{}::{member}` is C++, but not Loom C", self.word());
        let help = match &*member {
            "" => "members of an enumeration are names of the file".to_owned(),
            _ => format!("write `{member}`: members of an enumeration are names of the file"),
        };
        let end = span.end + 2 + member.len() as u32;
        self.sink.push(Diagnostic::new("E0115", Span { end, ..span }, message).help(help));
        // The lexer may have read `::` and the following letters as an address.
        while self.peek() != Token::End && self.span().start < end {
            self.advance();
        }
        Some(if member.is_empty() { Err(Failed) } else { Ok(member) })
    }

    fn aggregate(&mut self) -> Attempt<Expr> {
        self.nested(|p| {
            let open = p.advance();
            let mut parts = Vec::new();
            while p.peek() != Token::RBrace {
                let name = if p.eat(Token::Dot) {
                    let name = p.field_name()?;
                    p.expect(Token::Assign, "`=`")?;
                    Some(name)
                } else {
                    None
                };
                parts.push((name, p.unangled(Self::value)?));
                if !p.eat(Token::Comma) {
                    break;
                }
            }
            p.expect_close(Token::RBrace, "`}`", open)?;
            p.node(ExprKind::Aggregate(parts), open)
        })
    }
}

//! Parses statements.

use super::{Attempt, Failed, Parser};
use crate::ast::{
    BinaryOp, Case, ConstDecl, Copied, Expr, ForLoop, StaticAssert, Stmt, StmtKind, VariableDecl,
    ViewDecl,
};
use crate::diagnostics::Diagnostic;
use crate::lexer::Token;
use crate::parser::expr::assignment;
use crate::source::Span;

/// Returns the replacement for a statement of C that Loom C lacks.
fn c_statement(word: &str) -> Option<&'static str> {
    Some(match word {
        "while" | "do" => {
            "use `for` with constant bounds, or end the step with `next` to an earlier step to loop at run time"
        }
        "goto" => "end the step with `next STEP;`",
        "try" | "throw" | "catch" => "end the step with `drop(reason);` or `to_cpu(reason);`",
        _ => return None,
    })
}

impl Parser<'_> {
    /// Parses `{ ... }`. Returns the statements and the span of the closing brace.
    pub(super) fn block(&mut self) -> Attempt<(Vec<Stmt>, Span)> {
        let open = self.expect(Token::LBrace, "`{`")?;
        let mut out = Vec::new();
        self.scoped(|p| p.unlabelled_statements(&mut out));
        let end = self.expect_close(Token::RBrace, "`}`", open)?;
        Ok((out, end))
    }

    /// Parses the statements of a case up to `}`, the next label or the end of the file.
    fn labelled_statements(&mut self, out: &mut Vec<Stmt>) {
        while !matches!(self.peek(), Token::RBrace | Token::Case | Token::Default | Token::End) {
            self.statement_or_recover(out);
        }
    }

    fn statement_or_recover(&mut self, out: &mut Vec<Stmt>) {
        let before = self.cursor.at;
        if self.nested(|p| p.statement(out)).is_err() {
            self.recover_from(before);
        }
    }

    /// Parses statements up to `}` or the end of the file, where no label is allowed.
    fn unlabelled_statements(&mut self, out: &mut Vec<Stmt>) {
        while !matches!(self.peek(), Token::RBrace | Token::End) {
            if matches!(self.peek(), Token::Case | Token::Default) {
                let is_case = self.peek() == Token::Case;
                let span = self.advance();
                self.stray_label(span);
                if is_case && self.expr().is_err() {
                    self.recover();
                } else {
                    self.eat(Token::Colon);
                }
                continue;
            }
            self.statement_or_recover(out);
        }
    }

    fn stray_label(&mut self, span: Span) {
        self.sink.push(
            Diagnostic::new("E0523", span, "a case label is outside of a `switch`")
                .help("labels must be directly inside the braces of their `switch`"),
        );
    }

    /// Parses the body of an `if`, `else` or `for`: one statement, or a block.
    fn body(&mut self, word: &str) -> Attempt<Stmt> {
        let start = self.span();
        let mut out = Vec::new();
        self.nested(|p| p.statement(&mut out))?;
        if let [Stmt { kind: StmtKind::Empty, span }] = out[..] {
            self.empty_body(word, span);
        }
        match out.len() {
            1 => Ok(out.swap_remove(0)),
            _ => Ok(Stmt { kind: StmtKind::Block(out), span: self.since(start) }),
        }
    }

    /// Warns about `if (c);`, whose body is the `;`. A body `{}` is intentional.
    fn empty_body(&mut self, word: &str, semicolon: Span) {
        let help = match self.peek() {
            // Without the `;` there would be no statement.
            Token::Else | Token::RBrace | Token::Case | Token::Default | Token::End => {
                "write `{}` if nothing is meant to happen here"
            }
            _ => {
                "remove the `;`, so that the next statement is the body, or write `{}` if nothing \
                 is meant to happen"
            }
        };
        let message = format!("the body of this `{word}` is empty: it is this `;`");
        self.sink.push(Diagnostic::new("W0718", semicolon, message).help(help));
    }

    /// Parses one statement. A declaration of several names and an `#include` yield several
    /// statements.
    fn statement(&mut self, out: &mut Vec<Stmt>) -> Attempt<()> {
        let start = self.span();
        let kind = match self.peek() {
            Token::Directive => {
                self.directive(|p| p.unlabelled_statements(out));
                return Ok(());
            }
            Token::Case | Token::Default => {
                self.stray_label(start);
                return Err(Failed);
            }
            Token::Semicolon => {
                self.advance();
                StmtKind::Empty
            }
            Token::LBrace => StmtKind::Block(self.block()?.0),
            Token::If => self.if_statement()?,
            Token::Switch => self.switch()?,
            Token::For => self.for_loop()?,
            Token::Break => self.simple(StmtKind::Break)?,
            Token::Continue => self.simple(StmtKind::Continue)?,
            Token::Return => {
                self.advance();
                let value =
                    if self.peek() == Token::Semicolon { None } else { Some(self.value()?) };
                self.semicolon()?;
                StmtKind::Return(value)
            }
            Token::StaticAssert => StmtKind::Assert(self.static_assert()?),
            Token::Const => {
                for decl in self.constants()? {
                    out.push(Stmt { span: decl.name.span, kind: StmtKind::Const(decl) });
                }
                return Ok(());
            }
            Token::Engine | Token::Offload | Token::Step => {
                let message =
                    format!("`{}` cannot be declared inside a step or function", self.word());
                self.sink.push(
                    Diagnostic::new("E0603", start, message)
                        .help("check for a missing `}` before it; engines are declared at file level, offloads and steps in an engine"),
                );
                return Err(Failed);
            }
            Token::Struct | Token::Enum | Token::Header if self.peek_at(2) == Token::LBrace => {
                self.sink.push(
                    Diagnostic::new("E0603", start, "types are declared at file level")
                        .help("move it out of the step or function"),
                );
                return Err(Failed);
            }
            Token::Ident => match self.leading_word()? {
                Some(kind) => kind,
                None if self.at_declaration() => return self.declaration(out),
                None => self.assignment_or_call()?,
            },
            _ if self.at_declaration() => return self.declaration(out),
            _ => self.assignment_or_call()?,
        };
        out.push(Stmt { kind, span: self.since(start) });
        Ok(())
    }

    fn simple(&mut self, kind: StmtKind) -> Attempt<StmtKind> {
        self.advance();
        self.semicolon()?;
        Ok(kind)
    }

    /// Parses a statement that begins with a contextual keyword, such as `next`.
    fn leading_word(&mut self) -> Attempt<Option<StmtKind>> {
        let word = self.word();
        let kind = match (word, self.peek_at(1)) {
            ("next", Token::Ident) => {
                self.advance();
                let step = self.name("a step")?;
                StmtKind::Next(step)
            }
            ("Next_step", Token::Assign) => {
                self.advance();
                self.advance();
                StmtKind::SetNext(self.name("a step")?)
            }
            ("finish", Token::LParen) => {
                let span = self.advance();
                let mut args = self.arguments()?;
                match args.len() {
                    0 => StmtKind::Finish(None),
                    1 => StmtKind::Finish(Some(args.swap_remove(0))),
                    n => return Err(self.one_argument(span, "finish", n)),
                }
            }
            ("emit", Token::LParen) => {
                self.advance();
                let open = self.advance();
                StmtKind::Emit(self.copied(open, None)?)
            }
            ("drop", Token::LParen) => {
                let span = self.advance();
                let mut args = self.arguments()?;
                if args.len() != 1 {
                    return Err(self.one_argument(span, "drop", args.len()));
                }
                StmtKind::Drop(args.swap_remove(0))
            }
            ("to_cpu", Token::LParen) => {
                let span = self.advance();
                let open = self.advance();
                if self.peek() == Token::RParen {
                    return Err(self.one_argument(span, "to_cpu", 0));
                }
                let reason = self.unangled(Self::value)?;
                if self.eat(Token::Comma) {
                    StmtKind::Emit(self.copied(open, Some(reason))?)
                } else {
                    self.expect_close(Token::RParen, "`)`", open)?;
                    StmtKind::ToCpu(reason)
                }
            }
            ("finish", _) => {
                self.advance();
                StmtKind::Finish(None)
            }
            ("done", _) => {
                self.advance();
                StmtKind::Done
            }
            ("next" | "emit" | "drop" | "to_cpu", _) => {
                let what = match word {
                    "next" => "the name of a step",
                    "emit" => "a step in parentheses",
                    _ => "a reason in parentheses",
                };
                self.advance();
                return Err(self.expected(what));
            }
            (_, Token::LParen | Token::Ident | Token::LBrace) => {
                let Some(help) = c_statement(word) else { return Ok(None) };
                let message = format!("there is no `{word}`");
                let span = self.advance();
                self.sink.push(Diagnostic::new("E0115", span, message).help(help));
                return Err(Failed);
            }
            _ => return Ok(None),
        };
        self.semicolon()?;
        Ok(Some(kind))
    }

    /// Parses what follows in `emit(STEP, offset, count)` and in `to_cpu(reason, STEP, offset,
    /// count)`, from the step on.
    fn copied(&mut self, open: Span, reason: Option<Expr>) -> Attempt<Copied> {
        let step = self.name("a step")?;
        let mut bytes = None;
        if self.eat(Token::Comma) {
            let offset = self.unangled(Self::value)?;
            self.expect(Token::Comma, "`,` and the number of bytes")?;
            bytes = Some((offset, self.unangled(Self::value)?));
        }
        self.expect_close(Token::RParen, "`)`", open)?;
        Ok(Copied { step, reason, bytes })
    }

    fn one_argument(&mut self, span: Span, word: &str, got: usize) -> Failed {
        let message = format!("`{word}` takes one value, but {got} are given");
        self.sink.push(Diagnostic::new("E0519", span, message));
        Failed
    }

    /// Whether a declaration follows: a type keyword, or two names in a row.
    fn at_declaration(&self) -> bool {
        match self.peek() {
            Token::Ident => self.at_type_keyword() || self.peek_at(1) == Token::Ident,
            Token::Struct | Token::Enum | Token::Header => true,
            _ => self.at_type_keyword(),
        }
    }

    /// Parses `TYPE a, b[4] = ..., c;` or `HEADER name @ offset;`.
    fn declaration(&mut self, out: &mut Vec<Stmt>) -> Attempt<()> {
        let start = self.span();
        let ty = self.base_type()?;
        self.no_brackets_before_name()?;
        loop {
            let name = self.declared_name("a variable")?;
            let kind = if self.eat(Token::At) {
                StmtKind::View(ViewDecl { name, header: ty.clone(), offset: self.value()? })
            } else {
                let ty = self.array_suffix(ty.clone())?;
                let value = if self.eat(Token::Assign) { Some(self.value()?) } else { None };
                StmtKind::Variable(VariableDecl { name, ty, value })
            };
            out.push(Stmt { kind, span: self.since(start) });
            if !self.eat(Token::Comma) {
                break;
            }
        }
        self.semicolon()
    }

    /// Reports array brackets before a name. They come after the name, as in C.
    pub(super) fn no_brackets_before_name(&mut self) -> Attempt<()> {
        if self.peek() != Token::LBracket {
            return Ok(());
        }
        let span = self.span();
        self.sink.push(
            Diagnostic::new("E0116", span, "the size of an array comes after its name")
                .help("write `u8 name[4];`"),
        );
        Err(Failed)
    }

    /// Parses `const TYPE A = 1, B = 2;`.
    pub(super) fn constants(&mut self) -> Attempt<Vec<ConstDecl>> {
        self.advance();
        let ty = self.base_type()?;
        self.no_brackets_before_name()?;
        let mut out = Vec::new();
        loop {
            let name = self.declared_name("a constant")?;
            let ty = self.array_suffix(ty.clone())?;
            self.expect(Token::Assign, "`=` and the constant's value")?;
            out.push(ConstDecl { name, ty, value: self.value()? });
            if !self.eat(Token::Comma) {
                break;
            }
        }
        self.semicolon()?;
        Ok(out)
    }

    /// Parses `static_assert(condition, "message");`.
    pub(super) fn static_assert(&mut self) -> Attempt<StaticAssert> {
        self.advance();
        let open = self.expect(Token::LParen, "`(`")?;
        let condition = self.value()?;
        let message = if self.eat(Token::Comma) {
            let span = self.expect(Token::Str, "a message in quotes")?;
            Some(self.text(span)[1..span.end as usize - span.start as usize - 1].to_owned())
        } else {
            None
        };
        self.expect_close(Token::RParen, "`)`", open)?;
        self.semicolon()?;
        Ok(StaticAssert { condition, message })
    }

    fn parenthesised(&mut self) -> Attempt<crate::ast::Expr> {
        let open = self.expect(Token::LParen, "`(`")?;
        let value = self.value()?;
        self.expect_close(Token::RParen, "`)`", open)?;
        Ok(value)
    }

    fn if_statement(&mut self) -> Attempt<StmtKind> {
        self.advance();
        let condition = self.parenthesised()?;
        let then = Box::new(self.body("if")?);
        let otherwise =
            if self.eat(Token::Else) { Some(Box::new(self.body("else")?)) } else { None };
        Ok(StmtKind::If(condition, then, otherwise))
    }

    fn switch(&mut self) -> Attempt<StmtKind> {
        self.advance();
        let on = self.parenthesised()?;
        let open = self.expect(Token::LBrace, "`{`")?;
        let mut cases: Vec<Case> = Vec::new();
        while !matches!(self.peek(), Token::RBrace | Token::End) {
            let start = self.span();
            let label = if self.eat(Token::Default) {
                None
            } else if self.eat(Token::Case) {
                Some(self.expr()?)
            } else {
                return Err(self.expected("`case` or `default`"));
            };
            self.expect(Token::Colon, "`:`")?;
            let label = (label, self.since(start));
            match cases.last_mut() {
                // `case 1: case 2:` share the following statements.
                Some(last) if last.body.is_empty() => last.labels.push(label),
                _ => cases.push(Case { labels: vec![label], body: Vec::new() }),
            }
            if !matches!(self.peek(), Token::Case | Token::Default) {
                let mut body = Vec::new();
                self.labelled_statements(&mut body);
                if body.is_empty() {
                    // A last label without statements has an empty body.
                    body.push(Stmt { kind: StmtKind::Empty, span: self.previous() });
                }
                cases.last_mut().expect("a label was pushed").body = body;
            }
        }
        self.expect_close(Token::RBrace, "`}`", open)?;
        Ok(StmtKind::Switch(on, cases))
    }

    fn for_loop(&mut self) -> Attempt<StmtKind> {
        let start = self.advance();
        let open = self.expect(Token::LParen, "`(`")?;
        if !self.at_declaration() {
            self.sink.push(
                Diagnostic::new("E0512", self.span(), "a `for` must declare its own variable")
                    .help("write `for (u8 i = 0; i < 16; i++)`"),
            );
            return Err(Failed);
        }
        let ty = self.base_type()?;
        let name = self.declared_name("a variable")?;
        self.expect(Token::Assign, "`=` and the first value")?;
        let first = self.value()?;
        self.expect(Token::Semicolon, "`;`")?;
        let condition = self.value()?;
        self.expect(Token::Semicolon, "`;`")?;
        let advance_start = self.span();
        let kind = self.assignment()?;
        let advance = Stmt { kind, span: self.since(advance_start) };
        self.expect_close(Token::RParen, "`)`", open)?;
        let head = self.since(start);
        let body = self.body("for")?;
        Ok(StmtKind::For(Box::new(ForLoop { name, ty, first, condition, advance, body, head })))
    }

    fn assignment_or_call(&mut self) -> Attempt<StmtKind> {
        let kind = self.assignment()?;
        self.semicolon()?;
        Ok(kind)
    }

    /// Parses an assignment, increment or expression, without its semicolon.
    fn assignment(&mut self) -> Attempt<StmtKind> {
        let prefix = match self.peek() {
            Token::PlusPlus => Some(BinaryOp::Add),
            Token::MinusMinus => Some(BinaryOp::Sub),
            _ => None,
        };
        if let Some(op) = prefix {
            self.advance();
            return Ok(StmtKind::Increment(self.expr()?, op));
        }
        let place = self.expr()?;
        if let Some(op) = assignment(self.peek()) {
            self.advance();
            return Ok(StmtKind::Assign(place, op, self.value()?));
        }
        Ok(match self.peek() {
            Token::PlusPlus => {
                self.advance();
                StmtKind::Increment(place, BinaryOp::Add)
            }
            Token::MinusMinus => {
                self.advance();
                StmtKind::Increment(place, BinaryOp::Sub)
            }
            _ => StmtKind::Expr(place),
        })
    }
}

//! Parses items at file level and in engines.

use super::{Attempt, Parser};
use crate::ast::{
    EngineDecl, EnumDecl, FunctionDecl, Item, Name, OffloadDecl, OffloadTarget, StepDecl,
    StructDecl, Trigger, TypeExpr, TypeKind, VariableDecl, ViewDecl,
};
use crate::diagnostics::Diagnostic;
use crate::lexer::Token;

impl Parser<'_> {
    /// Parses items up to `}` or the end of the file.
    pub(super) fn items(&mut self, out: &mut Vec<Item>) {
        while !matches!(self.peek(), Token::RBrace | Token::End) {
            let before = self.cursor.at;
            if self.nested(|p| p.item(out)).is_err() {
                self.recover_from(before);
            }
        }
    }

    /// Parses one item. A declaration of several names and an `#include` yield several items.
    fn item(&mut self, out: &mut Vec<Item>) -> Attempt<()> {
        match self.peek() {
            Token::Directive => self.directive(|p| p.items(out)),
            Token::Semicolon => {
                self.advance();
            }
            Token::Enum if self.peek_at(2) != Token::Ident => {
                out.push(Item::Enum(self.enumeration()?))
            }
            Token::Struct | Token::Header if self.peek_at(2) != Token::Ident => {
                out.push(Item::Struct(self.structure()?));
            }
            Token::Const => out.extend(self.constants()?.into_iter().map(Item::Const)),
            Token::StaticAssert => out.push(Item::Assert(self.static_assert()?)),
            Token::Engine => out.push(Item::Engine(self.engine()?)),
            Token::Offload => out.push(Item::Offload(self.offload()?)),
            Token::Step => {
                self.advance();
                out.push(Item::Step(self.step()?));
            }
            // The Gorilla paper writes a step as `NAME() { ... }`.
            Token::Ident
                if !self.at_bits_type()
                    && self.peek_at(1) == Token::LParen
                    && self.peek_at(2) == Token::RParen =>
            {
                out.push(Item::Step(self.step()?));
            }
            Token::If | Token::Switch | Token::For | Token::Return => {
                self.sink.push(
                    Diagnostic::new(
                        "E0603",
                        self.span(),
                        "a statement is outside of steps and functions",
                    )
                    .help("check for an extra `}` before it"),
                );
                return Err(super::Failed);
            }
            _ => self.typed(out)?,
        }
        Ok(())
    }

    /// Parses an item that begins with a type: a function, a view, or variables.
    fn typed(&mut self, out: &mut Vec<Item>) -> Attempt<()> {
        let ty = self.full_type()?;
        let bracketed = matches!(ty.kind, TypeKind::Array(..));
        let mut name = self.declared_name("a variable or function")?;
        if self.peek() == Token::LParen {
            out.push(Item::Function(self.function(ty, name)?));
            return Ok(());
        }
        if bracketed {
            self.sink.push(
                Diagnostic::new("E0116", ty.span, "the size of an array comes after its name")
                    .help("write `u8 name[4];`"),
            );
        }
        loop {
            if self.eat(Token::At) {
                out.push(Item::View(ViewDecl { name, header: ty.clone(), offset: self.value()? }));
            } else {
                let ty = self.array_suffix(ty.clone())?;
                let value = if self.eat(Token::Assign) { Some(self.value()?) } else { None };
                out.push(Item::Variable(VariableDecl { name, ty, value }));
            }
            if !self.eat(Token::Comma) {
                break;
            }
            name = self.declared_name("a variable")?;
        }
        self.semicolon()
    }

    fn enumeration(&mut self) -> Attempt<EnumDecl> {
        self.advance();
        let name = self.declared_name("an enumeration")?;
        let underlying = if self.eat(Token::Colon) { Some(self.base_type()?) } else { None };
        let open = self.expect(Token::LBrace, "`{`")?;
        let mut members = Vec::new();
        while self.peek() != Token::RBrace {
            let member = self.declared_name("a member of an enumeration")?;
            let value = if self.eat(Token::Assign) { Some(self.value()?) } else { None };
            members.push((member, value));
            if !self.eat(Token::Comma) {
                break;
            }
        }
        self.expect_close(Token::RBrace, "`}`", open)?;
        self.semicolon()?;
        Ok(EnumDecl { name, underlying, members })
    }

    fn structure(&mut self) -> Attempt<StructDecl> {
        let is_header = self.peek() == Token::Header;
        self.advance();
        let name = self.declared_name(if is_header { "a header" } else { "a structure" })?;
        let open = self.expect(Token::LBrace, "`{`")?;
        let mut fields = Vec::new();
        while !matches!(self.peek(), Token::RBrace | Token::End) {
            let ty = self.base_type()?;
            self.no_brackets_before_name()?;
            loop {
                let field = match self.peek() {
                    Token::Colon => self.unnamed_field(),
                    _ => self.field_name()?,
                };
                let ty = self.array_suffix(ty.clone())?;
                fields.push((field, ty));
                if self.peek() == Token::Colon {
                    let (name, ty) = fields.last_mut().expect("pushed above");
                    self.bit_field(name, ty)?;
                }
                if !self.eat(Token::Comma) {
                    break;
                }
            }
            self.semicolon()?;
        }
        self.expect_close(Token::RBrace, "`}`", open)?;
        self.semicolon()?;
        Ok(StructDecl { name, is_header, fields })
    }

    /// Creates a name for a bit field without one, `u8 : 3;`, as C allows.
    fn unnamed_field(&mut self) -> Name {
        let span = self.span();
        Name { text: format!("reserved{}", span.start).into(), span }
    }

    /// Reports a bit field of C, `u8 a : 3;`, and continues with the intended type.
    fn bit_field(&mut self, name: &Name, ty: &mut TypeExpr) -> Attempt<()> {
        let colon = self.advance();
        let width = self.text(self.span()).parse::<u32>();
        let shown = if name.span == colon { "reserved" } else { &name.text };
        let help = match &width {
            Ok(width) => format!("write `u{width} {shown};`"),
            Err(_) => format!("write `u` and the width, a number: `u3 {shown};`"),
        };
        let message = "there are no bit fields: the width is in the type";
        self.sink.push(Diagnostic::new("E0115", colon, message).help(help));
        self.expr()?;
        if let Ok(width) = width {
            ty.kind = TypeKind::Bits(width);
        }
        Ok(())
    }

    fn parameters(&mut self) -> Attempt<Vec<(Name, TypeExpr)>> {
        let open = self.expect(Token::LParen, "`(`")?;
        let mut out = Vec::new();
        if self.peek() == Token::Void && self.peek_at(1) == Token::RParen {
            self.advance();
        }
        while self.peek() != Token::RParen {
            let ty = self.base_type()?;
            self.no_brackets_before_name()?;
            let name = self.declared_name("a parameter")?;
            out.push((name, self.array_suffix(ty)?));
            if !self.eat(Token::Comma) {
                break;
            }
        }
        self.expect_close(Token::RParen, "`)`", open)?;
        Ok(out)
    }

    fn function(&mut self, result: TypeExpr, name: Name) -> Attempt<FunctionDecl> {
        let params = self.parameters()?;
        let (body, end) = self.block()?;
        Ok(FunctionDecl { name, result, params, body, end })
    }

    fn engine(&mut self) -> Attempt<EngineDecl> {
        self.advance();
        let name = self.declared_name("an engine")?;
        let params = self.parameters()?;
        let reply = if self.eat(Token::Arrow) { Some(self.full_type()?) } else { None };
        let open = self.expect(Token::LBrace, "`{`")?;
        let mut items = Vec::new();
        self.scoped(|p| p.items(&mut items));
        self.expect_close(Token::RBrace, "`}`", open)?;
        Ok(EngineDecl { name, params, reply, items })
    }

    fn step(&mut self) -> Attempt<StepDecl> {
        let name = self.declared_name("a step")?;
        if self.peek() == Token::LParen {
            let open = self.advance();
            self.expect_close(Token::RParen, "`)`; a step has no parameters", open)?;
        }
        let trigger = if self.peek() == Token::Ident && self.word() == "on" {
            self.advance();
            Some(Trigger { offload: self.name("an offload")?, params: self.parameters()? })
        } else {
            None
        };
        let (body, end) = self.block()?;
        Ok(StepDecl { name, trigger, body, end })
    }

    /// Parses `offload NAME : kind<Key, Value, parameter = constant, ...>;` or `offload NAME :
    /// engine OTHER;`.
    fn offload(&mut self) -> Attempt<OffloadDecl> {
        self.advance();
        let name = self.declared_name("an offload")?;
        self.expect(Token::Colon, "`:` and the offload's kind")?;
        let target = if self.eat(Token::Engine) {
            OffloadTarget::Engine(self.name("an engine")?)
        } else {
            let kind = self.name("an offload kind")?;
            let (mut types, mut params) = (Vec::new(), Vec::new());
            if self.peek() == Token::Lt {
                let open = self.advance();
                let outer = std::mem::replace(&mut self.in_angles, true);
                let list = self.offload_arguments(&mut types, &mut params);
                self.in_angles = outer;
                list?;
                self.expect_close(Token::Gt, "`>`", open)?;
            }
            OffloadTarget::Kind { kind, types, params }
        };
        self.semicolon()?;
        Ok(OffloadDecl { name, target })
    }

    fn offload_arguments(
        &mut self,
        types: &mut Vec<TypeExpr>,
        params: &mut Vec<(Name, crate::ast::Expr)>,
    ) -> Attempt<()> {
        while self.peek() != Token::Gt {
            if self.peek() == Token::Ident && self.peek_at(1) == Token::Assign {
                let name = self.name("a parameter")?;
                self.advance();
                params.push((name, self.expr()?));
            } else {
                types.push(self.full_type()?);
            }
            if !self.eat(Token::Comma) {
                break;
            }
        }
        Ok(())
    }
}

//! Parses tokens into syntax by recursive descent. It stops at the first fault.

use std::ops::Range;

use crate::lexer::{Token, tokens};
use crate::report::Fault;
use crate::syntax::{Declared, Item, Method, Name};

/// Returns the items of a text.
pub fn parse(text: &str) -> Result<Vec<Item>, Fault> {
    let mut parser = Parser { text, tokens: tokens(text)?, next: 0 };
    let mut items = Vec::new();
    while parser.next < parser.tokens.len() {
        items.push(parser.item()?);
    }
    Ok(items)
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, Range<usize>)>,
    next: usize,
}

impl Parser<'_> {
    fn item(&mut self) -> Result<Item, Fault> {
        let item = match self.peek() {
            Some(Token::Struct) => {
                self.next += 1;
                Item::Struct {
                    name: self.name("the name of the struct")?,
                    fields: self.braced(Self::field)?,
                }
            }
            Some(Token::Interface) => {
                self.next += 1;
                let name = self.name("the name of the interface")?;
                Item::Interface { name, methods: self.braced(Self::method)? }
            }
            Some(Token::Service) => {
                self.next += 1;
                let name = self.name("the name of the service")?;
                self.expect(Token::Colon, "`:` and the interface of the service")?;
                Item::Service { name, interface: self.name("the interface of the service")? }
            }
            _ => return Err(self.unexpected("`struct`, `interface` or `service`")),
        };
        self.expect(Token::Semicolon, "`;`")?;
        Ok(item)
    }

    /// Parses `{ part; part; }`.
    fn braced<T>(&mut self, part: fn(&mut Self) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
        self.expect(Token::OpenBrace, "`{`")?;
        let mut parts = Vec::new();
        while !self.take(Token::CloseBrace) {
            parts.push(part(self)?);
            self.expect(Token::Semicolon, "`;`")?;
        }
        Ok(parts)
    }

    fn field(&mut self) -> Result<Declared, Fault> {
        self.declared(false)
    }

    fn method(&mut self) -> Result<Method, Fault> {
        let is_oneway = self.take(Token::Oneway);
        let result = self.name("the result type of the method, or `void`")?;
        let name = self.name("the name of the method")?;
        self.expect(Token::OpenParen, "`(`")?;
        let mut parameters = Vec::new();
        while !self.take(Token::CloseParen) {
            if !parameters.is_empty() {
                self.expect(Token::Comma, "`,` or `)`")?;
            }
            let is_out = self.take(Token::Out);
            if !is_out {
                self.take(Token::In);
            }
            parameters.push(self.declared(is_out)?);
        }
        Ok(Method { is_oneway, result, name, parameters })
    }

    /// Parses a declaration such as `u8 mac[6]`.
    fn declared(&mut self, is_out: bool) -> Result<Declared, Fault> {
        let kind = self.name("a type")?;
        let name = self.name("a name")?;
        let mut count = None;
        if self.take(Token::OpenBracket) {
            count = Some(self.number()?);
            self.expect(Token::CloseBracket, "`]`")?;
        }
        Ok(Declared { is_out, kind, name, count })
    }

    fn number(&mut self) -> Result<(u64, Range<usize>), Fault> {
        let place = self.expect(Token::Number, "a number")?;
        let text = self.text[place.clone()].replace('_', "");
        let value = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        match value {
            Ok(value) => Ok((value, place)),
            Err(_) => Err(Fault::new(place, "this number does not fit in 64 bits")),
        }
    }

    fn name(&mut self, what: &str) -> Result<Name, Fault> {
        let place = self.expect(Token::Name, what)?;
        Ok(Name { text: self.text[place.clone()].to_owned(), place })
    }

    fn peek(&self) -> Option<Token> {
        self.tokens.get(self.next).map(|(token, _)| *token)
    }

    fn take(&mut self, token: Token) -> bool {
        let is_here = self.peek() == Some(token);
        self.next += usize::from(is_here);
        is_here
    }

    fn expect(&mut self, token: Token, what: &str) -> Result<Range<usize>, Fault> {
        if self.take(token) {
            Ok(self.tokens[self.next - 1].1.clone())
        } else {
            Err(self.unexpected(what))
        }
    }

    fn unexpected(&self, wanted: &str) -> Fault {
        match self.tokens.get(self.next) {
            Some((_, place)) => {
                let found = &self.text[place.clone()];
                Fault::new(place.clone(), format!("expected {wanted}, found `{found}`"))
            }
            None => {
                let end = self.text.len();
                Fault::new(end..end, format!("expected {wanted}, found the end of the file"))
            }
        }
    }
}

//! Parses tokens into a syntax tree by recursive descent. Recovery at `;` and `}` lets one run
//! report several errors.
//!
//! The parser also reads included files, since `#include` may appear wherever an item or a
//! statement may.

mod address;
mod expr;
mod include;
mod item;
mod number;
mod stmt;

use std::collections::HashSet;
use std::path::PathBuf;
use std::rc::Rc;

use crate::Library;
use crate::ast::{Item, Name};
use crate::diagnostics::{Diagnostic, Sink};
use crate::lexer::{Lexeme, Token};
use crate::source::{FileId, SourceMap, Span};
use include::Includes;
pub(crate) use include::{read as read_source, without_mark};

/// Maximum total nesting of blocks, parentheses and operators.
pub(crate) const MAX_NESTING: u32 = 128;

/// A construct could not be parsed. The error has been reported.
pub(super) struct Failed;

type Attempt<T> = Result<T, Failed>;

/// The position of the parser in a file.
#[derive(Clone)]
struct Cursor {
    file: FileId,
    text: Rc<str>,
    tokens: Rc<[Lexeme]>,
    at: usize,
}

pub(crate) struct Parser<'a> {
    sources: &'a mut SourceMap,
    sink: &'a mut Sink,
    cursor: Cursor,
    includes: Includes,
    depth: u32,
    /// Whether the rest of the file is skipped: the file has ended too early, nests too deeply, or
    /// has too many errors.
    gave_up: bool,
    /// Names in text that could not be parsed. The text may have declared them.
    lost: HashSet<Rc<str>>,
    /// Whether the parser is inside the angle brackets of an offload, where `>` is not an operator.
    in_angles: bool,
}

/// The parsed program.
pub(crate) struct Parsed {
    pub(crate) items: Vec<Item>,
    /// Names in text that could not be parsed. Uses of them are not reported as unknown.
    pub(crate) lost: HashSet<Rc<str>>,
}

/// Parses file 0 of the source map and the files that it includes.
pub(crate) fn parse(
    sources: &mut SourceMap,
    include_dirs: Vec<PathBuf>,
    library: Option<Library>,
    sink: &mut Sink,
) -> Parsed {
    let mut parser = Parser::of_file(sources, FileId(0), include_dirs, library, sink);
    let mut items = Vec::new();
    while parser.peek() != Token::End {
        parser.items(&mut items);
        if parser.peek() == Token::RBrace {
            let span = parser.advance();
            parser.sink.push(
                Diagnostic::new("E0107", span, "this `}` closes nothing")
                    .help("remove it, or add the missing `{`"),
            );
        }
    }
    Parsed { items, lost: parser.lost }
}

/// Parses a complete file as one constant expression, the value of `--set`.
pub(crate) fn parse_value(
    sources: &mut SourceMap,
    file: FileId,
    sink: &mut Sink,
) -> Option<crate::ast::Expr> {
    let mut parser = Parser::of_file(sources, file, Vec::new(), None, sink);
    let value = parser.expr().ok()?;
    match parser.peek() {
        Token::End => Some(value),
        _ => {
            parser.expected("the end of the value");
            None
        }
    }
}

impl<'a> Parser<'a> {
    fn of_file(
        sources: &'a mut SourceMap,
        file: FileId,
        include_dirs: Vec<PathBuf>,
        library: Option<Library>,
        sink: &'a mut Sink,
    ) -> Self {
        let source = &sources.files[file.0 as usize];
        let text: Rc<str> = source.text.as_str().into();
        let includes = Includes::new(&source.path, include_dirs, library);
        let tokens = crate::lexer::tokens(file, &text, sink).into();
        let cursor = Cursor { file, text, tokens, at: 0 };
        Self {
            sources,
            sink,
            cursor,
            includes,
            depth: 0,
            gave_up: false,
            lost: HashSet::new(),
            in_angles: false,
        }
    }

    fn peek(&self) -> Token {
        self.cursor.tokens[self.cursor.at].token
    }

    /// Returns the token `ahead` positions further. The last token repeats.
    fn peek_at(&self, ahead: usize) -> Token {
        let last = self.cursor.tokens.len() - 1;
        self.cursor.tokens[(self.cursor.at + ahead).min(last)].token
    }

    fn span(&self) -> Span {
        self.cursor.tokens[self.cursor.at].span
    }

    /// Returns the span of the previous token.
    fn previous(&self) -> Span {
        self.cursor.tokens[self.cursor.at.saturating_sub(1)].span
    }

    fn text(&self, span: Span) -> &str {
        &self.cursor.text[span.start as usize..span.end as usize]
    }

    /// Returns the text of the current token.
    fn word(&self) -> &str {
        self.text(self.span())
    }

    /// Advances by one token, but not past the end. Returns the span of the passed token.
    fn advance(&mut self) -> Span {
        let span = self.span();
        if self.peek() != Token::End {
            self.cursor.at += 1;
        }
        span
    }

    fn eat(&mut self, token: Token) -> bool {
        let here = self.peek() == token;
        if here {
            self.advance();
        }
        here
    }

    /// Returns the span from a position to the end of the previous token.
    fn since(&self, start: Span) -> Span {
        let end = self.previous();
        Span {
            end: if end.file == start.file { end.end.max(start.end) } else { start.end },
            ..start
        }
    }

    /// Describes the current token for a message.
    fn found(&self) -> String {
        match self.peek() {
            Token::End => "the end of the file".into(),
            Token::Str => "a string".into(),
            _ => {
                let shown: String = self.word().chars().take(24).collect();
                format!("`{}`", shown.escape_debug())
            }
        }
    }

    /// Reports that `what` is expected here, unless an error has been reported at this token.
    fn expected(&mut self, what: &str) -> Failed {
        if self.peek() == Token::Stray {
            return Failed;
        }
        let message = format!("expected {what}, found {}", self.found());
        self.sink
            .push(Diagnostic::new("E0106", self.span(), message).here(format!("expected {what}")));
        Failed
    }

    fn expect(&mut self, token: Token, what: &str) -> Attempt<Span> {
        if self.peek() == token { Ok(self.advance()) } else { Err(self.expected(what)) }
    }

    /// Expects the closing bracket. If the file ends instead, the error points to the opening
    /// bracket.
    fn expect_close(&mut self, token: Token, what: &str, open: Span) -> Attempt<Span> {
        if self.peek() == Token::End && self.gave_up {
            return Err(Failed);
        }
        if self.peek() == Token::End {
            self.gave_up = true;
            let opener = self.text(open).to_owned();
            let message = format!("this `{opener}` is never closed");
            self.sink.push(
                Diagnostic::new("E0107", open, message).help(format!("close it with {what}")),
            );
            return Err(Failed);
        }
        self.expect(token, what)
    }

    /// Expects the `;` after a statement or declaration. If it is missing at the end of a line,
    /// parsing continues as if it were present.
    fn semicolon(&mut self) -> Attempt<()> {
        if self.eat(Token::Semicolon) {
            return Ok(());
        }
        if self.peek() == Token::Stray {
            return Err(Failed);
        }
        let before = self.previous();
        let gap =
            &self.cursor.text[before.end as usize..self.span().start.max(before.end) as usize];
        let goes_on = gap.contains('\n') || self.peek() == Token::RBrace;
        let at = Span { start: before.end.saturating_sub(1), ..before };
        let message = format!("expected `;`, found {}", self.found());
        self.sink.push(Diagnostic::new("E0106", at, message).here("`;` is missing after this"));
        if goes_on { Ok(()) } else { Err(Failed) }
    }

    /// Runs `parse` one level deeper, or fails if the nesting is too deep.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Attempt<T>) -> Attempt<T> {
        if self.depth >= MAX_NESTING {
            return Err(self.too_deep(self.span()));
        }
        self.depth += 1;
        let out = parse(self);
        self.depth -= 1;
        out
    }

    fn too_deep(&mut self, span: Span) -> Failed {
        self.gave_up = true;
        let message = format!("this is nested more than {MAX_NESTING} levels deep");
        self.sink.push(
            Diagnostic::new("E0108", span, message)
                .help("split it up: use local variables, functions or further steps"),
        );
        Failed
    }

    /// Parses a name in its declaration: an identifier that is not a word of the language.
    fn declared_name(&mut self, what: &str) -> Attempt<Name> {
        let span = self.span();
        if self.peek().is_keyword() || (self.peek() == Token::Ident && is_reserved(self.word())) {
            let message =
                format!("`{}` is a word of the language and cannot name {what}", self.word());
            self.sink.push(Diagnostic::new("E0114", span, message).help("choose another name"));
            self.advance();
            return Err(Failed);
        }
        self.name(what)
    }

    /// Parses a name that is declared elsewhere.
    fn name(&mut self, what: &str) -> Attempt<Name> {
        if self.peek() != Token::Ident {
            return Err(self.expected(&format!("the name of {what}")));
        }
        let text = self.word().into();
        Ok(Name { text, span: self.advance() })
    }

    /// Parses the name of a field. It follows a dot, so it can be any word.
    fn field_name(&mut self) -> Attempt<Name> {
        if !self.peek().is_word() {
            return Err(self.expected("the name of a field"));
        }
        let text = self.word().into();
        Ok(Name { text, span: self.advance() })
    }

    fn skip_to_end(&mut self) {
        self.cursor.at = self.cursor.tokens.len() - 1;
    }

    /// Recovers from an error in a construct that began at token `from`. Parsing continues where
    /// the next construct can begin, at least one token further.
    fn recover_from(&mut self, from: usize) {
        self.recover();
        if self.cursor.at == from && self.peek() != Token::RBrace {
            self.advance();
        }
        for lexeme in &self.cursor.tokens[from..self.cursor.at] {
            if lexeme.token == Token::Ident {
                let (start, end) = (lexeme.span.start as usize, lexeme.span.end as usize);
                self.lost.insert(self.cursor.text[start..end].into());
            }
        }
    }

    /// Skips to after the next `;`, or to the next `}` or the end. Complete blocks are skipped.
    fn recover(&mut self) {
        if self.gave_up || self.sink.is_full() {
            self.gave_up = true;
            self.skip_to_end();
            return;
        }
        let mut open = 0u32;
        loop {
            match self.peek() {
                Token::End => return,
                Token::Semicolon if open == 0 => {
                    self.advance();
                    return;
                }
                Token::LBrace => open += 1,
                Token::RBrace if open == 0 => return,
                Token::RBrace => {
                    open -= 1;
                    if open == 0 {
                        self.advance();
                        self.eat(Token::Semicolon);
                        return;
                    }
                }
                _ => {}
            }
            self.advance();
        }
    }
}

/// Whether a word is reserved everywhere, although the lexer returns it as an identifier.
fn is_reserved(word: &str) -> bool {
    matches!(word, "Next_step" | "done" | "drop" | "emit" | "finish" | "next" | "packet" | "to_cpu")
        || is_bits_type(word)
}

/// Whether a word is a `u` followed by digits, such as `u8` or `u48`.
fn is_bits_type(word: &str) -> bool {
    word.strip_prefix('u').is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

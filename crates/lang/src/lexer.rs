//! Splits source text into tokens.

use logos::{Filter, Logos};

use crate::diagnostics::{Diagnostic, Sink};
use crate::source::{FileId, Span};

/// A kind of token. Words that are special only in certain places (`next`, `finish`, `packet`, ...)
/// are identifiers.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[logos(skip r"[ \t\r\n\x0c]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub(crate) enum Token {
    #[regex("[A-Za-z_][A-Za-z0-9_]*")]
    Ident,
    #[regex("[0-9][A-Za-z0-9_]*")]
    Number,
    /// Numbers joined by dots: an IPv4 address, or a malformed one.
    #[regex(r"[0-9][A-Za-z0-9_]*(\.[0-9][A-Za-z0-9_]*)+")]
    Dotted,
    /// Hexadecimal groups joined by colons: a MAC or IPv6 address, or a malformed one. No other
    /// construct contains `::` or four colons, so slices, labels and `?:` are not affected.
    #[regex(r"[0-9A-Fa-f]+(:[0-9A-Fa-f]+){4,}(\.[0-9]+)*")]
    #[regex(r"([0-9A-Fa-f]+(:[0-9A-Fa-f]+)*)?::([0-9A-Fa-f]+(::?[0-9A-Fa-f]+)*(\.[0-9]+)*)?")]
    Colons,
    #[regex(r"'([^'\\\n]|\\[^\n])*'")]
    Char,
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Str,
    /// A line that begins with `#`; the parser parses it.
    #[regex(r"#[^\n]*", allow_greedy = true)]
    Directive,
    /// A block comment that is never closed, which is an error. Closed comments are skipped.
    #[token("/*", block_comment)]
    OpenComment,
    #[token("auto")]
    Auto,
    #[token("bitsof")]
    Bitsof,
    #[token("bool")]
    Bool,
    #[token("break")]
    Break,
    #[token("case")]
    Case,
    #[token("concat")]
    Concat,
    #[token("const")]
    Const,
    #[token("continue")]
    Continue,
    #[token("default")]
    Default,
    #[token("else")]
    Else,
    #[token("engine")]
    Engine,
    #[token("enum")]
    Enum,
    #[token("false")]
    False,
    #[token("for")]
    For,
    #[token("header")]
    Header,
    #[token("if")]
    If,
    #[token("offload")]
    Offload,
    #[token("return")]
    Return,
    #[token("sizeof")]
    Sizeof,
    #[token("static_assert")]
    StaticAssert,
    #[token("step")]
    Step,
    #[token("struct")]
    Struct,
    #[token("switch")]
    Switch,
    #[token("true")]
    True,
    #[token("void")]
    Void,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token(";")]
    Semicolon,
    #[token(",")]
    Comma,
    #[token(".")]
    Dot,
    #[token(":")]
    Colon,
    #[token("?")]
    Question,
    #[token("@")]
    At,
    #[token("->")]
    Arrow,
    #[token("++")]
    PlusPlus,
    #[token("--")]
    MinusMinus,
    #[token("+=")]
    PlusEq,
    #[token("+:")]
    PlusColon,
    #[token("-=")]
    MinusEq,
    #[token("*=")]
    StarEq,
    #[token("/=")]
    SlashEq,
    #[token("%=")]
    PercentEq,
    #[token("&=")]
    AmpEq,
    #[token("|=")]
    PipeEq,
    #[token("^=")]
    CaretEq,
    #[token("<<=")]
    ShlEq,
    #[token(">>=")]
    ShrEq,
    #[token("=")]
    Assign,
    #[token("==")]
    EqEq,
    #[token("!=")]
    NotEq,
    #[token("<")]
    Lt,
    #[token("<=")]
    Le,
    #[token(">")]
    Gt,
    #[token(">=")]
    Ge,
    #[token("<<")]
    Shl,
    #[token(">>")]
    Shr,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("&")]
    Amp,
    #[token("|")]
    Pipe,
    #[token("^")]
    Caret,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    #[token("!")]
    Not,
    #[token("~")]
    Tilde,
    /// Text that is not a token. It has been reported.
    Stray,
    /// The end of the file. It follows the last token.
    End,
}

impl Token {
    /// Whether the token is an identifier or a keyword. Both can name a field after a dot.
    pub(crate) fn is_word(self) -> bool {
        self == Self::Ident || self.is_keyword()
    }

    /// Whether the token is a reserved word.
    pub(crate) fn is_keyword(self) -> bool {
        use Token::{
            Auto, Bitsof, Bool, Break, Case, Concat, Const, Continue, Default, Else, Engine, Enum,
            False, For, Header, If, Offload, Return, Sizeof, StaticAssert, Step, Struct, Switch,
            True, Void,
        };
        matches!(
            self,
            Auto | Bitsof
                | Bool
                | Break
                | Case
                | Concat
                | Const
                | Continue
                | Default
                | Else
                | Engine
                | Enum
                | False
                | For
                | Header
                | If
                | Offload
                | Return
                | Sizeof
                | StaticAssert
                | Step
                | Struct
                | Switch
                | True
                | Void
        )
    }
}

fn block_comment(lexer: &mut logos::Lexer<Token>) -> Filter<()> {
    match lexer.remainder().find("*/") {
        Some(at) => {
            lexer.bump(at + 2);
            Filter::Skip
        }
        None => {
            lexer.bump(lexer.remainder().len());
            Filter::Emit(())
        }
    }
}

/// A token and its span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexeme {
    pub(crate) token: Token,
    pub(crate) span: Span,
}

/// Returns all tokens of a file, followed by a [`Token::End`]. Each run of bytes that are not
/// tokens is reported once.
pub(crate) fn tokens(file: FileId, text: &str, sink: &mut Sink) -> Vec<Lexeme> {
    let span = |start: usize, end: usize| Span { file, start: start as u32, end: end as u32 };
    let mut out = Vec::with_capacity(text.len() / 4);
    // The current run of bytes that are not tokens. A run causes one diagnostic.
    let mut stray: Option<Span> = None;
    for (token, range) in Token::lexer(text).spanned() {
        let here = span(range.start, range.end);
        let Ok(token) = token else {
            match &mut stray {
                Some(before) if before.end == here.start => before.end = here.end,
                _ => {
                    report_stray(stray.replace(here), text, sink);
                    out.push(Lexeme { token: Token::Stray, span: here });
                }
            }
            continue;
        };
        if token == Token::OpenComment {
            let start = span(range.start, range.start + 2);
            sink.push(
                Diagnostic::new("E0102", start, "this comment is never closed")
                    .help("close it with `*/`"),
            );
            continue;
        }
        out.push(Lexeme { token, span: here });
    }
    report_stray(stray, text, sink);
    out.push(Lexeme { token: Token::End, span: span(text.len(), text.len()) });
    out
}

fn report_stray(stray: Option<Span>, text: &str, sink: &mut Sink) {
    let Some(span) = stray else { return };
    let shown = &text[span.start as usize..span.end as usize];
    sink.push(match shown.chars().next() {
        Some('"') => Diagnostic::new("E0103", span, "this string is not closed on its line")
            .help("a string ends with `\"` before the end of the line"),
        Some('\'') => Diagnostic::new("E0103", span, "this character literal is not closed")
            .help("write one character between two `'`"),
        _ => {
            let shown: String = shown.chars().take(12).flat_map(char::escape_default).collect();
            Diagnostic::new("E0101", span, format!("`{shown}` is not part of the language"))
                .help("only comments, strings and character literals may contain such characters")
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Token> {
        let mut sink = Sink::default();
        let tokens = tokens(FileId(0), text, &mut sink).iter().map(|l| l.token).collect();
        assert!(!sink.has_errors(), "{text}");
        tokens
    }

    #[test]
    fn operators_are_read_longest_first() {
        assert_eq!(kinds("a<<=b"), [Token::Ident, Token::ShlEq, Token::Ident, Token::End]);
        assert_eq!(kinds("a->b"), [Token::Ident, Token::Arrow, Token::Ident, Token::End]);
        assert_eq!(kinds("i +: 4"), [Token::Ident, Token::PlusColon, Token::Number, Token::End]);
        assert_eq!(kinds("steps step"), [Token::Ident, Token::Step, Token::End]);
    }

    #[test]
    fn addresses_are_one_token_and_slices_labels_and_choices_are_not() {
        use Token::{
            Case, Colon, Colons, Dotted, End, Ident, LBracket, Number, Question, RBracket,
        };
        for address in ["02:00:00:00:00:01", "fe80::1", "::", "::1", "ff02::", "1:2:3:4:5:6:7:8"] {
            assert_eq!(kinds(address), [Colons, End], "{address}");
        }
        assert_eq!(kinds("::ffff:10.0.0.1"), [Colons, End]);
        assert_eq!(kinds("10.0.0.1"), [Dotted, End]);
        assert_eq!(kinds("case fe80::1:\n"), [Case, Colons, Colon, End]);
        assert_eq!(kinds("x[15:0]"), [Ident, LBracket, Number, Colon, Number, RBracket, End]);
        assert_eq!(kinds("a?be:ef"), [Ident, Question, Ident, Colon, Ident, End]);
        assert_eq!(kinds("1:2:3:4"), [Number, Colon, Number, Colon, Number, Colon, Number, End]);
    }

    #[test]
    fn comments_are_skipped_however_many_stars_they_have() {
        assert_eq!(kinds("/***/ a /* * / **/ // b\n c"), [Token::Ident, Token::Ident, Token::End]);
    }

    #[test]
    fn errors_do_not_stop_the_lexer() {
        let mut sink = Sink::default();
        let tokens = tokens(FileId(0), "a ``` b \"open\n c /* never", &mut sink);
        assert_eq!(tokens.len(), 6);
        let codes: Vec<_> = sink.finish().iter().map(|d| d.code).collect();
        assert_eq!(codes, ["E0101", "E0103", "E0102"]);
    }
}

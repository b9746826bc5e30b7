//! Splits a text into tokens.

use std::ops::Range;

use logos::{Filter, Logos};

use crate::report::Fault;

#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\x0c]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
pub enum Token {
    #[regex("[A-Za-z_][A-Za-z0-9_]*")]
    Name,
    #[regex("[0-9][A-Za-z0-9_]*")]
    Number,
    /// A comment without an end; always an error.
    #[token("/*", block_comment)]
    OpenComment,
    #[token("struct")]
    Struct,
    #[token("interface")]
    Interface,
    #[token("service")]
    Service,
    #[token("oneway")]
    Oneway,
    #[token("in")]
    In,
    #[token("out")]
    Out,
    #[token("{")]
    OpenBrace,
    #[token("}")]
    CloseBrace,
    #[token("(")]
    OpenParen,
    #[token(")")]
    CloseParen,
    #[token("[")]
    OpenBracket,
    #[token("]")]
    CloseBracket,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token(";")]
    Semicolon,
}

fn block_comment(lexer: &mut logos::Lexer<'_, Token>) -> Filter<()> {
    match lexer.remainder().find("*/") {
        Some(end) => {
            lexer.bump(end + 2);
            Filter::Skip
        }
        None => {
            lexer.bump(lexer.remainder().len());
            Filter::Emit(())
        }
    }
}

/// Returns all tokens with their positions.
pub fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, Fault> {
    let mut tokens = Vec::new();
    for (token, place) in Token::lexer(text).spanned() {
        match token {
            Ok(Token::OpenComment) => {
                let start = place.start..place.start + 2;
                return Err(
                    Fault::new(start, "this comment is not closed").help("close it with `*/`")
                );
            }
            Ok(token) => tokens.push((token, place)),
            Err(()) => {
                return Err(Fault::new(
                    place.clone(),
                    format!("`{}` is not expected here", &text[place]),
                ));
            }
        }
    }
    Ok(tokens)
}

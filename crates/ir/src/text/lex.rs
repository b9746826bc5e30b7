//! Splits text into tokens.

use wireloom_bits::{Bits, MAX_WIDTH};

use super::ParseError;
use super::names::is_word_char;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// An unquoted name or keyword.
    Word(String),
    /// A quoted name or sentence, without its quotes.
    Text(String),
    /// `#3`: the number of an item.
    Hash(u32),
    /// `%3`: the number of a value.
    Value(u32),
    /// `12`, `0xff`: a number without a width.
    Number(Bits),
    /// `16'0xff`: a number with a width.
    Sized(Bits),
    /// `@router.loom:12`: file and line. The file is a name or `#number`.
    Loc(String, u32),
    /// `->` or a single character.
    Punct(&'static str),
    /// The end of the text.
    End,
}

impl Token {
    /// Describes the token for error messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Word(w) => format!("`{w}`"),
            Self::Text(t) => format!("{t:?}"),
            Self::Hash(n) => format!("`#{n}`"),
            Self::Value(n) => format!("`%{n}`"),
            Self::Number(_) | Self::Sized(_) => "a number".to_owned(),
            Self::Loc(file, line) => format!("`@{file}:{line}`"),
            Self::Punct(p) => format!("`{p}`"),
            Self::End => "the end of the text".to_owned(),
        }
    }
}

pub(super) struct Spanned {
    pub token: Token,
    pub line: u32,
    pub column: u32,
}

const PUNCTUATION: [&str; 10] = ["->", "{", "}", "(", ")", ",", ":", "=", ".", "+"];

/// The widest number that may be written without a width.
const NUMBER_WIDTH: u32 = MAX_WIDTH;

/// Returns all tokens, the last of which is [`Token::End`].
pub(super) fn lex(text: &str) -> Result<Vec<Spanned>, ParseError> {
    let mut lexer = Lexer { rest: text, line: 1, column: 1 };
    let mut out = Vec::new();
    loop {
        lexer.skip_blanks();
        let (line, column) = (lexer.line, lexer.column);
        let token = lexer.token().map_err(|message| ParseError { line, column, message })?;
        let end = token == Token::End;
        out.push(Spanned { token, line, column });
        if end {
            return Ok(out);
        }
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
    column: u32,
}

impl<'a> Lexer<'a> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.line += 1;
            self.column = 1;
        } else {
            self.column += 1;
        }
        Some(c)
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let start = self.rest;
        while self.peek().is_some_and(&keep) {
            self.next();
        }
        &start[..start.len() - self.rest.len()]
    }

    /// Skips white space and `//` comments.
    fn skip_blanks(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            if !self.rest.starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn token(&mut self) -> Result<Token, String> {
        let Some(first) = self.peek() else { return Ok(Token::End) };
        match first {
            'a'..='z' | 'A'..='Z' | '_' => {
                Ok(Token::Word(self.take_while(is_word_char).to_owned()))
            }
            '0'..='9' => self.number(),
            '"' => self.string(),
            '#' => {
                self.next();
                self.index().map(Token::Hash)
            }
            '%' => {
                self.next();
                self.index().map(Token::Value)
            }
            '@' => {
                self.next();
                let place = self.take_while(|c| !c.is_whitespace());
                let (file, line) = place.rsplit_once(':').ok_or("a position is `@FILE:LINE`")?;
                let line = line.parse().map_err(|_| format!("`{line}` is not a line number"))?;
                Ok(Token::Loc(file.to_owned(), line))
            }
            _ => {
                let Some(punct) = PUNCTUATION.iter().find(|p| self.rest.starts_with(**p)) else {
                    return Err(format!("unexpected character {first:?}"));
                };
                punct.chars().for_each(|_| {
                    self.next();
                });
                Ok(Token::Punct(punct))
            }
        }
    }

    fn index(&mut self) -> Result<u32, String> {
        let digits = self.take_while(|c| c.is_ascii_digit());
        digits.parse().map_err(|_| format!("`{digits}` is not an index"))
    }

    fn number(&mut self) -> Result<Token, String> {
        let value = self.digits()?;
        if self.peek() != Some('\'') {
            return Ok(Token::Number(value));
        }
        self.next();
        let width = value.to_u64().filter(|w| (1..=u64::from(MAX_WIDTH)).contains(w));
        let width = width.ok_or(format!("a width must be 1 to {MAX_WIDTH}"))? as u32;
        let value = self.digits()?;
        if value.significant() > width {
            return Err(format!("the number does not fit in {width} bits"));
        }
        Ok(Token::Sized(value.resize(width)))
    }

    fn digits(&mut self) -> Result<Bits, String> {
        let text = self.take_while(|c| c.is_ascii_alphanumeric());
        let wrong = || format!("`{text}` is not a number");
        let Some(hex) = text.strip_prefix("0x") else {
            let value = text.parse().map_err(|_| wrong())?;
            return Ok(Bits::new(NUMBER_WIDTH, value));
        };
        let nibbles: Option<Vec<u64>> =
            hex.chars().map(|c| c.to_digit(16).map(u64::from)).collect();
        let nibbles = nibbles.filter(|n| !n.is_empty()).ok_or_else(wrong)?;
        if nibbles.len() > NUMBER_WIDTH as usize / 4 {
            return Err(format!("the number does not fit in {NUMBER_WIDTH} bits"));
        }
        let mut words = vec![0u64; NUMBER_WIDTH as usize / 64];
        for (i, nibble) in nibbles.iter().rev().enumerate() {
            words[i / 16] |= nibble << (4 * (i % 16));
        }
        Ok(Bits::from_words(NUMBER_WIDTH, &words))
    }

    fn string(&mut self) -> Result<Token, String> {
        self.next();
        let mut out = String::new();
        loop {
            match self.next() {
                None | Some('\n') => return Err("the string is not closed".to_owned()),
                Some('"') => return Ok(Token::Text(out)),
                Some('\\') => out.push(self.escape()?),
                Some(c) => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        match self.next() {
            Some('n') => Ok('\n'),
            Some(c @ ('"' | '\\')) => Ok(c),
            Some('u') if self.peek() == Some('{') => {
                self.next();
                let digits = self.take_while(|c| c.is_ascii_hexdigit());
                let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
                match (c, self.next()) {
                    (Some(c), Some('}')) => Ok(c),
                    _ => Err(format!("`\\u{{{digits}}}` is not a character")),
                }
            }
            _ => Err("valid escapes are \\\" \\\\ \\n and \\u{...}".to_owned()),
        }
    }
}

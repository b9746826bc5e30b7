//! Parses number and character literals.

use wireloom_bits::Bits;

use super::{Attempt, Failed, Parser};
use crate::diagnostics::Diagnostic;

/// The width of the widest literal in bits.
const MAX_LITERAL_BITS: u32 = 1024;

impl Parser<'_> {
    /// Parses a number token.
    pub(super) fn number(&mut self) -> Attempt<Bits> {
        let span = self.advance();
        let text = self.text(span).to_owned();
        let (base, name, digits) = match text.as_bytes() {
            [b'0', b'x' | b'X', ..] => (16, "hexadecimal", &text[2..]),
            [b'0', b'b' | b'B', ..] => (2, "binary", &text[2..]),
            [b'0', b'o' | b'O', ..] => (8, "octal", &text[2..]),
            _ => (10, "decimal", &text[..]),
        };
        let mut value = Bits::zero(128);
        let mut any = false;
        for c in digits.chars().filter(|&c| c != '_') {
            let Some(digit) = c.to_digit(base) else {
                let message = format!("`{c}` is not a {name} digit");
                self.sink.push(Diagnostic::new("E0104", span, message).help(
                    "numbers are written 12, 0x0c, 0b1100 or 0o14, with `_` between digits; there are no suffixes",
                ));
                return Err(Failed);
            };
            any = true;
            if value.significant() + 4 > value.width() {
                value = value.resize((value.width() * 2).min(MAX_LITERAL_BITS + 8));
            }
            value = value
                .mul(&Bits::new(value.width(), u128::from(base)))
                .add(&Bits::new(value.width(), u128::from(digit)));
            if value.significant() > MAX_LITERAL_BITS {
                let message = format!("this number needs more than {MAX_LITERAL_BITS} bits");
                self.sink.push(
                    Diagnostic::new("E0105", span, message).help("the widest type is `u1024`"),
                );
                return Err(Failed);
            }
        }
        if !any {
            let message = format!("a {name} number needs at least one digit");
            self.sink.push(Diagnostic::new("E0104", span, message));
            return Err(Failed);
        }
        Ok(value)
    }

    /// Parses a character literal, which is one byte.
    pub(super) fn character(&mut self) -> Attempt<Bits> {
        let span = self.advance();
        let text = self.text(span);
        let inner: Vec<char> = text[1..text.len() - 1].chars().collect();
        let code = match inner[..] {
            [c] if c.is_ascii() && c != '\\' => Some(c as u8),
            ['\\', c] => match c {
                'n' => Some(b'\n'),
                'r' => Some(b'\r'),
                't' => Some(b'\t'),
                '0' => Some(0),
                '\\' | '\'' | '"' => Some(c as u8),
                _ => None,
            },
            ['\\', 'x', high, low] => {
                high.to_digit(16).zip(low.to_digit(16)).map(|(h, l)| (h * 16 + l) as u8)
            }
            _ => None,
        };
        match code {
            Some(code) => Ok(Bits::new(8, code.into())),
            None => {
                self.sink.push(Diagnostic::new("E0117", span, "this is not one ASCII character").help(
                    "write 'a', an escape ('\\n', '\\r', '\\t', '\\0', '\\\\', '\\'') or a byte ('\\x7f')",
                ));
                Err(Failed)
            }
        }
    }
}

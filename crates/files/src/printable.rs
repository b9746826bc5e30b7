//! Text from files, made safe for a terminal.

use std::borrow::Cow;

/// Replaces the characters of a text that would command a terminal: control characters except tabs
/// and line ends, and characters that change the direction of writing. Each replacement has the
/// same number of bytes, so places in the text stay the same.
pub fn printable(text: &str) -> Cow<'_, str> {
    let next = || text.chars().skip(1).chain(['\n']);
    if !text.chars().zip(next()).any(|(c, next)| is_command(c, next)) {
        return Cow::Borrowed(text);
    }
    let shown = |(c, next): (char, char)| match c.len_utf8() {
        _ if !is_command(c, next) => c,
        1 => '?',
        2 => '\u{bf}',
        _ => char::REPLACEMENT_CHARACTER,
    };
    Cow::Owned(text.chars().zip(next()).map(shown).collect())
}

/// A carriage return is a command unless a line ends with it: the text after it would cover the
/// line.
fn is_command(c: char, next: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t') && (c, next) != ('\r', '\n')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_replaced_in_its_place() {
        let text = "a\tb\r\n\u{1b}[31m\0\u{9b}2J\u{202e}\u{e9}\rc\r";
        let shown = printable(text);
        assert_eq!(shown, "a\tb\r\n?[31m?\u{bf}2J\u{fffd}\u{e9}?c\r");
        assert_eq!(shown.len(), text.len());
        assert!(matches!(printable("a\tb\n"), Cow::Borrowed(_)));
    }
}

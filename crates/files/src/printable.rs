//! Text from files on its way to a terminal.

use std::borrow::Cow;

/// Replaces the characters of a text that would command a terminal: control characters but tabs and
/// line ends, and those that change the direction of writing. Each becomes a character of as many
/// bytes, so places in the text stay the same.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(is_command) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| match c.len_utf8() {
        _ if !is_command(c) => c,
        1 => '?',
        2 => '\u{bf}',
        _ => char::REPLACEMENT_CHARACTER,
    };
    Cow::Owned(text.chars().map(shown).collect())
}

fn is_command(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\r' | '\t')
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_replaced_in_its_place() {
        let text = "a\tb\r\n\u{1b}[31m\0\u{9b}2J\u{202e}\u{e9}";
        let shown = printable(text);
        assert_eq!(shown, "a\tb\r\n?[31m?\u{bf}2J\u{fffd}\u{e9}");
        assert_eq!(shown.len(), text.len());
        assert!(matches!(printable("a\tb\n"), Cow::Borrowed(_)));
    }
}

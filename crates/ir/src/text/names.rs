//! Names in the text: which ones need no quotes, and which items can be referred to by name.

use std::collections::HashMap;

/// Whether the lexer reads `name` as one word.
pub(super) fn is_word(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') && chars.all(is_word_char)
}

/// Whether a word may continue with `c`. Names of split steps contain dots, and names of array
/// elements contain brackets.
pub(super) fn is_word_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']')
}

/// Whether the lexer reads `path` correctly after an `@`.
pub(super) fn is_path(path: &str) -> bool {
    !path.is_empty()
        && !path.starts_with('#')
        && path.chars().all(|c| !c.is_whitespace() && !c.is_control())
}

/// Returns the name, in quotes if it is not a word.
pub(super) fn quoted(name: &str) -> String {
    if is_word(name) { name.to_owned() } else { string(name) }
}

/// Formats a string literal.
pub(super) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// The names of a list of items. Names need neither be unique nor be words.
pub(super) struct Names {
    by_name: HashMap<String, Option<usize>>,
    names: Vec<String>,
}

impl Names {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let mut out = Self { by_name: HashMap::new(), names: Vec::new() };
        for name in names {
            out.push(name);
        }
        out
    }

    pub(super) fn push(&mut self, name: &str) {
        let index = self.names.len();
        self.by_name.entry(name.to_owned()).and_modify(|i| *i = None).or_insert(Some(index));
        self.names.push(name.to_owned());
    }

    /// Returns the index of the only item with this name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied().flatten()
    }

    /// Returns the name of item `index` if it is unique and `suits` accepts it, else `#index`.
    pub(super) fn refer(&self, index: usize, suits: fn(&str) -> bool) -> String {
        match self.names.get(index) {
            Some(name) if suits(name) && self.find(name) == Some(index) => name.clone(),
            _ => format!("#{index}"),
        }
    }
}

//! C identifiers from the names of the source.

use std::collections::HashSet;

/// Identifiers reserved by C compilers, the runtime or the generated code.
const TAKEN: &[&str] = &[
    "alignas", "alignof", "asm", "auto", "bool", "break", "case", "char", "const", "continue",
    "default", "do", "double", "else", "enum", "errno", "extern", "false", "float", "for", "goto",
    "if", "inline", "int", "linux", "long", "main", "register", "restrict", "return", "short",
    "signed", "sizeof", "static", "struct", "switch", "true", "typedef", "typeof", "union", "unix",
    "unsigned", "void", "volatile", "while", // Variables of the generated functions.
    "m", "t", "p", "c", "w", "passing", "run", "env", "slots", "args", "reply", "saved",
    "backward", "end", "packet", "next", "lists", "state", "hand", "verdict", "objects", "context",
    "rest", "quotient", "words",
];

/// A scope in which each identifier is unique.
#[derive(Clone, Debug, Default)]
pub struct Names {
    used: HashSet<String>,
}

impl Names {
    /// Returns an identifier for `hint`. A number distinguishes it from earlier ones: `class.port`
    /// becomes `class_port`, a second one `class_port_2`.
    pub fn give(&mut self, hint: &str) -> String {
        let base = identifier(hint);
        let mut name = base.clone();
        let mut number = 2;
        while !self.used.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        name
    }
}

/// Replaces all characters of `hint` that C does not allow in an identifier.
pub fn identifier(hint: &str) -> String {
    let mut name: String =
        hint.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    while name.ends_with('_') {
        name.pop();
    }
    let name = name.trim_start_matches('_');
    let reserved = TAKEN.contains(&name)
        || name.to_ascii_lowercase().starts_with("wl_")
        || name.starts_with("c_")
        || name.starts_with("reply_")
        || name.starts_with("__builtin")
        || (name.starts_with("uint") && name.ends_with("_t"));
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || reserved {
        return format!("v_{name}");
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_recognisable_and_are_given_once() {
        let mut names = Names::default();
        assert_eq!(names.give("class.port"), "class_port");
        assert_eq!(names.give("class.port"), "class_port_2");
        assert_eq!(names.give("digest[2]"), "digest_2");
        assert_eq!(names.give("int"), "v_int");
        assert_eq!(names.give("wl_get8"), "v_wl_get8");
        assert_eq!(names.give(""), "v_");
        assert_eq!(names.give("2nd"), "v_2nd");
    }
}

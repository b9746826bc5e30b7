//! C identifiers from the names of the source.

use std::collections::HashSet;

use wireloom_ir::{Engine, Step};

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

/// Words behind an engine's name in the names that the generated code makes, of types, functions and
/// enumerators.
const WORDS: &[&str] = &[
    "ENDED", "HELD", "STATES", "calls", "close", "context", "engine", "execute", "in_order",
    "kept", "lanes", "machine", "pass", "passed", "passing", "reach", "save", "settle", "thread",
    "turn", "undo", "version", "wait",
];
/// Words with which the generated code extends the name of an engine or a step.
const SUFFIXES: &[&str] = &["ahead", "call", "fetch", "further", "list", "reply", "rest"];

/// Returns an identifier for each step of an engine. No name that the generated code makes from the
/// names of the engine and of its steps equals another one.
pub fn of_steps(engine: &Engine) -> Vec<String> {
    let mut names = Names::default();
    let name = |step: &Step| {
        let mut name = identifier(&step.name);
        let is_numbered = |word| {
            let rest = name.strip_prefix(word);
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '_'))
        };
        if is_numbered("AT") || is_numbered("way") {
            name.insert_str(0, "step_");
        }
        let last = name.rsplit('_').next().map(|last| last.trim_end_matches(char::is_numeric));
        if WORDS.contains(&name.as_str()) || last.is_some_and(|last| SUFFIXES.contains(&last)) {
            name.push_str("_step");
        }
        names.give(&name)
    };
    engine.steps.iter().map(name).collect()
}

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
    fn steps_have_no_names_that_are_made_for_others() {
        let named = |names: &[&str]| {
            let text: String =
                names.iter().map(|name| format!("  step {name} {{\n    finish\n  }}\n")).collect();
            let text = format!("loom_ir 1\n\nengine e {{\n{text}}}\n\nmain e\n");
            let program = wireloom_ir::parse(&text).unwrap_or_else(|why| panic!("{why}"));
            of_steps(&program.engines[0])
        };
        assert_eq!(named(&["look", "way", "AT", "passes"]), ["look", "way", "AT", "passes"]);
        assert_eq!(
            named(&["pass", "in_order", "way1", "ENDED", "look_list", "look_fetch2", "pass_step"]),
            [
                "pass_step",
                "in_order_step",
                "step_way1",
                "ENDED_step",
                "look_list_step",
                "look_fetch2_step",
                "pass_step_2"
            ]
        );
    }

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

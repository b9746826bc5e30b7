//! What programs have besides their steps: the way in and out of packets, and routines.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::Needs;
use super::frame;

/// The bytes of a value of the routine `divide`.
const OWN: u32 = 4 * (frame::WORK_WORDS / 4);

/// Puts numbers in place of names.
fn with_numbers(text: &str, base: u32) -> String {
    let names = [
        ("INGRESS", frame::INGRESS),
        ("EGRESS", frame::EGRESS),
        ("LENGTH", frame::LENGTH),
        ("ARRIVAL", frame::ARRIVAL),
        ("SEQUENCE", frame::SEQUENCE),
        ("FETCH", frame::FETCH),
        ("KEPT", frame::KEPT),
        ("WORK", frame::WORK),
        ("OWN3", 3 * OWN),
        ("OWN", OWN),
        ("ARRIVES", base + frame::ARRIVES),
        ("REPLACED_END", base + frame::REPLACED_END),
    ];
    let mut lines = String::new();
    for line in text.lines() {
        let (code, comment) = line.split_once('#').map_or((line, None), |(a, b)| (a, Some(b)));
        let mut code = code.to_owned();
        for (name, value) in names {
            while let Some(at) = code.find(name) {
                let end = at + name.len();
                // `NAME+4` is one number.
                let rest = &code[end..];
                let digits = rest.strip_prefix('+').map_or(0, |rest| {
                    rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
                });
                let more: u32 = rest.get(1..1 + digits).and_then(|n| n.parse().ok()).unwrap_or(0);
                let skip = if digits > 0 { 1 + digits } else { 0 };
                code = format!("{}{}{}", &code[..at], value + more, &code[end + skip..]);
            }
        }
        lines += &code;
        if let Some(comment) = comment {
            let _ = write!(lines, "#{comment}");
        }
        lines.push('\n');
    }
    lines
}

/// The way in and out. `clear` are the lines that clear the engine's context.
pub fn runtime(base: u32, needs: Needs, clear: &str) -> String {
    let mut extra = String::new();
    for (is_needed, name) in [(needs.arrival, "ARRIVAL"), (needs.sequence, "SEQUENCE")] {
        if is_needed {
            let _ =
                write!(extra, "        sw $csti, {name}+4($sp)\n        sw $csti, {name}($sp)\n");
        }
    }
    let text = include_str!("runtime.s")
        .replace("EXTRA_WORDS", &needs.words().to_string())
        .replace("EXTRA_LINES\n", &extra);
    let (before, after) = text.split_once("CLEARED\n").expect("the place for clearing");
    with_numbers(before, base) + clear + &with_numbers(after, base)
}

/// The routines of these names.
pub fn needed(base: u32, names: &[&str]) -> String {
    let names: BTreeSet<&str> = names.iter().copied().collect();
    let mut text = String::new();
    let mut comment = String::new();
    let mut is_wanted = false;
    for line in include_str!("routines.s").lines() {
        if let Some(name) = line.strip_prefix(".routine ") {
            is_wanted = names.contains(name);
            if is_wanted {
                text += &comment;
            }
            comment.clear();
        } else if line.starts_with('#') {
            is_wanted = false;
            let _ = writeln!(comment, "{line}");
        } else if is_wanted {
            let _ = writeln!(text, "{line}");
        }
    }
    with_numbers(&text, base)
}

/// The instructions of a text; those that load long constants are written as two already.
pub fn instructions(text: &str) -> usize {
    let is_one = |line: &&str| line.starts_with(' ') && !line.trim_start().starts_with('#');
    text.lines().filter(is_one).count()
}

impl Needs {
    /// The number of words.
    pub fn words(self) -> u32 {
        2 * (u32::from(self.arrival) + u32::from(self.sequence))
    }
}

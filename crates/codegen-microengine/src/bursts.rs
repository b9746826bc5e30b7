//! Consecutive writes to the frame, or to a thread's words of the scratchpad, become one command.
//!
//! ```text
//! alu[$2, --, B, v7]                      alu[$2, --, B, v7]
//! sram[write, $2, frame, 5, 1], ctx_swap  alu[$3, --, B, v8]
//! alu[$3, --, B, v8]                      sram[write, $2, frame, 5, 2], ctx_swap
//! sram[write, $3, frame, 6, 1], ctx_swap
//! ```
//!
//! A write moves down to the next write if its words directly precede the words of that write, in
//! memory and in transfer registers, and if only computing instructions are between them.

use std::collections::HashMap;

use super::elide_waits::{WAIT, instruction, transfer};
use super::hoist_reads::{constant, number};

/// The most words of a command.
const MOST: u32 = 8;

/// A write to the frame, or to the thread's words of the scratchpad, at a known word.
struct Write<'a> {
    unit: &'a str,
    base: &'a str,
    first: u32,
    place: &'a str,
    word: u32,
    count: u32,
}

/// Joins writes.
pub fn joined(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut at = 0;
    while at < lines.len() {
        if let Some((to, line)) = found(&lines, at) {
            lines[to] = line;
            lines.remove(at);
        } else {
            at += 1;
        }
    }
    let mut out = without_unused(lines).join("\n");
    out.push('\n');
    out
}

fn write<'a>(before: &[String], line: &'a str) -> Option<Write<'a>> {
    let (name, operands, tokens) = instruction(line)?;
    let ["write", first, base, place, count] = operands[..] else { return None };
    if tokens != WAIT || !matches!((name, base), ("sram", "frame") | ("scratch", "near")) {
        return None;
    }
    let (word, first) = (constant(before, place)?, transfer(first)?);
    Some(Write { unit: name, base, first, place, word, count: count.parse().ok()? })
}

/// Returns the line of the write with which the write on a line can be joined, and the joined
/// command.
fn found(lines: &[String], at: usize) -> Option<(usize, String)> {
    let own = write(&lines[..at], &lines[at])?;
    let end = own.first + own.count;
    for (to, line) in lines.iter().enumerate().skip(at + 1) {
        let line = line.trim();
        if line.is_empty() || line.starts_with(';') {
            continue;
        }
        if let Some(next) = write(&lines[..to], line) {
            let is_same = next.base == own.base;
            let follows = is_same && next.first == end && next.word == own.word + own.count;
            let count = own.count + next.count;
            let joined = || {
                let Write { unit, base, first, place, .. } = own;
                format!("    {unit}[write, ${first}, {base}, {place}, {count}]{WAIT}")
            };
            return (follows && count <= MOST).then(|| (to, joined()));
        }
        let (name, operands, _) = instruction(line)?;
        let computes =
            ["alu", "alu_shf", "dbl_shf", "immed", "immed32", "ld_field", "ld_field_w_clr", "nop"];
        let target = operands.first().copied().unwrap_or_default();
        let is_kept = |register| (own.first..end).contains(&register);
        if !computes.contains(&name)
            || target == own.place
            || target == own.base
            || transfer(target).is_some_and(is_kept)
        {
            return None;
        }
    }
    None
}

/// Removes constants of steps that nothing reads. They were addresses of writes.
fn without_unused(lines: Vec<String>) -> Vec<String> {
    let mut named: HashMap<(usize, String), usize> = HashMap::new();
    let mut scope = 0;
    let mut scopes = Vec::new();
    for line in &lines {
        scope += usize::from(line.trim() == ".begin");
        scopes.push(scope);
        if line.trim_start().starts_with(['.', ';']) {
            continue;
        }
        let words = line.split(|other: char| !other.is_ascii_alphanumeric() && other != '_');
        for word in words.filter(|word| is_own(word)) {
            *named.entry((scope, word.to_owned())).or_default() += 1;
        }
    }
    let is_read = |line: &str, scope: usize| match instruction(line) {
        Some(("immed32", operands, _)) if is_own(operands[0]) => {
            named.get(&(scope, operands[0].to_owned())) != Some(&1)
        }
        _ => true,
    };
    let kept: Vec<bool> = lines.iter().zip(scopes).map(|(line, at)| is_read(line, at)).collect();
    lines.into_iter().zip(kept).filter_map(|(line, kept)| kept.then_some(line)).collect()
}

/// Returns whether [`Code`](super::code::Code) has named a register.
fn is_own(name: &str) -> bool {
    let digits = name.strip_prefix('v').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) && number(name).is_none()
}

#[cfg(test)]
mod tests {
    use super::joined;

    fn lines(text: &str) -> Vec<String> {
        joined(text).lines().map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn writes_that_follow_each_other_are_one() {
        let text = "alu[$2, --, B, v7]\nsram[write, $2, frame, 5, 1], ctx_swap\n; a comment\n\
                    alu[$3, --, B, v8]\nsram[write, $3, frame, 6, 1], ctx_swap\n\
                    immed32[v1, 0x7]\nalu[$4, --, B, v9]\nalu[$5, --, B, v9]\n\
                    sram[write, $4, frame, v1, 2], ctx_swap\n";
        let expected = [
            "alu[$2, --, B, v7]",
            "; a comment",
            "alu[$3, --, B, v8]",
            "alu[$4, --, B, v9]",
            "alu[$5, --, B, v9]",
            "sram[write, $2, frame, 5, 4], ctx_swap",
        ];
        assert_eq!(lines(text), expected);
    }

    #[test]
    fn writes_to_the_scratchpad_are_joined_with_each_other() {
        let text = "alu[$2, --, B, v7]\nscratch[write, $2, near, 5, 1], ctx_swap\n\
                    alu[$3, --, B, v8]\nscratch[write, $3, near, 6, 1], ctx_swap\n";
        let expected = [
            "alu[$2, --, B, v7]",
            "alu[$3, --, B, v8]",
            "scratch[write, $2, near, 5, 2], ctx_swap",
        ];
        assert_eq!(lines(text), expected);
        for other in ["sram[write, $3, frame, 6, 1]", "scratch[write, $3, turn, 6, 1]"] {
            let text = text.replace("scratch[write, $3, near, 6, 1]", other);
            assert_eq!(lines(&text).len(), 4, "{other}");
        }
    }

    #[test]
    fn what_lies_between_keeps_a_write_where_it_is() {
        let text = |between: &str, next: &str| {
            format!(
                "sram[write, $2, frame, v1, 1], ctx_swap\n{between}\n\
                 sram[write, {next}, 1], ctx_swap\n"
            )
        };
        let is_joined = |between: &str, next: &str| {
            let all = format!("immed32[v1, 0x28]\n{}", text(between, next));
            joined(&all).matches("sram[write").count() == 1
        };
        assert!(is_joined("alu[$3, --, B, v8]", "$3, frame, 41"));
        for between in
            ["alu[$2, --, B, v8]", "l3#:", "br[l4#]", "sram[read, $0, frame, 3, 1], ctx_swap"]
        {
            assert!(!is_joined(between, "$3, frame, 41"), "{between}");
        }
        assert!(!is_joined("alu[v1, v2, +, v3]", "$3, frame, 41"));
        for next in ["$4, frame, 41", "$3, frame, 42", "$3, frame, v2", "$3, table, 41"] {
            assert!(!is_joined("nop", next), "{next}");
        }
        let long =
            "sram[write, $0, frame, 8, 6], ctx_swap\nsram[write, $6, frame, 14, 3], ctx_swap\n";
        assert_eq!(joined(long).lines().count(), 2);
    }
}

//! The difference of two texts.

use std::fmt::Write;

/// The number of equal lines that are shown around lines that differ.
const CONTEXT: usize = 3;

/// A difference of two texts.
pub struct Difference {
    /// The index of the first line that differs, in the expected text.
    pub line: usize,
    /// All lines that differ, with some equal ones around them.
    pub text: String,
}

/// Compares two texts by lines. Returns nothing if they are equal.
pub fn difference(expected: &[String], produced: &[String]) -> Option<Difference> {
    if expected == produced {
        return None;
    }
    let edits = edits(expected, produced);
    let changed: Vec<usize> = (0..edits.len()).filter(|at| edits[*at].0 != ' ').collect();
    let is_near = |at: usize| changed.iter().any(|other| other.abs_diff(at) <= CONTEXT);
    let mut text = String::new();
    for (at, (sign, line)) in edits.iter().enumerate() {
        if is_near(at) {
            let _ = writeln!(text, "{}", format!("  {sign} {line}").trim_end());
        } else if at == 0 || is_near(at - 1) {
            text.push_str("  ...\n");
        }
    }
    Some(Difference { line: changed[0], text })
}

/// Returns the lines of both texts, each marked as expected (`-`), produced (`+`) or both (` `).
fn edits<'a>(expected: &'a [String], produced: &'a [String]) -> Vec<(char, &'a str)> {
    // The length of the longest common subsequence of the rests from each pair of lines on.
    let mut common = vec![vec![0u32; produced.len() + 1]; expected.len() + 1];
    for old in (0..expected.len()).rev() {
        for new in (0..produced.len()).rev() {
            common[old][new] = match expected[old] == produced[new] {
                true => common[old + 1][new + 1] + 1,
                false => common[old + 1][new].max(common[old][new + 1]),
            };
        }
    }
    let (mut old, mut new) = (0, 0);
    let mut edits = Vec::new();
    while old < expected.len() || new < produced.len() {
        if old < expected.len() && new < produced.len() && expected[old] == produced[new] {
            edits.push((' ', expected[old].as_str()));
            (old, new) = (old + 1, new + 1);
        } else if new == produced.len()
            || old < expected.len() && common[old + 1][new] >= common[old][new + 1]
        {
            edits.push(('-', expected[old].as_str()));
            old += 1;
        } else {
            edits.push(('+', produced[new].as_str()));
            new += 1;
        }
    }
    edits
}

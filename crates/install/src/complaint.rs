//! The error of a tool that failed, as one line of its output.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Characters of the line that are shown; the log has the whole line.
const LINE: usize = 240;

/// Returns the line in which a failed tool states the reason: the first one with an error, or the
/// last line. Without output, or after a signal, returns the exit status in words.
pub fn complaint(status: ExitStatus, said: &str) -> String {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let speaks = |signs: &[&str]| {
        lines().find(|line| {
            let line = line.to_ascii_lowercase();
            signs.iter().any(|sign| line.contains(sign))
        })
    };
    // Make and Perl name the failed command only after that command has stated the reason.
    let why = speaks(&["error:", "fatal:"])
        .or_else(|| speaks(&["error", "not found", "no such file", "cannot", "killed"]))
        .or_else(|| lines().next_back());
    match (status.signal(), why) {
        (Some(signal), _) => format!("signal {signal} ended it"),
        (None, Some(why)) => format!("`{}`", shortened(why)),
        (None, None) => format!("it said nothing, and ended with {status}"),
    }
}

fn shortened(line: &str) -> String {
    match line.char_indices().nth(LINE) {
        Some((end, _)) => format!("{} ...", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: i32, said: &str) -> String {
        complaint(ExitStatus::from_raw(status), said)
    }

    #[test]
    fn the_line_that_says_why_is_found() {
        let gcc =
            "In file included from a.c:1:\na.h:3:10: fatal error: lz4.h: No such file\n   3 |\n";
        assert_eq!(of(256, gcc), "`a.h:3:10: fatal error: lz4.h: No such file`");
        let make = "sh: 1: python3: not found\nmake: *** [Vtop.mk:12: all] Error 127\n";
        assert_eq!(of(512, make), "`sh: 1: python3: not found`");
        assert_eq!(of(256, "one\n\n two \n"), "`two`");
    }

    #[test]
    fn an_end_without_words_is_told() {
        assert_eq!(of(9, "error: half a line"), "signal 9 ended it");
        assert_eq!(of(256, " \n"), "it said nothing, and ended with exit status: 1");
    }

    #[test]
    fn long_lines_are_cut_between_letters() {
        let long = of(256, &"é".repeat(LINE + 1));
        assert_eq!(long.chars().count(), LINE + 2 + 4);
    }
}

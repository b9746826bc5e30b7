//! Failures of subcommands.

use std::fmt::Display;
use std::process::ExitCode;
use wireloom_console::output;

/// The reason that a subcommand stopped. It decides the exit status.
#[derive(Debug)]
pub enum Failure {
    /// The subcommand ran and the result is negative: the program has errors, or the machines
    /// differ. All messages have been printed. Exit status 1.
    Negative,
    /// As [`Unusable`](Self::Unusable), with all messages already printed.
    Told,
    /// The command line, a file or the computer prevents the subcommand. The message has the form
    /// "what: why", with advice if there is any. Exit status 2.
    Unusable {
        /// The problem and its place.
        message: String,
        /// Advice for the user.
        help: Option<String>,
        /// Whether the only problem is a missing optional tool.
        optional: bool,
    },
}

/// The result type of subcommands.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Creates a failure for wrong usage or input.
    pub fn unusable(message: impl Display) -> Self {
        Self::Unusable { message: message.to_string(), help: None, optional: false }
    }

    /// Adds advice on what to do.
    pub fn with_help(self, help: impl Display) -> Self {
        match self {
            Self::Unusable { message, optional, .. } => {
                Self::Unusable { message, help: Some(help.to_string()), optional }
            }
            Self::Negative => Self::Negative,
            Self::Told => Self::Told,
        }
    }

    /// Whether the only problem is a missing optional tool.
    pub fn is_optional(&self) -> bool {
        matches!(self, Self::Unusable { optional: true, .. })
    }

    /// Prints the failure on standard error and returns the exit status.
    pub fn report(self) -> ExitCode {
        match self {
            Self::Negative => ExitCode::from(1),
            Self::Told => ExitCode::from(2),
            Self::Unusable { message, help, .. } => {
                // Rendered diagnostics begin with "error" already.
                let label = if message.starts_with("error") { "" } else { "error: " };
                output::note(format!("{label}{}", harmless(&message)));
                if let Some(help) = help {
                    output::note(format!("help: {}", harmless(&help)));
                }
                ExitCode::from(2)
            }
        }
    }
}

/// The longest line of a message in characters, and the length of the kept beginning and end of a
/// longer one.
const LONGEST: usize = 2000;
const KEPT: usize = LONGEST / 2;

/// Escapes control characters, which a file's name or contents could bring to the terminal, and
/// cuts the middle of lines that quote a file at length.
fn harmless(text: &str) -> String {
    let escape = |c: char| match c {
        '\n' | '\t' => String::from(c),
        c if c.is_control() => c.escape_default().to_string(),
        c => String::from(c),
    };
    let line = |line: &str| -> String {
        let length = line.chars().count();
        let begin = line.chars().take(if length > LONGEST { KEPT } else { length });
        let mut shown: String = begin.map(escape).collect();
        if length > LONGEST {
            shown += &format!(" [{} characters left out] ", length - 2 * KEPT);
            line.chars().skip(length - KEPT).for_each(|c| shown += &escape(c));
        }
        shown
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

impl From<wireloom_machine::Error> for Failure {
    fn from(error: wireloom_machine::Error) -> Self {
        if error.is_finding {
            output::note(format!("error: {}", harmless(&error.message)));
            return Self::Negative;
        }
        Self::Unusable { message: error.message, help: error.help, optional: error.needs_tool }
    }
}

impl From<wireloom_net::capture::CaptureError> for Failure {
    fn from(error: wireloom_net::capture::CaptureError) -> Self {
        Self::unusable(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_bring_no_control_characters_to_the_terminal() {
        assert_eq!(harmless("a\tb\n\u{e9}"), "a\tb\n\u{e9}");
        let long = "x".repeat(5000) + "end\nshort";
        let shown = harmless(&long);
        assert!(shown.len() < 2100 && shown.ends_with("xend\nshort"), "{shown}");
        assert!(shown.contains("[3003 characters left out]"), "{shown}");
        assert_eq!(harmless("\u{1b}]0;title\u{7}\u{9b}2J\r"), "\\u{1b}]0;title\\u{7}\\u{9b}2J\\r");
    }
}

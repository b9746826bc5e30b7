//! How a subcommand ends when it does not end well.

use std::fmt::Display;
use std::process::ExitCode;

/// Why a subcommand stopped; decides the exit status.
#[derive(Debug)]
pub enum Failure {
    /// The thing that was asked for was done and its answer is no: the program has errors, the machines differ.
    /// Everything there is to say has been said. Exit status 1.
    Negative,
    /// The command line, a file or the computer does not allow it. A message in the form "what: why", and what to do
    /// about it if that can be said. Exit status 2.
    Unusable {
        /// What is wrong, and where.
        message: String,
        /// What to do.
        help: Option<String>,
        /// Whether all that is wrong is that something is not installed which nobody must have.
        optional: bool,
    },
}

/// What subcommands return.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Wrong usage or input.
    pub fn unusable(message: impl Display) -> Self {
        Self::Unusable { message: message.to_string(), help: None, optional: false }
    }

    /// Adds what to do.
    pub fn with_help(self, help: impl Display) -> Self {
        match self {
            Self::Unusable { message, optional, .. } => {
                Self::Unusable { message, help: Some(help.to_string()), optional }
            }
            Self::Negative => Self::Negative,
        }
    }

    /// Something is not installed that is optional: what needs it can be left out.
    pub fn not_installed(message: impl Display) -> Self {
        Self::Unusable { message: message.to_string(), help: None, optional: true }
    }

    /// Whether that is so.
    pub fn is_optional(&self) -> bool {
        matches!(self, Self::Unusable { optional: true, .. })
    }

    /// Says on standard error what there is to say, and answers the exit status.
    pub fn report(self) -> ExitCode {
        match self {
            Self::Negative => ExitCode::from(1),
            Self::Unusable { message, help, .. } => {
                eprintln!("error: {message}");
                if let Some(help) = help {
                    eprintln!("help: {help}");
                }
                ExitCode::from(2)
            }
        }
    }
}

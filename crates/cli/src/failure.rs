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
    },
}

/// What subcommands return.
pub type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// Wrong usage or input.
    pub fn unusable(message: impl Display) -> Self {
        Self::Unusable { message: message.to_string(), help: None }
    }

    /// Adds what to do.
    pub fn with_help(self, help: impl Display) -> Self {
        match self {
            Self::Unusable { message, .. } => Self::Unusable { message, help: Some(help.to_string()) },
            Self::Negative => Self::Negative,
        }
    }

    /// Says on standard error what there is to say, and answers the exit status.
    pub fn report(self) -> ExitCode {
        match self {
            Self::Negative => ExitCode::from(1),
            Self::Unusable { message, help } => {
                eprintln!("error: {message}");
                if let Some(help) = help {
                    eprintln!("help: {help}");
                }
                ExitCode::from(2)
            }
        }
    }
}

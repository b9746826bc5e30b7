//! Errors of machines.

use std::fmt::Display;

use wireloom_net::capture::CaptureError;

/// An error: a sentence on the problem, and advice.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The problem and its place, as "WHAT: WHY", without a full stop.
    pub message: String,
    /// Advice on what to do, if there is any.
    pub help: Option<String>,
    /// The step that does not fit the machine, if it is known.
    pub step: Option<String>,
    /// Whether an optional tool is missing, so that callers can skip the work that needs it.
    pub needs_tool: bool,
    /// Whether the machine ran and failed a check. The input is not at fault then.
    pub is_finding: bool,
}

/// The result type of this interface.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error with this message.
    pub fn new(message: impl Display) -> Self {
        Self {
            message: message.to_string(),
            help: None,
            step: None,
            needs_tool: false,
            is_finding: false,
        }
    }

    /// Creates the error of a failed check.
    pub fn finding(message: impl Display) -> Self {
        Self { is_finding: true, ..Self::new(message) }
    }

    /// Creates the error of an optional tool that is not installed.
    pub fn missing_tool(message: impl Display) -> Self {
        Self { needs_tool: true, ..Self::new(message) }
    }

    /// Adds advice on what to do.
    #[must_use]
    pub fn with_help(self, help: impl Display) -> Self {
        Self { help: Some(help.to_string()), ..self }
    }

    /// Adds the step that does not fit the machine.
    #[must_use]
    pub fn with_step(self, step: impl Display) -> Self {
        Self { step: Some(step.to_string()), ..self }
    }
}

impl From<CaptureError> for Error {
    fn from(error: CaptureError) -> Self {
        Self::new(error)
    }
}

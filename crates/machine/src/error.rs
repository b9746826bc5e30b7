//! Errors of machines.

use std::fmt::Display;

use wireloom_net::capture::CaptureError;

/// What is wrong, as a sentence, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What is wrong, and where: "WHAT: WHY", without a final stop.
    pub message: String,
    /// What to do, if there is advice.
    pub help: Option<String>,
    /// The step that the machine has no place for, if it is known.
    pub step: Option<String>,
    /// Whether an optional tool is missing, so that callers can skip what needs it.
    pub needs_tool: bool,
    /// Whether the machine ran and a check of it failed, so that nothing is wrong with the input.
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

    /// A check that failed.
    pub fn finding(message: impl Display) -> Self {
        Self { is_finding: true, ..Self::new(message) }
    }

    /// The error of an optional tool that is not installed.
    pub fn missing_tool(message: impl Display) -> Self {
        Self { needs_tool: true, ..Self::new(message) }
    }

    /// Adds advice on what to do.
    #[must_use]
    pub fn with_help(self, help: impl Display) -> Self {
        Self { help: Some(help.to_string()), ..self }
    }

    /// Adds the step that the machine has no place for.
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

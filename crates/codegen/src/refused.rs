//! Refusals: parts of a program that a machine cannot run.

/// Why a generator refuses a program, and the offload or step that is the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    pub offload: Option<String>,
    pub step: Option<String>,
    /// The reason, as a sentence.
    pub message: String,
}

//! What has no place on a machine, and where it stands in the program.

/// What has no place: a sentence, and the offload and the step that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The offload.
    pub offload: Option<String>,
    /// The step.
    pub step: Option<String>,
    /// Why.
    pub message: String,
}

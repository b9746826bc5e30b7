//! Refusals: features that the hardware lacks, with the source location and the reason.

use wireloom_ir::{Engine, Loc, Program, Step};

/// The reason why an engine is not built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}step `{step}` of `{engine}`: {reason}", place.as_ref().map_or(String::new(), |p| format!("{p}: ")))]
pub struct Refusal {
    /// The engine.
    pub engine: String,
    /// The step.
    pub step: String,
    /// File and line, if the operation has one.
    pub place: Option<String>,
    /// The missing feature, as a sentence without a final period.
    pub reason: String,
}

impl Refusal {
    /// Creates the refusal of a step of an engine for an operation at a source location.
    pub fn at(
        program: &Program,
        engine: &Engine,
        step: &Step,
        loc: Loc,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            engine: engine.name.clone(),
            step: step.name.clone(),
            place: place(program, loc),
            reason: reason.into(),
        }
    }
}

/// Returns a source location as `FILE:LINE`.
pub fn place(program: &Program, loc: Loc) -> Option<String> {
    let file = program.files.get(loc.file as usize)?;
    (loc.line > 0).then(|| format!("{file}:{}", loc.line))
}

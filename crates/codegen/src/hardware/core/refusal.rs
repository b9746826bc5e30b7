//! Refusals: features that the hardware lacks, with the place in the program and the reason.

use wireloom_ir::{Engine, Loc, Program, Step};

/// Why an engine is not built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}step `{step}` of `{engine}`: {reason}", place.as_ref().map_or(String::new(), |p| format!("{p}: ")))]
pub struct Refusal {
    /// The engine.
    pub engine: String,
    /// The step.
    pub step: String,
    /// File and line, if the operation has one.
    pub place: Option<String>,
    /// The missing feature, as a sentence without a final stop.
    pub reason: String,
}

impl Refusal {
    /// Makes the refusal of an engine's step for an operation at a place of the source.
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

/// A place in the source as `FILE:LINE`.
pub fn place(program: &Program, loc: Loc) -> Option<String> {
    let file = program.files.get(loc.file as usize)?;
    (loc.line > 0).then(|| format!("{file}:{}", loc.line))
}

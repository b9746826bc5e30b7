//! Refusals: features that the hardware lacks, with the source location and the reason.

use wireloom_ir::{Engine, Loc, Program, Step};

/// The reason why an engine is not built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}", place.as_ref().map_or(String::new(), |p| format!("{p}: ")), self.sentence())]
pub struct Refusal {
    pub engine: String,
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

impl Refusal {
    /// Returns the step and the reason, for a reader who is shown the place.
    pub fn sentence(&self) -> String {
        format!("step `{}` of `{}`: {}", self.step, self.engine, self.reason)
    }

    /// Returns the file and the line of the place.
    pub fn line(&self) -> Option<(String, u32)> {
        let (file, line) = self.place.as_ref()?.rsplit_once(':')?;
        Some((file.to_owned(), line.parse().ok()?))
    }
}

/// Returns a source location as `FILE:LINE`.
pub fn place(program: &Program, loc: Loc) -> Option<String> {
    let file = program.files.get(loc.file as usize)?;
    (loc.line > 0).then(|| format!("{file}:{}", loc.line))
}

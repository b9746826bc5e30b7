//! Refusals: parts of a program that a machine cannot run.

use wireloom_ir::{Engine, Step};

/// Why a generator refuses a program, and the offload or step that is the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    pub offload: Option<String>,
    pub step: Option<String>,
    /// The reason, as a sentence.
    pub message: String,
}

impl Refused {
    /// Builds a reason that concerns a whole engine.
    pub fn engine(engine: &Engine, why: &str) -> Self {
        Self { step: None, offload: None, message: format!("engine `{}` {why}", engine.name) }
    }

    /// Builds a reason that concerns a step.
    pub fn step(engine: &Engine, step: &Step, why: &str) -> Self {
        Self {
            step: Some(step.name.clone()),
            offload: None,
            message: format!("engine `{}`, step `{}`: {why}", engine.name, step.name),
        }
    }

    /// Builds a reason that concerns an offload in a step.
    pub fn offload(engine: &Engine, step: &Step, offload: &str, why: &str) -> Self {
        Self {
            step: Some(step.name.clone()),
            offload: Some(offload.to_owned()),
            message: format!(
                "engine `{}`, step `{}`, offload `{offload}`: {why}",
                engine.name, step.name
            ),
        }
    }
}

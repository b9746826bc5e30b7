//! Refusals: parts of a program that a machine cannot run.

use wireloom_ir::{Engine, OffloadTarget, OpKind, Program, Step};

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

    /// Refuses a program with an offload whose times end at ticks.
    ///
    /// # Errors
    /// If there is such an offload: the reason, with the first step that calls it.
    pub fn ticks(program: &Program) -> Result<(), Self> {
        for engine in &program.engines {
            for step in &engine.steps {
                for op in step.ops() {
                    let OpKind::Call { offload, .. } = &op.kind else { continue };
                    let offload = &engine.offloads[offload.index()];
                    if let OffloadTarget::Kind(config) = &offload.target
                        && config.has_ticks()
                    {
                        let why = "times that end at ticks are not supported";
                        return Err(Self::offload(engine, step, &offload.name, why));
                    }
                }
            }
        }
        Ok(())
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

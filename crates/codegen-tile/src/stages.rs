//! Stages: the steps of an engine on several tiles, which packets pass in order.
//!
//! A step continues with a step of the same stage or of a later one. A packet goes to the next tile
//! as a message on the static network: a first word with step and length, the state of the packet,
//! the context that later stages read, and its bytes. Verdicts also pass through the later stages,
//! so packets keep their order.

mod cuts;

use std::collections::BTreeSet;

use wireloom_codegen::steps::next_step;
use wireloom_ir::{Engine, OpKind, Step};

/// The stage of each step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stages {
    /// The stage of each step, by the step's index.
    pub of: Vec<usize>,
    /// The number of stages.
    pub count: usize,
    /// The number of tiles of each stage. The tiles of a stage take messages in turn.
    pub tiles: Vec<usize>,
}

/// Returns the steps with which a step can continue.
pub(super) fn next_steps(step: &Step) -> impl Iterator<Item = usize> + '_ {
    step.ops().filter_map(next_step)
}

/// Returns the arrays of the context that a step uses.
fn arrays(step: &Step) -> impl Iterator<Item = usize> + '_ {
    step.ops().filter_map(|op| match &op.kind {
        OpKind::ReadElement { array, .. } | OpKind::WriteElement { array, .. } => {
            Some(array.index())
        }
        _ => None,
    })
}

impl Stages {
    /// Returns a single stage with all steps, on one tile.
    pub fn one(engine: &Engine) -> Self {
        Self { of: vec![0; engine.steps.len()], count: 1, tiles: vec![1] }
    }

    /// Whether some stage has several tiles.
    pub fn is_replicated(&self) -> bool {
        self.tiles.iter().any(|tiles| *tiles > 1)
    }

    /// Whether the steps of a stage use this array of the context.
    pub fn uses(&self, engine: &Engine, stage: usize, array: usize) -> bool {
        let own = engine.steps.iter().zip(&self.of).filter(|(_, of)| **of == stage);
        own.flat_map(|(step, _)| arrays(step)).any(|one| one == array)
    }

    /// Returns the context variables that messages carry, since a stage after the first reads them.
    pub fn carried(&self, engine: &Engine) -> Vec<usize> {
        let later = engine.steps.iter().zip(&self.of).filter(|(_, stage)| **stage > 0);
        let read = later.flat_map(|(step, _)| step.ops()).filter_map(|op| match &op.kind {
            OpKind::ReadContext(variable) => Some(variable.index()),
            _ => None,
        });
        read.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns the steps of a stage with which earlier stages continue.
    pub fn entries(&self, engine: &Engine, stage: usize) -> Vec<usize> {
        let steps = engine.steps.iter().zip(&self.of);
        let earlier = steps.filter(|(_, of)| **of < stage).flat_map(|(step, _)| next_steps(step));
        let own = earlier.filter(|to| self.of[*to] == stage);
        own.collect::<BTreeSet<_>>().into_iter().collect()
    }
}

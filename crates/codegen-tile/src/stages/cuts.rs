//! The cuts of the steps of an engine into stages, and the state that forbids cuts.

use std::collections::BTreeSet;

use wireloom_codegen::refused::Refused;
use wireloom_ir::{Engine, OffloadTarget, Op, OpKind, Program, Step};

use super::{Stages, arrays, next_steps};
use crate::kinds::changes_shared_state;

/// Returns the offloads whose state calls of this engine change, and all tiles share.
fn changed(program: &Program, engine: &Engine) -> BTreeSet<usize> {
    let changes = |op: &Op| match &op.kind {
        OpKind::Call { offload, method, .. } => match &engine.offloads[offload.index()].target {
            OffloadTarget::Engine(id) => (!changed(program, &program.engines[id.index()])
                .is_empty())
            .then_some(offload.index()),
            OffloadTarget::Kind(config) => {
                changes_shared_state(config, *method).then_some(offload.index())
            }
        },
        _ => None,
    };
    engine.steps.iter().flat_map(Step::ops).filter_map(changes).collect()
}

/// Returns the offloads that a step calls.
fn called(step: &Step) -> impl Iterator<Item = usize> + '_ {
    step.ops().filter_map(|op| match &op.kind {
        OpKind::Call { offload, .. } | OpKind::Evaluate { offload, .. } => Some(offload.index()),
        _ => None,
    })
}

impl Stages {
    /// Cuts the steps, in their order, into stages so that the largest number of instructions per
    /// tile is as small as possible. `sizes` are the instructions of each step, and `tiles` the
    /// number of tiles of each stage. There are fewer stages if there are not enough possible cuts.
    /// With a state owner, any tile can call offloads that packets change.
    pub fn cut(program: &Program, sizes: &[usize], tiles: &[usize], has_state_owner: bool) -> Self {
        let engine = &program.engines[program.main.index()];
        let steps = engine.steps.len();
        let changed = if has_state_owner { BTreeSet::new() } else { changed(program, engine) };
        // A cut before a step is possible if no jump goes back over it, and no array and no changed
        // offload is used on both sides.
        let is_possible = |at: &usize| {
            let (before, after) = engine.steps.split_at(*at);
            let goes_back = after.iter().flat_map(next_steps).any(|to| to < *at);
            let of = |part: &[Step]| -> (BTreeSet<usize>, BTreeSet<usize>) {
                let called = part.iter().flat_map(called).filter(|one| changed.contains(one));
                (called.collect(), part.iter().flat_map(arrays).collect())
            };
            let (first, second) = (of(before), of(after));
            !goes_back && first.0.is_disjoint(&second.0) && first.1.is_disjoint(&second.1)
        };
        let mut ends: Vec<usize> = (1..steps).filter(is_possible).collect();
        ends.push(steps);
        let count = tiles.len().clamp(1, ends.len());
        let changes: Vec<bool> = engine
            .steps
            .iter()
            .map(|step| called(step).any(|one| changed.contains(&one)))
            .collect();
        let size = |stage: usize, from: usize, to: usize| {
            // Tiles that take turns cannot share state that packets change.
            let has_place = tiles[stage] == 1 || !changes[from..to].contains(&true);
            let size = sizes[from..to].iter().sum::<usize>().div_ceil(tiles[stage]);
            if has_place { size } else { usize::MAX }
        };
        // For each number of stages and each end: the size of the largest stage, and the cut before
        // the last stage.
        let mut best: Vec<Vec<(usize, usize)>> =
            vec![ends.iter().map(|end| (size(0, 0, *end), 0)).collect()];
        for stage in 1..count {
            let row = (0..ends.len()).map(|end| {
                let with = |cut: usize| {
                    let (largest, _) = best[stage - 1][cut];
                    (largest.max(size(stage, ends[cut], ends[end])), cut)
                };
                (stage - 1..end).map(with).min().unwrap_or((usize::MAX, 0))
            });
            best.push(row.collect());
        }
        let mut of = vec![0; steps];
        let mut end = ends.len() - 1;
        for stage in (1..count).rev() {
            let cut = best[stage][end].1;
            of[ends[cut]..ends[end]].fill(stage);
            end = cut;
        }
        Self { of, count: tiles.len(), tiles: tiles.to_vec() }
    }

    /// Checks stages. With a state owner, any tile can call offloads that packets change.
    ///
    /// # Errors
    /// The refusals: state that cannot be on several tiles, and jumps back to an earlier tile.
    pub fn check(&self, program: &Program, has_state_owner: bool) -> Result<(), Vec<Refused>> {
        let engine = &program.engines[program.main.index()];
        let changed = if has_state_owner { BTreeSet::new() } else { changed(program, engine) };
        let mut refused = Vec::new();
        for (number, step) in engine.steps.iter().enumerate() {
            let own = self.of[number];
            for to in next_steps(step).filter(|to| self.of[*to] < own) {
                let other = &engine.steps[to].name;
                refused.push(Refused {
                    offload: None,
                    step: Some(step.name.clone()),
                    message: format!(
                        "step `{}` of stage {own} goes back to step `{other}` of stage {}: put \
                         both on one tile",
                        step.name, self.of[to]
                    ),
                });
            }
            let elsewhere = |same: &dyn Fn(&Step) -> bool| {
                let steps = engine.steps.iter().zip(&self.of);
                steps.take(number).find(|(step, of)| **of != own && same(step)).map(|(s, _)| s)
            };
            for offload in called(step).filter(|offload| changed.contains(offload)) {
                let tiles = self.tiles[own];
                if tiles > 1 {
                    let name = &engine.offloads[offload].name;
                    refused.push(Refused {
                        offload: Some(name.clone()),
                        step: Some(step.name.clone()),
                        message: format!(
                            "offload `{name}` changes, and step `{}` calls it on {tiles} tiles in \
                             turn, whose caches are not coherent: give its stage one tile",
                            step.name
                        ),
                    });
                    continue;
                }
                if let Some(other) = elsewhere(&|step| called(step).any(|one| one == offload)) {
                    let name = &engine.offloads[offload].name;
                    refused.push(Refused {
                        offload: Some(name.clone()),
                        step: Some(step.name.clone()),
                        message: format!(
                            "offload `{name}` changes, and steps `{}` and `{}` call it on two \
                             tiles, whose caches are not coherent: put both on one tile",
                            other.name, step.name
                        ),
                    });
                }
            }
            for array in arrays(step) {
                if let Some(other) = elsewhere(&|step| arrays(step).any(|one| one == array)) {
                    refused.push(Refused {
                        offload: None,
                        step: Some(step.name.clone()),
                        message: format!(
                            "array `{}` of the context is used by steps `{}` and `{}` on two \
                             tiles: put both on one tile",
                            engine.arrays[array].name, other.name, step.name
                        ),
                    });
                }
            }
        }
        if refused.is_empty() { Ok(()) } else { Err(refused) }
    }

    /// Returns an offload that the packet engine changes, and the first step that calls it. Such an
    /// engine needs a single chain or a state owner.
    pub fn changes(program: &Program) -> Option<(String, String)> {
        let engine = &program.engines[program.main.index()];
        let first = changed(program, engine).into_iter().next()?;
        let step = engine.steps.iter().find(|step| called(step).any(|one| one == first))?;
        Some((engine.offloads[first].name.clone(), step.name.clone()))
    }
}

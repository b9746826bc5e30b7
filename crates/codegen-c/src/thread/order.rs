//! Objects that must see packets in order of arrival. This module finds the last call that a packet
//! makes of such an object.
//!
//! The message passing engine numbers the calls that a packet makes of such an object, and the
//! object executes them packet by packet. So that the next packet can start as early as possible,
//! the program releases an object when a packet has finished with it: after the last possible call,
//! and on entry to a step from which no call can be reached. The end of the packet releases all
//! other objects.

use std::collections::BTreeSet;

use wireloom_compile::analysis::order;
use wireloom_ir::{Engine, EngineId, EngineKind, OffloadId, OpKind, Program};

use super::super::plan;
use super::elements::{Caller, Elements};
use super::message::objects;

/// The releases that an engine sends for its packets' objects. A called engine sends none: its
/// caller does.
#[derive(Debug)]
pub struct Releases {
    /// The offloads that each step and its successors may call.
    reach: Vec<BTreeSet<usize>>,
    /// The order-sensitive objects of each offload, relative to the engine's first object.
    objects: Vec<Vec<usize>>,
    /// The successors of each step.
    behind: Vec<Vec<usize>>,
}

impl Releases {
    /// Analyses an engine.
    pub fn new(caller: &Caller<'_>) -> Self {
        let Caller { program, id, elements } = *caller;
        let engine = caller.engine();
        let mut releases = Self {
            reach: vec![BTreeSet::new(); engine.steps.len()],
            objects: vec![Vec::new(); engine.offloads.len()],
            behind: engine.steps.iter().map(|step| plan::successors(step).collect()).collect(),
        };
        if !matches!(engine.kind, EngineKind::Packet) {
            return releases;
        }
        let sensitive = ordered_objects(program, elements);
        let firsts = elements.first_objects(program, id);
        for OffloadId(offload) in order::sensitive(program, id) {
            let offload = offload as usize;
            let end = firsts.get(offload + 1).copied().unwrap_or(sensitive.len());
            releases.objects[offload] =
                (firsts[offload]..end).filter(|object| sensitive[*object]).collect();
        }
        releases.find_reach(engine);
        releases
    }

    fn find_reach(&mut self, engine: &Engine) {
        for (reach, step) in self.reach.iter_mut().zip(&engine.steps) {
            reach.extend(step.ops().filter_map(|op| match &op.kind {
                OpKind::Call { offload, .. } => Some(offload.index()),
                _ => None,
            }));
        }
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for from in (0..engine.steps.len()).rev() {
                let before = self.reach[from].len();
                let behind = self.behind(from);
                self.reach[from].extend(behind);
                changed |= self.reach[from].len() != before;
            }
        }
    }

    /// Returns the offloads that successors of a step may call.
    fn behind(&self, step: usize) -> BTreeSet<usize> {
        self.behind[step].iter().flat_map(|to| &self.reach[*to]).copied().collect()
    }

    /// Returns the objects that packets no longer need on entry to a step, but may have needed in
    /// the step before.
    pub fn at(&self, step: usize) -> Vec<usize> {
        let before = (0..self.reach.len()).filter(|from| self.behind[*from].contains(&step));
        let before: BTreeSet<usize> = before.flat_map(|from| &self.reach[from]).copied().collect();
        before
            .difference(&self.reach[step])
            .flat_map(|offload| &self.objects[*offload])
            .copied()
            .collect()
    }

    /// Returns the objects that packets have finished with after the last call of an offload in a
    /// step.
    pub fn behind_last(&self, step: usize, offload: usize) -> &[usize] {
        if self.behind(step).contains(&offload) { &[] } else { &self.objects[offload] }
    }
}

/// Returns, for each of a program's [`objects`], whether it must see packets in order of arrival.
pub fn ordered_objects(program: &Program, elements: &Elements) -> Vec<bool> {
    let mut ordered = Vec::new();
    collect(program, elements, program.main, &mut ordered);
    assert_eq!(ordered.len(), objects(program, elements).len());
    ordered
}

fn collect(program: &Program, elements: &Elements, id: EngineId, ordered: &mut Vec<bool>) {
    let sensitive = order::sensitive(program, id);
    for (index, offload) in program.engines[id.index()].offloads.iter().enumerate() {
        match offload.target {
            wireloom_ir::OffloadTarget::Engine(inner) if !elements.contains(id, index) => {
                collect(program, elements, inner, ordered);
            }
            _ => ordered.push(sensitive.contains(&OffloadId(index as u32))),
        }
    }
}

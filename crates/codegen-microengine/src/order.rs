//! Offloads that are called in the order of packets, and where a thread passes its turn on.

use std::collections::BTreeSet;

use wireloom_codegen::steps::next_step;
use wireloom_ir::{Engine, OffloadTarget, Op, OpKind, Step};
use wireloom_offloads::{StateUse, registry};

use super::kind::{KindOnMicroengines, Kinds};

/// The offloads of an engine that are called in the order of packets, and the steps that can reach
/// them.
#[derive(Clone, Debug)]
pub struct Order {
    /// The numbers of the offloads.
    offloads: Vec<usize>,
    /// The number of order gates. If there are more offloads than gates, offloads share gates.
    gates: usize,
    /// The number of words of the scratchpad in a gate: one for each packet in flight.
    ring: u32,
    /// The first word of the first gate.
    first: u32,
    /// For each step, the offloads that it or a later step may call.
    reached: Vec<BTreeSet<usize>>,
}

/// Returns the offload that an operation calls, and the method's use of its state.
fn used(engine: &Engine, op: &Op) -> Option<(usize, StateUse)> {
    let OpKind::Call { offload, method, .. } = &op.kind else { return None };
    let offload = offload.index();
    let OffloadTarget::Kind(config) = &engine.offloads[offload].target else { return None };
    let kind = registry::kind(&config.kind)?;
    Some((offload, kind.methods[*method].state))
}

/// Returns whether calls must come in the order of packets.
fn is_ordered(kind: Option<&dyn KindOnMicroengines>, uses: &[StateUse]) -> bool {
    let has = |state| uses.contains(&state);
    let is_atomic = kind.is_some_and(|kind| kind.is_atomic());
    has(StateUse::Change) || has(StateUse::Commuting) && (has(StateUse::Read) || !is_atomic)
}

impl Order {
    /// Finds the offloads. There are at most `most` gates, of `ring` words each, from word `first`
    /// of the scratchpad on.
    pub fn of(engine: &Engine, kinds: &Kinds, most: u32, ring: u32, first: u32) -> Self {
        let mut uses = vec![Vec::new(); engine.offloads.len()];
        for op in engine.steps.iter().flat_map(Step::ops) {
            if let Some((offload, state)) = used(engine, op) {
                uses[offload].push(state);
            }
        }
        let is_ordered = |number: &usize| match &engine.offloads[*number].target {
            OffloadTarget::Kind(_) => is_ordered(kinds.get(*number), &uses[*number]),
            OffloadTarget::Engine(_) => false,
        };
        let offloads: Vec<usize> = (0..engine.offloads.len()).filter(is_ordered).collect();
        let own = |step: &Step| {
            let used = step.ops().filter_map(|op| used(engine, op));
            used.map(|(offload, _)| offload).filter(|offload| offloads.contains(offload)).collect()
        };
        let mut reached: Vec<BTreeSet<usize>> = engine.steps.iter().map(own).collect();
        let mut is_stable = false;
        while !is_stable {
            is_stable = true;
            for (number, step) in engine.steps.iter().enumerate().rev() {
                for op in step.ops() {
                    let Some(to) = next_step(op) else { continue };
                    let more = reached[to].clone();
                    if !more.is_subset(&reached[number]) {
                        reached[number].extend(more);
                        is_stable = false;
                    }
                }
            }
        }
        let gates = offloads.len().min(most as usize);
        Self { offloads, gates, ring, first, reached }
    }

    /// Returns the number of gates that fit into a scratchpad of `words` words, from word `first`
    /// on.
    pub fn most(words: u32, first: u32, ring: u32) -> u32 {
        words.saturating_sub(first) / ring
    }

    pub fn gates(&self) -> u32 {
        self.gates as u32
    }

    /// Returns the first word of the gate of an offload, if the offload is called in order.
    pub fn gate(&self, offload: usize) -> Option<u32> {
        let position = self.offloads.iter().position(|ordered| *ordered == offload)?;
        Some(self.first + self.ring * (position % self.gates) as u32)
    }

    /// Returns the number of words of the scratchpad up to the end of the last gate.
    pub fn words(&self) -> u32 {
        self.first + self.ring * self.gates()
    }

    /// Returns the gates of the offloads that a thread no longer calls when it goes from a step to
    /// another one, or ends.
    pub fn passed(&self, from: usize, to: Option<usize>) -> BTreeSet<u32> {
        let gates = |step: usize| -> BTreeSet<u32> {
            self.reached[step].iter().filter_map(|offload| self.gate(*offload)).collect()
        };
        let kept = to.map(gates).unwrap_or_default();
        gates(from).difference(&kept).copied().collect()
    }
}

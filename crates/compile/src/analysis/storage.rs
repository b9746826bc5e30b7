//! Assigns storage to the context variables of a thread. Variables that are never live together
//! share bits.
//!
//! A thread's context is one vector of bits. It is zero when the thread begins (except for the
//! parameters of a called engine). It is read when a step begins and written when it ends. So only
//! values that live from one step to the next need room. Two variables may share bits unless some
//! step leaves both of them for later. Every step on a path to a read leaves the variable, whether
//! it was written or reads as zero. A step may write a variable that only one of its successors
//! reads. That write overwrites the bits that another successor keeps there, so it counts too.

use wireloom_ir::{ContextId, Engine, EngineKind, OpKind};

use super::liveness::{ContextSet, Liveness};

/// The position of each context variable of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// The lowest bit of each variable, by the variable's number.
    pub offsets: Vec<u32>,
    /// Length of the vector in bits.
    pub bits: u32,
}

impl Storage {
    /// Assigns the storage of an engine. Wide variables are placed first, each at the lowest free
    /// offset.
    pub fn of(engine: &Engine) -> Self {
        let together = together(engine);
        let width = |index: usize| engine.context[index].width;
        let mut order: Vec<usize> = (0..engine.context.len()).collect();
        order.sort_by_key(|index| (std::cmp::Reverse(width(*index)), *index));
        let mut offsets: Vec<Option<u32>> = vec![None; engine.context.len()];
        let mut bits = 0;
        for index in order {
            let mut taken: Vec<(u32, u32)> = together[index]
                .iter()
                .filter_map(|other| Some((offsets[other.index()]?, width(other.index()))))
                .collect();
            taken.sort_unstable();
            let offset = taken.into_iter().fold(0, |offset: u32, (first, width_of_other)| {
                if offset + width(index) <= first {
                    offset
                } else {
                    offset.max(first + width_of_other)
                }
            });
            offsets[index] = Some(offset);
            bits = bits.max(offset + width(index));
        }
        Self { offsets: offsets.into_iter().map(|o| o.expect("each was placed")).collect(), bits }
    }
}

/// Returns for each variable the variables that must not share its bits.
fn together(engine: &Engine) -> Vec<ContextSet> {
    let empty = ContextSet::empty(engine.context.len());
    let mut together = vec![empty.clone(); engine.context.len()];
    let mut apart = |set: &ContextSet| {
        for id in set.iter() {
            together[id.index()].extend(set);
        }
    };
    let liveness = Liveness::of(engine);
    let mut first = liveness.live_in.first().cloned().unwrap_or(empty);
    if let EngineKind::Call { params, .. } = &engine.kind {
        params.iter().for_each(|p| first.insert(*p));
    }
    apart(&first);
    for (step, live) in engine.steps.iter().zip(&liveness.live_out) {
        let mut left = live.clone();
        step.for_each_op(|op| {
            if let OpKind::WriteContext(id, _) = op.kind {
                left.insert(id);
            }
        });
        apart(&left);
    }
    for (index, set) in together.iter_mut().enumerate() {
        set.remove(ContextId(index as u32));
    }
    together
}

//! Counts the slots that packets take in a multithreaded engine.
//!
//! A slot is one pass of a thread through the engine's pipeline. A step takes one slot, and a
//! second one if it waits for replies: the first issues the calls, the second uses the replies.
//! Threads do not wait for calls without a reply.

use serde::Serialize;
use wireloom_ir::{Engine, Exit, OpKind, Step, StepId};

use super::effects::successors;
use super::loops::Loops;

/// A path through the steps of an engine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Path {
    /// Whether the path is one round of a loop: from its first step back to that step.
    pub is_round: bool,
    /// The slots of all its steps, if they issue all of their calls.
    pub slots: u32,
    /// The indices of its steps.
    pub steps: Vec<usize>,
}

/// Maximum number of paths that are listed. Hand-written programs have fewer.
const MOST_PATHS: usize = 100;

/// Returns the slots of a step, if it issues all of its calls.
pub fn of_step(step: &Step) -> u32 {
    let mut waits = false;
    step.for_each_op(|op| {
        waits |= matches!(op.kind, OpKind::Call { .. }) && !op.results.is_empty()
    });
    1 + u32::from(waits)
}

/// Returns the paths from the first step to one that sends the packet or replies. No path visits a
/// step twice. Also returns the shortest round for each jump that closes a loop.
pub fn paths(engine: &Engine) -> Vec<Path> {
    let slots: Vec<u32> = engine.steps.iter().map(of_step).collect();
    let successors: Vec<Vec<usize>> = engine.steps.iter().map(successors).collect();
    let path = |is_round, steps: Vec<usize>| {
        let slots = steps.iter().map(|s| slots[*s]).sum();
        Path { is_round, slots, steps }
    };
    let mut found = Vec::new();
    let mut open: Vec<Vec<usize>> =
        if engine.steps.is_empty() { Vec::new() } else { vec![vec![0]] };
    while let Some(way) = open.pop() {
        let last = *way.last().expect("a way has steps");
        if sends(&engine.steps[last]) {
            found.push(path(false, way.clone()));
        }
        if found.len() == MOST_PATHS {
            break;
        }
        let fresh = successors[last].iter().filter(|next| !way.contains(next));
        open.extend(fresh.map(|next| [&way[..], &[*next]].concat()));
    }
    let loops = Loops::of(engine);
    for (from, next) in successors.iter().enumerate() {
        for &to in next.iter().filter(|to| loops.closes(StepId(from as u32), StepId(**to as u32))) {
            found.extend(shortest(&successors, &slots, to, from).map(|steps| path(true, steps)));
        }
    }
    found.sort();
    found.dedup();
    found
}

fn sends(step: &Step) -> bool {
    let mut sends = false;
    step.for_each_op(|op| {
        sends |= matches!(op.kind, OpKind::Exit(Exit::Finish | Exit::Reply(_)));
    });
    sends
}

/// Returns the path with the fewest slots (Dijkstra, 1959).
fn shortest(
    successors: &[Vec<usize>],
    slots: &[u32],
    from: usize,
    to: usize,
) -> Option<Vec<usize>> {
    let mut best: Vec<Option<(u32, usize)>> = vec![None; slots.len()];
    let mut open = std::collections::BTreeSet::from([(slots[from], from, from)]);
    while let Some((cost, step, before)) = open.pop_first() {
        if best[step].is_some() {
            continue;
        }
        best[step] = Some((cost, before));
        open.extend(successors[step].iter().map(|next| (cost + slots[*next], *next, step)));
    }
    best[to]?;
    let mut way = vec![to];
    while *way.last()? != from {
        way.push(best[*way.last()?]?.1);
    }
    way.reverse();
    Some(way)
}

//! The ways of packets between steps.

use wireloom_ir::{Copied, Engine, Exit, OpKind};

/// Returns the label of a step.
pub(super) fn label(step: usize) -> String {
    format!("step{step}")
}

/// The place at which a packet enters a part from another part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Entry {
    Step(usize),
    /// The packet leaves by its egress port.
    Finish,
    /// The packet leaves by its egress port, and the thread continues.
    Emit,
    /// The packet ends with the word in `control`.
    End,
}

impl Entry {
    pub(super) fn label(self) -> String {
        match self {
            Self::Step(step) => label(step),
            Self::Finish => "finish".into(),
            Self::Emit => "emit".into(),
            Self::End => "end".into(),
        }
    }

    /// Returns whether the entry is in a part with these steps.
    pub(super) fn is_in(self, steps: &[usize]) -> bool {
        match self {
            Self::Step(step) => steps.contains(&step),
            Self::Finish | Self::Emit | Self::End => steps.contains(&0),
        }
    }
}

/// Returns the entries to which packets go from a step, with their probabilities.
pub(super) fn exits(engine: &Engine, step: usize) -> Vec<(Entry, f64)> {
    let mut exits = Vec::new();
    for op in engine.steps[step].ops() {
        let OpKind::Exit(exit) = &op.kind else { continue };
        // Packets that jump back too often end.
        if matches!(exit, Exit::Next(to) if to.index() <= step) {
            exits.push((Entry::End, 0.0));
        }
        exits.push(match exit {
            Exit::Next(to) => (Entry::Step(to.index()), 1.0),
            Exit::Finish => (Entry::Finish, 1.0),
            Exit::Emit(_, Copied { cpu: None, .. }) => (Entry::Emit, 1.0),
            Exit::Emit(..) => (Entry::End, 1.0),
            // Most packets are neither dropped nor sent to the processor core.
            _ => (Entry::End, 0.01),
        });
    }
    let all: f64 = exits.iter().map(|(_, share)| share).sum();
    exits.iter_mut().for_each(|(_, share)| *share /= all.max(1e-9));
    exits
}

/// Returns the steps to which the packets of a step go, or threads after one was sent.
pub(super) fn targets(engine: &Engine, step: usize) -> impl Iterator<Item = usize> {
    engine.steps[step].ops().filter_map(|op| match &op.kind {
        OpKind::Exit(Exit::Next(to) | Exit::Emit(to, _)) => Some(to.index()),
        _ => None,
    })
}

/// Returns the steps at which threads continue after one of these steps has sent a packet.
pub(super) fn resumed<'a>(
    engine: &Engine,
    steps: impl IntoIterator<Item = &'a usize>,
) -> Vec<usize> {
    let exits = steps.into_iter().flat_map(|step| engine.steps[*step].ops());
    let exits = exits.filter_map(|op| match &op.kind {
        OpKind::Exit(Exit::Emit(to, _)) => Some(to.index()),
        _ => None,
    });
    let mut steps: Vec<usize> = exits.collect();
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// Returns the share of packets that enter each step, if all exits were equally likely.
pub(super) fn visits(engine: &Engine) -> Vec<f64> {
    let mut visits = vec![0.0; engine.steps.len()];
    if let Some(first) = visits.first_mut() {
        *first = 1.0;
    }
    for step in 0..engine.steps.len() {
        for (entry, share) in exits(engine, step) {
            if let Entry::Step(to) = entry
                && to > step
            {
                visits[to] += visits[step] * share;
            }
        }
    }
    visits
}

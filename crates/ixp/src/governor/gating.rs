//! Clock gating by the thread queue, as in the NePSim talk: a counter rises while more threads than
//! a number wait for packets; when it exceeds its threshold an engine stops and the threshold
//! falls. A full buffer starts an engine, and the threshold rises.
//!
//! Not the talk's: a packet that has waited at a port for too long starts an engine like a full
//! buffer. Otherwise a buffer that is large enough never to fill leaves engines stopped while packets
//! wait.
//!
//! The talk leaves open that the counter starts again from 0 after both, that the engine with the
//! highest number stops first, and how often the queue is looked at: once in each period.

use super::{Action, GatingSpec, Seen, first_to_start, last_to_stop};

/// The governor.
#[derive(Clone, Copy, Debug)]
pub struct Gating {
    spec: GatingSpec,
    counter: u32,
    threshold: u32,
}

impl Gating {
    /// Creates it.
    pub fn new(spec: GatingSpec) -> Self {
        Self { spec, counter: 0, threshold: spec.count }
    }

    /// Decides at the end of a period, or when a buffer is full.
    pub fn decide(&mut self, seen: &Seen) -> Vec<Action> {
        if seen.is_urgent || seen.is_late {
            let Some(engine) = first_to_start(seen) else { return Vec::new() };
            self.threshold += 1;
            self.counter = 0;
            return vec![Action::Start { engine }];
        }
        if seen.waiting <= self.spec.waiting {
            return Vec::new();
        }
        self.counter += 1;
        if self.counter <= self.threshold {
            return Vec::new();
        }
        let Some(engine) = last_to_stop(seen) else { return Vec::new() };
        self.threshold = self.threshold.saturating_sub(1);
        self.counter = 0;
        vec![Action::Stop { engine }]
    }
}

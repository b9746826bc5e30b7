//! Clock gating by the thread queue, as in the NePSim talk. A counter rises while more threads than
//! a limit wait for packets. When it exceeds a threshold, an engine stops and the threshold falls.
//! A full buffer starts an engine, and the threshold rises.
//!
//! An addition to the talk: a packet that has waited too long at a port also starts an engine.
//! Otherwise a buffer that never fills would leave engines stopped while packets wait.
//!
//! The talk leaves three points open. Here the counter restarts from 0 after both events, the
//! engine with the highest number stops first, and the queue is checked once in each period.

use super::{Action, GatingSpec, Seen, first_to_start, last_to_stop};

/// The governor `gating`.
#[derive(Clone, Copy, Debug)]
pub struct Gating {
    spec: GatingSpec,
    counter: u32,
    threshold: u32,
}

impl Gating {
    /// Creates a governor.
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

//! Voltage and clock scaling by idle time, for each engine separately, as in the NePSim talk. After
//! each period an engine that was idle for more than a threshold slows down by a step; an engine
//! that was idle for less speeds up by a step.

use super::{Action, DvsSpec, Mode, Seen};

/// The governor `dvs`.
#[derive(Clone, Copy, Debug)]
pub struct Dvs {
    spec: DvsSpec,
    last: usize,
}

impl Dvs {
    /// Creates a governor for steps 0 to `last`.
    pub fn new(spec: DvsSpec, last: usize) -> Self {
        Self { spec, last }
    }

    /// Decides at the end of a period.
    pub fn decide(&mut self, seen: &Seen) -> Vec<Action> {
        let threshold = f64::from(self.spec.idle_percent) / 100.0;
        let engines = seen.engines.iter().enumerate();
        let running = engines.filter(|(_, seen)| seen.mode == Mode::Running && !is_new(seen.idle));
        let actions = running.filter_map(|(engine, seen)| {
            let step = match seen.idle {
                idle if idle > threshold => (seen.step + 1).min(self.last),
                idle if idle < threshold => seen.step.saturating_sub(1),
                _ => seen.step,
            };
            (step != seen.step).then_some(Action::Step { engine, step })
        });
        actions.collect()
    }
}

/// Whether an engine had no cycle in the period, so that its idle time is unknown.
fn is_new(idle: f64) -> bool {
    idle.is_nan()
}

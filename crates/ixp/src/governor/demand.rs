//! Capacity by demand: the chip does what the packets to be served need, and no more.
//!
//! By Little's law the threads that do not wait for packets measure the load relative to the
//! present capacity. The governor keeps their share between two marks: below the lower one capacity
//! falls by a level, from the upper one on it rises. The levels are first slower steps of all
//! engines, as energy falls with the square of the voltage, then fewer engines at the slowest step.
//!
//! Three rules keep packets from being lost. A port that fills to a mark starts all engines at
//! once and makes all engines faster. Few engines change their voltage at a time, since an engine does
//! not run during a change. Capacity falls only while no port holds a backlog, and once in a few
//! periods.
//!
//! One rule saves where idle time or queues see nothing: if a bus or memory is full, faster engines
//! would only wait for it longer. Then capacity falls although all threads are in use, as long as
//! the unit stays full; when it does not, capacity rises again, and the next attempt waits twice as
//! long.

use super::{Action, DemandSpec, Mode, Seen};

/// The longest wait after attempts that failed, in periods.
const LONGEST: u32 = 1 << 12;

/// The governor.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    spec: DemandSpec,
    last: usize,
    /// The wanted step of all engines.
    step: usize,
    /// Engines that are wanted to stop, once all are at the last step.
    stopped: usize,
    /// Periods until capacity may fall again.
    wait: u32,
    /// The wait after the next attempt at a full unit that fails.
    backoff: u32,
    /// Whether the present level is an attempt at a full unit.
    is_attempt: bool,
}

impl Demand {
    /// Creates it for steps 0 to `last`.
    pub fn new(spec: DemandSpec, last: usize) -> Self {
        let wait = spec.patience;
        Self { spec, last, step: 0, stopped: 0, wait, backoff: 8 * wait, is_attempt: false }
    }

    /// The MPKTs in a port from which on all engines start.
    pub fn mark(&self, receive_mpkts: u32) -> u32 {
        (receive_mpkts * self.spec.urgent_percent / 100).max(1)
    }

    /// Decides at the end of a period, or when a port fills.
    pub fn decide(&mut self, seen: &Seen) -> Vec<Action> {
        if seen.is_urgent {
            self.stopped = 0;
            // At a full unit a backlog says nothing about the engines.
            if !self.is_attempt {
                self.step = self.step.saturating_sub(1);
                self.wait = self.spec.patience;
            }
        } else if seen.threads > 0 {
            self.weigh(seen);
        }
        self.actions(seen)
    }

    /// Chooses the level for the next period.
    fn weigh(&mut self, seen: &Seen) {
        let percent = |share: f64| 100.0 * share;
        let used = percent(1.0 - seen.mean_waiting / f64::from(seen.threads));
        let is_full = percent(seen.busiest) >= f64::from(self.spec.full_percent);
        let is_settled = seen.engines.iter().all(|engine| {
            engine.mode != Mode::Changing
                && engine.mode != Mode::Stopping
                && (engine.mode == Mode::Stopped || engine.step == self.step)
        });
        self.wait = self.wait.saturating_sub(1);
        if used >= f64::from(self.spec.high_percent) && !is_full {
            if self.is_attempt {
                // The unit is not full any more: the engines are too slow for it.
                self.wait = self.backoff;
                self.backoff = (2 * self.backoff).min(LONGEST);
            } else {
                self.wait = self.wait.max(self.spec.patience);
            }
            self.is_attempt = false;
            self.rise();
        } else if self.wait == 0 && is_settled {
            let is_low = used < f64::from(self.spec.low_percent) && seen.backlog <= 1;
            if is_low || is_full && self.step < self.last {
                self.is_attempt = is_full && !is_low;
                self.fall(seen);
                self.wait = self.spec.patience;
            }
        }
    }

    fn rise(&mut self) {
        if self.stopped > 0 {
            self.stopped -= 1;
        } else {
            self.step = self.step.saturating_sub(1);
        }
    }

    fn fall(&mut self, seen: &Seen) {
        if self.step < self.last {
            self.step += 1;
        } else if seen.engines.iter().any(|engine| engine.can_stop && engine.mode == Mode::Running)
        {
            self.stopped += 1;
        }
    }

    /// What brings the engines closer to the level.
    fn actions(&self, seen: &Seen) -> Vec<Action> {
        let mut actions = Vec::new();
        let is_off = |mode| matches!(mode, Mode::Stopping | Mode::Stopped);
        let off = seen.engines.iter().filter(|engine| is_off(engine.mode)).count();
        let engines = || seen.engines.iter().enumerate();
        // Start those with the lowest numbers, stop those with the highest.
        let starts = engines().filter(|(_, engine)| is_off(engine.mode));
        let starts = starts.take(off.saturating_sub(self.stopped));
        actions.extend(starts.map(|(engine, _)| Action::Start { engine }));
        let stops = engines().rev().filter(|(_, e)| e.mode == Mode::Running && e.can_stop);
        // One after the other: what can stop depends on who has.
        let stops: Vec<usize> = stops.map(|(engine, _)| engine).take(1).collect();
        let stops = if off < self.stopped { stops } else { Vec::new() };
        actions.extend(stops.iter().map(|&engine| Action::Stop { engine }));
        let changing = engines().filter(|(_, engine)| engine.mode == Mode::Changing).count();
        let room = (self.spec.changes as usize).saturating_sub(changing);
        let others = engines().filter(|(number, engine)| {
            engine.mode == Mode::Running && engine.step != self.step && !stops.contains(number)
        });
        let steps = others.take(room).map(|(number, engine)| {
            let step = if engine.step < self.step { engine.step + 1 } else { engine.step - 1 };
            Action::Step { engine: number, step }
        });
        actions.extend(steps);
        actions
    }
}

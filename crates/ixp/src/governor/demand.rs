//! Capacity by demand: the chip does what the packets to be served need, and no more.
//!
//! By Little's law the threads that do not wait for packets measure the load relative to the
//! present capacity, the sum of the engines' clocks. When their share leaves the range between two
//! marks, the governor computes the capacity that puts it into the middle. It takes the slowest step
//! at which all engines together have it, as energy falls with the square of the voltage; if the
//! slowest of all steps is enough, it stops engines that are not needed there.
//!
//! Four rules keep packets from being lost. A port that fills to a mark starts all engines at once
//! and makes slow ones faster. Engines that are stopped wait at the fastest step, where they only
//! leak, so they start without a change of voltage. An engine does not run during a change, so only
//! as many change at a time as the load can miss, and `changes` if it can miss none. Capacity falls
//! only while no port holds a backlog, and once in a few periods.
//!
//! One rule saves where idle time or queues see nothing: if a bus or memory is full, faster engines
//! would only wait for it longer. Then capacity falls although all threads are in use, as long as
//! the unit stays full; when it does not, capacity rises again, and the next attempt waits twice as
//! long.

use super::{Action, DemandSpec, Mode, Seen, last_to_stop};

/// The longest wait after attempts that failed, in periods.
const LONGEST: u32 = 1 << 12;

/// The governor.
#[derive(Clone, Debug)]
pub struct Demand {
    spec: DemandSpec,
    /// The clock of each step relative to that of the first.
    rates: Vec<f64>,
    /// The wanted step of all engines.
    pub(super) step: usize,
    /// Engines that are wanted to stop.
    pub(super) stopped: usize,
    /// Periods until capacity may fall again.
    wait: u32,
    /// The wait after the next attempt at a full unit that fails.
    backoff: u32,
    /// Whether the present level is an attempt at a full unit.
    is_attempt: bool,
    /// The share of threads in use in the last period.
    used: f64,
}

impl Demand {
    /// Creates it for steps with these clocks relative to that of the first, one or more.
    pub fn new(spec: DemandSpec, rates: Vec<f64>) -> Self {
        Self {
            spec,
            rates,
            step: 0,
            stopped: 0,
            wait: spec.patience,
            backoff: 8 * spec.patience,
            is_attempt: false,
            used: 1.0,
        }
    }

    /// The MPKTs in a port from which on all engines start.
    pub fn mark(&self, receive_mpkts: u32) -> u32 {
        (receive_mpkts * self.spec.urgent_percent / 100).max(1)
    }

    /// Decides at the end of a period, or when a port fills.
    pub fn decide(&mut self, seen: &Seen) -> Vec<Action> {
        if seen.is_urgent {
            (self.stopped, self.used) = (0, 1.0);
            // At a full unit a backlog says nothing about the engines.
            if !self.is_attempt {
                self.step = 0;
                self.wait = self.spec.patience;
            }
        } else if seen.threads > 0 {
            self.weigh(seen);
        }
        self.actions(seen)
    }

    /// Chooses the level for the next period.
    fn weigh(&mut self, seen: &Seen) {
        let [low, high, full] =
            [self.spec.low_percent, self.spec.high_percent, self.spec.full_percent]
                .map(|percent| f64::from(percent) / 100.0);
        self.used = 1.0 - seen.mean_waiting / f64::from(seen.threads);
        let is_full = seen.busiest >= full;
        let is_settled = seen.engines.iter().all(|engine| {
            !matches!(engine.mode, Mode::Changing | Mode::Stopping)
                && (engine.mode == Mode::Stopped || engine.step == self.step)
        });
        self.wait = self.wait.saturating_sub(1);
        if self.used >= high && !is_full {
            if self.is_attempt {
                // The unit is not full any more: the engines are too slow for it.
                self.wait = self.backoff;
                self.backoff = (2 * self.backoff).min(LONGEST);
                self.step = self.step.saturating_sub(1);
            } else {
                self.wait = self.wait.max(self.spec.patience);
                let before = (self.step, self.stopped);
                self.fit(seen, (low + high) / 2.0);
                // Threads that never wait do not tell how much is missing.
                if self.used > 0.95 || (self.step, self.stopped) == before {
                    (self.step, self.stopped) = (0, 0);
                }
            }
            self.is_attempt = false;
        } else if self.wait == 0 && is_settled {
            if self.used < low && seen.backlog <= 1 {
                self.is_attempt = false;
                self.fit(seen, (low + high) / 2.0);
                self.wait = self.spec.patience;
            } else if is_full && self.step + 1 < self.rates.len() {
                self.is_attempt = true;
                self.step += 1;
                self.wait = self.spec.patience;
            }
        }
    }

    /// Chooses the level at which this share of threads would be in use.
    fn fit(&mut self, seen: &Seen, share: f64) {
        let receivers = || seen.engines.iter().filter(|engine| engine.receives);
        let running = receivers().filter(|engine| !is_off(engine.mode));
        let capacity: f64 = running.map(|engine| self.rates[engine.step]).sum();
        let needed = self.used * capacity / share;
        let all = receivers().count();
        let last = self.rates.len() - 1;
        let enough = |rate: &f64| *rate * all as f64 >= needed;
        self.step = self.rates.iter().rposition(enough).unwrap_or(0);
        self.stopped = 0;
        if self.step == last {
            let engines = (needed / self.rates[last]).ceil().max(1.0) as usize;
            self.stopped = all.saturating_sub(engines);
        }
    }

    /// What brings the engines closer to the level.
    fn actions(&self, seen: &Seen) -> Vec<Action> {
        let engines = || seen.engines.iter().enumerate();
        let off = engines().filter(|(_, engine)| is_off(engine.mode)).count();
        // Start those with the lowest numbers, stop those with the highest, one at a time: what can
        // stop depends on what has.
        let starts = engines().filter(|(_, engine)| is_off(engine.mode)).map(|(engine, _)| engine);
        let starts: Vec<usize> = starts.take(off.saturating_sub(self.stopped)).collect();
        let stop = (off < self.stopped).then(|| last_to_stop(seen)).flatten();
        let running = engines().filter(|(engine, seen)| {
            matches!(seen.mode, Mode::Running | Mode::Changing) && stop != Some(*engine)
        });
        let running: Vec<_> = running.collect();
        let changing = running.iter().filter(|(_, seen)| seen.is_changing).count();
        let spare = 1.0 - self.used / (f64::from(self.spec.high_percent) / 100.0);
        let spare = (running.len() as f64 * spare).floor().max(0.0) as usize;
        let room = spare.max(self.spec.changes as usize).saturating_sub(changing);
        let others = running.iter().filter(|(_, engine)| {
            engine.mode == Mode::Running && !engine.is_changing && engine.step != self.step
        });
        let steps = others.take(room).map(|(number, engine)| {
            let step = if engine.step < self.step { engine.step + 1 } else { engine.step - 1 };
            Action::Step { engine: *number, step }
        });
        let waits = engines().filter(|(number, engine)| {
            let waits = engine.mode == Mode::Stopped && !starts.contains(number);
            waits && !engine.is_changing && engine.step > 0
        });
        let waits = waits.map(|(engine, seen)| Action::Step { engine, step: seen.step - 1 });
        let start = starts.iter().map(|&engine| Action::Start { engine });
        let stop = stop.into_iter().map(|engine| Action::Stop { engine });
        start.chain(stop).chain(steps).chain(waits).collect()
    }
}

/// Whether an engine takes no packets.
fn is_off(mode: Mode) -> bool {
    matches!(mode, Mode::Stopping | Mode::Stopped)
}

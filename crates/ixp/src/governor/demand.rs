//! Capacity by demand: the chip does what the packets to be served need, and no more.
//!
//! The governor knows from the last period how many threads do not wait for packets, and how much of
//! their time is work of engines. The rest, waits for memories and buses, takes as long at any clock.
//! So it can tell for every level what share of engine cycles and of threads would be in use. When
//! nearly all of either are in use and a backlog grows, capacity rises; when a lower level would stay below the lower mark with some threads to spare, capacity falls to it. Of the
//! levels, it takes the slowest step at which all engines together are enough, as energy falls with
//! the square of the voltage; at the slowest of all steps it stops engines that are not needed.
//!
//! Four rules keep packets from being lost. A port that fills to a mark starts all engines at once
//! and makes slow ones faster. Engines that are stopped wait at the fastest step, where they only
//! leak, so they start without a change of voltage. An engine does not run during a change; where
//! packets keep their order, all others soon wait for it, so it is best if all change together.
//! Capacity falls only while no port holds a backlog, and after bursts have filled ports it keeps more
//! in reserve for a while.
//!
//! One rule saves where idle time or queues see nothing: if a bus or memory is full, faster engines
//! would only wait for it longer. Then capacity falls although all threads are in use, as long as
//! the unit stays full; when it does not, capacity rises again, and the next attempt waits twice as
//! long.

use super::{Action, DemandSpec, Mode, Seen, last_to_stop};

/// The share of threads that may be in use: with more, packets wait.
const FREE: f64 = 0.95;
/// MPKTs in a port that are no backlog: those of packets that have just come.
const LITTLE: u32 = 4;
/// What a burst that fills a port makes of the share to which capacity falls; the least that it
/// becomes; what comes back in each period, of `low_percent`.
const CAUTION: f64 = 0.85;
const LEAST: f64 = 0.3;
const RECOVERY: f64 = 1.0 / 256.0;
/// Waits after capacity rose, of `patience` periods each.
const CALM: u32 = 8;
/// The longest wait after attempts that failed, in periods.
const LONGEST: u32 = 1 << 12;

/// The governor.
#[derive(Clone, Debug)]
pub struct Demand {
    spec: DemandSpec,
    /// The clock of each step relative to that of the first.
    rates: Vec<f64>,
    /// The MPKTs in a port from which on all engines start.
    mark: u32,
    /// The most MPKTs in a port, on average over some periods.
    backlog: f64,
    /// The wanted step of all engines.
    pub(super) step: usize,
    /// Engines that are wanted to stop.
    pub(super) stopped: usize,
    /// Periods until capacity may fall again.
    wait: u32,
    /// The wait after the next attempt at a full unit that fails.
    backoff: u32,
    /// The share in use to which capacity falls: less where bursts have filled ports.
    target: f64,
    /// Whether the present level is an attempt at a full unit.
    is_attempt: bool,
    /// Whether a unit was full in the last period.
    was_full: bool,
    /// Periods since the last change of an engine.
    settled: u32,
}

/// The load of a period, in threads and engines.
struct Load {
    /// Threads that did not wait for packets.
    threads: f64,
    /// Engines at work.
    engines: f64,
    /// The same in engines at the fastest step.
    work: f64,
    /// Engines that take packets, and their threads, when all run.
    all: f64,
    threads_each: f64,
}

impl Load {
    fn of(seen: &Seen, rates: &[f64]) -> Self {
        let receivers = || seen.engines.iter().filter(|engine| engine.receives);
        let all = receivers().count() as f64;
        let running = receivers().filter(|engine| !is_off(engine.mode));
        let on = running.clone().count().max(1) as f64;
        // An engine that had no cycle in the period counts as busy.
        let busy = |idle: f64| if idle.is_nan() { 1.0 } else { 1.0 - idle };
        Self {
            threads: f64::from(seen.threads) - seen.mean_waiting,
            engines: running.clone().map(|engine| busy(engine.idle)).sum(),
            work: running.map(|engine| busy(engine.idle) * rates[engine.step]).sum(),
            all,
            threads_each: f64::from(seen.threads) / on,
        }
    }

    /// Whether this number of engines at this clock would be enough: at most `share` of their cycles
    /// and not quite all of their threads would be in use.
    fn fits(&self, engines: f64, rate: f64, share: f64) -> bool {
        let busy = self.work / rate;
        let threads = self.threads - self.engines + busy;
        busy <= share * engines && threads <= FREE * engines * self.threads_each
    }
}

impl Demand {
    /// Creates it for steps with these clocks relative to that of the first, one or more.
    /// Ports have room for so many MPKTs.
    pub fn new(spec: DemandSpec, rates: Vec<f64>, receive_mpkts: u32) -> Self {
        Self {
            spec,
            rates,
            mark: (receive_mpkts * spec.urgent_percent / 100).max(1),
            backlog: 0.0,
            step: 0,
            stopped: 0,
            wait: spec.patience,
            backoff: 8 * spec.patience,
            target: f64::from(spec.low_percent) / 100.0,
            is_attempt: false,
            was_full: false,
            settled: 0,
        }
    }

    /// The MPKTs in a port from which on all engines start.
    pub fn mark(&self) -> u32 {
        self.mark
    }

    /// Decides at the end of a period, or when a port fills.
    pub fn decide(&mut self, seen: &Seen) -> Vec<Action> {
        if seen.is_urgent {
            // Faster engines stop first, so only a backlog that is still growing asks for them; at a
            // full unit it says nothing about the engines.
            let is_full = self.is_attempt && self.was_full;
            let hurries = self.step > 0 && seen.backlog >= 2 * self.mark && !is_full;
            if self.stopped > 0 || hurries {
                self.stopped = 0;
                self.step = if hurries { 0 } else { self.step };
                self.wait = self.spec.patience;
                self.target = (self.target * CAUTION).max(LEAST);
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
        self.target = (self.target + low * RECOVERY).min(low);
        let load = Load::of(seen, &self.rates);
        let on = seen.engines.iter().filter(|engine| engine.receives && !is_off(engine.mode));
        let on = on.count() as f64;
        // Engines or threads that are all in use are too few only if packets wait for them: part of
        // the work is asking whether it is a packet's turn.
        let threads = load.threads / (on * load.threads_each);
        let grows = f64::from(seen.backlog) > self.backlog && 2 * seen.backlog >= self.mark;
        self.backlog = 0.75 * self.backlog + 0.25 * f64::from(seen.backlog);
        let is_used = load.engines / on >= high || threads > FREE;
        let is_full = seen.busiest >= full;
        let is_settled = seen.engines.iter().all(|engine| {
            !matches!(engine.mode, Mode::Changing | Mode::Stopping)
                && (engine.mode == Mode::Stopped || engine.step == self.step)
        });
        self.settled = if is_settled { self.settled + 1 } else { 0 };
        self.wait = self.wait.saturating_sub(1);
        self.was_full = is_full;
        // The periods of a change, and the one after it, say nothing about the level.
        if self.settled < 2 {
            return;
        }
        if self.is_attempt && !is_full && is_used {
            // The unit is not full any more: the engines are too slow for it.
            self.wait = self.backoff;
            self.backoff = (2 * self.backoff).min(LONGEST);
            self.step = self.step.saturating_sub(1);
            self.is_attempt = false;
        } else if !self.is_attempt && is_used && grows && !is_full {
            // What a change has held up is served first.
            if self.settled < 2 + self.spec.patience {
                return;
            }
            self.wait = CALM * self.spec.patience;
            let level = self.fit(&load, self.target);
            if rank(level) < rank((self.step, self.stopped)) {
                (self.step, self.stopped) = level;
            } else if self.stopped > 0 {
                self.stopped -= 1;
            } else {
                self.step = self.step.saturating_sub(1);
            }
        } else if self.wait == 0 {
            let level = self.fit(&load, self.target);
            if rank(level) > rank((self.step, self.stopped)) && seen.backlog <= LITTLE {
                self.is_attempt = false;
                (self.step, self.stopped) = level;
                self.wait = self.spec.patience;
            } else if is_full && self.step + 1 < self.rates.len() {
                self.is_attempt = true;
                self.step += 1;
                self.wait = self.spec.patience;
            }
        }
    }

    /// The lowest level at which this share is in use at most: its step, and engines that stop.
    fn fit(&self, load: &Load, share: f64) -> (usize, usize) {
        let enough = |rate: &f64| load.fits(load.all, *rate, share);
        let step = self.rates.iter().rposition(enough).unwrap_or(0);
        if step + 1 < self.rates.len() {
            return (step, 0);
        }
        let all = load.all as usize;
        let needed = (1..=all).find(|count| load.fits(*count as f64, self.rates[step], share));
        (step, all - needed.unwrap_or(all))
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
        let room = (self.spec.changes as usize).saturating_sub(changing);
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

/// The place of a level, its step and the engines that stop, from the largest capacity on.
fn rank((step, stopped): (usize, usize)) -> usize {
    step + stopped
}

/// Whether an engine takes no packets.
fn is_off(mode: Mode) -> bool {
    matches!(mode, Mode::Stopping | Mode::Stopped)
}

//! Capacity by demand: the chip runs at the lowest capacity that serves the arriving packets.
//!
//! Capacity levels are ordered. First come the voltage steps, with all engines at the same step, as
//! energy falls with the square of the voltage. Below the slowest step, fewer and fewer engines
//! take packets. The governor judges a level after a window of periods without a voltage change,
//! and moves to the next slower level if nothing is lost by it:
//!
//! * No port holds a backlog, no packet waits there too long, and packets do not gather inside.
//!   Then the next level is tried: at once if it is predicted to have cycles and threads to spare,
//!   otherwise after some calm windows. A backlog ends the trial, and the level is banned for a
//!   time that doubles with each failure; a clearly lower load lifts the ban. No engine stops while
//!   a memory or a bus is busy, since that takes all threads.
//! * All ports hold a backlog: the chip is overloaded, and throughput counts. The governor measures
//!   the throughput of the fastest level and then of the next slower one. If throughput falls by
//!   more than a tolerance, the level is banned. Otherwise the level is *proven*: its engines wait
//!   for a memory or a bus whatever their clock. Backlogs do not move the chip to a level faster
//!   than the proven one.
//!
//! Packets of different lengths make throughput vary by more than the tolerance in all but very
//! long windows. The use of SDRAM and of the bus to the ports is a better measure. Both carry
//! packets only, so where one of them is full its use is the throughput. Other units do not
//! qualify: threads that poll for their turn also keep the scratchpad and the FIFOs busy.
//!
//! While one of the two is full, a backlog is no failure of a level either, as long as ports hold
//! one.
//!
//! A voltage change stops the engines for longer than a period and leaves a backlog. Periods during
//! a change and shortly after it say nothing about a level and do not count. A governor that takes
//! this backlog for load changes voltages all the time and loses half of the packets.

mod window;

use super::{Action, DemandSpec, Mode, Seen, last_to_stop};
use window::{Throughput, Window};

/// Periods after a change in which the engines serve the backlog that it caused.
const DRAIN: u32 = 8;
/// Periods over which a backlog is averaged, so that a single large packet is no backlog.
const AVERAGED: f64 = 4.0;
/// Packets inside for each thread above which packets gather: they wait to be sent.
const GATHERED: f64 = 4.0;
/// Windows without a backlog before the governor tries a level that is not predicted to be enough.
const CALM: u32 = 4;
/// The predicted share of threads in use above which no slower level is tried.
const ALL: f64 = 0.95;
/// Windows over which throughput is measured under overload.
const LONG: u32 = 4;
/// A level that fails within this many windows is banned, first for `BAN` windows.
const FRESH: u32 = 16;
const BAN: u64 = 32;
const LONGEST_BAN: u64 = 4096;
/// The upper limit, in MPKTs, of the port size from which marks are computed. A larger port must
/// not make packets wait longer.
const LARGEST_PORT: u32 = 128;
/// Windows after which proofs are forgotten, as traffic changes.
const MEMORY: u64 = 2048;

#[derive(Clone, Debug)]
pub struct Demand {
    spec: DemandSpec,
    /// The clock of each step relative to the first step.
    rates: Vec<f64>,
    /// The backlog of a port, in MPKTs, at which all engines start.
    mark: u32,
    /// The wanted level: a step index, and beyond the slowest step the number of engines to stop.
    pub(super) level: usize,
    /// Periods since the last change of an engine.
    settled: u32,
    /// The largest backlog of a port in MPKTs, averaged over some periods.
    backlog: f64,
    /// Periods of this stay at a level in which a port held a backlog: the mean use of the busier
    /// of SDRAM and the bus to the ports, and the number of periods in the mean.
    pressed: (f64, u32),
    /// Whether a slower level has failed and this level serves its backlog.
    is_rescue: bool,
    /// The MPKTs that arrive in a period, averaged over the last windows.
    load: f64,
    /// The backlog that the previous level left, and the backlog of the previous window.
    inherited: f64,
    before: f64,
    /// Packets inside for each thread in the previous window; 0 if packets do not gather.
    inside: f64,
    window: Window,
    /// Windows so far, windows at this level, and consecutive windows without a backlog.
    windows: u64,
    at_level: u32,
    calm: u32,
    /// The windows under overload at this level.
    overload: Window,
    /// The throughput of the fastest level under overload.
    reference: Option<Throughput>,
    /// Whether the throughput of this level is being compared with `reference`.
    is_on_trial: bool,
    /// The slowest level that is proven to serve as much as the fastest, and the window of the
    /// proof.
    proven: (usize, u64),
    bans: Vec<Ban>,
}

/// The ban of a level that left a backlog.
#[derive(Clone, Copy, Debug)]
struct Ban {
    /// The window at which the ban ends, and the length of the next ban in windows.
    until: u64,
    length: u64,
    /// The load under which the level failed, in MPKTs a period.
    load: f64,
}

impl Default for Ban {
    fn default() -> Self {
        Self { until: 0, length: BAN, load: 0.0 }
    }
}

impl Demand {
    /// Creates a governor. `rates` are the clocks of one or more steps relative to the first; each
    /// port holds `receive_mpkts` MPKTs.
    pub fn new(spec: DemandSpec, rates: Vec<f64>, receive_mpkts: u32) -> Self {
        Self {
            spec,
            rates,
            mark: (receive_mpkts.min(LARGEST_PORT) * spec.urgent_percent / 100).max(1),
            level: 0,
            settled: 0,
            backlog: 0.0,
            pressed: (0.0, 0),
            is_rescue: false,
            load: 0.0,
            inherited: 0.0,
            before: f64::INFINITY,
            inside: 0.0,
            window: Window::default(),
            windows: 0,
            at_level: 0,
            calm: 0,
            overload: Window::default(),
            reference: None,
            is_on_trial: false,
            proven: (0, 0),
            bans: Vec::new(),
        }
    }

    /// The backlog of a port, in MPKTs, at which all engines start.
    pub fn mark(&self) -> u32 {
        self.mark
    }

    /// Decides at the end of a period or when a port fills.
    pub fn decide(&mut self, seen: &Seen) -> Vec<Action> {
        let has_stopped = self.parts(self.level).1 > 0;
        if seen.is_urgent || seen.is_late && has_stopped {
            self.hurry();
        } else if seen.threads > 0 && seen.is_late {
            // A packet that has waited too long counts as a backlog, even if its port holds little.
            let backlog = seen.backlog.max(2 * self.mark);
            self.observe(&Seen { backlog, ..seen.clone() });
        } else if seen.threads > 0 {
            self.observe(seen);
        }
        self.actions(seen)
    }

    /// The step of a level, and the number of engines that it stops.
    fn parts(&self, level: usize) -> (usize, usize) {
        let last = self.rates.len() - 1;
        (level.min(last), level.saturating_sub(last))
    }

    /// Starts stopped engines, since a port has filled or a packet has waited too long. Running
    /// engines would have to pause for a voltage change, so a burst alone does not make them
    /// faster.
    fn hurry(&mut self) {
        let (step, stopped) = self.parts(self.level);
        if stopped > 0 {
            self.enter(step);
        }
    }

    /// Adds a period to the window. At the end of the window, judges the level.
    fn observe(&mut self, seen: &Seen) {
        let (step, _) = self.parts(self.level);
        let is_settled = seen.engines.iter().all(|engine| {
            !engine.is_changing && engine.mode != Mode::Stopping && engine.step == step
        });
        self.settled = if is_settled { self.settled + 1 } else { 0 };
        if self.settled <= DRAIN {
            return;
        }
        self.backlog += (f64::from(seen.backlog) - self.backlog) / AVERAGED;
        if self.settled == DRAIN + 1 && self.inherited == 0.0 {
            // A backlog from the change to a slower level says nothing about that level.
            self.inherited = f64::from(seen.backlog);
        }
        if seen.backlog >= self.mark {
            let (mean, count) = &mut self.pressed;
            *count = (*count + 1).min(self.spec.window);
            *mean += (seen.busiest - *mean) / f64::from(*count);
        }
        let is_free = !self.is_on_trial && self.level > self.proven.0 && !self.is_limited();
        if is_free && self.backlog >= f64::from(2 * self.mark).max(self.inherited) {
            return self.fail(self.level - 1);
        }
        self.window.add(seen);
        if self.window.periods >= self.spec.window {
            let window = std::mem::take(&mut self.window);
            self.windows += 1;
            self.at_level += 1;
            let receivers = seen.engines.iter().filter(|engine| engine.receives).count();
            self.judge(&window, self.rates.len() + receivers.saturating_sub(1));
        }
    }

    /// Whether SDRAM or the bus to the ports limits the chip while ports hold backlogs. Faster
    /// engines would only wait for it.
    fn is_limited(&self) -> bool {
        self.pressed.0 >= Throughput::FULL
    }

    /// Judges the level at the end of a window. There are `levels` levels.
    fn judge(&mut self, window: &Window, levels: usize) {
        self.load += (window.load() - self.load) / f64::from(CALM);
        if self.windows - self.proven.1 > MEMORY {
            (self.proven, self.reference) = ((0, self.windows), None);
        }
        if window.backlog() >= f64::from(self.mark) || window.packets_each() > GATHERED {
            self.calm = 0;
            if self.is_on_trial || self.level <= self.proven.0 {
                self.compare(window);
            } else if !self.is_limited() && self.grows(window) {
                // A backlog that shrinks is a burst in service.
                self.fail(self.level - 1);
            }
            self.before = window.backlog().max(f64::from(self.mark));
            self.inside = window.packets_each();
            return;
        }
        (self.before, self.inside) = (f64::INFINITY, 0.0);
        (self.is_on_trial, self.overload) = (false, Window::default());
        self.calm += 1;
        let next = self.level + 1;
        if next >= levels || self.is_banned(next) {
            return;
        }
        // Keeping a unit busy takes all threads, so no engine stops then.
        let is_busy = window.throughput().busiest > self.low();
        let levels = if is_busy { self.rates.len() } else { levels };
        let low = self.low() / window.quiet(self.load);
        let is_enough = |level: &usize| {
            let (cycles, threads) = self.predict(window, *level);
            !self.is_banned(*level) && cycles <= low && threads <= low
        };
        let can_try = self.calm >= CALM && next < levels && self.predict(window, next).1 <= ALL;
        if let Some(level) = (next..levels).take_while(is_enough).last() {
            self.enter(level);
        } else if next <= self.proven.0 || can_try {
            self.enter(next);
        }
    }

    /// Whether a backlog, or the count of packets inside, is no smaller than one window before.
    fn grows(&self, window: &Window) -> bool {
        let inside = window.packets_each();
        let gathers = inside > GATHERED && inside >= self.inside;
        gathers || window.backlog() >= self.before.max(self.inherited)
    }

    /// Predicts the shares of cycles and threads in use at another level.
    fn predict(&self, window: &Window, level: usize) -> (f64, f64) {
        let ((now, _), (step, stopped)) = (self.parts(self.level), self.parts(level));
        window.shares(self.rates[step] / self.rates[now], stopped)
    }

    /// Under overload, compares this level's throughput with the fastest level's and picks the next
    /// level.
    fn compare(&mut self, window: &Window) {
        self.overload.join(window);
        if self.overload.periods < LONG * self.spec.window {
            return;
        }
        let throughput = std::mem::take(&mut self.overload).throughput();
        if self.level == 0 {
            self.reference = Some(throughput);
        }
        if self.is_on_trial {
            let loss = f64::from(self.spec.loss_permille) / 1000.0;
            let is_lost = |reference: &Throughput| throughput.is_less(reference, loss);
            if self.reference.as_ref().is_some_and(is_lost) {
                self.fail(self.level - 1);
                return;
            }
            self.is_on_trial = false;
            self.proven = (self.level, self.windows);
        }
        let next = self.level + 1;
        if next >= self.rates.len() || self.is_banned(next) {
            return;
        }
        // Where no unit is full, only throughput can tell, and it varies by more than the
        // tolerance. So engines must have cycles to spare.
        let is_full = self.reference.as_ref().is_some_and(Throughput::is_full);
        let can_be = self.predict(window, next).0 <= if is_full { 1.0 } else { self.low() };
        if next <= self.proven.0 || self.reference.is_some() && can_be {
            self.enter(next);
            self.is_on_trial = next > self.proven.0;
        }
    }

    /// Moves to a level.
    fn enter(&mut self, level: usize) {
        self.level = level;
        (self.settled, self.at_level, self.calm) = (0, 0, 0);
        (self.backlog, self.inherited, self.before) = (0.0, 0.0, f64::INFINITY);
        self.is_on_trial = false;
        (self.window, self.overload) = (Window::default(), Window::default());
        (self.pressed, self.is_rescue) = ((0.0, 0), false);
    }

    /// Leaves a level that is too slow.
    fn fail(&mut self, faster: usize) {
        // A level that was entered with the backlog of a slower one and left before a window ended
        // has not been judged.
        if self.at_level < FRESH && !(self.is_rescue && self.at_level == 0) {
            self.bans.resize(self.bans.len().max(self.level + 1), Ban::default());
            let ban = &mut self.bans[self.level];
            (ban.until, ban.load) = (self.windows + ban.length, self.load);
            ban.length = (2 * ban.length).min(LONGEST_BAN);
        }
        let left = self.backlog;
        self.enter(faster);
        (self.inherited, self.is_rescue) = (left, true);
    }

    /// The share of cycles, threads or unit time that leaves enough to spare.
    fn low(&self) -> f64 {
        f64::from(self.spec.low_percent) / 100.0
    }

    /// Whether a level failed recently under about this load.
    fn is_banned(&self, level: usize) -> bool {
        let ban = self.bans.get(level);
        ban.is_some_and(|ban| self.windows < ban.until && self.load > self.low() * ban.load)
    }

    /// The actions that bring engines closer to the level.
    fn actions(&self, seen: &Seen) -> Vec<Action> {
        let (wanted, stopped) = self.parts(self.level);
        let engines = || seen.engines.iter().enumerate();
        let off = engines().filter(|(_, engine)| is_off(engine.mode)).count();
        // Start the engines with the lowest numbers. Stop the engine with the highest number, one
        // at a time: which engine can stop depends on the stopped ones.
        let starts = engines().filter(|(_, engine)| is_off(engine.mode)).map(|(engine, _)| engine);
        let starts = starts.take(off.saturating_sub(stopped));
        let stop = (off < stopped).then(|| last_to_stop(seen)).flatten();
        let changing = engines().filter(|(_, engine)| engine.is_changing).count();
        let room = (self.spec.changes as usize).saturating_sub(changing);
        let others = engines().filter(|(number, engine)| {
            let can = matches!(engine.mode, Mode::Running | Mode::Stopped);
            can && !engine.is_changing && engine.step != wanted && stop != Some(*number)
        });
        let steps = others.take(room).map(|(number, engine)| {
            let step = if engine.step < wanted { engine.step + 1 } else { engine.step - 1 };
            Action::Step { engine: number, step }
        });
        let start = starts.map(|engine| Action::Start { engine });
        let stop = stop.into_iter().map(|engine| Action::Stop { engine });
        start.chain(stop).chain(steps).collect()
    }
}

/// Whether an engine takes no packets.
fn is_off(mode: Mode) -> bool {
    matches!(mode, Mode::Stopping | Mode::Stopped)
}

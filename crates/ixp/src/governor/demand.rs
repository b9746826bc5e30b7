//! Capacity by demand: the chip does what the packets to be served need, and no more.
//!
//! Levels of capacity come in one order: the steps of voltage, all engines at the same one, and
//! below the slowest step fewer and fewer engines that take packets, as energy falls with the square
//! of the voltage first. The governor judges a level after a window of periods in which no voltage
//! changed, and goes to the next slower one if nothing is lost by it:
//!
//! * No port holds a backlog, no packet waits at one for too long, and no packets gather inside. Then the next level is tried: at once if
//!   it is predicted to have cycles and threads to spare, else after some calm windows. A
//!   backlog ends the trial, and the level is banned for a time that doubles, but not at loads that are
//!   clearly lower. No engine stops while a memory or a bus is busy: that takes all threads.
//! * All ports hold a backlog: the chip is overloaded, and throughput is what counts. The throughput
//!   of the fastest level is measured, then that of the next slower one. If it falls by more than
//!   a tolerance, the level is banned; if not, the level is *proven*: engines wait for a memory or
//!   a bus there, whatever their clock. Backlogs do not make the chip faster than proven levels.
//!
//! Packets of different lengths make throughput vary by more than the tolerance in any window that is
//! not very long. SDRAM and the bus to the ports tell it better: they carry packets only, so where
//! one of them is full its use is the throughput. Other units do not tell it: threads that ask
//! whether it is their turn keep the scratchpad and the FIFOs busy as well.
//!
//! A backlog is no failure of a level either while one of them is full, whenever ports hold one.
//!
//! A change of voltage stops the engines for longer than a period, and leaves a backlog behind.
//! Periods of a change and some after it say nothing about a level and do not count; a governor that
//! takes this backlog for load changes voltages all the time and loses half of the packets.

mod window;

use super::{Action, DemandSpec, Mode, Seen, last_to_stop};
use window::{Throughput, Window};

/// Periods after a change in which what it has held up is served.
const DRAIN: u32 = 8;
/// Periods over which a backlog is averaged: a large packet alone is none.
const AVERAGED: f64 = 4.0;
/// Packets inside for each thread: with more, they wait to be sent.
const GATHERED: f64 = 4.0;
/// Windows without a backlog before a level is tried that is not predicted to be enough.
const CALM: u32 = 4;
/// The share of threads in use from which on no slower level is tried.
const ALL: f64 = 0.95;
/// Windows that measure throughput under overload.
const LONG: u32 = 4;
/// A level that fails within so many windows is banned, first for `BAN` windows.
const FRESH: u32 = 16;
const BAN: u64 = 32;
const LONGEST_BAN: u64 = 4096;
/// The largest room of a port, in MPKTs, of which marks are shares: packets wait as long in a larger one.
const LARGEST_PORT: u32 = 128;
/// Windows after which proofs are forgotten: traffic changes.
const MEMORY: u64 = 2048;

/// The governor.
#[derive(Clone, Debug)]
pub struct Demand {
    spec: DemandSpec,
    /// The clock of each step relative to that of the first.
    rates: Vec<f64>,
    /// The MPKTs in a port from which on all engines start.
    mark: u32,
    /// The wanted level: a step, and from the slowest on engines that stop.
    pub(super) level: usize,
    /// Periods since the last change of an engine.
    settled: u32,
    /// The most MPKTs in a port, on average over some periods.
    backlog: f64,
    /// The use of the busier of SDRAM and the bus to the ports in the periods of this stay at a level
    /// in which a port held a backlog: the mean of the last ones, and how many.
    pressed: (f64, u32),
    /// Whether a slower level has failed, and this one serves the backlog.
    is_rescue: bool,
    /// The MPKTs that came in a period, on average over the last windows.
    load: f64,
    /// The backlog that a slower level has left behind, and that of the window before.
    inherited: f64,
    before: f64,
    /// Packets inside for each thread in the window before, if they gather.
    inside: f64,
    window: Window,
    /// Windows so far, those at this level, and those of them without a backlog since the last.
    windows: u64,
    at_level: u32,
    calm: u32,
    /// The windows under overload at this level.
    overload: Window,
    /// What the fastest level serves under overload.
    reference: Option<Throughput>,
    /// Whether the throughput of this level is being compared with it.
    is_on_trial: bool,
    /// The slowest level that is proven to serve as much as the fastest, and when it was.
    proven: (usize, u64),
    /// The ban of each level.
    bans: Vec<Ban>,
}

/// A level that has left a backlog.
#[derive(Clone, Copy, Debug)]
struct Ban {
    /// The window until which it is banned, and for how many windows it is the next time.
    until: u64,
    length: u64,
    /// The load under which it failed.
    load: f64,
}

impl Default for Ban {
    fn default() -> Self {
        Self { until: 0, length: BAN, load: 0.0 }
    }
}

impl Demand {
    /// Creates it for steps with these clocks relative to that of the first, one or more.
    /// Ports have room for so many MPKTs.
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

    /// The MPKTs in a port from which on all engines start.
    pub fn mark(&self) -> u32 {
        self.mark
    }

    /// Decides at the end of a period, or when a port fills.
    pub fn decide(&mut self, seen: &Seen) -> Vec<Action> {
        let has_stopped = self.parts(self.level).1 > 0;
        if seen.is_urgent || seen.is_late && has_stopped {
            self.hurry();
        } else if seen.threads > 0 && seen.is_late {
            // A packet that has waited for too long is a backlog, however few its port holds.
            let backlog = seen.backlog.max(2 * self.mark);
            self.observe(&Seen { backlog, ..seen.clone() });
        } else if seen.threads > 0 {
            self.observe(seen);
        }
        self.actions(seen)
    }

    /// The step of a level, and the engines that stop.
    fn parts(&self, level: usize) -> (usize, usize) {
        let last = self.rates.len() - 1;
        (level.min(last), level.saturating_sub(last))
    }

    /// A port has filled, or a packet has waited for too long: stopped engines start. Those that run would have to stop for a change, so
    /// a burst alone does not make them faster.
    fn hurry(&mut self) {
        let (step, stopped) = self.parts(self.level);
        if stopped > 0 {
            self.enter(step);
        }
    }

    /// Adds a period to the window, and judges the level at its end.
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
            // What a change to a slower level has held up is no sign of that level.
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

    /// Whether SDRAM or the bus to the ports limits the chip while ports hold backlogs: faster engines
    /// would only wait for it.
    fn is_limited(&self) -> bool {
        self.pressed.0 >= Throughput::FULL
    }

    /// Judges the level at the end of a window, out of so many levels.
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
                // A backlog that shrinks is a burst that is being served.
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
        // It takes all threads to keep a unit busy: no engine stops then.
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

    /// Whether a backlog, or the packets inside, are no less than a window before.
    fn grows(&self, window: &Window) -> bool {
        let inside = window.packets_each();
        let gathers = inside > GATHERED && inside >= self.inside;
        gathers || window.backlog() >= self.before.max(self.inherited)
    }

    /// Shares of cycles and threads in use at another level.
    fn predict(&self, window: &Window, level: usize) -> (f64, f64) {
        let ((now, _), (step, stopped)) = (self.parts(self.level), self.parts(level));
        window.shares(self.rates[step] / self.rates[now], stopped)
    }

    /// Under overload: whether this level serves as much as the fastest, and what comes next.
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
        // Where no unit is full, throughput alone would have to tell, which varies by more than the
        // tolerance: engines must have cycles to spare.
        let is_full = self.reference.as_ref().is_some_and(Throughput::is_full);
        let can_be = self.predict(window, next).0 <= if is_full { 1.0 } else { self.low() };
        if next <= self.proven.0 || self.reference.is_some() && can_be {
            self.enter(next);
            self.is_on_trial = next > self.proven.0;
        }
    }

    /// Takes a level.
    fn enter(&mut self, level: usize) {
        self.level = level;
        (self.settled, self.at_level, self.calm) = (0, 0, 0);
        (self.backlog, self.inherited, self.before) = (0.0, 0.0, f64::INFINITY);
        self.is_on_trial = false;
        (self.window, self.overload) = (Window::default(), Window::default());
        (self.pressed, self.is_rescue) = ((0.0, 0), false);
    }

    /// Leaves a level that is not enough for a faster one.
    fn fail(&mut self, faster: usize) {
        // A level that was entered with the backlog of a slower one, and left before a window was over,
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

    /// The share of cycles, threads or time of a unit up to which they count as enough.
    fn low(&self) -> f64 {
        f64::from(self.spec.low_percent) / 100.0
    }

    /// Whether a level has failed under about this load, and not long ago.
    fn is_banned(&self, level: usize) -> bool {
        let ban = self.bans.get(level);
        ban.is_some_and(|ban| self.windows < ban.until && self.load > self.low() * ban.load)
    }

    /// What brings the engines closer to the level.
    fn actions(&self, seen: &Seen) -> Vec<Action> {
        let (wanted, stopped) = self.parts(self.level);
        let engines = || seen.engines.iter().enumerate();
        let off = engines().filter(|(_, engine)| is_off(engine.mode)).count();
        // Start those with the lowest numbers, stop those with the highest, one at a time: what can
        // stop depends on what has.
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

//! Sums over a window of periods at a level, and predictions for slower levels.

use super::super::Seen;
use super::is_off;

/// Sums over the periods of a window.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    /// The number of periods that count.
    pub periods: u32,
    /// MPKTs taken or sent.
    served: u64,
    /// MPKTs that arrived.
    came: u64,
    /// The use of the busier of SDRAM and the bus to the ports.
    busiest: f64,
    backlog: u64,
    inside: u64,
    threads: f64,
    receivers: f64,
    /// The share of cycles in use of the busiest engine that takes no packets.
    others: f64,
    /// Threads that take packets when all engines run, and the engines that have them.
    all_threads: f64,
    all: f64,
}

impl Window {
    /// Adds a period.
    pub fn add(&mut self, seen: &Seen) {
        // An engine that had no cycle in the period counts as busy.
        let busy = |idle: f64| if idle.is_nan() { 1.0 } else { 1.0 - idle };
        let receivers = || seen.engines.iter().filter(|engine| engine.receives);
        let running = || receivers().filter(|engine| !is_off(engine.mode));
        let others = seen.engines.iter().filter(|engine| !engine.receives);
        self.periods += 1;
        self.served += seen.served;
        self.came += seen.came;
        self.busiest += seen.busiest;
        self.backlog += u64::from(seen.backlog);
        self.inside += seen.inside;
        self.threads += f64::from(seen.threads) - seen.mean_waiting;
        self.receivers += running().map(|engine| busy(engine.idle)).sum::<f64>();
        self.others += others.map(|engine| busy(engine.idle)).fold(0.0, f64::max);
        self.all = receivers().count() as f64;
        let each = f64::from(seen.threads) / running().count().max(1) as f64;
        self.all_threads = self.all * each;
    }

    /// Adds another window.
    pub fn join(&mut self, other: &Self) {
        self.periods += other.periods;
        self.served += other.served;
        self.busiest += other.busiest;
    }

    /// The mean number of MPKTs that arrived in a period.
    pub fn load(&self) -> f64 {
        self.mean(self.came as f64)
    }

    /// The ratio of the usual load to this window's, at least 1: a single window may be a quiet
    /// one.
    pub fn quiet(&self, load: f64) -> f64 {
        (load / self.load().max(f64::MIN_POSITIVE)).max(1.0)
    }

    /// The mean throughput of the window.
    pub fn throughput(&self) -> Throughput {
        Throughput { mpkts: self.mean(self.served as f64), busiest: self.mean(self.busiest) }
    }

    /// The mean of a sum over the periods.
    fn mean(&self, sum: f64) -> f64 {
        sum / f64::from(self.periods.max(1))
    }

    /// The largest backlog of a port in MPKTs, averaged over the periods.
    pub fn backlog(&self) -> f64 {
        self.mean(self.backlog as f64)
    }

    /// Packets inside for each thread that takes packets.
    pub fn packets_each(&self) -> f64 {
        self.mean(self.inside as f64) / self.all_threads.max(1.0)
    }

    /// Predicts the shares of cycles and threads in use if `stopped` engines were stopped and the
    /// others ran at `rate` times the present clock. A slower clock stretches the engines' work,
    /// but not their waits for memories and buses.
    pub fn shares(&self, rate: f64, stopped: usize) -> (f64, f64) {
        let left = (self.all - stopped as f64).max(1.0);
        let receivers = self.mean(self.receivers);
        let threads = self.mean(self.threads) + receivers * (1.0 / rate - 1.0);
        let cycles = (receivers / rate / left).max(self.mean(self.others) / rate);
        (cycles, threads / (self.all_threads * left / self.all.max(1.0)).max(1.0))
    }
}

/// The throughput of a level under overload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Throughput {
    /// MPKTs taken or sent in a period.
    mpkts: f64,
    /// The use of the busier of SDRAM and the bus to the ports.
    pub busiest: f64,
}

impl Throughput {
    /// The use above which a unit limits the chip.
    pub const FULL: f64 = 0.95;
    /// The variation of throughput from packet lengths, as a share.
    const NOISE: f64 = 0.05;

    /// Whether a unit limits the chip.
    pub fn is_full(&self) -> bool {
        self.busiest >= Self::FULL
    }

    /// Whether this throughput is below a reference by more than `loss`, as a share. If a unit was
    /// full, its use decides; otherwise, with less certainty, the MPKTs do.
    pub fn is_less(&self, reference: &Self, loss: f64) -> bool {
        if reference.is_full() {
            let use_lost = self.busiest.min(1.0) < (1.0 - loss) * reference.busiest.min(1.0);
            use_lost || self.mpkts < (1.0 - loss - Self::NOISE) * reference.mpkts
        } else {
            self.mpkts < (1.0 - loss) * reference.mpkts
        }
    }
}

//! The results of a run of packets through a simulated machine: rate, latency, loss.

use hdrhistogram::Histogram;

use super::run::{Arrival, Departure};

/// How packets arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As fast as the machine accepts them; no packet is lost.
    Most,
    /// At this rate in packets per cycle, evenly spaced. Packets that the machine cannot accept are
    /// lost.
    PerCycle(f64),
    /// At the packets' own timestamps. Packets that the machine cannot accept are lost.
    Timed {
        /// The core clock in MHz.
        clock_mhz: u32,
    },
}

/// Converts a pace to arrivals.
#[derive(Clone, Debug)]
pub struct Pacer {
    pace: Pace,
    offered: u64,
    first_ns: Option<u64>,
    latest: u64,
}

impl Pacer {
    /// Starts at cycle 0 with this pace.
    pub fn new(pace: Pace) -> Self {
        Self { pace, offered: 0, first_ns: None, latest: 0 }
    }

    /// Returns when the next packet arrives, given its timestamp.
    pub fn next(&mut self, arrival_ns: u64) -> Arrival {
        let cycle = match self.pace {
            Pace::Most => return Arrival::Waiting,
            Pace::PerCycle(rate) => (self.offered as f64 / rate) as u64,
            Pace::Timed { clock_mhz } => {
                let since = arrival_ns.saturating_sub(*self.first_ns.get_or_insert(arrival_ns));
                u64::try_from(u128::from(since) * u128::from(clock_mhz) / 1000).unwrap_or(u64::MAX)
            }
        };
        self.offered += 1;
        // Timestamps of a capture can decrease; cycles cannot.
        self.latest = self.latest.max(cycle);
        Arrival::At(self.latest)
    }
}

/// Collects measurements of the packets that left.
#[derive(Clone, Debug)]
pub struct Meter {
    latency: Histogram<u64>,
    wait: Histogram<u64>,
    /// The sum of latency and wait for each packet.
    stay: Histogram<u64>,
    /// Only packets that arrived in this cycle or later count in the times.
    from: u64,
    /// The cycle in which each packet was completed.
    ends: Vec<u64>,
}

/// The distribution of numbers of cycles.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Distribution {
    /// The minimum.
    pub least: u64,
    pub mean: f64,
    /// The 50th percentile.
    pub p50: u64,
    /// The 90th percentile.
    pub p90: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The maximum.
    pub most: u64,
    /// The histogram of latencies in increasing order, without empty bins. Four bins of equal size
    /// divide the range from a power of two to the next one.
    pub bins: Vec<Bin>,
}

/// A bin of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Bin {
    /// The smallest number of cycles in the bin.
    pub from: u64,
    /// The largest number of cycles in the bin.
    pub to: u64,
    pub packets: u64,
}

impl Default for Meter {
    fn default() -> Self {
        let histogram = || Histogram::new(3).expect("three digits are in range");
        let [latency, wait, stay] = [histogram(), histogram(), histogram()];
        Self { latency, wait, stay, from: 0, ends: Vec::new() }
    }
}

impl Meter {
    /// Measures from a cycle on. The times include packets that arrive in that cycle or later; the
    /// rate includes all completed packets.
    pub fn from(cycle: u64) -> Self {
        Self { from: cycle, ..Self::default() }
    }

    /// Records an output.
    pub fn note(&mut self, left: &Departure) {
        if left.fate.is_copy() {
            return;
        }
        self.ends.push(left.left);
        if left.arrived < self.from {
            return;
        }
        for (histogram, cycles) in [
            (&mut self.latency, left.left - left.entered),
            (&mut self.wait, left.entered - left.arrived),
            (&mut self.stay, left.left - left.arrived),
        ] {
            histogram.record(cycles).expect("it grows with what it is given");
        }
    }

    /// Returns the cycles from the arrival of each packet to its last beat out: mean, median, the
    /// 99th percentile and the maximum.
    pub fn stay(&self) -> [f64; 4] {
        let at = |quantile| self.stay.value_at_quantile(quantile) as f64;
        [self.stay.mean(), at(0.5), at(0.99), self.stay.max() as f64]
    }

    /// Returns the number of completed packets.
    pub fn packets(&self) -> u64 {
        self.ends.len() as u64
    }

    /// Returns the cycles from the first beat in to the last beat out of each packet.
    pub fn latency(&self) -> Distribution {
        distribution(&self.latency)
    }

    /// Returns the cycles from the arrival of each packet to its first beat in.
    pub fn wait(&self) -> Distribution {
        distribution(&self.wait)
    }

    /// Returns the packets completed per cycle over the middle 80 % of the run, because the machine
    /// fills at the beginning and drains at the end. Returns `None` for fewer than ten packets.
    pub fn rate(&self) -> Option<f64> {
        let tenth = self.ends.len() / 10;
        if tenth == 0 {
            return None;
        }
        let mut ends = self.ends.clone();
        ends.sort_unstable();
        let (from, to) = (tenth, ends.len() - tenth);
        let cycles = ends[to - 1] - ends[from - 1];
        Some((to - from) as f64 / cycles.max(1) as f64)
    }
}

fn distribution(histogram: &Histogram<u64>) -> Distribution {
    let at = |quantile| histogram.value_at_quantile(quantile);
    Distribution {
        least: histogram.min(),
        mean: histogram.mean(),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        most: histogram.max(),
        bins: bins(histogram),
    }
}

/// Returns the nonempty bins of a histogram.
fn bins(histogram: &Histogram<u64>) -> Vec<Bin> {
    let mut bins: Vec<Bin> = Vec::new();
    for step in histogram.iter_recorded() {
        let (cycles, packets) = (step.value_iterated_to(), step.count_at_value());
        match bins.last_mut() {
            Some(bin) if cycles <= bin.to => bin.packets += packets,
            _ => bins.push(Bin { packets, ..Bin::of(cycles) }),
        }
    }
    bins
}

impl Bin {
    /// Returns the bin of a number of cycles, empty.
    fn of(cycles: u64) -> Self {
        let size = 1 << cycles.checked_ilog2().unwrap_or(0).saturating_sub(2);
        let from = cycles / size * size;
        Self { from, to: from + size - 1, packets: 0 }
    }
}

/// Returns the maximum loss-free forwarding rate: the highest rate between the bounds, to within
/// `resolution`, at which `loses` returns `false`. The search tries `high` first, and then lower
/// rates in steps that double, because the loss-free rate is usually close to the saturation rate.
/// Returns `None` if there is loss even at `low`.
///
/// # Errors
/// Returns the first error of `loses`.
pub fn mlffr<E>(
    low: f64,
    high: f64,
    resolution: f64,
    mut loses: impl FnMut(f64) -> Result<bool, E>,
) -> Result<Option<f64>, E> {
    let (mut good, mut bad, mut step) = (high, high, resolution);
    while loses(good)? {
        if good <= low {
            return Ok(None);
        }
        bad = good;
        good = (high - step).max(low);
        step *= 2.0;
    }
    while bad - good > resolution {
        let middle = f64::midpoint(good, bad);
        if loses(middle)? {
            bad = middle;
        } else {
            good = middle;
        }
    }
    Ok(Some(good))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Fate;

    fn left(arrived: u64, entered: u64, left: u64) -> Departure {
        let (fate, bytes) = (Fate::Finished, Vec::new());
        Departure { number: 0, fate, egress: 0, reason: (0, 0), bytes, arrived, entered, left }
    }

    #[test]
    fn a_pace_per_cycle_is_kept_exactly() {
        let mut pacer = Pacer::new(Pace::PerCycle(1.5));
        let arrivals: Vec<_> = (0..6).map(|_| pacer.next(0)).collect();
        assert_eq!(arrivals, [0, 0, 1, 2, 2, 3].map(Arrival::At));
        assert_eq!(Pacer::new(Pace::Most).next(7), Arrival::Waiting);
    }

    #[test]
    fn times_of_a_capture_become_cycles_that_never_go_back() {
        let mut pacer = Pacer::new(Pace::Timed { clock_mhz: 100 });
        let arrivals: Vec<_> = [5_000, 5_100, 5_050, 5_200].map(|ns| pacer.next(ns)).to_vec();
        assert_eq!(arrivals, [0, 10, 10, 20].map(Arrival::At));
    }

    #[test]
    fn the_rate_is_that_of_the_middle() {
        let mut meter = Meter::default();
        assert_eq!(meter.rate(), None);
        // A packet every other cycle, except for a slow beginning and a slow end.
        for i in 0..100u64 {
            let slow = if i < 10 { 8 + 10 * i } else { 80 + 2 * i };
            let end = if i >= 95 { slow + 50 } else { slow };
            meter.note(&left(0, end.saturating_sub(7), end));
        }
        let rate = meter.rate().expect("enough packets");
        assert!((rate - 0.5).abs() < 0.01, "{rate}");
        assert_eq!(meter.packets(), 100);
        assert_eq!(meter.latency().p50, 7);
        assert_eq!(meter.latency().bins, [Bin { from: 7, to: 7, packets: 100 }]);
        meter.note(&left(0, 1000, 5_001_000));
        let most = meter.latency().most;
        assert!((4_990_000..=5_010_000).contains(&most), "{most}");
        for cycles in [40, 47, 48] {
            meter.note(&left(0, 0, cycles));
        }
        let bins = meter.latency().bins;
        let expected = [(7, 7, 100), (40, 47, 2), (48, 55, 1), (4_194_304, 5_242_879, 1)];
        assert_eq!(bins, expected.map(|(from, to, packets)| Bin { from, to, packets }));
    }

    #[test]
    fn times_are_those_of_packets_that_arrive_while_packets_count() {
        let mut meter = Meter::from(100);
        meter.note(&left(90, 95, 120));
        assert_eq!((meter.packets(), meter.stay()[3]), (1, 0.0));
        meter.note(&left(100, 104, 130));
        assert_eq!((meter.packets(), meter.latency().most, meter.wait().most), (2, 26, 4));
        assert_eq!(meter.stay(), [30.0; 4]);
    }

    #[test]
    fn the_loss_free_rate_is_found_within_the_resolution() {
        let search = |limit: f64| {
            mlffr(0.1, 2.0, 0.01, |rate| Ok::<_, ()>(rate > limit)).expect("no trial fails")
        };
        assert_eq!(search(5.0), Some(2.0));
        assert_eq!(search(0.05), None);
        let found = search(1.234).expect("a rate");
        assert!((1.224..=1.234).contains(&found), "{found}");
    }
}

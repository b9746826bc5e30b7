//! The measurements that all simulated machines report under the same names.

use serde::Serialize;
use wireloom_sim::stats::Histogram;

use crate::{Line, counted, thousands};

/// Totals of a simulated machine from the start of its run up to a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// The simulated time, in seconds.
    pub seconds: f64,
    /// Packets that the machine has finished: sent, dropped, handed to the CPU or consumed.
    pub packets: u64,
    /// Packets that left by a port, copies included.
    pub sent: u64,
    /// The bytes of these packets.
    pub sent_bytes: u64,
    /// Packets that found no room at the input.
    pub lost: u64,
}

/// Rates, losses and latencies of a run. Rates and latencies leave out the warm-up packets of
/// `--warm`. Counts are over the whole run, because arrivals are.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Throughput {
    /// The simulated end of the warm-up in microseconds; 0 without `--warm`.
    pub from_us: f64,
    /// The simulated time after the warm-up in microseconds. It includes the arrival of the first
    /// packets and the departure of the last ones.
    pub time_us: f64,
    /// Packets that the machine finished in the whole run.
    pub packets: u64,
    /// Packets that left by a port in the whole run, copies included.
    pub sent: u64,
    /// Packets that were lost at the input in the whole run.
    pub lost: u64,
    /// Packets that were lost at the input during the warm-up.
    pub lost_warm: u64,
    /// Packets that left by a port, in million a second.
    pub mpps: f64,
    /// Finished packets in million a second, whether or not they left by a port.
    pub mpps_finished: f64,
    /// The rate of the bits that left by a port, in Gb/s.
    pub gbps: f64,
    /// The latency of packets that arrived after the warm-up.
    pub latency_ns: Latency,
    /// Packets that the machine had finished at the end of the warm-up.
    #[serde(skip)]
    warm: u64,
}

/// The latency of a packet in nanoseconds: from the arrival of its last bit until its last output
/// has left or is dropped. All numbers are 0 without packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Latency {
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The maximum.
    pub max: f64,
}

impl From<&Histogram> for Latency {
    fn from(times: &Histogram) -> Self {
        let summary = times.summary();
        Self { mean: summary.mean, p50: summary.p50, p99: summary.p99, max: summary.max }
    }
}

impl Throughput {
    /// Computes the rates between the totals at the end of the warm-up and at the end of the run.
    pub fn between(from: &Totals, to: &Totals, latency_ns: Latency) -> Self {
        let seconds = to.seconds - from.seconds;
        let rate = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        Self {
            from_us: from.seconds * 1e6,
            time_us: seconds * 1e6,
            packets: to.packets,
            sent: to.sent,
            lost: to.lost,
            lost_warm: from.lost,
            mpps: rate(to.sent - from.sent) / 1e6,
            mpps_finished: rate(to.packets - from.packets) / 1e6,
            gbps: rate(8 * (to.sent_bytes - from.sent_bytes)) / 1e9,
            latency_ns,
            warm: from.packets,
        }
    }

    /// Formats the time from which packets count; `None` if they count from the start.
    pub fn measured_from(&self) -> Option<Line> {
        (self.warm > 0).then(|| {
            let after = counted(self.warm, "packet");
            let text = format!("{:.1} us on, after {after}; losses in the whole run", self.from_us);
            Line::new("measured from", text)
        })
    }

    /// Formats the rate, and the rate of finished packets if that differs.
    pub fn rate(&self) -> Line {
        let finished = match self.mpps_finished == self.mpps {
            true => String::new(),
            false => format!(" sent ({:.3} finished)", self.mpps_finished),
        };
        Line::new("rate", format!("{:.3} MPPS{finished} in {:.1} us", self.mpps, self.time_us))
    }

    /// Formats the losses, including the losses of the warm-up if there were any.
    pub fn lost(&self) -> Line {
        let warm = match self.lost_warm {
            0 => String::new(),
            lost => format!(", {} of them in the warm-up", thousands(lost)),
        };
        Line::new("lost at input", format!("{} packets{warm}", thousands(self.lost)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_leave_out_the_warm_up_and_losses_do_not() {
        let from = Totals { seconds: 1e-6, packets: 500, sent: 400, sent_bytes: 4000, lost: 1000 };
        let to = Totals { seconds: 5e-6, packets: 580, sent: 440, sent_bytes: 6000, lost: 1234 };
        let whole = Throughput::between(&Totals::default(), &to, Latency::default());
        assert_eq!((whole.from_us, whole.lost, whole.lost_warm), (0.0, 1234, 0));
        assert_eq!(whole.measured_from(), None);
        assert_eq!(whole.lost().text, "1,234 packets");

        let warm = Throughput::between(&from, &to, Latency::default());
        assert_eq!((warm.packets, warm.sent, warm.lost, warm.lost_warm), (580, 440, 1234, 1000));
        assert_eq!(warm.rate().text, "10.000 MPPS sent (20.000 finished) in 4.0 us");
        assert!((warm.gbps - 4.0).abs() < 1e-9, "{}", warm.gbps);
        assert_eq!(warm.lost().text, "1,234 packets, 1,000 of them in the warm-up");
        let from = warm.measured_from().expect("a line").text;
        assert_eq!(from, "1.0 us on, after 500 packets; losses in the whole run");
        // All rates are 0 if no time follows the warm-up.
        assert_eq!(Throughput::between(&to, &to, Latency::default()).mpps, 0.0);
    }
}

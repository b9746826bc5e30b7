//! Run options: a user's choices that are not part of a machine description.

use std::path::PathBuf;
use std::str::FromStr;

/// An option that some machines take. A machine that does not list a knob
/// ([`crate::Configured::knobs`]) ignores it. The command refuses options that no machine of a run
/// takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Knob {
    /// The arrival rate of packets.
    Rate,
    /// The capacity of an input buffer, in packets.
    Buffer,
    /// Pauses of the input.
    Idle,
    /// Pauses of the output.
    Stall,
    /// Waves of every signal.
    Waves,
    /// Assertions of hardware templates, or over events.
    Assertions,
    /// Records the activity of threads over time.
    Timeline,
    /// Records measurements over time.
    Series,
    /// Records each event of the machine's parts.
    Events,
    /// Rules that the events must satisfy.
    Rules,
    /// The seed of random choices.
    Seed,
    /// Warm-up packets that are not measured.
    Warm,
    /// The profile of the program's lines.
    Profile,
}

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The arrival rate of packets over all ports. By default it is the description's rate, or
    /// [`Rate::Max`].
    pub rate: Option<Rate>,
    /// Packets that the input buffer of each lane, port or line card holds. `None` selects the
    /// machine's default.
    pub buffer: Option<u32>,
    /// The percentage of cycles in which the input pauses, 0 to 99.
    pub idle_percent: u32,
    /// The percentage of cycles in which the machine's output is not taken, 0 to 99.
    pub stall_percent: u32,
    /// Whether the run is short. A machine that is compiled then starts sooner and runs slower.
    pub is_short: bool,
    /// Whether compiled code is kept in the user's cache, for later runs of the same program.
    pub keeps_code: bool,
    /// The file for waves, in FST format.
    pub waves: Option<PathBuf>,
    /// Whether assertions are checked, either by the hardware templates or over events.
    pub assertions: bool,
    /// A file with rules over events, which are checked in addition to the machine's own.
    pub rules: Option<PathBuf>,
    /// The maximum number of events to keep, from the start; 0 for none.
    pub events: usize,
    /// Whether a packet will be followed ([`crate::Machine::follow`]). A translated machine then
    /// exposes more signals.
    pub follows: bool,
    /// Whether the machine will be watched and stepped ([`crate::Machine::watch`]). A machine with
    /// run-ahead then works cycle by cycle.
    pub watched: bool,
    /// Whether the machine will be asked for its profile ([`crate::Machine::profile`]). A machine
    /// with run-ahead then works cycle by cycle.
    pub profile: bool,
    /// The simulated time from the start, in nanoseconds, for which the activity of threads is
    /// recorded.
    pub timeline_ns: Option<u64>,
    /// The simulated time between two rows of measurements, in nanoseconds, if they are recorded.
    pub interval_ns: Option<u64>,
    /// The seed of the machine's random choices. `None` selects the machine's default.
    pub seed: Option<u64>,
    /// The number of warm-up packets at the start. They count in no rate, utilisation or latency,
    /// so that caches and queues fill first.
    pub warm: u64,
}

/// The arrival rate of packets at a simulated machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// As fast as the machine accepts them, without loss.
    Max,
    /// At the times in the capture.
    Capture,
    /// At a steady rate, in million packets a second.
    Mpps(f64),
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "max" => Ok(Self::Max),
            "capture" => Ok(Self::Capture),
            _ => match text.parse::<f64>() {
                Ok(mpps) if mpps.is_finite() && mpps > 0.0 => Ok(Self::Mpps(mpps)),
                _ => Err("say max, capture or a number of million packets a second".into()),
            },
        }
    }
}

/// Computes the arrival times of packets from a [`Rate`], in order of arrival over all ports.
#[derive(Clone, Debug)]
pub struct Arrivals {
    rate: Rate,
    offered: u64,
    first_ns: Option<u64>,
    latest: u64,
}

/// The latest arrival time in picoseconds, some 26 days. This keeps sums of times in range for any
/// capture.
const LATEST: f64 = (1_u64 << 61) as f64;

impl Arrivals {
    /// Creates the sequence. The first packet arrives at time 0.
    pub fn new(rate: Rate) -> Self {
        Self { rate, offered: 0, first_ns: None, latest: 0 }
    }

    /// Whether packets wait until the machine has room for them.
    pub fn wait(&self) -> bool {
        self.rate == Rate::Max
    }

    /// Returns the arrival time of the next packet in picoseconds, given its capture time in
    /// nanoseconds. The times of a capture can decrease; arrivals do not.
    pub fn next(&mut self, arrival_ns: u64) -> u64 {
        let first_ns = *self.first_ns.get_or_insert(arrival_ns);
        let at = match self.rate {
            Rate::Max => 0.0,
            Rate::Capture => arrival_ns.saturating_sub(first_ns) as f64 * 1e3,
            Rate::Mpps(mpps) => self.offered as f64 * 1e6 / mpps,
        };
        self.offered += 1;
        self.latest = self.latest.max(at.min(LATEST) as u64);
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_words_or_numbers() {
        assert_eq!("max".parse(), Ok(Rate::Max));
        assert_eq!("capture".parse(), Ok(Rate::Capture));
        assert_eq!("187.5".parse(), Ok(Rate::Mpps(187.5)));
        for text in ["", "0", "-1", "inf", "fast"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn arrivals_follow_the_rate_or_the_capture() {
        let times = |rate: Rate, given: [u64; 4]| {
            let mut arrivals = Arrivals::new(rate);
            given.map(|ns| arrivals.next(ns))
        };
        assert_eq!(times(Rate::Mpps(4.0), [7; 4]), [0, 250_000, 500_000, 750_000]);
        assert_eq!(times(Rate::Capture, [50, 60, 55, 70]), [0, 10_000, 10_000, 20_000]);
        assert_eq!(times(Rate::Max, [50, 60, 55, 70]), [0; 4]);
        assert_eq!(times(Rate::Capture, [0, u64::MAX, 0, 0])[1..], [1 << 61; 3]);
        assert!(Arrivals::new(Rate::Max).wait() && !Arrivals::new(Rate::Capture).wait());
    }
}

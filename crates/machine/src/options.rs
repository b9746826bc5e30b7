//! Run options: the choices of a user without another description.

use std::path::PathBuf;
use std::str::FromStr;

/// An option that some machines take. A machine that does not list a knob
/// ([`crate::Configured::knobs`]) ignores it; the command refuses options that no machine of a run
/// takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Knob {
    /// The arrival times of packets.
    Rate,
    /// Packets that an input buffer holds.
    Buffer,
    /// Pauses of the input.
    Idle,
    /// Pauses of the output.
    Stall,
    /// Waves of every signal.
    Waves,
    /// Assertions of hardware templates, or over events.
    Assertions,
    /// The activity of threads over time.
    Timeline,
    /// Numbers over time.
    Series,
    /// Each event of the machine's parts.
    Events,
    /// Rules over the events.
    Rules,
    /// The seed of random choices.
    Seed,
    /// Packets that are not measured.
    Warm,
    /// What threads did at each line of the program.
    Profile,
}

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The arrival times of packets.
    pub rate: Rate,
    /// Packets that the input buffer holds for each lane or narrow port; the machine has a default.
    pub buffer: Option<u32>,
    /// The input pauses in this percentage of the cycles, 0 to 99.
    pub idle_percent: u32,
    /// The machine's output is not taken in this percentage of the cycles, 0 to 99.
    pub stall_percent: u32,
    /// Whether the run is short: a machine that is translated starts sooner and runs slower.
    pub is_short: bool,
    /// Whether compiled code is kept in the user's cache, for later runs of the same program.
    pub keeps_code: bool,
    /// The file that waves are written to (FST).
    pub waves: Option<PathBuf>,
    /// Whether assertions are checked: those of the hardware templates, or those over events.
    pub assertions: bool,
    /// A file of rules over events that are checked beside the machine's own.
    pub rules: Option<PathBuf>,
    /// Events that are kept at most, from the start; 0 for none.
    pub events: usize,
    /// Whether a packet will be followed ([`crate::Machine::follow`]); a machine that is translated
    /// then shows more of itself.
    pub follows: bool,
    /// Whether the machine will be watched and stepped ([`crate::Machine::watch`]); one that
    /// otherwise runs ahead then keeps to cycles.
    pub watched: bool,
    /// The simulated time, in nanoseconds from the start, for which the activity of threads is
    /// recorded.
    pub timeline_ns: Option<u64>,
    /// The simulated time, in nanoseconds, between two rows of numbers over time, if they are kept.
    pub interval_ns: Option<u64>,
    /// The seed of the machine's random choices; the machine has a default.
    pub seed: Option<u64>,
    /// Packets at the start that count in no statistic, so that caches and queues fill first.
    pub warm: u64,
}

/// The arrival times of packets at a simulated machine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Rate {
    /// As fast as the machine accepts them.
    #[default]
    Max,
    /// At the times of the capture.
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
}

//! Arrival times of packets: rate and burst shape.

use std::fmt;
use std::str::FromStr;

use super::error::{SpecError, serde_as_text};
use super::random::Random;
use crate::wire::ethernet;

const PS_PER_S: u128 = 1_000_000_000_000;

/// The average rate of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// Bits per second on the wire. A frame counts with its check sequence, its preamble and the
    /// gap before the next frame (24 bytes more than its length here). So 10 Gbps of 64-byte frames
    /// are 14.88 Mpps.
    BitsPerSecond(u64),
    /// Packets per second.
    PacketsPerSecond(u64),
}

/// Parses `10Gbps`, `1.5Mpps`, `200kpps`.
impl FromStr for Rate {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let wrong =
            || SpecError(format!("`{text}` is not a rate; write it as `10Gbps` or `1.5Mpps`"));
        let lower = text.trim().to_ascii_lowercase();
        let (number, bits) = match (lower.strip_suffix("bps"), lower.strip_suffix("pps")) {
            (Some(number), _) => (number, true),
            (_, Some(number)) => (number, false),
            _ => return Err(wrong()),
        };
        let (number, scale) = match number.chars().last() {
            Some('k') => (&number[..number.len() - 1], 1e3),
            Some('m') => (&number[..number.len() - 1], 1e6),
            Some('g') => (&number[..number.len() - 1], 1e9),
            Some('t') => (&number[..number.len() - 1], 1e12),
            _ => (number, 1.0),
        };
        let value = number.trim().parse::<f64>().map_err(|_| wrong())? * scale;
        if !(1.0..=1e15).contains(&value) {
            return Err(SpecError(format!(
                "the rate `{text}` is not between 1 and 10^15 per second"
            )));
        }
        let value = value.round() as u64;
        Ok(if bits { Self::BitsPerSecond(value) } else { Self::PacketsPerSecond(value) })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match *self {
            Self::BitsPerSecond(value) => (value, "bps"),
            Self::PacketsPerSecond(value) => (value, "pps"),
        };
        let scales = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
        match scales.into_iter().find(|(scale, _)| value >= *scale && value.is_multiple_of(*scale))
        {
            Some((scale, letter)) => write!(f, "{}{letter}{unit}", value / scale),
            None => write!(f, "{value}{unit}"),
        }
    }
}

impl Rate {
    /// Returns the time that a frame of `bytes` bytes (without its check sequence) takes at this
    /// rate, in picoseconds.
    fn gap_ps(self, bytes: usize) -> u128 {
        match self {
            Self::BitsPerSecond(rate) => {
                let bits = (bytes + ethernet::FCS + ethernet::OVERHEAD) as u128 * 8;
                bits * PS_PER_S / u128::from(rate)
            }
            Self::PacketsPerSecond(rate) => PS_PER_S / u128::from(rate),
        }
    }
}

/// The distribution of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Bursts {
    /// Constant gaps.
    #[default]
    Constant,
    /// Exponentially distributed gaps.
    Poisson,
    /// Bursts of `packets` packets at `peak` times the rate. The silence after a burst restores the
    /// average.
    OnOff {
        /// Packets in a burst, from 1.
        packets: u32,
        /// Multiple of the rate, from 1.
        peak: u32,
    },
}

/// Parses `constant`, `poisson`, `onoff:32x10` (32 packets at ten times the rate).
impl FromStr for Bursts {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        match text.trim() {
            "constant" => Ok(Self::Constant),
            "poisson" => Ok(Self::Poisson),
            text => text
                .strip_prefix("onoff:")
                .and_then(|shape| shape.split_once('x'))
                .and_then(|(packets, peak)| Some((packets.parse().ok()?, peak.parse().ok()?)))
                .filter(|&(packets, peak)| packets >= 1 && peak >= 1)
                .map(|(packets, peak)| Self::OnOff { packets, peak })
                .ok_or_else(|| {
                    SpecError(format!(
                        "`{text}` is not a burst shape; use `constant`, `poisson` or `onoff:PACKETSxPEAK`"
                    ))
                }),
        }
    }
}

impl fmt::Display for Bursts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant => f.write_str("constant"),
            Self::Poisson => f.write_str("poisson"),
            Self::OnOff { packets, peak } => write!(f, "onoff:{packets}x{peak}"),
        }
    }
}

serde_as_text!(Rate, Bursts);

pub(super) struct Clock {
    rate: Rate,
    bursts: Bursts,
    now_ps: u128,
    /// Packets left in the burst, and the time saved in it so far.
    left: u32,
    saved_ps: u128,
}

impl Clock {
    pub(super) fn new(rate: Rate, bursts: Bursts, start_ns: u64) -> Self {
        let left = if let Bursts::OnOff { packets, .. } = bursts { packets } else { 0 };
        Self { rate, bursts, now_ps: u128::from(start_ns) * 1000, left, saved_ps: 0 }
    }

    /// Returns the arrival time, in nanoseconds, of a packet of `bytes` bytes. Advances the clock
    /// by the packet's gap.
    pub(super) fn tick(&mut self, bytes: usize, random: &mut Random) -> u64 {
        let now = (self.now_ps / 1000) as u64;
        let gap = self.rate.gap_ps(bytes);
        self.now_ps += match self.bursts {
            Bursts::Constant => gap,
            Bursts::Poisson => {
                // Keep it above zero, so that its logarithm is finite.
                let uniform = ((random.next() >> 11) + 1) as f64 / (1u64 << 53) as f64;
                (-uniform.ln() * gap as f64) as u128
            }
            Bursts::OnOff { packets, peak } => {
                let short = gap / u128::from(peak);
                self.saved_ps += gap - short;
                self.left -= 1;
                if self.left == 0 {
                    self.left = packets;
                    short + std::mem::take(&mut self.saved_ps)
                } else {
                    short
                }
            }
        };
        now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(rate: &str, bursts: &str, count: usize) -> Vec<u64> {
        let mut clock = Clock::new(rate.parse().expect(rate), bursts.parse().expect(bursts), 0);
        let mut random = Random::new(1);
        (0..count).map(|_| clock.tick(60, &mut random)).collect()
    }

    #[test]
    fn ten_gigabit_of_least_frames_is_14_88_mpps() {
        let times = arrivals("10Gbps", "constant", 1_488_096);
        assert!((99_999_000..100_001_000).contains(times.last().expect("packets")));
    }

    #[test]
    fn all_shapes_keep_the_average() {
        for bursts in ["constant", "poisson", "onoff:32x10"] {
            let last = *arrivals("1Mpps", bursts, 320_001).last().expect("packets") as f64;
            assert!((last / 320e6 - 1.0).abs() < 0.01, "{bursts}: {last}");
        }
    }

    #[test]
    fn bursts_are_as_dense_as_said() {
        let times = arrivals("1Mpps", "onoff:4x10", 9);
        assert_eq!(times, [0, 100, 200, 300, 4000, 4100, 4200, 4300, 8000]);
    }

    #[test]
    fn text_is_read_and_written() {
        for text in ["10Gbps", "1500kpps", "14880952pps", "100Mbps"] {
            assert_eq!(text.parse::<Rate>().expect(text).to_string(), text);
        }
        assert_eq!("1.5Mpps".parse(), Ok(Rate::PacketsPerSecond(1_500_000)));
        for text in ["10", "xGbps", "0pps", "-1Mpps", "1e99Gbps", "NaNpps", "bps"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        for text in ["constant", "poisson", "onoff:32x10"] {
            assert_eq!(text.parse::<Bursts>().expect(text).to_string(), text);
        }
        for text in ["", "onoff", "onoff:0x1", "onoff:1x0", "onoff:axb"] {
            assert!(text.parse::<Bursts>().is_err(), "{text}");
        }
    }
}

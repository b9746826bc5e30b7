//! Packet rates. A rate counts packets that left by a port. Packets that the program dropped or
//! handed to the control processor are counted next to it.

use serde::Serialize;
use wireloom_ir::Verdict;
use wireloom_machine::{Error, Result};

/// Counts of packets by verdict, in a run or a window of one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    /// Packets that left by a port, and their bytes.
    pub sent: u64,
    pub sent_bytes: u64,
    /// Packets that left by no port: the program dropped them, or handed them to the control
    /// processor.
    pub dropped: u64,
}

impl Verdicts {
    /// Counts a packet of this length.
    pub fn add(&mut self, verdict: Verdict, bytes: usize) {
        match verdict {
            Verdict::Sent { .. } => {
                self.sent += 1;
                self.sent_bytes += bytes as u64;
            }
            Verdict::ToCpu(_) | Verdict::Dropped(_) => self.dropped += 1,
        }
    }

    /// Checks that all packets left by a port.
    ///
    /// # Errors
    /// If a packet did not; the message has the name of the machine.
    pub fn check_all_sent(&self, machine: &str) -> Result {
        let all = self.sent + self.dropped;
        if self.dropped == 0 {
            return Ok(());
        }
        let why = format!("{machine}: {} of {all} packets leave by no port", self.dropped);
        Err(Error::new(why).with_help(
            "a rate is of packets that are forwarded: the tables must know where they go",
        ))
    }

    /// The rate of the sent packets, over a time in seconds.
    pub fn rate(&self, seconds: f64) -> Rate {
        let a_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        Rate {
            mpps: a_second(self.sent as f64) / 1e6,
            gbps: a_second(self.sent_bytes as f64 * 8.0) / 1e9,
            dropped: self.dropped,
        }
    }
}

/// A packet rate, as figures keep it. Only [`Verdicts::rate`] makes one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rate {
    mpps: f64,
    gbps: f64,
    dropped: u64,
}

impl Rate {
    /// Million packets per second that left by a port.
    pub fn mpps(&self) -> f64 {
        self.mpps
    }

    /// The rate of the sent packets in Gb/s.
    pub fn gbps(&self) -> f64 {
        self.gbps
    }

    /// Packets that left by no port.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use wireloom_ir::Reason;

    use super::*;

    #[test]
    fn a_rate_counts_packets_that_left_by_a_port_and_tells_the_others() {
        let mut verdicts = Verdicts::default();
        for port in 0..3 {
            verdicts.add(Verdict::Sent { port }, 125);
        }
        verdicts.add(Verdict::Dropped(Reason::Runaway), 1500);
        verdicts.add(Verdict::ToCpu(Reason::Runaway), 1500);
        let rate = verdicts.rate(1e-6);
        assert_eq!((rate.mpps(), rate.gbps(), rate.dropped()), (3.0, 3.0, 2));
        assert!(verdicts.check_all_sent("golden").is_err());
        assert!(Verdicts { dropped: 0, ..verdicts }.check_all_sent("golden").is_ok());
        assert_eq!(Verdicts::default().rate(0.0).mpps(), 0.0);
    }
}

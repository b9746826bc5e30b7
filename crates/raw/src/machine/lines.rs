//! The lines at the ports of engines: when packets arrive, and which of them are lost at a full
//! card.
//!
//! Without a buffer a line stops until the previous packet has been handed to the chip, as in the
//! paper, so no packet is lost ([`PacketPort`](super::port::PacketPort) stops the line). With a
//! buffer packets keep arriving, and a packet that finds the buffer full is lost.

use std::collections::VecDeque;

use wireloom_machine::{Error, Options, Rate, Result};
use wireloom_net::Frame;

/// A packet that has not arrived yet.
#[derive(Clone, Debug)]
pub struct Coming {
    /// The cycle since the start in which its last byte arrives.
    pub at: u64,
    /// The packet's number among all packets.
    pub number: u64,
    pub card: usize,
    pub arrival_ns: u64,
    pub ingress: u16,
    pub bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Lines {
    rate: Rate,
    mhz: f64,
    /// Limit on the packets in the buffer of a card, if it has one.
    pub buffer: Option<usize>,
    /// Packets that are still on the way to cards with a buffer, in order.
    pub coming: VecDeque<Coming>,
    /// Lost packets that have not been reported yet; `lost_in_all` counts all lost packets.
    pub lost: Vec<u64>,
    pub lost_in_all: u64,
    /// The arrival time of the first packet of the source; `last` is the cycle of the latest
    /// arrival.
    first_ns: Option<u64>,
    pub last: u64,
}

impl Lines {
    /// Creates the lines of a chip with a clock of `mhz`, from the options of a run.
    ///
    /// # Errors
    /// If a buffer could never be full.
    pub fn new(options: &Options, mhz: u32) -> Result<Self> {
        let rate = options.rate.unwrap_or(Rate::Max);
        if options.buffer.is_some() && rate == Rate::Max {
            return Err(Error::new("a buffer changes nothing where packets wait at the ports")
                .with_help("say --rate MPPS or --rate capture as well, or leave out --buffer"));
        }
        if options.buffer == Some(0) {
            return Err(Error::new("a buffer of no packets loses all")
                .with_help("say --buffer N, N from 1 on; without it lines wait for the chip"));
        }
        Ok(Self {
            rate,
            mhz: f64::from(mhz),
            buffer: options.buffer.map(|packets| packets as usize),
            coming: VecDeque::new(),
            lost: Vec::new(),
            lost_in_all: 0,
            first_ns: None,
            last: 0,
        })
    }

    /// Whether packets arrive at given times.
    pub fn is_timed(&self) -> bool {
        self.rate != Rate::Max
    }

    /// Returns the cycle since the start in which packet `number` arrives. No packet arrives before
    /// the packets of earlier calls.
    pub fn at(&mut self, number: u64, frame: &Frame<'_>) -> u64 {
        let first_ns = *self.first_ns.get_or_insert(frame.arrival_ns);
        let at = match self.rate {
            Rate::Max => 0.0,
            Rate::Capture => frame.arrival_ns.saturating_sub(first_ns) as f64 * self.mhz / 1000.0,
            Rate::Mpps(mpps) => number as f64 * self.mhz / mpps,
        };
        self.last = self.last.max(at as u64);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(arrival_ns: u64) -> Frame<'static> {
        Frame { ingress: 0, arrival_ns, bytes: &[] }
    }

    #[test]
    fn packets_come_at_a_rate_or_as_they_were_captured() {
        let lines =
            |rate| Lines::new(&Options { rate: Some(rate), ..Options::default() }, 425).unwrap();
        let mut steady = lines(Rate::Mpps(2.0));
        assert_eq!([0, 1, 2, 3].map(|number| steady.at(number, &frame(7))), [0, 212, 425, 637]);
        let mut captured = lines(Rate::Capture);
        let times = [5000, 5000, 6000, 5500, 9000];
        assert_eq!(times.map(|ns| captured.at(0, &frame(ns))), [0, 0, 425, 425, 1700]);
        let mut all = lines(Rate::Max);
        assert_eq!([1, 2].map(|number| all.at(number, &frame(9000 * number))), [0, 0]);
    }

    #[test]
    fn buffers_without_effect_are_refused() {
        let refused = |rate, buffer| {
            let options = Options { rate: Some(rate), buffer: Some(buffer), ..Options::default() };
            Lines::new(&options, 425).map(|_| ()).unwrap_err().message
        };
        assert!(refused(Rate::Max, 4).contains("changes nothing"));
        assert!(refused(Rate::Mpps(1.0), 0).contains("loses all"));
    }
}

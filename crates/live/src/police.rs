//! Limits the packets for the kernel. Each reason has a token bucket, so that a flood of packets
//! for one reason neither keeps the kernel busy nor displaces packets for the others.

use std::collections::BTreeMap;

use wireloom_ir::Reason;

/// Default rate, in packets per second for each reason. The kernel processes some hundreds of
/// thousands a second on a core.
pub const DEFAULT_RATE: u64 = 20_000;

/// Limits on packets for the kernel, in packets per second.
#[derive(Clone, Debug)]
pub struct Limits {
    /// The limit of each reason that is not among the exceptions. 0: no packets.
    pub rate: u64,
    /// Limits of individual reasons.
    pub exceptions: BTreeMap<Reason, u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rate: DEFAULT_RATE, exceptions: BTreeMap::new() }
    }
}

impl Limits {
    /// Returns the same limits in the form for an engine in the kernel.
    pub fn in_kernel(&self) -> wireloom_xdp::Limits {
        let exceptions = self.exceptions.iter().map(|(reason, rate)| (*reason, *rate));
        wireloom_xdp::Limits { rate: self.rate, exceptions: exceptions.collect() }
    }

    /// Returns an equal share of the limits for each of `cores` cores. A reason with a limit above
    /// 0 gets at least one packet.
    pub(crate) fn of_each(&self, cores: usize) -> Self {
        let part = |rate: u64| rate.div_ceil(cores as u64);
        let exceptions = self.exceptions.iter().map(|(reason, rate)| (*reason, part(*rate)));
        Self { rate: part(self.rate), exceptions: exceptions.collect() }
    }
}

/// Decides which packets may go to the kernel.
pub(crate) struct Police {
    limits: Limits,
    buckets: BTreeMap<Reason, Bucket>,
}

/// A token bucket that holds a tenth of a second, as a virtual clock (the generic cell rate
/// algorithm of ITU-T I.371). Each packet advances the clock by the interval between packets at the
/// full rate.
#[derive(Default)]
struct Bucket {
    /// In nanoseconds.
    clock: u64,
    refused: u64,
}

/// The most nanoseconds that the virtual clock may be ahead: the size of the bucket.
const AHEAD: u64 = 100_000_000;
const SECOND: u64 = 1_000_000_000;

impl Police {
    pub(crate) fn new(limits: Limits) -> Self {
        Self { limits, buckets: BTreeMap::new() }
    }

    /// Returns whether a packet may go to the kernel. `now` is in nanoseconds of a monotonic clock.
    pub(crate) fn admits(&mut self, reason: Reason, now: u64) -> bool {
        let rate = self.limits.exceptions.get(&reason).copied().unwrap_or(self.limits.rate);
        let bucket = self.buckets.entry(reason).or_default();
        // At low rates the bucket holds one packet.
        let step = SECOND.checked_div(rate).unwrap_or(u64::MAX);
        let clock = bucket.clock.max(now);
        if step == u64::MAX || clock - now > AHEAD.saturating_sub(step) {
            bucket.refused += 1;
            return false;
        }
        bucket.clock = clock + step;
        true
    }

    /// Returns the number of refused packets, by reason.
    pub(crate) fn refused(&self) -> BTreeMap<Reason, u64> {
        let refused = self.buckets.iter().map(|(reason, bucket)| (*reason, bucket.refused));
        refused.filter(|(_, count)| *count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use wireloom_ir::ReasonSetId;

    use super::*;

    const TTL: Reason = Reason::Program(ReasonSetId(0), 1);
    const ARP: Reason = Reason::Program(ReasonSetId(0), 2);

    fn admitted(police: &mut Police, reason: Reason, offered: u64, seconds: u64) -> u64 {
        let begin = 77 * SECOND;
        let step = seconds * SECOND / offered;
        (0..offered).filter(|index| police.admits(reason, begin + index * step)).count() as u64
    }

    #[test]
    fn a_flood_gets_its_rate_and_others_theirs() {
        let mut police = Police::new(Limits { rate: 1000, ..Limits::default() });
        let flood = admitted(&mut police, TTL, 100_000, 10);
        // The bucket admits a tenth of a second at once, then the rate.
        assert!((10_000..=10_101).contains(&flood), "{flood}");
        assert_eq!(admitted(&mut police, ARP, 900, 1), 900);
        assert_eq!(police.refused(), BTreeMap::from([(TTL, 100_000 - flood)]));
    }

    #[test]
    fn single_reasons_have_rates_of_their_own() {
        let exceptions = BTreeMap::from([(TTL, 0), (ARP, 2)]);
        let mut police = Police::new(Limits { exceptions, ..Limits::default() });
        assert_eq!(admitted(&mut police, TTL, 100, 10), 0);
        assert_eq!(admitted(&mut police, ARP, 1000, 10), 20);
    }

    #[test]
    fn a_full_bucket_holds_a_tenth_of_a_second() {
        let mut police = Police::new(Limits { rate: 1000, ..Limits::default() });
        let at_once =
            |police: &mut Police, now| (0..1000).filter(|_| police.admits(ARP, now)).count();
        assert_eq!(at_once(&mut police, SECOND), 100);
        assert_eq!(at_once(&mut police, SECOND), 0);
        assert_eq!(at_once(&mut police, SECOND + SECOND / 100), 10);
    }
}

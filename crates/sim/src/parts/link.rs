//! Serial links: transmission at a rate, followed by a latency.

use serde::{Deserialize, Serialize};

use crate::spec::{SpecError, gigabits, nanoseconds};
use crate::stats::Record;
use crate::{Clock, Time};

/// A serial link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// The rate in bits per second; `rate_gbps` in machine files, up to 8,000.
    #[serde(rename = "rate_gbps", with = "gigabits")]
    pub rate: u64,
    /// The latency of a bit; `latency_ns` in machine files.
    #[serde(rename = "latency_ns", with = "nanoseconds")]
    pub latency: Time,
}

/// A link and the time at which it is free.
#[derive(Clone, Debug)]
pub struct Link {
    spec: LinkSpec,
    wire: Wire,
}

impl Link {
    /// Creates a free link.
    ///
    /// # Errors
    /// If the rate is out of range.
    pub fn new(spec: LinkSpec) -> Result<Self, SpecError> {
        Ok(Self { spec, wire: Wire::new(spec.rate)? })
    }

    /// Sends a number of bytes after the current transmission. Returns the arrival time of the last
    /// byte.
    pub fn send(&mut self, now: Time, bytes: u64) -> Time {
        self.wire.send(now, bytes) + self.spec.latency
    }

    /// Returns the end of the current transmission; a time in the past if the link is free.
    pub fn free(&self) -> Time {
        self.wire.free()
    }

    /// The record: `bytes` sent, and `use`, the share of the time until now in which the link was
    /// busy.
    pub fn record(&self, now: Time) -> Record {
        self.wire.record(now)
    }
}

/// Transmits bytes at a rate. The rate holds exactly over any time, as rounding errors do not add
/// up.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// A clock with one tick for each byte.
    bytes: Clock,
    /// The start of the current busy period, and the bytes sent since.
    since: Time,
    count: u64,
    /// The busy time before that period.
    busy: Time,
    total: u64,
    /// The start of the measurement, and the busy time and the bytes before it.
    from: Time,
    before: (Time, u64),
}

impl Wire {
    pub(crate) fn new(rate: u64) -> Result<Self, SpecError> {
        if !(1..=8_000_000_000_000).contains(&rate) {
            return Err(SpecError::new(
                "rate_gbps",
                "can be more than 0, up to 8000: a byte takes a picosecond or more",
            ));
        }
        let bytes = Clock::ratio(8_000_000_000_000, rate);
        Ok(Self {
            bytes,
            since: Time::ZERO,
            count: 0,
            busy: Time::ZERO,
            total: 0,
            from: Time::ZERO,
            before: (Time::ZERO, 0),
        })
    }

    /// Returns the transmission time of a number of bytes.
    pub(crate) fn time(&self, bytes: u64) -> Time {
        self.bytes.edge(bytes)
    }

    /// Returns the time at which the last of a number of bytes will have been sent.
    pub(crate) fn send(&mut self, now: Time, bytes: u64) -> Time {
        if self.free() < now {
            self.busy += self.time(self.count);
            self.since = now;
            self.count = 0;
        }
        self.count += bytes;
        self.total += bytes;
        self.free()
    }

    pub(crate) fn free(&self) -> Time {
        self.since + self.time(self.count)
    }

    /// Restricts the record to the time from now on.
    pub(crate) fn begin_to_count(&mut self, now: Time) {
        (self.from, self.before) = (now, (self.busy_until(now), self.total));
    }

    fn busy_until(&self, now: Time) -> Time {
        self.busy + self.free().min(now).since(self.since)
    }

    pub(crate) fn record(&self, now: Time) -> Record {
        let (busy_before, bytes_before) = self.before;
        let (time, busy) = (now.since(self.from), self.busy_until(now) - busy_before);
        let share = if time == Time::ZERO { 0.0 } else { busy.0 as f64 / time.0 as f64 };
        Record::new().with("bytes", self.total - bytes_before).with("use", share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Value;

    fn link(rate: u64, latency: u64) -> Link {
        Link::new(LinkSpec { rate, latency: Time(latency) }).unwrap()
    }

    #[test]
    fn an_idle_link_takes_its_latency_and_the_time_of_the_bytes() {
        let mut link = link(10_000_000_000, 5000);
        assert_eq!(link.send(Time(100), 64), Time(100 + 51_200 + 5000));
        assert_eq!(link.free(), Time(51_300));
        assert_eq!(link.send(Time(1_000_000), 1), Time(1_000_000 + 800 + 5000));
    }

    #[test]
    fn a_busy_link_carries_its_rate_exactly() {
        // 54 bytes at OC-48 take 173.6 ns, which is not a whole number of picoseconds.
        let mut link = link(2_488_320_000, 0);
        let last = (0..100_000).map(|_| link.send(Time(7), 54)).last().unwrap();
        assert_eq!(u128::from(last.0 - 7), 5_400_000 * 8 * 1_000_000_000_000 / 2_488_320_000);
        assert_eq!(
            link.record(last).value("use").unwrap(),
            &Value::Number((last.0 - 7) as f64 / last.0 as f64)
        );
    }

    #[test]
    fn use_counts_busy_times_only() {
        let mut link = link(8_000_000_000, 0);
        link.send(Time(0), 10);
        link.send(Time(50_000), 10);
        assert_eq!(link.record(Time(100_000)).value("use"), Some(&Value::Number(0.2)));
        assert_eq!(link.record(Time(55_000)).value("use"), Some(&Value::Number(15.0 / 55.0)));
    }

    #[test]
    fn a_machine_file_gives_rates_and_times_with_their_units() {
        let spec: LinkSpec = toml::from_str("rate_gbps = 2.48832\nlatency_ns = 40").unwrap();
        assert_eq!(spec, LinkSpec { rate: 2_488_320_000, latency: Time::nanoseconds(40) });
        let error = toml::from_str::<LinkSpec>("rate_gbps = 1\nlatency_ns = -1").unwrap_err();
        assert!(
            error.to_string().contains("-1 is not a time in nanoseconds, 0 to 1,000,000,000"),
            "{error}"
        );
        assert!(toml::from_str::<LinkSpec>("rate_gbps = 1\nlatency_ns = 1\nspeed = 1").is_err());
        let error = Link::new(LinkSpec { rate: 9_000_000_000_000, latency: Time(0) })
            .unwrap_err()
            .within("line");
        assert_eq!(
            error.to_string(),
            "`line.rate_gbps`: can be more than 0, up to 8000: a byte takes a picosecond or more"
        );
    }
}

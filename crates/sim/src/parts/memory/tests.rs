use super::*;
use crate::Rng;
use crate::stats::Value;

/// A cycle is a nanosecond. The latency is 100 cycles, and a burst of 64 bytes takes 8 cycles of a
/// port.
fn spec() -> MemorySpec {
    toml::from_str(
        "clock_mhz = 1000\nlatency_cycles = 100\nports = 1\nbytes_per_cycle = 8\nbanks = 8\nbank_cycles = 20\n\
         interleave_bytes = 64\nburst_bytes = 64\noutstanding = 1000",
    )
    .unwrap()
}

/// Requests reads at these addresses, all at the start. Returns the cycle in which the last one
/// completes.
fn last(spec: MemorySpec, addresses: impl Iterator<Item = u64>, bytes: u64) -> u64 {
    let mut memory = Memory::new(spec).unwrap();
    let ends = addresses.map(|address| memory.request(Time(0), Direction::Read, address, bytes));
    ends.max().unwrap().0 / 1000
}

#[test]
fn alone_a_request_takes_the_latency_and_its_data() {
    for bytes in [0, 1, 8, 9, 64] {
        let beats = bytes.max(1u64).div_ceil(8);
        assert_eq!(last(spec(), [0x1000].into_iter(), bytes), 100 + beats);
        assert_eq!(spec().unloaded(bytes), Time::nanoseconds(100 + beats));
    }
    // The request waits for an edge of the memory's clock.
    let mut memory = Memory::new(spec()).unwrap();
    assert_eq!(memory.request(Time(1), Direction::Write, 0, 8), Time::nanoseconds(102));
}

#[test]
fn a_port_carries_its_bytes_a_cycle_and_no_more() {
    let sequential = |count: u64| (0..count).map(|n| n * 64);
    assert_eq!(last(spec(), sequential(1000), 64), 100 + 8 * 1000);
    // Two ports are still the limit: 8 banks, each open for 20 cycles, would allow more.
    let two = MemorySpec { ports: 2, ..spec() };
    assert_eq!(last(two, sequential(1000), 64), 100 + 4 * 1000);
    let slow = MemorySpec { ports: 4, bank_cycles: 40, ..spec() };
    assert_eq!(last(slow, sequential(1000), 64), 40 * (1000 / 8 - 1) + 100 + 16);
}

#[test]
fn a_long_request_is_bursts_over_successive_banks() {
    assert_eq!(last(spec(), [0].into_iter(), 64 * 100), 100 + 8 * 100);
    // A read from the middle of a burst begins with the rest of that burst.
    assert_eq!(last(spec(), [40].into_iter(), 64), 100 + 3 + 5);
    // Bursts within one bank wait for it.
    let wide = MemorySpec { interleave_bytes: 4096, ..spec() };
    assert_eq!(last(wide, [0].into_iter(), 640), 20 * 9 + 100 + 8);
}

#[test]
fn requests_to_one_bank_come_at_the_rate_of_the_bank() {
    let one_bank = (0..100).map(|n| n * 64 * 8);
    assert_eq!(last(spec(), one_bank, 64), 20 * 99 + 100 + 8);
}

#[test]
fn a_bound_on_requests_under_way_bounds_the_rate() {
    // Little's law: 4 requests in 108 cycles.
    let bounded = MemorySpec { outstanding: 4, ..spec() };
    let addresses = (0..4000).map(|n| n * 64);
    let cycles = last(bounded, addresses, 64);
    let expected = 4000 / 4 * 108;
    assert!(cycles.abs_diff(expected) <= 24, "{cycles} for {expected}");
}

#[test]
fn two_at_random_keep_as_many_banks_busy_as_they_must() {
    // Two requests hit the same bank with a probability of 1 in m, independent of the history: 2 -
    // 1/m banks are busy on average.
    for banks in [2, 4, 16] {
        let spec = MemorySpec {
            banks,
            ports: 8,
            latency_cycles: 12,
            bank_cycles: 20,
            outstanding: 2,
            ..spec()
        };
        let mut rng = Rng::new(7, "addresses");
        let addresses = (0..20_000).map(|_| rng.below(1 << 20) * 64);
        let busy = 20_000.0 * 20.0 / last(spec, addresses, 64) as f64;
        let expected = 2.0 - 1.0 / banks as f64;
        assert!((busy / expected - 1.0).abs() < 0.01, "{busy} for {expected}");
    }
}

#[test]
fn data_of_an_idle_bank_overtakes() {
    let mut memory = Memory::new(MemorySpec { bank_cycles: 50, ..spec() }).unwrap();
    let ends =
        [0, 0, 64].map(|address| memory.request(Time(0), Direction::Read, address, 64).0 / 1000);
    assert_eq!(ends, [108, 158, 116]);
    let record = memory.record(Time::nanoseconds(240));
    assert_eq!(record.value("use"), Some(&Value::Number(0.1)));
    assert_eq!(record.value("bank_conflicts"), Some(&Value::Count(1)));
    assert_eq!(record.value("bytes"), Some(&Value::Count(192)));
}

#[test]
fn what_makes_no_sense_is_refused_with_the_key() {
    let refused = |spec| Memory::new(spec).unwrap_err().to_string();
    assert_eq!(
        refused(MemorySpec { banks: 3, ..spec() }),
        "`banks`: is 3; it can be a power of two from 1 to 1024"
    );
    assert_eq!(
        refused(MemorySpec { burst_bytes: 128, ..spec() }),
        "`burst_bytes`: is 128; it can be a power of two from 1 to 64"
    );
    assert_eq!(
        refused(MemorySpec { outstanding: 0, ..spec() }),
        "`outstanding`: is 0; it can be 1 to 65536"
    );
    assert!(
        toml::from_str::<MemorySpec>("clock_mhz = 0")
            .unwrap_err()
            .to_string()
            .contains("0 is not a clock in MHz")
    );
}

#[test]
fn later_requests_are_served_at_the_new_rate_after_those_under_way() {
    let mut memory = Memory::new(spec()).unwrap();
    let first = memory.request(Time(0), Direction::Read, 0, 64);
    memory.set_rate(Time(500), Clock::ratio(3000, 1), Time(0));
    let second = memory.request(Time(600), Direction::Read, 0, 64);
    // The current period ends at 1 ns; from then on, cycles last 3 ns.
    let entered = (first.0 - 1000).div_ceil(3000) * 3000 + 1000;
    assert_eq!((first.0, second.0), (108_000, entered + 108 * 3000));
    // The clock settles while no request is in flight.
    memory.set_rate(second + Time(7), Clock::hertz(1_000_000_000), Time(50_000));
    let third = memory.request(second + Time(8), Direction::Read, 64, 8);
    assert_eq!(third, second + Time(7 + 50_000 + 101_000));
}

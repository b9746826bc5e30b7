use super::*;
use crate::rng::Rng;
use crate::stats::Value;
use proptest::prelude::*;

/// 4 KB as in the StepNP paper, with lines of 32 bytes.
fn spec(ways: u64) -> CacheSpec {
    let text = format!("bytes = 4096\nline_bytes = 32\nways = {ways}");
    toml::from_str(&text).unwrap()
}

fn cache(spec: CacheSpec) -> Cache {
    Cache::new(spec, Rng::new(1, "cache")).unwrap()
}

/// Sweeps several times over a number of bytes, word by word, and counts the misses of the last
/// sweep.
fn misses_of_a_sweep(mut cache: Cache, bytes: u64) -> usize {
    let mut misses = 0;
    for sweep in 0..4 {
        let time = |address| sweep * bytes + address;
        let is_missed = |address: &u64| !cache.access(*address, Use::Read, time(*address)).hit;
        let missed = (0..bytes).step_by(4).filter(is_missed).count();
        misses = if sweep == 3 { missed } else { 0 };
    }
    misses
}

#[test]
fn what_fits_misses_once_and_what_does_not_misses_again() {
    for ways in [1, 2, 128 / 2] {
        assert_eq!(misses_of_a_sweep(cache(spec(ways)), 4096), 0);
    }
    // The worst case of LRU: a sweep over one line more in each set than there are ways drops each
    // line just before its turn.
    assert_eq!(misses_of_a_sweep(cache(spec(2)), 6144), 6144 / 32);
    // Direct-mapped, only the sets with two lines miss.
    assert_eq!(misses_of_a_sweep(cache(spec(1)), 4096 + 1024), 2 * 1024 / 32);
}

#[test]
fn random_addresses_hit_as_often_as_they_are_held() {
    // Uniform accesses over four times the cache's size: a quarter hits, whatever the policy.
    for spec in [spec(1), spec(8), CacheSpec { replacement: Replacement::Random, ..spec(4) }] {
        let (mut cache, mut rng) = (cache(spec), Rng::new(3, "addresses"));
        let hits = (0..40_000)
            .filter(|time| cache.access(rng.below(16_384), Use::Read, *time).hit)
            .count() as f64;
        assert!((hits / 40_000.0 - 0.25).abs() < 0.01, "{hits} with {spec:?}");
    }
}

#[test]
fn a_line_that_is_fetched_ahead_is_there_and_counts_apart() {
    let mut cache = cache(spec(1));
    cache.access(0x1000, Use::Read, 1);
    cache.prefetch(0x1020, 1);
    assert!(cache.place(0x103c).is_some() && cache.place(0x1040).is_none());
    assert!(cache.access(0x1024, Use::Read, 2).hit);
    // A prefetch evicts like a miss.
    cache.prefetch(0x2000, 3);
    assert!(cache.place(0x1000).is_none());
    let record = cache.record();
    let count = |key: &str| match record.value(key) {
        Some(Value::Count(count)) => *count,
        other => panic!("{key}: {other:?}"),
    };
    let counts = ["reads", "read_misses", "prefetched", "evicted"].map(count);
    assert_eq!(counts, [2, 1, 2, 1]);
}

#[test]
fn a_dirty_line_is_written_back_when_it_gives_way() {
    let mut cache = cache(spec(1));
    let miss = Access { hit: false, fetches: true, writes_through: false, writes_back: None };
    assert_eq!(cache.access(0x1004, Use::Write, 1), miss);
    assert_eq!(cache.access(0x101c, Use::Read, 2), Access { hit: true, fetches: false, ..miss });
    assert_eq!(cache.access(0x2000, Use::Read, 3), Access { writes_back: Some(0x1000), ..miss });
    assert_eq!(cache.access(0x1000, Use::Read, 4), miss);
    let record = cache.record();
    assert_eq!(
        (record.value("written_back"), record.value("evicted")),
        (Some(&Value::Count(1)), Some(&Value::Count(2)))
    );
    assert_eq!(record.value("miss_rate"), Some(&Value::Number(0.75)));
    cache.clear();
    assert!(!cache.access(0x1000, Use::Read, 5).hit);
}

#[test]
fn a_write_through_goes_to_memory_and_fetches_nothing() {
    let mut cache = cache(CacheSpec { write: WritePolicy::Through, ..spec(2) });
    let through = Access { hit: false, fetches: false, writes_through: true, writes_back: None };
    assert_eq!(cache.access(64, Use::Write, 1), through);
    assert!(cache.access(64, Use::Read, 2).fetches);
    assert_eq!(cache.access(64, Use::Write, 3), Access { hit: true, ..through });
    for n in 0..100 {
        assert_eq!(cache.access(n * 2048, Use::Read, 4 + n).writes_back, None);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: prop::test_runner::RngSeed::Fixed(8), failure_persistence: None, ..Default::default() })]

    /// Checks against lists of the most recently used lines, over a few sets.
    #[test]
    fn lru_holds_the_lines_used_last(ways in 0u32..4, accesses in prop::collection::vec((0u64..0x4000, any::<bool>()), 1..300)) {
        let ways = 1 << ways;
        let mut cache = cache(CacheSpec { bytes: 64 * ways, line_bytes: 16, ..spec(ways) });
        let mut sets = vec![Vec::<(u64, bool)>::new(); 4];
        for (time, (address, write)) in (0..).zip(accesses) {
            let line = address / 16 * 16;
            let set = &mut sets[(line / 16 % 4) as usize];
            let found = set.iter().position(|(held, _)| *held == line);
            let dirty = found.is_some_and(|at| set.remove(at).1);
            set.insert(0, (line, dirty || write));
            let gone = if set.len() as u64 > ways { set.pop() } else { None };
            let access = cache.access(address, if write { Use::Write } else { Use::Read }, time);
            prop_assert_eq!(access.hit, found.is_some());
            prop_assert_eq!(access.writes_back, gone.filter(|(_, dirty)| *dirty).map(|(line, _)| line));
        }
    }

    /// Hits can be reported in any order, as long as they are reported before the next miss.
    #[test]
    fn reads_may_be_told_later(random in any::<bool>(), reads in prop::collection::vec(0u64..0x400, 1..200), order in any::<u64>()) {
        let replacement = if random { Replacement::Random } else { Replacement::Lru };
        let spec = CacheSpec { bytes: 256, line_bytes: 16, replacement, ..spec(4) };
        let (mut prompt, mut late) = (cache(spec), cache(spec));
        let mut untold: Vec<(u32, u64)> = Vec::new();
        let mut rng = Rng::new(order, "order");
        for (time, address) in (0..).zip(reads) {
            let access = prompt.access(address, Use::Read, time);
            let place = late.place(address);
            prop_assert_eq!(place.is_some(), access.hit);
            if let Some(place) = place {
                untold.push((place, time));
                continue;
            }
            while !untold.is_empty() {
                let (place, time) = untold.swap_remove(rng.below(untold.len() as u64) as usize);
                late.read_at(place, time);
            }
            prop_assert_eq!(late.access(address, Use::Read, time), access);
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_the_key() {
    let refused = |spec| Cache::new(spec, Rng::new(1, "cache")).unwrap_err().to_string();
    assert_eq!(
        refused(CacheSpec { bytes: 5000, ..spec(1) }),
        "`bytes`: is 5000; it can be a power of two from 16 to 1073741824"
    );
    assert_eq!(
        refused(CacheSpec { line_bytes: 2, ..spec(1) }),
        "`line_bytes`: is 2; it can be a power of two from 4 to 4096"
    );
    assert_eq!(refused(spec(256)), "`ways`: is 256; it can be a power of two from 1 to 64");
}

//! Visits of rows page by page, while the table changes between the pages.

use std::collections::BTreeMap;

use wireloom_bits::Bits;

use super::tests::config;
use crate::{Config, Cursor, Entry, EntryKey, Instance, StateRow, instantiate};

/// Numbers without an evident order.
fn mixed(number: u64) -> u64 {
    let mut x = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

fn lpm(width: u32) -> Config {
    config("lpm", Some(&[("", width)]), Some(&[("", 16)]), &[])
}

/// Returns a prefix of any length, `/0` and the longest ones included.
fn prefix(width: u32, number: u64) -> EntryKey {
    let length = (mixed(number) % u64::from(width + 1)) as u32;
    let spread = u128::from(mixed(number ^ 1 << 40)) << 64 | u128::from(mixed(number ^ 1 << 41));
    // Few different leading bits: many prefixes are in the same nodes.
    let spread = if width < 16 { spread } else { spread & !(0x1fff << 115) };
    let bits = Bits::new(128, spread).lshr(128 - width).resize(width);
    let below = width - length;
    let bits = if below == width { Bits::zero(width) } else { bits.lshr(below).shl(below) };
    EntryKey::Prefix { bits, length }
}

fn load(table: &mut dyn Instance, key: &EntryKey, width: u32) {
    table.load(Entry { key: key.clone(), value: Bits::new(width, 7) }).expect("room");
}

/// Visits all rows in pages, and calls `between` between two pages. Returns the number of visits of
/// each key.
fn visited(
    table: &mut dyn Instance,
    most: usize,
    mut between: impl FnMut(&mut dyn Instance, u64),
) -> BTreeMap<EntryKey, u32> {
    let mut visits = BTreeMap::new();
    let (mut from, mut pages) = (Cursor::Start, 0);
    loop {
        let mut rows = Vec::new();
        let next = table.visit_from(&from, most, &mut |row| rows.push(row));
        assert!(rows.len() <= most, "{} rows in a page of {most}", rows.len());
        for row in rows {
            assert_eq!(table.look_up(&row.key), Ok(Some(row.clone())));
            *visits.entry(row.key).or_default() += 1;
        }
        let Some(next) = next else { return visits };
        from = next;
        pages += 1;
        between(table, pages);
    }
}

/// Entries with even numbers stay; between the pages, the others come or go.
fn changes_between_pages(declared: &Config, width: u32, key: impl Fn(u64) -> EntryKey) {
    const KEYS: u64 = 600;
    for most in [1, 2, 7, 64, 10_000] {
        let mut table = instantiate(declared).expect("a table");
        let stays: Vec<EntryKey> = (0..KEYS).map(|number| key(2 * number)).collect();
        let others: Vec<EntryKey> = (0..KEYS).map(|number| key(2 * number + 1)).collect();
        let others: Vec<&EntryKey> = others.iter().filter(|key| !stays.contains(key)).collect();
        stays.iter().for_each(|key| load(table.as_mut(), key, width));
        for key in others.iter().step_by(2) {
            load(table.as_mut(), key, width);
        }
        let all: Vec<StateRow> = table.rows();
        let visits = visited(table.as_mut(), most, |_, _| ());
        assert_eq!(
            visits.keys().cloned().collect::<Vec<_>>(),
            all.iter().map(|row| row.key.clone()).collect::<Vec<_>>()
        );
        assert!(visits.values().all(|count| *count == 1));

        let visits = visited(table.as_mut(), most, |table, page| {
            // Each key comes once or goes once.
            let Some(key) = others.get(mixed(page) as usize % others.len().max(1)) else { return };
            if mixed(page ^ 1 << 50).is_multiple_of(2) {
                let _ = table.unload(key).expect("a key of this kind");
            } else if table.look_up(key) == Ok(None) && !others.iter().step_by(2).any(|k| k == key)
            {
                load(table, key, width);
            }
        });
        for key in &stays {
            assert_eq!(visits.get(key), Some(&1), "{key:?} in pages of {most}");
        }
    }
}

#[test]
fn prefixes_that_stay_are_visited_once() {
    for width in [8, 20, 32, 128] {
        changes_between_pages(&lpm(width), 16, |number| prefix(width, number));
    }
}

#[test]
fn entries_that_stay_are_visited_once() {
    let declared = config("exact", Some(&[("", 32)]), Some(&[("", 16)]), &[("size", 2000)]);
    let key = |number| EntryKey::Exact(Bits::new(32, u128::from(mixed(number))));
    changes_between_pages(&declared, 16, key);
}

#[test]
fn elements_that_stay_are_visited_once() {
    let declared = config("array", None, Some(&[("", 16)]), &[("size", 1 << 16)]);
    changes_between_pages(&declared, 16, |number| EntryKey::Index(mixed(number) % (1 << 16)));
    let declared = config("counter", None, None, &[("size", 1 << 16)]);
    changes_between_pages(&declared, 128, |number| EntryKey::Index(mixed(number) % (1 << 16)));
}

#[test]
fn a_page_over_elements_that_are_zero_is_bounded() {
    let declared = config("array", None, Some(&[("", 16)]), &[("size", 1 << 20)]);
    let mut table = instantiate(&declared).expect("an array");
    load(table.as_mut(), &EntryKey::Index((1 << 20) - 1), 16);
    let first = table.visit_from(&Cursor::Start, 10, &mut |_| panic!("all are zero"));
    assert_eq!(first, Some(Cursor::At(640)));
    assert_eq!(visited(table.as_mut(), 1 << 10, |_, _| ()).len(), 1);
}

#[test]
fn room_is_what_can_still_be_loaded() {
    let declared = config("exact", Some(&[("", 8)]), Some(&[("", 8)]), &[("size", 3)]);
    let mut table = instantiate(&declared).expect("a table");
    for number in 0..3u128 {
        assert_eq!(table.room(), Some(3 - number as u64));
        load(table.as_mut(), &EntryKey::Exact(Bits::new(8, number)), 8);
    }
    assert_eq!(table.room(), Some(0));
    assert_eq!(instantiate(&lpm(32)).expect("a table").room(), None);
}

#[test]
fn entries_of_packets_have_times_and_loaded_ones_have_none() {
    let mut bench = super::tests::Bench::new(
        "exact",
        Some(&[("", 8)]),
        Some(&[("", 8)]),
        &[("size", 4), ("age", 100)],
    );
    bench.now = 40;
    bench.call("insert", &[Bits::new(8, 1), Bits::new(8, 9)]);
    let key = |number| EntryKey::Exact(Bits::new(8, number));
    load(bench.instance.as_mut(), &key(2), 8);
    let times = bench.instance.lifetime(&key(1)).expect("times");
    assert_eq!((times.touched_ns, times.ends_ns), (40, Some(140)));
    assert_eq!(bench.instance.lifetime(&key(2)), None);
    assert_eq!(bench.instance.lifetime(&key(3)), None);
}

//! Tests that compare the table with a naive scan, read it in other threads while it changes, and
//! read it as its documentation describes.

use std::collections::BTreeMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering};

use proptest::prelude::*;
use wireloom_bits::Bits;

use super::{LpmView, Table};

mod uniform;

const MISS: u128 = 0xdead;

fn value(v: u128) -> Bits {
    Bits::new(16, v)
}

/// The reference: a scan of all prefixes.
#[derive(Default)]
struct Naive(BTreeMap<(Bits, u32), u128>);

impl Naive {
    fn lookup(&self, key: &Bits) -> u128 {
        let width = key.width();
        let matching = self.0.iter().filter(|((bits, length), _)| {
            let free = width - length;
            bits.lshr(free) == key.lshr(free)
        });
        matching.max_by_key(|((_, length), _)| *length).map_or(MISS, |(_, v)| *v)
    }
}

/// Reads a table exactly like the C code in the documentation of the module.
fn read_as_c(view: &LpmView, key: &Bits) -> u64 {
    let bits = |at: u32, n: u32| {
        (0..n).fold(0, |b, i| {
            b << 1 | u64::from(at + i < view.key_bits && key.bit(view.key_bits - 1 - at - i))
        })
    };
    // SAFETY: the caller keeps the table unchanged; all indices follow the documented layout.
    unsafe {
        if !view.spread.is_null() {
            let direct = view.spread.add(bits(0, view.direct_bits) as usize).cast::<AtomicU32>();
            let mut entry = (*direct).load(Ordering::Acquire);
            let (mut at, mut named) = (view.direct_bits, 1 << 31);
            while entry & named != 0 {
                let place = (entry & !named) as usize * 64 + bits(at, 6) as usize;
                at += 6;
                if view.key_bits > 32 {
                    let next = view.blocks.cast::<AtomicU32>().add(place);
                    entry = (*next).load(Ordering::Acquire);
                } else {
                    let next = view.blocks.cast::<AtomicU16>().add(place);
                    entry = u32::from((*next).load(Ordering::Acquire));
                    named = 1 << 15;
                }
            }
            return *view.values.add(entry as usize * view.value_words as usize);
        }
        let direct = view.direct.add(bits(0, view.direct_bits) as usize).cast::<AtomicU64>();
        let entry = (*direct).load(Ordering::Acquire);
        let (mut best, mut node) = (entry as u32, (entry >> 32) as u32);
        let mut at = view.direct_bits;
        while node != 0 {
            let n = *view.nodes.add(node as usize);
            let s = bits(at, 6) as u32;
            if n.leaves != 0 {
                let below =
                    (n.leaves & 2u64.checked_shl(s).unwrap_or(0).wrapping_sub(1)).count_ones();
                let leaf = *view.leaves.add((n.leaf_base + below - 1) as usize);
                if leaf != 0 {
                    best = leaf;
                }
            }
            if n.children >> s & 1 == 0 {
                break;
            }
            node = n.child_base + (n.children & ((1u64 << s) - 1)).count_ones();
            at += 6;
        }
        *view.values.add(best as usize * view.value_words as usize)
    }
}

#[derive(Clone, Debug)]
enum Op {
    Insert(u64, u32, u128),
    Remove(usize),
    Bulk(bool),
}

/// Returns a prefix whose bits come from few patterns, so that prefixes nest.
fn prefix(width: u32, seed: u64, length: u32) -> Bits {
    let spread = [0, 0x9e37_79b9_7f4a_7c15, u64::MAX, 0x5555_5555_5555_5555];
    let words: Vec<u64> = (0..16).map(|i| spread[(seed >> (2 * i) & 3) as usize]).collect();
    let low = Bits::new(width, u128::from(seed >> 32));
    Bits::from_words(width, &words).xor(&low).lshr(width - length).shl(width - length)
}

fn operations() -> impl Strategy<Value = (u32, Vec<Op>, Vec<u64>)> {
    let width = prop_oneof![
        Just(1u32),
        Just(5),
        Just(17),
        Just(18),
        Just(19),
        Just(24),
        Just(25),
        Just(32),
        Just(33),
        Just(48),
        Just(64),
        Just(127),
        Just(128),
        Just(129),
        Just(300),
        Just(1024),
        1u32..1025
    ];
    width.prop_flat_map(|width| {
        let insert = (any::<u64>(), 0..=width, 0u128..20)
            .prop_map(|(s, l, v)| Op::Insert(s & 0xf_0000_003f, l, v));
        let op = prop_oneof![
            6 => insert,
            3 => any::<prop::sample::Index>().prop_map(|i| Op::Remove(i.index(usize::MAX))),
            1 => any::<bool>().prop_map(Op::Bulk),
        ];
        (Just(width), prop::collection::vec(op, 1..120), prop::collection::vec(any::<u64>(), 4))
    })
}

proptest! {
    #[test]
    fn lookups_equal_a_naive_scan((width, ops, seeds) in operations()) {
        let mut table = Table::new(width, &value(MISS)).unwrap();
        let mut reader = table.reader();
        let mut naive = Naive::default();
        let mut keys: Vec<Bits> = seeds.iter().map(|&s| prefix(width, s, width)).collect();
        keys.extend([Bits::zero(width), Bits::ones(width)]);
        let mut bulk = false;
        for op in ops {
            match op {
                Op::Insert(seed, length, v) => {
                    let bits = prefix(width, seed, length);
                    // The first and the last key of the prefix, and the key after it.
                    let last = bits.or(&Bits::ones(width).lshr(length));
                    keys.extend([bits.clone(), last.clone(), last.add(&Bits::new(width, 1))]);
                    let was = naive.0.insert((bits.clone(), length), v).is_some();
                    prop_assert_eq!(table.insert(&bits, length, &value(v)), Ok(was));
                    prop_assert_eq!(table.get(&bits, length), Some(value(v)));
                }
                Op::Remove(index) if !naive.0.is_empty() => {
                    let (bits, length) = naive.0.keys().nth(index % naive.0.len()).unwrap().clone();
                    naive.0.remove(&(bits.clone(), length));
                    prop_assert_eq!(table.remove(&bits, length), Ok(true));
                    prop_assert_eq!(table.remove(&bits, length), Ok(false));
                    prop_assert_eq!(table.get(&bits, length), None);
                }
                Op::Remove(_) => {}
                Op::Bulk(begin) => {
                    if begin { table.begin_bulk() } else { table.end_bulk().unwrap() }
                    bulk = begin;
                }
            }
            prop_assert_eq!(table.len(), naive.0.len());
            if !bulk {
                let guard = reader.pin();
                for key in keys.iter().rev().take(12) {
                    let expected = naive.lookup(key);
                    prop_assert_eq!(table.lookup(key), value(expected));
                    prop_assert_eq!(guard.lookup(key), value(expected));
                    prop_assert_eq!(u128::from(read_as_c(&guard.view(), key)), expected);
                }
            }
        }
        table.end_bulk().unwrap();
        for key in &keys {
            prop_assert_eq!(table.lookup(key), value(naive.lookup(key)));
        }
        let mut listed = BTreeMap::new();
        table.for_each(&mut |bits, length, v| assert!(listed.insert((bits, length), v.to_u128().unwrap()).is_none()));
        prop_assert_eq!(listed, naive.0);
    }
}

#[test]
fn everything_comes_back_when_everything_is_removed() {
    let mut table = Table::new(64, &value(MISS)).unwrap();
    let prefixes: Vec<(Bits, u32)> = (0..3000u64)
        .map(|i| {
            let length = 1 + (i * 7 % 64) as u32;
            let bits = Bits::new(64, u128::from(i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
            (bits.lshr(64 - length).shl(64 - length), length)
        })
        .collect();
    let before = table.memory();
    let mut peak = 0;
    for round in 0..8 {
        for (bits, length) in &prefixes {
            table.insert(bits, *length, &value(u128::from(*length) + round)).unwrap();
        }
        for (bits, length) in &prefixes {
            table.remove(bits, *length).unwrap();
        }
        assert!(table.is_empty());
        assert_eq!(table.lookup(&prefixes[0].0), value(MISS));
        if round == 2 {
            peak = table.memory();
        }
    }
    assert!(table.memory() <= peak, "memory does not grow: {before}, {peak}, {}", table.memory());
}

/// Entries of blocks have 15 bits for the number of a value. With more values the table consists of
/// nodes.
#[test]
fn a_table_with_many_values_has_another_form() {
    let mut table = Table::new(32, &value(MISS)).unwrap();
    let mut reader = table.reader();
    let key = |i: u32| Bits::new(32, u128::from(i) << 8);
    let is_spread = |table: &Table| !table.reader().pin().view().spread.is_null();
    for i in 0..40_000u32 {
        table.insert(&key(i), 24, &value(u128::from(i))).unwrap();
        if i % 4096 == 0 || i == 39_999 {
            assert_eq!(is_spread(&table), i < 32_768, "{i}");
            for j in (0..=i).step_by(997) {
                let (key, guard) = (key(j), reader.pin());
                assert_eq!(guard.lookup(&key), value(u128::from(j)));
                assert_eq!(read_as_c(&guard.view(), &key), u64::from(j));
            }
        }
    }
    for i in 0..40_000u32 {
        table.remove(&key(i), 24).unwrap();
    }
    table.begin_bulk();
    table.insert(&key(7), 32, &value(7)).unwrap();
    table.end_bulk().unwrap();
    assert_eq!(table.lookup(&key(7)), value(7));
}

/// A table of wide keys has at most 65,536 blocks. With more it consists of nodes, until it needs
/// fewer.
#[test]
fn a_table_with_many_long_prefixes_has_another_form() {
    let mut table = Table::new(128, &value(MISS)).unwrap();
    let mut reader = table.reader();
    // These prefixes share no block.
    let key = |i: u32| {
        let high = u128::from(i.wrapping_mul(0x9e37_79b9));
        Bits::new(128, high << 96 | u128::from(i))
    };
    let mut check = |table: &Table, range: std::ops::Range<u32>, is_spread: bool| {
        let guard = reader.pin();
        assert_eq!(!guard.view().spread.is_null(), is_spread, "{range:?}");
        for i in range.clone() {
            assert_eq!(guard.lookup(&key(i)), value(u128::from(i)));
            assert_eq!(read_as_c(&guard.view(), &key(i)), u64::from(i));
        }
        assert_eq!(guard.lookup(&key(range.end)), value(MISS));
        assert_eq!(table.len(), range.len());
    };
    let insert = |table: &mut Table, i: u32| {
        table.insert(&key(i), 128, &value(u128::from(i))).unwrap();
    };
    for i in 0..300 {
        insert(&mut table, i);
    }
    check(&table, 0..300, true);
    table.begin_bulk();
    for i in 300..4000 {
        insert(&mut table, i);
    }
    table.end_bulk().unwrap();
    check(&table, 0..4000, false);
    for i in 100..4000 {
        table.remove(&key(i), 128).unwrap();
    }
    check(&table, 0..100, false);
    table.begin_bulk();
    table.end_bulk().unwrap();
    check(&table, 0..100, true);
}

#[test]
fn what_does_not_suit_the_table_is_refused() {
    assert!(Table::new(0, &value(0)).is_err());
    assert!(Table::new(1025, &value(0)).is_err());
    let mut table = Table::new(32, &value(0)).unwrap();
    for (bits, length, value) in [
        (Bits::zero(33), 8, value(0)),
        (Bits::zero(32), 33, value(0)),
        (Bits::new(32, 1), 31, value(0)),
        (Bits::zero(32), 8, Bits::zero(17)),
    ] {
        assert!(table.insert(&bits, length, &value).is_err(), "{bits:?}/{length} {value:?}");
    }
    assert!(table.is_empty());
}

/// Readers look up keys while their prefixes change. Each reader must see the old or the new value,
/// and a key under an untouched prefix must never change.
fn changes_beside_lookups(width: u32, rounds: u128) {
    let mut table = Table::new(width, &value(MISS)).unwrap();
    let key = |v: u32| Bits::new(width, u128::from(v) << (width - 32));
    table.insert(&key(0x0a00_0000), 8, &value(8)).unwrap();
    table.insert(&key(0x0a01_0280), 25, &value(25)).unwrap();
    let (done, begun) = (AtomicBool::new(false), Barrier::new(4));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let mut reader = table.reader();
            let (done, begun) = (&done, &begun);
            scope.spawn(move || {
                begun.wait();
                let mut is_over = false;
                while !is_over {
                    is_over = done.load(Ordering::Relaxed);
                    let guard = reader.pin();
                    let changing = guard.lookup(&key(0x0a01_0203)).low_u64();
                    assert!(matches!(changing, 8 | 24 | 32 | 100..=199), "{changing}");
                    assert_eq!(guard.lookup(&key(0x0a01_0281)).low_u64(), 25);
                    assert_eq!(read_as_c(&guard.view(), &key(0x0a01_02ff)), 25);
                    assert_eq!(guard.lookup(&key(0x0b00_0000)), value(MISS));
                }
            });
        }
        begun.wait();
        for round in 0..rounds {
            table.insert(&key(0x0a01_0200), 24, &value(24)).unwrap();
            table.insert(&key(0x0a01_0203), 32, &value(32)).unwrap();
            table.insert(&key(0x0a01_0203), 32, &value(100 + round % 100)).unwrap();
            // Changes of neighbours cause runs to be copied, freed and reused. From time to time
            // the arrays are rebuilt.
            for neighbour in 0..8 {
                let bits = key(0x0a01_0000 | (round as u32 * 37 + neighbour * 256) & 0xff00);
                table.insert(&bits, 27, &value(1000 + round % 50)).unwrap();
            }
            if round % 500 == 0 {
                table.begin_bulk();
                table.end_bulk().unwrap();
            }
            for neighbour in 0..8 {
                let bits = key(0x0a01_0000 | (round as u32 * 37 + neighbour * 256) & 0xff00);
                table.remove(&bits, 27).unwrap();
            }
            table.remove(&key(0x0a01_0203), 32).unwrap();
            table.remove(&key(0x0a01_0200), 24).unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!(table.len(), 2);
}

#[test]
fn lookups_go_on_while_the_table_changes() {
    changes_beside_lookups(32, if cfg!(miri) { 20 } else { 400 });
    changes_beside_lookups(128, if cfg!(miri) { 20 } else { 100 });
}

/// A pinned reader prevents the reuse of all memory that it may access.
#[test]
fn a_pinned_view_stays_readable() {
    let mut table = Table::new(32, &value(MISS)).unwrap();
    let key = Bits::new(32, 0x0a01_0203);
    table.insert(&key, 32, &value(1)).unwrap();
    let mut reader = table.reader();
    let guard = reader.pin();
    let view = guard.view();
    table.begin_bulk();
    table.insert(&key, 32, &value(2)).unwrap();
    table.end_bulk().unwrap();
    for i in 0..100u128 {
        table.insert(&Bits::new(32, i << 8), 24, &value(i)).unwrap();
    }
    assert_eq!(read_as_c(&view, &key), 1, "the arrays of before");
    assert_eq!(guard.lookup(&key), value(2), "a lookup takes the present ones");
    let pinned = table.memory();
    drop(guard);
    table.remove(&Bits::new(32, 0), 24).unwrap();
    assert!(table.memory() < pinned, "the old arrays are given back");
}

//! Tests that no block is uniform after any sequence of changes.

use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering};

use wireloom_bits::Bits;

use super::super::blocks::BlockCount;
use super::super::{LpmView, Table};
use super::{MISS, Naive, read_as_c, value};

/// Widths of keys with few and many strides, and with short and long entries.
const WIDTHS: [u32; 6] = [19, 26, 32, 33, 64, 128];

/// Pseudo-random numbers (xorshift), equal in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % end
    }

    /// Draws a key from few different ones: two direct entries, and two or eight slots in each
    /// node.
    fn key(&mut self, width: u32) -> Bits {
        let mut key = Bits::zero(width);
        for at in (18..width).step_by(6) {
            let count = (width - at).min(6);
            let slot = match self.below(4) {
                0 => self.below(1 << count.min(3)),
                _ => self.below(2) << (count - 1),
            };
            key = key.or(&Bits::new(width, slot.into()).shl(width - at - count));
        }
        key.or(&Bits::new(width, self.below(2).into()).shl(width - 18))
    }

    /// Draws a length. Lengths in or near the first two nodes are more frequent.
    fn length(&mut self, width: u32) -> u32 {
        let end = if self.below(3) > 0 { width.min(31) } else { width };
        let first = if self.below(8) > 0 { 17 } else { 0 };
        first + self.below(u64::from(end - first) + 1) as u32
    }
}

fn cut(key: &Bits, length: u32) -> Bits {
    let below = key.width() - length;
    key.lshr(below).shl(below)
}

#[test]
fn blocks_end_and_begin_as_prefixes_change() {
    for width in WIDTHS {
        let mut numbers = Numbers(u64::from(width));
        let mut table = Table::new(width, &value(MISS)).unwrap();
        let mut reader = table.reader();
        let mut naive = Naive::default();
        let mut count = BlockCount::default();
        // `ended` counts changes after which there are fewer blocks, `begun` changes after which
        // there are more.
        let (mut ended, mut begun) = (0, 0);
        for step in 0..if cfg!(miri) { 5 } else { 200 } {
            let grows = naive.0.len() < 20 + step / 10;
            let bits = match numbers.below(10) {
                0..6 if grows => {
                    let length = numbers.length(width);
                    let bits = cut(&numbers.key(width), length);
                    let v = u128::from(1 + numbers.below(2));
                    naive.0.insert((bits.clone(), length), v);
                    table.insert(&bits, length, &value(v)).unwrap();
                    bits
                }
                _ if !naive.0.is_empty() => {
                    let chosen = numbers.below(naive.0.len() as u64) as usize;
                    let (bits, length) = naive.0.keys().nth(chosen).unwrap().clone();
                    let replaces = numbers.below(3) > 0;
                    if replaces {
                        let v = u128::from(1 + numbers.below(2));
                        naive.0.insert((bits.clone(), length), v);
                        table.insert(&bits, length, &value(v)).unwrap();
                    } else {
                        naive.0.remove(&(bits.clone(), length));
                        table.remove(&bits, length).unwrap();
                    }
                    bits
                }
                _ => continue,
            };
            let now = table.checked_blocks().expect("it has few blocks");
            ended += usize::from(now.count() < count.count());
            begun += usize::from(now.count() > count.count());
            count = now;
            let guard = reader.pin();
            for key in (0..6).map(|_| numbers.key(width)).chain([bits]) {
                let expected = naive.lookup(&key);
                assert_eq!(table.lookup(&key), value(expected), "step {step}, {key:?}");
                assert_eq!(u128::from(read_as_c(&guard.view(), &key)), expected);
            }
        }
        if !cfg!(miri) {
            assert!(ended > 5 && begun > 5, "{width} bits: {ended} ended, {begun} began");
        }
        table.begin_bulk();
        table.end_bulk().unwrap();
        assert_eq!(
            table.checked_blocks(),
            Some(count),
            "a table that is built has the same blocks"
        );
        for ((bits, length), _) in naive.0 {
            table.remove(&bits, length).unwrap();
            table.checked_blocks();
        }
        assert_eq!(table.checked_blocks(), Some(BlockCount::default()));
    }
}

/// Returns a table with a prefix of no bits and `count` longer prefixes of the same value that
/// would share no block.
fn agreeing(width: u32, length: u32, count: u32) -> (Table, impl Fn(u32) -> Bits) {
    let key = move |i: u32| {
        let high = Bits::new(width, u128::from(i.wrapping_mul(0x9e37_79b9))).shl(width - 32);
        let low = if width > 32 { Bits::new(width, i.into()) } else { Bits::zero(width) };
        cut(&high.or(&low), length)
    };
    let mut table = Table::new(width, &value(MISS)).unwrap();
    table.insert(&Bits::zero(width), 0, &value(1)).unwrap();
    for i in 0..count {
        table.insert(&key(i), length, &value(1)).unwrap();
    }
    (table, key)
}

/// One change can need many blocks at once. The table then builds larger arrays, which later
/// changes find in place.
#[test]
fn a_change_that_needs_many_blocks_has_them() {
    for (width, length, levels) in [(32, 24, 1), (32, 31, 3), (64, 48, 5)] {
        let (mut table, key) = agreeing(width, length, 1000);
        let mut reader = table.reader();
        assert_eq!(table.checked_blocks(), Some(BlockCount::default()), "all values agree");
        let mut arrays = None;
        for round in 0..4 {
            table.insert(&Bits::zero(width), 0, &value(2)).unwrap();
            let count = table.checked_blocks().expect("a table of blocks");
            assert!((900..=1000).contains(&count.top), "{count:?}");
            assert!(count.deep >= 900 * (levels - 1), "{count:?}");
            let view = reader.pin().view();
            for i in 0..1000 {
                assert_eq!(read_as_c(&view, &key(i)), 1);
                let after = key(i).add(&Bits::new(width, 1).shl(width - length));
                assert_eq!(table.lookup(&after), value(2), "{round}");
            }
            let same = *arrays.get_or_insert(view.blocks);
            assert_eq!(view.blocks, same, "freed blocks are used again, round {round}");
            table.insert(&Bits::zero(width), 0, &value(1)).unwrap();
            assert_eq!(table.checked_blocks(), Some(BlockCount::default()));
        }
    }
}

/// A change below a single direct entry can also need many deep blocks.
#[test]
fn a_change_that_needs_many_deep_blocks_has_them() {
    let key = |i: u32| Bits::new(64, u128::from(i) << 34);
    for length in [18, 20] {
        let mut table = Table::new(64, &value(MISS)).unwrap();
        table.insert(&Bits::zero(64), length, &value(1)).unwrap();
        for i in 0..300 {
            table.insert(&key(i), 36, &value(1)).unwrap();
        }
        let agreeing = table.checked_blocks().expect("a table of blocks");
        assert!(agreeing.count() <= 1, "the prefix of {length} bits: {agreeing:?}");
        table.insert(&Bits::zero(64), length, &value(2)).unwrap();
        let count = table.checked_blocks().expect("a table of blocks");
        assert!(count.top == 1 && count.deep >= 300, "{count:?}");
        for i in 0..300 {
            assert_eq!(table.lookup(&key(i)), value(1));
            assert_eq!(table.lookup(&key(i).add(&Bits::new(64, 1 << 28))), value(2));
        }
    }
}

/// If a change needs more blocks of wide keys than a table can have, the table then consists of
/// nodes.
#[test]
fn a_change_that_needs_too_many_blocks_changes_the_form() {
    let (mut table, key) = agreeing(128, 128, 4000);
    assert_eq!(table.checked_blocks(), Some(BlockCount::default()));
    table.insert(&Bits::zero(128), 0, &value(2)).unwrap();
    assert_eq!(table.checked_blocks(), None);
    for i in (0..4000).step_by(7) {
        assert_eq!(table.lookup(&key(i)), value(1));
        assert_eq!(table.lookup(&key(i).xor(&Bits::new(128, 1 << 20))), value(2));
    }
    table.insert(&Bits::zero(128), 0, &value(1)).unwrap();
    table.begin_bulk();
    table.end_bulk().unwrap();
    assert_eq!(table.checked_blocks(), Some(BlockCount::default()));
}

/// A change that lacks memory changes neither the FIB nor the RIB.
#[test]
fn a_change_without_memory_is_none() {
    let all = Bits::zero(32);
    let (mut table, key) = agreeing(32, 24, 1000);
    let unchanged = |table: &Table, wide: Option<u128>| {
        assert!(table.checked_blocks().is_some());
        assert_eq!(table.get(&all, 0), wide.map(value));
        assert_eq!(table.len(), 1000 + usize::from(wide.is_some()));
        for i in 0..1000 {
            assert_eq!(table.lookup(&key(i)), value(1));
            let after = key(i).add(&Bits::new(32, 0x100));
            assert_eq!(table.lookup(&after), value(wide.unwrap_or(MISS)));
        }
    };
    table.be_without_memory(true);
    assert!(table.insert(&all, 0, &value(2)).is_err());
    unchanged(&table, Some(1));
    assert!(table.remove(&all, 0).is_err());
    unchanged(&table, Some(1));
    table.be_without_memory(false);
    assert_eq!(table.remove(&all, 0), Ok(true));
    unchanged(&table, None);
    assert_eq!(table.insert(&all, 0, &value(1)), Ok(false));

    // The value of the failed attempt is gone, and the next attempt reuses its number.
    let (mut table, _) = agreeing(32, 24, 1000);
    table.be_without_memory(true);
    for v in 2..100 {
        assert!(table.insert(&all, 0, &value(v)).is_err());
    }
    table.be_without_memory(false);
    table.insert(&all, 0, &value(3)).unwrap();
    assert!(table.reader().pin().view().value_count < 50);
}

/// Returns the entries of a block.
fn entries(view: &LpmView, block: u32) -> Vec<u32> {
    let places = (0..64).map(|slot| block as usize * 64 + slot);
    // SAFETY: the caller has a reader pinned, and the block is one of the table's.
    let entry = |place: usize| unsafe {
        match view.key_bits {
            0..=32 => {
                u32::from((*view.blocks.cast::<AtomicU16>().add(place)).load(Ordering::Acquire))
            }
            _ => (*view.blocks.cast::<AtomicU32>().add(place)).load(Ordering::Acquire),
        }
    };
    places.map(entry).collect()
}

/// A block that would become uniform keeps its content while a reader may be inside it.
#[test]
fn a_block_that_ended_is_used_again_when_no_reader_is_in_it() {
    for width in [32, 128] {
        let key = |v: u32| Bits::new(width, v.into()).shl(width - 32);
        let mut table = Table::new(width, &value(MISS)).unwrap();
        let mut reader = table.reader();
        // SAFETY: the reader is pinned, or nobody changes the table.
        let direct = |view: &LpmView, v: u32| unsafe {
            (*view.spread.add((v >> 14) as usize).cast::<AtomicU32>()).load(Ordering::Acquire)
        };
        table.insert(&key(0x0a00_0000), 8, &value(1)).unwrap();
        table.insert(&key(0x0a00_0100), 24, &value(2)).unwrap();
        let guard = reader.pin();
        let view = guard.view();
        let entry = direct(&view, 0x0a00_0000);
        assert!(entry >> 31 == 1, "a block");
        let block = entry & !(1 << 31);
        let before = entries(&view, block);
        // The block is replaced, and other blocks appear in the same arrays.
        table.insert(&key(0x0a00_0100), 24, &value(1)).unwrap();
        assert_eq!(direct(&view, 0x0a00_0000) >> 31, 0, "a value");
        for i in 1..6 {
            table.insert(&key(0x0a00_0000 + i * 0x4000), 24, &value(7)).unwrap();
        }
        assert_eq!(guard.view().blocks, view.blocks);
        assert_eq!(entries(&view, block), before, "what a reader in it sees");
        table.checked_blocks();
        drop(guard);
        // The first change after which the block is free, and one that takes it.
        table.insert(&key(0x0a00_4000), 24, &value(1)).unwrap();
        table.checked_blocks();
        let mut blocks = Vec::new();
        for i in 8..10 {
            table.insert(&key(0x0a00_0000 + i * 0x4000), 24, &value(8)).unwrap();
            blocks.push(direct(&reader.pin().view(), 0x0a00_0000 + i * 0x4000) & !(1 << 31));
        }
        assert!(blocks.contains(&block), "{blocks:?} and not {block}");
        table.checked_blocks();
    }
}

/// Readers look up keys in blocks that end and begin all the time, while freed blocks are reused
/// for other keys with other values.
#[test]
fn lookups_go_on_while_blocks_end_and_begin() {
    for (width, deepest) in [(32, 31), (128, 60)] {
        let key = |v: u32| Bits::new(width, v.into()).shl(width - 32);
        let mut table = Table::new(width, &value(MISS)).unwrap();
        let area = |i: u32| 0x0a00_0000 + i * 0x4000;
        for i in 0..4 {
            table.insert(&key(area(i)), 18, &value(u128::from(10 * (i + 1)))).unwrap();
        }
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let (mut reader, done) = (table.reader(), &done);
                scope.spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        let guard = reader.pin();
                        for i in 0..4 {
                            let own = u64::from(10 * (i + 1));
                            for slot in 0..64 {
                                // The changing prefix is in the fifth slot.
                                let got = read_as_c(&guard.view(), &key(area(i) + slot * 0x100));
                                let may = got == own || slot == 5 && got == own + 1;
                                assert!(may, "{got} in slot {slot} of area {i}");
                            }
                        }
                    }
                });
            }
            for round in 0..if cfg!(miri) { 10 } else { 2000u32 } {
                let i = round % 4;
                let own = u128::from(10 * (i + 1));
                let length = if round % 3 == 0 { 24 } else { deepest };
                let bits = key(area(i) + 0x500);
                table.insert(&bits, length, &value(own + 1)).unwrap();
                match round % 2 {
                    0 => table.insert(&bits, length, &value(own)).unwrap(),
                    _ => table.remove(&bits, length).unwrap(),
                };
                table.remove(&bits, length).unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(table.checked_blocks(), Some(BlockCount::default()));
    }
}

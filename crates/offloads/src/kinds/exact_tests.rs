//! Tests of the guarantees of an exact-match table, and a comparison with a model that keeps a
//! list.

use proptest::prelude::*;
use wireloom_bits::Bits;

use super::{Aged, Exact, State};
use crate::kinds::tests::Bench;
use crate::{Entry, EntryKey, Refused};

fn bench(size: u64, age: u64) -> Bench {
    let value = [("packets", 4), ("bytes", 12)];
    Bench::new("exact", Some(&[("", 32)]), Some(&value), &[("size", size), ("age", age)])
}

fn key(k: u32) -> Bits {
    Bits::new(32, u128::from(k))
}

fn value(v: u16) -> Bits {
    Bits::new(16, u128::from(v))
}

fn at(bench: &mut Bench, now: u64, method: &str, args: &[Bits]) -> u64 {
    bench.now = now;
    bench.call(method, args).low_u64()
}

fn load(bench: &mut Bench, k: u32, v: u16) -> Result<(), Refused> {
    bench.instance.load(Entry { key: EntryKey::Exact(key(k)), value: value(v) })
}

const FOUND: u64 = 1 << 16;
const OK: u64 = 1 << 17;
const EXISTED: u64 = 1 << 16;

#[test]
fn insert_keeps_what_is_there_and_update_replaces_it() {
    let mut b = bench(4, 0);
    assert_eq!(at(&mut b, 0, "lookup", &[key(1)]), 0);
    assert_eq!(at(&mut b, 0, "update", &[key(1), value(9)]), 0);
    assert_eq!(at(&mut b, 0, "insert", &[key(1), value(5)]), OK | 5);
    assert_eq!(at(&mut b, 0, "insert", &[key(1), value(6)]), OK | EXISTED | 5);
    assert_eq!(at(&mut b, 0, "update", &[key(1), value(7)]), 1);
    assert_eq!(at(&mut b, 0, "lookup", &[key(1)]), FOUND | 7);
    assert_eq!(at(&mut b, 0, "remove", &[key(1)]), FOUND | 7);
    assert_eq!(at(&mut b, 0, "remove", &[key(1)]), 0);
}

#[test]
fn accumulate_adds_field_by_field() {
    let mut b = bench(1, 0);
    assert_eq!(at(&mut b, 0, "accumulate", &[key(1), value(0x1fff)]), OK | 0x1fff);
    assert_eq!(
        at(&mut b, 0, "accumulate", &[key(1), value(0xf001)]),
        OK | EXISTED,
        "each wraps at its own width"
    );
    assert_eq!(at(&mut b, 0, "accumulate", &[key(2), value(1)]), 0, "full");
}

#[test]
fn a_full_table_takes_no_new_key_until_one_is_gone() {
    let mut b = bench(2, 0);
    at(&mut b, 0, "insert", &[key(1), value(1)]);
    at(&mut b, 0, "insert", &[key(2), value(2)]);
    assert_eq!(at(&mut b, 0, "insert", &[key(3), value(3)]), 0);
    assert_eq!(at(&mut b, 0, "insert", &[key(2), value(3)]), OK | EXISTED | 2);
    assert_eq!(load(&mut b, 3, 3), Err(Refused("the table is full: its size is 2".into())));
    at(&mut b, 0, "remove", &[key(1)]);
    assert_eq!(at(&mut b, 0, "insert", &[key(3), value(3)]), OK | 3);
}

#[test]
fn entries_expire_and_their_place_is_free() {
    let mut b = bench(2, 100);
    at(&mut b, 1000, "insert", &[key(1), value(1)]);
    at(&mut b, 1050, "insert", &[key(2), value(2)]);
    assert_eq!(at(&mut b, 1100, "lookup", &[key(1)]), FOUND | 1, "exactly `age` old: there");
    assert_eq!(at(&mut b, 1101, "lookup", &[key(1)]), 0);
    assert_eq!(at(&mut b, 1101, "insert", &[key(3), value(3)]), OK | 3, "takes its place");
    assert_eq!(at(&mut b, 1101, "touch", &[key(2)]), FOUND | 2);
    assert_eq!(at(&mut b, 1200, "lookup", &[key(2)]), FOUND | 2, "touched");
    assert_eq!(at(&mut b, 1200, "age", &[key(2)]), 99);
    assert_eq!(b.call("age", &[key(2)]).slice(64, 1), Bits::bool(true));
    assert_eq!(b.call("age", &[key(1)]), Bits::zero(65));
    assert_eq!(
        at(&mut b, 1300, "insert", &[key(2), value(8)]),
        OK | 8,
        "expired: as good as absent"
    );
}

#[test]
fn time_does_not_run_backwards() {
    let mut b = bench(2, 100);
    at(&mut b, 1000, "insert", &[key(1), value(1)]);
    at(&mut b, 1101, "insert", &[key(2), value(2)]);
    assert_eq!(at(&mut b, 1050, "lookup", &[key(1)]), 0, "what has expired stays so");
    assert_eq!(at(&mut b, 1050, "age", &[key(2)]), 0);
}

#[test]
fn expire_counts_entries_touched_longer_ago() {
    let mut b = bench(8, 0);
    for now in [10, 20, 30] {
        at(&mut b, now, "insert", &[key(now as u32), value(1)]);
    }
    load(&mut b, 99, 9).unwrap();
    assert_eq!(at(&mut b, 40, "expire", &[Bits::new(64, 20)]), 1);
    assert_eq!(at(&mut b, 40, "expire", &[Bits::new(64, 20)]), 0);
    assert_eq!(at(&mut b, 1_000, "expire", &[Bits::new(64, 0)]), 2, "but not the static one");
    assert_eq!(b.instance.rows().len(), 1);
}

#[test]
fn entries_of_the_control_plane_do_not_age() {
    let mut b = bench(2, 100);
    at(&mut b, 0, "insert", &[key(1), value(1)]);
    load(&mut b, 1, 7).unwrap();
    load(&mut b, 2, 8).unwrap();
    assert_eq!(at(&mut b, 10_000, "touch", &[key(1)]), FOUND | 7);
    assert_eq!(at(&mut b, 20_000, "update", &[key(2), value(3)]), 1);
    assert_eq!(at(&mut b, 30_000, "age", &[key(2)]), 0);
    assert_eq!(at(&mut b, 30_000, "lookup", &[key(2)]), FOUND | 3);
    assert_eq!(b.instance.unload(&EntryKey::Exact(key(2))), Ok(true));
    assert_eq!(b.instance.unload(&EntryKey::Exact(key(2))), Ok(false));
}

#[test]
fn rows_are_live_entries_by_key() {
    let mut b = bench(1000, 100);
    for k in (0..500).rev() {
        at(&mut b, u64::from(k), "insert", &[key(k), value(0x1001)]);
    }
    let keys: Vec<EntryKey> = b.instance.rows().into_iter().map(|row| row.key).collect();
    assert_eq!(keys.len(), 500, "all were touched at the table's time, 499");
    assert!(keys.is_sorted());
    let fields = &b.instance.rows()[0].fields;
    assert_eq!(fields[0], ("packets".to_owned(), Bits::new(4, 1)));
}

#[test]
fn a_million_entries() {
    let mut b = bench(1 << 20, 0);
    for k in 0..1 << 20 {
        at(&mut b, 0, "insert", &[key(k * 4095), value(k as u16)]);
    }
    assert_eq!(at(&mut b, 0, "insert", &[key(1), value(1)]), 0, "full");
    for k in (0..1 << 20).step_by(999) {
        assert_eq!(at(&mut b, 0, "lookup", &[key(k * 4095)]), FOUND | u64::from(k as u16));
    }
}

/// A model of the table as documented: a list with linear search.
struct Model {
    size: usize,
    age: u64,
    time: u64,
    /// Key, value and time of the last touch (`None` for static entries).
    entries: Vec<(u32, u16, Option<u64>)>,
}

impl Model {
    fn live(&self, entry: &(u32, u16, Option<u64>), now: u64) -> bool {
        self.age == 0 || entry.2.is_none_or(|touched| now.saturating_sub(touched) <= self.age)
    }

    fn step(&mut self, op: &Op) -> u64 {
        let now = self.time.max(op.now);
        if !matches!(op.method, "lookup" | "age") {
            self.time = now;
        }
        let live: Vec<_> = self.entries.iter().copied().filter(|e| self.live(e, now)).collect();
        let there = live.iter().position(|e| e.0 == op.key);
        let found = there.map_or(0, |i| FOUND | u64::from(live[i].1));
        match (op.method, there) {
            ("lookup", _) => return found,
            ("age", Some(i)) => return live[i].2.map_or(0, |touched| now - touched.min(now)),
            ("age", None) => return 0,
            _ => self.entries = live,
        }
        let touch = |entry: &mut (u32, u16, Option<u64>)| entry.2 = entry.2.map(|_| now);
        let full = self.entries.len() >= self.size;
        match (op.method, there) {
            ("touch", Some(i)) => touch(&mut self.entries[i]),
            ("remove", Some(i)) => {
                self.entries.remove(i);
            }
            ("update", Some(i)) => {
                self.entries[i].1 = op.value;
                touch(&mut self.entries[i]);
                return 1;
            }
            ("insert" | "accumulate", Some(i)) => {
                if op.method == "accumulate" {
                    let (a, b) = (self.entries[i].1, op.value);
                    self.entries[i].1 =
                        (a & 0xf000).wrapping_add(b & 0xf000) | (a.wrapping_add(b) & 0xfff);
                }
                touch(&mut self.entries[i]);
                return OK | EXISTED | u64::from(self.entries[i].1);
            }
            ("insert" | "accumulate", None) if full => return 0,
            ("insert" | "accumulate", None) => {
                self.entries.push((op.key, op.value, Some(now)));
                return OK | u64::from(op.value);
            }
            ("update", None) => return 0,
            ("expire", _) => {
                let before = self.entries.len();
                let older = u64::from(op.value);
                self.entries.retain(|e| e.2.is_none_or(|touched| now - touched <= older));
                return (before - self.entries.len()) as u64;
            }
            _ => {}
        }
        found
    }
}

#[derive(Clone, Debug)]
struct Op {
    now: u64,
    method: &'static str,
    key: u32,
    value: u16,
}

fn operations() -> impl Strategy<Value = Vec<Op>> {
    let methods = [
        "lookup",
        "touch",
        "insert",
        "insert",
        "update",
        "accumulate",
        "remove",
        "age",
        "expire",
        "load",
    ];
    let op = (0u64..200, prop::sample::select(methods.to_vec()), 0u32..12, any::<u16>());
    let op = op.prop_map(|(now, method, key, value)| Op { now, method, key, value });
    prop::collection::vec(op, 1..120)
}

proptest! {
    #[test]
    fn the_table_behaves_as_the_model(ops in operations(), size in 1usize..9, age in 0u64..60) {
        let mut b = bench(size as u64, age);
        let mut model = Model { size, age, time: 0, entries: Vec::new() };
        for mut op in ops {
            if op.method == "load" {
                let there = model.entries.iter().position(|e| e.0 == op.key);
                // Loading does not advance the time: entries that were alive at the last change
                // still are.
                let expected = there.is_some() || model.entries.len() < size;
                if load(&mut b, op.key, op.value).is_ok() {
                    model.entries.retain(|e| e.0 != op.key);
                    model.entries.push((op.key, op.value, None));
                    prop_assert!(expected);
                } else {
                    prop_assert!(!expected);
                }
                continue;
            }
            let args = match op.method {
                "expire" => { op.value %= 200; vec![Bits::new(64, u128::from(op.value))] }
                "insert" | "update" | "accumulate" => vec![key(op.key), value(op.value)],
                _ => vec![key(op.key)],
            };
            let got = at(&mut b, op.now, op.method, &args);
            prop_assert_eq!(got, model.step(&op), "{:?}", op);
        }
        let mut expected: Vec<_> = model.entries.iter().filter(|e| model.live(e, model.time)).map(|e| e.0).collect();
        expected.sort_unstable();
        let rows = b.instance.rows().into_iter().map(|row| row.key);
        prop_assert!(rows.eq(expected.into_iter().map(|k| EntryKey::Exact(key(k)))));
    }
}

#[test]
fn a_state_moves_to_another_table_with_its_ages() {
    let mut b = bench(4, 100);
    load(&mut b, 1, 11).expect("there is room");
    at(&mut b, 50, "insert", &[key(3), value(33)]);
    at(&mut b, 70, "insert", &[key(2), value(22)]);
    at(&mut b, 90, "touch", &[key(3)]);
    at(&mut b, 95, "expire", &[Bits::new(64, 1000)]);
    let exact = |b: &Bench| -> Exact {
        let instance: &dyn std::any::Any = b.instance.as_ref();
        instance.downcast_ref::<Exact>().expect("an exact table").clone()
    };
    let state = exact(&b).state();
    let aged =
        |k, v, touched_ns| Aged { key: key(k), value: value(v), touched_ns, duration_ns: None };
    let expected = State {
        time_ns: 95,
        fixed: vec![(key(1), value(11))],
        ageing: vec![aged(2, 22, 70), aged(3, 33, 90)],
    };
    assert_eq!(state, expected);
    let mut other = bench(4, 100);
    at(&mut other, 500, "insert", &[key(9), value(9)]);
    let mut table = exact(&other);
    table.set_state(&state).expect("the state suits the table");
    assert_eq!(table.state(), state);
    other.instance = Box::new(table.clone());
    assert_eq!(at(&mut other, 171, "update", &[key(2), value(1)]), 0, "it is 101 ns old");
    assert_eq!(at(&mut other, 171, "age", &[key(3)]), 81);

    let bad = |change: fn(&mut State)| {
        let (mut table, mut state) = (table.clone(), state.clone());
        change(&mut state);
        let refused = table.set_state(&state).expect_err("it does not suit the table").0;
        assert_eq!(table.state().ageing, expected.ageing, "nothing changes");
        refused
    };
    assert_eq!(bad(|s| s.fixed[0].0 = key(3)), "the key 3 occurs twice");
    assert_eq!(bad(|s| s.ageing.swap(0, 1)), "the entries are not in the order of their times");
    assert!(bad(|s| s.time_ns = 80).contains("order of their times"));
    assert!(bad(|s| s.fixed[0].1 = Bits::zero(3)).contains("a value of 3 bits"));
    let fill = |s: &mut State| s.fixed.extend((10..13).map(|k| (key(k), value(0))));
    assert!(bad(fill).contains("the table is full"));
}

//! Tests of times that end at ticks, against a model that is a list: `exact` with and without a
//! step, and `timer`.

use proptest::prelude::*;
use wireloom_bits::Bits;

use super::tests::Bench;
use crate::time::{NEVER, deadline};
use crate::{Entry, EntryKey};

const TICK: u64 = 10;
const FOUND: u64 = 1 << 16;

/// Which offload a test uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// `exact`, whose entries are absent after their time.
    Silent,
    /// `exact`, whose entries stay until a step claims them.
    Claimed,
    Timer,
}

#[derive(Clone, Copy, Debug)]
struct One {
    key: u32,
    value: u16,
    /// The last touch and the duration; `None` for static entries.
    time: Option<(u64, u64)>,
}

impl One {
    fn ends(&self) -> u64 {
        self.time.map_or(NEVER, |(touched, duration)| deadline(TICK, touched, duration))
    }
}

/// The documented behaviour, with linear search.
struct Model {
    kind: Kind,
    size: usize,
    age: u64,
    now: u64,
    entries: Vec<One>,
}

impl Model {
    /// Advances to the time of a call that changes the table.
    fn advance(&mut self, now: u64) {
        self.now = self.now.max(now);
        if self.kind == Kind::Silent {
            let now = self.now;
            self.entries.retain(|one| one.ends() > now);
        }
    }

    fn find(&self, key: u32) -> Option<usize> {
        self.entries.iter().position(|one| one.key == key)
    }

    /// Returns the keys that are due at a time, in the order of their bits.
    fn due(&self, now: u64) -> Vec<u32> {
        let due = self.entries.iter().filter(|one| one.ends() <= now).map(|one| one.key);
        let mut due: Vec<u32> = due.collect();
        due.sort_unstable();
        due
    }

    /// Returns the lowest 64 bits of the reply.
    fn call(&mut self, op: &Op) -> u64 {
        let is_read = ["lookup", "left", "age"].contains(&op.method);
        if !is_read {
            self.advance(op.now);
        }
        let now = self.now.max(op.now);
        let there = self.find(op.key);
        let there = there.filter(|&i| self.kind != Kind::Silent || self.entries[i].ends() > now);
        let found = there.map_or(0, |i| FOUND | u64::from(self.entries[i].value));
        let own = there.map(|i| self.entries[i]);
        let touch = |one: &mut One| one.time = one.time.map(|(_, duration)| (now, duration));
        let has_room = self.entries.len() < self.size;
        match (op.method, there) {
            ("lookup", _) => found,
            ("age", _) => {
                own.and_then(|one| one.time).map_or(0, |(touched, _)| now - touched.min(now))
            }
            ("left", _) => own.map_or(0, |one| one.ends().saturating_sub(now)),
            ("touch", _) => {
                if let Some(i) = there {
                    touch(&mut self.entries[i]);
                }
                found
            }
            ("insert", Some(i)) => {
                touch(&mut self.entries[i]);
                3 << 16 | u64::from(self.entries[i].value)
            }
            ("insert", None) if !has_room => 0,
            ("insert", None) => {
                let duration = if self.age == 0 { NEVER } else { self.age };
                let time = Some((now, duration));
                self.entries.push(One { key: op.key, value: op.value, time });
                2 << 16 | u64::from(op.value)
            }
            ("compare_swap", Some(i)) => {
                let one = &mut self.entries[i];
                let before = one.value;
                if before == op.value % 4 {
                    one.value = op.value;
                }
                touch(one);
                2 << 16 | u64::from(before == op.value % 4) << 16 | u64::from(before)
            }
            ("keep", Some(i)) => {
                let one = &mut self.entries[i];
                one.time = one.time.map(|_| (now, op.duration));
                1
            }
            ("set", Some(i)) => {
                self.entries[i].time = Some((now, op.duration));
                1
            }
            ("set", None) => {
                if has_room {
                    let time = Some((now, op.duration));
                    self.entries.push(One { key: op.key, value: 0, time });
                }
                u64::from(has_room)
            }
            ("remove", Some(i)) => {
                self.entries.remove(i);
                found
            }
            ("cancel", Some(i)) => {
                self.entries.remove(i);
                1
            }
            ("claim", Some(i)) if self.entries[i].ends() <= now => {
                self.entries.remove(i);
                if self.kind == Kind::Timer { 1 } else { found }
            }
            ("expire", _) => {
                let before = self.entries.len();
                self.entries.retain(|one| one.time.is_none_or(|(t, _)| now - t <= op.duration));
                (before - self.entries.len()) as u64
            }
            _ => 0,
        }
    }
}

#[derive(Clone, Debug)]
struct Op {
    now: u64,
    method: &'static str,
    key: u32,
    value: u16,
    duration: u64,
}

const EXACT: &[&str] = &[
    "lookup",
    "touch",
    "insert",
    "insert",
    "compare_swap",
    "keep",
    "keep",
    "remove",
    "claim",
    "age",
    "expire",
    "load",
    "unload",
    "tick",
    "tick",
    "copy",
];
const TIMER: &[&str] =
    &["set", "set", "set", "cancel", "left", "claim", "unload", "tick", "tick", "copy"];

fn operations(methods: &'static [&'static str]) -> impl Strategy<Value = Vec<Op>> {
    let durations = vec![0, 1, 9, 10, 11, 25, 100, 700, 50_000, NEVER - 1, NEVER];
    let duration = prop::sample::select(durations);
    let op = (0u64..60, prop::sample::select(methods), 0u32..12, 0u16..8, duration);
    let op = op.prop_map(|(later, method, key, value, duration)| Op {
        now: later,
        method,
        key,
        value,
        duration,
    });
    prop::collection::vec(op, 1..120).prop_map(|mut ops| {
        // Most times are later than those before, and some are earlier.
        let mut now = 0;
        for op in &mut ops {
            now += op.now;
            op.now = if op.now % 7 == 3 { now / 2 } else { now };
        }
        ops
    })
}

fn key(key: u32) -> Bits {
    Bits::new(32, u128::from(key))
}

fn behaves(kind: Kind, ops: Vec<Op>, size: usize, age: u64) -> Result<(), TestCaseError> {
    let step = u64::from(kind == Kind::Claimed);
    let mut bench = match kind {
        Kind::Timer => Bench::new(
            "timer",
            Some(&[("", 32)]),
            None,
            &[("size", size as u64), ("tick", TICK), ("step", 1)],
        ),
        _ => Bench::new(
            "exact",
            Some(&[("", 32)]),
            Some(&[("", 16)]),
            &[("size", size as u64), ("age", age), ("tick", TICK), ("step", step)],
        ),
    };
    let mut model = Model { kind, size, age, now: 0, entries: Vec::new() };
    // The time up to which ticks have run. No call comes with an earlier one.
    let mut run_ns = 0;
    for mut op in ops {
        op.now = op.now.max(run_ns);
        bench.now = op.now;
        match op.method {
            "load" => {
                let entry = Entry {
                    key: EntryKey::Exact(key(op.key)),
                    value: Bits::new(16, u128::from(op.value)),
                };
                let is_loaded = bench.instance.load(entry).is_ok();
                match model.find(op.key) {
                    Some(i) => model.entries[i].value = op.value,
                    None if model.entries.len() < size => {
                        model.entries.push(One { key: op.key, value: op.value, time: None });
                    }
                    None => prop_assert!(!is_loaded),
                }
            }
            "unload" => {
                let was_there = bench.instance.unload(&EntryKey::Exact(key(op.key)));
                let there = model.find(op.key);
                prop_assert_eq!(was_there, Ok(there.is_some()));
                there.map(|i| model.entries.remove(i));
            }
            "copy" => bench.instance = bench.instance.duplicate(),
            // As a machine does: at each tick with due keys, claim every one of them.
            "tick" if kind != Kind::Silent => {
                let to = op.now.max(model.now);
                run_ns = to;
                while let Some(next) = bench.instance.next_due().filter(|next| *next <= to) {
                    let first = model.entries.iter().map(One::ends).min();
                    prop_assert!(first.is_none_or(|first| next <= first), "{next}, {first:?}");
                    let at = next.max(model.now);
                    let mut due = Vec::new();
                    bench.instance.due(at, &mut |key| due.push(key.low_u64() as u32));
                    prop_assert_eq!(&due, &model.due(at));
                    bench.now = at;
                    for (index, due) in due.into_iter().enumerate() {
                        // Now and then, one that is due is prolonged or ended before its claim.
                        let method = match (kind, (index + op.value as usize) % 5) {
                            (Kind::Timer, 1) => Some("cancel"),
                            (Kind::Timer, 2) => Some("set"),
                            (Kind::Claimed, 1) => Some("remove"),
                            (Kind::Claimed, 2) => Some("touch"),
                            (Kind::Claimed, 3) => Some("keep"),
                            _ => None,
                        };
                        for method in method.into_iter().chain(["claim"]) {
                            let op = Op { now: at, method, key: due, ..op.clone() };
                            let got = call(&mut bench, &op);
                            prop_assert_eq!(got, model.call(&op), "{:?}", op);
                        }
                    }
                }
                prop_assert!(model.due(to).is_empty(), "{:?} at {to}", model.entries);
            }
            "tick" => {}
            _ => {
                let got = call(&mut bench, &op);
                prop_assert_eq!(got, model.call(&op), "{:?}", op);
            }
        }
    }
    let now = model.now;
    let mut expected: Vec<u32> = model
        .entries
        .iter()
        .filter(|one| kind != Kind::Silent || one.ends() > now)
        .map(|one| one.key)
        .collect();
    expected.sort_unstable();
    let rows: Vec<EntryKey> = bench.instance.rows().into_iter().map(|row| row.key).collect();
    let expected: Vec<EntryKey> = expected.into_iter().map(|k| EntryKey::Exact(key(k))).collect();
    prop_assert_eq!(rows, expected);
    Ok(())
}

fn call(bench: &mut Bench, op: &Op) -> u64 {
    let value = |value: u16| Bits::new(16, u128::from(value));
    let duration = Bits::new(64, u128::from(op.duration));
    let args = match op.method {
        "insert" => vec![key(op.key), value(op.value)],
        "compare_swap" => vec![key(op.key), value(op.value % 4), value(op.value)],
        "keep" | "set" => vec![key(op.key), duration],
        "expire" => vec![duration],
        _ => vec![key(op.key)],
    };
    bench.now = op.now;
    bench.call(op.method, &args).low_u64()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn entries_end_at_ticks_without_a_step(ops in operations(EXACT), size in 1usize..9, age in 0u64..60) {
        behaves(Kind::Silent, ops, size, age)?;
    }

    #[test]
    fn entries_stay_until_their_step_claims_them(ops in operations(EXACT), size in 1usize..9, age in 0u64..60) {
        behaves(Kind::Claimed, ops, size, age)?;
    }

    #[test]
    fn timers_run_at_their_ticks(ops in operations(TIMER), size in 1usize..9) {
        behaves(Kind::Timer, ops, size, 0)?;
    }
}

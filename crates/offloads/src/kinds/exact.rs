//! `exact`: a table from keys to values, with ageing.
//!
//! The behaviour of a table depends only on the calls and their times, never on the hashes of keys:
//! - *The table's time* is the latest time of any call that changes the table; it never runs
//!   backwards. Methods that only read (`lookup`, `age`) use the later of that time and the time of
//!   the call.
//! - An entry that was touched more than `age` nanoseconds ago is expired: it is absent to every
//!   method, and its memory is free. Entries that the control plane loaded are static and never
//!   expire; `expire` does not remove them either.
//! - The table is full when it contains `size` entries that are not expired.
//!
//! A list links entries in the order in which they were touched, which is the order in which they
//! expire. Every method is O(1) amortised: the next call that changes the table removes expired
//! entries from the end of the list.

mod state;

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use wireloom_bits::Bits;

use crate::kinds::{check_value, field_values};
use crate::lanes::{Lanes, pack, words};
use crate::registry::{
    AGE, Delay, FOUND_VALUE, Kind, METHOD, Method, ReplyType, SIZE, StateUse, TableForm, TableKey,
    U32, U64, ValueType, declared_value,
};
use crate::{Config, Entry, EntryKey, Env, Instance, Layout, Refused, Row};

pub use state::{Aged, State};

/// The interface of `exact`.
pub const KIND: Kind = Kind {
    name: "exact",
    has_key: true,
    has_value: true,
    params: &[SIZE, AGE],
    methods: &[
        Method {
            name: "lookup",
            args: &[("key", ValueType::Key)],
            reply: FOUND_VALUE,
            delay: Delay::Variable,
            doc: "Returns the value of the key. Does not touch the entry.",
            ..METHOD
        },
        Method {
            name: "touch",
            args: &[("key", ValueType::Key)],
            reply: FOUND_VALUE,
            state: StateUse::Change,
            delay: Delay::Variable,
            doc: "As `lookup`, and touches the entry: its age starts again at zero.",
            ..METHOD
        },
        Method {
            name: "insert",
            args: &[("key", ValueType::Key), ("value", ValueType::Value)],
            reply: ReplyType::Record(&[
                ("ok", ValueType::Bool),
                ("existed", ValueType::Bool),
                ("value", ValueType::Value),
            ]),
            state: StateUse::Change,
            delay: Delay::Variable,
            doc: "Inserts an entry if the key has none. `existed`: there was an entry; it stays \
                  and is touched. `ok`: the key now has an entry; false only if the table is \
                  full. `value`: the key's value now, or zero.",
            ..METHOD
        },
        Method {
            name: "update",
            args: &[("key", ValueType::Key), ("value", ValueType::Value)],
            reply: ReplyType::One(ValueType::Bool),
            state: StateUse::Change,
            delay: Delay::Variable,
            doc: "Replaces the value of an entry and touches it. Returns whether the key has an \
                  entry.",
            ..METHOD
        },
        Method {
            name: "accumulate",
            args: &[("key", ValueType::Key), ("delta", ValueType::Value)],
            reply: ReplyType::Record(&[
                ("ok", ValueType::Bool),
                ("existed", ValueType::Bool),
                ("value", ValueType::Value),
            ]),
            state: StateUse::Change,
            delay: Delay::Variable,
            doc: "Adds `delta` to each field of the entry (a sum wraps at the field's width) and \
                  touches it. Inserts `delta` if the key has no entry. `ok` is false, and nothing \
                  changes, if there is no entry and the table is full.",
            ..METHOD
        },
        Method {
            name: "remove",
            args: &[("key", ValueType::Key)],
            reply: FOUND_VALUE,
            state: StateUse::Change,
            delay: Delay::Variable,
            doc: "Removes the entry and returns its value.",
            ..METHOD
        },
        Method {
            name: "age",
            args: &[("key", ValueType::Key)],
            reply: ReplyType::Record(&[("found", ValueType::Bool), ("nanoseconds", U64)]),
            reads_arrival: true,
            delay: Delay::Variable,
            doc: "Returns the time since the entry was touched; zero for static entries. Does not \
                  touch it.",
            ..METHOD
        },
        Method {
            name: "expire",
            args: &[("older_than", U64)],
            reply: ReplyType::One(U32),
            state: StateUse::Change,
            reads_arrival: true,
            delay: Delay::Variable,
            doc: "Removes every entry that was touched more than `older_than` nanoseconds ago, \
                  except for static entries. Returns their number.",
            ..METHOD
        },
    ],
    expiry: Some("age"),
    doc: "Exact match: a table from keys to values. An entry older than `age` has expired: it is \
          absent to every method, and its place is free. Entries that the control plane loads are \
          static: they do not age. The table's time is the latest time of any call that changes \
          the table, and never runs backwards.",
    table: Some(TableForm { key: TableKey::Whole, value: declared_value }),
    make: |config| Ok(Box::new(Exact::new(config)?)),
};

/// The index for "no entry".
const NONE: u32 = u32::MAX;

/// An instance of `exact`.
#[derive(Clone)]
pub struct Exact {
    key_width: u32,
    layout: Layout,
    lanes: Lanes,
    size: usize,
    age_ns: u64,
    time_ns: u64,
    index: HashTable<u32>,
    /// The hasher has a random key, so that nobody can construct packets whose keys all collide.
    /// The table's behaviour does not depend on it.
    hasher: RandomState,
    entries: Entries,
}

/// The entries, by index.
#[derive(Clone)]
struct Entries {
    key_words: usize,
    value_width: u32,
    records: Vec<Record>,
    /// The words of the key, followed by those of the value, of each entry.
    data: Vec<u64>,
    free: Vec<u32>,
    /// The ends of the list of ageing entries: the least and the most recently touched one.
    oldest: u32,
    newest: u32,
}

#[derive(Clone, Copy)]
struct Record {
    touched_ns: u64,
    older: u32,
    newer: u32,
    /// Whether the control plane loaded the entry. Static entries are not in the list.
    is_static: bool,
}

impl Entries {
    fn stride(&self) -> usize {
        self.key_words + words(self.value_width)
    }

    fn key(&self, entry: u32) -> &[u64] {
        &self.data[entry as usize * self.stride()..][..self.key_words]
    }

    fn value(&self, entry: u32) -> Bits {
        let value = &self.data[entry as usize * self.stride() + self.key_words..];
        Bits::from_words(self.value_width, &value[..words(self.value_width)])
    }

    fn set_value(&mut self, entry: u32, value: &Bits) {
        let at = entry as usize * self.stride() + self.key_words;
        for (to, from) in self.data[at..].iter_mut().zip(value.words()) {
            *to = from;
        }
    }

    /// Adds a new entry, which is not in the list.
    fn add(&mut self, key: &[u64], value: &Bits) -> u32 {
        let record = Record { touched_ns: 0, older: NONE, newer: NONE, is_static: true };
        let entry = self.free.pop().unwrap_or_else(|| {
            self.records.push(record);
            self.data.resize(self.records.len() * self.stride(), 0);
            (self.records.len() - 1) as u32
        });
        self.records[entry as usize] = record;
        let at = entry as usize * self.stride();
        self.data[at..at + self.key_words].copy_from_slice(key);
        self.set_value(entry, value);
        entry
    }

    fn unlink(&mut self, entry: u32) {
        let Record { older, newer, .. } = self.records[entry as usize];
        match older {
            NONE => self.oldest = newer,
            _ => self.records[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            _ => self.records[newer as usize].older = older,
        }
    }

    /// Appends an entry that is not in the list as the most recently touched one.
    fn link(&mut self, entry: u32, now_ns: u64) {
        let older = self.newest;
        self.records[entry as usize] =
            Record { touched_ns: now_ns, older, newer: NONE, is_static: false };
        match older {
            NONE => self.oldest = entry,
            _ => self.records[older as usize].newer = entry,
        }
        self.newest = entry;
    }

    fn touch(&mut self, entry: u32, now_ns: u64) {
        if !self.records[entry as usize].is_static {
            self.unlink(entry);
            self.link(entry, now_ns);
        }
    }
}

impl Exact {
    /// Creates an empty instance as declared.
    ///
    /// # Errors
    /// If a type is missing.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let (Some(key), Some(layout)) = (&config.key, config.value.clone()) else {
            return Err(Refused("an exact table needs a key type and a value type".into()));
        };
        let key_width = key.width();
        let entries = Entries {
            key_words: words(key_width),
            value_width: layout.width(),
            records: Vec::new(),
            data: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
        };
        Ok(Self {
            key_width,
            lanes: Lanes::new(&layout),
            layout,
            size: config.param("size").low_u64() as usize,
            age_ns: config.param("age").low_u64(),
            time_ns: 0,
            index: HashTable::new(),
            hasher: RandomState::new(),
            entries,
        })
    }

    /// Returns the entry with a key, expired or not.
    fn find(&self, key: &[u64]) -> Option<u32> {
        self.index.find(self.hasher.hash_one(key), |&e| self.entries.key(e) == key).copied()
    }

    /// Returns the time since an entry was touched, unless it has expired.
    fn live_age(&self, entry: u32, now_ns: u64) -> Option<u64> {
        let record = self.entries.records[entry as usize];
        let age = if record.is_static { 0 } else { now_ns.saturating_sub(record.touched_ns) };
        (self.age_ns == 0 || age <= self.age_ns).then_some(age)
    }

    /// Finds a key at a given time, ignoring expired entries. Returns the entry and its age.
    fn peek(&self, key: &[u64], now_ns: u64) -> Option<(u32, u64)> {
        let entry = self.find(key)?;
        Some((entry, self.live_age(entry, now_ns.max(self.time_ns))?))
    }

    /// Advances the time and removes expired entries.
    fn advance(&mut self, now_ns: u64) {
        self.time_ns = self.time_ns.max(now_ns);
        if self.age_ns != 0 {
            self.expire(self.age_ns);
        }
    }

    fn expire(&mut self, older_than_ns: u64) -> usize {
        let before = self.index.len();
        while self.entries.oldest != NONE {
            let oldest = self.entries.oldest;
            if self.time_ns - self.entries.records[oldest as usize].touched_ns <= older_than_ns {
                break;
            }
            self.take_out(oldest);
        }
        before - self.index.len()
    }

    /// Inserts a new entry, which is static until it is linked. The key must be absent and the
    /// table must not be full.
    fn put_in(&mut self, key: &[u64], value: &Bits) -> u32 {
        let entry = self.entries.add(key, value);
        let hash = self.hasher.hash_one(key);
        let (entries, hasher) = (&self.entries, &self.hasher);
        self.index.insert_unique(hash, entry, |&e| hasher.hash_one(entries.key(e)));
        entry
    }

    fn take_out(&mut self, entry: u32) {
        let hash = self.hasher.hash_one(self.entries.key(entry));
        let place =
            self.index.find_entry(hash, |&e| e == entry).expect("an entry stands in the index");
        place.remove();
        if !self.entries.records[entry as usize].is_static {
            self.entries.unlink(entry);
        }
        self.entries.free.push(entry);
    }

    fn is_full(&self) -> bool {
        self.index.len() >= self.size
    }

    fn full(&self) -> Refused {
        Refused(format!("the table is full: its size is {}", self.size))
    }

    fn zero(&self) -> Bits {
        Bits::zero(self.layout.width())
    }

    fn found(&self, entry: Option<u32>) -> Bits {
        let value = entry.map_or_else(|| self.zero(), |e| self.entries.value(e));
        pack(&[Bits::bool(entry.is_some()), value])
    }

    /// Implements `insert` and `accumulate`: `change` computes the new value of an existing entry.
    fn insert(
        &mut self,
        key: &[u64],
        value: &Bits,
        change: impl Fn(&Lanes, &Bits) -> Option<Bits>,
    ) -> Bits {
        let existing = self.find(key);
        let entry = match existing {
            Some(entry) => {
                if let Some(changed) = change(&self.lanes, &self.entries.value(entry)) {
                    self.entries.set_value(entry, &changed);
                }
                self.entries.touch(entry, self.time_ns);
                entry
            }
            None if self.is_full() => return Bits::zero(2 + self.layout.width()),
            None => {
                let entry = self.put_in(key, value);
                self.entries.link(entry, self.time_ns);
                entry
            }
        };
        pack(&[Bits::bool(true), Bits::bool(existing.is_some()), self.entries.value(entry)])
    }

    fn change(&mut self, method: usize, key: &[u64], args: &[Bits]) -> Bits {
        let entry = self.find(key);
        match method {
            1 => {
                if let Some(entry) = entry {
                    self.entries.touch(entry, self.time_ns);
                }
                self.found(entry)
            }
            2 => self.insert(key, &args[1], |_, _| None),
            3 => {
                if let Some(entry) = entry {
                    self.entries.set_value(entry, &args[1]);
                    self.entries.touch(entry, self.time_ns);
                }
                Bits::bool(entry.is_some())
            }
            4 => self.insert(key, &args[1], |lanes, before| Some(lanes.add(before, &args[1]))),
            5 => {
                let reply = self.found(entry);
                if let Some(entry) = entry {
                    self.take_out(entry);
                }
                reply
            }
            _ => unreachable!("exact has eight methods"),
        }
    }

    fn whole_key(&self, key: &EntryKey) -> Result<Vec<u64>, Refused> {
        match key {
            EntryKey::Exact(bits) if bits.width() == self.key_width => Ok(bits.words().collect()),
            EntryKey::Exact(bits) => Err(Refused(format!(
                "a key of {} bits where the table has {}",
                bits.width(),
                self.key_width
            ))),
            _ => Err(Refused("the key is not a whole key".into())),
        }
    }
}

impl Instance for Exact {
    fn call(&mut self, method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits {
        // A key of the widest type in Loom C has 16 words.
        let mut buffer = [0u64; (wireloom_bits::MAX_WIDTH / 64) as usize];
        let count = words(args[0].width());
        for (to, from) in buffer.iter_mut().zip(args[0].words()) {
            *to = from;
        }
        let key = &buffer[..count];
        match method {
            0 => self.found(self.peek(key, env.now_ns).map(|(entry, _)| entry)),
            6 => {
                let age = self.peek(key, env.now_ns).map(|(_, age)| age);
                pack(&[Bits::bool(age.is_some()), Bits::new(64, u128::from(age.unwrap_or(0)))])
            }
            7 => {
                self.advance(env.now_ns);
                Bits::new(32, self.expire(args[0].low_u64()) as u128)
            }
            _ => {
                self.advance(env.now_ns);
                self.change(method, key, args)
            }
        }
    }

    /// Inserts or replaces a static entry.
    fn load(&mut self, entry: Entry) -> Result<(), Refused> {
        let key = self.whole_key(&entry.key)?;
        check_value(&entry.value, self.layout.width())?;
        match self.find(&key) {
            Some(there) => {
                if !self.entries.records[there as usize].is_static {
                    self.entries.unlink(there);
                    self.entries.records[there as usize].is_static = true;
                }
                self.entries.set_value(there, &entry.value);
            }
            None if self.is_full() => {
                return Err(self.full());
            }
            None => {
                self.put_in(&key, &entry.value);
            }
        }
        Ok(())
    }

    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        let key = self.whole_key(key)?;
        let entry = self.peek(&key, 0).map(|(entry, _)| entry);
        if let Some(entry) = entry {
            self.take_out(entry);
        }
        Ok(entry.is_some())
    }

    fn entries(&self) -> Option<u64> {
        Some(self.index.len() as u64)
    }

    /// The entries that have not expired at the table's time, by key.
    fn rows(&self) -> Vec<Row> {
        let live = self.index.iter().filter(|&&entry| self.live_age(entry, self.time_ns).is_some());
        let rows = live.map(|&entry| Row {
            key: EntryKey::Exact(Bits::from_words(self.key_width, self.entries.key(entry))),
            fields: field_values(&self.layout, &self.entries.value(entry)),
        });
        let mut rows: Vec<Row> = rows.collect();
        rows.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        rows
    }
}

#[cfg(test)]
#[path = "exact_tests.rs"]
mod tests;

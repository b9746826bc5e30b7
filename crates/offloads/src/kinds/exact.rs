//! `exact`: a table from keys to values, with ageing.
//!
//! The behaviour of a table depends only on the calls and their times, never on the hashes of keys:
//! - *The table's time* is the latest time of any call that changes the table; it never runs
//!   backwards. Methods that only read (`lookup`, `age`) use the later of that time and the time of
//!   the call.
//! - An entry that was last touched more than `age` nanoseconds ago is expired: it is absent to
//!   every method, and its memory is free. Entries that the control plane loaded are static: they
//!   never expire, and `expire` does not remove them.
//! - In a table with a `tick`, each entry has a time of its own. It ends at a tick: the first one
//!   after it began that is not before its end. If the engine has a step for the table, the entry
//!   stays until that step claims it.
//! - The table is full when it contains `size` entries that are not expired.
//!
//! Every method is O(1) amortised: the next call that changes the table removes expired entries.
//! `table.rs` describes the memory, which the C code of the native machine shares.

mod state;
pub(super) mod table;

use wireloom_bits::{Bits, Known};

use crate::kinds::{check_value, field_values, visit_numbered};
use crate::lanes::{Lanes, pack, words};
use crate::registry::{
    AGE, Delay, FOUND_VALUE, METHOD, Method, OffloadKind, Param, ReplyType, SIZE, STEP, StateUse,
    TableForm, TableKey, U32, U64, ValueType, declared_value, param,
};
use crate::time::NEVER;
use crate::{
    Config, Cursor, Entry, EntryKey, Env, Instance, Layout, Lifetime, RawView, Refused, StateRow,
};

use table::{Ends, Table};

pub use state::{Aged, State};

/// The interface of `exact`.
pub const KIND: OffloadKind = OffloadKind {
    name: "exact",
    has_key: true,
    has_value: true,
    params: &[SIZE, AGE, TICK, STEP],
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
            advances_time: true,
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
            advances_time: true,
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
            advances_time: true,
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
            advances_time: true,
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
            advances_time: true,
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
            advances_time: true,
            reads_arrival: true,
            delay: Delay::Variable,
            doc: "Removes every entry that was touched more than `older_than` nanoseconds ago, \
                  except for static entries. Returns their number.",
            ..METHOD
        },
        Method {
            name: "compare_swap",
            args: &[
                ("key", ValueType::Key),
                ("expected", ValueType::Value),
                ("value", ValueType::Value),
            ],
            reply: ReplyType::Record(&[
                ("found", ValueType::Bool),
                ("swapped", ValueType::Bool),
                ("value", ValueType::Value),
            ]),
            state: StateUse::Change,
            advances_time: true,
            delay: Delay::Variable,
            doc: "Replaces the value of an entry if it equals `expected`, and touches the entry. \
                  Returns whether there is an entry, whether its value was replaced, and the \
                  value before.",
            ..METHOD
        },
        Method {
            name: "keep",
            args: &[("key", ValueType::Key), ("nanoseconds", U64)],
            reply: ReplyType::One(ValueType::Bool),
            state: StateUse::Change,
            advances_time: true,
            reads_arrival: true,
            delay: Delay::Variable,
            needs: Some("tick"),
            doc: "Gives the entry a time of its own in place of `age`, and touches it. All ones: \
                  the entry stays. Returns whether the key has an entry. The table needs a \
                  `tick`.",
            ..METHOD
        },
        Method {
            name: "claim",
            args: &[("key", ValueType::Key)],
            reply: FOUND_VALUE,
            state: StateUse::Change,
            advances_time: true,
            reads_arrival: true,
            delay: Delay::Variable,
            needs: Some("tick"),
            doc: "Removes the entry and returns its value, if its time is over. The step of the \
                  table begins with it.",
            ..METHOD
        },
    ],
    expiry: Some("age"),
    claim: Some("claim"),
    doc: "Exact match: a table from keys to values. An entry older than `age` has expired: it is \
          absent to every method, and its place is free. Entries that the control plane loads are \
          static: they do not age. The table's time is the latest time of any call that changes \
          the table, and never runs backwards.",
    table: Some(TableForm { key: TableKey::Whole, value: declared_value }),
    make: |config| Ok(Box::new(Exact::new(config)?)),
};

/// The parameter `tick` of a kind whose entries may end at ticks.
const TICK: Param = param(
    "tick",
    U64,
    Some(0),
    (0, u64::MAX),
    "Nanoseconds from one tick to the next. Entries expire at ticks, and can have times of their own. \
     0: entries expire at their exact `age`.",
);

/// The index of the method `lookup`.
const LOOKUP: usize = 0;

/// An instance of `exact`.
#[derive(Clone)]
pub struct Exact {
    key_width: u32,
    layout: Layout,
    lanes: Lanes,
    size: usize,
    /// The age in nanoseconds after which entries expire, in a table without ticks; else 0.
    age_ns: u64,
    table: Table,
}

impl Exact {
    /// Creates an empty instance as declared.
    ///
    /// # Errors
    /// If a type is missing, or if there is not enough memory.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let (Some(key), Some(layout)) = (&config.key, config.value.clone()) else {
            return Err(Refused("an exact table needs a key type and a value type".into()));
        };
        let (key_width, size) = (key.width(), config.param("size").low_u64() as usize);
        let age_ns = config.param("age").low_u64();
        let ends = match config.param("tick").low_u64() {
            0 if age_ns == 0 => Ends::Never,
            0 => Ends::Old,
            tick_ns => Ends::AtTicks {
                tick_ns,
                duration_ns: if age_ns == 0 { NEVER } else { age_ns },
                is_claimed: config.has_step(),
            },
        };
        let table = Table::new(words(key_width), words(layout.width()), size, ends)?;
        // In a table with ticks, each entry has its own time.
        let age_ns = if ends == Ends::Old { age_ns } else { 0 };
        Ok(Self { key_width, lanes: Lanes::new(&layout), layout, size, age_ns, table })
    }

    fn value(&self, entry: u32) -> Bits {
        Bits::from_words(self.layout.width(), self.table.value(entry))
    }

    /// Returns the time since an entry was touched, unless it has expired.
    fn live_age(&self, entry: u32, now_ns: u64) -> Option<u64> {
        let touched = self.table.touched_ns(entry);
        let age = if self.table.is_static(entry) { 0 } else { now_ns.saturating_sub(touched) };
        let is_live = (self.age_ns == 0 || age <= self.age_ns)
            && (self.table.is_claimed() || now_ns < self.table.deadline_ns(entry));
        is_live.then_some(age)
    }

    /// Finds an entry that is not expired at a given time. Returns the entry and its age.
    fn peek(&self, key: &[u64], now_ns: u64) -> Option<(u32, u64)> {
        let entry = self.table.find(key)?;
        Some((entry, self.live_age(entry, now_ns.max(self.table.time_ns))?))
    }

    /// Advances the time and removes expired entries.
    fn advance(&mut self, now_ns: u64) {
        self.table.time_ns = self.table.time_ns.max(now_ns);
        if self.age_ns != 0 {
            self.table.expire(self.age_ns);
        }
        self.table.end();
    }

    fn full(&self) -> Refused {
        Refused(format!("the table is full: its size is {}", self.size))
    }

    fn zero(&self) -> Bits {
        Bits::zero(self.layout.width())
    }

    fn found(&self, entry: Option<u32>) -> Bits {
        let value = entry.map_or_else(|| self.zero(), |e| self.value(e));
        pack(&[Bits::bool(entry.is_some()), value])
    }

    /// Implements `insert` and `accumulate`. `change` computes the new value of an existing entry,
    /// if it changes.
    fn insert(
        &mut self,
        key: &[u64],
        value: &Bits,
        change: impl Fn(&Lanes, &Bits) -> Option<Bits>,
    ) -> Bits {
        let existing = self.table.find(key);
        let entry = match existing {
            Some(entry) => {
                if let Some(changed) = change(&self.lanes, &self.value(entry)) {
                    self.table.set_value(entry, changed.words());
                }
                self.table.touch(entry);
                entry
            }
            None if self.table.is_full() => return Bits::zero(2 + self.layout.width()),
            None => {
                let entry = self.table.insert(key, value.words());
                let now = self.table.time_ns;
                self.table.begin(entry, now);
                entry
            }
        };
        pack(&[Bits::bool(true), Bits::bool(existing.is_some()), self.value(entry)])
    }

    fn change(&mut self, method: usize, key: &[u64], args: &[Bits]) -> Bits {
        let entry = self.table.find(key);
        match method {
            1 => {
                if let Some(entry) = entry {
                    self.table.touch(entry);
                }
                self.found(entry)
            }
            2 => self.insert(key, &args[1], |_, _| None),
            3 => {
                if let Some(entry) = entry {
                    self.table.set_value(entry, args[1].words());
                    self.table.touch(entry);
                }
                Bits::bool(entry.is_some())
            }
            4 => self.insert(key, &args[1], |lanes, before| Some(lanes.add(before, &args[1]))),
            5 => {
                let reply = self.found(entry);
                if let Some(entry) = entry {
                    self.table.remove(entry);
                }
                reply
            }
            8 => {
                let is_equal = entry.is_some_and(|entry| self.value(entry) == args[1]);
                let before = entry.map_or_else(|| self.zero(), |entry| self.value(entry));
                if let Some(entry) = entry {
                    if is_equal {
                        self.table.set_value(entry, args[2].words());
                    }
                    self.table.touch(entry);
                }
                pack(&[Bits::bool(entry.is_some()), Bits::bool(is_equal), before])
            }
            9 => {
                if let Some(entry) = entry {
                    self.table.touch(entry);
                    self.table.keep(entry, args[1].low_u64());
                }
                Bits::bool(entry.is_some())
            }
            10 => {
                let over = entry.filter(|entry| self.table.is_over(*entry));
                let reply = self.found(over);
                if let Some(entry) = over {
                    self.table.remove(entry);
                }
                reply
            }
            _ => unreachable!("exact has eleven methods"),
        }
    }

    /// Returns the row of an entry that is not expired at the table's time.
    fn row(&self, entry: u32) -> Option<StateRow> {
        self.live_age(entry, self.table.time_ns)?;
        let key = Bits::from_words(self.key_width, self.table.key(entry));
        let fields = field_values(&self.layout, &self.value(entry));
        Some(StateRow { key: EntryKey::Exact(key), fields })
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
        // A key of the widest type of the IR has 64 words.
        let mut buffer = [0u64; (wireloom_bits::MAX_WIDTH / 64) as usize];
        let count = words(args[0].width());
        for (to, from) in buffer.iter_mut().zip(args[0].words()) {
            *to = from;
        }
        let key = &buffer[..count];
        match method {
            LOOKUP => self.found(self.peek(key, env.now_ns).map(|(entry, _)| entry)),
            6 => {
                let age = self.peek(key, env.now_ns).map(|(_, age)| age);
                pack(&[Bits::bool(age.is_some()), Bits::new(64, u128::from(age.unwrap_or(0)))])
            }
            7 => {
                self.advance(env.now_ns);
                Bits::new(32, self.table.expire(args[0].low_u64()) as u128)
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
        match self.table.find(&key) {
            Some(there) => {
                // In a table with ticks, an entry keeps its time.
                if !self.table.has_ticks() {
                    self.table.fix(there);
                }
                self.table.set_value(there, entry.value.words());
            }
            None if self.table.is_full() => return Err(self.full()),
            None => {
                self.table.insert(&key, entry.value.words());
            }
        }
        Ok(())
    }

    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        let key = self.whole_key(key)?;
        let entry = self.peek(&key, 0).map(|(entry, _)| entry);
        if let Some(entry) = entry {
            self.table.remove(entry);
        }
        Ok(entry.is_some())
    }

    fn entries(&self) -> Option<u64> {
        Some(u64::from(self.table.count()))
    }

    /// In an empty table, it is certain that nothing is found.
    fn certain(&self, method: usize) -> Option<Known> {
        let is_known = method == LOOKUP && self.table.count() == 0;
        is_known.then(|| Known::constant(&self.found(None)))
    }

    /// Returns the entries that are not expired at the table's time, sorted by key.
    fn rows(&self) -> Vec<StateRow> {
        let mut rows: Vec<StateRow> =
            self.table.all().filter_map(|entry| self.row(entry)).collect();
        rows.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        rows
    }

    fn look_up(&self, key: &EntryKey) -> Result<Option<StateRow>, Refused> {
        let entry = self.table.find(&self.whole_key(key)?);
        Ok(entry.and_then(|entry| self.row(entry)))
    }

    /// An entry keeps its slot until it is removed.
    fn visit_from(
        &self,
        from: &Cursor,
        most: usize,
        visit: &mut dyn FnMut(StateRow),
    ) -> Option<Cursor> {
        let row = |slot| self.table.at(slot as u32).and_then(|entry| self.row(entry));
        visit_numbered(from, most, self.table.slots() as usize, row, visit)
    }

    fn lifetime(&self, key: &EntryKey) -> Option<Lifetime> {
        let entry = self.table.find(&self.whole_key(key).ok()?)?;
        if self.table.is_static(entry) {
            return None;
        }
        let touched_ns = self.table.touched_ns(entry);
        let ends_ns = match self.age_ns {
            0 => Some(self.table.deadline_ns(entry)).filter(|end| *end != NEVER),
            age_ns => Some(touched_ns.saturating_add(age_ns)),
        };
        Some(Lifetime { touched_ns, ends_ns })
    }

    fn room(&self) -> Option<u64> {
        Some((self.size as u64).saturating_sub(u64::from(self.table.count())))
    }

    fn raw(&mut self) -> Option<RawView> {
        Some(RawView::Exact(self.table.as_ptr().cast()))
    }

    fn next_due(&self) -> Option<u64> {
        self.table.next_due()
    }

    fn due(&mut self, now_ns: u64, visit: &mut dyn FnMut(&Bits)) {
        let width = self.key_width;
        self.table.due(now_ns, &mut |key| visit(&Bits::from_words(width, key)));
    }
}

#[cfg(test)]
#[path = "exact_tests.rs"]
mod tests;

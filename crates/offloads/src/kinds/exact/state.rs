//! The complete state of a table: all entries with their ages, and the table's time.

use wireloom_bits::Bits;

use super::Exact;
use crate::kinds::check_value;
use crate::{EntryKey, Refused};

/// The state of an `exact` table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The latest time of a call that changes the table, in nanoseconds.
    pub time_ns: u64,
    /// The key and the value of each static entry, sorted by key.
    pub fixed: Vec<(Bits, Bits)>,
    /// The ageing entries, the least recently touched one first.
    pub ageing: Vec<Aged>,
}

/// An ageing entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aged {
    pub key: Bits,
    /// The packed value.
    pub value: Bits,
    /// The time of the last touch, in nanoseconds.
    pub touched_ns: u64,
    /// The time after the last touch at which the entry ends, in a table with ticks: nanoseconds,
    /// or all ones. `None` in other tables.
    pub duration_ns: Option<u64>,
}

impl Exact {
    /// Returns the widths of keys and of values in bits.
    pub fn widths(&self) -> (u32, u32) {
        (self.key_width, self.layout.width())
    }

    /// Returns a copy of the state.
    pub fn state(&self) -> State {
        let table = &self.table;
        let key = |entry: u32| Bits::from_words(self.key_width, table.key(entry));
        let fixed = table.all().filter(|&entry| table.is_static(entry));
        let mut fixed: Vec<_> = fixed.map(|entry| (key(entry), self.value(entry))).collect();
        fixed.sort_unstable();
        let aged = |entry| Aged {
            key: key(entry),
            value: self.value(entry),
            touched_ns: table.touched_ns(entry),
            duration_ns: table.has_ticks().then(|| table.duration_ns(entry)),
        };
        State { time_ns: table.time_ns, fixed, ageing: table.ageing().map(aged).collect() }
    }

    /// Replaces the state.
    ///
    /// # Errors
    /// If a key or a value does not have the table's width, if a key occurs twice, if there are
    /// more entries than the table can hold, or if the ageing entries are not in the order of their
    /// times or are later than the table's time. The table is then unchanged.
    pub fn set_state(&mut self, state: &State) -> Result<(), Refused> {
        let mut new = self.clone();
        new.table.clear();
        new.table.time_ns = state.time_ns;
        for (key, value) in &state.fixed {
            new.put_new(key, value)?;
        }
        let mut before = 0;
        for aged in &state.ageing {
            if aged.touched_ns < before || aged.touched_ns > state.time_ns {
                return Err(Refused("the entries are not in the order of their times".into()));
            }
            before = aged.touched_ns;
            let entry = new.put_new(&aged.key, &aged.value)?;
            new.table.begin(entry, aged.touched_ns);
            if let (Some(duration_ns), true) = (aged.duration_ns, new.table.has_ticks()) {
                new.table.keep(entry, duration_ns);
            }
        }
        *self = new;
        Ok(())
    }

    /// Inserts a new entry, which is static until it is linked.
    fn put_new(&mut self, key: &Bits, value: &Bits) -> Result<u32, Refused> {
        let words = self.whole_key(&EntryKey::Exact(key.clone()))?;
        check_value(value, self.layout.width())?;
        if self.table.find(&words).is_some() {
            return Err(Refused(format!("the key {key} occurs twice")));
        }
        if self.table.is_full() {
            return Err(self.full());
        }
        Ok(self.table.insert(&words, value.words()))
    }
}

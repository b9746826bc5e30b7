//! The whole state of a table: all entries with their ages, and the table's time.

use wireloom_bits::Bits;

use super::{Exact, NONE};
use crate::kinds::check_value;
use crate::{EntryKey, Refused};

/// The state of an `exact` table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The latest time that a changing call has seen, in nanoseconds.
    pub time_ns: u64,
    /// The static entries, by key.
    pub fixed: Vec<(Bits, Bits)>,
    /// The entries that age, the least recently touched one first.
    pub ageing: Vec<Aged>,
}

/// An entry that ages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aged {
    /// The key.
    pub key: Bits,
    /// The packed value.
    pub value: Bits,
    /// The time at which it was last touched, in nanoseconds.
    pub touched_ns: u64,
}

impl Exact {
    /// Returns the state.
    pub fn state(&self) -> State {
        let entries = &self.entries;
        let key = |entry: u32| Bits::from_words(self.key_width, entries.key(entry));
        let is_static = |entry: &&u32| entries.records[**entry as usize].is_static;
        let fixed = self.index.iter().filter(is_static);
        let mut fixed: Vec<_> = fixed.map(|&entry| (key(entry), entries.value(entry))).collect();
        fixed.sort_unstable();
        let mut ageing = Vec::new();
        let mut next = entries.oldest;
        while next != NONE {
            let record = entries.records[next as usize];
            let (key, value) = (key(next), entries.value(next));
            ageing.push(Aged { key, value, touched_ns: record.touched_ns });
            next = record.newer;
        }
        State { time_ns: self.time_ns, fixed, ageing }
    }

    /// Replaces the state.
    ///
    /// # Errors
    /// If a key or a value does not have the table's width, a key occurs twice, there are more
    /// entries than the table holds, or the entries that age are not in the order of their times or
    /// are younger than the table's time. The table is then unchanged.
    pub fn set_state(&mut self, state: &State) -> Result<(), Refused> {
        let mut new = self.clone();
        new.clear();
        new.time_ns = state.time_ns;
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
            new.entries.link(entry, aged.touched_ns);
        }
        *self = new;
        Ok(())
    }

    /// Removes all entries.
    fn clear(&mut self) {
        self.index.clear();
        let entries = &mut self.entries;
        entries.records.clear();
        entries.data.clear();
        entries.free.clear();
        (entries.oldest, entries.newest) = (NONE, NONE);
    }

    /// Inserts a new entry, which is static until it is linked.
    fn put_new(&mut self, key: &Bits, value: &Bits) -> Result<u32, Refused> {
        let words = self.whole_key(&EntryKey::Exact(key.clone()))?;
        check_value(value, self.layout.width())?;
        if self.find(&words).is_some() {
            return Err(Refused(format!("the key {key} occurs twice")));
        }
        if self.is_full() {
            return Err(self.full());
        }
        Ok(self.put_in(&words, value))
    }
}

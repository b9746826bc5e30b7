//! The patterns of a table, for kinds that search bytes for them.

use std::collections::HashMap;

use wireloom_bits::Bits;

use crate::kinds::{check_value, field_values};
use crate::{Entry, EntryKey, Layout, Refused, StateRow};

/// The maximum number of bytes of all patterns of an offload together. It is well below the limit
/// of the automaton.
const MAX_PATTERN_BYTES: usize = 1 << 24;

/// Patterns and their values in table order. The order decides between patterns that match at the
/// same position.
#[derive(Clone)]
pub(crate) struct Patterns {
    layout: Layout,
    list: Vec<(Vec<u8>, Bits)>,
    /// The index of each pattern in `list`.
    places: HashMap<Vec<u8>, usize>,
    /// The number of bytes of all patterns together.
    total: usize,
}

impl Patterns {
    /// Creates an empty table with values of this layout.
    pub(crate) fn new(layout: Layout) -> Self {
        Self { layout, list: Vec::new(), places: HashMap::new(), total: 0 }
    }

    /// Returns the patterns and their values.
    pub(crate) fn list(&self) -> &[(Vec<u8>, Bits)] {
        &self.list
    }

    /// Returns the width of a value in bits.
    pub(crate) fn value_width(&self) -> u32 {
        self.layout.width()
    }

    fn bytes(key: &EntryKey) -> Result<&Vec<u8>, Refused> {
        match key {
            EntryKey::Pattern(bytes) => Ok(bytes),
            _ => Err(Refused("the key is not a byte string".into())),
        }
    }

    /// Returns an error if [`load`](Self::load) would refuse a pattern.
    ///
    /// # Errors
    /// If the key is not a byte string, if it is empty, or if the patterns would be too long
    /// together.
    pub(crate) fn check(&self, key: &EntryKey) -> Result<(), Refused> {
        let bytes = Self::bytes(key)?;
        if bytes.is_empty() {
            return Err(Refused("an empty pattern would match everywhere".into()));
        }
        if !self.places.contains_key(bytes) && self.total + bytes.len() > MAX_PATTERN_BYTES {
            return Err(Refused("the patterns have more than 16 MiB together".into()));
        }
        Ok(())
    }

    /// Appends a pattern to the table. A pattern that is already in the table keeps its position
    /// and gets the new value. Returns whether the pattern is new.
    ///
    /// # Errors
    /// If the value does not have the declared width, and those of [`check`](Self::check).
    pub(crate) fn load(&mut self, Entry { key, value }: Entry) -> Result<bool, Refused> {
        Self::bytes(&key)?;
        check_value(&value, self.layout.width())?;
        self.check(&key)?;
        let bytes = Self::bytes(&key)?;
        if let Some(&place) = self.places.get(bytes) {
            self.list[place].1 = value;
            return Ok(false);
        }
        self.total += bytes.len();
        self.places.insert(bytes.clone(), self.list.len());
        self.list.push((bytes.clone(), value));
        Ok(true)
    }

    /// Removes a pattern. Returns whether it was present.
    ///
    /// # Errors
    /// If the key is not a byte string.
    pub(crate) fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        let bytes = Self::bytes(key)?;
        let Some(place) = self.places.remove(bytes) else { return Ok(false) };
        self.total -= bytes.len();
        self.list.remove(place);
        for later in self.places.values_mut().filter(|p| **p > place) {
            *later -= 1;
        }
        Ok(true)
    }

    fn row(&self, (bytes, value): &(Vec<u8>, Bits)) -> StateRow {
        let fields = field_values(&self.layout, value);
        StateRow { key: EntryKey::Pattern(bytes.clone()), fields }
    }

    /// Returns the row of a pattern, if it is in the table.
    ///
    /// # Errors
    /// If the key is not a byte string.
    pub(crate) fn look_up(&self, key: &EntryKey) -> Result<Option<StateRow>, Refused> {
        let place = self.places.get(Self::bytes(key)?);
        Ok(place.map(|place| self.row(&self.list[*place])))
    }

    /// Returns the patterns in table order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = StateRow> + '_ {
        self.list.iter().map(|pattern| self.row(pattern))
    }
}

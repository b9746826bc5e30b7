//! Secrets of 128 bits by index, which the control plane writes and packets use.

use wireloom_bits::Bits;

use crate::kinds::{check_value, index_of, visit_numbered};
use crate::memory::zeroed;
use crate::registry::{Param, TableForm, TableKey, U32, param};
use crate::{Config, Cursor, Entry, EntryKey, Layout, Refused, StateRow};

/// The parameter with the number of secrets.
pub const SIZE: Param = param("size", U32, Some(1), (1, 65_536), "Number of secrets.");

/// The form of table entries: a secret by index.
pub const TABLE: TableForm =
    TableForm { key: TableKey::Index, value: |_| (Layout::scalar(128), Bits::zero(128)) };

/// The number of words of a secret.
const WORDS: usize = 2;

/// Secrets. They are zero until the control plane writes them.
#[derive(Clone)]
pub struct Secrets {
    /// Two words each, the lower half first.
    words: Box<[u64]>,
}

impl Secrets {
    /// Creates the secrets of an offload.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let size = config.param("size").low_u64() as usize;
        Ok(Self { words: zeroed(WORDS * size)? })
    }

    pub fn size(&self) -> usize {
        self.words.len() / WORDS
    }

    /// Returns a secret; `None` if the index is out of range.
    pub fn get(&self, index: &Bits) -> Option<u128> {
        let at = WORDS * usize::try_from(index.low_u64()).ok()?;
        let words = self.words.get(at..at + WORDS)?;
        Some(u128::from(words[1]) << 64 | u128::from(words[0]))
    }

    /// Writes a secret.
    ///
    /// # Errors
    /// If the index is out of range.
    pub fn load(&mut self, entry: &Entry) -> Result<usize, Refused> {
        let index = index_of(&entry.key, self.size())?;
        check_value(&entry.value, 128)?;
        for word in 0..WORDS {
            self.words[WORDS * index + word] = entry.value.word(word);
        }
        Ok(index)
    }

    /// Makes a secret zero. Returns its index, and whether it was another one.
    ///
    /// # Errors
    /// If the index is out of range.
    pub fn unload(&mut self, key: &EntryKey) -> Result<(usize, bool), Refused> {
        let index = index_of(key, self.size())?;
        let words = &mut self.words[WORDS * index..][..WORDS];
        let was_set = words != [0; WORDS];
        words.fill(0);
        Ok((index, was_set))
    }

    fn row(&self, index: usize) -> Option<StateRow> {
        let words = &self.words[WORDS * index..][..WORDS];
        (words != [0; WORDS]).then(|| StateRow {
            key: EntryKey::Index(index as u64),
            fields: vec![("value".into(), Bits::from_words(128, words))],
        })
    }

    /// Returns the secrets other than zero.
    pub fn rows(&self) -> Vec<StateRow> {
        (0..self.size()).filter_map(|index| self.row(index)).collect()
    }

    /// Returns the row of a secret.
    ///
    /// # Errors
    /// If the index is out of range.
    pub fn look_up(&self, key: &EntryKey) -> Result<Option<StateRow>, Refused> {
        Ok(self.row(index_of(key, self.size())?))
    }

    /// Visits a page of rows; see [`Instance::visit_from`](crate::Instance::visit_from).
    pub fn visit_from(
        &self,
        from: &Cursor,
        most: usize,
        visit: &mut dyn FnMut(StateRow),
    ) -> Option<Cursor> {
        visit_numbered(from, most, self.size(), |index| self.row(index), visit)
    }

    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
}

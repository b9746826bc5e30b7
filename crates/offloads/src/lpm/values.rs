//! Values without duplicates. Prefixes refer to values by number.

use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashbrown::HashTable;
use wireloom_bits::{Bits, Known};

use crate::lanes::words;

/// Numbered values with reference counts: the number of prefixes with each value. Number 0 is the
/// miss value, which a lookup without a match returns.
pub(super) struct Values {
    width: u32,
    /// The words of all values, one value after the other.
    words: Vec<u64>,
    /// The reference count of each value.
    held: Vec<u32>,
    /// The numbers that can be reused.
    free: Vec<u32>,
    index: HashTable<u32>,
    hasher: RandomState,
    certain: Certain,
}

/// The bits that are certain in all values. Values that have gone since the last
/// [`Table::look_again`](super::Table::look_again) count too. Clones are handles to the same data,
/// which can be read while the table changes.
#[derive(Clone)]
pub struct Certain(Arc<Mutex<Known>>);

impl Certain {
    fn new(known: Known) -> Self {
        Self(Arc::new(Mutex::new(known)))
    }

    /// Returns the bits that are certain in all values, including the miss value.
    pub fn known(&self) -> Known {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // The content is replaced as a whole, so it is valid even after a panic elsewhere.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Values {
    pub(super) fn new(miss: &Bits) -> Self {
        Self {
            width: miss.width(),
            words: miss.words().collect(),
            held: vec![1],
            free: Vec::new(),
            index: HashTable::new(),
            hasher: RandomState::new(),
            certain: Certain::new(Known::constant(miss)),
        }
    }

    /// Adds a reference to a value and returns the number of the value.
    pub(super) fn hold(&mut self, value: &Bits) -> u32 {
        let hash = match self.find(value) {
            Ok(id) => {
                self.held[id as usize] += 1;
                return id;
            }
            Err(hash) => hash,
        };
        let stride = words(self.width);
        let id = self.free.pop().unwrap_or_else(|| {
            self.held.push(0);
            self.words.resize(self.held.len() * stride, 0);
            (self.held.len() - 1) as u32
        });
        let own = &mut self.words[id as usize * stride..][..stride];
        own.iter_mut().zip(value.words()).for_each(|(own, word)| *own = word);
        self.held[id as usize] = 1;
        let mut certain = self.certain.lock();
        *certain = certain.either(&Known::constant(value));
        drop(certain);
        let (all, hasher) = (&self.words, &self.hasher);
        self.index
            .insert_unique(hash, id, |&id| hasher.hash_one(&all[id as usize * stride..][..stride]));
        id
    }

    /// Drops a reference to a value. Returns whether it was the last one. If so, pass the number to
    /// [`Values::forget`] once no reader can see it.
    pub(super) fn release(&mut self, id: u32) -> bool {
        self.held[id as usize] -= 1;
        if self.held[id as usize] > 0 {
            return false;
        }
        let hash = self.hasher.hash_one(self.words(id));
        self.index
            .find_entry(hash, |&other| other == id)
            .expect("a held value stands in the index")
            .remove();
        true
    }

    /// Frees a number for another value.
    pub(super) fn forget(&mut self, id: u32) {
        self.free.push(id);
    }

    /// Returns the words of a value.
    pub(super) fn words(&self, id: u32) -> &[u64] {
        let stride = words(self.width);
        &self.words[id as usize * stride..][..stride]
    }

    /// Returns a value by number.
    pub(super) fn value(&self, id: u32) -> Bits {
        Bits::from_words(self.width, self.words(id))
    }

    /// Returns the bits that are certain in all values, including the miss value.
    pub(super) fn certain(&self) -> &Certain {
        &self.certain
    }

    /// Whether adding a value keeps all certain bits certain.
    pub(super) fn agrees(&self, value: &Bits) -> bool {
        value.width() == self.width
            && (self.find(value).is_ok() || Known::constant(value).implies(&self.certain.lock()))
    }

    /// Returns the number of a value that is in use, or the hash of the value.
    fn find(&self, value: &Bits) -> Result<u32, u64> {
        let own: Vec<u64> = value.words().collect();
        let hash = self.hasher.hash_one(&own[..]);
        let found = self.index.find(hash, |&id| self.words(id) == own);
        found.copied().ok_or(hash)
    }

    /// Computes the certain bits from the values that are in use now.
    pub(super) fn look_again(&mut self) {
        let held = (0..self.count() as u32).filter(|&id| self.held[id as usize] > 0);
        let all = held.map(|id| Known::constant(&self.value(id)));
        let known = all.reduce(|a, b| a.either(&b)).expect("the miss value is always held");
        *self.certain.lock() = known;
    }

    /// Returns an upper bound of all numbers, used and free.
    pub(super) fn count(&self) -> usize {
        self.held.len()
    }

    /// Returns the memory in bytes.
    pub(super) fn memory(&self) -> usize {
        self.words.capacity() * 8
            + (self.held.capacity() + self.free.capacity()) * 4
            + self.index.capacity() * 5
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_number_until_none_holds_it() {
        let mut values = Values::new(&Bits::new(70, 9));
        let (a, b) = (Bits::ones(70), Bits::new(70, 1));
        let first = values.hold(&a);
        assert_eq!(values.hold(&a), first);
        let second = values.hold(&b);
        assert_ne!(first, second);
        assert_eq!((values.value(0), values.value(first)), (Bits::new(70, 9), a.clone()));
        assert!(!values.release(first) && values.release(first));
        values.forget(first);
        assert_eq!(values.hold(&Bits::new(70, 5)), first, "the number is used again");
        assert_eq!(values.value(second), b);
        // A value equal to the miss value has its own number.
        assert_ne!(values.hold(&Bits::new(70, 9)), 0);
    }

    #[test]
    fn bits_that_all_values_share_are_certain() {
        let known = |values: &Values| {
            let Known { zeros, ones } = values.certain().known();
            (zeros.low_u64(), ones.low_u64())
        };
        let mut values = Values::new(&Bits::new(8, 0x81));
        assert_eq!(known(&values), (0x7e, 0x81));
        let id = values.hold(&Bits::new(8, 0xf1));
        assert_eq!(known(&values), (0x0e, 0x81));
        assert!(values.release(id));
        assert_eq!(known(&values), (0x0e, 0x81));
        values.look_again();
        assert_eq!(known(&values), (0x7e, 0x81));
    }
}

//! Values, each kept once: prefixes hold their numbers.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;
use wireloom_bits::Bits;

use crate::lanes::words;

/// Numbered values with a count of the prefixes that hold each. Number 0 is the result of a lookup
/// that finds nothing.
pub(super) struct Values {
    width: u32,
    /// Words of each value in turn.
    words: Vec<u64>,
    /// Number of prefixes that hold each.
    held: Vec<u32>,
    /// Numbers that may be given to other values.
    free: Vec<u32>,
    index: HashTable<u32>,
    hasher: RandomState,
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
        }
    }

    /// The number of a value, held once more.
    pub(super) fn hold(&mut self, value: &Bits) -> u32 {
        let own: Vec<u64> = value.words().collect();
        let hash = self.hasher.hash_one(&own[..]);
        let stride = words(self.width);
        if let Some(&id) =
            self.index.find(hash, |&id| self.words[id as usize * stride..][..stride] == own)
        {
            self.held[id as usize] += 1;
            return id;
        }
        let id = self.free.pop().unwrap_or_else(|| {
            self.held.push(0);
            self.words.resize(self.held.len() * stride, 0);
            (self.held.len() - 1) as u32
        });
        self.words[id as usize * stride..][..stride].copy_from_slice(&own);
        self.held[id as usize] = 1;
        let (all, hasher) = (&self.words, &self.hasher);
        self.index
            .insert_unique(hash, id, |&id| hasher.hash_one(&all[id as usize * stride..][..stride]));
        id
    }

    /// Releases a prefix's hold of a value. Returns whether no prefix holds it now; its number must
    /// then be passed to [`Values::forget`] once no reader can see it.
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

    /// The number may be given to another value.
    pub(super) fn forget(&mut self, id: u32) {
        self.free.push(id);
    }

    /// The words of a value.
    pub(super) fn words(&self, id: u32) -> &[u64] {
        let stride = words(self.width);
        &self.words[id as usize * stride..][..stride]
    }

    /// A value.
    pub(super) fn value(&self, id: u32) -> Bits {
        Bits::from_words(self.width, self.words(id))
    }

    /// Numbers in use or free: all are below this.
    pub(super) fn count(&self) -> usize {
        self.held.len()
    }

    /// Bytes of memory.
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
        // A value equal to the miss value is a value of its own.
        assert_ne!(values.hold(&Bits::new(70, 9)), 0);
    }
}

//! The distinct values of a prefix table. Entries of the trie contain their numbers.

use std::collections::HashMap;

use wireloom_bits::Bits;

/// Numbered values with their reference counts: the number of prefixes that have each. Number 0 is
/// the result of a lookup without a match.
#[derive(Clone, Debug)]
pub(super) struct Values {
    values: Vec<Bits>,
    held: Vec<u32>,
    numbers: HashMap<Bits, u32>,
    free: Vec<u32>,
    limit: u32,
}

impl Values {
    /// Creates an empty set with room for `limit` values, including the one for misses.
    pub(super) fn new(miss: &Bits, limit: u32) -> Self {
        let numbers = HashMap::from([(miss.clone(), 0)]);
        Self { values: vec![miss.clone()], held: vec![1], numbers, free: Vec::new(), limit }
    }

    /// Adds a reference to a value. Returns the value's number and whether it is new, or `None` if
    /// there is no room.
    pub(super) fn hold(&mut self, value: &Bits) -> Option<(u32, bool)> {
        if let Some(&number) = self.numbers.get(value) {
            self.held[number as usize] += 1;
            return Some((number, false));
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None if (self.values.len() as u32) < self.limit => {
                self.values.push(value.clone());
                self.held.push(0);
                self.values.len() as u32 - 1
            }
            None => return None,
        };
        self.values[number as usize] = value.clone();
        self.held[number as usize] = 1;
        self.numbers.insert(value.clone(), number);
        Some((number, true))
    }

    /// Drops a prefix's reference to a number. Returns whether no prefix has it any more, so that
    /// the number may be reused for another value.
    pub(super) fn release(&mut self, number: u32) -> bool {
        self.held[number as usize] -= 1;
        if self.held[number as usize] > 0 {
            return false;
        }
        self.numbers.remove(&self.values[number as usize]);
        self.free.push(number);
        true
    }

    /// Returns all values, by number. The contents of unused numbers are unspecified.
    pub(super) fn all(&self) -> &[Bits] {
        &self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_number_until_none_holds_it() {
        let mut values = Values::new(&Bits::new(8, 9), 3);
        assert_eq!(values.hold(&Bits::new(8, 5)), Some((1, true)));
        assert_eq!(values.hold(&Bits::new(8, 5)), Some((1, false)));
        assert_eq!(
            values.hold(&Bits::new(8, 9)),
            Some((0, false)),
            "the value that a miss returns has number 0"
        );
        assert_eq!(values.hold(&Bits::new(8, 6)), Some((2, true)));
        assert_eq!(values.hold(&Bits::new(8, 7)), None, "no room");
        assert!(!values.release(1) && values.release(1));
        assert_eq!(values.hold(&Bits::new(8, 7)), Some((1, true)), "the number is used again");
        assert!(!values.release(0));
        assert_eq!(values.all(), [Bits::new(8, 9), Bits::new(8, 7), Bits::new(8, 6)]);
    }
}

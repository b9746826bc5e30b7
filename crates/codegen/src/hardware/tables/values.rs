//! The distinct values of a prefix table: entries of the trie hold their numbers.

use std::collections::HashMap;

use wireloom_bits::Bits;

/// Numbered values, with how many prefixes hold each. Number 0 is the result of a lookup that finds
/// nothing.
#[derive(Clone, Debug)]
pub(super) struct Values {
    values: Vec<Bits>,
    held: Vec<u32>,
    numbers: HashMap<Bits, u32>,
    free: Vec<u32>,
    limit: u32,
}

impl Values {
    /// Makes an empty set with room for `limit` values, including the one for misses.
    pub(super) fn new(miss: &Bits, limit: u32) -> Self {
        let numbers = HashMap::from([(miss.clone(), 0)]);
        Self { values: vec![miss.clone()], held: vec![1], numbers, free: Vec::new(), limit }
    }

    /// The number of a value, held once more, and whether it is a new one; nothing if there is no
    /// room.
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

    /// Releases a prefix's hold of a number. Returns whether no prefix holds it now, so that it may
    /// be given to another value.
    pub(super) fn release(&mut self, number: u32) -> bool {
        self.held[number as usize] -= 1;
        if self.held[number as usize] > 0 {
            return false;
        }
        self.numbers.remove(&self.values[number as usize]);
        self.free.push(number);
        true
    }

    /// All of them, by number; those of numbers that are not in use are whatever they were.
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
            "a route to what a miss answers"
        );
        assert_eq!(values.hold(&Bits::new(8, 6)), Some((2, true)));
        assert_eq!(values.hold(&Bits::new(8, 7)), None, "no room");
        assert!(!values.release(1) && values.release(1));
        assert_eq!(values.hold(&Bits::new(8, 7)), Some((1, true)), "the number is used again");
        assert!(!values.release(0));
        assert_eq!(values.all(), [Bits::new(8, 9), Bits::new(8, 7), Bits::new(8, 6)]);
    }
}

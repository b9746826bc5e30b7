//! Numbers for neighbours (next hops) and for groups of them, as long as routes use them.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::netlink::Neighbour;

/// The buckets of a group (`BUCKETS` of programs/include/forwarding.loom).
pub const BUCKETS: usize = 256;

/// Gives out numbers from `first` up to a limit and counts their users.
#[derive(Debug)]
pub struct Numbers<K> {
    numbers: HashMap<K, u32>,
    /// Per number from 0, key and users.
    slots: Vec<Option<(K, u32)>>,
    /// Numbers without users.
    free: Vec<u32>,
    limit: u32,
}

impl<K: Clone + Eq + Hash> Numbers<K> {
    /// Numbers from `first` to `limit - 1`.
    pub fn new(first: u32, limit: u32) -> Self {
        let slots = vec![None; first as usize];
        Self { numbers: HashMap::new(), slots, free: Vec::new(), limit }
    }

    /// Returns the number of a key, which has one more user now, and whether it is new. `None` if
    /// all are given out.
    pub fn acquire(&mut self, key: &K) -> Option<(u32, bool)> {
        if let Some(&number) = self.numbers.get(key) {
            if let Some((_, users)) = &mut self.slots[number as usize] {
                *users += 1;
            }
            return Some((number, false));
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.slots.len() < self.limit as usize => {
                self.slots.push(None);
                self.slots.len() as u32 - 1
            }
            None => return None,
        };
        self.slots[number as usize] = Some((key.clone(), 1));
        self.numbers.insert(key.clone(), number);
        Some((number, true))
    }

    /// Takes a user away. Returns the key if that was the last: then [`reuse`](Self::reuse) may
    /// return the number.
    pub fn release(&mut self, number: u32) -> Option<K> {
        let slot = self.slots.get_mut(number as usize)?;
        let (_, users) = slot.as_mut()?;
        *users -= 1;
        if *users > 0 {
            return None;
        }
        let (key, _) = slot.take()?;
        self.numbers.remove(&key);
        Some(key)
    }

    /// Lets a number without users be given out again.
    pub fn reuse(&mut self, number: u32) {
        self.free.push(number);
    }

    /// The number of a key that has users.
    pub fn find(&self, key: &K) -> Option<u32> {
        self.numbers.get(key).copied()
    }

    /// The key of a number that has users.
    pub fn key(&self, number: u32) -> Option<&K> {
        self.slots.get(number as usize)?.as_ref().map(|(key, _)| key)
    }

    /// Keys and numbers with users.
    pub fn iter(&self) -> impl Iterator<Item = (&K, u32)> {
        self.numbers.iter().map(|(key, number)| (key, *number))
    }
}

/// A next hop in a group and its weight. `None`: by an interface that is no port.
pub type Member = (Option<Neighbour>, u32);

/// Returns the index of the member that each bucket belongs to.
///
/// Each bucket is the member's whose hash with the bucket's number is the best: the weighted
/// rendezvous of Thaler and Ravishankar (1998) and of Schindelhauer and Schomaker (2005). Hence a
/// member that goes leaves its own buckets to the others and no other bucket changes, one that
/// comes takes buckets for itself only, and the result depends on nothing but the members: it is
/// the same after a restart.
pub fn spread(members: &[Member]) -> [usize; BUCKETS] {
    std::array::from_fn(|bucket| {
        let scores = members.iter().map(|(member, weight)| score(bucket, member, *weight));
        let best = scores.enumerate().min_by(|(_, one), (_, other)| one.total_cmp(other));
        best.map_or(0, |(index, _)| index)
    })
}

/// An exponentially distributed number whose rate is the weight: the least is that of a member with
/// a probability in proportion to its weight.
fn score(bucket: usize, member: &Option<Neighbour>, weight: u32) -> f64 {
    let mut hasher = DefaultHasher::new();
    (bucket as u64, member).hash(&mut hasher);
    let uniform = ((hasher.finish() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    -uniform.ln() / f64::from(weight.max(1))
}

#[cfg(test)]
mod tests {
    use wireloom_net::tables::Family;

    use super::*;
    use crate::mirror::fib::Address;

    fn member(last: u8, weight: u32) -> Member {
        let bits = 0x0a00_0000 + u128::from(last);
        (Some((Address { family: Family::V4, bits }, 7)), weight)
    }

    fn owners(members: &[Member]) -> Vec<Option<Neighbour>> {
        spread(members).iter().map(|index| members[*index].0).collect()
    }

    #[test]
    fn a_member_that_goes_moves_its_own_buckets_only() {
        let all: Vec<Member> = (1..=5).map(|last| member(last, u32::from(last))).collect();
        let before = owners(&all);
        for gone in 0..all.len() {
            let mut fewer = all.clone();
            let (neighbour, _) = fewer.remove(gone);
            for (old, new) in before.iter().zip(owners(&fewer)) {
                assert!(*old == neighbour || *old == new);
                assert_ne!(new, neighbour);
            }
        }
    }

    #[test]
    fn buckets_follow_the_weights() {
        for weights in [[1, 1], [1, 3], [10, 1]] {
            let members = [member(1, weights[0]), member(2, weights[1])];
            let first = spread(&members).iter().filter(|index| **index == 0).count() as f64;
            let share = f64::from(weights[0]) / f64::from(weights[0] + weights[1]);
            // Four standard deviations of a binomial distribution.
            let allowed = 4.0 * (BUCKETS as f64 * share * (1.0 - share)).sqrt();
            assert!((first - BUCKETS as f64 * share).abs() < allowed, "{weights:?}: {first}");
        }
    }

    #[test]
    fn numbers_are_reused_when_nobody_has_them() {
        let mut numbers = Numbers::new(1, 3);
        assert_eq!(numbers.acquire(&"a"), Some((1, true)));
        assert_eq!(numbers.acquire(&"a"), Some((1, false)));
        assert_eq!(numbers.acquire(&"b"), Some((2, true)));
        assert_eq!(numbers.acquire(&"c"), None);
        assert_eq!(numbers.release(1), None);
        assert_eq!(numbers.release(1), Some("a"));
        assert_eq!(numbers.acquire(&"c"), None, "not before it may be reused");
        numbers.reuse(1);
        assert_eq!(numbers.acquire(&"c"), Some((1, true)));
        assert_eq!((numbers.find(&"c"), numbers.key(1)), (Some(1), Some(&"c")));
    }
}

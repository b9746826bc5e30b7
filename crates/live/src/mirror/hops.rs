//! Assigns numbers to neighbours (next hops) and to groups of them while routes use them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::{Range, RangeInclusive};

use wireloom_net::tables::Family;

use super::netlink::Neighbour;

/// The number of buckets of a group (`BUCKETS` of programs/include/forwarding.loom).
pub const BUCKETS: usize = 256;

/// A way to a neighbour. Each has a row of `next_hops`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Way {
    pub neighbour: Neighbour,
    /// The IP version of the packets: a link may have another MTU for IPv6.
    pub family: Family,
    /// The MTU of the routes in bytes. 0: none.
    pub mtu: u32,
}

impl Way {
    /// Returns the range of all ways to a neighbour.
    pub fn to(neighbour: Neighbour) -> RangeInclusive<Self> {
        Self { neighbour, family: Family::V4, mtu: 0 }..=Self {
            neighbour,
            family: Family::V6,
            mtu: u32::MAX,
        }
    }
}

/// Assigns numbers of a range and counts their users.
#[derive(Debug)]
pub struct Numbers<K> {
    numbers: BTreeMap<K, u32>,
    /// Key and number of users, by number of the range.
    slots: Vec<Option<(K, u32)>>,
    /// Numbers without users that may be assigned again.
    free: Vec<u32>,
    range: Range<u32>,
}

impl<K: Clone + Ord> Numbers<K> {
    /// Creates an empty assignment of numbers of a range.
    pub fn new(range: Range<u32>) -> Self {
        Self { numbers: BTreeMap::new(), slots: Vec::new(), free: Vec::new(), range }
    }

    /// Returns the index of a number in a list with one element for each number of the range.
    pub fn place(&self, number: u32) -> Option<usize> {
        number.checked_sub(self.range.start).map(|place| place as usize)
    }

    fn slot(&mut self, number: u32) -> Option<&mut Option<(K, u32)>> {
        let place = self.place(number)?;
        self.slots.get_mut(place)
    }

    /// Returns the number of a key, with one more user, and whether the number is new. Returns
    /// `None` if all numbers are in use.
    pub fn acquire(&mut self, key: &K) -> Option<(u32, bool)> {
        if let Some(&number) = self.numbers.get(key) {
            if let Some(Some((_, users))) = self.slot(number) {
                *users += 1;
            }
            return Some((number, false));
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.slots.len() < self.range.len() => {
                self.slots.push(None);
                self.range.start + self.slots.len() as u32 - 1
            }
            None => return None,
        };
        *self.slot(number)? = Some((key.clone(), 1));
        self.numbers.insert(key.clone(), number);
        Some((number, true))
    }

    /// Removes a user. Returns the key if that was the last user: [`reuse`](Self::reuse) may then
    /// return the number.
    pub fn release(&mut self, number: u32) -> Option<K> {
        let slot = self.slot(number)?;
        let (_, users) = slot.as_mut()?;
        *users -= 1;
        if *users > 0 {
            return None;
        }
        let (key, _) = slot.take()?;
        self.numbers.remove(&key);
        Some(key)
    }

    /// Allows a number without users to be assigned again.
    pub fn reuse(&mut self, number: u32) {
        self.free.push(number);
    }

    /// Returns the numbers in use whose keys are in a range.
    pub fn find(&self, keys: RangeInclusive<K>) -> impl Iterator<Item = u32> {
        self.numbers.range(keys).map(|(_, number)| *number)
    }

    /// Returns the key of a number in use.
    pub fn key(&self, number: u32) -> Option<&K> {
        self.slots.get(self.place(number)?)?.as_ref().map(|(key, _)| key)
    }

    /// Returns the keys and numbers in use, in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = (&K, u32)> {
        self.numbers.iter().map(|(key, number)| (key, *number))
    }
}

/// A next hop in a group and its weight. `None`: the next hop is at an interface that is not a
/// port.
pub type Member = (Option<Way>, u32);

/// Returns the index of the member that each bucket belongs to.
///
/// A bucket belongs to the member with the best hash of member and bucket number: the weighted
/// rendezvous of Thaler and Ravishankar (1998) and of Schindelhauer and Schomaker (2005). Hence a
/// member that is removed leaves its own buckets to the others, and no other bucket changes. A
/// member that is added only takes buckets for itself. The result depends only on the members, so
/// it is the same after a restart.
pub fn spread(members: &[Member]) -> [usize; BUCKETS] {
    std::array::from_fn(|bucket| {
        let scores = members.iter().map(|(member, weight)| score(bucket, member, *weight));
        let best = scores.enumerate().min_by(|(_, one), (_, other)| one.total_cmp(other));
        best.map_or(0, |(index, _)| index)
    })
}

/// Returns an exponentially distributed number with the weight as its rate: the probability that a
/// member has the least number is proportional to its weight.
fn score(bucket: usize, member: &Option<Way>, weight: u32) -> f64 {
    let mut hasher = DefaultHasher::new();
    (bucket as u64, member.map(|way| way.neighbour)).hash(&mut hasher);
    let uniform = ((hasher.finish() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    -uniform.ln() / f64::from(weight.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::fib::Address;

    fn member(last: u8, weight: u32) -> Member {
        let bits = 0x0a00_0000 + u128::from(last);
        let neighbour = (Address { family: Family::V4, bits }, 7);
        (Some(Way { neighbour, family: Family::V4, mtu: 0 }), weight)
    }

    fn owners(members: &[Member]) -> Vec<Option<Way>> {
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
        let mut numbers = Numbers::new(1..3);
        assert_eq!(numbers.acquire(&"a"), Some((1, true)));
        assert_eq!(numbers.acquire(&"a"), Some((1, false)));
        assert_eq!(numbers.acquire(&"b"), Some((2, true)));
        assert_eq!(numbers.acquire(&"c"), None);
        assert_eq!(numbers.release(1), None);
        assert_eq!(numbers.release(1), Some("a"));
        assert_eq!(numbers.acquire(&"c"), None, "not before it may be reused");
        numbers.reuse(1);
        assert_eq!(numbers.acquire(&"c"), Some((1, true)));
        assert_eq!(numbers.find("c"..="c").collect::<Vec<_>>(), [1]);
        assert_eq!((numbers.key(1), numbers.key(0), numbers.key(9)), (Some(&"c"), None, None));
    }
}

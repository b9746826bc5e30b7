//! The queues of a unit: one for each class of ordering that a command can ask for.
//!
//! A priority command goes before all others. Ordered commands are served in the order of arrival.
//! Among the rest, the unit chooses by its own cost. It never lets a command pass an earlier one to
//! the same address, and no command is passed more often than the queue is long.

use std::collections::VecDeque;

use wireloom_isa::microengine::Order;

use crate::request::{Handle, Pool};

#[derive(Clone, Debug)]
pub struct Queues {
    /// The queues, indexed by [`Class`].
    queues: [VecDeque<Entry>; 3],
    /// Queue places that are taken, including those reserved by commands on the command bus.
    taken: [u32; 3],
    depth: u32,
    /// The class of commands without an ordering token.
    habit: Class,
    arrived: u64,
    /// The largest number of waiting commands so far.
    most: usize,
    /// A fault for tests: ordered commands overtake each other.
    pub overtakes: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    handle: Handle,
    arrived: u64,
    passed: u32,
}

/// The ordering that a command was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Before all others.
    Priority = 0,
    /// In the order of arrival.
    Ordered = 1,
    /// In an order that suits the unit.
    Free = 2,
}

impl Queues {
    /// Creates empty queues.
    pub fn new(depth: u32, habit: Class) -> Self {
        let queues = Default::default();
        Self { queues, taken: [0; 3], depth, habit, arrived: 0, most: 0, overtakes: false }
    }

    /// The class of an ordering token.
    pub fn class(&self, order: Order) -> Class {
        match order {
            Order::Priority => Class::Priority,
            Order::Ordered => Class::Ordered,
            Order::Optimize => Class::Free,
            Order::Default => self.habit,
        }
    }

    /// Whether the command's queue has a free place.
    pub fn has_room(&self, order: Order) -> bool {
        self.taken[self.class(order) as usize] < self.depth
    }

    /// Reserves a place for a command.
    pub fn reserve(&mut self, order: Order) {
        self.taken[self.class(order) as usize] += 1;
    }

    /// Appends a command with a reserved place to its queue.
    pub fn push(&mut self, handle: Handle, order: Order) {
        let class = self.class(order) as usize;
        self.queues[class].push_back(Entry { handle, arrived: self.arrived, passed: 0 });
        self.arrived += 1;
        self.most = self.most.max(self.len());
    }

    /// The number of waiting commands.
    pub fn len(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    /// Whether no command waits.
    pub fn is_empty(&self) -> bool {
        self.queues.iter().all(VecDeque::is_empty)
    }

    /// The largest number of waiting commands so far.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Takes the next command. `cost` is the unit's cost of a command; `None` means that it cannot
    /// begin now.
    pub fn take(&mut self, pool: &Pool, cost: impl Fn(Handle) -> Option<u32>) -> Option<Handle> {
        let can = |entry: &Entry| pool[entry.handle].is_ready && cost(entry.handle).is_some();
        if let Some(head) = self.queues[0].front() {
            // A priority command blocks the others even while its words are still arriving.
            return can(head).then(|| self.remove(0, 0));
        }
        if self.overtakes && self.queues[1].len() > 1 && can(&self.queues[1][1]) {
            return Some(self.remove(1, 1));
        }
        let ordered = self.queues[1].front().filter(|head| can(head)).copied();
        let free = self.cheapest(pool, &cost);
        match (ordered, free) {
            (Some(head), Some((_, arrived))) if head.arrived < arrived => Some(self.remove(1, 0)),
            (_, Some((place, _))) => {
                for entry in self.queues[2].iter_mut().take(place) {
                    entry.passed += 1;
                }
                Some(self.remove(2, place))
            }
            (Some(_), None) => Some(self.remove(1, 0)),
            (None, None) => None,
        }
    }

    /// The place and the arrival number of the cheapest command that may begin.
    fn cheapest(&self, pool: &Pool, cost: impl Fn(Handle) -> Option<u32>) -> Option<(usize, u64)> {
        let mut best: Option<(u32, usize, u64)> = None;
        for (place, entry) in self.queues[2].iter().enumerate() {
            let request = &pool[entry.handle];
            let earlier = self.queues[2].iter().take(place);
            let meets = earlier.into_iter().any(|other| {
                let other = &pool[other.handle];
                let end = |address: u32, count: u8| address.saturating_add(count.max(1).into());
                other.address < end(request.address, request.count)
                    && request.address < end(other.address, other.count)
            });
            if request.is_ready
                && !meets
                && let Some(cost) = cost(entry.handle)
                && best.is_none_or(|(least, _, _)| cost < least)
            {
                best = Some((cost, place, entry.arrived));
            }
            if entry.passed >= self.depth {
                break;
            }
        }
        best.map(|(_, place, arrived)| (place, arrived))
    }

    fn remove(&mut self, queue: usize, place: usize) -> Handle {
        self.taken[queue] -= 1;
        let removed = self.queues[queue].remove(place);
        removed.expect("the caller has found it there").handle
    }
}

//! The units of one clock, and at which of its edges they have their next cycles.

use super::Unit;
use crate::{Clock, Time};

/// No edge.
const NEVER: u64 = u64::MAX;
/// Edges from one on, at which units can have their next cycles.
const EDGES: u64 = 64;

/// Units of one clock. Of masks, a bit stands for each unit of the whole machine.
#[derive(Debug)]
pub(super) struct Domain {
    pub(super) clock: Clock,
    /// The first edge whose cycles have not begun, and its time.
    edge: u64,
    time: Time,
    /// The edge at which each unit of the whole machine has its next cycle, if it is awake: one of `EDGES` from `edge` on.
    due: Vec<u64>,
    /// The same as masks: who has a cycle at edge `n` stands at `n % EDGES`.
    ring: Vec<Vec<u64>>,
    /// Which masks of the ring are not empty: a bit each.
    filled: u64,
    /// When somebody has a cycle next; never if all sleep.
    next: Time,
    members: Vec<u64>,
    /// During the cycles of an edge: whose turn it is.
    turn: Option<Unit>,
}

impl Domain {
    /// Of a machine with so many units, none of them of this clock.
    pub(super) fn new(clock: Clock, units: usize) -> Self {
        let words = units.div_ceil(64);
        Self {
            clock,
            edge: 0,
            time: Time::ZERO,
            due: vec![NEVER; units],
            ring: vec![vec![0; words]; EDGES as usize],
            filled: 0,
            next: Time(u64::MAX),
            members: vec![0; words],
            turn: None,
        }
    }

    /// The machine has one more unit, which may be of this clock.
    pub(super) fn add(&mut self, unit: Unit, is_member: bool) {
        let (word, bit) = place(unit);
        for mask in self.ring.iter_mut().chain([&mut self.members]) {
            mask.resize(word + 1, 0);
        }
        self.due.resize(unit.0 as usize + 1, NEVER);
        self.members[word] |= if is_member { bit } else { 0 };
    }

    /// When somebody has a cycle next; never if all sleep.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// The first edge whose cycles have not begun, if there is anybody who could have one.
    pub(super) fn edge(&self) -> Option<Time> {
        self.members.iter().any(|word| *word != 0).then_some(self.time)
    }

    /// A unit has a cycle at the first edge at this time or behind it; during the cycles of an edge, at this one if its turn is to come.
    #[inline]
    pub(super) fn wake(&mut self, unit: Unit, from: Time) {
        let edge = match self.turn {
            Some(turn) => self.edge - u64::from(unit > turn),
            None => {
                self.come_to(from);
                self.edge
            }
        };
        if edge < self.due[unit.0 as usize] {
            self.put(unit, edge);
            if self.turn.is_none() {
                // No edge before it has a cycle.
                self.next = self.time;
            }
        }
    }

    /// No edge before this time has cycles any more.
    #[inline]
    fn come_to(&mut self, from: Time) {
        if self.time < from {
            self.edge = self.clock.edge_from(from);
            self.time = self.clock.edge(self.edge);
        }
    }

    /// A unit has a cycle at the first edge at a time or behind it, or sooner if that is further than is looked ahead; no edge before `from` has cycles
    /// any more, but those of the edge whose cycles are under way.
    pub(super) fn wake_by(&mut self, unit: Unit, from: Time, time: Time) {
        if self.turn.is_none() {
            self.come_to(from);
        }
        let edge = self.clock.edge_from(time).clamp(self.edge, self.edge + EDGES - 2);
        if edge < self.due[unit.0 as usize] {
            self.put(unit, edge);
            self.next = self.next.min(self.clock.edge(edge));
        }
    }

    /// Sets the edge at which a unit has its next cycle; never if it sleeps.
    #[inline]
    fn put(&mut self, unit: Unit, edge: u64) {
        let (word, bit) = place(unit);
        let old = std::mem::replace(&mut self.due[unit.0 as usize], edge);
        if old != NEVER {
            let mask = &mut self.ring[(old % EDGES) as usize];
            mask[word] &= !bit;
            if mask.iter().all(|word| *word == 0) {
                self.filled &= !(1 << (old % EDGES));
            }
        }
        if edge != NEVER {
            self.ring[(edge % EDGES) as usize][word] |= bit;
            self.filled |= 1 << (edge % EDGES);
        }
    }

    /// Begins the cycles of the edge at this time, if there is one at which somebody has a cycle; or any one.
    #[inline]
    pub(super) fn begin(&mut self, now: Time, any: bool) -> bool {
        if self.next == now {
            self.edge = self.first().unwrap_or(self.edge);
        } else if !any || self.time != now {
            return false;
        }
        self.turn = Some(Unit(0));
        self.edge += 1;
        self.time = self.clock.edge(self.edge);
        true
    }

    /// The first edge at which somebody has a cycle.
    fn first(&self) -> Option<u64> {
        let ahead = self.filled.rotate_right((self.edge % EDGES) as u32).trailing_zeros();
        (self.filled != 0).then_some(self.edge + u64::from(ahead))
    }

    /// The next unit in the order of their numbers, from `from` on, which has a cycle at the edge that was begun; or any one.
    #[inline]
    pub(super) fn take(&mut self, from: u32, any: bool) -> Option<Unit> {
        let units = if any { &self.members } else { &self.ring[((self.edge - 1) % EDGES) as usize] };
        let (first, _) = place(Unit(from));
        let mut mask = u64::MAX << (from % 64);
        for (word, units) in units.iter().enumerate().skip(first) {
            let left = units & mask;
            if left != 0 {
                self.turn = Some(Unit((word * 64) as u32 + left.trailing_zeros()));
                return self.turn;
            }
            mask = u64::MAX;
        }
        None
    }

    /// The unit whose turn it is has its next cycle so many edges on, or sooner if that is further than is looked ahead; 0 if it sleeps.
    #[inline]
    pub(super) fn set(&mut self, unit: Unit, edges: u64) {
        self.put(unit, if edges == 0 { NEVER } else { self.edge - 1 + edges.min(EDGES) });
    }

    /// Ends the cycles of an edge.
    #[inline]
    pub(super) fn end(&mut self) {
        self.turn = None;
        self.next = self.first().map_or(Time(u64::MAX), |edge| self.clock.edge(edge));
    }
}

/// Where a unit's bit is in a mask.
fn place(unit: Unit) -> (usize, u64) {
    (unit.0 as usize / 64, 1 << (unit.0 % 64))
}

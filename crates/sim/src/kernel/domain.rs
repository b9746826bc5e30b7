//! The units of one clock, and the edges of their next cycles.

use super::Unit;
use crate::{Clock, Time, Timebase};

/// The edge number that stands for no edge.
const NEVER: u64 = u64::MAX;
/// The number of edges ahead within which units can have their next cycles.
const EDGES: u64 = 64;
/// The time that stands for no edge.
const NO_TIME: Time = Time(u64::MAX);

/// The units of one clock. In masks, each bit is a unit of the whole machine.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    timebase: Timebase,
    /// Whether the rate may change and the clock may be gated.
    pub(super) is_variable: bool,
    is_gated: bool,
    /// The first edge whose cycles have not begun.
    edge: u64,
    /// The time of that edge; `NO_TIME` while the clock is gated.
    time: Time,
    /// The edge of the next cycle of each unit of the whole machine, if it is awake: one of the
    /// `EDGES` edges from `edge`.
    due: Vec<u64>,
    /// The cycles as masks: the units that have a cycle at edge `n` are at `n % EDGES`.
    ring: Vec<Vec<u64>>,
    /// A bit for each mask of the ring, set if the mask is not empty.
    filled: u64,
    /// The time of the next cycle of any unit; `NO_TIME` if all sleep.
    next: Time,
    members: Vec<u64>,
    /// The unit whose turn it is during the cycles of an edge.
    turn: Option<Unit>,
}

impl Domain {
    /// Creates a clock of a machine with this number of units. None of them belongs to the clock
    /// yet.
    pub(super) fn new(clock: Clock, is_variable: bool, units: usize) -> Self {
        let words = units.div_ceil(64);
        Self {
            timebase: clock.into(),
            is_variable,
            is_gated: false,
            edge: 0,
            time: Time::ZERO,
            due: vec![NEVER; units],
            ring: vec![vec![0; words]; EDGES as usize],
            filled: 0,
            next: NO_TIME,
            members: vec![0; words],
            turn: None,
        }
    }

    /// Adds a unit of the machine. `is_member` is whether it belongs to this clock.
    pub(super) fn add(&mut self, unit: Unit, is_member: bool) {
        let (word, bit) = place(unit);
        for mask in self.ring.iter_mut().chain([&mut self.members]) {
            mask.resize(word + 1, 0);
        }
        self.due.resize(unit.0 as usize + 1, NEVER);
        self.members[word] |= if is_member { bit } else { 0 };
    }

    /// The numbers and times of the edges.
    pub(super) fn timebase(&self) -> Timebase {
        self.timebase
    }

    /// Whether the clock is gated.
    pub(super) fn is_gated(&self) -> bool {
        self.is_gated
    }

    /// Returns the number of edges so far, provided that the next one is not before `from`.
    pub(super) fn edges(&self, from: Time) -> u64 {
        if self.is_gated || self.turn.is_some() {
            self.edge
        } else {
            self.edge.max(self.timebase.edge_from(from))
        }
    }

    /// Returns the time of the next cycle of any unit; `NO_TIME` if all sleep.
    #[inline]
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// Returns the time of the first edge whose cycles have not begun, if the clock has units and
    /// is not gated.
    pub(super) fn edge(&self) -> Option<Time> {
        let has_members = self.members.iter().any(|word| *word != 0);
        (has_members && !self.is_gated).then_some(self.time)
    }

    /// Gives a unit a cycle at the first edge at or after `from`. During the cycles of an edge, it
    /// is this edge if the unit has not had its cycle.
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
                // No earlier edge has a cycle.
                self.next = self.time;
            }
        }
    }

    /// Passes over the edges before a time, which no longer have cycles.
    #[inline]
    fn come_to(&mut self, from: Time) {
        if self.time < from {
            self.edge = self.timebase.edge_from(from);
            self.time = self.timebase.edge(self.edge);
        }
    }

    /// Gives a unit a cycle at the first edge at or after a time, or sooner if that is beyond the
    /// ring. No edge before `from` has cycles any more, except the current edge.
    pub(super) fn wake_by(&mut self, unit: Unit, from: Time, time: Time) {
        if self.turn.is_none() {
            self.come_to(from);
        }
        let edge = self.timebase.edge_from(time).clamp(self.edge, self.edge + EDGES - 2);
        if edge < self.due[unit.0 as usize] {
            self.put(unit, edge);
            if !self.is_gated {
                self.next = self.next.min(self.timebase.edge(edge));
            }
        }
    }

    /// Changes the rate; see [`Timebase::set_rate`]. No edge before `from` has cycles any more.
    pub(super) fn set_rate(&mut self, from: Time, rate: Clock, settled: Time) {
        if self.is_gated {
            self.timebase.set_gated_rate(self.edge, rate, settled);
            return;
        }
        if self.turn.is_none() {
            self.come_to(from);
        }
        self.timebase.set_rate(self.edge, rate, settled);
        self.time = self.timebase.edge(self.edge);
        self.advance_units();
    }

    /// Gates the edges from `from` on.
    pub(super) fn gate(&mut self, from: Time) {
        if self.turn.is_none() {
            self.come_to(from);
        }
        self.is_gated = true;
        self.time = NO_TIME;
        self.next = NO_TIME;
    }

    /// Ungates the edges from `from` on.
    pub(super) fn ungate(&mut self, from: Time) {
        if !std::mem::take(&mut self.is_gated) {
            return;
        }
        self.timebase.ungate(self.edge, from);
        self.time = self.timebase.edge(self.edge);
        self.advance_units();
    }

    /// Gives all units that are awake a cycle at the next edge. The edges at the requested times
    /// may now be later, and an early cycle does no harm.
    #[cold]
    fn advance_units(&mut self) {
        for unit in 0..self.due.len() {
            if self.due[unit] > self.edge && self.due[unit] != NEVER {
                self.put(Unit(unit as u32), self.edge);
            }
        }
        if self.turn.is_none() {
            self.find_next();
        }
    }

    /// Sets the edge of a unit's next cycle; `NEVER` if it sleeps.
    #[inline(always)]
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

    /// Begins the cycles of the edge at this time if a unit has a cycle there. With `any`, begins
    /// any edge at this time.
    #[inline]
    pub(super) fn begin(&mut self, now: Time, any: bool) -> bool {
        if self.next == now {
            self.edge = self.first().unwrap_or(self.edge);
        } else if !any || self.time != now {
            return false;
        }
        self.turn = Some(Unit(0));
        self.edge += 1;
        self.time = self.timebase.edge(self.edge);
        true
    }

    /// The first edge at which a unit has a cycle.
    fn first(&self) -> Option<u64> {
        let ahead = self.filled.rotate_right((self.edge % EDGES) as u32).trailing_zeros();
        (self.filled != 0).then_some(self.edge + u64::from(ahead))
    }

    /// Takes the next unit from number `from` on that has a cycle at the current edge. With `any`,
    /// takes the next unit of all.
    #[inline]
    pub(super) fn take(&mut self, from: u32, any: bool) -> Option<Unit> {
        let due = &self.ring[((self.edge - 1) % EDGES) as usize];
        let units = if any { &self.members } else { due };
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

    /// Gives the current unit its next cycle after this number of edges, or sooner if that is
    /// beyond the ring. With 0, the unit sleeps.
    #[inline]
    pub(super) fn set(&mut self, unit: Unit, edges: u64) {
        self.put(unit, if edges == 0 { NEVER } else { self.edge - 1 + edges.min(EDGES) });
    }

    /// Ends the cycles of an edge.
    #[inline]
    pub(super) fn end(&mut self) {
        self.turn = None;
        self.find_next();
    }

    /// Finds the time of the next cycle of any unit.
    #[inline]
    fn find_next(&mut self) {
        self.next = match self.first() {
            Some(edge) if !self.is_gated => self.timebase.edge(edge),
            _ => NO_TIME,
        };
    }
}

/// Returns the word and the bit of a unit in a mask.
fn place(unit: Unit) -> (usize, u64) {
    (unit.0 as usize / 64, 1 << (unit.0 % 64))
}

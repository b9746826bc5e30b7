//! The kernel: whose turn it is.
//!
//! Time goes from one instant to the next at which something happens. At an instant first everything arrives that is due, in the order in which it was
//! sent; then the units that are awake and whose clock has an edge do their cycle, in the order of their numbers. Nothing else decides an order, so
//! two runs of one model are alike to the last event.

use crate::wheel::Wheel;
use crate::{Clock, Time};

/// The number of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit(pub u32);

/// What a unit wants behind a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Another cycle at the next edge.
    Awake,
    /// None until somebody wakes it.
    Asleep,
}

/// A machine as the kernel sees it.
pub trait Model {
    /// What can be on its way.
    type Event;

    /// Something has arrived.
    fn arrive(&mut self, event: Self::Event, kernel: &mut Kernel<Self::Event>);

    /// A cycle of a unit. With [`Effort::Naive`] units have cycles in which they sleep: they change nothing then, and stay asleep.
    fn cycle(&mut self, unit: Unit, kernel: &mut Kernel<Self::Event>) -> Activity;
}

/// How the kernel spends its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Only units that are awake have cycles.
    Active,
    /// Every unit has every cycle, as in a simulator that knows nothing of sleep: for comparison.
    Naive,
}

/// Why a run has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The time that was asked for has come.
    Reached,
    /// Nobody is awake and nothing is on its way: nothing will ever happen again.
    Silent,
    /// The model has said so.
    Stopped,
}

/// Units of one clock.
#[derive(Debug)]
struct Domain {
    clock: Clock,
    /// The edge whose cycles come next, if a unit is awake.
    edge: u64,
    time: Time,
    /// A bit for each unit of the whole machine: it is of this clock and awake.
    awake: Vec<u64>,
    awake_count: usize,
    members: Vec<u64>,
}

/// Time, clocks, and what is on its way.
#[derive(Debug)]
pub struct Kernel<E> {
    now: Time,
    wheel: Wheel<E>,
    domains: Vec<Domain>,
    /// The domain of each unit.
    units: Vec<usize>,
    effort: Effort,
    /// How many clocks have had their turn at this instant.
    turns: usize,
    stopped: bool,
    cycles: u64,
    events: u64,
}

impl<E> Kernel<E> {
    /// At time 0, without clocks or units; `grain` is about the shortest delay that there will be.
    pub fn new(effort: Effort, grain: Time) -> Self {
        Self {
            now: Time(0),
            wheel: Wheel::new(Time(grain.0.max(1) * 4)),
            domains: Vec::new(),
            units: Vec::new(),
            effort,
            turns: 0,
            stopped: false,
            cycles: 0,
            events: 0,
        }
    }

    /// Adds a clock; answers its number.
    pub fn add_clock(&mut self, clock: Clock) -> usize {
        let words = self.units.len().div_ceil(64);
        let (awake, members) = (vec![0; words], vec![0; words]);
        self.domains.push(Domain { clock, edge: 0, time: Time(0), awake, awake_count: 0, members });
        self.domains.len() - 1
    }

    /// Adds a unit of a clock, asleep.
    ///
    /// # Panics
    /// If there is no such clock.
    pub fn add_unit(&mut self, clock: usize) -> Unit {
        let unit = Unit(self.units.len() as u32);
        self.units.push(clock);
        for domain in &mut self.domains {
            domain.awake.resize(self.units.len().div_ceil(64), 0);
            domain.members.resize(self.units.len().div_ceil(64), 0);
        }
        self.domains[clock].members[unit.0 as usize / 64] |= 1 << (unit.0 % 64);
        unit
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The clock of a unit.
    pub fn clock(&self, unit: Unit) -> Clock {
        self.domains[self.units[unit.0 as usize]].clock
    }

    /// Cycles that units have had, and things that have arrived: what a run has cost.
    pub fn work(&self) -> (u64, u64) {
        (self.cycles, self.events)
    }

    /// Lets something arrive after so long. With no delay it arrives at this instant still, behind what is due already, if cycles have not begun; else
    /// behind the cycle that sends it.
    pub fn send(&mut self, delay: Time, event: E) {
        self.wheel.put(self.now + delay, event);
    }

    /// Wakes a unit: its next cycle is at its clock's next edge, which may be at this instant if its turn has not passed.
    pub fn wake(&mut self, unit: Unit) {
        let index = self.units[unit.0 as usize];
        let from = self.now + Time(u64::from(index < self.turns));
        let domain = &mut self.domains[index];
        let (word, bit) = (unit.0 as usize / 64, 1u64 << (unit.0 % 64));
        if domain.awake[word] & bit != 0 {
            return;
        }
        domain.awake[word] |= bit;
        domain.awake_count += 1;
        if domain.time < from {
            domain.edge = domain.clock.edge_from(from);
            domain.time = domain.clock.edge(domain.edge);
        }
    }

    /// Ends the run behind this instant.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Runs a model until a time, which belongs to the run, or until nothing can happen any more.
    pub fn run<M: Model<Event = E>>(&mut self, model: &mut M, until: Time) -> Stop {
        loop {
            if self.stopped {
                self.stopped = false;
                return Stop::Stopped;
            }
            let naive = self.effort == Effort::Naive;
            let is_silent = self.domains.iter().all(|domain| domain.awake_count == 0);
            let edge = match naive {
                true => {
                    self.domains.iter().filter(|d| d.members.iter().any(|w| *w != 0)).map(|d| d.time).min()
                }
                false => self.domains.iter().filter(|d| d.awake_count > 0).map(|d| d.time).min(),
            };
            let due = self.wheel.due();
            if due.is_none() && is_silent {
                return Stop::Silent;
            }
            let Some(next) = [due, edge].into_iter().flatten().min() else { return Stop::Silent };
            let then = next.min(until);
            if then > self.now {
                self.now = then;
                self.turns = 0;
            }
            if next > until {
                return Stop::Reached;
            }
            while let Some(event) = self.wheel.take(self.now) {
                self.events += 1;
                model.arrive(event, self);
            }
            for index in self.turns..self.domains.len() {
                self.cycles_of(index, model, naive);
                self.turns = index + 1;
            }
        }
    }

    /// The cycles of a clock that has an edge now.
    fn cycles_of<M: Model<Event = E>>(&mut self, index: usize, model: &mut M, naive: bool) {
        let domain = &self.domains[index];
        if domain.time != self.now || (domain.awake_count == 0 && !naive) {
            return;
        }
        for word in 0..domain.members.len() {
            let domain = &self.domains[index];
            let mut left = if naive { domain.members[word] } else { domain.awake[word] };
            while left != 0 {
                let place = left.trailing_zeros();
                left &= left - 1;
                let unit = Unit((word * 64) as u32 + place);
                self.cycles += 1;
                let activity = model.cycle(unit, self);
                let domain = &mut self.domains[index];
                let bit = 1 << place;
                let was = domain.awake[word] & bit != 0;
                match activity {
                    Activity::Awake if !was => {
                        domain.awake[word] |= bit;
                        domain.awake_count += 1;
                    }
                    Activity::Asleep if was => {
                        domain.awake[word] &= !bit;
                        domain.awake_count -= 1;
                    }
                    _ => {}
                }
                // Units behind this one that it has woken have their cycle at this edge, too.
                if !naive && place < 63 {
                    left |= domain.awake[word] & !((2u64 << place) - 1);
                }
            }
        }
        let domain = &mut self.domains[index];
        domain.edge += 1;
        domain.time = domain.clock.edge(domain.edge);
    }
}

#[cfg(test)]
mod tests;

//! The kernel: whose turn it is.
//!
//! Time goes from one instant to the next at which something happens. At an instant first everything arrives that is due, in the order in which it was
//! sent; then the units that are awake and whose clock has an edge do their cycle, in the order of their numbers. Nothing else decides an order, so
//! two runs of one model are alike to the last event. A unit that is ahead of time can send ahead of time: what it sends arrives where it would if it had
//! waited.

mod domain;

use crate::countdown::Countdown;
use crate::wheel::{Order, Wheel};
use crate::{Clock, Time};
use domain::Domain;

/// The number of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit(pub u32);

/// What a unit wants behind a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Another cycle at the next edge.
    Awake,
    /// Another cycle so many edges on, 1 or more, or sooner, at the latest: for units that know that they have nothing to do until then, or have done it
    /// already because nothing can reach them before (see [`Kernel::until`]). In one that comes sooner they change nothing unless they were woken.
    After(u64),
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
    /// Only units that are awake have cycles, and what is on its way lies in a timing wheel.
    Active,
    /// Every unit has every cycle, and every delay is counted down in every cycle, as in a simulator that knows nothing of sleep and wheels: for
    /// comparison. The same happens at the same times.
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

/// What is on its way.
#[derive(Debug)]
enum Pending<E> {
    Wheel(Wheel<E>),
    Countdown(Countdown<E>),
}

/// Time, clocks, and what is on its way.
#[derive(Debug)]
pub struct Kernel<E> {
    now: Time,
    /// The end of the run.
    until: Time,
    pending: Pending<E>,
    domains: Vec<Domain>,
    /// The domain of each unit.
    units: Vec<usize>,
    /// How many clocks have had their turn at this instant.
    turns: usize,
    /// Who sends: 0 while things arrive, in the cycle of a unit its number and 1 more.
    rank: u32,
    stopped: bool,
    cycles: u64,
    events: u64,
}

impl<E> Kernel<E> {
    /// At time 0, without clocks or units; `grain` is about the shortest delay that there will be.
    pub fn new(effort: Effort, grain: Time) -> Self {
        Self {
            now: Time(0),
            until: Time(0),
            pending: match effort {
                Effort::Active => Pending::Wheel(Wheel::new(Time(grain.0.max(1) * 4))),
                Effort::Naive => Pending::Countdown(Countdown::new()),
            },
            domains: Vec::new(),
            units: Vec::new(),
            turns: 0,
            rank: 0,
            stopped: false,
            cycles: 0,
            events: 0,
        }
    }

    /// Adds a clock; answers its number.
    pub fn add_clock(&mut self, clock: Clock) -> usize {
        self.domains.push(Domain::new(clock, self.units.len()));
        self.domains.len() - 1
    }

    /// Adds a unit of a clock, asleep.
    ///
    /// # Panics
    /// If there is no such clock.
    pub fn add_unit(&mut self, clock: usize) -> Unit {
        assert!(clock < self.domains.len(), "clock {clock} of {}", self.domains.len());
        let unit = Unit(self.units.len() as u32);
        self.units.push(clock);
        for (number, domain) in self.domains.iter_mut().enumerate() {
            domain.add(unit, number == clock);
        }
        unit
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Until when, inclusive, time goes on in this run: a unit that is ahead of time must not be ahead of this.
    pub fn until(&self) -> Time {
        self.until
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
        self.send_from(self.now, delay, event);
    }

    /// As [`send`](Self::send) at a time that has not come: the event arrives so long behind that, which is not at once, in the order in which it would if it
    /// were sent then.
    pub fn send_from(&mut self, sent: Time, delay: Time, event: E) {
        let (time, order) = (sent + delay, Order { sent, rank: self.rank });
        match &mut self.pending {
            Pending::Wheel(wheel) => wheel.put(time, order, event),
            Pending::Countdown(countdown) => countdown.put(time, order, event),
        }
    }

    /// Wakes a unit: its next cycle is at its clock's next edge, which may be at this instant if its turn has not passed.
    pub fn wake(&mut self, unit: Unit) {
        let index = self.units[unit.0 as usize];
        let from = self.now + Time(u64::from(index < self.turns));
        self.domains[index].wake(unit, from);
    }

    /// Wakes a unit at its clock's first edge at a time to come, or behind it, or sooner.
    pub fn wake_by(&mut self, unit: Unit, time: Time) {
        let index = self.units[unit.0 as usize];
        let from = self.now + Time(u64::from(index < self.turns));
        self.domains[index].wake_by(unit, from, time);
    }

    /// Ends the run behind this instant.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Runs a model until a time, which belongs to the run, or until nothing can happen any more.
    pub fn run<M: Model<Event = E>>(&mut self, model: &mut M, until: Time) -> Stop {
        self.until = until;
        loop {
            if self.stopped {
                self.stopped = false;
                return Stop::Stopped;
            }
            let Some((next, arrives)) = self.next() else { return Stop::Silent };
            let then = next.min(until);
            if then > self.now {
                self.now = then;
                self.turns = 0;
            }
            if next > until {
                return Stop::Reached;
            }
            if arrives {
                while let Some(event) = self.take() {
                    self.events += 1;
                    model.arrive(event, self);
                }
            }
            for index in self.turns..self.domains.len() {
                self.cycles_of(index, model);
                self.turns = index + 1;
            }
        }
    }

    /// When something happens next, if anything ever does, and whether something arrives then.
    fn next(&mut self) -> Option<(Time, bool)> {
        let never = Time(u64::MAX);
        let awake = self.domains.iter().map(Domain::next).min().unwrap_or(never);
        let (due, edge) = match &mut self.pending {
            Pending::Wheel(wheel) => (wheel.due().unwrap_or(never), awake),
            Pending::Countdown(countdown) if awake == never && countdown.is_empty() => (never, never),
            Pending::Countdown(countdown) => {
                let edges = self.domains.iter().filter_map(Domain::edge);
                // Without units there are no edges.
                let edge = edges.min().or_else(|| countdown.first()).unwrap_or(never);
                (countdown.count_down(edge).unwrap_or(never), edge)
            }
        };
        let next = due.min(edge);
        (next != never).then_some((next, due <= edge))
    }

    /// What arrives next at this instant.
    fn take(&mut self) -> Option<E> {
        match &mut self.pending {
            Pending::Wheel(wheel) => wheel.take(self.now),
            Pending::Countdown(countdown) => countdown.take(self.now),
        }
    }

    /// The cycles of a clock that has an edge now.
    fn cycles_of<M: Model<Event = E>>(&mut self, index: usize, model: &mut M) {
        let any = matches!(self.pending, Pending::Countdown(_));
        if !self.domains[index].begin(self.now, any) {
            return;
        }
        let mut from = 0;
        while let Some(unit) = self.domains[index].take(from, any) {
            self.cycles += 1;
            self.rank = unit.0 + 1;
            let edges = match model.cycle(unit, self) {
                Activity::Awake => 1,
                Activity::After(edges) => edges.max(1),
                Activity::Asleep => 0,
            };
            self.domains[index].set(unit, edges);
            from = unit.0 + 1;
        }
        self.domains[index].end();
        self.rank = 0;
    }
}

#[cfg(test)]
mod tests;

//! The simulation kernel: it decides which unit acts when.
//!
//! Time advances from one instant with activity to the next. At an instant, first all due events
//! arrive in the order in which they were sent. Then each awake unit whose clock has an edge runs
//! its cycle, in the order of unit numbers. Nothing else affects the order, so two runs of one
//! model are identical. A unit that runs ahead of time can send ahead of time: its event arrives
//! where it would if the unit had waited.

mod checkpoint;
mod domain;
mod observer;

use std::ops::ControlFlow;

use crate::countdown::Countdown;
use crate::wheel::{Order, Wheel};
use crate::{Clock, Time, Timebase};
pub use checkpoint::Checkpoint;
use domain::Domain;
pub use observer::{Breakpoint, Happened, Observer, SingleStep};

/// The number of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Unit(pub u32);

/// The next cycle that a unit requests after a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Another cycle at the next edge.
    Awake,
    /// Requests another cycle after at most this number of edges, 1 or more. This is for units that
    /// know that they have nothing to do until then, or that have done it already because nothing
    /// can reach them before (see [`Kernel::until`]). Unless they were woken, they must change
    /// nothing in an earlier cycle.
    After(u64),
    /// Requests no cycle until the unit is woken.
    Asleep,
}

impl Activity {
    /// Returns the earlier of two requests, for a unit with two reasons for a cycle.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Asleep, activity) | (activity, Self::Asleep) => activity,
            (Self::Awake, _) | (_, Self::Awake) => Self::Awake,
            (Self::After(one), Self::After(other)) => Self::After(one.min(other)),
        }
    }
}

/// A machine from the kernel's point of view.
pub trait Model {
    type Event;

    /// Handles an event that is due.
    fn arrive(&mut self, event: Self::Event, kernel: &mut Kernel<Self::Event>);

    /// Runs a cycle of a unit. With [`Effort::Naive`] sleeping units have cycles too: they must
    /// change nothing then, and stay asleep.
    fn cycle(&mut self, unit: Unit, kernel: &mut Kernel<Self::Event>) -> Activity;
}

/// The scheduling strategy of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Only units that are awake have cycles, and pending events are in a timing wheel.
    Active,
    /// Every unit has every cycle, and every delay is counted down in every cycle, as in a
    /// simulator without sleep and wheels. This is for comparison: the results are identical.
    Naive,
}

/// The reason why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The run reached its end time.
    Reached,
    /// No unit is awake and no event is pending: nothing will ever happen again.
    Silent,
    /// The model has stopped the run.
    Stopped,
}

/// The pending events.
#[derive(Clone, Debug)]
enum Pending<E> {
    Wheel(Wheel<E>),
    Countdown(Countdown<E>),
}

/// The simulation kernel: time, clocks, and pending events.
#[derive(Clone, Debug)]
pub struct Kernel<E> {
    now: Time,
    /// The end of the run.
    until: Time,
    pending: Pending<E>,
    domains: Vec<Domain>,
    /// The domain of each unit.
    units: Vec<usize>,
    /// The number of clocks whose cycles at this instant are done.
    turns: usize,
    /// The current sender: 0 while events arrive, or the number plus 1 of the unit whose cycle
    /// runs.
    rank: u32,
    /// The unit at which to resume, after a break within the cycles of an edge.
    broken: Option<u32>,
    stopped: bool,
    cycles: u64,
    events: u64,
}

impl<E> Kernel<E> {
    /// Creates a kernel at time 0, without clocks or units. `grain` is roughly the shortest delay.
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
            broken: None,
            stopped: false,
            cycles: 0,
            events: 0,
        }
    }

    /// Adds a clock of constant rate. Returns its number.
    pub fn add_clock(&mut self, clock: Clock) -> usize {
        self.domains.push(Domain::new(clock, false, self.units.len()));
        self.domains.len() - 1
    }

    /// Adds a clock with a variable rate that can be gated. Returns its number.
    pub fn add_variable_clock(&mut self, clock: Clock) -> usize {
        self.domains.push(Domain::new(clock, true, self.units.len()));
        self.domains.len() - 1
    }

    /// Adds a unit to a clock. The unit is asleep.
    ///
    /// # Panics
    /// If the clock does not exist.
    pub fn add_unit(&mut self, clock: usize) -> Unit {
        assert!(clock < self.domains.len(), "clock {clock} of {}", self.domains.len());
        let unit = Unit(self.units.len() as u32);
        self.units.push(clock);
        for (number, domain) in self.domains.iter_mut().enumerate() {
            domain.add(unit, number == clock);
        }
        unit
    }

    /// The current time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Returns the end time of this run, inclusive. A unit that runs ahead of time must not run
    /// beyond it.
    pub fn until(&self) -> Time {
        self.until
    }

    /// Returns the time, inclusive, until which the edges of a unit's clock are certain. A unit
    /// that runs ahead of time must not run beyond this either. For a clock of constant rate it is
    /// the end of the run. For a variable clock it is now, since its rate may change at any time.
    pub fn steady_until(&self, unit: Unit) -> Time {
        if self.domains[self.units[unit.0 as usize]].is_variable { self.now } else { self.until }
    }

    /// The numbers and times of the edges of a unit's clock.
    pub fn clock(&self, unit: Unit) -> Timebase {
        self.timebase(self.units[unit.0 as usize])
    }

    /// The numbers and times of the edges of a clock.
    pub fn timebase(&self, clock: usize) -> Timebase {
        self.domains[clock].timebase()
    }

    /// Returns the number of a clock's edges so far. The edge at this instant counts once its
    /// cycles have begun; gated edges do not count.
    pub fn edges(&self, clock: usize) -> u64 {
        self.domains[clock].edges(self.first_time(clock))
    }

    /// Changes the rate of a variable clock. The current period keeps its length; later periods
    /// have the new one. With a settling time, the next edge comes at its old time or when the
    /// clock has settled, whichever is later. Edge numbers continue, and units that are awake have
    /// a cycle at that edge.
    ///
    /// # Panics
    /// If the clock is not a variable one.
    pub fn set_rate(&mut self, clock: usize, rate: Clock, settle: Time) {
        let (from, settled) = (self.first_time(clock), self.now + settle);
        self.variable(clock).set_rate(from, rate, settled);
    }

    /// Gates a variable clock: it has no edges from now on, except the current one. Units stay
    /// awake or asleep; a unit that is woken has its cycle when the clock is ungated.
    ///
    /// # Panics
    /// If the clock is not a variable one.
    pub fn gate(&mut self, clock: usize) {
        let from = self.first_time(clock);
        self.variable(clock).gate(from);
    }

    /// Ungates a clock after a settling time. The clock has kept its phase, and gated edges have no
    /// numbers. All units that are awake have a cycle at the next edge.
    ///
    /// # Panics
    /// If the clock is not a variable one.
    pub fn ungate(&mut self, clock: usize, settle: Time) {
        let from = self.first_time(clock).max(self.now + settle);
        self.variable(clock).ungate(from);
    }

    /// Whether a clock is gated.
    pub fn is_gated(&self, clock: usize) -> bool {
        self.domains[clock].is_gated()
    }

    fn variable(&mut self, clock: usize) -> &mut Domain {
        let domain = &mut self.domains[clock];
        assert!(domain.is_variable, "clock {clock} has a constant rate: use `add_variable_clock`");
        domain
    }

    /// The first time at which a clock can still have an edge.
    fn first_time(&self, clock: usize) -> Time {
        self.now + Time(u64::from(clock < self.turns))
    }

    /// Returns the numbers of unit cycles and events so far, as the cost of a run.
    pub fn work(&self) -> (u64, u64) {
        (self.cycles, self.events)
    }

    /// Sends an event that arrives after a delay. Without delay it arrives at this instant: after
    /// all events that are already due or, during a cycle, after that cycle.
    pub fn send(&mut self, delay: Time, event: E) {
        self.send_from(self.now, delay, event);
    }

    /// Sends an event as [`send`](Self::send) would at `sent`, which may be later than now. The
    /// delay must not be zero; the event arrives in the order in which it would arrive if it were
    /// sent then.
    pub fn send_from(&mut self, sent: Time, delay: Time, event: E) {
        let (time, order) = (sent + delay, Order { sent, rank: self.rank });
        match &mut self.pending {
            Pending::Wheel(wheel) => wheel.put(time, order, event),
            Pending::Countdown(countdown) => countdown.put(time, order, event),
        }
    }

    /// Wakes a unit. Its next cycle is at its clock's next edge, which may be at this instant if
    /// its turn has not passed.
    pub fn wake(&mut self, unit: Unit) {
        let index = self.units[unit.0 as usize];
        let from = self.first_time(index);
        self.domains[index].wake(unit, from);
    }

    /// Wakes a unit at its clock's first edge at or after a time, or sooner.
    pub fn wake_by(&mut self, unit: Unit, time: Time) {
        let index = self.units[unit.0 as usize];
        let from = self.first_time(index);
        self.domains[index].wake_by(unit, from, time);
    }

    /// Ends the run after this instant.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Runs a model until a time, inclusive, or until nothing can happen any more.
    pub fn run<M: Model<Event = E>>(&mut self, model: &mut M, until: Time) -> Stop {
        let ControlFlow::Continue(stop) = self.observe(model, until, &mut ());
        stop
    }

    /// Runs one step: an event arrives, or a unit has a cycle. Nothing happens after `until`.
    pub fn step<M: Model<Event = E>>(
        &mut self,
        model: &mut M,
        until: Time,
    ) -> ControlFlow<Happened, Stop> {
        self.observe(model, until, &mut SingleStep)
    }

    /// Runs a model as [`run`](Self::run) does, under an observer that can break the run after each
    /// event and each cycle. The next run continues exactly there.
    pub fn observe<M: Model<Event = E>, O: Observer<M>>(
        &mut self,
        model: &mut M,
        until: Time,
        observer: &mut O,
    ) -> ControlFlow<O::Break, Stop> {
        self.until = until;
        if let Some(from) = self.broken.take() {
            self.resume(from, model, observer)?;
        }
        loop {
            if self.stopped {
                self.stopped = false;
                return ControlFlow::Continue(Stop::Stopped);
            }
            let Some((next, arrives)) = self.next() else {
                return ControlFlow::Continue(Stop::Silent);
            };
            let then = next.min(until);
            if then > self.now {
                self.now = then;
                self.turns = 0;
            }
            if next > until {
                return ControlFlow::Continue(Stop::Reached);
            }
            if arrives {
                while let Some(event) = self.take() {
                    self.events += 1;
                    observer.arrives(&event, model, self);
                    model.arrive(event, self);
                    observer.has_arrived(model, self)?;
                }
            }
            self.cycles_of_all(model, observer)?;
        }
    }

    /// Returns the time of the next event or cycle, if there is any, and whether it is an event.
    fn next(&mut self) -> Option<(Time, bool)> {
        let never = Time(u64::MAX);
        let awake = self.domains.iter().map(Domain::next).min().unwrap_or(never);
        let (due, edge) = match &mut self.pending {
            Pending::Wheel(wheel) => (wheel.due().unwrap_or(never), awake),
            Pending::Countdown(countdown) if awake == never && countdown.is_empty() => {
                (never, never)
            }
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

    /// Takes the next event of this instant.
    fn take(&mut self) -> Option<E> {
        match &mut self.pending {
            Pending::Wheel(wheel) => wheel.take(self.now),
            Pending::Countdown(countdown) => countdown.take(self.now),
        }
    }

    /// Runs the remaining cycles of this instant, for all clocks.
    #[inline(always)]
    fn cycles_of_all<M: Model<Event = E>, O: Observer<M>>(
        &mut self,
        model: &mut M,
        observer: &mut O,
    ) -> ControlFlow<O::Break> {
        while self.turns < self.domains.len() {
            let any = matches!(self.pending, Pending::Countdown(_));
            if self.domains[self.turns].begin(self.now, any) {
                self.cycles_from(0, model, observer)?;
            } else {
                self.turns += 1;
            }
        }
        ControlFlow::Continue(())
    }

    /// Runs the cycles of an instant that are left after a break.
    #[cold]
    fn resume<M: Model<Event = E>, O: Observer<M>>(
        &mut self,
        from: u32,
        model: &mut M,
        observer: &mut O,
    ) -> ControlFlow<O::Break> {
        self.cycles_from(from, model, observer)?;
        self.cycles_of_all(model, observer)
    }

    /// Runs the cycles of the current clock at its current edge, starting at a unit.
    fn cycles_from<M: Model<Event = E>, O: Observer<M>>(
        &mut self,
        mut from: u32,
        model: &mut M,
        observer: &mut O,
    ) -> ControlFlow<O::Break> {
        let index = self.turns;
        let any = matches!(self.pending, Pending::Countdown(_));
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
            if let ControlFlow::Break(why) = observer.has_cycled(unit, model, self) {
                self.rank = 0;
                self.broken = Some(from);
                return ControlFlow::Break(why);
            }
        }
        self.domains[index].end();
        self.turns = index + 1;
        self.rank = 0;
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;

//! Energy and activity: the events of each component and their cost.
//!
//! A machine reports events to an [`EnergySink`]. The sink `()` ignores everything and is compiled
//! away, so a machine that is generic over its sink pays nothing unless energy is measured. An
//! [`EnergyMeter`] counts events by component, class and voltage, and the time that each component
//! spends in each state. All energies are integers, so sums by any key are exactly equal.
//!
//! An event costs its energy at the nominal voltage times the square of the relative voltage
//! (switched capacitance). The power of a state scales with a power of the relative voltage that
//! the component chooses, as leakage differs between technologies.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use crate::Time;
use crate::spec::{SpecError, within};
use crate::stats::Record;

/// An amount of energy in zeptojoules (10^-21 J). One zeptojoule is a nanowatt for a picosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Energy(pub u128);

impl Energy {
    /// Creates an energy from femtojoules.
    pub const fn femtojoules(count: u64) -> Self {
        Self(count as u128 * 1_000_000)
    }

    /// Creates an energy from picojoules.
    pub const fn picojoules(count: u64) -> Self {
        Self(count as u128 * 1_000_000_000)
    }

    /// Returns the energy in picojoules, for people and plots.
    pub fn as_picojoules(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Returns the energy in joules.
    pub fn as_joules(self) -> f64 {
        self.0 as f64 / 1e21
    }

    /// Returns the mean power over a time, in watts; 0 over no time.
    pub fn mean_watts(self, time: Time) -> f64 {
        if time == Time::ZERO { 0.0 } else { self.as_joules() / time.as_seconds() }
    }

    /// Returns this energy times a ratio of squared voltages, rounded to the nearest.
    fn scaled(self, (numerator, denominator): (u128, u128)) -> Self {
        Self((self.0 * numerator + denominator / 2) / denominator)
    }

    fn times(self, count: u64) -> Self {
        Self(self.0 * u128::from(count))
    }
}

impl Add for Energy {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Energy {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Energy {
    fn sum<I: Iterator<Item = Self>>(energies: I) -> Self {
        energies.fold(Self::default(), Add::add)
    }
}

impl fmt::Display for Energy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} pJ", self.as_picojoules())
    }
}

/// The number of a component, in the order in which components were added to the meter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Component(pub u32);

/// The number of a class of events, in the order of [`ComponentSpec::events`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(pub u32);

/// The number of a state, in the order of [`ComponentSpec::states`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PowerState(pub u32);

/// The energy events that a machine reports. The times of one component must not decrease.
pub trait EnergySink {
    /// Counts events of a component.
    fn count(&mut self, _component: Component, _class: Class, _at: Time, _events: u64) {}

    /// Sets the state of a component from now on, such as busy, idle, gated or off.
    fn set_state(&mut self, _component: Component, _state: PowerState, _at: Time) {}

    /// Sets the supply voltage of a component from now on, in millivolts.
    fn set_voltage(&mut self, _component: Component, _millivolts: u32, _at: Time) {}
}

/// Ignores everything.
impl EnergySink for () {}

/// The energies of a component's events and states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentSpec {
    /// The name in records.
    pub name: String,
    /// The voltage to which energies and powers refer, in millivolts, 1 to 100,000. The component
    /// begins with it.
    pub nominal_millivolts: u32,
    /// Classes of events, each with the energy of one event.
    pub events: Vec<(String, Energy)>,
    /// States, each with its power in nanowatts. At least one is required; the component begins in
    /// the first.
    pub states: Vec<(String, u64)>,
    /// The exponent of the voltage in the power of states, 0 to 4.
    pub static_exponent: u32,
}

/// A meter of the energy of components.
#[derive(Clone, Debug, Default)]
pub struct EnergyMeter {
    components: Vec<Meter>,
    /// The length of the intervals whose energies are kept separately, if any.
    interval: Option<Time>,
}

/// The data of a component.
#[derive(Clone, Debug)]
struct Meter {
    spec: ComponentSpec,
    state: PowerState,
    /// The time up to which everything is counted.
    since: Time,
    /// The activity at each voltage.
    points: Vec<Point>,
    /// The index of the current voltage in `points`.
    point: usize,
    /// The energy of each interval.
    intervals: Vec<Energy>,
}

/// The activity of a component at one voltage.
#[derive(Clone, Debug)]
struct Point {
    millivolts: u32,
    /// The energy of an event of each class, and the number of events.
    events: Vec<(Energy, u64)>,
    /// The power of each state in nanowatts, and the time spent in it.
    states: Vec<(u64, Time)>,
}

impl Point {
    fn new(spec: &ComponentSpec, millivolts: u32) -> Self {
        let scale = |exponent| {
            let power = |millivolts: u32| u128::from(millivolts).pow(exponent);
            (power(millivolts), power(spec.nominal_millivolts))
        };
        let power = |nanowatts: u64| {
            let scaled = Energy(nanowatts.into()).scaled(scale(spec.static_exponent));
            u64::try_from(scaled.0).unwrap_or(u64::MAX)
        };
        Self {
            millivolts,
            events: spec.events.iter().map(|(_, energy)| (energy.scaled(scale(2)), 0)).collect(),
            states: spec
                .states
                .iter()
                .map(|(_, power_at)| (power(*power_at), Time::ZERO))
                .collect(),
        }
    }
}

impl Meter {
    /// Counts the time that the component has spent in its current state.
    fn settle(&mut self, now: Time, interval: Option<Time>) {
        let Self { points, point, state, since, .. } = self;
        let (power, spent) = &mut points[*point].states[state.0 as usize];
        let (begin, power) = (*since, *power);
        if now <= begin {
            return;
        }
        *spent += now - begin;
        *since = now;
        let Some(interval) = interval else { return };
        let mut at = begin;
        while at < now {
            let row = at.0 / interval.0;
            let end = Time((row + 1) * interval.0).min(now);
            self.add(row, Energy(u128::from(power) * u128::from((end - at).0)));
            at = end;
        }
    }

    /// Adds to the energy of an interval.
    fn add(&mut self, row: u64, energy: Energy) {
        if self.intervals.len() <= row as usize {
            self.intervals.resize(row as usize + 1, Energy::default());
        }
        self.intervals[row as usize] += energy;
    }

    fn events(&self, class: usize) -> (u64, Energy) {
        self.points
            .iter()
            .map(|point| point.events[class])
            .fold((0, Energy::default()), |(events, sum), (energy, count)| {
                (events + count, sum + energy.times(count))
            })
    }

    fn state(&self, state: usize) -> (Time, Energy) {
        self.points.iter().map(|point| point.states[state]).fold(
            (Time::ZERO, Energy::default()),
            |(time, sum), (power, spent)| {
                (time + spent, sum + Energy(u128::from(power) * u128::from(spent.0)))
            },
        )
    }

    fn dynamic(&self) -> Energy {
        (0..self.spec.events.len()).map(|class| self.events(class).1).sum()
    }

    fn stationary(&self) -> Energy {
        (0..self.spec.states.len()).map(|state| self.state(state).1).sum()
    }

    fn at_voltage(point: &Point) -> Energy {
        let events: Energy = point.events.iter().map(|(energy, count)| energy.times(*count)).sum();
        let states = point.states.iter().map(|(power, spent)| (*power, spent.0));
        events + states.map(|(power, spent)| Energy(u128::from(power) * u128::from(spent))).sum()
    }

    fn record(&self, now: Time) -> Record {
        let mut events = Record::new();
        for (class, (name, _)) in self.spec.events.iter().enumerate() {
            let (count, energy) = self.events(class);
            events.add(name, Record::new().with("count", count).with("energy", energy));
        }
        let mut states = Record::new();
        for (state, (name, _)) in self.spec.states.iter().enumerate() {
            let (time, energy) = self.state(state);
            states.add(name, Record::new().with("time", time).with("energy", energy));
        }
        let mut voltages = Record::new();
        for point in &self.points {
            voltages.add(&format!("{} mV", point.millivolts), Self::at_voltage(point));
        }
        let energy = self.dynamic() + self.stationary();
        Record::new()
            .with("energy", energy)
            .with("mean_w", energy.mean_watts(now))
            .with("dynamic", self.dynamic())
            .with("static", self.stationary())
            .with("events", events)
            .with("states", states)
            .with("voltages", voltages)
    }
}

impl EnergyMeter {
    /// Creates a meter without components. With an interval of at least a picosecond, it also keeps
    /// the energy of each interval.
    pub fn new(interval: Option<Time>) -> Self {
        Self { components: Vec::new(), interval: interval.map(|interval| interval.max(Time(1))) }
    }

    /// Adds a component at time 0.
    ///
    /// # Errors
    /// If the voltage or the exponent is out of range, or if there is no state.
    pub fn component(&mut self, spec: ComponentSpec) -> Result<Component, SpecError> {
        within("nominal_millivolts", spec.nominal_millivolts, 1..=100_000)?;
        within("static_exponent", spec.static_exponent, 0..=4)?;
        if spec.states.is_empty() {
            return Err(SpecError::new("states", "has no state; give one, such as `on`"));
        }
        self.components.push(Meter {
            points: vec![Point::new(&spec, spec.nominal_millivolts)],
            spec,
            state: PowerState(0),
            since: Time::ZERO,
            point: 0,
            intervals: Vec::new(),
        });
        Ok(Component(self.components.len() as u32 - 1))
    }

    /// Counts static energy until now. Totals and records refer to the last call.
    pub fn settle(&mut self, now: Time) {
        for meter in &mut self.components {
            meter.settle(now, self.interval);
        }
    }

    /// Forgets all events and the time in states up to now; call [`settle`](Self::settle) before.
    /// The energy of intervals stays.
    pub fn forget(&mut self) {
        for point in self.components.iter_mut().flat_map(|meter| &mut meter.points) {
            point.events.iter_mut().for_each(|(_, count)| *count = 0);
            point.states.iter_mut().for_each(|(_, spent)| *spent = Time::ZERO);
        }
    }

    /// Returns the number of events of a class at a component, and their energy.
    pub fn events(&self, component: Component, class: Class) -> (u64, Energy) {
        self.components[component.0 as usize].events(class.0 as usize)
    }

    /// Returns the time that a component has been in a state, and its energy.
    pub fn state(&self, component: Component, state: PowerState) -> (Time, Energy) {
        self.components[component.0 as usize].state(state.0 as usize)
    }

    /// Returns the energy of a component.
    pub fn energy(&self, component: Component) -> Energy {
        let meter = &self.components[component.0 as usize];
        meter.dynamic() + meter.stationary()
    }

    /// Returns the energy of a component in each interval from time 0, up to the last one with any
    /// energy.
    pub fn intervals(&self, component: Component) -> &[Energy] {
        &self.components[component.0 as usize].intervals
    }

    /// Returns the energy that a component has spent at each voltage in millivolts.
    pub fn voltages(&self, component: Component) -> impl Iterator<Item = (u32, Energy)> {
        let points = self.components[component.0 as usize].points.iter();
        points.map(|point| (point.millivolts, Meter::at_voltage(point)))
    }

    /// Returns the energy of all components.
    pub fn total(&self) -> Energy {
        self.components.iter().map(|meter| meter.dynamic() + meter.stationary()).sum()
    }

    /// Records `energy` and `mean_w` of all components, and for each component also `dynamic` and
    /// `static` energy, `events`, `states` and `voltages`. Call [`settle`](Self::settle) before.
    pub fn record(&self, now: Time) -> Record {
        let mut components = Record::new();
        for meter in &self.components {
            components.add(&meter.spec.name, meter.record(now));
        }
        Record::new()
            .with("energy", self.total())
            .with("mean_w", self.total().mean_watts(now))
            .with("components", components)
    }
}

impl EnergySink for EnergyMeter {
    fn count(&mut self, component: Component, class: Class, at: Time, events: u64) {
        let meter = &mut self.components[component.0 as usize];
        let (energy, count) = &mut meter.points[meter.point].events[class.0 as usize];
        *count += events;
        if let Some(interval) = self.interval {
            let energy = energy.times(events);
            meter.add(at.0 / interval.0, energy);
        }
    }

    /// # Panics
    /// If the component does not have this state.
    fn set_state(&mut self, component: Component, state: PowerState, at: Time) {
        let meter = &mut self.components[component.0 as usize];
        let states = meter.spec.states.len();
        assert!((state.0 as usize) < states, "state {} of {states}", state.0);
        meter.settle(at, self.interval);
        meter.state = state;
    }

    fn set_voltage(&mut self, component: Component, millivolts: u32, at: Time) {
        let meter = &mut self.components[component.0 as usize];
        meter.settle(at, self.interval);
        let known = meter.points.iter().position(|point| point.millivolts == millivolts);
        meter.point = known.unwrap_or_else(|| {
            meter.points.push(Point::new(&meter.spec, millivolts));
            meter.points.len() - 1
        });
    }
}

#[cfg(test)]
mod tests;

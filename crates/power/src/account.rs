//! The account of a machine's energy. Each of several units, such as tiles or processors, has the
//! same parts; other parts are around the units.
//!
//! A machine counts the events of its units in any case. When the energy is requested, the machine
//! passes the totals of all classes of events to its [`Account`], which charges the events that are
//! new. Measuring therefore costs the simulation nothing, and the sums by part, by unit, by class
//! and by interval are exactly equal.

use wireloom_sim::energy::{Class, Component, ComponentSpec, PowerState};
use wireloom_sim::stats::{Record, Series};
use wireloom_sim::{Energy, EnergyMeter, EnergySink, SpecError, Time};

use crate::parts::{ByClass, Part, PartModel, Place};

/// The parts of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The names of the units, such as `tile_0_1`.
    pub units: Vec<String>,
    /// The parts of each unit with their models.
    pub unit_parts: Vec<(Part, PartModel)>,
    /// The parts that are in no unit.
    pub parts: Vec<(Part, PartModel)>,
    /// The supply voltage for which the models hold, in millivolts.
    pub millivolts: u32,
}

/// The energy of a running machine.
#[derive(Clone, Debug)]
pub struct Account {
    plan: Plan,
    meter: EnergyMeter,
    /// The totals charged so far, for each component by class.
    seen: Vec<Vec<u64>>,
    interval: Option<Time>,
    /// The start and the end of the time that the account covers.
    from: Time,
    now: Time,
}

impl Account {
    /// Creates an account at time 0; with an interval, it also keeps the energy of each interval.
    ///
    /// # Errors
    /// If the voltage is out of its range.
    ///
    /// # Panics
    /// If a model does not have one energy for each class of its part.
    pub fn new(plan: Plan, interval: Option<Time>) -> Result<Self, SpecError> {
        let mut meter = EnergyMeter::new(interval);
        let mut seen = Vec::new();
        let mut component = |name: String, (part, model): &(Part, PartModel)| {
            let names = part.classes.iter().map(|class| (*class).to_owned());
            seen.push(vec![0; part.classes.len()]);
            meter.component(ComponentSpec {
                name,
                nominal_millivolts: plan.millivolts,
                events: names.zip(part.in_order(&model.energies)).collect(),
                states: vec![("on".to_owned(), model.nanowatts)],
                static_exponent: 1,
            })
        };
        for unit in &plan.units {
            for part in &plan.unit_parts {
                component(format!("{unit}_{}", part.0.name), part)?;
            }
        }
        for part in &plan.parts {
            component(part.0.name.clone().into_owned(), part)?;
        }
        Ok(Self { plan, meter, seen, interval, from: Time::ZERO, now: Time::ZERO })
    }

    /// The number of a part of a unit.
    fn unit_component(&self, unit: usize, place: usize) -> Component {
        Component((unit * self.plan.unit_parts.len() + place) as u32)
    }

    /// The number of a part that is in no unit.
    fn component(&self, place: usize) -> Component {
        self.unit_component(self.plan.units.len(), place)
    }

    /// Charges the events of a part of a unit, given the totals of its classes since the counts
    /// began. A total can fall only for unused ports. It is then charged again once it exceeds its
    /// former value.
    ///
    /// # Panics
    /// Unless each class of the part has one total.
    pub fn charge_unit(&mut self, unit: usize, part: impl Place, totals: ByClass<'_, u64>) {
        let component = self.unit_component(unit, part.place());
        let part = &self.plan.unit_parts[part.place()].0;
        charge(&mut self.meter, &mut self.seen, self.now, (component, part), totals);
    }

    /// Charges the events of a part that is in no unit, like [`charge_unit`](Self::charge_unit).
    ///
    /// # Panics
    /// Unless each class of the part has one total.
    pub fn charge_part(&mut self, part: impl Place, totals: ByClass<'_, u64>) {
        let component = self.component(part.place());
        let part = &self.plan.parts[part.place()].0;
        charge(&mut self.meter, &mut self.seen, self.now, (component, part), totals);
    }

    /// Advances to a time. Events that are charged then happened before it.
    pub fn advance(&mut self, now: Time) {
        self.now = now;
        self.meter.settle(now);
    }

    /// Restarts all totals at 0, as after the machine was exchanged.
    pub fn restart(&mut self) {
        self.seen.iter_mut().for_each(|classes| classes.fill(0));
    }

    /// Restricts the account to events from now on; earlier charges are forgotten.
    pub fn begin_to_count(&mut self) {
        self.meter.forget();
        self.from = self.now;
    }

    /// The length of time that the account covers.
    pub fn time(&self) -> Time {
        self.now.since(self.from)
    }

    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    pub fn meter(&self) -> &EnergyMeter {
        &self.meter
    }

    pub fn total(&self) -> Energy {
        self.meter.total()
    }

    /// The energy of a unit.
    pub fn unit(&self, unit: usize) -> Energy {
        let parts = 0..self.plan.unit_parts.len();
        parts.map(|place| self.meter.energy(self.unit_component(unit, place))).sum()
    }

    /// The energy of a part in all units.
    pub fn unit_part(&self, part: impl Place) -> Energy {
        self.in_units(part.place())
    }

    fn in_units(&self, place: usize) -> Energy {
        let units = 0..self.plan.units.len();
        units.map(|unit| self.meter.energy(self.unit_component(unit, place))).sum()
    }

    /// The energy of a part that is in no unit.
    pub fn part(&self, part: impl Place) -> Energy {
        self.meter.energy(self.component(part.place()))
    }

    /// The number and the energy of the events of a class of a part of a unit.
    ///
    /// # Panics
    /// If there is no such part or class.
    pub fn unit_events(&self, unit: usize, part: &str, class: &str) -> (u64, Energy) {
        let (place, class) = find(&self.plan.unit_parts, part, class);
        self.meter.events(self.unit_component(unit, place), class)
    }

    /// The number and the energy of the events of a class of a part that is in no unit.
    ///
    /// # Panics
    /// If there is no such part or class.
    pub fn part_events(&self, part: &str, class: &str) -> (u64, Energy) {
        let (place, class) = find(&self.plan.parts, part, class);
        self.meter.events(self.component(place), class)
    }

    /// The sum of the energies of all parts over all intervals.
    pub fn in_intervals(&self) -> Energy {
        let components = (0..self.seen.len() as u32).map(Component);
        components.flat_map(|component| self.meter.intervals(component)).copied().sum()
    }

    /// The names and the energies of all parts, the parts of units first.
    pub fn parts(&self) -> impl Iterator<Item = (&str, Energy)> {
        let of_units = self.plan.unit_parts.iter().enumerate();
        let of_units = of_units.map(|(place, (part, _))| (&*part.name, self.in_units(place)));
        let rest = self.plan.parts.iter().enumerate();
        of_units.chain(
            rest.map(|(place, (part, _))| (&*part.name, self.meter.energy(self.component(place)))),
        )
    }

    /// A line for reports: mean power, energy of a packet, and the mean power of groups of parts.
    pub fn line<'a>(
        &self,
        watts: f64,
        nanojoules_a_packet: f64,
        groups: impl Iterator<Item = (&'a str, Energy)>,
    ) -> String {
        let groups =
            groups.map(|(name, energy)| format!("{name} {:.3}", energy.mean_watts(self.time())));
        let groups = groups.collect::<Vec<_>>().join(", ");
        format!("{watts:.3} W, {nanojoules_a_packet:.1} nJ a packet: {groups}")
    }

    /// The energy of the constant power: leakage and standby.
    pub fn stationary(&self) -> Energy {
        let components = (0..self.seen.len() as u32).map(Component);
        components.map(|component| self.meter.state(component, PowerState(0)).1).sum()
    }

    /// The energy of the class `idle`: ports and datapaths without an access in a cycle.
    pub fn idle(&self) -> Energy {
        let of_units = (0..self.plan.units.len()).flat_map(|unit| {
            let parts = self.plan.unit_parts.iter().enumerate();
            parts.map(move |(place, part)| (unit, place, part))
        });
        let of_units =
            of_units.map(|(unit, place, (part, _))| (self.unit_component(unit, place), part));
        let rest = self.plan.parts.iter().enumerate();
        let rest = rest.map(|(place, (part, _))| (self.component(place), part));
        let idle = |(component, part): (Component, &Part)| {
            let class = part.classes.iter().position(|class| *class == "idle")?;
            Some(self.meter.events(component, Class(class as u32)).1)
        };
        of_units.chain(rest).filter_map(idle).sum()
    }

    /// Statistics: `energy` and `mean_w`; `parts` has each part summed over all units, `units` all
    /// parts of each unit; `components` has each component with its events, states and voltages.
    pub fn record(&self) -> Record {
        let mut parts = Record::new();
        self.parts().for_each(|(name, energy)| parts.add(name, energy));
        let mut units = Record::new();
        for (number, name) in self.plan.units.iter().enumerate() {
            units.add(name, self.unit(number));
        }
        self.meter.record(self.time()).with("parts", parts).with("units", units)
    }

    /// The power in each interval, in watts: `power_w` in total, then for each unit, and for each
    /// part over all units. `None` without an interval.
    pub fn over_time(&self) -> Option<Series> {
        let interval = self.interval?;
        let mut series = Series::new(interval);
        let mut column = |name: &str, components: &mut dyn Iterator<Item = Component>| {
            let column = series.column(name);
            for component in components {
                for (row, energy) in self.meter.intervals(component).iter().enumerate() {
                    let from = Time(row as u64 * interval.0);
                    let length = interval.min(self.now.since(from)).max(Time(1));
                    series.add(column, from, energy.mean_watts(length));
                }
            }
        };
        let units = self.plan.units.len();
        column("power_w", &mut (0..self.seen.len() as u32).map(Component));
        for (number, name) in self.plan.units.iter().enumerate() {
            let mut parts =
                (0..self.plan.unit_parts.len()).map(|place| self.unit_component(number, place));
            column(&format!("{name}_w"), &mut parts);
        }
        for (place, (part, _)) in self.plan.unit_parts.iter().enumerate() {
            let mut all = (0..units).map(|unit| self.unit_component(unit, place));
            column(&format!("{}_w", part.name), &mut all);
        }
        for (place, (part, _)) in self.plan.parts.iter().enumerate() {
            column(&format!("{}_w", part.name), &mut [self.component(place)].into_iter());
        }
        Some(series)
    }
}

/// Charges the events of a component that are new since the last charge.
fn charge(
    meter: &mut EnergyMeter,
    seen: &mut [Vec<u64>],
    now: Time,
    (component, part): (Component, &Part),
    totals: ByClass<'_, u64>,
) {
    // The events happened before now, in the interval that ends.
    let at = now.since(Time(1));
    let seen = &mut seen[component.0 as usize];
    for (class, (total, seen)) in part.in_order(totals).zip(seen).enumerate() {
        if total > *seen {
            meter.count(component, Class(class as u32), at, total - *seen);
            *seen = total;
        }
    }
}

/// Returns the place of a part, and the number of one of its classes.
fn find(parts: &[(Part, PartModel)], part: &str, class: &str) -> (usize, Class) {
    let place = parts.iter().position(|(other, _)| other.name == part);
    let place = place.unwrap_or_else(|| panic!("no part {part}"));
    (place, Class(parts[place].0.class(class) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PartKey;

    crate::parts! {
        enum TilePart {
            Alu = "alu" [add, idle],
        }
    }

    crate::parts! {
        enum ChipPart {
            Bus = "bus" [word],
        }
    }

    fn account(interval: Option<Time>) -> Account {
        let model = |energies: &[(&'static str, u64)], nanowatts| PartModel {
            energies: energies
                .iter()
                .map(|(class, pj)| (*class, Energy::picojoules(*pj)))
                .collect(),
            nanowatts,
        };
        let plan = Plan {
            units: vec!["tile_0".to_owned(), "tile_1".to_owned()],
            unit_parts: vec![(
                TilePart::Alu.part().clone(),
                model(&[("idle", 3), ("add", 30)], 1_000_000),
            )],
            parts: vec![(ChipPart::Bus.part().clone(), model(&[("word", 100)], 0))],
            millivolts: 1800,
        };
        Account::new(plan, interval).expect("a plan")
    }

    #[test]
    fn only_new_events_are_charged_and_all_sums_are_the_same() {
        let mut account = account(Some(Time::nanoseconds(10)));
        account.advance(Time::nanoseconds(10));
        account.charge_unit(0, TilePart::Alu, &[("add", 2), ("idle", 8)]);
        account.advance(Time::nanoseconds(20));
        account.charge_unit(0, TilePart::Alu, &[("add", 5), ("idle", 15)]);
        account.charge_unit(1, TilePart::Alu, &[("add", 0), ("idle", 20)]);
        account.charge_part(ChipPart::Bus, &[("word", 3)]);
        // 1 mW in two units for 20 ns is 40 pJ.
        assert_eq!(account.unit(0), Energy::picojoules(5 * 30 + 15 * 3 + 20));
        assert_eq!(account.unit(1), Energy::picojoules(20 * 3 + 20));
        assert_eq!(account.unit_part(TilePart::Alu), account.unit(0) + account.unit(1));
        assert_eq!(account.part(ChipPart::Bus), Energy::picojoules(300));
        let total = account.total();
        assert_eq!(account.parts().map(|(_, energy)| energy).sum::<Energy>(), total);
        assert_eq!(account.stationary(), Energy::picojoules(40));
        assert_eq!(account.idle(), Energy::picojoules(35 * 3));
        assert_eq!(account.in_intervals(), total);
        assert_eq!(account.unit_events(0, "alu", "add"), (5, Energy::picojoules(150)));
        assert_eq!(account.part_events("bus", "word"), (3, Energy::picojoules(300)));
        let series = account.over_time().expect("intervals");
        let column = |name: &str| -> Vec<f64> {
            series.columns().find(|(other, _)| *other == name).expect(name).1.to_vec()
        };
        // 2 * 30 + 8 * 3 + 20 pJ in the first 10 ns.
        assert!((column("power_w")[0] - 0.0104).abs() < 1e-12, "{:?}", column("power_w"));
        assert_eq!(column("bus_w"), [0.0, 0.03]);
    }

    #[test]
    fn a_machine_that_is_exchanged_counts_from_0_again() {
        let mut account = account(None);
        account.advance(Time::nanoseconds(1));
        account.charge_part(ChipPart::Bus, &[("word", 7)]);
        account.charge_part(ChipPart::Bus, &[("word", 6)]);
        assert_eq!(account.part(ChipPart::Bus), Energy::picojoules(700), "a total that fell waits");
        account.restart();
        account.charge_part(ChipPart::Bus, &[("word", 2)]);
        assert_eq!(account.part(ChipPart::Bus), Energy::picojoules(900));
        assert!(account.over_time().is_none());
    }
}

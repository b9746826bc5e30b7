use proptest::prelude::*;

use super::*;
use crate::stats::Value;

const READ: Class = Class(0);
const WRITE: Class = Class(1);
const ON: PowerState = PowerState(0);
const OFF: PowerState = PowerState(1);

fn memory(name: &str) -> ComponentSpec {
    ComponentSpec {
        name: name.to_owned(),
        nominal_millivolts: 1300,
        events: vec![
            ("reads".to_owned(), Energy::picojoules(12)),
            ("writes".to_owned(), Energy::femtojoules(7001)),
        ],
        states: vec![("on".to_owned(), 2_000_001), ("off".to_owned(), 3)],
        static_exponent: 1,
    }
}

#[test]
fn energy_is_events_times_their_energy_and_power_times_residency() {
    let mut meter = EnergyMeter::new(None);
    let sram = meter.component(memory("sram")).unwrap();
    meter.count(sram, READ, Time(10), 5);
    meter.count(sram, WRITE, Time(20), 2);
    meter.set_state(sram, OFF, Time(1000));
    // Half the voltage means a quarter of an event's energy and half of the static power.
    meter.set_voltage(sram, 650, Time(1500));
    meter.count(sram, READ, Time(1600), 4);
    meter.set_state(sram, ON, Time(2000));
    meter.settle(Time(3000));
    assert_eq!(meter.events(sram, READ), (9, Energy::picojoules(5 * 12 + 4 * 3)));
    assert_eq!(meter.events(sram, WRITE), (2, Energy::femtojoules(14_002)));
    // Half of an odd power is rounded up.
    assert_eq!(meter.state(sram, ON), (Time(2000), Energy(1000 * 2_000_001 + 1000 * 1_000_001)));
    assert_eq!(meter.state(sram, OFF), (Time(1000), Energy(500 * 3 + 500 * 2)));
    let record = meter.record(Time(3000));
    let value = |path: &str| record.value(path).cloned();
    assert_eq!(value("components.sram.events.reads.count"), Some(Value::Count(9)));
    assert_eq!(value("components.sram.states.on.time"), Some(Value::Time(Time(2000))));
    assert_eq!(value("components.sram.energy"), Some(Value::Energy(meter.energy(sram))));
    assert_eq!(value("energy"), Some(Value::Energy(meter.total())));
    let json = serde_json::to_string(&record).unwrap();
    assert!(json.contains(r#""dynamic_pj":86.002,"#), "{json}");
    assert!(record.to_string().contains("pJ"), "{record}");
}

#[test]
fn a_mean_power_is_energy_over_time() {
    let mut meter = EnergyMeter::new(None);
    let spec = ComponentSpec { states: vec![("on".to_owned(), 250_000_000)], ..memory("core") };
    let core = meter.component(spec).unwrap();
    meter.settle(Time::nanoseconds(4000));
    assert_eq!(meter.energy(core), Energy::picojoules(1_000_000));
    assert_eq!(meter.total().mean_watts(Time::nanoseconds(4000)), 0.25);
    assert_eq!(meter.total().mean_watts(Time::ZERO), 0.0);
    assert_eq!(meter.total().to_string(), "1000000.000 pJ");
}

#[test]
fn components_that_make_no_sense_are_refused() {
    let refused = |spec| EnergyMeter::new(None).component(spec).unwrap_err().to_string();
    assert_eq!(
        refused(ComponentSpec { nominal_millivolts: 0, ..memory("a") }),
        "`nominal_millivolts`: is 0; it can be 1 to 100000"
    );
    assert_eq!(
        refused(ComponentSpec { static_exponent: 5, ..memory("a") }),
        "`static_exponent`: is 5; it can be 0 to 4"
    );
    assert_eq!(
        refused(ComponentSpec { states: Vec::new(), ..memory("a") }),
        "`states`: has no state; give one, such as `on`"
    );
}

/// A machine that is generic over its sink behaves the same with every sink.
#[test]
fn a_sink_that_is_off_ignores_everything() {
    fn work(sink: &mut impl EnergySink) -> u64 {
        let component = Component(0);
        (0..100u64).fold(0, |sum, step| {
            sink.count(component, READ, Time(step), 1);
            sink.set_state(component, OFF, Time(step));
            sink.set_voltage(component, 1000, Time(step));
            sum + step
        })
    }
    let mut meter = EnergyMeter::new(None);
    meter.component(memory("sram")).unwrap();
    assert_eq!(work(&mut meter), work(&mut ()));
    assert_eq!(meter.events(Component(0), READ).0, 100);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Count(u32, u64),
    State(u32),
    Voltage(u32),
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: prop::test_runner::RngSeed::Fixed(17),
        failure_persistence: None,
        ..Default::default()
    })]

    /// Energies by class and state, by voltage and by interval all have the same sum, to the
    /// zeptojoule. A reference that adds up picosecond by picosecond agrees.
    #[test]
    fn sums_by_any_key_are_equal(
        interval in 1u64..500,
        steps in prop::collection::vec(
            (0u64..300, 0u32..2, prop_oneof![
                (0u32..2, 0u64..9).prop_map(|(class, events)| Step::Count(class, events)),
                (0u32..2).prop_map(Step::State),
                (500u32..1500).prop_map(Step::Voltage),
            ]),
            0..40,
        ),
    ) {
        let mut meter = EnergyMeter::new(Some(Time(interval)));
        let components: Vec<Component> =
            ["a", "b"].map(|name| meter.component(memory(name)).unwrap()).into();
        let mut reference = [0u128; 2];
        let mut present = [(0u32, 1300u128); 2];
        let rounded = |value: u128, by: u128, over: u128| (value * by + over / 2) / over;
        let mut now = 0;
        for (delay, number, step) in steps {
            for _ in 0..delay {
                for (sum, (state, millivolts)) in reference.iter_mut().zip(present) {
                    *sum += rounded([2_000_001, 3][state as usize], millivolts, 1300);
                }
            }
            now += delay;
            let component = components[number as usize];
            let (state, millivolts) = &mut present[number as usize];
            match step {
                Step::Count(class, events) => {
                    meter.count(component, Class(class), Time(now), events);
                    let energy = [12_000_000_000, 7_001_000_000][class as usize];
                    let energy = rounded(energy, *millivolts * *millivolts, 1300 * 1300);
                    reference[number as usize] += energy * u128::from(events);
                }
                Step::State(to) => {
                    meter.set_state(component, PowerState(to), Time(now));
                    *state = to;
                }
                Step::Voltage(to) => {
                    meter.set_voltage(component, to, Time(now));
                    *millivolts = to.into();
                }
            }
        }
        meter.settle(Time(now));
        for (component, wanted) in components.iter().zip(reference) {
            let classes = [READ, WRITE].map(|class| meter.events(*component, class).1);
            let states = [ON, OFF].map(|state| meter.state(*component, state).1);
            prop_assert_eq!(classes.into_iter().chain(states).sum::<Energy>(), Energy(wanted));
            prop_assert_eq!(meter.energy(*component), Energy(wanted));
            let voltages = meter.voltages(*component).map(|(_, energy)| energy);
            prop_assert_eq!(voltages.sum::<Energy>(), Energy(wanted));
            let intervals = meter.intervals(*component);
            prop_assert_eq!(intervals.iter().copied().sum::<Energy>(), Energy(wanted));
            let spent = [ON, OFF].map(|state| meter.state(*component, state).0.0);
            prop_assert_eq!(spent.iter().sum::<u64>(), now);
        }
        prop_assert_eq!(meter.total(), Energy(reference.iter().sum()));
    }
}

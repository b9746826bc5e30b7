//! Energy: sums are exact, and governors change voltages, clocks and engines without losing packets
//! or changing outputs.

use std::collections::BTreeMap;

use crate::written::written;
use wireloom_ixp::energy::{ChipPart, EnginePart, engine_part, meter, regulator};
use wireloom_ixp::governor::{GovernorKind, Mode};
use wireloom_ixp::spec::Assignment;
use wireloom_ixp::{Options, Processor, Spec, forwarder};
use wireloom_machine::{Configured, load_store};
use wireloom_net::Packet;
use wireloom_power::PartKey;
use wireloom_sim::energy::Class;
use wireloom_sim::parts::line::Pace;
use wireloom_sim::{Energy, EnergyMeter, Rng, Time};

/// A machine of four engines with four ports at 1 Gb/s.
fn spec(kind: GovernorKind) -> Spec {
    let mut spec = Spec::base();
    spec.engines = 4;
    (spec.ports.count, spec.ports.rate, spec.ports.pace) = (4, 1_000_000_000, Pace::Given);
    spec.governor.kind = kind;
    spec.check().expect("a machine");
    spec
}

fn machine(spec: &Spec, interval: Option<Time>) -> Processor<EnergyMeter> {
    let options = Options { energy_interval: interval, ..Options::default() };
    let meter = meter(spec, interval).expect("a meter");
    forwarder::processor(spec, &options, meter).expect("a machine")
}

/// Offers packets with random gaps. Each pair is a rate in thousand packets a second and a duration
/// in microseconds.
fn offer(machine: &mut Processor<EnergyMeter>, rates: &[(f64, f64)]) -> u64 {
    let (mut rng, mut at, mut offered) = (Rng::new(5, "packets"), 0.0, 0);
    let mut end = 0.0;
    for (kpps, microseconds) in rates {
        end += microseconds * 1e3;
        while at < end {
            let port = rng.below(u64::from(machine.chip.spec.ports.count)) as u16;
            machine.offer(port, offered, at as u64, &forwarder::frame(port, &mut rng));
            offered += 1;
            at += rng.exponential() * 1e6 / kpps;
        }
    }
    offered
}

/// Runs to the end. Returns the outputs by packet number, and the number of lost packets.
fn finish(machine: &mut Processor<EnergyMeter>) -> (BTreeMap<u64, Vec<u8>>, usize) {
    machine.run_packets(0).unwrap_or_else(|error| panic!("{error}"));
    let left = machine.delivered();
    let left = left.into_iter().map(|packet| (packet.offered, packet.bytes)).collect();
    (left, machine.chip.cards.lost.len())
}

#[test]
fn energies_of_parts_engines_states_and_intervals_add_up_to_the_total() {
    let mut spec = spec(GovernorKind::Demand);
    spec.governor.period_cycles = 2_000;
    let interval = Time::nanoseconds(7_000);
    let mut machine = machine(&spec, Some(interval));
    offer(&mut machine, &[(1_500.0, 200.0), (200.0, 300.0)]);
    finish(&mut machine);
    let power = machine.power().expect("a meter");
    let total = power.total();
    assert!(total > Energy::picojoules(1_000_000), "{total}");
    let parts = EnginePart::ALL.iter().map(|part| power.engine_parts(*part));
    let rest = ChipPart::ALL.iter().map(|part| power.chip_part(*part));
    let sum: Energy = parts.chain(rest).chain([power.changes()]).sum();
    assert_eq!(sum, total);
    assert_eq!(power.groups().into_iter().sum::<Energy>(), total);
    let components = 4 * EnginePart::ALL.len() + ChipPart::ALL.len() + 4;
    let each = (0..components as u32).map(wireloom_sim::energy::Component);
    let intervals = each.clone().flat_map(|component| power.meter().intervals(component).to_vec());
    assert_eq!(intervals.sum::<Energy>(), total);
    let voltages = each.flat_map(|component| power.meter().voltages(component));
    assert_eq!(voltages.map(|(_, energy)| energy).sum::<Energy>(), total);
    // The record agrees, and each part but the SDRAM buses has spent energy.
    let record = machine.statistics();
    let value = |path: &str| match record.value(path) {
        Some(wireloom_sim::stats::Value::Energy(energy)) => *energy,
        other => panic!("{path}: {other:?}"),
    };
    assert_eq!(value("power.energy"), total);
    let all = EnginePart::PARTS.iter().chain(ChipPart::PARTS);
    for part in all.filter(|part| part.name != "sdram_bus") {
        assert!(value(&format!("power.parts.{}", part.name)) > Energy(0), "{}", part.name);
    }
}

#[test]
fn energy_does_not_depend_on_how_often_it_is_recorded() {
    let spec = spec(GovernorKind::None);
    let total = |interval| {
        let mut machine = machine(&spec, interval);
        offer(&mut machine, &[(1_000.0, 100.0)]);
        machine.run(Time::nanoseconds(150_000)).expect("it runs");
        machine.power().expect("a meter").total()
    };
    let often = total(Some(Time::nanoseconds(1_234)));
    assert_eq!(total(Some(Time::nanoseconds(40_000))), often);
}

/// Engines without packets are idle in every period. Each goes down one step in a period, to the
/// last step, and comes up again when there is work.
#[test]
fn dvs_takes_one_step_in_a_period_and_each_change_takes_its_time() {
    let mut spec = spec(GovernorKind::Dvs);
    spec.governor.period_cycles = 15_000;
    let period = spec.engine.clock.cycles(15_000);
    let change = spec.governor.change();
    let mut machine = machine(&spec, None);
    let steps = |machine: &Processor<EnergyMeter>| {
        [0, 1, 2, 3].map(|engine| machine.chip.control.step(engine))
    };
    for step in 1..=4 {
        let tick = Time(step as u64 * period.0);
        machine.run(tick - machine.now() - Time(1)).expect("it runs");
        assert_eq!(steps(&machine), [step - 1; 4]);
        let before = cycles(&machine);
        // The change begins at the end of the period. The engine has no cycle meanwhile.
        machine.run(Time(2)).expect("it runs");
        assert_eq!(steps(&machine), [step; 4]);
        assert_eq!(machine.chip.control.mode(0), Mode::Changing);
        machine.run(change - Time(20_000)).expect("it runs");
        assert!(cycles(&machine) - before <= 1, "{} cycles", cycles(&machine) - before);
        machine.run(Time(40_000)).expect("it runs");
        assert_eq!(machine.chip.control.mode(0), Mode::Running);
    }
    machine.run(Time(3 * period.0)).expect("it runs");
    assert_eq!(steps(&machine), [4; 4], "there is no slower step");
    assert_eq!((machine.chip.control.did.slower, machine.chip.control.did.faster), (16, 0));
    let power = machine.power().expect("a meter");
    for engine in 0..4 {
        for class in 0..4 {
            let (changes, _) = power.meter().events(regulator(4, engine), Class(class));
            assert_eq!(changes, 1, "engine {engine}, steps {class} and {}", class + 1);
        }
        let voltages = power.meter().voltages(engine_part(engine, EnginePart::Alu));
        let voltages: Vec<u32> = voltages.map(|(millivolts, _)| millivolts).collect();
        assert_eq!(voltages, [2000, 1923, 1846, 1769, 1692]);
    }
}

fn cycles(machine: &Processor<EnergyMeter>) -> u64 {
    machine.chip.engines[0].cycles() + machine.sleeping(0)
}

/// A load with a burst after silence, when every governor has slowed down or stopped engines.
const BURSTS: [(f64, f64); 5] =
    [(900.0, 300.0), (30.0, 900.0), (2_300.0, 100.0), (30.0, 700.0), (1_800.0, 200.0)];

#[test]
fn no_governor_loses_or_changes_a_packet_and_all_save_energy() {
    let run = |kind, assignment| {
        let mut spec = spec(kind);
        (spec.ports.assignment, spec.ports.receive_mpkts) = (assignment, 24);
        if kind != GovernorKind::Dvs {
            spec.governor.period_cycles = 2_048;
        }
        // With intervals the machine does not fall silent, and its idle time counts.
        let mut machine = machine(&spec, Some(Time::nanoseconds(100_000)));
        let offered = offer(&mut machine, &BURSTS);
        let (left, lost) = finish(&mut machine);
        // The energies cover the same time, so that finishing early saves nothing.
        let end = Time::nanoseconds(2_500_000);
        machine.run(end - machine.now()).expect("it runs");
        let [engines, ..] = machine.power().expect("a meter").groups();
        eprintln!("{kind:?}: {:?}, {:.1} uJ", machine.chip.control.did, engines.as_joules() * 1e6);
        assert_eq!((left.len() as u64, lost), (offered, 0), "{kind:?}");
        (left, engines, machine.chip.control.did)
    };
    let (expected, full, _) = run(GovernorKind::None, Assignment::Fixed);
    let mut spent = Vec::new();
    for kind in [GovernorKind::Dvs, GovernorKind::Gating, GovernorKind::Demand] {
        let (left, engines, did) = run(kind, Assignment::Fixed);
        assert!(left == expected, "{kind:?} changes packets");
        assert!(engines < full, "{kind:?}: {engines} of {full}");
        assert_eq!(did.stopped > 0, kind != GovernorKind::Dvs, "{kind:?}: {did:?}");
        assert_eq!(did.started > 0, kind != GovernorKind::Dvs, "{kind:?}: {did:?}");
        spent.push(engines);
    }
    assert!(spent[2] < spent[0] && spent[2] < spent[1], "demand saves most: {spent:?}");
}

/// With eight ports, engines 0 and 2 serve ports 0 to 3, and engines 1 and 3 serve the others.
#[test]
fn gating_leaves_every_port_an_engine() {
    for (assignment, least) in [(Assignment::Fixed, 2), (Assignment::Any, 1)] {
        let mut spec = spec(GovernorKind::Gating);
        (spec.ports.count, spec.ports.assignment) = (8, assignment);
        spec.governor.period_cycles = 1_000;
        let mut machine = machine(&spec, None);
        offer(&mut machine, &[(100.0, 400.0)]);
        machine.run(Time::nanoseconds(300_000)).expect("it runs");
        let modes = [0, 1, 2, 3].map(|engine| machine.chip.control.mode(engine));
        let running = modes.iter().filter(|mode| **mode == Mode::Running).count();
        assert_eq!(running, least, "{assignment:?}: {modes:?}");
        let serves = |port: usize| (0..4).any(|e| modes[e] == Mode::Running && e % 2 == port / 4);
        assert!(assignment == Assignment::Any || (0..8).all(serves), "{modes:?}");
        let (_, lost) = finish(&mut machine);
        assert_eq!(lost, 0);
    }
}

#[test]
fn a_stopped_engine_has_no_cycles_and_only_leaks() {
    let mut spec = spec(GovernorKind::Gating);
    spec.governor.period_cycles = 1_000;
    let mut machine = machine(&spec, None);
    machine.run(Time::nanoseconds(200_000)).expect("it runs");
    assert_eq!(machine.chip.control.mode(3), Mode::Stopped);
    let engines = |machine: &Processor<EnergyMeter>| {
        let cycles = machine.chip.engines[3].cycles() + machine.sleeping(3);
        let power = machine.power().expect("a meter");
        (cycles, power.engine(3), power.engine(0))
    };
    let (cycles, stopped, running) = engines(&machine);
    machine.run(Time::nanoseconds(100_000)).expect("it runs");
    let (again, leaked, idle) = engines(&machine);
    assert_eq!(again, cycles);
    let (leaked, idle) = (leaked.0 - stopped.0, idle.0 - running.0);
    assert!(leaked > 0 && leaked * 5 < idle, "{leaked} of {idle}");
}

#[test]
fn governors_that_cannot_be_are_refused_by_their_key() {
    let refused = |change: fn(&mut Spec)| {
        let mut spec = spec(GovernorKind::Dvs);
        change(&mut spec);
        spec.check().expect_err("it is wrong").to_string()
    };
    for (change, says) in [
        (
            (|spec| spec.power.technology.voltage_mv = 1_300) as fn(&mut Spec),
            "`governor.steps`: begins with",
        ),
        (|spec| spec.governor.steps.swap(1, 2), "`governor.steps`: is not in order"),
        (|spec| spec.governor.steps.clear(), "`governor.steps`"),
        (|spec| spec.governor.period_cycles = 1, "`governor.period_cycles`"),
        (|spec| spec.governor.demand.window = 1, "`governor.demand.window`"),
        (|spec| spec.power.technology.process_nm = 10, "`power.process_nm`"),
        (|spec| spec.power.sdram.burst_ma = 1.0, "`power.sdram.burst_ma`"),
    ] {
        let message = refused(change);
        assert!(message.contains(says), "{message}");
    }
}

/// Every packet leaves by the next port, with one byte changed.
const NEXT_PORT: &str = "
enum Reason : u8 { SHORT };
header First { u8 first; };
engine next_port() {
    offload bytes : payload<u8>;
    step begin {
        First head @ 0;
        head.first = head.first ^ 0x5a;
        packet.egress = ((u16)head.first) & 3;
        finish;
    }
}
";

/// Packets of up to five MPKTs, first few and then many. Engines stop and start while packets are
/// only partly transferred.
#[test]
fn compiled_programs_do_the_same_under_every_governor() {
    let program = written(NEXT_PORT);
    let mut rng = Rng::new(3, "packets");
    let mut at = 0;
    let packets: Vec<Packet> = (0..240)
        .map(|number| {
            at += if number % 80 < 20 { 60_000 } else { 4_000 };
            let mut bytes = vec![0; 60 + rng.below(260) as usize];
            bytes.iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
            Packet { ingress: rng.below(4) as u16, arrival_ns: at, bytes }
        })
        .collect();
    let frames: Vec<_> = packets.iter().map(Packet::frame).collect();
    let run = |kind, assignment| {
        let mut spec = spec(kind);
        spec.ports.assignment = assignment;
        if kind != GovernorKind::Dvs {
            spec.governor.period_cycles = 1_000;
        }
        let (store, _) = load_store(&program.optimised, &[], &|_| ()).expect("a store");
        let machine = spec.start(&program, store, &Default::default(), &|_| ());
        let mut machine = machine.unwrap_or_else(|error| panic!("{}", error.message));
        let mut left = BTreeMap::new();
        let mut keep = |output: wireloom_ir::Output<'_>| {
            left.insert(output.sequence, (output.verdict, output.bytes.to_vec()));
        };
        machine.offer(&frames, &mut keep).unwrap_or_else(|error| panic!("{}", error.message));
        machine.finish(&mut keep).unwrap_or_else(|error| panic!("{}", error.message));
        let lines = machine.record(std::time::Duration::ZERO).expect("a record").lines;
        let line = |name| lines.iter().find(|line| line.name == name).map(|line| line.text.clone());
        assert!(line("power").is_some_and(|text| text.contains(" W: engines ")), "{lines:?}");
        (left, line("governor"))
    };
    let (expected, governor) = run(GovernorKind::None, Assignment::Fixed);
    assert_eq!((expected.len(), governor), (packets.len(), None));
    for kind in [GovernorKind::Dvs, GovernorKind::Gating, GovernorKind::Demand] {
        for assignment in [Assignment::Fixed, Assignment::Any] {
            let (left, governor) = run(kind, assignment);
            assert!(left == expected, "{kind:?} with {assignment:?} changes packets");
            let governor = governor.expect("it has a governor");
            let stops = !governor.contains("engines stopped 0, started 0");
            assert_eq!(stops, kind != GovernorKind::Dvs, "{kind:?}: {governor}");
        }
    }
}

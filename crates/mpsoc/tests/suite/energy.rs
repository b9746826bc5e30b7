//! Energy: each event is counted once, all sums are the same, and nothing depends on how the
//! machine is simulated.

use crate::support::engine::own_spec;
use crate::support::{compiled, generated};
use wireloom_ir::store;
use wireloom_mpsoc::energy::{ChipPart, ProcessorPart, groups};
use wireloom_mpsoc::engine::MpsocEngine;
use wireloom_mpsoc::spec::Set;
use wireloom_mpsoc::{Options, Spec};
use wireloom_net::Packet;
use wireloom_net::traffic::Spec as Traffic;
use wireloom_power::{Account, PartKey};
use wireloom_sim::stats::{Record, Value};
use wireloom_sim::{Effort, Energy, Time};

/// A program that reads one `array` and adds to another one for each packet.
const PROGRAM: &str = "../crates/mpsoc/tests/engines/marked.loom";

fn packets(count: usize) -> Vec<Packet> {
    generated(&Traffic { seed: 3, count: Some(count as u64), ports: 4, ..Traffic::default() })
}

/// An engine that has processed these packets.
fn ran(spec: &Spec, packets: &[Packet], options: Options) -> MpsocEngine {
    let program = compiled(PROGRAM);
    let offloads = store(&program).expect("offloads");
    let mut engine = MpsocEngine::new(spec, &program, offloads, options).expect("an engine");
    engine.execute(packets, &mut |_| ()).expect("it runs");
    let settled = engine.finish(&mut |_| ()).expect("it runs");
    assert!(settled.lost.is_empty());
    engine
}

/// The number of events of a class of a part, over all processors.
fn processors(account: &Account, part: &str, class: &str) -> u64 {
    let units = 0..account.plan().units.len();
    units.map(|unit| account.unit_events(unit, part, class).0).sum()
}

/// The number of events of a class of a part around the processors.
fn around(account: &Account, part: &str, class: &str) -> u64 {
    account.part_events(part, class).0
}

/// The energy summed by group, by part, and by processor plus the parts around the processors.
fn sums(account: &Account) -> [Energy; 3] {
    let units = (0..account.plan().units.len()).map(|unit| account.unit(unit));
    let rest = account.parts().skip(ProcessorPart::ALL.len()).map(|(_, energy)| energy);
    [
        groups(account).map(|(_, energy)| energy).sum(),
        account.parts().map(|(_, energy)| energy).sum(),
        units.chain(rest).sum(),
    ]
}

fn value(record: &Record, path: &str) -> u64 {
    match record.value(path) {
        Some(Value::Count(count)) => *count,
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn packets_cost_what_their_way_through_the_machine_costs() {
    let packets = packets(50);
    let engine = ran(&own_spec(Set::Armv4, ""), &packets, Options::default());
    let account = engine.energy();
    assert_eq!(sums(&account), [account.total(); 3]);
    let words: u64 = packets.iter().map(|packet| packet.bytes.len().div_ceil(4) as u64).sum();
    let bytes: u64 = packets.iter().map(|packet| packet.bytes.len() as u64).sum();
    // Each word passes the pins in and out, and is written to packet memory and read from it.
    assert_eq!(around(&account, "pins", "word"), 2 * words);
    for class in ["read", "write"] {
        assert_eq!(around(&account, "packet_memory", class), bytes.div_ceil(4));
    }
    assert_eq!(around(&account, "broker", "call"), 50);
    // `value` is read once a packet; an addition to `counts` reads and writes.
    let object = |name: &str| ["read", "write"].map(|class| around(&account, name, class));
    assert_eq!(object("object_value"), [50, 0]);
    assert_eq!(object("object_counts"), [50, 50]);
    // Every message goes over the channel's wires once.
    let record = engine.record();
    let carried = value(&record, "platform.network.bytes");
    let hops = around(&account, "network", "hop");
    assert!(
        4 * hops >= carried && 4 * hops < carried + 4 * value(&record, "platform.network.messages")
    );
    let instructions = engine.totals().instructions;
    for (part, class) in [("fetch_buffers", "fetch"), ("scheduler", "grant")] {
        assert_eq!(processors(&account, part, class), instructions);
    }
    // Every instruction uses the adder, the logic, the shifter or the multiplier at least once,
    // except SWP.
    let datapaths = processors(&account, "alu", "add") + processors(&account, "alu", "logic");
    assert!(datapaths >= instructions && datapaths < 3 * instructions);
    let cycles = value(&record, "cycles");
    assert_eq!(around(&account, "clock_tree", "cycle"), cycles);
    assert_eq!(processors(&account, "clock", "cycle"), 16 * cycles);
    assert_eq!(account.plan().parts.len(), ChipPart::ALL.len() + 2);
}

#[test]
fn twice_the_packets_have_twice_the_events() {
    // The second half finds the same state of the caches, and of everything else that costs energy.
    let packets = packets(40);
    let spec = own_spec(Set::Rv32im, "[io]\npace = { load = 0.01 }\n");
    let events = |lots: usize| {
        let packets: Vec<Packet> = (0..lots).flat_map(|_| packets.clone()).collect();
        let account = ran(&spec, &packets, Options::default()).energy();
        let of = |part: &str, class: &str| processors(&account, part, class);
        let read = |part: &str| [of(part, "read"), of(part, "write")];
        (of("alu", "add"), of("alu", "logic"), read("registers"), of("message_engine", "access"))
    };
    let ([one, two], three) = ([events(1), events(2)], events(3));
    assert_eq!(two.0 - one.0, three.0 - two.0);
    assert_eq!(two.1 - one.1, three.1 - two.1);
    for port in [0, 1] {
        assert_eq!(two.2[port] - one.2[port], three.2[port] - two.2[port]);
    }
    assert_eq!(two.3 - one.3, three.3 - two.3);
    assert!(two.0 > one.0 && two.3 > one.3);
}

#[test]
fn energy_does_not_depend_on_how_the_machine_is_simulated_or_sampled() {
    let packets = packets(30);
    for set in [Set::Armv4, Set::Rv32im] {
        let mut spec = own_spec(set, "");
        spec.processors = 2;
        let run = |options| ran(&spec, &packets, options);
        let active = run(Options::default());
        let naive = run(Options { effort: Effort::Naive, ..Options::default() });
        let sampling = Some(Time::nanoseconds(500));
        let sampled = run(Options { sampling, ..Options::default() });
        let json = |engine: &MpsocEngine| {
            let account = engine.energy();
            (account.time(), serde_json::to_string(&account.record()).expect("a record"))
        };
        assert_eq!(json(&active), json(&naive), "{set:?}");
        assert_eq!(json(&active), json(&sampled), "{set:?}");
        let series = sampled.series().expect("a series");
        let power = series.columns().find(|(name, _)| *name == "power_w").expect("power").1;
        assert!(power.len() > 10, "{}", power.len());
        let joules: f64 = power.iter().sum::<f64>() * 500e-9;
        let total = sampled.energy().total().as_joules();
        assert!((joules / total - 1.0).abs() < 1e-6, "{joules} of {total}");
        let names: Vec<&str> = series.columns().map(|(name, _)| name).collect();
        for name in ["processor_1_w", "network_w", "object_counts_w"] {
            assert!(names.contains(&name), "{names:?}");
        }
    }
}

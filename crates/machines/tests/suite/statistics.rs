//! Checks that the statistics of every machine of the registry add up. Each arriving packet is
//! sent, handed to the control processor, dropped, lost or consumed, and counted once. No part is
//! in use for more than the whole time. The cycles of a thread, by activity, sum to the cycles of
//! the run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use wireloom_description::Description;
use wireloom_ir::{Output, Verdict};
use wireloom_machine::watch::{Goal, MeasureKind};
use wireloom_machine::{
    Configured, Knob, Machine, Options, Program, Rate, Record, Settled, Source, golden, thousands,
};
use wireloom_machines::REGISTRY;
use wireloom_net::{Frame, Packet};
use wireloom_offloads::Store;

/// Returns a machine of each kind, and machines that lose packets or have other parts.
fn machines() -> Vec<Arc<dyn Configured>> {
    let described = |name: &str, text: &str| {
        let description = Description::parse(name, text).expect("a description");
        REGISTRY.configure(name, description).expect("a machine")
    };
    let examples = REGISTRY.kinds().map(|kind| REGISTRY.find(kind.example()).expect("an example"));
    let mut machines: Vec<_> = examples.collect();
    machines.extend([
        described(
            "slow",
            "extends = \"mpsoc-oc48\"\nprocessors = 1\nthreads = 2\nnetwork.latency_ns = 160.0\n\
             io.input.queue_packets = 32\nio.input.rate_gbps = 20.0",
        ),
        described(
            "mesh",
            "extends = \"mpsoc-oc48\"\n[network]\nkind = \"mesh\"\ncolumns = 5\n\
             rows = 5\nclock_mhz = 500\nwidth_bytes = 4\nrouter_cycles = 2\nlink_cycles = 1\n\
             slots = 4\nqueue_messages = 4",
        ),
        REGISTRY.find("ixp2400").expect("a machine of the registry"),
    ]);
    machines
}

fn machines_of(kinds: &[&str]) -> impl Iterator<Item = Arc<dyn Configured>> {
    machines().into_iter().filter(|machine| kinds.contains(&machine.kind()))
}

fn program(machine: &Arc<dyn Configured>) -> Program {
    // A model of hardware takes long to build. This one exists already for the conformance suite.
    let file = if machine.capabilities().translates {
        "tests/conformance/state.loom"
    } else {
        "tests/statistics/fates.loom"
    };
    let compiled = Source::of(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).compiled();
    compiled.unwrap_or_else(|error| panic!("{}", error.message))
}

fn packets(count: u64) -> Vec<Packet> {
    let packet = |number: u64| {
        let mut bytes = vec![0; 64 + number as usize % 90];
        bytes[0] = (number * 5 % 8) as u8;
        Packet { ingress: 0, arrival_ns: number * 500, bytes }
    };
    (0..count).map(packet).collect()
}

fn start(
    machine: &Arc<dyn Configured>,
    program: &Program,
    options: &Options,
) -> Option<Box<dyn Machine>> {
    let store: Store = wireloom_ir::store(&program.optimised).expect("a store");
    match machine.start(program, store, options, &|_| ()) {
        Ok(started) => Some(started),
        Err(error) if error.needs_tool => {
            eprintln!("warning: not tested on {}: {}", machine.name(), error.message);
            None
        }
        Err(error) => panic!("{}: {}", machine.name(), error.message),
    }
}

/// For each verdict the number of packets, and their bytes if the machine shows them.
type VerdictCounts = BTreeMap<Verdict, (u64, Option<u64>)>;

/// A run with its record.
struct Ran {
    settled: Settled,
    fates: VerdictCounts,
    /// The number of packets with an output.
    with_output: usize,
    record: Option<Record>,
    values: Value,
}

fn run(machine: &Arc<dyn Configured>, running: &mut dyn Machine, packets: &[Packet]) -> Ran {
    let name = machine.name();
    let shows_drops = machine.capabilities().shows_drops;
    let (mut fates, mut numbers) = (VerdictCounts::new(), Vec::new());
    let mut keep = |output: Output<'_>| {
        numbers.push(output.sequence);
        let is_shown = shows_drops || !matches!(output.verdict, Verdict::Dropped(_));
        let (count, bytes) = fates.entry(output.verdict).or_insert((0, is_shown.then_some(0)));
        *count += 1;
        *bytes = bytes.map(|bytes| bytes + output.bytes.len() as u64);
        assert!(is_shown || output.bytes.is_empty(), "{name} shows what it drops");
    };
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    let mut settled = running.offer(&frames, &mut keep).expect("it works");
    settled.extend(&running.finish(&mut keep).expect("it works"));
    numbers.dedup();
    let record = running.record(Duration::from_millis(1));
    let values = serde_json::to_value(&record).expect("JSON");
    Ran { settled, fates, with_output: numbers.len(), record, values }
}

/// Returns golden's results for these packets, without the bytes that the machine does not show.
fn expected(machine: &Arc<dyn Configured>, program: &Program, packets: &[Packet]) -> Ran {
    let golden = golden::machine();
    let mut running = start(&golden, program, &Options::default()).expect("golden needs no tool");
    let mut ran = run(&golden, running.as_mut(), packets);
    if !machine.capabilities().shows_drops {
        let dropped = |(verdict, _): &(&Verdict, _)| matches!(verdict, Verdict::Dropped(_));
        ran.fates.iter_mut().filter(dropped).for_each(|(_, (_, bytes))| *bytes = None);
    }
    ran
}

fn number(values: &Value, path: &str) -> Option<u64> {
    let value = path.split('.').try_fold(values, |value, name| value.get(name))?;
    Some(value.as_u64().unwrap_or_else(|| panic!("{path} is {value}")))
}

/// Checks the packet counts that a machine reports. Each has the same meaning on every machine.
fn check_packets(name: &str, ran: &Ran) {
    let sent = ran.fates.iter().filter(|(verdict, _)| matches!(verdict, Verdict::Sent { .. }));
    let sent: u64 = sent.map(|(_, (count, _))| count).sum();
    let (taken, lost) = (ran.settled.taken.len() as u64, ran.settled.lost.len() as u64);
    for (path, expected) in [
        ("packets", taken),
        ("sent", sent),
        ("lost", lost),
        ("statistics.platform.io.taken", taken),
        ("statistics.platform.io.done", taken),
        ("statistics.platform.io.output.packets", sent),
        ("statistics.platform.io.input.lost", lost),
    ] {
        if let Some(value) = number(&ran.values, path) {
            assert_eq!(value, expected, "{name}: {path}");
        }
    }
}

/// Checks all shares of a record, and that the cycles in `cycles_by` sum to the `cycles` next to it
/// or above it.
fn check_values(path: &str, values: &Value, cycles: Option<u64>) {
    const SHARES: [&str; 10] = [
        "use",
        "usage",
        "most_used",
        "miss_rate",
        "busy",
        "aborted",
        "stalled",
        "idle",
        "network",
        "share",
    ];
    let cycles = number(values, "cycles").or(cycles);
    match values {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = format!("{path}.{name}");
                if value.is_f64() && SHARES.contains(&name.as_str()) {
                    let share = value.as_f64().expect("a number");
                    assert!((0.0..=1.0 + 1e-9).contains(&share), "{path} is {share}");
                }
                if name == "cycles_by" {
                    let by = value.as_object().expect("an object");
                    let sum: u64 = by.values().filter_map(Value::as_u64).sum();
                    assert_eq!(Some(sum), cycles, "{path}: {value}");
                }
                check_values(&path, value, cycles);
            }
        }
        Value::Array(elements) => {
            for (number, value) in elements.iter().enumerate() {
                check_values(&format!("{path}.{number}"), value, cycles);
            }
        }
        _ => {}
    }
}

/// Checks the cycles of contexts and the shares of engines, on a processor of microengines.
fn check_microengines(name: &str, values: &Value) {
    let Some(engines) = values.pointer("/statistics/engines").and_then(Value::as_object) else {
        return;
    };
    for (engine, values) in engines {
        let shares = ["busy", "aborted", "stalled", "idle"].map(|share| values[share].as_f64());
        let sum: f64 = shares.into_iter().flatten().sum();
        assert!((sum - 1.0).abs() < 1e-9, "{name} {engine}: the shares add up to {sum}");
        let contexts = values["contexts"].as_object().expect("contexts");
        let sums = contexts.values().map(|context| {
            let fields = context.as_object().expect("a context").iter();
            let cycles = fields.filter(|(name, _)| name.ends_with("_cycles"));
            cycles.filter_map(|(_, cycles)| cycles.as_u64()).sum()
        });
        let sums: Vec<u64> = sums.collect();
        assert!(sums.iter().all(|sum| *sum == sums[0] && *sum > 0), "{name} {engine}: {sums:?}");
    }
}

/// Makes a test for kinds of machines, so that they run in parallel and fail by name.
macro_rules! kinds {
    ($($name:ident: [$($kind:literal),*],)*) => {
        $(
            #[test]
            fn $name() {
                adds_up(&[$($kind),*]);
            }
        )*

        #[test]
        fn every_kind_has_a_test_here() {
            let kinds: BTreeSet<&str> = REGISTRY.kinds().map(|kind| kind.name()).collect();
            assert_eq!(kinds, BTreeSet::from([$($($kind),*),*]));
        }
    };
}

kinds! {
    what_software_reports_adds_up: ["golden", "native", "xdp"],
    what_multiprocessors_report_adds_up: ["mpsoc"],
    what_microengines_report_adds_up: ["ixp"],
    what_tiles_report_adds_up: ["raw"],
    what_network_processors_report_adds_up: ["np"],
}

/// Checks the packets, bytes, shares and cycles of all machines of some kinds.
fn adds_up(kinds: &[&str]) {
    let packets = packets(600);
    for machine in machines_of(kinds) {
        let name = machine.name();
        let program = program(&machine);
        if !machine.refusals(&program).is_empty() {
            eprintln!("{name} refuses the program");
            continue;
        }
        let warm = machine.knobs().contains(&Knob::Warm).then_some(50);
        for warm in std::iter::once(0).chain(warm) {
            let options = Options { is_short: true, warm, ..Options::default() };
            let Some(mut running) = start(&machine, &program, &options) else { break };
            let ran = run(&machine, running.as_mut(), &packets);
            let Settled { taken, lost, lost_outputs } = &ran.settled;
            assert_eq!(taken.len() + lost.len(), packets.len(), "{name}");
            let kept: Vec<Packet> =
                taken.iter().map(|number| packets[number as usize].clone()).collect();
            let expected = expected(&machine, &program, &kept);
            assert!(lost_outputs.is_empty(), "{name}");
            assert_eq!(ran.fates, expected.fates, "{name}");
            assert_eq!(ran.with_output, expected.with_output, "{name}");
            check_packets(name, &ran);
            check_values(name, &ran.values, None);
            check_microengines(name, &ran.values);
            let Some(record) = &ran.record else { continue };
            for part in &record.parts {
                let share = part.share;
                assert!((0.0..=1.0 + 1e-9).contains(&share), "{name}: {} {share}", part.kind);
            }
            let binned: u64 = record.bars.iter().map(|bar| bar.packets).sum();
            let counted = warm > 0 || binned == taken.len() as u64;
            assert!(record.bars.is_empty() || counted, "{name}: {binned}");
        }
    }
}

#[test]
fn losses_of_the_warm_up_are_reported() {
    let packets = packets(2000);
    let slow = machines().into_iter().find(|machine| machine.name() == "slow").expect("a machine");
    let program = program(&slow);
    let lost = |warm| {
        let options = Options { warm, ..Options::default() };
        let mut running = start(&slow, &program, &options).expect("it needs no tool");
        let ran = run(&slow, running.as_mut(), &packets);
        let line = |name| {
            let lines = &ran.record.as_ref().expect("a record").lines;
            lines.iter().find(|line| line.name == name).map(|line| line.text.clone())
        };
        let lost = ran.settled.lost.len() as u64;
        assert_eq!(number(&ran.values, "lost"), Some(lost));
        let text = line("lost at input").expect("a line");
        assert!(text.starts_with(&format!("{} packets", thousands(lost))), "{text}");
        assert_eq!(line("measured from").is_some(), warm > 0);
        lost
    };
    // All packets arrive before 100 have left.
    let all = lost(0);
    assert!(all > 100, "{all}");
    assert_eq!(lost(100), all);
}

#[test]
fn rates_and_warm_ups_mean_the_same_on_multiprocessors() {
    agree_on_rates(&["mpsoc"]);
}

#[test]
fn rates_and_warm_ups_mean_the_same_on_microengines() {
    agree_on_rates(&["ixp"]);
}

#[test]
fn rates_and_warm_ups_mean_the_same_on_tiles() {
    agree_on_rates(&["raw"]);
}

#[test]
#[ignore = "takes long: make test-all"]
fn rates_and_warm_ups_mean_the_same_on_network_processors() {
    agree_on_rates(&["np"]);
}

/// The numbers that all simulated machines report under the same name.
const COMMON: [&str; 11] = [
    "from_us",
    "time_us",
    "packets",
    "sent",
    "lost",
    "lost_warm",
    "mpps",
    "mpps_finished",
    "gbps",
    "usage",
    "latency_ns",
];

/// Checks on all machines of some kinds that packets arrive at the requested rate, that the report
/// states it under the same names, and that a warm-up changes only rates and no outcomes.
fn agree_on_rates(kinds: &[&str]) {
    const COUNT: u64 = 600;
    let packets = packets(COUNT);
    for machine in machines_of(kinds) {
        let (name, program) = (machine.name(), program(&machine));
        let ran = |options: Options| {
            let options = Options { is_short: true, ..options };
            let mut running = start(&machine, &program, &options)?;
            Some(run(&machine, running.as_mut(), &packets))
        };
        // All machines here carry this rate, and the time between two packets is much longer than a
        // packet takes.
        let rate = Some(Rate::Mpps(0.1));
        let Some(whole) = ran(Options { rate, ..Options::default() }) else { continue };
        for key in COMMON {
            assert!(!whole.values[key].is_null(), "{name} has no {key}");
        }
        for part in ["mean", "p50", "p99", "max"] {
            assert!(whole.values["latency_ns"][part].is_f64(), "{name} has no latency {part}");
        }
        let value = |ran: &Ran, key: &str| ran.values[key].as_f64().expect("a number");
        let is_near = |got: f64, wanted: f64| (got / wanted - 1.0).abs() < 0.02;
        let finished = value(&whole, "mpps_finished");
        assert!(is_near(finished, 0.1), "{name}: {finished}");
        check_packets(name, &whole);
        assert_eq!(number(&whole.values, "lost"), Some(0), "{name}");
        assert_eq!(value(&whole, "from_us"), 0.0, "{name}");

        let warm = ran(Options { rate, warm: 200, ..Options::default() }).expect("it started");
        let [from, time] = ["from_us", "time_us"].map(|key| value(&warm, key));
        assert!(is_near(from, 2000.0) && is_near(time, 4000.0), "{name}: {from}, {time}");
        assert!(is_near(value(&warm, "mpps_finished"), 0.1), "{name}");
        assert_eq!(warm.fates, whole.fates, "{name}");
        check_packets(name, &warm);

        // A rate beyond every machine.
        let flood = |warm| {
            let (rate, buffer) = (Some(Rate::Mpps(200.0)), Some(4));
            ran(Options { rate, buffer, warm, ..Options::default() }).expect("it started")
        };
        let (cold, warm) = (flood(0), flood(3));
        let lost = number(&cold.values, "lost").expect("a number");
        assert!(lost > 100, "{name}: {lost}");
        assert_eq!(number(&cold.values, "lost_warm"), Some(0), "{name}");
        assert_eq!(number(&warm.values, "lost"), Some(lost), "{name}: a warm-up changes the run");
        let before = number(&warm.values, "lost_warm").expect("a number");
        assert!(before > 0 && before <= lost, "{name}: {before} of {lost}");
        check_packets(name, &warm);

        let most = ran(Options { rate: Some(Rate::Max), ..Options::default() });
        let most = most.expect("it started");
        assert_eq!(number(&most.values, "packets"), Some(COUNT), "{name}");
        assert!(value(&most, "mpps_finished") > 0.1, "{name}");
    }
}

#[test]
fn levels_and_states_of_multiprocessors_fit_their_parts() {
    fit_their_parts(&["mpsoc"]);
}

#[test]
fn levels_and_states_of_microengines_fit_their_parts() {
    fit_their_parts(&["ixp"]);
}

#[test]
fn levels_and_states_of_tiles_fit_their_parts() {
    fit_their_parts(&["raw"]);
}

/// Checks on all machines of some kinds that can be watched that a queue holds no more than its
/// capacity, and that a part is in one state at a time.
fn fit_their_parts(kinds: &[&str]) {
    let packets = packets(200);
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    for machine in machines_of(kinds).filter(|machine| machine.can_be_watched()) {
        let name = machine.name();
        let program = program(&machine);
        if !machine.refusals(&program).is_empty() {
            continue;
        }
        let options = Options { watched: true, ..Options::default() };
        let Some(mut running) = start(&machine, &program, &options) else { continue };
        let watched = running.watch().expect("it can be watched");
        let (parts, measures) = (watched.parts(), watched.measures());
        watched.supply(&frames).expect("it has the port");
        let mut values = Vec::new();
        for _ in 0..60 {
            watched.resume(Goal::Cycles(97), &[]).expect("it works");
            values.clear();
            watched.sample(&mut values);
            let mut states = BTreeMap::<usize, u64>::new();
            for (measure, value) in measures.iter().zip(&values) {
                let part = &parts[measure.part].name;
                match measure.kind {
                    MeasureKind::Level { places } => {
                        assert!(*value <= places, "{name}: {part} {}: {value}", measure.name);
                    }
                    MeasureKind::State => *states.entry(measure.part).or_default() += value,
                    _ => {}
                }
            }
            // The cycle that has begun counts too.
            let cycles = watched.cycle() + 1;
            for (part, sum) in states {
                let part = &parts[part].name;
                assert!(sum <= cycles, "{name}: {part} has states for {sum} of {cycles} cycles");
            }
        }
    }
}

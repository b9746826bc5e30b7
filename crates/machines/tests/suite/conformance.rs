//! The contract of every machine of the registry: it delivers golden's outputs, applies updates
//! between the right packets, saves and restores its state, and reports every lost packet.
//!
//! Machines whose models take long to build run a few random programs here, and many in `make
//! test-all`.

#[cfg(target_os = "linux")]
mod coverage;
mod features;
mod kept;
#[cfg(target_os = "linux")]
mod live;
mod pieces;
mod times;

use std::any::Any;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use wireloom_bits::Bits;
use wireloom_description::Description;
use wireloom_fuzz::campaign::{case_for_all, case_of};
use wireloom_fuzz::generate::Uses;
use wireloom_ir::{Output, Verdict};
use wireloom_machine::{
    Configured, Contender, Machine, MachineKind, Options, Outputs, Program, Refusal, Settled,
    Snapshot, Source, differences, find_offload, golden,
};
use wireloom_machines::REGISTRY;
use wireloom_net::{Frame, Packet};
use wireloom_offloads::kinds::exact;
use wireloom_offloads::{Content, EntryKey, Store, Update};

/// Returns a machine of each kind that can run on this computer, and `native` with live ports.
fn examples() -> Vec<Arc<dyn Configured>> {
    let example = |kind: &dyn MachineKind| match kind.name() {
        "ixp" => deep("ixp1200"),
        _ => REGISTRY.find(kind.example()).expect("the example of a kind"),
    };
    let examples = REGISTRY.kinds().map(example);
    #[cfg(target_os = "linux")]
    let examples = examples.chain(live::machines());
    examples.filter(can_run).collect()
}

/// Returns the machines of [`examples`], and microengines of version 2, which take many times as
/// long as the others.
fn all_examples() -> Vec<Arc<dyn Configured>> {
    let mut all = examples();
    all.push(deep("ixp2400"));
    all
}

/// Returns microengines with an input deep enough for all packets that arrive before a thread takes
/// them.
fn deep(of: &str) -> Arc<dyn Configured> {
    let description = format!("extends = \"{of}\"\nports.receive_mpkts = 4096");
    let description = Description::parse("deep", &description).expect("a description");
    REGISTRY.configure(&format!("{of}-deep"), description).expect("a machine of microengines")
}

/// Returns whether the tools and rights that a machine needs are available.
fn can_run(machine: &Arc<dyn Configured>) -> bool {
    if machine.kind() != "xdp" {
        return true;
    }
    static CAN_RUN: OnceLock<bool> = OnceLock::new();
    *CAN_RUN.get_or_init(|| {
        let program = program_of("prefixes.loom");
        match machine.start(&program, empty(&program), &options(), &|_| ()) {
            Err(error) if error.needs_tool => {
                eprintln!("warning: not tested on {}: {}", machine.name(), error.message);
                false
            }
            _ => true,
        }
    })
}

/// Returns the program that keeps state, without the offloads of kinds that the machine refuses.
fn program_for(machine: &Arc<dyn Configured>) -> Program {
    let all = program();
    let refusals = machine.refusals(&all);
    if refusals.is_empty() {
        return all;
    }
    let name = machine.name();
    let refused: BTreeSet<String> = refusals
        .into_iter()
        .map(|refusal| refusal.offload.unwrap_or_else(|| panic!("{name}: {}", refusal.message)))
        .collect();
    let store = empty(&all);
    for offload in &refused {
        let Content::Kind { config, .. } = &store.find(offload).expect("an offload").content else {
            panic!("{name} refuses an engine")
        };
        assert!(features::is_refused(machine, &config.kind), "{name} refuses `{offload}` alone");
    }
    let text = std::fs::read_to_string(conformance("state.loom")).expect("the program");
    let names_one = |line: &&str| {
        let words = || line.split(|letter: char| !letter.is_ascii_alphanumeric());
        refused.iter().any(|offload| words().any(|word| word == offload))
    };
    let left: Vec<&str> = text.lines().filter(|line| !names_one(line)).collect();
    let program = features::compiled("state.loom", &left.join("\n"));
    let refusals = machine.refusals(&program);
    assert!(refusals.is_empty(), "{name}: {refusals:?}");
    program
}

/// Compiles a program of the folder `conformance`.
fn program_of(file: &str) -> Program {
    Source::of(conformance(file)).compiled().unwrap_or_else(|error| panic!("{}", error.message))
}

/// Returns the path of a file in the folder `conformance`.
fn conformance(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance").join(file)
}

/// Returns the program that keeps state.
fn program() -> Program {
    program_of("state.loom")
}

/// Returns the offloads of a program without any entries.
fn empty(program: &Program) -> Store {
    wireloom_ir::store(&program.optimised).expect("a store")
}

/// Returns the offloads of a program, with a route for each of the first bytes 1 to 7.
fn store(program: &Program) -> Store {
    let mut store = empty(program);
    for first in 1..8u8 {
        route(first, u16::from(first)).apply(&mut store).expect("there is room");
    }
    store
}

/// Returns the update that routes packets with the first byte `first` to a port.
fn route(first: u8, port: u16) -> Update {
    let bits = Bits::new(32, u128::from(first) << 24);
    Update {
        packet: 0,
        offload: "routes".into(),
        key: EntryKey::Prefix { bits, length: 8 },
        value: Some(Bits::new(16, u128::from(port))),
        line: 0,
    }
}

/// Returns packets that query every route and an unknown one, and change all state. Some packets
/// are too short.
fn packets(count: u32) -> Vec<Packet> {
    let packet = |number: u32| {
        let mut bytes = vec![0; if number % 31 == 30 { 12 } else { 64 + number as usize % 90 }];
        bytes[0] = (number % 9) as u8;
        bytes[4] = (number * 7 % 40) as u8;
        bytes[5..8].copy_from_slice(&(number + 1).to_be_bytes()[1..]);
        Packet { ingress: 0, arrival_ns: u64::from(number) * 500, bytes }
    };
    (0..count).map(packet).collect()
}

/// Returns packets of lengths at which machines change their behaviour: no byte and one byte,
/// around the Ethernet header, the shortest frame, and the longest packet. They arrive after
/// `after_ns`.
fn extreme_packets(after_ns: u64) -> impl Iterator<Item = Packet> {
    let packet = move |(number, length): (u64, usize)| Packet {
        ingress: 0,
        arrival_ns: after_ns + 1000 * (number + 1),
        bytes: (0..length).map(|at| ((at as u64 + number) % 251) as u8).collect(),
    };
    (0..).zip([0, 1, 13, 14, 15, 60, 65_535, 0]).map(packet)
}

fn frames(packets: &[Packet]) -> Vec<Frame<'_>> {
    packets.iter().map(Packet::frame).collect()
}

fn options() -> Options {
    Options { is_short: true, ..Options::default() }
}

fn start(machine: &Arc<dyn Configured>, program: &Program, store: Store) -> Box<dyn Machine> {
    let started = machine.start(program, store, &options(), &|_| ());
    started.unwrap_or_else(|error| panic!("{}: {}", machine.name(), error.message))
}

/// Offers packets in batches of several sizes and finishes. Returns the outputs and the settled
/// packets.
fn run(machine: &mut dyn Machine, packets: &[Packet]) -> (Outputs, Settled) {
    let (mut outputs, mut settled) = (Outputs::default(), Settled::default());
    let mut rest = packets;
    for size in [1, 2, 3, 50, 1024].into_iter().cycle() {
        let (batch, after) = rest.split_at(size.min(rest.len()));
        let worked = machine.offer(&frames(batch), &mut |output| outputs.keep(output));
        settled.extend(&worked.unwrap_or_else(|error| panic!("{}", error.message)));
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    let finished = machine.finish(&mut |output| outputs.keep(output));
    settled.extend(&finished.unwrap_or_else(|error| panic!("{}", error.message)));
    (outputs, settled)
}

#[test]
fn updates_are_made_between_the_packets_that_they_stand_between() {
    update_between_packets(examples());
}

fn update_between_packets(machines: Vec<Arc<dyn Configured>>) {
    for machine in machines {
        let program = program_for(&machine);
        let options = options();
        let name = machine.name().to_owned();
        let mut contender = Contender::new(machine, &program, &store(&program), &options, &|_| ())
            .unwrap_or_else(|error| panic!("{name}: {}", error.message));
        // The sizes give several updates in a row, updates after few packets, and many packets
        // under way at an update.
        let mut rest = &packets(600)[..];
        for (round, size) in [150, 1, 1, 90, 7, 50, 0, 101, 200].into_iter().enumerate() {
            let (batch, after) = rest.split_at(size);
            contender.offer(&program.optimised, &frames(batch), &mut |_| ()).expect("it works");
            let update = route(1 + round as u8 % 4, 9 + round as u16 % 5);
            contender.update(&program.optimised, &update, &mut |_| ()).expect("it works");
            rest = after;
        }
        contender.finish(&program.optimised, &mut |_| ()).expect("it works");
        contender.compare_state(&|_| ()).expect("it works");
        assert!(contender.difference.is_none(), "{name}: {:?}", contender.difference);
        assert_eq!((contender.compared, rest.len()), (600, 0), "{name} lost packets");
    }
}

/// Each machine realises this offload in its own way.
#[test]
fn a_bloom_filter_has_the_same_false_positives_everywhere() {
    let program = program_of("bloom.loom");
    let empty = empty(&program);
    for machine in
        all_examples().into_iter().filter(|machine| machine.refusals(&program).is_empty())
    {
        let name = machine.name().to_owned();
        let contender = Contender::new(machine, &program, &empty, &options(), &|_| ());
        let mut contender = contender.unwrap_or_else(|error| panic!("{name}: {}", error.message));
        let mut seen = 0;
        let mut count = |output: Output<'_>| seen += u64::from(output.bytes.get(4) == Some(&1));
        let worked = contender.offer(&program.optimised, &frames(&packets(800)), &mut count);
        worked.and_then(|()| contender.finish(&program.optimised, &mut count)).expect("it works");
        contender.compare_state(&|_| ()).expect("it works");
        assert!(contender.difference.is_none(), "{name}: {:?}", contender.difference);
        assert!(seen > 0 && seen < contender.compared, "{name}: {seen} of {}", contender.compared);
    }
}

#[test]
fn every_packet_settles_once() {
    settle_once(examples());
}

fn settle_once(machines: Vec<Arc<dyn Configured>>) {
    const COUNT: u32 = 1000;
    let packets = packets(COUNT);
    for machine in machines {
        let program = program_for(&machine);
        let name = machine.name();
        let (outputs, settled) = run(start(&machine, &program, store(&program)).as_mut(), &packets);
        let numbers: Vec<u64> = settled.taken.iter().chain(settled.lost.iter()).collect();
        let once: BTreeSet<u64> = numbers.iter().copied().collect();
        assert_eq!((numbers.len(), once.len()), (packets.len(), packets.len()), "{name}");
        assert_eq!(once.last(), Some(&u64::from(COUNT - 1)), "{name}");
        assert!(settled.lost.is_empty() || machine.capabilities().loses, "{name}");
        let taken: BTreeSet<u64> = settled.taken.iter().collect();
        // In this program each packet leaves once or is dropped once.
        let left: Vec<u64> = outputs.iter().map(|output| output.sequence).collect();
        assert_eq!(left, settled.taken.iter().collect::<Vec<_>>(), "{name}");
        assert!(left.iter().all(|number| taken.contains(number)), "{name}");
    }
}

#[test]
fn what_is_built_for_a_machine_is_files_or_the_reason_why_there_are_none() {
    for machine in examples() {
        let name = machine.name();
        match machine.generate(&program()) {
            Ok(files) => {
                let names: BTreeSet<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
                assert!(!names.is_empty() && names.len() == files.len(), "{name}: {names:?}");
                let is_inside = |file: &&str| {
                    Path::new(file).components().all(|part| matches!(part, Component::Normal(_)))
                };
                assert!(names.iter().all(is_inside), "{name}: {names:?}");
            }
            Err(why) => assert!(why.help.is_some(), "{name}: {}", why.message),
        }
    }
}

#[test]
fn a_machine_that_advances_a_few_cycles_at_a_time_comes_to_the_same_end() {
    come_to_the_same_end(examples());
}

fn come_to_the_same_end(machines: Vec<Arc<dyn Configured>>) {
    let packets = packets(300);
    for machine in machines {
        let program = program_for(&machine);
        let name = machine.name();
        let (expected, _) = run(start(&machine, &program, store(&program)).as_mut(), &packets);
        let mut slow = start(&machine, &program, store(&program));
        let mut outputs = Outputs::default();
        let mut settled = slow
            .offer(&frames(&packets), &mut |output| outputs.keep(output))
            .unwrap_or_else(|error| panic!("{name}: {}", error.message));
        let (mut steps, mut last) = (0, settled.taken.len());
        while settled.taken.len() + settled.lost.len() < packets.len() {
            let more = slow.advance(40, &mut |output| outputs.keep(output));
            settled.extend(&more.unwrap_or_else(|error| panic!("{name}: {}", error.message)));
            // Only few packets settle in 40 cycles.
            assert!(settled.taken.len() - last < 100, "{name}");
            (steps, last) = (steps + 1, settled.taken.len());
            assert!(steps < 50_000, "{name}: {} packets have settled", settled.taken.len());
        }
        assert!(steps > 3 || !machine.capabilities().times, "{name}: {steps}");
        let more = slow.advance(40, &mut |_| panic!("{name}: all packets have settled"));
        assert_eq!(more.expect("it works"), Settled::default(), "{name}");
        assert!(outputs.iter().eq(expected.iter()), "{name}");
    }
}

/// Fails if the state of two machines differs, such as a table row or its age.
fn assert_like(expected: &Store, got: &Store, what: &str) {
    let differ = differences(expected, got);
    assert!(differ.is_empty(), "{what}: {} {}", differ[0].offload, differ[0].key);
    assert_eq!(ages(expected), ages(got), "{what}");
}

/// Returns the table that packets fill, with its ages, if the program has it.
fn ages(store: &Store) -> Option<exact::State> {
    let Content::Kind { instance, .. } = &store.find("learned")?.content else { return None };
    let instance: &dyn Any = instance.as_ref();
    Some(instance.downcast_ref::<exact::Exact>().expect("an exact table").state())
}

#[test]
fn a_machine_runs_on_from_a_snapshot_as_the_one_that_gave_it() {
    run_on_from_a_snapshot(examples());
}

fn run_on_from_a_snapshot(machines: Vec<Arc<dyn Configured>>) {
    for machine in machines {
        let program = program_for(&machine);
        snapshots_move(&program, &store(&program), std::iter::once(machine));
    }
}

#[test]
fn kept_packets_move_in_snapshots_except_in_the_kernel() {
    let program = program_of("park.loom");
    let refuses = |machine: &Arc<dyn Configured>| {
        let refusals = machine.refusals(&program);
        let is_about_it = |refusal: &Refusal| refusal.message.contains("`park`");
        assert!(refusals.iter().all(is_about_it), "{refusals:?}");
        !refusals.is_empty()
    };
    let (without, with): (Vec<_>, Vec<_>) = all_examples().into_iter().partition(refuses);
    assert!(without.iter().all(|machine| machine.kind() == "xdp"));
    snapshots_move(&program, &empty(&program), with.into_iter());
}

/// Continues from snapshots, on the machine of each snapshot and on other machines.
fn snapshots_move(
    program: &Program,
    store: &Store,
    machines: impl Iterator<Item = Arc<dyn Configured>>,
) {
    // Few enough in a batch for the queue of the slowest machine.
    let packets = packets(450);
    let (before, after) = packets.split_at(250);
    // These packets leave a different state behind.
    let other = &packets[..250];
    let mut golden = start(&golden::machine(), program, store.clone());
    run(golden.as_mut(), before);
    let of_golden = golden.snapshot().expect("a snapshot");
    let (expected, _) = run(golden.as_mut(), after);
    let end = golden.snapshot().expect("a snapshot");
    for path in of_golden.store().paths() {
        let (_, instance) = find_offload(of_golden.store(), &path).expect("it is there");
        assert!(!instance.rows().is_empty(), "{path} has no state to move");
    }
    assert!(ages(of_golden.store()).is_none_or(|table| !table.ageing.is_empty()));
    let runs_on = |machine: &mut dyn Machine, what: &str| {
        let (outputs, settled) = run(machine, after);
        assert!(settled.lost.is_empty(), "{what} lost packets");
        assert_eq!(difference(&expected, &outputs), None, "{what}");
        assert_like(end.store(), machine.snapshot().expect("a snapshot").store(), what);
    };
    let restore = |machine: &mut dyn Machine, snapshot: &Snapshot, what: &str| {
        let restored = machine.restore(snapshot);
        restored.unwrap_or_else(|error| panic!("{what}: {}", error.message));
        assert_like(snapshot.store(), machine.snapshot().expect("a snapshot").store(), what);
    };
    for machine in machines {
        let name = machine.name();
        let mut first = start(&machine, program, store.clone());
        let (_, settled) = run(first.as_mut(), before);
        assert!(settled.lost.is_empty(), "{name} lost packets");
        let snapshot = first.snapshot().expect("a snapshot");
        assert_like(of_golden.store(), snapshot.store(), name);
        runs_on(first.as_mut(), &format!("{name} itself"));
        // The machine restores golden's snapshot from a later state.
        restore(first.as_mut(), &of_golden, &format!("{name} from golden's snapshot"));
        runs_on(first.as_mut(), &format!("{name} after golden's snapshot"));
        // A machine without tables that has already run restores the snapshot, and so does golden.
        for configured in [&machine, &golden::machine()] {
            let what = format!("{} after the snapshot of {name}", configured.name());
            let mut second = start(configured, program, empty(program));
            run(second.as_mut(), other);
            restore(second.as_mut(), &snapshot, &what);
            runs_on(second.as_mut(), &what);
        }
    }
}

/// Returns the index of the first output that differs; packet numbers are not compared. Machines
/// that do not keep dropped packets show no bytes of them.
fn difference(expected: &Outputs, got: &Outputs) -> Option<usize> {
    let differs = |(expected, got): (Output<'_>, Output<'_>)| {
        let dropped = matches!(expected.verdict, Verdict::Dropped(_)) && got.bytes.is_empty();
        expected.verdict != got.verdict || (!dropped && expected.bytes != got.bytes)
    };
    let missing = (expected.len() != got.len()).then_some(expected.len().min(got.len()));
    expected.iter().zip(got.iter()).position(differs).or(missing)
}

#[test]
fn a_snapshot_of_another_program_is_refused() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/figure2.loom");
    let other = Source::of(source).compiled().expect("it compiles");
    let store_of = |program: &Program| wireloom_ir::store(&program.optimised).expect("a store");
    let mut foreign = start(&golden::machine(), &other, store_of(&other));
    let snapshot = foreign.snapshot().expect("a snapshot");
    for machine in examples() {
        let program = program_for(&machine);
        let mut machine = start(&machine, &program, store_of(&program));
        let refused = machine.restore(&snapshot).expect_err("it is another program's");
        assert!(refused.message.contains("another program"), "{}", refused.message);
    }
}

#[test]
fn windows_that_are_cut_and_grow_stay_in_their_memory() {
    stay_in_memory(examples());
}

/// Compares a machine with golden on these tables and packets, including the final state.
fn agrees(machine: &Arc<dyn Configured>, program: &Program, store: &Store, packets: &[Packet]) {
    let name = machine.name();
    let contender = Contender::new(Arc::clone(machine), program, store, &options(), &|_| ());
    let mut contender = contender.unwrap_or_else(|error| panic!("{name}: {}", error.message));
    agrees_to_the_end(&mut contender, program, packets, name);
    assert_eq!(contender.compared, packets.len() as u64, "{name} lost packets");
}

/// Offers the packets, finishes, and compares outputs and final state. `about` names the case.
fn agrees_to_the_end(
    contender: &mut Contender,
    program: &Program,
    packets: &[Packet],
    about: &str,
) {
    let worked = contender
        .offer(&program.optimised, &frames(packets), &mut |_| ())
        .and_then(|()| contender.finish(&program.optimised, &mut |_| ()))
        .and_then(|()| contender.compare_state(&|_| ()));
    worked.unwrap_or_else(|error| panic!("{about}: {}", error.message));
    assert!(contender.difference.is_none(), "{about}: {:?}", contender.difference);
}

fn network_processor(name: &str, description: &str) -> Arc<dyn Configured> {
    let description = Description::parse(name, description).expect("a description");
    REGISTRY.configure(name, description).expect("a network processor")
}

/// Network processors with state machines, with threads in turn, and with narrow ports.
const SHELLS: [(&str, &str); 3] = [
    (
        "machine",
        "extends = \"np\"\nclusters = 3\nengines = 2\nthreads = 1\n[engine]\nshell = \"state-machine\"",
    ),
    (
        "in-order",
        "extends = \"np\"\nclusters = 2\nengines = 2\nthreads = 3\n[engine]\nscheduler = \"round-robin\"\nstorage = \"block\"",
    ),
    ("ports", "extends = \"np-four-10g\""),
];

fn stay_in_memory(machines: Vec<Arc<dyn Configured>>) {
    let program = program_of("cut.loom");
    let packets = packets(16);
    for machine in machines.into_iter().filter(|machine| !machine.capabilities().translates) {
        agrees(&machine, &program, &empty(&program), &packets);
    }
}

/// Compares network processors, which write bytes whole, with golden on the bits of bytes.
#[test]
fn bits_that_no_branch_writes_stay_as_they_were() {
    let program = program_of("bits.loom");
    let packet = |number: u32| {
        let bytes = (0..50).map(|at| (number * 31 + at * 7 * (number % 5 + 1)) as u8).collect();
        Packet { ingress: 0, arrival_ns: u64::from(number) * 500, bytes }
    };
    let packets: Vec<Packet> = (0..64).map(packet).collect();
    let machine = REGISTRY.find("np-1-2-2").expect("a network processor");
    agrees(&machine, &program, &empty(&program), &packets);
}

/// Tests prefixes of every length, and keys that leave their path at every bit.
#[test]
fn wide_prefixes_of_every_length_are_found() {
    const KEY: u128 = 0x2a00_1234_5678_9abc_def0_0fed_cba9_8765;
    let program = program_of("prefixes.loom");
    let mut store = empty(&program);
    for length in 0..=128u32 {
        let free = 128 - length;
        let bits = Bits::new(128, KEY.checked_shr(free).unwrap_or(0)).shl(free);
        let value = Some(Bits::new(16, u128::from(length) + 1));
        let key = EntryKey::Prefix { bits, length };
        let route = Update { packet: 0, offload: "routes".into(), key, value, line: 0 };
        route.apply(&mut store).expect("there is room");
    }
    let keys = (0..128).map(|bit| KEY ^ 1 << bit).chain([KEY]);
    let packet = |key: u128| {
        let bytes = [&key.to_be_bytes()[..], &[0; 48]].concat();
        Packet { ingress: 0, arrival_ns: 0, bytes }
    };
    let packets: Vec<Packet> = keys.map(packet).collect();
    for machine in examples().iter().filter(|machine| ["native", "xdp"].contains(&machine.kind())) {
        agrees(machine, &program, &store, &packets);
    }
}

#[test]
#[ignore = "takes minutes: make test-all"]
fn microengines_of_version_2_keep_what_every_machine_promises() {
    for check in [
        update_between_packets,
        settle_once,
        come_to_the_same_end,
        run_on_from_a_snapshot,
        stay_in_memory,
    ] {
        check(vec![deep("ixp2400")]);
    }
}

/// Runs random programs of the fuzzer on the machines that `takes` selects. Returns the number of
/// agreements and the refusals.
fn random(
    seeds: std::ops::Range<u64>,
    takes: impl Fn(&dyn Configured) -> bool,
) -> (usize, Vec<String>) {
    let machines: Vec<_> =
        all_examples().into_iter().filter(|machine| takes(machine.as_ref())).collect();
    let (mut agreed, mut refused) = (0, Vec::new());
    for seed in seeds {
        let (case, compiled) = case_for_all(seed);
        let compiled = compiled.unwrap_or_else(|failure| panic!("{}", failure.details));
        let program = Program { lowered: compiled.plain, optimised: compiled.optimised };
        let mut store = wireloom_ir::store(&program.optimised).expect("a store");
        case.input.load(&mut store);
        for machine in &machines {
            let name = machine.name();
            // The lines of ixp carry no packet without bytes.
            let carried = |packet: &&Packet| machine.kind() != "ixp" || !packet.bytes.is_empty();
            let packets: Vec<Packet> = case.input.packets.iter().filter(carried).cloned().collect();
            let options = options();
            let contender =
                Contender::new(Arc::clone(machine), &program, &store, &options, &|_| ());
            let mut contender = match contender {
                Ok(contender) => contender,
                Err(error) => {
                    refused.push(format!("{seed} on {name}: {}", error.message));
                    continue;
                }
            };
            let said = !machine.refusals(&program).is_empty();
            assert!(!said, "{seed}: {name} starts with a program that it says it refuses");
            let about = format!("{seed} on {name}\n{}", case.program.text());
            agrees_to_the_end(&mut contender, &program, &packets, &about);
            agreed += 1;
        }
    }
    (agreed, refused)
}

/// Compares `wanted` random programs of these kinds on a network processor, from a seed on: those
/// that `is_wanted` selects.
fn compare_on_network_processor(
    (first, wanted): (u64, usize),
    kinds: Vec<&'static str>,
    is_wanted: fn(&wireloom_ir::Program) -> bool,
) {
    let machine = REGISTRY.find("np-1-2-2").expect("a network processor");
    let (mut agreed, mut refused) = (0, Vec::new());
    for seed in first.. {
        let uses = Uses { kinds: kinds.clone(), engines: false, ..Uses::default() };
        let (case, compiled) = case_of(seed, uses);
        let compiled = compiled.unwrap_or_else(|failure| panic!("{}", failure.details));
        let program = Program { lowered: compiled.plain, optimised: compiled.optimised };
        if !is_wanted(&program.optimised) {
            continue;
        }
        if let Some(refusal) = machine.refusals(&program).first() {
            refused.push(format!("{seed}: {}", refusal.message));
            continue;
        }
        let mut store = empty(&program);
        case.input.load(&mut store);
        let contender = Contender::new(Arc::clone(&machine), &program, &store, &options(), &|_| ());
        let mut contender = contender.unwrap_or_else(|error| panic!("{seed}: {}", error.message));
        let about = format!("{seed}\n{}", case.program.text());
        agrees_to_the_end(&mut contender, &program, &case.input.packets, &about);
        agreed += 1;
        if agreed == wanted {
            break;
        }
    }
    eprintln!("{agreed} agreed, refused were\n{}", refused.join("\n"));
}

#[test]
fn random_programs_do_on_machines_what_they_do_on_golden() {
    on_most_machines(100..106);
}

#[test]
#[ignore = "compiles many engines: make test-all"]
fn more_random_programs_do_on_machines_what_they_do_on_golden() {
    on_most_machines(106..150);
}

fn on_most_machines(seeds: std::ops::Range<u64>) {
    // Kinds that refuse many programs have tests of their own.
    let takes = |machine: &dyn Configured| {
        !machine.capabilities().translates && !["xdp", "ixp", "raw"].contains(&machine.kind())
    };
    let (agreed, refused) = random(seeds, takes);
    assert!(agreed > 4 * refused.len(), "{agreed} agreed, refused were\n{}", refused.join("\n"));
}

#[test]
fn random_programs_do_on_microengines_what_they_do_on_golden() {
    // Seed 102 takes two minutes on version 2.
    on_microengines(103..107);
}

#[test]
#[ignore = "takes minutes: make test-all"]
fn more_random_programs_do_on_microengines_what_they_do_on_golden() {
    on_microengines(107..150);
}

fn on_microengines(seeds: std::ops::Range<u64>) {
    let (agreed, refused) = random(seeds, |machine| machine.kind() == "ixp");
    let says_why =
        |refused: &&String| ["place", "does not fit"].iter().any(|words| refused.contains(words));
    assert_eq!(refused.iter().find(|refused| !says_why(refused)), None);
    eprintln!("{agreed} agreed, refused were\n{}", refused.join("\n"));
    assert!(agreed > refused.len(), "refused were\n{}", refused.join("\n"));
}

#[test]
fn random_programs_do_in_hardware_what_they_do_on_golden() {
    let (agreed, refused) = random(100..103, |machine| machine.capabilities().translates);
    assert!(agreed >= 1, "{agreed} agreed, refused were\n{}", refused.join("\n"));
}

#[test]
#[ignore = "builds a hundred models: make test-all"]
fn more_random_programs_do_in_hardware_what_they_do_on_golden() {
    let (agreed, refused) = random(1000..1100, |machine| machine.capabilities().translates);
    assert!(agreed >= 20, "{agreed} agreed, refused were\n{}", refused.join("\n"));
}

//! C programs from Debian's cross compilers on the machine: receiving, calling, waiting, sending.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use wireloom_isa::{Arm, Compiled, Program, Riscv};
use wireloom_mpsoc::element::ObjectSpec;
use wireloom_mpsoc::spec::Multithreading;
use wireloom_mpsoc::{
    Code, Delivered, Multiprocessor, Objects, Options, Reason, RunError, Spec, Verdict, View,
};
use wireloom_net::Packet;
use wireloom_sim::parts::interconnect::InterconnectSpec;
use wireloom_sim::stats::Value;
use wireloom_sim::wait_graph::Patience;
use wireloom_sim::{Effort, Time, Timeline};

use super::objects::Sums;
use super::{shaped, with_lines};

fn compile<S: Compiled>(name: &str) -> Program {
    let (compiler, flags): (_, &[&str]) = match S::NAME {
        "ARMv4" => ("arm-none-eabi-gcc", &["-march=armv4", "-marm", "-mfloat-abi=soft"]),
        _ => ("riscv64-unknown-elf-gcc", &["-march=rv32im", "-mabi=ilp32"]),
    };
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/mpsoc/programs/{name}.c"));
    // Tests that compile the same program in parallel must not write the same file.
    let thread = std::thread::current().name().unwrap_or("main").replace("::", "-");
    let output =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{thread}-{compiler}-{name}.elf"));
    let result = Command::new(compiler)
        .args(flags)
        .args(["-ffreestanding", "-nostdlib", "-static", "-O2", "-o"])
        .args([&output, &source])
        .output()
        .unwrap_or_else(|error| {
            panic!("'{compiler}' cannot be started ({error}): run `make tools`")
        });
    assert!(result.status.success(), "{}", String::from_utf8_lossy(&result.stderr));
    Program::read(&output).expect("a program")
}

fn machine<S: Compiled>(
    spec: &Spec,
    program: &str,
    packets: Vec<Packet>,
    effort: Effort,
) -> Multiprocessor<Code<S>, Sums> {
    with_options(spec, program, packets, Options { seed: 3, effort, ..Options::default() })
}

fn with_options<S: Compiled>(
    spec: &Spec,
    program: &str,
    packets: Vec<Packet>,
    options: Options,
) -> Multiprocessor<Code<S>, Sums> {
    let objects = Sums::new();
    let code = Code::<S>::new(&compile::<S>(program), spec, objects.interfaces())
        .expect("a program for the machine");
    let mut machine = Multiprocessor::new(spec, code, objects, options).expect("a machine");
    machine.offer(packets);
    machine
}

/// A machine of two processors with jitter.
fn spec() -> Spec {
    let mut spec = with_lines(shaped(2, 6, 60), 1.0);
    if let InterconnectSpec::Channel(channel) = &mut spec.network {
        channel.jitter = 0.25;
    }
    spec
}

/// Packets of 60 to 259 bytes. The first byte is the number modulo `kinds`, all others are the
/// number's low byte.
fn packets(count: u32, kinds: u32) -> Vec<Packet> {
    let packet = |number: u32| {
        let mut bytes = vec![number as u8; 60 + number as usize % 200];
        bytes[0] = (number % kinds) as u8;
        Packet { ingress: 1, arrival_ns: 1000 + u64::from(number), bytes }
    };
    (0..count).map(packet).collect()
}

/// The outputs of `forward.c` for a packet.
fn expected(number: u32, packet: &Packet) -> Vec<(Verdict, Vec<u8>)> {
    let bytes = packet.bytes.clone();
    let table = match bytes[1] & 63 {
        0 => 0x0102_0304,
        17 => 0x5566_7788,
        63 => 7,
        _ => 0u32,
    };
    let reason = |set, number| Reason { set, number };
    match bytes[0] {
        0 => {
            let sum = number.wrapping_add(bytes.len() as u32).wrapping_add(table);
            let mut sent = [&sum.to_be_bytes(), bytes.as_slice()].concat();
            sent[6] = (number + number + 11) as u8;
            vec![(Verdict::Sent { port: 5 }, sent)]
        }
        1 => vec![(Verdict::Dropped(reason(2, 300)), bytes)],
        2 => {
            let mut second = bytes.clone();
            second[2] = 0xee;
            vec![(Verdict::Sent { port: 1 }, bytes), (Verdict::Sent { port: 2 }, second)]
        }
        3 => vec![(Verdict::ToCpu(reason(0, 1)), bytes[..10].to_vec())],
        4 => vec![(Verdict::Gone, bytes)],
        _ => vec![(Verdict::Runaway, bytes)],
    }
}

fn forwards<S: Compiled>(spec: &Spec) {
    let packets = packets(300, 6);
    let run = |effort| {
        let mut machine = machine::<S>(spec, "forward", packets.clone(), effort);
        machine.run(Time::nanoseconds(100_000_000)).unwrap_or_else(|error| panic!("{error}"));
        assert!(machine.is_done());
        machine.delivered()
    };
    let delivered = run(Effort::Active);
    assert_eq!(delivered, run(Effort::Naive));
    let last: Vec<_> = delivered.iter().filter(|packet| packet.is_last).collect();
    let arrivals = last.iter().map(|packet| (packet.number, packet.ingress, packet.arrival_ns));
    assert!(arrivals.eq((0..300).map(|number| (number, 1, 1000 + number))));
    let wanted = (0..).zip(&packets).flat_map(|(number, packet)| {
        expected(number, packet)
            .into_iter()
            .map(move |(verdict, bytes)| (u64::from(number), verdict, bytes))
    });
    let wanted: Vec<_> = wanted.collect();
    let got: Vec<_> = delivered
        .into_iter()
        .map(|Delivered { number, verdict, bytes, .. }| (number, verdict, bytes))
        .collect();
    for (got, wanted) in got.iter().zip(&wanted) {
        assert_eq!(got, wanted);
    }
    assert_eq!(got.len(), wanted.len());
}

#[test]
fn packets_go_through_an_arm_program_and_come_out_as_it_says_in_order() {
    forwards::<Arm>(&spec());
}

#[test]
fn packets_go_through_a_riscv_program_and_come_out_as_it_says_in_order() {
    forwards::<Riscv>(&spec());
}

#[test]
fn a_run_stops_at_an_address_of_a_thread() {
    let run = || machine::<Arm>(&spec(), "forward", packets(40, 6), Effort::Naive);
    let until = Time::nanoseconds(30_000);
    // The path of a thread through its program, cycle by cycle.
    let (mut way, mut stepped) = (Vec::new(), run());
    let mut note = |view: &View<'_, Code<Arm>, Sums>| {
        let here = (view.address(1, 2), view.now());
        if way.last().map(|(address, _)| *address) != Some(here.0) {
            way.push(here);
        }
        false
    };
    assert_eq!(stepped.run_to(until, &mut note).expect("it runs"), None);
    assert!(way.len() > 50, "{way:?}");
    // A breakpoint stops at the first visit.
    for place in [1, 10, 40] {
        let (address, _) = way[place];
        let first = way.iter().find(|(other, _)| *other == address).expect("that place itself");
        let mut broken = run();
        broken.run_to(until, |view| view.address(1, 2) == address).expect("it runs");
        assert_eq!(broken.totals().now, first.1, "{address:?}");
    }
    let mut nobody = run();
    assert_eq!(nobody.run_to(until, |view| view.address(9, 0).is_some()).expect("it runs"), None);
}

/// Compares the times that threads report, and all statistics, with and without run-ahead.
fn peeks<S: Compiled>(spec: &Spec) {
    let run = |effort| {
        let mut machine = machine::<S>(spec, "peek", packets(100, 6), effort);
        // The statistics also agree at intermediate points, at the edge of a cycle and next to it.
        let mut counted = Vec::new();
        for until in [500, 3_001, 3_002, 9_990, 20_001, 100_000_000] {
            machine.run(Time::nanoseconds(until)).unwrap_or_else(|error| panic!("{error}"));
            let record = machine.record();
            counted.push(
                record.value("platform").map(|record| serde_json::to_string(record).expect("JSON")),
            );
        }
        (machine.delivered(), counted)
    };
    let (delivered, counted) = run(Effort::Active);
    assert_eq!((&delivered, &counted), (&run(Effort::Naive).0, &run(Effort::Naive).1));
    let looks =
        delivered.iter().map(|packet| u32::from(packet.bytes[2]) | u32::from(packet.bytes[3]) << 8);
    assert!(looks.clone().sum::<u32>() > 100, "{:?}", looks.collect::<Vec<_>>());
    assert_eq!(delivered.len(), 100);
}

#[test]
fn threads_see_replies_when_they_come_and_not_when_they_look_ahead() {
    let mut spec = spec();
    peeks::<Arm>(&spec);
    peeks::<Riscv>(&spec);
    spec.processor.multithreading = Multithreading::Blocking;
    peeks::<Arm>(&spec);
    // Without jitter many events coincide.
    spec = with_lines(shaped(3, 5, 60), 2.0);
    peeks::<Riscv>(&spec);
    spec.network =
        toml::from_str("kind = \"channel\"\nlatency_ns = 60\njitter = 0.25\nkeep_order = true")
            .expect("a network");
    peeks::<Arm>(&spec);
}

#[test]
fn packets_that_are_offered_later_come_later_and_calls_without_replies_are_made() {
    let packets = packets(40, 6);
    let (first, second) = packets.split_at(25);
    let mut machine = machine::<Arm>(&spec(), "forward", first.to_vec(), Effort::Active);
    machine.run(Time::nanoseconds(100_000_000)).unwrap_or_else(|error| panic!("{error}"));
    assert!(machine.is_done());
    let middle = machine.totals().now;
    machine.offer(second.to_vec());
    assert!(!machine.is_done());
    machine.run(Time::nanoseconds(200_000_000)).unwrap_or_else(|error| panic!("{error}"));
    let delivered = machine.delivered();
    let later = delivered.iter().position(|packet| packet.number == 25).expect("it was offered");
    assert!(delivered.is_sorted_by_key(|packet| packet.number) && delivered[later].at > middle);
    assert_eq!(delivered.last().map(|packet| packet.number), Some(39));
    let mut kept = machine.objects().kept.clone();
    kept.sort_unstable();
    assert!(kept.iter().copied().eq(0..40));
}

#[test]
fn packets_that_are_lost_are_told_by_their_numbers() {
    let mut spec = with_lines(shaped(1, 1, 160), 10.0);
    spec.io.input.queue_packets = 4;
    spec.io.packets = 8;
    let mut machine = machine::<Riscv>(&spec, "call", packets(100, 1), Effort::Active);
    assert_eq!(machine.to_come(), 99);
    machine.run(Time::nanoseconds(100_000_000)).unwrap_or_else(|error| panic!("{error}"));
    let lost = machine.lost();
    assert!(lost.len() > 50 && lost.is_sorted(), "{lost:?}");
    let mut all: Vec<u64> =
        machine.delivered().iter().map(|packet| packet.offered).chain(lost).collect();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..100));
    assert_eq!((machine.to_come(), machine.lost().len()), (0, 0));
}

#[test]
fn a_blocking_processor_and_caches_of_a_line_change_times_and_nothing_else() {
    let mut spec = spec();
    spec.processor.multithreading = Multithreading::Blocking;
    forwards::<Arm>(&spec);
    spec.processor.multithreading = Multithreading::Barrel;
    for cache in [&mut spec.processor.instruction_cache, &mut spec.processor.data_cache] {
        (cache.bytes, cache.line_bytes, cache.ways) = (16, 16, 1);
    }
    forwards::<Riscv>(&spec);
}

#[test]
fn an_object_carries_as_many_calls_as_its_ports_begin() {
    for (ports, mcalls) in [(1, 10.0), (2, 20.0)] {
        let mut spec = with_lines(shaped(4, 16, 20), 40.0);
        spec.io.input.queue_packets = 1 << 20;
        let element =
            ObjectSpec { latency: Time::nanoseconds(150), interval: Time::nanoseconds(100), ports };
        spec.object.insert("sums".to_owned(), element);
        let packets =
            (0..2000).map(|_| Packet { ingress: 0, arrival_ns: 0, bytes: vec![0; 64] }).collect();
        let mut machine = machine::<Arm>(&spec, "call", packets, Effort::Active);
        machine.run(Time::nanoseconds(10_000_000)).unwrap_or_else(|error| panic!("{error}"));
        let delivered = machine.delivered();
        assert!(delivered.iter().all(|packet| packet.verdict == Verdict::Sent { port: 6 }));
        let rate = |from: usize, to: usize| {
            (to - from) as f64 / (delivered[to].at - delivered[from].at).as_seconds() / 1e6
        };
        let measured = rate(500, 1999);
        assert!(
            (measured / mcalls - 1.0).abs() < 0.01,
            "{measured} million calls a second with {ports} ports"
        );
    }
}

#[test]
fn a_program_that_fits_its_caches_misses_each_line_once_a_processor() {
    let misses = |count| {
        let mut machine = machine::<Arm>(&spec(), "forward", packets(count, 6), Effort::Active);
        machine.run(Time::nanoseconds(100_000_000)).unwrap_or_else(|error| panic!("{error}"));
        let record = machine.record();
        ["instruction", "data"].map(|cache| {
            match record.value(&format!("platform.processors.0.caches.{cache}.read_misses")) {
                Some(Value::Count(count)) => *count,
                other => panic!("{cache}: {other:?}"),
            }
        })
    };
    // The program is below 1 KiB, its table 256 bytes. After 300 packets each line has been loaded.
    let [instructions, data] = misses(600);
    assert!((8..=32).contains(&instructions) && (8..=32).contains(&data), "{instructions}, {data}");
    assert_eq!(misses(1200), [instructions, data]);
}

#[test]
fn exceptions_name_the_thread_the_instruction_and_the_cause() {
    let causes = [
        (0, "it is read-only"),
        (1, "the device has refused it"),
        (2, "the device has refused it"),
        (3, "nothing answers there"),
        (4, "nothing answers there"),
        (5, "the device has refused it"),
        (6, "nothing answers there"),
        (
            7,
            "a null pointer: load of a word at 0x00000014: nothing answers there, and nothing lies below 0x",
        ),
        (8, "and the stack has the 2240 bytes from 0x10000740 on"),
    ];
    for (kind, cause) in causes {
        let mut bytes = vec![0; 64];
        bytes[0] = kind;
        let run = |effort| {
            let packets = vec![Packet { ingress: 0, arrival_ns: 0, bytes: bytes.clone() }];
            let mut of_arm = machine::<Arm>(&spec(), "fault", packets.clone(), effort);
            let mut of_riscv = machine::<Riscv>(&spec(), "fault", packets, effort);
            let until = Time::nanoseconds(1_000_000);
            [
                (of_arm.run(until).unwrap_err().to_string(), of_arm.totals().now),
                (of_riscv.run(until).unwrap_err().to_string(), of_riscv.totals().now),
            ]
        };
        let got = run(Effort::Active);
        assert_eq!(got, run(Effort::Naive));
        for (text, _) in got {
            assert!(text.starts_with("processor ") && text.contains(" thread "), "{kind}: {text}");
            assert!(
                text.contains(if kind == 8 { " (deepen" } else { " (main+0x" }),
                "{kind}: {text}"
            );
            assert!(text.contains(cause), "{kind}: {text}");
        }
    }
}

#[test]
fn a_thread_that_never_ends_is_told_as_stuck() {
    let packets = vec![Packet { ingress: 0, arrival_ns: 0, bytes: vec![9; 64] }];
    let busy = Time::nanoseconds(10_000_000);
    let patience = Patience { busy, ..Options::default().patience };
    let options = Options { patience, ..Options::default() };
    let mut machine = with_options::<Arm>(&spec(), "fault", packets, options);
    // The run is in steps, as `run` and `verify` simulate.
    let mut pieces = (1..=1000).map(|piece| machine.run(Time::nanoseconds(20_000 * piece)));
    let Some(Err(RunError::Stuck(stuck))) = pieces.find(Result::is_err) else {
        panic!("not stuck")
    };
    assert!(!stuck.is_silent && stuck.outstanding == 1, "{stuck}");
    assert!(stuck.at >= busy && stuck.at < Time::nanoseconds(11_000_000), "{stuck}");
}

/// The spans of each track in a written timeline: start, end and label, times in picoseconds.
fn spans(timeline: &Timeline) -> BTreeMap<u64, Vec<(u64, u64, String)>> {
    let mut text = Vec::new();
    timeline.write_trace(&mut text).expect("it is written to memory");
    let trace: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let mut spans = BTreeMap::<u64, Vec<_>>::new();
    for event in
        trace["traceEvents"].as_array().expect("events").iter().filter(|event| event["ph"] == "X")
    {
        let picoseconds = |key: &str| (event[key].as_f64().expect("a time") * 1e6).round() as u64;
        let begin = picoseconds("ts");
        let what = event["name"].as_str().expect("a name").to_owned();
        let track = spans.entry(event["tid"].as_u64().expect("a track")).or_default();
        track.push((begin, begin + picoseconds("dur"), what));
    }
    spans
}

#[test]
fn spans_of_a_thread_on_the_timeline_do_not_overlap() {
    // Threads share the lines of small caches, so that a line arrives while the instructions that
    // wait for it are still in the pipeline.
    let mut spec = spec();
    spec.processor.stages = 16;
    spec.processor.instruction_cache.bytes = 128;
    spec.processor.data_cache.bytes = 32;
    spec.processor.data_cache.ways = 1;
    for multithreading in [Multithreading::Barrel, Multithreading::Blocking] {
        spec.processor.multithreading = multithreading;
        let timeline = Timeline::within(Time::ZERO, Time::nanoseconds(1_000_000), 1_000_000);
        let options = Options { timeline, ..Options::default() };
        let mut machine = with_options::<Arm>(&spec, "forward", packets(100, 6), options);
        machine.run(Time::nanoseconds(1_000_000)).unwrap_or_else(|error| panic!("{error}"));
        let tracks = spans(machine.timeline());
        assert_eq!(tracks.len(), 12, "a track for each thread");
        for (track, mut spans) in tracks {
            spans.sort();
            assert!(spans.len() > 50, "{track}: {spans:?}");
            for pair in spans.windows(2) {
                assert!(pair[0].1 <= pair[1].0, "track {track}: {:?} and {:?}", pair[0], pair[1]);
            }
        }
    }
}

#[test]
fn programs_that_do_not_fit_the_machine_are_refused() {
    let program = compile::<Arm>("call");
    let refused = Code::<Riscv>::new(&program, &spec(), &[]).unwrap_err();
    assert!(refused.contains("compiled for ARM"), "{refused}");
    let mut writable = program.clone();
    writable.segments[0].is_writable = true;
    assert!(
        Code::<Arm>::new(&writable, &spec(), &[])
            .unwrap_err()
            .contains("the program has variables")
    );
    let mut high = program;
    high.segments[0].address = 0x1000_0000;
    assert!(
        Code::<Arm>::new(&high, &spec(), &[])
            .unwrap_err()
            .contains("beyond the start of the local stores")
    );
}

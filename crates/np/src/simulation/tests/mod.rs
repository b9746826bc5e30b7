//! Tests of the harness with a machine that sends packets back (`echo.sv`).

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use wireloom_bits::Bits;
use wireloom_install::Cache;
use wireloom_ir::{Reason, ReasonSetId, Verdict};
use wireloom_net::Packet;

use super::*;
use crate::description::Reset;
use crate::processor::{File, templates::with_reset};

/// Returns the echo machine with this many lanes. It is built once for all test runs.
fn echo(lanes: usize, waves: bool) -> Model {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let options = BuildOptions { waves, optimise: 0, jobs: 1, ..BuildOptions::default() };
    build(&echo_source(lanes), &options, &mut |_| ()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the SystemVerilog of the echo machine.
fn echo_source(lanes: usize) -> Source {
    let text = include_str!("echo.sv").replace("`LANES", &lanes.to_string());
    let level =
        |lane| Probe { name: format!("lane{lane}"), kind: "level".to_owned(), bits: 3, most: 3 };
    let busy = Probe { name: "input".to_owned(), kind: "busy".to_owned(), bits: 1, most: 1 };
    let geometry = Geometry {
        lanes,
        ports: None,
        user_bits: 80,
        arrival: true,
        memory_ratio: 3,
        probes: std::iter::once(busy).chain((0..lanes).map(level)).collect(),
        routers: None,
        clearing: 2000,
        longest_pause: 700,
    };
    let file = |name: &str, text| File { name: name.to_owned(), text, unit: None };
    let template = |name: &str, text| file(name, with_reset(text, Reset::Synchronous));
    let sequencer = include_str!("../../../../../hardware/np/wl_sequencer.sv");
    let control = include_str!("../../../../../hardware/np/wl_axil_control.sv");
    Source {
        files: vec![
            file("wl_pkg.sv", include_str!("../../../../../hardware/wl_pkg.sv").to_owned()),
            template("wl_sequencer.sv", sequencer),
            template("wl_axil_control.sv", control),
            file("echo.sv", text),
        ],
        top: "echo".to_owned(),
        blocks: vec!["echo_lane".to_owned()],
        geometry,
        followed: None,
    }
}

/// Returns settings with which each lane accepts one beat per `interval` cycles.
fn taking(interval: u32) -> Settings {
    Settings { arguments: vec![format!("+interval={interval}")], ..Settings::default() }
}

/// Returns a packet that begins with these bytes, extended to `length` bytes that depend on its
/// number.
fn packet(number: usize, start: &[u8], length: usize) -> Packet {
    let mut bytes = start.to_vec();
    bytes.extend((start.len()..length).map(|i| (i * 7 + number * 13) as u8));
    Packet { ingress: (number % 1000) as u16, arrival_ns: 0, bytes }
}

/// Returns packets of many lengths and fates.
fn assorted(count: usize) -> Vec<Packet> {
    (0..count)
        .map(|i| match i % 7 {
            1 => packet(i, &[1, 2, 3, 4], 60),
            2 => packet(i, &[2], 40),
            3 => packet(i, &[3], 64),
            4 => packet(i, &[4], 100),
            5 => packet(i, &[0], 1500 - i % 200),
            _ => packet(i, &[0], 1 + i % 131),
        })
        .collect()
}

/// The properties that tests compare: number, fate, egress port, reason and bytes.
type Told = (u64, Fate, u16, (u8, u16), Vec<u8>);

/// Returns the expected outputs of the echo machine for a packet.
fn expected(number: u64, packet: &Packet) -> Vec<Told> {
    let sent = |fate| (number, fate, packet.ingress, (0, 0), packet.bytes.clone());
    match packet.bytes[0] {
        1 => vec![(number, Fate::Dropped, 0, (2, 0x0304), Vec::new())],
        2 => vec![sent(Fate::Emitted), sent(Fate::Finished)],
        3 => vec![sent(Fate::ToCpu)],
        4 => vec![(number, Fate::Done, 0, (0, 0), Vec::new())],
        _ => vec![sent(Fate::Finished)],
    }
}

fn finish(simulation: &mut Simulation) -> Vec<Departure> {
    simulation.run(1_000_000).expect("it works");
    assert_eq!((simulation.state().inside, simulation.state().waiting), (0, 0));
    std::iter::from_fn(|| simulation.take()).collect()
}

#[test]
fn packets_come_back_in_order_whatever_the_pauses() {
    for lanes in [1, 2] {
        let model = echo(lanes, false);
        for (idle_percent, stall_percent) in [(0, 0), (30, 0), (0, 40), (60, 60)] {
            let settings =
                Settings { idle_percent, stall_percent, buffer: 4, ..Settings::default() };
            let mut simulation = Simulation::start(&model, &settings).expect("it starts");
            let packets = assorted(200);
            packets.iter().for_each(|packet| simulation.offer(packet, Arrival::Waiting));
            let left = finish(&mut simulation);
            let got: Vec<_> = left
                .iter()
                .map(|left| (left.number, left.fate, left.egress, left.reason, left.bytes.clone()))
                .collect();
            let wanted: Vec<_> =
                (0..).zip(&packets).flat_map(|(number, packet)| expected(number, packet)).collect();
            assert_eq!(
                got, wanted,
                "{lanes} lanes, {idle_percent} % idle, {stall_percent} % stalled"
            );
            assert!(
                left.iter().all(|left| left.arrived <= left.entered && left.entered < left.left)
            );
        }
    }
}

#[test]
fn a_machine_is_offered_a_beat_each_cycle_on_each_lane() {
    for lanes in [1, 2] {
        let mut simulation =
            Simulation::start(&echo(lanes, false), &Settings::default()).expect("it starts");
        let mut meter = Meter::default();
        (0..1000).for_each(|i| simulation.offer(&packet(i, &[0], 64), Arrival::Waiting));
        finish(&mut simulation).iter().for_each(|left| meter.note(left));
        assert_eq!(meter.rate(), Some(lanes as f64));
        assert_eq!((meter.latency().least, meter.latency().most), (1, 1));
    }
}

#[test]
#[ignore = "takes long: make test-all"]
fn what_a_slow_machine_cannot_take_is_lost_at_the_input() {
    // Two lanes that accept a packet every four cycles are offered one packet per cycle. Half of
    // the packets are lost, except for those that the buffer and the lanes hold at the end.
    let settings = Settings { buffer: 2, ..taking(4) };
    let mut simulation = Simulation::start(&echo(2, false), &settings).expect("it starts");
    let packets: Vec<_> = (0..1000).map(|i| packet(i, &[0], 64)).collect();
    let mut pacer = Pacer::new(Pace::PerCycle(1.0));
    packets.iter().for_each(|packet| simulation.offer(packet, pacer.next(0)));
    let left = finish(&mut simulation);
    let lost: Vec<u64> = std::iter::from_fn(|| simulation.take_lost()).collect();
    assert_eq!(left.len() + lost.len(), 1000);
    assert_eq!(simulation.state().lost, lost.len() as u64);
    assert!((490..=506).contains(&left.len()), "{}", left.len());
    let mut numbers: Vec<u64> = left.iter().map(|left| left.number).chain(lost).collect();
    assert!(left.windows(2).all(|pair| pair[0].number < pair[1].number), "in order");
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..1000), "each packet left or was lost, once");

    // At half that rate no packet is lost.
    let mut simulation = Simulation::start(&echo(2, false), &settings).expect("it starts");
    let mut pacer = Pacer::new(Pace::PerCycle(0.5));
    packets.iter().for_each(|packet| simulation.offer(packet, pacer.next(0)));
    assert_eq!(finish(&mut simulation).len(), 1000);
}

#[test]
fn packets_arrive_in_their_cycle() {
    let mut simulation =
        Simulation::start(&echo(1, false), &Settings::default()).expect("it starts");
    for (i, cycle) in [5, 5, 6, 40, 1_000_000_000].into_iter().enumerate() {
        simulation.offer(&packet(i, &[0], 64), Arrival::At(cycle));
    }
    let left = finish(&mut simulation);
    let cycles: Vec<_> = left.iter().map(|left| (left.arrived, left.entered, left.left)).collect();
    let late = 1_000_000_000;
    assert_eq!(cycles, [(5, 5, 6), (5, 6, 7), (6, 7, 8), (40, 40, 41), (late, late, late + 1)]);
    // The simulation skips cycles in which the machine is idle.
    assert!(simulation.state().cycles < 3000);
    assert_eq!(simulation.state().now, late + 2);
}

#[test]
fn the_arrival_time_goes_with_the_packet() {
    let mut simulation =
        Simulation::start(&echo(2, false), &Settings::default()).expect("it starts");
    for arrival_ns in [0, 7, 0, 0x1_0000] {
        simulation.offer(&Packet { arrival_ns, ..packet(0, &[0], 64) }, Arrival::Waiting);
    }
    let reasons: Vec<_> = finish(&mut simulation).iter().map(|left| left.reason.1).collect();
    assert_eq!(reasons, [0, 5, 0, 5]);
}

#[test]
fn the_control_port_works_while_packets_flow() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let image: PathBuf = folder.path().join("image.hex");
    fs::write(&image, "11 22 33 44 55 66 77 88\n").expect("a temporary file");
    let mut settings = taking(4);
    settings.arguments.push(format!("+wl_image_Echo={}", image.display()));
    let mut simulation = Simulation::start(&echo(1, false), &settings).expect("it starts");
    (0..100).for_each(|i| simulation.offer(&packet(i, &[0], 64), Arrival::Waiting));
    let read = |address| Access::Read { address };
    let words = simulation.control(&[
        read(8),
        Access::Write { address: 8, data: 7 },
        read(8),
        read(32),
        read(36),
    ]);
    let words = words.expect("it answers");
    assert_eq!(words[..4], [0x33, 0, 7, 3]);
    assert!(words[4] < 50, "packets are still on their way: {}", words[4]);
    assert_eq!(finish(&mut simulation).len(), 100);
    assert_eq!(simulation.control(&[read(36)]), Ok(vec![100]));
    let refused = simulation.control(&[read(44)]).expect_err("there is no such word");
    assert!(refused.to_string().contains("refuses"), "{refused}");
}

#[test]
fn a_command_without_answer_is_an_error() {
    const BASE: u32 = 4096;
    let mut simulation =
        Simulation::start(&echo(1, false), &Settings::default()).expect("it starts");
    let value = Bits::new(32, 1);
    // Addresses are the cycles after which target 1 answers; commands fail after 300.
    assert_eq!(simulation.write_entry_at(BASE, 1, 290, &value), Ok(()));
    for (target, address) in [(1, 310), (2, 0), (3, 0)] {
        let failed = simulation.write_entry_at(BASE, target, address, &value);
        let message = failed.expect_err("the target does not answer in time").to_string();
        assert!(message.contains(&format!("target {target} does not answer")), "{message}");
    }
    let entries = |numbers: &[u32]| {
        numbers.iter().map(|number| Bits::new(32, u128::from(2 * number))).collect::<Vec<_>>()
    };
    let read = [290, 7, 0];
    assert_eq!(simulation.read_entries_at(BASE, 1, &read), Ok(entries(&read)));
    // Each command of a batch can fail, not only the last one.
    let failed = simulation.read_entries_at(BASE, 1, &[7, 310, 8]);
    assert!(failed.is_err(), "{failed:?}");
}

#[test]
fn probes_add_up() {
    let mut simulation = Simulation::start(&echo(2, false), &taking(2)).expect("it starts");
    (0..100).for_each(|i| simulation.offer(&packet(i, &[0], 64), Arrival::Waiting));
    finish(&mut simulation);
    let probes = simulation.probes();
    // Each lane holds each of its 50 packets for a cycle. The input of two lanes is busy for about
    // a hundred cycles.
    assert_eq!(probes[1..], [50, 50]);
    assert!((99..=101).contains(&probes[0]), "{}", probes[0]);
}

#[test]
fn packets_are_dealt_to_the_lanes_by_bytes() {
    // A single lane could take the packets of the first case.
    for (lengths, pace) in [([64, 64], 1.0), ([64, 1500], 0.16)] {
        let mut simulation = Simulation::start(&echo(2, false), &taking(1)).expect("it starts");
        let mut pacer = Pacer::new(Pace::PerCycle(pace));
        let packets = (0..100).map(|i| packet(i, &[0], lengths[i % 2]));
        packets.for_each(|packet| simulation.offer(&packet, pacer.next(0)));
        assert_eq!(finish(&mut simulation).len(), 100);
        // Each lane holds each of its beats for a cycle.
        let beats = &simulation.probes()[1..];
        let all: u64 = lengths.map(|length| 50 * (length as u64).div_ceil(64)).iter().sum();
        assert_eq!(beats[0] + beats[1], all, "{lengths:?}");
        assert!(beats[0].abs_diff(beats[1]) <= 24, "{lengths:?}: {beats:?}");
    }
}

#[test]
fn cycles_without_packets_at_both_ends_are_not_in_use() {
    let mut simulation = Simulation::start(&echo(2, false), &taking(2)).expect("it starts");
    simulation.rest(500).expect("it runs");
    (0..100).for_each(|i| simulation.offer(&packet(i, &[0], 64), Arrival::Waiting));
    finish(&mut simulation);
    let state = simulation.state();
    let (probes, in_use) = (simulation.probes_in_use(), state.cycles - state.outside);
    assert_eq!(probes[1..], [50, 50]);
    assert!((100..130).contains(&in_use), "100 packets on two lanes, not {in_use} cycles");
    simulation.rest(1000).expect("it runs");
    let later = simulation.state();
    assert_eq!(later.cycles - later.outside, in_use, "cycles after the last packet");
    assert_eq!(simulation.probes_in_use(), probes);
    // A pause between packets counts.
    simulation.offer(&packet(100, &[0], 64), Arrival::Waiting);
    finish(&mut simulation);
    let last = simulation.state();
    assert!(last.cycles - last.outside > in_use + 1000, "{last:?}");
}

#[test]
fn an_execution_tells_the_whole_story_of_each_packet_in_order() {
    let settings = Settings { idle_percent: 10, ..taking(3) };
    for (pace, loses) in
        [(Pace::Most, false), (Pace::PerCycle(0.01), false), (Pace::PerCycle(0.5), true)]
    {
        let simulation =
            Simulation::start(&echo(2, false), &Settings { buffer: 1, ..settings.clone() });
        let mut execution = Execution::new(simulation.expect("it starts"), pace, 0);
        let packets = assorted(3000);
        let mut told: Vec<Resolved> = Vec::new();
        for batch in packets.chunks(700) {
            execution
                .feed(&batch.iter().map(Packet::frame).collect::<Vec<_>>(), &mut |resolved| {
                    told.push(resolved)
                })
                .expect("it works");
        }
        execution.finish(&mut |resolved| told.push(resolved)).expect("it works");
        assert!(told.iter().map(|resolved| resolved.number).eq(0..3000));
        for (resolved, packet) in told.iter().zip(&packets) {
            assert_eq!(resolved.ingress, packet.ingress);
            let Some(left) = &resolved.left else { continue };
            let got: Vec<Told> = left
                .iter()
                .map(|left| (left.number, left.fate, left.egress, left.reason, left.bytes.clone()))
                .collect();
            assert_eq!(got, expected(resolved.number, packet));
        }
        let lost = told.iter().filter(|resolved| resolved.left.is_none()).count();
        assert_eq!(lost > 0, loses, "{lost} lost at {pace:?}");
        let report = execution.report();
        assert_eq!(report.counts[1].lost, lost as u64);
        assert!(
            report.packets_per_cycle.is_some_and(|rate| rate > 0.005 && rate < 0.5),
            "{report:?}"
        );
        assert!(report.uses.iter().all(|part| part.share > 0.0 && part.share <= 1.0), "{report:?}");
    }
}

#[test]
fn what_left_is_told_as_all_machines_tell_it() {
    let left = |fate, reason| Departure {
        number: 7,
        fate,
        egress: 5,
        reason,
        bytes: vec![1, 2],
        arrived: 0,
        entered: 0,
        left: 9,
    };
    let all = vec![
        left(Fate::Emitted, (0, 0)),
        left(Fate::Dropped, (1, 3)),
        left(Fate::ToCpu, (0xff, 0)),
        left(Fate::Done, (0, 0)),
    ];
    let resolved = Resolved { number: 7, ingress: 2, arrival_ns: 9, left: Some(all) };
    let verdicts: Vec<_> =
        resolved.outputs().map(|output| (output.sequence, output.verdict)).collect();
    let reason = Reason::Program(ReasonSetId(1), 3);
    let wanted =
        [Verdict::Sent { port: 5 }, Verdict::Dropped(reason), Verdict::ToCpu(Reason::Runaway)];
    assert_eq!(verdicts, wanted.map(|verdict| (7, verdict)));
}

#[test]
fn what_stops_the_model_is_an_error_and_not_the_end() {
    let model = echo(1, false);
    let fault = |first: u8| {
        let settings = Settings { patience: 500, ..Settings::default() };
        let mut simulation = Simulation::start(&model, &settings).expect("it starts");
        simulation.offer(&packet(0, &[0], 64), Arrival::Waiting);
        simulation.offer(&packet(1, &[first], 64), Arrival::Waiting);
        let fault = simulation.run(10_000).expect_err("it stops");
        assert_eq!(simulation.run(1), Err(fault.clone()), "it stays stopped");
        assert_eq!(simulation.take().map(|left| left.number), Some(0), "what left before is there");
        fault.to_string()
    };
    assert!(fault(5).contains("asked to stop"), "{}", fault(5));
    // The longest pause of a table counts as progress.
    assert!(fault(6).contains("no progress for 1200 cycles, with 0 packets in it"), "{}", fault(6));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let model = echo(2, false);
    let run = |seed| {
        let settings =
            Settings { idle_percent: 30, stall_percent: 30, seed, ..Settings::default() };
        let mut simulation = Simulation::start(&model, &settings).expect("it starts");
        assorted(50).iter().for_each(|packet| simulation.offer(packet, Arrival::Waiting));
        finish(&mut simulation)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
#[ignore = "takes long: make test-all"]
fn waves_are_written_on_request() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("echo.fst");
    let settings = Settings { waves: Some(path.clone()), ..Settings::default() };
    let mut simulation = Simulation::start(&echo(1, true), &settings).expect("it starts");
    simulation.offer(&packet(0, &[0], 640), Arrival::Waiting);
    assert_eq!(finish(&mut simulation).len(), 1);
    drop(simulation);
    assert!(fs::metadata(&path).expect("the waves").len() > 1000);
}

#[test]
fn why_a_design_is_wrong_is_in_a_file() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = "module bad(input logic clk_i);\n  assign nothing = clk_i\nendmodule\n".to_owned();
    let file = File { name: "folder/bad.sv".to_owned(), text, unit: None };
    let geometry = Geometry {
        lanes: 1,
        ports: None,
        user_bits: 16,
        arrival: false,
        memory_ratio: 0,
        probes: Vec::new(),
        routers: None,
        clearing: 0,
        longest_pause: 0,
    };
    let source = Source {
        files: vec![file],
        top: "bad".to_owned(),
        blocks: Vec::new(),
        geometry,
        followed: None,
    };
    let cache = folder.path().join("cache");
    let options = BuildOptions { cache: Cache::at(&cache), ..BuildOptions::default() };
    let error = build(&source, &options, &mut |_| ()).err().expect("it is refused").to_string();
    let log = cache.join("failed.log");
    assert!(error.contains(&*log.to_string_lossy()) && error.contains("bad.sv:3"), "{error}");
    assert!(fs::read_to_string(&log).expect("the log").contains("bad.sv:3"));
    let left: Vec<_> = fs::read_dir(&cache)
        .expect("the cache")
        .map(|e| e.expect("an entry").file_name())
        .collect();
    assert_eq!(left, ["failed.log"], "nothing else is left");
}

#[test]
fn a_model_that_is_damaged_is_built_anew() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = echo_source(1);
    let standard = BuildOptions::default();
    let options =
        BuildOptions { cache: Cache::at(folder.path()), optimise: 0, jobs: 1, ..standard };
    let built = || {
        let mut steps = 0;
        build(&source, &options, &mut |_| steps += 1).expect("it builds");
        steps > 0
    };
    assert!(built() && !built());
    let entry = fs::read_dir(folder.path())
        .expect("the cache")
        .flatten()
        .find(|entry| entry.path().is_dir());
    let object = entry.expect("an entry").path().join("np_model.so");
    let whole = fs::read(&object).expect("the model");
    // A loaded library must not change, so the damaged file replaces it.
    fs::remove_file(&object).expect("it is there");
    fs::write(&object, &whole[..whole.len() / 2]).expect("truncated");
    assert!(built() && !built());
    assert_eq!(fs::read(&object).expect("the model").len(), whole.len());
}

#[test]
fn a_trial_begins_and_ends_with_an_empty_machine() {
    let settings = Settings { buffer: 2, ..taking(4) };
    let mut simulation = Simulation::start(&echo(2, false), &settings).expect("it starts");
    let packets: Vec<_> = (0..1000).map(|i| packet(i, &[0], 64)).collect();
    // Two lanes that accept a packet every four cycles process at most half a packet per cycle. The
    // losses of one trial do not count in the next one.
    for (pace, rate, lost) in [
        (Pace::Most, 0.5, 0..=0),
        (Pace::PerCycle(1.0), 0.5, 495..=510),
        (Pace::PerCycle(0.25), 0.25, 0..=0),
    ] {
        let trial = simulation.trial(&packets, pace, OnLoss::Count).expect("it works");
        let measured = trial.packets_per_cycle.expect("enough packets");
        assert!((measured - rate).abs() < 0.01, "{pace:?}: {measured}");
        assert!(lost.contains(&trial.lost), "{pace:?}: {} lost", trial.lost);
        assert_eq!(trial.sent + trial.lost, 1000);
        assert!(trial.used("busy") <= 1.0 && trial.used("busy") > 0.0);
    }
    let many: Vec<_> = packets.iter().cycle().take(5000).cloned().collect();
    let stopped = simulation.trial(&many, Pace::PerCycle(1.0), OnLoss::Stop).expect("it works");
    assert!(stopped.lost > 0 && stopped.offered < 2000, "{} offered", stopped.offered);
    let free = simulation.trial(&many, Pace::PerCycle(0.25), OnLoss::Stop).expect("it works");
    assert_eq!((free.lost, free.sent), (0, 5000));
}

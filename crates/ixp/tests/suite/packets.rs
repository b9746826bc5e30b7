//! Packets through line cards, FIFOs and a hand-written program, behind the machine interface.

use std::path::Path;

use wireloom_ir::{Output, Reason, ReasonSetId, Verdict};
use wireloom_isa::microengine::Image;
use wireloom_ixp::{Ixp, Options, Processor, Program, Spec};
use wireloom_machine::{Machine, Settled};
use wireloom_net::Frame;
use wireloom_offloads::Store;

fn assembled(file: &str) -> Image {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(&path).expect("a program");
    let folder = path.parent().expect("a folder").to_owned();
    let mut read =
        |file: &Path| std::fs::read_to_string(folder.join(file)).map_err(|error| error.to_string());
    let options = wireloom_microcode::Options::default();
    wireloom_microcode::assemble(file, &text, &options, &mut read)
        .unwrap_or_else(|refused| panic!("{:?}", refused.diagnostics))
}

fn spec(change: impl FnOnce(&mut Spec)) -> Spec {
    let mut spec = Spec::base();
    spec.ports.count = 4;
    change(&mut spec);
    spec
}

fn reasons() -> Vec<Reason> {
    (0..4).map(|number| Reason::Program(ReasonSetId(0), number)).collect()
}

fn machine(spec: &Spec) -> Ixp {
    let program = Program::load(assembled("tests/programs/forward.uc"), 2048).expect("it loads");
    // One engine, with a context for each port.
    let processor = Processor::new(spec, vec![(program, 0b1111)], &Options::default());
    Ixp::new(processor.expect("a machine"), Store::default(), reasons())
}

/// Packets of many lengths on all ports. The first byte selects the verdict.
fn packets(count: usize) -> Vec<(u16, Vec<u8>)> {
    let packet = |number: usize| {
        let length = [60, 64, 65, 128, 129, 590, 1514][number % 7];
        let mut bytes: Vec<u8> = (0..length).map(|at| (at * 7 + number) as u8).collect();
        bytes[0] = [0xaa, 0xaa, 0xaa, 0xdd, 0xaa, 0xcc][number % 6];
        ((number % 4) as u16, bytes)
    };
    (0..count).map(packet).collect()
}

type Departure = (u64, u16, Verdict, Vec<u8>);

fn run(machine: &mut Ixp, packets: &[(u16, Vec<u8>)]) -> (Vec<Departure>, Settled) {
    let frames: Vec<Frame<'_>> = packets
        .iter()
        .enumerate()
        .map(|(number, (ingress, bytes))| Frame {
            ingress: *ingress,
            arrival_ns: 5_000 + 200_000 * number as u64,
            bytes,
        })
        .collect();
    let mut left = Vec::new();
    let mut keep = |output: Output<'_>| {
        left.push((output.sequence, output.ingress, output.verdict, output.bytes.to_vec()));
    };
    let mut settled = machine.offer(&frames, &mut keep).expect("it runs");
    settled.extend(&machine.finish(&mut keep).expect("it runs"));
    (left, settled)
}

#[test]
fn packets_of_all_lengths_leave_whole_in_their_order() {
    let packets = packets(42);
    let mut machine = machine(&spec(|_| {}));
    let (left, settled) = run(&mut machine, &packets);
    assert_eq!(settled.taken.len(), 42);
    assert!(settled.lost.is_empty());
    let order: Vec<u64> = left.iter().map(|(number, ..)| *number).collect();
    assert_eq!(order, settled.taken.iter().collect::<Vec<u64>>(), "the order of the chip");
    let reason = |number| Reason::Program(ReasonSetId(0), number);
    for (number, ingress, verdict, bytes) in left {
        let (port, sent) = &packets[number as usize];
        assert_eq!(ingress, *port);
        let expected = match sent[0] {
            0xdd => (Verdict::Dropped(reason(2)), Vec::new()),
            0xcc => (Verdict::ToCpu(reason(1)), sent.clone()),
            _ => (Verdict::Sent { port: port ^ 1 }, sent.clone()),
        };
        assert_eq!((verdict, bytes), expected, "packet {number}");
    }
}

#[test]
fn two_runs_are_equal_to_the_last_cycle() {
    let once = || {
        let mut machine = machine(&spec(|_| {}));
        run(&mut machine, &packets(20));
        (machine.processor().now(), machine.processor().work())
    };
    assert_eq!(once(), once());
}

#[test]
fn a_port_that_has_no_room_loses_packets_and_says_so() {
    let spec = spec(|spec| {
        spec.ports.receive_mpkts = 24;
        spec.ports.rate = 10_000_000_000;
        spec.ports.pace = wireloom_sim::parts::line::Pace::Line;
    });
    let mut machine = machine(&spec);
    let packets = packets(60);
    let (left, settled) = run(&mut machine, &packets);
    assert!(settled.lost.len() > 10, "{:?}", settled.lost);
    assert_eq!(settled.lost.len() + settled.taken.len(), 60);
    assert_eq!(left.len(), settled.taken.len());
    let record = machine.record(std::time::Duration::from_millis(1)).expect("a record");
    let line = |name: &str| {
        record.lines.iter().find(|line| line.name == name).map(|line| line.text.clone())
    };
    assert_eq!(line("lost at input"), Some(format!("{} packets", settled.lost.len())));
    assert!(record.parts.iter().any(|part| part.kind == "ix bus" && part.share > 0.0));
}

#[test]
fn a_program_that_takes_no_packets_is_found_stuck() {
    let spec = spec(|_| {});
    let processor = Processor::new(&spec, Vec::new(), &Options::default()).expect("a machine");
    let mut machine = Ixp::new(processor, Store::default(), reasons());
    let bytes = [0; 64];
    let frame = Frame { ingress: 0, arrival_ns: 0, bytes: &bytes };
    machine.offer(&[frame], &mut |_| {}).expect("it waits");
    let error = machine.finish(&mut |_| {}).expect_err("nobody takes it");
    assert!(error.message.contains("1 packets do not get on: no context runs"), "{error}");
}

#[test]
fn a_packet_on_a_port_that_is_not_there_is_refused() {
    let mut machine = machine(&spec(|_| {}));
    let frame = Frame { ingress: 4, arrival_ns: 0, bytes: &[0; 64] };
    let error = machine.offer(&[frame], &mut |_| {}).expect_err("there are four");
    assert_eq!(error.message, "packet 0 comes on port 4: the machine has 4, from 0");
}

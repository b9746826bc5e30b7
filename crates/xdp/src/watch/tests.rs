//! Tests that need root with the right to load BPF programs, and gcc for BPF. Otherwise they print
//! a warning and test only the form of events.

use std::sync::Arc;

use wireloom_codegen_c::bpf::{Comparison, Header, Test};
use wireloom_ir as ir;
use wireloom_lang::check_source;

use super::*;
use crate::{Interface, Limits, Live};

#[test]
fn an_event_is_read_as_it_was_written() {
    let mut record = Vec::new();
    record.extend([7u64, 9].iter().flat_map(|word| word.to_ne_bytes()));
    // The words are point, processor, port, egress, window, rest, room, verdict, reasons, value.
    let words = [1u32, 3, 2, 2, 3, 2, 8, 1, 0, 0];
    record.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
    assert_eq!(record.len(), EVENT);
    record.extend(b"abc.....deXX");
    let event = Event::read(&record).expect("an event");
    assert_eq!((event.place, event.now_ns, event.sequence), (Place::Out, 7, 9));
    assert_eq!((event.processor, event.port), (3, 2));
    assert_eq!(event.verdict, Some(Verdict::Sent { port: 2 }));
    assert_eq!(event.bytes, b"abcde");
    assert!(Event::read(&record[..EVENT + 9]).is_none(), "cut off");
    record[16] = 9;
    assert!(Event::read(&record).is_none(), "no such point");
}

/// Sends frames with an even first byte to port 1 with another first byte, and drops others.
const SOURCE: &str = "\
    header Head { u8 first; u8 rest; };\n\
    enum Reason : u8 { ODD, LOCAL };\n\
    engine e() {\n\
        step s {\n\
            Head head @ 0;\n\
            if ((head.first & 1) == 1) drop(ODD);\n\
            if (head.first == 6) to_cpu(LOCAL);\n\
            head.first = 0xaa;\n\
            packet.egress = 1;\n\
            finish;\n\
        }\n\
    }\n";

/// Loads the engine for two ports. Returns `None` after a warning if this computer does not allow
/// it.
fn loaded() -> Option<(Program, Live, Arc<InKernel>)> {
    let checked = check_source("e.loom", SOURCE, &Default::default());
    let source = checked.program.as_ref().unwrap_or_else(|| {
        panic!("{}", wireloom_lang::render(&checked.diagnostics, &checked.sources, false))
    });
    let program = Program::new(source);
    let store = ir::store(&program.optimised).expect("offloads");
    // The programs are not attached, so any interface will do.
    let ports = ["lo", "lo"].map(|name| Interface { name: name.into(), index: 1 });
    match Live::new(&program, store, &ports, &Limits::default(), &|_| ()) {
        Ok((live, kernel)) => Some((program, live, kernel)),
        Err(error) => {
            eprintln!("warning: nothing was tested: {error}");
            None
        }
    }
}

/// Returns the packets that a watch passes on for frames that arrive at port 0.
fn passed_on(
    (program, _, kernel): &(Program, Live, Arc<InKernel>),
    watch: &Watch,
    frames: &[Vec<u8>],
) -> Vec<Event> {
    let (watched, mut events) = kernel.watch(program, watch).expect("programs");
    let mut output = vec![0; 70_000];
    for frame in frames {
        kernel::trial(&watched.0[0], frame, &mut output).expect("a trial");
    }
    let mut all = Vec::new();
    events.read(usize::MAX, |event| all.push(event));
    assert_eq!(events.lost().expect("a count"), 0);
    all
}

fn frame(first: u8, length: usize) -> Vec<u8> {
    (0..length).map(|at| if at == 0 { first } else { at as u8 }).collect()
}

#[test]
fn packets_are_passed_on_at_each_place_as_they_are_there() {
    let points = [Place::In, Place::Out, Place::Cpu, Place::Drop, Place::End];
    let watch = Watch { points: points.map(Place::bit).iter().sum(), filter: Test::All };
    let frames = [frame(2, 64), frame(3, 200), frame(6, 1500), frame(2, 3000)];
    let Some(loaded) = loaded() else { return };
    let events = passed_on(&loaded, &watch, &frames);
    let places: Vec<Place> = events.iter().map(|event| event.place).collect();
    use Place::{Cpu, Drop, End, In, Out};
    assert_eq!(places, [In, End, Out, In, End, Drop, In, End, Cpu, In, End, Out]);
    let reason = |value| Reason::Program(ReasonSetId(0), value);
    let verdicts = [
        (0, Verdict::Sent { port: 1 }),
        (1, Verdict::Dropped(reason(0))),
        (2, Verdict::ToCpu(reason(1))),
        (3, Verdict::Sent { port: 1 }),
    ];
    for (number, verdict) in verdicts {
        let arrived = &frames[number];
        let left = match verdict {
            Verdict::Sent { .. } => [&[0xaa], &arrived[1..]].concat(),
            _ => arrived.clone(),
        };
        let [first, end, last] = &events[3 * number..3 * number + 3] else { panic!("three") };
        assert!(first.verdict.is_none() && first.bytes == *arrived && first.port == 0);
        assert!(end.verdict == Some(verdict) && end.bytes == left, "{number}");
        assert!(last.verdict == Some(verdict) && last.bytes == left, "{number}");
        assert_eq!(last.port, u16::from(last.place == Out));
        assert!(first.sequence == end.sequence && end.sequence == last.sequence);
        assert!(first.now_ns > 0 && first.now_ns == last.now_ns);
    }
}

/// Returns an IPv4 packet with UDP after a VLAN tag.
fn udp(destination: [u8; 4], port: u16) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x81, 0, 0, 100, 8, 0, 0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1]);
    frame.extend(destination);
    frame.extend([0, 9]);
    frame.extend(port.to_be_bytes());
    frame.resize(64, 0);
    frame
}

/// Returns an IPv6 packet whose hop-by-hop options do not end in the window.
fn cut() -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 1, 0, 0, 64]);
    frame.resize(14 + 40, 0);
    frame.extend([17, 20]);
    frame.resize(300, 0);
    frame
}

#[test]
fn a_filter_keeps_other_packets_away() {
    let number = |header, comparison, value| Test::Number(header, comparison, value);
    let address = |version, bits, rest, is_inside| Test::Address {
        is_destination: true,
        version,
        bits,
        rest,
        is_inside,
    };
    let both = |left, right| Test::Both(Box::new(left), Box::new(right));
    let frames = [udp([10, 0, 2, 2], 53), udp([10, 0, 3, 2], 54), frame(2, 64), cut()];
    let tests = [
        (address(4, 0x0a00_0202, 0, true), vec![0]),
        (address(4, 0x0a00_0300, 8, true), vec![1]),
        (address(4, 0x0a00_0300, 8, false), vec![0]),
        (address(4, 0, 32, true), vec![0, 1]),
        (address(6, 0, 128, true), vec![]),
        (number(Header::L4Dst, Comparison::Greater, 53), vec![1]),
        (number(Header::L4Dst, Comparison::NotEqual, 54), vec![0]),
        (
            both(Test::Has(Header::VlanId), number(Header::VlanId, Comparison::LessOrEqual, 100)),
            vec![0, 1],
        ),
        (Test::Not(Box::new(number(Header::IpProto, Comparison::Equal, 17))), vec![2]),
        (number(Header::IpTtl, Comparison::Less, 64), vec![]),
        (number(Header::EthSrc, Comparison::Equal, 0x0202_0202_0202), vec![0, 1]),
        (number(Header::Length, Comparison::GreaterOrEqual, 64), vec![0, 1, 2]),
        (number(Header::Port, Comparison::Equal, 1), vec![]),
    ];
    let Some(loaded) = loaded() else { return };
    for (filter, expected) in tests {
        let watch = Watch { points: Place::In.bit(), filter: filter.clone() };
        let events = passed_on(&loaded, &watch, &frames);
        let taken = |event: &Event| frames.iter().position(|frame| *frame == event.bytes);
        let taken: Vec<usize> = events.iter().filter_map(taken).collect();
        // If headers are out of reach, the process decides.
        let expected: Vec<usize> = expected.into_iter().chain([3]).collect();
        assert_eq!(taken, expected, "{filter:?}");
    }
}

#[test]
fn frames_of_each_length_leave_as_they_arrived_but_for_what_was_changed() {
    let Some((program, _live, kernel)) = loaded() else { return };
    let watch = Watch { points: Place::Drop.bit(), filter: Test::All };
    let (watched, _events) = kernel.watch(&program, &watch).expect("programs");
    let mut output = vec![0; 4096];
    for length in 14..300 {
        let arrives = frame(2, length);
        let left = kernel::trial(&watched.0[0], &arrives, &mut output).expect("a trial");
        assert_eq!(output[..left], [&[0xaa], &arrives[1..]].concat(), "{length} bytes");
    }
}

//! Packets that vector code executes, sixteen at a time: it does what golden does.

mod support;

use support::ways::{packets, program};
use wireloom_bits::Bits;
use wireloom_ir::builder::{EngineBuilder, ProgramBuilder, config, program_of};
use wireloom_ir::{BinaryOp, Exit, Program, StepId, UnaryOp};
use wireloom_native::Native;
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{Content, Entry, EntryKey, Store};

/// Whether it has the instructions that lanes need.
fn has_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// How many packets of each program were in lanes.
fn in_lanes(programs: &[Program], packets: &[Packet]) -> Vec<u64> {
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    let options = support::options_for_lanes();
    let machines = support::agree_on(programs, &options, &frames, &support::fill_tables);
    machines.iter().map(Native::in_lanes).collect()
}

/// `WIRELOOM_NATIVE_WAYS=FIRST..END` tries other seeds than those of every run.
#[test]
fn random_ways_agree() {
    let range = std::env::var("WIRELOOM_NATIVE_WAYS").unwrap_or_else(|_| "0..40".into());
    let (first, end) = range.split_once("..").expect("FIRST..END");
    let seeds: Vec<u64> =
        (first.parse().expect("a number")..end.parse().expect("a number")).collect();
    let packets = packets(1, 700);
    let mut followed = 0;
    for chunk in seeds.chunks(60) {
        let programs: Vec<Program> = chunk.iter().map(|seed| program(*seed)).collect();
        followed += in_lanes(&programs, &packets).into_iter().filter(|count| *count > 100).count();
    }
    assert!(!has_vectors() || 3 * followed > seeds.len(), "{followed} of {}", seeds.len());
}

/// Steps in a row, each of which leads to the next one or to the one after that: paths of all lengths
/// from half as many steps on, and a single exit that sends packets, at the end of all.
fn forks(forks: usize) -> Program {
    let mut builder = ProgramBuilder::new();
    let reasons = builder.reasons("reason", &["none", "odd"]);
    let mut engine = EngineBuilder::packet("main");
    let sum = engine.context("sum", 32);
    for fork in 0..forks {
        let next = |by: usize| Exit::Next(StepId((fork + by).min(forks) as u32));
        engine.regions(&format!("fork {fork}"), |step| {
            step.next_region();
            let base = step.constant(16, 0);
            let choice = step.read_packet(base, fork as u32, 1);
            let other = step.unary(UnaryOp::Not, choice);
            let (old, three) = (step.read(sum), step.constant(32, 3));
            let product = step.binary(BinaryOp::Mul, old, three);
            let one = step.extend(choice, 32);
            let new = step.binary(BinaryOp::Add, product, one);
            step.write(sum, new);
            step.next_region();
            step.when(choice).exit(next(1));
            step.when(other).exit(next(2));
        });
    }
    engine.regions("end", |step| {
        step.next_region();
        let sum = step.read(sum);
        let base = step.constant(16, 4);
        step.write_packet(base, 0, sum);
        let is_odd = step.slice(sum, 0, 1);
        let is_even = step.unary(UnaryOp::Not, is_odd);
        step.next_region();
        let reason = step.constant(16, 1);
        step.when(is_odd).exit(Exit::Drop(reason, reasons));
        step.when(is_even).exit(Exit::Finish);
    });
    builder.engine(engine);
    builder.build()
}

/// However many paths there are, looking for ways ends; also if all are longer than a way may be.
#[test]
fn looking_for_ways_ends() {
    in_lanes(&[2, 30, 60, 90].map(forks), &packets(1, 100));
}

/// A table with more values than entries of blocks can number has none, and threads search it.
#[test]
fn tables_without_blocks_are_left_to_threads() {
    let mut engine = EngineBuilder::packet("main");
    let table = engine.offload("table", config("lpm", &[("", 32)], &[("", 32)], &[("miss", 1)]));
    engine.regions("only", |step| {
        let base = step.constant(16, 0);
        let key = step.read_packet(base, 0, 32);
        let found = step.call(table, "search", &[key]).expect("a reply");
        step.next_region();
        let base = step.constant(16, 4);
        step.write_packet(base, 0, found);
        step.next_region();
        step.exit(Exit::Finish);
    });
    let programs = [program_of(engine)];
    let packets = packets(1, 300);
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    for (values, are_in_lanes) in [(100, has_vectors()), (40_000, false)] {
        let load = |store: &mut Store| {
            let slot = store.find_mut("table").expect("the table");
            let Content::Kind { instance, .. } = &mut slot.content else { unreachable!("a kind") };
            for value in 1..=values {
                let key = EntryKey::Prefix { bits: Bits::new(32, value << 12), length: 20 };
                instance.load(Entry { key, value: Bits::new(32, value) }).expect("room");
            }
        };
        let options = support::options_for_lanes();
        let machines = support::agree_on(&programs, &options, &frames, &load);
        assert_eq!(machines[0].in_lanes() > 0, are_in_lanes, "{values} values");
    }
}

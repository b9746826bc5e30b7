//! Checks that vector code, which executes sixteen packets at a time, agrees with golden.

use crate::support;
use crate::support::random::Random;
use crate::support::ways::{edits, packets, program};
use wireloom_bits::Bits;
use wireloom_ir::builder::{EngineBuilder, ProgramBuilder, StepBuilder, config, program_of};
use wireloom_ir::{BinaryOp, Exit, Program, StepId, UnaryOp, Value};
use wireloom_native::{BuildOptions, Native};
use wireloom_net::packet::MAX_LENGTH;
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{Content, Entry, EntryKey, Store};

/// Whether the processor has the instructions that lanes need.
fn has_vectors() -> bool {
    #[cfg(target_arch = "x86_64")]
    return is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Returns the number of packets of each program that were in lanes.
fn in_lanes(programs: &[Program], packets: &[Packet]) -> Vec<u64> {
    in_lanes_with(programs, packets, &support::fill_tables)
}

/// Returns the same counts with tables that `load` fills.
fn in_lanes_with(programs: &[Program], packets: &[Packet], load: &dyn Fn(&mut Store)) -> Vec<u64> {
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    let machines = support::agree_on(programs, &support::options_for_lanes(), &frames, load);
    machines.iter().map(Native::in_lanes).collect()
}

/// `WIRELOOM_NATIVE_WAYS=FIRST..END` sets other seeds.
#[test]
fn random_ways_agree() {
    ways_agree(&support::seeds("WIRELOOM_NATIVE_WAYS", 0..12));
}

#[test]
#[ignore = "takes minutes: make test-all"]
fn many_random_ways_agree() {
    ways_agree(&(12..200).collect::<Vec<_>>());
}

fn ways_agree(seeds: &[u64]) {
    let packets = packets(1, 700);
    let mut followed = 0;
    for chunk in seeds.chunks(60) {
        let programs: Vec<Program> = chunk.iter().map(|seed| program(*seed)).collect();
        followed += in_lanes(&programs, &packets).into_iter().filter(|count| *count > 100).count();
    }
    assert!(!has_vectors() || 3 * followed > seeds.len(), "{followed} of {}", seeds.len());
}

/// Compares engines that insert and remove bytes. Returns the number of engines with packets in
/// lanes.
fn edits_agree(seeds: &[u64], options: &BuildOptions) -> usize {
    let packets = edits::packets(1, 330);
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    let mut followed = 0;
    for chunk in seeds.chunks(60) {
        let programs: Vec<Program> = chunk.iter().map(|seed| edits::program(*seed)).collect();
        let machines = support::agree_on(&programs, options, &frames, &|_| ());
        followed += machines.iter().filter(|machine| machine.in_lanes() > 100).count();
    }
    followed
}

/// `WIRELOOM_NATIVE_EDITS=FIRST..END` sets other seeds.
#[test]
fn random_edits_agree() {
    let seeds = support::seeds("WIRELOOM_NATIVE_EDITS", 0..20);
    let followed = edits_agree(&seeds, &support::options_for_lanes());
    assert!(!has_vectors() || 3 * followed > seeds.len(), "{followed} of {}", seeds.len());
    edits_agree(&seeds[..seeds.len() / 3], &support::options());
}

#[test]
#[ignore = "takes minutes: make test-all"]
fn many_random_edits_agree() {
    let seeds: Vec<u64> = (1_000..1_600).collect();
    for options in [support::options_for_lanes(), support::options()] {
        edits_agree(&seeds, &options);
    }
}

/// Applies every operator that lanes support to two fields of `width` bits, and writes the results
/// after them.
fn operators(width: u32) -> Program {
    use BinaryOp as B;
    let mut engine = EngineBuilder::packet("main");
    engine.regions("only", |step| {
        step.next_region();
        let (first, second) = (step.constant(16, 0), step.constant(16, 8));
        let (a, b) = (step.read_packet(first, 0, width), step.read_packet(second, 0, width));
        let ops = [B::Add, B::Sub, B::Mul, B::And, B::Or, B::Xor, B::Eq, B::Ne, B::Ult, B::Ule];
        let mut results: Vec<Value> = ops.map(|op| step.binary(op, a, b)).into();
        results.extend([UnaryOp::Not, UnaryOp::Neg].map(|op| step.unary(op, a)));
        for by in [1, width - 1, width] {
            let by = step.constant(8, by.into());
            results.extend([B::Shl, B::Lshr].map(|op| step.binary(op, a, by)));
        }
        if (2..=32).contains(&width) {
            let by = step.slice(b, 0, width.min(8));
            results.extend([B::Shl, B::Lshr].map(|op| step.binary(op, a, by)));
        }
        let condition = step.slice(b, width / 2, 1);
        results.push(step.select(condition, a, b));
        results.push(step.concat(&[a, condition]));
        let behind = step.constant(16, 16);
        let mut bit = 0;
        for result in results {
            step.write_packet(behind, bit, result);
            bit += step.width(result);
        }
        step.next_region();
        step.exit(Exit::Finish);
    });
    program_of(engine)
}

#[test]
fn operators_agree() {
    let programs = [1, 2, 7, 8, 16, 31, 32, 33, 40, 63].map(operators);
    let random = &mut Random(5);
    let packet = |index: u64| {
        let masks = [0xff, 0xff, 0x81, 0x01, 0x00];
        let bytes = (0..200).map(|_| random.next() as u8 & random.of(&masks)).collect();
        Packet { ingress: 0, arrival_ns: index, bytes }
    };
    let packets: Vec<Packet> = (0..640).map(packet).collect();
    let followed = in_lanes(&programs, &packets);
    assert!(!has_vectors() || followed.iter().all(|count| *count >= 600), "{followed:?}");
}

/// Returns a row of steps. Each leads to the next step or to the one after it, and only the last
/// one sends packets. There are paths of every length from half the number of steps up.
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

/// The search for ways ends for any number of paths, even if all paths exceed the length of a way.
#[test]
fn looking_for_ways_ends() {
    in_lanes(&[2, 30, 60, 90].map(forks), &packets(1, 100));
}

/// One condition of each guard is constant: a context variable that is never written is zero.
#[test]
fn guards_with_a_known_condition_agree() {
    let mut engine = EngineBuilder::packet("main");
    let unwritten = engine.context("unwritten", 1);
    engine.regions("only", |step| {
        step.next_region();
        let known = step.read(unwritten);
        let base = step.constant(16, 0);
        let fields = [0, 1, 2].map(|bit| step.read_packet(base, bit, 1));
        for (at, is_known_first) in [(8, true), (9, false)] {
            for holds in [false, true] {
                let known = if holds { step.unary(UnaryOp::Not, known) } else { known };
                let [first, second, third] = fields;
                let (first, second) = if is_known_first { (known, first) } else { (second, known) };
                let both = step.binary(BinaryOp::And, first, second);
                let guard = step.binary(BinaryOp::And, both, third);
                let base = step.constant(16, at + 4 * u128::from(holds));
                let value = step.constant(8, 0x55);
                step.when(guard).write_packet(base, 0, value);
            }
        }
        step.next_region();
        step.exit(Exit::Finish);
    });
    let followed = in_lanes(&[program_of(engine)], &packets(1, 300));
    assert!(!has_vectors() || followed[0] > 0);
}

/// Returns a program of one step.
fn edited(edit: impl FnOnce(&mut StepBuilder<'_>)) -> Program {
    let mut engine = EngineBuilder::packet("main");
    engine.regions("only", |step| {
        step.next_region();
        edit(step);
        step.next_region();
        step.exit(Exit::Finish);
    });
    program_of(engine)
}

/// A removal moves the byte from which later writes count. They leave two bytes as inserted.
#[test]
fn bytes_between_two_writes_are_zero() {
    let program = edited(|step| {
        let [front, second, pushed, popped] = [0, 4, 8, 2].map(|count| step.constant(16, count));
        let value = step.read_packet(front, 0, 32);
        step.insert(front, pushed);
        step.write_packet(front, 0, value);
        step.remove(front, popped);
        step.write_packet(second, 0, value);
    });
    let followed = in_lanes(&[program], &packets(1, 300));
    assert!(!has_vectors() || followed[0] > 0);
}

/// The last bytes that are inserted in front have less room than the runtime clears at once.
#[test]
fn windows_grow_to_the_longest() {
    let program = edited(|step| {
        let front = step.constant(16, 0);
        for count in [16, 16, 16, 16, 16, 16, 16, 15, 1] {
            let count = step.constant(16, count);
            step.insert(front, count);
        }
    });
    let followed = in_lanes(&[program], &edits::packets(1, 300));
    assert!(!has_vectors() || followed[0] > 0);
}

/// The way depends on a field that the step changes under a condition. It must read the field after
/// the change.
#[test]
fn fields_are_not_read_before_they_change() {
    let mut builder = ProgramBuilder::new();
    let reasons = builder.reasons("reason", &["none", "other"]);
    let mut engine = EngineBuilder::packet("main");
    engine.regions("only", |step| {
        step.next_region();
        let (base, value) = (step.constant(16, 0), step.constant(8, 0));
        let before = step.read_packet(base, 8, 1);
        step.when(before).write_packet(base, 0, value);
        let after = step.read_packet(base, 0, 1);
        let differs = step.binary(BinaryOp::Xor, before, after);
        let agrees = step.unary(UnaryOp::Not, differs);
        step.next_region();
        let reason = step.constant(16, 1);
        step.when(differs).exit(Exit::Drop(reason, reasons));
        step.when(agrees).exit(Exit::Finish);
    });
    builder.engine(engine);
    in_lanes(&[builder.build()], &packets(1, 300));
}

/// Returns a program that looks up a field of `width` bits, and writes the value after it.
fn search(width: u32) -> Program {
    let mut engine = EngineBuilder::packet("main");
    let table = config("lpm", &[("", width)], &[("", 32)], &[("miss", 1)]);
    let table = engine.offload("table", table);
    engine.regions("only", |step| {
        let base = step.constant(16, 0);
        let key = step.read_packet(base, 0, width);
        let found = step.call(table, "search", &[key]).expect("a reply");
        step.next_region();
        let base = step.constant(16, 16);
        step.write_packet(base, 0, found);
        step.next_region();
        step.exit(Exit::Finish);
    });
    program_of(engine)
}

/// Fills the table of [`search`].
fn fill(store: &mut Store, prefixes: &[(Bits, u32)]) {
    let slot = store.find_mut("table").expect("the table");
    let Content::Kind { instance, .. } = &mut slot.content else { unreachable!("a kind") };
    for ((bits, length), value) in prefixes.iter().zip(1..) {
        let key = EntryKey::Prefix { bits: bits.clone(), length: *length };
        instance.load(Entry { key, value: Bits::new(32, value) }).expect("room");
    }
}

/// Prefixes inside others down to single addresses, and packets for addresses in and next to them.
#[test]
fn searches_agree_at_every_depth() {
    let random = &mut Random(9);
    for width in [19, 24, 25, 31, 32, 33, 48, 64, 100, 128] {
        let mut prefixes = Vec::new();
        let mut packets = Vec::new();
        for _ in 0..40 {
            let address = Bits::from_words(width, &[random.next(), random.next()]);
            let mut length = random.below(18) as u32;
            while length < width {
                length = (length + 1 + random.below(9) as u32).min(width);
                prefixes.push((address.lshr(width - length).shl(width - length), length));
                for _ in 0..4 {
                    let other = Bits::new(width, 1).shl(random.below(width as usize) as u32);
                    let key = if random.chance(3) { address.clone() } else { address.xor(&other) };
                    let mut bytes = key.resize(128).shl(128 - width).to_bytes();
                    bytes.resize(60, 0);
                    packets.push(Packet { ingress: 0, arrival_ns: 0, bytes });
                }
            }
        }
        let load = |store: &mut Store| fill(store, &prefixes);
        let followed = in_lanes_with(&[search(width)], &packets, &load);
        assert_eq!(followed[0] > 0, has_vectors(), "{width} bits");
    }
}

/// A table with more values than block entries can number has no blocks, and threads search it.
#[test]
fn tables_without_blocks_are_left_to_threads() {
    let packets = packets(1, 300);
    for (values, are_in_lanes) in [(100, has_vectors()), (40_000, false)] {
        let prefix = |value: u128| (Bits::new(32, value << 12), 20);
        let prefixes: Vec<(Bits, u32)> = (1..=values).map(prefix).collect();
        let load = |store: &mut Store| fill(store, &prefixes);
        let followed = in_lanes_with(&[search(32)], &packets, &load);
        assert_eq!(followed[0] > 0, are_in_lanes, "{values} values");
    }
}

/// Frames may be longer than the longest packet. The excess is cut off.
#[test]
fn frames_are_cut_at_the_longest_packet() {
    let bytes = |index: u8| (0..MAX_LENGTH + 5).map(|at| index ^ at as u8).collect();
    let packet = |index: u8| Packet { ingress: 0, arrival_ns: 0, bytes: bytes(index) };
    let packets: Vec<Packet> = (0..64).map(packet).collect();
    let followed = in_lanes(&[operators(8)], &packets);
    assert!(!has_vectors() || followed[0] > 0);
}

/// Packets of these programs must not overtake each other, as they would between lanes and threads.
#[test]
fn packets_that_keep_their_order_have_no_lanes() {
    for name in ["nat.loom", "flowcount.loom"] {
        let followed = in_lanes(&[support::compiled(name)], &packets(1, 300));
        assert_eq!(followed, [0], "{name}");
    }
}

//! Tables that packets change. Threads prepare and look up before their turn. The result must be
//! the same as if packets were executed one after the other.

use crate::support::agree;
use crate::support::random::Random;
use wireloom_codegen_c::generate;
use wireloom_ir::builder::{EngineBuilder, ProgramBuilder, StepBuilder, config, program_of};
use wireloom_ir::{BinaryOp, Exit, Program, StepId, UnaryOp, Value};
use wireloom_net::Packet;
use wireloom_offloads::{Content, Entry, EntryKey, Instance, Store};

/// The number of table entries, large enough for prefetching.
const SIZE: u64 = 300;

/// The elements of an array that no cache line holds.
const FAR: u64 = 2000;

/// The steps after the one that looks up, and before the one that changes the table.
#[derive(Clone, Copy, PartialEq)]
enum Between {
    Nothing,
    /// A step that reads an array, and then some that do the same: packets end there, write
    /// themselves without a change of the table, or come back to the first of them.
    Reads,
    /// A second step that looks up.
    Looks,
}

/// Looks up a key. If it is found, the value names the key of the second step. The third byte
/// selects how that step changes the table. Some values drop the packet at once.
fn program(age: u64, between: Between, [look, mid, act, write]: [&str; 4]) -> Program {
    let mut builder = ProgramBuilder::new();
    let reasons = builder.reasons("Reason", &["A"]);
    let mut engine = EngineBuilder::packet("early");
    let params = [("size", SIZE), ("age", age)];
    let table = engine.offload("table", config("exact", &[("", 16)], &[("", 40)], &params));
    let other = engine.offload("other", config("exact", &[("", 16)], &[("", 40)], &params));
    let found = engine.context("found", 1);
    let second = engine.context("second", 16);
    let rounds = engine.context("rounds", 8);
    let far = engine.offload("far", config("array", &[], &[("", 16)], &[("size", FAR)]));
    engine.regions(look, |step| {
        let start = step.constant(16, 0);
        let key = step.read_packet(start, 0, 16);
        let reply = step.call(table, "lookup", &[key]).expect("a reply");
        let beside = step.call(other, "lookup", &[key]).expect("a reply");
        step.next_region();
        let is_found = step.slice(reply, 40, 1);
        let named = step.slice(reply, 0, 16);
        let next = step.select(is_found, named, key);
        let is_beside = step.slice(beside, 40, 1);
        let both = step.binary(BinaryOp::Xor, is_found, is_beside);
        step.write(found, both);
        step.write(second, next);
        step.next_region();
        let low = step.slice(reply, 16, 3);
        let five = step.constant(3, 5);
        let is_five = step.binary(BinaryOp::Eq, low, five);
        let others = step.unary(UnaryOp::Not, is_five);
        let reason = step.constant(16, 0);
        step.when(is_five).exit(Exit::Drop(reason, reasons));
        step.when(others).exit(Exit::Next(StepId(1)));
    });
    if between == Between::Reads {
        engine.regions(mid, |step| {
            let key = step.read(second);
            let index = step.extend(key, 32);
            let value = step.call(far, "read", &[index]).expect("a reply");
            step.next_region();
            let before = step.read(rounds);
            let one = step.constant(8, 1);
            let more = step.binary(BinaryOp::Add, before, one);
            step.write(rounds, more);
            let both = step.binary(BinaryOp::Xor, value, key);
            step.write(second, both);
            step.next_region();
            let way = step.slice(value, 0, 3);
            let three = step.constant(8, 3);
            let is_early = step.binary(BinaryOp::Ult, before, three);
            let is = |step: &mut StepBuilder<'_>, number: u128| -> Value {
                let number = step.constant(3, number);
                step.binary(BinaryOp::Eq, way, number)
            };
            let (again, drop, write) = (is(step, 1), is(step, 2), is(step, 3));
            let again = step.binary(BinaryOp::And, again, is_early);
            let goes = step.unary(UnaryOp::Not, again);
            let drop = step.binary(BinaryOp::And, drop, goes);
            let write = step.binary(BinaryOp::And, write, goes);
            let ends = step.binary(BinaryOp::Or, drop, write);
            let stays = step.unary(UnaryOp::Not, ends);
            let acts = step.binary(BinaryOp::And, stays, goes);
            let reason = step.constant(16, 0);
            step.when(again).exit(Exit::Next(StepId(1)));
            step.when(drop).exit(Exit::Drop(reason, reasons));
            step.when(write).exit(Exit::Next(StepId(3)));
            step.when(acts).exit(Exit::Next(StepId(2)));
        });
    }
    if between == Between::Looks {
        engine.regions(mid, |step| {
            let key = step.read(second);
            let reply = step.call(table, "lookup", &[key]).expect("a reply");
            step.next_region();
            let is_found = step.slice(reply, 40, 1);
            let named = step.slice(reply, 8, 16);
            let next = step.select(is_found, named, key);
            step.write(second, next);
            step.next_region();
            step.exit(Exit::Next(StepId(2)));
        });
    }
    engine.regions(act, |step| {
        let start = step.constant(16, 0);
        let key = step.read(second);
        let value = step.read_packet(start, 24, 40);
        let act = step.read_packet(start, 16, 8);
        let is = |step: &mut StepBuilder<'_>, number: u128| -> Value {
            let number = step.constant(8, number);
            step.binary(BinaryOp::Eq, act, number)
        };
        let mut replies = Vec::new();
        for (number, (offload, method)) in [
            (table, "insert"),
            (table, "update"),
            (table, "accumulate"),
            (table, "remove"),
            (table, "touch"),
            (other, "insert"),
            (other, "remove"),
        ]
        .into_iter()
        .enumerate()
        {
            let guard = is(step, number as u128);
            let has_value = !matches!(method, "remove" | "touch");
            let arguments = if has_value { vec![key, value] } else { vec![key] };
            replies.extend(step.when(guard).call(offload, method, &arguments));
        }
        let aged = step.call(table, "age", &[key]).expect("a reply");
        let long = step.read_packet(start, 64, 64);
        let expires = is(step, 7);
        replies.extend(step.when(expires).call(table, "expire", &[long]));
        step.next_region();
        let before = step.read(found);
        replies.extend([aged, before]);
        let all = step.concat(&replies);
        step.write_packet(start, 128, all);
        step.next_region();
        step.exit(Exit::Finish);
    });
    if between == Between::Reads {
        engine.regions(write, |step| {
            let key = step.read(second);
            let index = step.extend(key, 32);
            let value = step.call(far, "read", &[index]).expect("a reply");
            step.next_region();
            let start = step.constant(16, 0);
            step.write_packet(start, 160, value);
            let before = step.read(found);
            step.write_packet(start, 176, before);
            step.next_region();
            step.exit(Exit::Finish);
        });
    }
    builder.engine(engine);
    builder.build()
}

/// Returns packets with few keys, so that packets of a batch share some. The third byte, which
/// selects the act, is constant for a burst of packets, or random.
fn packets(seed: u64, keys: usize) -> Vec<Packet> {
    let random = &mut Random(seed);
    let mut act = 0;
    (0..4000)
        .map(|index| {
            if random.chance(20) {
                act = random.below(12);
            }
            let mut bytes = vec![0; 120];
            let key = random.below(keys) as u16;
            bytes[..2].copy_from_slice(&key.to_be_bytes());
            bytes[2] = if act < 8 { act as u8 } else { random.below(9) as u8 };
            // The value names a key.
            bytes[3..6].fill(random.below(256) as u8);
            bytes[6..8].copy_from_slice(&(random.below(keys) as u16).to_be_bytes());
            bytes[8 + 6..16].copy_from_slice(&(random.below(400) as u16).to_be_bytes());
            // Times mostly increase.
            let arrival_ns = index * 3 + random.below(40) as u64;
            Packet { ingress: 0, arrival_ns, bytes }
        })
        .collect()
}

fn instance<'a>(store: &'a mut Store, path: &str) -> &'a mut dyn Instance {
    let slot = store.find_mut(path).expect("it is there");
    let Content::Kind { instance, .. } = &mut slot.content else { panic!("a kind") };
    instance.as_mut()
}

fn load(store: &mut Store) {
    let bits = |width, value| wireloom_bits::Bits::new(width, value);
    for key in [3u128, 7, 11] {
        let entry = Entry { key: EntryKey::Exact(bits(16, key)), value: bits(40, key + 1) };
        instance(store, "table").load(entry).expect("there is room");
    }
    for index in 0..FAR {
        let value = bits(16, u128::from(index.wrapping_mul(0x9e37_79b9) >> 7 & 0x3ff));
        instance(store, "far").load(Entry { key: EntryKey::Index(index), value }).expect("room");
    }
}

#[test]
fn what_is_looked_up_early_holds_at_the_packets_turn() {
    for between in [Between::Nothing, Between::Reads, Between::Looks] {
        // The names of steps are words that the generated code also uses.
        let programs = [
            (0, ["look", "mid", "act", "write"]),
            (60, ["calls", "settle", "save", "execute"]),
            (900, ["reach", "kept", "passed", "close"]),
        ]
        .map(|(age, names)| program(age, between, names));
        let code = &generate(&programs[0]).files[0].1;
        assert!(code.contains("early_turn(m, t, state, before)"));
        assert_eq!(code.contains("early_settle(t, early_mid_reply"), between != Between::Nothing);
        let of = [(1, 6), (2, 40), (3, 250), (4, 700), (5, 2)];
        let packets: Vec<Packet> =
            of.iter().flat_map(|&(seed, keys)| packets(seed, keys)).collect();
        agree(&programs, &packets, &load);
    }
}

/// Searches prefixes, and then adds the packet's value to that of its key, whose sum it gets.
fn behind_a_search() -> Program {
    let mut engine = EngineBuilder::packet("behind");
    let routes = engine.offload("routes", config("lpm", &[("", 32)], &[("", 16)], &[("miss", 1)]));
    let table = config("exact", &[("", 16)], &[("", 40)], &[("size", SIZE)]);
    let table = engine.offload("table", table);
    let found = engine.context("found", 16);
    engine.regions("find", |step| {
        let start = step.constant(16, 0);
        let address = step.read_packet(start, 0, 32);
        let reply = step.call(routes, "search", &[address]).expect("a reply");
        step.next_region();
        step.write(found, reply);
        step.next_region();
        step.exit(Exit::Next(StepId(1)));
    });
    engine.regions("put", |step| {
        let start = step.constant(16, 0);
        let key = step.read_packet(start, 32, 16);
        let value = step.read_packet(start, 48, 40);
        let reply = step.call(table, "accumulate", &[key, value]).expect("a reply");
        step.next_region();
        let found = step.read(found);
        let width = step.width(reply);
        let reply = step.extend(reply, width.next_multiple_of(8));
        let all = step.concat(&[found, reply]);
        step.write_packet(start, 96, all);
        step.next_region();
        step.exit(Exit::Finish);
    });
    program_of(engine)
}

/// Some packets need more accesses to find their prefix than the others of their batch, which have
/// the same few keys.
#[test]
fn packets_keep_their_order_behind_searches_of_different_depth() {
    let random = &mut Random(5);
    let deep = 0x0a01_0203u32;
    let packet = |number: u64| {
        let address = if random.chance(4) { deep ^ random.below(8) as u32 } else { 0x1400_0000 };
        let mut bytes = address.to_be_bytes().to_vec();
        bytes.extend((random.below(6) as u16).to_be_bytes());
        bytes.extend(&number.to_be_bytes()[3..]);
        bytes.resize(64, 0);
        Packet { ingress: 0, arrival_ns: number, bytes }
    };
    let packets: Vec<Packet> = (0..4000).map(packet).collect();
    let load = |store: &mut Store| {
        for length in 8..=32 {
            let bits =
                wireloom_bits::Bits::new(32, u128::from(deep >> (32 - length) << (32 - length)));
            let value = wireloom_bits::Bits::new(16, u128::from(length));
            let key = EntryKey::Prefix { bits, length };
            instance(store, "routes").load(Entry { key, value }).expect("there is room");
        }
    };
    agree(&[behind_a_search()], &packets, &load);
}

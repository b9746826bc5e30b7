//! One engine on several cores.

use std::thread;

use crate::support::{self, fill_tables, options, outputs, rows};
use wireloom_bits::Bits;
use wireloom_ir::builder::{EngineBuilder, config, program_of};
use wireloom_ir::{Exit, Golden, Program, store};
use wireloom_native::{Library, Native, absorb, in_any_order};
use wireloom_net::Packet;
use wireloom_offloads::{EntryKey, Update};

/// Returns a program that looks up the packet's first bytes in a prefix table, an array and a hash
/// table, and writes the results into the packet. A counter, an array and, with `learns`, a hash
/// table count them.
fn program(learns: bool) -> Program {
    let mut engine = EngineBuilder::packet("several");
    let lpm = engine.offload("lpm", config("lpm", &[("", 16)], &[("", 16)], &[("miss", 0)]));
    let array = engine.offload("array", config("array", &[], &[("", 16)], &[("size", 256)]));
    let exact = engine.offload("exact", config("exact", &[("", 8)], &[("", 16)], &[("size", 300)]));
    let counter = engine.offload("counter", config("counter", &[], &[], &[("size", 256)]));
    let sums = config("array", &[], &[("low", 3), ("high", 30)], &[("size", 256)]);
    let sums = engine.offload("sums", sums);
    let learned = config("exact", &[("", 8)], &[("", 64)], &[("size", 300)]);
    let learned = engine.offload("learned", learned);
    engine.regions("look", |step| {
        let start = step.constant(16, 0);
        let key = step.read_packet(start, 0, 16);
        let short = step.slice(key, 8, 8);
        let index = step.extend(short, 32);
        let route = step.call(lpm, "search", &[key]).expect("a reply");
        let element = step.call(array, "read", &[index]).expect("a reply");
        let found = step.call(exact, "lookup", &[short]).expect("a reply");
        let bytes = step.constant(32, 64);
        step.call(counter, "count", &[index, bytes]);
        let added = step.constant(33, 0x3_4000_0007);
        step.call(sums, "add", &[index, added]);
        if learns {
            let one = step.constant(64, 1);
            step.call(learned, "accumulate", &[short, one]);
        }
        step.next_region();
        let value = step.slice(found, 0, 16);
        step.write_packet(start, 16, route);
        step.write_packet(start, 32, element);
        step.write_packet(start, 48, value);
        step.next_region();
        step.exit(Exit::Finish);
    });
    program_of(engine)
}

fn packets(seed: u8, count: usize) -> Vec<Packet> {
    let bytes = |n: usize| {
        let mut bytes = vec![seed; 64];
        bytes[..2].copy_from_slice(&(n as u16).wrapping_mul(40_503).to_be_bytes());
        bytes
    };
    (0..count).map(|n| Packet { ingress: 0, arrival_ns: 0, bytes: bytes(n) }).collect()
}

fn native(program: &Program) -> Native {
    let library = Library::build(program, &options()).unwrap_or_else(|e| panic!("{e}"));
    let mut store = store(program).expect("offloads of a verified program");
    fill_tables(&mut store);
    Native::new(library, store)
}

#[test]
fn cores_together_do_what_one_does() {
    let program = program(false);
    let mut golden_store = store(&program).expect("offloads");
    fill_tables(&mut golden_store);
    let mut golden = Golden::new(program.clone(), golden_store);
    let lots: Vec<Vec<Packet>> = (0..3u8).map(|lot| packets(lot, 1000)).collect();
    let mut first = native(&program);
    let others = (1..3).map(|core| first.on_another_core(core).expect("in any order"));
    let mut others: Vec<Native> = others.collect();
    let machines = std::iter::once(&mut first).chain(&mut others);
    let executed: Vec<_> = thread::scope(|scope| {
        let started = machines.zip(&lots);
        let started = started.map(|(machine, lot)| scope.spawn(move || outputs(machine, lot)));
        let started: Vec<_> = started.collect();
        started.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for (lot, executed) in lots.iter().zip(executed) {
        let expected = outputs(&mut golden, lot);
        let bytes = |sent: &[support::Sent]| -> Vec<_> {
            sent.iter().map(|sent| (sent.verdict, sent.bytes.clone())).collect()
        };
        assert_eq!(bytes(&executed), bytes(&expected));
    }
    for other in &mut others {
        // After the second call nothing is left to add.
        absorb(&program, first.store_mut(), other.store_mut());
        absorb(&program, first.store_mut(), other.store_mut());
    }
    assert_eq!(rows(first.store()), rows(golden.store()));
}

#[test]
fn a_change_is_made_once_where_entries_are_shared_and_on_each_core_elsewhere() {
    let program = program(false);
    let mut first = native(&program);
    let mut second = first.on_another_core(1).expect("in any order");
    let of_all_cores = first.of_all_cores();
    assert_eq!(of_all_cores.iter().collect::<Vec<_>>(), ["counter", "lpm", "sums"]);
    let packet = &packets(0, 1);
    let sent = |machine: &mut Native| outputs(machine, packet)[0].bytes[2..6].to_vec();
    for number in 1..=50u64 {
        let value = || Some(Bits::new(16, number.into()));
        let prefix = EntryKey::Prefix { bits: Bits::zero(16), length: 16 };
        for (offload, key) in [("lpm", prefix), ("array", EntryKey::Index(0))] {
            let update =
                Update { packet: 0, offload: offload.into(), key, value: value(), line: 0 };
            update.apply(first.store_mut()).expect("it suits");
            if !of_all_cores.contains(offload) {
                update.apply(second.store_mut()).expect("it suits");
            }
        }
        let [high, low] = (number as u16).to_be_bytes();
        assert_eq!(sent(&mut first), [high, low, high, low]);
        assert_eq!(sent(&mut second), [high, low, high, low]);
    }
}

#[test]
fn packets_that_must_keep_their_order_stay_on_one_core() {
    let program = program(true);
    let refused = in_any_order(&program).expect_err("packets change `learned`");
    assert!(refused.0.contains("`learned`"), "{refused:?}");
    assert!(native(&program).on_another_core(1).is_err());
}

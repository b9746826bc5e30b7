//! A control plane in another thread changes tables while packets flow.

mod support;

use std::thread;

use support::options;
use wireloom_bits::Bits;
use wireloom_ir::builder::{EngineBuilder, config, program_of};
use wireloom_ir::{Execute, Exit, Program};
use wireloom_native::{Control, Library, Native};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{EntryKey, Update};

/// Keys that the control plane changes.
const KEYS: u64 = 64;
/// Times that it changes each of them.
const ROUNDS: u64 = 400;
/// The width of a value: a number, and the same number times a factor.
const WIDTH: u32 = 160;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// Looks up the packet's first byte in tables and writes the values into the packet. Another table
/// learns from the packets meanwhile, so that packets, too, change tables.
fn program() -> Program {
    let mut engine = EngineBuilder::packet("watched");
    let exact = config("exact", &[("", 8)], &[("", WIDTH)], &[("size", 1000)]);
    let exact = engine.offload("exact", exact);
    let learned = config("exact", &[("", 16)], &[("", 64)], &[("size", 5000), ("age", 3000)]);
    let learned = engine.offload("learned", learned);
    let array = engine.offload("array", config("array", &[], &[("", WIDTH)], &[("size", 256)]));
    let prefixes = config("lpm", &[("", 8)], &[("", WIDTH)], &[("miss", 0)]);
    let lpm = engine.offload("lpm", prefixes);
    engine.regions("look", |step| {
        let start = step.constant(16, 0);
        let key = step.read_packet(start, 0, 8);
        let index = step.extend(key, 32);
        let found = step.call(exact, "lookup", &[key]).expect("a reply");
        let element = step.call(array, "read", &[index]).expect("a reply");
        let route = step.call(lpm, "search", &[key]).expect("a reply");
        let other = step.read_packet(start, 8, 16);
        let one = step.constant(64, 1);
        step.call(learned, "accumulate", &[other, one]);
        step.next_region();
        let value = step.slice(found, 0, WIDTH);
        step.write_packet(start, 32, value);
        step.write_packet(start, 32 + WIDTH, element);
        step.write_packet(start, 32 + 2 * WIDTH, route);
        step.next_region();
        step.exit(Exit::Finish);
    });
    program_of(engine)
}

fn value(number: u64) -> Bits {
    Bits::new(80, number.into())
        .concat(&Bits::new(80, (u128::from(number) * u128::from(FACTOR)) >> 48))
}

fn update(offload: &str, key: EntryKey, value: Option<Bits>) -> Update {
    Update { packet: 0, offload: offload.into(), key, value, line: 0 }
}

/// Changes every entry in turn. Each third change of the hash table removes an entry first.
fn change(control: &Control) {
    let make = |update| control.change(update).expect("the machine is there");
    for round in 1..=ROUNDS {
        for key in 0..KEYS {
            let (bits, number) = (Bits::new(8, key.into()), round << 8 | key);
            let exact = || EntryKey::Exact(bits.clone());
            if (round + key) % 3 == 0 {
                make(update("exact", exact(), None));
            }
            make(update("exact", exact(), Some(value(number))));
            make(update("array", EntryKey::Index(key), Some(value(number))));
            let prefix = EntryKey::Prefix { bits: bits.clone(), length: 8 };
            make(update("lpm", prefix, Some(value(number))));
        }
    }
    // An entry that no table takes.
    make(update("array", EntryKey::Index(1 << 40), Some(value(1))));
}

#[test]
fn every_packet_sees_the_entry_of_before_or_of_after() {
    let library = Library::build(&program(), &options()).unwrap_or_else(|e| panic!("{e}"));
    let store = wireloom_ir::store(&program()).expect("offloads of a verified program");
    let mut native = Native::new(library, store);
    let control = native.control();
    let changing = thread::spawn({
        let control = control.clone();
        move || change(&control)
    });
    let mut packets: Vec<Packet> = (0..3000u64)
        .map(|n| Packet { ingress: 0, arrival_ns: 0, bytes: vec![(n % KEYS) as u8; 64 + 20] })
        .collect();
    let mut latest = [[0u64; KEYS as usize]; 3];
    let mut now = 0u64;
    let mut watch = |native: &mut Native| {
        for packet in &mut packets {
            now += 1;
            packet.bytes[1..3].copy_from_slice(&(now as u16).to_be_bytes());
            packet.arrival_ns = now;
        }
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        native.offer(&frames, &mut |output| {
            let key = usize::from(output.bytes[0]);
            for (table, latest) in latest.iter_mut().enumerate() {
                let bytes = &output.bytes[4 + 20 * table..][..20];
                let number = u64::from_be_bytes(bytes[2..10].try_into().expect("eight bytes"));
                let expected = if number == 0 { Bits::zero(WIDTH) } else { value(number) };
                assert_eq!(bytes, be_bytes(&expected), "table {table}: a mix of two entries");
                // A removed entry comes back with a later number.
                assert!(number == 0 && table == 0 || number >= latest[key], "table {table}");
                assert!(number == 0 || number & 0xff == key as u64, "table {table}");
                latest[key] = number.max(latest[key]);
            }
        });
    };
    while !changing.is_finished() {
        watch(&mut native);
    }
    changing.join().expect("all changes are asked for");
    // Each look at the changes makes as many as can wait.
    watch(&mut native);
    watch(&mut native);
    let last = std::array::from_fn(|key| ROUNDS << 8 | key as u64);
    assert_eq!(latest, [last; 3]);
    let refused = control.refused();
    assert!(refused.len() == 1 && refused[0].1.0.contains("out of range"), "{refused:?}");
    drop(native);
    assert!(control.change(update("array", EntryKey::Index(0), None)).is_err());
}

fn be_bytes(value: &Bits) -> Vec<u8> {
    (0..value.width() / 8).rev().map(|byte| value.slice(8 * byte, 8).low_u64() as u8).collect()
}

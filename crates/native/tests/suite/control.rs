//! A control plane in another thread changes tables while packets flow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::support::options;
use wireloom_bits::Bits;
use wireloom_ir::builder::{EngineBuilder, config, program_of};
use wireloom_ir::{Execute, Exit, Program};
use wireloom_native::{Control, Library, Native};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{Content, EntryKey, Slot, Update};

/// Keys that the control plane changes.
const KEYS: u64 = 64;
/// Changes of each key.
const ROUNDS: u64 = 100;
/// The width of a value: a number, and the same number times a factor.
const WIDTH: u32 = 160;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// The tables, in the order in which the entry of a key is changed.
const TABLES: [&str; 4] = ["exact", "array", "lpm", "blocks"];
/// The bytes of a packet: a key, two bytes that another table learns, the values of the tables, and
/// the key again as the first of four bytes.
const LENGTH: usize = 4 + 20 * TABLES.len() + 4;

/// Returns a program that looks up the packet's first byte in tables and writes the values into the
/// packet. Another table learns from the packets, so that packets change tables as well.
fn program() -> Program {
    let mut engine = EngineBuilder::packet("watched");
    let exact = config("exact", &[("", 8)], &[("", WIDTH)], &[("size", 1000)]);
    let exact = engine.offload("exact", exact);
    let learned = config("exact", &[("", 16)], &[("", 64)], &[("size", 5000), ("age", 3000)]);
    let learned = engine.offload("learned", learned);
    let array = engine.offload("array", config("array", &[], &[("", WIDTH)], &[("size", 256)]));
    let prefixes = |width| config("lpm", &[("", width)], &[("", WIDTH)], &[("miss", 0)]);
    let lpm = engine.offload("lpm", prefixes(8));
    let blocks = engine.offload("blocks", prefixes(32));
    engine.regions("look", |step| {
        let start = step.constant(16, 0);
        let key = step.read_packet(start, 0, 8);
        let address = step.read_packet(start, 8 * (LENGTH as u32 - 4), 32);
        let index = step.extend(key, 32);
        let found = step.call(exact, "lookup", &[key]).expect("a reply");
        let element = step.call(array, "read", &[index]).expect("a reply");
        let route = step.call(lpm, "search", &[key]).expect("a reply");
        let long = step.call(blocks, "search", &[address]).expect("a reply");
        let other = step.read_packet(start, 8, 16);
        let one = step.constant(64, 1);
        step.call(learned, "accumulate", &[other, one]);
        step.next_region();
        let value = step.slice(found, 0, WIDTH);
        for (place, value) in [value, element, route, long].into_iter().enumerate() {
            step.write_packet(start, 32 + WIDTH * place as u32, value);
        }
        step.next_region();
        step.exit(Exit::Finish);
    });
    program_of(engine)
}

/// Returns the packet for a key.
fn packet(key: u64) -> Packet {
    let mut bytes = vec![0; LENGTH];
    bytes[0] = key as u8;
    bytes[LENGTH - 4] = key as u8;
    Packet { ingress: 0, arrival_ns: 0, bytes }
}

/// Returns the numbers that a packet has got from the tables; 0 where no entry was found.
fn numbers(bytes: &[u8]) -> [u64; TABLES.len()] {
    std::array::from_fn(|table| {
        let bytes = &bytes[4 + 20 * table..][..20];
        let number = u64::from_be_bytes(bytes[2..10].try_into().expect("eight bytes"));
        let expected = if number == 0 { Bits::zero(WIDTH) } else { value(number) };
        assert_eq!(bytes, be_bytes(&expected), "{}: a mix of two entries", TABLES[table]);
        number
    })
}

fn value(number: u64) -> Bits {
    Bits::new(80, number.into())
        .concat(&Bits::new(80, (u128::from(number) * u128::from(FACTOR)) >> 48))
}

fn update(offload: &str, key: EntryKey, value: Option<Bits>) -> Update {
    Update { packet: 0, offload: offload.into(), key, value, line: 0 }
}

/// Returns a prefix of `width` bits that begins with a key.
fn prefix(key: u64, width: u32, length: u32) -> EntryKey {
    EntryKey::Prefix { bits: Bits::new(width, u128::from(key) << (width - 8)), length }
}

/// The control plane's progress with each key.
struct Progress {
    /// The number of the latest change that has begun.
    begun: [AtomicU64; KEYS as usize],
    /// The number of the latest complete change.
    changed: [AtomicU64; KEYS as usize],
}

impl Progress {
    fn new() -> Self {
        let zeros = || [const { AtomicU64::new(0) }; KEYS as usize];
        Self { begun: zeros(), changed: zeros() }
    }
}

/// Changes every entry in turn. Every third change of the hash table removes an entry first.
fn change(control: &Control, progress: &Progress) {
    let make = |update| control.change(update).expect("the machine is there");
    for round in 1..=ROUNDS {
        for key in 0..KEYS {
            let number = round << 8 | key;
            progress.begun[key as usize].store(number, Ordering::Release);
            let exact = || EntryKey::Exact(Bits::new(8, key.into()));
            if (round + key) % 3 == 0 {
                make(update("exact", exact(), None));
            }
            make(update("exact", exact(), Some(value(number))));
            make(update("array", EntryKey::Index(key), Some(value(number))));
            make(update("lpm", prefix(key, 8, 8), Some(value(number))));
            // Removes the entry in a block before the entry in the direct table changes, and adds
            // it again afterwards.
            make(update("blocks", prefix(key, 32, 26), None));
            make(update("blocks", prefix(key, 32, 8), Some(value(number))));
            make(update("blocks", prefix(key, 32, 26), Some(value(number))));
            progress.changed[key as usize].store(number, Ordering::Release);
        }
    }
    // No table accepts this entry.
    make(update("array", EntryKey::Index(1 << 40), Some(value(1))));
    make(update("lpm", EntryKey::Index(0), Some(value(1))));
}

#[test]
fn every_packet_sees_the_entry_of_before_or_of_after() {
    let mut native = native();
    let control = native.control();
    let progress = Arc::new(Progress::new());
    let changing = thread::spawn({
        let (control, progress) = (control.clone(), Arc::clone(&progress));
        move || change(&control, &progress)
    });
    let mut packets: Vec<Packet> = (0..3000u64).map(|n| packet(n % KEYS)).collect();
    let mut now = 0u64;
    let mut watch = |native: &mut Native| {
        for packet in &mut packets {
            now += 1;
            packet.bytes[1..3].copy_from_slice(&(now as u16).to_be_bytes());
            packet.arrival_ns = now;
        }
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        let changed = progress.changed.each_ref().map(|number| number.load(Ordering::Acquire));
        let mut seen = Vec::new();
        native.offer(&frames, &mut |output| {
            seen.push((usize::from(output.bytes[0]), numbers(output.bytes)));
        });
        let begun = progress.begun.each_ref().map(|number| number.load(Ordering::Acquire));
        for (key, numbers) in seen {
            for (table, number) in TABLES.iter().zip(numbers) {
                // A removed entry comes back with a later number.
                let is_removed = number == 0 && *table == "exact";
                assert!(number >= changed[key] || is_removed, "{table}: a change is not seen");
                assert!(number <= begun[key], "{table}: a change is seen before it is made");
                assert!(number == 0 || number & 0xff == key as u64, "{table}");
            }
            let [_, array, lpm, blocks] = numbers;
            assert!(array >= lpm && array >= blocks, "a change is seen before an earlier one");
        }
    };
    while !changing.is_finished() {
        watch(&mut native);
    }
    changing.join().expect("all changes are asked for");
    watch(&mut native);
    let last = progress.changed.each_ref().map(|number| number.load(Ordering::Acquire));
    assert_eq!(last, std::array::from_fn(|key| ROUNDS << 8 | key as u64));
    let refused = control.refused();
    assert_eq!(refused.len(), 2, "{refused:?}");
    assert!(refused.iter().any(|(_, why)| why.0.contains("out of range")), "{refused:?}");
    assert!(refused.iter().any(|(_, why)| why.0.contains("not a prefix")), "{refused:?}");
    drop(native);
    for offload in ["array", "lpm"] {
        assert!(control.change(update(offload, EntryKey::Index(0), None)).is_err(), "{offload}");
    }
}

fn native() -> Native {
    let library = Library::build(&program(), &options()).unwrap_or_else(|e| panic!("{e}"));
    let store = wireloom_ir::store(&program()).expect("offloads of a verified program");
    Native::new(library, store)
}

/// Offers packets of key 0. Returns how often each number of a table was seen, in order. Calls
/// `then` after the first packet.
fn seen(native: &mut Native, table: usize, mut then: impl FnMut()) -> Vec<(u64, usize)> {
    let packet = packet(0);
    let mut seen: Vec<(u64, usize)> = Vec::new();
    native.offer(&vec![packet.frame(); 1024], &mut |output| {
        let number = numbers(output.bytes)[table];
        match seen.last_mut() {
            Some((last, count)) if *last == number => *count += 1,
            Some(_) => seen.push((number, 1)),
            None => {
                seen.push((number, 1));
                then();
            }
        }
    });
    seen
}

#[test]
fn prefixes_change_at_once_and_in_the_order_of_all_changes() {
    let mut native = native();
    let control = native.control();
    let lpm = |number| update("lpm", prefix(0, 8, 8), Some(value(number)));
    let array = |number| update("array", EntryKey::Index(0), Some(value(number)));
    let make = |update| control.change(update).expect("the machine is there");
    // These values have bits that were certainly zero, so the machine makes these changes itself.
    [lpm(1), lpm(3)].into_iter().for_each(make);
    assert_eq!(seen(&mut native, 2, || make(lpm(1))), [(3, 64), (1, 960)], "the next batch");
    assert_eq!(seen(&mut native, 2, || make(lpm(3))), [(1, 64), (3, 960)]);
    // A prefix does not change before the array, which the machine changes before the next 16
    // batches.
    let both = || [array(7), lpm(1)].into_iter().for_each(make);
    assert_eq!(seen(&mut native, 2, both), [(3, 1024)]);
    assert_eq!(seen(&mut native, 2, || {}), [(1, 1024)]);
    // A prefix does not change before an earlier change whose new arrays the machine does not read
    // yet.
    let blocks = |number: u64, key| update("blocks", key, Some(value(number)));
    [blocks(1, prefix(0, 32, 8)), blocks(3, prefix(0, 32, 8))].into_iter().for_each(make);
    seen(&mut native, 3, || {});
    let grow = || {
        for number in 1..=2000 {
            let bits = Bits::new(32, 0x0100_0000 + (number << 8));
            make(blocks(1, EntryKey::Prefix { bits, length: 24 }));
        }
        make(blocks(1, prefix(0, 32, 8)));
        make(lpm(3));
    };
    assert_eq!(seen(&mut native, 2, grow), [(1, 1024)]);
    assert_eq!(seen(&mut native, 3, || make(lpm(1))), [(1, 1024)]);
    // Prefixes do not change while a caller holds the store.
    let _ = native.store_mut();
    make(lpm(3));
    assert_eq!(native.store().find("lpm").map(rows_of), Some(vec![value(1)]));
    assert_eq!(seen(&mut native, 2, || make(lpm(1))), [(3, 64), (1, 960)]);
}

fn rows_of(slot: &Slot) -> Vec<Bits> {
    let Content::Kind { instance, .. } = &slot.content else { unreachable!("no engine") };
    instance.rows().iter().map(|row| instance.entry(row).value).collect()
}

fn be_bytes(value: &Bits) -> Vec<u8> {
    (0..value.width() / 8).rev().map(|byte| value.slice(8 * byte, 8).low_u64() as u8).collect()
}

//! Searches of prefix tables of all forms and widths, with prefixes that end at every bit of a key.

use crate::support::agree;
use wireloom_bits::Bits;
use wireloom_ir::builder::{EngineBuilder, config, program_of};
use wireloom_ir::{Exit, Program};
use wireloom_net::Packet;
use wireloom_offloads::{Content, Entry, EntryKey, Instance, RawView, Store};

/// Widths around the limits at which tables and keys change their form.
const WIDTHS: [u32; 14] = [17, 18, 19, 24, 31, 32, 33, 48, 63, 64, 65, 127, 128, 129];
/// The bits of a packet, more than the widest key.
const BITS: u32 = 192;

/// Returns a program that replaces the first bits of a packet by the table's result for them.
fn looking_up(width: u32) -> Program {
    let mut engine = EngineBuilder::packet("look");
    let key = [("", width)];
    let table = engine.offload("table", config("lpm", &key, &[("", 32)], &[("miss", 7)]));
    engine.regions("only", |step| {
        let start = step.constant(16, 0);
        let key = step.read_packet(start, 0, width);
        let found = step.call(table, "search", &[key]).expect("a reply");
        step.next_region();
        step.write_packet(start, 0, found);
        step.next_region();
        step.exit(Exit::Finish);
    });
    program_of(engine)
}

/// Returns the bits of a packet, which are pseudo-random. The first bits are a table's key.
fn bits(number: u64) -> Bits {
    let word = |i: u64| (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(17 * i as u32);
    Bits::from_words(BITS, &[word(0), word(1), word(2)])
}

/// Returns packets that leave the path to a key at each bit, and one packet that does not.
fn packets() -> Vec<Packet> {
    let one = || Bits::new(1, 1).resize(BITS);
    let leaving =
        |number| (0..BITS).map(move |bit| bits(number).xor(&one().shl(bit))).chain([bits(number)]);
    let packet = |bits: Bits| {
        let bytes = (0..BITS / 8).rev().map(|i| bits.slice(8 * i, 8).low_u64() as u8).collect();
        Packet { ingress: 0, arrival_ns: 0, bytes }
    };
    (0..3).flat_map(leaving).map(packet).collect()
}

/// Loads prefixes of these keys and lengths into the table of a store. Returns the width of a key,
/// and whether the table consists of blocks.
fn load(store: &mut Store, prefixes: impl FnOnce(u32) -> Vec<(u64, u32)>) -> (u32, bool) {
    let slot = store.find_mut("table").expect("the table");
    let Content::Kind { config, instance } = &mut slot.content else { unreachable!("a kind") };
    let width = config.key.as_ref().expect("a table has keys").width();
    for (value, (number, length)) in (100u128..).zip(prefixes(width)) {
        let prefix = bits(number).lshr(BITS - length).resize(width).shl(width - length);
        let prefix = if length == 0 { Bits::zero(width) } else { prefix };
        let entry =
            Entry { key: EntryKey::Prefix { bits: prefix, length }, value: Bits::new(32, value) };
        instance.load(entry).expect("room for a prefix");
    }
    (width, has_blocks(instance.as_mut()))
}

fn has_blocks(instance: &mut dyn Instance) -> bool {
    match instance.raw() {
        Some(RawView::Lpm(view)) => !view.spread.is_null(),
        _ => panic!("a prefix table"),
    }
}

#[test]
fn prefixes_of_every_length_are_found() {
    // Prefixes of every length for one key, and of every third length for another key.
    let prefixes = |width| {
        let all = (0..=width).map(|length| (0, length));
        all.chain((0..=width).step_by(3).map(|length| (1, length))).collect()
    };
    let fill = |store: &mut Store| {
        let (width, has_blocks) = load(store, prefixes);
        assert_eq!(has_blocks, (19..=128).contains(&width), "{width} bits");
    };
    agree(&WIDTHS.map(looking_up), &packets(), &fill);
}

#[test]
fn tables_with_too_many_blocks_are_searched_as_well() {
    let prefixes = |width| {
        let others = if width == 32 { 1..12_000 } else { 1..3_700 };
        let lengths = (0..=width).step_by(5).map(|length| (0, length));
        lengths.chain(others.map(|number| (number, width))).collect()
    };
    let fill = |store: &mut Store| {
        let (width, has_blocks) = load(store, prefixes);
        assert!(!has_blocks, "{width} bits");
    };
    agree(&[32, 128].map(looking_up), &packets(), &fill);
}

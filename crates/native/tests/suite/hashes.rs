//! CRCs and keyed hashes of keys of many widths are those of golden.

use std::fmt::Write as _;

use crate::large::compile;
use crate::support::{options, outputs};
use wireloom_bits::Bits;
use wireloom_ir::{Golden, store};
use wireloom_native::{Library, Native};
use wireloom_net::Packet;
use wireloom_offloads::{Content, Entry, EntryKey, Store};

/// Widths of keys: whole bytes and words, and others.
const WIDTHS: [u32; 14] = [1, 7, 8, 12, 31, 32, 56, 63, 64, 65, 72, 127, 128, 200];

/// Numbers without an evident order.
fn mixed(number: u64) -> u64 {
    let mut x = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x ^ x >> 27
}

#[test]
fn crcs_and_keyed_hashes_agree_at_every_width() {
    let (mut offloads, mut calls) = (String::new(), String::new());
    for (number, width) in (0u64..).zip(WIDTHS) {
        // CRCs of 1 to 64 bits, every second one reflected.
        let bits = 1 + (mixed(number) % 64) as u32;
        let [polynomial, initial, inverted] = [1, 2, 3].map(|salt| mixed(number << 8 | salt));
        writeln!(
            offloads,
            "offload crc{number} : crc<u{width}, width = {bits}, polynomial = {polynomial}, \
             initial = {initial}, reflected = {}, inverted = {inverted}>;
             offload sip{number} : siphash<u{width}, size = 3>;",
            number % 2
        )
        .expect("text");
        writeln!(
            calls,
            "h.sum = h.sum * 31 + crc{number}.of(h.key[{top}:0]);
             h.sum = h.sum * 31 + sip{number}.of(h.key[1:0], h.key[{top}:0]);",
            top = width - 1
        )
        .expect("text");
    }
    let program = compile(&format!(
        "header H {{ u64 sum; u200 key; }};
         engine e() {{ {offloads} offload blocks : aes<size = 3>; H h @ 0;
         step s {{ {calls}
             h.key = concat(h.key[199:128], blocks.encrypt(h.key[1:0], h.key[127:0]));
             h.sum ^= blocks.decrypt(h.key[131:130], h.key[127:0])[70:7];
             packet.egress = 1; finish; }} }}"
    ));
    let loaded = || -> Store {
        let mut store = store(&program).expect("offloads");
        for slot in &mut store.slots {
            let Content::Kind { config, instance } = &mut slot.content else { continue };
            if config.kind == "crc" {
                continue;
            }
            for index in 0..3 {
                let value = u128::from(mixed(index)) << 64 | u128::from(mixed(index + 10));
                let entry = Entry { key: EntryKey::Index(index), value: Bits::new(128, value) };
                instance.load(entry).expect("a secret");
            }
        }
        store
    };
    let packet = |number: u64| Packet {
        ingress: 0,
        arrival_ns: number,
        bytes: (0..33).map(|at| mixed(number << 8 | at) as u8).collect(),
    };
    let mut packets: Vec<Packet> = (0..300).map(packet).collect();
    packets[0].bytes.fill(0);
    packets[1].bytes.fill(0xff);
    let library = Library::build(&program, &options()).unwrap_or_else(|error| panic!("{error}"));
    let got = outputs(&mut Native::new(library, loaded()), &packets);
    let expected = outputs(&mut Golden::new(program.clone(), loaded()), &packets);
    for (got, expected) in got.iter().zip(&expected) {
        assert_eq!(got, expected);
    }
    assert_eq!(got.len(), 300);
}

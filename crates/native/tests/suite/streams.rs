//! Kept streams and searches in them are those of golden, for every method and random segments.

use crate::large::compile;
use crate::support::random::Random;
use crate::support::{options, outputs};
use wireloom_bits::Bits;
use wireloom_ir::{Golden, store};
use wireloom_native::{Library, Native};
use wireloom_net::Packet;
use wireloom_offloads::{Content, Entry, EntryKey, Store};

const SOURCE: &str = "
    header H { u8 key; u8 what; u32 at; u16 length; u128 result; };
    engine e() {
        offload s : stream<u8, u16, size = 3, bytes = 300, age = 40000>;
        H h @ 0;
        step begin {
            switch (h.what) {
                case 0: h.result = (u128)s.open(h.key, h.at); break;
                case 1: h.result = (u128)s.skip(h.key, h.at); break;
                case 2: h.result = (u128)s.finish(h.key, h.at); break;
                case 3: h.result = (u128)s.close(h.key); break;
                default: next keep;
            }
            next look;
        }
        step keep {
            h.result = (u128)s.put(h.key, h.at, sizeof(H), h.length);
            next look;
        }
        step look {
            auto all = s.range(h.key);
            h.result = h.result * 31 + (u128)all;
            h.result = h.result * 31 + (u128)s.find(h.key, all.start);
            h.result = h.result * 31 + (u128)s.find(h.key, h.at);
            h.result = h.result * 31 + (u128)s.line(h.key, all.start);
            h.result = h.result * 31 + (u128)s.number(h.key, h.at);
            h.result = h.result * 31 + s.read(h.key, h.at);
            next copy;
        }
        step copy {
            h.result = h.result * 31 + (u128)s.overwrite(h.key, h.at, sizeof(H) + 2, h.length);
            h.result = h.result * 31 + (u128)s.append(h.key, h.at, h.length);
            packet.egress = 1;
            finish;
        }
    }";

#[test]
fn streams_agree_for_every_method() {
    let program = compile(SOURCE);
    let loaded = || -> Store {
        let mut store = store(&program).expect("offloads");
        let Content::Kind { instance, .. } = &mut store.slots[0].content else {
            panic!("a stream")
        };
        for (value, pattern) in (1..).zip(["abab", "ab", "ba1", "\r\n", "2 b"]) {
            let key = EntryKey::Pattern(pattern.as_bytes().to_vec());
            instance.load(Entry { key, value: Bits::new(16, value) }).expect("a pattern");
        }
        store
    };
    let random = &mut Random(3);
    let mut packets = Vec::new();
    for number in 0..20_000u64 {
        // Sequence numbers around zero, so that they wrap.
        let at = (random.below(500) as u32).wrapping_sub(100);
        let length = random.below(if number % 16 == 0 { 1_400 } else { 40 });
        let mut bytes = vec![random.below(5) as u8, random.below(20) as u8];
        if number % 7 == 0 {
            bytes[1] = 0;
        }
        bytes.extend(at.to_be_bytes());
        bytes.extend((length as u16).to_be_bytes());
        bytes.extend([0; 16]);
        bytes.extend((0..length).map(|_| random.of(b"aabb12 \t\r\n")));
        packets.push(Packet { ingress: 0, arrival_ns: number * 50, bytes });
    }
    let library = Library::build(&program, &options()).unwrap_or_else(|error| panic!("{error}"));
    let mut native = Native::new(library, loaded());
    let mut golden = Golden::new(program.clone(), loaded());
    let (got, expected) = (outputs(&mut native, &packets), outputs(&mut golden, &packets));
    for (number, (got, expected)) in got.iter().zip(&expected).enumerate() {
        assert_eq!(got, expected, "packet {number}");
    }
    assert_eq!(got.len(), packets.len());
    let rows = |store: &Store| match &store.slots[0].content {
        Content::Kind { instance, .. } => instance.rows(),
        Content::Engine(_) => Vec::new(),
    };
    assert!(rows(golden.store()).len() > 5, "streams are left");
    assert_eq!(rows(native.store()), rows(golden.store()));
}

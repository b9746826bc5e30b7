//! How fast the golden model is: packets a second on an engine shaped as a router is, with about 250 operations a packet
//! and two longest-prefix lookups. Run it with `cargo run --release -p wireloom-ir --example golden_rate`.

use std::time::Instant;

use wireloom_bits::Bits;
use wireloom_ir::builder::{EngineBuilder, config, program_of};
use wireloom_ir::{BinaryOp, Execute, Exit, Golden, StepId, store};
use wireloom_net::Packet;
use wireloom_offloads::{Content, Entry, EntryKey};

/// Operations on header fields and context in each of the two steps, beside the lookup.
const FIELDS: u32 = 20;
const PREFIXES: u64 = 600_000;
const PACKETS: u64 = 200_000;

fn main() {
    let mut engine = EngineBuilder::packet("router");
    let class = engine.context("class", 32);
    let routes = engine.offload("routes", config("lpm", &[("", 32)], &[("", 32)], &[]));
    for (name, bit, exit) in [("destination", 128, Exit::Next(StepId(1))), ("source", 96, Exit::Finish)] {
        engine.step(name, |s| {
            let base = s.constant(16, 14);
            let key = s.read_packet(base, bit, 32);
            let reply = s.call(routes, "search", &[key]).expect("a reply");
            let mut sum = s.read(class);
            for field in 0..FIELDS {
                let read = s.read_packet(base, 8 * (field % 16), 16);
                let wide = s.extend(read, 32);
                let odd = s.slice(sum, 0, 1);
                let added = s.binary(BinaryOp::Add, sum, wide);
                let mixed = s.binary(BinaryOp::Xor, added, reply);
                sum = s.select(odd, added, mixed);
            }
            s.write(class, sum);
            let ttl = s.slice(sum, 0, 8);
            s.write_packet(base, 64, ttl);
            let port = s.slice(sum, 8, 16);
            s.set_egress(port);
            s.exit(exit);
        });
    }
    let program = program_of(engine);
    let operations: usize =
        program.engines[0].steps.iter().map(|s| s.code.blocks().map(|b| b.ops.len()).sum::<usize>()).sum();
    let mut store = store(&program).unwrap_or_else(|refused| panic!("{refused:?}"));
    let Content::Kind { instance, .. } = &mut store.slots[0].content else { unreachable!("an lpm") };
    let mut random = 1u64;
    let mut draw = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 32
    };
    for _ in 0..PREFIXES {
        let length = 16 + (draw() % 9) as u32;
        let bits = Bits::new(32, u128::from(draw() >> (32 - length) << (32 - length)));
        let entry =
            Entry { key: EntryKey::Prefix { bits, length }, value: Bits::new(32, u128::from(draw())) };
        instance.load(entry).unwrap_or_else(|refused| panic!("{refused:?}"));
    }
    let packets: Vec<_> = (0..PACKETS)
        .map(|i| Packet {
            ingress: 1,
            arrival_ns: i * 1_000,
            bytes: (0..8).flat_map(|_| draw().to_le_bytes()).collect(),
        })
        .collect();
    let mut golden = Golden::new(program, store);
    let mut rates: Vec<f64> = (0..7)
        .map(|_| {
            let (start, mut out) = (Instant::now(), 0u64);
            golden.execute(&packets, &mut |_| out += 1);
            assert_eq!(out, PACKETS);
            PACKETS as f64 / start.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    println!("{operations} operations a packet: {:.3} Mpps (median of 7)", rates[3] / 1e6);
}

//! Tests programs shared by virtual routers: each router's packets leave as from the program alone,
//! whatever the tables of other routers hold.

use wireloom_bits::Bits;
use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::share::Sharing;
use wireloom_compile::{lower, pipeline};
use wireloom_ir::{Execute, Golden, Program, Verdict};
use wireloom_net::Packet;
use wireloom_offloads::{Content, Entry, EntryKey, Store};

const SOURCE: &str = "
    enum Why : u8 { MISS, LOCAL, FAR };
    header H { u32 dst; u8 slot; u8 way; };
    struct Hop { u8 kind; u16 port; };
    engine router() {
        offload routes : lpm<u32, u16, miss = 7>;
        offload hops : array<Hop, size = 4>;
        offload seen : counter<size = 6>;
        offload mix : hash<u32>;
        H h @ 0;
        u16 route;
        Hop hop;
        step look {
            route = routes.search(h.dst);
            hop = hops.read(h.slot);
            next judge;
        }
        step judge {
            seen.count(h.slot, packet.length);
            if (route == 7) drop(MISS);
            if (hop.kind == 9) to_cpu(LOCAL);
            h.dst = mix.crc32(h.dst) + route;
            h.way = packet.ingress[7:0] + (u8)packet.egress;
            if (hop.kind == 1) emit(after);
            packet.egress = hop.port;
            finish;
        }
        step after {
            packet.egress = packet.egress + 3;
            finish;
        }
    }";

fn lowered() -> Program {
    let checked =
        wireloom_lang::check_source("test.loom", SOURCE, &wireloom_lang::Options::default());
    lower(&checked.program.unwrap_or_else(|| {
        panic!("{}", wireloom_lang::render(&checked.diagnostics, &checked.sources, false))
    }))
}

fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Creates the tables of a router. Every router has the same prefixes and indices, but other
/// values.
fn tables(program: &Program, router: u64) -> Store {
    let mut store = wireloom_ir::store(program).expect("the offloads can be made");
    let mut state = 77 + router;
    let mut load = |name: &str, key: EntryKey, value: Bits| {
        let Some(Content::Kind { instance, .. }) =
            store.find_mut(name).map(|slot| &mut slot.content)
        else {
            panic!("no {name}")
        };
        instance.load(Entry { key, value }).expect("there is room");
    };
    for length in [0, 4, 8, 31, 32] {
        if (length + router as u32).is_multiple_of(4) {
            continue; // each router lacks one
        }
        let bits = Bits::new(32, 0x1234_5678).lshr(32 - length).shl(32 - length);
        let value = Bits::new(16, u128::from(100 * router) + u128::from(length));
        load("routes", EntryKey::Prefix { bits, length }, value);
    }
    for index in 0..4 {
        let kind = [0, 1, 9, 0][(index + router as usize) % 4];
        let value = Bits::new(8, kind).concat(&Bits::new(16, u128::from(random(&mut state) % 256)));
        load("hops", EntryKey::Index(index as u64), value);
    }
    store
}

/// Returns the packets that leave: the router, then verdict and bytes as the router alone would
/// have them.
fn leave(
    program: &Program,
    store: Store,
    packets: &[Packet],
) -> (Vec<(u16, Verdict, Vec<u8>)>, Golden) {
    let mut golden = Golden::new(program.clone(), store);
    let mut left = Vec::new();
    golden.execute(packets, &mut |output| {
        let router = output.ingress >> 8;
        let verdict = match output.verdict {
            Verdict::Sent { port } => {
                assert_eq!(port >> 8, router, "what is sent is tagged with its router");
                Verdict::Sent { port: port & 0xff }
            }
            other => other,
        };
        left.push((router, verdict, output.bytes.to_vec()));
    });
    (left, golden)
}

fn counters(golden: &Golden) -> Vec<(u64, Vec<(String, Bits)>)> {
    let Some(Content::Kind { instance, .. }) =
        golden.store().find("seen").map(|slot| &slot.content)
    else {
        panic!("no counters")
    };
    let index = |key| if let EntryKey::Index(index) = key { index } else { panic!("no index") };
    instance.rows().into_iter().map(|row| (index(row.key), row.fields)).collect()
}

#[test]
fn each_router_forwards_as_if_it_were_alone() {
    let alone = lowered();
    for (routers, index_bits) in [(2u64, 1), (3, 2), (16, 4)] {
        let sharing = Sharing::new(routers as usize).expect("few enough");
        let mut shared = alone.clone();
        sharing.share(&mut shared).expect("all of it can be shared");
        wireloom_ir::verify(&shared)
            .unwrap_or_else(|p| panic!("{p:?}\n{}", wireloom_ir::print(&shared)));
        let mut store = wireloom_ir::store(&shared).expect("the offloads can be made");
        for router in 0..routers {
            sharing
                .load(&mut store, router as usize, &tables(&alone, router))
                .expect("there is room");
        }
        // Slots past the tables. If they were in range, another router's part would begin there.
        let mut state = routers;
        let packets: Vec<Packet> = (0..600)
            .map(|_| {
                let dst = [0x1234_5678u32, 0x1234_5679, 0x1200_0000, 0x1fff_ffff, 0xf000_0001];
                let dst = dst[random(&mut state) as usize % dst.len()];
                let slot = random(&mut state) as u8 % 9;
                let mut bytes = dst.to_be_bytes().to_vec();
                bytes.extend([slot, 0, 1, 2]);
                let ingress = ((random(&mut state) % routers) << 8) + random(&mut state) % 20;
                Packet { ingress: ingress as u16, arrival_ns: 0, bytes }
            })
            .collect();
        let (all, golden) = leave(&shared, store, &packets);
        for router in 0..routers {
            let of = |packet: &&Packet| u64::from(packet.ingress >> 8) == router;
            let own: Vec<Packet> = packets
                .iter()
                .filter(of)
                .map(|packet| Packet { ingress: packet.ingress & 0xff, ..packet.clone() })
                .collect();
            let (expected, expected_golden) = leave(&alone, tables(&alone, router), &own);
            assert!(expected.iter().any(|(_, verdict, _)| matches!(verdict, Verdict::Sent { .. })));
            let got: Vec<_> =
                all.iter().filter(|left| u64::from(left.0) == router).cloned().collect();
            let got: Vec<_> =
                got.into_iter().map(|(_, verdict, bytes)| (0, verdict, bytes)).collect();
            assert_eq!(got, expected, "router {router} of {routers}");
            let tag = (1 << index_bits) - 1;
            let counted = counters(&golden).into_iter().filter(|(index, _)| index & tag == router);
            let counted: Vec<_> =
                counted.map(|(index, fields)| (index >> index_bits, fields)).collect();
            assert_eq!(counted, counters(&expected_golden), "router {router} of {routers}");
        }
    }
}

#[test]
fn passes_keep_what_a_shared_program_means() {
    let sharing = Sharing::new(3).expect("few enough");
    let mut shared = lowered();
    sharing.share(&mut shared).expect("all of it can be shared");
    let packets: Vec<Packet> = (0..60u16)
        .map(|i| Packet {
            ingress: (i % 3) * 256 + i,
            arrival_ns: 0,
            bytes: vec![0x12, 0x34, 0x56, 0x78, i as u8 % 7, 0],
        })
        .collect();
    let run = |program: &Program| {
        let mut store = wireloom_ir::store(program).expect("the offloads can be made");
        for router in 0..3 {
            sharing
                .load(&mut store, router as usize, &tables(&lowered(), router))
                .expect("there is room");
        }
        leave(program, store, &packets).0
    };
    for header in [None, Some(HeaderPorts::new(2, 1))] {
        let mut optimised = shared.clone();
        pipeline::optimise(&mut optimised, &PassOptions::for_ports(header));
        assert_eq!(run(&optimised), run(&shared));
    }
}

#[test]
fn what_cannot_be_shared_is_refused_by_name() {
    assert!(Sharing::new(0).is_err() && Sharing::new(17).is_err());
    let cases = [
        (
            "table : exact<u32, u32, size = 8>",
            "table.insert(1, 2)",
            "one router could take all the room",
        ),
        ("dice : random", "dice.next(0)", "depend on how many packets came before"),
        (
            "police : meter<size = 2, cir = 1, cbs = 1>",
            "police.color(0, 1)",
            "dividing a `meter` is not supported",
        ),
        ("big : array<u1, size = 0x10000000>", "big.read(0)", "more elements than an offload"),
    ];
    for (declaration, call, why) in cases {
        let source =
            format!("engine e() {{ offload {declaration}; step s {{ {call}; finish; }} }}");
        let checked =
            wireloom_lang::check_source("test.loom", &source, &wireloom_lang::Options::default());
        let mut program = lower(
            &checked.program.unwrap_or_else(|| panic!("{declaration}: {:?}", checked.diagnostics)),
        );
        let error =
            Sharing::new(2).expect("few").share(&mut program).expect_err(declaration).to_string();
        let name = declaration.split(' ').next().expect("a name");
        assert!(error.contains(why) && error.contains(name), "{error}");
    }
}

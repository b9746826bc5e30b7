//! The router on machines with time: it means what golden means, whatever the order in which threads are done.

mod support;

use support::{compiled, load_file, programs};
use wireloom_ir::{Execute, Golden, Output, Verdict, store};
use wireloom_machines::mpsoc::engine::Engine;
use wireloom_machines::mpsoc::spec::Set;
use wireloom_machines::mpsoc::{Options, Spec};
use wireloom_net::Packet;
use wireloom_net::traffic::{AddressSpec, Generator, Spec as Traffic};

const TABLES: &str = "tests/router.tables";

fn packets() -> Vec<Packet> {
    let addresses = || AddressSpec { prefixes: Some(programs(TABLES)), ..AddressSpec::default() };
    let spec = Traffic {
        seed: 7,
        destinations: addresses(),
        sources: addresses(),
        count: Some(400),
        mix: Traffic::parse_mix("ipv4=3,ipv6=3,mpls1..4=2").expect("a mix"),
        ports: 4,
        ..Traffic::default()
    };
    let mut generator = Generator::new(&spec).expect("a specification");
    let (mut packets, mut packet) = (Vec::new(), Packet::default());
    while generator.fill(&mut packet) {
        packets.push(packet.clone());
    }
    packets
}

#[test]
fn the_router_forwards_on_both_instruction_sets_as_golden_does() {
    let program = compiled("router.loom");
    let loaded = || {
        let mut store = store(&program).expect("offloads of a verified program");
        load_file(&mut store, TABLES);
        store
    };
    let packets = packets();
    type Sent = (u64, u64, u16, Verdict, Vec<u8>);
    let keep = |sent: &mut Vec<Sent>, o: Output<'_>| {
        sent.push((o.sequence, o.arrival_ns, o.ingress, o.verdict, o.bytes.to_vec()));
    };
    let mut expected = Vec::new();
    Golden::new(program.clone(), loaded()).execute(&packets, &mut |output| keep(&mut expected, output));
    for set in [Set::Armv4, Set::Rv32im] {
        let mut spec = Spec::base();
        spec.processor.instruction_set = set;
        spec.io.input.queue_packets = 1000;
        let mut engine = Engine::new(&spec, &program, loaded(), Options::default()).expect("an engine");
        let mut got = Vec::new();
        let mut settled =
            engine.execute(&packets[..150], &mut |output| keep(&mut got, output)).expect("it runs");
        for lot in [&packets[150..], &[]] {
            let mut sink = |output: Output<'_>| keep(&mut got, output);
            let more = match lot {
                [] => engine.finish(&mut sink),
                lot => engine.execute(lot, &mut sink),
            };
            settled.taken.extend(more.expect("it runs").taken);
        }
        assert!(settled.taken.iter().copied().eq(0..400), "{set:?}");
        for (got, expected) in got.iter().zip(&expected) {
            assert_eq!(got, expected, "{set:?}");
        }
        assert_eq!(got.len(), expected.len(), "{set:?}");
    }
}

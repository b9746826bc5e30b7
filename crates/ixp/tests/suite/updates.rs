//! Tables of an engine in Loom C that change while packets flow.

use crate::written::{agree_while_tables_change, written};
use wireloom_bits::Bits;
use wireloom_ixp::Spec;
use wireloom_machine::{Configured, Machine, Options, Source, UpdateError};
use wireloom_net::Packet;
use wireloom_offloads::{EntryKey, Update};

const TABLES: &str = "
header Ask { u32 dst; u8 key; u24 value; u32 found; u32 more; };
struct Route { u16 port; };
engine tables() {
    offload routes : lpm<u32, Route>;
    offload known : exact<u8, u32, size = 8>;
    offload sums : array<u64, size = 8>;
    offload seen : counter<size = 4>;
    offload words : match<u16>;
    Ask ask @ 0;
    step begin {
        packet.egress = routes.search(ask.dst).port;
        seen.count(concat((u30)0, ask.key[1:0]), packet.length);
        next look;
    }
    step look {
        auto known = known.lookup(ask.key);
        auto found = words.scan(20, 40);
        auto sum = sums.fetch_add(concat((u29)0, ask.key[2:0]), (u64)ask.value);
        ask.found = known.value + (u32)found.value;
        ask.more = (u32)sum;
        finish;
    }
}
";

fn packets(count: u32) -> Vec<Packet> {
    let mut rng = wireloom_sim::Rng::new(5, "updates");
    let packet = |number: u32| {
        let mut bytes = vec![0; 64];
        bytes.iter_mut().for_each(|byte| *byte = b'a' + rng.below(3) as u8);
        bytes[0] = rng.below(3) as u8;
        bytes[1..4].fill(rng.below(2) as u8);
        bytes[4] = rng.below(10) as u8;
        Packet { ingress: (number % 8) as u16, arrival_ns: u64::from(number) * 2_000, bytes }
    };
    (0..count).map(packet).collect()
}

fn update(offload: &str, key: EntryKey, value: Option<Bits>) -> Update {
    Update { packet: 0, offload: offload.into(), key, value, line: 0 }
}

fn route(address: u32, length: u32, port: Option<u16>) -> Update {
    let bits = Bits::new(32, u128::from(address));
    let value = port.map(|port| Bits::new(16, u128::from(port)));
    update("routes", EntryKey::Prefix { bits, length }, value)
}

fn pattern(text: &str, value: Option<u16>) -> Update {
    let value = value.map(|value| Bits::new(16, u128::from(value)));
    update("words", EntryKey::Pattern(text.into()), value)
}

#[test]
fn every_kind_of_table_changes_between_two_packets() {
    let program = written(TABLES);
    let whole = |key: u128| EntryKey::Exact(Bits::new(8, key));
    let counts = Bits::new(64, 70).concat(&Bits::new(64, 1 << 40));
    let updates = [
        route(0, 0, Some(1)),
        route(0x0101_0101, 32, Some(2)),
        pattern("ab", Some(3)),
        update("known", whole(3), Some(Bits::new(32, 0x1234_5678))),
        update("sums", EntryKey::Index(2), Some(Bits::new(64, 0xffff_fff0))),
        update("seen", EntryKey::Index(1), Some(counts)),
        pattern("cabcab", Some(4)),
        pattern("ca", Some(5)),
        route(0x0200_0000, 7, Some(4)),
        update("known", whole(4), Some(Bits::new(32, 9))),
        update("known", whole(3), None),
        pattern("ab", None),
        route(0, 0, Some(5)),
        update("sums", EntryKey::Index(2), None),
        route(0x0101_0101, 32, None),
        update("seen", EntryKey::Index(1), None),
    ];
    let all = packets(40 * updates.len() as u32);
    agree_while_tables_change(Spec::base(), &program, &updates, &all, 40);
}

/// The control plane removes a key. The park is read from memory and written back with all other
/// packets.
#[test]
fn packets_stay_parked_while_others_are_removed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = folder.join("../machines/tests/conformance/park.loom");
    let program = Source::of(file).compiled().unwrap_or_else(|error| panic!("{}", error.message));
    let mut rng = wireloom_sim::Rng::new(61, "parked");
    let packet = |number: u32| {
        let mut bytes = vec![0; 6 + rng.below(400) as usize];
        bytes.iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
        let ingress = (number % 8) as u16;
        Packet { ingress, arrival_ns: u64::from(number) * 1_500, bytes }
    };
    let all: Vec<Packet> = (0..300).map(packet).collect();
    let removed =
        |number: usize| update("waiting", EntryKey::Exact(Bits::new(8, number as u128 % 8)), None);
    let updates: Vec<Update> = (0..all.len().div_ceil(9)).map(removed).collect();
    for machine in ["ixp1200", "ixp2400"] {
        let mut spec = Spec::installed(machine).unwrap_or_else(|error| panic!("{error}"));
        spec.ports.receive_mpkts = 1024;
        agree_while_tables_change(spec, &program, &updates, &all, 9);
    }
}

#[test]
fn a_table_that_no_longer_fits_stays_as_it_is() {
    let program = written(TABLES);
    let store = wireloom_ir::store(&program.optimised).expect("a store");
    let mut spec = Spec::base();
    // Room for the frames, the tables, 64 K words for the root, and little more.
    spec.sram.bytes = 4 * 80_000;
    spec.sdram.bytes = 4 << 20;
    let started = spec.start(&program, store, &Options::default(), &|_| ());
    let mut machine = started.unwrap_or_else(|error| panic!("{}", error.message));
    let mut many = |count: u32| -> Result<u32, UpdateError> {
        for number in 0..count {
            machine.update(&route(number << 12, 32, Some(1)), &mut |_| ())?;
        }
        Ok(count)
    };
    let refused = many(4000).expect_err("there is no room");
    assert!(matches!(&refused, UpdateError::Refused(why) if why.contains("`routes`")), "{refused}");
    let rows = |machine: &dyn Machine| {
        let slot = machine.store().find("routes").expect("it is there");
        match &slot.content {
            wireloom_offloads::Content::Kind { instance, .. } => instance.rows().len() as u32,
            wireloom_offloads::Content::Engine(_) => 0,
        }
    };
    let kept = rows(machine.as_ref());
    assert!(kept > 10 && kept < 4000, "{kept}");
    let more = machine.update(&route(kept << 12, 32, Some(1)), &mut |_| ());
    assert!(matches!(more, Err(UpdateError::Refused(_))));
    assert_eq!(rows(machine.as_ref()), kept);
}

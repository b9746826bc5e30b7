//! Tests the address translator with random timed traffic against a model of RFC 4787, RFC 5382 and
//! RFC 5508. The model shares nothing with the engine: it keeps a list of mappings, and builds
//! every expected packet from scratch.

mod traffic;
mod translator;
mod wire;

use std::path::Path;

use wireloom_ir::{Execute, Golden, Verdict};
use wireloom_machine::{Program, Source, load_store, reason_name};
use wireloom_net::Packet;
use wireloom_offloads::{Content, EntryKey, Store};

use traffic::{Arrival, Traffic};
use translator::{Outcome, Translator};

/// Lifetimes of mappings in the tests, in nanoseconds.
const TCP_AGE: u64 = 1000;
const UDP_AGE: u64 = 300;

fn engine(mappings: usize) -> (Program, Golden) {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let set = [("TCP_AGE", TCP_AGE), ("UDP_AGE", UDP_AGE), ("MAPPINGS", mappings as u64)];
    let source = Source {
        set: set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        ..Source::of(programs.join("nat.loom"))
    };
    let program = source.compiled().unwrap_or_else(|error| panic!("{}", error.message));
    let tables = [programs.join("tests/nat.tables")];
    let (store, _) = load_store(&program.optimised, &tables, &|_| ())
        .unwrap_or_else(|error| panic!("{}", error.message));
    let golden = Golden::new(program.optimised.clone(), store);
    (program, golden)
}

fn send(program: &Program, engine: &mut Golden, arrival: &Arrival) -> Outcome {
    let packet =
        Packet { ingress: arrival.ingress(), arrival_ns: arrival.time_ns, bytes: arrival.bytes() };
    let mut outcomes = Vec::new();
    engine.execute(&[packet], &mut |output| {
        outcomes.push(match output.verdict {
            Verdict::Sent { port } => Outcome::Sent(port, output.bytes.to_vec()),
            Verdict::ToCpu(reason) | Verdict::Dropped(reason) => {
                Outcome::Refused(reason_name(&program.optimised, reason))
            }
        });
    });
    assert_eq!(outcomes.len(), 1, "a packet has one outcome: {arrival:?}");
    outcomes.remove(0)
}

/// Returns the mappings of a table in one direction: protocol, inside and outside endpoint.
fn halves(store: &Store, table: &str, from_inside: bool) -> Vec<[u128; 5]> {
    let slot = store.find(table).expect("a table of the translator");
    let Content::Kind { instance, .. } = &slot.content else { panic!("{table} is an engine") };
    let row = |row: &wireloom_offloads::StateRow| {
        let EntryKey::Exact(key) = &row.key else { panic!("{table} has whole keys") };
        let key = key.to_u128().expect("a narrow key");
        let key = [(key >> 48), (key >> 16) & 0xffff_ffff, key & 0xffff];
        let value: Vec<u128> = row.fields.iter().filter_map(|(_, bits)| bits.to_u128()).collect();
        match from_inside {
            true => [key[0], key[1], key[2], value[0], value[1]],
            false => [key[0], value[0], value[1], key[1], key[2]],
        }
    };
    let mut halves: Vec<_> = instance.rows().iter().map(row).collect();
    halves.sort_unstable();
    halves
}

fn assert_paired(store: &Store, after: &str) {
    for tables in [["tcp_outbound", "tcp_inbound"], ["udp_outbound", "udp_inbound"]] {
        let [outbound, inbound] = [halves(store, tables[0], true), halves(store, tables[1], false)];
        assert_eq!(outbound, inbound, "{} and {} differ after {after}", tables[0], tables[1]);
    }
}

fn compare_with_model(seed: u64, mappings: usize, packets: usize) {
    let (program, mut engine) = engine(mappings);
    let mut traffic = Traffic::new(seed);
    let mut model = Translator::new(mappings, TCP_AGE, UDP_AGE);
    for number in 0..packets {
        let arrival = traffic.next(&model);
        let outcome = send(&program, &mut engine, &arrival);
        let judgement = model.judge(&arrival, &outcome);
        let context = format!("packet {number} of seed {seed}: {arrival:?}");
        assert!(judgement.is_ok(), "{context}\n{}", judgement.unwrap_err());
        assert_paired(engine.store(), &context);
    }
    assert!(model.has_seen_everything(), "{:?}", model.seen);
}

#[test]
fn every_packet_is_translated_as_the_rfcs_say() {
    for seed in 0..4 {
        compare_with_model(seed, 4096, 8_000);
    }
}

#[test]
fn a_full_table_leaves_the_mappings_that_there_are() {
    compare_with_model(4, 5, 8_000);
}

/// Merged captures, and clocks that are set, give arrival times that are not in order.
#[test]
fn both_halves_of_a_mapping_live_and_die_together_however_packets_are_stamped() {
    for mappings in [8, 4096] {
        let (program, mut engine) = engine(mappings);
        let mut traffic = Traffic::new(5);
        let model = Translator::new(mappings, TCP_AGE, UDP_AGE);
        for number in 0..8_000 {
            let mut arrival = traffic.next(&model);
            arrival.time_ns = arrival.time_ns.saturating_sub(traffic.below(2 * TCP_AGE));
            send(&program, &mut engine, &arrival);
            assert_paired(engine.store(), &format!("packet {number}: {arrival:?}"));
        }
    }
}

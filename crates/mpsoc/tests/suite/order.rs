//! Order-sensitive offloads see packets in the order of their arrival, on machines whose threads
//! take packets in any order.

use crate::support::engine::{agree_in_time, own_spec};
use crate::support::{compiled, generated, load_file, programs};
use wireloom_description::Description;
use wireloom_ir::{Program, store};
use wireloom_mpsoc::engine::MpsocEngine;
use wireloom_mpsoc::spec::Set;
use wireloom_mpsoc::{Options, Spec};
use wireloom_net::Packet;
use wireloom_net::traffic::{AddressSpec, Sizes, Spec as Traffic};
use wireloom_sim::Effort;

/// Packets between few hosts, or between arbitrary ones.
fn packets(count: u64, hosts: Option<&str>) -> Vec<Packet> {
    let addresses = || AddressSpec { prefixes: hosts.map(programs), ..AddressSpec::default() };
    let spec = Traffic {
        seed: 5,
        count: Some(count),
        sizes: Sizes::Imix,
        mix: Traffic::parse_mix("ipv4=1").expect("a mix"),
        destinations: addresses(),
        sources: addresses(),
        ports: 4,
        ..Traffic::default()
    };
    generated(&spec)
}

const STAMP: &str = "../crates/mpsoc/tests/engines/stamp.loom";
const SEQUENCE: &str = "../crates/mpsoc/tests/engines/sequence.loom";
const PARKING: &str = "../crates/mpsoc/tests/engines/parking.loom";
const FIELDS: &str = "../crates/mpsoc/tests/engines/fields.loom";
const NAT_HOSTS: &str = "../crates/mpsoc/tests/engines/nat_hosts.txt";

/// The base machine with these keys, and an input queue that holds all packets.
fn spec(keys: &str) -> Spec {
    let text = format!("extends = \"mpsoc\"\n{keys}\n[io.input]\nqueue_packets = 1000");
    let description = Description::parse("own", &text).expect("TOML");
    Spec::build("own", description).expect("a machine")
}

fn agree(spec: &Spec, program: &Program, packets: &[Packet], table: Option<&str>) {
    agree_in_time(spec, program, packets, &|store| {
        table.iter().for_each(|name| load_file(store, name))
    });
}

#[test]
fn packets_take_the_numbers_that_are_theirs_on_golden() {
    let (program, packets) = (compiled(SEQUENCE), packets(600, None));
    for set in [Set::Armv4, Set::Rv32im] {
        agree(&own_spec(set, ""), &program, &packets, None);
    }
}

#[test]
fn calls_with_fields_of_the_packet_may_take_it_along() {
    let (program, packets) = (compiled(FIELDS), packets(200, None));
    for set in [Set::Armv4, Set::Rv32im] {
        agree(&own_spec(set, ""), &program, &packets, None);
    }
}

#[test]
fn whatever_the_network_and_the_threads_are() {
    let (program, packets) = (compiled(SEQUENCE), packets(200, None));
    let machines = [
        "processors = 1\nthreads = 1",
        "processors = 2\nthreads = 2\n[broker]\npolicy = \"least-loaded\"",
        "processors = 3\nthreads = 4\n[processor]\nmultithreading = \"blocking\"",
        "[network]\nlatency_ns = 100\njitter = 1.0",
        "[network]\nkind = \"ring\"\nclock_mhz = 500\nwidth_bytes = 8\nrouter_cycles = 2\nlink_cycles = 1\nqueue_messages = 2\nslots = 2\nboth_ways = true",
        "[partition]\nkind = \"within-packet\"\ncuts = [\"again\", \"leave\"]",
        "processors = 4\nthreads = 2\n[processor]\nmultithreading = \"blocking\"\n[partition]\nkind = \"within-packet\"\nparts = 4",
    ];
    for keys in machines {
        agree(&spec(keys), &program, &packets, None);
    }
}

#[test]
fn an_object_that_each_packet_calls_once_is_as_fast_as_without_order() {
    let (program, packets) = (compiled(STAMP), packets(600, None));
    let time = |order: &str| {
        let mut spec = spec(&format!("call_order = \"{order}\""));
        spec.io.input.rate = 10_000_000_000;
        spec.io.output.rate = 20_000_000_000;
        let store = store(&program).expect("offloads of a verified program");
        let mut engine =
            MpsocEngine::new(&spec, &program, store, Options::default()).expect("an engine");
        engine
            .execute(&packets, &mut |_| {})
            .and_then(|_| engine.finish(&mut |_| {}))
            .expect("it runs");
        engine.totals().now.as_seconds()
    };
    let ratio = time("arrival") / time("coming");
    assert!((0.99..1.01).contains(&ratio), "{ratio}");
}

#[test]
fn turns_come_at_the_same_times_whether_or_not_the_kernel_knows_of_sleep_and_wheels() {
    let (program, packets) = (compiled(SEQUENCE), packets(300, None));
    let run = |effort| {
        let options = Options { effort, ..Options::default() };
        let offloads = store(&program).expect("offloads of a verified program");
        let mut engine =
            MpsocEngine::new(&spec(""), &program, offloads, options).expect("an engine");
        engine
            .execute(&packets, &mut |_| {})
            .and_then(|_| engine.finish(&mut |_| {}))
            .expect("it runs");
        let record = engine.record();
        let platform =
            serde_json::to_string(record.value("platform").expect("a record")).expect("JSON");
        assert!(platform.contains("turn_wait"));
        platform
    };
    assert_eq!(run(Effort::Active), run(Effort::Naive));
}

#[test]
fn an_engine_that_is_cut_and_goes_back_cannot_keep_the_order_and_is_refused() {
    let program = compiled("../crates/mpsoc/tests/engines/again.loom");
    agree(&spec(""), &program, &packets(200, None), None);
    let cut = "[partition]\nkind = \"within-packet\"\ncuts = [\"look\"]";
    let offloads = || store(&program).expect("offloads of a verified program");
    let refused = MpsocEngine::new(&spec(cut), &program, offloads(), Options::default())
        .err()
        .expect("it is refused");
    assert!(
        refused.to_string().contains("calls of 'taken' cannot be made in the order of arrival"),
        "{refused}"
    );
    let coming = spec(&format!("call_order = \"coming\"\n{cut}"));
    assert!(MpsocEngine::new(&coming, &program, offloads(), Options::default()).is_ok());
}

/// Checks that the machines in the tests above behave differently without a call order.
#[test]
#[should_panic(expected = "left == right")]
fn calls_as_they_come_are_not_what_the_program_means() {
    let keys = "call_order = \"coming\"\n[network]\nlatency_ns = 100\njitter = 1.0";
    agree(&spec(keys), &compiled(SEQUENCE), &packets(200, None), None);
}

#[test]
fn addresses_are_translated_and_packets_parked_as_on_golden() {
    let spec = own_spec(Set::Armv4, "");
    agree(&spec, &compiled("nat.loom"), &packets(600, Some(NAT_HOSTS)), Some("tests/nat.tables"));
    agree(&spec, &compiled(PARKING), &packets(300, None), None);
}

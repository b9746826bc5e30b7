//! Updates of offloads between packets: every packet sees the same state as on golden.

use crate::support::engine::{agree_in_time, own_spec};
use crate::support::{Sent, compiled, generated, keep, rows};
use wireloom_bits::Bits;
use wireloom_ir::{Execute, Golden, Output, Program, store};
use wireloom_mpsoc::engine::MpsocEngine;
use wireloom_mpsoc::spec::{CallOrder, Set};
use wireloom_mpsoc::{Options, Spec};
use wireloom_net::Packet;
use wireloom_net::traffic::Spec as Traffic;
use wireloom_offloads::{EntryKey, Update};
use wireloom_sim::Effort;

const PACKETS: usize = 300;

fn program() -> Program {
    compiled("../crates/mpsoc/tests/engines/marked.loom")
}

fn packets() -> Vec<Packet> {
    generated(&Traffic { seed: 3, count: Some(PACKETS as u64), ports: 4, ..Traffic::default() })
}

/// Updates before the first packet, two before one packet, before two consecutive packets, and
/// before a packet that never comes.
fn updates() -> Vec<Update> {
    let due = [0, 7, 7, 8, 150, 299, 1000];
    (0..)
        .zip(due)
        .map(|(number, packet)| Update {
            packet,
            offload: "value".to_owned(),
            key: EntryKey::Index(0),
            value: Some(Bits::new(32, 1 + number)),
            line: 1 + number as u64,
        })
        .collect()
}

/// The outputs of golden, and the final state of its offloads.
fn expected() -> (Vec<Sent>, String) {
    let program = program();
    let mut golden = Golden::new(program.clone(), store(&program).expect("offloads"));
    let mut sent = Vec::new();
    for (number, packet) in (0..).zip(packets()) {
        for update in updates().iter().filter(|update| update.packet == number) {
            update.apply(golden.store_mut()).expect("an update");
        }
        golden.execute(&[packet], &mut |output| keep(&mut sent, output));
    }
    let state = format!("{:?}", rows(golden.store()));
    (sent, state)
}

/// The outputs and the final state of the machine, on which `run` makes the updates.
fn got(
    keys: &str,
    run: impl FnOnce(&mut MpsocEngine, Vec<Packet>, &mut dyn FnMut(Output<'_>)),
) -> (Vec<Sent>, String) {
    let program = program();
    let offloads = store(&program).expect("offloads");
    let spec = own_spec(Set::Armv4, keys);
    let mut engine =
        MpsocEngine::new(&spec, &program, offloads, Options::default()).expect("an engine");
    let mut sent = Vec::new();
    run(&mut engine, packets(), &mut |output| keep(&mut sent, output));
    (sent, format!("{:?}", rows(engine.store())))
}

#[test]
fn updates_are_made_between_two_packets_in_the_order_of_arrival() {
    let expected = expected();
    // The second machine replies late, so that one-way calls are long in progress.
    for keys in ["", "[object.any]\nlatency_ns = 30000\ninterval_ns = 10"] {
        let got = got(keys, |engine, packets, sink| {
            for update in updates() {
                engine.schedule(update).expect("its packet has not come");
            }
            let (first, second) = packets.split_at(140);
            engine.execute(first, sink).expect("it runs");
            engine.execute(second, sink).expect("it runs");
            engine.finish(sink).expect("it runs");
        });
        assert_eq!(got, expected, "{keys}");
    }
}

#[test]
fn offloads_can_be_changed_between_lots_of_packets() {
    let got = got("", |engine, packets, sink| {
        for (number, packet) in (0..).zip(packets) {
            for update in updates().iter().filter(|update| update.packet == number) {
                let (_, made) = engine.change(sink, |store| update.apply(store)).expect("it runs");
                made.expect("an update");
            }
            engine.execute(&[packet], sink).expect("it runs");
        }
        engine.finish(sink).expect("it runs");
    });
    assert_eq!(got, expected());
}

#[test]
fn calls_without_a_reply_are_all_made_with_room_for_one() {
    let (program, packets) = (program(), packets());
    let keys = "[processor]\none_way_calls = 1\n[object.any]\nlatency_ns = 900\ninterval_ns = 700";
    for call_order in [CallOrder::Arrival, CallOrder::Coming] {
        let spec = Spec { call_order, ..own_spec(Set::Rv32im, keys) };
        let engine = agree_in_time(&spec, &program, &packets, &|_| {});
        let state = format!("{:?}", rows(engine.store()));
        assert!(state.contains("0x12c"), "all 300 are counted: {state}");
        // On a kernel that polls in every cycle, all events have the same times.
        let counted = [Effort::Active, Effort::Naive].map(|effort| {
            let options = Options { effort, ..Options::default() };
            let offloads = store(&program).expect("offloads");
            let mut engine =
                MpsocEngine::new(&spec, &program, offloads, options).expect("an engine");
            engine.offer(packets.clone());
            [200, 60].map(|to_come| {
                engine.run(to_come, &mut |_| {}).expect("it runs");
                let record = engine.record();
                serde_json::to_string(record.value("platform").expect("a record")).expect("JSON")
            })
        });
        assert!(counted[0] == counted[1], "{call_order:?}");
    }
}

/// Checks that the tests above can fail. Packets that were offered before an update are still in
/// the machine when the update is made, or have not arrived.
#[test]
#[should_panic(expected = "left == right")]
fn offloads_that_are_changed_at_once_are_changed_too_early() {
    let got = got("", |engine, packets, sink| {
        for (number, packet) in (0..).zip(packets) {
            for update in updates().iter().filter(|update| update.packet == number) {
                update.apply(engine.store_mut()).expect("an update");
            }
            engine.execute(&[packet], sink).expect("it runs");
        }
        engine.finish(sink).expect("it runs");
    });
    assert_eq!(got, expected());
}

#[test]
fn updates_that_come_too_late_or_do_not_suit_are_refused() {
    got("", |engine, packets, sink| {
        engine.offer(packets[..10].to_vec());
        let late = engine.schedule(updates()[1].clone()).expect_err("packet 7 is on the line");
        assert_eq!(
            late,
            "an update before packet 7 comes too late: 10 packets are on the line or have left"
        );
        let update =
            Update { packet: 10, key: EntryKey::Index(5), line: 4, ..updates()[1].clone() };
        engine.schedule(update).expect("packet 10 has not come");
        let wrong =
            engine.execute(&packets[10..], sink).expect_err("there is one entry").to_string();
        assert!(wrong.starts_with("the update of line 4: "), "{wrong}");
    });
}

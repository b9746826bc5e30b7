//! Line cards that spread their packets over several chains.

use std::sync::Arc;

use wireloom_machine::{Configured, Machine, Options};
use wireloom_net::{Frame, Packet};
use wireloom_raw::Raw;
use wireloom_raw::mapper::MachineSpec;

use super::mapping::{agree, compiled, machine};
use super::packet_tails::packets;
use super::programs;

const COLUMNS: &str = "outputs = \"egress\"\nchains = [[[0, 0], [0, 1], [0, 2]], [[1, 0], [1, 1], [1, 2]], \
                       [[2, 0], [2, 1], [2, 2]], [[3, 0], [3, 1], [3, 2]]]\n";
const ROWS: &str = "outputs = \"egress\"\nchains = [[[0, 0], [1, 0], [2, 0], [3, 0]], [[0, 1], [1, 1], [2, 1], [3, 1]], \
                    [[0, 2], [1, 2], [2, 2], [3, 2]]]\n";
const QUEUES: &str = "[mapping.queues]\ntiles = [[0, 3], [1, 3], [2, 3], [3, 3]]\nmemory = \"tile\"\n\
                      bytes = 16384\nready = \"interrupts\"\nnetwork = \"general\"\n";

fn mapped(mapping: &str) -> Arc<dyn Configured> {
    machine(&format!("[mapping]\n{mapping}")).unwrap_or_else(|error| panic!("{mapping}: {error}"))
}

fn rest(keep: &str, more: &str) -> String {
    format!("[mapping.rest]\nkeep = \"{keep}\"\nwords = 9\npackets = 2\n{more}")
}

fn lengths() -> impl Iterator<Item = usize> {
    (0..=4).chain(31..=35).chain(61..=66).chain([300, 1500, 9000])
}

#[test]
fn packets_of_a_card_leave_chains_in_their_order_whatever_cards_there_are() {
    let all = packets(lengths().chain(lengths()));
    for cards in ["[0, 2]", "[0]", "[1]", "[3, 0]", "[2, 1, 0]", "[0, 1, 2, 3]"] {
        let columns = mapped(&format!("cards = {cards}\n{COLUMNS}{QUEUES}"));
        agree(&columns, &compiled("cut.loom"), &all);
    }
    // Packets that leave at the ports of the cards, without queues; chains of two tiles; and a
    // state owner that serves all tiles.
    for (mapping, program) in [
        (format!("cards = [2, 0]\n{ROWS}"), "plain.loom"),
        (format!("cards = [1]\n{ROWS}"), "hot.loom"),
        (
            "cards = [0]\noutputs = \"egress\"\nchains = [[[0, 0], [0, 1]], [[1, 0], [1, 1]]]"
                .into(),
            "cut.loom",
        ),
        (format!("cards = [0]\nstate_owner = [3, 3]\n{ROWS}"), "nested.loom"),
    ] {
        agree(&mapped(&mapping), &compiled(program), &all);
    }
}

#[test]
fn each_chain_has_its_rests_whatever_card_brings_them() {
    let all = packets(lengths());
    let four = "memories = [[0, 1], [0, 3], [3, 3], [3, 1]]\n";
    for (cards, rest) in [
        ("[0, 2]", rest("card", "")),
        ("[1]", rest("card", "")),
        ("[0, 2]", rest("memory", &format!("{four}network = \"static\"\nprotocol = \"stream\"\n"))),
        ("[1]", rest("memory", &format!("{four}network = \"static\"\nprotocol = \"stream\"\n"))),
        (
            "[3]",
            rest(
                "memory",
                &format!("{four}network = \"static\"\nprotocol = \"dma\"\nrequests = 1\n"),
            ),
        ),
        ("[0, 3]", rest("memory", four)),
        // Four chains of one card and two memories: some chains share a memory, others use the
        // other one.
        ("[0]", rest("memory", "memories = [[0, 1], [3, 1]]\nprotocol = \"dma\"\n")),
    ] {
        let machine = mapped(&format!("cards = {cards}\n{COLUMNS}{QUEUES}{rest}"));
        agree(&machine, &compiled("cut.loom"), &all);
    }
}

/// Returns the cycle in which the last packet of two lines leaves.
fn cycles(name: &str, packets: &[Packet]) -> u64 {
    let machine = programs::machine(name);
    let spec = machine.downcast_ref::<MachineSpec>().expect("it has tiles");
    let (program, store, _) = programs::forwarded(1);
    let raw = Raw::start(spec, &program.optimised, store, &Options::default());
    let mut raw = raw.unwrap_or_else(|error| panic!("{}", error.message));
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    raw.offer(&frames, &mut |_| ()).and_then(|_| raw.finish(&mut |_| ())).expect("it runs");
    raw.departures().iter().map(|(cycle, _)| *cycle).max().expect("packets leave")
}

#[test]
fn chains_of_absent_cards_work_for_those_that_are_there() {
    let (_, _, mut packets) = programs::forwarded(200);
    packets.iter_mut().for_each(|packet| packet.ingress %= 2);
    let (two, four) = (cycles("raw-version-3", &packets), cycles("raw-version-5", &packets));
    assert!(10 * two > 15 * four, "{two} cycles with a column for each card, {four} with two");
}

#[test]
fn cards_whose_packets_cannot_be_spread_are_refused_by_key() {
    let two = "outputs = \"egress\"\nchains = [[[0, 0], [0, 1]], [[1, 0], [1, 1]]]\n";
    for (mapping, why) in [
        (format!("cards = [2]\n{two}"), "`mapping.cards` names chain 2, and there are 2"),
        (format!("cards = [1, 1]\n{two}"), "`mapping.cards` names chain 1 twice"),
        (format!("cards = [-1]\n{two}"), "invalid value: integer `-1`"),
        (format!("cards = [0]\n{}", two.replace("egress", "chain")), "say `outputs = \"egress\"`"),
        (format!("cards = [0]\nlinks = \"general\"\n{two}"), "say `links = \"static\"`"),
        (
            format!("cards = [0]\nreplicas = [2, 1]\n{ROWS}")
                .replace(", [3, 0]", "")
                .replace(", [3, 1]", "")
                .replace(", [3, 2]", ""),
            "leave out `mapping.replicas`",
        ),
        // The chains are not neighbours, or only at one end, or have one tile.
        (
            format!("cards = [0]\n{}", two.replace("[[1, 0], [1, 1]]", "[[2, 0], [2, 1]]")),
            "chain 1 has no line card (`mapping.cards`)",
        ),
        (
            format!("cards = [0]\n{}", two.replace("[[1, 0], [1, 1]]", "[[1, 0], [2, 0]]")),
            "name it in `mapping.cards`, or move it",
        ),
        (
            format!("cards = [0]\n{}", two.replace(", [0, 1]", "").replace(", [1, 1]", "")),
            "two tiles each at least",
        ),
    ] {
        let error = machine(&format!("[mapping]\n{mapping}")).err();
        let error = error.unwrap_or_else(|| panic!("{why}: {mapping}"));
        assert!(error.contains(why), "{error}");
    }
    let refused = mapped(&format!("cards = [0]\n{two}")).refusals(&compiled("lengths.loom"));
    assert_eq!(refused[0].step.as_deref(), Some("send"), "{refused:?}");
    assert!(refused[0].message.contains("send one message each in turn"), "{refused:?}");
}

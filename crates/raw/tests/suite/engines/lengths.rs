//! Packets of all lengths. Words leave through rows of instructions that are entered at a position
//! which depends on their number.

use std::sync::Arc;

use wireloom_machine::{Configured, Machine, Options};
use wireloom_net::{Frame, Packet};
use wireloom_raw::Raw;
use wireloom_raw::mapper::MachineSpec;

use super::mapping::{agree, compiled, machine};

fn mapped(text: &str) -> Arc<dyn Configured> {
    machine(&format!("[mapping]\n{text}\n")).unwrap_or_else(|error| panic!("{error}"))
}

fn packet(length: usize) -> Packet {
    let bytes = (0..length).map(|at| (at * 13 + length) as u8).collect();
    Packet { ingress: 0, arrival_ns: 0, bytes }
}

#[test]
fn packets_of_all_lengths_leave_as_on_golden_wherever_they_begin() {
    let packets = |lengths: &[usize]| lengths.iter().copied().map(packet).collect::<Vec<_>>();
    let [one, chain] = ["chains = [[[0, 0]]]", "chains = [[[0, 0], [1, 0], [2, 0]]]\n"];
    let all = packets(&(0..=262).collect::<Vec<_>>());
    // Lengths around the ends of rows and of messages of the general network.
    let ends = (0..=6).chain(100..=112).chain(122..=130).chain(250..=258).chain([1500, 9018]);
    let ends = packets(&ends.collect::<Vec<_>>());
    for (mapping, packets) in [
        (one, &all),
        // Each step is on its own tile, so pieces of a packet pass through the tiles after it.
        (chain, &ends),
        (&format!("{chain}replicas = [3]"), &ends),
        (&format!("{chain}replicas = [1, 2]"), &ends),
        (&format!("{chain}replicas = [2, 1]\noutputs = \"egress\""), &ends),
        (
            &format!(
                "{chain}replicas = [2, 1]\noutputs = \"egress\"\n[mapping.queues]\ntiles = [[0, 1]]\n\
                 memory = \"dram\"\nbytes = 1048576\nready = \"polling\""
            ),
            &ends,
        ),
    ] {
        for program in ["plain.loom", "lengths.loom", "pieces.loom"] {
            agree(&mapped(mapping), &compiled(program), packets);
        }
    }
    // The longest packets: no byte can be put in front of the longest one.
    for program in ["lengths.loom", "pieces.loom"] {
        agree(&mapped(one), &compiled(program), &packets(&[65_531, 65_532, 65_535]));
    }
}

/// Returns the instructions that a tile executes for each packet of a length.
fn executed(length: usize) -> u64 {
    const COUNT: usize = 40;
    let machine = mapped("chains = [[[0, 0]]]");
    let spec = machine.downcast_ref::<MachineSpec>().expect("it has tiles");
    let program = compiled("plain.loom");
    let store = wireloom_ir::store(&program.optimised).expect("a store");
    let spent = |count: usize| {
        let mut raw = Raw::start(spec, &program.optimised, store.clone(), &Options::default())
            .unwrap_or_else(|error| panic!("{}", error.message));
        let packets = vec![packet(length); count];
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        raw.offer(&frames, &mut |_| ()).and_then(|_| raw.finish(&mut |_| ())).expect("it runs");
        raw.chip().spent((0, 0)).0.executed
    };
    let all = spent(2 * COUNT) - spent(COUNT);
    assert_eq!(all % COUNT as u64, 0, "{length} bytes: each packet takes as many instructions");
    all / COUNT as u64
}

#[test]
fn a_word_more_of_a_packet_is_two_instructions_more() {
    // Up to 126 bytes, with two bytes of alignment, fill the rows of incoming and outgoing words.
    let least = executed(0);
    for length in 1..=126 {
        assert_eq!(executed(length), least + 2 * ((length as u64 + 1) / 4), "{length} bytes");
    }
    // Longer packets loop over more rows, with three instructions each. 16 instructions lead to the
    // two loops.
    let [first, second] = [127, 255].map(executed);
    assert_eq!(first - least, 2 * 32 + 16);
    assert_eq!(second - first, 2 * 32 + 6);
}

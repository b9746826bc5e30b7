//! Chains whose messages go over the general network.

use wireloom_machine::Options;
use wireloom_raw::Raw;
use wireloom_raw::mapper::MachineSpec;

use super::mapping::{agree, compiled, machine};
use super::packet_tails::packets;

const COLUMNS: &str = "links = \"general\"\noutputs = \"egress\"\nchains = [[[0, 0], [0, 1], [0, 2]], \
                       [[1, 0], [1, 1], [1, 2]], [[2, 0], [2, 1], [2, 2]], [[3, 0], [3, 1], [3, 2]]]\n";
const ROW: &str =
    "links = \"general\"\noutputs = \"egress\"\nchains = [[[0, 0], [1, 0], [2, 0]]]\n";

#[test]
fn packets_of_all_lengths_go_from_tile_to_tile_over_the_general_network() {
    let lengths = (0..=5).chain(58..=63).chain(88..=134).chain([300, 1499, 1500, 9000]);
    let all = packets(lengths);
    let queues = "[mapping.queues]\ntiles = [[0, 3], [1, 3], [2, 3], [3, 3]]\nmemory = \"tile\"\n\
                  bytes = 16384\nready = \"interrupts\"\nnetwork = \"general\"\n";
    let rest = |keep: &str, more: &str| {
        format!("[mapping.rest]\nkeep = \"{keep}\"\nwords = 16\npackets = 4\n{more}")
    };
    let rows = "links = \"general\"\noutputs = \"egress\"\nchains = [[[0, 0], [1, 0], [2, 0], [3, 0]], \
                [[3, 2], [2, 2], [1, 2], [0, 2]]]\n";
    let in_memory = rest("memory", "memories = [[0, 1], [3, 1]]\n");
    for (mapping, programs) in [
        // Whole packets, and packets that are sent twice. Packets that are dropped or sent at the
        // first tile pass through the other tiles.
        (
            ROW.to_owned(),
            &["stages.loom", "lengths.loom", "pieces.loom", "keyed.loom", "plain.loom"][..],
        ),
        (format!("{ROW}steps = [[\"count\"], [\"grow\"], [\"send\"]]"), &["spread.loom"]),
        (ROW.replace(", [1, 0], [2, 0]", ""), &["lengths.loom", "pieces.loom", "cut.loom"]),
        (rows.to_owned(), &["plain.loom", "hot.loom"]),
        (format!("{rows}{}", rest("card", "")), &["cut.loom"]),
        (format!("{COLUMNS}{queues}{in_memory}"), &["cut.loom", "plain.loom"]),
    ] {
        let machine =
            machine(&format!("[mapping]\n{mapping}")).unwrap_or_else(|why| panic!("{why}"));
        for program in programs {
            agree(&machine, &compiled(program), &all);
        }
    }
}

#[test]
fn no_switch_has_a_program() {
    let machine = super::programs::machine("raw-version-3d");
    let (ipv4, store, _) = super::programs::forwarded(1);
    let spec = machine.downcast_ref::<MachineSpec>().expect("it has tiles");
    let raw = Raw::start(spec, &ipv4.optimised, store, &Options::default());
    let raw = raw.unwrap_or_else(|error| panic!("{}", error.message));
    let text = raw.source();
    assert!(text.contains(".tile 0 0") && !text.contains(".switch"), "{text}");
    assert!(!text.contains("$csti") && !text.contains("$csto"), "{text}");
}

#[test]
fn what_needs_switches_is_refused_by_key() {
    let rest = "[mapping.rest]\nkeep = \"memory\"\nwords = 16\npackets = 4\nmemories = [[0, 3]]\n\
                network = \"static\"\n";
    for (mapping, why) in [
        (ROW.replace("egress", "chain"), "say `outputs = \"egress\"` as well"),
        (format!("{ROW}replicas = [2, 1]"), "leave out `mapping.replicas`"),
        (format!("{ROW}state_owner = [3, 3]"), "leave out `mapping.state_owner`"),
        (format!("{ROW}{rest}"), "say `network = \"memory\"` in `mapping.rest`"),
        (ROW.replace("general", "memory"), "unknown variant `memory`"),
    ] {
        let error =
            machine(&format!("[mapping]\n{mapping}")).err().unwrap_or_else(|| panic!("{why}"));
        assert!(error.contains(why), "{error}");
    }
    let machine = machine(&format!("[mapping]\n{ROW}")).unwrap_or_else(|why| panic!("{why}"));
    let refused = machine.refusals(&compiled("wide.loom"));
    assert!(
        refused[0].message.contains("do not fit a message to stage 1: they have"),
        "{refused:?}"
    );
}

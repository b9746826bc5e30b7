//! Tests that the README of a built folder explains how to integrate the processor, with snapshots
//! of these sections for designs with different lanes, ports, memories and registers.

use wireloom_machine::Files;
use wireloom_np::description::Machine;
use wireloom_np::processor::{self, NOT_ESTIMATED, Stimulus};

/// A program with tables of every kind of memory, arrival times, and reasons.
const SOURCE: &str = "
enum Why : u8 { NO_FLOW, SHORT = 5 };
header Head { u32 dst; u32 key; u16 label; };
struct Hop { u16 port; };
engine demo() {
    offload routes : lpm<u32, Hop>;
    offload labels : array<u16, size = 1024>;
    offload flows : exact<u32, u16, size = 100>;
    offload seen : counter<size = 16>;
    offload now : clock;
    Head head @ 0;
    step first {
        if (packet.length < sizeof(Head)) drop(SHORT);
        Hop hop = routes.search(head.dst);
        head.label = labels.read(head.label);
        packet.egress = hop.port;
        next second;
    }
    step second {
        seen.count(packet.ingress, packet.length);
        auto flow = flows.lookup(head.key);
        if (!flow.found) to_cpu(NO_FLOW);
        finish;
    }
}
";

/// Returns the folder of a machine, for a program in the file `path`.
fn folder(machine: &str, path: &str, source: &str) -> Files {
    let checked = wireloom_lang::check_source(path, source, &wireloom_lang::Options::default());
    let mut program = wireloom_compile::lower(&checked.program.expect("a program without errors"));
    let machine = Machine::parse("mine", machine).unwrap_or_else(|error| panic!("{error}"));
    wireloom_compile::pipeline::optimise(&mut program, &machine.pass_options());
    let processor =
        processor::assemble(&program, &machine).unwrap_or_else(|error| panic!("{error}"));
    processor::files(&processor, Vec::new(), Some(Stimulus::default()), NOT_ESTIMATED)
}

/// Returns a section of the README for a machine, from its heading to the next.
fn section(machine: &str, source: &str, head: &str) -> String {
    let files = folder(machine, "demo.loom", source);
    let (_, readme) = files.into_iter().find(|(name, _)| name == "README.md").expect("a README");
    let head = format!("\n## {head}\n");
    let (_, rest) = readme.split_once(&head).unwrap_or_else(|| panic!("{head} in {readme}"));
    let end = rest.find("\n## ").unwrap_or(rest.len());
    rest[..end].to_owned()
}

const LANES: &str = "
extends = \"np\"
clusters = 2
engines = 1
threads = 2
lanes = 2
[offload.labels]
realisation = \"cached\"
place = \"pipe\"
";

const PORTS: &str = "
extends = \"np\"
clusters = 1
engines = 1
threads = 2
[offload.labels]
realisation = \"table\"
place = \"cluster\"
[offload.seen]
realisation = \"counters\"
place = \"pipe\"
[ports]
kind = \"10g\"
numbers = [3, 1]
bytes = 16
";

const PIPELINE: &str = "extends = \"np-pipeline\"";

/// A program with only forward jumps, whose calls take a constant time.
const SOURCE_OF_PIPELINE: &str = "
header Head { u32 dst; u16 label; };
engine demo() {
    offload marks : array<u16, size = 1024>;
    Head head @ 0;
    step first { head.label = marks.read(head.label); next second; }
    step second { if (head.label == 0) done; packet.egress = head.label; finish; }
}
";

#[test]
fn two_lanes_with_memories_and_tables_of_keys() {
    insta::assert_snapshot!(section(LANES, SOURCE, "Integration"));
}

#[test]
fn memory_channels_are_listed_with_their_pins() {
    insta::assert_snapshot!(section(LANES, SOURCE, "Memory channels"));
}

#[test]
fn narrow_ports_and_arrival_times() {
    let source = SOURCE
        .replace("offload routes : lpm<u32, Hop>;", "")
        .replace("Hop hop = routes.search(head.dst);", "u64 at = now.now();")
        .replace("packet.egress = hop.port;", "packet.egress = at[15:0];");
    insta::assert_snapshot!(section(PORTS, &source, "Integration"));
}

#[test]
fn a_folder_does_not_depend_on_where_the_program_lies() {
    for machine in [LANES, PIPELINE] {
        let [here, there] = ["demo.loom", "/home/someone/programs/demo.loom"]
            .map(|path| folder(machine, path, SOURCE_OF_PIPELINE));
        assert!(here.iter().any(|(_, text)| text.contains("demo.loom:")), "comments name lines");
        assert!(here == there, "files differ");
    }
}

#[test]
fn a_driver_waits_for_the_longest_pause_of_a_table() {
    let folder_of = |size: &str| {
        let source = SOURCE.replace("size = 100", size);
        folder(LANES, "demo.loom", &source)
    };
    // Clearing takes a cycle for each chain. All entries that age may expire at the same time.
    for (size, pause) in [("size = 131_072", 131_072), ("size = 131_072, age = 5", 16 * 131_072)] {
        let files = folder_of(size);
        let text = |name: &str| {
            &files.iter().find(|(file, _)| file == name).unwrap_or_else(|| panic!("{name}")).1
        };
        let timeout = 65_536 + pause;
        assert!(text("memory_map.json").contains(&format!("\"timeout_cycles\": {timeout},")));
        assert!(text("rtl/np_top.sv").contains(&format!(".Timeout({timeout})")), "{size}");
        let clears = "-DWL_CLEARING=131072 ";
        let pauses = format!("-DWL_LONGEST_PAUSE={pause} ");
        assert!(text("Makefile").contains(clears) && text("Makefile").contains(&pauses), "{size}");
    }
}

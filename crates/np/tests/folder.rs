//! The README of a built folder says how to integrate the processor: snapshots of these sections for
//! designs with different lanes, ports, memories and registers.

use wireloom_np::description::Machine;
use wireloom_np::processor::{self, NOT_ESTIMATED};

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

/// Returns a section of the README for a machine, from its head to the next.
fn section(machine: &str, source: &str, head: &str) -> String {
    let checked =
        wireloom_lang::check_source("demo.loom", source, &wireloom_lang::Options::default());
    let mut program = wireloom_compile::lower(&checked.program.expect("a program without errors"));
    let machine = Machine::parse("mine", machine).unwrap_or_else(|error| panic!("{error}"));
    wireloom_compile::pipeline::optimise(&mut program, &machine.pass_options());
    let processor =
        processor::assemble(&program, &machine).unwrap_or_else(|error| panic!("{error}"));
    let files = processor::files(&processor, Vec::new(), None, NOT_ESTIMATED);
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

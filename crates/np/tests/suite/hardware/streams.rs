//! Tests AXI4-Stream's rule that a sender does not wait for its receiver: no combinational path
//! leads from the `ready` of an outgoing stream to its `valid`, or from the `valid` of an incoming
//! stream to its `ready`. Yosys searches the netlist of each module at an edge of a machine's data
//! path, or next to a module that only passes both signals on (`wl_sequencer`, `wl_merger`). Every
//! machine's streams begin and end in these modules. In addition Yosys searches whole generated
//! processors, flattened: one with two lanes, one with narrow ports.

use std::path::{Path, PathBuf};

use wireloom_install::tools;
use wireloom_np::description::NpSpec;
use wireloom_np::processor::{self, NOT_ESTIMATED};

use super::{hardware, machines, outcome, repository};

/// A module, parameters, and two ports between which there must be no path.
type Edge = (&'static str, &'static str, &'static str, &'static str);

const EDGES: &[Edge] = &[
    // From lane or narrow port to pipe.
    ("wl_sequencer", "-G Lanes=2", "s_tvalid_i", "s_tready_o"),
    ("wl_sequencer", "-G Lanes=2", "pipe_ready_i", "pipe_valid_o"),
    ("wl_sequencer", "-G Lanes=2", "pipe_ready_i", "order_valid_o"),
    ("wl_merger", "-G Lanes=2", "order_valid_i", "order_ready_o"),
    ("wl_preprocessor", "", "valid_i", "ready_o"),
    ("wl_preprocessor", "", "header_ready_i", "header_valid_o"),
    ("wl_upsizer", "", "in_valid_i", "in_ready_o"),
    ("wl_upsizer", "", "out_ready_i", "out_valid_o"),
    ("wl_packet_queue", "-G Width=16 -G Beats=8", "in_valid_i", "in_ready_o"),
    ("wl_packet_queue", "-G Width=16 -G Beats=8", "out_ready_i", "out_valid_o"),
    ("wl_port_gather", "-G Beats=8", "s_tvalid_i", "s_tready_o"),
    ("wl_port_gather", "-G Beats=8", "m_tready_i", "m_tvalid_o"),
    // From pipe to lane or narrow port.
    ("wl_postprocessor", "", "ready_i", "valid_o"),
    ("wl_merger", "-G Lanes=2", "m_tready_i", "m_tvalid_o"),
    ("wl_downsizer", "", "in_valid_i", "in_ready_o"),
    ("wl_downsizer", "", "out_ready_i", "out_valid_o"),
    ("wl_port_spread", "-G Beats=8", "s_tvalid_i", "s_tready_o"),
    ("wl_port_spread", "-G Beats=8", "m_tready_i", "m_tvalid_o"),
    // Virtual routers: the input of wl_virtual_ingress cannot be stalled.
    ("wl_virtual_ingress", "", "out_ready_i", "out_valid_o"),
    ("wl_virtual_demux", "", "router_ready_i", "router_valid_o"),
    ("wl_virtual_egress", "", "m_tready_i", "m_tvalid_o"),
];

/// Returns whether Yosys finds no path from one port of a module to another, and its output.
/// Memories count as paths, and so do all bits of a port that is used as a whole. So a reported
/// path may not exist, but no existing path is missed.
fn independent((module, parameters, from, to): Edge) -> (bool, String) {
    let folder = hardware().join("np");
    assert!(folder.join(format!("{module}.sv")).exists(), "there is no {module}");
    let script = format!(
        "read_slang --threads 1 -I hardware -D SYNTHESIS {parameters} --top {module} -y hardware/flow \
         -y hardware/memory -y hardware/np -Y .sv hardware/wl_pkg.sv hardware/np/{module}.sv\n\
         prep -flatten -top {module}\n\
         select -assert-any w:{from}\n\
         select -set cone w:{to} %ci*:-$dff,$dffe,$sdff,$sdffe,$sdffce\n\
         select -assert-any @cone\n\
         select -assert-none @cone w:{from} %i"
    );
    let mut yosys = tools::yosys().unwrap_or_else(|message| panic!("{message}"));
    let (fine, said) = outcome(yosys.current_dir(repository()).args(["-Q", "-p", &script]));
    let found = said.contains("Assertion failed: selection is not empty");
    assert!(fine || found, "{module}: Yosys does not get to the search:\n{said}");
    (fine, said)
}

#[test]
#[ignore = "takes long: make test-all"]
fn no_stream_at_an_edge_waits_for_its_other_side() {
    for &edge in EDGES {
        let (fine, said) = independent(edge);
        let said: Vec<&str> = said.lines().rev().take(3).collect();
        assert!(fine, "there may be a path in {edge:?}: {said:?}");
    }
}

#[test]
fn a_path_is_found() {
    let (fine, _) = independent(("wl_merger", "-G Lanes=2", "m_tready_i", "pipe_ready_o"));
    assert!(!fine, "the merger passes the receiver's `ready` on");
}

/// A program with a table in a memory channel, and counters.
const PROGRAM: &str = "
enum Why : u8 { SHORT = 5 };
header Head { u32 dst; u16 label; };
struct Hop { u16 port; };
engine demo() {
    offload routes : lpm<u32, Hop>;
    offload seen : counter<size = 16>;
    Head head @ 0;
    step first {
        if (packet.length < sizeof(Head)) drop(SHORT);
        Hop hop = routes.search(head.dst);
        head.label = head.label + 1;
        packet.egress = hop.port;
        next second;
    }
    step second { seen.count(packet.ingress, packet.length); finish; }
}
";

const LANES: &str = "extends = \"np\"\nclusters = 2\nengines = 1\nthreads = 2\nlanes = 2\n";
const PORTS: &str = "extends = \"np\"\nclusters = 1\nengines = 1\nthreads = 2\n\
                     [ports]\nkind = \"10g\"\nnumbers = [0, 1]\n";

/// The cell types of registers in Yosys, at which a path ends. Memories are not among them: their
/// clocked reads have such a register.
const REGISTERS: &str = "-$dff,$dffe,$sdff,$sdffe,$sdffce";

/// Writes the processor of a machine to a folder below target/.
fn build(name: &str, machine: &str) -> PathBuf {
    let checked = wireloom_lang::check_source("demo.loom", PROGRAM, &Default::default());
    let mut program = wireloom_compile::lower(&checked.program.expect("a program without errors"));
    let machine = NpSpec::parse(name, machine).unwrap_or_else(|error| panic!("{error}"));
    wireloom_compile::pipeline::optimise(&mut program, &machine.pass_options());
    let processor =
        processor::assemble(&program, &machine).unwrap_or_else(|error| panic!("{error}"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("streams").join(name);
    for (file, text) in processor::files(&processor, Vec::new(), None, NOT_ESTIMATED) {
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("target/ can be written");
        std::fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    folder
}

/// Returns whether Yosys finds no path in a flattened processor between any two of its streams, and
/// its output. The bits of all lanes or ports are searched together, so a path from one lane to
/// another is found too.
fn all_independent(folder: &Path) -> (bool, String) {
    // Ready is low in reset, so there is always a path from the reset. The script asserts this
    // path, which shows that the search finds existing paths.
    let script = format!(
        "read_slang --threads 1 -D SYNTHESIS -f np.f --top np_top\n\
         hierarchy -top np_top\nproc\nflatten\nopt_clean\n\
         select -assert-any w:m_axis_tready_i\n\
         select -set out w:m_axis_tvalid_o %ci*:{REGISTERS}\n\
         select -assert-any @out\n\
         select -assert-none @out w:m_axis_tready_i %i\n\
         select -assert-any w:s_axis_tvalid_i\n\
         select -set in w:s_axis_tready_o %ci*:{REGISTERS}\n\
         select -assert-any @in w:rst_i %i\n\
         select -assert-none @in w:s_axis_tvalid_i %i"
    );
    let mut yosys = tools::yosys().unwrap_or_else(|message| panic!("{message}"));
    let (fine, said) = outcome(yosys.current_dir(folder).args(["-Q", "-p", &script]));
    let found = said.contains("Assertion failed: selection is not empty");
    assert!(fine || found, "{}: Yosys does not get to the search:\n{said}", folder.display());
    (fine, said)
}

#[test]
fn no_lane_of_a_whole_machine_waits_for_another_or_for_its_other_side() {
    let (fine, said) = all_independent(&build("lanes", LANES));
    assert!(fine, "there may be a path:\n{said}");
}

#[test]
fn no_narrow_port_of_a_whole_machine_waits_for_another_or_for_its_other_side() {
    let (fine, said) = all_independent(&build("ports", PORTS));
    assert!(fine, "there may be a path:\n{said}");
}

/// Searches the machines of the folder machines/ with one program. They differ in lanes, ports,
/// shells and counts.
#[test]
#[ignore = "slow: make test-all"]
fn no_stream_of_any_machine_waits_for_another_or_for_its_other_side() {
    let mut searched = 0;
    for name in machines() {
        let text = format!("extends = {name:?}\n");
        let (fine, said) = all_independent(&build(&format!("machine-{name}"), &text));
        assert!(fine, "there may be a path in {name}:\n{said}");
        searched += 1;
    }
    assert!(searched >= 8, "machines/ has more than {searched} network processors");
}

#[test]
#[ignore = "takes long: make test-all"]
fn a_path_through_a_whole_machine_is_found() {
    let folder = build("broken", LANES);
    let merger = folder.join("rtl/templates/wl_merger.sv");
    let text = std::fs::read_to_string(&merger).expect("the merger is a template of the machine");
    let broken =
        text.replace("m_tvalid_o = pipe_valid_i", "m_tvalid_o = ~m_tready_i & pipe_valid_i");
    assert_ne!(text, broken);
    std::fs::write(&merger, broken).expect("target/ can be written");
    let (fine, _) = all_independent(&folder);
    assert!(!fine, "the merger's `valid` depends on the receiver's `ready`");
}

//! AXI4-Stream's rule that a sender waits for no receiver: no combinational path leads from the
//! `ready` of a stream that leaves to its `valid`, and none from the `valid` of a stream that
//! enters to its `ready`. Yosys searches the netlist of each module that stands at an edge of a
//! machine's data path, or next to one that only passes both signals on (`wl_sequencer`,
//! `wl_merger`). Every machine's streams begin and end in these modules.

use wireloom_install::tools;

use super::{hardware, outcome, repository};

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
    // Virtual routers: what enters wl_virtual_ingress cannot be stalled.
    ("wl_virtual_ingress", "", "out_ready_i", "out_valid_o"),
    ("wl_virtual_demux", "", "router_ready_i", "router_valid_o"),
    ("wl_virtual_egress", "", "m_tready_i", "m_tvalid_o"),
];

/// Returns whether Yosys finds no path from one port of a module to another, and what it says.
/// Memories count as paths, and so do all bits of a port that is used as a whole: what is found
/// need not be a path, but what is not found is none.
fn independent((module, parameters, from, to): Edge) -> (bool, String) {
    let folder = hardware().join("np");
    assert!(folder.join(format!("{module}.sv")).exists(), "there is no {module}");
    let script = format!(
        "read_slang --threads 1 -D SYNTHESIS {parameters} --top {module} -y hardware/flow \
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

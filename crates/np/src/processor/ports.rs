//! Narrow ports around the lane: `wl_port_gather` before the sequencer, and `wl_port_spread` after
//! the merger.

use super::pipe::SENT_BITS;
use super::plan::Plan;
use super::wires::{input, output, vector};
use wireloom_bits::Bits;
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Expr, Instance, Item, Port, Type};

/// Returns the name of a lane's net or port: a port of the top module if the machine has wide
/// lanes, or a net inside the narrow ports.
pub(super) fn lane(plan: &Plan, port: &str) -> Expr {
    if !plan.machine.ports.are_narrow() {
        return name(port);
    }
    name(net(port))
}

fn net(port: &str) -> String {
    let inside = port.replace("s_axis_", "gathered_").replace("m_axis_", "merged_");
    inside.trim_end_matches("_i").trim_end_matches("_o").to_owned()
}

/// Returns the bits of a narrow port's `tuser`: the packet metadata except for the port number.
fn rest_bits(plan: &Plan) -> usize {
    plan.user_bits - 16
}

/// Returns the packet ports of a top module with narrow ports.
pub(super) fn ports(plan: &Plan) -> Vec<Port> {
    let narrow = &plan.machine.ports;
    let (count, bytes) = (narrow.numbers.len(), narrow.bytes);
    let streams = count + 1;
    let numbers: Vec<String> = narrow.numbers.iter().map(u16::to_string).collect();
    let mut ports = vec![
        input(
            "s_axis_tdata_i",
            count * 8 * bytes,
            &format!(
                "AXI4-Stream ports in, of numbers {}; byte 0 of a beat in its lowest bits.",
                numbers.join(", ")
            ),
        ),
        input("s_axis_tkeep_i", count * bytes, ""),
        input("s_axis_tvalid_i", count, ""),
        output("s_axis_tready_o", count, ""),
        input("s_axis_tlast_i", count, ""),
    ];
    if rest_bits(plan) > 0 {
        ports.push(input(
            "s_axis_tuser_i",
            count * rest_bits(plan),
            "Arrival time in nanoseconds.",
        ));
    }
    ports.extend([
        output(
            "m_axis_tdata_o",
            streams * 8 * bytes,
            "AXI4-Stream ports out, and above them the stream of the control processor.",
        ),
        output("m_axis_tkeep_o", streams * bytes, ""),
        output("m_axis_tvalid_o", streams, ""),
        input("m_axis_tready_i", streams, ""),
        output("m_axis_tlast_o", streams, ""),
        output("m_axis_tuser_o", streams * SENT_BITS, "wl_pkg::sent_t of a stream."),
        output(
            "taken_o",
            count,
            "A packet of the port is taken: its place in the order. For statistics.",
        ),
        output("went_o", streams, "A packet goes to the stream, in order. For statistics."),
        output(
            "unknown_o",
            1,
            "A packet is dropped in its place, for its egress port does not exist.",
        ),
        output("sent_o", SENT_BITS, "wl_pkg::sent_t of the packet that one of these two tells of."),
    ]);
    ports
}

/// Returns the templates between the ports and the lane.
pub(super) fn items(plan: &Plan) -> Vec<Item> {
    let narrow = &plan.machine.ports;
    let numbers =
        narrow.numbers.iter().rev().fold(0, |all, number| all << 16 | u128::from(*number));
    let shape = |instance: Instance, port_bytes: &str| {
        instance
            .parameter("Ports", int(narrow.numbers.len()))
            .parameter(port_bytes, int(narrow.bytes))
            .parameter("DataBytes", int(plan.data_bytes))
            .parameter(
                "Numbers",
                Expr::Number(Bits::new(16 * narrow.numbers.len() as u32, numbers)),
            )
            .parameter("Beats", int(narrow.queue_beats))
    };
    let outside = |mut instance: Instance, prefix: &str, ports: &[&str]| {
        for port in ports {
            instance =
                instance.port(format!("{prefix}_{port}"), name(format!("{prefix}_axis_{port}")));
        }
        instance
    };
    let mut gather = shape(clocked("wl_port_gather", "i_gather"), "InBytes")
        .parameter("RestBits", int(rest_bits(plan)));
    gather = outside(gather, "s", &["tvalid_i", "tready_o", "tdata_i", "tkeep_i", "tlast_i"]);
    let rest = if rest_bits(plan) > 0 { name("s_axis_tuser_i") } else { Expr::Zeros };
    gather = gather.port("s_tuser_i", rest);
    for what in ["tvalid", "tdata", "tkeep", "tlast", "tuser"] {
        gather = gather.port(format!("m_{what}_o"), name(format!("gathered_{what}")));
    }
    gather = gather
        .port("m_tready_i", name("gathered_tready"))
        .port("taken_o", name("taken_o"))
        .port("stall_o", name("port_stall"));
    let mut spread = shape(clocked("wl_port_spread", "i_spread"), "OutBytes");
    for what in ["tvalid", "tdata", "tkeep", "tlast", "tuser"] {
        spread = spread.port(format!("s_{what}_i"), name(format!("merged_{what}")));
    }
    spread = spread.port("s_tready_o", name("merged_tready"));
    spread =
        outside(spread, "m", &["tvalid_o", "tready_i", "tdata_o", "tkeep_o", "tlast_o", "tuser_o"]);
    spread = spread.port("went_o", name("went_o")).port("unknown_o", name("unknown_o"));
    vec![
        Item::Instance(gather),
        Item::Instance(spread),
        Item::assign("sent_o", name("merged_tuser")),
    ]
}

/// Returns the nets between the narrow ports and the lane.
pub(super) fn nets(plan: &Plan) -> Vec<Item> {
    let beat = 8 * plan.data_bytes;
    let lane = |prefix: &str, user: usize| {
        let widths = [
            ("tvalid", 1),
            ("tready", 1),
            ("tdata", beat),
            ("tkeep", plan.data_bytes),
            ("tlast", 1),
            ("tuser", user),
        ];
        widths.map(|(what, width)| vector(format!("{prefix}_{what}"), width))
    };
    let stall = Item::net("port_stall", Type::vector(int(plan.machine.ports.numbers.len())));
    lane("gathered", plan.user_bits)
        .into_iter()
        .chain(lane("merged", SENT_BITS))
        .chain([stall])
        .collect()
}

/// Returns the statistics inputs of narrow ports, with the first in the lowest bits: packets
/// received and cycles waited on each port, packets sent on each port and to the control processor,
/// and packets for ports that do not exist.
pub(super) fn counted(plan: &Plan) -> Vec<Expr> {
    if !plan.machine.ports.are_narrow() {
        return Vec::new();
    }
    vec![name("unknown_o"), name("went_o"), name("port_stall"), name("taken_o")]
}

/// Returns the meaning of each of these counters, for users.
pub(super) fn counter_names(plan: &Plan) -> Vec<String> {
    if !plan.machine.ports.are_narrow() {
        return Vec::new();
    }
    let each = |what: &str| {
        let name = |number| format!("{what} port {number}");
        plan.machine.ports.numbers.iter().map(name).collect::<Vec<_>>()
    };
    let others = ["packets sent to the control processor", "packets for ports that do not exist"];
    [
        each("packets received on"),
        each("cycles in which a packet waited at"),
        each("packets sent to"),
        others.map(str::to_owned).to_vec(),
    ]
    .concat()
}

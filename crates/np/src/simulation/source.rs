//! The simulated design: sources and the shape of the top module's ports.

use crate::processor::File;

/// A network processor as files of SystemVerilog.
///
/// The top module has the ports of `np_top` (docs/machines/np.md, "Ports") or, if there are virtual
/// routers, of `virtual_top` (docs/virtual.md); if there are any probes, also `probe_o`.
#[derive(Clone, Debug)]
pub struct Source {
    /// Files, packages before what uses them.
    pub files: Vec<File>,
    /// The top module, with models of the memories.
    pub top: String,
    /// Modules that it contains several times: translated and compiled once.
    pub blocks: Vec<String>,
    /// The shape of its ports.
    pub geometry: Geometry,
}

/// The shape of the ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Lanes of packets, in and out.
    pub lanes: usize,
    /// Narrow ports around the one lane, if there are any.
    pub ports: Option<NarrowPorts>,
    /// Bits of `s_axis_tuser_i` a lane: 16 of ingress port, and above them what the program asks
    /// for.
    pub user_bits: usize,
    /// Whether the 64 bits above the ingress port are the arrival time in nanoseconds.
    pub arrival: bool,
    /// The memories' clock over the core's; 0 if there is no `clk_mem_i`.
    pub memory_ratio: usize,
    /// The meaning of the bits of `probe_o`, the least significant first.
    pub probes: Vec<Probe>,
    /// The routers, if it is a chip of virtual routers.
    pub routers: Option<Routers>,
}

/// Virtual routers on a chip (`processor::Chip`). The upper byte of a packet's ports is its router;
/// the packets of one router leave in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routers {
    /// The lane of each.
    pub lanes: Vec<usize>,
    /// Processors, each of which reports events.
    pub processors: usize,
}

/// Streams of physical ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NarrowPorts {
    /// Bytes of a beat.
    pub bytes: usize,
    /// The number of each.
    pub numbers: Vec<u16>,
}

/// A number that the machine reports in each cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Full name: `pipe0.cluster1.engine0`.
    pub name: String,
    /// The name common to several probes: `engine runs a step`.
    pub kind: String,
    /// Its width.
    pub bits: usize,
    /// Its maximum in one cycle: one for a line that says "busy", the number of threads for "free
    /// threads".
    pub most: u64,
}

impl Geometry {
    /// Whether packets can leave by a port.
    pub fn has_port(&self, number: u16) -> bool {
        self.ports.as_ref().is_none_or(|ports| ports.numbers.contains(&number))
    }

    /// Bits of all probes together.
    pub fn probe_bits(&self) -> usize {
        self.probes.iter().map(|probe| probe.bits).sum()
    }

    /// Lanes that packets leave in turn. Virtual routers have no order among each other: what
    /// leaves is told as it comes.
    pub(super) fn turns(&self) -> usize {
        if self.routers.is_some() { 1 } else { self.lanes }
    }
}

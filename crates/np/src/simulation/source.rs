//! The simulated design: its sources, and the shape of the top module's ports.

use super::follow::Followed;
use crate::processor::design::File;

/// A network processor as SystemVerilog files.
///
/// The top module has the ports of `np_top` (docs/machines/np.md, "Ports") or, with virtual
/// routers, of `virtual_top` (docs/virtual.md). If there are probes, it also has `probe_o`.
#[derive(Clone, Debug)]
pub struct Source {
    /// The files, with packages before their users.
    pub files: Vec<File>,
    /// The top module, which includes models of the memories.
    pub top: String,
    /// Modules that the top module contains several times, which are translated and compiled once.
    pub blocks: Vec<String>,
    pub geometry: Geometry,
    /// The signals that show the path of a packet, if packets can be followed.
    pub followed: Option<Followed>,
}

/// The shape of the top module's ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Number of lanes of packets, in and out.
    pub lanes: usize,
    /// The narrow ports around the single lane, if there are any.
    pub ports: Option<NarrowPorts>,
    /// Bits of `s_axis_tuser_i` per lane. The lowest 16 bits are the ingress port; the bits above
    /// carry the metadata that the program reads.
    pub user_bits: usize,
    /// Whether the 64 bits above the ingress port are the arrival time in nanoseconds.
    pub arrival: bool,
    /// Ratio of the memory clock to the core clock; 0 if there is no `clk_mem_i`.
    pub memory_ratio: usize,
    /// The meanings of the bits of `probe_o`, the least significant first.
    pub probes: Vec<Probe>,
    /// The routers, if the design is a chip of virtual routers.
    pub routers: Option<Routers>,
    /// Cycles after a reset until all memories are cleared. Packets arrive afterwards.
    pub clearing: usize,
    /// The most cycles for which a table does not reply because it is being cleared or expires
    /// entries.
    pub longest_pause: usize,
}

/// Virtual routers on a chip (`processor::Chip`). The upper byte of a packet's port is its router.
/// The packets of one router leave in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Routers {
    /// The lane of each router.
    pub lanes: Vec<usize>,
    /// Number of processors, each of which reports events.
    pub processors: usize,
}

/// Packet streams of physical ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NarrowPorts {
    /// Bytes in a beat.
    pub bytes: usize,
    /// The port number of each stream.
    pub numbers: Vec<u16>,
}

/// A value that the machine outputs in each cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Full name: `pipe0.cluster1.engine0`.
    pub name: String,
    /// The name common to several probes, as in `engine runs a step`.
    pub kind: String,
    /// The width in bits.
    pub bits: usize,
    /// The maximum value in one cycle: 1 for a line that says "busy", the number of threads for
    /// "free threads".
    pub most: u64,
}

impl Geometry {
    /// Returns whether packets can leave on a port.
    pub fn has_port(&self, number: u16) -> bool {
        self.ports.as_ref().is_none_or(|ports| ports.numbers.contains(&number))
    }

    /// Returns the bits of all probes together.
    pub fn probe_bits(&self) -> usize {
        self.probes.iter().map(|probe| probe.bits).sum()
    }
}

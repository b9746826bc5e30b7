//! The description of packet input and output in machine files.

use serde::{Deserialize, Serialize};
use wireloom_sim::parts::line::{LineSpec, Pace};
use wireloom_sim::parts::memory::MemorySpec;

/// The order in which packets leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    Arrival,
    /// The order in which threads finish packets.
    Done,
}

/// Packet input and output.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IoSpec {
    /// The number of hardware threads, 1 to 1,024: each brings a packet from the line into packet
    /// memory and has its call served.
    pub threads: u32,
    /// The number of packets that packet memory holds, 1 to 65,536.
    pub packets: u32,
    /// The order in which packets leave.
    pub order: Order,
    /// The arrival times of packets.
    pub pace: Pace,
    /// The input line.
    pub input: LineSpec,
    /// The output line.
    pub output: LineSpec,
    /// Packet memory.
    pub memory: MemorySpec,
}

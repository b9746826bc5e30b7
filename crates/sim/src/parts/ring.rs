//! A ring of routers, each with a neighbour on both sides.

use serde::{Deserialize, Serialize};

use super::arbiter::ArbiterSpec;
use super::fabric::{Fabric, LOCAL, RouterSpec, Topology};
use crate::Clock;
use crate::spec::{SpecError, megahertz, within};

/// A ring of routers, one for each node. The unloaded latency of a message over h links is h + 1
/// times `router_cycles`, plus h times `link_cycles`, plus a cycle for each flit but the first.
/// Bubble flow control prevents deadlocks; messages on the ring have priority over messages that
/// enter.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RingSpec {
    /// The clock; `clock_mhz` in machine files.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// Bytes of a flit, which a link carries in a cycle, 1 to 4,096.
    pub width_bytes: u64,
    /// Cycles of a head in each router, 1 to 1,000.
    pub router_cycles: u64,
    /// Cycles on each link, 0 to 1,000.
    pub link_cycles: u64,
    /// Capacity of each node's queue in messages, 1 to 65,536.
    pub queue_messages: u64,
    /// Messages of any length that each input of a router holds, 2 to 65,536. For full rate it must
    /// be at least the sum of a router's cycles, a link's cycles and the flits of a message,
    /// divided by those flits and rounded up.
    pub slots: u64,
    /// Whether messages travel in both directions, each in the shorter one. Otherwise they travel
    /// in one direction only.
    pub both_ways: bool,
    /// The arbiter of a link.
    #[serde(default)]
    pub arbiter: ArbiterSpec,
}

const UP: usize = 1;
const DOWN: usize = 2;

/// The direction around the ring.
#[derive(Clone, Debug)]
pub(crate) struct Circle {
    nodes: usize,
    both_ways: bool,
}

pub(crate) type Ring<P> = Fabric<Circle, P>;

impl RingSpec {
    /// # Errors
    /// If a number is out of range, or if there are fewer than 2 nodes or more than 1,024.
    pub(crate) fn build<P>(&self, nodes: u32) -> Result<Ring<P>, SpecError> {
        within("nodes", u64::from(nodes), 2..=1024)?;
        let topology = Circle { nodes: nodes as usize, both_ways: self.both_ways };
        let spec = RouterSpec {
            clock: self.clock,
            width_bytes: self.width_bytes,
            router_cycles: self.router_cycles,
            link_cycles: self.link_cycles,
            queue_messages: self.queue_messages,
            slots: self.slots,
            arbiter: &self.arbiter,
        };
        Fabric::new(topology, spec, nodes as usize)
    }
}

impl Topology for Circle {
    fn ports(&self) -> usize {
        if self.both_ways { 3 } else { 2 }
    }

    fn behind(&self, router: usize, output: usize) -> Option<usize> {
        match output {
            UP => Some((router + 1) % self.nodes),
            DOWN => Some((router + self.nodes - 1) % self.nodes),
            _ => None,
        }
    }

    fn opposite(&self, port: usize) -> usize {
        // With one direction only, the number is not an output, but still identifies the neighbour.
        if port == UP { DOWN } else { UP }
    }

    fn route(&self, router: usize, to: usize) -> usize {
        let up = (to + self.nodes - router) % self.nodes;
        if up == 0 {
            return LOCAL;
        }
        // Between nodes at equal distance in both directions, even nodes send one way and odd nodes
        // the other. The direction of a message does not change on the way.
        let goes_up = 2 * up < self.nodes || (2 * up == self.nodes && router.is_multiple_of(2));
        if goes_up || !self.both_ways { UP } else { DOWN }
    }

    fn slots_needed(&self, input: usize) -> u64 {
        if input == LOCAL { 2 } else { 1 }
    }
}

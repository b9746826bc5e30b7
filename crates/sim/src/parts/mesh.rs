//! A mesh of routers in rows and columns.

use serde::{Deserialize, Serialize};

use super::arbiter::ArbiterSpec;
use super::fabric::{Fabric, LOCAL, RouterSpec, Topology};
use crate::Clock;
use crate::spec::{SpecError, megahertz, within};

/// A mesh of routers, one for each node, row by row. Messages go along their row first, then along
/// the column (XY routing), so no deadlock can arise. The unloaded latency of a message over h
/// links is h + 1 times `router_cycles`, plus h times `link_cycles`, plus a cycle for each flit but
/// the first.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MeshSpec {
    /// The clock; `clock_mhz` in machine files.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// The number of columns, 1 to 64.
    pub columns: u64,
    /// The number of rows, 1 to 64.
    pub rows: u64,
    /// Bytes of a flit, which a link carries in a cycle, 1 to 4,096.
    pub width_bytes: u64,
    /// Cycles of a head in each router, 1 to 1,000.
    pub router_cycles: u64,
    /// Cycles of a head on each link, 0 to 1,000.
    pub link_cycles: u64,
    /// Capacity of each node's queue in messages, 1 to 65,536.
    pub queue_messages: u64,
    /// Messages of any length that each input of a router holds, 2 to 65,536. For full rate it must
    /// be at least the sum of a router's cycles, a link's cycles and the flits of a message,
    /// divided by those flits and rounded up.
    pub slots: u64,
    /// The arbiter of a link.
    #[serde(default)]
    pub arbiter: ArbiterSpec,
}

const EAST: usize = 1;
const WEST: usize = 2;
const SOUTH: usize = 3;
const NORTH: usize = 4;

/// The numbers of rows and columns.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    columns: usize,
    rows: usize,
}

pub(crate) type Mesh<P> = Fabric<Grid, P>;

impl MeshSpec {
    /// # Errors
    /// If a number is out of range, or if there are more nodes than routers.
    pub(crate) fn build<P>(&self, nodes: u32) -> Result<Mesh<P>, SpecError> {
        let topology = Grid::new(self.columns, self.rows, nodes)?;
        let routers = topology.routers();
        let spec = RouterSpec {
            clock: self.clock,
            width_bytes: self.width_bytes,
            router_cycles: self.router_cycles,
            link_cycles: self.link_cycles,
            queue_messages: self.queue_messages,
            slots: self.slots,
            arbiter: &self.arbiter,
        };
        Fabric::new(topology, spec, routers)
    }
}

impl Grid {
    /// # Errors
    /// If a number is out of range, or if there are more nodes than routers.
    pub(crate) fn new(columns: u64, rows: u64, nodes: u32) -> Result<Self, SpecError> {
        within("columns", columns, 1..=64)?;
        within("rows", rows, 1..=64)?;
        let routers = columns * rows;
        if u64::from(nodes) > routers {
            let problem = format!(
                "is {rows} with {columns} columns: {routers} routers, and there are {nodes} nodes"
            );
            return Err(SpecError::new("rows", problem));
        }
        Ok(Self { columns: columns as usize, rows: rows as usize })
    }

    pub(crate) fn routers(&self) -> usize {
        self.columns * self.rows
    }
}

impl Topology for Grid {
    fn ports(&self) -> usize {
        5
    }

    fn behind(&self, router: usize, output: usize) -> Option<usize> {
        let (column, row) = (router % self.columns, router / self.columns);
        match output {
            EAST if column + 1 < self.columns => Some(router + 1),
            WEST if column > 0 => Some(router - 1),
            SOUTH if row + 1 < self.rows => Some(router + self.columns),
            NORTH if row > 0 => Some(router - self.columns),
            _ => None,
        }
    }

    fn opposite(&self, port: usize) -> usize {
        [LOCAL, WEST, EAST, NORTH, SOUTH][port]
    }

    fn route(&self, router: usize, to: usize) -> usize {
        let (column, row) = (router % self.columns, router / self.columns);
        let (to_column, to_row) = (to % self.columns, to / self.columns);
        match () {
            () if to_column > column => EAST,
            () if to_column < column => WEST,
            () if to_row > row => SOUTH,
            () if to_row < row => NORTH,
            () => LOCAL,
        }
    }

    fn slots_needed(&self, _: usize) -> u64 {
        1
    }
}

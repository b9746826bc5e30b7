//! The network that carries commands from engines to units.
//!
//! | kind | commands at a time | cycles on the way |
//! |---|---|---|
//! | `bus` | one for each cluster of engines | the latency |
//! | `crossbar` | one for each unit | the latency |
//! | `ring` | one on each link | the latency, and those of the links on the shorter way round |
//! | `mesh` | one on each link | the latency, and all links along a row, then a column |
//!
//! Each engine and each channel of a unit is a node. When a command leaves its engine, it books the
//! links on its path; it waits before a link that is taken.

use serde::{Deserialize, Serialize};
use wireloom_sim::SpecError;
use wireloom_sim::parts::arbiter::{Arbiter, Requests};

use crate::spec::CommandBusSpec;

/// The topology of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkKind {
    /// A bus for each cluster of engines.
    Bus,
    /// A path from every engine to every unit; each unit takes one command at a time.
    Crossbar,
    /// A ring of nodes, with a link to each neighbour.
    Ring,
    /// A mesh of nodes in rows and columns, with a link to each neighbour.
    Mesh,
}

impl NetworkKind {
    /// All kinds, with their names in machine files.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Bus, "bus"),
        (Self::Crossbar, "crossbar"),
        (Self::Ring, "ring"),
        (Self::Mesh, "mesh"),
    ];
}

#[derive(Clone, Debug)]
pub struct Network {
    spec: CommandBusSpec,
    engines: usize,
    targets: usize,
    clusters: usize,
    /// For each lane, its arbiter and the first cycle in which it is free.
    lanes: Vec<(Arbiter, u64)>,
    /// The lane that is served first.
    first: usize,
    /// The first cycle in which each link is free. Each node has four links, by direction.
    links: Vec<u64>,
    /// The arrival cycle of the last command from each engine at each target: commands arrive in
    /// order.
    last: Vec<u64>,
    /// For each engine, the cycle after its last send.
    sent: Vec<u64>,
    asking: Requests,
    /// The count of commands sent.
    pub granted: u64,
    /// The count of links that these commands used; one each on a bus or a crossbar.
    pub hops: u64,
}

/// The direction of a link.
#[derive(Clone, Copy)]
enum Direction {
    East,
    West,
    South,
    North,
}

impl Network {
    /// Creates an idle network for this number of engines, clusters and targets.
    ///
    /// # Errors
    /// If the arbiter does not suit this number of engines.
    pub fn new(
        spec: &CommandBusSpec,
        engines: usize,
        clusters: usize,
        targets: usize,
    ) -> Result<Self, SpecError> {
        let lanes = match spec.kind {
            NetworkKind::Bus => clusters,
            NetworkKind::Crossbar => targets,
            NetworkKind::Ring | NetworkKind::Mesh => engines,
        };
        let lane = |_| Ok((Arbiter::new(&spec.arbiter, engines)?, 0));
        Ok(Self {
            spec: spec.clone(),
            engines,
            targets,
            clusters,
            lanes: (0..lanes).map(lane).collect::<Result<_, SpecError>>()?,
            first: 0,
            links: vec![0; 4 * (engines + targets)],
            last: vec![0; engines * targets],
            sent: vec![0; engines],
            asking: Requests::new(engines),
            granted: 0,
            hops: 0,
        })
    }

    /// The number of lanes. Commands on different lanes do not wait for each other to enter the
    /// network.
    pub fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// The sum over all lanes of the cycles in which they were taken up to `now`.
    pub fn busy_at(&self, now: u64) -> u64 {
        let to_come: u64 = self.lanes.iter().map(|(_, free)| free.saturating_sub(now)).sum();
        self.granted * u64::from(self.spec.interval_cycles) - to_come
    }

    /// The lane to serve first: the one after the last sender, so that all lanes get their share of
    /// a full unit.
    pub fn first_lane(&self) -> usize {
        self.first
    }

    /// Arbitrates a lane in this cycle and returns the engine that sends. `target` returns the
    /// target of an engine's first command, if that can be sent.
    pub fn choose(
        &mut self,
        lane: usize,
        cycle: u64,
        target: impl Fn(usize) -> Option<usize>,
    ) -> Option<usize> {
        if cycle < self.lanes[lane].1 {
            return None;
        }
        self.asking.clear();
        for engine in 0..self.engines {
            if self.sent[engine] <= cycle
                && let Some(target) = target(engine)
                && self.lane(engine, target) == lane
            {
                self.asking.insert(engine);
            }
        }
        self.lanes[lane].0.grant(&self.asking)
    }

    /// Sends a command. Returns the cycle of its arrival at the target.
    pub fn send(&mut self, lane: usize, cycle: u64, engine: usize, target: usize) -> u64 {
        let interval = u64::from(self.spec.interval_cycles);
        self.granted += 1;
        self.first = (lane + 1) % self.lanes.len();
        self.sent[engine] = cycle + 1;
        self.lanes[lane].1 = cycle + interval;
        let mut at = cycle;
        match self.spec.kind {
            NetworkKind::Bus | NetworkKind::Crossbar => self.hops += 1,
            NetworkKind::Ring | NetworkKind::Mesh => {
                for link in self.way(engine, target) {
                    let start = at.max(self.links[link]);
                    self.links[link] = start + interval;
                    self.hops += 1;
                    at = start + u64::from(self.spec.hop_cycles);
                }
            }
        }
        let last = &mut self.last[engine * self.targets + target];
        *last = (at + u64::from(self.spec.latency_cycles)).max(*last);
        *last
    }

    /// The number of links between an engine and a target.
    pub fn distance(&self, engine: usize, target: usize) -> usize {
        match self.spec.kind {
            NetworkKind::Bus | NetworkKind::Crossbar => 1,
            NetworkKind::Ring | NetworkKind::Mesh => self.way(engine, target).len(),
        }
    }

    fn lane(&self, engine: usize, target: usize) -> usize {
        match self.spec.kind {
            NetworkKind::Bus => engine * self.clusters / self.engines,
            NetworkKind::Crossbar => target,
            NetworkKind::Ring | NetworkKind::Mesh => engine,
        }
    }

    /// The position of an engine or a target among all nodes. Targets are spread evenly among
    /// engines.
    fn node(&self, engine: Option<usize>, target: usize) -> usize {
        let (engines, targets) = (self.engines, self.targets);
        // In a fair merge of both lists, target t comes after the engines that precede it.
        match engine {
            Some(engine) => engine + (engine * targets) / engines,
            None => target + ((target + 1) * engines).div_ceil(targets).min(engines),
        }
    }

    /// The links of the path, in order.
    fn way(&self, engine: usize, target: usize) -> Vec<usize> {
        let (from, to) = (self.node(Some(engine), 0), self.node(None, target));
        let nodes = self.engines + self.targets;
        let link = |node: usize, direction: Direction| 4 * node + direction as usize;
        let mut way = Vec::new();
        let mut at = from;
        if self.spec.kind == NetworkKind::Ring {
            let east = (to + nodes - from) % nodes;
            let goes_east = 2 * east <= nodes;
            while at != to {
                let direction = if goes_east { Direction::East } else { Direction::West };
                way.push(link(at, direction));
                at = if goes_east { (at + 1) % nodes } else { (at + nodes - 1) % nodes };
            }
            return way;
        }
        let columns = columns(nodes);
        // The last row may be short. A path along it to a missing column goes up first.
        while at != to {
            let (x, y) = (at % columns, at / columns);
            let (to_x, to_y) = (to % columns, to / columns);
            let direction = match () {
                () if x < to_x && at + 1 < nodes => Direction::East,
                () if x > to_x => Direction::West,
                () if y < to_y => Direction::South,
                () => Direction::North,
            };
            way.push(link(at, direction));
            at = match direction {
                Direction::East => at + 1,
                Direction::West => at - 1,
                Direction::South => at + columns,
                Direction::North => at - columns,
            };
        }
        way
    }
}

/// The number of columns of a mesh: the square root of the number of nodes, rounded up.
pub fn columns(nodes: usize) -> usize {
    (1..=nodes).find(|side| side * side >= nodes).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_sim::parts::arbiter::ArbiterSpec;

    fn network(kind: NetworkKind, engines: usize, targets: usize) -> Network {
        let spec = CommandBusSpec {
            kind,
            latency_cycles: 3,
            interval_cycles: 2,
            hop_cycles: 5,
            arbiter: ArbiterSpec::RoundRobin,
        };
        Network::new(&spec, engines, 1, targets).expect("a network")
    }

    #[test]
    fn every_node_has_a_place_of_its_own() {
        for (engines, targets) in [(1, 1), (6, 5), (8, 7), (16, 11), (3, 9), (16, 2)] {
            let network = network(NetworkKind::Mesh, engines, targets);
            let mut places: Vec<usize> = (0..engines)
                .map(|engine| network.node(Some(engine), 0))
                .chain((0..targets).map(|target| network.node(None, target)))
                .collect();
            places.sort_unstable();
            assert_eq!(places, (0..engines + targets).collect::<Vec<_>>(), "{engines} {targets}");
        }
    }

    #[test]
    fn ways_are_shortest_and_a_command_alone_takes_the_cycles_of_its_links() {
        for (engines, targets) in [(6, 5), (8, 7), (16, 11), (5, 2)] {
            let nodes = engines + targets;
            for engine in 0..engines {
                for target in 0..targets {
                    let mut ring = network(NetworkKind::Ring, engines, targets);
                    let (a, b) = (ring.node(Some(engine), 0), ring.node(None, target));
                    let hops = a.abs_diff(b).min(nodes - a.abs_diff(b));
                    assert_eq!(ring.distance(engine, target), hops);
                    assert_eq!(ring.send(engine, 10, engine, target), 10 + 3 + 5 * hops as u64);
                    let mut mesh = network(NetworkKind::Mesh, engines, targets);
                    let side = columns(nodes);
                    let hops = (a % side).abs_diff(b % side) + (a / side).abs_diff(b / side);
                    assert_eq!(mesh.distance(engine, target), hops);
                    assert_eq!(mesh.send(engine, 10, engine, target), 10 + 3 + 5 * hops as u64);
                }
            }
        }
    }

    #[test]
    fn a_link_carries_a_command_in_each_interval() {
        let mut ring = network(NetworkKind::Ring, 6, 5);
        let first = ring.send(0, 0, 0, 0);
        // The second command finds the first link taken.
        assert_eq!(ring.send(0, 0, 0, 0), first + 2);
    }

    #[test]
    fn a_bus_carries_one_command_and_a_crossbar_one_for_each_unit() {
        let to = |engine: usize| Some(engine % 2);
        let mut bus = network(NetworkKind::Bus, 4, 2);
        assert_eq!((bus.lanes(), bus.choose(0, 7, to)), (1, Some(0)));
        bus.send(0, 7, 0, 0);
        assert_eq!(bus.choose(0, 8, to), None, "the interval is two cycles");
        assert_eq!(bus.choose(0, 9, to), Some(1));
        let mut crossbar = network(NetworkKind::Crossbar, 4, 2);
        let chosen: Vec<_> = (0..2).map(|lane| crossbar.choose(lane, 7, to)).collect();
        assert_eq!(chosen, [Some(0), Some(1)]);
    }
}

//! Counts of the platform's events, for the account of energy.

use wireloom_sim::parts::interconnect::InterconnectSpec;
use wireloom_sim::parts::network::{Message, Node};

use super::super::noc_payload::NocPayload;
use super::super::objects::Objects;
use super::super::tally::Tally;
use super::super::workload::Workload;
use super::Platform;

/// The path of messages over a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Over wires alone: a channel.
    Wires,
    /// Over the wires of a bus, or through a crossbar, once it is granted.
    Granted,
    /// Through the routers of a ring with `nodes` nodes.
    Ring { nodes: u32, both_ways: bool },
    /// Through the routers of a mesh with `columns` columns.
    Mesh { columns: u32 },
}

impl Way {
    fn of(spec: &InterconnectSpec, nodes: u32) -> Self {
        let mesh = |columns: u64| Self::Mesh { columns: columns as u32 };
        match spec {
            InterconnectSpec::Channel(_) => Self::Wires,
            InterconnectSpec::Bus(_) | InterconnectSpec::Crossbar(_) => Self::Granted,
            InterconnectSpec::Ring(ring) => Self::Ring { nodes, both_ways: ring.both_ways },
            InterconnectSpec::Mesh(spec) => mesh(spec.columns),
            InterconnectSpec::Wormhole(spec) => mesh(spec.columns),
        }
    }

    /// The numbers of routers and of links that a message passes.
    fn length(self, Node(from): Node, Node(to): Node) -> [u64; 2] {
        match self {
            Self::Wires => [0, 1],
            Self::Granted => [1, 1],
            Self::Ring { nodes, both_ways } => {
                let up = (to + nodes - from) % nodes;
                let hops = if both_ways { up.min(nodes - up) } else { up };
                [u64::from(hops) + 1, hops.into()]
            }
            Self::Mesh { columns } => {
                let along =
                    |place: fn(u32, u32) -> u32| place(from, columns).abs_diff(place(to, columns));
                let hops =
                    along(|node, columns| node % columns) + along(|node, columns| node / columns);
                [u64::from(hops) + 1, hops.into()]
            }
        }
    }
}

/// Traffic counters of the network. A message counts when it leaves the network.
#[derive(Clone, Debug)]
pub(super) struct Carried {
    way: Way,
    /// The number of messages that routers passed on, of words that they passed on, and of words
    /// over links.
    network: [u64; 3],
    /// The numbers of words that each node has sent and received, without received cache lines.
    nodes: Vec<[u64; 2]>,
}

impl Carried {
    /// Counters at zero, for `nodes` nodes.
    pub(super) fn new(spec: &InterconnectSpec, nodes: u32) -> Self {
        let nodes_of_all = vec![[0; 2]; nodes as usize];
        Self { way: Way::of(spec, nodes), network: [0; 3], nodes: nodes_of_all }
    }

    /// Counts a message.
    #[inline]
    pub(super) fn count(&mut self, message: &Message<NocPayload>) {
        let words = u64::from(message.bytes.div_ceil(4));
        let [routers, links] = self.way.length(message.from, message.to);
        let [grants, routed, hops] = &mut self.network;
        (*grants, *routed, *hops) =
            (*grants + routers, *routed + routers * words, *hops + links * words);
        self.nodes[message.from.0 as usize][0] += words;
        if !matches!(message.payload, NocPayload::Filled { .. }) {
            self.nodes[message.to.0 as usize][1] += words;
        }
    }
}

/// The events of a processor.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessorCounts {
    /// The resource use of the processor's instructions.
    pub(crate) tally: Tally,
    pub(crate) instructions: u64,
    /// For the instruction cache, the number of lines read and of lines filled; for the data cache,
    /// the number of reads and of lines filled.
    pub(crate) lines: [[u64; 2]; 2],
    /// The numbers of words in messages that the processor has sent and received, without received
    /// cache lines.
    pub(crate) words: [u64; 2],
}

/// The events of a platform.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub(crate) processors: Vec<ProcessorCounts>,
    /// The number of messages that routers passed on, of words that they passed on, and of words
    /// over links.
    pub(crate) network: [u64; 3],
    /// The number of calls that the broker gave to servers.
    pub(crate) calls: u64,
    /// The numbers of bytes read from packet memory and shared memory, and written to them.
    pub(crate) packet_memory: [u64; 2],
    pub(crate) shared_memory: [u64; 2],
    /// The number of words on the lines.
    pub(crate) line_words: u64,
    /// For each object and method, the number of calls and of packet bytes that they worked on.
    pub(crate) objects: Vec<Vec<[u64; 2]>>,
}

impl<W: Workload, O: Objects> Platform<W, O> {
    /// The events so far. With run-ahead, threads may have executed some instructions before their
    /// issue time.
    pub(in super::super) fn counts(&self) -> Counts {
        let processors = self.processors.iter().zip(&self.carried.nodes);
        let processors = processors.map(|(processor, words)| ProcessorCounts {
            tally: processor.tally(),
            instructions: processor.instructions(),
            lines: processor.lines(),
            words: *words,
        });
        Counts {
            processors: processors.collect(),
            network: self.carried.network,
            calls: self.broker.calls(),
            packet_memory: self.io.moved(),
            shared_memory: self.memory.moved(),
            line_words: self.io.line_words(),
            objects: self.elements.iter().map(|element| element.done().to_vec()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_pass_the_routers_of_their_way() {
        let length = |way: Way, from, to| way.length(Node(from), Node(to));
        assert_eq!(length(Way::Wires, 0, 5), [0, 1]);
        assert_eq!(length(Way::Granted, 0, 5), [1, 1]);
        let ring = |both_ways| Way::Ring { nodes: 8, both_ways };
        assert_eq!(length(ring(true), 1, 7), [3, 2]);
        assert_eq!(length(ring(false), 1, 7), [7, 6]);
        assert_eq!(length(ring(false), 7, 1), [3, 2]);
        // From column 1 of row 0 to column 0 of row 2.
        assert_eq!(length(Way::Mesh { columns: 4 }, 1, 8), [4, 3]);
    }

    #[test]
    fn words_count_at_routers_and_links_and_lines_are_no_words_of_local_memories() {
        let spec = crate::Spec::base().network;
        let mut carried = Carried { way: Way::Mesh { columns: 2 }, ..Carried::new(&spec, 4) };
        let message = |bytes, payload| Message { from: Node(0), to: Node(3), bytes, payload };
        carried.count(&message(9, NocPayload::Served));
        assert_eq!(
            (carried.network, &carried.nodes[..]),
            ([3, 9, 6], &[[3, 0], [0; 2], [0; 2], [0, 3]][..])
        );
        let line = crate::noc_payload::Line { address: 0, cache: crate::noc_payload::Which::Data };
        carried.count(&message(40, NocPayload::Filled { processor: 3, line }));
        assert_eq!(carried.nodes[3], [0, 3]);
        assert_eq!(carried.network, [6, 39, 26]);
    }
}

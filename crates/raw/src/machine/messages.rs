//! Proves that messages of the general network cannot deadlock. If memories hold packet tails,
//! proves the same of the memory network.
//!
//! The proof is a graph of waiting queues. A word in a queue waits for room in the next queue on
//! its path, and the words after it wait for it. The router determines the next queue
//! ([`Router::output`]). If the graph has no circle, some queue at the end of each chain of waiting
//! queues is read, and all words make progress.
//!
//! These units take each word at once:
//! - Devices and tiles that have sent a request take each word of the reply.
//! - Cards take each request for a packet tail.
//! - Memories take all requests, and caches their lines.
//!
//! These units wait before they take the next word:
//! - The state owner, until its reply to the previous request has gone.
//! - A tile of a chain whose messages go over this network, until it has sent the message that it
//!   makes of them.
//! - The tile of a packet queue, until its message to its port has gone. It waits for nothing else:
//!   its line card has room before a packet goes there.
//! - A half-duplex memory, while it sends a line.

use std::collections::{BTreeMap, BTreeSet};

use wireloom_codegen_tile::Link;
use wireloom_isa::raw::Network;

use super::mapping::{Chain, Mapping, Outputs, Placement};
use super::packet_tails::Duplex;
use super::place::{Edge, Place};
use crate::layout::{Layout, PROCESSOR};
use crate::message::Header;
use crate::router::Router;

const GENERAL: usize = Network::General as usize;
const MEMORY: usize = Network::Memory as usize;

/// For each queue the queues that it waits for.
#[derive(Clone, Debug, Default)]
struct Waits(BTreeMap<usize, BTreeSet<usize>>);

impl Waits {
    fn add(&mut self, from: usize, to: usize) {
        self.0.entry(from).or_default().insert(to);
        self.0.entry(to).or_default();
    }

    /// Adds the queues of a message from a tile.
    fn message(&mut self, layout: &Layout, from: Place, header: Header) {
        let tile = usize::from(from.1) * layout.columns + usize::from(from.0);
        self.route(layout, (tile, GENERAL, PROCESSOR), header);
    }

    /// Adds the queues of a message that enters a router of a tile and network at an end.
    fn route(
        &mut self,
        layout: &Layout,
        (mut tile, network, end): (usize, usize, usize),
        header: Header,
    ) {
        let mut queue = layout.input(tile, network, end);
        loop {
            let end = Router::new(tile, network).output(layout, header);
            let next = layout.output(tile, network, end);
            self.add(queue, next);
            let neighbour = (end != PROCESSOR).then(|| layout.neighbour(tile, end)).flatten();
            let Some(neighbour) = neighbour else { return };
            (queue, tile) = (next, neighbour);
        }
    }

    /// Adds a message to the device at a port.
    fn message_to(&mut self, layout: &Layout, from: Place, (destination, side): Edge) {
        let header = Header { destination, last: 1 + side as u8, ..Header::default() };
        self.message(layout, from, header);
    }

    /// Makes a processor's reads wait for its writes to the network.
    fn hands_on(&mut self, layout: &Layout, (x, y): Place) {
        let number = usize::from(y) * layout.columns + usize::from(x);
        let taken = layout.to_processor(number, GENERAL);
        self.add(taken, layout.input(number, GENERAL, PROCESSOR));
    }

    /// Adds the messages that carry packets from the last tiles of chains to queues, and the
    /// messages by which a queue reports a dropped packet to the device at its port.
    fn queues(&mut self, layout: &Layout, senders: &[Place], ports: &[Edge]) {
        for (queue, side) in ports {
            for from in senders {
                let header = Header { destination: *queue, ..Header::default() };
                self.message(layout, *from, header);
            }
            self.hands_on(layout, *queue);
            self.message_to(layout, *queue, (*queue, *side));
        }
    }

    /// Adds the messages that bring packets to a chain and go from tile to tile. A tile takes the
    /// next message only after it has forwarded the previous one.
    fn links(&mut self, layout: &Layout, chain: &Chain) {
        let ((x, y), side) = chain.input();
        let tile = usize::from(y) * layout.columns + usize::from(x);
        let header = Header { destination: (x, y), ..Header::default() };
        self.route(layout, (tile, GENERAL, side as usize), header);
        for pair in chain.tiles.windows(2) {
            self.message(layout, pair[0], Header { destination: pair[1], ..Header::default() });
        }
        chain.tiles.iter().for_each(|tile| self.hands_on(layout, *tile));
    }

    /// Adds the requests of tiles to the state owner, and its replies.
    fn state_owner(&mut self, layout: &Layout, owner: Place, tiles: impl Iterator<Item = Place>) {
        for tile in tiles {
            self.message(layout, tile, Header { destination: owner, ..Header::default() });
            self.message(layout, owner, Header { destination: tile, ..Header::default() });
        }
        self.hands_on(layout, owner);
    }

    /// Adds the requests of devices to cards for packet tails, and the replies. A device that is
    /// itself a card sends no request to itself.
    fn rests(&mut self, layout: &Layout, devices: &[Edge], cards: &[Edge]) {
        for device in devices {
            for card in cards.iter().filter(|card| *card != device) {
                self.between(layout, GENERAL, *device, *card);
                self.between(layout, GENERAL, *card, *device);
            }
        }
    }

    /// Adds a message from the device at one port to the device at another.
    fn between(
        &mut self,
        layout: &Layout,
        network: usize,
        (from, side): Edge,
        (destination, last): Edge,
    ) {
        let tile = usize::from(from.1) * layout.columns + usize::from(from.0);
        let header = Header { destination, last: 1 + last as u8, ..Header::default() };
        self.route(layout, (tile, network, side as usize), header);
    }

    /// Adds the requests of caches and devices to memories, and the lines that come back.
    fn memories(&mut self, layout: &Layout, placement: &Placement) {
        let (table, side) = placement.memory;
        for tile in 0..layout.tiles() {
            let place = ((tile % layout.columns) as u8, (tile / layout.columns) as u8);
            let to = Header { destination: table, last: 1 + side as u8, ..Header::default() };
            self.route(layout, (tile, MEMORY, PROCESSOR), to);
            let number = usize::from(table.1) * layout.columns + usize::from(table.0);
            let back = Header { destination: place, ..Header::default() };
            self.route(layout, (number, MEMORY, side as usize), back);
        }
        let cards = placement.cards.iter().map(|card| card.port);
        for device in cards.chain(placement.ports.iter().copied()) {
            for memory in &placement.rests {
                self.between(layout, MEMORY, device, *memory);
                self.between(layout, MEMORY, *memory, device);
            }
        }
    }

    /// Makes memories for packet tails take a word only after their current line has gone.
    fn half_duplex(&mut self, layout: &Layout, memories: &[Edge]) {
        for ((x, y), side) in memories {
            let tile = usize::from(*y) * layout.columns + usize::from(*x);
            let asked = layout.output(tile, MEMORY, *side as usize);
            self.add(asked, layout.input(tile, MEMORY, *side as usize));
        }
    }

    /// Returns a queue on a circle, if there is one.
    fn circle(mut self) -> Option<usize> {
        loop {
            // A queue is free if it waits for no queue that is still in the graph.
            let is_free =
                |queues: &BTreeSet<usize>| !queues.iter().any(|to| self.0.contains_key(to));
            let free: Vec<usize> =
                self.0.iter().filter(|(_, to)| is_free(to)).map(|(queue, _)| *queue).collect();
            if free.is_empty() {
                return self.0.keys().next().copied();
            }
            free.iter().for_each(|queue| drop(self.0.remove(queue)));
        }
    }
}

/// Proves the messages of chains to ports and queues, to the state owner, and between line cards.
///
/// # Errors
/// A sentence about a queue on a circle.
pub fn prove(layout: &Layout, placement: &Placement, mapping: &Mapping) -> Result<(), String> {
    let Placement { chains, cards, ports, .. } = placement;
    let mut waits = Waits::default();
    let senders: Vec<Place> = cards.iter().map(|card| placement.sender(card)).collect();
    if mapping.outputs == Outputs::Egress {
        for from in &senders {
            ports.iter().for_each(|port| waits.message_to(layout, *from, *port));
        }
    }
    if mapping.links == Link::General {
        chains.iter().for_each(|chain| waits.links(layout, chain));
    }
    if mapping.queues.is_some() {
        waits.queues(layout, &senders, ports);
    }
    if let Some(owner) = mapping.state_owner {
        waits.state_owner(
            layout,
            owner,
            chains.iter().flat_map(|chain| chain.tiles.iter().copied()),
        );
    }
    if mapping.rest.is_some() {
        let cards: Vec<Edge> = cards.iter().map(|card| card.port).collect();
        waits.rests(layout, ports, &cards);
    }
    if !placement.rests.is_empty() {
        waits.memories(layout, placement);
        let is_proved = waits.clone().circle().is_none();
        if mapping.rest.as_ref().is_some_and(|rest| rest.duplex == Duplex::Half) {
            waits.half_duplex(layout, &placement.rests);
            if is_proved && waits.clone().circle().is_some() {
                return Err(
                    "a memory takes no request while it gives a line (`duplex = \"half\"` in `mapping.rest`), and so \
                     requests and lines could wait for each other in a circle: move `mapping.rest.memories`, or say \
                     `duplex = \"full\"`"
                        .into(),
                );
            }
        }
    }
    match waits.circle() {
        None => Ok(()),
        Some(queue) => {
            let (from, to) = layout.parties(queue);
            Err(format!("messages from {from} to {to} can wait for ever, for others in a circle"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Side;
    use crate::machine::cards::CardAt;
    use crate::machine::packet_tails::RestSpec;
    use crate::machine::queues::{QueueMemory, Queues};
    use wireloom_codegen_tile::Ready;

    fn places(layout: &Layout) -> Vec<Place> {
        let tiles = 0..layout.tiles();
        tiles.map(|tile| ((tile % layout.columns) as u8, (tile / layout.columns) as u8)).collect()
    }

    /// Returns a chain of one tile for each port of a chip, except for the tiles in `without`.
    fn chains(layout: &Layout, without: &[Place]) -> Placement {
        let ports =
            layout.ports.iter().map(|(tile, side)| (places(layout)[*tile], Side::ALL[*side]));
        let ports: Vec<Edge> = ports.filter(|(place, _)| !without.contains(place)).collect();
        let chain = |(place, side): &Edge| Chain {
            tiles: vec![*place],
            sides: vec![(*side, *side)],
            branches: Vec::new(),
        };
        let chains = ports.iter().map(chain).collect();
        let card = |(number, port): (usize, &Edge)| CardAt { port: *port, chains: vec![number] };
        let cards = ports.iter().enumerate().map(card).collect();
        let memory = ((0, 0), Side::North);
        Placement { chains, cards, ports, memory, rests: Vec::new(), ways: Vec::new() }
    }

    #[test]
    fn messages_to_any_state_owner_and_to_all_ports_wait_in_no_circle() {
        for (columns, rows) in [(1, 2), (2, 2), (4, 4), (5, 3), (3, 6)] {
            let layout = Layout::new(columns, rows);
            for owner in places(&layout) {
                let chains = chains(&layout, &[owner]);
                for outputs in [Outputs::Chain, Outputs::Egress] {
                    let mapping =
                        Mapping { outputs, state_owner: Some(owner), ..Mapping::default() };
                    assert_eq!(prove(&layout, &chains, &mapping), Ok(()), "{owner:?}");
                }
            }
        }
    }

    /// Returns the placement with a queue on each of these tiles.
    fn queued(layout: &Layout, queues: &[Place], owner: Option<Place>) -> Placement {
        let without: Vec<Place> = queues.iter().copied().chain(owner).collect();
        let ports = layout.ports.iter().map(|(tile, side)| (places(layout)[*tile], *side));
        let port = |queue: &Place| {
            let own = ports.clone().find(|(place, _)| place == queue);
            (*queue, Side::ALL[own.expect("a tile at the edge").1])
        };
        let ports = queues.iter().map(port).collect();
        Placement { ports, ..chains(layout, &without) }
    }

    #[test]
    fn messages_to_queues_and_from_them_wait_in_no_circle() {
        for (columns, rows) in [(2, 2), (4, 4), (5, 3), (3, 6)] {
            let layout = Layout::new(columns, rows);
            let (last, end) = (columns as u8 - 1, rows as u8 - 1);
            let column: Vec<Place> = (0..=end).map(|y| (last, y)).collect();
            let row: Vec<Place> = (0..=last).map(|x| (x, end)).collect();
            for queues in [column, row, vec![(0, 0), (last, end)]] {
                for owner in std::iter::once(None).chain(places(&layout).into_iter().map(Some)) {
                    if owner.is_some_and(|owner| queues.contains(&owner)) {
                        continue;
                    }
                    let placement = queued(&layout, &queues, owner);
                    let mapping = Mapping {
                        outputs: Outputs::Egress,
                        state_owner: owner,
                        queues: Some(Queues {
                            tiles: queues.clone(),
                            memory: QueueMemory::Tile,
                            bytes: 2048,
                            ready: Ready::Polling,
                            network: Link::Static,
                            line_mbps: None,
                        }),
                        ..Mapping::default()
                    };
                    assert_eq!(
                        prove(&layout, &placement, &mapping),
                        Ok(()),
                        "{queues:?} {owner:?}"
                    );
                }
            }
        }
    }

    /// Returns a mapping whose packets leave at the port of their egress, and whose cards keep
    /// tails.
    fn resting(owner: Option<Place>, queues: &[Place]) -> Mapping {
        let queues = (!queues.is_empty()).then(|| Queues {
            tiles: queues.to_vec(),
            memory: QueueMemory::Tile,
            bytes: 2048,
            ready: Ready::Polling,
            network: Link::Static,
            line_mbps: None,
        });
        let rest = Some(RestSpec::in_cards());
        Mapping { outputs: Outputs::Egress, state_owner: owner, queues, rest, ..Mapping::default() }
    }

    #[test]
    fn rests_of_packets_between_all_ports_wait_in_no_circle() {
        for (columns, rows) in [(1, 2), (2, 2), (4, 4), (5, 3), (3, 6)] {
            let layout = Layout::new(columns, rows);
            for owner in std::iter::once(None).chain(places(&layout).into_iter().map(Some)) {
                let chains = chains(&layout, owner.as_slice());
                assert_eq!(prove(&layout, &chains, &resting(owner, &[])), Ok(()), "{owner:?}");
                let end: Vec<Place> = (0..columns as u8).map(|x| (x, rows as u8 - 1)).collect();
                if owner.is_none_or(|owner| !end.contains(&owner)) {
                    let placement = queued(&layout, &end, owner);
                    assert_eq!(
                        prove(&layout, &placement, &resting(owner, &end)),
                        Ok(()),
                        "{owner:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn cards_that_took_no_word_before_their_answer_had_gone_would_wait_for_each_other() {
        let layout = Layout::new(4, 4);
        let placement = chains(&layout, &[]);
        let mut waits = Waits::default();
        waits.rests(&layout, &placement.ports, &placement.ports);
        assert_eq!(waits.clone().circle(), None);
        for ((x, y), side) in placement.ports {
            let tile = usize::from(y) * layout.columns + usize::from(x);
            let asked = layout.output(tile, GENERAL, side as usize);
            waits.add(asked, layout.input(tile, GENERAL, side as usize));
        }
        assert!(waits.circle().is_some());
    }

    #[test]
    fn rests_in_memories_wait_in_no_circle_and_would_if_memories_took_requests_one_by_one() {
        for (columns, rows) in [(2, 2), (4, 4), (5, 3), (3, 6)] {
            let layout = Layout::new(columns, rows);
            let (last, end) = (columns as u8 - 1, rows as u8 - 1);
            let rests =
                vec![((0, end), Side::West), ((last, end), Side::East), ((last, 0), Side::North)];
            let placement = Placement { rests, ..chains(&layout, &[]) };
            let mapping = resting(None, &[]);
            assert_eq!(prove(&layout, &placement, &mapping), Ok(()), "{columns} x {rows}");
            let mut waits = Waits::default();
            waits.memories(&layout, &placement);
            waits.half_duplex(&layout, &placement.rests);
            assert!(waits.circle().is_some(), "{columns} x {rows}");
        }
    }

    #[test]
    fn queues_that_sent_to_each_other_would_wait_for_each_other() {
        let layout = Layout::new(4, 4);
        let queues = [(3, 0), (3, 3)];
        let placement = queued(&layout, &queues, None);
        let senders: Vec<Place> = placement.chains.iter().map(|chain| chain.last()).collect();
        let mut waits = Waits::default();
        waits.queues(&layout, &senders, &placement.ports);
        assert_eq!(waits.clone().circle(), None);
        for (from, destination) in [(queues[0], queues[1]), (queues[1], queues[0])] {
            waits.message(&layout, from, Header { destination, ..Header::default() });
        }
        assert!(waits.circle().is_some());
    }

    #[test]
    fn two_state_owners_would_wait_for_each_other() {
        // The replies of one state owner and the requests to the other share the same wires.
        let layout = Layout::new(4, 4);
        let two = |one, other| {
            let mut waits = Waits::default();
            for owner in [one, other] {
                let tiles = places(&layout).into_iter().filter(|tile| ![one, other].contains(tile));
                waits.state_owner(&layout, owner, tiles);
            }
            waits.circle()
        };
        assert!(two((0, 0), (3, 3)).is_some());
        assert!(two((0, 1), (3, 1)).is_some());
    }

    #[test]
    fn messages_that_are_taken_at_once_wait_in_no_circle_and_those_that_are_handed_on_do() {
        let layout = Layout::new(3, 1);
        let mut waits = Waits::default();
        let to = |x| Header { destination: (x, 0), ..Header::default() };
        waits.message(&layout, (0, 0), to(2));
        waits.message(&layout, (2, 0), to(0));
        assert_eq!(waits.clone().circle(), None);
        // The tiles at both ends forward their messages.
        for tile in [0, 2] {
            let taken = layout.to_processor(tile, GENERAL);
            waits.add(taken, layout.input(tile, GENERAL, PROCESSOR));
        }
        assert!(waits.circle().is_some());
    }
}

//! Proves before the switches run that no static routes of their schedules cross, and that no
//! switch waits for itself.
//!
//! The proof reads the words of the switches, from any source, and checks over all instructions
//! that
//! - a word that is routed to a neighbour is taken by a route of that neighbour or by a device, and
//!   a word that is waited for is sent by one;
//! - the switches of a chain use only the sides of that chain, and the switches of other tiles use
//!   none, so words of two chains never share a wire;
//! - the wires between switches form no circle: each switch executes its instructions in order and
//!   waits only for its neighbours, so none waits for itself through others;
//! - the switches of chains that share a line card take its messages in their order ([`order`]);
//! - only certain processors use the general network. If packets leave at the port of their egress,
//!   queues and the last tiles of chains write to it, and queues read it. With a state owner, the
//!   state owner and the tiles of chains do both. Tiles of chains also do if chains go over that
//!   network;
//! - the messages of these tiles do not wait for each other in a circle ([`messages`]).

use std::collections::{BTreeMap, BTreeSet};

use wireloom_codegen_tile::{Link, uses_general};
use wireloom_isa::raw::switch::{self, Source};

use super::mapping::{Mapping, Outputs, Placement};
use super::place::Place;
use super::{messages, order};
use crate::asm::Program as Image;
use crate::layout::{Layout, PROCESSOR};
use crate::{Side, Spec};

/// The networks and sides that the program of a switch reads and writes.
#[derive(Clone, Debug, Default)]
struct Uses {
    read: BTreeSet<(usize, usize)>,
    written: BTreeSet<(usize, usize)>,
}

impl Uses {
    fn of(words: &[u64]) -> Result<Self, String> {
        let mut uses = Self::default();
        for word in words {
            let instruction = switch::decode(*word).map_err(|error| error.to_string())?;
            if let Some(source) = instruction.own.filter(|source| *source != Source::Tile) {
                uses.read.insert((0, source as usize - Source::North as usize));
            }
            for (network, routes) in instruction.routes.iter().enumerate() {
                for (end, source) in routes.iter().enumerate() {
                    let Some(source) = source else { continue };
                    if *source != Source::Tile {
                        uses.read.insert((network, *source as usize - Source::North as usize));
                    }
                    if end != PROCESSOR {
                        uses.written.insert((network, end));
                    }
                }
            }
        }
        Ok(uses)
    }
}

/// Proves the schedules of chains.
///
/// # Errors
/// A sentence about the first switch that breaks one of the rules.
pub fn prove(
    spec: &Spec,
    image: &Image,
    placement: &Placement,
    mapping: &Mapping,
) -> Result<(), String> {
    let Placement { chains, ports, .. } = placement;
    let (owner, queues) =
        (mapping.state_owner, mapping.queues.as_ref().map(|queues| &queues.tiles));
    let layout = Layout::new(spec.columns as usize, spec.rows as usize);
    let number = |(x, y): Place| usize::from(y) * layout.columns + usize::from(x);
    let mut uses = BTreeMap::new();
    for place in image.tiles() {
        uses.insert(number(place), Uses::of(image.of(place).1)?);
    }
    for place in image.tiles() {
        let [reads, writes] = uses_general(image.of(place).0);
        let is_last = placement.cards.iter().any(|card| placement.sender(card) == place);
        let is_in_chain = || chains.iter().any(|chain| chain.tiles.contains(&place));
        let sends = is_last && mapping.outputs == Outputs::Egress;
        let is_queue = queues.is_some_and(|queues| queues.contains(&place));
        let is_linked = mapping.links == Link::General && is_in_chain();
        let may =
            is_queue || is_linked || owner.is_some_and(|owner| owner == place || is_in_chain());
        if !may && (reads || writes && !sends) {
            let does = if reads { "takes words of" } else { "writes words to" };
            let (x, y) = place;
            return Err(format!(
                "tile ({x},{y}) {does} the general network, on which only last tiles of chains send \
                 packets to ports or queues, and tiles of chains ask the state owner"
            ));
        }
    }
    messages::prove(&layout, placement, mapping)?;
    let mut sides: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut devices = BTreeSet::new();
    for chain in chains {
        for (place, (from, to)) in chain.tiles.iter().zip(&chain.sides) {
            sides.insert(number(*place), vec![*from as usize, *to as usize]);
        }
        for branch in &chain.branches {
            for (place, side) in [(chain.tiles[0], branch.first), (chain.last(), branch.last)] {
                sides.entry(number(place)).or_default().push(side as usize);
            }
        }
    }
    for (place, side) in placement.cards.iter().map(|card| card.port) {
        devices.insert((number(place), side as usize));
    }
    for (place, side) in ports {
        devices.insert((number(*place), *side as usize));
        if queues.is_some() {
            sides.insert(number(*place), vec![*side as usize]);
        }
    }
    for (way, memory) in placement.ways.iter().zip(&placement.rests) {
        for (place, from, to) in way {
            // The proof of the tail paths has shown that tiles off the chain have no other use.
            let own = sides.entry(number(*place)).or_default();
            own.extend([*from as usize, *to as usize]);
        }
        let (place, side) = memory;
        devices.insert((number(*place), *side as usize));
    }
    for (tile, own) in &uses {
        for (way, ends) in [("from", &own.read), ("to", &own.written)] {
            for (network, side) in ends {
                let route = || {
                    let side = Side::ALL[*side];
                    format!("{} routes words {way} the {side:?}", layout.mover(*tile, *network))
                };
                if !sides.get(tile).is_some_and(|sides| sides.contains(side)) {
                    return Err(format!("{}, where its chain does not go", route()));
                }
                let is_met = match layout.neighbour(*tile, *side) {
                    None => devices.contains(&(*tile, *side)),
                    Some(other) => uses.get(&other).is_some_and(|other| {
                        let ends = if way == "to" { &other.read } else { &other.written };
                        ends.contains(&(*network, side ^ 2))
                    }),
                };
                if !is_met {
                    return Err(format!("{}, and nothing is at the other end", route()));
                }
            }
        }
    }
    // Repeatedly removes tiles that receive no words from remaining tiles.
    let mut left: BTreeSet<usize> = uses.keys().copied().collect();
    loop {
        let waits = |tile: &usize| {
            uses[tile].read.iter().any(|(_, side)| {
                layout.neighbour(*tile, *side).is_some_and(|other| left.contains(&other))
            })
        };
        let (waiting, free): (BTreeSet<_>, BTreeSet<_>) = left.iter().partition(|tile| waits(tile));
        if free.is_empty() {
            break;
        }
        left = waiting;
    }
    if let Some(tile) = left.first() {
        return Err(format!("{} waits in a circle of switches", layout.mover(*tile, 0)));
    }
    let mut shared = placement.cards.iter().filter(|card| card.chains.len() > 1);
    shared.try_for_each(|card| order::prove(&layout, image, placement, card))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::assemble;
    use crate::machine::cards::CardAt;
    use crate::machine::mapping::Chain;

    fn chain(tiles: &[Place], sides: &[(Side, Side)]) -> Chain {
        Chain { tiles: tiles.to_vec(), sides: sides.to_vec(), branches: Vec::new() }
    }

    fn proves(text: &str, chains: &[Chain], outputs: Outputs) -> Result<(), String> {
        let image = assemble("test", text).expect("it assembles");
        let ports = chains.iter().map(|chain| (chain.last(), chain.sides[chain.sides.len() - 1].1));
        let (chains, ports) = (chains.to_vec(), ports.collect());
        let card =
            |(number, chain): (usize, &Chain)| CardAt { port: chain.input(), chains: vec![number] };
        let cards = chains.iter().enumerate().map(card).collect();
        let (memory, rests) = (((3, 3), Side::South), Vec::new());
        let placement = Placement { chains, cards, ports, memory, rests, ways: Vec::new() };
        let mapping = Mapping { outputs, ..Mapping::default() };
        prove(&Spec::built_in(), &image, &placement, &mapping)
    }

    fn proved(text: &str, chains: &[Chain]) -> Result<(), String> {
        proves(text, chains, Outputs::Chain)
    }

    #[test]
    fn only_last_tiles_send_to_ports_and_none_takes_what_is_sent() {
        use Side::{East, North, West};
        let two = [chain(&[(0, 0), (1, 0)], &[(West, East), (West, North)])];
        let prove = |text: &str, outputs| proves(text, &two, outputs);
        let last = ".tile 1 0\n move $cgno, $t0\n";
        assert_eq!(prove(last, Outputs::Egress), Ok(()));
        for (text, outputs, why) in [
            (last, Outputs::Chain, "tile (1,0) writes words to the general network"),
            (".tile 0 0\n move $cgno, $t0\n", Outputs::Egress, "tile (0,0) writes words to"),
            (".tile 1 0\n move $cgno, $cgni\n", Outputs::Egress, "tile (1,0) takes words of"),
        ] {
            let error = prove(text, outputs).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn two_tiles_in_a_row_are_proved() {
        use Side::{East, North, West};
        let two = chain(&[(0, 0), (1, 0)], &[(West, East), (West, North)]);
        let first = ".switch 0 0\nl: j l route $cWi->$cEo\n";
        let good = format!("{first}.switch 1 0\nl: j l route $cWi->$cNo\n");
        assert_eq!(proved(&good, std::slice::from_ref(&two)), Ok(()));
        let deaf = format!("{first}.switch 1 0\nl: j l route $csto->$cNo\n");
        let why = proved(&deaf, std::slice::from_ref(&two)).unwrap_err();
        assert!(why.contains("switch (0,0) routes words to the East, and nothing"), "{why}");
        let astray = format!("{first}.switch 1 0\nl: j l route $cWi->$cSo\n");
        let why = proved(&astray, &[two]).unwrap_err();
        assert!(why.contains("switch (1,0) routes words to the South, where"), "{why}");
    }

    #[test]
    fn switches_that_wait_in_a_circle_are_found() {
        use Side::{East, North, South, West};
        let tiles = [(0, 0), (1, 0), (1, 1), (0, 1)];
        let sides = [(South, East), (West, South), (North, West), (East, North)];
        let routes = ["S", "E", "W", "S", "N", "W", "E", "N"];
        let text: String = tiles
            .iter()
            .zip(routes.chunks_exact(2))
            .map(|((x, y), pair)| {
                format!(".switch {x} {y}\nl: j l route $c{}i->$c{}o\n", pair[0], pair[1])
            })
            .collect();
        let mut ring = chain(&tiles, &sides);
        let why = proved(&text, &[ring.clone()]).unwrap_err();
        assert!(why.contains("waits in a circle"), "{why}");
        // With its ports where its tiles expect them, the chain has no circle.
        ring.sides[0].0 = West;
        assert!(proved(&text, &[ring]).unwrap_err().contains("where its chain does not go"));
    }
}

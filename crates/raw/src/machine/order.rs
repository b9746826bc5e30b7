//! Proves that the switches of chains that share a line card take its messages in their order of
//! arrival.
//!
//! The paths of two messages of a card part at the first tile of one chain and meet again at its
//! last tile. Therefore an acyclic graph of wires between switches is not enough: a switch could
//! wait for a message that is blocked by another message which this switch has to take first. If
//! every switch takes the messages in the card's order, the oldest message in the chip waits for no
//! later one, and the earlier ones have left.
//!
//! The words of a switch show what it does in a round: it takes a message from a side or its
//! processor, and sends it somewhere. The proof follows each message of a turn by its number, from
//! the card to the last tile.

use std::collections::BTreeMap;

use wireloom_isa::raw::switch::{self, Control, Instruction, Source};

use super::cards::CardAt;
use super::mapping::Placement;
use super::place::Place;
use crate::Side;
use crate::asm::Program as Image;
use crate::layout::{Layout, PROCESSOR};

/// A message in the round of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moved {
    from: Source,
    /// The end of the crossbar to which it goes.
    to: usize,
}

/// Returns the messages of a round, in order.
fn round(words: &[u64]) -> Result<Vec<Moved>, String> {
    let decoded = words.iter().map(|word| switch::decode(*word));
    let all: Vec<Instruction> =
        decoded.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    let at = |address: usize| all.get(address).ok_or("ends without a jump".to_owned());
    let (mut seen, mut moved, mut rest) = (Vec::new(), Vec::new(), None);
    let mut address = 0;
    while !seen.contains(&address) {
        seen.push(address);
        let first = at(address)?;
        if first.control == Control::Jump && !first.has_routes() {
            address = usize::from(first.constant);
            continue;
        }
        let from = first.own.filter(|_| first.control == Control::Receive);
        let from = from.ok_or_else(|| format!("does not take a number of words at {address}"))?;
        let mut next = at(address + 1)?;
        if next.control == Control::Bnez {
            // Streams the tail words that come with the message.
            let streams = at(usize::from(next.constant))?;
            one_way(streams, from)?;
            rest = Some(from);
            address += 2;
            continue;
        }
        address += 1;
        if next.control == Control::Beqz {
            address += 1;
            next = at(address)?;
        }
        if next.control != Control::Bnezd || usize::from(next.constant) != address {
            return Err(format!("routes no message at {address}"));
        }
        let to = one_way(next, from)?;
        if rest.take().is_some_and(|of| of != from) {
            return Err(format!("takes a message at {address} that does not follow its rest"));
        }
        moved.push(Moved { from, to });
        address += 1;
    }
    Ok(moved)
}

/// Returns the only end to which an instruction routes words from a source.
fn one_way(instruction: &Instruction, from: Source) -> Result<usize, String> {
    let [first, second] = &instruction.routes;
    let mut ends = first.iter().enumerate().filter_map(|(end, source)| Some((end, (*source)?)));
    match (ends.next(), ends.next()) {
        (Some((to, source)), None) if source == from && second.iter().all(Option::is_none) => {
            Ok(to)
        }
        _ => Err("routes words of a message that are not of its source".to_owned()),
    }
}

/// Proves the switches of the chains of a card.
///
/// # Errors
/// A sentence about a switch that takes messages in another order.
pub fn prove(
    layout: &Layout,
    image: &Image,
    placement: &Placement,
    card: &CardAt,
) -> Result<(), String> {
    let number = |(x, y): Place| usize::from(y) * layout.columns + usize::from(x);
    // The messages of a turn at each tile and end, in order.
    let mut coming: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    let (first, side) = card.port;
    coming.insert((number(first), side as usize), (0..card.chains.len()).collect());
    let tiles = card.chains.iter().flat_map(|chain| placement.chains[*chain].tiles.clone());
    let mut rounds = BTreeMap::new();
    for (x, y) in tiles {
        let of = round(image.of((x, y)).1).map_err(|why| format!("switch ({x},{y}) {why}"))?;
        rounds.insert(number((x, y)), of);
    }
    let source = |moved: &Moved| moved.from as usize - Source::North as usize;
    loop {
        let is_known = |tile: usize, moved: &Moved| {
            moved.from == Source::Tile || coming.contains_key(&(tile, source(moved)))
        };
        let next = rounds.iter().find(|(tile, of)| of.iter().all(|one| is_known(**tile, one)));
        let Some(tile) = next.map(|(tile, _)| *tile) else { break };
        let round = rounds.remove(&tile).unwrap_or_default();
        let name = layout.mover(tile, 0);
        let (mut own, mut last, mut sent) = (0, 0, BTreeMap::<usize, Vec<usize>>::new());
        let mut left: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for moved in &round {
            let message = if moved.from == Source::Tile {
                own
            } else {
                let of_side = || coming.remove(&(tile, source(moved))).unwrap_or_default();
                let left = left.entry(source(moved)).or_insert_with(of_side);
                if left.is_empty() {
                    let side = Side::ALL[source(moved)];
                    return Err(format!("{name} takes more messages from the {side:?} than come"));
                }
                left.remove(0)
            };
            if message < last {
                return Err(format!(
                    "{name} takes message {message} of a line card after message {last}, and could wait for itself"
                ));
            }
            last = message;
            if moved.to == PROCESSOR {
                own = message;
            } else {
                sent.entry(moved.to).or_default().push(message);
            }
        }
        if left.values().any(|left| !left.is_empty()) {
            return Err(format!("{name} does not take all messages that come in a turn"));
        }
        for (end, messages) in sent {
            if let Some(other) = layout.neighbour(tile, end) {
                coming.insert((other, end ^ 2), messages);
            }
        }
    }
    if let Some(tile) = rounds.keys().next() {
        return Err(format!("{} waits for messages that no switch sends", layout.mover(*tile, 0)));
    }
    match coming.keys().next() {
        None => Ok(()),
        Some((tile, side)) => {
            let (name, side) = (layout.mover(*tile, 0), Side::ALL[*side]);
            Err(format!("{name} takes none of the messages that come from the {side:?}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asm::assemble;
    use crate::machine::MachineSpec;
    use wireloom_description::Description;

    /// A switch that takes one message and sends the message that its processor makes of it.
    const STAGE: &str = "take: recv $1 route $cNi->$swi\nin: bnezd $1, $1, in route $cNi->$csti\n\
                         recv $1 route $csto->$swi, $csto->$c{TO}o\n\
                         out: bnezd $1, $1, out route $csto->$c{TO}o\n";

    fn stage(to: &str) -> String {
        STAGE.replace("{TO}", to)
    }

    /// Takes a message from a side and sends it somewhere.
    fn by(label: &str, from: &str, to: &str) -> String {
        format!(
            "recv $1 route $c{from}i->$swi\n{label}: bnezd $1, $1, {label} route $c{from}i->${to}\n"
        )
    }

    /// Proves two columns of two tiles. The switches at the card and at the sender have these
    /// programs.
    fn proved(card: &str, sender: &str) -> Result<(), String> {
        let text = "extends = \"raw\"\nabout = \"a test\"\n[mapping]\noutputs = \"egress\"\ncards = [0]\n\
                    chains = [[[0, 0], [0, 1]], [[1, 0], [1, 1]]]\n\
                    [mapping.queues]\ntiles = [[0, 3]]\nmemory = \"tile\"\nbytes = 2048\nready = \"interrupts\"\n";
        let description = Description::parse("test.toml", text).expect("it is TOML");
        let machine = crate::KIND.configure("test", description).expect("it has a place");
        let spec = machine.downcast_ref::<MachineSpec>().expect("it has tiles");
        let placement = spec.placement().expect("it has ports");
        assert_eq!(placement.cards[0].chains, [0, 1]);
        let side = placement.cards[0].port.1;
        assert_eq!(side, Side::West, "the programs below take packets there");
        let next = stage("S").replace("$cNi", "$cWi");
        let text = format!(
            ".switch 0 0\n{card}j take\n.switch 1 0\n{next}j take\n.switch 0 1\n{sender}j take\n\
             .switch 1 1\n{}j take\n",
            stage("W")
        );
        let image = assemble("test", &text).unwrap_or_else(|error| panic!("{}", error.render()));
        prove(&Layout::new(4, 4), &image, &placement, &placement.cards[0])
    }

    #[test]
    fn switches_take_the_messages_of_a_card_in_its_order() {
        let own = stage("S").replace("$cNi", "$cWi");
        let card = format!("{own}{}", by("on", "W", "cEo"));
        let sender = format!("take: {}{}", by("own", "N", "csti"), by("other", "E", "csti"));
        assert_eq!(proved(&card, &sender), Ok(()));
        // The second chain's message leaves first, and is blocked by a message of the first chain.
        let turned = format!("take: {}{}", by("other", "E", "csti"), by("own", "N", "csti"));
        let why = proved(&card, &turned).unwrap_err();
        assert!(why.contains("takes message 0 of a line card after message 1"), "{why}");
        let once = format!("take: {}", by("own", "N", "csti"));
        let twice = format!("{sender}{}", by("more", "E", "csti"));
        for (card, sender, why) in [
            (&card, &once, "switch (0,1) takes none of the messages that come from the East"),
            (&card, &twice, "switch (0,1) takes more messages from the East than come"),
            (&own, &sender, "switch (0,0) does not take all messages that come in a turn"),
            (&format!("{card}{}", by("more", "W", "cEo")), &sender, "takes more messages"),
        ] {
            let error = proved(card, sender).expect_err(why);
            assert!(error.contains(why), "{error}");
        }
    }
}

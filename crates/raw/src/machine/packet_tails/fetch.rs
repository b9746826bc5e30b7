//! Packet tails at the device where their packets leave.

use std::collections::VecDeque;

use wireloom_codegen_tile::{LAST, Way};
use wireloom_isa::raw::Network;

use super::card::{Card, Outgoing};
use super::{Memories, Reference};
use crate::cache::LINE_BYTES;
use crate::device::Port;
use crate::machine::place::{Edge, Place};
use crate::machine::port::Departure;
use crate::message::Header;
use crate::tile::kind;

/// Message kinds of replies with tails. This limits the tails on the way to a device.
const TAGS: u8 = 4;

/// A packet whose head has left the tiles.
#[derive(Clone, Debug)]
struct Leaving {
    left: Departure,
    to_line: bool,
    fetch: Fetch,
}

/// The progress of a tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fetch {
    /// The tail has not been requested.
    Wanted(Reference),
    /// The tail is in flight, in replies of the kind with this number.
    Coming(u8),
    /// Lines of the tail are in flight: the address of the next line, lines still to request, and
    /// lines in flight.
    Lines { reference: Reference, next: u32, to_ask: usize, under_way: usize },
    /// The tail is complete.
    Done,
}

/// The packet tails of a device at a port: it keeps the tails of a card, and fetches others.
#[derive(Clone, Debug, Default)]
pub struct Rests {
    /// The tails that the card here keeps, by chain, if packets arrive here.
    pub kept: Vec<Card>,
    /// The words of the incoming request.
    asked: Vec<u32>,
    /// The port of the card of each chain; `memories` are the memories for tails.
    cards: Vec<Edge>,
    memories: Option<Memories>,
    /// Limit on the requests in flight: tails from cards, or lines from a memory.
    requests: usize,
    leaving: VecDeque<Leaving>,
    /// Outgoing messages of the general network and of the memory network, requests first.
    general: Outgoing,
    memory: Outgoing,
    /// Words still to come of the incoming message of the memory network; `confirmed` lists the
    /// memories that have confirmed a tail.
    missing: u8,
    confirmed: Vec<Place>,
}

impl Rests {
    /// Creates the tails of a device. `cards` has the port of each chain's card, and `requests`
    /// limits the requests in flight.
    pub fn new(
        kept: Vec<Card>,
        cards: Vec<Edge>,
        memories: Option<Memories>,
        requests: u32,
    ) -> Self {
        Self { kept, cards, memories, requests: requests as usize, ..Self::default() }
    }

    /// Whether the card here has room for a tail of chain `turn`, and can begin to store it now.
    pub fn has_room(&self, turn: usize) -> bool {
        self.kept.get(turn).is_some_and(Card::has_room) && self.memory.others.is_empty()
    }

    /// Keeps a tail of chain `turn`, or begins to write it to a memory. Returns its reference, and
    /// the words that write it through switches.
    pub fn keep(&mut self, turn: usize, rest: Vec<u8>, port: &Port<'_>) -> (u32, Vec<u32>) {
        let (word, written) = self.kept[turn].keep(rest, port);
        self.memory.others.extend(written.messages);
        (word, written.words)
    }

    /// Returns the tile of the memory for tails of chain `turn`, if there is one.
    pub fn memory(&self, turn: usize) -> Option<Place> {
        let memories = self.memories.as_ref()?;
        Some(memories.of_card(self.kept[turn].number().into()).0)
    }

    /// Whether the memory at a tile has confirmed its next tail. Consumes the confirmation.
    pub fn is_confirmed(&mut self, memory: Place) -> bool {
        let at = self.confirmed.iter().position(|tile| *tile == memory);
        at.map(|at| self.confirmed.swap_remove(at)).is_some()
    }

    /// Takes the head of a departing packet, or a departure without a packet. `to_line` is whether
    /// it goes to the line.
    pub fn take(&mut self, left: Departure, to_line: bool, port: &Port<'_>) {
        let mut leaving = Leaving { left, to_line, fetch: Fetch::Done };
        let left = &mut leaving.left;
        let is_last = left.side & LAST != 0;
        let is_packet = matches!(Way::of(left.side), Way::Port | Way::Core) && !left.is_dropped;
        match left.reference {
            Some(reference) if is_packet && reference.bytes > 0 => {
                match self.own(reference, port) {
                    Some(card) if !card.writes() => left.rest = card.give(reference, is_last),
                    _ => leaving.fetch = Fetch::Wanted(reference),
                }
            }
            // A dropped packet needs no tail, so its card can free it.
            Some(reference) if is_last => self.give_up(reference, port),
            _ => {}
        }
        self.leaving.push_back(leaving);
    }

    /// Returns the card that keeps a tail, if it is the card here.
    fn own(&mut self, reference: Reference, port: &Port<'_>) -> Option<&mut Card> {
        let (tile, side) = self.cards[usize::from(reference.card)];
        let is_here = tile == port.tile && 1 + side as u8 == port.last;
        self.kept.iter_mut().find(|card| is_here && card.number() == reference.card)
    }

    /// Tells the card that it can free a tail.
    fn give_up(&mut self, reference: Reference, port: &Port<'_>) {
        match self.own(reference, port) {
            Some(card) => drop(card.give(reference, true)),
            None => self.request(reference, true, 0, port),
        }
    }

    /// Requests a tail from a card. The reply comes under the header `back`; with 0 the card only
    /// frees the tail.
    fn request(&mut self, reference: Reference, is_last: bool, back: u32, port: &Port<'_>) {
        let (destination, side) = self.cards[usize::from(reference.card)];
        let (last, user) = (1 + side as u8, kind::REST);
        let header = Header { last, length: 2, user, origin: port.tile, destination };
        let word = if is_last { reference.word() } else { reference.word() & !Reference::IS };
        self.general.first.push_back(vec![header.word(), word, back]);
    }

    /// Requests the tails of the packets that leave next.
    fn ask(&mut self, port: &Port<'_>) {
        if self.leaving.is_empty() {
            return;
        }
        if self.memories.is_some() {
            return self.ask_memory(port);
        }
        let coming = |tag: u8| move |one: &Leaving| one.fetch == Fetch::Coming(tag);
        while let Some(tag) =
            (0..self.requests as u8).find(|tag| !self.leaving.iter().any(coming(*tag)))
            && let Some(at) = self.wanted()
            && let Fetch::Wanted(reference) = self.leaving[at].fetch
        {
            self.leaving[at].fetch = Fetch::Coming(tag);
            let is_last = self.leaving[at].left.side & LAST != 0;
            let (last, destination) = (port.last, port.tile);
            let user = kind::REST_COMES + tag;
            let back = Header { last, destination, user, ..Header::default() };
            self.request(reference, is_last, back.word(), port);
        }
    }

    /// Returns the first packet whose tail has not been requested.
    fn wanted(&self) -> Option<usize> {
        self.leaving.iter().position(|one| matches!(one.fetch, Fetch::Wanted(_)))
    }

    /// Requests lines of the tail of the next packet from its memory.
    fn ask_memory(&mut self, port: &Port<'_>) {
        let Some(memories) = &self.memories else { return };
        let is_begun = self.leaving.iter().any(|one| matches!(one.fetch, Fetch::Lines { .. }));
        if !is_begun
            && let Some(at) = self.wanted()
            && let Fetch::Wanted(reference) = self.leaving[at].fetch
        {
            let to_ask = u32::from(reference.bytes).div_ceil(LINE_BYTES) as usize;
            let next = memories.address(reference);
            self.leaving[at].fetch = Fetch::Lines { reference, next, to_ask, under_way: 0 };
        }
        for one in &mut self.leaving {
            let Fetch::Lines { reference, next, to_ask, under_way } = &mut one.fetch else {
                continue;
            };
            let (destination, side) = memories.of_card(reference.card.into());
            let back = Header { last: port.last, destination: port.tile, ..Header::default() };
            let (last, origin) = (1 + side as u8, port.tile);
            let header = Header { last, length: 2, user: kind::DMA_READ, origin, destination };
            while *to_ask > 0 && *under_way < self.requests {
                self.memory.first.push_back(vec![header.word(), *next, back.word()]);
                (*next, *to_ask, *under_way) = (*next + LINE_BYTES, *to_ask - 1, *under_way + 1);
            }
        }
    }

    /// Returns the next complete packet, and whether it goes to the line.
    pub fn next(&mut self) -> Option<(Departure, bool)> {
        self.leaving.front().filter(|first| first.fetch == Fetch::Done)?;
        self.leaving.pop_front().map(|first| (first.left, first.to_line))
    }

    /// Returns the number of packets on their way to the line.
    pub fn to_line(&self) -> usize {
        self.leaving.iter().filter(|one| one.to_line).count()
    }

    /// Returns the network from which the device expects a word, if there is one.
    pub fn awaits(&self) -> Option<Network> {
        let is_line = |one: &Leaving| matches!(one.fetch, Fetch::Lines { .. });
        match self.leaving.iter().any(is_line) || self.kept.iter().any(Card::writes) {
            true => Some(Network::Memory),
            false => (!self.leaving.is_empty()).then_some(Network::General),
        }
    }

    /// Takes a word of a request for a tail, or of a reply with one. Returns whether it is such a
    /// word.
    pub fn takes(&mut self, header: Header, word: u32, port: &Port<'_>) -> bool {
        if header.user == kind::REST {
            self.asked.push(word);
            if let [asked, back] = self.asked[..] {
                self.asked.clear();
                let card = Reference::asked(asked).card;
                let card = self.kept.iter_mut().find(|own| own.number() == card);
                let answer = card.map(|card| card.answer(asked, back, port)).unwrap_or_default();
                self.general.others.extend(answer);
            }
            return true;
        }
        let tag = header.user.checked_sub(kind::REST_COMES);
        let Some(tag) = tag.filter(|tag| *tag < TAGS) else { return false };
        let coming = |one: &&mut Leaving| one.fetch == Fetch::Coming(tag);
        if let Some(leaving) = self.leaving.iter_mut().find(coming)
            && leaving.add(word)
        {
            leaving.fetch = Fetch::Done;
        }
        true
    }

    /// Takes a word of the memory network: of a tail's line, or a confirmation. Returns whether
    /// there was one.
    fn takes_line(&mut self, port: &mut Port<'_>) -> bool {
        let Some(word) = port.read(Network::Memory) else { return false };
        if self.missing == 0 {
            let header = Header::of(word);
            self.missing = header.length;
            let is_confirmed = header.length == 0 && header.user == kind::CONFIRM;
            self.confirmed.extend(is_confirmed.then_some(header.origin));
            return true;
        }
        self.missing -= 1;
        let mut given_up = None;
        for one in &mut self.leaving {
            let Fetch::Lines { .. } = one.fetch else { continue };
            // Words after the tail in its last line are ignored.
            let is_whole = one.add(word);
            let Fetch::Lines { reference, to_ask, under_way, .. } = &mut one.fetch else {
                continue;
            };
            *under_way -= usize::from(self.missing == 0);
            if is_whole && *to_ask == 0 && *under_way == 0 {
                given_up = (one.left.side & LAST != 0).then_some(*reference);
                one.fetch = Fetch::Done;
            }
            break;
        }
        given_up.into_iter().for_each(|reference| self.give_up(reference, port));
        true
    }

    /// Whether no message of the general network is partly sent.
    pub fn is_general_free(&self) -> bool {
        self.general.is_between()
    }

    /// Moves words of messages; on the general network only if `is_free`. Returns whether some
    /// moved.
    pub fn cycle(&mut self, port: &mut Port<'_>, is_free: bool) -> bool {
        let is_taken = self.uses_memory() && self.takes_line(port);
        self.ask(port);
        let is_written = is_free && self.general.write(Network::General, port);
        is_taken | is_written | self.memory.write(Network::Memory, port)
    }

    /// Whether tails are in memories.
    pub fn uses_memory(&self) -> bool {
        self.memories.is_some()
    }

    /// Whether tails go to memories through switches.
    pub fn is_switched(&self) -> bool {
        self.memories.as_ref().is_some_and(Memories::is_switched)
    }

    /// Whether memories are told of tails over the memory network.
    pub fn tells_memory(&self) -> bool {
        self.memories.as_ref().is_some_and(Memories::are_told)
    }

    /// Whether a message other than a tail's can begin on the memory network now.
    pub fn is_between(&self) -> bool {
        self.memory.is_between()
    }
}

impl Leaving {
    /// Adds a word to the tail unless it is complete. Returns whether it is complete now.
    fn add(&mut self, word: u32) -> bool {
        let wanted = self.left.reference.map_or(0, |rest| usize::from(rest.bytes));
        let rest = &mut self.left.rest;
        if rest.len() < wanted {
            rest.extend(word.to_be_bytes());
            rest.truncate(wanted);
        }
        rest.len() == wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_is_written_when_its_own_memory_says_so() {
        let mut rests = Rests { confirmed: vec![(3, 3), (0, 1), (3, 3)], ..Rests::default() };
        let mut confirmed = |memory| rests.is_confirmed(memory);
        assert!(!confirmed((3, 1)));
        assert!(confirmed((0, 1)) && !confirmed((0, 1)));
        assert!(confirmed((3, 3)) && confirmed((3, 3)) && !confirmed((3, 3)));
    }
}

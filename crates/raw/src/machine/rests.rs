//! The rest of long packets, which goes past the tiles: the section `mapping.rest` of a description.
//!
//! A card hands over the head of a packet with a word by which the rest is known ([`Reference`]), which the
//! tiles pass on. The device at the port where the packet leaves asks the card for the rest by a message of
//! the general network, and gets it in messages of up to 31 words. A card gives up a rest when the last
//! that leaves of its packet has been there, or nothing does.
//!
//! Up to [`UNDER_WAY`] rests come to a device at a time, and packets leave it in the order in which their heads
//! came. It takes each word at once, so it has room for the heads of all rests that cards keep.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use wireloom_codegen::tile::{LAST, Way, head};
use wireloom_isa::raw::Network;

use super::mapping::Edge;
use super::port::Left;
use crate::device::Port;
use crate::message::Header;
use crate::tile::kind;

/// Rests that come to a device at a time, from different cards or from one ("up to four outstanding", the paper, of
/// lines from a memory).
pub const UNDER_WAY: usize = 4;
/// The most words of a message.
const MESSAGE_WORDS: usize = 31;
/// Rests that a card can keep: their numbers have a byte.
const MOST_PACKETS: u32 = 256;
/// Cards that references can name.
pub const MOST_CARDS: usize = 128;

/// What stays outside of the tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RestSpec {
    /// Where it is until the packet leaves.
    pub keep: Keep,
    /// The words of a packet's head, two bytes that align among them: 1 to 33. A program whose steps reach farther
    /// gets as many as these do.
    pub words: u32,
    /// The rests that a card keeps at most, 1 to 256. The next packet with a rest waits.
    pub packets: u32,
}

/// Where the rest of packets is until they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// In the buffer of the line card by which the packet came.
    Card,
}

impl RestSpec {
    /// The section of a description.
    pub fn section(&self) -> String {
        let Self { keep: Keep::Card, words, packets } = self;
        format!("\n[mapping.rest]\nkeep = \"card\"\nwords = {words}\npackets = {packets}\n")
    }

    /// Checks sizes.
    ///
    /// # Errors
    /// A sentence that begins with the key.
    pub fn check(&self) -> Result<(), String> {
        for (key, value, most) in
            [("words", self.words, head::MOST), ("packets", self.packets, MOST_PACKETS)]
        {
            if !(1..=most).contains(&value) {
                return Err(format!("`mapping.rest.{key}` is {value}; it can be 1 to {most}"));
            }
        }
        Ok(())
    }
}

/// The word by which a rest is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The card that keeps it.
    card: u8,
    /// Its number there.
    slot: u8,
    /// How many of its bytes belong to the packet.
    pub bytes: u16,
}

impl Reference {
    /// The bit that says that there is a rest; in requests, that the card can give it up.
    const IS: u32 = 1 << 31;

    /// The reference of a word, if there is a rest.
    pub fn of(word: u32) -> Option<Self> {
        let of =
            Self { card: (word >> 24) as u8 & 0x7f, slot: (word >> 16) as u8, bytes: word as u16 };
        (word & Self::IS != 0).then_some(of)
    }

    fn word(self) -> u32 {
        Self::IS | u32::from(self.card) << 24 | u32::from(self.slot) << 16 | u32::from(self.bytes)
    }
}

/// What a card keeps.
#[derive(Clone, Debug, Default)]
pub struct Card {
    number: u8,
    most: usize,
    kept: BTreeMap<u8, Vec<u8>>,
    /// The request that comes.
    request: Vec<u32>,
    /// Rests that were kept, and how many at a time at most.
    pub all: u64,
    pub largest: usize,
}

impl Card {
    /// A card by its number among all, which keeps so many rests.
    pub fn new(number: usize, most: u32) -> Self {
        Self { number: number as u8, most: most as usize, ..Self::default() }
    }

    /// Whether there is room for a rest.
    pub fn has_room(&self) -> bool {
        self.kept.len() < self.most
    }

    /// Rests that are kept now.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Keeps a rest; returns the word by which it is known.
    pub fn keep(&mut self, rest: Vec<u8>) -> u32 {
        let free = (0..=u8::MAX).find(|slot| !self.kept.contains_key(slot));
        let slot = free.expect("there is room");
        let word = Reference { card: self.number, slot, bytes: rest.len() as u16 }.word();
        self.kept.insert(slot, rest);
        self.all += 1;
        self.largest = self.largest.max(self.kept.len());
        word
    }

    /// The bytes of a rest that belong to a packet. Gives it up if nothing else leaves with it.
    fn give(&mut self, reference: Reference, is_last: bool) -> Vec<u8> {
        let mut bytes = match is_last {
            true => self.kept.remove(&reference.slot),
            false => self.kept.get(&reference.slot).cloned(),
        };
        bytes.iter_mut().for_each(|bytes| bytes.truncate(reference.bytes.into()));
        bytes.unwrap_or_default()
    }

    /// Takes a word of a request; returns the messages of the answer once all of it is there.
    fn ask(&mut self, word: u32, port: &Port<'_>) -> Vec<Vec<u32>> {
        self.request.push(word);
        let [asked, back] = self.request[..] else { return Vec::new() };
        self.request.clear();
        let Some(reference) = Reference::of(asked | Reference::IS) else { return Vec::new() };
        let bytes = self.give(reference, asked & Reference::IS != 0);
        if back == 0 {
            return Vec::new();
        }
        let word = |bytes: &[u8]| {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            u32::from_be_bytes(word)
        };
        let words: Vec<u32> = bytes.chunks(4).map(word).collect();
        let message = |words: &[u32]| {
            let length = words.len() as u8;
            let header = Header { length, origin: port.tile, ..Header::of(back) };
            [&[header.word()], words].concat()
        };
        words.chunks(MESSAGE_WORDS).map(message).collect()
    }
}

/// A packet whose head has left the tiles.
#[derive(Clone, Debug)]
struct Leaving {
    left: Left,
    to_line: bool,
    fetch: Fetch,
}

/// How far the rest of a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fetch {
    /// It has to be asked for.
    Wanted(Reference),
    /// It comes, under the kind of answers of this number.
    Coming(u8),
    /// All of it is there.
    Done,
}

/// What a device at a port does with rests: it keeps those of a card, and fetches others.
#[derive(Clone, Debug, Default)]
pub struct Rests {
    /// The card here, if packets come here.
    pub card: Option<Card>,
    /// The ports of all cards.
    cards: Vec<Edge>,
    leaving: VecDeque<Leaving>,
    /// The message that goes, requests and answers.
    sending: VecDeque<u32>,
    requests: VecDeque<Vec<u32>>,
    answers: VecDeque<Vec<u32>>,
}

impl Rests {
    /// Those of a device, where cards are at these ports.
    pub fn new(card: Option<Card>, cards: Vec<Edge>) -> Self {
        Self { card, cards, ..Self::default() }
    }

    /// Takes the head of a packet that leaves, for the line or not; or what has no packet.
    pub fn take(&mut self, left: Left, to_line: bool, port: &Port<'_>) {
        let mut leaving = Leaving { left, to_line, fetch: Fetch::Done };
        let left = &mut leaving.left;
        let is_last = left.side & LAST != 0;
        let is_packet = matches!(Way::of(left.side), Way::Port | Way::Core) && !left.is_dropped;
        match left.reference {
            Some(reference) if is_packet && reference.bytes > 0 => {
                match self.own(reference, port) {
                    Some(card) => left.rest = card.give(reference, is_last),
                    None => leaving.fetch = Fetch::Wanted(reference),
                }
            }
            // What is dropped needs no rest, and the card no longer either.
            Some(reference) if is_last => match self.own(reference, port) {
                Some(card) => drop(card.give(reference, true)),
                None => self.request(reference, true, 0, port),
            },
            _ => {}
        }
        self.leaving.push_back(leaving);
    }

    /// The card that keeps a rest, if it is the one here.
    fn own(&mut self, reference: Reference, port: &Port<'_>) -> Option<&mut Card> {
        let (tile, side) = self.cards[usize::from(reference.card)];
        let is_here = tile == port.tile && 1 + side as u8 == port.last;
        self.card.as_mut().filter(|_| is_here)
    }

    /// Asks a card for a rest, which comes back under a header; or tells the card that nobody needs it.
    fn request(&mut self, reference: Reference, is_last: bool, back: u32, port: &Port<'_>) {
        let (destination, side) = self.cards[usize::from(reference.card)];
        let (last, user) = (1 + side as u8, kind::REST);
        let header = Header { last, length: 2, user, origin: port.tile, destination };
        let word = if is_last { reference.word() } else { reference.word() & !Reference::IS };
        self.requests.push_back(vec![header.word(), word, back]);
    }

    /// Asks for the rests of the packets that leave next.
    fn ask(&mut self, port: &Port<'_>) {
        if self.leaving.is_empty() {
            return;
        }
        let coming = |tag: u8| move |one: &Leaving| one.fetch == Fetch::Coming(tag);
        while let Some(tag) =
            (0..UNDER_WAY as u8).find(|tag| !self.leaving.iter().any(coming(*tag)))
            && let Some(at) =
                self.leaving.iter().position(|one| matches!(one.fetch, Fetch::Wanted(_)))
            && let Fetch::Wanted(reference) = self.leaving[at].fetch
        {
            self.leaving[at].fetch = Fetch::Coming(tag);
            let is_last = self.leaving[at].left.side & LAST != 0;
            let (last, destination) = (port.last, port.tile);
            let back =
                Header { last, destination, user: kind::REST_COMES + tag, ..Header::default() };
            self.request(reference, is_last, back.word(), port);
        }
    }

    /// The next packet that is whole, and whether it goes to the line.
    pub fn next(&mut self) -> Option<(Left, bool)> {
        self.leaving.front().filter(|first| first.fetch == Fetch::Done)?;
        self.leaving.pop_front().map(|first| (first.left, first.to_line))
    }

    /// Packets on their way to the line.
    pub fn to_line(&self) -> usize {
        self.leaving.iter().filter(|one| one.to_line).count()
    }

    /// Whether some rest is awaited.
    pub fn is_waiting(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Takes a word of a message under a header, if that is a request or an answer; returns whether it is.
    pub fn takes(&mut self, header: Header, word: u32, port: &Port<'_>) -> bool {
        if header.user == kind::REST {
            let answer = self.card.as_mut().map(|card| card.ask(word, port)).unwrap_or_default();
            self.answers.extend(answer);
            return true;
        }
        let tag =
            header.user.checked_sub(kind::REST_COMES).filter(|tag| usize::from(*tag) < UNDER_WAY);
        let Some(tag) = tag else { return false };
        let coming = |one: &&mut Leaving| one.fetch == Fetch::Coming(tag);
        if let Some(leaving) = self.leaving.iter_mut().find(coming) {
            let wanted = leaving.left.reference.map_or(0, |rest| usize::from(rest.bytes));
            let rest = &mut leaving.left.rest;
            rest.extend(word.to_be_bytes());
            rest.truncate(wanted);
            if rest.len() == wanted {
                leaving.fetch = Fetch::Done;
            }
        }
        true
    }

    /// Writes a word of a message; returns whether one went. Requests go before answers.
    pub fn write(&mut self, port: &mut Port<'_>) -> bool {
        self.ask(port);
        if self.sending.is_empty() {
            let next = self.requests.pop_front().or_else(|| self.answers.pop_front());
            self.sending = next.unwrap_or_default().into();
        }
        let Some(word) = self.sending.front().copied() else { return false };
        let is_written = port.write(Network::General, word);
        if is_written {
            self.sending.pop_front();
        }
        is_written
    }
}

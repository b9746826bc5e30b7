//! The rest of long packets, which goes past the tiles: the section `mapping.rest` of a description.
//!
//! A card hands over the head of a packet with a word by which the rest is known ([`Reference`]), which the
//! tiles pass on. The device at the port where the packet leaves asks the card for the rest by a message of
//! the general network, and gets it in messages of up to 31 words; or the card has written it to a memory, over the
//! memory network or by switches ([`ways`](super::ways)), where the device reads it line by line. A card gives up a
//! rest when the last that leaves of its packet has been fetched, or nothing leaves.
//!
//! Packets leave a device in the order in which their heads came. It takes each word at once, so it has room for
//! the heads of all rests that cards keep.

mod card;
mod fetch;
mod write;

use serde::{Deserialize, Serialize};
use wireloom_codegen_tile::head;

use super::mapping::{Edge, Place};
use crate::Side;
use crate::device::MemorySpec;
pub use card::{Card, MESSAGE_WORDS};
pub use fetch::Rests;
pub use write::Written;

/// Rests that a card can keep: their numbers have a byte.
const MOST_PACKETS: u32 = 256;
/// Chains that references can name.
const MOST_CHAINS: usize = 128;

/// What stays outside of the tiles.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RestSpec {
    /// Where it is until the packet leaves.
    pub keep: Keep,
    /// The words of a packet's head, two bytes that align among them: 1 to 33. A program whose steps reach farther
    /// gets as many as these do.
    pub words: u32,
    /// The rests that a card keeps at most, 1 to 256. The next packet with a rest waits.
    pub packets: u32,
    /// The tiles at which memories for rests are, if they are kept there: a card has the one whose number is the
    /// remainder of its own and their number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<Place>,
    /// The network over which cards write to memories.
    #[serde(default, skip_serializing_if = "is_default")]
    pub network: Carrier,
    /// How they do.
    #[serde(default, skip_serializing_if = "is_default")]
    pub protocol: Protocol,
    /// Whether memories take words while they give some.
    #[serde(default, skip_serializing_if = "is_default")]
    pub duplex: Duplex,
    /// The lines that are on their way to a device at a time, and on which a memory works, or the rests on their way
    /// from cards.
    #[serde(default = "up_to_four", skip_serializing_if = "is_four")]
    pub requests: u32,
}

/// The network over which cards write rests to memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// The memory network.
    #[default]
    Memory,
    /// The first static network. The switches on the way count the words.
    Static,
}

/// How cards write rests to memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// By lines of the cache.
    #[default]
    Lines,
    /// By lines, each with a mask of the bytes that are written.
    Dma,
    /// As a stream, of which the memory knows address and number of words.
    Stream,
}

/// Whether a memory reads and writes at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Duplex {
    /// It does.
    #[default]
    Full,
    /// It takes nothing while it gives words.
    Half,
}

/// "Up to four outstanding" (the paper).
const FOUR: u32 = 4;
/// Requests of lines that can be under way.
const MOST_REQUESTS: u32 = 64;

fn up_to_four() -> u32 {
    FOUR
}

fn is_four(requests: &u32) -> bool {
    *requests == FOUR
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Where the rest of packets is until they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// In the buffer of the line card by which the packet came.
    Card,
    /// In a memory at a port, to which that card writes it.
    Memory,
}

impl RestSpec {
    /// Rests in the cards: heads of 16 words, and 16 packets in each.
    pub fn in_cards() -> Self {
        Self {
            keep: Keep::Card,
            words: 16,
            packets: 16,
            memories: Vec::new(),
            network: Carrier::default(),
            protocol: Protocol::default(),
            duplex: Duplex::default(),
            requests: FOUR,
        }
    }

    /// The section of a description.
    pub fn section(&self) -> String {
        let text = toml::to_string(self).unwrap_or_default();
        format!("\n[mapping.rest]\n{text}")
    }

    /// Whether rests go to memories by switches.
    pub fn is_switched(&self) -> bool {
        self.keep == Keep::Memory && self.network == Carrier::Static
    }

    /// Checks sizes, for so many chains.
    ///
    /// # Errors
    /// A sentence that begins with the key.
    pub fn check(&self, chains: usize) -> Result<(), String> {
        let most_requests = match self.keep {
            Keep::Card => FOUR,
            Keep::Memory => MOST_REQUESTS,
        };
        for (key, value, most) in [
            ("words", self.words, head::MOST),
            ("packets", self.packets, MOST_PACKETS),
            ("requests", self.requests, most_requests),
        ] {
            if !(1..=most).contains(&value) {
                return Err(format!("`mapping.rest.{key}` is {value}; it can be 1 to {most}"));
            }
        }
        match self.keep {
            Keep::Card => self.check_card(),
            Keep::Memory => self.check_memories(chains),
        }?;
        if chains > MOST_CHAINS {
            return Err(format!(
                "`mapping.rest` is for {MOST_CHAINS} chains at most, and there are {chains}"
            ));
        }
        Ok(())
    }

    fn check_card(&self) -> Result<(), String> {
        let for_memories = [
            ("memories", self.memories.is_empty()),
            ("network", is_default(&self.network)),
            ("protocol", is_default(&self.protocol)),
            ("duplex", is_default(&self.duplex)),
        ];
        match for_memories.into_iter().find(|(_, is_default)| !is_default) {
            None => Ok(()),
            Some((key, _)) => Err(format!(
                "`mapping.rest.{key}` is for `keep = \"memory\"`: leave out one of them"
            )),
        }
    }

    fn check_memories(&self, chains: usize) -> Result<(), String> {
        if self.memories.is_empty() {
            return Err(
                "`mapping.rest.memories` is missing, the tiles at the edge with memories for rests"
                    .into(),
            );
        }
        if self.protocol == Protocol::Stream && self.network == Carrier::Memory {
            return Err("`mapping.rest.protocol` is \"stream\", and streams go over the static network: say \
                 `network = \"static\"` as well"
                .into());
        }
        let memories = self.memories.len();
        if self.network == Carrier::Static && memories < chains {
            return Err(format!(
                "`mapping.rest.network` is \"static\", by which the rests of one chain come to a memory: name \
                 {chains} tiles in `memories`, and not {memories}"
            ));
        }
        if Memories::bytes_of(self, chains) > MOST_BYTES {
            return Err(format!(
                "`mapping.rest.packets` is {}, and each of them needs 64 KB for each of {chains} chains: \
                 memories for rests have {} MB at most",
                self.packets,
                MOST_BYTES >> 20
            ));
        }
        Ok(())
    }
}

/// The word by which a rest is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The chain for which a card keeps it.
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
        (word & Self::IS != 0).then_some(Self::asked(word))
    }

    /// The reference of a request.
    fn asked(word: u32) -> Self {
        Self { card: (word >> 24) as u8 & 0x7f, slot: (word >> 16) as u8, bytes: word as u16 }
    }

    fn word(self) -> u32 {
        Self::IS | u32::from(self.card) << 24 | u32::from(self.slot) << 16 | u32::from(self.bytes)
    }
}

/// The first address of memories for rests.
const FIRST: u32 = 0x8000_0000;
/// The most bytes of all these memories.
const MOST_BYTES: u64 = 128 << 20;
/// The room of a rest.
const ROOM: u32 = 1 << 16;

/// Memories for rests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memories {
    spec: RestSpec,
    places: Vec<Edge>,
    cards: u32,
}

impl Memories {
    /// Memories at these ports for so many cards, if rests are there.
    pub fn of(spec: &RestSpec, places: &[Edge], cards: usize) -> Option<Self> {
        let is_there = spec.keep == Keep::Memory;
        is_there.then(|| Self { spec: spec.clone(), places: places.to_vec(), cards: cards as u32 })
    }

    /// The bytes of all memories of a description.
    fn bytes_of(spec: &RestSpec, cards: usize) -> u64 {
        let memories = spec.memories.len() as u64;
        if memories == 0 {
            return 0;
        }
        memories * (cards as u64).div_ceil(memories) * u64::from(spec.packets) * u64::from(ROOM)
    }

    /// The bytes of each memory: cards have so many places one after the other.
    fn bytes(&self) -> u32 {
        self.cards.div_ceil(self.places.len() as u32) * self.spec.packets * ROOM
    }

    /// Each memory with its port. Requests wait for so many cycles.
    pub fn all(&self, latency_cycles: u32) -> impl Iterator<Item = (Place, Side, MemorySpec)> + '_ {
        let bytes = self.bytes();
        self.places.iter().zip(0..).map(move |((place, side), number)| {
            let described = MemorySpec {
                base: FIRST + number * bytes,
                latency_cycles,
                outstanding: self.spec.requests as usize,
                is_half_duplex: self.spec.duplex == Duplex::Half,
                takes_static_messages: self.is_switched() && self.spec.protocol != Protocol::Stream,
                ..MemorySpec::full_duplex(bytes)
            };
            (*place, *side, described)
        })
    }

    /// Whether rests come by switches.
    pub fn is_switched(&self) -> bool {
        self.spec.is_switched()
    }

    /// Whether cards send messages over the memory network: with rests, or of streams that come by switches.
    pub fn are_told(&self) -> bool {
        !self.is_switched() || self.spec.protocol == Protocol::Stream
    }

    /// The port of the memory of a card.
    pub fn of_card(&self, card: usize) -> Edge {
        self.places[card % self.places.len()]
    }

    /// The address of a rest.
    fn address(&self, rest: Reference) -> u32 {
        let (card, count) = (u32::from(rest.card), self.places.len() as u32);
        FIRST
            + card % count * self.bytes()
            + (card / count * self.spec.packets + u32::from(rest.slot)) * ROOM
    }
}

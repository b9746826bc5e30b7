//! Packet tails, which go around the tiles: the section `mapping.rest` of a description.
//!
//! A card hands over the head of a packet with a reference to its tail ([`Reference`]), which the
//! tiles pass on. There are two ways to store the tail:
//! - The card keeps it. The device at the port where the packet leaves requests it from the card by
//!   a message of the general network, and gets it in messages of up to 31 words.
//! - The card writes it to a memory, over the memory network or through switches
//!   ([`tail_paths`](super::tail_paths)). The device reads it there line by line.
//!
//! A card frees a tail when the last departure of its packet has fetched it, or when its packet is
//! dropped.
//!
//! Packets leave a device in the order in which their heads came. It takes each word at once, so it
//! has room for the heads of all packets whose tails cards keep.

mod card;
mod fetch;
mod write;

use serde::{Deserialize, Serialize};
use wireloom_codegen_tile::head;

use super::place::{Edge, Place};
use crate::Side;
use crate::device::MemorySpec;
pub use card::{Card, MESSAGE_WORDS};
pub use fetch::Rests;
pub use write::Written;

/// Limit on the tails that a card keeps: a reference has a byte for their number.
const MOST_PACKETS: u32 = 256;
/// Limit on the chains that references can name.
const MOST_CHAINS: usize = 128;

/// The key `mapping.rest`: how packet tails go around the tiles.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RestSpec {
    /// The place of a tail until the packet leaves.
    pub keep: Keep,
    /// Words of a packet's head, including two bytes of alignment, 1 to 33. If the steps of a
    /// program reach farther, the head is as long as they need.
    pub words: u32,
    /// Limit on the tails that a card keeps, 1 to 256. The next packet with a tail waits.
    pub packets: u32,
    /// The tiles of the memories for tails, if tails are in memories. A card uses the memory whose
    /// index is the card's number modulo their count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<Place>,
    /// The network over which cards write to memories.
    #[serde(default, skip_serializing_if = "is_default")]
    pub network: Carrier,
    /// The protocol by which cards write to memories.
    #[serde(default, skip_serializing_if = "is_default")]
    pub protocol: Protocol,
    /// Whether memories accept words while they send some.
    #[serde(default, skip_serializing_if = "is_default")]
    pub duplex: Duplex,
    /// Limit on the requests in flight for a device: lines from a memory, or tails from cards. It
    /// is also the number of lines that a memory works on.
    #[serde(default = "up_to_four", skip_serializing_if = "is_four")]
    pub requests: u32,
}

/// The network over which cards write tails to memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Carrier {
    /// The memory network.
    #[default]
    Memory,
    /// The first static network. The switches on the path count the words.
    Static,
}

/// The protocol by which cards write tails to memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Whole cache lines.
    #[default]
    Lines,
    /// Cache lines, each with a mask of the bytes to write.
    Dma,
    /// A stream. The memory knows its address and number of words.
    Stream,
}

/// Whether a memory reads and writes at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Duplex {
    /// Reads and writes happen at the same time.
    #[default]
    Full,
    /// The memory accepts no words while it sends some.
    Half,
}

/// "Up to four outstanding" (the paper).
const FOUR: u32 = 4;
/// Limit on the line requests in flight.
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

/// The place of packet tails until the packets leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Keep {
    /// The buffer of the line card at which the packet arrived.
    Card,
    /// A memory at a port. The line card writes tails to it.
    Memory,
}

impl RestSpec {
    /// Returns tails in the cards: heads of 16 words, and 16 tails in each card.
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

    /// Returns the section of a description.
    pub fn section(&self) -> String {
        let text = toml::to_string(self).unwrap_or_default();
        format!("\n[mapping.rest]\n{text}")
    }

    /// Whether tails go to memories through switches.
    pub fn is_switched(&self) -> bool {
        self.keep == Keep::Memory && self.network == Carrier::Static
    }

    /// Checks all sizes, for a machine with `chains` chains.
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

/// The reference to a packet tail, as it travels with the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The chain for which a card keeps it.
    card: u8,
    /// The tail's slot in the card.
    slot: u8,
    /// The number of its bytes that belong to the packet.
    pub bytes: u16,
}

impl Reference {
    /// The bit that marks a reference. In requests it means that the card can free the tail.
    const IS: u32 = 1 << 31;

    /// Decodes a word, if it is a reference.
    pub fn of(word: u32) -> Option<Self> {
        (word & Self::IS != 0).then_some(Self::asked(word))
    }

    /// Decodes the reference in a request.
    fn asked(word: u32) -> Self {
        Self { card: (word >> 24) as u8 & 0x7f, slot: (word >> 16) as u8, bytes: word as u16 }
    }

    fn word(self) -> u32 {
        Self::IS | u32::from(self.card) << 24 | u32::from(self.slot) << 16 | u32::from(self.bytes)
    }
}

/// The first address of memories for tails.
const FIRST: u32 = 0x8000_0000;
/// Limit on the bytes of all these memories together.
const MOST_BYTES: u64 = 128 << 20;
/// The bytes that a memory reserves for a tail.
const ROOM: u32 = 1 << 16;

/// Memories for packet tails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memories {
    spec: RestSpec,
    places: Vec<Edge>,
    cards: u32,
}

impl Memories {
    /// Returns the memories at these ports for `cards` cards, if tails are kept in memories.
    pub fn of(spec: &RestSpec, places: &[Edge], cards: usize) -> Option<Self> {
        let is_there = spec.keep == Keep::Memory;
        is_there.then(|| Self { spec: spec.clone(), places: places.to_vec(), cards: cards as u32 })
    }

    /// Returns the bytes of all memories of a description.
    fn bytes_of(spec: &RestSpec, cards: usize) -> u64 {
        let memories = spec.memories.len() as u64;
        if memories == 0 {
            return 0;
        }
        memories * (cards as u64).div_ceil(memories) * u64::from(spec.packets) * u64::from(ROOM)
    }

    /// Returns the bytes of each memory. It has `packets` slots for each of its cards, one card
    /// after the other.
    fn bytes(&self) -> u32 {
        self.cards.div_ceil(self.places.len() as u32) * self.spec.packets * ROOM
    }

    /// Returns each memory with its port.
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

    /// Whether tails go through switches.
    pub fn is_switched(&self) -> bool {
        self.spec.is_switched()
    }

    /// Whether cards send messages over the memory network: tails, or commands for streams that go
    /// through switches.
    pub fn are_told(&self) -> bool {
        !self.is_switched() || self.spec.protocol == Protocol::Stream
    }

    /// Returns the port of the memory of a card.
    pub fn of_card(&self, card: usize) -> Edge {
        self.places[card % self.places.len()]
    }

    /// Returns the address of a tail.
    fn address(&self, rest: Reference) -> u32 {
        let (card, count) = (u32::from(rest.card), self.places.len() as u32);
        FIRST
            + card % count * self.bytes()
            + (card / count * self.spec.packets + u32::from(rest.slot)) * ROOM
    }
}

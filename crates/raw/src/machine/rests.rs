//! The rest of long packets, which goes past the tiles: the section `mapping.rest` of a description.
//!
//! A card hands over the head of a packet with a word by which the rest is known ([`Reference`]), which the
//! tiles pass on. The device at the port where the packet leaves asks the card for the rest by a message of
//! the general network, and gets it in messages of up to 31 words; or the card has written it to a memory over the
//! memory network, where the device reads it line by line. A card gives up a rest when the last that leaves
//! of its packet has been fetched, or nothing leaves.
//!
//! Packets leave a device in the order in which their heads came. It takes each word at once, so it has room for
//! the heads of all rests that cards keep.

mod card;
mod fetch;

use serde::{Deserialize, Serialize};
use wireloom_codegen::tile::head;

use super::mapping::{Edge, Place};
pub use card::Card;
pub use fetch::Rests;

/// Rests that a card can keep: their numbers have a byte.
const MOST_PACKETS: u32 = 256;
/// Cards that references can name.
pub const MOST_CARDS: usize = 128;

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
    /// The section of a description.
    pub fn section(&self) -> String {
        let Self { keep, words, packets, memories } = self;
        let places: Vec<String> = memories.iter().map(|(x, y)| format!("[{x}, {y}]")).collect();
        let (keep, more) = match keep {
            Keep::Card => ("card", String::new()),
            Keep::Memory => ("memory", format!("memories = [{}]\n", places.join(", "))),
        };
        format!("\n[mapping.rest]\nkeep = \"{keep}\"\nwords = {words}\npackets = {packets}\n{more}")
    }

    /// Checks sizes.
    ///
    /// # Errors
    /// A sentence that begins with the key.
    pub fn check(&self) -> Result<(), String> {
        match (self.keep, self.memories.is_empty()) {
            (Keep::Card, false) => {
                return Err(
                    "`mapping.rest.memories` is for `keep = \"memory\"`: leave out one of them"
                        .into(),
                );
            }
            (Keep::Memory, true) => {
                return Err("`mapping.rest.memories` is missing, the tiles at the edge with memories for rests".into());
            }
            _ => {}
        }
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

/// The first address of memories for rests.
const FIRST: u32 = 0x8000_0000;
/// The most bytes of all these memories.
pub const MOST_BYTES: u64 = 128 << 20;
/// The room of a rest.
const ROOM: u32 = 1 << 16;

/// Memories for rests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memories {
    places: Vec<Edge>,
    packets: u32,
    cards: u32,
}

impl Memories {
    /// Memories at these ports for so many cards, if rests are there.
    pub fn of(spec: &RestSpec, places: &[Edge], cards: usize) -> Option<Self> {
        let (places, packets, cards) = (places.to_vec(), spec.packets, cards as u32);
        (spec.keep == Keep::Memory).then_some(Self { places, packets, cards })
    }

    /// The bytes of all memories of a description.
    pub fn bytes_of(spec: &RestSpec, cards: usize) -> u64 {
        let memories = spec.memories.len() as u64;
        if memories == 0 {
            return 0;
        }
        memories * (cards as u64).div_ceil(memories) * u64::from(spec.packets) * u64::from(ROOM)
    }

    /// The bytes of each memory: cards have so many places one after the other.
    fn bytes(&self) -> u32 {
        self.cards.div_ceil(self.places.len() as u32) * self.packets * ROOM
    }

    /// Each memory: its port, its first address, and its bytes.
    pub fn all(&self) -> impl Iterator<Item = (Edge, u32, u32)> + '_ {
        let bytes = self.bytes();
        self.places
            .iter()
            .zip(0..)
            .map(move |(edge, number)| (*edge, FIRST + number * bytes, bytes))
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
            + (card / count * self.packets + u32::from(rest.slot)) * ROOM
    }
}

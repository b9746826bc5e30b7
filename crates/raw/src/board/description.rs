//! The section `board` of a description: the devices at the ports of a chip whose program is
//! written by hand.
//!
//! ```text
//! [board]
//! inputs = [{ tile = [0, 0], side = "north" }]
//! outputs = [{ tile = [0, 3], side = "south" }]
//! memories = [{ tile = [0, 1], side = "west", base = 0x10000, kilobytes = 64 }]
//! ```

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use wireloom_isa::raw::Network;

use super::{BoardSpec, Edge};
use crate::device::{
    Buffer, InputSpec, LineRate, MemorySpec, OutputSpec, Place as MemoryPlace, Rest, Ring,
};
use crate::layout::{Layout, Side};
use crate::{Spec, dir24};

/// Bytes of a cache line. Memories begin on a line.
const LINE: u32 = 32;
/// Limit on the words of a message.
const MESSAGE: usize = 31;

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BoardSection {
    /// How cards treat the link header, which captures have and the networks of the chip do not.
    #[serde(default)]
    pub link: LinkHeader,
    /// The words before a packet on the networks.
    #[serde(default)]
    pub framing: Framing,
    /// The run ends after this many cycles without a word at an output.
    #[serde(default = "settle_cycles")]
    pub settle_cycles: u32,
    /// Addresses of routing tables in DIR-24-8-BASIC. `--tables` fills them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<u32>,
    /// The input cards, in the order of their numbers.
    pub inputs: Vec<InputAt>,
    /// The output cards. The index of a card is its port in captures.
    pub outputs: Vec<OutputAt>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memories: Vec<MemoryAt>,
}

/// The default of `settle_cycles`.
fn settle_cycles() -> u32 {
    20_000
}

/// How cards treat the link header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkHeader {
    /// Packets are on the networks as they are in captures.
    #[default]
    None,
    /// Line cards remove the 14 bytes of Ethernet, and put 14 bytes in front of packets that leave:
    /// addresses of zeros, and the type by the packet's first four bits.
    Ethernet,
}

/// The words before a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Framing {
    /// A word with the port and the length in bytes.
    #[default]
    Length,
    /// The number of words less one, then the word with the port and the length.
    Counted,
}

/// An input card.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct InputAt {
    tile: (u8, u8),
    side: Side,
    #[serde(default)]
    network: CardNetwork,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line_mbps: Option<u32>,
    #[serde(default)]
    least_words: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interrupts: Option<(u8, u8)>,
    #[serde(default)]
    quiet_bytes: usize,
    #[serde(default)]
    announces: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    copies: Vec<(u8, u8)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rest: Option<RestAt>,
}

/// Where a card puts the tail of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RestAt {
    head_words: usize,
    way: RestWay,
    base: u32,
    last: u32,
    #[serde(default)]
    masks: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packets: Option<usize>,
}

/// The path of a packet tail around the tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum RestWay {
    /// Into a memory, in lines over the memory network.
    Memory,
    /// Into a memory, in lines over the card's static network.
    Static,
    /// The card keeps the tail.
    Kept,
}

/// An output card.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct OutputAt {
    tile: (u8, u8),
    side: Side,
    #[serde(default)]
    network: CardNetwork,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line_mbps: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    interrupts: Option<(u8, u8)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outstanding: Option<u32>,
}

/// A memory at a port.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MemoryAt {
    tile: (u8, u8),
    side: Side,
    base: u32,
    kilobytes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latency_cycles: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outstanding: Option<u32>,
    #[serde(default)]
    half_duplex: bool,
    #[serde(default)]
    static_messages: bool,
}

/// The network of a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum CardNetwork {
    /// The first static network.
    #[default]
    Static,
    /// The second static network.
    Static2,
    /// The general network.
    General,
}

impl CardNetwork {
    fn network(self) -> Network {
        match self {
            Self::Static => Network::Static1,
            Self::Static2 => Network::Static2,
            Self::General => Network::General,
        }
    }
}

fn within(key: &str, value: u32, range: RangeInclusive<u32>) -> Result<(), String> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(format!("`{key}` is {value}; it can be {} to {}", range.start(), range.end()))
}

/// Properties of the chip and of the rest of the board that a card or a memory depends on.
struct Around<'a> {
    chip: &'a Spec,
    layout: Layout,
    memories: Vec<MemoryPlace>,
}

impl Around<'_> {
    fn is_tile(&self, (x, y): (u8, u8)) -> Result<(), String> {
        let Spec { columns, rows, .. } = *self.chip;
        if u32::from(x) < columns && u32::from(y) < rows {
            return Ok(());
        }
        Err(format!("there is no tile ({x},{y}) on a chip of {columns} x {rows}"))
    }

    fn edge(&self, tile: (u8, u8), side: Side) -> Result<Edge, String> {
        self.is_tile(tile)?;
        let (x, y) = tile;
        let number = usize::from(y) * self.layout.columns + usize::from(x);
        match self.layout.port(number, side as usize) {
            Some(_) => Ok((tile, side)),
            None => Err(format!(
                "tile ({x},{y}) has no port at its {} side, which is not at the edge of the chip",
                side.name()
            )),
        }
    }

    fn rate(&self, line_mbps: Option<u32>) -> Result<LineRate, String> {
        let Some(mbps) = line_mbps else { return Ok(LineRate::UNLIMITED) };
        within("line_mbps", mbps, 1..=1_000_000)?;
        Ok(LineRate {
            bits_per_second: u64::from(mbps) * 1_000_000,
            clock_hertz: u64::from(self.chip.clock_mhz) * 1_000_000,
        })
    }

    /// Returns the memory that holds the bytes of a ring.
    fn memory(&self, ring: Ring) -> Result<MemoryPlace, String> {
        let holds = |place: &&MemoryPlace| {
            let begin = ring.base.checked_sub(place.base);
            begin.is_some_and(|begin| begin < place.bytes && ring.last <= place.bytes - begin)
        };
        let found = self.memories.iter().find(holds).copied();
        found.ok_or_else(|| {
            format!("no memory of the board holds {:#x} and {:#x} bytes more", ring.base, ring.last)
        })
    }
}

impl BoardSection {
    /// Returns the devices at the ports of a chip. `latency_cycles` and `outstanding` apply to
    /// memories that do not set their own.
    ///
    /// # Errors
    /// A sentence that names the key.
    pub fn build(
        &self,
        chip: &Spec,
        latency_cycles: u32,
        outstanding: u32,
    ) -> Result<BoardSpec, String> {
        let layout = Layout::new(chip.columns as usize, chip.rows as usize);
        let mut around = Around { chip, layout, memories: Vec::new() };
        within("board.settle_cycles", self.settle_cycles, 1..=1_000_000_000)?;
        for (key, count) in [("inputs", self.inputs.len()), ("outputs", self.outputs.len())] {
            if count == 0 {
                return Err(format!("`board.{key}` is empty; one line card at least is needed"));
            }
        }
        let at = |key: &str, number: usize| {
            let key = format!("board.{key}[{number}]");
            move |why: String| format!("`{key}`: {why}")
        };
        let mut board = BoardSpec::default();
        for (number, memory) in self.memories.iter().enumerate() {
            let built = memory.build(&around, latency_cycles, outstanding);
            let (edge, spec) = built.map_err(at("memories", number))?;
            let (tile, side) = edge;
            around.memories.push(MemoryPlace { base: spec.base, bytes: spec.bytes, tile, side });
            board.memories.push((edge, spec));
        }
        for (number, input) in self.inputs.iter().enumerate() {
            let built = input.build(&around, number as u16, self.framing);
            board.inputs.push(built.map_err(at("inputs", number))?);
        }
        // Output cards fetch kept tails from these input cards.
        let kept = board.inputs.iter().filter_map(|((tile, side), card)| match card.rest {
            Rest::Kept { ring, .. } => {
                let bytes = ring.last.saturating_add(1 << 12);
                Some(MemoryPlace { base: ring.base, bytes, tile: *tile, side: *side })
            }
            _ => None,
        });
        let kept: Vec<MemoryPlace> = kept.collect();
        let places = if kept.is_empty() { around.memories.clone() } else { kept };
        for (number, output) in self.outputs.iter().enumerate() {
            let built = output.build(&around, &places, self.framing);
            board.outputs.push(built.map_err(at("outputs", number))?);
        }
        let mut used: Vec<Edge> = Vec::new();
        let inputs = board.inputs.iter().map(|(edge, _)| edge);
        let outputs = board.outputs.iter().map(|(edge, _)| edge);
        for edge in inputs.chain(outputs).chain(board.memories.iter().map(|(edge, _)| edge)) {
            let ((x, y), side) = edge;
            if used.contains(edge) {
                return Err(format!("two parts of `board` are {} of tile ({x},{y})", side.name()));
            }
            used.push(*edge);
        }
        for base in &self.tables {
            let last = dir24::FIRST_BYTES + dir24::SECOND_BYTES - 1;
            around
                .memory(Ring { base: *base, last })
                .map_err(|why| format!("`board.tables`: {why}"))?;
        }
        Ok(board)
    }
}

impl InputAt {
    fn build(
        &self,
        around: &Around<'_>,
        port: u16,
        framing: Framing,
    ) -> Result<(Edge, InputSpec), String> {
        let edge = around.edge(self.tile, self.side)?;
        self.interrupts.iter().chain(&self.copies).try_for_each(|tile| around.is_tile(*tile))?;
        if (self.network == CardNetwork::General) == self.copies.is_empty() {
            return Err(
                "a card of the general network sends heads to the tiles of `copies`, and only \
                        such a card does: say both `network = \"general\"` and `copies`, or none"
                    .into(),
            );
        }
        within("least_words", self.least_words.try_into().unwrap_or(u32::MAX), 0..=16_384)?;
        let head = self.rest.map_or(usize::MAX, |rest| rest.head_words);
        if !self.copies.is_empty() && (head >= MESSAGE || self.least_words >= MESSAGE) {
            return Err(format!(
                "a head is one message to each of `copies`: say `rest` with `head_words` and \
                 `least_words` of at most {}",
                MESSAGE - 1
            ));
        }
        let is_counted = framing == Framing::Counted;
        if is_counted && self.rest.is_some() {
            return Err("with `framing = \"counted\"` packets have no `rest`".into());
        }
        let rest = self.rest.map_or(Ok(Rest::Follows), |rest| rest.build(around))?;
        let spec = InputSpec {
            port,
            network: self.network.network(),
            rate: around.rate(self.line_mbps)?,
            buffer: Buffer::Stall,
            least_words: self.least_words,
            interrupts: self.interrupts,
            quiet_bytes: self.quiet_bytes,
            announces: self.announces,
            rest,
            copies: self.copies.clone(),
            is_counted,
        };
        Ok((edge, spec))
    }
}

impl RestAt {
    fn build(self, around: &Around<'_>) -> Result<Rest, String> {
        let Self { head_words: head, base, last, .. } = self;
        within("rest.head_words", head.try_into().unwrap_or(u32::MAX), 1..=16_384)?;
        if !base.is_multiple_of(LINE) {
            return Err(format!("`rest.base` is {base:#x}; it must be a multiple of {LINE}"));
        }
        let ring = Ring { base, last };
        // The last tail in the ring can be as long as a packet.
        if u64::from(base) + u64::from(last) + (1 << 16) > 1 << 32 {
            return Err(
                "the last rest would end past the last address: say a smaller `rest.last`".into()
            );
        }
        if self.masks && self.way != RestWay::Memory {
            return Err("`rest.masks` are of `way = \"memory\"`".into());
        }
        match (self.way, self.packets) {
            (RestWay::Kept, Some(most @ 1..)) => Ok(Rest::Kept { head, ring, most }),
            (RestWay::Kept, _) => {
                Err("`rest.packets` says how many rests a card keeps: 1 or more".into())
            }
            (_, Some(_)) => Err("`rest.packets` is of `way = \"kept\"`".into()),
            (way, None) => Ok(Rest::Lines {
                head,
                memory: around.memory(ring)?,
                ring,
                over_memory_network: way == RestWay::Memory,
                has_mask: self.masks,
            }),
        }
    }
}

impl OutputAt {
    fn build(
        &self,
        around: &Around<'_>,
        places: &[MemoryPlace],
        framing: Framing,
    ) -> Result<(Edge, OutputSpec), String> {
        let edge = around.edge(self.tile, self.side)?;
        self.interrupts.map_or(Ok(()), |tile| around.is_tile(tile))?;
        let is_counted = framing == Framing::Counted;
        let is_general = self.network == CardNetwork::General;
        if is_counted && is_general {
            return Err("with `framing = \"counted\"` packets leave by a static network".into());
        }
        let card = OutputSpec::new(self.network.network());
        let outstanding = self.outstanding.unwrap_or(card.outstanding as u32);
        within("outstanding", outstanding, 1..=64)?;
        let spec = OutputSpec {
            rate: around.rate(self.line_mbps)?,
            interrupts: self.interrupts,
            // Only messages can say that the tail of a packet is elsewhere.
            memories: if is_general { places.to_vec() } else { Vec::new() },
            outstanding: outstanding as usize,
            is_counted,
            ..card
        };
        Ok((edge, spec))
    }
}

impl MemoryAt {
    fn build(
        &self,
        around: &Around<'_>,
        latency_cycles: u32,
        outstanding: u32,
    ) -> Result<(Edge, MemorySpec), String> {
        let edge = around.edge(self.tile, self.side)?;
        within("kilobytes", self.kilobytes, 1..=1 << 20)?;
        let (base, bytes) = (self.base, self.kilobytes << 10);
        if !base.is_multiple_of(LINE) {
            return Err(format!("`base` is {base:#x}; it must be a multiple of {LINE}"));
        }
        let end = u64::from(base) + u64::from(bytes);
        if end > 1 << 32 {
            return Err(format!("it ends at {end:#x}, which is past the last address"));
        }
        let is_over = |place: &&MemoryPlace| {
            u64::from(place.base) < end
                && u64::from(base) < u64::from(place.base) + u64::from(place.bytes)
        };
        if let Some(place) = around.memories.iter().find(is_over) {
            return Err(format!("it lies over the memory that begins at {:#x}", place.base));
        }
        let latency_cycles = self.latency_cycles.unwrap_or(latency_cycles);
        within("latency_cycles", latency_cycles, 1..=1000)?;
        let outstanding = self.outstanding.unwrap_or(outstanding);
        within("outstanding", outstanding, 1..=64)?;
        let spec = MemorySpec {
            base,
            latency_cycles,
            outstanding: outstanding as usize,
            is_half_duplex: self.half_duplex,
            takes_static_messages: self.static_messages,
            ..MemorySpec::full_duplex(bytes)
        };
        Ok((edge, spec))
    }
}

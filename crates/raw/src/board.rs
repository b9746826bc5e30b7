//! Boards: a chip with line cards and memories at its ports, and packets to send through it.
//!
//! The paper calls this a motherboard configuration. A board runs until all packets have left, and
//! keeps the counts and time stamps of its cards.

mod description;

use crate::asm::Program;
use crate::chip::{Chip, Error};
use crate::device::{
    Delivered, Entered, InputCard, InputCounts, InputSpec, Memory, MemorySpec, OutputCard,
    OutputSpec,
};
use crate::layout::Side;
use crate::spec::Spec;

pub use description::{BoardSection, Framing, LinkHeader};

/// Cycles between two looks at the cards.
const SLICE: u64 = 64;

/// A tile's side at the edge of the chip.
pub type Edge = ((u8, u8), Side);

/// The devices at the ports of a chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoardSpec {
    pub inputs: Vec<(Edge, InputSpec)>,
    pub outputs: Vec<(Edge, OutputSpec)>,
    pub memories: Vec<(Edge, MemorySpec)>,
}

impl BoardSpec {
    fn attach_memories(&self, chip: &mut Chip) -> Result<(), Error> {
        self.memories.iter().try_for_each(|((tile, side), memory)| {
            chip.attach(*tile, *side, Memory::new(memory.clone()))
        })
    }

    fn attach_outputs(&self, chip: &mut Chip) -> Result<(), Error> {
        self.outputs.iter().try_for_each(|((tile, side), card)| {
            chip.attach(*tile, *side, OutputCard::new(card.clone()))
        })
    }

    /// Attaches all devices to a chip. Input cards get their packets later ([`InputCard::offer`]).
    ///
    /// # Errors
    /// If a port does not exist or has two devices.
    pub(crate) fn attach(&self, chip: &mut Chip) -> Result<(), Error> {
        self.attach_memories(chip)?;
        for ((tile, side), card) in &self.inputs {
            chip.attach(*tile, *side, InputCard::new(card.clone(), Vec::new()))?;
        }
        self.attach_outputs(chip)
    }
}

/// A chip with its cards.
pub struct Board {
    pub chip: Chip,
    spec: BoardSpec,
}

/// The results of a run.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// The packets that left at each output card.
    pub delivered: Vec<Vec<Delivered>>,
    /// The packets of each input card, with the cycles in which they entered the chip.
    pub entered: Vec<Vec<Entered>>,
    pub counts: Vec<InputCounts>,
    /// The cycle in which the last packet left.
    pub cycles: u64,
}

/// The packets from the first to the third quartile of a run, in order of departure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Middle {
    /// The packets leave after this cycle.
    pub from: u64,
    /// The cycle in which the last packet of the middle leaves.
    pub to: u64,
    pub packets: usize,
    pub bytes: usize,
}

impl Board {
    /// Creates a board. Each input card gets its packets.
    ///
    /// # Errors
    /// If the program does not fit the chip, or a port does not exist or has two devices.
    pub fn new<P>(
        chip: &Spec,
        program: &Program,
        spec: BoardSpec,
        packets: impl IntoIterator<Item = P>,
    ) -> Result<Self, Error>
    where
        P: IntoIterator<Item = Vec<u8>, IntoIter: Send + 'static>,
    {
        let mut chip = Chip::new(chip, program)?;
        spec.attach_memories(&mut chip)?;
        for (((tile, side), card), packets) in spec.inputs.iter().zip(packets) {
            chip.attach(*tile, *side, InputCard::new(card.clone(), packets))?;
        }
        spec.attach_outputs(&mut chip)?;
        Ok(Self { chip, spec })
    }

    /// Returns the memory at a port.
    pub fn memory(&mut self, (tile, side): Edge) -> Option<&mut Memory> {
        self.chip.device(tile, side)
    }

    /// Runs until all packets have been handed to the chip, and then until no packet has left for
    /// `inside` cycles: the longest time that a packet can spend in the chip.
    ///
    /// # Errors
    /// If a program fails, units wait for each other, or packets are still inside after `most`
    /// cycles.
    pub fn play(&mut self, inside: u64, most: u64) -> Result<Played, Error> {
        let (mut left, mut since) = (0, self.chip.cycles());
        while self.chip.cycles() < most {
            let run = self.chip.run(SLICE);
            let now = self.delivered();
            if now != left || !self.inputs_are_done() {
                (left, since) = (now, self.chip.cycles());
            }
            match run {
                // Tiles that wait for packets after the last one do not move.
                Err(Error::Stuck { report, .. })
                    if report.cycles.is_empty() && self.inputs_are_done() =>
                {
                    return Ok(self.played());
                }
                run => run?,
            }
            if self.chip.cycles() - since > inside {
                return Ok(self.played());
            }
        }
        let report = Box::new(self.chip.waits().report());
        Err(Error::Unfinished { cycles: most, left: left as u64, report })
    }

    fn delivered(&mut self) -> usize {
        let cards = self.spec.outputs.iter().filter_map(|((tile, side), _)| {
            self.chip.device::<OutputCard>(*tile, *side).map(|card| card.delivered.len())
        });
        cards.sum()
    }

    fn inputs_are_done(&mut self) -> bool {
        self.spec.inputs.iter().all(|((tile, side), _)| {
            self.chip.device::<InputCard>(*tile, *side).is_none_or(|card| card.is_done())
        })
    }

    fn played(&mut self) -> Played {
        let mut played = Played::default();
        for ((tile, side), _) in &self.spec.inputs {
            if let Some(card) = self.chip.device::<InputCard>(*tile, *side) {
                played.counts.push(card.counts());
                played.entered.push(card.entered.clone());
            }
        }
        for ((tile, side), _) in &self.spec.outputs {
            if let Some(card) = self.chip.device::<OutputCard>(*tile, *side) {
                let last = card.delivered.last().map_or(0, |packet| packet.ended);
                played.cycles = played.cycles.max(last);
                played.delivered.push(card.delivered.clone());
            }
        }
        played
    }
}

impl Played {
    /// Returns the bytes and packets that left in a cycle, averaged over the [middle](Self::middle)
    /// of the run.
    pub fn rates(&self) -> (f64, f64) {
        let Some(middle) = self.middle() else { return (0.0, 0.0) };
        let cycles = (middle.to - middle.from).max(1) as f64;
        (middle.bytes as f64 / cycles, middle.packets as f64 / cycles)
    }

    /// Returns the middle of the run, if there is one: from the cycle in which a quarter of the
    /// packets had left to the cycle in which three quarters had.
    pub fn middle(&self) -> Option<Middle> {
        let mut ends: Vec<(u64, usize)> =
            self.delivered.iter().flatten().map(|p| (p.ended, p.bytes.len())).collect();
        ends.sort_unstable();
        let (from, to) = (ends.len() / 4, ends.len() * 3 / 4);
        (from < to).then(|| Middle {
            from: ends[from].0,
            to: ends[to].0,
            packets: to - from,
            bytes: ends[from + 1..=to].iter().map(|(_, bytes)| bytes).sum(),
        })
    }
}

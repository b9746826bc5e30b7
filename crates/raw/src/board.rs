//! Boards: a chip with line cards and memories at its ports, and packets to play.
//!
//! The paper calls this a motherboard configuration. A board plays packets to their end and keeps
//! what its cards counted and stamped.

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

/// Cycles that are played between two looks at the cards.
const SLICE: u64 = 64;

/// A tile's side at the edge of the chip.
pub type Edge = ((u8, u8), Side);

/// What is at the ports of a chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BoardSpec {
    /// The input cards.
    pub inputs: Vec<(Edge, InputSpec)>,
    /// The output cards.
    pub outputs: Vec<(Edge, OutputSpec)>,
    /// The memories.
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

    /// Attaches everything to a chip; input cards get their packets later
    /// ([`InputCard::offer`]).
    ///
    /// # Errors
    /// If a port is none or has two devices.
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
    /// The chip.
    pub chip: Chip,
    spec: BoardSpec,
}

/// What a board did with its packets.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// The packets of each output card.
    pub delivered: Vec<Vec<Delivered>>,
    /// The packets of each input card, as they entered the chip.
    pub entered: Vec<Vec<Entered>>,
    /// The counts of each input card.
    pub counts: Vec<InputCounts>,
    /// The cycle in which the last packet left.
    pub cycles: u64,
}

/// The middle half of the packets of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Middle {
    /// The cycle after which they leave.
    pub from: u64,
    /// The cycle in which the last of them leaves.
    pub to: u64,
    /// How many they are.
    pub packets: usize,
    /// Their bytes.
    pub bytes: usize,
}

impl Board {
    /// Creates a board; each input card gets its packets.
    ///
    /// # Errors
    /// If the program does not fit the chip, or a port is none or has two devices.
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

    /// The memory at a port.
    pub fn memory(&mut self, (tile, side): Edge) -> Option<&mut Memory> {
        self.chip.device(tile, side)
    }

    /// Plays until all packets have been handed over, and then until none has left for a number of
    /// cycles: as long as a packet can be inside.
    ///
    /// # Errors
    /// If a program fails, units wait for each other, or the packets have not ended after a number
    /// of cycles.
    pub fn play(&mut self, inside: u64, most: u64) -> Result<Played, Error> {
        let (mut left, mut since) = (0, self.chip.cycles());
        while self.chip.cycles() < most {
            let run = self.chip.run(SLICE);
            let now = self.delivered();
            if now != left || !self.inputs_are_done() {
                (left, since) = (now, self.chip.cycles());
            }
            match run {
                // Tiles that wait for packets that do not come any more stand still.
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
    /// Bytes and packets a cycle that left, over the middle of the run: from the cycle in which a
    /// quarter of the packets had left to that in which three quarters had.
    pub fn rates(&self) -> (f64, f64) {
        let Some(middle) = self.middle() else { return (0.0, 0.0) };
        let cycles = (middle.to - middle.from).max(1) as f64;
        (middle.bytes as f64 / cycles, middle.packets as f64 / cycles)
    }

    /// The middle of the run, if it has one: from the cycle in which a quarter of the packets had
    /// left to that in which three quarters had.
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

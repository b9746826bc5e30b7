//! Devices at the ports of the chip.

mod ends;
mod fetch;
mod input;
mod line;
mod memory;
mod output;
mod rest;

use std::any::Any;

use wireloom_isa::raw::Network;

use crate::layout::Side;
use crate::queue::Queue;

pub use ends::{Sink, Source};
pub use fetch::Place;
pub use input::{Buffer, Entered, InputCard, InputCounts, InputSpec};
pub(crate) use line::{LineClock, words_of};
pub use line::{LineRate, framed};
pub use memory::{Accesses, Begun, Memory, MemorySpec};
pub use output::{Delivered, OutputCard, OutputSpec};
pub use rest::{Rest, Ring};

/// What is attached to a port. It acts once a cycle.
pub trait Device: Any + Send {
    /// Acts for a cycle; returns whether anything happened, or will by itself.
    fn cycle(&mut self, port: &mut Port<'_>) -> bool;

    /// The network for whose next word or room the device waits, if it waits for one: its end is
    /// then whether it reads. Used when the chip stands still.
    fn waits_for(&self) -> Option<(Network, bool)> {
        None
    }

    /// The first cycle after this one in which the device does other than in this one although no
    /// word comes from the chip and no room to it; `u64::MAX` if there is none. Chips skip cycles
    /// until then if nothing else happens.
    fn next(&self, now: u64) -> u64 {
        now + 1
    }

    /// What memory chips did, if the device is a memory.
    fn accesses(&self) -> Option<Accesses> {
        None
    }
}

/// A port as its device sees it in a cycle.
pub struct Port<'a> {
    /// The cycle.
    pub now: u64,
    /// Column and row of the tile.
    pub tile: (u8, u8),
    /// The port's side, as headers have it: 1 and its number.
    pub last: u8,
    pub(crate) queues: &'a mut [Queue],
    /// The queue from the chip of each network, and that to it.
    pub(crate) numbers: [(u32, u32); 4],
}

impl Port<'_> {
    /// Takes the next word from the chip, if there is one.
    pub fn read(&mut self, network: Network) -> Option<u32> {
        let word = self.peek(network)?;
        self.queues[self.numbers[network as usize].0 as usize].pop(self.now);
        Some(word)
    }

    /// The next word from the chip.
    pub fn peek(&self, network: Network) -> Option<u32> {
        self.queues[self.numbers[network as usize].0 as usize].front(self.now)
    }

    /// Whether a word can be written; one in a cycle and network can.
    pub fn has_room(&self, network: Network) -> bool {
        self.queues[self.numbers[network as usize].1 as usize].has_room(self.now)
    }

    /// Writes a word to the chip; returns whether there was room.
    pub fn write(&mut self, network: Network, word: u32) -> bool {
        let has_room = self.has_room(network);
        if has_room {
            self.queues[self.numbers[network as usize].1 as usize].push(word, self.now);
        }
        has_room
    }
}

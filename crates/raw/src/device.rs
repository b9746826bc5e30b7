//! Devices at the ports of the chip.

mod ends;
mod fetch;
mod input;
mod line;
mod memory;
mod output;
mod tail;

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
pub use tail::{Rest, Ring};

/// A device at a port. It acts once a cycle.
pub trait Device: Any + Send {
    /// Acts for a cycle. Returns whether anything happened, or will happen without input.
    fn cycle(&mut self, port: &mut Port<'_>) -> bool;

    /// Returns the network on which the device waits, if it waits, and whether it waits to read.
    /// Called when nothing moves on the chip.
    fn waits_for(&self) -> Option<(Network, bool)> {
        None
    }

    /// Returns the first cycle after `now` in which the device acts differently although no word
    /// comes from the chip and no room becomes free; `u64::MAX` if there is none. The chip skips
    /// cycles until then if nothing else happens.
    fn next(&self, now: u64) -> u64 {
        now + 1
    }

    /// Returns the access counts of memory chips, if the device is a memory.
    fn accesses(&self) -> Option<Accesses> {
        None
    }
}

/// A port as its device sees it in a cycle.
pub struct Port<'a> {
    /// The current cycle.
    pub now: u64,
    /// Column and row of the tile.
    pub tile: (u8, u8),
    /// The port's side as headers encode it: 1 and the number of the side.
    pub last: u8,
    pub(crate) queues: &'a mut [Queue],
    /// For each network the queue from the chip and the queue to it.
    pub(crate) numbers: [(u32, u32); 4],
}

impl Port<'_> {
    /// Takes the next word from the chip, if there is one.
    pub fn read(&mut self, network: Network) -> Option<u32> {
        let word = self.peek(network)?;
        self.queues[self.numbers[network as usize].0 as usize].pop(self.now);
        Some(word)
    }

    /// Returns the next word from the chip without taking it.
    pub fn peek(&self, network: Network) -> Option<u32> {
        self.queues[self.numbers[network as usize].0 as usize].front(self.now)
    }

    /// Whether a word can be written. A network takes one word a cycle.
    pub fn has_room(&self, network: Network) -> bool {
        self.queues[self.numbers[network as usize].1 as usize].has_room(self.now)
    }

    /// Writes a word to the chip. Returns whether there was room.
    pub fn write(&mut self, network: Network, word: u32) -> bool {
        let has_room = self.has_room(network);
        if has_room {
            self.queues[self.numbers[network as usize].1 as usize].push(word, self.now);
        }
        has_room
    }
}

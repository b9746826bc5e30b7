//! Packet tails on the line card at which their packets arrived.

use std::collections::{BTreeMap, VecDeque};

use wireloom_isa::raw::Network;

use super::{Memories, Reference, Written};
use crate::device::{Port, words_of};
use crate::message::Header;

/// Limit on the words of a message.
pub const MESSAGE_WORDS: usize = 31;

/// The packet tails that a card keeps for a chain, or has written to a memory.
#[derive(Clone, Debug, Default)]
pub struct Card {
    number: u8,
    most: usize,
    /// The tails by slot. A tail is empty here if it is in a memory.
    kept: BTreeMap<u8, Vec<u8>>,
    /// The slot to try first for the next tail.
    next: u8,
    /// The memories, if tails go there.
    memories: Option<Memories>,
    /// The number of tails kept so far; `largest` is the maximum at a time.
    pub all: u64,
    pub largest: usize,
}

impl Card {
    /// Creates a card for chain `number`, which keeps up to `most` tails, here or in memories.
    pub fn new(number: usize, most: u32, memories: Option<Memories>) -> Self {
        Self { number: number as u8, most: most as usize, memories, ..Self::default() }
    }

    /// Returns the number of the chain.
    pub fn number(&self) -> u8 {
        self.number
    }

    /// Whether there is room for a tail.
    pub fn has_room(&self) -> bool {
        self.kept.len() < self.most
    }

    /// Returns the number of tails kept now.
    pub fn kept(&self) -> usize {
        self.kept.len()
    }

    /// Whether tails go to a memory.
    pub fn writes(&self) -> bool {
        self.memories.is_some()
    }

    /// Keeps a tail. Returns its reference, and the messages and words that write it to a memory,
    /// if it goes there.
    pub fn keep(&mut self, rest: Vec<u8>, port: &Port<'_>) -> (u32, Written) {
        // Slots are used in turn, as in a circular buffer.
        let turn = (0..self.most).map(|ahead| ((usize::from(self.next) + ahead) % self.most) as u8);
        let free = turn.into_iter().find(|slot| !self.kept.contains_key(slot));
        let slot = free.expect("there is room");
        self.next = ((usize::from(slot) + 1) % self.most) as u8;
        let reference = Reference { card: self.number, slot, bytes: rest.len() as u16 };
        let (written, rest) = match &self.memories {
            Some(memories) => (memories.written(reference, &rest, port), Vec::new()),
            None => (Written::default(), rest),
        };
        self.kept.insert(slot, rest);
        self.all += 1;
        self.largest = self.largest.max(self.kept.len());
        (reference.word(), written)
    }

    /// Returns the bytes of a tail that belong to a packet, if they are here. Frees the tail after
    /// the last departure of its packet.
    pub fn give(&mut self, reference: Reference, is_last: bool) -> Vec<u8> {
        let mut bytes = match is_last {
            true => self.kept.remove(&reference.slot),
            false => self.kept.get(&reference.slot).cloned(),
        };
        bytes.iter_mut().for_each(|bytes| bytes.truncate(reference.bytes.into()));
        bytes.unwrap_or_default()
    }

    /// Returns the reply to a request for a tail, under the header that the request has.
    pub fn answer(&mut self, asked: u32, back: u32, port: &Port<'_>) -> Vec<Vec<u32>> {
        let bytes = self.give(Reference::asked(asked), asked & Reference::IS != 0);
        if back == 0 {
            return Vec::new();
        }
        let message = |words: &[u32]| {
            let length = words.len() as u8;
            let header = Header { length, origin: port.tile, ..Header::of(back) };
            [&[header.word()], words].concat()
        };
        let words: Vec<u32> = words_of(&bytes).collect();
        words.chunks(MESSAGE_WORDS).map(message).collect()
    }
}

/// Outgoing messages for a network.
#[derive(Clone, Debug, Default)]
pub struct Outgoing {
    /// The remaining words of the current message.
    sending: VecDeque<u32>,
    /// Messages that go before all others.
    pub first: VecDeque<Vec<u32>>,
    pub others: VecDeque<Vec<u32>>,
}

impl Outgoing {
    /// Whether no message is partly sent.
    pub fn is_between(&self) -> bool {
        self.sending.is_empty()
    }

    /// Writes a word of a message. Returns whether a word was written.
    pub fn write(&mut self, network: Network, port: &mut Port<'_>) -> bool {
        if self.sending.is_empty() {
            let next = self.first.pop_front().or_else(|| self.others.pop_front());
            self.sending = next.unwrap_or_default().into();
        }
        let Some(word) = self.sending.front().copied() else { return false };
        let is_written = port.write(network, word);
        if is_written {
            self.sending.pop_front();
        }
        is_written
    }
}

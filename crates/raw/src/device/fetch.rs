//! Fetches the tail of a packet. A memory sends it in lines over the memory network, several in
//! flight. An input card that has kept it sends all of it over the general network, after one
//! request.

use std::collections::VecDeque;

use wireloom_isa::raw::Network;

use super::line::words_after;
use super::{Port, Side};
use crate::cache::LINE_BYTES;
use crate::message::Header;
use crate::tile::kind;

/// Limit on the words of a message (public).
pub(super) const MESSAGE_WORDS: usize = 31;

/// A memory or card as devices address it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub base: u32,
    /// The size in bytes.
    pub bytes: u32,
    /// Column and row of its tile.
    pub tile: (u8, u8),
    pub side: Side,
}

/// A packet whose tail is being fetched.
#[derive(Clone, Debug)]
pub(super) struct Fetch {
    words: Vec<u32>,
    begun: u64,
    /// The number of words of the complete packet.
    wanted: usize,
    /// The address of the next line to request.
    next: u32,
    /// Words at the beginning of the first line that do not belong to the packet.
    skip: usize,
    /// Lines that are still to be requested, and lines in flight.
    to_ask: usize,
    under_way: usize,
    /// Limit on the lines in flight.
    outstanding: usize,
    /// Whether an input card has kept the tail.
    is_kept: bool,
    request: VecDeque<u32>,
    memory: Option<Place>,
    /// Words of the incoming line that are still missing.
    left: usize,
}

impl Fetch {
    pub fn new(
        words: Vec<u32>,
        begun: u64,
        address: u32,
        memories: &[Place],
        outstanding: usize,
    ) -> Self {
        let wanted = 1 + words_after(words[0]);
        let rest = 4 * wanted.saturating_sub(words.len()) as u32;
        let offset = address % LINE_BYTES;
        let is_in = |place: &&Place| address.wrapping_sub(place.base) < place.bytes;
        Self {
            words,
            begun,
            wanted,
            next: address - offset,
            skip: (offset / 4) as usize,
            to_ask: if rest == 0 { 0 } else { (offset + rest).div_ceil(LINE_BYTES) as usize },
            under_way: 0,
            outstanding,
            is_kept: false,
            request: VecDeque::new(),
            memory: memories.iter().find(is_in).copied(),
            left: 0,
        }
    }

    /// Creates a fetch of a tail that an input card has kept. It makes one request.
    pub fn kept(words: Vec<u32>, begun: u64, address: u32, cards: &[Place]) -> Self {
        let fetch = Self::new(words, begun, address, cards, 1);
        Self { to_ask: fetch.to_ask.min(1), skip: 0, next: address, is_kept: true, ..fetch }
    }

    /// Returns the network of requests and replies.
    fn network(&self) -> Network {
        if self.is_kept { Network::General } else { Network::Memory }
    }

    /// Acts for a cycle. Returns whether a word moved. A fetch without a memory never ends.
    pub fn cycle(&mut self, port: &mut Port<'_>) -> bool {
        let Some(memory) = self.memory else { return false };
        let mut moves = false;
        if self.request.is_empty() && self.to_ask > 0 && self.under_way < self.outstanding {
            let (last, destination) = (1 + memory.side as u8, memory.tile);
            let back = Header { last: port.last, destination: port.tile, ..Header::default() };
            let header =
                Header { last, length: 2, user: kind::DMA_READ, origin: port.tile, destination };
            self.request.extend([header.word(), self.next, back.word()]);
            self.next += LINE_BYTES;
            (self.to_ask, self.under_way) = (self.to_ask - 1, self.under_way + 1);
        }
        if let Some(&word) = self.request.front()
            && port.write(self.network(), word)
        {
            self.request.pop_front();
            moves = true;
        }
        if let Some(word) = port.read(self.network()) {
            moves = true;
            self.take(word);
        }
        moves
    }

    /// Takes a word of a reply: a header, or a word of the packet.
    fn take(&mut self, word: u32) {
        if self.left == 0 {
            self.left = usize::from(Header::of(word).length).min(MESSAGE_WORDS);
            return;
        }
        self.left -= 1;
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.words.len() < self.wanted {
            self.words.push(word);
        }
        let is_last = !self.is_kept || self.words.len() == self.wanted;
        self.under_way -= usize::from(self.left == 0 && is_last);
    }

    /// Returns the packet's words and its first cycle, once all words are there.
    pub fn done(&mut self) -> Option<(Vec<u32>, u64)> {
        let is_done = self.to_ask == 0 && self.under_way == 0 && self.request.is_empty();
        is_done.then(|| (std::mem::take(&mut self.words), self.begun))
    }
}

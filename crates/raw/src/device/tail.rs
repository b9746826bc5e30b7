//! How an input card stores the tail of a packet whose head the chip processes.

use std::collections::{BTreeMap, VecDeque};

use wireloom_isa::raw::Network;

use super::{Place, Port};
use crate::cache::{LINE_BYTES, LINE_WORDS};
use crate::message::Header;
use crate::tile::kind;

/// A circular buffer of packets. Each packet begins on a line, after the previous one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// The first address.
    pub base: u32,
    /// No packet begins after this offset in bytes.
    pub last: u32,
}

/// Where the words after the head of a packet (its tail) go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// After the head, on its network.
    Follows,
    /// Into a memory, in messages that write a line each.
    Lines {
        /// Words of the head.
        head: usize,
        /// The memory.
        memory: Place,
        /// The part of the memory that holds packets.
        ring: Ring,
        /// If set, lines go over the memory network before the head, and the head waits until the
        /// memory has confirmed them. Otherwise they go after the head, on its network.
        over_memory_network: bool,
        /// Whether a mask of its bytes precedes each line (the RAW DMA protocol).
        has_mask: bool,
    },
    /// The card keeps the tail until an output card asks for it.
    Kept {
        /// Words of the head.
        head: usize,
        /// The addresses by which the chip refers to tails.
        ring: Ring,
        /// Limit on the tails in the card. The next packet with a tail waits.
        most: usize,
    },
}

impl Rest {
    /// Returns the words of the head; `usize::MAX` if the whole packet is sent.
    pub(super) fn head(&self) -> usize {
        match self {
            Self::Follows => usize::MAX,
            Self::Lines { head, .. } | Self::Kept { head, .. } => *head,
        }
    }
}

/// The part of a card that handles packet tails.
#[derive(Clone, Debug, Default)]
pub(super) struct Rests {
    /// Where the next tail begins in the ring.
    offset: u32,
    /// Words for the memory network.
    writing: VecDeque<u32>,
    /// Heads in order, and whether each waits for a confirmation from the memory.
    heads: VecDeque<(Vec<u32>, bool)>,
    kept: BTreeMap<u32, Vec<u32>>,
    /// The words of the incoming request; `asked` has the words of requested tails.
    request: Vec<u32>,
    asked: VecDeque<u32>,
}

impl Rests {
    /// Returns the address for a tail of this many words.
    fn address(&mut self, ring: Ring, words: usize) -> u32 {
        let address = ring.base + self.offset;
        self.offset += (words.div_ceil(LINE_WORDS) * LINE_WORDS * 4) as u32;
        if self.offset > ring.last {
            self.offset = 0;
        }
        address
    }

    /// Whether a packet with this many words after the first can begin.
    pub fn has_room(&self, rest: &Rest, words: usize) -> bool {
        match rest {
            Rest::Kept { head, most, .. } => words <= *head || self.kept.len() < *most,
            _ => self.heads.len() < 2 && self.writing.is_empty(),
        }
    }

    /// Takes a packet: the head, which `next` hands over, and the words of the tail.
    pub fn take(&mut self, spec: &Rest, mut head: Vec<u32>, rest: &[u32], port: &Port<'_>) {
        if rest.is_empty() {
            self.heads.push_back((head, false));
            return;
        }
        match spec {
            Rest::Follows => head.extend(rest),
            Rest::Lines { memory, ring, over_memory_network, has_mask, .. } => {
                let address = self.address(*ring, rest.len());
                let messages = lines(*memory, address, rest, *has_mask);
                if *over_memory_network {
                    self.writing.extend(messages);
                    let last = port.last;
                    let back = Header { last, destination: port.tile, ..Header::default() };
                    let user = kind::CONFIRM;
                    let to = Header { last: 1 + memory.side as u8, user, length: 1, ..back };
                    let to = Header { destination: memory.tile, origin: port.tile, ..to };
                    self.writing.extend([to.word(), back.word()]);
                    self.heads.push_back((head, true));
                    return;
                }
                head.extend(messages);
            }
            Rest::Kept { ring, .. } => {
                let address = self.address(*ring, rest.len());
                self.kept.insert(address, rest.to_vec());
            }
        }
        self.heads.push_back((head, false));
    }

    /// Returns the next head that can be handed over.
    pub fn next(&mut self) -> Option<Vec<u32>> {
        let waits = self.heads.front().is_none_or(|(_, waits)| *waits);
        if waits { None } else { self.heads.pop_front().map(|(head, _)| head) }
    }

    /// Whether no words are left to send. Kept tails do not count.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty() && self.writing.is_empty() && self.asked.is_empty()
    }

    /// Acts for a cycle on the dynamic networks. Returns whether a word moved.
    pub fn cycle(&mut self, spec: &Rest, port: &mut Port<'_>) -> bool {
        match spec {
            Rest::Follows => false,
            Rest::Lines { .. } => self.write(port),
            Rest::Kept { .. } => self.serve(port),
        }
    }

    fn write(&mut self, port: &mut Port<'_>) -> bool {
        let mut moves = false;
        if let Some(word) = self.writing.front()
            && port.write(Network::Memory, *word)
        {
            self.writing.pop_front();
            moves = true;
        }
        if port.read(Network::Memory).is_some() {
            // A word from the memory confirms the lines of the first head that waits.
            if let Some((_, waits)) = self.heads.iter_mut().find(|(_, waits)| *waits) {
                *waits = false;
            }
            moves = true;
        }
        moves
    }

    fn serve(&mut self, port: &mut Port<'_>) -> bool {
        let mut moves = false;
        if let Some(word) = port.read(Network::General) {
            moves = true;
            self.request.push(word);
            if let [_, address, back] = self.request[..] {
                self.request.clear();
                // Without a header for the reply the packet is dropped.
                let words = self.kept.remove(&address).filter(|_| back != 0).unwrap_or_default();
                for words in words.chunks(super::fetch::MESSAGE_WORDS) {
                    let length = words.len() as u8;
                    let header = Header { length, origin: port.tile, ..Header::of(back) };
                    self.asked.push_back(header.word());
                    self.asked.extend(words);
                }
            }
        }
        if let Some(word) = self.asked.front()
            && port.write(Network::General, *word)
        {
            self.asked.pop_front();
            moves = true;
        }
        moves
    }
}

/// Returns messages that write words to memory, from an address at the beginning of a line on.
fn lines(memory: Place, address: u32, words: &[u32], has_mask: bool) -> Vec<u32> {
    let (user, length) = if has_mask { (kind::DMA_WRITE, 10) } else { (kind::WRITE_LINE, 9) };
    let last = 1 + memory.side as u8;
    let header = Header { last, length, user, destination: memory.tile, ..Header::default() };
    let mut messages = Vec::new();
    for (address, words) in (address..).step_by(LINE_BYTES as usize).zip(words.chunks(LINE_WORDS)) {
        messages.extend([header.word(), address]);
        if has_mask {
            let unused = 4 * (LINE_WORDS - words.len()) as u32;
            messages.push(u32::MAX << unused);
        }
        messages.extend(words);
        messages.resize(messages.len() + LINE_WORDS - words.len(), 0);
    }
    messages
}

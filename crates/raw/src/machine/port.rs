//! The device at which packets of a chain enter and leave the chip.

use std::collections::VecDeque;

use wireloom_codegen::tile::{ALIGN, IDLE};
use wireloom_isa::raw::Network;

use crate::device::{Device, Port};

/// A packet that has left, or a thread's end without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The side word.
    pub side: u32,
    /// The first word and the packet's words, if there is a packet.
    pub words: Vec<u32>,
    /// The cycle of the last word.
    pub cycle: u64,
}

impl Left {
    /// The port in the first word.
    pub fn port(&self) -> u16 {
        self.words.first().map_or(0, |word| (word >> 16) as u16)
    }

    /// The packet's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let Some((first, words)) = self.words.split_first() else { return Vec::new() };
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.truncate((first & 0xffff) as usize + ALIGN as usize);
        bytes.drain(..ALIGN as usize);
        bytes
    }
}

/// Writes packets to the first static network, and reads what leaves. Both are messages: the number
/// of words, then these.
#[derive(Clone, Debug, Default)]
pub struct PacketPort {
    /// Words of packets, with the packet's number at its first.
    to_come: VecDeque<(u32, Option<u64>)>,
    /// The cycles at which packets began to enter, by their numbers.
    pub entered: VecDeque<(u64, u64)>,
    /// Messages without a packet that follow the last packet, and those that are still to come:
    /// tiles that take packets in turn send none on before the others have theirs.
    idles: usize,
    idles_left: usize,
    /// The message that comes, and how many words of it are missing.
    words: Vec<u32>,
    missing: u32,
    /// What has left.
    pub left: VecDeque<Left>,
    /// Words that went into the chip, and that came out of it.
    words_moved: [u64; 2],
}

impl PacketPort {
    /// A port that sends so many messages without a packet after the last packet.
    pub fn new(idles: usize) -> Self {
        Self { idles, ..Self::default() }
    }

    /// Puts the words of a message into the queue.
    pub fn offer(&mut self, number: u64, words: impl IntoIterator<Item = u32>) {
        let first = [Some(number)].into_iter().chain(std::iter::repeat(None));
        self.to_come.extend(words.into_iter().zip(first));
        self.idles_left = self.idles;
    }

    /// Words that went into the chip, and that came out of it.
    pub fn words(&self) -> [u64; 2] {
        self.words_moved
    }

    fn receive(&mut self, port: &mut Port<'_>) -> bool {
        let Some(word) = port.read(Network::Static1) else { return false };
        self.words_moved[1] += 1;
        if self.missing == 0 {
            // A 0 ends what leaves of a packet.
            self.missing = word;
            return true;
        }
        self.words.push(word);
        self.missing -= 1;
        if self.missing == 0 {
            let words = std::mem::take(&mut self.words);
            if words[0] != IDLE {
                let (side, words) = (words[0], words[1..].to_vec());
                self.left.push_back(Left { side, words, cycle: port.now });
            }
        }
        true
    }
}

impl Device for PacketPort {
    fn cycle(&mut self, port: &mut Port<'_>) -> bool {
        let is_received = self.receive(port);
        if self.to_come.is_empty() && self.idles_left > 0 {
            self.idles_left -= 1;
            self.to_come.extend([(1, None), (IDLE, None)]);
        }
        let Some((word, number)) = self.to_come.front().copied() else { return is_received };
        let is_sent = port.write(Network::Static1, word);
        if is_sent {
            self.words_moved[0] += 1;
            self.to_come.pop_front();
            self.entered.extend(number.map(|number| (number, port.now)));
        }
        is_received || is_sent
    }

    fn waits_for(&self) -> Option<(Network, bool)> {
        (!self.to_come.is_empty()).then_some((Network::Static1, false))
    }
}

//! The device at which packets of a chain enter and leave the chip.

use std::collections::VecDeque;

use wireloom_codegen::tile::Way;
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
        bytes.truncate((first & 0xffff) as usize);
        bytes
    }
}

/// The number of words of a packet, with its first word.
pub fn words_of(first: u32) -> usize {
    1 + (first & 0xffff).div_ceil(4) as usize
}

/// Writes packets to the first static network, and reads what leaves.
#[derive(Clone, Debug, Default)]
pub struct PacketPort {
    /// Words of packets, with the packet's number at its first.
    to_come: VecDeque<(u32, Option<u64>)>,
    /// The cycles at which packets began to enter, by their numbers.
    pub entered: VecDeque<(u64, u64)>,
    words: Vec<u32>,
    packets: VecDeque<(Vec<u32>, u64)>,
    sides: VecDeque<(u32, u64)>,
    /// What has left.
    pub left: VecDeque<Left>,
}

impl PacketPort {
    /// Puts the words of a packet into the queue.
    pub fn offer(&mut self, number: u64, words: impl IntoIterator<Item = u32>) {
        let first = [Some(number)].into_iter().chain(std::iter::repeat(None));
        self.to_come.extend(words.into_iter().zip(first));
    }

    fn receive(&mut self, port: &mut Port<'_>) -> bool {
        let word = port.read(Network::Static1);
        let side = port.read(Network::Static2);
        if let Some(word) = word {
            self.words.push(word);
            if self.words.len() == words_of(self.words[0]) {
                self.packets.push_back((std::mem::take(&mut self.words), port.now));
            }
        }
        self.sides.extend(side.map(|side| (side, port.now)));
        while let Some((side, cycle)) = self.sides.front().copied() {
            let has_packet = matches!(Way::of(side), Way::Port | Way::Core);
            let packet = if has_packet { self.packets.pop_front() } else { Some((vec![], cycle)) };
            let Some((words, cycle)) = packet else { break };
            self.sides.pop_front();
            self.left.push_back(Left { side, words, cycle });
        }
        word.is_some() || side.is_some()
    }
}

impl Device for PacketPort {
    fn cycle(&mut self, port: &mut Port<'_>) -> bool {
        let is_received = self.receive(port);
        let Some((word, number)) = self.to_come.front().copied() else { return is_received };
        let is_sent = port.write(Network::Static1, word);
        if is_sent {
            self.to_come.pop_front();
            self.entered.extend(number.map(|number| (number, port.now)));
        }
        is_received || is_sent
    }

    fn waits_for(&self) -> Option<(Network, bool)> {
        (!self.to_come.is_empty()).then_some((Network::Static1, false))
    }
}

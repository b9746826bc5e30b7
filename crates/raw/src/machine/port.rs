//! The device at which packets of a chain enter and leave the chip.

use std::collections::{BTreeMap, VecDeque};

use wireloom_codegen::tile::{ALIGN, IDLE, Way};
use wireloom_isa::raw::Network;

use super::mapping::Place;
use super::out_line::OutLine;
use crate::device::{Device, Port};
use crate::message::Header;

/// A packet that has left, or a thread's end without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The side word.
    pub side: u32,
    /// The port on which its packet came, if that may be another than the thread's.
    pub ingress: Option<u16>,
    /// The first word and the packet's words, if there is a packet.
    pub words: Vec<u32>,
    /// The cycle of the last word.
    pub cycle: u64,
    /// The tile that sent it over the general network, and its number there, modulo 2^16.
    pub sent: Option<(Place, u16)>,
    /// Whether it found no room in the queue of its port: only its first word is here.
    pub is_dropped: bool,
}

impl Left {
    /// What has left, from words that are the side word and what follows it.
    fn of(words: &[u32], has_ingress: bool, cycle: u64, sent: Option<(Place, u16)>) -> Self {
        let ingress = words.get(1).filter(|_| has_ingress).map(|word| *word as u16);
        let side = words[0];
        let is_packet = matches!(Way::of(side), Way::Port | Way::Core);
        // What has no packet may have a word without meaning: a message has two at least.
        let rest = if is_packet { 1 + usize::from(has_ingress) } else { words.len() };
        let words = words[rest..].to_vec();
        Self { side, ingress, words, cycle, sent, is_dropped: false }
    }

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

/// Who sent what comes from a queue, and its number there: the header of its first message, and the
/// first word of that.
fn sent(words: &[u32]) -> (Place, u16) {
    (Header::of(words[0]).origin, (words[1] >> 16) as u16)
}

/// A message to the chip.
#[derive(Clone, Debug, Default)]
struct Message {
    /// The number of its packet, until its first word has gone.
    number: Option<u64>,
    /// The cycle in which its packet comes if the line has not stood still.
    at: u64,
    words: VecDeque<u32>,
}

/// Writes packets to the first static network, and reads what leaves. Both are messages: the number
/// of words but one, then these.
#[derive(Clone, Debug, Default)]
pub struct PacketPort {
    /// Messages in the order in which they come.
    to_come: VecDeque<Message>,
    /// The cycle since the start before the chip's first one.
    pub base: u64,
    /// The cycles for which the line has stood still: it waits until the packet before has been
    /// handed over.
    pub stood: u64,
    /// Packets that come and are not among the messages yet.
    pub awaited: usize,
    /// Whether the next message can go.
    is_due: bool,
    /// The cycles at which packets began to enter, by their numbers.
    pub entered: VecDeque<(u64, u64)>,
    /// Messages without a packet that follow one that no other follows in time, and those that are
    /// still to come: tiles that take packets in turn send none on before the others have theirs.
    idles: usize,
    idles_left: usize,
    /// Whether what leaves has the port on which its packet came after the side word.
    has_ingress: bool,
    /// The message that comes, and how many words of it are missing.
    words: Vec<u32>,
    missing: u32,
    /// The message of the general network that comes: its sender, and how many words are missing;
    /// and the words from each sender.
    message: Option<(Place, u8)>,
    parts: BTreeMap<Place, Vec<u32>>,
    /// The line, if packets come from a queue.
    line: Option<OutLine>,
    /// What has left.
    pub left: VecDeque<Left>,
    /// Words that went into the chip, and that came out of it.
    words_moved: [u64; 2],
}

impl PacketPort {
    /// A port that sends so many messages without a packet after one that no other follows in time,
    /// and takes what leaves, with the port on which its packet came or without.
    pub fn new(idles: usize, has_ingress: bool) -> Self {
        Self { idles, has_ingress, ..Self::default() }
    }

    /// A port that takes what leaves from a queue, for a line.
    pub fn of_queue(line: OutLine, has_ingress: bool) -> Self {
        Self { line: Some(line), has_ingress, ..Self::default() }
    }

    /// Puts a packet's message into the queue. The packet comes in a cycle since the start.
    pub fn offer(&mut self, number: u64, at: u64, words: Vec<u32>) {
        self.to_come.push_back(Message { number: Some(number), at, words: words.into() });
    }

    /// Packets that have not wholly gone into the chip.
    pub fn waiting(&self) -> usize {
        self.to_come.len()
    }

    /// Writes the next word of a message, if one has come; returns whether it did.
    fn send(&mut self, port: &mut Port<'_>) -> bool {
        let now = self.base + port.now;
        let Some(next) = self.to_come.front_mut().filter(|_| self.is_due) else { return false };
        let Some(word) = next.words.front().copied() else { return false };
        if !port.write(Network::Static1, word) {
            return false;
        }
        self.words_moved[0] += 1;
        next.words.pop_front();
        if let Some(number) = next.number.take() {
            self.entered.push_back((number, port.now));
            self.idles_left = self.idles;
        }
        if next.words.is_empty() {
            self.to_come.pop_front();
            // What should have come by now comes now.
            if let Some(next) = self.to_come.front() {
                self.stood = self.stood.max(now.saturating_sub(next.at));
            }
        }
        true
    }

    /// Words that went into the chip, and that came out of it.
    pub fn words(&self) -> [u64; 2] {
        self.words_moved
    }

    fn receive(&mut self, port: &mut Port<'_>) -> bool {
        let Some(word) = port.read(Network::Static1) else { return false };
        self.words_moved[1] += 1;
        if self.missing == 0 {
            // A 0 says that more leaves of the packet than the next message.
            self.missing = if word == 0 { 0 } else { word + 1 };
            self.line.iter_mut().for_each(OutLine::begins);
            return true;
        }
        self.words.push(word);
        self.missing -= 1;
        if self.missing == 0 {
            let words = std::mem::take(&mut self.words);
            if let Some(line) = &mut self.line {
                let left = Left::of(&words[2..], self.has_ingress, port.now, Some(sent(&words)));
                line.takes(port.now, left);
            } else if words[0] != IDLE {
                self.left.push_back(Left::of(&words, self.has_ingress, port.now, None));
            }
        }
        true
    }

    /// Lets packets leave by the line; returns whether some do, now or later, or the tile is told
    /// that there is room.
    fn cycle_line(&mut self, port: &mut Port<'_>) -> bool {
        let Some(line) = &mut self.line else { return false };
        let before = self.left.len();
        self.left.extend(std::iter::from_fn(|| line.next_left(port.now)));
        let is_receiving = self.missing > 0;
        let is_told = !is_receiving && line.tell(port);
        is_told || self.left.len() > before || line.next().is_some()
    }

    /// Takes a word of the general network. What leaves begins with a word of its number and the
    /// number of its words; messages of other senders may come before it is over. A message of the
    /// queue here is the beginning of a packet that found no room.
    fn receive_message(&mut self, port: &mut Port<'_>) -> bool {
        let Some(word) = port.read(Network::General) else { return false };
        let Some((sender, missing)) = self.message else {
            let header = Header::of(word);
            self.message = (header.length > 0).then_some((header.origin, header.length));
            return true;
        };
        self.message = (missing > 1).then_some((sender, missing - 1));
        let words = self.parts.entry(sender).or_default();
        words.push(word);
        if sender == port.tile && self.line.is_some() {
            if self.message.is_none() {
                let words = std::mem::take(words);
                let left = Left::of(&words[2..], self.has_ingress, port.now, Some(sent(&words)));
                self.left.push_back(Left { is_dropped: true, ..left });
            }
        } else if words.len() as u32 == 1 + (words[0] & 0xffff) {
            let words = std::mem::take(words);
            let sent = Some((sender, (words[0] >> 16) as u16));
            self.left.push_back(Left::of(&words[1..], self.has_ingress, port.now, sent));
        }
        true
    }
}

impl Device for PacketPort {
    fn cycle(&mut self, port: &mut Port<'_>) -> bool {
        let is_received = self.receive(port) | self.receive_message(port);
        let is_on_line = self.cycle_line(port);
        let now = self.base + port.now;
        let is_due = |next: &Message| next.at.saturating_add(self.stood) <= now;
        self.is_due = self.to_come.front().is_some_and(is_due);
        if !self.is_due && self.idles_left > 0 {
            self.idles_left -= 1;
            self.to_come.push_front(Message { words: [1, IDLE, 0].into(), ..Message::default() });
            self.is_due = true;
        }
        // A line on which a packet comes is no standstill.
        let comes = self.awaited > 0 || !self.is_due && !self.to_come.is_empty();
        let is_sent = self.send(port);
        is_received || is_sent || comes || is_on_line
    }

    fn next(&self, _: u64) -> u64 {
        // One that is due waits for room.
        let next = self.to_come.front().filter(|_| !self.is_due);
        let comes = next.map(|next| next.at.saturating_add(self.stood).saturating_sub(self.base));
        let leaves = self.line.as_ref().and_then(OutLine::next);
        comes.into_iter().chain(leaves).min().unwrap_or(u64::MAX)
    }

    fn waits_for(&self) -> Option<(Network, bool)> {
        self.is_due.then_some((Network::Static1, false))
    }
}

//! The device at which packets of a chain enter and leave the chip.

use std::collections::{BTreeMap, VecDeque};

use wireloom_codegen_tile::{ALIGN, IDLE, QUEUED, Way};
use wireloom_isa::raw::Network;

use super::out_line::OutLine;
use super::packet_tails::{Card, MESSAGE_WORDS, Reference, Rests};
use super::place::Place;
use crate::device::{Device, Port};
use crate::message::Header;

/// A packet that has left, or the end of a thread without a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    pub side: u32,
    /// The first word and the words of the packet, as far as the tiles had them; empty without a
    /// packet.
    pub words: Vec<u32>,
    /// The packet tail that went around the tiles; `reference` names it.
    pub rest: Vec<u8>,
    pub reference: Option<Reference>,
    /// The cycle of the last word.
    pub cycle: u64,
    /// The tile that sent it over the general network, and its serial number there, modulo 2^16.
    pub sent: Option<(Place, u16)>,
    /// Whether the queue of its port dropped it. Only the first word is here.
    pub is_dropped: bool,
}

impl Departure {
    /// Decodes a departure. `words` are the side word and the words after it.
    fn of(words: &[u32], beside: Beside, cycle: u64, sent: Option<(Place, u16)>) -> Self {
        let word = words.get(1);
        let reference = word.filter(|_| beside == Beside::Rest);
        let reference = reference.and_then(|word| Reference::of(*word));
        let side = words[0];
        let is_packet = matches!(Way::of(side), Way::Port | Way::Core);
        // Without a packet there may be a meaningless word: a message has at least two.
        let before = 1 + usize::from(beside != Beside::Nothing);
        let words = words[if is_packet { before } else { words.len() }..].to_vec();
        let rest = Vec::new();
        Self { side, words, rest, reference, cycle, sent, is_dropped: false }
    }

    /// Returns the port in the first word.
    pub fn port(&self) -> u16 {
        self.words.first().map_or(0, |word| (word >> 16) as u16)
    }

    /// Returns the packet's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let Some((first, words)) = self.words.split_first() else { return Vec::new() };
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        let head = ((first & 0xffff) as usize).saturating_sub(self.rest.len());
        bytes.truncate(head + ALIGN as usize);
        bytes.drain(..ALIGN as usize);
        bytes.extend(&self.rest);
        bytes
    }
}

/// The word that leaves next to the side word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beside {
    /// No word.
    #[default]
    Nothing,
    /// The reference of the packet's tail.
    Rest,
}

/// Returns the tile that sent a message from a queue, and its serial number there. These are in the
/// header of the packet's first message and in that message's first word.
fn sent(words: &[u32]) -> (Place, u16) {
    (Header::of(words[0]).origin, (words[1] >> 16) as u16)
}

/// A message to the chip.
#[derive(Clone, Debug, Default)]
struct Message {
    /// The number of its packet, until its first word has gone.
    number: Option<u64>,
    /// The cycle in which its packet arrives if the line has not been stopped.
    at: u64,
    words: VecDeque<u32>,
    /// Words that precede `words`. If tails go to memories through switches, these are the tail and
    /// the number of its words less one, or 0 without a tail.
    before: VecDeque<u32>,
    /// The packet tail, which does not enter the chip, and the index of the word for its reference.
    rest: Option<(usize, Vec<u8>)>,
    /// The memory that has not confirmed the tail yet.
    waits: Option<Place>,
    /// The index of the chain that gets it, among the chains fed by this card.
    turn: usize,
}

/// Writes packets to the first static network, and reads departures. Both are messages: the number
/// of words less one, then the words. Over the general network packets go without that number, in
/// messages of 31 words.
#[derive(Clone, Debug, Default)]
pub struct PacketPort {
    /// Messages in their order of arrival.
    to_come: VecDeque<Message>,
    /// The number of chains that get packets in turn; `turn` is the next of them.
    chains: usize,
    turn: usize,
    /// The cycle since the start before the chip's first cycle.
    pub base: u64,
    /// Cycles for which the line was stopped. It stops until the previous packet has been handed
    /// over.
    pub stood: u64,
    /// Packets that will arrive and are not among the messages yet.
    pub awaited: usize,
    /// Whether the next message can go; `is_full` is whether the tail of its packet waits for room.
    is_due: bool,
    is_full: bool,
    /// Numbers of packets that began to enter, with the cycles.
    pub entered: VecDeque<(u64, u64)>,
    /// The number of empty messages after a packet that no other follows in time; `idles_left` are
    /// still to go. Tiles that take packets in turn forward nothing before the other tiles have
    /// their packets.
    idles: usize,
    idles_left: usize,
    /// The header of messages to the chain, without a length, if they go over the general network;
    /// `hop_left` is the number of words of the current message that are still to be sent.
    hop: Option<Header>,
    hop_left: usize,
    /// The word next to the side word of each departure.
    beside: Beside,
    /// The packet tails that arrive or leave here.
    rests: Rests,
    /// The incoming message; `missing` is the number of words still to come.
    words: Vec<u32>,
    missing: u32,
    /// The header of the incoming message of the general network, and the number of its words still
    /// to come; `parts` has the words from each sender.
    message: Option<(Header, u8)>,
    parts: BTreeMap<Place, Vec<u32>>,
    /// The line, if packets come from a queue.
    line: Option<OutLine>,
    pub left: VecDeque<Departure>,
    /// Words that went into the chip, and words that came out of it.
    words_moved: [u64; 2],
}

impl PacketPort {
    /// Creates a port of a card that feeds `chains` chains. It sends `idles` empty messages after a
    /// packet that no other follows in time. Messages go over the first static network or, with
    /// `hop`, over the general network under that header.
    pub fn new(
        chains: usize,
        idles: usize,
        hop: Option<Header>,
        beside: Beside,
        rests: Rests,
    ) -> Self {
        Self { chains, idles, hop, beside, rests, ..Self::default() }
    }

    /// Creates a port that takes departures from a queue and sends them on a line.
    pub fn of_queue(line: OutLine, beside: Beside, rests: Rests) -> Self {
        Self { line: Some(line), beside, rests, ..Self::default() }
    }

    /// Puts a packet's message into the queue. The packet arrives in cycle `at` since the start.
    /// `rest` has the index of the message word that will hold the tail's reference, and the tail,
    /// which does not enter the chip.
    pub fn offer(&mut self, number: u64, at: u64, words: Vec<u32>, rest: Option<(usize, Vec<u8>)>) {
        let (number, words) = (Some(number), words.into());
        let is_told = self.rests.is_switched() && rest.is_none();
        let before = is_told.then_some(0).into_iter().collect();
        let turn = self.turn;
        self.turn = (turn + 1) % self.chains;
        self.to_come.push_back(Message { number, at, words, before, rest, waits: None, turn });
    }

    /// Returns the packet tails on the card here, by chain.
    pub fn cards(&self) -> &[Card] {
        &self.rests.kept
    }

    /// Returns the number of packets that have not entered the chip completely.
    pub fn waiting(&self) -> usize {
        self.to_come.len()
    }

    /// Writes the next word of a message, if its packet has arrived. Returns whether a word was
    /// written.
    fn send(&mut self, port: &mut Port<'_>) -> bool {
        let now = self.base + port.now;
        let Some(next) = self.to_come.front_mut().filter(|_| self.is_due) else { return false };
        let words = if next.before.is_empty() { &mut next.words } else { &mut next.before };
        let network = if self.hop.is_some() { Network::General } else { Network::Static1 };
        if let Some(header) = self.hop
            && self.hop_left == 0
        {
            // Between its messages the port may have begun a message for a tail.
            if !self.rests.is_general_free() || !port.has_room(network) {
                return false;
            }
            // Only switches need the number of words.
            if next.number.is_some() {
                words.pop_front();
            }
            let length = words.len().min(MESSAGE_WORDS);
            self.hop_left = 1 + length;
            words.push_front(Header { length: length as u8, ..header }.word());
        }
        let Some(word) = words.front().copied() else { return false };
        if !port.write(network, word) {
            return false;
        }
        self.hop_left = self.hop_left.saturating_sub(1);
        self.words_moved[0] += 1;
        words.pop_front();
        if let Some(number) = next.number.take() {
            self.entered.push_back((number, port.now));
            self.idles_left = self.idles;
        }
        if next.words.is_empty() {
            self.to_come.pop_front();
            // The next packet arrives now if it should have arrived earlier.
            if let Some(next) = self.to_come.front() {
                self.stood = self.stood.max(now.saturating_sub(next.at));
            }
        }
        true
    }

    /// Stores the tails of the packets that arrive next, if there is room: of two packets, if
    /// memories are told over the memory network before the heads go.
    fn keep_rests(&mut self, port: &Port<'_>) {
        let now = self.base + port.now;
        let ahead = 1 + usize::from(self.rests.tells_memory());
        for message in self.to_come.iter_mut().take(ahead) {
            if message.at.saturating_add(self.stood) > now {
                break;
            }
            let turn = message.turn;
            if let Some((place, rest)) = message.rest.take_if(|_| self.rests.has_room(turn)) {
                let (word, before) = self.rests.keep(turn, rest, port);
                message.words[place] = word;
                if let Some(count) = before.len().checked_sub(1) {
                    message.before.push_back(count as u32);
                }
                message.before.extend(before);
                message.waits = self.rests.memory(turn);
            }
            if message.rest.is_some() {
                break;
            }
        }
        // Each memory confirms in order, but one memory may confirm before another that was told
        // earlier.
        for message in self.to_come.iter_mut().take(ahead) {
            message.waits.take_if(|memory| self.rests.is_confirmed(*memory));
        }
    }

    /// Returns the number of words that went into the chip, and that came out of it.
    pub fn words(&self) -> [u64; 2] {
        self.words_moved
    }

    fn receive(&mut self, port: &mut Port<'_>) -> bool {
        let Some(word) = port.read(Network::Static1) else { return false };
        self.words_moved[1] += 1;
        if self.missing == 0 {
            // A 0 says that the packet continues after the next message.
            self.missing = if word == 0 { 0 } else { word + 1 };
            self.line.iter_mut().for_each(OutLine::begins);
            return true;
        }
        self.words.push(word);
        self.missing -= 1;
        if self.missing == 0 {
            if self.line.is_some() {
                self.takes_queued(port);
                return true;
            }
            let words = std::mem::take(&mut self.words);
            if words[0] != IDLE {
                self.rests.take(Departure::of(&words, self.beside, port.now, None), false, port);
            }
        }
        true
    }

    /// Takes a complete packet of the queue here.
    fn takes_queued(&mut self, port: &Port<'_>) {
        let words = std::mem::take(&mut self.words);
        let left = Departure::of(&words[2..], self.beside, port.now, Some(sent(&words)));
        self.rests.take(left, true, port);
    }

    /// Lets complete packets leave or go to the line. Returns whether there were any.
    fn leave(&mut self, now: u64) -> bool {
        let mut has_left = false;
        while let Some((left, to_line)) = self.rests.next() {
            has_left = true;
            match self.line.as_mut().filter(|_| to_line) {
                Some(line) => line.takes(now, left),
                None => self.left.push_back(Departure { cycle: now, ..left }),
            }
        }
        has_left
    }

    /// Lets packets leave by the line. Returns whether some leave, now or later, or whether the
    /// tile was told that there is room.
    fn cycle_line(&mut self, port: &mut Port<'_>) -> bool {
        let Some(line) = &mut self.line else { return false };
        let before = self.left.len();
        self.left.extend(std::iter::from_fn(|| line.next_left(port.now)));
        let is_receiving = self.missing > 0 || !self.words.is_empty();
        let can_tell = !is_receiving && self.rests.is_between();
        let is_told = can_tell && line.tell(port, self.rests.to_line());
        is_told || self.left.len() > before || line.next().is_some()
    }

    /// Takes a word of the general network. A departure begins with a word of its serial number and
    /// the number of its words. Messages of other senders may interrupt it. A message from the
    /// queue here is the beginning of a packet that it dropped.
    fn receive_message(&mut self, port: &mut Port<'_>) -> bool {
        let Some(word) = port.read(Network::General) else { return false };
        let Some((header, missing)) = self.message else {
            let header = Header::of(word);
            self.message = (header.length > 0).then_some((header, header.length));
            return true;
        };
        self.message = (missing > 1).then_some((header, missing - 1));
        if self.beside == Beside::Rest && self.rests.takes(header, word, port) {
            return true;
        }
        if header.user == QUEUED {
            self.line.iter_mut().for_each(OutLine::begins);
            self.words.push(word);
            // The header and number of the message to the queue, then the words. The number has
            // their count.
            if let [_, number, ..] = self.words[..]
                && self.words.len() as u32 == 2 + (number & 0xffff)
            {
                self.takes_queued(port);
            }
            return true;
        }
        let sender = header.origin;
        let words = self.parts.entry(sender).or_default();
        words.push(word);
        if sender == port.tile && self.line.is_some() {
            if self.message.is_none() {
                let words = std::mem::take(words);
                let left = Departure::of(&words[2..], self.beside, port.now, Some(sent(&words)));
                self.rests.take(Departure { is_dropped: true, ..left }, false, port);
            }
        } else if words.len() as u32 == 1 + (words[0] & 0xffff) {
            let words = std::mem::take(words);
            let sent = Some((sender, (words[0] >> 16) as u16));
            self.rests.take(Departure::of(&words[1..], self.beside, port.now, sent), false, port);
        }
        true
    }
}

impl Device for PacketPort {
    fn cycle(&mut self, port: &mut Port<'_>) -> bool {
        let is_received = self.receive(port) | self.receive_message(port);
        let has_left = self.leave(port.now);
        let is_on_line = self.cycle_line(port);
        let mut has_moved = false;
        if self.beside == Beside::Rest {
            self.keep_rests(port);
            has_moved = self.rests.cycle(port, self.hop_left == 0);
        }
        let now = self.base + port.now;
        let is_due = |next: &&Message| next.at.saturating_add(self.stood) <= now;
        let due = self.to_come.front().filter(is_due);
        let is_full =
            |next: &Message| next.rest.is_some() || next.waits.is_some() && next.before.is_empty();
        self.is_full = due.is_some_and(is_full);
        self.is_due = due.is_some() && !self.is_full;
        if !self.is_due && self.idles_left > 0 {
            self.idles_left -= 1;
            self.to_come.push_front(Message { words: [1, IDLE, 0].into(), ..Message::default() });
            self.is_due = true;
        }
        // A line on which a packet is arriving counts as active.
        let is_coming = !self.is_due && !self.is_full && !self.to_come.is_empty();
        let comes = self.awaited > 0 || is_coming;
        let is_sent = self.send(port);
        is_received || has_left || has_moved || is_sent || comes || is_on_line
    }

    fn next(&self, _: u64) -> u64 {
        // A message that is due waits for room.
        let next = self.to_come.front().filter(|_| !self.is_due && !self.is_full);
        let comes = next.map(|next| next.at.saturating_add(self.stood).saturating_sub(self.base));
        let leaves = self.line.as_ref().and_then(OutLine::next);
        comes.into_iter().chain(leaves).min().unwrap_or(u64::MAX)
    }

    fn waits_for(&self) -> Option<(Network, bool)> {
        let rest = self.rests.awaits().or(self.is_full.then_some(Network::General));
        match rest {
            Some(network) => Some((network, true)),
            None => {
                let network = if self.hop.is_some() { Network::General } else { Network::Static1 };
                self.is_due.then_some((network, false))
            }
        }
    }
}

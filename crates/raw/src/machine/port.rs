//! The device at which packets of a chain enter and leave the chip.

use std::collections::{BTreeMap, VecDeque};

use wireloom_codegen_tile::{ALIGN, IDLE, QUEUED, Way};
use wireloom_isa::raw::Network;

use super::mapping::Place;
use super::out_line::OutLine;
use super::rests::{Card, MESSAGE_WORDS, Reference, Rests};
use crate::device::{Device, Port};
use crate::message::Header;

/// A packet that has left, or a thread's end without one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// The side word.
    pub side: u32,
    /// The port on which its packet came, if that may be another than the thread's.
    pub ingress: Option<u16>,
    /// The first word and the packet's words, if there is a packet: those that the tiles had.
    pub words: Vec<u32>,
    /// The rest of the packet that went past the tiles, and by what it is known.
    pub rest: Vec<u8>,
    pub reference: Option<Reference>,
    /// The cycle of the last word.
    pub cycle: u64,
    /// The tile that sent it over the general network, and its number there, modulo 2^16.
    pub sent: Option<(Place, u16)>,
    /// Whether it found no room in the queue of its port: only its first word is here.
    pub is_dropped: bool,
}

impl Left {
    /// What has left, from words that are the side word and what follows it.
    fn of(words: &[u32], beside: Beside, cycle: u64, sent: Option<(Place, u16)>) -> Self {
        let word = words.get(1);
        let ingress = word.filter(|_| beside == Beside::Ingress).map(|word| *word as u16);
        let reference = word.filter(|_| beside == Beside::Rest);
        let reference = reference.and_then(|word| Reference::of(*word));
        let side = words[0];
        let is_packet = matches!(Way::of(side), Way::Port | Way::Core);
        // What has no packet may have a word without meaning: a message has two at least.
        let before = 1 + usize::from(beside != Beside::Nothing);
        let words = words[if is_packet { before } else { words.len() }..].to_vec();
        let rest = Vec::new();
        Self { side, ingress, words, rest, reference, cycle, sent, is_dropped: false }
    }

    /// The port in the first word.
    pub fn port(&self) -> u16 {
        self.words.first().map_or(0, |word| (word >> 16) as u16)
    }

    /// The packet's bytes.
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

/// What goes beside the side word of what leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beside {
    /// No word.
    #[default]
    Nothing,
    /// The port on which the packet came.
    Ingress,
    /// Where the rest of the packet is.
    Rest,
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
    /// Words that go before these: the rest of the packet, with their number but one, or 0, if rests go to memories
    /// by switches.
    before: VecDeque<u32>,
    /// What does not go into the chip, and the place of the word by which it is known.
    rest: Option<(usize, Vec<u8>)>,
    /// The memory to which that is being written.
    waits: Option<Place>,
    /// Which of the chains that get packets of this card it is for.
    turn: usize,
}

/// Writes packets to the first static network, and reads what leaves. Both are messages: the number
/// of words but one, then these. Over the general network packets go without that number, in messages of 31 words.
#[derive(Clone, Debug, Default)]
pub struct PacketPort {
    /// Messages in the order in which they come.
    to_come: VecDeque<Message>,
    /// The chains that get packets in turn, and whose turn it is.
    chains: usize,
    turn: usize,
    /// The cycle since the start before the chip's first one.
    pub base: u64,
    /// The cycles for which the line has stood still: it waits until the packet before has been
    /// handed over.
    pub stood: u64,
    /// Packets that come and are not among the messages yet.
    pub awaited: usize,
    /// Whether the next message can go, and whether it is a packet whose rest waits for room.
    is_due: bool,
    is_full: bool,
    /// The cycles at which packets began to enter, by their numbers.
    pub entered: VecDeque<(u64, u64)>,
    /// Messages without a packet that follow one that no other follows in time, and those that are
    /// still to come: tiles that take packets in turn send none on before the others have theirs.
    idles: usize,
    idles_left: usize,
    /// The header of messages to the chain without a length, if they go over the general network; and how many
    /// words of the one that goes are missing.
    hop: Option<Header>,
    hop_left: usize,
    /// What goes beside the side word of what leaves.
    beside: Beside,
    /// The rests of packets that come or leave here.
    rests: Rests,
    /// The message that comes, and how many words of it are missing.
    words: Vec<u32>,
    missing: u32,
    /// The message of the general network that comes: its header, and how many words are missing;
    /// and the words from each sender.
    message: Option<(Header, u8)>,
    parts: BTreeMap<Place, Vec<u32>>,
    /// The line, if packets come from a queue.
    line: Option<OutLine>,
    /// What has left.
    pub left: VecDeque<Left>,
    /// Words that went into the chip, and that came out of it.
    words_moved: [u64; 2],
}

impl PacketPort {
    /// A port for so many chains that sends so many messages without a packet after one that no other follows in time,
    /// over a static network or under a header, and takes what leaves, with a word beside it or without. Some packets
    /// have rests.
    pub fn new(
        chains: usize,
        idles: usize,
        hop: Option<Header>,
        beside: Beside,
        rests: Rests,
    ) -> Self {
        Self { chains, idles, hop, beside, rests, ..Self::default() }
    }

    /// A port that takes what leaves from a queue, for a line.
    pub fn of_queue(line: OutLine, beside: Beside, rests: Rests) -> Self {
        Self { line: Some(line), beside, rests, ..Self::default() }
    }

    /// Puts a packet's message into the queue. The packet comes in a cycle since the start. Its rest does
    /// not go into the chip, but the word by which it is known, which has a place in the message.
    pub fn offer(&mut self, number: u64, at: u64, words: Vec<u32>, rest: Option<(usize, Vec<u8>)>) {
        let (number, words) = (Some(number), words.into());
        let is_told = self.rests.is_switched() && rest.is_none();
        let before = is_told.then_some(0).into_iter().collect();
        let turn = self.turn;
        self.turn = (turn + 1) % self.chains;
        self.to_come.push_back(Message { number, at, words, before, rest, waits: None, turn });
    }

    /// What the card here keeps for each of its chains, if packets have rests.
    pub fn cards(&self) -> &[Card] {
        &self.rests.kept
    }

    /// Packets that have not wholly gone into the chip.
    pub fn waiting(&self) -> usize {
        self.to_come.len()
    }

    /// Writes the next word of a message, if one has come; returns whether it did.
    fn send(&mut self, port: &mut Port<'_>) -> bool {
        let now = self.base + port.now;
        let Some(next) = self.to_come.front_mut().filter(|_| self.is_due) else { return false };
        let words = if next.before.is_empty() { &mut next.words } else { &mut next.before };
        let network = if self.hop.is_some() { Network::General } else { Network::Static1 };
        if let Some(header) = self.hop
            && self.hop_left == 0
        {
            // Between its messages the port may have begun one for a rest.
            if !self.rests.is_general_free() || !port.has_room(network) {
                return false;
            }
            // The number of words is for switches.
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
            // What should have come by now comes now.
            if let Some(next) = self.to_come.front() {
                self.stood = self.stood.max(now.saturating_sub(next.at));
            }
        }
        true
    }

    /// Keeps the rests of packets that come next, if there is room: of two, if memories have to be told over the memory
    /// network before their heads go.
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
        // Each memory confirms in order; one may do so before another that was told earlier.
        for message in self.to_come.iter_mut().take(ahead) {
            message.waits.take_if(|memory| self.rests.is_confirmed(*memory));
        }
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
            if self.line.is_some() {
                self.takes_queued(port);
                return true;
            }
            let words = std::mem::take(&mut self.words);
            if words[0] != IDLE {
                self.rests.take(Left::of(&words, self.beside, port.now, None), false, port);
            }
        }
        true
    }

    /// Takes a packet of the queue here, all of whose words are there.
    fn takes_queued(&mut self, port: &Port<'_>) {
        let words = std::mem::take(&mut self.words);
        let left = Left::of(&words[2..], self.beside, port.now, Some(sent(&words)));
        self.rests.take(left, true, port);
    }

    /// Lets what is whole leave, or go to the line; returns whether something did.
    fn leave(&mut self, now: u64) -> bool {
        let mut has_left = false;
        while let Some((left, to_line)) = self.rests.next() {
            has_left = true;
            match self.line.as_mut().filter(|_| to_line) {
                Some(line) => line.takes(now, left),
                None => self.left.push_back(Left { cycle: now, ..left }),
            }
        }
        has_left
    }

    /// Lets packets leave by the line; returns whether some do, now or later, or the tile is told
    /// that there is room.
    fn cycle_line(&mut self, port: &mut Port<'_>) -> bool {
        let Some(line) = &mut self.line else { return false };
        let before = self.left.len();
        self.left.extend(std::iter::from_fn(|| line.next_left(port.now)));
        let is_receiving = self.missing > 0 || !self.words.is_empty();
        let can_tell = !is_receiving && self.rests.is_between();
        let is_told = can_tell && line.tell(port, self.rests.to_line());
        is_told || self.left.len() > before || line.next().is_some()
    }

    /// Takes a word of the general network. What leaves begins with a word of its number and the
    /// number of its words; messages of other senders may come before it is over. A message of the
    /// queue here is the beginning of a packet that found no room.
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
            // Header and number of the message to the queue, and the words of which that says how many there are.
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
                let left = Left::of(&words[2..], self.beside, port.now, Some(sent(&words)));
                self.rests.take(Left { is_dropped: true, ..left }, false, port);
            }
        } else if words.len() as u32 == 1 + (words[0] & 0xffff) {
            let words = std::mem::take(words);
            let sent = Some((sender, (words[0] >> 16) as u16));
            self.rests.take(Left::of(&words[1..], self.beside, port.now, sent), false, port);
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
        // A line on which a packet comes is no standstill.
        let is_coming = !self.is_due && !self.is_full && !self.to_come.is_empty();
        let comes = self.awaited > 0 || is_coming;
        let is_sent = self.send(port);
        is_received || has_left || has_moved || is_sent || comes || is_on_line
    }

    fn next(&self, _: u64) -> u64 {
        // One that is due waits for room.
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

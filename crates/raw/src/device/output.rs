//! Line cards that take packets from the chip.

use std::collections::BTreeMap;

use wireloom_isa::raw::Network;

use super::fetch::{Fetch, Place};
use super::line::{LineClock, LineRate, words_after};
use super::{Device, Port};
use crate::message::Header;
use crate::tile::kind;

/// An output card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputSpec {
    /// The network from which the card takes packets. On the general dynamic network packets come
    /// in messages: for each sender, the words after the headers make up the packets. Words after a
    /// packet in its message are padding.
    pub network: Network,
    pub rate: LineRate,
    /// The tile that gets an interrupt whenever the card can take the next packet.
    pub interrupts: Option<(u8, u8)>,
    /// The memories from which the card fetches the tails of packets whose messages give an
    /// address.
    pub memories: Vec<Place>,
    /// Limit on the lines that the card requests at a time ("up to four outstanding", the paper).
    pub outstanding: usize,
    /// Whether the number of words less one precedes each packet.
    pub is_counted: bool,
}

impl OutputSpec {
    /// Creates a card whose line takes packets as fast as the chip sends them.
    pub fn new(network: Network) -> Self {
        let rate = LineRate::UNLIMITED;
        Self {
            network,
            rate,
            interrupts: None,
            memories: Vec::new(),
            outstanding: 4,
            is_counted: false,
        }
    }
}

/// A packet that left the chip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The output port in the packet's first word.
    pub port: u16,
    pub bytes: Vec<u8>,
    /// The cycle of the first word.
    pub begun: u64,
    /// The cycle of the last word.
    pub ended: u64,
}

/// The meaning of a word from the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meant {
    /// The next word of a packet.
    Packet,
    /// A word of a message that asks the card to fetch the packet's tail; the next variant is the
    /// last such word.
    BeforeFetch,
    LastBeforeFetch,
    /// The last word of a message that asks the card to fetch the tail from the input card that has
    /// kept it.
    LastBeforeKept,
}

/// A packet that has arrived in part.
#[derive(Clone, Debug, Default)]
struct Partial {
    words: Vec<u32>,
    begun: u64,
}

/// A line card that takes packets from the chip and sends them on a line.
#[derive(Clone, Debug)]
pub struct OutputCard {
    spec: OutputSpec,
    line: LineClock,
    /// The first cycle in which the card takes a word.
    next: u64,
    /// Incomplete packets by sender. On a static network there is one sender.
    partial: BTreeMap<(u8, u8), Partial>,
    /// The header of the incoming message, and the number of its words that are missing.
    message: Option<(Header, u8)>,
    /// Whether the rest of the message is padding.
    is_padding: bool,
    fetch: Option<Fetch>,
    interrupt: Option<u32>,
    is_ready: bool,
    /// Words of packets that have arrived.
    pub words: u64,
    /// The packets, in the order of their last words.
    pub delivered: Vec<Delivered>,
}

impl OutputCard {
    pub fn new(spec: OutputSpec) -> Self {
        Self {
            line: LineClock::new(spec.rate),
            spec,
            next: 0,
            partial: BTreeMap::new(),
            message: None,
            is_padding: false,
            fetch: None,
            interrupt: None,
            is_ready: false,
            words: 0,
            delivered: Vec::new(),
        }
    }

    /// Whether a packet has begun to arrive and is incomplete.
    pub fn is_within_packet(&self) -> bool {
        self.pending_words() > 0 || self.fetch.is_some()
    }

    /// Returns the words of incomplete packets.
    pub fn pending_words(&self) -> usize {
        self.partial.values().map(|partial| partial.words.len()).sum()
    }

    /// Takes a word from the network. Returns it with its sender and its meaning if it belongs to a
    /// packet.
    fn word(&mut self, port: &mut Port<'_>) -> Option<((u8, u8), u32, Meant)> {
        if self.spec.network != Network::General {
            return port.read(self.spec.network).map(|word| ((0, 0), word, Meant::Packet));
        }
        if self.message.is_none() {
            let header = Header::of(port.read(Network::General)?);
            self.message = (header.length > 0).then_some((header, header.length));
            return None;
        }
        let (header, left) = self.message.as_mut()?;
        let word = port.read(Network::General)?;
        let sender = header.origin;
        if self.is_padding {
            *left -= 1;
            if *left == 0 {
                (self.message, self.is_padding) = (None, false);
            }
            return None;
        }
        *left -= 1;
        let meant = match (header.user, *left) {
            (kind::FETCH, 0) => Meant::LastBeforeFetch,
            (kind::FETCH_KEPT, 0) => Meant::LastBeforeKept,
            (kind::FETCH | kind::FETCH_KEPT, _) => Meant::BeforeFetch,
            _ => Meant::Packet,
        };
        if *left == 0 {
            self.message = None;
        }
        Some((sender, word, meant))
    }

    fn take(&mut self, port: &mut Port<'_>) -> bool {
        let before = self.message;
        let Some((sender, word, meant)) = self.word(port) else {
            return self.message != before;
        };
        let partial = self.partial.entry(sender).or_default();
        if partial.words.is_empty() {
            partial.begun = port.now;
        }
        partial.words.push(word);
        self.words += 1;
        // The words before the packet's bytes do not go to the line.
        let first = usize::from(self.spec.is_counted);
        if let Some(more) = partial.words.len().checked_sub(2 + first) {
            let left = (partial.words[first] as usize & 0xffff).saturating_sub(4 * more);
            self.next = self.line.take(port.now, left.min(4));
        }
        if matches!(meant, Meant::LastBeforeFetch | Meant::LastBeforeKept) {
            // The first word, the address of the tail, and the packet's words in the message.
            let mut words = std::mem::take(&mut partial.words);
            if words.len() >= 2 {
                let address = words.remove(1);
                let (begun, places) = (partial.begun, &self.spec.memories);
                self.fetch = Some(match meant {
                    Meant::LastBeforeKept => Fetch::kept(words, begun, address, places),
                    _ => Fetch::new(words, begun, address, places, self.spec.outstanding),
                });
            }
        } else if meant == Meant::Packet && is_whole(&partial.words, self.spec.is_counted) {
            let mut words = std::mem::take(&mut partial.words);
            words.drain(..usize::from(self.spec.is_counted));
            let begun = partial.begun;
            self.is_padding = self.message.is_some();
            self.deliver(&words, begun, port.now);
        }
        true
    }

    fn deliver(&mut self, words: &[u32], begun: u64, now: u64) {
        let (port, length) = ((words[0] >> 16) as u16, words[0] as usize & 0xffff);
        let mut bytes: Vec<u8> = words[1..].iter().flat_map(|word| word.to_be_bytes()).collect();
        bytes.truncate(length);
        self.delivered.push(Delivered { port, bytes, begun, ended: now });
        self.is_ready = false;
    }
}

/// Whether a packet is complete. Its number of words comes first if words are counted. Otherwise
/// the first word has the packet's length.
fn is_whole(words: &[u32], is_counted: bool) -> bool {
    if is_counted {
        words.len() as u64 == u64::from(words[0]) + 2
    } else {
        words.len() == 1 + words_after(words[0])
    }
}

impl Device for OutputCard {
    fn cycle(&mut self, port: &mut Port<'_>) -> bool {
        let mut moves = false;
        if let Some(fetch) = &mut self.fetch {
            moves |= fetch.cycle(port);
            if let Some((words, begun)) = fetch.done() {
                self.next = self.line.take(port.now, 4 * (words.len() - 1));
                self.fetch = None;
                self.deliver(&words, begun, port.now);
            }
            return moves;
        }
        let is_between = self.message.is_none() && self.pending_words() == 0;
        // The first word describes the packet and does not go to the line.
        if port.now < self.next && !(is_between && self.spec.network != Network::General) {
            return true;
        }
        if let Some(destination) = self.spec.interrupts
            && !self.is_ready
            && is_between
            && port.now >= self.next
        {
            let header = Header { user: kind::INTERRUPT, destination, ..Header::default() };
            (self.interrupt, self.is_ready) = (Some(header.word()), true);
        }
        if let Some(word) = self.interrupt
            && port.write(Network::Memory, word)
        {
            (self.interrupt, moves) = (None, true);
        }
        self.take(port) || moves
    }

    fn waits_for(&self) -> Option<(Network, bool)> {
        match &self.fetch {
            Some(_) => Some((Network::Memory, true)),
            None => (self.pending_words() > 0).then_some((self.spec.network, true)),
        }
    }
}

//! Line cards that hand packets to the chip.

use std::collections::VecDeque;

use wireloom_isa::raw::Network;

use super::line::{LineClock, LineRate, framed};
use super::tail::{Rest, Rests};
use super::{Device, Port};
use crate::message::Header;
use crate::tile::kind;

/// Policy for packets that the chip cannot take yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// The line stops until the previous packet has been handed over. No packet is lost.
    Stall,
    /// Packets wait in a buffer of this many bytes. A packet that does not fit is lost.
    Bytes(usize),
}

/// An input card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSpec {
    /// The port number in the first word of each packet.
    pub port: u16,
    /// The network on which packets leave the card: a static one, or with `copies` the general one.
    pub network: Network,
    pub rate: LineRate,
    /// The policy for packets that the chip cannot take.
    pub buffer: Buffer,
    /// Minimum words of a packet after the first. Shorter packets are padded with zeros.
    pub least_words: usize,
    /// The tile that gets an interrupt before each packet is handed over.
    pub interrupts: Option<(u8, u8)>,
    /// Packets of up to this many bytes cause no interrupt.
    pub quiet_bytes: usize,
    /// Whether the tile also gets an interrupt at the start.
    pub announces: bool,
    /// Where the tail of a packet goes.
    pub rest: Rest,
    /// The tiles that each get the head of a packet as a message. If empty, the head goes as words
    /// on a static network.
    pub copies: Vec<(u8, u8)>,
    /// Whether the number of words less one precedes each packet, so that switches can count words
    /// without a tile.
    pub is_counted: bool,
}

impl InputSpec {
    /// Creates a card that hands packets to a network as fast as the chip takes them.
    pub fn new(port: u16, network: Network) -> Self {
        Self {
            port,
            network,
            rate: LineRate::UNLIMITED,
            buffer: Buffer::Stall,
            least_words: 0,
            interrupts: None,
            quiet_bytes: 0,
            announces: false,
            rest: Rest::Follows,
            copies: Vec::new(),
            is_counted: false,
        }
    }
}

/// Counts of a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InputCounts {
    /// Packets that arrived over the line.
    pub received: u64,
    /// Packets that have entered the chip completely.
    pub sent: u64,
    /// Packets that were lost because the buffer was full.
    pub lost: u64,
    /// Cycles in which the line was stopped.
    pub stalled: u64,
}

/// When a packet arrived, and when its first word entered the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The cycle in which the last bit of the packet had arrived.
    pub arrived: u64,
    /// The cycle of the first word.
    pub begun: u64,
}

/// An input card. It takes packets from a line and hands each to the chip once all of it has
/// arrived.
pub struct InputCard {
    spec: InputSpec,
    packets: Box<dyn Iterator<Item = Vec<u8>> + Send>,
    /// Packets that come on the line before the packets of the iterator.
    offered: VecDeque<Vec<u8>>,
    line: LineClock,
    /// The last cycle in which the line was stopped.
    stood_until: u64,
    /// The packet on the line, and the cycle in which it ends.
    coming: Option<(u64, Vec<u8>)>,
    /// Packets that have arrived, with their cycles.
    waiting: VecDeque<(u64, Vec<u8>)>,
    waiting_bytes: usize,
    sending: VecDeque<u32>,
    interrupt: Option<u32>,
    rests: Rests,
    counts: InputCounts,
    /// Whether more packets will be offered. If so, the card always counts as active.
    pub is_awaiting: bool,
    /// Words that the chip has taken.
    pub words: u64,
    /// The packets that have begun to enter the chip, in order.
    pub entered: Vec<Entered>,
}

impl InputCard {
    /// Creates a card that gets packets from an iterator.
    pub fn new(
        spec: InputSpec,
        packets: impl IntoIterator<Item = Vec<u8>, IntoIter: Send + 'static>,
    ) -> Self {
        Self {
            packets: Box::new(packets.into_iter()),
            offered: VecDeque::new(),
            line: LineClock::new(spec.rate),
            interrupt: interrupt(&spec).filter(|_| spec.announces),
            spec,
            rests: Rests::default(),
            stood_until: 0,
            coming: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            sending: VecDeque::new(),
            counts: InputCounts::default(),
            is_awaiting: false,
            words: 0,
            entered: Vec::new(),
        }
    }

    pub fn counts(&self) -> InputCounts {
        self.counts
    }

    /// Puts a packet on the line.
    pub fn offer(&mut self, packet: Vec<u8>) {
        self.offered.push_back(packet);
    }

    /// Returns the number of packets on the line and in the card, including the one being handed
    /// over.
    pub fn holds(&self) -> usize {
        let coming = usize::from(self.coming.is_some()) + usize::from(!self.sending.is_empty());
        self.offered.len() + coming + self.waiting.len()
    }

    /// Whether all packets have been handed over or lost.
    pub fn is_done(&self) -> bool {
        self.holds() == 0 && self.rests.is_empty()
    }

    /// Takes the packets that have arrived up to now. A stopped line begins its next packet when it
    /// resumes.
    fn receive(&mut self, now: u64) {
        let is_unlimited = self.spec.rate == LineRate::UNLIMITED;
        loop {
            if self.coming.is_none() {
                let next = self.offered.pop_front().or_else(|| self.packets.next());
                let Some(packet) = next else { return };
                let from = if is_unlimited { now } else { self.stood_until };
                self.coming = Some((self.line.take(from, packet.len()), packet));
            }
            if self.spec.buffer == Buffer::Stall && !self.waiting.is_empty() {
                let has_come = self.coming.as_ref().is_some_and(|(end, _)| *end <= now);
                self.counts.stalled += u64::from(has_come);
                self.stood_until = if has_come { now } else { self.stood_until };
                return;
            }
            let Some((end, packet)) = self.coming.take_if(|(end, _)| *end <= now) else { return };
            self.counts.received += 1;
            match self.spec.buffer {
                Buffer::Bytes(room) if self.waiting_bytes + packet.len() > room => {
                    self.counts.lost += 1;
                }
                _ => {
                    self.waiting_bytes += packet.len();
                    self.waiting.push_back((end, packet));
                }
            }
            if is_unlimited {
                return;
            }
        }
    }

    /// Begins the next packet, if there is one and there is room.
    fn begin(&mut self, port: &Port<'_>) {
        let Some((_, packet)) = self.waiting.front() else { return };
        if !self.rests.has_room(&self.spec.rest, packet.len().div_ceil(4)) {
            return;
        }
        let Some((arrived, packet)) = self.waiting.pop_front() else { return };
        self.waiting_bytes -= packet.len();
        let mut words = framed(self.spec.port, &packet);
        words.resize(words.len().max(1 + self.spec.least_words), 0);
        if self.spec.is_counted {
            words.insert(0, words.len() as u32 - 1);
        }
        let head = self.spec.rest.head().saturating_add(1).min(words.len());
        let rest = words.split_off(head);
        self.rests.take(&self.spec.rest, self.copied(words, port), &rest, port);
        self.entered.push(Entered { arrived, begun: port.now });
        if packet.len() > self.spec.quiet_bytes || self.spec.quiet_bytes == 0 {
            self.interrupt = interrupt(&self.spec);
        }
    }

    /// Returns the words of a head as the network carries them.
    fn copied(&self, words: Vec<u32>, port: &Port<'_>) -> Vec<u32> {
        if self.spec.copies.is_empty() {
            return words;
        }
        let length = words.len() as u8;
        let message = |destination: &(u8, u8)| {
            let (origin, destination) = (port.tile, *destination);
            let header = Header { length, origin, destination, ..Header::default() };
            std::iter::once(header.word()).chain(words.iter().copied()).collect::<Vec<_>>()
        };
        self.spec.copies.iter().flat_map(message).collect()
    }
}

/// Returns the word that interrupts the card's tile.
fn interrupt(spec: &InputSpec) -> Option<u32> {
    spec.interrupts.map(|destination| {
        Header { user: kind::INTERRUPT, destination, ..Header::default() }.word()
    })
}

impl Device for InputCard {
    fn cycle(&mut self, port: &mut Port<'_>) -> bool {
        self.receive(port.now);
        if self.sending.is_empty() {
            self.begin(port);
            self.sending = self.rests.next().unwrap_or_default().into();
        }
        let mut moves = self.rests.cycle(&self.spec.rest, port);
        if let Some(word) = self.interrupt
            && port.write(Network::Memory, word)
        {
            (self.interrupt, moves) = (None, true);
        }
        let Some(&word) = self.sending.front() else {
            // A packet on the line arrives without input from the chip.
            return moves || self.coming.is_some() || self.is_awaiting;
        };
        if port.write(self.spec.network, word) {
            self.sending.pop_front();
            self.words += 1;
            self.counts.sent += u64::from(self.sending.is_empty());
            moves = true;
        }
        moves
    }

    fn waits_for(&self) -> Option<(Network, bool)> {
        (!self.sending.is_empty()).then_some((self.spec.network, false))
    }
}

//! Line cards that hand packets to the chip.

use std::collections::VecDeque;

use wireloom_isa::raw::Network;

use super::line::{LineClock, LineRate, framed};
use super::rest::{Rest, Rests};
use super::{Device, Port};
use crate::message::Header;
use crate::tile::kind;

/// What a card does with packets that the chip cannot take yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// The line stops until the packet before has been handed over: nothing is lost.
    Stall,
    /// Packets wait in this number of bytes; one that does not fit is lost.
    Bytes(usize),
}

/// A card of the chip's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSpec {
    /// The number of the port, as the first word of a packet says it.
    pub port: u16,
    /// The network on which packets leave the card: a static one, or with `copies` the general one.
    pub network: Network,
    /// The rate of the line.
    pub rate: LineRate,
    /// What happens to packets that the chip cannot take.
    pub buffer: Buffer,
    /// Words of a packet after the first, at least: shorter packets are padded with zeros.
    pub least_words: usize,
    /// The tile that gets an interrupt for each packet that is about to be handed over.
    pub interrupts: Option<(u8, u8)>,
    /// Packets of up to so many bytes come without an interrupt.
    pub quiet_bytes: usize,
    /// Whether the tile gets an interrupt at the start too.
    pub announces: bool,
    /// Where the rest of a packet goes.
    pub rest: Rest,
    /// The tiles that get the head of a packet, as a message each. Without any it is words on a
    /// static network.
    pub copies: Vec<(u8, u8)>,
    /// Whether the number of a packet's words but one goes before them, so that switches can count
    /// them without a tile.
    pub is_counted: bool,
}

impl InputSpec {
    /// A card that hands packets to a network as fast as the chip takes them.
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
    /// Packets that came over the line.
    pub received: u64,
    /// Packets that the chip has taken wholly.
    pub sent: u64,
    /// Packets that found no room in the buffer.
    pub lost: u64,
    /// Cycles in which the line stood still.
    pub stalled: u64,
}

/// When a packet came, and when its first word was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// The cycle in which its last bit had come over the line.
    pub arrived: u64,
    /// The cycle of its first word.
    pub begun: u64,
}

/// A line card that takes packets from a line and hands them to the chip, each as soon as it has
/// come wholly.
pub struct InputCard {
    spec: InputSpec,
    packets: Box<dyn Iterator<Item = Vec<u8>> + Send>,
    /// Packets that come on the line before those.
    offered: VecDeque<Vec<u8>>,
    line: LineClock,
    /// The last cycle in which the line stood still.
    stood_until: u64,
    /// The packet on the line, and the cycle in which it is over.
    coming: Option<(u64, Vec<u8>)>,
    /// Packets that have come, with their cycles.
    waiting: VecDeque<(u64, Vec<u8>)>,
    waiting_bytes: usize,
    sending: VecDeque<u32>,
    interrupt: Option<u32>,
    rests: Rests,
    counts: InputCounts,
    /// Whether packets will be offered: then the card never stands still for good.
    pub is_awaiting: bool,
    /// Words that the chip has taken.
    pub words: u64,
    /// The packets that the chip has begun to take, in order.
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

    /// Its counts.
    pub fn counts(&self) -> InputCounts {
        self.counts
    }

    /// Puts a packet on the line.
    pub fn offer(&mut self, packet: Vec<u8>) {
        self.offered.push_back(packet);
    }

    /// Packets on the line and in the card, that which is being handed over among them.
    pub fn holds(&self) -> usize {
        let coming = usize::from(self.coming.is_some()) + usize::from(!self.sending.is_empty());
        self.offered.len() + coming + self.waiting.len()
    }

    /// Whether all packets have been handed over or lost.
    pub fn is_done(&self) -> bool {
        self.holds() == 0 && self.rests.is_empty()
    }

    /// Takes from the line what has come until now. A line that stood still begins its next packet
    /// when it goes on.
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

    /// Begins with the next packet, if there is one and there is room.
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

    /// The words of a head as the network carries them.
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

/// The interrupt of a card's tile.
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
            // A packet that is still on the line comes by itself.
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

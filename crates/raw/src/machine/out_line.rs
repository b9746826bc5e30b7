//! The line at the port of a queue, and its card.
//!
//! The card has room for two packets: one on the line, and the next. Whenever there is room it
//! tells the tile, which may then send a packet. The card takes one word of the packet in each
//! cycle, and sends the packet on the line once it is complete. All of this is assumed: the paper
//! says only that the card indicates when it can take the next packet.

use std::collections::VecDeque;

use wireloom_codegen_tile::Ready;
use wireloom_isa::raw::Network;

use super::port::Departure;
use crate::device::{LineClock, LineRate, Port};
use crate::message::Header;
use crate::tile::kind;

const ROOM: usize = 2;

/// A line with its card.
#[derive(Clone, Debug)]
pub struct OutLine {
    clock: LineClock,
    ready: Ready,
    /// Whether the tile has been told of room and has sent nothing since.
    is_told: bool,
    /// Packets in the card, each with the cycle in which its last byte is on the line.
    leaving: VecDeque<(u64, Departure)>,
}

impl OutLine {
    /// Creates a line of a rate. `ready` is how its card tells the tile that there is room.
    pub fn new(rate: LineRate, ready: Ready) -> Self {
        Self { clock: LineClock::new(rate), ready, is_told: false, leaving: VecDeque::new() }
    }

    /// Notes that the first word of a packet has come.
    pub fn begins(&mut self) {
        self.is_told = false;
    }

    /// Notes that the last word of a packet has come.
    pub fn takes(&mut self, now: u64, left: Departure) {
        let bytes = left.words.first().map_or(0, |first| first & 0xffff);
        self.leaving.push_back((self.clock.take(now, bytes as usize), left));
    }

    /// Returns the next packet that has left.
    pub fn next_left(&mut self, now: u64) -> Option<Departure> {
        self.leaving.front().filter(|(end, _)| *end <= now)?;
        let (cycle, left) = self.leaving.pop_front()?;
        Some(Departure { cycle, ..left })
    }

    /// Tells the tile that there is room, if it does not know. Returns whether a word was sent.
    /// `awaited` packets in the card wait for their tails and take room as well.
    pub fn tell(&mut self, port: &mut Port<'_>, awaited: usize) -> bool {
        if self.is_told || self.leaving.len() + awaited >= ROOM {
            return false;
        }
        self.is_told = match self.ready {
            Ready::Polling => port.write(Network::Static1, 1),
            Ready::Interrupts => {
                let destination = port.tile;
                let user = kind::INTERRUPT;
                let header = Header { user, destination, origin: destination, ..Header::default() };
                port.write(Network::Memory, header.word())
            }
        };
        self.is_told
    }

    /// Returns the cycle in which the next packet has left.
    pub fn next(&self) -> Option<u64> {
        self.leaving.front().map(|(end, _)| *end)
    }
}

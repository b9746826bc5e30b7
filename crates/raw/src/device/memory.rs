//! A memory controller with its memory. It transfers lines over the memory network and streams over
//! a static one.
//!
//! Messages by their user bits (all assumed):
//!
//! | bits | message |
//! |---|---|
//! | 1 | reads the line of an address |
//! | 2 | writes a line: address, 8 words |
//! | 3 | the reply to 1: the line |
//! | 4, 5 | streams words out of the memory (4) or into it (5): address, number of words |
//! | 6 | a device reads a line: address, header of the reply |
//! | 7 | a device writes bytes of a line: address, mask, 8 words |
//! | 10 | asks for a reply without words under the header that it carries |
//!
//! Streams use the first static network, one word a cycle. The mask has a bit for each byte, the
//! first byte's highest. Lines can also be written over the first static network, if
//! `takes_static_messages` is set. Messages of unknown kinds are counted and dropped.

use std::collections::VecDeque;

use wireloom_isa::raw::Network;

use super::{Device, Port};
use crate::cache::{LINE_BYTES, LINE_WORDS};
use crate::message::Header;
use crate::tile::kind;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemorySpec {
    /// The first address of the memory, a multiple of a line's 32 bytes.
    pub base: u32,
    /// The size in bytes, a multiple of 32.
    pub bytes: u32,
    /// Cycles from a request to the first word of its line.
    pub latency_cycles: u32,
    /// Limit on the line requests in progress ("up to four outstanding", the paper). Others wait in
    /// the controller. It accepts all requests, so that requests never block lines on their way
    /// back, which would be a deadlock (assumed).
    pub outstanding: usize,
    /// Limit on the waiting stream commands ("8 commands deep", public).
    pub stream_commands: usize,
    /// Whether the memory accepts no words while it sends some.
    pub is_half_duplex: bool,
    /// Whether words of the first static network that no stream takes are messages.
    pub takes_static_messages: bool,
}

impl MemorySpec {
    /// Creates a full-duplex memory from address 0. Its latency is assumed.
    pub fn full_duplex(bytes: u32) -> Self {
        Self {
            base: 0,
            bytes,
            latency_cycles: 25,
            outstanding: 4,
            stream_commands: 8,
            is_half_duplex: false,
            takes_static_messages: false,
        }
    }
}

/// Access counts of the chips of a memory. Each line and each stream opens a row. A stream opens
/// one more at each end of a row (assumed: rows are closed after each access).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// Rows that were opened and closed.
    pub rows: u64,
    /// Words that were read or written.
    pub words: u64,
}

/// Bytes of a row (assumed: 512 columns of 64 bits).
const ROW_BYTES: u32 = 4096;

/// The reply to a read of a line.
#[derive(Clone, Copy, Debug)]
struct Reply {
    /// The cycle in which the line is ready; none while the request waits.
    ready: Option<u64>,
    address: u32,
    /// The destination and the final side count.
    to: Header,
}

/// A stream.
#[derive(Clone, Copy, Debug)]
struct Stream {
    ready: u64,
    address: u32,
    words: u32,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Memory {
    spec: MemorySpec,
    words: Vec<u32>,
    message: Vec<u32>,
    static_message: Vec<u32>,
    replies: VecDeque<Reply>,
    sending: VecDeque<u32>,
    reads: VecDeque<Stream>,
    writes: VecDeque<Stream>,
    /// Messages that were refused: unknown kind, wrong length, or an address outside the memory.
    pub refused: u64,
    accesses: Accesses,
    /// Requests that have begun and were not taken yet; none if they are not kept.
    begun: Option<Vec<Begun>>,
}

/// A request that a memory has begun to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begun {
    /// The tile that asks, or the tile of the device that asks.
    pub origin: (u8, u8),
    /// The first address.
    pub address: u32,
    /// The number of words from that address on.
    pub words: u32,
    pub is_write: bool,
}

impl Memory {
    /// Creates a memory of zeros.
    pub fn new(spec: MemorySpec) -> Self {
        let words = vec![0; (spec.bytes / 4) as usize];
        Self {
            spec,
            words,
            message: Vec::new(),
            static_message: Vec::new(),
            replies: VecDeque::new(),
            sending: VecDeque::new(),
            reads: VecDeque::new(),
            writes: VecDeque::new(),
            refused: 0,
            accesses: Accesses::default(),
            begun: None,
        }
    }

    /// Sets whether requests that begin are kept for [`take_begun`](Self::take_begun).
    pub fn keep_begun(&mut self, keep: bool) {
        self.begun = keep.then(Vec::new);
    }

    /// Takes the requests that have begun.
    pub fn take_begun(&mut self) -> Vec<Begun> {
        self.begun.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub fn counts(&self) -> Accesses {
        self.accesses
    }

    /// Returns the number of requests that wait or are in progress.
    pub fn waiting(&self) -> usize {
        self.replies.len() + self.reads.len() + self.writes.len()
    }

    /// Returns the word at an address.
    pub fn read(&self, address: u32) -> Option<u32> {
        self.words.get((address.wrapping_sub(self.spec.base) / 4) as usize).copied()
    }

    pub fn spec(&self) -> &MemorySpec {
        &self.spec
    }

    /// Returns the word at an address for writing, if the memory holds it.
    pub fn word(&mut self, address: u32) -> Option<&mut u32> {
        self.words.get_mut((address.wrapping_sub(self.spec.base) / 4) as usize)
    }

    /// Sets the words from an address on. Returns whether the memory holds them all.
    pub fn load(&mut self, address: u32, words: &[u32]) -> bool {
        let begin = (address.wrapping_sub(self.spec.base) / 4) as usize;
        let place = begin.checked_add(words.len()).and_then(|end| self.words.get_mut(begin..end));
        let is_held = place.is_some();
        if let Some(place) = place {
            place.copy_from_slice(words);
        }
        is_held
    }

    fn has_room(&self) -> bool {
        self.reads.len().max(self.writes.len()) < self.spec.stream_commands
    }

    fn receive(&mut self, port: &mut Port<'_>) -> bool {
        let is_busy = self.spec.is_half_duplex && !self.sending.is_empty();
        if is_busy || (self.message.is_empty() && !self.has_room()) {
            return false;
        }
        let Some(word) = port.read(Network::Memory) else { return false };
        self.message.push(word);
        if is_whole(&self.message) {
            let message = std::mem::take(&mut self.message);
            self.take(&message, port.now);
        }
        true
    }

    fn take(&mut self, message: &[u32], now: u64) {
        let header = Header::of(message[0]);
        if self.serve(header, &message[1..], now).is_none() {
            self.refused += 1;
        } else if self.begun.is_some() {
            self.note(header, &message[1..]);
        }
    }

    /// Keeps a request that was served.
    fn note(&mut self, header: Header, body: &[u32]) {
        let line = LINE_WORDS as u32;
        let (words, is_write) = match (header.user, body) {
            (kind::READ_LINE | kind::DMA_READ, _) => (line, false),
            (kind::WRITE_LINE | kind::DMA_WRITE, _) => (line, true),
            (kind::STREAM_READ, [_, words]) => (*words, false),
            (kind::STREAM_WRITE, [_, words]) => (*words, true),
            _ => return,
        };
        let is_line =
            words == line && !matches!(header.user, kind::STREAM_READ | kind::STREAM_WRITE);
        let mask = if is_line { !(LINE_BYTES - 1) } else { !3 };
        let address = body.first().copied().unwrap_or_default() & mask;
        if let Some(begun) = &mut self.begun {
            begun.push(Begun { origin: header.origin, address, words, is_write });
        }
    }

    fn serve(&mut self, header: Header, body: &[u32], now: u64) -> Option<()> {
        let ready = now + u64::from(self.spec.latency_cycles);
        let address = *body.first()? & !3;
        let line = address & !(LINE_BYTES - 1);
        match (header.user, body) {
            (kind::CONFIRM, [to]) => {
                let header = Header { length: 0, ..Header::of(*to) };
                self.sending.push_back(header.word());
            }
            (kind::READ_LINE, [_]) => {
                self.word(line)?;
                let to = Header { last: 0, destination: header.origin, ..header };
                self.replies.push_back(Reply { ready: None, address: line, to });
            }
            (kind::DMA_READ, [_, to]) => {
                self.word(line)?;
                let to = Header::of(*to);
                self.replies.push_back(Reply { ready: None, address: line, to });
            }
            (kind::DMA_WRITE, [_, mask, words @ ..]) if words.len() == LINE_WORDS => {
                for (number, word) in words.iter().enumerate() {
                    let bytes = mask << (4 * number) >> 28;
                    let bits = (0..4).filter(|byte| bytes >> (3 - byte) & 1 == 1);
                    let bits = bits.fold(0, |bits, byte| bits | 0xff << (24 - 8 * byte));
                    let place = self.word(line + 4 * number as u32)?;
                    *place = *place & !bits | word & bits;
                }
                self.accesses.line();
            }
            (kind::WRITE_LINE, [_, words @ ..]) if words.len() == LINE_WORDS => {
                for (place, word) in (line..).step_by(4).zip(words) {
                    *self.word(place)? = *word;
                }
                self.accesses.line();
            }
            (kind::STREAM_READ | kind::STREAM_WRITE, [_, words]) if *words > 0 => {
                self.word(address)?;
                self.word(address.checked_add(words.checked_mul(4)? - 4)?)?;
                let is_read = header.user == kind::STREAM_READ;
                // The row at which the stream begins. It opens others on the way.
                self.accesses.rows += u64::from(!address.is_multiple_of(ROW_BYTES));
                let ready = if is_read { ready } else { now };
                let queue = if is_read { &mut self.reads } else { &mut self.writes };
                queue.push_back(Stream { ready, address, words: *words });
            }
            _ => return None,
        }
        Some(())
    }

    /// Begins as many requests as can be in progress.
    fn begin(&mut self, now: u64) {
        let ready = now + u64::from(self.spec.latency_cycles);
        for reply in self.replies.iter_mut().take(self.spec.outstanding) {
            reply.ready.get_or_insert(ready);
        }
    }

    fn send(&mut self, port: &mut Port<'_>) -> bool {
        if self.sending.is_empty()
            && let Some(reply) = self.replies.front().copied()
            && reply.ready.is_some_and(|ready| ready <= port.now)
            && !self.is_written_later(reply.address)
        {
            self.replies.pop_front();
            let (length, user) = (LINE_WORDS as u8, kind::LINE);
            let header = Header { length, user, origin: port.tile, ..reply.to };
            self.sending.push_back(header.word());
            self.accesses.line();
            for address in (reply.address..).step_by(4).take(LINE_WORDS) {
                let word = self.word(address).copied().unwrap_or_default();
                self.sending.push_back(word);
            }
        }
        let Some(&word) = self.sending.front() else { return false };
        let is_sent = port.write(Network::Memory, word);
        if is_sent {
            self.sending.pop_front();
        }
        is_sent
    }

    /// Whether a commanded stream still has to write words of a line. Reads wait for it, so they
    /// never return the words before the write (assumed).
    fn is_written_later(&self, line: u32) -> bool {
        let end = |write: &Stream| write.address + 4 * write.words;
        self.writes.iter().any(|write| write.address < line + LINE_BYTES && line < end(write))
    }

    fn stream(&mut self, port: &mut Port<'_>) -> bool {
        let mut moves = false;
        if let Some(read) = self.reads.front().copied()
            && read.ready <= port.now
        {
            let word = self.word(read.address).copied().unwrap_or_default();
            if port.write(Network::Static1, word) {
                moves = true;
                self.accesses.word(read.address);
                advance(&mut self.reads);
            }
        }
        let is_busy = self.spec.is_half_duplex && (moves || !self.sending.is_empty());
        if let Some(write) = self.writes.front().copied().filter(|_| !is_busy)
            && let Some(word) = port.read(Network::Static1)
        {
            moves = true;
            if let Some(place) = self.word(write.address) {
                *place = word;
            }
            self.accesses.word(write.address);
            advance(&mut self.writes);
        } else if self.spec.takes_static_messages
            && !is_busy
            && let Some(word) = port.read(Network::Static1)
        {
            moves = true;
            self.static_message.push(word);
            if is_whole(&self.static_message) {
                let message = std::mem::take(&mut self.static_message);
                self.take(&message, port.now);
            }
        }
        moves
    }
}

impl Accesses {
    fn line(&mut self) {
        self.rows += 1;
        self.words += LINE_WORDS as u64;
    }

    /// Counts a word of a stream.
    fn word(&mut self, address: u32) {
        self.rows += u64::from(address.is_multiple_of(ROW_BYTES));
        self.words += 1;
    }
}

/// Whether all words of a message are there.
fn is_whole(message: &[u32]) -> bool {
    let header = message.first().map(|word| Header::of(*word));
    header.is_some_and(|header| message.len() > usize::from(header.length))
}

/// Moves the first stream on to its next word.
fn advance(streams: &mut VecDeque<Stream>) {
    if let Some(stream) = streams.front_mut() {
        stream.address += 4;
        stream.words -= 1;
        if stream.words == 0 {
            streams.pop_front();
        }
    }
}

impl Device for Memory {
    fn cycle(&mut self, port: &mut Port<'_>) -> bool {
        let is_sent = self.send(port);
        let is_streaming = self.stream(port);
        let waits = |ready: u64| ready > port.now;
        let is_reading = self.replies.front().and_then(|reply| reply.ready).is_some_and(waits)
            || self.reads.front().is_some_and(|read| waits(read.ready));
        let is_received = self.receive(port);
        self.begin(port.now);
        is_received || is_sent || is_streaming || is_reading
    }

    fn next(&self, now: u64) -> u64 {
        // Without replies and reads it acts only on words from the chip.
        if self.replies.is_empty() && self.reads.is_empty() { u64::MAX } else { now + 1 }
    }

    fn accesses(&self) -> Option<Accesses> {
        Some(self.accesses)
    }

    fn waits_for(&self) -> Option<(Network, bool)> {
        if !self.sending.is_empty() {
            return Some((Network::Memory, false));
        }
        if !self.reads.is_empty() {
            return Some((Network::Static1, false));
        }
        (!self.writes.is_empty()).then_some((Network::Static1, true))
    }
}

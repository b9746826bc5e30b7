//! The message passing engine: what a thread sees of it, and the messages that it makes (the paper, section 4.2).
//!
//! Processors are little-endian, networks are not: the engine marshals. Byte k of the window area, in network order, stands at local address
//! k ^ 3, so that aligned words, half-words (at k ^ 2) and bytes are read without swapping.

use wireloom_sim::Time;

use super::broker::Service;
use super::carried::{Carried, Kept, Left};
use super::objects::{CallersPacket, PacketUse, Words};
use super::turns::{CallCounts, Turn};
use super::workload::Run;

/// Where the local store of each thread begins: the same address for all.
pub const LOCAL_STORE: u32 = 0x1000_0000;
/// Bytes of a local store.
pub const LOCAL_BYTES: usize = 4096;
/// Bytes of the window area, which begins the local store. What is behind the window of a packet that comes is zero: far enough that programs find zeros behind the
/// end of the longest window, with which a packet comes from another part of an engine, when all of it is cut.
pub const AREA_BYTES: usize = 0x480;
/// Words of a call that a server gets, from the begin of its local store on; no thread has a packet and a call at one time.
pub const REQUEST_WORDS: usize = 17;
/// Where in the local store a server puts the words of its answer.
pub const ANSWERS: usize = 0x80;
/// How many words that can be.
pub const ANSWER_WORDS: usize = 32;
/// Where in the window area a packet begins that comes: room in front for golden's window to grow, and layer 3 behind Ethernet's 14 bytes on a
/// multiple of 4.
pub const FRONT: usize = 0x102;
/// Where what is known of the packet stands in the local store: see [`Information`].
pub const INFORMATION: usize = 0x480;
/// Where the arguments of a call stand in the local store, but for the last word.
pub const ARGUMENTS: usize = 0x4c0;
/// How many words that can be.
pub const ARGUMENT_WORDS: usize = 32;
/// Where the reply of each ticket begins in the local store; one that is longer than [`REPLY_WORDS`] runs on into the places of the next tickets.
pub const REPLIES: usize = 0x540;
/// Words from one reply to the next.
pub const REPLY_WORDS: usize = 8;
/// Tickets of a thread: calls that it can have under way.
pub const TICKETS: usize = 16;
/// What the stack pointer is when a thread begins: the end of the local store.
pub const STACK: u32 = LOCAL_STORE + LOCAL_BYTES as u32;

/// Where the registers begin, a word each.
pub const REGISTERS: u32 = 0x2000_0000;
/// Read: waits for a packet; the low word of its number. Sets those that are written before [`SEND`].
pub const RECEIVE: u32 = REGISTERS;
/// Written before [`SEND`], and read: the port by which the packet leaves.
pub const EGRESS: u32 = REGISTERS + 0x04;
/// Written before [`SEND`], and read: where in the window area the packet begins.
pub const WINDOW_FRONT: u32 = REGISTERS + 0x08;
/// Written before [`SEND`], and read: where in the window area the window ends.
pub const WINDOW_END: u32 = REGISTERS + 0x0c;
/// Written before [`SEND`], and read: bytes of the whole packet; what is not in the window is of the packet that came, behind its window, or
/// what an object has left there.
pub const LENGTH: u32 = REGISTERS + 0x10;
/// Written: sends the packet. Bits 0 to 7 say what becomes of it, see [`kind`]; 8 to 23 the reason, 24 to 31 the set that this is of.
pub const SEND: u32 = REGISTERS + 0x14;
/// Written: the service that the thread serves from then on, by its number in the program's interfaces.
pub const SERVICE: u32 = REGISTERS + 0x18;
/// Read: waits for a call of that service, whose words are in the local store then. Bits 0 to 7 are its method, 8 to 15 how many words it has; bit 16 says that it
/// wants an answer.
pub const REQUEST: u32 = REGISTERS + 0x1c;
/// Written: so many words are the answer.
pub const ANSWER: u32 = REGISTERS + 0x20;
/// Read: cycles of the processors' clock since the machine began, the low word.
pub const CYCLES: u32 = REGISTERS + 0x24;
/// Written: the thread's packet makes no more calls of the object of this number. That matters to objects that must see packets in the order of their arrival.
pub const RELEASE: u32 = REGISTERS + 0x28;
/// Read at `4 * ticket` from here on: waits for a reply; its first word.
pub const WAIT: u32 = REGISTERS + 0x100;
/// Written at `object << 24 | method << 8 | ticket << 4` from here on: calls; the word is the last argument. One-way calls have no ticket.
pub const CALLS: u32 = 0x8000_0000;
/// In the address of a call: it is one-way.
pub const ONE_WAY: u32 = 1 << 2;
/// In the address of a call, only in engines: its words stand in the window area in network order, and the word that is written is the local address behind them. So a
/// field of the packet goes to an object without passing through the processor.
pub const FIELD: u32 = 1 << 3;
/// The object, only in applications, that prints: its method is the number of bytes, at most [`PRINT_BYTES`], which the words have in little-endian order.
pub const CONSOLE: u32 = 0x7d;
/// Bytes that a call of [`CONSOLE`] prints at most.
pub const PRINT_BYTES: u32 = 64;
/// The object, only in applications, that gives calls of services to servers. Bits 0 to 3 of the method are the service's method, 4 to 8 how many words the call has, 9 to 15 the
/// service.
pub const BROKER: u32 = 0x7e;
/// The object, only in applications, that manages threads; its methods are the requests of [`crate::multiflex::threads`].
pub const THREAD_MANAGER: u32 = 0x7f;
/// Services that programs can have.
pub const SERVICES: u32 = 112;
/// Where shared memory begins that programs can change; it goes through no cache.
pub const SHARED: u32 = 0x3000_0000;

/// What becomes of a packet that is sent.
pub mod kind {
    /// It is sent to its port.
    pub const FINISH: u32 = 0;
    /// It is dropped.
    pub const DROP: u32 = 1;
    /// It goes to the control processor.
    pub const TO_CPU: u32 = 2;
    /// Nothing is left of it.
    pub const DONE: u32 = 3;
    /// It is dropped: its thread has gone round too often.
    pub const RUNAWAY: u32 = 4;
    /// A copy is sent to its port; the thread goes on with it.
    pub const EMIT: u32 = 5;
    /// Another part of the engine goes on with it. Bits 8 to 15 say how many words of context go with it, which stand where replies do;
    /// 16 to 23 at which entry of that part, 24 to 31 the part.
    pub const FORWARD: u32 = 6;
}

/// What a thread is told of its packet, a word each from [`INFORMATION`] on. The last of eight is zero for a packet that arrives; if another
/// part has handed it over, bits 0 to 15 are the entry, 16 to 31 the port that was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Information {
    /// Its number among all that the machine has taken.
    pub number: u64,
    /// Bytes of all of it.
    pub length: u32,
    /// The port that it came in on; an object may put another packet in its place, which came in on another one.
    pub ingress: u16,
    /// When it arrived, in nanoseconds. The words have it twice: for the packet, which an object may put another one in place of, and for
    /// the thread.
    pub arrival_ns: u64,
    /// Bytes of it that are in the window area.
    pub loaded: u32,
}

impl Information {
    /// As it stands in the local store.
    pub fn words(&self) -> [u32; 10] {
        let (number, arrival) = (self.number, self.arrival_ns);
        let [length, ingress, loaded] = [self.length, u32::from(self.ingress), self.loaded];
        [
            number as u32,
            (number >> 32) as u32,
            length,
            ingress,
            arrival as u32,
            (arrival >> 32) as u32,
            loaded,
            0,
            arrival as u32,
            (arrival >> 32) as u32,
        ]
    }
}

/// The registers that say where a packet goes and where it lies, as RECEIVE sets them and the program changes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The port by which the packet leaves: [`EGRESS`].
    pub egress: u32,
    /// Where in the window area it begins, in bytes: [`WINDOW_FRONT`].
    pub front: u32,
    /// Where in the window area the window ends: [`WINDOW_END`].
    pub end: u32,
    /// Bytes of the whole packet: [`LENGTH`].
    pub length: u32,
}

impl Registers {
    /// Those of a packet of `length` bytes that has just come, of which `loaded` are in the window.
    pub fn arrived(length: u32, loaded: u32) -> Self {
        Self { egress: 0, front: FRONT as u32, end: FRONT as u32 + loaded, length }
    }

    /// The one at an address.
    pub fn at(&mut self, address: u32) -> Option<&mut u32> {
        match address {
            EGRESS => Some(&mut self.egress),
            WINDOW_FRONT => Some(&mut self.front),
            WINDOW_END => Some(&mut self.end),
            LENGTH => Some(&mut self.length),
            _ => None,
        }
    }

    /// Bytes of the packet that are in the window, and that are behind it; `None` if the window does not lie in its area, or is longer than the
    /// packet.
    pub fn window_and_body(&self) -> Option<(u32, u32)> {
        let window = self.end.checked_sub(self.front).filter(|_| self.end as usize <= AREA_BYTES)?;
        Some((window, self.length.checked_sub(window)?))
    }
}

/// Whom a thread calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A hardware element.
    Object { object: u32, method: u32 },
    /// Any server of a service.
    Service { service: Service, method: u32 },
    /// The thread manager.
    ThreadManager { method: u32 },
    /// What prints so many bytes.
    Console { bytes: u32 },
}

/// A call as it is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) target: Target,
    pub(super) ticket: u32,
    pub(super) argument_words: u32,
    /// Whether they are a field of the window: see [`FIELD`].
    pub(super) is_field: bool,
    /// Words of the reply, as far as they are known before; none if the call is one-way.
    pub(super) reply_words: u32,
    /// What the object does with the bytes of the packet.
    pub(super) packet: PacketUse,
    /// Whether the object makes calls in the order of packets.
    pub(super) in_order: bool,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) target: Target,
    pub(super) ticket: u32,
    /// Its arguments; once the object has been there, the reply.
    pub(super) words: Words,
    /// Words of the reply, as far as they are known before; none if the call is one-way.
    pub(super) reply_words: u32,
    /// The packet of the thread.
    pub(super) caller: Option<CallersPacket>,
    /// The same as it stands, if the object works on its bytes.
    pub(super) carried: Option<Box<Carried>>,
    /// Who calls, among all threads.
    pub(super) thread: u32,
    /// When it is made, if the object makes calls in the order of packets.
    pub(super) turn: Option<Turn>,
}

impl Call {
    /// Bytes of the message that launches it.
    pub(super) fn launch_bytes(&self) -> u32 {
        4 * self.words.len() as u32 + self.carried.as_ref().map_or(0, |carried| carried.message_bytes())
    }

    /// Bytes of the message that answers it, once the object has been there.
    pub(super) fn reply_bytes(&self) -> u32 {
        let changed = self.carried.as_ref().filter(|carried| carried.may_change);
        4 * self.reply_words + changed.map_or(0, |carried| carried.message_bytes())
    }
}

/// A packet that a thread sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finish {
    /// Its place in packet memory.
    pub(super) packet: u32,
    /// The how-manieth of those that the thread sends while it has this packet.
    pub(super) sequence: u32,
    /// The word that was written to [`SEND`].
    pub(super) kind: u32,
    /// The port by which it leaves.
    pub(super) egress: u16,
    /// Bytes of the whole packet.
    pub(super) length: u32,
    /// The window in network order; empty where packets have no contents.
    pub(super) window: Vec<u8>,
    /// Bytes of the window.
    pub(super) window_bytes: u32,
    /// What is behind the window.
    pub(super) left: Left,
    pub(super) spent: Spent,
    /// Calls that were made of objects that take turns.
    pub(super) counts: CallCounts,
    /// The part of the engine that sends it.
    pub(super) part: u32,
}

impl Finish {
    /// Whether the thread goes on with the packet.
    pub(super) fn is_kept(&self) -> bool {
        is_kept(self.kind)
    }

    /// What packet memory has of the packet beside its window, if it had this when the packet came.
    pub(super) fn kept<'a>(&'a self, came: Kept<'a>) -> Kept<'a> {
        self.left.as_deref().map_or(came, |changed| changed.kept())
    }

    /// The packet as it leaves, if packet memory had this behind its window when it came.
    pub(super) fn merge(&self, came: Kept<'_>) -> Vec<u8> {
        let body = (self.length - self.window_bytes) as usize;
        [&self.window, &self.kept(came).behind[..body]].concat()
    }
}

/// What a packet has cost its thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    /// Instructions.
    pub(super) instructions: u64,
    /// Cycles in which they were issued.
    pub(super) cycles: u64,
    /// Accesses to the network for which the thread has waited, and calls.
    pub(super) accesses: u64,
    /// Time that it has waited for replies.
    pub(super) network: Time,
}

impl Spent {
    /// Both together.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            instructions: self.instructions + other.instructions,
            cycles: self.cycles + other.cycles,
            accesses: self.accesses + other.accesses,
            network: self.network + other.network,
        }
    }

    /// Instructions were executed.
    pub(super) fn add(&mut self, run: Run) {
        self.instructions += u64::from(run.count);
        self.cycles += run.cycles();
    }

    /// What has been spent since it was so much.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            instructions: self.instructions - earlier.instructions,
            cycles: self.cycles - earlier.cycles,
            accesses: self.accesses - earlier.accesses,
            network: self.network - earlier.network,
        }
    }
}

/// Words that the reply of a ticket can have.
pub(super) fn reply_room(ticket: u32) -> u32 {
    (TICKETS as u32 - ticket) * REPLY_WORDS as u32
}

/// Whether a thread goes on with the packet that it sends with such a word.
pub(super) fn is_kept(word: u32) -> bool {
    word & 0xff == kind::EMIT
}

/// Puts the window of a packet that comes into a window area, and zeros behind it; in the word that it begins in, they stand in front of it too.
pub(super) fn place_window(area: &mut [u8], window: &[u8]) {
    area[FRONT & !3..].fill(0);
    swizzle(area, FRONT, window);
}

/// Puts words into a local store from byte `at` on.
pub(super) fn put_words(local: &mut [u8], at: usize, words: &[u32]) {
    for (place, word) in local[at..].chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// Copies bytes in network order into a local store's window area, where they begin at byte `at`.
pub(super) fn swizzle(area: &mut [u8], at: usize, bytes: &[u8]) {
    let (head, words) = bytes.split_at(bytes.len().min(at.next_multiple_of(4) - at));
    for (place, byte) in (at..).zip(head) {
        area[place ^ 3] = *byte;
    }
    let at = at + head.len();
    let (words, tail) = words.as_chunks::<4>();
    for (place, [a, b, c, d]) in area[at..].as_chunks_mut::<4>().0.iter_mut().zip(words) {
        *place = [*d, *c, *b, *a];
    }
    for (place, byte) in (at + 4 * words.len()..).zip(tail) {
        area[place ^ 3] = *byte;
    }
}

/// Bytes `at` to `at + length` of a window area, in network order.
pub(super) fn unswizzle(area: &[u8], at: usize, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length + 6);
    let first = at & !3;
    for &[a, b, c, d] in area[first..(at + length).next_multiple_of(4)].as_chunks::<4>().0 {
        bytes.extend_from_slice(&[d, c, b, a]);
    }
    bytes.truncate(at - first + length);
    bytes.drain(..at - first);
    bytes
}

/// The words of a call by the thread of a local store, of which the one that was written is the last, or says where they are: see [`FIELD`]. Nothing if that leads out of
/// the window area.
pub(super) fn arguments(local: &[u8], is_field: bool, words: u32, written: u32) -> Option<Words> {
    if is_field {
        return field(&local[..AREA_BYTES], written, words);
    }
    let stored = local[ARGUMENTS..].as_chunks::<4>().0.iter().take(words.saturating_sub(1) as usize);
    let stored = stored.map(|word| u32::from_le_bytes(*word));
    Some(stored.chain((words > 0).then_some(written)).collect())
}

/// So many words, lowest first, whose bytes end in front of an address of the window area, in network order; nothing if that leads out of the area.
/// What would stand in front of the area is zero: fields of a few bytes are in words, too.
fn field(area: &[u8], end: u32, words: u32) -> Option<Words> {
    let end = end.checked_sub(LOCAL_STORE).filter(|end| *end as usize <= area.len())?;
    let byte = |back: u32| end.checked_sub(back).map_or(0, |at| u32::from(area[at as usize ^ 3]));
    let word = |index: u32| (1..=4).rev().fold(0, |word, back| word << 8 | byte(4 * index + back));
    Some((0..words).map(word).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_the_packet_reads_as_its_value_on_a_little_endian_processor() {
        let mut area = [0; AREA_BYTES];
        swizzle(&mut area, FRONT, &[0; 14]);
        swizzle(&mut area, FRONT + 14, &[0x45, 0x00, 0x01, 0x02]);
        let layer_3 = FRONT + 14;
        assert_eq!(u32::from_le_bytes(*area[layer_3..].first_chunk().unwrap()), 0x4500_0102);
        // The half-word at k stands at k ^ 2.
        assert_eq!(u16::from_le_bytes(*area[(layer_3 + 2) ^ 2..].first_chunk().unwrap()), 0x0102);
        assert_eq!(unswizzle(&area, layer_3 + 1, 3), [0x00, 0x01, 0x02]);
    }

    #[test]
    fn fields_are_words_wherever_they_end() {
        let mut area = [0; AREA_BYTES];
        let bytes: Vec<u8> = (1..=16).collect();
        let words = [0x0d0e_0f10, 0x090a_0b0c, 0x0506_0708, 0x0102_0304];
        for at in FRONT..FRONT + 4 {
            area.fill(0xee);
            swizzle(&mut area, at, &bytes);
            let end = LOCAL_STORE + at as u32 + 16;
            assert_eq!(field(&area, end, 4).unwrap()[..], words, "at {at:#x}");
            // Six bytes: what stands in front of them is above the value.
            assert_eq!(field(&area, end, 2).unwrap()[..], words[..2]);
        }
        assert_eq!(field(&area, LOCAL_STORE + 2, 1).unwrap()[..], [0xeeee], "in front of the area");
        assert_eq!(field(&area, LOCAL_STORE - 1, 1), None);
        assert!(field(&area, LOCAL_STORE + AREA_BYTES as u32, 1).is_some());
        assert_eq!(field(&area, LOCAL_STORE + AREA_BYTES as u32 + 1, 1), None);
        assert_eq!(field(&area, u32::MAX, 1), None);
    }
}

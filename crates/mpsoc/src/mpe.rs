//! The message passing engine: its programming interface for threads (the paper, section 4.2).
//!
//! Processors are little-endian, networks are not: the engine converts the byte order. Byte k of
//! the window area, in network order, lies at local address k ^ 3, so that aligned words,
//! half-words (at k ^ 2) and bytes are read without swapping.

use std::ops::Range;

use super::objects::Words;

/// The address of the local store, the same for all threads.
pub const LOCAL_STORE: u32 = 0x1000_0000;
/// The size of a local store in bytes.
pub const LOCAL_BYTES: usize = 4096;
/// The size of the window area in bytes. The area is at the start of the local store. Bytes after
/// the window of an arriving packet are zero. The area is large enough that programs find zeros
/// after the end of the longest window: a packet from another part of an engine has it if all parts
/// are cut.
pub const AREA_BYTES: usize = 0x480;
/// The maximum number of words in a call that a server gets. They lie at the start of its local
/// store: a thread never has a packet and a call at the same time.
pub const REQUEST_WORDS: usize = 17;
/// The offset in the local store at which a server writes the words of its reply.
pub const ANSWERS: usize = 0x80;
/// The maximum number of words in a server's reply.
pub const ANSWER_WORDS: usize = 32;
/// The offset in the window area at which an arriving packet begins. The room in front lets
/// golden's window grow, and aligns layer 3 after Ethernet's 14 bytes to a multiple of 4.
pub const FRONT: usize = 0x102;
/// The offset of the packet information in the local store: see [`Information`].
pub const INFORMATION: usize = 0x480;
/// The offset of a call's arguments, except the last word, in the local store.
pub const ARGUMENTS: usize = 0x4b0;
/// The maximum number of words at [`ARGUMENTS`].
pub const ARGUMENT_WORDS: usize = 36;
/// The offset of the first ticket's reply in the local store. A reply that is longer than
/// [`REPLY_WORDS`] continues in the places of the next tickets.
pub const REPLIES: usize = 0x540;
/// The distance between two replies, in words.
pub const REPLY_WORDS: usize = 8;
/// The number of tickets of a thread: the maximum number of its calls in progress.
pub const TICKETS: usize = 16;
/// The lowest address of a thread's stack: after the places of replies.
pub const STACK_BEGIN: u32 = LOCAL_STORE + (REPLIES + 4 * REPLY_WORDS * TICKETS) as u32;
/// The initial stack pointer of a thread: the end of the local store.
pub const STACK: u32 = LOCAL_STORE + LOCAL_BYTES as u32;

/// The address of the registers, a word each.
pub const REGISTERS: u32 = 0x2000_0000;
/// Read: waits for a packet and returns the low word of its number. Also sets the registers that
/// programs write before [`SEND`].
pub const RECEIVE: u32 = REGISTERS;
/// Written before [`SEND`], and read: the egress port of the packet.
pub const EGRESS: u32 = REGISTERS + 0x04;
/// Written before [`SEND`], and read: the offset in the window area at which the packet begins.
pub const WINDOW_FRONT: u32 = REGISTERS + 0x08;
/// Written before [`SEND`], and read: the offset in the window area at which the window ends.
pub const WINDOW_END: u32 = REGISTERS + 0x0c;
/// Written before [`SEND`], and read: the length of the whole packet in bytes. Bytes outside the
/// window are the bytes that followed the window of the arrived packet, or the bytes that an object
/// has left there.
pub const LENGTH: u32 = REGISTERS + 0x10;
/// Written: sends the packet. Bits 0 to 7 are the kind, see [`kind`]; bits 8 to 23 the reason, 24
/// to 31 the set of the reason.
pub const SEND: u32 = REGISTERS + 0x14;
/// Written: the service that the thread serves from then on, by its number in the program's
/// interfaces.
pub const SERVICE: u32 = REGISTERS + 0x18;
/// Read: waits for a call of that service and places its words in the local store. In the result,
/// bits 0 to 7 are the method, 8 to 15 the number of words; bit 16 is set if the call needs a
/// reply.
pub const REQUEST: u32 = REGISTERS + 0x1c;
/// Written: replies to the call; the value is the number of words in the reply.
pub const ANSWER: u32 = REGISTERS + 0x20;
/// Read: cycles of the processors' clock since the start of the machine, the low word.
pub const CYCLES: u32 = REGISTERS + 0x24;
/// Written: the number of an object of which the thread's packet makes no more calls. Objects with
/// an order gate need this.
pub const RELEASE: u32 = REGISTERS + 0x28;
/// Written before [`SEND`], and read: the bytes of the packet that it sends, as far as the packet has
/// them. Bits 0 to 15 are the offset, 16 to 31 the number. [`RECEIVE`] and [`SEND`] set it to
/// [`WHOLE`].
pub const EXTENT: u32 = REGISTERS + 0x2c;
/// The [`EXTENT`] that has all bytes of a packet.
pub const WHOLE: u32 = 0xffff_0000;
/// Read at `4 * ticket` from here on: waits for a reply and returns its first word.
pub const WAIT: u32 = REGISTERS + 0x100;
/// Written at `object << 24 | method << 8 | ticket << 4` from here on: makes a call. The word that
/// is written is the last argument. One-way calls have no ticket.
pub const CALLS: u32 = 0x8000_0000;
/// The address bit that marks a call as one-way.
pub const ONE_WAY: u32 = 1 << 2;
/// The address bit, only in engines, that marks field arguments: the words of the call lie in the
/// window area in network order, and the word that is written is the local address after them. A
/// field of the packet goes to an object without passing through the processor.
pub const FIELD: u32 = 1 << 3;
/// The object that prints, only in applications. Its method is the number of bytes, at most
/// [`PRINT_BYTES`]. The words hold the bytes in little-endian order.
pub const CONSOLE: u32 = 0x7d;
/// The maximum number of bytes that a call of [`CONSOLE`] prints.
pub const PRINT_BYTES: u32 = 64;
/// The object that gives calls of services to servers, only in applications. Bits 0 to 3 of the
/// method are the service's method, 4 to 8 the number of words in the call, 9 to 15 the service.
pub const BROKER: u32 = 0x7e;
/// The object that manages threads, only in applications; its methods are the requests of
/// [`crate::multiflex::threads`].
pub const THREAD_MANAGER: u32 = 0x7f;
/// The maximum number of services in a program.
pub const SERVICES: u32 = 112;
/// The address of the shared memory that programs can change; it is not cached.
pub const SHARED: u32 = 0x3000_0000;

/// The verdict on a sent packet.
pub mod kind {
    /// The packet leaves by its port.
    pub const FINISH: u32 = 0;
    /// The packet is dropped.
    pub const DROP: u32 = 1;
    /// The packet goes to the control processor.
    pub const TO_CPU: u32 = 2;
    /// Nothing remains of the packet.
    pub const DONE: u32 = 3;
    /// The packet is dropped because its thread has exceeded the loop bound.
    pub const RUNAWAY: u32 = 4;
    /// A copy leaves by its port; the thread keeps the packet.
    pub const EMIT: u32 = 5;
    /// Another part of the engine continues with the packet. Bits 8 to 15 are the number of context
    /// words that go with it, which lie in the places of replies; bits 16 to 23 are the entry of
    /// that part, 24 to 31 the part.
    pub const FORWARD: u32 = 6;
    /// A copy goes to the control processor; the thread keeps the packet.
    pub const COPY_TO_CPU: u32 = 7;
}

/// The information that a thread gets about its packet, a word each from [`INFORMATION`] on. The
/// eighth word is zero for an arriving packet; if another part has handed the packet over, bits 0
/// to 15 are the entry, 16 to 31 the egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Information {
    /// The number of the packet among all that the machine has taken.
    pub number: u64,
    /// The length of the whole packet in bytes.
    pub length: u32,
    /// The ingress port. An object may replace the packet by another one with another ingress port.
    pub ingress: u16,
    /// The arrival time in nanoseconds. The words hold it twice: for the packet, which an object
    /// may replace by another one, and for the thread.
    pub arrival_ns: u64,
    /// The number of the packet's bytes in the window area.
    pub loaded: u32,
}

impl Information {
    /// The words as they lie in the local store.
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

/// The registers that describe the egress port and the place of a packet. RECEIVE sets them, and
/// the program changes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    /// The egress port: [`EGRESS`].
    pub egress: u32,
    /// The offset of the packet in the window area, in bytes: [`WINDOW_FRONT`].
    pub front: u32,
    /// The end of the window in the window area: [`WINDOW_END`].
    pub end: u32,
    /// The length of the whole packet in bytes: [`LENGTH`].
    pub length: u32,
    /// The bytes that are sent: [`EXTENT`].
    pub extent: u32,
}

impl Registers {
    /// The registers for an arriving packet of `length` bytes, of which `loaded` are in the window.
    pub fn arrived(length: u32, loaded: u32) -> Self {
        Self { egress: 0, front: FRONT as u32, end: FRONT as u32 + loaded, length, extent: WHOLE }
    }

    /// The register at an address.
    pub fn at(&mut self, address: u32) -> Option<&mut u32> {
        match address {
            EGRESS => Some(&mut self.egress),
            WINDOW_FRONT => Some(&mut self.front),
            WINDOW_END => Some(&mut self.end),
            LENGTH => Some(&mut self.length),
            EXTENT => Some(&mut self.extent),
            _ => None,
        }
    }

    /// The number of the packet's bytes in the window, and after it; `None` if the window lies
    /// outside its area, or is longer than the packet.
    pub fn window_and_body(&self) -> Option<(u32, u32)> {
        let window =
            self.end.checked_sub(self.front).filter(|_| self.end as usize <= AREA_BYTES)?;
        Some((window, self.length.checked_sub(window)?))
    }
}

/// The maximum number of words in the reply of a ticket.
pub(super) fn reply_room(ticket: u32) -> u32 {
    (TICKETS as u32 - ticket) * REPLY_WORDS as u32
}

/// Whether a thread keeps the packet that it sends with this word in [`SEND`].
pub(super) fn is_kept(word: u32) -> bool {
    matches!(word & 0xff, kind::EMIT | kind::COPY_TO_CPU)
}

/// Returns the bytes that an [`EXTENT`] selects of a packet of `length` bytes.
pub(super) fn selected(extent: u32, length: usize) -> Range<usize> {
    let start = (extent as usize & 0xffff).min(length);
    start..(start + (extent >> 16) as usize).min(length)
}

/// Places the window of an arriving packet in a window area, and zeros after it; in the first word
/// of the window, zeros also fill the bytes in front of it.
pub(super) fn place_window(area: &mut [u8], window: &[u8]) {
    area[FRONT & !3..].fill(0);
    swizzle(area, FRONT, window);
}

/// Writes words to a local store from byte `at` on.
pub(super) fn put_words(local: &mut [u8], at: usize, words: &[u32]) {
    for (place, word) in local[at..].chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// Copies bytes in network order into a local store's window area, from byte `at` on.
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

/// The words of a call by the thread of a local store. The word that was written is the last one,
/// or the address after all words: see [`FIELD`]. `None` if a field lies outside the window area.
pub(super) fn arguments(local: &[u8], is_field: bool, words: u32, written: u32) -> Option<Words> {
    if is_field {
        return field(&local[..AREA_BYTES], written, words);
    }
    let stored =
        local[ARGUMENTS..].as_chunks::<4>().0.iter().take(words.saturating_sub(1) as usize);
    let stored = stored.map(|word| u32::from_le_bytes(*word));
    Some(stored.chain((words > 0).then_some(written)).collect())
}

/// Reads `words` words, lowest first, in network order. Their bytes end in front of the address
/// `end` in the window area. `None` if `end` lies outside the area. Bytes in front of the area read
/// as zero, because a field of a few bytes is also read in words.
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
        // The half-word at k lies at k ^ 2.
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
            // Six bytes: the two bytes in front of them are above the value.
            assert_eq!(field(&area, end, 2).unwrap()[..], words[..2]);
        }
        assert_eq!(field(&area, LOCAL_STORE + 2, 1).unwrap()[..], [0xeeee], "in front of the area");
        assert_eq!(field(&area, LOCAL_STORE - 1, 1), None);
        assert!(field(&area, LOCAL_STORE + AREA_BYTES as u32, 1).is_some());
        assert_eq!(field(&area, LOCAL_STORE + AREA_BYTES as u32 + 1, 1), None);
        assert_eq!(field(&area, u32::MAX, 1), None);
    }
}

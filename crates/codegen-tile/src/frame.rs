//! The memory of a tile: a frame with the state of the current packet and of the engine, and the
//! buffer of the packet. Offsets in the frame are in bytes.

/// The port on which the packet arrived.
pub const INGRESS: u32 = 0;
/// The port to which the packet goes.
pub const EGRESS: u32 = 4;
/// The number of bytes of the packet.
pub const LENGTH: u32 = 8;
/// The arrival time of the packet that began the thread, in nanoseconds, the lower word first.
pub const ARRIVAL: u32 = 12;
/// The number of the packet that began the thread, the lower word first.
pub const SEQUENCE: u32 = 20;
/// The number of the next message that leaves the last tile of a chain, in the upper half.
pub const SERIAL: u32 = 28;
/// The arguments of the routine `fetch`: offset, limit, count and destination.
pub const FETCH: u32 = 32;
/// The registers that `fetch` saves.
pub const KEPT: u32 = 48;
/// The return addresses of two nested routines that call others.
pub const LINK: u32 = 72;
/// The arrival time of the current packet, which may have been parked, the lower word first.
pub const HAND: u32 = 80;
/// The header of messages to the port of the packet that leaves, without a length.
pub const PORT_HEADER: u32 = 88;
/// The word that identifies the packet's tail outside the tiles. Its lower half is the number of
/// bytes of the tail that still belong to the packet. The word is 0 if there is no tail.
pub const REST: u32 = 92;
/// The operands of routines that work on values in memory.
pub const WORK: u32 = 96;
/// The number of words at [`WORK`]: four values of 1,024 bits, with one more word each.
pub const WORK_WORDS: u32 = 4 * 33;
/// The state of the engines.
pub const STATE: u32 = WORK + 4 * WORK_WORDS;
/// The maximum number of bytes of a frame. Offsets in instructions have 16 bits including the sign.
pub const MOST: u32 = 0x7ff0;

/// The offset of the packet's buffer. It uses other sets of the cache than the frame.
pub const BUFFER: u32 = 0x9000;
/// The address of a packet's first byte modulo 4. Two padding bytes precede the packet, so that the
/// header after a link header of 14, 18 or 22 bytes is aligned to words.
pub const ALIGN: u32 = 2;
/// The offset at which packets arrive in the buffer. Insertions move the front to lower addresses.
pub const ARRIVES: u32 = BUFFER + 0x100 + ALIGN;
/// The offset of the end of the window that replaces a packet.
pub const REPLACED_END: u32 = ARRIVES + 0x80;
/// The bytes of a frame and its buffer. They have room for the longest packet, and for a packet
/// that passes through together with the state of its engine.
pub const BYTES: u32 = BUFFER + 0x1_0400 + MOST;
/// The bytes from the frame of one tile to the frame of the next.
pub const FRAME_BYTES: u32 = BYTES.next_multiple_of(0x1000);

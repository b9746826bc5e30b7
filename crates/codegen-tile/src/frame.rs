//! The memory of a tile: its frame, with the state of the packet in hand and of the engine, and the
//! buffer of the packet. Offsets in the frame are in bytes.

/// The port on which the packet came, and that to which it goes.
pub const INGRESS: u32 = 0;
/// See [`INGRESS`].
pub const EGRESS: u32 = 4;
/// The bytes of the packet.
pub const LENGTH: u32 = 8;
/// When the packet arrived that began the thread, the lower word first.
pub const ARRIVAL: u32 = 12;
/// Its number, likewise.
pub const SEQUENCE: u32 = 20;
/// The number of what leaves next of the last tile of a chain, in the upper half.
pub const SERIAL: u32 = 28;
/// Arguments of the routine `fetch`: offset, limit, count, and where to.
pub const FETCH: u32 = 32;
/// Registers that `fetch` keeps.
pub const KEPT: u32 = 48;
/// Where routines that call others return to: one that may call one that may call a third.
pub const LINK: u32 = 72;
/// When the packet in hand arrived, which may have been parked, the lower word first.
pub const HAND: u32 = 80;
/// The header of messages to the port of the packet that leaves, without a length.
pub const PORT_HEADER: u32 = 88;
/// Where the rest of the packet is that stays outside of the tiles, and in the lower half how many of
/// its bytes belong to the packet; 0 if all of it is here.
pub const REST: u32 = 92;
/// Operands of routines that work on values in memory.
pub const WORK: u32 = 96;
/// The words of [`WORK`]: four values of 1,024 bits, and a word after each.
pub const WORK_WORDS: u32 = 4 * 33;
/// Then the engines' state.
pub const STATE: u32 = WORK + 4 * WORK_WORDS;
/// The most bytes of a frame: offsets have 16 bits with their sign.
pub const MOST: u32 = 0x7ff0;

/// Where the buffer begins, in bytes from the frame. It lies in other sets of the cache than the
/// frame does.
pub const BUFFER: u32 = 0x9000;
/// The address of a packet's first byte modulo 4. Two bytes that only align come before the packet,
/// so that what follows a link header of 14, 18 or 22 bytes is in words.
pub const ALIGN: u32 = 2;
/// Where a packet arrives in its buffer: insertions move the front down.
pub const ARRIVES: u32 = BUFFER + 0x100 + ALIGN;
/// Where the window ends that replaces a packet.
pub const REPLACED_END: u32 = ARRIVES + 0x80;
/// The bytes of a frame with its buffer: there is room for the longest packet, and for one that goes
/// through with the state of its engine.
pub const BYTES: u32 = BUFFER + 0x1_0400 + MOST;

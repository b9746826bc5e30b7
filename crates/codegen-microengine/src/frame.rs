//! A thread's frame in SRAM: the context, values without a register, and the header window.
//!
//! ```text
//! word  0                          178           272                      512
//!       | context, spilled values  | state, args | area of the window ... |
//! byte                                           1088      front      front + window
//!                                                | free    | window   | zeros
//! ```
//!
//! A packet arrives at byte 1344. Inserted bytes go in front of it. A window has at most 256 bytes,
//! so it never begins before the area; a window whose end was cut off moves up first. Bytes before
//! the window are undefined. Bytes after it are zero, so fields outside the window read as zero.

/// The number of words of a frame.
pub const WORDS: u32 = 512;
/// The number of words for the context and for values at the beginning.
pub const CONTEXT: u32 = 178;
/// The first word in which the registers of a thread are kept while another part works on its
/// packet.
pub const STATE: u32 = 178;
/// The word with the continuation after an `emit` has sent its packet: the number of the next step,
/// or the control word to end with.
pub const RESUME: u32 = 186;
/// The word with the bytes that the next copy has: the offset of the first one in the upper half, and
/// the complement of their number. It is 0, for all bytes, unless a copy of some bytes is sent.
pub const PIECE: u32 = 187;
/// The words with the arrival time in nanoseconds, the low word first.
pub const ARRIVAL: u32 = 188;
/// The words with the arrival time of the packet in hand. It may have been parked, so it differs
/// from [`ARRIVAL`] in programs that park.
pub const HAND: u32 = 190;
/// The word with the port at which the packet in hand arrived.
pub const INGRESS: u32 = 1;
/// The word with the number of the packet, in the order in which the chip took packets.
pub const NUMBER: u32 = 0;
/// The first word for arguments of routines and for shifted values, up to the area.
pub const ARGUMENTS: u32 = 192;
/// The byte at which the area of the window begins.
pub const AREA: u32 = 1088;
/// The byte at which the window ends while there is a payload.
pub const END: u32 = 1472;
/// The number of bytes of the longest window.
pub const LONGEST: u32 = 256;
/// Reads begin at this byte of the packet at most, since all later bytes are zero. So they end
/// before the end of the frame: at most 256 bytes from the front, the offset, and a field of 1,024
/// bits.
pub const REACH: u32 = 320;

/// The byte at which a packet arrives.
pub const ARRIVES: u32 = 1344;

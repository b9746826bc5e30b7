//! The ports through which an engine calls its offloads, and the formats of their requests.

use wireloom_ir::OffloadId;
use wireloom_offloads::kinds::park_in_parts::WORD_BITS;

/// A port through which an engine calls an offload.
///
/// A request consists of these fields, from the most significant bit: whether it is the packet's
/// last one, and the packet's ticket, if the calls of packets take effect in order; the index of
/// the method among the used ones, if there are several; the arguments, zero-extended to the
/// longest arguments of any method; the arrival time and the sequence number of the packet, if the
/// offload uses them. The reply is as wide as the widest one; shorter replies are zero-extended.
///
/// An offload that accesses the packet beyond the header window has its own request format
/// ([`Body`]). If the calls of packets take effect in order, the flag and the ticket precede it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadPort {
    /// The offload's name, as a legal identifier.
    pub name: String,
    /// The offload in the engine.
    pub offload: OffloadId,
    /// The number of bits of a request's data.
    pub request_bits: u32,
    /// The number of bits of a reply; 0 if no call gets one. If a used method replies or if order
    /// matters, every call gets a reply, which may be zero.
    pub reply_bits: u32,
    /// The number of bits of the longest arguments.
    pub argument_bits: u32,
    /// The methods that the engine uses, in the order of their numbers in requests.
    pub methods: Vec<PortMethod>,
    /// Whether requests carry the arrival time (64 bits).
    pub arrival: bool,
    /// Whether requests carry the packet's sequence number (64 bits).
    pub sequence: bool,
    /// Whether packets must call it in the order of their arrival (`wl_order_gate`).
    pub ordered: bool,
    /// The access to packets' bodies; `None` if the offload does not see them.
    pub body: Option<Body>,
}

/// How an offload accesses the body of a packet, which is the bytes after its header window. The
/// engine handles the window itself (the pass `window`), so positions in requests count from the
/// body's first byte. A search counts from the packet's first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// `wl_payload`: reads and writes of chunks; `append` is a write after the end of the body.
    Chunks {
        /// The number of bytes of a chunk.
        bytes: u32,
        reads: bool,
        writes: bool,
    },
    /// `wl_body_sum`.
    Sum,
    /// `wl_park`, which copies bodies.
    Park {
        /// The number of bits of a key.
        key_bits: u32,
    },
    /// `wl_body_match`, which searches the packet as it arrived, including the header window.
    Search,
}

/// The number of bits of a position relative to the beginning of a packet's body. It is signed,
/// since it may lie before the body.
pub const BEGIN_BITS: u32 = 17;
/// The number of bits of the address of a body in the body buffer, in beats.
pub const PLACE_BITS: u32 = 11;

impl Body {
    /// Returns the number of bits of a request, without its place in the order of packets.
    pub(super) fn request_bits(self) -> u32 {
        let place = PLACE_BITS + BEGIN_BITS;
        match self {
            Self::Chunks { bytes, reads, writes } => {
                place + 16 + u32::from(reads && writes) + if writes { 8 * bytes } else { 0 }
            }
            Self::Sum => place + 3 * 16,
            Self::Park { key_bits } => 3 + key_bits + WORD_BITS + 16 + PLACE_BITS + 64,
            Self::Search => PLACE_BITS + 3 * 16,
        }
    }

    /// Returns the number of bits that a reply has at least.
    pub(super) fn least_reply_bits(self) -> u32 {
        if matches!(self, Self::Park { .. }) { WORD_BITS } else { 0 }
    }
}

/// The number of bits of a ticket, which is the low bits of the packet's number.
pub const TICKET_BITS: u32 = 16;

/// A method that an engine uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortMethod {
    /// The index in the kind; 0 for an engine.
    pub method: usize,
    pub name: String,
    /// The widths in bits.
    pub arguments: Vec<u32>,
    /// The width in bits; 0 if the method does not reply.
    pub reply: u32,
}

impl OffloadPort {
    /// Returns the number of bits that identify the method; 0 if there is only one.
    pub fn method_bits(&self) -> u32 {
        bits_for(self.methods.len())
    }

    /// Returns the number of bits of a request that give its position in the order of packets.
    pub fn order_bits(&self) -> u32 {
        if self.ordered { 1 + TICKET_BITS } else { 0 }
    }
}

/// Returns the number of bits that number `count` things; 0 if there is only one.
pub fn bits_for(count: usize) -> u32 {
    count.max(1).next_power_of_two().trailing_zeros()
}

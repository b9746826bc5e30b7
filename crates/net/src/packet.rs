//! A packet as it arrives, and the packet in hand: the one that a thread works on.
//!
//! The packet in hand is two runs of bytes: the *header window*, which engines read and write directly, and the
//! payload behind it, which only offloads reach. At arrival the window holds the first [`WINDOW`] bytes of the packet,
//! or all of it if it is shorter. Pushes and inserts make the window longer (by up to [`HEADROOM`] bytes), pops and
//! removals shorter; the payload never moves into the window.
//!
//! All operations are total, so that no program and no packet can make a machine fail (docs/language.md, "Packets").

use wireloom_bits::Bits;

/// Bytes of an arriving packet that its header window holds.
pub const WINDOW: usize = 128;
/// Bytes that pushes and inserts may add to a header window.
pub const HEADROOM: usize = 128;
/// The longest packet, in bytes: lengths and offsets are 16 bits wide.
pub const MAX_LENGTH: usize = 65_535;

/// A packet as it arrives.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Packet {
    /// The port it came in on.
    pub ingress: u16,
    /// When its last byte had arrived, in nanoseconds since the epoch of the capture.
    pub arrival_ns: u64,
    /// From the first byte of the link header; no frame check sequence. At most [`MAX_LENGTH`].
    pub bytes: Vec<u8>,
}

/// The packet that a thread works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketInHand {
    /// The port that the packet came in on.
    pub ingress: u16,
    /// Where `finish` and `emit` send it. Zero at arrival.
    pub egress: u16,
    /// When the packet arrived, in nanoseconds.
    pub arrival_ns: u64,
    /// The number of the packet among all that arrived on this machine, from 0.
    pub sequence: u64,
    bytes: Vec<u8>,
    window: usize,
}

impl PacketInHand {
    /// The packet at arrival. Bytes past [`MAX_LENGTH`] are cut.
    pub fn arrive(packet: &Packet, sequence: u64) -> Self {
        let length = packet.bytes.len().min(MAX_LENGTH);
        Self {
            ingress: packet.ingress,
            egress: 0,
            arrival_ns: packet.arrival_ns,
            sequence,
            bytes: packet.bytes[..length].to_vec(),
            window: length.min(WINDOW),
        }
    }

    /// Makes this the packet of `window` and `payload` bytes, in place of what it was, with the memory that it has.
    /// Metadata stay. For machines that keep packets in a form of their own and call a golden offload.
    ///
    /// # Panics
    /// If the window exceeds `WINDOW + HEADROOM`, or both together [`MAX_LENGTH`].
    pub fn assign(&mut self, window: &[u8], payload: &[u8]) {
        assert!(window.len() <= WINDOW + HEADROOM && window.len() + payload.len() <= MAX_LENGTH);
        self.bytes.clear();
        self.bytes.extend_from_slice(window);
        self.bytes.extend_from_slice(payload);
        self.window = window.len();
    }

    /// All bytes: window, then payload.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Length of the whole packet in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether no byte is left.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Length of the header window in bytes.
    pub fn window_len(&self) -> usize {
        self.window
    }

    /// The field of `width` bits that begins `bit` bits after byte `base` of the window, most significant bit first.
    /// Bytes outside the window read as zero.
    pub fn read(&self, base: u64, bit: u32, width: u32) -> Bits {
        let first = base as usize + (bit / 8) as usize;
        let end = base as usize + (bit + width).div_ceil(8) as usize;
        let trailing = (end - base as usize) as u32 * 8 - bit - width;
        let inside = self.bytes[..self.window].get(first..).unwrap_or(&[]);
        let inside = &inside[..inside.len().min(end - first)];
        if end - first <= 16 {
            // All fields of common protocols: no allocation.
            let mut raw = [0u8; 16];
            raw[16 - (end - first)..][..inside.len()].copy_from_slice(inside);
            return Bits::new(width, u128::from_be_bytes(raw) >> trailing);
        }
        let mut raw = inside.to_vec();
        raw.resize(end - first, 0);
        Bits::from_bytes(&raw).slice(trailing, width)
    }

    /// Writes such a field. If any byte that it touches lies outside the window, nothing is written.
    pub fn write(&mut self, base: u64, bit: u32, value: &Bits) {
        let first = base as usize + (bit / 8) as usize;
        let end = base as usize + (bit + value.width()).div_ceil(8) as usize;
        if end > self.window {
            return;
        }
        let trailing = (end - base as usize) as u32 * 8 - bit - value.width();
        let room = &mut self.bytes[first..end];
        if let (true, Some(value128)) = (room.len() <= 16, value.to_u128()) {
            let mut raw = [0u8; 16];
            let at = 16 - room.len();
            raw[at..].copy_from_slice(room);
            let hole = u128::MAX >> (128 - value.width()) << trailing;
            raw = (u128::from_be_bytes(raw) & !hole | value128 << trailing).to_be_bytes();
            room.copy_from_slice(&raw[at..]);
            return;
        }
        let bytes = Bits::from_bytes(room).with_slice(trailing, value).to_bytes();
        room.copy_from_slice(&bytes);
    }

    /// Inserts `count` zero bytes before byte `offset` of the window. Refused, with no effect and the answer `false`,
    /// if `offset` is past the window's end, or the window would exceed `WINDOW + HEADROOM`, or the packet 65,535.
    pub fn insert(&mut self, offset: u64, count: u64) -> bool {
        let (offset, count) = (offset as usize, count as usize);
        if offset > self.window
            || self.window + count > WINDOW + HEADROOM
            || self.bytes.len() + count > MAX_LENGTH
        {
            return false;
        }
        self.bytes.splice(offset..offset, std::iter::repeat_n(0, count));
        self.window += count;
        true
    }

    /// Removes `count` bytes from byte `offset` of the window. Refused, with no effect and the answer `false`, if they
    /// do not all lie inside the window.
    pub fn remove(&mut self, offset: u64, count: u64) -> bool {
        let (offset, count) = (offset as usize, count as usize);
        if offset + count > self.window {
            return false;
        }
        self.bytes.drain(offset..offset + count);
        self.window -= count;
        true
    }

    /// Makes the packet one of `count` zero bytes, all in the window. Refused, with no effect and the answer `false`,
    /// if `count` exceeds `WINDOW + HEADROOM`.
    pub fn reset(&mut self, count: u64) -> bool {
        let count = count as usize;
        if count > WINDOW + HEADROOM {
            return false;
        }
        self.bytes.clear();
        self.bytes.resize(count, 0);
        self.window = count;
        true
    }

    /// `width / 8` bytes from byte `offset` of the whole packet, in network order; bytes past the end read as zero.
    /// This is the payload offload's `read`.
    pub fn payload_read(&self, offset: u64, width: u32) -> Bits {
        let raw: Vec<u8> = (0..width / 8)
            .map(|i| self.bytes.get(offset as usize + i as usize).copied().unwrap_or(0))
            .collect();
        Bits::from_bytes(&raw)
    }

    /// Overwrites bytes from byte `offset` of the whole packet; refused, with no effect and the answer `false`, if they
    /// do not all lie inside the packet.
    pub fn payload_write(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let offset = offset as usize;
        let Some(room) = self.bytes.get_mut(offset..offset + bytes.len()) else { return false };
        room.copy_from_slice(bytes);
        true
    }

    /// Appends bytes at the packet's end; refused, with no effect and the answer `false`, past 65,535. The window
    /// does not grow.
    pub fn payload_append(&mut self, bytes: &[u8]) -> bool {
        if self.bytes.len() + bytes.len() > MAX_LENGTH {
            return false;
        }
        self.bytes.extend_from_slice(bytes);
        true
    }

    /// Cuts the packet to `length` bytes (and the window too, if that is shorter); refused, with no effect and the
    /// answer `false`, if the packet is shorter than that.
    pub fn payload_truncate(&mut self, length: u64) -> bool {
        let length = length as usize;
        if length > self.bytes.len() {
            return false;
        }
        self.bytes.truncate(length);
        self.window = self.window.min(length);
        true
    }
}

//! A packet at arrival, and the packet in hand: the packet that a thread processes.
//!
//! The packet in hand consists of the *header window*, which engines read and write directly, and
//! the payload after it, which only offloads reach. At arrival the window holds the first
//! [`WINDOW`] bytes of the packet, or the whole of a shorter packet. Pushes and inserts lengthen
//! the window (by up to [`HEADROOM`] bytes); pops and removals shorten it. Payload never moves into
//! the window.
//!
//! All operations are total, so no program and no packet can make a machine fail (docs/language.md,
//! "Packets").

use wireloom_bits::Bits;

/// Length of the header window of an arriving packet, in bytes.
pub const WINDOW: usize = 128;
/// Bytes that pushes and inserts may add to a header window.
pub const HEADROOM: usize = 128;
/// The longest packet, in bytes: lengths and offsets are 16 bits wide.
pub const MAX_LENGTH: usize = 65_535;

/// A packet at arrival.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Packet {
    /// The port at which the packet arrived.
    pub ingress: u16,
    /// When the last byte arrived, in nanoseconds since the epoch of the capture.
    pub arrival_ns: u64,
    /// The bytes from the start of the link header, without frame check sequence. At most
    /// [`MAX_LENGTH`].
    pub bytes: Vec<u8>,
}

/// A packet at arrival in borrowed memory, for example of a capture or of a live port's ring.
/// Native engines read this layout directly (`struct wl_arrival`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Frame<'a> {
    /// The bytes from the start of the link header, without frame check sequence. Machines cut
    /// bytes past [`MAX_LENGTH`].
    pub bytes: &'a [u8],
    /// When the last byte arrived, in nanoseconds since the epoch of the source.
    pub arrival_ns: u64,
    /// The port at which the packet arrived.
    pub ingress: u16,
}

impl Packet {
    /// Borrows the packet.
    pub fn frame(&self) -> Frame<'_> {
        Frame { ingress: self.ingress, arrival_ns: self.arrival_ns, bytes: &self.bytes }
    }
}

impl Frame<'_> {
    /// Copies the frame into a packet that owns its bytes.
    pub fn to_packet(&self) -> Packet {
        Packet { ingress: self.ingress, arrival_ns: self.arrival_ns, bytes: self.bytes.to_vec() }
    }
}

impl<'a> From<&'a Packet> for Frame<'a> {
    fn from(packet: &'a Packet) -> Self {
        packet.frame()
    }
}

/// The packet that a thread processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketInHand {
    /// The port at which the packet arrived.
    pub ingress: u16,
    /// The port to which `finish` and `emit` send the packet. Zero at arrival.
    pub egress: u16,
    /// When the packet arrived, in nanoseconds.
    pub arrival_ns: u64,
    /// The packet's number among all arrivals at this machine, from 0.
    pub sequence: u64,
    bytes: Vec<u8>,
    window: usize,
}

impl PacketInHand {
    /// Creates the packet in hand for an arriving packet. Bytes past [`MAX_LENGTH`] are cut.
    pub fn arrive<'a>(frame: impl Into<Frame<'a>>, sequence: u64) -> Self {
        let frame = frame.into();
        let length = frame.bytes.len().min(MAX_LENGTH);
        Self {
            ingress: frame.ingress,
            egress: 0,
            arrival_ns: frame.arrival_ns,
            sequence,
            bytes: frame.bytes[..length].to_vec(),
            window: length.min(WINDOW),
        }
    }

    /// Replaces the contents by these `window` and `payload` bytes and reuses the memory. Metadata
    /// stay unchanged. Machines that store packets in their own form call this before a golden
    /// offload.
    ///
    /// # Panics
    /// If the window exceeds `WINDOW + HEADROOM`, or both together exceed [`MAX_LENGTH`].
    pub fn assign(&mut self, window: &[u8], payload: &[u8]) {
        assert!(window.len() <= WINDOW + HEADROOM && window.len() + payload.len() <= MAX_LENGTH);
        self.bytes.clear();
        self.bytes.extend_from_slice(window);
        self.bytes.extend_from_slice(payload);
        self.window = window.len();
    }

    /// Returns all bytes: the window, then the payload.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the length of the whole packet in bytes.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns whether the packet has no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the length of the header window in bytes.
    pub fn window_len(&self) -> usize {
        self.window
    }

    /// Reads the field of `width` bits that begins `bit` bits after byte `base` of the window, most
    /// significant bit first. Bytes outside the window read as zero.
    pub fn read(&self, base: u64, bit: u32, width: u32) -> Bits {
        let span = Span::of(base, bit, width);
        let inside = |i: usize| if i < self.window { self.bytes[i] } else { 0 };
        if span.is_narrow() {
            // Fields of common protocols need no allocation: this is the golden model's innermost
            // loop.
            let value = match self.bytes[..self.window].get(span.first..span.end) {
                Some(bytes) => network_order(bytes),
                None => (span.first..span.end).fold(0, |acc, i| acc << 8 | u128::from(inside(i))),
            };
            return Bits::new(width, value >> span.trailing);
        }
        let raw: Vec<u8> = (span.first..span.end).map(inside).collect();
        Bits::from_bytes(&raw).slice(span.trailing, width)
    }

    /// Writes a field with the same addressing as [`read`](Self::read). If any of its bytes lies
    /// outside the window, nothing is written.
    pub fn write(&mut self, base: u64, bit: u32, value: &Bits) {
        let width = value.width();
        let span = Span::of(base, bit, width);
        if span.end > self.window {
            return;
        }
        let field = &mut self.bytes[span.first..span.end];
        match value.to_u128() {
            Some(value) if span.is_narrow() => {
                let mask = u128::MAX >> (128 - width) << span.trailing;
                let merged = network_order(field) & !mask | value << span.trailing;
                field.copy_from_slice(&merged.to_be_bytes()[16 - field.len()..]);
            }
            _ => {
                let merged = Bits::from_bytes(field).with_slice(span.trailing, value).to_bytes();
                field.copy_from_slice(&merged);
            }
        }
    }

    /// Inserts `count` zero bytes before byte `offset` of the window. Returns `false` without
    /// effect if `offset` is past the window's end, if the window would exceed `WINDOW + HEADROOM`,
    /// or if the packet would exceed 65,535 bytes.
    pub fn insert(&mut self, offset: u64, count: u64) -> bool {
        let (offset, count) = (to_index(offset), to_index(count));
        if offset > self.window
            || count > (WINDOW + HEADROOM).saturating_sub(self.window)
            || count > MAX_LENGTH - self.bytes.len()
        {
            return false;
        }
        self.bytes.splice(offset..offset, std::iter::repeat_n(0, count));
        self.window += count;
        true
    }

    /// Removes `count` bytes from byte `offset` of the window. Returns `false` without effect if
    /// they do not all lie inside the window.
    pub fn remove(&mut self, offset: u64, count: u64) -> bool {
        let (offset, count) = (to_index(offset), to_index(count));
        if offset.saturating_add(count) > self.window {
            return false;
        }
        self.bytes.drain(offset..offset + count);
        self.window -= count;
        true
    }

    /// Replaces the packet by `count` zero bytes, all in the window. Returns `false` without effect
    /// if `count` exceeds `WINDOW + HEADROOM`.
    pub fn reset(&mut self, count: u64) -> bool {
        let count = to_index(count);
        if count > WINDOW + HEADROOM {
            return false;
        }
        self.bytes.clear();
        self.bytes.resize(count, 0);
        self.window = count;
        true
    }

    /// Reads `width / 8` bytes from byte `offset` of the whole packet, in network order. Bytes past
    /// the end read as zero. The payload offload's `read` uses this.
    pub fn payload_read(&self, offset: u64, width: u32) -> Bits {
        let first = to_index(offset);
        let inside = |i: usize| self.bytes.get(first.saturating_add(i)).copied().unwrap_or(0);
        let count = (width / 8) as usize;
        if count <= 16 {
            return Bits::new(width, (0..count).fold(0, |acc, i| acc << 8 | u128::from(inside(i))));
        }
        let raw: Vec<u8> = (0..count).map(inside).collect();
        Bits::from_bytes(&raw)
    }

    /// Overwrites bytes from byte `offset` of the whole packet. Returns `false` without effect if
    /// they do not all lie inside the packet.
    pub fn payload_write(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let offset = to_index(offset);
        let Some(room) = self.bytes.get_mut(offset..offset.saturating_add(bytes.len())) else {
            return false;
        };
        room.copy_from_slice(bytes);
        true
    }

    /// Appends bytes at the packet's end. Returns `false` without effect if the packet would exceed
    /// 65,535 bytes. The window does not grow.
    pub fn payload_append(&mut self, bytes: &[u8]) -> bool {
        if bytes.len() > MAX_LENGTH - self.bytes.len() {
            return false;
        }
        self.bytes.extend_from_slice(bytes);
        true
    }

    /// Truncates the packet to `length` bytes (and the window too, if `length` is shorter). Returns
    /// `false` without effect if the packet is shorter than that.
    pub fn payload_truncate(&mut self, length: u64) -> bool {
        let length = to_index(length);
        if length > self.bytes.len() {
            return false;
        }
        self.bytes.truncate(length);
        self.window = self.window.min(length);
        true
    }
}

/// Converts an offset or count to an index. Values that exceed every packet still do afterwards.
fn to_index(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX).min(1 << 30)
}

/// Converts at most 16 bytes in network order to a number.
fn network_order(bytes: &[u8]) -> u128 {
    let mut raw = [0; 16];
    raw[16 - bytes.len()..].copy_from_slice(bytes);
    u128::from_be_bytes(raw)
}

/// The range of bytes that contain a field.
struct Span {
    first: usize,
    end: usize,
    /// Number of bits after the field in its last byte.
    trailing: u32,
}

impl Span {
    fn of(base: u64, bit: u32, width: u32) -> Self {
        let base = to_index(base);
        let end_bit = bit + width;
        let bytes = end_bit.div_ceil(8);
        Self {
            first: base + (bit / 8) as usize,
            end: base + bytes as usize,
            trailing: bytes * 8 - end_bit,
        }
    }

    /// Returns whether the bytes fit in a `u128`.
    fn is_narrow(&self) -> bool {
        self.end - self.first <= 16
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Creates a packet whose byte `i` is `i` modulo 251, so that bytes 256 apart differ.
    fn packet(length: usize) -> PacketInHand {
        let bytes = (0..length).map(|i| (i % 251) as u8).collect();
        PacketInHand::arrive(&Packet { ingress: 3, arrival_ns: 5, bytes }, 7)
    }

    #[test]
    fn arrival_splits_window_and_payload() {
        let long = packet(200);
        assert_eq!((long.len(), long.window_len(), long.egress), (200, WINDOW, 0));
        assert_eq!((long.ingress, long.arrival_ns, long.sequence), (3, 5, 7));
        let short = packet(60);
        assert_eq!((short.len(), short.window_len()), (60, 60));
        assert_eq!(packet(70_000).len(), MAX_LENGTH);
        assert!(packet(0).is_empty());
    }

    #[test]
    fn a_packet_can_be_put_in_place_of_another() {
        let mut p = packet(200);
        p.assign(&[1, 2, 3], &[4]);
        assert_eq!((p.bytes(), p.window_len(), p.ingress), (&[1, 2, 3, 4][..], 3, 3));
        assert_eq!(p.read(2, 0, 16), Bits::new(16, 0x0300), "the payload is not in the window");
    }

    #[test]
    fn fields_are_read_most_significant_bit_first() {
        let p = packet(200);
        assert_eq!(p.read(0x12, 0, 16), Bits::new(16, 0x1213));
        assert_eq!(p.read(0x12, 4, 8), Bits::new(8, 0x21));
        assert_eq!(p.read(1, 7, 1), Bits::new(1, 1));
        assert_eq!(p.read(2, 4, 128).width(), 128);
        assert_eq!(
            p.read(0, 4, 128),
            Bits::from_bytes(&(0..17).collect::<Vec<u8>>()).slice(4, 128)
        );
    }

    #[test]
    fn what_lies_outside_the_window_reads_zero_and_is_not_written() {
        let mut p = packet(200);
        assert_eq!(p.read(126, 0, 32), Bits::new(32, 0x7e7f_0000));
        assert_eq!(p.read(128, 0, 32), Bits::zero(32));
        assert_eq!(p.read(u64::MAX, 0, 1024), Bits::zero(1024));
        let before = p.clone();
        p.write(125, 0, &Bits::ones(32));
        p.write(u64::MAX, 0, &Bits::ones(8));
        assert_eq!(p, before);
        p.write(124, 0, &Bits::ones(32));
        assert_eq!(p.read(124, 0, 32), Bits::ones(32));
        assert_eq!(p.bytes()[128], 128, "payload is behind the window");
    }

    #[test]
    fn insertions_grow_the_window_up_to_its_limit() {
        let mut p = packet(200);
        assert!(p.insert(14, 4));
        assert_eq!((p.len(), p.window_len()), (204, 132));
        assert_eq!(p.bytes()[12..20], [12, 13, 0, 0, 0, 0, 14, 15]);
        assert!(p.insert(132, 4), "at the window's end");
        assert_eq!(p.bytes()[131..138], [127, 0, 0, 0, 0, 128, 129], "between window and payload");
        let before = p.clone();
        assert!(!p.insert(137, 1), "past the window's end");
        assert!(!p.insert(0, 121), "past 256 bytes");
        assert!(!p.insert(0, u64::MAX));
        assert_eq!(p, before);
        assert!(p.insert(0, 120));
        assert_eq!(p.window_len(), WINDOW + HEADROOM);
        assert!(!packet(MAX_LENGTH).insert(0, 1), "past 65,535 bytes");
    }

    #[test]
    fn removals_take_bytes_of_the_window_only() {
        let mut p = packet(200);
        assert!(p.remove(4, 2));
        assert_eq!((p.len(), p.window_len()), (198, 126));
        assert_eq!(p.bytes()[3..6], [3, 6, 7]);
        let before = p.clone();
        assert!(!p.remove(125, 2));
        assert!(!p.remove(u64::MAX, u64::MAX));
        assert_eq!(p, before);
        assert!(p.remove(0, 126));
        assert_eq!((p.len(), p.window_len()), (72, 0), "the payload does not move into the window");
        assert_eq!(p.read(0, 0, 8), Bits::zero(8));
    }

    #[test]
    fn a_reset_makes_a_packet_of_zeros() {
        let mut p = packet(200);
        assert!(!p.reset(257) && !p.reset(u64::MAX));
        assert_eq!(p.len(), 200);
        assert!(p.reset(256));
        assert_eq!((p.bytes(), p.window_len()), (&[0; 256][..], 256));
    }

    #[test]
    fn payload_operations_see_the_whole_packet() {
        let mut p = packet(200);
        assert_eq!(p.payload_read(126, 32), Bits::new(32, 0x7e7f_8081));
        assert_eq!(p.payload_read(198, 32), Bits::new(32, 0xc6c7_0000));
        assert_eq!(p.payload_read(0, 256), Bits::from_bytes(&(0..32).collect::<Vec<u8>>()));
        assert_eq!(p.payload_read(u64::MAX, 64), Bits::zero(64));
        assert!(p.payload_write(127, &[1, 2]));
        assert_eq!(p.bytes()[126..130], [126, 1, 2, 129]);
        assert!(!p.payload_write(199, &[1, 2]) && !p.payload_write(u64::MAX, &[1]));
        assert!(p.payload_append(&[9; 3]));
        assert_eq!((p.len(), p.window_len()), (203, 128));
        assert!(!p.payload_append(&vec![0; MAX_LENGTH]));
        assert!(!p.payload_truncate(204) && !p.payload_truncate(u64::MAX));
        assert!(p.payload_truncate(100));
        assert_eq!((p.len(), p.window_len()), (100, 100));
    }

    proptest! {
        /// Compares with a bit-by-bit definition.
        #[test]
        fn reading_and_writing_are_as_defined(
            base in 0u64..140, bit in 0u32..20, width in 1u32..300, seed: u64, length in 0usize..200,
        ) {
            let mut p = packet(length);
            let bit_of = |p: &PacketInHand, i: usize| i / 8 < p.window_len() && p.bytes()[i / 8] >> (7 - i % 8) & 1 == 1;
            let start = base as usize * 8 + bit as usize;
            let read = p.read(base, bit, width);
            prop_assert_eq!(read.width(), width);
            for i in 0..width {
                prop_assert_eq!(read.bit(width - 1 - i), bit_of(&p, start + i as usize));
            }
            let value = Bits::from_words(width, &[seed, !seed, seed.rotate_left(7), seed ^ 0x55, !seed]);
            let before = p.clone();
            p.write(base, bit, &value);
            if (start + width as usize).div_ceil(8) <= before.window_len() {
                prop_assert_eq!(p.read(base, bit, width), value);
                for i in (0..length * 8).filter(|i| !(start..start + width as usize).contains(i)) {
                    prop_assert_eq!(bit_of(&p, i), bit_of(&before, i));
                }
            } else {
                prop_assert_eq!(p, before);
            }
        }
    }
}

//! Packet messages: calls carry packets to objects that work on their bytes, and replies carry them
//! back.
//!
//! A thread has only the window of its packet. For such a call its message passing engine sends,
//! with the arguments, the current window and the registers that describe its place. The object
//! appends the bytes after the window from packet memory. Changes to the window come back with the
//! reply. Changes after the window stay in packet memory and belong to the packet from then on.

use std::sync::Arc;

use wireloom_net::PacketInHand;
use wireloom_net::packet::{HEADROOM, MAX_LENGTH, WINDOW};

use super::mpe::{self, AREA_BYTES, FRONT, INFORMATION, Registers};

/// The size of the registers in a message, in bytes: the egress port and the place of the window.
const REGISTER_BYTES: u32 = 16;

/// The part of a packet that packet memory holds outside its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept<'a> {
    /// The ingress port of the packet.
    pub ingress: u16,
    /// The arrival time in nanoseconds.
    pub arrival_ns: u64,
    /// The bytes after the window; empty if packets have no contents.
    pub behind: &'a [u8],
}

/// The part outside the window after a change by an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    ingress: u16,
    arrival_ns: u64,
    behind: Vec<u8>,
}

impl Changed {
    /// Borrows the part that packet memory holds.
    pub fn kept(&self) -> Kept<'_> {
        Kept { ingress: self.ingress, arrival_ns: self.arrival_ns, behind: &self.behind }
    }

    /// Writes the packet information to the local store of a thread.
    pub fn tell(&self, local: &mut [u8]) {
        let words =
            [u32::from(self.ingress), self.arrival_ns as u32, (self.arrival_ns >> 32) as u32];
        mpe::put_words(local, INFORMATION + 12, &words);
    }
}

/// The change that objects have made to a packet in packet memory; `None` if no object has changed
/// it. Messages in transit keep the version of the time at which they were sent.
pub type PacketChange = Option<Arc<Changed>>;

/// A packet in transit between a thread and an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketMessage {
    /// The registers of the message passing engine.
    pub registers: Registers,
    /// The place of the packet in packet memory.
    pub place: u32,
    /// Whether the object may change the packet. If so, the packet comes back with the reply.
    pub may_change: bool,
    /// The window in network order.
    window: Vec<u8>,
    /// The change that objects have made after the window.
    pub left: PacketChange,
}

impl PacketMessage {
    /// Reads the packet whose window lies in a local store as the registers say, for an object that
    /// only reads it. `place` and `left` are the packet's place and its change in packet memory.
    /// Returns `None` if the registers are invalid: the window lies outside its area, or the packet
    /// has too many bytes.
    pub fn of(local: &[u8], registers: Registers, place: u32, left: &PacketChange) -> Option<Self> {
        let (window, _) = registers.window_and_body()?;
        if window as usize > WINDOW + HEADROOM || registers.length as usize > MAX_LENGTH {
            return None;
        }
        let window =
            mpe::unswizzle(&local[..AREA_BYTES], registers.front as usize, window as usize);
        Some(Self { registers, place, may_change: false, window, left: left.clone() })
    }

    /// The size of a message with this packet, in bytes.
    pub fn message_bytes(&self) -> u32 {
        REGISTER_BYTES + self.window.len() as u32
    }

    /// The whole packet, for an object to work on. `came` is the part that packet memory holds
    /// since the arrival, `sequence` the packet's number. Bytes that packet memory does not hold
    /// are zero.
    pub fn join(&self, came: Kept<'_>, sequence: u64) -> PacketInHand {
        let kept = self.kept(came);
        let body = self.registers.length as usize - self.window.len();
        let mut behind = kept.behind[..body.min(kept.behind.len())].to_vec();
        behind.resize(body, 0);
        let mut hand = PacketInHand::arrive(&Default::default(), sequence);
        hand.assign(&self.window, &behind);
        hand.ingress = kept.ingress;
        hand.egress = self.registers.egress as u16;
        hand.arrival_ns = kept.arrival_ns;
        hand
    }

    /// Takes over the changes that an object has made to the packet. Returns whether packet memory
    /// has changed.
    ///
    /// A window of the same length stays in place. Another window ends where the window of a long
    /// arriving packet ends, or up to three bytes before, so that its alignment to 4 bytes does not
    /// change. Then there is room in front for it to grow, and zeros after it.
    pub fn take_over(&mut self, hand: &PacketInHand, came: Kept<'_>) -> bool {
        let (window, behind) = hand.bytes().split_at(hand.window_len());
        let registers = &mut self.registers;
        registers.egress = u32::from(hand.egress);
        registers.length = hand.len() as u32;
        if window.len() != self.window.len() {
            let last = (FRONT + WINDOW) as u32;
            let front = last - window.len() as u32;
            registers.end = last - (front.wrapping_sub(registers.front) & 3);
            registers.front = registers.end - window.len() as u32;
        }
        window.clone_into(&mut self.window);
        let kept = self.kept(came);
        let is_same = kept.ingress == hand.ingress
            && kept.arrival_ns == hand.arrival_ns
            && kept.behind.get(..behind.len()) == Some(behind);
        if !is_same {
            let (ingress, arrival_ns) = (hand.ingress, hand.arrival_ns);
            self.left = Some(Arc::new(Changed { ingress, arrival_ns, behind: behind.to_vec() }));
        }
        !is_same
    }

    /// Writes the packet to a local store: its window, with zeros after it, and the changed packet
    /// information.
    pub fn put(&self, local: &mut [u8]) {
        let front = self.registers.front as usize;
        local[front & !3..AREA_BYTES].fill(0);
        mpe::swizzle(&mut local[..AREA_BYTES], front, &self.window);
        if let Some(changed) = &self.left {
            changed.tell(local);
        }
    }

    fn kept<'a>(&'a self, came: Kept<'a>) -> Kept<'a> {
        self.left.as_deref().map_or(came, Changed::kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAME: Kept<'static> = Kept { ingress: 3, arrival_ns: 1 << 40, behind: &[7; 72] };

    /// A packet of 200 bytes, with its window in the local store.
    fn carried() -> (Vec<u8>, PacketMessage) {
        let mut local = vec![0xee; mpe::LOCAL_BYTES];
        let window: Vec<u8> = (0..WINDOW as u8).collect();
        mpe::place_window(&mut local[..AREA_BYTES], &window);
        let carried = PacketMessage::of(&local, Registers::arrived(200, WINDOW as u32), 0, &None);
        (local, carried.expect("a packet"))
    }

    #[test]
    fn an_object_sees_the_window_and_what_is_behind_it() {
        let (_, mut carried) = carried();
        let hand = carried.join(CAME, 9);
        assert_eq!((hand.len(), hand.window_len(), hand.sequence), (200, WINDOW, 9));
        assert_eq!((hand.ingress, hand.arrival_ns), (3, 1 << 40));
        assert_eq!(hand.bytes()[126..130], [126, 127, 7, 7]);
        assert_eq!(carried.message_bytes(), 16 + 128);
        // Bytes that packet memory does not hold are zero.
        assert_eq!(carried.join(Kept { behind: &[], ..CAME }, 9).bytes()[128..], [0; 72]);
        carried.registers.length = 150;
        assert_eq!(carried.join(CAME, 9).len(), 150);
    }

    #[test]
    fn what_an_object_changes_in_the_window_leaves_the_rest_alone() {
        let (mut local, mut carried) = carried();
        let mut hand = carried.join(CAME, 0);
        assert!(hand.payload_write(14, &[0xaa, 0xbb]));
        assert!(!carried.take_over(&hand, CAME));
        assert_eq!((&carried.left, carried.registers), (&None, Registers::arrived(200, 128)));
        carried.put(&mut local);
        assert_eq!(mpe::unswizzle(&local, FRONT + 13, 4), [13, 0xaa, 0xbb, 16]);
        assert_eq!(local[INFORMATION], 0xee);
    }

    #[test]
    fn what_an_object_changes_behind_the_window_stays_in_packet_memory() {
        let (_, mut carried) = carried();
        let mut hand = carried.join(CAME, 0);
        assert!(hand.payload_append(&[1, 2]));
        assert!(carried.take_over(&hand, CAME));
        assert_eq!(carried.registers, Registers::arrived(202, 128));
        let behind = carried.left.as_ref().map(|changed| changed.kept().behind.to_vec());
        assert_eq!(
            behind.map(|behind| (behind.len(), behind[70..].to_vec())),
            Some((74, vec![7, 7, 1, 2]))
        );
        // The next object sees the change, not the packet that arrived.
        assert_eq!(carried.join(Kept { behind: &[], ..CAME }, 0).bytes()[198..], [7, 7, 1, 2]);
    }

    #[test]
    fn another_packet_comes_to_lie_as_the_one_before_to_a_multiple_of_four() {
        for (front, length) in
            [(FRONT, 60usize), (FRONT - 5, 256), (FRONT + 9, 0), (FRONT + 3, 128)]
        {
            let (mut local, mut carried) = carried();
            carried.registers.front = front as u32;
            carried.registers.end = front as u32 + WINDOW as u32;
            let mut other = PacketInHand::arrive(&Default::default(), 0);
            other.assign(&vec![0x5a; length], &[9; 3]);
            (other.ingress, other.arrival_ns, other.egress) = (6, 5 << 32 | 4, 2);
            assert!(carried.take_over(&other, CAME));
            carried.put(&mut local);
            let Registers { egress, front: new, end, length: bytes, .. } = carried.registers;
            assert_eq!((egress, bytes as usize), (2, length + 3));
            assert_eq!(((new ^ front as u32) & 3, (end - new) as usize), (0, length));
            assert!(
                end as usize >= WINDOW + HEADROOM - 3 && end as usize <= FRONT + WINDOW + 16,
                "{end}"
            );
            assert!(mpe::unswizzle(&local, new as usize, length).iter().all(|byte| *byte == 0x5a));
            assert!(
                mpe::unswizzle(&local, end as usize, AREA_BYTES - end as usize)
                    .iter()
                    .all(|byte| *byte == 0)
            );
            let word =
                |at: usize| u32::from_le_bytes(*local[INFORMATION + at..].first_chunk().unwrap());
            assert_eq!([word(12), word(16), word(20)], [6, 4, 5]);
        }
    }

    #[test]
    fn what_is_no_packet_is_not_carried() {
        let local = vec![0; mpe::LOCAL_BYTES];
        let of = |front, end, length| {
            PacketMessage::of(
                &local,
                Registers { egress: 0, front, end, length, extent: mpe::WHOLE },
                0,
                &None,
            )
        };
        assert!(of(0, 256, 65_535).is_some());
        let end = AREA_BYTES as u32;
        assert!(of(end - 20, end, 30).is_some());
        for (front, end, length) in
            [(0, 257, 300), (4, 2, 10), (0, 20, 10), (0, 0, 65_536), (end - 20, end + 1, 30)]
        {
            assert_eq!(of(front, end, length), None);
        }
    }
}

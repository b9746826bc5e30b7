//! Packets that calls carry to objects which work on their bytes, and back.
//!
//! A thread has only the window of its packet. With the arguments of such a call its message passing engine sends the window as it stands and the
//! registers that say where it lies; the object joins it with what lies behind it in packet memory. What it changes comes back with the
//! reply; what it changes behind the window stays in packet memory, and is the packet's from then on.

use std::sync::Arc;

use wireloom_net::PacketInHand;
use wireloom_net::packet::{HEADROOM, MAX_LENGTH, WINDOW};

use super::mpe::{self, AREA_BYTES, FRONT, INFORMATION, Registers};

/// Bytes of a message for the registers that say where a packet goes and where its window lies.
const REGISTER_BYTES: u32 = 16;

/// What packet memory has of a packet beside its window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept<'a> {
    /// The port that the packet came in on.
    pub ingress: u16,
    /// When it arrived, in nanoseconds.
    pub arrival_ns: u64,
    /// The bytes behind the window; none where packets have no contents.
    pub behind: &'a [u8],
}

/// The same as an object has left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    ingress: u16,
    arrival_ns: u64,
    behind: Vec<u8>,
}

impl Changed {
    /// What packet memory has.
    pub fn kept(&self) -> Kept<'_> {
        Kept { ingress: self.ingress, arrival_ns: self.arrival_ns, behind: &self.behind }
    }

    /// Puts what a thread is told of it into its local store.
    pub fn tell(&self, local: &mut [u8]) {
        let words = [u32::from(self.ingress), self.arrival_ns as u32, (self.arrival_ns >> 32) as u32];
        mpe::put_words(local, INFORMATION + 12, &words);
    }
}

/// What objects have left of a packet in packet memory; nothing if none has changed it since it came. Messages under way go on to name what was there
/// when they were sent.
pub type Left = Option<Arc<Changed>>;

/// A packet on its way between a thread and an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Those of the message passing engine.
    pub registers: Registers,
    /// The place in packet memory.
    pub place: u32,
    /// Whether the object may change it: then it comes back with the reply.
    pub may_change: bool,
    /// In network order.
    window: Vec<u8>,
    /// What is behind the window.
    pub left: Left,
}

impl Carried {
    /// The packet whose window lies in a local store as the registers say, and of which packet memory has this at a place, for an object that only
    /// reads it.
    ///
    /// # Errors
    /// `None` if there is no such packet: a window outside of its area, more bytes than a packet has.
    pub fn of(local: &[u8], registers: Registers, place: u32, left: &Left) -> Option<Self> {
        let (window, _) = registers.window_and_body()?;
        if window as usize > WINDOW + HEADROOM || registers.length as usize > MAX_LENGTH {
            return None;
        }
        let window = mpe::unswizzle(&local[..AREA_BYTES], registers.front as usize, window as usize);
        Some(Self { registers, place, may_change: false, window, left: left.clone() })
    }

    /// Bytes of a message that carries it.
    pub fn message_bytes(&self) -> u32 {
        REGISTER_BYTES + self.window.len() as u32
    }

    /// All of the packet, for an object to work on. `came` is what packet memory has of the packet as it came, `sequence` its number. What packet
    /// memory does not have is zero.
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

    /// Takes over what an object has made of the packet. Answers whether packet memory has something new.
    ///
    /// A window of the same length stays where it is; another ends where that of a long packet that comes does, or up to three bytes before, so
    /// that it lies to a multiple of 4 as the one before: there is room for it to grow, and zeros behind it.
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

    /// Puts the packet into a local store: its window, with zeros behind it, and what is known of it.
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

    /// A packet of 200 bytes, of which the window is in the local store.
    fn carried() -> (Vec<u8>, Carried) {
        let mut local = vec![0xee; mpe::LOCAL_BYTES];
        let window: Vec<u8> = (0..WINDOW as u8).collect();
        mpe::place_window(&mut local[..AREA_BYTES], &window);
        let carried = Carried::of(&local, Registers::arrived(200, WINDOW as u32), 0, &None);
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
        // Without contents there are zeros.
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
        assert_eq!(behind.map(|behind| (behind.len(), behind[70..].to_vec())), Some((74, vec![7, 7, 1, 2])));
        // The next object sees it, whatever came.
        assert_eq!(carried.join(Kept { behind: &[], ..CAME }, 0).bytes()[198..], [7, 7, 1, 2]);
    }

    #[test]
    fn another_packet_comes_to_lie_as_the_one_before_to_a_multiple_of_four() {
        for (front, length) in [(FRONT, 60usize), (FRONT - 5, 256), (FRONT + 9, 0), (FRONT + 3, 128)] {
            let (mut local, mut carried) = carried();
            carried.registers.front = front as u32;
            carried.registers.end = front as u32 + WINDOW as u32;
            let mut other = PacketInHand::arrive(&Default::default(), 0);
            other.assign(&vec![0x5a; length], &[9; 3]);
            (other.ingress, other.arrival_ns, other.egress) = (6, 5 << 32 | 4, 2);
            assert!(carried.take_over(&other, CAME));
            carried.put(&mut local);
            let Registers { egress, front: new, end, length: bytes } = carried.registers;
            assert_eq!((egress, bytes as usize), (2, length + 3));
            assert_eq!(((new ^ front as u32) & 3, (end - new) as usize), (0, length));
            assert!(end as usize >= WINDOW + HEADROOM - 3 && end as usize <= FRONT + WINDOW + 16, "{end}");
            assert!(mpe::unswizzle(&local, new as usize, length).iter().all(|byte| *byte == 0x5a));
            assert!(
                mpe::unswizzle(&local, end as usize, AREA_BYTES - end as usize).iter().all(|byte| *byte == 0)
            );
            let word = |at: usize| u32::from_le_bytes(*local[INFORMATION + at..].first_chunk().unwrap());
            assert_eq!([word(12), word(16), word(20)], [6, 4, 5]);
        }
    }

    #[test]
    fn what_is_no_packet_is_not_carried() {
        let local = vec![0; mpe::LOCAL_BYTES];
        let of =
            |front, end, length| Carried::of(&local, Registers { egress: 0, front, end, length }, 0, &None);
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

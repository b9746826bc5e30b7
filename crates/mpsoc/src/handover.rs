//! Packets that one part of an engine hands over to another: partition within a packet (the paper,
//! sections 5.1 and 5.3).
//!
//! The message has the header window, the words of context that the next part reads, and the entry
//! of that part. The receiving thread's message passing engine places the window where the window
//! of an arriving packet lies, so that the program of every part knows where headers begin.

use wireloom_net::packet::{HEADROOM, WINDOW};

use super::finish::Spent;
use super::mpe::{
    self, AREA_BYTES, INFORMATION, Information, REPLIES, REPLY_WORDS, Registers, TICKETS,
    place_window,
};
use super::order_gate::CallCounts;
use super::packet_message::PacketChange;

/// The maximum number of context words in a message.
const WORDS: usize = REPLY_WORDS * TICKETS;

/// A packet between two parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HandOver {
    /// The part that receives the packet.
    pub(super) part: u32,
    /// The entry of that part.
    pub(super) entry: u8,
    /// The egress port of the packet.
    pub(super) egress: u16,
    /// The length of the whole packet in bytes.
    pub(super) length: u32,
    /// The header window in network order.
    pub(super) window: Vec<u8>,
    /// The context words that the next part reads.
    pub(super) context: Vec<u32>,
}

impl HandOver {
    /// Reads the packet from a thread that has written this word to [`SEND`](mpe::SEND); `None` if
    /// the window lies outside its area, or there are too many words.
    pub(super) fn of(word: u32, local: &[u8], registers: &Registers) -> Option<Self> {
        let [_, words, entry, part] = word.to_le_bytes();
        let words = usize::from(words);
        let (window, _) = registers.window_and_body()?;
        if words > WORDS || window as usize > WINDOW + HEADROOM {
            return None;
        }
        Some(Self {
            part: u32::from(part),
            entry,
            egress: registers.egress as u16,
            length: registers.length,
            window: mpe::unswizzle(&local[..AREA_BYTES], registers.front as usize, window as usize),
            context: local[REPLIES..].as_chunks().0[..words]
                .iter()
                .map(|word| u32::from_le_bytes(*word))
                .collect(),
        })
    }

    /// Places the packet in the local store of the receiving thread. `information` is the packet's
    /// information from arrival.
    pub(super) fn place(&self, local: &mut [u8], information: &Information) -> Registers {
        place_window(&mut local[..AREA_BYTES], &self.window);
        let loaded = self.window.len() as u32;
        let known = Information { length: self.length, loaded, ..*information };
        let mut words = known.words();
        words[7] = u32::from(self.egress) << 16 | u32::from(self.entry);
        mpe::put_words(local, INFORMATION, &words);
        mpe::put_words(local, REPLIES, &self.context);
        Registers { egress: u32::from(self.egress), ..Registers::arrived(self.length, loaded) }
    }

    /// The size of the message's contents on the network, in bytes.
    pub(super) fn bytes(&self) -> u32 {
        self.window.len() as u32 + 4 * self.context.len() as u32
    }
}

/// A packet between two parts, with the state that the hardware keeps for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Forward {
    /// The place of the packet in packet memory.
    pub(super) packet: u32,
    /// The number of packets sent while threads held this one.
    pub(super) sent: u32,
    /// The cost of the packet so far.
    pub(super) spent: Spent,
    pub(super) contents: HandOver,
    /// The bytes that objects have changed in packet memory.
    pub(super) left: PacketChange,
    /// The number of the packet's calls to objects with an order gate.
    pub(super) counts: CallCounts,
    /// The part that hands the packet over.
    pub(super) from: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpe::{LOCAL_BYTES, WHOLE, kind, swizzle};

    #[test]
    fn a_part_finds_the_window_where_packets_arrive_and_the_words_where_replies_do() {
        let mut local = vec![0xee; LOCAL_BYTES];
        let registers = Registers { egress: 3, front: 0xfc, end: 0x103, length: 90, extent: WHOLE };
        swizzle(&mut local, 0xfc, &[1, 2, 3, 4, 5, 6, 7]);
        mpe::put_words(&mut local, REPLIES, &[10, 11, 12]);
        let handed = HandOver::of(kind::FORWARD | 2 << 8 | 5 << 16 | 1 << 24, &local, &registers)
            .expect("it fits");
        assert_eq!((handed.part, handed.entry, handed.bytes()), (1, 5, 7 + 8));
        let arrived =
            Information { number: 9, length: 100, ingress: 2, arrival_ns: 77, loaded: 11 };
        let mut other = vec![0xdd; LOCAL_BYTES];
        let placed = handed.place(&mut other, &arrived);
        assert_eq!(
            placed,
            Registers { egress: 3, front: 0x102, end: 0x109, length: 90, extent: WHOLE }
        );
        assert_eq!(
            mpe::unswizzle(&other[..AREA_BYTES], 0x100, 12),
            [0, 0, 1, 2, 3, 4, 5, 6, 7, 0, 0, 0]
        );
        let words: Vec<u32> = other[INFORMATION..]
            .as_chunks()
            .0
            .iter()
            .take(8)
            .map(|word| u32::from_le_bytes(*word))
            .collect();
        assert_eq!(words, [9, 0, 90, 2, 77, 0, 7, 3 << 16 | 5]);
        assert_eq!(other[REPLIES..][..9], [10, 0, 0, 0, 11, 0, 0, 0, 0xdd]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let local = vec![0; LOCAL_BYTES];
        let arrived = Registers::arrived(100, 100);
        assert!(HandOver::of(kind::FORWARD | 128 << 8, &local, &arrived).is_some());
        assert_eq!(HandOver::of(kind::FORWARD | 129 << 8, &local, &arrived), None);
        let longest = Registers::arrived(300, 256);
        assert!(HandOver::of(kind::FORWARD, &local, &longest).is_some());
        assert_eq!(HandOver::of(kind::FORWARD, &local, &Registers::arrived(300, 257)), None);
        let outside = Registers { end: AREA_BYTES as u32 + 1, ..arrived };
        assert_eq!(HandOver::of(kind::FORWARD, &local, &outside), None);
    }
}

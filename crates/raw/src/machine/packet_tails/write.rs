//! The words by which a card writes a packet tail to a memory.

use super::{Carrier, Memories, Protocol, Reference};
use crate::cache::{LINE_BYTES, LINE_WORDS};
use crate::device::{Port, words_of};
use crate::message::Header;
use crate::tile::kind;

/// The words that a card sends to store a tail. The memory confirms it before the head goes to the
/// tiles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Messages for the memory network.
    pub messages: Vec<Vec<u32>>,
    /// Words for the first static network.
    pub words: Vec<u32>,
}

impl Memories {
    /// Returns the words that write a tail of a card at a port.
    pub(super) fn written(&self, reference: Reference, rest: &[u8], port: &Port<'_>) -> Written {
        let (destination, side) = self.of_card(reference.card.into());
        let to =
            Header { last: 1 + side as u8, origin: port.tile, destination, ..Header::default() };
        let back = Header {
            last: port.last,
            user: kind::CONFIRM,
            // Names the memory, so that the card knows which one has confirmed.
            origin: destination,
            destination: port.tile,
            ..Header::default()
        };
        let header = Header { length: 1, user: kind::CONFIRM, ..to };
        let confirm = vec![header.word(), back.word()];
        let address = self.address(reference);
        if self.spec.protocol == Protocol::Stream {
            let mut words: Vec<u32> = words_of(rest).collect();
            // "Aligned to a cache-line boundary" (the paper).
            words.resize(words.len().next_multiple_of(LINE_WORDS), 0);
            let header = Header { length: 2, user: kind::STREAM_WRITE, ..to };
            let command = vec![header.word(), address, words.len() as u32];
            return Written { messages: vec![command, confirm], words };
        }
        let has_masks = self.spec.protocol == Protocol::Dma;
        let line = |(bytes, address): (&[u8], u32)| line(to, address, bytes, has_masks);
        let lines = rest.chunks(LINE_BYTES as usize).zip((address..).step_by(LINE_BYTES as usize));
        let messages: Vec<Vec<u32>> = lines.map(line).chain([confirm]).collect();
        match self.spec.network {
            Carrier::Memory => Written { messages, words: Vec::new() },
            Carrier::Static => Written { messages: Vec::new(), words: messages.concat() },
        }
    }
}

/// Returns a message that writes bytes from an address on: a whole cache line, or the bytes that a
/// mask selects.
fn line(to: Header, address: u32, bytes: &[u8], has_mask: bool) -> Vec<u32> {
    let (user, mask) = match has_mask {
        true => (kind::DMA_WRITE, Some(!u32::MAX.checked_shr(bytes.len() as u32).unwrap_or(0))),
        false => (kind::WRITE_LINE, None),
    };
    let mut words: Vec<u32> = words_of(bytes).collect();
    words.resize(LINE_WORDS, 0);
    let before: Vec<u32> = std::iter::once(address).chain(mask).collect();
    let header = Header { length: (before.len() + LINE_WORDS) as u8, user, ..to };
    [&[header.word()][..], &before, &words].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_name_the_bytes_of_a_line_that_are_the_packets() {
        let to = Header { destination: (2, 0), last: 1, ..Header::default() };
        for (bytes, mask) in [(1, 0x8000_0000), (5, 0xf800_0000), (32, u32::MAX)] {
            let message = line(to, 64, &vec![7; bytes], true);
            assert_eq!((message.len(), message[1], message[2]), (11, 64, mask));
            assert_eq!(Header::of(message[0]).user, kind::DMA_WRITE);
        }
        let message = line(to, 64, &[1, 2, 3, 4, 5], false);
        assert_eq!(message[1..4], [64, 0x0102_0304, 0x0500_0000]);
        assert_eq!((message.len(), Header::of(message[0]).length), (10, 9));
    }
}

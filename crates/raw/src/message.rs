//! Messages of the dynamic networks: a header and up to 31 words.

/// A header. Its fields in the word, from the top: final side (3 bits; 0 the processor, 1 to 4
/// north, east, south, west), length (5), user bits (4), row and column of the origin (5 each), row
/// and column of the destination (5 each). The fields are public, their places assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Where the message leaves its last router: 0 to the processor, else 1 + the side's number.
    pub last: u8,
    /// The number of words after the header, 0 to 31.
    pub length: u8,
    /// The kind of the message. Users of the network define it.
    pub user: u8,
    /// Column and row of the sender.
    pub origin: (u8, u8),
    /// Column and row of the destination.
    pub destination: (u8, u8),
}

impl Header {
    /// Encodes the header.
    pub fn word(self) -> u32 {
        let field = |value: u8, bits: u32, low: u32| (u32::from(value) & ((1 << bits) - 1)) << low;
        field(self.last, 3, 29)
            | field(self.length, 5, 24)
            | field(self.user, 4, 20)
            | field(self.origin.1, 5, 15)
            | field(self.origin.0, 5, 10)
            | field(self.destination.1, 5, 5)
            | field(self.destination.0, 5, 0)
    }

    /// Decodes a header.
    pub fn of(word: u32) -> Self {
        let field = |bits: u32, low: u32| (word >> low & ((1 << bits) - 1)) as u8;
        Self {
            last: field(3, 29),
            length: field(5, 24),
            user: field(4, 20),
            origin: (field(5, 10), field(5, 15)),
            destination: (field(5, 0), field(5, 5)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_headers_are_the_same() {
        for word in [0, u32::MAX, 0x8765_4321, 0x1234_5678] {
            assert_eq!(Header::of(word).word(), word);
        }
        let header = Header { length: 31, destination: (3, 1), ..Header::default() };
        assert_eq!(header.word(), 31 << 24 | 1 << 5 | 3);
    }
}

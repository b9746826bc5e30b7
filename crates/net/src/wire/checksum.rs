//! The Internet checksum: RFC 1071 (definition), RFC 1624 (incremental update).

use std::net::{Ipv4Addr, Ipv6Addr};

/// A running ones'-complement sum, not yet folded. It can hold at least 2^32 words of 16 bits
/// without overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum(u64);

impl Sum {
    /// Adds bytes that begin at an even offset of the summed data. An odd last byte is padded with
    /// a zero byte.
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let (words, rest) = bytes.as_chunks::<4>();
        let mut sum = self.0;
        for word in words {
            // This adds two 16-bit words at once. In ones'-complement addition it does not matter
            // where carries go, since folding adds them back.
            sum += u64::from(u32::from_be_bytes(*word));
        }
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        Self(sum + u64::from(u32::from_be_bytes(last)))
    }

    /// Adds a 16-bit word.
    pub fn word(self, word: u16) -> Self {
        Self(self.0 + u64::from(word))
    }

    /// Adds another sum. That sum must cover whole words.
    pub fn plus(self, other: Self) -> Self {
        Self(self.0 + u64::from(other.fold()))
    }

    /// Returns the sum in 16 bits, not inverted. It is zero only if all summed data is zero.
    pub fn fold(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        sum as u16
    }

    /// Returns the checksum: the folded sum, inverted.
    pub fn checksum(self) -> u16 {
        !self.fold()
    }
}

/// Returns the checksum over bytes whose checksum field is zero. Over bytes with a correct checksum
/// field it is zero.
pub fn checksum(bytes: &[u8]) -> u16 {
    Sum::default().bytes(bytes).checksum()
}

/// Returns the sum of IPv4's pseudo-header (RFC 768, RFC 9293): addresses, protocol and length of
/// the transport segment.
pub fn pseudo_header_v4(src: Ipv4Addr, dst: Ipv4Addr, protocol: u8, length: u16) -> Sum {
    Sum::default().bytes(&src.octets()).bytes(&dst.octets()).word(protocol.into()).word(length)
}

/// Returns the sum of IPv6's pseudo-header (RFC 8200 section 8.1).
pub fn pseudo_header_v6(src: Ipv6Addr, dst: Ipv6Addr, protocol: u8, length: u32) -> Sum {
    Sum::default()
        .bytes(&src.octets())
        .bytes(&dst.octets())
        .word(protocol.into())
        .bytes(&length.to_be_bytes())
}

/// Returns the checksum after one of the words that it covers changed from `old` to `new`: RFC
/// 1624, equation 3.
pub fn update(checksum: u16, old: u16, new: u16) -> u16 {
    Sum::default().word(!checksum).word(!old).word(new).checksum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Follows RFC 1071 section 4.1: word by word, with the carry added back at once.
    fn by_definition(bytes: &[u8]) -> u16 {
        let mut sum = 0u16;
        for pair in bytes.chunks(2) {
            let word = u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
            let (next, carry) = sum.overflowing_add(word);
            sum = next + u16::from(carry);
        }
        sum
    }

    #[test]
    fn rfc_1071_example() {
        // Section 3: the sum of these bytes is ddf2, after carries are added back.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(Sum::default().bytes(&bytes).fold(), 0xddf2);
        assert_eq!(checksum(&bytes), !0xddf2);
    }

    #[test]
    fn rfc_1624_example() {
        // Section 4: HC = DD2F, m = 5555, m' = 3285; equation 3 gives 0000 where RFC 1141's
        // equation gives FFFF.
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    proptest! {
        #[test]
        fn summing_is_as_defined(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(Sum::default().bytes(&bytes).fold(), by_definition(&bytes));
        }

        #[test]
        fn update_is_recomputation(words in prop::collection::vec(any::<u16>(), 2..20), at in any::<prop::sample::Index>(), new: u16) {
            let sum = |words: &[u16]| words.iter().fold(Sum::default(), |s, &w| s.word(w));
            // All-zero data is the only case that the equation cannot distinguish from all-ones
            // (RFC 1624 section 3).
            let mut changed = words.clone();
            let at = at.index(words.len());
            changed[at] = new;
            prop_assume!(words.iter().any(|&w| w != 0) && changed.iter().any(|&w| w != 0));
            prop_assert_eq!(update(sum(&words).checksum(), words[at], new), sum(&changed).checksum());
        }
    }
}

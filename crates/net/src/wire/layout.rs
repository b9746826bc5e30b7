//! Descriptions of header fields: one table per protocol.

use std::net::{Ipv4Addr, Ipv6Addr};

/// A field of a header.
#[derive(Clone, Copy, Debug)]
pub struct FieldSpec {
    /// The name, as in the RFC's figure, in lower case.
    pub name: &'static str,
    /// The start, in bits from the start of the header, most significant first.
    pub bit: usize,
    /// The width in bits, at most 128.
    pub bits: usize,
    pub show: Show,
}

/// The display format of a field.
#[derive(Clone, Copy, Debug)]
pub enum Show {
    Decimal,
    /// Hexadecimal.
    Hex,
    /// A MAC address.
    Mac,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
    /// Decimal, with the name of the value.
    Named(&'static [(u64, &'static str)]),
    /// Hexadecimal, with the name of the value.
    NamedHex(&'static [(u64, &'static str)]),
    /// The names of the bits that are set, most significant first. A bit without a name is shown as
    /// `-`.
    Flags(&'static [&'static str]),
}

pub(super) const fn field(name: &'static str, bit: usize, bits: usize, show: Show) -> FieldSpec {
    FieldSpec { name, bit, bits, show }
}

/// Returns the value of `bits` (at most 128) bits that begin `bit` bits into `bytes`.
///
/// # Panics
/// If they do not all lie inside `bytes`.
pub fn read_bits(bytes: &[u8], bit: usize, bits: usize) -> u128 {
    let last = bit + bits;
    let mut value = 0;
    for (i, &byte) in bytes[bit / 8..last.div_ceil(8)].iter().enumerate() {
        let start = (bit / 8 + i) * 8;
        let from = bit.max(start) - start;
        let to = last.min(start + 8) - start;
        let part = u128::from(byte) >> (8 - to) & ((1 << (to - from)) - 1);
        value = value << (to - from) | part;
    }
    value
}

impl Show {
    /// Formats a value of `bits` bits.
    pub fn text(self, value: u128, bits: usize) -> String {
        let digits = bits.div_ceil(4);
        let name = |names: &[(u64, &'static str)]| {
            names.iter().find(|(n, _)| u128::from(*n) == value).map(|(_, name)| *name)
        };
        match self {
            Self::Decimal => value.to_string(),
            Self::Hex => format!("0x{value:0digits$x}"),
            Self::Mac => {
                let bytes: Vec<_> =
                    (0..6).rev().map(|i| format!("{:02x}", (value >> (8 * i)) as u8)).collect();
                bytes.join(":")
            }
            Self::Ipv4 => Ipv4Addr::from_bits(value as u32).to_string(),
            Self::Ipv6 => Ipv6Addr::from_bits(value).to_string(),
            Self::Named(names) => match name(names) {
                Some(name) => format!("{value} ({name})"),
                None => value.to_string(),
            },
            Self::NamedHex(names) => match name(names) {
                Some(name) => format!("0x{value:0digits$x} ({name})"),
                None => format!("0x{value:0digits$x}"),
            },
            Self::Flags(names) => {
                let set =
                    names.iter().enumerate().filter(|(i, _)| value >> (bits - 1 - i) & 1 == 1);
                let set: Vec<_> = set.map(|(_, name)| *name).collect();
                if set.is_empty() { "none".to_owned() } else { set.join(" ") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_most_significant() {
        let bytes = [0b1010_0110, 0b1100_0001, 0xff];
        assert_eq!(read_bits(&bytes, 0, 4), 0b1010);
        assert_eq!(read_bits(&bytes, 4, 8), 0b0110_1100);
        assert_eq!(read_bits(&bytes, 3, 1), 0);
        assert_eq!(read_bits(&bytes, 7, 10), 0b01_1000_0011);
        assert_eq!(read_bits(&bytes, 16, 8), 0xff);
    }

    #[test]
    fn flags_are_named() {
        let show = Show::Flags(&["A", "B", "C"]);
        assert_eq!(show.text(0b101, 3), "A C");
        assert_eq!(show.text(0, 3), "none");
    }
}

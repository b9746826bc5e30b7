//! IP prefixes.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// An IP version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    /// Returns the length of an address in bits.
    pub fn width(self) -> u32 {
        match self {
            Self::V4 => 32,
            Self::V6 => 128,
        }
    }
}

/// An IPv4 or IPv6 prefix. Bits after its length are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix {
    family: Family,
    bits: u128,
    length: u8,
}

impl Prefix {
    /// Creates a prefix of `length` bits and clears the address bits after them. Returns `None` if
    /// the length exceeds the address's.
    pub fn new(family: Family, address: u128, length: u32) -> Option<Self> {
        let width = family.width();
        if length > width {
            return None;
        }
        let keep = if length == 0 { 0 } else { u128::MAX << (width - length) };
        let bits = address & keep & (u128::MAX >> (128 - width));
        Some(Self { family, bits, length: length as u8 })
    }

    pub fn family(&self) -> Family {
        self.family
    }

    /// Returns the address bits, right-aligned: IPv4 uses the low 32.
    pub fn bits(&self) -> u128 {
        self.bits
    }

    /// Returns the number of significant leading bits.
    pub fn length(&self) -> u32 {
        u32::from(self.length)
    }

    /// Returns whether an address (as right-aligned bits) lies inside the prefix.
    pub fn contains(&self, address: u128) -> bool {
        Self::new(self.family, address, self.length()).is_some_and(|p| p.bits == self.bits)
    }

    /// Returns the address inside the prefix that has the bits of `host` after the prefix's length.
    pub fn address(&self, host: u128) -> u128 {
        let free = self.family.width() - self.length();
        if free == 0 { self.bits } else { self.bits | host & (u128::MAX >> (128 - free)) }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.family {
            Family::V4 => write!(f, "{}/{}", Ipv4Addr::from_bits(self.bits as u32), self.length),
            Family::V6 => write!(f, "{}/{}", Ipv6Addr::from_bits(self.bits), self.length),
        }
    }
}

/// Parses `10.0.0.0/8` or `2001:db8::/32`. A single address is a prefix of full length. The error
/// is a sentence.
impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => {
                let length =
                    length.parse().map_err(|_| format!("`{length}` is not a prefix length"))?;
                (address, Some(length))
            }
            None => (text, None),
        };
        let (family, bits) = if let Ok(v4) = address.parse::<Ipv4Addr>() {
            (Family::V4, u128::from(v4.to_bits()))
        } else if let Ok(v6) = address.parse::<Ipv6Addr>() {
            (Family::V6, v6.to_bits())
        } else {
            return Err(format!("`{address}` is neither an IPv4 nor an IPv6 address"));
        };
        let length = length.unwrap_or(family.width());
        let prefix = Self::new(family, bits, length).ok_or_else(|| {
            format!("a prefix of {length} bits is longer than an address of {}", family.width())
        })?;
        if prefix.bits != bits {
            return Err(format!(
                "`{text}` has bits set after its length; the prefix is `{prefix}`"
            ));
        }
        Ok(prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        for text in ["0.0.0.0/0", "10.0.0.0/8", "1.2.3.4/32", "::/0", "2001:db8::/32", "::1/128"] {
            assert_eq!(text.parse::<Prefix>().expect(text).to_string(), text);
        }
        assert_eq!("1.2.3.4".parse::<Prefix>().map(|p| p.to_string()), Ok("1.2.3.4/32".to_owned()));
    }

    #[test]
    fn what_is_no_prefix_is_refused_with_the_reason() {
        let refused = |text: &str| text.parse::<Prefix>().expect_err(text);
        assert_eq!(
            refused("10.0.0.1/8"),
            "`10.0.0.1/8` has bits set after its length; the prefix is `10.0.0.0/8`"
        );
        assert_eq!(refused("10.0.0.0/33"), "a prefix of 33 bits is longer than an address of 32");
        assert_eq!(refused("10.0.0/8"), "`10.0.0` is neither an IPv4 nor an IPv6 address");
        assert_eq!(refused("10.0.0.0/x"), "`x` is not a prefix length");
    }

    #[test]
    fn an_address_inside_keeps_the_prefix() {
        let prefix: Prefix = "10.0.0.0/8".parse().expect("a prefix");
        assert_eq!(prefix.address(u128::MAX), 0x0aff_ffff);
        assert!(prefix.contains(0x0a12_3456) && !prefix.contains(0x0b00_0000));
        let host: Prefix = "1.2.3.4/32".parse().expect("a prefix");
        assert_eq!(host.address(u128::MAX), 0x0102_0304);
        let all: Prefix = "::/0".parse().expect("a prefix");
        assert_eq!(all.address(u128::MAX), u128::MAX);
    }
}

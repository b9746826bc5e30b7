//! Values in table files.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use wireloom_bits::Bits;

/// The widest number that can be written, in bits: the width of Loom C's widest type.
const MAX_BITS: u32 = 1024;

/// A value as written in a table file. Only the offload that receives it knows its width.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Literal {
    /// A number, in a width that is large enough.
    Number(Bits),
    /// An IPv4 address.
    Ipv4(Ipv4Addr),
    /// An IPv6 address.
    Ipv6(Ipv6Addr),
    /// A MAC address.
    Mac([u8; 6]),
    /// `true` or `false`.
    Bool(bool),
    /// The bytes of a string.
    Text(Vec<u8>),
    /// Another word: a member of an enumeration, which only the offload knows.
    Name(String),
}

impl Literal {
    /// Creates a number.
    pub fn number(value: u128) -> Self {
        Self::Number(Bits::new(128, value))
    }

    /// Converts to a value of `width` bits.
    ///
    /// # Errors
    /// If the value does not fit: a number needs more bits, an address has more bits, or a string
    /// (its bytes in order) has another length. Also if the value is a name. The error is a
    /// sentence without a full stop.
    pub fn to_bits(&self, width: u32) -> Result<Bits, String> {
        let bits = match self {
            Self::Number(bits) => bits.clone(),
            Self::Bool(value) => Bits::bool(*value),
            Self::Ipv4(_) | Self::Ipv6(_) | Self::Mac(_) => {
                let (bits, what) = self.address().expect("addresses have bits");
                if bits.width() > width {
                    return Err(format!(
                        "`{self}` is {what} of {} bits; {width} {} needed here",
                        bits.width(),
                        if width == 1 { "bit is" } else { "bits are" }
                    ));
                }
                bits
            }
            Self::Text(bytes) => {
                if bytes.len() as u64 * 8 != u64::from(width) {
                    return Err(format!(
                        "{self} has {} bytes; a value of {width} bits is needed here",
                        bytes.len()
                    ));
                }
                Bits::from_bytes(bytes)
            }
            Self::Name(name) => return Err(not_a_value(name)),
        };
        if bits.significant() > width {
            return Err(format!(
                "`{self}` does not fit in {width} {}",
                if width == 1 { "bit" } else { "bits" }
            ));
        }
        Ok(bits.resize(width))
    }

    /// Returns the bits of an address, and its description.
    pub(super) fn address(&self) -> Option<(Bits, &'static str)> {
        match self {
            Self::Ipv4(a) => Some((Bits::new(32, u128::from(a.to_bits())), "an IPv4 address")),
            Self::Ipv6(a) => Some((Bits::new(128, a.to_bits()), "an IPv6 address")),
            Self::Mac(bytes) => Some((Bits::from_bytes(bytes), "a MAC address")),
            Self::Number(_) | Self::Bool(_) | Self::Text(_) | Self::Name(_) => None,
        }
    }

    /// Parses a word (anything but a string or an expression). Returns `None` if it is not a value.
    pub(super) fn parse(word: &str) -> Option<Self> {
        match word {
            "true" => return Some(Self::Bool(true)),
            "false" => return Some(Self::Bool(false)),
            _ => {}
        }
        if word.contains(':') {
            return parse_mac(word).map(Self::Mac).or_else(|| word.parse().ok().map(Self::Ipv6));
        }
        if !word.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        if word.contains('.') {
            return word.parse().ok().map(Self::Ipv4);
        }
        parse_number(word).map(Self::Number)
    }
}

/// Parses `5`, `0x1f`, `0b101`, `0o17`, with `_` between digits. Returns `None` if the word is not
/// a number, or one of more than 1024 bits.
pub(super) fn parse_number(word: &str) -> Option<Bits> {
    let (base, digits) = match word.get(..2) {
        Some("0x" | "0X") => (16, &word[2..]),
        Some("0b" | "0B") => (2, &word[2..]),
        Some("0o" | "0O") => (8, &word[2..]),
        _ => (10, word),
    };
    if !digits.starts_with(|c: char| c.is_digit(base)) || digits.ends_with('_') {
        return None;
    }
    let mut narrow = Some(0u128);
    let mut wide: Option<Bits> = None;
    for c in digits.chars().filter(|&c| c != '_') {
        let digit = u128::from(c.to_digit(base)?);
        if let Some(value) = narrow {
            narrow = value.checked_mul(u128::from(base)).and_then(|v| v.checked_add(digit));
            if narrow.is_some() {
                continue;
            }
            wide = Some(Bits::new(MAX_BITS + 8, value));
        }
        let value = wide.take()?;
        let next = value
            .mul(&Bits::new(MAX_BITS + 8, u128::from(base)))
            .add(&Bits::new(MAX_BITS + 8, digit));
        if next.significant() > MAX_BITS {
            return None;
        }
        wide = Some(next);
    }
    match narrow {
        Some(value) => Some(Bits::new(128, value)),
        None => wide.map(|v| v.resize(MAX_BITS)),
    }
}

fn parse_mac(word: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = word.split(':');
    for byte in &mut mac {
        let part = parts.next()?;
        if part.is_empty() || part.len() > 2 || !part.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

/// Parses a word of a table file (anything but a string or an expression). The error is a sentence.
impl FromStr for Literal {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::parse(word).ok_or_else(|| not_a_value(word))
    }
}

fn not_a_value(word: &str) -> String {
    format!("`{word}` is not a number, an address, `true` or `false`")
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(bits) => bits.fmt(f),
            Self::Ipv4(a) => a.fmt(f),
            Self::Ipv6(a) => a.fmt(f),
            Self::Mac(m) => {
                write!(
                    f,
                    "{:02x}:{:02x}:{:02x}:{:02x}:{:02x}:{:02x}",
                    m[0], m[1], m[2], m[3], m[4], m[5]
                )
            }
            Self::Bool(b) => b.fmt(f),
            Self::Text(bytes) => write!(f, "\"{}\"", bytes.escape_ascii()),
            Self::Name(name) => name.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(word: &str, width: u32) -> Result<Bits, String> {
        Literal::parse(word).unwrap_or_else(|| panic!("{word} is a value")).to_bits(width)
    }

    #[test]
    fn each_notation_has_its_bits() {
        for (word, expected) in [
            ("12", 12),
            ("0x1f", 31),
            ("0b1_01", 5),
            ("0o17", 15),
            ("10.0.0.1", 0x0a00_0001),
            ("02:00:00:00:00:0f", 0x0200_0000_000f),
            ("::1", 1),
            ("true", 1),
        ] {
            assert_eq!(value(word, 128), Ok(Bits::new(128, expected)), "{word}");
        }
        let wide =
            value("0x1_0000_0000_0000_0000_0000_0000_0000_0000", 200).expect("129 bits fit 200");
        assert_eq!(wide, Bits::new(200, 1).shl(128));
        assert_eq!(value("340282366920938463463374607431768211456", 200), Ok(wide));
    }

    #[test]
    fn what_does_not_fit_says_so() {
        assert_eq!(value("256", 8).expect_err("nine bits"), "`256` does not fit in 8 bits");
        assert_eq!(
            value("10.0.0.1", 16).expect_err("32 bits"),
            "`10.0.0.1` is an IPv4 address of 32 bits; 16 bits are needed here"
        );
        assert!(Literal::Text(b"abc".to_vec()).to_bits(16).is_err());
    }

    #[test]
    fn words_that_are_no_values_are_none() {
        for word in ["", "x", "1x", "0x", "1_", "_1", "1.2.3", "1:2", "02:00:00:00:00:0g", "0b2"] {
            assert_eq!(Literal::parse(word), None, "{word}");
        }
        assert_eq!(Literal::parse(&format!("0x1{}", "0".repeat(256))), None, "1025 bits");
    }
}

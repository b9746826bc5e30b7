//! Parses IPv4, IPv6 and MAC addresses in the notation of table files and packet tests.

use std::net::Ipv6Addr;

use wireloom_bits::Bits;

use super::{Attempt, Failed, Parser};
use crate::diagnostics::Diagnostic;
use crate::lexer::Token;
use crate::source::Span;

/// The reason why a text is not an address.
struct Malformed {
    message: String,
    help: String,
}

impl Malformed {
    fn new(message: String, help: &str) -> Self {
        Self { message, help: help.to_owned() }
    }
}

const IPV4: &str = "an IPv4 address has four numbers from 0 to 255: `10.0.0.1`";
const MAC: &str =
    "a MAC address has six groups of one or two hexadecimal digits: `02:00:00:00:00:01`";
const IPV6: &str = "an IPv6 address has eight groups of at most four hexadecimal digits; `::` \
                    stands for one run of zero groups: `2001:db8::1`";

impl Parser<'_> {
    /// Parses an address. The value has 32 bits for IPv4, 48 for MAC and 128 for IPv6.
    pub(super) fn address(&mut self) -> Attempt<Bits> {
        let dotted = self.peek() == Token::Dotted;
        let span = self.advance();
        let text = self.text(span);
        let parsed = if dotted { ipv4(text) } else { mac_or_ipv6(text) };
        let parsed = parsed.and_then(|bits| match self.prefix_length(span) {
            Some(length) => Err(prefix(text, length, &bits)),
            None => Ok(bits),
        });
        parsed.map_err(|malformed| {
            let Malformed { message, help } = malformed;
            self.sink.push(Diagnostic::new("E0118", span, message).help(help));
            Failed
        })
    }

    /// Returns the number after an address and a `/` without spaces. Dividing an address is
    /// useless, but prefixes are written as `10.0.0.0/8`.
    fn prefix_length(&self, address: Span) -> Option<&str> {
        let (slash, length) = (self.span(), self.cursor.tokens.get(self.cursor.at + 1)?.span);
        let adjacent = slash.start == address.end && length.start == slash.end;
        let is_prefix = self.peek() == Token::Slash && self.peek_at(1) == Token::Number;
        (adjacent && is_prefix).then(|| self.text(length))
    }
}

/// Parses four decimal numbers separated by dots.
fn ipv4(text: &str) -> Result<Bits, Malformed> {
    let parts: Vec<&str> = text.split('.').collect();
    let decimal = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    if parts.len() == 2 && parts.iter().all(decimal) {
        let message = format!("`{text}` is not a whole number");
        let help = "there are no floating-point numbers; scale by a power of two";
        return Err(Malformed::new(message, help));
    }
    let malformed = |why: &str| Malformed::new(format!("`{text}` is not an address{why}"), IPV4);
    if parts.len() != 4 {
        return Err(malformed(&format!(": it has {} numbers", parts.len())));
    }
    let mut address = 0u128;
    for part in parts {
        if part.len() > 1 && part.starts_with('0') {
            // C reads such numbers as octal; table files and `inet_pton` refuse them.
            return Err(malformed(&format!(": `{part}` begins with a zero")));
        }
        let byte = part.parse::<u8>().ok().filter(|_| decimal(&part));
        let byte = byte.ok_or_else(|| malformed(&format!(": `{part}` is not from 0 to 255")))?;
        address = address << 8 | u128::from(byte);
    }
    Ok(Bits::new(32, address))
}

/// Parses hexadecimal groups separated by colons. Six groups without `::` are a MAC address.
fn mac_or_ipv6(text: &str) -> Result<Bits, Malformed> {
    let groups: Vec<&str> = text.split(':').collect();
    let malformed =
        |help: &str| Malformed::new(format!("`{text}` is neither a MAC nor an IPv6 address"), help);
    if groups.len() == 6 && !text.contains("::") {
        let mut bytes = Vec::new();
        for group in &groups {
            let byte = u8::from_str_radix(group, 16).ok().filter(|_| group.len() <= 2);
            bytes.push(byte.ok_or_else(|| malformed(MAC))?);
        }
        return Ok(Bits::from_bytes(&bytes));
    }
    let as_mac = groups.len() < 8 && groups.iter().all(|group| (1..=2).contains(&group.len()));
    let expected = if as_mac { MAC } else { IPV6 };
    let address: Ipv6Addr = text.parse().map_err(|_| malformed(expected))?;
    Ok(Bits::new(128, address.to_bits()))
}

/// Explains that a prefix is not a value. The help text compares the bits of the prefix.
fn prefix(text: &str, length: &str, address: &Bits) -> Malformed {
    let message = format!("`{text}/{length}` is a prefix, not an address");
    let width = address.width();
    let help = match length.parse::<u32>() {
        Ok(length) if (1..=width).contains(&length) => {
            let (high, low) = (width - 1, width - length);
            let value = address.lshr(low);
            format!("compare the bits of the prefix: `address[{high}:{low}] == {value:#x}`")
        }
        _ => format!("a prefix of this address has 1 to {width} bits"),
    };
    Malformed { message, help }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, check_source};

    /// Returns message and help of each error of a program with this constant.
    fn told(value: &str) -> Vec<String> {
        let source = format!("const auto X = {value};\nengine e() {{ step s {{ finish; }} }}");
        let checked = check_source("test.loom", &source, &Options::default());
        let told =
            |d: &Diagnostic| format!("{}: {}", d.message, d.help.clone().unwrap_or_default());
        checked.diagnostics.iter().filter(|d| d.code.starts_with('E')).map(told).collect()
    }

    fn value(text: &str) -> Option<Bits> {
        let parsed = if text.contains(':') { mac_or_ipv6(text) } else { ipv4(text) };
        parsed.ok()
    }

    #[test]
    fn addresses_have_the_bits_of_their_bytes_on_the_wire() {
        assert_eq!(value("192.0.2.255"), Some(Bits::new(32, 0xc000_02ff)));
        assert_eq!(value("0.0.0.0"), Some(Bits::zero(32)));
        assert_eq!(value("02:00:00:00:00:01"), Some(Bits::new(48, 0x0200_0000_0001)));
        assert_eq!(value("2:0:0:0:0:fF"), Some(Bits::new(48, 0x0200_0000_00ff)));
        assert_eq!(value("2001:DB8::1"), Some(Bits::new(128, 0x2001_0db8 << 96 | 1)));
        assert_eq!(value("1:2:3:4:5:6:7:8").map(|b| b.word(0)), Some(0x0005_0006_0007_0008));
        assert_eq!(value("::"), Some(Bits::zero(128)));
        assert_eq!(value("ff02::"), Some(Bits::new(128, 0xff02 << 112)));
        assert_eq!(value("::ffff:192.0.2.1"), Some(Bits::new(128, 0xffff_c000_0201)));
    }

    #[test]
    fn malformed_addresses_are_told_with_what_is_right() {
        for (text, why) in [
            ("10.0.0.256", "`256` is not from 0 to 255"),
            ("10.0.0.99999999999999999999", "is not from 0 to 255"),
            ("10.0.0.0x1", "`0x1` begins with a zero"),
            ("10.0.0.1a", "`1a` is not from 0 to 255"),
            ("10.0.0.01", "`01` begins with a zero"),
            ("10.0.1", "it has 3 numbers"),
            ("10.0.0.0.1", "it has 5 numbers"),
            ("1.5", "there are no floating-point numbers"),
            ("02:00:00:00:00", "a MAC address has six groups"),
            ("02:00:00:00:00:100", "a MAC address has six groups"),
            ("02:00:00:00:00:01:02", "a MAC address has six groups"),
            ("02:00:00:00:00:01:200", "an IPv6 address has eight groups"),
            ("1:2:3:4:5:6:7:8:9", "an IPv6 address has eight groups"),
            ("12345::1", "an IPv6 address has eight groups"),
            ("1::2::3", "an IPv6 address has eight groups"),
            ("::10.0.0.256", "an IPv6 address has eight groups"),
            ("10.0.0.0/8", "`address[31:24] == 0xa`"),
            ("2001:db8::/32", "`address[127:96] == 0x20010db8`"),
            ("10.0.0.0/33", "1 to 32 bits"),
            ("10.0.0.0/0", "1 to 32 bits"),
        ] {
            let told = told(text);
            assert!(told.len() == 1 && told[0].contains(why), "{text}: {told:?}");
        }
    }

    #[test]
    fn any_mixture_of_digits_dots_and_colons_is_a_value_or_told() {
        let pieces = ["0", "1", "255", "256", "fe80", "a", "00", ".", ":", "::", "/"];
        let mut state = 1u32;
        for _ in 0..2000 {
            let text: String = (0..state % 14)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    pieces[(state >> 16) as usize % pieces.len()]
                })
                .collect();
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223) ^ 0x55;
            if let Some(bits) = value(&text) {
                assert!([32, 48, 128].contains(&bits.width()), "{text}");
            }
            told(&text);
        }
    }
}

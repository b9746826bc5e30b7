//! Formats values for users.

use std::net::{Ipv4Addr, Ipv6Addr};

use wireloom_bits::Bits;
use wireloom_compile::names::{Form, Leaf};
use wireloom_net::wire::layout::Show;

use super::Named;

/// Words in names that mark 32-bit values as addresses. Other 32-bit values are numbers.
const ADDRESSES: [&str; 8] =
    ["src", "dst", "addr", "source", "destination", "gateway", "target", "sender"];

/// Formats a value: the member of an enumeration, `true` or `false`, a link-layer address for 48
/// bits, an IPv6 address for 128, or an IPv4 address for 32 if the name indicates one. Otherwise it
/// is a number; large numbers are also given in hexadecimal.
pub fn value_text(name: &str, form: &Form, bits: &Bits) -> String {
    match form {
        Form::Bool => return (!bits.is_zero()).to_string(),
        Form::Enum(members) => {
            let member = members.iter().find(|(value, _)| value == bits);
            return member.map_or_else(|| number(bits), |(_, name)| name.clone());
        }
        Form::Number => {}
    }
    let value = bits.to_u128().unwrap_or_default();
    match bits.width() {
        32 if is_address(name) => Ipv4Addr::from(value as u32).to_string(),
        48 => Show::Mac.text(value, 48),
        128 => Ipv6Addr::from(value).to_string(),
        _ => number(bits),
    }
}

fn is_address(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name).to_lowercase();
    ADDRESSES.iter().any(|word| last.contains(word))
}

fn number(bits: &Bits) -> String {
    match bits.to_u64() {
        Some(small) if small < 1024 => small.to_string(),
        Some(value) => format!("{value} ({value:#x})"),
        None => format!("{bits:#x}"),
    }
}

/// Splits a packed value into its parts, most significant first. Widths that do not fit the value
/// give one part without a name.
pub fn parts(leaves: &[Leaf], bits: &Bits) -> Vec<Named> {
    if leaves.iter().map(|leaf| leaf.width).sum::<u32>() != bits.width() {
        return vec![Named { name: String::new(), value: number(bits) }];
    }
    let mut low = bits.width();
    let part = |leaf: &Leaf| {
        low -= leaf.width;
        let value = value_text(&leaf.name, &leaf.form, &bits.slice(low, leaf.width));
        Named { name: leaf.name.clone(), value }
    };
    leaves.iter().map(part).collect()
}

//! Packets as people write them: `eth(dst=.., src=..) / ipv4(src=.., dst=..) / udp(src=1, dst=2) /
//! "data" | pad 60`.
//!
//! Layers are in wire order. Omitted fields are computed from the layers after it: types, lengths,
//! checksums. Every field can be given, also with a wrong value. `programs/tests/README.md` lists
//! the layers and their fields. This code is independent of the code under test, so that one checks
//! the other. A packet has at most [`MAX_BYTES`]; values that do not fit their fields are errors.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The longest packet.
pub const MAX_BYTES: usize = 65_535;

/// The port and the bytes of a packet, of `PORT LAYERS`.
///
/// # Errors
/// If the text is invalid, a sentence that says why.
pub fn port_and_packet(text: &str) -> Result<(u16, Vec<u8>), String> {
    let (port, packet) = text.trim().split_once(' ').ok_or("a port and a packet")?;
    let port = port.parse().map_err(|_| format!("`{port}` is no port"))?;
    Ok((port, build(packet.trim())?))
}

/// The bytes of a packet.
///
/// # Errors
/// If the text is invalid, a sentence that says why.
pub fn build(text: &str) -> Result<Vec<u8>, String> {
    let mut parts = split(text, '|').into_iter();
    let layers = parts.next().unwrap_or_default();
    let layers: Vec<Layer> =
        split(layers, '/').into_iter().map(|l| Layer::parse(l.trim())).collect::<Result<_, _>>()?;
    let mut bytes = assemble(&layers)?;
    for modifier in parts {
        let (name, count) =
            modifier.trim().split_once(' ').ok_or("a modifier is a name and a number")?;
        let count = length(count.trim())?;
        match name {
            "cut" if count <= bytes.len() => bytes.truncate(count),
            "cut" => return Err(format!("cut {count}: the packet has only {} bytes", bytes.len())),
            "pad" if count >= bytes.len() => bytes.resize(count, 0),
            "pad" => {
                return Err(format!("pad {count}: the packet has {} bytes already", bytes.len()));
            }
            _ => return Err(format!("there is no modifier `{name}`")),
        }
    }
    Ok(bytes)
}

/// Parses a number, decimal or after `0x`.
///
/// # Errors
/// If the text is no number.
pub fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is no number"))
}

/// Parses a number of bytes.
fn length(text: &str) -> Result<usize, String> {
    let count = number(text)?;
    let count = usize::try_from(count).ok().filter(|count| *count <= MAX_BYTES);
    count.ok_or_else(|| format!("{text}: a packet has at most {MAX_BYTES} bytes"))
}

/// Parses any form of a field's number: a number, an IPv4 or IPv6 address, a MAC address.
///
/// # Errors
/// If the text has none of these forms.
pub fn scalar(text: &str) -> Result<u128, String> {
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok(u32::from(address).into());
    }
    if let Ok(address) = mac(text) {
        return Ok(address.iter().fold(0, |sum, &b| sum << 8 | u128::from(b)));
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Ok(address.into());
    }
    number(text).map(u128::from)
}

/// Splits at a character outside quotes and parentheses.
fn split(text: &str, at: char) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quoted, mut escaped) =
        (Vec::new(), 0, 0, false, false);
    for (i, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if c == at && depth == 0 => {
                parts.push(&text[start..i]);
                start = i + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

enum Layer {
    Header(String, Fields),
    Bytes(Vec<u8>),
    /// Bytes that no length counts, as Ethernet's padding.
    Trailer(Vec<u8>),
}

impl Layer {
    fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('"') {
            return Ok(Self::Bytes(string(text)?));
        }
        let (name, args) = text
            .strip_suffix(')')
            .and_then(|t| t.split_once('('))
            .ok_or(format!("`{text}` is neither a layer nor a string"))?;
        Ok(match name {
            "hex" => Self::Bytes(hex(args)?),
            "zeros" => Self::Bytes(vec![0; length(args)?]),
            "bytes" => Self::Bytes((0..length(args)?).map(|i| (i % 251) as u8).collect()),
            "trailer" => Self::Trailer(string(args)?),
            _ => Self::Header(name.to_owned(), Fields::parse(args)?),
        })
    }

    fn name(&self) -> &str {
        match self {
            Self::Header(name, _) => name,
            Self::Bytes(_) | Self::Trailer(_) => "",
        }
    }
}

/// Puts the layers together from the last to the first.
fn assemble(layers: &[Layer]) -> Result<Vec<u8>, String> {
    let mut body = Vec::new();
    let mut trailer = Vec::new();
    for (i, layer) in layers.iter().enumerate().rev() {
        let next = layers.get(i + 1).map_or("", Layer::name);
        match layer {
            Layer::Bytes(bytes) => body.splice(0..0, bytes.iter().copied()).for_each(drop),
            Layer::Trailer(bytes) => trailer.splice(0..0, bytes.iter().copied()).for_each(drop),
            Layer::Header(name, fields) => {
                let mut fields = fields.clone();
                let around = i.checked_sub(1).map(|outer| &layers[outer]);
                let header = header(name, &mut fields, next, &body, around)
                    .map_err(|problem| format!("{name}: {problem}"))?;
                if let Some((unknown, _)) = fields.0.first() {
                    return Err(format!("{name} has no field `{unknown}`"));
                }
                body.splice(0..0, header);
            }
        }
        if body.len() + trailer.len() > MAX_BYTES {
            return Err(format!("a packet has at most {MAX_BYTES} bytes"));
        }
    }
    body.extend(trailer);
    Ok(body)
}

/// Returns the bytes of one header. `next` is the name of the next layer, `body` the bytes of all
/// layers after it, `around` the layer before it, whose addresses a transport checksum covers.
fn header(
    name: &str,
    fields: &mut Fields,
    next: &str,
    body: &[u8],
    around: Option<&Layer>,
) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    match name {
        "eth" => {
            out.extend(mac(&fields.take("dst").ok_or("`dst` is missing")?)?);
            out.extend(mac(&fields.take("src").ok_or("`src` is missing")?)?);
            out.extend(fields.number("type", 16, ethertype(next))?.to_be_bytes()[6..].iter());
        }
        "vlan" => {
            let tci = fields.number("pcp", 3, 0)? << 13
                | fields.number("dei", 1, 0)? << 12
                | fields.number("vid", 12, 0)?;
            out.extend((tci as u16).to_be_bytes());
            out.extend((fields.number("type", 16, ethertype(next))? as u16).to_be_bytes());
        }
        "mpls" => {
            let bottom = fields.number("bottom", 1, u64::from(next != "mpls"))?;
            let entry = fields.number("label", 20, 0)? << 12
                | fields.number("tc", 3, 0)? << 9
                | bottom << 8
                | fields.number("ttl", 8, 64)?;
            out.extend((entry as u32).to_be_bytes());
        }
        "ipv4" => return ipv4(fields, next, body),
        "ipv6" => {
            let first = fields.number("version", 4, 6)? << 28
                | fields.number("class", 8, 0)? << 20
                | fields.number("flow", 20, 0)?;
            out.extend((first as u32).to_be_bytes());
            out.extend((fields.number("length", 16, body.len() as u64)? as u16).to_be_bytes());
            out.push(fields.number("next", 8, protocol(next))? as u8);
            out.push(fields.number("hop", 8, 64)? as u8);
            for end in ["src", "dst"] {
                let address = fields.take(end).ok_or(format!("`{end}` is missing"))?;
                out.extend(address.parse::<Ipv6Addr>().map_err(|e| e.to_string())?.octets());
            }
        }
        "udp" => {
            out.extend((fields.number("src", 16, 0)? as u16).to_be_bytes());
            out.extend((fields.number("dst", 16, 0)? as u16).to_be_bytes());
            out.extend((fields.number("length", 16, 8 + body.len() as u64)? as u16).to_be_bytes());
            out.extend([0, 0]);
            let sum = match checksum(&pseudo_header(around, 17, 8 + body.len())?, &[&out, body]) {
                0 => 0xffff,
                sum => sum,
            };
            put_checksum(&mut out, 6, fields, sum)?;
        }
        "tcp" => {
            let options = fields.take("options").map_or(Ok(Vec::new()), |h| hex(&h))?;
            out.extend((fields.number("src", 16, 0)? as u16).to_be_bytes());
            out.extend((fields.number("dst", 16, 0)? as u16).to_be_bytes());
            out.extend((fields.number("seq", 32, 0)? as u32).to_be_bytes());
            out.extend((fields.number("ack", 32, 0)? as u32).to_be_bytes());
            out.push((fields.number("data_offset", 4, 5 + options.len() as u64 / 4)? << 4) as u8);
            out.push(flags(&fields.take("flags").unwrap_or_default())?);
            out.extend((fields.number("window", 16, 0xffff)? as u16).to_be_bytes());
            out.extend([0, 0, 0, 0]);
            out.extend(&options);
            let sum = checksum(&pseudo_header(around, 6, out.len() + body.len())?, &[&out, body]);
            put_checksum(&mut out, 16, fields, sum)?;
        }
        "icmp" => {
            out.extend([
                fields.number("type", 8, 0)? as u8,
                fields.number("code", 8, 0)? as u8,
                0,
                0,
            ]);
            out.extend((fields.number("id", 16, 0)? as u16).to_be_bytes());
            out.extend((fields.number("seq", 16, 0)? as u16).to_be_bytes());
            let sum = checksum(&[], &[&out, body]);
            put_checksum(&mut out, 2, fields, sum)?;
        }
        "icmpv6" => {
            out.extend([
                fields.number("type", 8, 0)? as u8,
                fields.number("code", 8, 0)? as u8,
                0,
                0,
            ]);
            let sum = checksum(&pseudo_header(around, 58, 4 + body.len())?, &[&out, body]);
            put_checksum(&mut out, 2, fields, sum)?;
        }
        _ => return Err("there is no such layer".to_owned()),
    }
    Ok(out)
}

fn ipv4(fields: &mut Fields, next: &str, body: &[u8]) -> Result<Vec<u8>, String> {
    let options = fields.take("options").map_or(Ok(Vec::new()), |h| hex(&h))?;
    let length = 20 + options.len();
    let ihl = fields.number("ihl", 4, length as u64 / 4)?;
    let fragment = fields.number("df", 1, 0)? << 14
        | fields.number("mf", 1, 0)? << 13
        | fields.number("offset", 13, 0)?;
    let mut out =
        vec![(fields.number("version", 4, 4)? << 4 | ihl) as u8, fields.number("tos", 8, 0)? as u8];
    out.extend((fields.number("length", 16, (length + body.len()) as u64)? as u16).to_be_bytes());
    out.extend((fields.number("id", 16, 0)? as u16).to_be_bytes());
    out.extend((fragment as u16).to_be_bytes());
    out.push(fields.number("ttl", 8, 64)? as u8);
    out.push(fields.number("proto", 8, protocol(next))? as u8);
    out.extend([0, 0]);
    for end in ["src", "dst"] {
        let address = fields.take(end).ok_or(format!("`{end}` is missing"))?;
        out.extend(address.parse::<Ipv4Addr>().map_err(|e| e.to_string())?.octets());
    }
    out.extend(&options);
    let sum = checksum(&[], &[&out]);
    put_checksum(&mut out, 10, fields, sum)?;
    Ok(out)
}

fn put_checksum(
    out: &mut [u8],
    at: usize,
    fields: &mut Fields,
    computed: u16,
) -> Result<(), String> {
    let sum = fields.number("checksum", 16, computed.into())? as u16;
    out[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

/// The EtherType of a layer; 0 if it has none, so that the test says it.
fn ethertype(next: &str) -> u64 {
    match next {
        "ipv4" => 0x0800,
        "ipv6" => 0x86dd,
        "vlan" => 0x8100,
        "mpls" => 0x8847,
        _ => 0,
    }
}

/// The IP protocol number of a layer; 255 (reserved) if it has none.
fn protocol(next: &str) -> u64 {
    match next {
        "icmp" => 1,
        "tcp" => 6,
        "udp" => 17,
        "icmpv6" => 58,
        _ => 255,
    }
}

/// Returns the pseudo-header of RFC 9293 section 3.1 and RFC 8200 section 8.1.
fn pseudo_header(around: Option<&Layer>, protocol: u8, length: usize) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    if let Some(Layer::Header(name, fields)) = around {
        for end in ["src", "dst"] {
            let address = fields.peek(end).unwrap_or_default();
            match name.as_str() {
                "ipv4" => {
                    out.extend(address.parse::<Ipv4Addr>().map_err(|e| e.to_string())?.octets())
                }
                "ipv6" => {
                    out.extend(address.parse::<Ipv6Addr>().map_err(|e| e.to_string())?.octets())
                }
                _ => {}
            }
        }
    }
    out.extend((length as u32).to_be_bytes());
    out.extend([0, 0, 0, protocol]);
    Ok(out)
}

/// RFC 1071, the plain way.
fn checksum(pseudo_header: &[u8], parts: &[&[u8]]) -> u16 {
    let bytes: Vec<u8> =
        pseudo_header.iter().chain(parts.iter().copied().flatten()).copied().collect();
    let words =
        bytes.chunks(2).map(|w| u64::from(w[0]) << 8 | w.get(1).copied().map_or(0, u64::from));
    let sum: u64 = words.sum();
    // Modulo 0xffff, with 0xffff rather than 0 for a sum that is not zero.
    let folded = if sum == 0 { 0 } else { (sum - 1) % 0xffff + 1 };
    !(folded as u16)
}

fn flags(text: &str) -> Result<u8, String> {
    text.chars().try_fold(0, |sum, c| {
        "FSRPAU"
            .find(c)
            .map(|bit| sum | 1 << bit)
            .ok_or(format!("`{c}` is none of the flags FSRPAU"))
    })
}

fn mac(text: &str) -> Result<[u8; 6], String> {
    let bytes: Vec<u8> = text
        .split(':')
        .map(|b| if b.len() == 2 { u8::from_str_radix(b, 16).ok() } else { None })
        .collect::<Option<_>>()
        .unwrap_or_default();
    bytes.try_into().map_err(|_| format!("`{text}` is no MAC address"))
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    if !digits.len().is_multiple_of(2) {
        return Err(format!("`{text}` has half a byte"));
    }
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16))
        .collect::<Result<_, _>>()
        .map_err(|_| format!("`{text}` is not hexadecimal"))
}

/// Returns a string literal's bytes: `\r`, `\n`, `\"`, `\\` as in C.
fn string(text: &str) -> Result<Vec<u8>, String> {
    let inner = text
        .strip_prefix('"')
        .and_then(|t| t.strip_suffix('"'))
        .ok_or(format!("`{text}` is no string"))?;
    let mut out = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        out.push(match byte {
            b'\\' => match rest.next() {
                Some(b'r') => b'\r',
                Some(b'n') => b'\n',
                Some(c @ (b'"' | b'\\')) => c,
                _ => return Err(format!("{text}: an escape that is not known")),
            },
            _ => byte,
        });
    }
    Ok(out)
}

/// The text between the parentheses of a layer.
#[derive(Clone)]
struct Fields(Vec<(String, String)>);

impl Fields {
    fn parse(text: &str) -> Result<Self, String> {
        let pairs = text.split(',').map(str::trim).filter(|f| !f.is_empty());
        let fields: Vec<(String, String)> = pairs
            .map(|f| {
                let (name, value) =
                    f.split_once('=').ok_or(format!("`{f}` is not `field=value`"))?;
                Ok((name.trim().to_owned(), value.trim().to_owned()))
            })
            .collect::<Result<_, String>>()?;
        Ok(Self(fields))
    }

    fn peek(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(at).1)
    }

    /// Takes a field of this many bits; `default` if it is not given.
    fn number(&mut self, name: &str, bits: u32, default: u64) -> Result<u64, String> {
        let value = self.take(name).map_or(Ok(default), |text| number(&text))?;
        if value >> bits != 0 {
            return Err(format!("`{name}`: {value} does not fit into {bits} bits"));
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_said_is_worked_out() {
        let packet = build(
            "eth(dst=02:00:00:00:00:01, src=02:00:00:00:00:02) / ipv4(src=192.168.0.1, dst=192.168.0.199, id=0, df=1, \
             proto=17, length=115)",
        );
        // The header of the example in most textbooks: 4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8
        // 00c7.
        let expected =
            hex("020000000001 020000000002 0800 4500007300004000 4011b861 c0a80001 c0a800c7");
        assert_eq!(packet, expected);
    }

    #[test]
    fn a_transport_checksum_covers_the_addresses() {
        let packet = build("ipv6(src=::1, dst=::2) / udp(src=1, dst=2) / \"a\"").expect("a packet");
        let mut covered = vec![0; 15];
        covered.push(1);
        covered.extend([0; 15]);
        covered.extend([2, 0, 0, 0, 9, 0, 0, 0, 17]);
        assert_eq!(checksum(&covered, &[&packet[40..]]), 0);
    }

    #[test]
    fn the_number_that_rfc_1071_sums() {
        let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(&[], &[&example]), !0xddf2);
    }

    proptest! {
        /// Any text is a packet of bounded length or an error.
        #[test]
        fn no_text_breaks_it(text in "(eth|vlan|mpls|ipv4|ipv6|tcp|udp|icmp|icmpv6|hex|zeros|bytes|trailer|[(),=/|$ \"\\\\.:0-9a-fx]|src|dst|cut|pad|length|1.2.3.4|::1|02:00:00:00:00:01){0,24}") {
            if let Ok(packet) = build(&text) {
                prop_assert!(packet.len() <= MAX_BYTES);
            }
        }
    }

    #[test]
    fn mistakes_are_told() {
        for wrong in [
            "zeros(65536)",
            "bytes(40000) / bytes(40000)",
            "\"\" | pad 4294967296",
            "vlan(vid=4096)",
            "tcp(flags=S, data_offset=16)",
            "ipv4(src=10.0.0.1, dst=10.0.0.2, ttl=256)",
            "ipv5()",
            "ipv4(src=1, dst=2)",
            "udp(sport=1)",
            "\"a",
            "hex(123)",
            "zeros(3) | cut 4",
            "zeros(65536)",
            "bytes(0xffffffffffffffff)",
            "zeros(3) | pad 70000",
            "x",
        ] {
            assert!(build(wrong).is_err(), "{wrong}");
        }
    }
}

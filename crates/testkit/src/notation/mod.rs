//! Packets in a text notation: `eth(dst=.., src=..) / ipv4(src=.., dst=..) / udp(src=1, dst=2) /
//! "data" | pad 60`.
//!
//! Layers are in wire order. Omitted fields are computed from the layers after it: types, lengths,
//! checksums. Every field can be given, even with a wrong value. `programs/tests/README.md` lists
//! the layers and their fields. This code is independent of the code under test, so that each
//! checks the other. A packet has at most [`MAX_BYTES`]; values that do not fit their fields are
//! errors.

mod own;
mod standard;
mod values;

use wireloom_offloads::Layout;
use wireloom_offloads::populate::suggest;

use values::{Fields, hex, length, string};
pub use values::{number, time};

/// The longest packet, in bytes.
pub const MAX_BYTES: usize = 65_535;

/// The headers that a program declares, by name. They are layers too.
pub type Headers = [(String, Layout)];

/// A packet that was written as layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The bytes of the packet.
    pub bytes: Vec<u8>,
    /// The parts of the packet in order: declared headers, and the standard layers between them,
    /// which can be dissected without the text.
    pub parts: Vec<Part>,
}

/// A part of a packet: a header that the program declares, or the layers between two such headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The offset of the first byte.
    pub offset: usize,
    /// The name of the part's first layer; empty for bytes.
    pub name: String,
    /// The fields of a header that the program declares.
    pub layout: Option<Layout>,
}

/// Parses `PORT LAYERS`. Returns the port and the packet.
///
/// # Errors
/// If the text is invalid. The error is a sentence with the reason.
pub fn port_and_packet(text: &str, headers: &Headers) -> Result<(u16, Written), String> {
    let (port, packet) =
        text.trim().split_once(' ').ok_or("write a port and a packet: PORT LAYERS")?;
    let port = port.parse().map_err(|_| format!("`{port}` is no port"))?;
    Ok((port, build(packet.trim(), headers)?))
}

/// Builds the packet that layers describe.
///
/// # Errors
/// If the text is invalid. The error is a sentence with the reason.
pub fn build(text: &str, headers: &Headers) -> Result<Written, String> {
    let mut parts = split(text, '|').into_iter();
    let layers = parts.next().unwrap_or_default();
    let layers: Vec<Layer> =
        split(layers, '/').into_iter().map(|l| Layer::parse(l.trim())).collect::<Result<_, _>>()?;
    let mut written = assemble(&layers, headers)?;
    let bytes = &mut written.bytes;
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
    Ok(written)
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
    /// Bytes that no length field counts, like Ethernet's padding.
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

/// Assembles the layers from the last to the first.
fn assemble(layers: &[Layer], headers: &Headers) -> Result<Written, String> {
    let mut body = Vec::new();
    let mut trailer = Vec::new();
    // The number of bytes from the beginning of each layer to the end, last layer first.
    let mut ends = Vec::new();
    for (i, layer) in layers.iter().enumerate().rev() {
        match layer {
            Layer::Bytes(bytes) => body.splice(0..0, bytes.iter().copied()).for_each(drop),
            Layer::Trailer(bytes) => trailer.splice(0..0, bytes.iter().copied()).for_each(drop),
            Layer::Header(name, fields) => {
                let next = layers.get(i + 1).map_or("", Layer::name);
                let around = i.checked_sub(1).map(|outer| &layers[outer]);
                let header = header(name, fields.clone(), headers, next, &body, around)
                    .map_err(|problem| format!("{name}: {problem}"))?;
                body.splice(0..0, header).for_each(drop);
            }
        }
        ends.push(body.len());
        if body.len() + trailer.len() > MAX_BYTES {
            return Err(format!("a packet has at most {MAX_BYTES} bytes"));
        }
    }
    let starts = ends.iter().rev().map(|end| body.len() - end);
    let parts = parts(layers.iter().zip(starts), headers);
    body.extend(trailer);
    Ok(Written { bytes: body, parts })
}

/// Returns the bytes of a header; [`standard::header`] describes the last three arguments.
fn header(
    name: &str,
    mut fields: Fields,
    headers: &Headers,
    next: &str,
    body: &[u8],
    around: Option<&Layer>,
) -> Result<Vec<u8>, String> {
    if standard::NAMES.contains(&name) {
        let header = standard::header(name, &mut fields, next, body, around)?;
        return match fields.0.first() {
            Some((unknown, _)) => Err(format!("there is no field `{unknown}`")),
            None => Ok(header),
        };
    }
    match own_layout(name, headers) {
        Some(layout) => own::header(layout, &mut fields),
        None => {
            let own = headers.iter().map(|(name, _)| name.as_str());
            let names = own.chain(standard::NAMES);
            Err(format!("there is no such layer{}", suggest(name, names)))
        }
    }
}

/// Returns the layout of a layer that is a header of the program.
fn own_layout<'a>(name: &str, headers: &'a Headers) -> Option<&'a Layout> {
    let found = headers.iter().find(|(own, _)| own == name)?;
    (!standard::NAMES.contains(&name)).then_some(&found.1)
}

/// Divides layers, with their offsets, into parts. Each header of the program is a part of its own.
fn parts<'a>(layers: impl Iterator<Item = (&'a Layer, usize)>, headers: &Headers) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for (layer, offset) in layers {
        let layout = own_layout(layer.name(), headers).cloned();
        let follows_own = parts.last().is_none_or(|part| part.layout.is_some());
        if layout.is_some() || follows_own {
            parts.push(Part { offset, name: layer.name().to_owned(), layout });
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::standard::checksum;
    use super::*;

    fn built(text: &str) -> Result<Vec<u8>, String> {
        build(text, &[]).map(|written| written.bytes)
    }

    #[test]
    fn what_is_not_said_is_worked_out() {
        let packet = built(
            "eth(dst=02:00:00:00:00:01, src=02:00:00:00:00:02) / ipv4(src=192.168.0.1, dst=192.168.0.199, id=0, df=1, \
             proto=17, length=115)",
        );
        // The example header of most textbooks: 4500 0073 0000 4000 4011 b861 c0a8 0001 c0a8 00c7.
        let expected =
            hex("020000000001 020000000002 0800 4500007300004000 4011b861 c0a80001 c0a800c7");
        assert_eq!(packet, expected);
    }

    #[test]
    fn a_transport_checksum_covers_the_addresses() {
        let packet = built("ipv6(src=::1, dst=::2) / udp(src=1, dst=2) / \"a\"").expect("a packet");
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
            if let Ok(packet) = built(&text) {
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
            assert!(built(wrong).is_err(), "{wrong}");
        }
    }

    fn calc() -> Vec<(String, Layout)> {
        let mut fields = Layout::plain(vec![
            ("op".into(), 4),
            ("flag".into(), 1),
            ("rest".into(), 3),
            ("a[0]".into(), 8),
            ("to".into(), 32),
        ]);
        fields.enums.insert("op".into(), vec![("ADD".into(), 3), ("SUB".into(), 5)]);
        vec![("calc".into(), fields), ("eth".into(), Layout::default())]
    }

    #[test]
    fn a_header_of_the_program_is_a_layer() {
        let text = "udp(dst=9) / calc(op=ADD, flag=true, a[0]=0x1f, to=10.0.0.1) / \"x\"";
        let written = build(text, &calc()).expect("a packet");
        assert_eq!(written.bytes[8..], [0x38, 0x1f, 10, 0, 0, 1, b'x']);
        assert_eq!(written.bytes[4..6], [0, 15], "UDP's length covers it");
        let parts: Vec<_> =
            written.parts.iter().map(|part| (part.offset, part.name.as_str())).collect();
        assert_eq!(parts, [(0, "udp"), (8, "calc"), (14, "")]);
        assert!(build("eth(dst=02:00:00:00:00:01, src=02:00:00:00:00:02)", &calc()).is_ok());
    }

    #[test]
    fn mistakes_in_headers_of_the_program_are_told() {
        for (wrong, said) in [
            ("calc(op=ADDD)", "calc: `op`: there is no member `ADDD`; did you mean `ADD`?"),
            ("calc(op=4)", "calc: `op`: no member has the value `4`"),
            ("calc(rest=8)", "calc: `rest`: `8` does not fit in 3 bits"),
            ("calc(rest=ADD)", "calc: `rest`: `ADD` is not a number"),
            ("calc(opp=ADD)", "calc: there is no field `opp`; did you mean `op`?"),
            ("calc(op=ADD, op=SUB)", "`op` is given twice"),
            ("calk(op=ADD)", "calk: there is no such layer; did you mean `calc`?"),
        ] {
            let why = build(wrong, &calc()).expect_err(wrong);
            assert!(why.contains(said), "{wrong}: {why}");
        }
    }
}

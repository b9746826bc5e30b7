//! Dissects frames for people: field by field, or two frames side by side.
//!
//! Any bytes can be dissected. The fields follow one another and cover the frame completely.
//! Truncated or unknown data are shown as bytes.

use std::collections::HashMap;
use std::fmt::Write;

use super::checksum::{Sum, checksum, pseudo_header_v4, pseudo_header_v6};
use super::layout::{FieldSpec, read_bits};
use super::{arp, ethernet, icmp, icmpv6, ipv4, ipv6, mpls, protocol, tcp, udp, vlan};

/// Bytes of payload in one field.
const ROW: usize = 16;
/// Maximum depth to which IP in IP, and IP in ICMP errors, is dissected.
const MAX_NESTING: usize = 4;

/// A field of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Layer and field: `ipv4.ttl`. Repeated layers are numbered: `mpls[1].label`. Names are unique
    /// in a frame.
    pub name: String,
    /// The value, as text for people.
    pub value: String,
    /// The start, in bytes from the start of the frame.
    pub offset: usize,
    /// The start within that byte, in bits from the most significant, 0 to 7.
    pub bit: usize,
    /// The width in bits.
    pub bits: usize,
}

/// Dissects a frame.
pub fn dissect(frame: &[u8]) -> Vec<Field> {
    let mut dissector =
        Dissector { frame, at: 0, end: frame.len(), fields: Vec::new(), layers: HashMap::new() };
    dissector.ethernet();
    dissector.fields
}

/// The addresses that the checksum of a transport header also covers.
enum Addresses {
    V4([u8; 4], [u8; 4]),
    V6([u8; 16], [u8; 16]),
}

struct Dissector<'a> {
    frame: &'a [u8],
    /// The number of bytes dissected so far.
    at: usize,
    /// End of the current packet. The frame's padding follows.
    end: usize,
    fields: Vec<Field>,
    /// Number of occurrences of each layer.
    layers: HashMap<&'static str, usize>,
}

impl<'a> Dissector<'a> {
    /// Returns the rest of the current packet.
    fn rest(&self) -> &'a [u8] {
        &self.frame[self.at..self.end]
    }

    /// Returns a name for the next layer of this kind.
    fn name(&mut self, layer: &'static str) -> String {
        let count = self.layers.entry(layer).or_insert(0);
        *count += 1;
        if *count == 1 { layer.to_owned() } else { format!("{layer}[{}]", *count - 1) }
    }

    /// Dissects a header of `length` bytes whose fields are `specs`. The bytes after them are
    /// `options`. If the packet ends earlier, shows the rest as bytes and returns `None`.
    fn header(
        &mut self,
        layer: &'static str,
        specs: &[FieldSpec],
        length: usize,
    ) -> Option<&'a [u8]> {
        let Some(header) = self.rest().get(..length) else {
            let name = self.name(layer);
            self.bytes(&format!("{name}.truncated"), self.end);
            return None;
        };
        let name = self.name(layer);
        let start = self.at;
        for spec in specs {
            self.fields.push(Field {
                name: format!("{name}.{}", spec.name),
                value: spec.show.text(read_bits(header, spec.bit, spec.bits), spec.bits),
                offset: start + spec.bit / 8,
                bit: spec.bit % 8,
                bits: spec.bits,
            });
        }
        let covered = specs.iter().map(|spec| spec.bits).sum::<usize>() / 8;
        self.at = start + covered;
        self.bytes(&format!("{name}.options"), start + length);
        Some(header)
    }

    /// Shows bytes up to `end` in rows.
    fn bytes(&mut self, name: &str, end: usize) {
        let rows = self.frame[self.at..end].chunks(ROW);
        let single = rows.len() == 1;
        for (i, row) in rows.enumerate() {
            let hex: Vec<_> = row.iter().map(|b| format!("{b:02x}")).collect();
            self.fields.push(Field {
                name: if single { name.to_owned() } else { format!("{name}[{}]", i * ROW) },
                value: hex.join(" "),
                offset: self.at + i * ROW,
                bit: 0,
                bits: row.len() * 8,
            });
        }
        self.at = end;
    }

    /// Adds to the value of the last field of this name whether the checksum is correct.
    fn verdict(&mut self, field: &str, found: u16, right: u16) {
        let suffix = format!(".{field}");
        if let Some(field) = self.fields.iter_mut().rev().find(|f| f.name.ends_with(&suffix)) {
            field.value += &if found == right {
                " (correct)".to_owned()
            } else {
                format!(" (wrong, should be 0x{right:04x})")
            };
        }
    }

    fn ethernet(&mut self) {
        if let Some(header) = self.header("ethernet", ethernet::FIELDS, ethernet::LEN) {
            self.ethertype(u16::from_be_bytes([header[12], header[13]]));
        }
        // Bytes that an inner length excludes are padding of the frame.
        self.end = self.frame.len();
        self.bytes("padding", self.end);
    }

    fn ethertype(&mut self, mut ethertype: u16) {
        while matches!(ethertype, ethernet::VLAN | ethernet::SERVICE_VLAN) {
            let Some(tag) = self.header("vlan", vlan::FIELDS, vlan::LEN) else { return };
            ethertype = u16::from_be_bytes([tag[2], tag[3]]);
        }
        match ethertype {
            ethernet::IPV4 => self.ipv4(0),
            ethernet::IPV6 => self.ipv6(0),
            ethernet::MPLS | ethernet::MPLS_UPSTREAM => self.mpls(),
            ethernet::ARP => {
                if self.header("arp", arp::FIELDS, arp::LEN).is_none() {
                    return;
                }
                // Frames of minimum size are padded, and ARP has no length field.
                self.end = self.at;
            }
            _ => self.bytes("payload", self.end),
        }
    }

    fn mpls(&mut self) {
        loop {
            let Some(entry) = self.header("mpls", mpls::FIELDS, mpls::LEN) else { return };
            if entry[2] & 1 == 1 {
                break;
            }
        }
        // MPLS does not say which protocol it carries. Routers look at the IP version too.
        match self.rest().first().map(|b| b >> 4) {
            Some(4) => self.ipv4(0),
            Some(6) => self.ipv6(0),
            _ => self.bytes("payload", self.end),
        }
    }

    fn ipv4(&mut self, nesting: usize) {
        let start = self.at;
        // A header length below the minimum is wrong; show the mandatory header.
        let length = self.rest().first().map_or(0, |b| usize::from(b & 15) * 4).max(ipv4::LEN);
        let Some(header) = self.header("ipv4", ipv4::FIELDS, length) else { return };
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let mut zeroed = header.to_vec();
        zeroed[ipv4::CHECKSUM..ipv4::CHECKSUM + 2].fill(0);
        self.verdict("checksum", word(ipv4::CHECKSUM), checksum(&zeroed));
        let total = usize::from(word(ipv4::TOTAL_LENGTH));
        let whole = self.end.saturating_sub(start) >= total;
        if total >= length {
            self.end = self.end.min(start + total);
        }
        let fragment = word(6) & 0x3fff;
        let address = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]];
        let addresses = Addresses::V4(address(ipv4::SRC), address(ipv4::DST));
        self.transport(
            header[9],
            &addresses,
            fragment & 0x1fff == 0,
            fragment == 0 && whole,
            nesting,
        );
    }

    fn ipv6(&mut self, nesting: usize) {
        let Some(header) = self.header("ipv6", ipv6::FIELDS, ipv6::LEN) else { return };
        let payload = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut whole = self.rest().len() >= payload;
        self.end = self.end.min(self.at + payload);
        let address = |at: usize| header[at..at + 16].try_into().expect("sixteen bytes");
        let addresses = Addresses::V6(address(ipv6::SRC), address(ipv6::DST));
        let (mut next, mut first) = (header[6], true);
        loop {
            let rest = self.rest();
            let units = rest.get(1).map_or(0, |&b| usize::from(b));
            let (layer, fields, length) = match next {
                protocol::HOP_BY_HOP => ("hop_by_hop", ipv6::EXTENSION_FIELDS, units * 8 + 8),
                protocol::ROUTING => ("routing", ipv6::EXTENSION_FIELDS, units * 8 + 8),
                protocol::DESTINATION_OPTIONS => {
                    ("destination_options", ipv6::EXTENSION_FIELDS, units * 8 + 8)
                }
                protocol::FRAGMENT => ("fragment", ipv6::FRAGMENT_FIELDS, ipv6::FRAGMENT_LEN),
                protocol::AUTHENTICATION => {
                    ("authentication", ipv6::AUTHENTICATION_FIELDS, (units * 4 + 8).max(12))
                }
                _ => break,
            };
            let Some(header) = self.header(layer, fields, length) else { return };
            if next == protocol::FRAGMENT {
                let position = u16::from_be_bytes([header[2], header[3]]);
                first = position >> 3 == 0;
                whole &= first && position & 1 == 0;
            }
            next = header[0];
            if !first {
                break;
            }
        }
        self.transport(next, &addresses, first, whole, nesting);
    }

    /// Dissects the payload of an IP header. `first` says that it begins with the protocol's header
    /// (it is not a later fragment). `whole` says that it is complete, so that its checksum can be
    /// checked.
    fn transport(
        &mut self,
        number: u8,
        addresses: &Addresses,
        first: bool,
        whole: bool,
        nesting: usize,
    ) {
        if !first {
            return self.bytes("payload", self.end);
        }
        let segment = self.rest();
        let total = Sum::default().bytes(segment).plus(match number {
            protocol::ICMP => Sum::default(),
            _ => pseudo_header(addresses, number, segment.len()),
        });
        match number {
            protocol::TCP => {
                let length = segment.get(12).map_or(0, |b| usize::from(b >> 4) * 4).max(tcp::LEN);
                let Some(header) = self.header("tcp", tcp::FIELDS, length) else { return };
                self.transport_verdict(header, tcp::CHECKSUM, total, whole);
            }
            protocol::UDP => {
                let Some(header) = self.header("udp", udp::FIELDS, udp::LEN) else { return };
                let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
                let stated = u16::from_be_bytes([header[6], header[7]]);
                if stated != 0 && length == segment.len() {
                    self.transport_verdict(header, udp::CHECKSUM, total, whole);
                }
            }
            protocol::ICMP => {
                let Some(header) = self.header("icmp", icmp::FIELDS, icmp::LEN) else { return };
                self.transport_verdict(header, icmp::CHECKSUM, total, whole);
                if icmp::is_error(header[0]) && nesting < MAX_NESTING && !self.rest().is_empty() {
                    return self.ipv4(nesting + 1);
                }
            }
            protocol::ICMPV6 => {
                let Some(header) = self.header("icmpv6", icmpv6::FIELDS, icmpv6::LEN) else {
                    return;
                };
                self.transport_verdict(header, icmpv6::CHECKSUM, total, whole);
                if icmpv6::is_error(header[0]) && nesting < MAX_NESTING && !self.rest().is_empty() {
                    return self.ipv6(nesting + 1);
                }
            }
            4 if nesting < MAX_NESTING => return self.ipv4(nesting + 1),
            41 if nesting < MAX_NESTING => return self.ipv6(nesting + 1),
            _ => {}
        }
        self.bytes("payload", self.end);
    }

    /// Checks a checksum, given the sum over everything that it covers, including itself.
    fn transport_verdict(&mut self, header: &[u8], at: usize, total: Sum, whole: bool) {
        if !whole {
            return;
        }
        let found = u16::from_be_bytes([header[at], header[at + 1]]);
        // Subtracting a word from a ones'-complement sum is adding its complement.
        let right = total.word(!found).checksum();
        let right =
            if right == 0 && (at == udp::CHECKSUM || found == 0xffff) { 0xffff } else { right };
        self.verdict("checksum", found, right);
    }
}

fn pseudo_header(addresses: &Addresses, number: u8, length: usize) -> Sum {
    match addresses {
        Addresses::V4(src, dst) => {
            pseudo_header_v4((*src).into(), (*dst).into(), number, length as u16)
        }
        Addresses::V6(src, dst) => {
            pseudo_header_v6((*src).into(), (*dst).into(), number, length as u32)
        }
    }
}

/// A field of two frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    pub name: String,
    /// The value in the first frame, if the field exists there.
    pub expected: Option<String>,
    /// The value in the second frame, if the field exists there.
    pub got: Option<String>,
}

impl Comparison {
    /// Returns whether the frames agree.
    pub fn same(&self) -> bool {
        self.expected == self.got
    }
}

/// Compares two frames field by field: the fields of the first in order. Fields that only the
/// second has are inserted at their places.
pub fn compare(expected: &[u8], got: &[u8]) -> Vec<Comparison> {
    let (expected, got) = (dissect(expected), dissect(got));
    let position: HashMap<&str, usize> =
        got.iter().enumerate().map(|(i, field)| (field.name.as_str(), i)).collect();
    let known: HashMap<&str, ()> = expected.iter().map(|field| (field.name.as_str(), ())).collect();
    let mut out = Vec::new();
    let mut done = 0;
    let only_got = |out: &mut Vec<Comparison>, from: usize, to: usize| {
        for field in got.iter().take(to).skip(from).filter(|f| !known.contains_key(f.name.as_str()))
        {
            out.push(Comparison {
                name: field.name.clone(),
                expected: None,
                got: Some(field.value.clone()),
            });
        }
    };
    for field in &expected {
        let at = position.get(field.name.as_str()).copied();
        if let Some(at) = at.filter(|&at| at >= done) {
            only_got(&mut out, done, at);
            done = at + 1;
        }
        let value = at.map(|at| got[at].value.clone());
        out.push(Comparison {
            name: field.name.clone(),
            expected: Some(field.value.clone()),
            got: value,
        });
    }
    only_got(&mut out, done, got.len());
    out
}

/// Formats two frames as a table: every header field, and the differing rows of payload. `!` marks
/// differences.
pub fn diff(expected: &[u8], got: &[u8]) -> String {
    let rows: Vec<_> = compare(expected, got)
        .into_iter()
        .filter(|row| {
            !row.same() || !(row.name.starts_with("payload") || row.name.starts_with("padding"))
        })
        .collect();
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    let width = |head: &str, of: &dyn Fn(&Comparison) -> usize| {
        rows.iter().map(of).max().unwrap_or(0).max(head.len())
    };
    let name_width = width("field", &|row| row.name.len());
    let expected_width = width("expected", &|row| text(&row.expected).len());
    let mut out = format!("  {:name_width$}  {:expected_width$}  got\n", "field", "expected");
    for row in &rows {
        let mark = if row.same() { ' ' } else { '!' };
        let (left, right) = (text(&row.expected), text(&row.got));
        writeln!(out, "{mark} {:name_width$}  {left:expected_width$}  {right}", row.name)
            .expect("writing to a string cannot fail");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::build::Frame;
    use super::super::ethernet::Ethernet;
    use super::super::ipv4::Ipv4;
    use super::super::testing::assert_any_bytes_are_shown;
    use super::super::udp::Udp;
    use super::*;

    fn nested(depth: usize) -> Vec<u8> {
        let frame = Frame::new().ethernet(Ethernet::default());
        (0..depth).fold(frame, |frame, _| frame.ipv4(Ipv4::default())).payload(&[1]).bytes()
    }

    #[test]
    fn packets_in_packets_are_dissected_up_to_a_depth() {
        for depth in 1..8 {
            let layers = dissect(&nested(depth));
            let layers = layers.iter().filter(|field| field.name.ends_with(".ttl")).count();
            assert_eq!(layers, depth.min(MAX_NESTING + 1));
        }
    }

    #[test]
    fn rows_of_bytes_have_their_offset() {
        let frame = [0x11; 14 + ROW + 3];
        let fields = dissect(&frame);
        let rows: Vec<_> = fields.iter().skip(3).map(|f| (&*f.name, f.offset, f.bits)).collect();
        assert_eq!(rows, [("payload[0]", 14, 8 * ROW), ("payload[16]", 14 + ROW, 24)]);
    }

    #[test]
    fn layers_of_one_kind_are_numbered() {
        let names: Vec<String> = dissect(&nested(3)).into_iter().map(|field| field.name).collect();
        let versions: Vec<_> = names.iter().filter(|name| name.ends_with(".version")).collect();
        assert_eq!(versions, ["ipv4.version", "ipv4[1].version", "ipv4[2].version"]);
    }

    #[test]
    fn fields_of_one_frame_alone_are_compared_with_nothing() {
        let without = Frame::new().ethernet(Ethernet::default()).ipv4(Ipv4::default());
        let with = without.clone().udp(Udp::default());
        let rows = compare(&without.bytes(), &with.bytes());
        let port = rows.iter().find(|row| row.name == "udp.dst_port").expect("a port");
        assert_eq!((&port.expected, port.got.as_deref()), (&None, Some("53")));
        assert!(!port.same());
        let back = compare(&with.bytes(), &without.bytes());
        let port = back.iter().find(|row| row.name == "udp.dst_port").expect("a port");
        assert_eq!((port.expected.as_deref(), &port.got), (Some("53"), &None));
        let names =
            |rows: &[Comparison]| rows.iter().map(|row| row.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&rows), names(&back));
    }

    #[test]
    fn a_table_marks_differences_and_omits_equal_payload() {
        let frame = |ttl, byte| {
            let header = Ipv4 { ttl, ..Ipv4::default() };
            let frame = Frame::new().ethernet(Ethernet::default()).ipv4(header);
            frame.payload(&[[7; ROW], [byte; ROW]].concat()).bytes()
        };
        let table = diff(&frame(9, 1), &frame(8, 2));
        let line = |name: &str| table.lines().find(|line| line[2..].starts_with(name));
        assert!(line("ipv4.ttl").expect("a line").starts_with('!'));
        assert!(line("ipv4.src").expect("a line").starts_with(' '));
        assert!(line("payload[16]").expect("a line").starts_with('!'));
        assert_eq!(line("payload[0]"), None);
    }

    #[test]
    fn any_bytes_are_shown() {
        assert_any_bytes_are_shown(&nested(1)[..12]);
    }
}

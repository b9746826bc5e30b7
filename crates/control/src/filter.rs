//! Filters of packets, for captures and traces of live traffic.
//!
//! ```text
//! filter     = and { ("||" | "or") and }
//! and        = not { ("&&" | "and") not }
//! not        = ("!" | "not") not | "(" filter ")" | PROTOCOL | FIELD OPERATOR VALUE
//! PROTOCOL   = ip4 | ip6 | arp | tcp | udp | icmp | icmp6 | vlan | mpls
//! FIELD      = port | length | eth.src | eth.dst | eth.type | vlan.id | mpls.label
//!            | ip.src | ip.dst | ip.proto | ip.ttl | l4.src | l4.dst
//! OPERATOR   = == | != | < | <= | > | >=
//! VALUE      = a number, a MAC address, an IP address or a prefix
//! ```
//!
//! A comparison with a field that the packet does not have is false, `!=` too. IP fields and ports
//! come from the first IP header after VLAN tags and MPLS labels. Matching allocates no memory.

use std::net::IpAddr;

#[cfg(target_os = "linux")]
mod in_kernel;

/// A filter. The default one matches every packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter(Option<Expr>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Expr {
    Is(Protocol),
    Compare(Field, Operator, Value),
    Not(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Ip4,
    Ip6,
    Arp,
    Vlan,
    Mpls,
    /// A protocol above IP, by its number.
    Above(u8),
}

const PROTOCOLS: [(&str, Protocol); 9] = [
    ("ip4", Protocol::Ip4),
    ("ip6", Protocol::Ip6),
    ("arp", Protocol::Arp),
    ("vlan", Protocol::Vlan),
    ("mpls", Protocol::Mpls),
    ("tcp", Protocol::Above(6)),
    ("udp", Protocol::Above(17)),
    ("icmp", Protocol::Above(1)),
    ("icmp6", Protocol::Above(58)),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Port,
    Length,
    EthSrc,
    EthDst,
    EthType,
    VlanId,
    MplsLabel,
    IpSrc,
    IpDst,
    IpProto,
    IpTtl,
    L4Src,
    L4Dst,
}

const FIELDS: [(&str, Field); 13] = [
    ("port", Field::Port),
    ("length", Field::Length),
    ("eth.src", Field::EthSrc),
    ("eth.dst", Field::EthDst),
    ("eth.type", Field::EthType),
    ("vlan.id", Field::VlanId),
    ("mpls.label", Field::MplsLabel),
    ("ip.src", Field::IpSrc),
    ("ip.dst", Field::IpDst),
    ("ip.proto", Field::IpProto),
    ("ip.ttl", Field::IpTtl),
    ("l4.src", Field::L4Src),
    ("l4.dst", Field::L4Dst),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

const OPERATORS: [(&str, Operator); 6] = [
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    Number(u64),
    /// An address of this version, right-aligned, and the number of low bits that are ignored.
    Prefix {
        version: u8,
        bits: u128,
        rest: u32,
    },
}

/// Deeper nesting is refused, so that no text exhausts the stack.
const MAX_DEPTH: u32 = 64;

impl Filter {
    /// Parses a filter; a blank text matches every packet.
    ///
    /// # Errors
    /// A sentence that names the mistake and its character.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Ok(Self(None));
        }
        let mut parser = Parser { text, at: 0, depth: 0 };
        let parsed = parser.or().and_then(|expr| match parser.rest() {
            "" => Ok(expr),
            rest => Err(format!("unexpected `{rest}`")),
        });
        let at = text[..parser.at].chars().count() + 1;
        parsed.map(|expr| Self(Some(expr))).map_err(|why| format!("filter, character {at}: {why}"))
    }

    /// Whether a frame at this port matches.
    pub fn matches(&self, port: u16, bytes: &[u8]) -> bool {
        self.0.as_ref().is_none_or(|expr| expr.holds(&Headers::of(port, bytes)))
    }
}

impl Expr {
    fn holds(&self, headers: &Headers) -> bool {
        match self {
            Self::Is(protocol) => headers.is(*protocol),
            Self::Compare(field, operator, value) => headers.compare(*field, *operator, *value),
            Self::Not(inner) => !inner.holds(headers),
            Self::And(left, right) => left.holds(headers) && right.holds(headers),
            Self::Or(left, right) => left.holds(headers) || right.holds(headers),
        }
    }
}

/// The fields of a frame that filters compare.
#[derive(Default)]
struct Headers {
    port: u16,
    length: usize,
    macs: Option<(u64, u64)>,
    eth_type: Option<u16>,
    vlan: Option<u16>,
    label: Option<u32>,
    /// Version, source and destination.
    ip: Option<(u8, u128, u128)>,
    proto: Option<u8>,
    ttl: Option<u8>,
    l4: Option<(u16, u16)>,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    number(bytes, at).map(u16::from_be_bytes)
}

impl Headers {
    fn of(port: u16, bytes: &[u8]) -> Self {
        let mut headers = Self { port, length: bytes.len(), ..Self::default() };
        // Reading stops where the frame ends.
        headers.read(bytes);
        headers
    }

    fn read(&mut self, bytes: &[u8]) -> Option<()> {
        let mac = |at| {
            let [a, b, c, d, e, f] = number(bytes, at)?;
            Some(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
        };
        self.macs = Some((mac(6)?, mac(0)?));
        let (mut kind, mut at) = (u16_at(bytes, 12)?, 14);
        self.eth_type = Some(kind);
        while matches!(kind, 0x8100 | 0x88a8) {
            let tag = u16_at(bytes, at)?;
            self.vlan.get_or_insert(tag & 0xfff);
            kind = u16_at(bytes, at + 2)?;
            at += 4;
        }
        if matches!(kind, 0x8847 | 0x8848) {
            loop {
                let entry = u32::from_be_bytes(number(bytes, at)?);
                self.label.get_or_insert(entry >> 12);
                at += 4;
                if entry & 0x100 != 0 {
                    break;
                }
            }
            kind = match bytes.get(at)? >> 4 {
                4 => 0x0800,
                6 => 0x86dd,
                _ => return None,
            };
        }
        match kind {
            0x0800 => self.ipv4(bytes, at),
            0x86dd => self.ipv6(bytes, at),
            _ => None,
        }
    }

    fn ipv4(&mut self, bytes: &[u8], at: usize) -> Option<()> {
        let first = *bytes.get(at)?;
        let address = |at| number(bytes, at).map(|octets| u128::from(u32::from_be_bytes(octets)));
        self.ip = Some((4, address(at + 12)?, address(at + 16)?));
        self.ttl = bytes.get(at + 8).copied();
        self.proto = bytes.get(at + 9).copied();
        // Only the first fragment has ports; DF is not an offset.
        let is_first = u16_at(bytes, at + 6)? & 0x1fff == 0;
        is_first.then(|| self.ports(bytes, at + usize::from(first & 15).max(5) * 4)).flatten()
    }

    fn ipv6(&mut self, bytes: &[u8], mut at: usize) -> Option<()> {
        let address = |at| number(bytes, at).map(u128::from_be_bytes);
        self.ip = Some((6, address(at + 8)?, address(at + 24)?));
        self.ttl = bytes.get(at + 7).copied();
        let mut next = *bytes.get(at + 6)?;
        at += 40;
        loop {
            self.proto = Some(next);
            match next {
                // Hop-by-hop options, routing header, destination options (RFC 8200 section 4).
                0 | 43 | 60 => {
                    next = *bytes.get(at)?;
                    at += (usize::from(*bytes.get(at + 1)?) + 1) * 8;
                }
                44 => {
                    next = *bytes.get(at)?;
                    let is_first = u16_at(bytes, at + 2)? & 0xfff8 == 0;
                    at += 8;
                    if !is_first {
                        self.proto = Some(next);
                        return None;
                    }
                }
                _ => return self.ports(bytes, at),
            }
        }
    }

    /// Ports of TCP, UDP, DCCP, SCTP and UDP-Lite.
    fn ports(&mut self, bytes: &[u8], at: usize) -> Option<()> {
        if matches!(self.proto, Some(6 | 17 | 33 | 132 | 136)) {
            self.l4 = Some((u16_at(bytes, at)?, u16_at(bytes, at + 2)?));
        }
        Some(())
    }

    fn is(&self, protocol: Protocol) -> bool {
        match protocol {
            Protocol::Ip4 => self.ip.is_some_and(|ip| ip.0 == 4),
            Protocol::Ip6 => self.ip.is_some_and(|ip| ip.0 == 6),
            Protocol::Arp => self.eth_type == Some(0x0806),
            Protocol::Vlan => self.vlan.is_some(),
            Protocol::Mpls => self.label.is_some(),
            Protocol::Above(number) => self.proto == Some(number),
        }
    }

    fn compare(&self, field: Field, operator: Operator, value: Value) -> bool {
        let number = match field {
            Field::Port => Some(u64::from(self.port)),
            Field::Length => Some(self.length as u64),
            Field::EthSrc => self.macs.map(|macs| macs.0),
            Field::EthDst => self.macs.map(|macs| macs.1),
            Field::EthType => self.eth_type.map(u64::from),
            Field::VlanId => self.vlan.map(u64::from),
            Field::MplsLabel => self.label.map(u64::from),
            Field::IpProto => self.proto.map(u64::from),
            Field::IpTtl => self.ttl.map(u64::from),
            Field::L4Src => self.l4.map(|ports| u64::from(ports.0)),
            Field::L4Dst => self.l4.map(|ports| u64::from(ports.1)),
            Field::IpSrc | Field::IpDst => {
                let (Some(ip), Value::Prefix { version, bits, rest }) = (self.ip, value) else {
                    return false;
                };
                let address = if field == Field::IpSrc { ip.1 } else { ip.2 };
                let above = |bits: u128| bits.checked_shr(rest).unwrap_or(0);
                let is_inside = above(address) == above(bits);
                return ip.0 == version && is_inside == (operator == Operator::Equal);
            }
        };
        let (Some(number), Value::Number(value)) = (number, value) else { return false };
        match operator {
            Operator::Equal => number == value,
            Operator::NotEqual => number != value,
            Operator::Less => number < value,
            Operator::LessOrEqual => number <= value,
            Operator::Greater => number > value,
            Operator::GreaterOrEqual => number >= value,
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
}

impl<'a> Parser<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
        &self.text[self.at..]
    }

    /// Takes a sign or a whole word.
    fn take(&mut self, what: &str) -> bool {
        let is_word = what.starts_with(char::is_alphanumeric);
        let follows = self.rest().strip_prefix(what);
        let found = follows.is_some_and(|rest| !is_word || !rest.starts_with(is_in_word));
        self.at += if found { what.len() } else { 0 };
        found
    }

    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let word = &rest[..rest.find(|c| !is_in_word(c)).unwrap_or(rest.len())];
        self.at += word.len();
        word
    }

    fn or(&mut self) -> Result<Expr, String> {
        let mut left = self.and()?;
        while self.take("||") || self.take("or") {
            left = Expr::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr, String> {
        let mut left = self.not()?;
        while self.take("&&") || self.take("and") {
            left = Expr::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expr, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} deep"));
        }
        let is_not = !self.rest().starts_with("!=") && self.take("!") || self.take("not");
        let expr = if is_not {
            Expr::Not(Box::new(self.not()?))
        } else if self.take("(") {
            let inner = self.or()?;
            if !self.take(")") {
                return Err("`)` is missing".into());
            }
            inner
        } else {
            self.term()?
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn term(&mut self) -> Result<Expr, String> {
        self.rest();
        let begin = self.at;
        let name = self.word();
        if let Some((_, protocol)) = PROTOCOLS.iter().find(|(known, _)| *known == name) {
            return Ok(Expr::Is(*protocol));
        }
        let Some((_, field)) = FIELDS.iter().find(|(known, _)| *known == name) else {
            self.at = begin;
            let protocols = PROTOCOLS.map(|(known, _)| known).join(", ");
            let fields = FIELDS.map(|(known, _)| known).join(", ");
            return Err(format!(
                "a protocol or a field is expected: {protocols}, {fields}; found `{name}`"
            ));
        };
        let Some((_, operator)) = OPERATORS.iter().find(|(sign, _)| self.take(sign)) else {
            return Err(format!("after `{name}`, one of == != < <= > >= is expected"));
        };
        self.rest();
        let begin = self.at;
        let value = value(*field, *operator, self.word());
        if value.is_err() {
            self.at = begin;
        }
        Ok(Expr::Compare(*field, *operator, value?))
    }
}

fn is_in_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || ".:/_".contains(c)
}

fn value(field: Field, operator: Operator, word: &str) -> Result<Value, String> {
    match field {
        Field::IpSrc | Field::IpDst => {
            if !matches!(operator, Operator::Equal | Operator::NotEqual) {
                return Err("addresses are compared with == and != only".into());
            }
            prefix(word)
                .ok_or_else(|| format!("an address or a prefix is expected; found `{word}`"))
        }
        Field::EthSrc | Field::EthDst => {
            let parts: Vec<_> = word.split(':').collect();
            let octet = |part: &&str| match part.len() {
                1 | 2 => u64::from_str_radix(part, 16).ok(),
                _ => None,
            };
            let octets: Option<Vec<u64>> = parts.iter().map(octet).collect();
            match octets.as_deref() {
                Some(octets @ [_, _, _, _, _, _]) => {
                    Ok(Value::Number(octets.iter().fold(0, |bits, octet| bits << 8 | octet)))
                }
                _ => Err(format!("a MAC address is expected; found `{word}`")),
            }
        }
        _ => {
            let number = match word.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => word.parse(),
            };
            number.map(Value::Number).map_err(|_| format!("a number is expected; found `{word}`"))
        }
    }
}

fn prefix(word: &str) -> Option<Value> {
    let (address, length) = match word.split_once('/') {
        Some((address, length)) => (address, Some(length.parse::<u32>().ok()?)),
        None => (word, None),
    };
    let (version, bits, width) = match address.parse().ok()? {
        IpAddr::V4(address) => (4, u128::from(address.to_bits()), 32u32),
        IpAddr::V6(address) => (6, address.to_bits(), 128),
    };
    let rest = width.checked_sub(length.unwrap_or(width))?;
    Some(Value::Prefix { version, bits, rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// UDP from 10.0.1.2:1000 to 10.0.2.2:53, after a VLAN tag if there is one.
    fn udp4(vlan: Option<u16>) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2];
        if let Some(vlan) = vlan {
            frame.extend([0x81, 0]);
            frame.extend(vlan.to_be_bytes());
        }
        frame.extend([8, 0, 0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 1, 2, 10, 0, 2, 2]);
        frame.extend([3, 232, 0, 53, 0, 8, 0, 0]);
        frame
    }

    fn matches(filter: &str, frame: &[u8]) -> bool {
        Filter::parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}")).matches(1, frame)
    }

    #[test]
    fn fields_are_compared() {
        let frame = udp4(None);
        for (filter, expected) in [
            ("", true),
            ("udp", true),
            ("tcp or ip6", false),
            ("ip.src == 10.0.0.0/16 && l4.dst == 53", true),
            ("ip.src == 10.0.1.3", false),
            ("ip.src != 10.0.1.3 and not tcp", true),
            ("ip.dst == 0.0.0.0/0", true),
            ("ip.dst == ::/0", false),
            ("port == 1 && length == 42", true),
            ("eth.src == 02:00:00:00:01:02 && eth.dst != 2:0:0:0:1:2", true),
            ("eth.type == 0x800 && ip.ttl <= 64 && ip.ttl > 63", true),
            ("vlan", false),
            // Fields that are missing compare as false.
            ("vlan.id != 5", false),
            ("!(vlan.id == 5)", true),
            ("tcp || udp && l4.src == 1", false),
            ("(tcp || udp) && l4.src == 1000", true),
        ] {
            assert_eq!(matches(filter, &frame), expected, "{filter}");
        }
        let tagged = udp4(Some(0x2005));
        assert!(matches("vlan.id == 5 && ip.dst == 10.0.2.2 && l4.dst == 53", &tagged));
    }

    #[test]
    fn labels_extension_headers_and_fragments_are_passed() {
        let mut labelled = vec![0; 12];
        labelled.extend([0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64]);
        labelled.extend(&udp4(None)[14..]);
        assert!(matches("mpls.label == 16 && udp && l4.dst == 53", &labelled));
        let mut v6 = vec![0; 12];
        v6.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 16, 0, 9]);
        v6.extend([0; 15].into_iter().chain([1]).chain([0; 15]).chain([2]));
        v6.extend([17, 0, 0, 0, 0, 0, 0, 0, 3, 232, 0, 53, 0, 8, 0, 0]);
        assert!(matches("ip6 && ip.src == ::1 && ip.ttl == 9 && l4.src == 1000", &v6));
        let mut fragment = udp4(None);
        fragment[20] = 0x20;
        fragment[21] = 1;
        assert!(matches("udp && !(l4.dst == 53)", &fragment));
    }

    #[test]
    fn short_frames_have_fewer_fields() {
        let frame = udp4(Some(1));
        let filter = Filter::parse("ip.src == 10.0.1.2 && l4.dst == 53").expect("a filter");
        for length in 0..frame.len() - 4 {
            assert_eq!(filter.matches(0, &frame[..length]), length >= 42, "{length}");
        }
    }

    #[test]
    fn wrong_filters_are_refused_with_their_place() {
        for (text, part) in [
            ("udp &&", "character 7: a protocol or a field"),
            ("speed == 1", "character 1: a protocol or a field is expected"),
            ("ip.src < 10.0.0.1", "== and != only"),
            ("ip.src == 10.0.0.0/33", "character 11: an address or a prefix"),
            ("eth.src == 1:2:3", "a MAC address"),
            ("port == x", "a number"),
            ("port 1", "one of == !="),
            ("(udp", "`)` is missing"),
            ("udp udp", "character 5: unexpected `udp`"),
            (&"(".repeat(100), "nested"),
            (&"!".repeat(100_000), "nested"),
        ] {
            let error = Filter::parse(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

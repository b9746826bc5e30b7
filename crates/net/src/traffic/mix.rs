//! Weighted mixes of protocols, as text: `ipv4=5,ipv6=2,mpls1..4=3`.

use std::fmt;
use std::str::FromStr;

use super::error::{SpecError, serde_as_text};
use super::random::Random;
use crate::wire::{tcp, udp};

/// The deepest label stack that is generated.
pub const MAX_LABELS: u8 = 16;

/// Splits off a weight. Without a number, as in `ipv4`, the weight is 1.
fn weighted(part: &str) -> Result<(&str, u32), SpecError> {
    let (name, weight) = match part.split_once('=') {
        Some((name, weight)) => (name.trim(), weight.trim()),
        None => (part.trim(), "1"),
    };
    let weight = weight.parse().map_err(|_| {
        SpecError(format!("`{weight}` in `{part}` is not a weight, which must be a whole number"))
    })?;
    Ok((name, weight))
}

/// Parses a list of weighted parts. At least one weight must be above zero.
fn parse_parts<T>(
    text: &str,
    what: &str,
    part: impl Fn(&str) -> Result<T, SpecError>,
) -> Result<Vec<(T, u32)>, SpecError> {
    let mut parts = Vec::new();
    for word in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (name, weight) = weighted(word)?;
        parts.push((part(name)?, weight));
    }
    let total: u64 = parts.iter().map(|(_, w)| u64::from(*w)).sum();
    if total == 0 {
        return Err(SpecError(format!("the mix of {what} is empty; a weight must be above zero")));
    }
    if total > u64::from(u32::MAX) {
        return Err(SpecError(format!(
            "the weights of the mix of {what} add up to more than {}",
            u32::MAX
        )));
    }
    Ok(parts)
}

fn write_parts<T: fmt::Display>(parts: &[(T, u32)], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (i, (part, weight)) in parts.iter().enumerate() {
        write!(f, "{}{part}={weight}", if i == 0 { "" } else { "," })?;
    }
    Ok(())
}

/// The network protocol under a label stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inner {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// IPv4 or IPv6, in proportion to the unlabelled packets in the mix. IPv4 if the mix has
    /// neither.
    AsMix,
}

/// A network protocol of a mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// MPLS. The number of labels is uniform in `least..=most`.
    Mpls {
        /// Fewest labels, from 1.
        least: u8,
        /// Most labels, up to 16.
        most: u8,
        /// The protocol under the labels.
        inner: Inner,
    },
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ipv4 => f.write_str("ipv4"),
            Self::Ipv6 => f.write_str("ipv6"),
            Self::Mpls { least, most, inner } => {
                write!(f, "mpls{least}")?;
                if most != least {
                    write!(f, "..{most}")?;
                }
                f.write_str(match inner {
                    Inner::AsMix => "",
                    Inner::Ipv4 => "/ipv4",
                    Inner::Ipv6 => "/ipv6",
                })
            }
        }
    }
}

impl FromStr for Protocol {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let unknown = || {
            SpecError(format!(
                "`{text}` is not a protocol of a mix; use `ipv4`, `ipv6`, `mplsN`, `mplsN..M`, `mplsN/ipv4` or `mplsN/ipv6`"
            ))
        };
        match text {
            "ipv4" => return Ok(Self::Ipv4),
            "ipv6" => return Ok(Self::Ipv6),
            _ => {}
        }
        let (stack, inner) = match text.split_once('/') {
            None => (text, Inner::AsMix),
            Some((stack, "ipv4")) => (stack, Inner::Ipv4),
            Some((stack, "ipv6")) => (stack, Inner::Ipv6),
            Some(_) => return Err(unknown()),
        };
        let count = stack.strip_prefix("mpls").ok_or_else(unknown)?;
        let (least, most) = match count {
            "" => ("1", "1"),
            _ => count.split_once("..").unwrap_or((count, count)),
        };
        let labels = |n: &str| n.parse::<u8>().ok().filter(|n| (1..=MAX_LABELS).contains(n));
        let (least, most) = (labels(least), labels(most));
        match (least, most) {
            (Some(least), Some(most)) if least <= most => Ok(Self::Mpls { least, most, inner }),
            _ => Err(SpecError(format!(
                "`{text}`: a label stack has 1 to {MAX_LABELS} labels, the smaller number first"
            ))),
        }
    }
}

/// Network protocols with weights: `ipv4=5,ipv6=2,mpls1..4=3`. A missing weight is 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mix {
    /// The parts. A protocol may occur more than once.
    pub parts: Vec<(Protocol, u32)>,
}

impl FromStr for Mix {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        parse_parts(text, "protocols", str::parse).map(|parts| Self { parts })
    }
}

impl fmt::Display for Mix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_parts(&self.parts, f)
    }
}

impl Mix {
    /// Returns the sum of the weights of an unlabelled protocol.
    pub(super) fn plain_weight(&self, protocol: Protocol) -> u32 {
        self.parts.iter().filter(|(p, _)| *p == protocol).map(|(_, w)| w).sum()
    }

    /// Returns whether IPv4, and whether IPv6, can occur, with or without labels.
    pub(super) fn families(&self) -> (bool, bool) {
        let used = |find: fn(&Protocol) -> bool| self.parts.iter().any(|(p, w)| *w > 0 && find(p));
        let as_mix = used(|p| matches!(p, Protocol::Mpls { inner: Inner::AsMix, .. }));
        let v6 = self.plain_weight(Protocol::Ipv6) > 0;
        let v4 = self.plain_weight(Protocol::Ipv4) > 0 || as_mix && !v6;
        (
            v4 || used(|p| matches!(p, Protocol::Mpls { inner: Inner::Ipv4, .. })),
            v6 || used(|p| matches!(p, Protocol::Mpls { inner: Inner::Ipv6, .. })),
        )
    }
}

/// The order in which packets of the parts of a mix follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Random, with probabilities proportional to the weights.
    #[default]
    Random,
    /// Alternating, as evenly as the weights allow: with `ipv4,mpls1` every second packet has a
    /// label.
    Turn,
}

/// Parses `random` and `turn`.
impl FromStr for Order {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        match text.trim() {
            "random" => Ok(Self::Random),
            "turn" => Ok(Self::Turn),
            _ => {
                Err(SpecError(format!("`{text}` is not an order of a mix; use `random` or `turn`")))
            }
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Random => "random",
            Self::Turn => "turn",
        })
    }
}

/// Selects parts in turn: the part that lags most behind its share is next.
pub(super) struct Turns {
    weights: Vec<f64>,
    behind: Vec<f64>,
}

impl Turns {
    pub(super) fn new(weights: &[f64]) -> Self {
        Self { weights: weights.to_vec(), behind: vec![0.0; weights.len()] }
    }

    pub(super) fn next(&mut self) -> usize {
        self.behind.iter_mut().zip(&self.weights).for_each(|(behind, weight)| *behind += weight);
        // `max_by` returns the last of equals, so the reversed order selects the first.
        let most =
            (0..self.behind.len()).rev().max_by(|&a, &b| self.behind[a].total_cmp(&self.behind[b]));
        let next = most.expect("a mix has parts");
        self.behind[next] -= self.weights.iter().sum::<f64>();
        next
    }
}

/// The layer after the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transport {
    /// UDP.
    Udp,
    /// TCP.
    Tcp,
    /// Only payload. The IP header says that no header follows (59; RFC 8200, section 4.7).
    None,
}

impl Transport {
    /// Returns the length of the header in bytes.
    pub(super) fn length(self) -> usize {
        match self {
            Self::Udp => udp::LEN,
            Self::Tcp => tcp::LEN,
            Self::None => 0,
        }
    }
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Udp => "udp",
            Self::Tcp => "tcp",
            Self::None => "none",
        })
    }
}

/// Transport protocols with weights: `udp=3,tcp=1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportMix {
    pub udp: u32,
    pub tcp: u32,
    /// Weight of packets without a transport header.
    pub none: u32,
}

impl TransportMix {
    /// Draws a protocol by weight.
    pub(super) fn draw(self, random: &mut Random) -> Transport {
        let [tcp, udp, none] = [self.tcp, self.udp, self.none].map(u64::from);
        match random.below(tcp + udp + none) {
            drawn if drawn < tcp => Transport::Tcp,
            drawn if drawn < tcp + udp => Transport::Udp,
            _ => Transport::None,
        }
    }

    /// Returns the longest header that has a weight above zero.
    pub(super) fn longest(self) -> Transport {
        match self {
            Self { tcp: 1.., .. } => Transport::Tcp,
            Self { udp: 1.., .. } => Transport::Udp,
            _ => Transport::None,
        }
    }
}

impl FromStr for TransportMix {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let all = [Transport::Udp, Transport::Tcp, Transport::None];
        let parts = parse_parts(text, "transports", |name| {
            all.into_iter().find(|transport| transport.to_string() == name).ok_or_else(|| {
                SpecError(format!(
                    "`{name}` is not a transport of a mix; use `udp`, `tcp` or `none` (no transport header)"
                ))
            })
        })?;
        let weight =
            |of| parts.iter().filter(|(transport, _)| *transport == of).map(|(_, w)| w).sum();
        let [udp, tcp, none] = all.map(weight);
        Ok(Self { udp, tcp, none })
    }
}

impl fmt::Display for TransportMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "udp={},tcp={},none={}", self.udp, self.tcp, self.none)
    }
}

/// Numbers of VLAN tags with weights: `0=8,1=1,2=1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanMix {
    /// The weights of no tag, one tag and two tags.
    pub weights: [u32; 3],
}

impl FromStr for VlanMix {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let parts = parse_parts(text, "VLAN tags", |name| match name {
            "0" => Ok(0),
            "1" => Ok(1),
            "2" => Ok(2),
            _ => Err(SpecError(format!("`{name}` is not a number of VLAN tags; use 0, 1 or 2"))),
        })?;
        let mut weights = [0; 3];
        for (tags, weight) in parts {
            weights[tags] += weight;
        }
        Ok(Self { weights })
    }
}

impl fmt::Display for VlanMix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<_> =
            (0..3).map(|tags| (tags, self.weights[tags])).filter(|(_, w)| *w > 0).collect();
        write_parts(&parts, f)
    }
}

serde_as_text!(Mix, Order, TransportMix, VlanMix);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_read_and_written() {
        let mix: Mix = "ipv4=5, ipv6=2,mpls1..4=3,mpls2/ipv6".parse().expect("a mix");
        assert_eq!(mix.to_string(), "ipv4=5,ipv6=2,mpls1..4=3,mpls2/ipv6=1");
        assert_eq!(mix.to_string().parse(), Ok(mix));
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("", "the mix of protocols is empty"),
            ("ipv4=0", "the mix of protocols is empty"),
            ("ipv5=1", "`ipv5` is not a protocol of a mix"),
            ("ipv4=x", "`x` in `ipv4=x` is not a weight"),
            ("mpls0=1", "`mpls0`: a label stack has 1 to 16 labels"),
            ("mpls4..1=1", "`mpls4..1`: a label stack has"),
            ("mpls17", "`mpls17`: a label stack has"),
            ("mpls1/arp", "`mpls1/arp` is not a protocol"),
            ("ipv4=4294967295,ipv6=1", "the weights of the mix of protocols add up"),
        ] {
            let error = text.parse::<Mix>().expect_err(text);
            assert!(error.0.starts_with(expected), "{text}: {error}");
        }
        assert!("sctp=1".parse::<TransportMix>().is_err());
        assert!("none=0".parse::<TransportMix>().is_err());
        assert!("3=1".parse::<VlanMix>().is_err());
    }

    #[test]
    fn transports_are_read_written_and_drawn_by_weight() {
        let mix: TransportMix = "none=2,udp".parse().expect("a mix");
        assert_eq!(mix, TransportMix { udp: 1, tcp: 0, none: 2 });
        assert_eq!(mix.to_string().parse(), Ok(mix));
        assert_eq!(mix.longest(), Transport::Udp);
        let mut random = Random::new(1);
        let drawn: Vec<Transport> = (0..3000).map(|_| mix.draw(&mut random)).collect();
        let count = |of| drawn.iter().filter(|transport| **transport == of).count();
        assert_eq!(count(Transport::Tcp), 0);
        assert!(count(Transport::Udp).abs_diff(1000) < 100, "{}", count(Transport::Udp));
    }

    #[test]
    fn parts_take_turns_as_their_weights_say() {
        let turns = |weights: &[f64], count: usize| {
            let mut turns = Turns::new(weights);
            (0..count).map(|_| turns.next()).collect::<Vec<_>>()
        };
        assert_eq!(turns(&[1.0, 1.0], 4), [0, 1, 0, 1]);
        assert_eq!(turns(&[2.0, 1.0], 6), [0, 1, 0, 0, 1, 0]);
        assert_eq!(turns(&[1.0], 2), [0, 0]);
        assert_eq!("turn".parse(), Ok(Order::Turn));
        assert!("sorted".parse::<Order>().is_err());
    }

    #[test]
    fn the_families_that_a_mix_needs_are_known() {
        let families = |text: &str| text.parse::<Mix>().expect(text).families();
        assert_eq!(families("ipv4"), (true, false));
        assert_eq!(families("mpls2"), (true, false));
        assert_eq!(families("ipv6,mpls2"), (false, true));
        assert_eq!(families("ipv4,mpls2/ipv6"), (true, true));
        assert_eq!(families("ipv4,ipv6=0"), (true, false));
    }
}

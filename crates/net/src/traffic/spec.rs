//! The specification of traffic.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::addresses::Pick;
use super::error::{SpecError, serde_as_text};
use super::mix::{Inner, Mix, Order, Protocol, TransportMix, VlanMix};
use super::timing::{Bursts, Rate};
use crate::packet::MAX_LENGTH;
use crate::wire::{ethernet, ipv4, ipv6, mpls, vlan};

/// Sizes of frames in bytes, including the frame check sequence unless they are bare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All frames have the same size.
    Fixed(u32),
    /// The simple Internet mix: 64, 594 and 1518 bytes (IP packets of 40, 576 and 1500) in the
    /// ratio 7 to 4 to 1.
    Imix,
    /// The sizes of the capture's packets, in order, repeatedly.
    Capture,
    /// All frames have the same size, without frame check sequence and without Ethernet's padding:
    /// the length of a packet on a link other than Ethernet.
    Bare(u32),
}

/// The Internet mix: sizes and weights.
pub(super) const IMIX: [(u32, u32); 3] = [(64, 7), (594, 4), (1518, 1)];

/// Parses `64`, `1500`, `imix`, `capture`, `bare:54`.
impl FromStr for Sizes {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let most = MAX_LENGTH + ethernet::FCS;
        match text.trim() {
            "imix" => Ok(Self::Imix),
            "capture" => Ok(Self::Capture),
            text if text.starts_with("bare:") => {
                let size = text["bare:".len()..].trim().parse();
                let size = size
                    .ok()
                    .filter(|size| (ethernet::LEN..=MAX_LENGTH).contains(&(*size as usize)));
                size.map(Self::Bare).ok_or_else(|| {
                    SpecError(format!(
                        "`{text}` is not a size; without check sequence and padding a frame has {} to {MAX_LENGTH} bytes, such as \
                         `bare:54`",
                        ethernet::LEN
                    ))
                })
            }
            text => match text.parse() {
                Ok(size) if (ethernet::MIN_FRAME..=most).contains(&(size as usize)) => {
                    Ok(Self::Fixed(size))
                }
                Ok(size) => Err(SpecError(format!(
                    "a frame of {size} bytes is out of range: {} to {most}, frame check sequence included; `bare:{size}` is one without, \
                     and without padding",
                    ethernet::MIN_FRAME
                ))),
                Err(_) => Err(SpecError(format!(
                    "`{text}` is not a size; use a number of bytes, `imix`, `capture` or `bare:BYTES`"
                ))),
            },
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => size.fmt(f),
            Self::Imix => f.write_str("imix"),
            Self::Capture => f.write_str("capture"),
            Self::Bare(size) => write!(f, "bare:{size}"),
        }
    }
}

/// A range of MPLS labels, including both ends. All are equally likely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Labels {
    pub first: u32,
    pub last: u32,
}

impl Default for Labels {
    fn default() -> Self {
        Self { first: mpls::FIRST_UNRESERVED, last: mpls::MAX_LABEL }
    }
}

/// Parses `16..1039`, or one label.
impl FromStr for Labels {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first <= last && last <= mpls::MAX_LABEL => {
                Ok(Self { first, last })
            }
            _ => Err(SpecError(format!(
                "`{text}` is not a range of labels, such as `16..1039` (at most {})",
                mpls::MAX_LABEL
            ))),
        }
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.first, self.last)
    }
}

serde_as_text!(Sizes, Labels);

/// Serialises a MAC address as text.
mod mac_text {
    use serde::{Deserialize, Deserializer, Serializer, de};

    use crate::tables::Literal;

    pub(super) fn serialize<S: Serializer>(
        mac: &[u8; 6],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Literal::Mac(*mac))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<[u8; 6], D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.parse() {
            Ok(Literal::Mac(mac)) => Ok(mac),
            _ => Err(de::Error::custom(format!("`{text}` is not a MAC address"))),
        }
    }
}

/// A source of addresses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AddressSpec {
    /// A file with prefixes (see `tables::read_prefixes`). If `None`, all unicast addresses are
    /// used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefixes: Option<PathBuf>,
    /// How addresses are drawn.
    pub pick: Pick,
}

/// The specification of traffic. In TOML or JSON every part is optional. Mixes and shapes are text,
/// as in [`Mix`], [`Rate`] and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// The seed. Two generators with the same specification and seed produce the same packets.
    pub seed: u64,
    /// Number of packets. `None`: traffic is endless.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Sizes of frames.
    pub sizes: Sizes,
    /// Network protocols.
    pub mix: Mix,
    /// The order of the mix.
    pub order: Order,
    /// Transport protocols.
    pub transport: TransportMix,
    /// VLAN tags. Identifiers are drawn from 1 to 4094.
    pub vlans: VlanMix,
    /// MPLS labels.
    pub labels: Labels,
    /// MPLS labels at the bottom of the stack. `None`: drawn from `labels`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bottom_labels: Option<Labels>,
    /// Pairs of transport ports for each pair of addresses, from 1: the number of flows between two
    /// hosts.
    pub flows: u32,
    /// Time to live, hop limit, and TTL of labels.
    pub ttl: u8,
    /// The average rate.
    pub rate: Rate,
    /// The burst shape.
    pub bursts: Bursts,
    /// Arrival time of the first packet in nanoseconds.
    pub start_ns: u64,
    /// Number of ingress ports. Packets use the ports from 0 in turn.
    pub ports: u16,
    /// A capture that provides sizes (`sizes = "capture"`) or the order of addresses (`pick =
    /// "trace"`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<PathBuf>,
    /// The destination MAC address: the router's.
    #[serde(with = "mac_text")]
    pub dst_mac: [u8; 6],
    /// Source MAC address.
    #[serde(with = "mac_text")]
    pub src_mac: [u8; 6],
    /// Destination addresses.
    pub destinations: AddressSpec,
    /// Source addresses.
    pub sources: AddressSpec,
}

impl Default for Spec {
    fn default() -> Self {
        let ethernet = ethernet::Ethernet::default();
        Self {
            seed: 1,
            count: None,
            sizes: Sizes::Fixed(ethernet::MIN_FRAME as u32),
            mix: Mix { parts: vec![(Protocol::Ipv4, 1)] },
            order: Order::default(),
            transport: TransportMix { udp: 1, tcp: 0, none: 0 },
            vlans: VlanMix { weights: [1, 0, 0] },
            labels: Labels::default(),
            bottom_labels: None,
            flows: 1,
            ttl: 64,
            rate: Rate::BitsPerSecond(10_000_000_000),
            bursts: Bursts::Constant,
            start_ns: 0,
            ports: 1,
            capture: None,
            dst_mac: ethernet.dst,
            src_mac: ethernet.src,
            destinations: AddressSpec::default(),
            sources: AddressSpec::default(),
        }
    }
}

impl Spec {
    /// Parses a mix of network protocols, such as `ipv4=5,ipv6=2,mpls1..4=3`.
    ///
    /// # Errors
    /// The error in the text.
    pub fn parse_mix(text: &str) -> Result<Mix, SpecError> {
        text.parse()
    }

    /// Checks constraints between parts.
    ///
    /// # Errors
    /// The first inconsistency.
    pub fn check(&self) -> Result<(), SpecError> {
        let traced = [&self.destinations, &self.sources].iter().any(|a| a.pick == Pick::Trace);
        let refuse = |what: &str| Err(SpecError(what.to_owned()));
        self.check_bare()?;
        match () {
            () if self.ports == 0 => refuse("`ports` must be at least 1"),
            () if self.flows == 0 => refuse("`flows` must be at least 1"),
            () if self.sizes == Sizes::Capture && self.capture.is_none() => {
                refuse("sizes are to come from a capture, but `capture` names none")
            }
            () if traced && self.capture.is_none() => {
                refuse("addresses are to follow a trace, but `capture` names none")
            }
            () => Ok(()),
        }
    }

    /// Refuses bare frames that are too short for some headers of the mix.
    fn check_bare(&self) -> Result<(), SpecError> {
        let Sizes::Bare(size) = self.sizes else { return Ok(()) };
        let transport = self.transport.longest();
        let tags = self.vlans.weights.iter().rposition(|weight| *weight > 0).unwrap_or(0);
        for (protocol, _) in self.mix.parts.iter().filter(|(_, weight)| *weight > 0) {
            let (labels, network) = match *protocol {
                Protocol::Ipv4 => (0, ipv4::LEN),
                Protocol::Ipv6 => (0, ipv6::LEN),
                Protocol::Mpls { most, inner: Inner::Ipv4, .. } => (most, ipv4::LEN),
                Protocol::Mpls { most, inner: Inner::Ipv6, .. } => (most, ipv6::LEN),
                Protocol::Mpls { most, inner: Inner::AsMix, .. } => {
                    (most, if self.mix.families().1 { ipv6::LEN } else { ipv4::LEN })
                }
            };
            let stack = vlan::LEN * tags + mpls::LEN * usize::from(labels);
            let headers = ethernet::LEN + stack + network + transport.length();
            if headers > size as usize {
                return Err(SpecError(format!(
                    "a frame of {size} bytes has no room for the headers of `{protocol}` with {transport}, which take up to {headers}; say \
                     `bare:{headers}`, or fewer headers (`transport` can be `none`)"
                )));
            }
        }
        Ok(())
    }
}

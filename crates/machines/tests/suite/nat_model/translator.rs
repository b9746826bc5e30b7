//! The model: a list of mappings.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use super::traffic::{Arrival, Content, EXTERNAL, STATIONS};
use super::wire::{Datagram, Endpoint, ICMP, IcmpError, TCP, UDP, Wrong};

/// The outcome of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Sent(u16, Vec<u8>),
    /// Dropped, or handed to the control processor, for this reason.
    Refused(String),
}

#[derive(Clone, Debug)]
struct Mapping {
    protocol: u8,
    inside: Endpoint,
    outside: Endpoint,
    /// The time of the last packet sent from inside; `None` if the mapping is static.
    refreshed_ns: Option<u64>,
}

pub struct Translator {
    /// The mappings, including expired ones until their endpoints are needed again.
    mappings: Vec<Mapping>,
    size: usize,
    tcp_age_ns: u64,
    udp_age_ns: u64,
    /// The kinds of outcomes that have occurred.
    pub seen: BTreeSet<String>,
}

impl Translator {
    /// Creates a translator with the static mapping of `programs/tests/nat.tables`.
    pub fn new(size: usize, tcp_age_ns: u64, udp_age_ns: u64) -> Self {
        let server = Mapping {
            protocol: TCP,
            inside: (Ipv4Addr::new(10, 0, 0, 80), 80),
            outside: (EXTERNAL, 8080),
            refreshed_ns: None,
        };
        Self { mappings: vec![server], size, tcp_age_ns, udp_age_ns, seen: BTreeSet::new() }
    }

    /// Returns the outside endpoints of all present and past mappings.
    pub fn outside_endpoints(&self, protocol: u8) -> impl Iterator<Item = Endpoint> {
        self.mappings.iter().filter(move |m| m.protocol == protocol).map(|m| m.outside)
    }

    /// Returns whether the traffic has led to every outcome on which a test relies.
    pub fn has_seen_everything(&self) -> bool {
        let kinds = [
            "mapped",
            "created",
            "hairpin",
            "inbound",
            "NO_MAPPING",
            "ICMP_CHECKSUM",
            "ICMP_DEEP",
            "error inbound",
            "error outbound",
            "error hairpin",
        ];
        let full = self.size > 100 || self.seen.contains("TABLE_FULL");
        full && kinds.iter().all(|kind| self.seen.contains(*kind))
    }

    /// Compares the engine's outcome for a packet with the required one, and updates the model.
    ///
    /// # Errors
    /// The difference, as a sentence.
    pub fn judge(&mut self, arrival: &Arrival, outcome: &Outcome) -> Result<(), String> {
        let (kind, expected) = match &arrival.content {
            Content::Datagram(datagram) if arrival.is_from_inside => {
                self.outbound(arrival, datagram, outcome)?
            }
            Content::Datagram(datagram) => self.inbound(arrival, datagram),
            Content::Error(error) => self.error(arrival, error),
        };
        if *outcome != expected {
            return Err(format!("{kind}\n  expected {expected:02x?}\n  got      {outcome:02x?}"));
        }
        self.seen.insert(match expected {
            Outcome::Refused(reason) => reason,
            Outcome::Sent(..) => kind.into(),
        });
        Ok(())
    }

    fn is_live(&self, mapping: &Mapping, now_ns: u64) -> bool {
        let age = if mapping.protocol == TCP { self.tcp_age_ns } else { self.udp_age_ns };
        mapping.refreshed_ns.is_none_or(|refreshed| now_ns - refreshed <= age)
    }

    fn live(&self, now_ns: u64, protocol: u8) -> impl Iterator<Item = &Mapping> {
        self.mappings.iter().filter(move |m| m.protocol == protocol && self.is_live(m, now_ns))
    }

    fn of_inside(&self, now_ns: u64, protocol: u8, inside: Endpoint) -> Option<Endpoint> {
        self.live(now_ns, protocol).find(|m| m.inside == inside).map(|m| m.outside)
    }

    fn of_outside(&self, now_ns: u64, protocol: u8, outside: Endpoint) -> Option<Endpoint> {
        self.live(now_ns, protocol).find(|m| m.outside == outside).map(|m| m.inside)
    }

    /// Handles a datagram from inside (RFC 4787 REQ-1 to 4, 6 and 9; RFC 5382 REQ-1; RFC 5508
    /// REQ-1).
    fn outbound(
        &mut self,
        arrival: &Arrival,
        datagram: &Datagram,
        outcome: &Outcome,
    ) -> Result<(&'static str, Outcome), String> {
        let (now_ns, protocol) = (arrival.time_ns, datagram.protocol);
        let neighbour = match protocol {
            ICMP => None,
            _ => self.of_outside(now_ns, protocol, datagram.to),
        };
        if neighbour.is_none() && datagram.to.0 == EXTERNAL {
            return Ok(("to nobody", refused("NO_MAPPING")));
        }
        let (kind, outside) = match self.of_inside(now_ns, protocol, datagram.from) {
            Some(outside) => ("mapped", outside),
            None if !makes_mapping(datagram) => return Ok(("unasked", refused("NO_MAPPING"))),
            None => {
                let class = |m: &&Mapping| (m.protocol == TCP) == (protocol == TCP);
                let there = self.mappings.iter().filter(class);
                if there.filter(|m| self.is_live(m, now_ns)).count() >= self.size {
                    return Ok(("full", refused("TABLE_FULL")));
                }
                ("created", self.choice(arrival, datagram, neighbour.is_some(), outcome)?)
            }
        };
        self.mappings.retain(|m| {
            m.protocol != protocol
                || m.refreshed_ns.is_none()
                || m.inside != datagram.from && m.outside != outside
        });
        let is_static =
            self.mappings.iter().any(|m| m.protocol == protocol && m.outside == outside);
        if !is_static {
            let refreshed_ns = Some(now_ns);
            self.mappings.push(Mapping { protocol, inside: datagram.from, outside, refreshed_ns });
        }
        let mut out = Datagram { from: outside, ..datagram.clone() };
        Ok(match neighbour {
            Some(neighbour) => {
                out.to = neighbour;
                ("hairpin", sent_back(arrival, &out.bytes()))
            }
            None => (kind, Outcome::Sent(1, arrival.frame(STATIONS, &out.bytes()))),
        })
    }

    /// Returns the outside endpoint that the engine has chosen for a new mapping, and checks that
    /// it is allowed.
    fn choice(
        &self,
        arrival: &Arrival,
        datagram: &Datagram,
        is_hairpin: bool,
        outcome: &Outcome,
    ) -> Result<Endpoint, String> {
        let Outcome::Sent(_, frame) = outcome else {
            return Err(format!("a mapping had to be made: {outcome:?}"));
        };
        let l4 = arrival.link() + 20 + 4 * datagram.options;
        let at = if datagram.protocol == ICMP { l4 + 4 } else { l4 };
        let port = u16::from_be_bytes([frame[at], frame[at + 1]]);
        let own = datagram.from.1;
        let is_free =
            |port| self.of_outside(arrival.time_ns, datagram.protocol, (EXTERNAL, port)).is_none();
        let is_alike = port % 2 == own % 2 && (port < 1024) == (own < 1024) && port != 0;
        if is_free(own) && port != own {
            Err(format!("port {own} is free, but {port} was taken (hairpin: {is_hairpin})"))
        } else if !is_free(port) {
            Err(format!("port {port} is another host's"))
        } else if datagram.protocol != ICMP && !is_alike {
            Err(format!("port {port} is unlike {own} (RFC 4787 REQ-3, REQ-4)"))
        } else {
            Ok((EXTERNAL, port))
        }
    }

    /// Handles a datagram from outside (RFC 4787 REQ-8: endpoint-independent filtering).
    fn inbound(&self, arrival: &Arrival, datagram: &Datagram) -> (&'static str, Outcome) {
        match self.of_outside(arrival.time_ns, datagram.protocol, datagram.to) {
            None => ("inbound", refused("NO_MAPPING")),
            Some(inside) => {
                let mut out = Datagram { to: inside, ..datagram.clone() };
                if out.protocol == ICMP {
                    out.from.1 = inside.1;
                }
                ("inbound", Outcome::Sent(0, arrival.frame(STATIONS, &out.bytes())))
            }
        }
    }

    /// Handles an ICMP error (RFC 5508 REQ-3 to 7).
    fn error(&self, arrival: &Arrival, error: &IcmpError) -> (&'static str, Outcome) {
        let (now_ns, link, about) = (arrival.time_ns, arrival.link(), &error.about);
        match error.wrong {
            Some(Wrong::Icmp) => return ("wrong checksum", refused("ICMP_CHECKSUM")),
            Some(Wrong::EmbeddedIp) => return ("wrong header", refused("ICMP_CHECKSUM")),
            None if !error.shows_ports(link) => return ("deep", refused("ICMP_DEEP")),
            None => {}
        }
        let mut moved = about.clone();
        if !arrival.is_from_inside {
            let Some(inside) = self.of_outside(now_ns, about.protocol, about.from) else {
                return ("error inbound", refused("NO_MAPPING"));
            };
            moved.from = inside;
            let out = IcmpError { to: inside.0, ..error.clone() };
            let frame = arrival.frame(STATIONS, &out.bytes(&moved, link));
            return ("error inbound", Outcome::Sent(0, frame));
        }
        let Some(outside) = self.of_inside(now_ns, about.protocol, about.to) else {
            return ("error outbound", refused("NO_MAPPING"));
        };
        moved.to = outside;
        if about.protocol == ICMP {
            moved.from.1 = outside.1;
        }
        let mut out = IcmpError { from: outside.0, ..error.clone() };
        let neighbour = match about.protocol {
            ICMP => None,
            _ => self.of_outside(now_ns, about.protocol, about.from),
        };
        match neighbour {
            Some(neighbour) => {
                moved.from = neighbour;
                out.to = neighbour.0;
                ("error hairpin", sent_back(arrival, &out.bytes(&moved, link)))
            }
            None if error.to == EXTERNAL => ("error to nobody", refused("NO_MAPPING")),
            None => {
                let frame = arrival.frame(STATIONS, &out.bytes(&moved, link));
                ("error outbound", Outcome::Sent(1, frame))
            }
        }
    }
}

/// Returns whether a datagram from inside makes a mapping. A TCP reset or an ICMP reply does not.
fn makes_mapping(datagram: &Datagram) -> bool {
    match datagram.protocol {
        TCP => datagram.kind & 0x04 == 0,
        UDP => true,
        _ => matches!(datagram.kind, 8 | 13),
    }
}

fn refused(reason: &str) -> Outcome {
    Outcome::Refused(reason.into())
}

fn sent_back(arrival: &Arrival, packet: &[u8]) -> Outcome {
    let [to, from] = STATIONS;
    Outcome::Sent(0, arrival.frame([from, to], packet))
}

//! The traffic of network processor measurements (the Gorilla paper, section 4.5): each kind of
//! packet alone, and mixes.

use std::path::PathBuf;

use wireloom_net::Packet;
use wireloom_net::tables::read_prefixes;
use wireloom_net::traffic::{Generator, Labels, Order, PrefixPool, Sizes, Spec, TransportMix};

use super::Settings;
use wireloom_explore::rig::Loaded;
use wireloom_machine::Source;
use wireloom_machine::{Error, Result};

/// Labels that programs/tables/throughput_more.tables pops; the layer below is processed.
const POPPED: Labels = Labels { first: 56, last: 79 };
/// Labels that programs/tables/throughput_more.tables swaps.
pub const SWAPPED: Labels = Labels { first: 16, last: 47 };
/// Packets per measurement.
const PACKETS: u64 = 8000;

/// A kind of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// The paper's name.
    pub name: &'static str,
    /// The packets, which arrive in turn. In a stack of n labels the outer n - 1 are popped and the
    /// last is swapped: n lookups.
    pub mix: &'static str,
}

/// The paper's traffic: protocols alone, and then mixes, one of which the paper names.
pub const TRAFFIC: [Traffic; 11] = [
    Traffic { name: "IPv4", mix: "ipv4" },
    Traffic { name: "IPv6", mix: "ipv6" },
    Traffic { name: "MPLS_1", mix: "mpls1/ipv4" },
    Traffic { name: "MPLS_2", mix: "mpls2/ipv4" },
    Traffic { name: "MPLS_3", mix: "mpls3/ipv4" },
    Traffic { name: "MPLS_4", mix: "mpls4/ipv4" },
    Traffic { name: "IPv4-IPv6", mix: "ipv4,ipv6" },
    Traffic { name: "MPLS_1-IPv4", mix: "mpls1/ipv4,ipv4" },
    Traffic { name: "MPLS_4-IPv4", mix: "mpls4/ipv4,ipv4" },
    Traffic { name: "MPLS_4-IPv6", mix: "mpls4/ipv4,ipv6" },
    Traffic { name: "all six", mix: "ipv4,ipv6,mpls1/ipv4,mpls2/ipv4,mpls3/ipv4,mpls4/ipv4" },
];

/// Generated packets of a kind of traffic.
pub struct Stream {
    pub traffic: Traffic,
    pub packets: Vec<Packet>,
}

impl Traffic {
    /// Finds the kind of this name.
    pub fn named(name: &str) -> Option<Self> {
        TRAFFIC.into_iter().find(|traffic| traffic.name == name)
    }

    /// Returns this number of packets: frames of 64 bytes, or longer if their headers are (66 bytes
    /// for IPv6 and UDP). Source and destination addresses are drawn from these prefixes.
    ///
    /// # Errors
    /// If the prefixes lack a protocol.
    pub fn packets(self, prefixes: &PrefixPool, count: u64) -> Result<Vec<Packet>> {
        let spec = Spec { count: Some(count), ..self.spec() };
        let made = Generator::with_prefixes(&spec, prefixes.clone(), prefixes.clone());
        Ok(made.map_err(Error::new)?.collect())
    }

    /// Specifies an endless stream of frames of 64 bytes, or longer if their headers are.
    pub fn spec(self) -> Spec {
        Spec {
            sizes: Sizes::Fixed(64),
            mix: self.mix.parse().expect("a test reads each of them"),
            order: Order::Turn,
            labels: POPPED,
            bottom_labels: Some(SWAPPED),
            ports: 16,
            ..Spec::default()
        }
    }

    /// Specifies an endless stream of packets of this length in bytes, at least 54, without padding
    /// and check sequence, as on lines other than Ethernet. If one of the kinds has no room for
    /// UDP, none has a transport header.
    pub fn bare(self, bytes: u32) -> Spec {
        let none = TransportMix { udp: 0, tcp: 0, none: 1 };
        let bare = Spec { sizes: Sizes::Bare(bytes), ..self.spec() };
        if bare.check().is_ok() { bare } else { Spec { transport: none, ..bare } }
    }
}

impl Settings {
    /// Generates streams of these kinds over the Internet's routing table.
    ///
    /// # Errors
    /// If the table has not been fetched.
    pub fn streams(&self, kinds: &[Traffic]) -> Result<Vec<Stream>> {
        let prefixes: PrefixPool =
            read_prefixes(&self.prefixes()?).map_err(Error::new)?.into_iter().collect();
        kinds
            .iter()
            .map(|&traffic| Ok(Stream { traffic, packets: traffic.packets(&prefixes, PACKETS)? }))
            .collect()
    }

    /// Returns the router with the tables of the measurements; with flow counting and the source
    /// lookup that it needs, or with neither.
    ///
    /// # Errors
    /// If a file is missing.
    pub fn routing(&self, counting: bool) -> Result<Loaded> {
        self.routing_with(counting, &self.throughput_tables()?)
    }

    /// As [`Self::routing`], with these tables.
    ///
    /// # Errors
    /// If a file is missing.
    pub fn routing_with(&self, counting: bool, tables: &[PathBuf]) -> Result<Loaded> {
        let set = settings_of_counting(counting);
        Loaded::new(&Source { set, ..self.router()? }, tables)
    }

    /// Returns the router without flow counting and with room for 4,096 next hops, as the areas
    /// assume: 65,536 next hops take half of the block RAMs of the paper's largest part.
    ///
    /// # Errors
    /// If a file is missing.
    pub fn routing_small(&self) -> Result<Loaded> {
        let mut set = settings_of_counting(false);
        set.push(("NEXT_HOPS".to_owned(), "4096".to_owned()));
        Loaded::new(&Source { set, ..self.router()? }, &self.throughput_tables()?)
    }

    /// Returns the router for IPv4 alone.
    ///
    /// # Errors
    /// If a file is missing.
    pub fn routing_ipv4(&self, counting: bool) -> Result<Loaded> {
        let (file, set) = (self.file("programs/ipv4.loom")?, settings_of_counting(counting));
        Loaded::new(&Source { file, set, ..self.router()? }, &self.throughput_tables()?[..1])
    }

    /// Returns the table files of the measurements, IPv4 first.
    ///
    /// # Errors
    /// If one of the tables, or an import, is missing.
    pub fn throughput_tables(&self) -> Result<Vec<PathBuf>> {
        self.prefixes()?;
        ["throughput", "throughput_more"]
            .iter()
            .map(|name| self.file(&format!("programs/tables/{name}.tables")))
            .collect()
    }
}

/// The constants that turn flow counting on or off in the routers.
fn settings_of_counting(counting: bool) -> Vec<(String, String)> {
    ["COUNT_FLOWS", "CHECK_SOURCE"].map(|name| (name.to_owned(), counting.to_string())).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_net::tables::Prefix;

    fn prefixes() -> PrefixPool {
        ["10.0.0.0/8", "2001:db8::/32"]
            .iter()
            .map(|text| text.parse::<Prefix>().expect("a prefix"))
            .collect()
    }

    #[test]
    fn each_kind_is_sixty_four_bytes_and_one_beat_of_a_lane() {
        for traffic in TRAFFIC {
            for packet in traffic.packets(&prefixes(), 12).expect(traffic.name) {
                // Lengths are without the frame check sequence.
                assert!((60..=64).contains(&packet.bytes.len()), "{}", traffic.name);
            }
        }
    }

    #[test]
    fn each_kind_has_bare_packets_of_fifty_four_bytes() {
        for traffic in TRAFFIC {
            let made = Generator::with_prefixes(&traffic.bare(54), prefixes(), prefixes());
            let mut made =
                made.unwrap_or_else(|error| panic!("{}: {error}", traffic.name)).take(12);
            assert!(made.all(|packet| packet.bytes.len() == 54), "{}", traffic.name);
        }
        let udp = |name: &str, bytes| Traffic::named(name).expect(name).bare(bytes).transport.udp;
        assert_eq!(
            [udp("IPv4", 54), udp("IPv6", 54), udp("IPv6", 62), udp("MPLS_4", 54)],
            [1, 0, 1, 0]
        );
    }

    #[test]
    fn the_last_label_is_swapped_and_those_above_it_are_popped() {
        for (name, labels) in [("MPLS_1", 1), ("MPLS_4", 4)] {
            let traffic = Traffic::named(name).expect("it is there");
            for packet in traffic.packets(&prefixes(), 20).expect(name) {
                let entries = packet.bytes[14..].chunks_exact(4).take(labels);
                for (index, entry) in entries.enumerate() {
                    let label = u32::from_be_bytes(entry.try_into().expect("four bytes")) >> 12;
                    let wanted = if index + 1 == labels { SWAPPED } else { POPPED };
                    assert!(
                        (wanted.first..=wanted.last).contains(&label),
                        "{name}: label {label} at {index}"
                    );
                }
            }
        }
    }

    #[test]
    fn protocols_of_a_mix_alternate() {
        let mixed = Traffic::named("MPLS_1-IPv4")
            .expect("it is there")
            .packets(&prefixes(), 6)
            .expect("packets");
        let types: Vec<_> = mixed.iter().map(|packet| packet.bytes[12..14].to_vec()).collect();
        let (mpls, ipv4) = (vec![0x88, 0x47], vec![0x08, 0x00]);
        assert_eq!(types, [&mpls, &ipv4, &mpls, &ipv4, &mpls, &ipv4].map(Clone::clone));
    }
}

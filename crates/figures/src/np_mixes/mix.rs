//! Packet mixes: parts that differ in length, labels and the additions of the next hop.

use std::fmt::Write as _;

use serde::Serialize;
use wireloom_net::Packet;
use wireloom_net::tables::Prefix;
use wireloom_net::traffic::{Generator, Labels, PrefixPool, Sizes, Spec, TransportMix};
use wireloom_np::simulation;
use wireloom_sim::Rng;

use wireloom_machine::{Error, Result};

/// The next hops by number: name, and fields of the table.
const HOPS: [(&str, &str); 4] = [
    ("", ""),
    ("tagged", " vlan=7"),
    ("one label pushed", " labels=ONE_LABEL label=100"),
    ("two labels pushed", " labels=TWO_LABELS label=100 second=200"),
];
/// The next hop of packets that leave unchanged.
pub const PLAIN: usize = 0;
/// The next hop of packets that get a VLAN tag.
pub const TAGGED: usize = 1;
/// The next hop of packets that get two labels.
pub const TWO_LABELS: usize = 3;

/// Labels that are popped; the label under them is looked up.
const POPPED: Labels = Labels { first: 64, last: 95 };
/// Popped labels that exceed the caches.
const COLD_POPPED: Labels = Labels { first: 1024, last: 17_407 };
/// Labels that are swapped, for each next hop.
const SWAPPED: [Labels; 4] = [range(16, 8), range(24, 8), range(32, 8), range(40, 8)];
/// Swapped labels that exceed the caches, for each next hop.
const COLD_SWAPPED: [Labels; 4] =
    [range(20_000, 4096), range(25_000, 4096), range(30_000, 4096), range(35_000, 4096)];
/// Lengths that a search draws from, without check sequence: near the ends of beats, and long.
const LENGTHS: [u32; 14] = [60, 60, 60, 62, 64, 65, 96, 120, 124, 128, 129, 192, 600, 1514];
/// The most parts of a drawn mix.
const MOST_PARTS: usize = 3;
/// The most labels of a drawn packet.
const MOST_LABELS: u64 = 7;
/// The most packets of a part in a round.
const MOST_SHARE: u64 = 9;

/// Beats of a lane per packet, in a run of the requested number of packets. Packets with more beats
/// reduce their number.
const BEATS: u64 = 2;
/// The inverse of the least part of the requested packets that a run has, whatever their length.
const LEAST: usize = 10;

/// Returns the labels from `first` on.
const fn range(first: u32, count: u32) -> Labels {
    Labels { first, last: first + count - 1 }
}

/// Packets of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// The number of packets in a round.
    pub share: u64,
    /// The length without check sequence, or the length of the headers if that is greater.
    pub bytes: u32,
    /// Whether the packets are IPv6, else IPv4.
    pub is_ipv6: bool,
    /// The number of labels on arrival.
    pub labels: u64,
    /// Whether all labels are popped and the packet is routed, else the last label is swapped.
    pub is_routed: bool,
    /// Whether the labels exceed the caches.
    pub is_cold: bool,
    /// The index of the next hop.
    pub hop: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mix {
    pub parts: Vec<Part>,
    /// The order: random by the shares, or in rounds in which each part sends its share at once.
    pub is_random: bool,
}

impl Part {
    /// IPv4 packets without labels.
    pub const fn ipv4(share: u64, bytes: u32, hop: usize) -> Self {
        let [is_ipv6, is_routed, is_cold] = [false; 3];
        Self { share, bytes, is_ipv6, labels: 0, is_routed, is_cold, hop }
    }

    /// IPv4 packets under labels, the last of which is swapped.
    pub const fn mpls(share: u64, bytes: u32, labels: u64) -> Self {
        Self { labels, ..Self::ipv4(share, bytes, PLAIN) }
    }

    /// Draws a part.
    fn drawn(rng: &mut Rng) -> Self {
        let mut coin = || rng.below(2) == 1;
        let [has_labels, is_ipv6, is_routed, is_cold] = [coin(), coin(), coin(), coin()];
        Self {
            share: 1 + rng.below(MOST_SHARE),
            bytes: LENGTHS[rng.below(LENGTHS.len() as u64) as usize],
            is_ipv6,
            labels: if has_labels { 1 + rng.below(MOST_LABELS) } else { 0 },
            is_routed,
            is_cold,
            hop: rng.below(HOPS.len() as u64) as usize,
        }
        .settled()
    }

    /// Normalises the part: the length covers the headers, and properties without effect are
    /// cleared.
    fn settled(self) -> Self {
        let has_labels = self.labels > 0;
        Self {
            bytes: self.bytes.max(self.headers()),
            is_routed: self.is_routed && has_labels,
            is_cold: self.is_cold && has_labels,
            ..self
        }
    }

    /// The bytes of Ethernet, labels and IP.
    fn headers(self) -> u32 {
        let ip = if self.is_ipv6 { 40 } else { 20 };
        14 + 4 * self.labels as u32 + ip
    }

    /// Names the kind of the packets.
    fn name(self) -> String {
        let mut name = String::from(if self.is_ipv6 { "IPv6" } else { "IPv4" });
        if self.labels > 0 {
            let s = if self.labels == 1 { "" } else { "s" };
            let cold = if self.is_cold { "cold " } else { "" };
            let end = if self.is_routed { "all popped" } else { "the last swapped" };
            let _ = write!(name, " under {} {cold}label{s}, {end}", self.labels);
        }
        let _ = write!(name, ", {} bytes", self.bytes);
        if self.hop != PLAIN {
            let _ = write!(name, ", {}", HOPS[self.hop].0);
        }
        name
    }

    /// Generates an endless stream of the packets.
    fn stream(self) -> Result<Generator> {
        let network = |text: String| text.parse::<Prefix>().expect("a prefix");
        let pool = |prefixes: [Prefix; 2]| prefixes.into_iter().collect::<PrefixPool>();
        let family = if self.is_ipv6 { "ipv6" } else { "ipv4" };
        let mix = match self.labels {
            0 => family.to_owned(),
            labels => format!("mpls{labels}/{family}"),
        };
        let popped = if self.is_cold { COLD_POPPED } else { POPPED };
        let swapped = if self.is_cold { COLD_SWAPPED } else { SWAPPED }[self.hop];
        // Packets without room for UDP have no transport header.
        let has_room = u32::from(self.bytes >= self.headers() + 8);
        let transport = TransportMix { udp: has_room, tcp: 0, none: 1 - has_room };
        let spec = Spec {
            sizes: Sizes::Fixed(self.bytes + 4),
            transport,
            mix: mix.parse().expect("a mix"),
            labels: popped,
            bottom_labels: Some(if self.is_routed { popped } else { swapped }),
            ports: 16,
            ..Spec::default()
        };
        let to = pool([destinations4(self.hop), destinations6(self.hop)].map(network));
        let from = pool([SOURCES4, SOURCES6].map(|text| network(text.to_owned())));
        Generator::with_prefixes(&spec, to, from).map_err(Error::new)
    }
}

/// The source networks.
const SOURCES4: &str = "10.64.0.0/10";
const SOURCES6: &str = "2001:db8:8000::/33";

/// Returns the network whose next hop has this number.
fn destinations4(hop: usize) -> String {
    format!("10.{hop}.0.0/16")
}

fn destinations6(hop: usize) -> String {
    format!("2001:db8:{hop}::/48")
}

/// Returns the tables for all mixes.
pub fn tables() -> String {
    let mut text = String::from("table ports\n");
    let mut line = |line: String| {
        text += &line;
        text.push('\n');
    };
    for port in 0..16 {
        line(format!("{port} mac=02:00:00:00:00:{port:02x} any_mac=true"));
    }
    line("table next_hops".into());
    for (hop, (_, fields)) in HOPS.iter().enumerate() {
        let macs = format!("dst=02:00:00:00:01:0{hop} src=02:00:00:00:00:0{hop}");
        line(format!("{hop} port={hop} {macs} mtu=9216{fields}"));
    }
    for (family, from) in [(4, SOURCES4), (6, SOURCES6)] {
        line(format!("table destinations{family}"));
        for hop in 0..HOPS.len() {
            let to = if family == 4 { destinations4(hop) } else { destinations6(hop) };
            line(format!("{to} next_hop={hop} kind=1"));
        }
        line(format!("table sources{family}"));
        line(format!("{from} class=1 kind=1"));
    }
    line("table labels".into());
    for labels in [POPPED, COLD_POPPED] {
        for label in labels.first..=labels.last {
            line(format!("{label} operation=POP_AND_LOOK"));
        }
    }
    for swapped in [SWAPPED, COLD_SWAPPED] {
        for (hop, labels) in swapped.into_iter().enumerate() {
            for label in labels.first..=labels.last {
                line(format!("{label} operation=SWAP next_hop={hop} label={label}"));
            }
        }
    }
    text
}

impl Mix {
    /// Draws a mix.
    pub fn drawn(rng: &mut Rng) -> Self {
        let count = 1 + rng.below(MOST_PARTS as u64);
        let parts = (0..count).map(|_| Part::drawn(rng)).collect();
        Self { parts, is_random: rng.below(2) == 1 }
    }

    /// Draws a mix that differs from this one in one property.
    pub fn neighbour(&self, rng: &mut Rng) -> Self {
        loop {
            let mut mix = self.clone();
            let at = rng.below(mix.parts.len() as u64) as usize;
            let fresh = Part::drawn(rng);
            let (count, part) = (mix.parts.len(), &mut mix.parts[at]);
            match rng.below(8) {
                0 => mix.is_random ^= true,
                1 => part.bytes = fresh.bytes,
                2 => part.share = fresh.share,
                3 => part.hop = fresh.hop,
                4 => part.labels = fresh.labels,
                5 => (part.is_cold, part.is_routed) = (fresh.is_cold, fresh.is_routed),
                6 if count < MOST_PARTS => mix.parts.push(fresh),
                7 if count > 1 => drop(mix.parts.remove(at)),
                _ => part.is_ipv6 ^= true,
            }
            mix.parts.iter_mut().for_each(|part| *part = part.settled());
            if mix != *self {
                return mix;
            }
        }
    }

    /// Returns the name of the mix.
    pub fn name(&self) -> String {
        if let [part] = self.parts[..] {
            return part.name();
        }
        let all: u64 = self.parts.iter().map(|part| part.share).sum();
        let part = |part: &Part| {
            if self.is_random {
                format!("{:.0} % {}", 100.0 * part.share as f64 / all as f64, part.name())
            } else {
                format!("{} of {}", part.share, part.name())
            }
        };
        let parts: Vec<String> = self.parts.iter().map(part).collect();
        format!("{}; {}", parts.join("; "), if self.is_random { "at random" } else { "in turn" })
    }

    /// Returns at most this number of packets; long packets reduce it, at most to a tenth.
    ///
    /// # Errors
    /// If there are no such packets.
    pub fn packets(&self, count: usize) -> Result<Vec<Packet>> {
        let mut streams =
            self.parts.iter().map(|part| part.stream()).collect::<Result<Vec<_>>>()?;
        let round: Vec<usize> = (self.parts.iter().enumerate())
            .flat_map(|(index, part)| (0..part.share).map(move |_| index))
            .collect();
        let mut rng = Rng::new(1, "np-mixes order");
        let (mut packets, mut beats) = (Vec::new(), 0);
        while packets.len() < count
            && (packets.len() < count / LEAST || beats < BEATS * count as u64)
        {
            let at = match self.is_random {
                true => rng.below(round.len() as u64) as usize,
                false => packets.len() % round.len(),
            };
            let packet = streams[round[at]].next().expect("streams are endless");
            beats += simulation::beats(&packet.bytes);
            packets.push(packet);
        }
        Ok(packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_the_shares_lengths_and_order_of_their_mix() {
        let parts = vec![Part::ipv4(1, 60, PLAIN), Part::mpls(3, 128, 7)];
        let turn = Mix { parts, is_random: false };
        let lengths = |mix: &Mix, count| -> Vec<usize> {
            mix.packets(count).expect("packets").iter().map(|packet| packet.bytes.len()).collect()
        };
        assert_eq!(lengths(&turn, 6), [60, 128, 128, 128, 60, 128]);
        let random = Mix { is_random: true, ..turn.clone() };
        let short = lengths(&random, 1000).iter().filter(|length| **length == 60).count();
        assert!((200..300).contains(&short), "{short}");
        let long = Mix { parts: vec![Part::ipv4(1, 600, PLAIN)], is_random: false };
        assert_eq!([lengths(&long, 1000).len(), lengths(&long, 10).len()], [200, 2]);
        assert_eq!(
            turn.name(),
            "1 of IPv4, 60 bytes; 3 of IPv4 under 7 labels, the last swapped, 128 bytes; in turn"
        );
        assert!(random.name().starts_with("25 % IPv4, 60 bytes; 75 % "), "{}", random.name());
    }

    #[test]
    fn drawn_mixes_have_packets_of_their_lengths_and_neighbours_differ_in_one_place() {
        let mut rng = Rng::new(3, "mixes");
        for _ in 0..40 {
            let mix = Mix::drawn(&mut rng);
            let lengths: Vec<u32> = mix.parts.iter().map(|part| part.bytes).collect();
            for packet in mix.packets(20).expect("packets") {
                assert!(lengths.contains(&(packet.bytes.len() as u32)), "{}", mix.name());
            }
            let neighbour = mix.neighbour(&mut rng);
            assert_ne!(mix, neighbour);
            let fewer = mix.parts.len().min(neighbour.parts.len());
            let changed = |at: &usize| mix.parts[*at] != neighbour.parts[*at];
            if mix.parts.len() == neighbour.parts.len() {
                let changes = (0..fewer).filter(changed).count();
                assert_eq!(changes + usize::from(mix.is_random != neighbour.is_random), 1);
            }
        }
    }
}

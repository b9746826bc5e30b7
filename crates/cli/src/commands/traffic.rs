//! `wireloom traffic`: generated packets.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use wireloom_net::Packet;
use wireloom_net::capture::{Destination, Writer};
use wireloom_net::tables::Literal;
use wireloom_net::traffic::{
    Bursts, Generator, Labels, Mix, Order, Pick, Rate, Sizes, Spec, TransportMix, VlanMix,
};

use crate::failure::{Failure, Outcome};
use crate::output::{self, thousands};
use crate::progress;

/// See `wireloom traffic --help`.
#[derive(Args, Debug)]
pub struct Traffic {
    /// Where to write: pcap if the name ends in .pcap, else pcapng, which keeps ports
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Begin with the specification in this file (TOML or JSON); options replace what it says
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    spec: Option<PathBuf>,
    /// How many packets
    #[arg(long, value_name = "N")]
    packets: Option<u64>,
    /// The same seed makes the same packets, to the byte
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Network protocols and their weights, such as ipv4=5,ipv6=2,mpls1..4=3
    #[arg(long, value_name = "MIX")]
    mix: Option<Mix>,
    /// The order in which they come: random, or turn (ipv4=2,ipv6=1: each third packet is IPv6)
    #[arg(long, value_name = "ORDER")]
    order: Option<Order>,
    /// Transport protocols and their weights, such as tcp=9,udp=1; none is a packet without a transport header
    #[arg(long, value_name = "MIX")]
    transport: Option<TransportMix>,
    /// Sizes of frames with frame check sequence: bytes (64 or more), imix, or capture (those of --capture); bare:54 for frames of 54 bytes
    /// without check sequence and padding, as other lines than Ethernet carry them
    #[arg(long, value_name = "SIZES")]
    sizes: Option<Sizes>,
    /// Numbers of VLAN tags and their weights
    #[arg(long, value_name = "MIX")]
    vlans: Option<VlanMix>,
    /// MPLS labels, such as 16..1039
    #[arg(long, value_name = "RANGE")]
    labels: Option<Labels>,
    /// MPLS labels at the bottom of the stack, if they are to be others
    #[arg(long, value_name = "RANGE")]
    bottom_labels: Option<Labels>,
    /// Pairs of transport ports for each pair of addresses
    #[arg(long, value_name = "N")]
    flows: Option<u32>,
    /// Time to live, hop limit and TTL of labels
    #[arg(long, value_name = "N")]
    ttl: Option<u8>,
    /// How fast packets arrive, such as 10gbps or 14.88mpps
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// How evenly they arrive
    #[arg(long, value_name = "SHAPE")]
    bursts: Option<Bursts>,
    /// Ingress ports that they come in on, in turn
    #[arg(long, value_name = "N")]
    ports: Option<u16>,
    /// Draw destinations from the prefixes of this file: a table file, pyasn, MRT, or a list
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    prefixes: Option<PathBuf>,
    /// Draw sources from the prefixes of this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    source_prefixes: Option<PathBuf>,
    /// How destinations are drawn: uniform, zipf:S, or trace (in the order of --capture)
    #[arg(long, value_name = "HOW")]
    pick: Option<Pick>,
    /// The capture whose sizes or order of addresses are taken
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    capture: Option<PathBuf>,
    /// Destination MAC address: the router's
    #[arg(long, value_name = "MAC", value_parser = parse_mac)]
    dst_mac: Option<[u8; 6]>,
    /// Source MAC address
    #[arg(long, value_name = "MAC", value_parser = parse_mac)]
    src_mac: Option<[u8; 6]>,
}

fn parse_mac(text: &str) -> Result<[u8; 6], String> {
    match text.parse() {
        Ok(Literal::Mac(mac)) => Ok(mac),
        _ => Err("write it like 02:00:00:00:00:01".into()),
    }
}

/// Reads a specification.
///
/// # Errors
/// If the file cannot be read or says something that is none; the parser's message has the line.
fn read_spec(path: &Path) -> Outcome<Spec> {
    let wrong = |error: &dyn std::fmt::Display| Failure::unusable(format!("{}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    if path.extension().is_some_and(|extension| extension == "json") {
        serde_json::from_str(&text).map_err(|error| wrong(&error))
    } else {
        toml::from_str(&text).map_err(|error| wrong(&error))
    }
}

/// Puts an option that was given in the place of what the specification says.
fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}

impl Traffic {
    /// Writes the packets.
    pub fn run(self) -> Outcome {
        let out = self.out.clone();
        let spec = self.into_spec()?;
        let Some(count) = spec.count else {
            return Err(Failure::unusable("traffic without an end does not fit into a file")
                .with_help("say how many packets with --packets N"));
        };
        let mut generator = Generator::new(&spec).map_err(Failure::unusable)?;
        let mut writer = Writer::create(&out)?;
        let bar = progress::bar(Some(count), "packets");
        let (mut packet, mut bytes) = (Packet::default(), 0);
        while generator.fill(&mut packet) {
            writer.write(Destination::Port(packet.ingress), packet.arrival_ns, &packet.bytes)?;
            bytes += packet.bytes.len() as u64;
            if writer.packets() % 4096 == 0 {
                bar.set_position(writer.packets());
            }
        }
        let packets = writer.packets();
        writer.finish()?;
        bar.finish_and_clear();
        output::say(format!("{}: {} packets, {} bytes", out.display(), thousands(packets), thousands(bytes)));
        Ok(())
    }

    fn into_spec(self) -> Outcome<Spec> {
        let mut spec = self.spec.as_deref().map(read_spec).transpose()?.unwrap_or_default();
        spec.count = self.packets.or(spec.count);
        spec.capture = self.capture.or(spec.capture);
        spec.destinations.prefixes = self.prefixes.or(spec.destinations.prefixes);
        spec.sources.prefixes = self.source_prefixes.or(spec.sources.prefixes);
        set(&mut spec.destinations.pick, self.pick);
        set(&mut spec.seed, self.seed);
        spec.bottom_labels = self.bottom_labels.or(spec.bottom_labels);
        set(&mut spec.mix, self.mix);
        set(&mut spec.order, self.order);
        set(&mut spec.transport, self.transport);
        set(&mut spec.sizes, self.sizes);
        set(&mut spec.vlans, self.vlans);
        set(&mut spec.labels, self.labels);
        set(&mut spec.flows, self.flows);
        set(&mut spec.ttl, self.ttl);
        set(&mut spec.rate, self.rate);
        set(&mut spec.bursts, self.bursts);
        set(&mut spec.ports, self.ports);
        set(&mut spec.dst_mac, self.dst_mac);
        set(&mut spec.src_mac, self.src_mac);
        Ok(spec)
    }
}

//! `wireloom traffic`: generates packets.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use wireloom_console::bar;
use wireloom_net::Packet;
use wireloom_net::capture::{Destination, Writer};
use wireloom_net::tables::Literal;
use wireloom_net::traffic::{
    Bursts, Generator, Labels, Mix, Order, Pick, Rate, Sizes, Spec, TransportMix, VlanMix,
};

use crate::failure::{Failure, Outcome};
use wireloom_console::{Places, counted};

/// See `wireloom traffic --help`.
#[derive(Args, Debug)]
pub struct Traffic {
    /// Write to this capture: pcap if the name ends in .pcap, else pcapng, which keeps ports
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    out: PathBuf,
    /// Start from the specification in a file (TOML or JSON); options override it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    spec: Option<PathBuf>,
    /// Set the number of packets
    #[arg(long, value_name = "N")]
    packets: Option<u64>,
    /// Set the seed; equal seeds give byte-identical packets
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Set network protocols and their weights, such as ipv4=5,ipv6=2,mpls1..4=3
    #[arg(long, value_name = "MIX")]
    mix: Option<Mix>,
    /// Set the order of protocols: random, or turn (round robin; with ipv4=2,ipv6=1 each third
    /// packet is IPv6)
    #[arg(long, value_name = "ORDER")]
    order: Option<Order>,
    /// Set transport protocols and their weights, such as tcp=9,udp=1; none is a packet without a
    /// transport header
    #[arg(long, value_name = "MIX")]
    transport: Option<TransportMix>,
    /// Set frame sizes, including the frame check sequence: bytes (64 or more), imix, or capture
    /// (those of --capture); bare:54 gives frames of 54 bytes without check sequence and padding,
    /// as on lines other than Ethernet
    #[arg(long, value_name = "SIZES")]
    sizes: Option<Sizes>,
    /// Set the numbers of VLAN tags and their weights
    #[arg(long, value_name = "MIX")]
    vlans: Option<VlanMix>,
    /// Set the range of MPLS labels, such as 16..1039
    #[arg(long, value_name = "RANGE")]
    labels: Option<Labels>,
    /// Set a separate range for labels at the bottom of the MPLS stack
    #[arg(long, value_name = "RANGE")]
    bottom_labels: Option<Labels>,
    /// Set the number of transport port pairs for each pair of addresses
    #[arg(long, value_name = "N")]
    flows: Option<u32>,
    /// Set the time to live of IPv4 and of MPLS labels, and the hop limit of IPv6
    #[arg(long, value_name = "N")]
    ttl: Option<u8>,
    /// Set the arrival rate, such as 10gbps or 14.88mpps
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,
    /// Set how evenly packets arrive
    #[arg(long, value_name = "SHAPE")]
    bursts: Option<Bursts>,
    /// Set the number of ingress ports, used round robin
    #[arg(long, value_name = "N")]
    ports: Option<u16>,
    /// Draw destinations from the prefixes of a file: a table file, pyasn, MRT, or a list
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    prefixes: Option<PathBuf>,
    /// Draw sources from the prefixes of a file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    source_prefixes: Option<PathBuf>,
    /// Set the distribution of destinations: uniform, zipf:S, or trace (in the order of --capture)
    #[arg(long, value_name = "HOW")]
    pick: Option<Pick>,
    /// Take sizes or the order of addresses from this capture
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    capture: Option<PathBuf>,
    /// Set the destination MAC address, which is the router's
    #[arg(long, value_name = "MAC", value_parser = parse_mac)]
    dst_mac: Option<[u8; 6]>,
    /// Set the source MAC address
    #[arg(long, value_name = "MAC", value_parser = parse_mac)]
    src_mac: Option<[u8; 6]>,
}

fn parse_mac(text: &str) -> Result<[u8; 6], String> {
    match text.parse() {
        Ok(Literal::Mac(mac)) => Ok(mac),
        _ => Err("write it like 02:00:00:00:00:01".into()),
    }
}

/// Reads a specification. Files that it names are relative to its folder.
///
/// # Errors
/// If the file cannot be read or is invalid; the parser's message names the line.
fn read_spec(path: &Path) -> Outcome<Spec> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::unusable(format!("{}: {error}", path.display()));
    let text = wireloom_files::read_text(path, wireloom_files::MAX_TEXT_BYTES)
        .map_err(|error| wrong(&error))?;
    let mut spec: Spec = if path.extension().is_some_and(|extension| extension == "json") {
        serde_json::from_str(&text).map_err(|error| wrong(&error))?
    } else {
        toml::from_str(&text).map_err(|error| wrong(&error))?
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    for file in files(&mut spec).into_iter().flatten() {
        *file = folder.join(&*file);
    }
    Ok(spec)
}

/// Returns the files that a specification names.
fn files(spec: &mut Spec) -> [Option<&mut PathBuf>; 3] {
    let Spec { capture, destinations, sources, .. } = spec;
    [capture, &mut destinations.prefixes, &mut sources.prefixes].map(Option::as_mut)
}

/// Overrides a value of the specification with an option that was given.
fn set<T>(place: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *place = given;
    }
}

impl Traffic {
    /// Writes the packets.
    pub fn run(self) -> Outcome {
        let out = self.out.clone();
        let places = Places::default().reads(&self.spec).writes("--out", Some(&out));
        places.check()?;
        let mut spec = self.into_spec()?;
        let places = places.reads(files(&mut spec).into_iter().flatten().map(|path| &*path));
        places.check()?;
        let Some(count) = spec.count else {
            return Err(Failure::unusable("traffic without an end does not fit into a file")
                .with_help("say how many packets with --packets N"));
        };
        let mut generator = Generator::new(&spec).map_err(Failure::unusable)?;
        places.check()?;
        let mut writer = Writer::create(&out)?;
        let bar = bar(Some(count));
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
        let about = format!("{}, {}", counted(packets, "packet"), counted(bytes, "byte"));
        places.tell(&format!("{}: {about}\n", out.display()));
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

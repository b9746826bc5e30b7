//! The rate of a network processor for packets of every length and kind, as a share of its lanes'
//! capacity: sizes and mixes, tags and labels pushed, cold caches, slow memories.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use wireloom_net::Packet;
use wireloom_net::tables::read_prefixes;
use wireloom_net::traffic::{Generator, Labels, PrefixPool, Sizes, Spec};
use wireloom_np::description::NpSpec;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::np_traffic::{SWAPPED, Traffic};
use super::registry::scratch;
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};
use wireloom_console::{Working, output, thousands};
use wireloom_explore::rig::{Loaded, Overrun, Rig};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "np-sizes",
    what: "Rate of a network processor (np-line-rate) at every length of packets, with tags and labels pushed, cold caches and slow memories, of what its lanes carry",
    choice: Choice::AnyOne,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom; false in a key: COUNT_FLOWS=false CHECK_SOURCE=false",
        names: &["counting", "latency", "hops", "packets"],
        skip: &[],
        tools: &["Verilator"],
        tables: &[
            PageTable { name: "rates", write: |values| table(values, "false") },
            PageTable { name: "counted", write: |values| table(values, "true") },
        ],
    },
};

/// The default machine.
const MACHINE: &str = "np-line-rate";
/// Beats of 64 bytes that a run offers or takes: many times the beats in flight.
const BEATS: f64 = 16_000.0;
/// The fewest packets of a run.
const PACKETS: f64 = 400.0;
/// Packets of a run of one-beat packets. They can arrive as fast as engines begin slots, and then
/// the threads fill slowly; in the middle of a run of a fourth of them, that would count as a lower
/// rate.
const SHORT_PACKETS: f64 = 32_000.0;
/// The capture whose packet sizes a row uses.
const CAPTURE: &str =
    ".cache/data/pathspider/usr/lib/python3/dist-packages/pathspider/tests/data/real.pcap";
/// The goal, as a share of the lanes' capacity. Losses are counted at this share.
const GOAL: f64 = 0.95;
/// Bytes that a packet takes on the wire in addition to its own: check sequence, preamble and gap.
const ON_THE_WIRE: f64 = 24.0;
/// Labels that exceed the caches of a machine.
const COLD: (Labels, Labels) =
    (Labels { first: 1024, last: 17_407 }, Labels { first: 17_408, last: 33_791 });

/// The changes that next hops make to packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hops {
    Plain,
    /// The packet gets a VLAN tag.
    Tagged,
    /// One label is pushed.
    OneLabel,
    /// Two labels are pushed.
    TwoLabels,
    /// Neither tag nor label, and the last label is popped too: the packet under it is routed.
    Routed,
}

/// The packet lengths, without check sequence.
#[derive(Clone, Copy, Debug)]
enum Lengths {
    /// All packets have this number of bytes.
    All(u32),
    /// Packets alternate between these lengths.
    Turn(u32, u32),
    /// The Internet mix.
    Imix,
    /// The lengths of a capture, in its order.
    Capture,
}

/// The packets of a row.
#[derive(Clone, Copy, Debug)]
struct PacketMix {
    traffic: &'static str,
    lengths: Lengths,
    /// Whether the labels exceed the caches.
    is_cold: bool,
}

/// The parameters of a row.
#[derive(Clone, Copy, Debug)]
struct Case {
    counting: bool,
    /// Memory cycles from a command to its data.
    latency: usize,
    hops: Hops,
    kind: PacketMix,
}

/// The measurement of a row.
#[derive(Clone, Debug, Serialize)]
struct Row {
    counting: bool,
    latency: usize,
    hops: &'static str,
    packets: String,
    /// Million packets per second while the input is overloaded.
    mpps: f64,
    /// The capacity of the lanes: two packets per cycle, or a beat per cycle and lane.
    limit: f64,
    /// The ratio of `mpps` to `limit`.
    share: f64,
    /// Gb/s of these packets on the wire.
    gbps: f64,
    /// Packets lost of the ones offered at 95 % of the limit.
    lost: u64,
    /// Packets offered at 95 % of the limit.
    offered: usize,
}

impl Hops {
    const ALL: [Self; 5] =
        [Self::Plain, Self::Tagged, Self::OneLabel, Self::TwoLabels, Self::Routed];

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "as they are",
            Self::Tagged => "tagged",
            Self::OneLabel => "one label pushed",
            Self::TwoLabels => "two labels pushed",
            Self::Routed => "all labels popped, then routed",
        }
    }

    /// The next-hop fields that make this change.
    fn fields(self) -> &'static str {
        match self {
            Self::Plain | Self::Routed => "",
            Self::Tagged => " vlan=7",
            Self::OneLabel => " labels=ONE_LABEL label=100",
            Self::TwoLabels => " labels=TWO_LABELS label=100 second=200",
        }
    }
}

impl Lengths {
    fn name(self) -> String {
        match self {
            Self::All(bytes) => bytes.to_string(),
            Self::Turn(a, b) => format!("{a} and {b}"),
            Self::Imix => "IMIX".into(),
            Self::Capture => "a capture's sizes".into(),
        }
    }
}

impl PacketMix {
    const fn new(traffic: &'static str, lengths: Lengths) -> Self {
        Self { traffic, lengths, is_cold: false }
    }

    fn name(self) -> String {
        let cold = if self.is_cold { ", cold caches" } else { "" };
        format!("{}, {}{cold}", self.traffic, self.lengths.name())
    }

    /// Returns the packets; their number follows from the beats of a run.
    fn packets(self, prefixes: &PrefixPool, capture: &Path) -> Result<Vec<Packet>> {
        let traffic = Traffic::named(self.traffic).expect("rows have traffic that there is");
        let of = |sizes: Sizes, beats: f64| {
            let count =
                if beats > 1.0 { (BEATS / beats).max(PACKETS) } else { SHORT_PACKETS } as u64;
            let capture = (sizes == Sizes::Capture).then(|| capture.to_owned());
            let mut spec = Spec { sizes, count: Some(count), capture, ..traffic.spec() };
            if self.is_cold {
                spec = Spec { labels: COLD.0, bottom_labels: Some(COLD.1), ..spec };
            }
            let made = Generator::with_prefixes(&spec, prefixes.clone(), prefixes.clone());
            made.map(Iterator::collect::<Vec<_>>).map_err(Error::new)
        };
        let fixed = |bytes: u32| Sizes::Fixed(bytes + 4);
        let beats = |bytes: u32| f64::from(bytes.div_ceil(64));
        match self.lengths {
            Lengths::All(bytes) => of(fixed(bytes), beats(bytes)),
            Lengths::Imix => of(Sizes::Imix, 6.0),
            Lengths::Capture => of(Sizes::Capture, 12.0),
            Lengths::Turn(a, b) => {
                let mean = beats(a) + beats(b);
                let (first, second) = (of(fixed(a), mean)?, of(fixed(b), mean)?);
                Ok(first.into_iter().zip(second).flat_map(|(a, b)| [a, b]).collect())
            }
        }
    }
}

fn cases() -> Vec<Case> {
    use Lengths::{All, Capture, Imix, Turn};
    const SIZES: [u32; 14] = [60, 64, 65, 96, 128, 129, 192, 193, 256, 257, 512, 1024, 1514, 9000];
    let standard = Case {
        counting: false,
        latency: 10,
        hops: Hops::Plain,
        kind: PacketMix::new("IPv4", All(60)),
    };
    let mut cases: Vec<Case> = Vec::new();
    let mut add = |case: Case| cases.push(case);
    for counting in [false, true] {
        let standard = Case { counting, ..standard };
        let kind = |traffic, lengths| Case { kind: PacketMix::new(traffic, lengths), ..standard };
        SIZES.into_iter().for_each(|bytes| add(kind("IPv4", All(bytes))));
        [62, 65, 128, 256].into_iter().for_each(|bytes| add(kind("IPv6", All(bytes))));
        for traffic in ["MPLS_1", "MPLS_2", "MPLS_3"] {
            add(kind(traffic, All(60)));
        }
        [60, 65, 128].into_iter().for_each(|bytes| add(kind("MPLS_4", All(bytes))));
        add(kind("IPv4", Turn(64, 128)));
        add(kind("IPv4", Turn(64, 1500)));
        add(kind("IPv4", Imix));
        add(kind("all six", Imix));
        add(kind("all six", All(62)));
        add(kind("IPv4", Capture));
        for traffic in ["MPLS_1", "MPLS_4"] {
            add(Case { hops: Hops::Routed, ..kind(traffic, All(60)) });
        }
        for hops in [Hops::Tagged, Hops::OneLabel, Hops::TwoLabels] {
            for (traffic, bytes) in
                [("IPv4", 60), ("IPv6", 62), ("MPLS_4", 60), ("IPv4", 128), ("IPv4", 256)]
            {
                add(Case { hops, ..kind(traffic, All(bytes)) });
            }
        }
    }
    for traffic in ["MPLS_1", "MPLS_2", "MPLS_4"] {
        let kind = PacketMix { is_cold: true, ..PacketMix::new(traffic, All(60)) };
        add(Case { kind, ..standard });
    }
    for latency in [100, 300] {
        for kind in [("IPv4", All(60)), ("IPv6", All(62)), ("MPLS_4", All(60)), ("all six", Imix)] {
            add(Case { latency, kind: PacketMix::new(kind.0, kind.1), ..standard });
        }
    }
    cases
}

/// Writes the tables of the measurements, with other next hops and with labels that exceed the
/// caches.
fn tables(settings: &Settings, hops: Hops, folder: &Path) -> Result<Vec<PathBuf>> {
    let mut text = String::from("table next_hops\n");
    for port in 0..16 {
        writeln!(
            text,
            "{port} port={port} dst=02:00:00:00:01:{port:02x} src=02:00:00:00:00:{port:02x} mtu=9216{}",
            hops.fields()
        )
        .expect("a text grows");
    }
    text += "table labels\n";
    for label in COLD.0.first..=COLD.0.last {
        writeln!(text, "{label} operation=POP_AND_LOOK").expect("a text grows");
    }
    for label in COLD.1.first..=COLD.1.last {
        writeln!(text, "{label} operation=SWAP next_hop={} label={label}", label % 16)
            .expect("a text grows");
    }
    if hops == Hops::Routed {
        for label in SWAPPED.first..=SWAPPED.last {
            writeln!(text, "{label} operation=POP_AND_LOOK").expect("a text grows");
        }
    }
    let file = folder.join(format!("{}.tables", slug(hops.name())));
    std::fs::write(&file, text)
        .map_err(|error| Error::new(format!("{}: {error}", file.display())))?;
    let mut tables = settings.throughput_tables()?;
    tables.push(file);
    Ok(tables)
}

fn make(settings: &Settings) -> Result<Drawn> {
    let name = settings.only.first().map_or(MACHINE, String::as_str);
    let machine = NpSpec::find(name).map_err(Error::new)?;
    let prefixes: PrefixPool =
        read_prefixes(&settings.prefixes()?).map_err(Error::new)?.into_iter().collect();
    let capture = settings.file(CAPTURE)?;
    let folder = scratch()?;
    let mut rows = Vec::new();
    for counting in [false, true] {
        for hops in Hops::ALL {
            let loaded =
                settings.routing_with(counting, &tables(settings, hops, folder.path())?)?;
            let mut own: Vec<Case> = cases();
            own.retain(|case| (case.counting, case.hops) == (counting, hops));
            for cases in own.chunk_by(|a, b| a.latency == b.latency) {
                rows.extend(measure(&machine, &loaded, cases, (&prefixes, &capture))?);
            }
        }
    }
    let svg = plot(name, &rows);
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(name, &rows), data, svg, faults: Vec::new() })
}

/// Measures the rows of one memory latency.
fn measure(
    machine: &NpSpec,
    loaded: &Loaded,
    cases: &[Case],
    (prefixes, capture): (&PrefixPool, &Path),
) -> Result<Vec<Row>> {
    let mut machine = machine.clone();
    machine.memory.latency = cases[0].latency;
    let mut rig = Rig::new(&machine, loaded)?;
    let mhz = f64::from(machine.clock.core_mhz);
    let lanes = machine.lanes() as f64;
    let row = |case: &Case| {
        let packets = case.kind.packets(prefixes, capture)?;
        let _working = Working::on(format!("{}, {}", case.kind.name(), case.hops.name()));
        let Overrun { mpps, beats } = rig.overrun(&packets)?;
        let limit = lanes * mhz / beats;
        let delivered = rig.offered(&packets, GOAL * limit)?;
        let bytes: usize = packets.iter().map(|packet| packet.bytes.len()).sum();
        let on_wire = bytes as f64 / packets.len() as f64 + ON_THE_WIRE;
        Ok(Row {
            counting: case.counting,
            latency: case.latency,
            hops: case.hops.name(),
            packets: case.kind.name(),
            mpps,
            limit,
            share: mpps / limit,
            gbps: mpps * on_wire * 8.0 / 1e3,
            lost: delivered.lost,
            offered: packets.len(),
        })
    };
    cases.iter().map(row).collect()
}

/// Returns the row description that precedes its packets.
fn about(latency: f64, hops: &str, packets: &str) -> String {
    let slow = if latency > 10.0 { format!(", memory of {latency} cycles") } else { String::new() };
    let hops = if hops == Hops::Plain.name() { String::new() } else { format!(", {hops}") };
    format!("{packets}{hops}{slow}")
}

fn text(machine: &str, rows: &[Row]) -> String {
    let mut text = String::new();
    for counting in [false, true] {
        let heads = ["packets", "MPPS", "lanes carry", "share", "Gb/s", "left at 95 %", "lost"];
        let mut table = output::table(&heads, &[1, 2, 3, 4, 5, 6]);
        for row in rows.iter().filter(|row| row.counting == counting) {
            table.add_row([
                about(row.latency as f64, row.hops, &row.packets),
                number(row.mpps),
                number(row.limit),
                format!("{:.1} %", 100.0 * row.share),
                number(row.gbps),
                thousands(row.offered as u64 - row.lost),
                thousands(row.lost),
            ]);
        }
        let with = if counting { "with" } else { "without" };
        text += &format!("{machine}, {with} flow counting\n{table}\n\n");
    }
    text + "Bytes without check sequence. MPPS: million packets a second that leave by a port in the middle of a run, while more wait than it takes; lanes carry: two packets \
            a cycle or, of longer ones, a beat of 64 bytes a cycle and lane, on the side with more beats; Gb/s: with check sequence, preamble and gap.\n"
}

/// Draws the shares of the lanes' capacity as bars.
fn plot(machine: &str, rows: &[Row]) -> String {
    let groups = rows.iter().filter(|row| !row.counting).map(|row| {
        Group::new(about(row.latency as f64, row.hops, &row.packets), vec![100.0 * row.share])
    });
    Bars::new(
        format!("{machine} at every length, without flow counting"),
        "% of what the lanes carry",
        [machine],
        groups.collect(),
    )
    .with_limit("goal", 100.0 * GOAL)
    .svg()
}

/// Tabulates the rows with or without flow counting, for pages.
fn table(values: &Values, counting: &str) -> Result<Table> {
    let mut table = Table::new([
        "packets, bytes without check sequence",
        "MPPS",
        "of what the lanes carry",
        "Gb/s on the wire",
        "left by a port, at 95 % of what the lanes carry",
        "lost",
    ]);
    for case in cases().into_iter().filter(|case| case.counting.to_string() == counting) {
        let (hops, packets) = (case.hops.name(), case.kind.name());
        let key = format!("{counting}.{}.{}.{}", case.latency, slug(hops), slug(&packets));
        let value = |field: &str| values.get(&format!("{key}.{field}"));
        let (lost, offered) = (value("lost")? as u64, value("offered")? as u64);
        table.row([
            about(case.latency as f64, hops, &packets),
            number(value("mpps")?),
            format!("{:.1} %", 100.0 * value("share")?),
            number(value("gbps")?),
            thousands(offered - lost),
            thousands(lost),
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_net::tables::Prefix;

    #[test]
    fn rows_are_told_apart_and_have_packets_of_their_lengths() {
        let prefixes: PrefixPool = ["10.0.0.0/8", "2001:db8::/32"]
            .iter()
            .map(|text| text.parse::<Prefix>().expect("a prefix"))
            .collect();
        // A capture with a packet of 100 bytes, of which no byte was kept.
        let folder = scratch().expect("a folder");
        let capture = folder.path().join("one.pcap");
        let words = [0xa1b2_c3d4_u32, 0x0002_0004, 0, 0, 65_535, 1, 0, 0, 0, 100];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        std::fs::write(&capture, bytes).expect("it can be written");
        let mut seen = std::collections::BTreeSet::new();
        for case in cases() {
            let name = (case.counting, case.latency, case.hops.name(), case.kind.name());
            assert!(seen.insert(name.clone()), "{name:?} twice");
            let packets = case.kind.packets(&prefixes, &capture).expect("packets");
            let is = |bytes: u32| packets.iter().any(|packet| packet.bytes.len() == bytes as usize);
            match case.kind.lengths {
                Lengths::All(bytes) => {
                    let all = packets.iter().all(|packet| packet.bytes.len() == bytes as usize);
                    assert!(all, "{name:?}");
                }
                Lengths::Turn(a, b) => assert!(is(a) && is(b), "{name:?}"),
                Lengths::Imix => assert!(is(1514), "{name:?}"),
                Lengths::Capture => assert!(is(100), "{name:?}"),
            }
        }
    }
}

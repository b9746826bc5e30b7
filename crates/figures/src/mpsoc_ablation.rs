//! The dependence of the smallest StepNP machine for 10 Gb/s on the assumptions of its description.
//! Each assumption is changed by itself, most of them for the worse, and then several together.

use serde::Serialize;
use wireloom_mpsoc::broker::Policy;
use wireloom_mpsoc::evaluation::{SEEDS, shaped};
use wireloom_mpsoc::{Optimisation, Spec};
use wireloom_net::Packet;
use wireloom_sim::parts::arbiter::ArbiterSpec;
use wireloom_sim::parts::bus::BusSpec;
use wireloom_sim::parts::cache::Replacement;
use wireloom_sim::parts::crossbar::{CrossbarSpec, Queueing};
use wireloom_sim::parts::interconnect::InterconnectSpec;
use wireloom_sim::{Time, sweep};

use super::figure::{Choice, Drawn, Figure, Kept};
use super::mpsoc::workers;
use super::mpsoc_rig::{Forwarded, Router};
use super::mpsoc_smallest::Fewest;
use super::np_traffic::Traffic;
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bar, Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "mpsoc-ablation",
    what: "StepNP: the fewest processors for 10 Gb/s of the real router's IPv4 when assumptions of the machine's description change",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom",
        names: &["name"],
        skip: &["tried"],
        tools: &["arm-none-eabi-gcc"],
        tables: &[PageTable { name: "machines", write: table }],
    },
};

/// The paper's line for OC-192: its rate in Gb/s, the one-way latency, and threads per processor.
const GBPS: f64 = 10.0;
const LATENCY_NS: u64 = 80;
const THREADS: u32 = 16;
/// Packet length in bytes on the line.
const BYTES: u32 = 54;
/// The number of packets that warm caches, and of measured packets.
const WARM: usize = 8192;
const MEASURED: usize = 32_768;
/// Bytes that a crossbar or a bus transfers per cycle.
const WIDTH: u64 = 16;

/// A change of the machine's description.
struct Variant {
    name: &'static str,
    /// The description for pages.
    page: &'static str,
    /// The description keys that it changes.
    keys: &'static str,
    change: fn(&mut Spec),
}

const VARIANTS: [Variant; 14] = [
    Variant {
        name: "as described",
        page: "as described: channel of 80 ns for the first 16 bytes and 2 ns for each 16 more, instructions of one cycle, caches of 4 KB, tuned compiler options, search of 20 ns",
        keys: "",
        change: |_| {},
    },
    Variant {
        name: "bytes are free on the network",
        page: "bytes are free on the network",
        keys: "network without beat",
        change: |spec| {
            if let InterconnectSpec::Channel(channel) = &mut spec.network {
                channel.beat = None;
            }
        },
    },
    Variant {
        name: "crossbar of 16 bytes",
        page: "crossbar of 16 bytes, 500 MHz, 80 ns, a queue of 8 messages for each output",
        keys: "network.kind = \"crossbar\"",
        change: crossbar,
    },
    Variant {
        name: "bus of 16 bytes",
        page: "bus of 16 bytes, 500 MHz, a cycle of arbitration, 80 ns",
        keys: "network.kind = \"bus\"",
        change: bus,
    },
    Variant {
        name: "loads 3, stores 2, branches 3 cycles",
        page: "loads 3, stores 2, branches 3 cycles",
        keys: "processor.cycles",
        change: slow_memory,
    },
    Variant {
        name: "caches of 2 KB",
        page: "caches of 2 KB",
        keys: "processor.instruction_cache, data_cache",
        change: |spec| caches(spec, 2048),
    },
    Variant {
        name: "caches of 1 KB",
        page: "caches of 1 KB",
        keys: "the same",
        change: |spec| caches(spec, 1024),
    },
    Variant {
        name: "caches of 1 KB, two lines fetched ahead",
        page: "caches of 1 KB, two lines fetched ahead",
        keys: "the same, instruction_cache.prefetch_lines = 2",
        change: |spec| {
            caches(spec, 1024);
            spec.processor.instruction_cache.prefetch_lines = 2;
        },
    },
    Variant {
        name: "caches of 1 KB, random replacement",
        page: "caches of 1 KB, random replacement",
        keys: "the same, instruction_cache.replacement = \"random\"",
        change: |spec| {
            caches(spec, 1024);
            spec.processor.instruction_cache.replacement = Replacement::Random;
        },
    },
    Variant {
        name: "plain -O2",
        page: "plain -O2",
        keys: "processor.optimisation = \"o2\"",
        change: |spec| spec.processor.optimisation = Optimisation::O2,
    },
    Variant {
        name: "search of 100 ns",
        page: "search of 100 ns",
        keys: "object.lpm.latency_ns",
        change: slow_search,
    },
    Variant {
        name: "bounded queues",
        page: "line queues of 16 packets, packet memory for 512, one-way calls in groups of 4",
        keys: "io.*.queue_packets = 16, io.packets = 512, processor.one_way_calls = 4",
        change: bounded,
    },
    Variant {
        name: "first-come broker replaced by least-loaded",
        page: "first-come broker replaced by least-loaded",
        keys: "broker.policy = \"least-loaded\"",
        change: |spec| spec.broker.policy = Policy::LeastLoaded,
    },
    Variant {
        name: "crossbar, cycles, 2 KB, search and queues together",
        page: "crossbar, cycles, caches of 2 KB, search and queues together",
        keys: "all of these",
        change: |spec| {
            crossbar(spec);
            slow_memory(spec);
            caches(spec, 2048);
            slow_search(spec);
            bounded(spec);
        },
    },
];

/// Returns the latency from one side of a network to the other, in processor cycles.
fn latency_cycles(spec: &Spec) -> u64 {
    Time::nanoseconds(LATENCY_NS).0 / spec.processor.clock.cycles(1).0
}

fn crossbar(spec: &mut Spec) {
    spec.network = InterconnectSpec::Crossbar(CrossbarSpec {
        clock: spec.processor.clock,
        width_bytes: WIDTH,
        latency_cycles: latency_cycles(spec),
        queue_messages: 8,
        queueing: Queueing::PerOutput,
        arbiter: ArbiterSpec::default(),
    });
}

fn bus(spec: &mut Spec) {
    spec.network = InterconnectSpec::Bus(BusSpec {
        clock: spec.processor.clock,
        width_bytes: WIDTH,
        arbitration_cycles: 1,
        latency_cycles: latency_cycles(spec),
        queue_messages: 8,
        arbiter: ArbiterSpec::default(),
    });
}

/// Sets the cycles of a processor whose memory stage stalls and that does not predict branches.
fn slow_memory(spec: &mut Spec) {
    let cycles = &mut spec.processor.cycles;
    (cycles.load, cycles.store, cycles.branch) = (3, 2, 3);
}

fn caches(spec: &mut Spec, bytes: u64) {
    spec.processor.instruction_cache.bytes = bytes;
    spec.processor.data_cache.bytes = bytes;
}

fn slow_search(spec: &mut Spec) {
    if let Some(search) = spec.object.get_mut("lpm") {
        search.latency = Time::nanoseconds(100);
    }
}

fn bounded(spec: &mut Spec) {
    (spec.io.input.queue_packets, spec.io.output.queue_packets) = (16, 16);
    spec.io.packets = 512;
    spec.processor.one_way_calls = 4;
}

impl Variant {
    /// The machine with this number of processors.
    fn spec(&self, processors: u32) -> Spec {
        let latency = Time::nanoseconds(LATENCY_NS);
        let mut spec = shaped(&Spec::base(), processors, THREADS, latency, GBPS);
        (self.change)(&mut spec);
        spec
    }
}

/// The result of a variant.
#[derive(Clone, Debug, Serialize)]
struct Row {
    name: &'static str,
    keys: &'static str,
    #[serde(flatten)]
    found: Fewest,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let working = Working::on("the routing table");
    let router = Router::new(settings)?;
    let ipv4 = Traffic::named("IPv4").expect("it is one of them");
    let packets = router.packets(ipv4, BYTES, WARM + MEASURED)?;
    working.now(&format!("{} variants of a machine", VARIANTS.len()));
    let rows = sweep(&VARIANTS, workers(), |variant| row(&router, variant, &packets, WARM));
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<Row>>>()?;
    drop(working);
    let group = |row: &Row| Group {
        name: row.name.to_owned(),
        bars: vec![match row.found.processors {
            Some(processors) => Bar::new(0, f64::from(processors)),
            None => Bar { label: "none".to_owned(), ..Bar::new(0, 0.0) },
        }],
    };
    let mut plot = Bars::new(
        "Fewest processors of 500 MHz for 10 Gb/s of 54-byte IPv4",
        "processors",
        ["processors"],
        rows.iter().map(group).collect(),
    );
    if let Some(described) = rows[0].found.processors {
        plot = plot.with_limit("as described", f64::from(described));
    }
    let svg = plot.svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: faults(&rows) })
}

fn row(router: &Router, variant: &Variant, packets: &[Packet], warm: usize) -> Result<Row> {
    let simulate =
        |processors| router.forward(&variant.spec(processors), packets, warm, *SEEDS.start());
    Ok(Row { name: variant.name, keys: variant.keys, found: Fewest::search(simulate)? })
}

fn faults(rows: &[Row]) -> Vec<String> {
    let described = rows.iter().take(1).filter(|row| row.found.processors.is_none());
    described.map(|row| format!("{}: no machine carries the line", row.name)).collect()
}

fn text(rows: &[Row]) -> String {
    let heads = [
        "machine",
        "keys",
        "processors",
        "use, %",
        "cycles a packet",
        "latency, us",
        "network",
        "one less (or 64): Gb/s",
        "lost, %",
    ];
    let mut table = output::table(&heads, &(2..heads.len()).collect::<Vec<_>>());
    for Row { name, keys, found } in rows {
        let measured = found.enough().or(found.too_few());
        let cell = |text: fn(&Forwarded) -> f64, of: Option<&Forwarded>| {
            of.map_or(String::new(), |measured| number(text(measured)))
        };
        let less = found.too_few();
        let lost = |measured: &Forwarded| 100.0 * measured.lost as f64 / measured.offered as f64;
        table.add_row([
            (*name).to_owned(),
            (*keys).to_owned(),
            found.processors.map_or("over 64".to_owned(), |fewest| fewest.to_string()),
            cell(|measured| 100.0 * measured.usage, measured),
            cell(|measured| measured.cycles, measured),
            cell(|measured| measured.latency.latency_us, measured),
            cell(|measured| measured.latency.network_us, measured),
            cell(|measured| measured.gbps, less),
            cell(lost, less),
        ]);
    }
    format!(
        "{table}\n\n{GBPS} Gb/s of 54-byte IPv4 packets through the real router, {THREADS} threads a processor, {LATENCY_NS} ns one way; the fewest processors that lose none of {MEASURED} \
         packets, caches warm, with cycles to spare. Latency: from the last bit in to the last bit out; of it the thread waits for the network. Where 64 processors are too few, \
         the numbers are theirs.\n"
    )
}

/// Tabulates machines and their processors, for pages.
fn table(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "machine",
        "processors (their use)",
        "cycles a packet",
        "waiting for the network",
        "one processor less",
    ]);
    for variant in &VARIANTS {
        let key = |field: &str| format!("{}.{field}", slug(variant.name));
        let is_enough = values.has(&key("processors"));
        let measured =
            |field| key(&format!("{}.{field}", if is_enough { "enough" } else { "too_few" }));
        let less = values.short(&key("too_few.gbps"))?;
        let usage = values.percent(&measured("usage"), 1)?;
        // A machine that loses nothing can still be too slow: see `HIGHEST_USE`.
        let loses_none = values.get(&key("too_few.lost")).is_ok_and(|lost| lost == 0.0);
        table.row([
            variant.page.to_owned(),
            if is_enough {
                format!("{} ({usage})", values.fixed(&key("processors"), 0)?)
            } else {
                "over 64".to_owned()
            },
            values.short(&measured("cycles"))?,
            format!("{} us", values.short(&measured("network_us"))?),
            match (is_enough, loses_none) {
                (false, _) => format!("64 carry {less} Gb/s"),
                (true, true) => {
                    format!("none lost, use of {}", values.percent(&key("too_few.usage"), 1)?)
                }
                (true, false) => format!("{less} Gb/s"),
            },
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::super::mpsoc_rig::tests::router;
    use super::*;

    /// Measures processor cycles per packet, the mean time until packet I/O has a packet back, and
    /// lost packets, for 3,500 packets that are offered to 16 processors at 10 Gb/s. The packets'
    /// program is compiled with GCC 12.2: the compiler's version affects only the instructions, and
    /// the description everything else. The test shows that each variant changes the expected
    /// quantities, and by how much.
    #[test]
    fn each_assumption_costs_what_it_did() {
        let (router, _folder) = router();
        let ipv4 = Traffic::named("IPv4").expect("it is there");
        let packets = router.packets(ipv4, BYTES, 4000).expect("packets");
        let mut measured = String::new();
        for variant in &VARIANTS {
            let spec = variant.spec(16);
            let result = router.forward(&spec, &packets, 500, 1).expect("it runs");
            let latency = result.latency;
            measured += &format!(
                "{}: {:.2} cycles, {:.0} ns, lost {}\n",
                variant.name,
                result.cycles,
                1e3 * latency.processing_us,
                result.lost
            );
        }
        insta::assert_snapshot!(measured);
    }
}

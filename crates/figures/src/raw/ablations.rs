//! The gain of each decision of the paper's design: routers that differ in one property, under full
//! load.

use std::path::Path;

use serde::Serialize;
use wireloom_net::Packet;
use wireloom_raw::mapper::{self, MachineSpec, RestSpec};
use wireloom_raw::routers::{Setting, Version, store};
use wireloom_sim::sweep;

use super::ipv4::SEEDS;
use super::rig::Rig;
use super::{Trace, gbps, mpps, tiled};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Program, Result, Source};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "raw-ablations",
    what: "RAW: what layout, static network, streams and buffers are worth: routers that differ in one thing",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/version-*.rasm, step-*.rasm, ipv4.loom and ipv4-tasks.loom on machines/raw*.toml",
        names: &["router", "memory"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "named", write: |values| table(values, &NAMED) },
            PageTable { name: "steps", write: |values| table(values, &STEPS) },
            PageTable { name: "engines", write: engines },
        ],
    },
};

/// Two routers that differ in one property.
struct Ablation {
    from: &'static str,
    to: &'static str,
    what: &'static str,
    /// The gain that the paper gives.
    published: &'static str,
}

/// Ablations whose gain the paper states.
const NAMED: [Ablation; 9] = [
    Ablation {
        from: "I-lines",
        to: "turned",
        what: "layout, one line at a time",
        published: "30 %",
    },
    Ablation {
        from: "III-rows",
        to: "III-memory-network",
        what: "layout, four lines",
        published: "30 %",
    },
    Ablation {
        from: "IV-rows",
        to: "IV",
        what: "layout, rests on the general network",
        published: "30 %",
    },
    Ablation {
        from: "turned",
        to: "II",
        what: "rests as lines on the static network, one line at a time",
        published: "15 %",
    },
    Ablation {
        from: "III-memory-network",
        to: "III-lines",
        what: "rests as lines on the static network, four lines",
        published: "15 %",
    },
    Ablation {
        from: "III.d",
        to: "III-memory-network",
        what: "heads on the static network",
        published: "10-30 %",
    },
    Ablation {
        from: "III-memory-network",
        to: "III",
        what: "streams on the static network",
        published: "15 %",
    },
    Ablation { from: "III-lines", to: "III", what: "streams instead of lines", published: "10 %" },
    Ablation { from: "III", to: "IV", what: "buffers in the line cards", published: "35 %" },
];

/// The steps from version I to version IV, one change after the other.
const STEPS: [Ablation; 9] = [
    Ablation { from: "I", to: "I-full-duplex", what: "full-duplex memories", published: "" },
    Ablation {
        from: "I-full-duplex",
        to: "I-four-memories",
        what: "a memory for each port",
        published: "",
    },
    Ablation { from: "I-four-memories", to: "I-lines", what: "lines without masks", published: "" },
    Ablation { from: "I-lines", to: "turned", what: "layout", published: "30 %" },
    Ablation { from: "turned", to: "II", what: "rests on the static network", published: "15 %" },
    Ablation {
        from: "II",
        to: "III-one-line",
        what: "64 bytes to the stages, only the rest in memory",
        published: "",
    },
    Ablation { from: "III-one-line", to: "III-lines", what: "four lines at a time", published: "" },
    Ablation { from: "III-lines", to: "III", what: "streams", published: "10 %" },
    Ablation { from: "III", to: "IV", what: "buffers in the line cards", published: "35 %" },
];

const ROUTERS: [&str; 15] = [
    "I",
    "I-full-duplex",
    "I-four-memories",
    "I-lines",
    "turned",
    "II",
    "III-one-line",
    "III-lines",
    "III",
    "III-memory-network",
    "III-rows",
    "III.d",
    "IV",
    "IV-rows",
    "V",
];

/// The ports that have line cards.
const ALL: &[u8] = &[0, 1, 2, 3];
/// The two ports with line cards of version V, as in `raw-ipv4`.
const TWO: &[u8] = &[0, 2];

/// A compiled engine on a machine, next to a version written by hand.
struct Comparison {
    router: &'static str,
    /// The file name in programs/raw.
    program: &'static str,
    /// The name of the machine, or its file in programs/raw.
    machine: &'static str,
    /// Whether packet tails stay on the line cards, if the machine does not specify it.
    rests: bool,
    /// The ports by which packets arrive and leave.
    ports: &'static [u8],
    /// Whether only these ports have cards, if the machine does not specify it. The other chains
    /// then work for these ports.
    shares: bool,
    /// The bytes of each queue, if they differ from the machine's.
    queue: Option<u32>,
    what: &'static str,
    by_hand: &'static str,
    /// The paper's rates of that version: million packets per second for 64 bytes, and Gb/s for
    /// 1,500.
    published: [&'static str; 2],
}

const ROWS: Comparison = Comparison {
    router: "rows",
    program: "ipv4.loom",
    machine: "raw-rows",
    rests: false,
    ports: ALL,
    shares: false,
    queue: None,
    what: "`raw-rows`",
    by_hand: "",
    published: ["", ""],
};
const EGRESS: Comparison =
    Comparison { router: "egress", machine: "raw-egress", what: "`raw-egress`", ..ROWS };
const QUEUED: Comparison =
    Comparison { router: "queues", machine: "raw-queues", what: "`raw-queues`", ..ROWS };
const ENGINES: [Comparison; 22] = [
    Comparison {
        router: "tasks-version-5",
        program: "ipv4-tasks.loom",
        machine: "tasks-version-5.toml",
        what: "`tasks-version-5.toml`, two cards",
        by_hand: "V",
        published: ["11.7", "12"],
        ports: TWO,
        ..ROWS
    },
    Comparison {
        router: "tasks-version-4-shared",
        program: "ipv4-tasks.loom",
        machine: "tasks-version-4.toml",
        what: "`tasks-version-4.toml` with `cards = [0, 2]`, two cards",
        ports: TWO,
        shares: true,
        ..ROWS
    },
    Comparison {
        router: "tasks-version-3-two-cards",
        program: "ipv4-tasks.loom",
        machine: "tasks-version-3.toml",
        what: "`tasks-version-3.toml`, two cards and two idle columns",
        ports: TWO,
        ..ROWS
    },
    Comparison {
        router: "tasks-version-4",
        program: "ipv4-tasks.loom",
        machine: "tasks-version-4.toml",
        what: "`tasks-version-4.toml`",
        by_hand: "IV",
        published: ["9.75", "15"],
        ..ROWS
    },
    Comparison {
        router: "tasks-version-3",
        program: "ipv4-tasks.loom",
        machine: "tasks-version-3.toml",
        what: "`tasks-version-3.toml`",
        by_hand: "III",
        published: ["9.75", "11"],
        ..ROWS
    },
    Comparison {
        router: "tasks-version-4-short",
        program: "ipv4-tasks.loom",
        machine: "tasks-version-4.toml",
        what: "`tasks-version-4.toml`, queues of 4,096 bytes",
        queue: Some(4096),
        ..ROWS
    },
    Comparison {
        router: "tasks-version-3-short",
        program: "ipv4-tasks.loom",
        machine: "tasks-version-3.toml",
        what: "`tasks-version-3.toml`, queues of 4,096 bytes",
        queue: Some(4096),
        ..ROWS
    },
    Comparison {
        router: "tasks-version-3d",
        program: "ipv4-tasks.loom",
        machine: "tasks-version-3d.toml",
        what: "`tasks-version-3d.toml`",
        by_hand: "III-d",
        published: ["6.8", "9.9"],
        ..ROWS
    },
    Comparison {
        router: "tasks-version-2",
        program: "ipv4-tasks.loom",
        machine: "tasks-version-2.toml",
        what: "`tasks-version-2.toml`",
        by_hand: "II",
        published: ["7.5", "10"],
        ..ROWS
    },
    Comparison {
        router: "tasks-version-1",
        program: "ipv4-tasks.loom",
        machine: "tasks-version-1.toml",
        what: "`tasks-version-1.toml`",
        by_hand: "I",
        published: ["6.8", "7.7"],
        ..ROWS
    },
    Comparison {
        router: "version-5",
        machine: "raw-version-5",
        what: "`raw-version-5`, two cards",
        by_hand: "V",
        published: ["11.7", "12"],
        ports: TWO,
        ..ROWS
    },
    Comparison {
        router: "version-4",
        machine: "raw-version-4",
        what: "`raw-version-4`",
        by_hand: "IV",
        published: ["9.75", "15"],
        ..ROWS
    },
    Comparison {
        router: "version-3",
        machine: "raw-version-3",
        what: "`raw-version-3`",
        by_hand: "III",
        published: ["9.75", "11"],
        ..ROWS
    },
    Comparison {
        router: "version-3d",
        machine: "raw-version-3d",
        what: "`raw-version-3d`",
        by_hand: "III-d",
        published: ["6.8", "9.9"],
        ..ROWS
    },
    Comparison {
        router: "version-2",
        machine: "raw-version-2",
        what: "`raw-version-2`",
        by_hand: "II",
        published: ["7.5", "10"],
        ..ROWS
    },
    Comparison {
        router: "version-1",
        machine: "raw-version-1",
        what: "`raw-version-1`",
        by_hand: "I",
        published: ["6.8", "7.7"],
        ..ROWS
    },
    QUEUED,
    Comparison {
        router: "queues-rests",
        rests: true,
        what: "`raw-queues`, rests in cards",
        ..QUEUED
    },
    EGRESS,
    Comparison {
        router: "egress-rests",
        rests: true,
        what: "`raw-egress`, rests in cards",
        ..EGRESS
    },
    ROWS,
    Comparison { router: "rows-rests", rests: true, what: "`raw-rows`, rests in cards", ..ROWS },
];

impl Comparison {
    /// Returns the machine and the compiled program.
    fn compiled(&self, root: &Path) -> Result<(MachineSpec, Program)> {
        let folder = root.join("programs/raw");
        let file = folder.join(self.machine);
        let name = if file.exists() { &*file.to_string_lossy() } else { self.machine };
        let mut spec = tiled(name)?;
        if self.rests {
            // Heads hold all of a 64-byte packet, as in the versions.
            spec.mapping.rest = Some(RestSpec { words: 17, ..RestSpec::in_cards() });
        }
        if let (Some(bytes), Some(queues)) = (self.queue, &mut spec.mapping.queues) {
            queues.bytes = bytes;
        }
        if self.shares {
            spec.mapping.cards = self.ports.iter().map(|port| usize::from(*port)).collect();
        }
        Ok((spec, Source::of(folder.join(self.program)).compiled()?))
    }

    /// Returns the rates of a trace in Gb/s and in million packets per second.
    fn run((spec, program): &(MachineSpec, Program), trace: Trace) -> Result<(f64, f64)> {
        let routes = store(program, &trace.routes)?;
        let inputs = trace.packets.into_iter().zip(0..);
        let of = |(packets, ingress): (Vec<Vec<u8>>, u16)| {
            let packet = move |bytes| Packet { ingress, arrival_ns: 0, bytes };
            packets.into_iter().map(packet).enumerate()
        };
        // The order in which inputs receive them: one packet of each input in turn.
        let mut packets: Vec<(usize, Packet)> = inputs.flat_map(of).collect();
        packets.sort_by_key(|(number, _)| *number);
        let packets: Vec<Packet> = packets.into_iter().map(|(_, packet)| packet).collect();
        let rates = mapper::measure(spec, &program.optimised, &routes, &packets)?;
        Ok((rates.gbps, rates.mpps))
    }
}

/// The memory latency: from the description, and the one that fits the misses of Table 2.
const MEMORIES: [(&str, Option<u32>); 2] = [("described", None), ("table-2", Some(56))];

#[derive(Clone, Debug, Serialize)]
struct Row {
    router: String,
    memory: &'static str,
    mpps: f64,
    gbps: f64,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("routers that differ in one thing");
    let rig = Rig::new(&settings.root)?;
    let trials: Vec<_> = ROUTERS
        .into_iter()
        .flat_map(|router| MEMORIES.into_iter().map(move |memory| (router, memory)))
        .collect();
    let rows = sweep(&trials, workers(), |(router, (memory, latency_cycles))| {
        let ports = if *router == "V" { TWO } else { ALL };
        let setting = Setting {
            latency_cycles: *latency_cycles,
            ports: ports.to_vec(),
            ..Setting::default()
        };
        let rates = |packets, bytes| {
            let mut sum = (0.0, 0.0);
            for seed in SEEDS {
                let trace = Trace::new(seed, packets, bytes).on(ports);
                let ran = rig.run(Version::named(router), &setting, &trace.packets, &trace.routes);
                let ran = ran.map_err(|error| {
                    let what = format!("{router}, {bytes} bytes, seed {seed}");
                    Error { message: format!("{what}: {}", error.message), ..error }
                })?;
                let (bytes, packets) = ran.played.rates();
                sum = (sum.0 + bytes, sum.1 + packets);
            }
            Ok::<_, Error>((sum.0 / SEEDS.len() as f64, sum.1 / SEEDS.len() as f64))
        };
        let (short, long) = (rates(4000, 64)?, rates(400, 1500)?);
        let router = router.replace('.', "-");
        Ok(Row { router, memory, mpps: mpps(short.1), gbps: gbps(long.0) })
    });
    let mut rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?;
    let compiled = sweep(&ENGINES, workers(), |engine| {
        let ready = engine.compiled(&settings.root)?;
        let mean = |packets, bytes| {
            let trace = |seed: &u64| Trace::new(*seed, packets, bytes).on(engine.ports);
            let all = SEEDS.iter().map(|seed| Comparison::run(&ready, trace(seed)));
            let all: Vec<_> = all.collect::<Result<_>>()?;
            let sum = all.iter().fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
            Ok::<_, Error>((sum.0 / all.len() as f64, sum.1 / all.len() as f64))
        };
        let (short, long) = (mean(4000, 64)?, mean(400, 1500)?);
        let router = engine.router.to_owned();
        Ok(Row { router, memory: MEMORIES[0].0, mpps: short.1, gbps: long.0 })
    });
    rows.extend(compiled.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?);
    let heads = ["router", "memory", "64 bytes, Mpps", "1,500 bytes, Gb/s"];
    let mut text = output::table(&heads, &[2, 3]);
    for row in &rows {
        let rates = [row.mpps, row.gbps].map(|rate| format!("{rate:.2}"));
        text.add_row([row.router.clone(), row.memory.to_owned()].into_iter().chain(rates));
    }
    let rate = |router: &str, of: fn(&Row) -> f64| {
        let router = router.replace('.', "-");
        let row = rows.iter().find(|row| row.router == router && row.memory == MEMORIES[0].0);
        row.map_or(f64::NAN, of)
    };
    let groups = NAMED.iter().map(|ablation| {
        let gain = |of| 100.0 * (rate(ablation.to, of) / rate(ablation.from, of) - 1.0);
        Group::new(ablation.what, [gain(|row| row.mpps), gain(|row| row.gbps)])
    });
    let series = ["64 bytes", "1,500 bytes"];
    let bars = Bars::new("What a decision is worth", "%, more packets", series, groups.collect());
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    let text = format!(
        "{text}\n\nUnder full load, mean of four traces; every packet is compared with golden.\n\
         The paper: layout 30 %, static network 15 %, streams 10 %, buffers in the cards 35 %.\n"
    );
    Ok(Drawn { text, data, svg: bars.svg(), faults: vec![] })
}

/// Tabulates gains next to the paper's, for pages.
fn table(values: &Values, ablations: &[Ablation]) -> Result<Table> {
    let mut table = Table::new([
        "from",
        "to",
        "what changes",
        "published",
        "64 bytes, Mpps",
        "gain",
        "1,500 bytes, Gb/s",
        "gain",
        "gain, memory of Table 2",
    ]);
    for ablation in ablations {
        let of = |router: &str, memory: &str, field: &str| {
            let router = router.replace('.', "-").to_lowercase();
            values.get(&format!("{router}.{memory}.{field}"))
        };
        let gain = |memory: &str, field: &str| -> Result<String> {
            let (from, to) = (of(ablation.from, memory, field)?, of(ablation.to, memory, field)?);
            Ok(format!("{:+.0} %", 100.0 * (to / from - 1.0)))
        };
        let [described, slow] = MEMORIES.map(|memory| memory.0);
        table.row([
            ablation.from.to_owned(),
            ablation.to.to_owned(),
            ablation.what.to_owned(),
            ablation.published.to_owned(),
            format!("{:.2}", of(ablation.to, described, "mpps")?),
            gain(described, "mpps")?,
            format!("{:.2}", of(ablation.to, described, "gbps")?),
            gain(described, "gbps")?,
            gain(slow, "gbps")?,
        ]);
    }
    Ok(table)
}

/// Tabulates engines in Loom C next to versions by hand, for pages.
fn engines(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "mapping",
        "64 bytes, Mpps",
        "by hand",
        "published",
        "1,500 bytes, Gb/s",
        "by hand",
        "published",
    ]);
    for engine in &ENGINES {
        let of = |router: &str, field: &str| {
            let path = format!("{}.{}.{field}", router.to_lowercase(), MEMORIES[0].0);
            values.get(&path).map(|rate| format!("{rate:.2}"))
        };
        let by_hand = |field| match engine.by_hand {
            "" => Ok(String::new()),
            version => of(version, field),
        };
        table.row([
            engine.what.to_owned(),
            of(engine.router, "mpps")?,
            by_hand("mpps")?,
            engine.published[0].to_owned(),
            of(engine.router, "gbps")?,
            by_hand("gbps")?,
            engine.published[1].to_owned(),
        ]);
    }
    Ok(table)
}

//! What each decision of the paper's design is worth: routers that differ in one thing, under full
//! load.

use serde::Serialize;
use wireloom_raw::routers::{Setting, Version};
use wireloom_sim::sweep;

use super::ipv4::SEEDS;
use super::rig::Rig;
use super::{Trace, gbps, mpps};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::pages::{PageTable, Table};
use crate::store::Cost;
use crate::values::Values;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

/// The figure.
pub const FIGURE: Figure = Figure {
    name: "raw-ablations",
    what: "RAW: what layout, static network, streams and buffers are worth: routers that differ in one thing",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/version-*.rasm and step-*.rasm on machines/raw.toml",
        names: &["router", "memory"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "named", write: |values| table(values, &NAMED) },
            PageTable { name: "steps", write: |values| table(values, &STEPS) },
        ],
    },
};

/// Two routers that differ in one thing.
struct Ablation {
    from: &'static str,
    to: &'static str,
    what: &'static str,
    /// The gain that the paper gives.
    published: &'static str,
}

/// Those whose gain the paper names.
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

/// The way from version I to version IV, one thing after the other.
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

const ROUTERS: [&str; 14] = [
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
];

/// The latency of memories: that of the description, and that which fits the misses of Table 2.
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
        let setting = Setting { latency_cycles: *latency_cycles, ..Setting::default() };
        let rates = |packets, bytes| {
            let mut sum = (0.0, 0.0);
            for seed in SEEDS {
                let trace = Trace::new(seed, packets, bytes);
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
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?;
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

/// Gains next to the paper's, for pages.
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

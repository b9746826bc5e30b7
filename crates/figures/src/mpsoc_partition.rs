//! The router whole, and cut into parts with separate hardware threads.

use serde::Serialize;
use wireloom_mpsoc::Spec;
use wireloom_mpsoc::partition::{PartitionKind, PartitionSpec};
use wireloom_net::tables::read_prefixes;
use wireloom_net::traffic;
use wireloom_sim::sweep;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::mpsoc::workers;
use super::mpsoc_million::{Held, Trial, hold};
use super::mpsoc_rig::{Router, machine};
use super::rate::Rate;
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};
use wireloom_console::{Working, output, thousands};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "mpsoc-partition",
    what: "StepNP: the real router whole and cut into parts that have threads of their own",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/router.loom with programs/tests/router.tables",
        names: &["cuts", "machine"],
        skip: &[],
        tools: &["arm-none-eabi-gcc"],
        tables: &[PageTable { name: "cuts", write: table }],
    },
};

/// Packets of a run.
const PACKETS: usize = 40_000;
/// The steps that begin a part.
const CUTS: [&[&str]; 4] =
    [&[], &["ipv4_forward"], &["ipv4_forward", "transmit"], &["ipv4", "ipv4_forward", "transmit"]];
/// The machines: the paper's; one with a quarter of the processors on a line that is too fast for
/// them; and the same with threads distributed by the measured work of the parts.
const MACHINES: [&str; 3] = ["48 processors", "12 processors", "12 by measured work"];
/// The rate in Gb/s of the line that is too fast.
const FAST_GBPS: u64 = 40;

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
struct Row {
    cuts: String,
    machine: &'static str,
    #[serde(flatten)]
    rate: Rate,
    /// Instructions per packet, and microseconds until packet I/O has the packet back.
    instructions: f64,
    processing_us: f64,
    differs: bool,
    /// The parts; empty if the engine is whole.
    parts: Vec<Part>,
}

#[derive(Clone, Debug, Serialize)]
struct Part {
    /// Instructions in this part per packet of the run.
    instructions: f64,
    /// The share of cycles of its processors' threads in which instructions are issued.
    usage: f64,
}

fn name(cuts: &[&str]) -> String {
    if cuts.is_empty() { "none".to_owned() } else { cuts.join(", ") }
}

fn make(settings: &Settings) -> Result<Drawn> {
    let tables = settings.file("programs/tests/router.tables")?;
    let prefixes = read_prefixes(&tables).map_err(Error::new)?.into_iter().collect();
    let router = Router::with(&settings.router()?, vec![tables], prefixes)?;
    let base = machine("mpsoc-oc192")?;
    let traffic = traffic::Spec {
        seed: 6,
        dst_mac: [2, 0, 0, 0, 0, 0],
        count: Some(PACKETS as u64),
        ..traffic::Spec::default()
    };
    let run = |spec: Spec| {
        let trial = Trial { name: "IPv4", router: &router, traffic: traffic.clone(), spec };
        hold(&trial, PACKETS)
    };
    let _working = Working::on("the router whole and in parts");
    let rows = sweep(&CUTS, workers(), |cuts| {
        let wide = run(cut(&base, cuts, None))?;
        let mut small = base.clone();
        small.processors /= 4;
        small.io.input.rate = FAST_GBPS * 1_000_000_000;
        small.io.output.rate = small.io.input.rate;
        let by_estimate = run(cut(&small, cuts, None))?;
        let mut rows = vec![row(cuts, MACHINES[0], &wide)?, row(cuts, MACHINES[1], &by_estimate)?];
        if !cuts.is_empty() {
            let work = rows[1].parts.iter().map(|part| part.instructions.round() as u32);
            let shares = work.map(|work| work.clamp(1, 1000)).collect();
            rows.push(row(cuts, MACHINES[2], &run(cut(&small, cuts, Some(shares)))?)?);
        }
        Ok::<_, Error>(rows)
    });
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?.concat();
    let groups = CUTS.map(|cuts| {
        let own = rows.iter().filter(|row| row.cuts == name(cuts));
        Group::new(name(cuts).as_str(), own.map(|row| row.rate.mpps()))
    });
    let title = "Packets of the router, by the steps at which it is cut";
    let svg = Bars::new(title, "million packets a second", MACHINES, groups.to_vec()).svg();
    let wrong = rows.iter().filter(|row| row.differs);
    let faults = wrong.map(|row| format!("{}, {}: differs from golden", row.cuts, row.machine));
    let faults = faults.collect();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults })
}

/// Returns the machine with an engine that is cut at these steps.
fn cut(spec: &Spec, cuts: &[&str], shares: Option<Vec<u32>>) -> Spec {
    let mut spec = spec.clone();
    if !cuts.is_empty() {
        spec.partition = PartitionSpec {
            kind: PartitionKind::WithinPacket,
            parts: None,
            cuts: Some(cuts.iter().map(|step| (*step).to_owned()).collect()),
            shares,
        };
    }
    spec
}

fn row(cuts: &[&str], machine: &'static str, held: &Held) -> Result<Row> {
    let record =
        serde_json::to_value(&held.record).map_err(|error| Error::new(error.to_string()))?;
    let number = |value: &serde_json::Value, what: &str| {
        value.as_f64().ok_or_else(|| Error::new(format!("the machine's record has no {what}")))
    };
    let platform = &record["platform"];
    let parts = platform["parts"].as_array().map_or(&[][..], Vec::as_slice);
    let compared = held.compared as f64;
    let part = |part: &serde_json::Value| {
        Ok(Part {
            instructions: number(&part["instructions"], "instructions of a part")? / compared,
            usage: number(&part["use"], "use of a part")?,
        })
    };
    let processing = &platform["io"]["latency"]["processing_ns"]["mean"];
    Ok(Row {
        cuts: name(cuts),
        machine,
        rate: held.rate,
        instructions: number(&record["instructions"], "instructions")? / compared,
        processing_us: number(processing, "latency")? / 1e3,
        differs: held.differs,
        parts: parts.iter().map(part).collect::<Result<_>>()?,
    })
}

fn text(rows: &[Row]) -> String {
    let heads = [
        "cuts",
        "machine",
        "MPPS",
        "dropped",
        "instructions",
        "processing, us",
        "of parts",
        "use, %",
    ];
    let mut table = output::table(&heads, &[2, 3, 4, 5]);
    for row in rows {
        let join = |of: &dyn Fn(&Part) -> f64| {
            let all: Vec<String> =
                row.parts.iter().map(|part| format!("{:.0}", of(part))).collect();
            all.join(", ")
        };
        table.add_row([
            row.cuts.clone(),
            row.machine.to_owned(),
            number(row.rate.mpps()),
            thousands(row.rate.dropped()),
            format!("{:.0}", row.instructions),
            number(row.processing_us),
            join(&|part| part.instructions),
            join(&|part| 100.0 * part.usage),
        ]);
    }
    format!(
        "{table}\n\n{} IPv4 packets of 60 bytes without gaps on mpsoc-oc192, and on 12 of its processors behind a line of {FAST_GBPS} Gb/s, held to golden. Instructions are of a packet, \
         use is that of each part's threads.\n",
        thousands(PACKETS as u64)
    )
}

/// Tabulates the runs for pages.
fn table(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "cuts",
        "instructions a packet, of each part",
        "48 processors, 10 Gb/s: use; in processing",
        "12 processors: MPPS; use",
        "with shares: MPPS; use",
    ]);
    for cuts in CUTS {
        let key =
            |machine: &str, field: &str| format!("{}.{}.{field}", slug(&name(cuts)), slug(machine));
        let parts = |machine: &str, field: &str, decimals: usize, times: f64| {
            let own = (0..=cuts.len()).map(|part| {
                let value = values.get(&key(machine, &format!("parts.{part}.{field}")))?;
                Ok(super::values::decimal(times * value, decimals))
            });
            Ok::<_, Error>(own.collect::<Result<Vec<_>>>()?.join(", "))
        };
        let [wide, small, shared] = MACHINES;
        let all = values.fixed(&key(wide, "instructions"), 0)?;
        let processing = format!("{} us", values.short(&key(wide, "processing_us"))?);
        let rate = |machine| values.short(&key(machine, "mpps"));
        if cuts.is_empty() {
            table.row(["none".to_owned(), all, processing, rate(small)?, String::new()]);
            continue;
        }
        let usage = |machine| parts(machine, "usage", 0, 100.0);
        let of = |machine| Ok::<_, Error>(format!("{}; {} %", rate(machine)?, usage(machine)?));
        let steps: Vec<String> = cuts.iter().map(|step| format!("`{step}`")).collect();
        table.row([
            steps.join(", "),
            format!("{all}: {}", parts(wide, "instructions", 0, 1.0)?),
            format!("{} %; {processing}", usage(wide)?),
            of(small)?,
            of(shared)?,
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_machine_has_the_parts_that_are_named() {
        let spec = machine("mpsoc-oc192").expect("a machine");
        assert_eq!(cut(&spec, &[], None).partition, spec.partition);
        let partition = cut(&spec, CUTS[2], Some(vec![1, 2, 3])).partition;
        assert_eq!(partition.cuts.as_deref().map(<[String]>::len), Some(2));
        partition.check().expect("a partition");
    }
}

//! Section 4.5.2 of the Gorilla paper: costs and benefits of arbitration, scheduling and
//! reordering.

use serde::Serialize;
use wireloom_np::area::{Cache, synthesise};
use wireloom_np::description::{NpSpec, Policy, Scheduler};
use wireloom_np::processor::Unit;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::np_traffic::{Stream, Traffic};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};
use wireloom_console::Working;
use wireloom_console::{output, thousands};
use wireloom_explore::rig::{Loaded, Rig};
use wireloom_explore::search;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "np-arbitration",
    what: "Gorilla, section 4.5.2: fair or unfair arbiters, thread schedulers and reordering, against area (16-6-4, Virtex-7)",
    choice: Choice::AnyOne,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom, COUNT_FLOWS=false CHECK_SOURCE=false",
        names: &["variant"],
        skip: &[],
        tools: &["Yosys"],
        tables: &[PageTable { name: "area", write: table }],
    },
};

/// The FPGA family: Virtex-7.
const FAMILY: &str = "xc7";

/// The measured kinds of traffic.
const KINDS: [&str; 3] = ["IPv4", "MPLS_4", "all six"];

/// A machine that differs from the first variant in one property.
struct Variant {
    name: &'static str,
    change: fn(&mut NpSpec),
    /// The paper's added area, in percent.
    published: &'static str,
}

/// The paper's machine is first: unfair arbiters in clusters, fair ones in front of a pipe's shared
/// parts, and any ready thread next. The second is our default.
const VARIANTS: [Variant; 4] = [
    Variant { name: "unfair in clusters, fair behind", change: unfair_in_clusters, published: "" },
    Variant { name: "fair in clusters too", change: |_| (), published: "+8 %" },
    Variant {
        name: "unfair everywhere",
        change: |machine| {
            unfair_in_clusters(machine);
            machine.arbitration.pipe = Policy::Fixed;
        },
        published: "",
    },
    Variant {
        name: "threads by round robin",
        change: |machine| {
            unfair_in_clusters(machine);
            machine.engine.scheduler = Scheduler::RoundRobin;
        },
        published: "-10 to -15 %, without reorder queue",
    },
];

fn unfair_in_clusters(machine: &mut NpSpec) {
    machine.arbitration.cluster = Policy::Fixed;
}

/// The measurement of a variant.
#[derive(Clone, Debug, Serialize)]
struct Row {
    machine: String,
    variant: &'static str,
    luts: u64,
    /// Additional LUTs relative to the first variant, in percent.
    more_percent: f64,
    published: &'static str,
    /// Million packets per second without loss, for each of `KINDS`.
    mpps: Vec<f64>,
}

/// The share of reordering in the whole machine.
#[derive(Clone, Copy, Debug, Serialize)]
struct Reordering {
    /// LUTs of one reorder queue, and the number of queues.
    luts: u64,
    queues: u64,
    /// The percentage of the machine's LUTs.
    percent: f64,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let loaded = settings.routing(false)?;
    let kinds = KINDS.map(|name| Traffic::named(name).expect("it is one of them"));
    let streams = settings.streams(&kinds)?;
    let machine = match settings.only.first() {
        Some(name) => NpSpec::find(name).map_err(Error::new)?,
        None => settings.np(16, 6, 4)?,
    };
    let mut rows: Vec<Row> = Vec::new();
    for variant in &VARIANTS {
        let first = rows.first().map(|row| row.luts);
        rows.push(row(&machine, variant, first, &loaded, &streams)?);
    }
    let reordering = reordering(&machine, rows[0].luts, &loaded)?;
    let groups: Vec<Group> =
        rows.iter().map(|row| Group::new(row.variant, row.mpps.iter().copied())).collect();
    let most = 100.0 * machine.lanes() as f64;
    let title = format!("{}: rate without loss by arbitration", machine.name);
    let svg = Bars::new(title, "million packets a second", KINDS, groups)
        .with_limit("line rate", most)
        .svg();
    let data = serde_json::json!({ "variants": rows, "reordering": reordering });
    Ok(Drawn { text: text(&rows, reordering), data, svg, faults: Vec::new() })
}

fn row(
    machine: &NpSpec,
    variant: &Variant,
    first: Option<u64>,
    loaded: &Loaded,
    streams: &[Stream],
) -> Result<Row> {
    let mut machine = machine.clone();
    (variant.change)(&mut machine);
    let luts = search::cost(loaded, &machine, FAMILY)?.luts;
    let working = Working::on(format!("{}, {}", machine.name, variant.name));
    let mut rig = Rig::new(&machine, loaded)?;
    let mpps = streams
        .iter()
        .map(|stream| Ok(rig.forwarding(&stream.packets)?.loss_free))
        .collect::<Result<_>>()?;
    drop(working);
    Ok(Row {
        machine: machine.name,
        variant: variant.name,
        luts,
        more_percent: first.map_or(0.0, |first| percent(luts as f64 - first as f64, first)),
        published: variant.published,
        mpps,
    })
}

fn percent(part: f64, whole: u64) -> f64 {
    100.0 * part / whole as f64
}

/// Synthesises a reorder queue as in the clusters, alone.
fn reordering(machine: &NpSpec, whole: u64, loaded: &Loaded) -> Result<Reordering> {
    let processor = loaded.processor(machine)?;
    let mut design = processor.design;
    let module = "wl_reorder";
    design.units.insert(
        0,
        Unit {
            name: module.into(),
            parameters: processor.plan.reorder_parameters(),
            instances: Vec::new(),
        },
    );
    let _working = Working::on("synthesis of the reorder queue");
    let queue = synthesise(&design, module, FAMILY, &Cache::of_user()).map_err(Error::new)?;
    let (luts, queues) = (queue.cost.luts, machine.clusters as u64);
    Ok(Reordering { luts, queues, percent: percent((luts * queues) as f64, whole) })
}

fn text(rows: &[Row], reordering: Reordering) -> String {
    let heads =
        ["arbiters and scheduler", "LUTs", "more", "the paper", KINDS[0], KINDS[1], KINDS[2]];
    let mut table = output::table(&heads, &[1, 2, 4, 5, 6]);
    for row in rows {
        let cells = [
            row.variant.to_owned(),
            thousands(row.luts),
            format!("{:+.1} %", row.more_percent),
            row.published.into(),
        ];
        table.add_row(cells.into_iter().chain(row.mpps.iter().map(|mpps| number(*mpps))));
    }
    format!(
        "{table}\n\nMillion packets a second without loss, and without flow counting. Our reorder queues stand in the clusters whatever the scheduler is, since \
         engines overtake each other: {} queues of {} LUTs are {:.1} % of the first machine.\n",
        reordering.queues,
        thousands(reordering.luts),
        reordering.percent
    )
}

/// Tabulates areas for pages.
fn table(values: &Values) -> Result<Table> {
    let mut table = Table::new(["arbiters and scheduler", "LUTs", "more", "the paper"]);
    for (index, variant) in VARIANTS.iter().enumerate() {
        let key = |field| format!("variants.{}.{field}", slug(variant.name));
        let more = format!("{:+.1} %", values.get(&key("more_percent"))?);
        table.row([
            variant.name.to_owned(),
            values.fixed(&key("luts"), 0)?,
            if index == 0 { String::new() } else { more },
            variant.published.to_owned(),
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_differ_and_the_second_is_the_usual_machine() {
        let usual = NpSpec::find("np-16-6-4").expect("a machine");
        let mut seen = Vec::new();
        for variant in &VARIANTS {
            let mut machine = usual.clone();
            (variant.change)(&mut machine);
            assert!(!seen.contains(&machine), "{}", variant.name);
            seen.push(machine);
        }
        assert_eq!(seen[1], usual);
    }

    #[test]
    fn what_is_more_is_said_with_its_sign() {
        let row = |luts, more_percent| Row {
            machine: "np".into(),
            variant: "some",
            luts,
            more_percent,
            published: "+8 %",
            mpps: vec![1.0, 2.0, 3.0],
        };
        let told = text(
            &[row(1000, 0.0), row(1080, 8.0)],
            Reordering { luts: 50, queues: 2, percent: 10.0 },
        );
        for part in ["+8.0 %", "2 queues of 50 LUTs are 10.0 %"] {
            assert!(told.contains(part), "no {part} in\n{told}");
        }
        assert_eq!(percent(-5.0, 100), -5.0);
    }
}

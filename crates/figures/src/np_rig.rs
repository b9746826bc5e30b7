//! The embedded rig of the Gorilla paper's section 4.6: IPv4 at 100 million packets per second,
//! checked on the chip itself.

use serde::Serialize;
use wireloom_np::area::parts;
use wireloom_np::description::NpSpec;

use super::Settings;
use super::figure::{Choice, Drawn, Figure, Kept};
use super::store::Cost;
use wireloom_console::load_store;
use wireloom_console::{output, thousands};
use wireloom_explore::area::{Area, Target};
use wireloom_explore::rig::Ran;
use wireloom_machine::Source;
use wireloom_machine::{Error, Result};
use wireloom_np::machine::{self, Form};
use wireloom_plot::{Bar, Bars, Group, Paint};

pub const FIGURE: Figure = Figure {
    name: "np-rig",
    what: "Gorilla, section 4.6: the embedded test rig of 16 clusters of 3 engines of 2 threads, IPv4, on a Virtex-6",
    choice: Choice::Some(|| MACHINES.map(str::to_owned).to_vec()),
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/ipv4.loom, COUNT_FLOWS=false CHECK_SOURCE=false NEXT_HOPS=512",
        names: &["machine"],
        skip: &["uses"],
        tools: &["Yosys"],
        tables: &[],
    },
};

/// Million packets per second that the paper's rig sends and receives.
const PUBLISHED_MPPS: f64 = 100.0;
/// The share of the LUTs of an XC6VLX240T that the paper's rig uses.
const PUBLISHED_SHARE: f64 = 0.55;
/// The goal: one of our rigs carries a packet per cycle with fewer LUTs than this.
const GOAL_LUTS: u64 = 45_000;
const PART: &str = "XC6VLX240T";
/// The paper's rig, the smallest of its kind that carries its traffic, and a pipeline.
const MACHINES: [&str; 3] = ["np-rig", "np-rig-small", "np-rig-pipeline"];
/// Cycles in which packets are sent: many times the cycles after which a slightly slow machine is
/// full.
const CYCLES: u64 = 60_000;

#[derive(Clone, Debug, Serialize)]
struct Row {
    machine: String,
    mpps: f64,
    /// The number of LUTs on the part, and their share.
    luts: u64,
    share: f64,
    /// The run of our rig; `None` for the paper's.
    ran: Option<Ran>,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let part =
        parts().into_iter().find(|part| part.name == PART).expect("hardware/parts.toml has it");
    let share = |luts: u64| luts as f64 / part.luts as f64;
    let published = (PUBLISHED_SHARE * part.luts as f64).round() as u64;
    let mut rows = vec![Row {
        machine: "16-3-2, the paper".into(),
        mpps: PUBLISHED_MPPS,
        luts: published,
        share: share(published),
        ran: None,
    }];
    let program = Source {
        file: settings.file("programs/ipv4.loom")?,
        include: Vec::new(),
        set: [("COUNT_FLOWS", "false"), ("CHECK_SOURCE", "false"), ("NEXT_HOPS", "512")]
            .map(|(name, value)| (name.into(), value.into()))
            .to_vec(),
        engine: None,
    }
    .compiled()?;
    let (store, _) =
        load_store(&program.optimised, &[settings.file("programs/tables/rig.tables")?])?;
    for name in MACHINES.into_iter().filter(|name| settings.wants(name)) {
        let description = NpSpec::find(name).map_err(Error::new)?;
        let (clusters, engines, threads) =
            (description.clusters, description.engines, description.threads);
        let machine = format!("{name}: {clusters}-{engines}-{threads}");
        let processor = machine::processor(&description, &program, Form::InRig)?;
        let area = Area::estimate(&processor, &Target::Family("xc6v"), false)?;
        let luts = area.families[0].total.luts;
        let ran = Ran::new(&description, &program, &store, CYCLES, None)?;
        rows.push(Row { machine, mpps: ran.mpps, luts, share: share(luts), ran: Some(ran) });
    }
    let faults = faults(&rows, settings.only.is_empty());
    let text = table(&rows);
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text, data, svg: plot(&rows), faults })
}

/// Reports rigs that found a fault. If `all` machines were measured, also reports that none of them
/// reaches the goal.
fn faults(rows: &[Row], all: bool) -> Vec<String> {
    let ours = rows.iter().filter_map(|row| Some((row, &row.ran.as_ref()?.run.report)));
    let mut faults: Vec<String> = ours
        .clone()
        .filter(|(_, report)| !report.is_faultless())
        .map(|(row, _)| format!("{}: packets are missing, late or wrong", row.machine))
        .collect();
    // The rate counts packets that came back or were dropped, so none may be dropped.
    faults.extend(
        ours.clone()
            .filter(|(_, report)| report.events > 0)
            .map(|(row, _)| format!("{}: the program drops packets", row.machine)),
    );
    if all && !ours.clone().any(|(row, report)| report.refused == 0 && row.luts < GOAL_LUTS) {
        faults.push(format!(
            "no rig carries a packet each cycle on less than {} LUTs",
            thousands(GOAL_LUTS)
        ));
    }
    faults
}

fn table(rows: &[Row]) -> String {
    let heads = [
        "rig",
        "MPPS",
        "LUTs",
        "of the part",
        "sent",
        "came back",
        "refused",
        "dropped",
        "missing, late, wrong",
    ];
    let mut table = output::table(&heads, &[1, 2, 3, 4, 5, 6, 7, 8]);
    for row in rows {
        let of = |count: fn(&Ran) -> String| row.ran.as_ref().map_or(String::new(), count);
        table.add_row([
            row.machine.clone(),
            format!("{:.1}", row.mpps),
            thousands(row.luts),
            format!("{:.1} %", 100.0 * row.share),
            of(|ran| thousands(ran.run.report.sent)),
            of(|ran| thousands(ran.run.report.received)),
            of(|ran| thousands(ran.run.report.refused)),
            of(|ran| thousands(ran.run.report.events)),
            of(|ran| format!("{}, {}, {}", ran.missing, ran.run.report.late, ran.run.report.wrong)),
        ]);
    }
    format!(
        "{table}\n\nSent, came back, dropped: packets that the rig's own report counts; refused: cycles in which the generator had to wait, which \
         is where a line would lose packets. Destinations are looked up, sources are not; flows are not counted, and there are 512 next hops: block RAM has no room \
         for the counters, nor for 65,536. The part is the {PART}.\n"
    )
}

/// Draws the rates, and below them the LUTs.
fn plot(rows: &[Row]) -> String {
    let series = [
        ("the paper".to_owned(), Paint { color: 0, is_pale: true }),
        ("here".to_owned(), Paint { color: 0, is_pale: false }),
    ];
    let bars = |title: &str, axis: &str, value: fn(&Row) -> f64| {
        let group = |row: &Row| Group {
            name: row.machine.clone(),
            bars: vec![Bar::new(usize::from(row.ran.is_some()), value(row))],
        };
        let (series, groups) = (series.to_vec(), rows.iter().map(group).collect());
        Bars { title: title.into(), axis: axis.into(), series, groups, ..Bars::default() }
    };
    let rates = bars("Rate of the rig", "million packets a second", |row| row.mpps);
    Bars::svg_of([&rates, &bars("Area of the rig", "LUTs of a Virtex-6", |row| row.luts as f64)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_rig_stands_above_ours() {
        let row = |machine: &str, luts| Row {
            machine: machine.into(),
            mpps: 50.0,
            luts,
            share: 0.5,
            ran: None,
        };
        let rows = [row("16-3-2, the paper", 82_896), row("16-3-2", 1000)];
        assert_eq!(faults(&rows, false), [""; 0]);
        assert!(faults(&rows, true)[0].contains("less than 45,000 LUTs"), "nothing ran");
        let shown = table(&rows);
        assert!(shown.contains("82,896") && shown.contains("50.0 %"), "{shown}");
        let svg = plot(&rows);
        assert!(svg.contains("Rate of the rig") && svg.contains("82,896"), "{svg}");
    }
}

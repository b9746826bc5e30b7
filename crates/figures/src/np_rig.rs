//! The embedded rig of the Gorilla paper's section 4.6: IPv4 at 100 million packets a second,
//! checked by the chip itself.

use plotters::prelude::*;
use serde::Serialize;
use wireloom_np::area::parts;
use wireloom_np::description::Machine;

use super::Settings;
use super::figure::{Choice, Drawn, Figure};
use wireloom_console::load_store;
use wireloom_console::{output, thousands};
use wireloom_explore::area::Area;
use wireloom_explore::rig::Ran;
use wireloom_machine::Source;
use wireloom_machine::{Error, Result};
use wireloom_np::machine::{self, Form};

/// The figure.
pub const FIGURE: Figure = Figure {
    name: "np-rig",
    what: "Gorilla, section 4.6: the embedded test rig of 16 clusters of 3 engines of 2 threads, IPv4, on a Virtex-6",
    choice: Choice::Some(|| MACHINES.map(str::to_owned).to_vec()),
    make,
};

/// Million packets a second that the paper's rig sends and gets back.
const PUBLISHED_MPPS: f64 = 100.0;
/// The share of the LUTs of an XC6VLX240T that the paper's rig uses.
const PUBLISHED_SHARE: f64 = 0.55;
/// LUTs that one of our rigs must keep under with a packet each cycle.
const GOAL_LUTS: u64 = 45_000;
/// The part.
const PART: &str = "XC6VLX240T";
/// The paper's rig, the smallest of its kind that carries its traffic, and a pipeline.
const MACHINES: [&str; 3] = ["np-rig", "np-rig-small", "np-rig-pipeline"];
/// Cycles for which packets are sent: many times the cycles after which a slightly slow machine is
/// full.
const CYCLES: u64 = 60_000;

/// A row of the figure.
#[derive(Clone, Debug, Serialize)]
struct Row {
    machine: String,
    mpps: f64,
    /// The LUTs of the part.
    luts: u64,
    share: f64,
    /// The report of our rig; the paper has none.
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
        let description = Machine::find(name).map_err(Error::new)?;
        let (clusters, engines, threads) =
            (description.clusters, description.engines, description.threads);
        let machine = format!("{name}: {clusters}-{engines}-{threads}");
        let processor = machine::processor(&description, &program, Form::InRig)?;
        let area = Area::estimate(&processor, Some("xc6v"), false)?;
        let luts = area.families[0].total.luts;
        let ran = Ran::new(&description, &program, &store, CYCLES, None)?;
        rows.push(Row { machine, mpps: ran.mpps, luts, share: share(luts), ran: Some(ran) });
    }
    let faults = faults(&rows, settings.only.is_empty());
    let text = table(&rows);
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    let mut svg = String::new();
    draw(&rows, &mut svg).map_err(|error| Error::new(format!("the plot: {error}")))?;
    Ok(Drawn { text, data, svg, faults })
}

/// Rigs that found a fault; and, if `all` machines were measured, that none of them reaches the
/// goal.
fn faults(rows: &[Row], all: bool) -> Vec<String> {
    let ours = rows.iter().filter_map(|row| Some((row, &row.ran.as_ref()?.run.report)));
    let mut faults: Vec<String> = ours
        .clone()
        .filter(|(_, report)| !report.is_faultless())
        .map(|(row, _)| format!("{}: packets are missing, late or wrong", row.machine))
        .collect();
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

const ROW: i32 = 54;
const LEFT: i32 = 240;
const TOP: i32 = 40;
const LENGTH: f64 = 420.0;

/// Two bars a row: the rate, and below it the LUTs.
fn draw(rows: &[Row], svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let most = rows.iter().map(|row| row.luts).max().unwrap_or(1);
    let height = TOP + ROW * rows.len() as i32;
    let area =
        SVGBackend::with_string(svg, ((f64::from(LEFT) + LENGTH) as u32 + 140, height as u32));
    let area = area.into_drawing_area();
    area.fill(&WHITE)?;
    let text = |size: i32| ("sans-serif", size).into_font();
    let title = "million packets a second (blue), LUTs on Virtex-6 (green); the paper's pale";
    area.draw(&Text::new(title, (8, 12), text(13)))?;
    for (index, row) in rows.iter().enumerate() {
        let y = TOP + ROW * index as i32;
        area.draw(&Text::new(row.machine.clone(), (8, y + 12), text(13)))?;
        let strength = if row.ran.is_some() { 0.8 } else { 0.35 };
        let bars = [
            (RGBColor(21, 101, 192), row.mpps / PUBLISHED_MPPS, format!("{:.1}", row.mpps)),
            (RGBColor(46, 125, 50), row.luts as f64 / most as f64, thousands(row.luts)),
        ];
        for (bar, (color, share, label)) in bars.into_iter().enumerate() {
            let y = y + 20 * bar as i32;
            let end = LEFT + (share * LENGTH) as i32;
            area.draw(&Rectangle::new([(LEFT, y), (end, y + 15)], color.mix(strength).filled()))?;
            area.draw(&Text::new(label, (end + 6, y + 2), text(12)))?;
        }
    }
    area.present()?;
    Ok(())
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
        let mut svg = String::new();
        draw(&rows, &mut svg).unwrap();
        assert!(svg.contains("82,896"), "{svg}");
    }
}

//! The power of microengines by component, beside the shares of the NePSim talk.

use serde::Serialize;
use wireloom_console::output;
use wireloom_ixp::energy::ENGINE_PARTS;
use wireloom_ixp::governor::GovernorKind;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};
use wireloom_sim::Energy;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::ixp_energy::{Outcome, Traffic, WORKLOADS, chip, run};
use super::store::Cost;
use super::{Settings, number};

/// The figure.
pub const FIGURE: Figure = Figure {
    name: "ixp-power",
    what: "ixp1200: power of the engines by component at full load, beside the NePSim talk",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/microcode on ixp1200",
        names: &["program", "component"],
        skip: &[],
        tools: &[],
        tables: &[],
    },
};

/// Simulated time of a run, in milliseconds.
const MS: f64 = 3.0;

/// The components with the talk's shares in percent. Transfer registers, control registers, FIFOs
/// and arbiters are below rounding there.
const PUBLISHED: [(&str, Option<f64>); 6] = [
    ("alu", Some(45.0)),
    ("control store", Some(28.0)),
    ("gpr", Some(13.0)),
    ("shifter", Some(7.0)),
    ("leakage", Some(7.0)),
    ("others", None),
];

/// A program.
#[derive(Clone, Debug, Serialize)]
struct Run {
    program: &'static str,
    mpps: f64,
    /// Watts of engines, of the rest of the chip and of memory chips.
    engines_w: f64,
    chip_w: f64,
    memories_w: f64,
    /// What cycles without an access take of the engines' energy, in percent.
    unused_percent: f64,
    components: Vec<Share>,
}

/// A component's share of the engines' energy.
#[derive(Clone, Debug, Serialize)]
struct Share {
    component: &'static str,
    percent: f64,
    published: Option<f64>,
}

fn shares(outcome: &Outcome) -> Vec<Share> {
    let power = &outcome.power;
    let [engines, ..] = power.groups();
    let percent = |energy: Energy| 100.0 * energy.as_joules() / engines.as_joules();
    let place = |name: &str| ENGINE_PARTS.iter().position(|part| part.name == name);
    let part = |name| place(name).map_or(0.0, |place| percent(power.engine_part_dynamic(place)));
    let known = [part("alu"), part("control_store"), part("gpr"), part("shifter")];
    let leakage = percent(power.engines_leak());
    let others = 100.0 - known.iter().sum::<f64>() - leakage;
    let all = known.into_iter().chain([leakage, others]);
    let shares = PUBLISHED.into_iter().zip(all);
    shares
        .map(|((component, published), percent)| Share { component, percent, published })
        .collect()
}

fn make(_: &Settings) -> Result<Drawn> {
    let mut runs = Vec::new();
    for workload in WORKLOADS {
        let spec = chip(workload, GovernorKind::None, 20_000);
        let outcome = run(workload, &spec, &Traffic::Full(MS))?;
        let [engines_w, chip_w, memories_w] = outcome.watts;
        let [engines, ..] = outcome.power.groups();
        let unused = outcome.power.engines_idle().as_joules() / engines.as_joules();
        runs.push(Run {
            program: workload.name,
            mpps: outcome.mpps,
            engines_w,
            chip_w,
            memories_w,
            unused_percent: 100.0 * unused,
            components: shares(&outcome),
        });
    }
    let group =
        |run: &Run| Group::new(run.program, run.components.iter().map(|share| share.percent));
    let published = PUBLISHED.iter().map(|(_, percent)| percent.unwrap_or(0.0));
    let groups = [Group::new("NePSim talk", published)].into_iter().chain(runs.iter().map(group));
    let names = PUBLISHED.map(|(name, _)| name);
    let title = "Power of the engines by component";
    let svg = Bars::new(title, "share, %", names, groups.collect()).svg();
    let data = serde_json::to_value(&runs).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&runs), data, svg, faults: Vec::new() })
}

fn text(runs: &[Run]) -> String {
    let mut shares = output::table(&["program", "component", "percent", "NePSim talk"], &[2, 3]);
    let mut watts = output::table(
        &["program", "Mpps", "engines, W", "rest of the chip", "memories", "unused, %"],
        &[1, 2, 3, 4, 5],
    );
    for run in runs {
        for share in &run.components {
            let published = share.published.map_or_else(String::new, number);
            let row = [run.program, share.component];
            let row = row.map(str::to_owned).into_iter();
            shares.add_row(row.chain([number(share.percent), published]));
        }
        let numbers =
            [run.mpps, run.engines_w, run.chip_w, run.memories_w, run.unused_percent].map(number);
        watts.add_row([run.program.to_owned()].into_iter().chain(numbers));
    }
    format!(
        "{shares}\n\n{watts}\n\nFull load for {MS} ms at 232 MHz, four engines. Components without their \
         leakage. \"Unused\" is what ports and datapaths take in cycles without an access, 10 % \
         of one.\n"
    )
}

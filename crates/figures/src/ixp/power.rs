//! The power of microengines by component, next to the shares of the NePSim talk.

use serde::Serialize;
use wireloom_console::output;
use wireloom_ixp::Spec;
use wireloom_ixp::benchmarks::Benchmark;
use wireloom_ixp::energy::{ControlStore, EnginePart};
use wireloom_ixp::governor::GovernorKind;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};
use wireloom_sim::{Energy, sweep};

use super::energy::{Load, Outcome, Work, change, chip};
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::rate::Rate;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::{Values, slug};
use crate::{Settings, number};

pub const FIGURE: Figure = Figure {
    name: "ixp-power",
    what: "NePSim: power of the engines by component at full load, of receiving and sending engines, of memories",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/microcode/benchmarks on ixp1200, six engines at 232 MHz",
        names: &["variant", "program", "component"],
        skip: &["published"],
        tools: &[],
        tables: &[
            PageTable { name: "shares", write: shares_table },
            PageTable { name: "watts", write: watts_table },
            PageTable { name: "variants", write: variants_table },
        ],
    },
};

/// Simulated milliseconds of a run, and of the time before it.
const MS: f64 = 3.0;
const BEFORE: f64 = 1.0;

/// The components, with the talk's shares in percent. Transfer registers, control registers, FIFOs
/// and arbiters are below rounding there.
const PUBLISHED: [(&str, Option<f64>); 6] = [
    ("alu", Some(45.0)),
    ("control store", Some(28.0)),
    ("gpr", Some(13.0)),
    ("shifter", Some(7.0)),
    ("leakage", Some(7.0)),
    ("others", None),
];

/// A variant of the machine, to which the talk's shares are compared.
struct Variant {
    name: &'static str,
    change: fn(&mut Spec),
}

const VARIANTS: [Variant; 3] = [
    Variant { name: "as described", change: |_| {} },
    Variant { name: "control store in one piece", change: talks_store },
    Variant {
        name: "in one piece, nothing for idle cycles",
        change: |spec| {
            talks_store(spec);
            spec.power.idle_percent = 0;
        },
    },
];

/// Uses the control store of the talk: 4 KB in blocks of 4 bytes, with 10 address bits. Its table
/// names no split.
fn talks_store(spec: &mut Spec) {
    spec.engine.control_store = 1024;
    spec.power.control_store = ControlStore::Whole;
}

/// The results of a program.
#[derive(Clone, Debug, Serialize)]
struct Run {
    variant: &'static str,
    program: &'static str,
    #[serde(flatten)]
    rate: Rate,
    /// Watts of engines, of the rest of the chip, and of memory chips.
    engines_w: f64,
    chip_w: f64,
    memories_w: f64,
    /// Mean watts of a receiving and of a sending engine.
    receiving_w: f64,
    sending_w: f64,
    /// The energy of cycles without an access, in percent of the engines' energy and of the
    /// shifter's.
    unused_percent: f64,
    unused_shifter_percent: f64,
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
    let known = [EnginePart::Alu, EnginePart::ControlStore, EnginePart::Gpr, EnginePart::Shifter];
    let known = known.map(|part| percent(power.engine_part_dynamic(part)));
    let leakage = percent(power.engines_leak());
    let others = 100.0 - known.iter().sum::<f64>() - leakage;
    let all = known.into_iter().chain([leakage, others]);
    let shares = PUBLISHED.into_iter().zip(all);
    shares
        .map(|((component, published), percent)| Share { component, percent, published })
        .collect()
}

fn measure(variant: &Variant, benchmark: Benchmark) -> Result<Run> {
    let mut spec = chip(GovernorKind::None, 20_000);
    (variant.change)(&mut spec);
    let outcome = Work::new(benchmark, Load::Full(MS), BEFORE).run(&spec, 1)?;
    let [engines_w, chip_w, memories_w] = outcome.watts;
    let [receiving_w, sending_w] = outcome.roles;
    let [engines, ..] = outcome.power.groups();
    let percent = |part: Energy, whole: Energy| 100.0 * part.as_joules() / whole.as_joules();
    let shifter = outcome.power.engine_part_dynamic(EnginePart::Shifter);
    let unused_shifter = outcome.power.engine_part_idle(EnginePart::Shifter);
    Ok(Run {
        variant: variant.name,
        program: benchmark.name(),
        rate: outcome.rate,
        engines_w,
        chip_w,
        memories_w,
        receiving_w,
        sending_w,
        unused_percent: percent(outcome.power.engines_idle(), engines),
        unused_shifter_percent: percent(unused_shifter, shifter),
        components: shares(&outcome),
    })
}

fn make(_: &Settings) -> Result<Drawn> {
    let of = |variant| Benchmark::ALL.map(|benchmark| (variant, benchmark));
    let trials: Vec<(&Variant, Benchmark)> = VARIANTS.iter().flat_map(of).collect();
    let runs = sweep(&trials, workers(), |(variant, benchmark)| measure(variant, *benchmark));
    let all: Vec<Run> = runs.map_err(Error::new)?.into_iter().collect::<Result<_>>()?;
    let runs: Vec<Run> =
        all.iter().filter(|run| run.variant == VARIANTS[0].name).cloned().collect();
    let group =
        |run: &Run| Group::new(run.program, run.components.iter().map(|share| share.percent));
    let published = PUBLISHED.iter().map(|(_, percent)| percent.unwrap_or(0.0));
    let groups = [Group::new("NePSim talk", published)].into_iter().chain(runs.iter().map(group));
    let names = PUBLISHED.map(|(name, _)| name);
    let title = "Power of the engines by component";
    let svg = Bars::new(title, "share, %", names, groups.collect()).svg();
    let data = serde_json::to_value(&all).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&runs) + &variants_text(&all), data, svg, faults: Vec::new() })
}

const SHARE_HEADS: [&str; 6] = ["component", "NePSim talk, %", "ipfwdr", "url", "nat", "md4"];
const VARIANT_HEADS: [&str; 8] = [
    "shares, %",
    "program",
    "alu",
    "control store",
    "gpr",
    "shifter",
    "leakage",
    "of the shifter: unused",
];
const WATT_HEADS: [&str; 8] = [
    "program",
    "Gb/s",
    "engines, W",
    "rest of the chip",
    "memories",
    "a receiving engine",
    "a sending engine",
    "unused, %",
];

fn text(runs: &[Run]) -> String {
    let mut shares = output::table(&SHARE_HEADS, &[1, 2, 3, 4, 5]);
    for (place, (component, published)) in PUBLISHED.iter().enumerate() {
        let own = runs.iter().map(|run| number(run.components[place].percent));
        let published = published.map_or_else(String::new, number);
        shares.add_row([(*component).to_owned(), published].into_iter().chain(own));
    }
    let mut watts = output::table(&WATT_HEADS, &[1, 2, 3, 4, 5, 6, 7]);
    for run in runs {
        let numbers = [run.rate.gbps(), run.engines_w, run.chip_w, run.memories_w, run.receiving_w];
        let numbers = numbers.into_iter().chain([run.sending_w, run.unused_percent]).map(number);
        watts.add_row([run.program.to_owned()].into_iter().chain(numbers));
    }
    format!(
        "{shares}\n\n{watts}\n\nFull load for {MS} ms at 232 MHz, four engines that receive and two that send. \
         Components without their leakage. \"Unused\" is what ports and datapaths take in cycles without an \
         access, 10 % of one.\n"
    )
}

fn variants_text(runs: &[Run]) -> String {
    let mut table = output::table(&VARIANT_HEADS, &[2, 3, 4, 5, 6, 7]);
    for run in runs {
        let names = [run.variant, run.program].map(str::to_owned).into_iter();
        let known = run.components.iter().filter(|share| share.published.is_some());
        let numbers = known.map(|share| share.percent).chain([run.unused_shifter_percent]);
        table.add_row(names.chain(numbers.map(number)));
    }
    format!(
        "\n{table}\n\nOne piece: the talk's control store of 1,024 words of 32 bits, each in a row of its own.\n"
    )
}

fn variants_table(values: &Values) -> Result<Table> {
    let mut table = Table::new(VARIANT_HEADS);
    let known = PUBLISHED.into_iter().filter_map(|(name, published)| Some((name, published?)));
    let talks = known.clone().map(|(_, percent)| number(percent));
    let names = ["NePSim talk", ""].map(str::to_owned).into_iter();
    table.row(names.chain(talks).chain([String::new()]));
    for variant in &VARIANTS {
        for benchmark in Benchmark::ALL {
            let key = format!("{}.{}", slug(variant.name), benchmark.name());
            let mut row = vec![variant.name.to_owned(), format!("`{}`", benchmark.name())];
            for (component, _) in known.clone() {
                let share = format!("{key}.components.{}.percent", slug(component));
                row.push(values.fixed(&share, 1)?);
            }
            let unused = values.fixed(&format!("{key}.unused_shifter_percent"), 0)?;
            row.push(format!("{unused} %"));
            table.row(row);
        }
    }
    Ok(table)
}

/// The key of a number for the chip as described.
fn own(benchmark: Benchmark, field: &str) -> String {
    format!("{}.{}.{field}", slug(VARIANTS[0].name), benchmark.name())
}

fn shares_table(values: &Values) -> Result<Table> {
    let mut table = Table::new(SHARE_HEADS);
    for (component, published) in PUBLISHED {
        let mut row = vec![component.to_owned(), published.map_or_else(String::new, number)];
        for benchmark in Benchmark::ALL {
            let key = own(benchmark, &format!("components.{}.percent", slug(component)));
            row.push(values.fixed(&key, 1)?);
        }
        table.row(row);
    }
    Ok(table)
}

fn watts_table(values: &Values) -> Result<Table> {
    let heads = WATT_HEADS.into_iter().chain(["sending against receiving"]);
    let mut table = Table::new(heads);
    for benchmark in Benchmark::ALL {
        let of = |field: &str| values.get(&own(benchmark, field));
        let mut row = vec![benchmark.name().to_owned(), format!("{:.2}", of("gbps")?)];
        for field in ["engines_w", "chip_w", "memories_w", "receiving_w", "sending_w"] {
            row.push(number(of(field)?));
        }
        row.push(format!("{:.1}", of("unused_percent")?));
        row.push(format!("{:+.1} %", change(of("sending_w")?, of("receiving_w")?)));
        table.row(row);
    }
    Ok(table)
}

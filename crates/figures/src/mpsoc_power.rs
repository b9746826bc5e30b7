//! The energy per packet by unit: the router on StepNP machines, at full load and nearly idle.

use serde::Serialize;
use wireloom_console::{Working, output, thousands};
use wireloom_machine::{Error, Result};
use wireloom_mpsoc::energy::{ChipPart, GROUPS, ProcessorPart, groups};
use wireloom_mpsoc::evaluation::SEEDS;
use wireloom_plot::{Bars, Group};
use wireloom_power::PartKey;
use wireloom_sim::parts::line::Pace;
use wireloom_sim::{Energy, sweep};

use super::figure::{Choice, Drawn, Figure, Kept};
use super::mpsoc::workers;
use super::mpsoc_rig::{Router, Spent, machine};
use super::np_traffic::Traffic;
use super::shares::{GroupShare, PartShare};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};

pub const FIGURE: Figure = Figure {
    name: "mpsoc-power",
    what: "StepNP: energy of a packet by unit, the router on both machines, at line rate and at a fiftieth of it",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/router.loom with the table of the Internet on mpsoc-oc48 and mpsoc-oc192",
        names: &["machine", "traffic", "load", "group", "part"],
        skip: &[],
        tools: &["arm-none-eabi-gcc"],
        tables: &[
            PageTable { name: "groups", write: groups_table },
            PageTable { name: "parts", write: parts_table },
        ],
    },
};

/// Packets of a run.
const PACKETS: usize = 4000;
const MACHINES: [&str; 2] = ["mpsoc-oc48", "mpsoc-oc192"];
/// Traffic with its packet bytes: the paper's packets, long ones, and IPv6, which needs more work.
const TRAFFIC: [(&str, &str, u32); 3] =
    [("IPv4 54", "IPv4", 54), (LONG, "IPv4", 1500), ("IPv6 66", "IPv6", 66)];
const LONG: &str = "IPv4 1500";
const LOADS: [(&str, Pace); 2] = [("full", Pace::Line), ("2 percent", Pace::Load(0.02))];

/// The results of a run, from its first packet to its last.
#[derive(Clone, Debug, Serialize)]
struct Run {
    machine: &'static str,
    traffic: &'static str,
    load: &'static str,
    mpps: f64,
    lost: u64,
    watts: f64,
    nanojoules: f64,
    /// The share of leakage in all energy, in percent.
    leakage_percent: f64,
    groups: Vec<GroupShare>,
    parts: Vec<PartShare>,
}

/// The name that groups the parts of all offloads.
const OFFLOADS: &str = "offloads";

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("energy of the router");
    let router = Router::new(settings)?;
    let cases = MACHINES.into_iter().flat_map(|machine| {
        TRAFFIC
            .into_iter()
            .flat_map(move |traffic| LOADS.into_iter().map(move |load| (machine, traffic, load)))
    });
    let cases: Vec<_> = cases.collect();
    let runs = sweep(&cases, workers(), |&(name, (traffic, kind, bytes), (load, pace))| {
        let kind = Traffic::named(kind).ok_or_else(|| Error::new("no such traffic"))?;
        let packets = router.packets(kind, bytes, PACKETS)?;
        let mut spec = machine(name)?;
        spec.io.pace = pace;
        let spent = router.spend(&spec, &packets, *SEEDS.start())?;
        Ok::<_, Error>(run(name, traffic, load, &spent))
    });
    let runs: Vec<Run> = runs.map_err(Error::new)?.into_iter().collect::<Result<_>>()?;
    // Long packets take thirty times as much energy, which would hide the others.
    let is_drawn = |run: &&Run| run.load == LOADS[0].0 && run.traffic != LONG;
    let bars = runs.iter().filter(is_drawn).map(|run| {
        let of = |share: &GroupShare| share.percent * run.nanojoules / 100.0;
        Group::new(format!("{}, {}", run.machine, run.traffic), run.groups.iter().map(of))
    });
    let title = "Energy of a short packet of the router by unit, at line rate";
    let svg = Bars::new(title, "nJ", GROUPS.iter().map(|group| group.name), bars.collect()).svg();
    let data = serde_json::to_value(&runs).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&runs), data, svg, faults: Vec::new() })
}

fn run(machine: &'static str, traffic: &'static str, load: &'static str, spent: &Spent) -> Run {
    let account = &spent.energy;
    let total = account.total();
    let percent = |energy: Energy| 100.0 * energy.as_joules() / total.as_joules();
    let all = groups(account);
    let all = all.map(|(group, energy)| GroupShare { group, percent: percent(energy) });
    let own = ProcessorPart::ALL.len() + ChipPart::ALL.len();
    let parts = account.parts().take(own);
    let parts = parts.map(|(part, energy)| (part.to_owned(), energy));
    let offloads: Energy = account.parts().skip(own).map(|(_, energy)| energy).sum();
    let parts = parts.chain([(OFFLOADS.to_owned(), offloads)]);
    Run {
        machine,
        traffic,
        load,
        mpps: spent.verdicts.rate(account.time().as_seconds()).mpps(),
        lost: spent.lost,
        watts: total.mean_watts(account.time()),
        nanojoules: total.as_joules() * 1e9 / spent.verdicts.sent as f64,
        leakage_percent: percent(account.stationary()),
        groups: all.collect(),
        parts: parts.map(|(part, energy)| PartShare { part, percent: percent(energy) }).collect(),
    }
}

fn heads() -> impl Iterator<Item = &'static str> {
    let first = ["machine", "packets", "load", "Mpps", "lost", "W", "nJ a packet"].into_iter();
    first.chain(GROUPS.iter().map(|group| group.name)).chain(["of all: leakage"])
}

fn text(runs: &[Run]) -> String {
    let heads: Vec<&str> = heads().collect();
    let numbers: Vec<usize> = (3..heads.len()).collect();
    let mut table = output::table(&heads, &numbers);
    for run in runs {
        let first = [run.machine, run.traffic, run.load].map(str::to_owned).into_iter();
        let second = [format!("{:.2}", run.mpps), thousands(run.lost)];
        let third = [format!("{:.2}", run.watts), number(run.nanojoules)];
        let shares = run.groups.iter().map(|share| share.percent).chain([run.leakage_percent]);
        let shares = shares.map(|percent| format!("{percent:.1} %"));
        table.add_row(first.chain(second).chain(third).chain(shares));
    }
    format!(
        "{table}\n\n{} packets each, from the first cycle to the last packet, cold caches \
         included. Process, voltages and lengths are assumed, and control logic is left out.\n",
        thousands(PACKETS as u64)
    )
}

fn groups_table(values: &Values) -> Result<Table> {
    let mut table = Table::new(heads());
    for machine in MACHINES {
        for (traffic, ..) in TRAFFIC {
            for (load, _) in LOADS {
                let key = format!("{machine}.{}.{}", slug(traffic), slug(load));
                let of = |field: &str| values.get(&format!("{key}.{field}"));
                let mut cells = [machine, traffic, load].map(str::to_owned).to_vec();
                cells.push(format!("{:.2}", of("mpps")?));
                cells.push(thousands(of("lost")? as u64));
                cells.push(format!("{:.2}", of("watts")?));
                cells.push(number(of("nanojoules")?));
                for group in &GROUPS {
                    let share = of(&format!("groups.{}.percent", slug(group.name)))?;
                    cells.push(format!("{share:.1} %"));
                }
                cells.push(format!("{:.1} %", of("leakage_percent")?));
                table.row(cells);
            }
        }
    }
    Ok(table)
}

/// Tabulates the parts of both machines for the paper's packets at line rate.
fn parts_table(values: &Values) -> Result<Table> {
    let heads = MACHINES.map(|machine| format!("{machine}, %"));
    let mut table = Table::new(["part".to_owned()].into_iter().chain(heads));
    let parts = ProcessorPart::PARTS.iter().chain(ChipPart::PARTS).map(|part| &*part.name);
    for part in parts.chain([OFFLOADS]) {
        let mut cells = vec![format!("`{part}`")];
        for machine in MACHINES {
            let (traffic, load) = (slug(TRAFFIC[0].0), slug(LOADS[0].0));
            let key = format!("{machine}.{traffic}.{load}.parts.{}.percent", slug(part));
            cells.push(values.fixed(&key, 1)?);
        }
        table.row(cells);
    }
    Ok(table)
}

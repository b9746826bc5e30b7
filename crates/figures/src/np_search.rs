//! The smallest network processors that carry the traffic of the Gorilla paper's largest two.

use serde::Serialize;
use wireloom_net::Packet;
use wireloom_np::area::{Cost as Area, parts};
use wireloom_np::description::NpSpec;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::np_traffic::TRAFFIC;
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, decimal};
use super::{Settings, number};
use wireloom_console::{output, thousands};
use wireloom_explore::search::{self, Found, MachineShapes, Shape, Tried, Wanted};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "np-search",
    what: "Smallest machines that carry IPv4, IPv6, MPLS_1 to MPLS_4 and each mix without loss at 100 and 200 million packets a second",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom, COUNT_FLOWS=false CHECK_SOURCE=false NEXT_HOPS=4096",
        names: &["published_machine"],
        skip: &["tried", "published_luts"],
        tools: &["Yosys"],
        tables: &[PageTable { name: "machines", write: table }],
    },
};

/// The traffic to carry and the paper's machine for it (Figure 12): million packets per second,
/// machine, part, and percentage of its LUTs.
const GOALS: [(f64, &str, &str, u64); 2] =
    [(100.0, "8-6-4", "XC6VHX380T", 75), (200.0, "16-6-4", "XC7VH870T", 73)];

/// Threads in LUT RAM and threads in block RAM: engines with few threads use the former, engines
/// with many the latter.
const KINDS: [(&str, [usize; 4], [usize; 3]); 2] =
    [("np", [3, 4, 5, 6], [4, 6, 8]), ("np-200mpps", [2, 3, 4, 6], [8, 12, 16])];

/// Returns the candidate machines for a rate: each lane takes a packet per cycle.
fn kinds(mpps: f64) -> Result<Vec<MachineShapes>> {
    let lanes = (mpps / 100.0).ceil() as usize;
    let kind = |&(like, engines, threads): &(&str, [usize; 4], [usize; 3])| {
        let like = NpSpec::find(like).map_err(Error::new)?.with_lanes(lanes);
        let mut shapes = Vec::new();
        for clusters in [4, 5, 6, 7, 8, 10, 12] {
            for engines in engines {
                let clusters = clusters * lanes;
                shapes.extend(threads.map(|threads| Shape { clusters, engines, threads }));
            }
        }
        Ok(MachineShapes { like, shapes })
    };
    KINDS.iter().map(kind).collect()
}

/// The family for which sizes are estimated, whatever the part. Only their order matters, and all
/// families have LUTs with six inputs.
const ESTIMATED_FOR: &str = "xc6v";

/// The result of a search.
#[derive(Serialize)]
struct Row {
    mpps: f64,
    published_machine: &'static str,
    published_part: &'static str,
    published_luts: u64,
    machine: Option<String>,
    cost: Option<Area>,
    /// The smallest machine, and the next smaller one that was tried.
    smallest: Option<Tried>,
    next_smaller: Option<Tried>,
    #[serde(flatten)]
    found: Found,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let loaded = settings.routing_small()?;
    let traffic: Vec<Vec<Packet>> =
        settings.streams(&TRAFFIC)?.into_iter().map(|stream| stream.packets).collect();
    let mut rows = Vec::new();
    for (mpps, published_machine, published_part, percent) in GOALS {
        let part = parts().into_iter().find(|part| part.name == published_part);
        let part = part.expect("hardware/parts.toml has it");
        let (family, _) = wireloom_np::area::FAMILIES
            .into_iter()
            .find(|(family, _)| *family == part.family)
            .expect("parts are of families that are known");
        let kinds = kinds(mpps)?;
        let wanted =
            Wanted { loaded: &loaded, kinds: &kinds, traffic: &traffic, mpps, part: Some(&part) };
        let (found, best) = search::find_with_cost(&wanted, ESTIMATED_FOR, family)?;
        let (machine, cost) = best.unzip();
        rows.push(Row {
            mpps,
            published_machine,
            published_part,
            published_luts: part.published(percent),
            machine: machine.map(|machine| machine.name),
            cost,
            smallest: found.smallest().cloned(),
            next_smaller: found.tried.iter().rev().nth(1).cloned(),
            found,
        });
    }
    let faults = rows.iter().filter(|row| row.machine.is_none());
    let faults =
        faults.map(|row| format!("no machine carries {} MPPS", number(row.mpps))).collect();
    let groups = rows.iter().map(|row| {
        let luts = [Some(row.published_luts), row.cost.map(|cost| cost.luts)];
        let name = format!("{} million packets a second", row.mpps);
        Group::new(name, luts.into_iter().flatten().map(|luts| luts as f64))
    });
    let title = "The smallest machine that loses nothing";
    let svg = Bars::new(title, "LUTs", ["the paper", "here"], groups.collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults })
}

fn text(rows: &[Row]) -> String {
    let heads = [
        "MPPS",
        "the paper",
        "part",
        "LUTs",
        "ours",
        "LUTs",
        "block RAMs",
        "could",
        "fit",
        "simulated",
    ];
    let mut table = output::table(&heads, &[0, 3, 5, 6, 7, 8, 9]);
    for row in rows {
        table.add_row([
            number(row.mpps),
            row.published_machine.to_owned(),
            row.published_part.to_owned(),
            thousands(row.published_luts),
            row.machine.clone().unwrap_or_else(|| "none".to_owned()),
            row.cost.map_or(String::new(), |cost| thousands(cost.luts)),
            row.cost.map_or(String::new(), |cost| thousands(cost.block_rams())),
            format!("{} of {}", row.found.possible, row.found.shapes),
            row.found.fitting.to_string(),
            row.found.tried.len().to_string(),
        ]);
    }
    format!(
        "{table}\n\nWithout flow counting; every kind of traffic of np-throughput-100g at that rate. The paper's LUTs are its percentage of the part; its machine is \
         not the smallest, but the one of its six that does it. Ours are those of the whole estimate; what was tried is in the JSON.\n"
    )
}

/// Tabulates the machines for pages.
fn table(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "MPPS",
        "part",
        "the paper's",
        "LUTs",
        "ours",
        "LUTs",
        "block RAMs of 36 Kb",
        "next smaller, and what it forwarded",
    ]);
    for (mpps, machine, name, percent) in GOALS {
        let part = parts().into_iter().find(|part| part.name == name);
        let part = part.expect("hardware/parts.toml has it");
        let key = |field: &str| format!("{machine}.{field}");
        let shape = |which: &str| {
            let of = |field| values.fixed(&key(&format!("{which}.{field}")), 0);
            let kind =
                if values.get(&key(&format!("{which}.kind")))? > 0.0 { "block" } else { "LUT" };
            let (clusters, engines, threads) = (of("clusters")?, of("engines")?, of("threads")?);
            Ok::<_, Error>(format!(
                "{clusters} clusters, {engines} engines, {threads} threads in {kind} RAM"
            ))
        };
        let next_smaller = if values.has(&key("next_smaller.mpps")) {
            let mpps = values.fixed(&key("next_smaller.mpps"), 1)?;
            format!("{}: {mpps}", shape("next_smaller")?)
        } else {
            "none that could carry it".to_owned()
        };
        let luts = values.get(&key("cost.luts"))?;
        let block_rams = (values.get(&key("cost.block_rams_18k"))? / 2.0).ceil();
        table.row([
            mpps.to_string(),
            name.to_owned(),
            format!("np-{machine}"),
            format!("{} ({percent} %)", thousands(part.published(percent))),
            shape("smallest")?,
            format!("{} ({:.1} %)", decimal(luts, 0), 100.0 * luts / part.luts as f64),
            format!("{} of {}", decimal(block_rams, 0), thousands(part.block_rams)),
            next_smaller,
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_looked_for_where_there_are_lanes_for_it() {
        for (mpps, ..) in GOALS {
            for kind in kinds(mpps).expect("machines") {
                assert!(!kind.shapes.is_empty());
                for shape in kind.shapes {
                    let lanes = shape.of(&kind.like).expect("a machine").lanes();
                    assert_eq!(lanes as f64 * 100.0, mpps, "{shape:?}");
                }
            }
        }
    }

    #[test]
    fn where_there_is_none_that_is_said() {
        let found = Found { shapes: 3, possible: 0, fitting: 0, tried: Vec::new() };
        let row = Row {
            mpps: 200.0,
            published_machine: "16-6-4",
            published_part: "XC7VH870T",
            published_luts: 389_090,
            machine: None,
            cost: None,
            smallest: None,
            next_smaller: None,
            found,
        };
        let told = text(&[row]);
        assert!(told.contains("none") && told.contains("0 of 3"), "{told}");
    }
}

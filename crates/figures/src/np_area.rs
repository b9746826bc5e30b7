//! Figures 11 and 12 of the Gorilla paper: device utilisation of network processors, with their
//! throughput.

use serde::Serialize;
use wireloom_np::area::{AreaEstimate, parts};

use super::figure::{Choice, Drawn, Figure, Kept};
use super::np_throughput::CONFIGURATIONS;
use super::np_traffic::{Stream, Traffic};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};
use wireloom_console::Working;
use wireloom_console::{output, thousands};
use wireloom_explore::area::{Area, Target as Goal};
use wireloom_explore::rig::{Loaded, Rig};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE_11: Figure = Figure {
    name: "np-area-ipv4",
    what: "Gorilla, Figure 11: IPv4 alone on a Virtex-5 TX240T, 8 clusters: area, throughput, and the one for the other",
    choice: Choice::Some(|| machines(&[VIRTEX_5])),
    make: |settings| make(settings, &[VIRTEX_5]),
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/ipv4.loom, COUNT_FLOWS=false CHECK_SOURCE=false",
        names: &["part", "machine"],
        skip: &[],
        tools: &["Yosys"],
        tables: &[PageTable { name: "area", write: |values| table(values, &[VIRTEX_5]) }],
    },
};

pub const FIGURE_12: Figure = Figure {
    name: "np-area",
    what: "Gorilla, Figure 12: the router on a Virtex-6 HX380T (8 clusters) and a Virtex-7 H870T (16 clusters)",
    choice: Choice::Some(|| machines(&[VIRTEX_6, VIRTEX_7])),
    make: |settings| make(settings, &[VIRTEX_6, VIRTEX_7]),
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom, COUNT_FLOWS=false CHECK_SOURCE=false",
        names: &["part", "machine"],
        skip: &[],
        tools: &["Yosys"],
        tables: &[PageTable { name: "area", write: |values| table(values, &[VIRTEX_6, VIRTEX_7]) }],
    },
};

/// A device and the design on it.
#[derive(Clone, Copy)]
struct Target {
    part: &'static str,
    clusters: usize,
    /// Whether the program and the traffic are IPv4 alone; else all protocols and a mix of them.
    ipv4: bool,
    /// Percentage of the part's LUTs in the paper, in the order of `CONFIGURATIONS`.
    published: Option<[u64; 6]>,
}

const VIRTEX_5: Target = Target { part: "XC5VTX240T", clusters: 8, ipv4: true, published: None };
const VIRTEX_6: Target = Target {
    part: "XC6VHX380T",
    clusters: 8,
    ipv4: false,
    published: Some([27, 35, 50, 42, 53, 75]),
};
const VIRTEX_7: Target = Target {
    part: "XC7VH870T",
    clusters: 16,
    ipv4: false,
    published: Some([28, 34, 48, 39, 51, 73]),
};

/// The result of a configuration on a device.
#[derive(Clone, Debug, Serialize)]
struct Row {
    part: &'static str,
    machine: String,
    threads: usize,
    luts: u64,
    flip_flops: u64,
    block_rams: u64,
    /// The percentage of the part's LUTs.
    percent: f64,
    published_percent: Option<u64>,
    /// LUT levels of the deepest unit.
    levels: u32,
    /// Million packets per second without loss.
    mpps: f64,
    /// The resources of which the part has too few.
    #[serde(skip)]
    lacks: Vec<String>,
}

impl Row {
    fn mpps_for_a_thousand_luts(&self) -> f64 {
        self.mpps / (self.luts as f64 / 1000.0)
    }

    fn mpps_for_a_thread(&self) -> f64 {
        self.mpps / self.threads as f64
    }
}

/// Lists the machines for these devices.
fn machines(targets: &[Target]) -> Vec<String> {
    let of = |target: &Target| {
        CONFIGURATIONS
            .map(|(engines, threads)| format!("np-{}-{engines}-{threads}", target.clusters))
    };
    targets.iter().flat_map(of).collect()
}

fn make(settings: &Settings, targets: &[Target]) -> Result<Drawn> {
    let mut rows = Vec::new();
    for target in targets {
        let loaded =
            if target.ipv4 { settings.routing_ipv4(false)? } else { settings.routing(false)? };
        let kind = Traffic::named(if target.ipv4 { "IPv4" } else { "all six" })
            .expect("it is one of them");
        let stream = settings.streams(&[kind])?.remove(0);
        for (index, (engines, threads)) in CONFIGURATIONS.into_iter().enumerate() {
            rows.extend(row(settings, target, index, (engines, threads), &loaded, &stream)?);
        }
    }
    let names = CONFIGURATIONS.map(|(engines, threads)| format!("{engines} x {threads}"));
    let title = "Area by engines of a cluster x threads of an engine";
    let svg = Bars::new(title, "LUTs, % of the part", names, groups(targets, &rows))
        .with_limit("the whole part", 100.0)
        .svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

/// Returns the row of one configuration, or `None` if the figure leaves it out.
fn row(
    settings: &Settings,
    target: &Target,
    index: usize,
    (engines, threads): (usize, usize),
    loaded: &Loaded,
    stream: &Stream,
) -> Result<Option<Row>> {
    let machine = settings.np(target.clusters, engines, threads)?;
    if !settings.wants(&machine.name) {
        return Ok(None);
    }
    let part = parts()
        .into_iter()
        .find(|part| part.name == target.part)
        .expect("hardware/parts.toml has it");
    let area =
        Area::estimate(&loaded.processor(&machine)?, &Goal::Part(target.part.into()), false)?;
    let [report]: &[AreaEstimate; 1] =
        area.families.as_slice().try_into().expect("one family was asked for");
    let working = Working::on(format!("{}, {}", machine.name, stream.traffic.name));
    let mpps = Rig::new(&machine, loaded)?.forwarding(&stream.packets)?.loss_free;
    drop(working);
    Ok(Some(Row {
        part: target.part,
        threads: target.clusters * engines * threads,
        machine: machine.name,
        luts: report.total.luts,
        flip_flops: report.total.flip_flops,
        block_rams: report.total.block_rams(),
        percent: 100.0 * report.total.luts as f64 / part.luts as f64,
        published_percent: target.published.map(|percent| percent[index]),
        levels: report.units.iter().map(|unit| unit.levels).max().unwrap_or(0),
        mpps,
        lacks: area.warnings().collect(),
    }))
}

/// Groups the bars by device: the paper's, if it has any, and ours.
fn groups(targets: &[Target], rows: &[Row]) -> Vec<Group> {
    let mut groups = Vec::new();
    for target in targets {
        let own = || rows.iter().filter(|row| row.part == target.part);
        let values: Vec<f64> =
            own().filter_map(|row| row.published_percent).map(|percent| percent as f64).collect();
        if !values.is_empty() {
            groups.push(Group::new(format!("{}: the paper", target.part), values));
        }
        groups.push(Group::new(target.part, own().map(|row| row.percent)));
    }
    groups
}

fn text(rows: &[Row]) -> String {
    let heads = [
        "part",
        "machine",
        "LUTs",
        "of it",
        "the paper",
        "flip-flops",
        "block RAMs",
        "levels",
        "MPPS",
        "for 1,000 LUTs",
        "for a thread",
    ];
    let mut table = output::table(&heads, &[2, 3, 4, 5, 6, 7, 8, 9, 10]);
    for row in rows {
        table.add_row([
            row.part.to_owned(),
            row.machine.clone(),
            thousands(row.luts),
            format!("{:.0} %", row.percent),
            row.published_percent.map_or(String::new(), |percent| format!("{percent} %")),
            thousands(row.flip_flops),
            thousands(row.block_rams),
            row.levels.to_string(),
            number(row.mpps),
            number(row.mpps_for_a_thousand_luts()),
            number(row.mpps_for_a_thread()),
        ]);
    }
    let lacks = rows
        .iter()
        .flat_map(|row| row.lacks.iter().map(|lack| format!("\n{}: {lack}.\n", row.machine)));
    let lacks: String = lacks.collect();
    format!(
        "{table}\n\nWithout flow counting. LUTs are estimated by Yosys, one for each function: the paper's were placed by the vendor's tools, which \
         pack two small ones into one. MPPS: without loss, of IPv4 on the Virtex-5, else of IPv4, IPv6 and 1 to 4 labels in turn.\n{lacks}"
    )
}

/// Tabulates area and throughput for pages.
fn table(values: &Values, targets: &[Target]) -> Result<Table> {
    let mut table = Table::new([
        "part",
        "machine",
        "LUTs",
        "of it",
        "the paper",
        "flip-flops",
        "block RAMs (36 Kb)",
        "LUT levels",
        "MPPS",
        "for 1,000 LUTs",
        "for a thread",
    ]);
    for target in targets {
        let traffic = if target.ipv4 { "IPv4 alone" } else { "all six kinds" };
        for (index, (engines, threads)) in CONFIGURATIONS.into_iter().enumerate() {
            let machine = format!("np-{}-{engines}-{threads}", target.clusters);
            let key = |field| format!("{}.{machine}.{field}", slug(target.part));
            let threads = (target.clusters * engines * threads) as f64;
            let (mpps, luts) = (values.get(&key("mpps"))?, values.get(&key("luts"))?);
            let part = format!("{}, {traffic}", target.part);
            table.row([
                if index == 0 { part } else { String::new() },
                machine.clone(),
                values.fixed(&key("luts"), 0)?,
                format!("{} %", values.fixed(&key("percent"), 0)?),
                match target.published {
                    Some(percent) => format!("{} %", percent[index]),
                    None => "not available".to_owned(),
                },
                values.fixed(&key("flip_flops"), 0)?,
                values.fixed(&key("block_rams"), 0)?,
                values.fixed(&key("levels"), 0)?,
                values.short(&key("mpps"))?,
                number(mpps / (luts / 1000.0)),
                number(mpps / threads),
            ]);
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paper_stands_beside_ours() {
        let row = |part, published_percent| Row {
            part,
            machine: "np-8-4-1".into(),
            threads: 32,
            luts: 50_000,
            flip_flops: 1,
            block_rams: 1,
            percent: 20.0,
            published_percent,
            levels: 12,
            mpps: 80.0,
            lacks: Vec::new(),
        };
        let rows = [row("XC6VHX380T", Some(27)), row("XC5VTX240T", None)];
        let groups: Vec<_> = groups(&[VIRTEX_6, VIRTEX_5], &rows)
            .into_iter()
            .map(|group| (group.name.clone(), group.values().collect::<Vec<_>>()))
            .collect();
        let expected =
            [("XC6VHX380T: the paper", 27.0), ("XC6VHX380T", 20.0), ("XC5VTX240T", 20.0)];
        assert_eq!(groups, expected.map(|(name, value)| (name.to_owned(), vec![value])));
        assert_eq!((rows[0].mpps_for_a_thousand_luts(), rows[0].mpps_for_a_thread()), (1.6, 2.5));
        assert!(text(&rows).contains("27 %"));
    }

    #[test]
    fn each_target_is_a_part_that_is_known() {
        for target in [VIRTEX_5, VIRTEX_6, VIRTEX_7] {
            assert!(parts().iter().any(|part| part.name == target.part), "{}", target.part);
        }
    }
}

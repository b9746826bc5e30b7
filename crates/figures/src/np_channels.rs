//! Figure 7 of the Gorilla paper: the number of QDR SRAM channels for a packet rate.

use serde::Serialize;
use wireloom_compile::pipeline;
use wireloom_np::description::NpSpec;
use wireloom_np::processor::{Plan, assemble};

use super::Settings;
use super::figure::{Choice, Drawn, Figure, Kept};
use super::store::Cost;
use wireloom_console::output;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group, Paint};

pub const FIGURE: Figure = Figure {
    name: "np-channels",
    what: "Gorilla, Figure 7: channels of QDR SRAM for each rate and each mix of lookups and flow counting",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/router.loom on np-1-1-1",
        names: &["mpps", "operation"],
        skip: &[],
        tools: &[],
        tables: &[],
    },
};

/// The number of channels that the paper considers feasible next to one FPGA (section 4.4).
const FEASIBLE: u64 = 4;
/// Random reads of a memory per cycle of the 100 MHz core, and the same number of writes: QDRII at
/// 300 MHz, and QDRII+.
const SLOTS: [u64; 2] = [3, 6];

/// The paper's numbers: million packets per second, operation, channels of QDRII and QDRII+, and
/// the percentage of traffic that must be MPLS.
const PUBLISHED: [(u64, &str, [u64; 2], [u64; 2]); 8] = [
    (100, "IPv4 LU", [1, 1], [0, 0]),
    (100, "IPv6 LU", [2, 1], [0, 0]),
    (100, "IPv4 LU-FC", [3, 2], [0, 0]),
    (100, "IPv6 LU-FC", [5, 3], [27, 0]),
    (200, "IPv4 LU", [2, 1], [0, 0]),
    (200, "IPv6 LU", [4, 2], [0, 0]),
    (200, "IPv4 LU-FC", [6, 3], [42, 0]),
    (200, "IPv6 LU-FC", [10, 5], [69, 27]),
];

/// Reads and writes of off-chip memories per packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Accesses {
    reads: u64,
    writes: u64,
}

impl Accesses {
    fn and(self, other: Self) -> Self {
        Self { reads: self.reads + other.reads, writes: self.writes + other.writes }
    }

    /// Returns the accesses of the busier data bus. The two buses work in parallel.
    fn busier(self) -> u64 {
        self.reads.max(self.writes)
    }
}

#[derive(Clone, Debug, Serialize)]
struct Row {
    mpps: u64,
    operation: &'static str,
    accesses: Accesses,
    channels: [u64; 2],
    published_channels: [u64; 2],
    /// The percentage of packets that must not use the memories for four channels to suffice.
    others_percent: [u64; 2],
    published_others_percent: [u64; 2],
}

/// Returns the percentage of packets, rounded up, that must not access the memories. The `channels`
/// have `slots` slots each; a packet has `accesses` accesses, and `a_cycle` packets arrive per core
/// cycle.
fn others_percent(accesses: u64, a_cycle: u64, channels: u64, slots: u64) -> u64 {
    let (wanted, has) = (accesses * a_cycle, channels * slots);
    if wanted <= has { 0 } else { ((wanted - has) * 100).div_ceil(wanted) }
}

fn make(settings: &Settings) -> Result<Drawn> {
    let plan = plan(settings)?;
    let of = |offload: &str| accesses(&plan, offload);
    let lookup4 = of("destinations4")?;
    let lookup6 = of("destinations6")?;
    let counting = of("flows")?;
    let full4 = lookup4.and(of("sources4")?).and(counting);
    let full6 = lookup6.and(of("sources6")?).and(counting);
    let rows: Vec<Row> = PUBLISHED
        .iter()
        .map(|&(mpps, operation, published_channels, published_others_percent)| {
            let accesses = match operation {
                "IPv4 LU" => lookup4,
                "IPv6 LU" => lookup6,
                "IPv4 LU-FC" => full4,
                _ => full6,
            };
            let a_cycle = mpps / 100;
            Row {
                mpps,
                operation,
                accesses,
                channels: SLOTS.map(|slots| (accesses.busier() * a_cycle).div_ceil(slots)),
                published_channels,
                others_percent: SLOTS
                    .map(|slots| others_percent(accesses.busier(), a_cycle, FEASIBLE, slots)),
                published_others_percent,
            }
        })
        .collect();
    let mut text = table(&rows);
    text += &format!(
        "\n\nLU: lookup of the destination; LU-FC: of destination and source, and flow counting. Accesses are those of the router's program on \
         machine {}: an IPv4 lookup reads {} times, an IPv6 lookup {} times, and counting reads and writes {} times (the paper's: 3, for \
         three counters; the router has two). At most {FEASIBLE} channels are feasible (the paper, section 4.4); the last columns say \
         which percentage of the packets must not use them.\n",
        plan.machine.name, lookup4.reads, lookup6.reads, counting.writes
    );
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text, data, svg: plot(&rows), faults: Vec::new() })
}

/// Plans the router on the paper's smallest machine. The implementation of its offloads is
/// independent of the number of engines.
fn plan(settings: &Settings) -> Result<Plan> {
    let machine = NpSpec::find("np-1-1-1").map_err(Error::new)?;
    let mut program = settings.router()?.compiled()?.lowered;
    pipeline::optimise(&mut program, &machine.pass_options());
    Ok(assemble(&program, &machine).map_err(Error::new)?.plan)
}

/// Returns the accesses per call of an offload, which are its slots in its channels. Counters write
/// every word that they read.
fn accesses(plan: &Plan, offload: &str) -> Result<Accesses> {
    let service = plan.services.iter().find(|service| service.offload == offload);
    let service =
        service.ok_or_else(|| Error::new(format!("the router has no offload '{offload}'")))?;
    let own = plan.channels.iter().filter(|channel| channel.service == service.name);
    let reads = own.map(|channel| channel.used as u64).sum();
    Ok(Accesses { reads, writes: if service.config.kind == "counter" { reads } else { 0 } })
}

fn table(rows: &[Row]) -> String {
    let heads = [
        "Mpps",
        "operation",
        "reads",
        "writes",
        "QDRII",
        "the paper",
        "QDRII+",
        "the paper",
        "others, QDRII",
        "the paper",
        "others, QDRII+",
        "the paper",
    ];
    let mut table = output::table(&heads, &[0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    for row in rows {
        let percent = |value: u64| format!("{value} %");
        let channels = |value: u64| format!("{value}{}", if value > FEASIBLE { "*" } else { "" });
        table.add_row([
            row.mpps.to_string(),
            row.operation.to_owned(),
            row.accesses.reads.to_string(),
            row.accesses.writes.to_string(),
            channels(row.channels[0]),
            channels(row.published_channels[0]),
            channels(row.channels[1]),
            channels(row.published_channels[1]),
            percent(row.others_percent[0]),
            percent(row.published_others_percent[0]),
            percent(row.others_percent[1]),
            percent(row.published_others_percent[1]),
        ]);
    }
    table.to_string()
}

/// Draws the channels of both kinds of memory, the paper's pale above ours.
fn plot(rows: &[Row]) -> String {
    let series = ["QDRII", "QDRII+"].into_iter().enumerate().flat_map(|(color, kind)| {
        [true, false].map(|is_pale| {
            let whose = if is_pale { "the paper" } else { "here" };
            (format!("{kind}, {whose}"), Paint { color, is_pale })
        })
    });
    let group = |row: &Row| {
        let channels = (0..2).flat_map(|kind| [row.published_channels[kind], row.channels[kind]]);
        let name = format!("{} Mpps, {}", row.mpps, row.operation);
        Group::new(name, channels.map(|channels| channels as f64))
    };
    let bars = Bars {
        title: "Channels to memories, by packet rate and operation".to_owned(),
        axis: "channels".to_owned(),
        series: series.collect(),
        groups: rows.iter().map(group).collect(),
        ..Bars::default()
    };
    bars.with_limit("feasible", FEASIBLE as f64).svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_channels_follow_from_three_and_six_reads_and_three_for_counting() {
        for (mpps, operation, channels, _) in PUBLISHED {
            let lookup = if operation.starts_with("IPv4") { 3 } else { 6 };
            let accesses = if operation.ends_with("FC") { 2 * lookup + 3 } else { lookup };
            assert_eq!(
                SLOTS.map(|slots| (accesses * mpps / 100u64).div_ceil(slots)),
                channels,
                "{operation}"
            );
        }
    }

    #[test]
    fn the_share_of_other_packets_is_what_the_channels_cannot_carry() {
        assert_eq!(others_percent(15, 1, 4, 3), 20);
        assert_eq!(others_percent(9, 2, 4, 3), 34, "a third, rounded up");
        assert_eq!(others_percent(6, 2, 4, 3), 0);
    }
}

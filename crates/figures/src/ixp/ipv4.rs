//! Minimum-size packets through six engines, and the influence of each assumption on the rate.

use serde::Serialize;
use wireloom_ixp::Spec;
use wireloom_ixp::benchmarks::{Benchmark, Mapping, Role};
use wireloom_sim::{Clock, sweep};

use super::{MHZ, Trial, gbps, turns};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::rate::Rate;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::{Values, slug};
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group, Limit};

pub const FIGURE: Figure = Figure {
    name: "ixp-ipv4",
    what: "IPv4 forwarding of 64-byte packets on six microengines at 232 MHz next to published rates, and what it \
           depends on",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/microcode/benchmarks/ipfwdr.uc and nat.uc on ixp1200",
        names: &["what"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "rates", write: rates },
            PageTable { name: "nat", write: nat },
            PageTable { name: "turns", write: turns::small },
            PageTable { name: "turns-mix", write: turns::mix },
        ],
    },
};

/// Bytes of a 64-byte frame without its check sequence.
pub(super) const FRAME: usize = 60;
/// Published rates of other programs, in million packets per second.
const PUBLISHED: [(&str, f64); 2] = [("Intel's example", 2.9), ("SOSP'01", 3.47)];

/// A change of the machine, or none.
struct Variant {
    what: &'static str,
    change: fn(&mut Trial),
}

const VARIANTS: &[Variant] = &[
    Variant { what: "ixp1200 as it is described", change: |_| {} },
    Variant { what: "IX bus of 64 MHz", change: |trial| ix_bus(trial, 64) },
    Variant { what: "IX bus of 96 MHz", change: |trial| ix_bus(trial, 96) },
    Variant { what: "IX bus of 160 MHz", change: |trial| ix_bus(trial, 160) },
    Variant { what: "SDRAM: latencies less 20 %", change: |trial| sdram(&mut trial.spec, 80) },
    Variant { what: "SDRAM: latencies and 20 %", change: |trial| sdram(&mut trial.spec, 120) },
    Variant { what: "SRAM: latencies less 20 %", change: |trial| sram(&mut trial.spec, 80) },
    Variant { what: "SRAM: latencies and 20 %", change: |trial| sram(&mut trial.spec, 120) },
    Variant {
        what: "FBI and scratchpad: latencies less 20 %",
        change: |trial| fbi(&mut trial.spec, 80),
    },
    Variant {
        what: "FBI and scratchpad: latencies and 20 %",
        change: |trial| fbi(&mut trial.spec, 120),
    },
    Variant {
        what: "changes of context abort nothing",
        change: |trial| trial.spec.engine.swap_aborts = 0,
    },
    Variant { what: "eight banks of SDRAM", change: |trial| trial.spec.sdram.banks = 8 },
    Variant {
        what: "five engines receive, one sends",
        change: |trial| trial.mapping = Mapping::split(5, 1),
    },
    Variant {
        what: "three engines receive, three send",
        change: |trial| trial.mapping = Mapping::split(3, 3),
    },
];

/// `nat` with three splits of six engines: the talk says that its transmitting engine is the
/// bottleneck.
const NAT: &[Variant] = &[
    Variant { what: "nat, 5+1", change: |trial| translate(trial, 5, 1) },
    Variant { what: "nat, 4+2", change: |trial| translate(trial, 4, 2) },
    Variant { what: "nat, 3+3", change: |trial| translate(trial, 3, 3) },
];

fn translate(trial: &mut Trial, receiving: usize, sending: usize) {
    (trial.benchmark, trial.mapping) = (Benchmark::Nat, Mapping::split(receiving, sending));
}

pub(super) fn ix_bus(trial: &mut Trial, mhz: u64) {
    trial.spec.ix_bus.clock = Clock::hertz(mhz * 1_000_000);
}

/// Scales cycles by a percentage, to at least 1.
fn scale(cycles: &mut u32, percent: u32) {
    *cycles = ((*cycles * percent + 50) / 100).max(1);
}

fn sdram(spec: &mut Spec, percent: u32) {
    let sdram = &mut spec.sdram;
    for cycles in [
        &mut sdram.access_cycles,
        &mut sdram.activate_cycles,
        &mut sdram.precharge_cycles,
        &mut sdram.write_cycles,
        &mut sdram.turnaround_cycles,
    ] {
        scale(cycles, percent);
    }
}

fn sram(spec: &mut Spec, percent: u32) {
    scale(&mut spec.sram.access_cycles, percent);
    scale(&mut spec.sram.write_cycles, percent);
}

fn fbi(spec: &mut Spec, percent: u32) {
    scale(&mut spec.fbi.access_cycles, percent);
    scale(&mut spec.fbi.write_cycles, percent);
    scale(&mut spec.scratch.access_cycles, percent);
    scale(&mut spec.scratch.write_cycles, percent);
}

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
struct Row {
    what: String,
    #[serde(flatten)]
    rate: Rate,
    /// Utilisation, from 0 to 1.
    ix_bus: f64,
    sdram: f64,
    sram: f64,
    /// The shares of cycles in which receiving and sending engines were idle.
    receiving_idle: f64,
    sending_idle: f64,
    /// The mean number of buffers in use.
    buffers: f64,
}

/// A case: its name in the figure, the program on its machine, and whether the plot shows it.
pub(super) struct Case {
    pub what: String,
    pub trial: Trial,
    pub is_drawn: bool,
}

impl Case {
    fn of(variant: &Variant) -> Self {
        let mut trial = Trial::new(Benchmark::Ipfwdr, Mapping::usual(6), MHZ);
        trial.sizes = vec![(FRAME, 1)];
        (variant.change)(&mut trial);
        Self { what: variant.what.to_owned(), trial, is_drawn: true }
    }

    fn run(&self) -> Result<Row> {
        let loaded = self.trial.measure()?;
        Ok(Row {
            what: self.what.clone(),
            rate: loaded.rate(),
            ix_bus: loaded.use_of("ix bus"),
            sdram: loaded.use_of("sdram with rows"),
            sram: loaded.use_of("sram"),
            receiving_idle: loaded.idle(|role| role == Role::Receive),
            sending_idle: loaded.idle(|role| role == Role::Transmit),
            buffers: loaded.buffers(),
        })
    }
}

fn make(_: &Settings) -> Result<Drawn> {
    let _working = Working::on("64-byte packets on variants of the machine");
    let variants = VARIANTS.iter().chain(NAT).map(Case::of);
    let cases: Vec<Case> = variants.chain(turns::cases()).collect();
    let rows = sweep(&cases, workers(), Case::run).map_err(Error::new)?;
    let rows = rows.into_iter().collect::<Result<Vec<_>>>()?;
    let others = turns::others()?;
    let drawn = cases.iter().zip(&rows).filter(|(case, _)| case.is_drawn);
    let groups = drawn.map(|(_, row)| Group::new(&row.what, [row.rate.mpps()]));
    let title = "64-byte packets forwarded by six microengines at 232 MHz";
    let mut bars = Bars::new(title, "million packets a second", ["here"], groups.collect());
    bars.limits = PUBLISHED.map(|(name, mpps)| Limit::new(name, mpps)).to_vec();
    let svg = bars.svg();
    let data = serde_json::to_value((&rows, &others));
    let mut data = data.map_err(|error| Error::new(error.to_string()))?;
    // All rows form one list; their names tell them apart.
    let lists = data.as_array_mut().into_iter().flatten();
    let data = lists.filter_map(serde_json::Value::as_array_mut).flat_map(std::mem::take).collect();
    Ok(Drawn { text: text(&rows) + &turns::text(&others), data, svg, faults: Vec::new() })
}

fn text(rows: &[Row]) -> String {
    let heads = ["machine", "Mpps", "Gb/s", "dropped", "IX bus", "SDRAM", "SRAM", "buffers"];
    let mut table = output::table(&heads, &[1, 2, 3, 4, 5, 6, 7]);
    for row in rows {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        table.add_row([
            row.what.clone(),
            gbps(row.rate.mpps()),
            gbps(row.rate.gbps()),
            row.rate.dropped().to_string(),
            percent(row.ix_bus),
            percent(row.sdram),
            percent(row.sram),
            format!("{:.0}", row.buffers),
        ]);
    }
    let [(intel, least), (other, most)] = PUBLISHED;
    format!(
        "{table}\n\nPublished of other programs: {least} ({intel}) and {most} ({other}) Mpps.\n"
    )
}

/// Tabulates the rates for pages.
fn rates(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "machine",
        "million packets a second",
        "difference",
        "dropped",
        "IX bus in use",
        "SDRAM occupied",
    ]);
    let of = |what: &str, field: &str| format!("{}.{field}", slug(what));
    let base = values.get(&of(VARIANTS[0].what, "mpps"))?;
    for variant in VARIANTS {
        let mpps = values.get(&of(variant.what, "mpps"))?;
        let difference = 100.0 * (mpps / base - 1.0);
        table.row([
            variant.what.to_owned(),
            values.fixed(&of(variant.what, "mpps"), 2)?,
            if variant.what == VARIANTS[0].what {
                String::new()
            } else {
                format!("{difference:+.1} %")
            },
            values.fixed(&of(variant.what, "dropped"), 0)?,
            values.percent(&of(variant.what, "ix_bus"), 0)?,
            values.percent(&of(variant.what, "sdram"), 0)?,
        ]);
    }
    Ok(table)
}

/// Tabulates the rates of `nat` for pages.
fn nat(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "engines",
        "million packets a second",
        "dropped",
        "receiving engines idle",
        "sending engines idle",
        "SDRAM occupied",
        "buffers in use",
    ]);
    for variant in NAT {
        let of = |field: &str| format!("{}.{field}", slug(variant.what));
        table.row([
            variant.what.to_owned(),
            values.fixed(&of("mpps"), 2)?,
            values.fixed(&of("dropped"), 0)?,
            values.percent(&of("receiving_idle"), 0)?,
            values.percent(&of("sending_idle"), 0)?,
            values.percent(&of("sdram"), 0)?,
            values.fixed(&of("buffers"), 0)?,
        ]);
    }
    Ok(table)
}

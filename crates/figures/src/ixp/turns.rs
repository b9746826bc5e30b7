//! Turns of sending threads for several packets: their gain with small packets under load, and
//! their cost with larger packets and at low load.

use serde::Serialize;
use wireloom_ixp::benchmarks::{Benchmark, Mapping, Turn};
use wireloom_ixp::governor::GovernorKind;
use wireloom_sim::sweep;

use super::energy::{Load, Work, chip};
use super::ipv4::{Case, FRAME, ix_bus};
use super::{MHZ, Trial};
use crate::mpsoc::workers;
use crate::table::Table;
use crate::values::{Values, slug};
use wireloom_console::output;
use wireloom_machine::{Error, Result};

/// A machine with small packets.
struct Small {
    what: &'static str,
    benchmark: Benchmark,
    receiving: usize,
    sending: usize,
    /// A change of the machine, or none.
    change: Option<fn(&mut Trial)>,
}

const SMALL: [Small; 6] = [
    Small {
        what: "ipfwdr, 4+2",
        benchmark: Benchmark::Ipfwdr,
        receiving: 4,
        sending: 2,
        change: None,
    },
    Small {
        what: "ipfwdr, 5+1",
        benchmark: Benchmark::Ipfwdr,
        receiving: 5,
        sending: 1,
        change: None,
    },
    Small {
        what: "ipfwdr, 5+1, IX bus of 160 MHz",
        benchmark: Benchmark::Ipfwdr,
        receiving: 5,
        sending: 1,
        change: Some(|trial| ix_bus(trial, 160)),
    },
    Small {
        what: "ipfwdr, 5+1, IX bus of 160 MHz, eight banks of SDRAM",
        benchmark: Benchmark::Ipfwdr,
        receiving: 5,
        sending: 1,
        change: Some(|trial| {
            ix_bus(trial, 160);
            trial.spec.sdram.banks = 8;
        }),
    },
    Small { what: "nat, 4+2", benchmark: Benchmark::Nat, receiving: 4, sending: 2, change: None },
    Small { what: "nat, 5+1", benchmark: Benchmark::Nat, receiving: 5, sending: 1, change: None },
];

/// The number of seeds of tables and packets for the mix of sizes.
const SEEDS: u64 = 5;
/// A load at which packets hardly ever meet, in Gb/s, and its duration in milliseconds.
const LIGHT: (f64, f64) = (0.1, 2.0);

/// The name of a run.
fn named(what: &str, turn: Turn) -> String {
    format!("{what}, turns for {}", turn.packets())
}

/// Runs with small packets under full load.
pub fn cases() -> impl Iterator<Item = Case> {
    SMALL.iter().flat_map(|small| {
        Turn::ALL.map(|turn| {
            let mapping = Mapping::split(small.receiving, small.sending).with_turn(turn);
            let mut trial = Trial::new(small.benchmark, mapping, MHZ);
            trial.sizes = vec![(FRAME, 1)];
            if let Some(change) = small.change {
                change(&mut trial);
            }
            let is_drawn = small.change.is_none() && turn != Turn::One;
            Case { what: named(small.what, turn), trial, is_drawn }
        })
    })
}

/// Results for traffic that gains nothing from turns for several packets.
#[derive(Clone, Debug, Serialize)]
pub struct Other {
    what: String,
    /// Throughput in Gb/s of the mix of sizes under full load: the median of all seeds, the least
    /// and the most; and the sum of packets that left by no port.
    mix_gbps: f64,
    least_gbps: f64,
    most_gbps: f64,
    dropped: u64,
    /// Small packets at low load, from the arrival of a packet until it has left: the mean of all
    /// seeds, and the 99th percentile.
    latency_us: f64,
    latency_99_us: f64,
}

impl Other {
    fn measure(benchmark: Benchmark, turn: Turn) -> Result<Self> {
        let mapping = Mapping::usual(6).with_turn(turn);
        let (mut gbps, mut dropped) = (Vec::new(), 0);
        for seed in 1..=SEEDS {
            let trial = Trial { seed, ..Trial::new(benchmark, mapping.clone(), MHZ) };
            let rate = trial.measure()?.rate();
            gbps.push(rate.gbps());
            dropped += rate.dropped();
        }
        gbps.sort_by(f64::total_cmp);
        let sizes = vec![(FRAME, 1)];
        let work = Work { mapping, sizes, ..Work::new(benchmark, Load::Gbps(&[LIGHT]), 0.0) };
        let mean = work.run_all(&chip(GovernorKind::None, 20_000), SEEDS)?;
        Ok(Self {
            what: named(benchmark.name(), turn),
            mix_gbps: gbps[gbps.len() / 2],
            least_gbps: gbps[0],
            most_gbps: gbps[gbps.len() - 1],
            dropped: dropped + mean.dropped,
            latency_us: mean.latency_us,
            latency_99_us: mean.latency_99_us,
        })
    }
}

/// Measures the mix of sizes, and latencies at low load.
///
/// # Errors
/// If a benchmark does not fit the chip, or fails.
pub fn others() -> Result<Vec<Other>> {
    let all: Vec<(Benchmark, Turn)> =
        Benchmark::ALL.into_iter().flat_map(|one| Turn::ALL.map(|turn| (one, turn))).collect();
    let rows = sweep(&all, workers(), |(benchmark, turn)| Other::measure(*benchmark, *turn));
    rows.map_err(Error::new)?.into_iter().collect()
}

/// Tabulates the mix and latencies for the terminal.
pub fn text(rows: &[Other]) -> String {
    let heads = ["other traffic", "mix, Gb/s", "least", "most", "dropped", "latency, us", "99 %"];
    let mut table = output::table(&heads, &[1, 2, 3, 4, 5, 6]);
    for row in rows {
        let two = |value: f64| format!("{value:.2}");
        table.add_row([
            row.what.clone(),
            two(row.mix_gbps),
            two(row.least_gbps),
            two(row.most_gbps),
            row.dropped.to_string(),
            two(row.latency_us),
            two(row.latency_99_us),
        ]);
    }
    format!("\n{table}\n")
}

/// Tabulates small packets under load, for pages.
pub fn small(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "machine",
        "packets of a turn",
        "million packets a second",
        "dropped",
        "IX bus in use",
        "SDRAM occupied",
        "receiving engines idle",
        "sending engines idle",
        "buffers in use",
    ]);
    for small in &SMALL {
        for turn in Turn::ALL {
            let of = |field: &str| format!("{}.{field}", slug(&named(small.what, turn)));
            table.row([
                small.what.to_owned(),
                turn.packets().to_string(),
                values.fixed(&of("mpps"), 2)?,
                values.fixed(&of("dropped"), 0)?,
                values.percent(&of("ix_bus"), 0)?,
                values.percent(&of("sdram"), 0)?,
                values.percent(&of("receiving_idle"), 0)?,
                values.percent(&of("sending_idle"), 0)?,
                values.fixed(&of("buffers"), 0)?,
            ]);
        }
    }
    Ok(table)
}

/// Tabulates the mix of sizes, and latencies at low load, for pages.
pub fn mix(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "program",
        "packets of a turn",
        "mix, Gb/s (least to most)",
        "dropped",
        "latency at low load, us (99 %)",
    ]);
    for benchmark in Benchmark::ALL {
        for turn in Turn::ALL {
            let key = slug(&named(benchmark.name(), turn));
            let two = |field: &str| values.fixed(&format!("{key}.{field}"), 2);
            let (least, most) = (two("least_gbps")?, two("most_gbps")?);
            table.row([
                format!("`{}`", benchmark.name()),
                turn.packets().to_string(),
                format!("{} ({least} to {most})", two("mix_gbps")?),
                values.fixed(&format!("{key}.dropped"), 0)?,
                format!("{} ({})", two("latency_us")?, two("latency_99_us")?),
            ]);
        }
    }
    Ok(table)
}

//! The command networks of three chips, and the memories' share of power.

use std::collections::BTreeMap;

use serde::Serialize;
use wireloom_console::{Working, output};
use wireloom_ixp::energy::{ChipPart, meter};
use wireloom_ixp::network::NetworkKind;
use wireloom_ixp::{Options, Spec, forwarder};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};
use wireloom_sim::parts::line::Pace;
use wireloom_sim::{Energy, Rng, Time, sweep};

use super::{busiest, verdicts_of};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::rate::Rate;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::{Values, slug};

pub const FIGURE: Figure = Figure {
    name: "ixp-networks",
    what: "NePSim 2: buses, crossbar, ring and mesh for the commands of three chips, and the memories' share of power",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/microcode/ipv4.uc and ipv4_version2.uc on ixp1200, ixp2400 and ixp2800",
        names: &["machine", "network"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "rates", write: rates },
            PageTable { name: "power", write: power },
        ],
    },
};

const MACHINES: [&str; 3] = ["ixp1200", "ixp2400", "ixp2800"];
/// The time before the measurement, and the measured time.
const BEFORE: Time = Time(50_000_000);
const WINDOW: Time = Time(200_000_000);
/// The interval between refills of the ports.
const STEP: Time = Time(5_000_000);
/// MPKTs to which ports are kept filled.
const FILLED: u32 = 48;

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
struct Row {
    machine: &'static str,
    network: &'static str,
    #[serde(flatten)]
    rate: Rate,
    /// Commands per core cycle, and links per command, on average.
    commands: f64,
    hops: f64,
    /// The share of time in which contexts of engines waited for signals.
    waiting: f64,
    /// The utilisation of each unit and bus.
    in_use: BTreeMap<String, f64>,
    /// Mean watts of engines, of the network with its arbiters, of the rest of the chip, and of the
    /// memory chips.
    engines_w: f64,
    network_w: f64,
    chip_w: f64,
    memories_w: f64,
}

/// Extra cycles of latency for commands in one of the trials, about what the links of rings and
/// meshes add. The trial separates the effect of longer paths from the effect of more paths.
const LATER: u32 = 3;

/// Returns the compared networks: the bus as described, the bus with later commands, and the
/// others.
fn networks() -> Vec<(NetworkKind, &'static str, u32)> {
    let mut all: Vec<_> = NetworkKind::ALL.map(|(kind, name)| (kind, name, 0)).to_vec();
    all.insert(1, (NetworkKind::Bus, "bus, 3 cycles later", LATER));
    all
}

fn run(
    machine: &'static str,
    (kind, network, later): (NetworkKind, &'static str, u32),
) -> Result<Row> {
    let mut spec = Spec::installed(machine).map_err(Error::new)?;
    spec.command_bus.kind = kind;
    spec.command_bus.latency_cycles += later;
    // High rates, so that lines and the bus to them are no bottleneck.
    (spec.ports.rate, spec.ports.pace) = (100_000_000_000, Pace::Given);
    spec.ports.transmit_mpkts = 4096;
    (spec.ix_bus.bytes, spec.ix_bus.overhead_cycles) = (64, 0);
    let counter = meter(&spec, None).map_err(Error::new)?;
    let interval = Some(Time::nanoseconds(10_000));
    let options = Options { energy_interval: interval, ..Options::default() };
    let mut chip = forwarder::processor(&spec, &options, counter).map_err(Error::new)?;
    let mut rng = Rng::new(1, "packets");
    let mut offered = 0;
    let mut fill = |chip: &mut wireloom_ixp::Processor<_>, end: Time| -> Result<()> {
        while chip.now() < end {
            let now = chip.now().0 / 1000;
            for port in 0..spec.ports.count as u16 {
                for _ in chip.chip.cards.held(port.into()).0..FILLED {
                    chip.offer(port, offered, now, &forwarder::frame(port, &mut rng));
                    offered += 1;
                }
            }
            chip.run(STEP.min(end - chip.now())).map_err(Error::new)?;
        }
        Ok(())
    };
    fill(&mut chip, BEFORE)?;
    let no_meter = || Error::new("the machine has no meter");
    let count = |chip: &wireloom_ixp::Processor<_>| {
        let network = &chip.chip.network;
        [network.granted, network.hops].map(|count| count as f64)
    };
    let used = |chip: &wireloom_ixp::Processor<_>| {
        let seconds = chip.now().as_seconds();
        chip.utilisation().into_iter().map(move |(unit, share)| (unit, share * seconds))
    };
    let before: Vec<_> = used(&chip).collect();
    let (first, begin, from) = (count(&chip), chip.power().ok_or_else(no_meter)?, chip.now());
    chip.delivered();
    fill(&mut chip, BEFORE + WINDOW)?;
    let verdicts = verdicts_of(&chip.delivered());
    let (last, end) = (count(&chip), chip.power().ok_or_else(no_meter)?);
    let seconds = (chip.now() - from).as_seconds();
    let [commands, hops] = [0, 1].map(|place| last[place] - first[place]);
    let watts = |now: Energy, before: Energy| (now.as_joules() - before.as_joules()) / seconds;
    let [engines_w, rest_w, memories_w] =
        [0, 1, 2].map(|group| watts(end.groups()[group], begin.groups()[group]));
    let network_w = [ChipPart::CommandBusArbiter, ChipPart::CommandBus]
        .map(|part| watts(end.chip_part(part), begin.chip_part(part)))
        .into_iter()
        .sum::<f64>();
    let units = before.into_iter().zip(used(&chip));
    let in_use = units.map(|((unit, before), (_, now))| (slug(unit), (now - before) / seconds));
    let in_use = in_use.collect();
    let contexts = chip.chip.engines.iter().flat_map(|engine| engine.contexts());
    let [waited, all] = contexts.fold([0, 0], |[waited, all], context| {
        [waited + context.waited[0], all + context.waited.iter().sum::<u64>()]
    });
    Ok(Row {
        machine,
        network,
        rate: verdicts.rate(seconds),
        commands: commands / seconds / spec.core.clock.rate(),
        hops: hops / commands.max(1.0),
        waiting: waited as f64 / (all as f64).max(1.0),
        in_use,
        engines_w,
        network_w,
        chip_w: rest_w - network_w,
        memories_w,
    })
}

fn make(_: &Settings) -> Result<Drawn> {
    let _working = Working::on("four networks on three chips");
    let networks = networks();
    let of = |machine: &'static str| networks.iter().map(move |network| (machine, *network));
    let trials: Vec<_> = MACHINES.into_iter().flat_map(of).collect();
    let rows = sweep(&trials, workers(), |(machine, network)| run(machine, *network));
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<Row>>>()?;
    let groups = MACHINES.map(|machine| {
        let own = rows.iter().filter(|row| row.machine == machine);
        Group::new(machine, own.map(|row| row.rate.mpps()))
    });
    let names = networks.iter().map(|(_, name, _)| *name);
    let title = "64-byte packets forwarded, by the network of commands";
    let svg = Bars::new(title, "million packets a second", names, groups.to_vec()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

const RATE_HEADS: [&str; 8] = [
    "machine",
    "network",
    "Mpps",
    "dropped",
    "commands a cycle",
    "links a command",
    "threads wait",
    "in use most",
];
const POWER_HEADS: [&str; 7] = [
    "machine",
    "network",
    "engines, W",
    "network, W",
    "rest of the chip, W",
    "memories, W",
    "memories",
];

fn text(rows: &[Row]) -> String {
    let mut rates = output::table(&RATE_HEADS, &[2, 3, 4, 5, 6]);
    let mut power = output::table(&POWER_HEADS, &[2, 3, 4, 5, 6]);
    for row in rows {
        let names = [row.machine.to_owned(), row.network.to_owned()];
        let [first, second] = names.clone();
        rates.add_row([
            first,
            second,
            format!("{:.2}", row.rate.mpps()),
            row.rate.dropped().to_string(),
            format!("{:.2}", row.commands),
            format!("{:.2}", row.hops),
            format!("{:.0} %", 100.0 * row.waiting),
            busiest(|unit| row.in_use.get(unit).copied()),
        ]);
        let all = row.engines_w + row.network_w + row.chip_w + row.memories_w;
        let [first, second] = names;
        power.add_row([
            first,
            second,
            format!("{:.3}", row.engines_w),
            format!("{:.4}", row.network_w),
            format!("{:.3}", row.chip_w),
            format!("{:.3}", row.memories_w),
            format!("{:.0} %", 100.0 * row.memories_w / all),
        ]);
    }
    format!("{rates}\n\n{power}\n")
}

/// Tabulates the rates for pages.
fn rates(values: &Values) -> Result<Table> {
    let mut table = Table::new(RATE_HEADS);
    for machine in MACHINES {
        for (_, network, _) in networks() {
            let of = |field: &str| format!("{machine}.{}.{field}", slug(network));
            table.row([
                format!("`{machine}`"),
                network.to_owned(),
                values.fixed(&of("mpps"), 2)?,
                values.fixed(&of("dropped"), 0)?,
                values.fixed(&of("commands"), 2)?,
                values.fixed(&of("hops"), 2)?,
                values.percent(&of("waiting"), 0)?,
                busiest(|unit| values.get(&of(&format!("in_use.{unit}"))).ok()),
            ]);
        }
    }
    Ok(table)
}

/// Tabulates the power for pages, with the network of the machine's description.
fn power(values: &Values) -> Result<Table> {
    let mut table = Table::new(POWER_HEADS);
    for machine in MACHINES {
        for (_, network, _) in networks() {
            let of = |field: &str| format!("{machine}.{}.{field}", slug(network));
            let watts = ["engines_w", "network_w", "chip_w", "memories_w"]
                .map(|field| values.get(&of(field)));
            let [engines, net, chip, memories] = watts;
            let memories = memories?;
            let all = engines? + net? + chip? + memories;
            table.row([
                format!("`{machine}`"),
                network.to_owned(),
                values.fixed(&of("engines_w"), 3)?,
                values.fixed(&of("network_w"), 4)?,
                values.fixed(&of("chip_w"), 3)?,
                values.fixed(&of("memories_w"), 3)?,
                format!("{:.0} %", 100.0 * memories / all),
            ]);
        }
    }
    Ok(table)
}

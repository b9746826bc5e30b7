//! Engines in Loom C on the three chips: packets a second, the control stores that they take, and what is
//! in use meanwhile.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use wireloom_console::{Working, output, thousands};
use wireloom_ixp::{Compiled, Spec, compile};
use wireloom_machine::{Error, Machine, Options, Program, Result, Source, load_store};
use wireloom_net::Packet;
use wireloom_net::traffic::{self, AddressSpec, Generator, Labels, Pick, Rate, Sizes};
use wireloom_plot::{Bars, Group};
use wireloom_sim::sweep_longest_first;

use super::{LINE_RATE, busiest};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::pages::{PageTable, Table};
use crate::registry::scratch;
use crate::store::Cost;
use crate::values::{Values, slug};

/// The figure.
pub const FIGURE: Figure = Figure {
    name: "ixp-compiled",
    what: "engines in Loom C on ixp1200, ixp2400 and ixp2800: packets a second, control stores, what is in use",
    choice: Choice::Some(|| MACHINES.map(str::to_owned).to_vec()),
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/ipv4.loom, programs/router.loom and programs/nat.loom with the tables of programs/tables",
        names: &["program", "machine"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "rates", write: rates },
            PageTable { name: "use", write: in_use },
        ],
    },
};

const MACHINES: [&str; 3] = ["ixp1200", "ixp2400", "ixp2800"];
/// Ports of the chips.
const PORTS: u16 = 8;
/// Packets a second that come: more than any chip takes.
const OFFERED: u64 = 20_000_000;
/// The file whose prefixes addresses are drawn from.
const PREFIXES: &str = "programs/tables/small.tables";

/// A program and its packets.
struct Case {
    name: &'static str,
    program: &'static str,
    tables: &'static str,
    mix: &'static str,
    /// Ports that packets come on, in turn.
    ports: u16,
    packets: u64,
    /// How long a run takes, against others.
    cost: u64,
}

const CASES: [Case; 3] = [
    Case {
        name: "ipv4",
        program: "programs/ipv4.loom",
        tables: PREFIXES,
        mix: "ipv4=1",
        ports: PORTS,
        packets: 10_000,
        cost: 1,
    },
    Case {
        name: "router",
        program: "programs/router.loom",
        tables: PREFIXES,
        mix: "ipv4=5,ipv6=3,mpls1..2=2",
        ports: PORTS,
        packets: 10_000,
        cost: 2,
    },
    Case {
        name: "nat",
        program: "programs/nat.loom",
        tables: "programs/tables/nat.tables",
        mix: "ipv4=1",
        ports: 2, // inside and outside
        packets: 4000,
        cost: 3,
    },
];

/// A run.
#[derive(Clone, Debug, Serialize)]
struct Row {
    program: &'static str,
    machine: &'static str,
    /// Million packets a second.
    mpps: f64,
    /// Control stores that the program is cut over, and the words that they hold in all.
    parts: usize,
    words: usize,
    /// Contexts that have a packet at a time.
    threads: u32,
    /// The share of cycles in which engines computed, and waited with no context ready.
    busy: f64,
    idle: f64,
    /// The share of time in which each unit and bus was in use.
    in_use: BTreeMap<String, f64>,
}

impl Case {
    /// Packets of 60 bytes, which are frames of 64 with the check sequence, or as long as their headers need.
    fn packets(&self, settings: &Settings) -> Result<Vec<Packet>> {
        let prefixes = Some(settings.file(PREFIXES)?);
        let spec = traffic::Spec {
            count: Some(self.packets),
            sizes: Sizes::Fixed(64),
            mix: self.mix.parse().map_err(Error::new)?,
            labels: Labels { first: 16, last: 19 },
            ports: self.ports,
            rate: Rate::PacketsPerSecond(OFFERED),
            destinations: AddressSpec { prefixes: prefixes.clone(), pick: Pick::Uniform },
            sources: AddressSpec { prefixes, pick: Pick::Uniform },
            ..traffic::Spec::default()
        };
        Ok(Generator::new(&spec).map_err(Error::new)?.collect())
    }

    /// The text of those tables that the program has.
    fn tables(&self, settings: &Settings, program: &Program) -> Result<String> {
        let path = settings.file(self.tables)?;
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
        let engine = &program.optimised.engines[program.optimised.main.index()];
        let mut is_known = true;
        let is_kept = |line: &&str| {
            if let Some(name) = line.strip_prefix("table ") {
                is_known = engine.offloads.iter().any(|offload| offload.name == name.trim());
            }
            is_known
        };
        Ok(text.lines().filter(is_kept).collect::<Vec<_>>().join("\n"))
    }

    fn run(
        &self,
        machine: &'static str,
        program: &Program,
        tables: PathBuf,
        packets: &[Packet],
    ) -> Result<Row> {
        let mut spec = Spec::installed(machine).map_err(Error::new)?;
        spec.ports.rate = LINE_RATE;
        let (mut store, _) = load_store(&program.optimised, &[tables], &|_| ())?;
        let compiled = compile(&spec, program, &mut store).map_err(|refused| {
            let first = refused.into_iter().next().map(|first| first.message);
            Error::new(first.unwrap_or_default())
        })?;
        let (words, threads) = (compiled.words(), compiled.threads());
        let chip = Compiled::start(compiled, &spec, store, &Options::default())?;
        let mut chip: Box<dyn Machine> = Box::new(chip);
        let frames: Vec<_> = packets.iter().map(Packet::frame).collect();
        chip.offer(&frames, &mut |_| ())?;
        chip.finish(&mut |_| ())?;
        let record =
            chip.record(Duration::ZERO).ok_or_else(|| Error::new("a chip has a record"))?;
        let report =
            serde_json::to_value(&record.values).map_err(|error| Error::new(error.to_string()))?;
        let number = |path: &str| {
            let found = report.pointer(path).and_then(serde_json::Value::as_f64);
            found.ok_or_else(|| Error::new(format!("the report of a chip has no {path}")))
        };
        Ok(Row {
            program: self.name,
            machine,
            mpps: number("/mpps")?,
            parts: words.len(),
            words: words.iter().sum(),
            threads,
            busy: number("/engines/busy")?,
            idle: number("/engines/idle")?,
            in_use: record.parts.iter().map(|part| (slug(&part.kind), part.share)).collect(),
        })
    }
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("engines in Loom C on three chips");
    let folder = scratch()?;
    let mut ready = Vec::new();
    for case in &CASES {
        let program = Source::of(settings.file(case.program)?).compiled()?;
        let tables = folder.path().join(format!("{}.tables", case.name));
        output::write_file(&tables, case.tables(settings, &program)?.as_bytes())?;
        ready.push((case, program, tables, case.packets(settings)?));
    }
    let machines = MACHINES.into_iter().filter(|machine| settings.wants(machine));
    let trials: Vec<_> =
        machines.flat_map(|machine| ready.iter().map(move |ready| (machine, ready))).collect();
    let cost = |(_, (case, ..)): &(&str, &(&Case, _, _, _))| case.cost;
    let rows = sweep_longest_first(&trials, workers(), cost, |(machine, ready)| {
        let (case, program, tables, packets) = ready;
        case.run(machine, program, tables.clone(), packets)
    });
    let rows: Vec<Row> = rows.map_err(Error::new)?.into_iter().collect::<Result<_>>()?;
    let groups = CASES.each_ref().map(|case| {
        let own = rows.iter().filter(|row| row.program == case.name);
        Group::new(case.name, own.map(|row| row.mpps))
    });
    let machines = MACHINES.into_iter().filter(|machine| settings.wants(machine));
    let title = "Engines in Loom C, frames of 64 bytes";
    let svg = Bars::new(title, "million packets a second", machines, groups.to_vec()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

const HEADS: [&str; 8] = [
    "program",
    "machine",
    "Mpps",
    "parts",
    "instructions",
    "threads",
    "engines busy",
    "in use most",
];

fn text(rows: &[Row]) -> String {
    let mut table = output::table(&HEADS, &[2, 3, 4, 5, 6]);
    for row in rows {
        table.add_row([
            row.program.to_owned(),
            row.machine.to_owned(),
            format!("{:.3}", row.mpps),
            row.parts.to_string(),
            thousands(row.words as u64),
            row.threads.to_string(),
            format!("{:.0} %", 100.0 * row.busy),
            busiest(|unit| row.in_use.get(unit).copied()),
        ]);
    }
    format!(
        "{table}\n\nFrom the first packet to the last one, {} million a second offered.\n",
        OFFERED / 1_000_000
    )
}

/// The rates, for pages.
fn rates(values: &Values) -> Result<Table> {
    let heads = ["program".to_owned()].into_iter();
    let mut table = Table::new(heads.chain(MACHINES.map(|machine| format!("`{machine}`, Mpps"))));
    for case in &CASES {
        let mut cells = vec![format!("`{}`", case.name)];
        for machine in MACHINES {
            cells.push(values.short(&format!("{}.{machine}.mpps", case.name))?);
        }
        table.row(cells);
    }
    Ok(table)
}

/// The control stores and what is in use, for pages.
fn in_use(values: &Values) -> Result<Table> {
    let mut table = Table::new(HEADS.into_iter().filter(|head| *head != "Mpps"));
    for case in &CASES {
        for machine in MACHINES {
            let of = |field: &str| format!("{}.{machine}.{field}", case.name);
            table.row([
                format!("`{}`", case.name),
                format!("`{machine}`"),
                values.fixed(&of("parts"), 0)?,
                values.fixed(&of("words"), 0)?,
                values.fixed(&of("threads"), 0)?,
                values.percent(&of("busy"), 0)?,
                busiest(|unit| values.get(&of(&format!("in_use.{unit}"))).ok()),
            ]);
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn programs_have_the_tables_and_packets_that_they_need() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let settings = Settings { root, runs: 1, only: Vec::new() };
        for case in &CASES {
            let file = settings.file(case.program).expect(case.name);
            let program = Source::of(file).compiled().expect(case.name);
            let tables = case.tables(&settings, &program).expect(case.name);
            assert!(tables.contains("\ntable ports\n"), "{}", case.name);
            assert_eq!(tables.contains("table labels"), case.name == "router", "{}", case.name);
            let packets = case.packets(&settings).expect(case.name);
            // IPv6 and labels need up to 70 bytes.
            let longest = if case.name == "router" { 70 } else { 60 };
            let are_short = |packet: &Packet| (60..=longest).contains(&packet.bytes.len());
            assert!(packets.iter().all(are_short), "{}", case.name);
            assert!(packets.iter().all(|packet| packet.ingress < case.ports), "{}", case.name);
        }
    }
}

//! The three kinds of engines of the Gorilla paper (section 3.3): the area of an engine, and the
//! rate of a machine with one.

use serde::Serialize;
use wireloom_np::area::{Cache, Cost as Area, estimate};
use wireloom_np::description::{NpSpec, ShellKind, Storage};
use wireloom_np::machine::{Form, processor};

use super::figure::{Choice, Drawn, Figure, Kept};
use super::np_traffic::Traffic;
use super::np_units::SMALL;
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, decimal, slug};
use super::{Settings, number};
use wireloom_console::{Working, output, thousands};
use wireloom_explore::rig::Rig;
use wireloom_machine::{Error, Result, Source};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "np-shells",
    what: "Gorilla, section 3.3: engines as state machine, multithreaded and pipelined: area, and rate of a machine with one of them",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/ipv4.loom; areas with COUNT_FLOWS=false CHECK_SOURCE=false NEXT_HOPS=4096, rates with the constants as they are",
        names: &["engine"],
        skip: &[],
        tools: &["Yosys", "Verilator"],
        tables: &[PageTable { name: "engines", write: table }],
    },
};

const FAMILY: &str = "xc7";
const PROGRAM: &str = "programs/ipv4.loom";

/// A kind of engine.
struct Case {
    /// The kind in words.
    engine: &'static str,
    shell: ShellKind,
    threads: usize,
    storage: Storage,
}

const CASES: [Case; 4] = [
    Case {
        engine: "state machine",
        shell: ShellKind::StateMachine,
        threads: 1,
        storage: Storage::Lut,
    },
    Case {
        engine: "multithreaded, 4 threads, LUT RAM",
        shell: ShellKind::Multithreaded,
        threads: 4,
        storage: Storage::Lut,
    },
    Case {
        engine: "multithreaded, 12 threads, block RAM",
        shell: ShellKind::Multithreaded,
        threads: 12,
        storage: Storage::Block,
    },
    Case {
        engine: "pipelined, room for 256 packets",
        shell: ShellKind::Pipelined,
        threads: 256,
        storage: Storage::Lut,
    },
];

/// The result of a kind of engine.
#[derive(Clone, Debug, Serialize)]
struct Row {
    engine: &'static str,
    #[serde(flatten)]
    area: Area,
    levels: u32,
    /// Million packets per second while the input is overloaded.
    mpps: f64,
}

impl Case {
    /// Returns a machine with one engine of this kind.
    fn machine(&self) -> Result<NpSpec> {
        let mut machine = if self.shell == ShellKind::Pipelined {
            NpSpec::find("np-pipeline").map_err(Error::new)?
        } else {
            NpSpec::find(&format!("np-1-1-{}", self.threads)).map_err(Error::new)?
        };
        machine.engine.shell = self.shell;
        machine.engine.storage = self.storage;
        machine.threads = self.threads;
        machine.name = format!("np-1-1-{} ({})", self.threads, self.engine);
        Ok(machine)
    }

    /// Returns the area of the engine on a Virtex-7, and its LUT levels.
    fn area(&self, settings: &Settings) -> Result<(Area, u32)> {
        let machine = self.machine()?;
        let set = SMALL.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let source = Source { set, ..Source::of(settings.file(PROGRAM)?) };
        let processor = processor(&machine, &source.compiled()?, Form::Alone)?;
        let engine = processor.design.part(&processor.engine.name);
        let report = estimate(&engine, FAMILY, &Cache::of_user(), |_| {}).map_err(Error::new)?;
        let levels = report.units.iter().map(|unit| unit.levels).max().unwrap_or(0);
        Ok((report.total, levels))
    }
}

fn make(settings: &Settings) -> Result<Drawn> {
    let working = Working::on("kinds of engines".to_owned());
    let loaded = settings.routing_ipv4(true)?;
    let ipv4 = Traffic::named("IPv4").expect("it is one of them");
    let stream = settings.streams(&[ipv4])?.remove(0);
    let mut rows = Vec::new();
    for case in &CASES {
        working.now(&format!("synthesis of an engine: {}", case.engine));
        let (area, levels) = case.area(settings)?;
        working.now(&format!("packets of an engine: {}", case.engine));
        let mpps = Rig::new(&case.machine()?, &loaded)?.forwarding(&stream.packets)?.saturated;
        rows.push(Row { engine: case.engine, area, levels, mpps });
    }
    drop(working);
    let groups = rows.iter().map(|row| Group::new(row.engine, [row.area.luts as f64]));
    let svg = Bars::new("Area of engines", "LUTs", ["here"], groups.collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

fn text(rows: &[Row]) -> String {
    let heads = ["engine", "LUTs", "of these RAM", "flip-flops", "block RAMs", "levels", "MPPS"];
    let mut table = output::table(&heads, &[1, 2, 3, 4, 5, 6]);
    for row in rows {
        let Area { luts, lut_rams, flip_flops, block_rams_18k, .. } = row.area;
        let areas = [luts, lut_rams, flip_flops, block_rams_18k, u64::from(row.levels)];
        let name = std::iter::once(row.engine.to_owned());
        table.add_row(name.chain(areas.map(thousands)).chain([number(row.mpps)]));
    }
    format!(
        "{table}\n\nIPv4. Engines are synthesised by Yosys for a Virtex-7, neither placed nor routed, without the logic at their ports, without flow counting and \
         check of the source, with 4,096 next hops; block RAMs are of 18 Kb. MPPS: at 100 MHz, of a machine with one engine, with flow counting and check, \
         when more packets of 64 bytes wait than it can take.\n"
    )
}

fn table(values: &Values) -> Result<Table> {
    let heads = ["engine", "LUTs", "of these RAM", "flip-flops", "block RAMs of 18 Kb", "levels"];
    let mut table = Table::new(heads.into_iter().chain(["MPPS at 100 MHz"]));
    for case in &CASES {
        let key = slug(case.engine);
        let of = |what: &str| Ok::<_, Error>(decimal(values.get(&format!("{key}.{what}"))?, 0));
        table.row([
            case.engine.to_owned(),
            of("luts")?,
            of("lut_rams")?,
            of("flip_flops")?,
            of("block_rams_18k")?,
            of("levels")?,
            values.short(&format!("{key}.mpps"))?,
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_all_kinds_are_there_and_in_the_table() {
        let rows = CASES.iter().map(|case| {
            case.machine().expect(case.engine);
            let area = Area { luts: 1234, ..Area::default() };
            Row { engine: case.engine, area, levels: 9, mpps: 3.7 }
        });
        let rows: Vec<Row> = rows.collect();
        let drawn = Drawn {
            data: serde_json::to_value(&rows).expect("JSON"),
            text: text(&rows),
            svg: String::new(),
            faults: Vec::new(),
        };
        let values = FIGURE.values(&drawn).expect("no two engines have one name");
        assert_eq!(table(&values).expect("a table").rows(), CASES.len());
    }
}

//! The clock that the open tools reach: engines placed and routed with several seeds, and clusters
//! of two, which take an hour each, with one.

use serde::Serialize;
use wireloom_np::area::{Cache, routes};
use wireloom_np::description::{Machine, Storage};
use wireloom_np::machine::{Form, processor};

use super::figure::{Choice, Drawn, Figure, Kept};
use super::pages::{PageTable, Table};
use super::store::Cost;
use super::values::{Values, decimal};
use super::{Settings, median, number};
use wireloom_console::{Working, output, thousands};
use wireloom_machine::{Error, Result, Source};
use wireloom_plot::{Bars, Group};

/// The figure.
pub const FIGURE: Figure = Figure {
    name: "np-routed",
    what: "Clock of engines and a cluster, placed and routed on an ECP5-85, against 100 MHz on a Virtex",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom as it is",
        names: &["engine", "unit"],
        skip: &[],
        tools: &["Yosys", "nextpnr"],
        tables: &[PageTable { name: "units", write: table }],
    },
};

const PROGRAM: &str = "programs/router.loom";
/// Seeds with which the engines of the clock that pages state are placed. One seed is no clock:
/// others are up to a tenth slower or faster.
const SEEDS: &[u32] = &[1, 2, 3, 4, 5, 6, 7, 8];
/// The seed of units that are compared only, or take an hour.
const ONE_SEED: &[u32] = &[1];

/// An engine that is routed.
struct Case {
    /// The word for it in keys.
    key: &'static str,
    threads: usize,
    storage: Storage,
    stage_levels: u32,
    seeds: &'static [u32],
    /// Whether a cluster of two such engines is routed as well, which takes an hour.
    has_cluster: bool,
}

const CASES: [Case; 4] = [
    Case {
        key: "standard",
        threads: 4,
        storage: Storage::Lut,
        stage_levels: 11,
        seeds: SEEDS,
        has_cluster: true,
    },
    Case {
        key: "deep",
        threads: 4,
        storage: Storage::Lut,
        stage_levels: 6,
        seeds: SEEDS,
        has_cluster: true,
    },
    Case {
        key: "block-windows",
        threads: 16,
        storage: Storage::BlockWindows,
        stage_levels: 6,
        seeds: ONE_SEED,
        has_cluster: false,
    },
    Case {
        key: "block",
        threads: 16,
        storage: Storage::Block,
        stage_levels: 6,
        seeds: ONE_SEED,
        has_cluster: false,
    },
];

/// A unit, routed.
#[derive(Clone, Debug, Serialize)]
struct Row {
    engine: &'static str,
    /// `engine` or `cluster`.
    unit: &'static str,
    /// The median over the seeds.
    mhz: f64,
    /// The slowest and the fastest, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<Spread>,
    /// Four-input LUTs.
    luts: u64,
}

/// The rates of several seeds.
#[derive(Clone, Copy, Debug, Serialize)]
struct Spread {
    seeds: usize,
    least: f64,
    most: f64,
}

impl Row {
    /// Creates the row of a unit from the clock that each seed reaches.
    fn new(engine: &'static str, unit: &'static str, mhz: &[f64], luts: u64) -> Self {
        let spread = (mhz.len() > 1).then(|| Spread {
            seeds: mhz.len(),
            least: mhz.iter().copied().fold(f64::INFINITY, f64::min),
            most: mhz.iter().copied().fold(0.0, f64::max),
        });
        Self { engine, unit, mhz: median(mhz), spread, luts }
    }
}

impl Case {
    fn about(&self) -> String {
        let storage = match self.storage {
            Storage::Lut => "LUT RAM",
            Storage::Block => "block RAM",
            Storage::BlockWindows => "windows in block RAM",
        };
        format!("{} threads, {storage}, `stage_levels = {}`", self.threads, self.stage_levels)
    }

    fn machine(&self) -> Result<Machine> {
        let mut machine = Machine::find(&format!("np-2-2-{}", self.threads)).map_err(Error::new)?;
        machine.engine.storage = self.storage;
        machine.engine.stage_levels = self.stage_levels;
        Ok(machine)
    }

    fn routed(&self, settings: &Settings) -> Result<Vec<Row>> {
        let machine = self.machine()?;
        let program = Source::of(settings.file(PROGRAM)?).compiled()?;
        let processor = processor(&machine, &program, Form::Alone)?;
        let cluster = self.has_cluster.then(|| processor.plan.cluster_module());
        let engine = ("engine", processor.engine.name.clone(), self.seeds);
        let units = [engine].into_iter().chain(cluster.map(|module| ("cluster", module, ONE_SEED)));
        let row = |(unit, module, seeds): (&'static str, String, &[u32])| {
            let _working = Working::on(format!("placing and routing {unit}: {}", self.about()));
            let mhz = machine.clock.core_mhz;
            let routed = routes(&processor.design, &module, mhz, seeds, &Cache::of_user())
                .map_err(Error::new)?;
            let clocks: Vec<f64> = routed.iter().map(|route| route.fmax_mhz).collect();
            Ok(Row::new(self.key, unit, &clocks, routed[0].luts))
        };
        units.map(row).collect()
    }
}

fn make(settings: &Settings) -> Result<Drawn> {
    let rows = CASES.iter().map(|case| case.routed(settings)).collect::<Result<Vec<_>>>()?.concat();
    let groups =
        rows.iter().map(|row| Group::new(format!("{}: {}", row.engine, row.unit), [row.mhz]));
    let title = "Clock on an ECP5-85, speed grade 8";
    let svg = Bars::new(title, "MHz", ["here"], groups.collect()).with_limit("goal", 100.0).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

fn about(key: &str) -> String {
    CASES.iter().find(|case| case.key == key).map(Case::about).unwrap_or_default()
}

fn text(rows: &[Row]) -> String {
    let mut table = output::table(&["engine", "unit", "MHz", "LUTs"], &[2, 3]);
    for row in rows {
        let luts = thousands(row.luts);
        let mhz = match row.spread {
            Some(Spread { least, most, .. }) => {
                format!("{} ({} to {})", number(row.mhz), number(least), number(most))
            }
            None => number(row.mhz),
        };
        table.add_row([about(row.engine).replace('`', ""), row.unit.to_owned(), mhz, luts]);
    }
    format!(
        "{table}\n\nProgram router.loom, routed by nextpnr for 100 MHz on an ECP5-85 of speed grade 8: the median \
         of {} seeds with the slowest and the fastest, or one seed. LUTs have four inputs, and count the \
         harness around the unit.\n",
        SEEDS.len()
    )
}

fn table(values: &Values) -> Result<Table> {
    let heads = ["engine", "its clock, MHz", "its LUTs"];
    let mut table = Table::new(heads.into_iter().chain(["two of them: MHz", "LUTs"]));
    for case in &CASES {
        let of = |unit: &str| {
            let key = |what: &str| format!("{}.{unit}.{what}", case.key);
            let mut mhz = values.fixed(&key("mhz"), 1)?;
            if values.has(&key("spread.seeds")) {
                let [least, most] =
                    ["spread.least", "spread.most"].map(|end| values.fixed(&key(end), 1));
                mhz = format!("{mhz} ({} to {})", least?, most?);
            } else {
                mhz += ", one seed";
            }
            Ok::<_, Error>([mhz, decimal(values.get(&key("luts"))?, 0)])
        };
        let [mhz, luts] = of("engine")?;
        let [cluster_mhz, cluster_luts] = match case.has_cluster {
            true => of("cluster")?,
            false => ["not routed".into(), String::new()],
        };
        table.row([case.about(), mhz, luts, cluster_mhz, cluster_luts]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_is_a_machine_and_a_row() {
        let rows: Vec<Row> = CASES
            .iter()
            .flat_map(|case| {
                case.machine().expect(case.key);
                let row = |unit, mhz: &[f64]| Row::new(case.key, unit, mhz, 12_345);
                [row("engine", &[97.5, 86.9, 101.2]), row("cluster", &[76.1])]
            })
            .collect();
        let drawn = Drawn {
            data: serde_json::to_value(&rows).expect("JSON"),
            text: text(&rows),
            svg: String::new(),
            faults: Vec::new(),
        };
        assert!(drawn.text.contains("97.5 (86.9 to 101)"), "{}", drawn.text);
        let values = FIGURE.values(&drawn).expect("no two units have one name");
        let spread = |key: &str| values.get(&format!("standard.engine.{key}")).expect(key);
        assert_eq!(
            [spread("mhz"), spread("spread.least"), spread("spread.most")],
            [97.5, 86.9, 101.2]
        );
        assert!(!values.has("standard.cluster.spread.seeds"), "one seed has no spread");
        assert_eq!(table(&values).expect("a table").rows(), CASES.len());
    }
}

//! The clock frequency that the open tools reach.

use serde::Serialize;
use wireloom_np::area::{Cache, routes};
use wireloom_np::description::{NpSpec, Storage};
use wireloom_np::machine::{Form, processor};

use super::figure::{Choice, Drawn, Figure, Kept};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, decimal};
use super::{Settings, median, number};
use wireloom_console::{Working, output, thousands};
use wireloom_machine::{Error, Result, Source};
use wireloom_plot::{Bars, Group};

/// Engines, most of them placed with several seeds.
pub const ENGINES: Figure = Figure {
    name: "np-routed",
    what: "Clock of engines, placed and routed on an ECP5-85, against 100 MHz on a Virtex",
    choice: Choice::None,
    make: |settings| make(settings, &ENGINE_CASES, Unit::Engine),
    kept: Kept { tables: &[PageTable { name: "engines", write: engines }], ..KEPT },
};

/// Clusters of two engines. Placing and routing one takes an hour, so there is only one seed.
pub const CLUSTERS: Figure = Figure {
    name: "np-routed-clusters",
    what: "Clock of clusters of two engines, placed and routed on an ECP5-85 with one seed",
    choice: Choice::None,
    make: |settings| make(settings, &CLUSTER_CASES, Unit::Cluster),
    kept: Kept { tables: &[PageTable { name: "clusters", write: clusters }], ..KEPT },
};

const KEPT: Kept = Kept {
    cost: Cost::Dear,
    built: "programs/router.loom as it is",
    names: &["engine"],
    skip: &[],
    tools: &["Yosys", "nextpnr"],
    tables: &[],
};

const PROGRAM: &str = "programs/router.loom";
/// Seeds for placing the engines whose clock the pages state. One seed is no clock: others are up
/// to a tenth slower or faster.
const SEEDS: &[u32] = &[1, 2, 3, 4, 5, 6, 7, 8];
/// The seed of units that are only compared, or take an hour.
const ONE_SEED: &[u32] = &[1];

/// A routed unit, in a harness of registers.
#[derive(Clone, Copy)]
enum Unit {
    Engine,
    Cluster,
}

/// An engine, routed alone or as one of two in a cluster.
struct Case {
    /// The name in keys.
    key: &'static str,
    threads: usize,
    storage: Storage,
    stage_levels: u32,
    seeds: &'static [u32],
}

const STANDARD: Case =
    Case { key: "standard", threads: 4, storage: Storage::Lut, stage_levels: 11, seeds: SEEDS };
const DEEP: Case = Case { key: "deep", stage_levels: 6, ..STANDARD };

const ENGINE_CASES: [Case; 4] = [
    STANDARD,
    DEEP,
    Case {
        key: "block-windows",
        threads: 16,
        storage: Storage::BlockWindows,
        stage_levels: 6,
        seeds: ONE_SEED,
    },
    Case { key: "block", threads: 16, storage: Storage::Block, stage_levels: 6, seeds: ONE_SEED },
];

const CLUSTER_CASES: [Case; 2] =
    [Case { seeds: ONE_SEED, ..STANDARD }, Case { seeds: ONE_SEED, ..DEEP }];

/// The result of a routed unit.
#[derive(Clone, Debug, Serialize)]
struct Row {
    engine: &'static str,
    /// The median over the seeds.
    mhz: f64,
    /// The slowest and the fastest, if there are several seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<Spread>,
    /// Four-input LUTs.
    luts: u64,
}

/// The spread of several seeds, in MHz.
#[derive(Clone, Copy, Debug, Serialize)]
struct Spread {
    seeds: usize,
    least: f64,
    most: f64,
}

impl Row {
    /// Creates the row of a unit from the clock that each seed reaches.
    fn new(engine: &'static str, mhz: &[f64], luts: u64) -> Self {
        let spread = (mhz.len() > 1).then(|| Spread {
            seeds: mhz.len(),
            least: mhz.iter().copied().fold(f64::INFINITY, f64::min),
            most: mhz.iter().copied().fold(0.0, f64::max),
        });
        Self { engine, mhz: median(mhz), spread, luts }
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

    fn machine(&self) -> Result<NpSpec> {
        let mut machine = NpSpec::find(&format!("np-2-2-{}", self.threads)).map_err(Error::new)?;
        machine.engine.storage = self.storage;
        machine.engine.stage_levels = self.stage_levels;
        Ok(machine)
    }

    fn routed(&self, settings: &Settings, unit: Unit) -> Result<Row> {
        let machine = self.machine()?;
        let program = Source::of(settings.file(PROGRAM)?).compiled()?;
        let processor = processor(&machine, &program, Form::Alone)?;
        let (module, what) = match unit {
            Unit::Engine => (processor.engine.name.clone(), "an engine"),
            Unit::Cluster => (processor.plan.cluster_module(), "a cluster of engines"),
        };
        let _working = Working::on(format!("placing and routing {what}: {}", self.about()));
        let mhz = machine.clock.core_mhz;
        let routed = routes(&processor.design, &module, mhz, self.seeds, &Cache::of_user())
            .map_err(Error::new)?;
        let clocks: Vec<f64> = routed.iter().map(|route| route.fmax_mhz).collect();
        Ok(Row::new(self.key, &clocks, routed[0].luts))
    }
}

fn make(settings: &Settings, cases: &[Case], unit: Unit) -> Result<Drawn> {
    let rows = cases.iter().map(|case| case.routed(settings, unit)).collect::<Result<Vec<_>>>()?;
    let groups = rows.iter().map(|row| Group::new(row.engine, [row.mhz]));
    let title = match unit {
        Unit::Engine => "Clock of engines on an ECP5-85, speed grade 8",
        Unit::Cluster => "Clock of clusters of two engines on an ECP5-85, speed grade 8",
    };
    let svg = Bars::new(title, "MHz", ["here"], groups.collect()).with_limit("goal", 100.0).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(cases, &rows), data, svg, faults: Vec::new() })
}

fn text(cases: &[Case], rows: &[Row]) -> String {
    let mut table = output::table(&["engine", "seeds", "MHz", "LUTs"], &[1, 2, 3]);
    for (case, row) in cases.iter().zip(rows) {
        let mhz = match row.spread {
            Some(Spread { least, most, .. }) => {
                format!("{} ({} to {})", number(row.mhz), number(least), number(most))
            }
            None => number(row.mhz),
        };
        let seeds = case.seeds.len().to_string();
        table.add_row([case.about().replace('`', ""), seeds, mhz, thousands(row.luts)]);
    }
    format!(
        "{table}\n\nProgram router.loom, routed by nextpnr for 100 MHz on an ECP5-85 of speed grade 8: the \
         median of the seeds, with the slowest and the fastest. LUTs have four inputs, and count the \
         harness around the unit.\n"
    )
}

fn engines(values: &Values) -> Result<Table> {
    table(&ENGINE_CASES, values)
}

fn clusters(values: &Values) -> Result<Table> {
    table(&CLUSTER_CASES, values)
}

fn table(cases: &[Case], values: &Values) -> Result<Table> {
    let mut table = Table::new(["engine", "seeds", "MHz", "LUTs"]);
    for case in cases {
        let key = |what: &str| format!("{}.{what}", case.key);
        let mut mhz = values.fixed(&key("mhz"), 1)?;
        let mut seeds = "1".to_owned();
        if values.has(&key("spread.seeds")) {
            let [least, most] =
                ["spread.least", "spread.most"].map(|end| values.fixed(&key(end), 1));
            mhz = format!("{mhz} ({} to {})", least?, most?);
            seeds = decimal(values.get(&key("spread.seeds"))?, 0);
        }
        table.row([case.about(), seeds, mhz, decimal(values.get(&key("luts"))?, 0)]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(cases: &[Case], mhz: &[f64]) -> Drawn {
        let rows: Vec<Row> = cases.iter().map(|case| Row::new(case.key, mhz, 12_345)).collect();
        Drawn {
            data: serde_json::to_value(&rows).expect("JSON"),
            text: text(cases, &rows),
            svg: String::new(),
            faults: Vec::new(),
        }
    }

    #[test]
    fn several_seeds_have_a_median_and_a_spread() {
        ENGINE_CASES.iter().for_each(|case| drop(case.machine().expect(case.key)));
        let drawn = drawn(&ENGINE_CASES, &[97.5, 86.9, 101.2]);
        assert!(drawn.text.contains("97.5 (86.9 to 101)"), "{}", drawn.text);
        let values = ENGINES.values(&drawn).expect("no two engines have one name");
        let spread = |key: &str| values.get(&format!("standard.{key}")).expect(key);
        assert_eq!(
            [spread("mhz"), spread("spread.least"), spread("spread.most")],
            [97.5, 86.9, 101.2]
        );
        assert_eq!(engines(&values).expect("a table").rows(), ENGINE_CASES.len());
    }

    #[test]
    fn one_seed_has_no_spread() {
        let values = CLUSTERS.values(&drawn(&CLUSTER_CASES, &[76.1])).expect("names differ");
        assert!(!values.has("standard.spread.seeds"));
        assert_eq!(clusters(&values).expect("a table").rows(), CLUSTER_CASES.len());
    }
}

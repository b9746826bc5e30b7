//! Area of a network processor unit by unit: engine, cluster, pipe and top.

use serde::Serialize;
use wireloom_np::area::{Cost as Area, parts};
use wireloom_np::description::NpSpec;
use wireloom_np::machine::{self, Form};

use super::Settings;
use super::figure::{Choice, Drawn, Figure, Kept};
use super::store::Cost;
use wireloom_console::{output, thousands};
use wireloom_explore::area;
use wireloom_machine::{Error, Result, Source};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "np-units",
    what: "Area of network processors unit by unit: the demonstration's, the smallest for 200 million packets a second, a pipeline",
    choice: Choice::Some(|| DESIGNS.map(|design| design.machine.to_owned()).to_vec()),
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "np-2-2-4: programs/router.loom as it is; np-200mpps and np-pipeline: programs/router.loom and programs/ipv4.loom, \
                COUNT_FLOWS=false CHECK_SOURCE=false NEXT_HOPS=4096",
        names: &["machine", "unit"],
        skip: &[],
        tools: &["Yosys"],
        tables: &[],
    },
};

/// The whole router on the machine that carries it at line rate.
pub const LINE_RATE: Figure = Figure {
    name: "np-line-rate",
    what: "Area of np-line-rate with the whole router, unit by unit",
    choice: Choice::None,
    make: |settings| drawn(settings, &[&WHOLE]),
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom as it is",
        names: &["machine", "unit"],
        skip: &[],
        tools: &["Yosys"],
        tables: &[],
    },
};

/// The part, a Virtex-7, whose resources the shares refer to.
const PART: &str = "XC7VH870T";

/// The program constants for a router without flow counting and source check, and with 4,096 next
/// hops.
pub const SMALL: [(&str, &str); 3] =
    [("COUNT_FLOWS", "false"), ("CHECK_SOURCE", "false"), ("NEXT_HOPS", "4096")];

/// A machine and its program.
struct Design {
    machine: &'static str,
    program: &'static str,
    /// Whether the program has no flow counting and source check, and 4,096 next hops.
    is_small: bool,
}

const DESIGNS: [Design; 3] = [
    Design { machine: "np-2-2-4", program: "programs/router.loom", is_small: false },
    Design { machine: "np-200mpps", program: "programs/router.loom", is_small: true },
    Design { machine: "np-pipeline", program: "programs/ipv4.loom", is_small: true },
];

const WHOLE: Design =
    Design { machine: "np-line-rate", program: "programs/router.loom", is_small: false };

/// The area of a processor.
#[derive(Clone, Debug, Serialize)]
struct Row {
    machine: String,
    #[serde(flatten)]
    total: Area,
    /// The shares of the part's LUTs and of its block RAMs.
    share: f64,
    block_ram_share: f64,
    /// LUT levels of the deepest unit.
    levels: u32,
    units: Vec<Unit>,
    /// The resources of which the part has too few.
    #[serde(skip)]
    lacks: Vec<String>,
}

/// A unit: a module that is synthesised separately.
#[derive(Clone, Debug, Serialize)]
struct Unit {
    /// Engine, cluster or top, or else the name of the module.
    unit: String,
    count: u64,
    /// The area with the units inside it, and without them.
    whole: Area,
    own: Area,
    levels: u32,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let designs = DESIGNS.iter().filter(|design| settings.wants(design.machine));
    drawn(settings, &designs.collect::<Vec<_>>())
}

fn drawn(settings: &Settings, designs: &[&Design]) -> Result<Drawn> {
    let rows = designs.iter().map(|design| row(settings, design)).collect::<Result<Vec<Row>>>()?;
    let groups = rows.iter().map(|row| Group::new(row.machine.as_str(), [row.total.luts as f64]));
    let svg = Bars::new("Area of whole processors", "LUTs", ["here"], groups.collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

fn row(settings: &Settings, design: &Design) -> Result<Row> {
    let part = parts().into_iter().find(|part| part.name == PART);
    let part = part.expect("hardware/parts.toml has it");
    let set = SMALL.into_iter().filter(|_| design.is_small);
    let program = Source {
        set: set.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        ..Source::of(settings.file(design.program)?)
    }
    .compiled()?;
    let description = NpSpec::find(design.machine).map_err(Error::new)?;
    let processor = machine::processor(&description, &program, Form::Alone)?;
    let estimate = area::Area::estimate(&processor, &area::Target::Part(PART.into()), false)?;
    let [report] = estimate.families.as_slice() else { unreachable!("one family was asked for") };
    let names = [
        (processor.engine.name.clone(), "engine"),
        (processor.plan.cluster_module(), "cluster"),
        (report.units.first().map(|top| top.module.clone()).unwrap_or_default(), "top"),
    ];
    let name = |module: &str| {
        let role = names.iter().find(|(known, _)| known == module).map(|(_, role)| *role);
        role.unwrap_or(module).to_owned()
    };
    let units = report.units.iter().map(|unit| Unit {
        unit: name(&unit.module),
        count: unit.count,
        whole: unit.whole,
        own: unit.own,
        levels: unit.levels,
    });
    Ok(Row {
        machine: design.machine.to_owned(),
        total: report.total,
        share: report.total.luts as f64 / part.luts as f64,
        block_ram_share: report.total.block_rams_18k as f64 / (2 * part.block_rams) as f64,
        levels: report.units.iter().map(|unit| unit.levels).max().unwrap_or(0),
        units: units.collect(),
        lacks: estimate.warnings().collect(),
    })
}

fn text(rows: &[Row]) -> String {
    let heads = ["machine", "unit", "count", "LUTs", "own", "flip-flops", "block RAMs", "levels"];
    let mut table = output::table(&heads, &[2, 3, 4, 5, 6, 7]);
    let mut add = |machine: &str, name: &str, count: u64, whole: Area, own: u64, levels: u32| {
        let numbers = [count, whole.luts, own, whole.flip_flops, whole.block_rams_18k];
        let cells = [machine, name].map(str::to_owned).into_iter();
        table.add_row(cells.chain(numbers.map(thousands)).chain([levels.to_string()]));
    };
    for row in rows {
        add(&row.machine, "all", 1, row.total, row.total.luts, row.levels);
        for unit in &row.units {
            add("", &unit.unit, unit.count, unit.whole, unit.own.luts, unit.levels);
        }
    }
    let lacks = rows
        .iter()
        .flat_map(|row| row.lacks.iter().map(|lack| format!("\n{}: {lack}.\n", row.machine)));
    let lacks: String = lacks.collect();
    let built = if rows.iter().all(|row| row.machine == WHOLE.machine) {
        "The router is as it is."
    } else {
        "The router of np-2-2-4 is as it is; the others are built without flow counting and check \
         of the source, with 4,096 next hops, np-pipeline for IPv4 alone."
    };
    format!(
        "{table}\n\nSynthesised by Yosys for a Virtex-7, neither placed nor routed; own: without \
         the units inside. Block RAMs are of 18 Kb. {built}\n{lacks}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_shown_below_their_machine() {
        let area = Area { luts: 4602, lut_rams: 1, flip_flops: 2, block_rams_18k: 3, dsps: 0 };
        let unit = Unit { unit: "engine".into(), count: 4, whole: area, own: area, levels: 12 };
        let row = Row {
            machine: "np-2-2-4".into(),
            total: area,
            share: 0.1,
            block_ram_share: 0.2,
            levels: 12,
            units: vec![unit],
            lacks: vec!["XC7VH870T is too small".to_owned()],
        };
        let drawn = Drawn {
            data: serde_json::to_value([&row]).expect("JSON"),
            text: text(&[row]),
            svg: String::new(),
            faults: Vec::new(),
        };
        assert!(drawn.text.contains("4,602"), "{}", drawn.text);
        assert!(drawn.text.contains("\nnp-2-2-4: XC7VH870T is too small.\n"), "{}", drawn.text);
        let values = FIGURE.values(&drawn).expect("values");
        assert_eq!(values.get("np-2-2-4.units.engine.whole.luts").expect("it is there"), 4602.0);
        assert_eq!(values.get("np-2-2-4.share").expect("it is there"), 0.1);
    }
}

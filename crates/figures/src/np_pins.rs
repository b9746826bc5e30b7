//! Off-chip memory channels of network processors, and their pins.

use serde::Serialize;
use wireloom_np::description::NpSpec;
use wireloom_np::machine::{Form, processor};
use wireloom_np::processor::{Channels, channels};

use super::Settings;
use super::figure::{Choice, Drawn, Figure, Kept};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use wireloom_console::{output, thousands};
use wireloom_machine::{Error, Result, Source};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "np-pins",
    what: "Memory channels outside the chip that network processors have, and their pins",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/router.loom and programs/ipv4.loom, as each row says; memories with three times the core's clock",
        names: &["machine", "program", "table"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "tables", write: tables_table },
            PageTable { name: "machines", write: machines_table },
        ],
    },
};

/// A machine with a program.
struct Case {
    machine: &'static str,
    program: &'static str,
    /// A description of the program.
    is: &'static str,
    set: &'static [(&'static str, &'static str)],
}

const ROUTER: &str = "programs/router.loom";
const PLAIN: &[(&str, &str)] = &[("COUNT_FLOWS", "false"), ("CHECK_SOURCE", "false")];

const CASES: [Case; 6] = [
    Case { machine: "np-200mpps", program: ROUTER, is: "router", set: &[] },
    Case { machine: "np-line-rate", program: ROUTER, is: "router", set: &[] },
    Case {
        machine: "np-200mpps",
        program: ROUTER,
        is: "router without flow counting and check of the source",
        set: PLAIN,
    },
    Case { machine: "np-2-2-4", program: ROUTER, is: "router", set: &[] },
    Case {
        machine: "np-2-2-4",
        program: ROUTER,
        is: "router without flow counting and check of the source",
        set: PLAIN,
    },
    Case { machine: "np-pipeline", program: "programs/ipv4.loom", is: "IPv4 alone", set: &[] },
];

/// The channels of a machine.
#[derive(Clone, Debug, Serialize)]
struct Row {
    machine: &'static str,
    program: &'static str,
    lanes: usize,
    channels: usize,
    pins: usize,
    /// The tables in memory channels, each for one lane.
    tables: Vec<Uses>,
}

/// A table, which may use several channels of one shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Uses {
    table: String,
    channels: usize,
    words: usize,
    word_bits: usize,
    reads: usize,
    writes: usize,
    slots: usize,
    /// The most requests of a packet; 0 if they are in a loop.
    requests: u32,
    pins: usize,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let rows = CASES.iter().map(|case| row(settings, case)).collect::<Result<Vec<Row>>>()?;
    let groups = rows
        .iter()
        .map(|row| Group::new(format!("{}, {}", row.machine, row.program), [row.pins as f64]));
    let svg = Bars::new("Pins of memory channels", "pins", ["here"], groups.collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

fn row(settings: &Settings, case: &Case) -> Result<Row> {
    let set = case.set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let program = Source { set: set.collect(), ..Source::of(settings.file(case.program)?) };
    let machine = NpSpec::find(case.machine).map_err(Error::new)?;
    let processor = processor(&machine, &program.compiled()?, Form::Alone)?;
    let Channels { of_lane, lanes, channels, pins } = channels(&processor.plan);
    let mut tables: Vec<Uses> = Vec::new();
    for channel in of_lane {
        let uses = Uses {
            table: channel.offload,
            channels: 1,
            words: channel.words,
            word_bits: channel.word_bits,
            reads: channel.reads,
            writes: channel.writes,
            slots: channel.slots,
            requests: channel.requests.unwrap_or(0),
            pins: channel.pins,
        };
        match tables.iter_mut().find(|known| known.table == uses.table) {
            Some(known) => known.channels += 1,
            None => tables.push(uses),
        }
    }
    Ok(Row { machine: case.machine, program: case.is, lanes, channels, pins, tables })
}

fn text(rows: &[Row]) -> String {
    let mut table = output::table(&["machine", "program", "lanes", "channels", "pins"], &[2, 3, 4]);
    for row in rows {
        let numbers = [row.lanes, row.channels, row.pins].map(|number| thousands(number as u64));
        table.add_row([row.machine, row.program].map(str::to_owned).into_iter().chain(numbers));
    }
    format!(
        "{table}\n\nEach lane has channels of its own. Pins: of the memories' interfaces; the page of network processors lists them.\n"
    )
}

/// Tabulates the router's tables in channels, on the machine with most of them.
fn tables_table(values: &Values) -> Result<Table> {
    let case = &CASES[1];
    let key = format!("{}.{}", slug(case.machine), slug(case.is));
    let heads = [
        "table",
        "channels",
        "a part has",
        "reads a request",
        "writes",
        "of a core cycle",
        "requests a packet",
        "pins of a channel",
    ];
    let mut table = Table::new(heads);
    for name in TABLES {
        let of = |what: &str| values.get(&format!("{key}.tables.{}.{what}", slug(name)));
        let words = of("words")?;
        let words = if words >= f64::from(1 << 20) {
            format!("{} M", words / f64::from(1 << 20))
        } else {
            thousands(words as u64)
        };
        let requests = match of("requests")? {
            0.0 => "one for each label".to_owned(),
            most => most.to_string(),
        };
        table.row([
            format!("`{name}`"),
            of("channels")?.to_string(),
            format!("{words} words of {} bits", of("word_bits")?),
            of("reads")?.to_string(),
            of("writes")?.to_string(),
            of("slots")?.to_string(),
            requests,
            of("pins")?.to_string(),
        ]);
    }
    Ok(table)
}

/// The router's tables that are in channels on np-line-rate.
const TABLES: [&str; 7] =
    ["destinations4", "sources4", "destinations6", "sources6", "labels", "flows", "next_hops"];

fn machines_table(values: &Values) -> Result<Table> {
    let mut table = Table::new(["machine", "lanes", "program", "channels", "pins"]);
    for case in &CASES {
        let key = format!("{}.{}", slug(case.machine), slug(case.is));
        let of =
            |what: &str| Ok::<_, Error>(thousands(values.get(&format!("{key}.{what}"))? as u64));
        table.row([
            case.machine.to_owned(),
            of("lanes")?,
            case.is.to_owned(),
            of("channels")?,
            of("pins")?,
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_pages_tables_have_every_table_in_a_channel() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let settings = Settings { root, runs: 1, only: Vec::new() };
        let row = row(&settings, &CASES[1]).expect("it is built");
        let names: Vec<&str> = row.tables.iter().map(|uses| uses.table.as_str()).collect();
        assert_eq!(names.len(), TABLES.len(), "{names:?}");
        assert!(names.iter().all(|name| TABLES.contains(name)), "{names:?}");
        let sum = |of: fn(&Uses) -> usize| row.tables.iter().map(of).sum::<usize>();
        assert_eq!(row.channels, row.lanes * sum(|uses| uses.channels));
        assert_eq!(row.pins, row.lanes * sum(|uses| uses.channels * uses.pins));
    }
}

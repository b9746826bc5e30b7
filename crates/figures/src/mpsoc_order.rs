//! The cost of order at offloads: objects that execute calls in packet order, and in the order of
//! arrival.

use serde::Serialize;
use wireloom_mpsoc::spec::CallOrder;
use wireloom_net::tables::read_prefixes;
use wireloom_net::traffic;
use wireloom_sim::sweep;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::mpsoc::workers;
use super::mpsoc_million::{Trial, hold};
use super::mpsoc_rig::{Router, machine};
use super::rate::Rate;
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};
use wireloom_console::{Working, output, thousands};
use wireloom_machine::{Error, Result, Source};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "mpsoc-order",
    what: "StepNP: packets of three engines whose calls are executed in the order of packets, and as they come",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/nat.loom with programs/tests/nat.tables; stamp.loom and parking.loom of crates/mpsoc/tests/engines",
        names: &["engine", "machine", "order"],
        skip: &[],
        tools: &["arm-none-eabi-gcc"],
        tables: &[PageTable { name: "engines", write: table }],
    },
};

/// Packets of a run.
const PACKETS: usize = 20_000;
/// The source of the packets' addresses.
const HOSTS: &str = "crates/mpsoc/tests/engines/nat_hosts.txt";
const MACHINES: [&str; 2] = ["mpsoc-oc48", "mpsoc-oc192"];
const ORDERS: [(&str, CallOrder); 2] =
    [("in order", CallOrder::Arrival), ("as they come", CallOrder::Coming)];

/// An engine with its tables, if any, and a description of its packets.
struct Example {
    name: &'static str,
    program: &'static str,
    tables: Option<&'static str>,
    what: &'static str,
}

const ENGINES: [Example; 3] = [
    Example {
        name: "stamp",
        program: "crates/mpsoc/tests/engines/stamp.loom",
        tables: None,
        what: "one `fetch_add`",
    },
    Example {
        name: "parking",
        program: "crates/mpsoc/tests/engines/parking.loom",
        tables: None,
        what: "`take` from a park, then perhaps `keep`",
    },
    Example {
        name: "nat",
        program: "programs/nat.loom",
        tables: Some("programs/tests/nat.tables"),
        what: "half are from inside: look a mapping up, then perhaps make one",
    },
];

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
struct Row {
    engine: &'static str,
    machine: &'static str,
    order: &'static str,
    #[serde(flatten)]
    rate: Rate,
    lost: u64,
    differs: bool,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let hosts = read_prefixes(&settings.file(HOSTS)?).map_err(Error::new)?;
    let traffic = traffic::Spec { seed: 6, ports: 4, ..traffic::Spec::default() };
    let _working = Working::on("calls in order and as they come");
    let rows = sweep(&ENGINES, workers(), |engine| {
        let tables = engine.tables.map(|tables| settings.file(tables)).transpose()?;
        let program = Source::of(settings.file(engine.program)?);
        let tables = tables.into_iter().collect();
        let router = Router::with(&program, tables, hosts.iter().copied().collect())?;
        let mut rows = Vec::new();
        for name in MACHINES {
            for (order, call_order) in ORDERS {
                let mut spec = machine(name)?;
                spec.call_order = call_order;
                let trial = Trial { name: order, router: &router, traffic: traffic.clone(), spec };
                let held = hold(&trial, PACKETS)?;
                let (rate, lost, differs) = (held.rate, held.lost, held.differs);
                rows.push(Row { engine: engine.name, machine: name, order, rate, lost, differs });
            }
        }
        Ok::<_, Error>(rows)
    });
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?.concat();
    let groups = ENGINES.each_ref().map(|engine| {
        let own = rows.iter().filter(|row| row.engine == engine.name);
        Group::new(engine.name, own.map(|row| row.rate.mpps()))
    });
    let series = ["mpsoc-oc48, in order", "as they come", "mpsoc-oc192, in order", "as they come"];
    let title = "Packets of engines whose calls are executed in order, and as they come";
    let svg = Bars::new(title, "million packets a second", series, groups.to_vec()).svg();
    let wrong = rows.iter().filter(|row| row.differs && row.order == ORDERS[0].0);
    let faults = wrong.map(|row| format!("{}, {}: differs from golden", row.engine, row.machine));
    let faults = faults.collect();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults })
}

fn text(rows: &[Row]) -> String {
    let heads = ["engine", "machine", "calls", "MPPS", "dropped", "lost", "against golden"];
    let mut table = output::table(&heads, &[3, 4, 5]);
    for row in rows {
        table.add_row([
            row.engine.to_owned(),
            row.machine.to_owned(),
            row.order.to_owned(),
            number(row.rate.mpps()),
            thousands(row.rate.dropped()),
            thousands(row.lost),
            if row.differs { "DIFFERS" } else { "no difference" }.to_owned(),
        ]);
    }
    format!(
        "{table}\n\n{} IPv4 packets of 60 bytes without gaps, between the addresses of {HOSTS}.\n",
        thousands(PACKETS as u64)
    )
}

/// Tabulates the runs for pages.
fn table(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "engine",
        "what its packets do",
        "mpsoc-oc48 (40 ns): in order, as they come",
        "mpsoc-oc192 (80 ns): in order, as they come",
    ]);
    for engine in &ENGINES {
        let cell = |machine: &str| {
            let run = |order: &str| {
                let key = |field| format!("{}.{machine}.{}.{field}", engine.name, slug(order));
                let count = |field, end: &str| {
                    let count = values.fixed(&key(field), 0)?;
                    Ok::<_, Error>(format!("{} {end}", if count == "0" { "none" } else { &count }))
                };
                let end = match values.get(&key("differs"))? != 0.0 {
                    true => "differs".to_owned(),
                    false => {
                        format!("{}, {}", count("dropped", "dropped")?, count("lost", "lost")?)
                    }
                };
                Ok::<_, Error>(format!("{} ({end})", values.short(&key("mpps"))?))
            };
            Ok::<_, Error>(format!("{}, {}", run(ORDERS[0].0)?, run(ORDERS[1].0)?))
        };
        let [slow, fast] = MACHINES;
        let cells = [engine.program.to_owned(), engine.what.to_owned(), cell(slow)?, cell(fast)?];
        table.row(cells);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_and_tables_are_where_they_are_said_to_be() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for engine in &ENGINES {
            assert!(root.join(engine.program).exists(), "{}", engine.program);
            assert!(engine.tables.is_none_or(|tables| root.join(tables).exists()));
        }
    }
}

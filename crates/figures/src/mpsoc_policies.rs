//! The effect of the broker's policy on the latency of packets.

use serde::Serialize;
use wireloom_mpsoc::broker::Policy;
use wireloom_net::tables::Prefix;
use wireloom_net::traffic::{self, PrefixPool, Sizes};
use wireloom_sim::stats::{Summary, Value};
use wireloom_sim::sweep;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::mpsoc::workers;
use super::mpsoc_million::{Trial, hold};
use super::mpsoc_rig::{Router, machine};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::Values;
use super::{Settings, number};
use wireloom_console::{Working, output, thousands};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "mpsoc-policies",
    what: "StepNP: latency of the real router's packets on mpsoc-oc192, by the policy of the broker",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/router.loom with programs/tests/router.tables",
        names: &["policy"],
        skip: &[],
        tools: &["arm-none-eabi-gcc"],
        tables: &[PageTable { name: "latencies", write: table }],
    },
};

/// Packets of a run.
const PACKETS: usize = 100_000;
const POLICIES: [(&str, Policy); 3] = [
    ("first-come", Policy::FirstCome),
    ("round-robin", Policy::RoundRobin),
    ("least-loaded", Policy::LeastLoaded),
];
/// Destinations that the tables forward, and sources.
const DESTINATIONS: [&str; 2] = ["10.0.0.0/16", "10.4.0.0/16"];
const SOURCES: [&str; 1] = ["10.0.0.0/8"];

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
struct Row {
    policy: &'static str,
    /// Microseconds until packet I/O has the packet back: the median and the 99th percentile.
    median_us: f64,
    most_99_us: f64,
    lost: u64,
    differs: bool,
}

fn pool(prefixes: &[&str]) -> PrefixPool {
    prefixes.iter().map(|text| text.parse::<Prefix>().expect("a prefix")).collect()
}

fn make(settings: &Settings) -> Result<Drawn> {
    let tables = settings.file("programs/tests/router.tables")?;
    let router = Router::with(&settings.router()?, vec![tables], pool(&DESTINATIONS))?;
    let router = router.with_sources(pool(&SOURCES));
    let traffic = traffic::Spec {
        seed: 3,
        sizes: Sizes::Bare(54),
        dst_mac: [2, 0, 0, 0, 0, 0],
        ..traffic::Spec::default()
    };
    let _working = Working::on("three policies of the broker");
    let rows = sweep(&POLICIES, workers(), |&(name, policy)| {
        let mut spec = machine("mpsoc-oc192")?;
        spec.broker.policy = policy;
        let held = hold(&Trial { name, router: &router, traffic: traffic.clone(), spec }, PACKETS)?;
        let Some(Value::Summary(Summary { p50, p99, .. })) =
            held.record.value("platform.io.latency.processing")
        else {
            return Err(Error::new("the machine's record has no latency"));
        };
        let (median_us, most_99_us) = (p50 / 1e3, p99 / 1e3);
        Ok(Row { policy: name, median_us, most_99_us, lost: held.lost, differs: held.differs })
    });
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<Row>>>()?;
    let groups = rows.iter().map(|row| Group::new(row.policy, [row.median_us, row.most_99_us]));
    let title = "Latency of packets by the policy of the broker";
    let svg = Bars::new(title, "latency, us", ["median", "99 %"], groups.collect()).svg();
    let wrong = rows.iter().filter(|row| row.differs || row.lost > 0);
    let faults = wrong.map(|row| format!("{}: differs from golden, or loses", row.policy));
    let faults = faults.collect();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults })
}

fn text(rows: &[Row]) -> String {
    let mut table = output::table(&["policy", "median, us", "99 %"], &[1, 2]);
    for row in rows {
        table.add_row([row.policy.to_owned(), number(row.median_us), number(row.most_99_us)]);
    }
    format!(
        "{table}\n\nUntil packet I/O has the packet back: {} IPv4 packets of 54 bytes without gaps on mpsoc-oc192, held to golden.\n",
        thousands(PACKETS as u64)
    )
}

/// Tabulates the latencies for pages.
fn table(values: &Values) -> Result<Table> {
    let mut table = Table::new(["`broker.policy` on mpsoc-oc192", "median", "99 %"]);
    for (policy, _) in POLICIES {
        let us =
            |field| Ok::<_, Error>(format!("{} us", values.short(&format!("{policy}.{field}"))?));
        table.row([format!("`\"{policy}\"`"), us("median_us")?, us("most_99_us")?]);
    }
    Ok(table)
}

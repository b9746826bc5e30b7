//! The energy per packet by unit: the paper's versions, and an engine in Loom C on all tiles.

use serde::Serialize;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_net::Packet;
use wireloom_plot::{Bars, Group};
use wireloom_power::{Account, PartKey};
use wireloom_raw::energy::{self, ChipPart, TilePart};
use wireloom_raw::mapper;
use wireloom_raw::routers::{Setting, VERSIONS, Version, store};
use wireloom_sim::{Energy, sweep};

use super::rig::Rig;
use super::{Trace, tiled};
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::shares::{GroupShare, PartShare};
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::{Values, slug};
use crate::{Settings, number};

pub const FIGURE: Figure = Figure {
    name: "raw-power",
    what: "RAW: energy of a packet by unit, IPv4 versions and an engine in Loom C, 64 and 1,500 bytes",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/version-1.rasm to version-5.rasm on machines/raw.toml, programs/raw/ipv4.loom on raw-rows",
        names: &["router", "bytes", "group", "part"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "groups", write: groups_table },
            PageTable { name: "parts", write: parts_table },
        ],
    },
};

/// The engine in Loom C, on the machine on which every tile executes it.
const OWN: &str = "Loom C";
const OWN_MACHINE: &str = "raw-rows";

/// Packet lengths: the name, bytes, and packets of the trace.
const LOADS: [(&str, usize, usize); 2] = [("64", 64, 4000), ("1500", 1500, 400)];

/// The groups of parts.
const GROUPS: [&str; 6] =
    ["tile processors", "switch processors", "static networks", "dynamic networks", "pins", "DRAM"];

/// A router under full load, from the first cycle to the last packet.
#[derive(Clone, Debug, Serialize)]
struct Run {
    router: String,
    bytes: &'static str,
    packets: usize,
    mpps: f64,
    watts: f64,
    nanojoules: f64,
    /// Energy that no packet causes, in percent: leakage and standby, and cycles of ports and
    /// datapaths without an access.
    standing_percent: f64,
    idle_percent: f64,
    groups: Vec<GroupShare>,
    parts: Vec<PartShare>,
}

/// A router with its load.
#[derive(Clone, Copy, Debug)]
struct Case {
    /// A version of the paper; `None` for the engine in Loom C.
    version: Option<Version>,
    load: (&'static str, usize, usize),
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("energy of the IPv4 routers");
    let rig = Rig::new(&settings.root)?;
    let versions = VERSIONS.iter().copied().map(Some).chain([None]);
    let cases: Vec<Case> = versions
        .flat_map(|version| LOADS.into_iter().map(move |load| Case { version, load }))
        .collect();
    let runs = sweep(&cases, workers(), |case| ran(&rig, case));
    let runs: Vec<Run> = runs.map_err(Error::new)?.into_iter().collect::<Result<_>>()?;
    let heads = ["router", "bytes", "Mpps", "W", "nJ a packet"].into_iter();
    let heads: Vec<&str> =
        heads.chain(GROUPS).chain(["leakage and standby", "without access"]).collect();
    let numbers: Vec<usize> = (1..heads.len()).collect();
    let mut text = output::table(&heads, &numbers);
    for run in &runs {
        let first = [run.router.clone(), run.bytes.to_owned(), format!("{:.2}", run.mpps)];
        let second = [format!("{:.2}", run.watts), number(run.nanojoules)];
        let shares = run.groups.iter().map(|share| share.percent);
        let shares = shares.chain([run.standing_percent, run.idle_percent]);
        let shares = shares.map(|percent| format!("{percent:.1} %"));
        text.add_row(first.into_iter().chain(second).chain(shares));
    }
    let groups = runs.iter().filter(|run| run.bytes == "64").map(|run| {
        let of = |share: &GroupShare| share.percent * run.nanojoules / 100.0;
        Group::new(run.router.clone(), run.groups.iter().map(of))
    });
    let title = "Energy of a packet of 64 bytes by unit";
    let svg = Bars::new(title, "nJ", GROUPS, groups.collect()).svg();
    let data = serde_json::to_value(&runs).map_err(|error| Error::new(error.to_string()))?;
    let text = format!(
        "{text}\n\nFrom the first cycle to the last packet, under full load, one trace. Of all energy, \
         \"leakage and standby\" is drawn at any time; \"without access\" is what ports and datapaths \
         take in cycles in which nothing uses them. The clock tree is not among them.\n"
    );
    Ok(Drawn { text, data, svg, faults: vec![] })
}

fn ran(rig: &Rig, case: &Case) -> Result<Run> {
    let (name, bytes, packets) = case.load;
    let trace = Trace::new(1, packets, bytes);
    let Some(version) = &case.version else { return own(rig, &trace, name) };
    let setting = Setting::default();
    let ran = rig.run(version, &setting, &trace.packets, &trace.routes)?;
    // Repeat the run, up to the last packet.
    let mut board = rig.board(version, &setting, &trace.packets, &trace.routes)?;
    board.chip.run(ran.played.cycles).map_err(Error::new)?;
    let account = energy::spent(&board.chip).map_err(Error::new)?;
    Ok(run(version.name.replace('.', "-"), name, ran.checked.forwarded, &account))
}

/// Runs the engine in Loom C.
fn own(rig: &Rig, trace: &Trace, bytes: &'static str) -> Result<Run> {
    let spec = &tiled(OWN_MACHINE)?;
    let store = store(&rig.meaning, &trace.routes)?;
    let packets = in_turn(&trace.packets);
    let played = mapper::play(spec, &rig.meaning.optimised, &store, &packets)?;
    Ok(run(OWN.to_owned(), bytes, packets.len(), &played.energy()))
}

/// Merges the packets of all inputs, one of each in turn.
fn in_turn(inputs: &[Vec<Vec<u8>>]) -> Vec<Packet> {
    let most = inputs.iter().map(Vec::len).max().unwrap_or(0);
    let packet = |number: usize| {
        (0..).zip(inputs).filter_map(move |(ingress, input)| {
            Some(Packet { ingress, arrival_ns: 0, bytes: input.get(number)?.clone() })
        })
    };
    (0..most).flat_map(packet).collect()
}

fn run(router: String, bytes: &'static str, packets: usize, account: &Account) -> Run {
    let total = account.total();
    let percent = |energy: Energy| 100.0 * energy.as_joules() / total.as_joules();
    let seconds = account.time().as_seconds();
    let groups = energy::groups(account);
    let groups = groups.map(|(group, energy)| GroupShare { group, percent: percent(energy) });
    let parts = account.parts();
    let parts =
        parts.map(|(part, energy)| PartShare { part: part.to_owned(), percent: percent(energy) });
    Run {
        router,
        bytes,
        packets,
        mpps: packets as f64 / seconds / 1e6,
        watts: total.mean_watts(account.time()),
        nanojoules: total.as_joules() * 1e9 / packets as f64,
        standing_percent: percent(account.stationary()),
        idle_percent: percent(account.idle()),
        groups: groups.collect(),
        parts: parts.collect(),
    }
}

/// Returns the names of all routers.
fn routers() -> impl Iterator<Item = String> {
    VERSIONS.iter().map(|version| version.name.replace('.', "-")).chain([OWN.to_owned()])
}

fn groups_table(values: &Values) -> Result<Table> {
    let heads = ["router", "bytes", "Mpps", "W", "nJ a packet"].into_iter().chain(GROUPS);
    let mut table = Table::new(heads.chain(["leakage and standby", "without access"]));
    for (bytes, ..) in LOADS {
        for router in routers() {
            let of = |field: &str| values.get(&format!("{}.{bytes}.{field}", slug(&router)));
            let mut cells = vec![router.clone(), bytes.to_owned()];
            cells.push(format!("{:.2}", of("mpps")?));
            cells.push(format!("{:.2}", of("watts")?));
            cells.push(number(of("nanojoules")?));
            for group in GROUPS {
                cells.push(format!("{:.1} %", of(&format!("groups.{}.percent", slug(group)))?));
            }
            cells.push(format!("{:.1} %", of("standing_percent")?));
            cells.push(format!("{:.1} %", of("idle_percent")?));
            table.row(cells);
        }
    }
    Ok(table)
}

/// Tabulates the parts of version III and of the engine in Loom C, for packets of 64 bytes.
fn parts_table(values: &Values) -> Result<Table> {
    let mut table = Table::new(["part", "III, %", "Loom C, %"]);
    let parts = TilePart::PARTS.iter().chain(ChipPart::PARTS);
    for part in parts {
        let mut cells = vec![format!("`{}`", part.name)];
        for router in ["III", OWN] {
            let key = format!("{}.64.parts.{}.percent", slug(router), slug(&part.name));
            cells.push(values.fixed(&key, 1)?);
        }
        table.row(cells);
    }
    Ok(table)
}

//! The native router next to a DPDK loop that does the same work, and on two cores next to one. The
//! routers take turns within one run.

use std::time::Instant;

use serde::Serialize;
use wireloom_machine::{Error, Result, Source};
use wireloom_native::Native;
use wireloom_net::traffic::Pick;
use wireloom_net::{Frame, Packet};
use wireloom_plot::{Bars, Group};

use super::cores::{self, OutputSum};
use super::figure::{Choice, Drawn, Figure, Kept};
use super::lookups::Lookups;
use super::peer::{Peer, Work};
use super::processors::Pinned;
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::Values;
use super::workload::{Workload, picked_packets};
use super::{Settings, median, number};
use wireloom_console::output;

pub const FIGURE: Figure = Figure {
    name: "native",
    what: "Native router and lookups next to a DPDK loop that does the same work, and on two cores next to one: rates, taken in turns in one run",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom with programs/tables/demo.tables, 64-byte packets in memory, one core unless a row says two",
        names: &["row"],
        skip: &["samples"],
        tools: &["cc"],
        tables: &[PageTable { name: "rates", write: rates_table }],
    },
};

/// A comparison of the native router with a peer.
struct Compared {
    row: &'static str,
    what: &'static str,
    family: u32,
    pick: Pick,
    /// Constants of the router.
    set: &'static [(&'static str, &'static str)],
    /// The work of the peer. `Scalar` stands for lookups alone, with the faster of the peer's two
    /// functions.
    work: Work,
    /// The least ratio of rates to reach.
    goal: f64,
}

/// Packets per pass. With this number of uniform destinations, a pass touches most of the tables,
/// so a repeated pass finds no more in the caches than a pass over other packets would.
const PACKETS: u64 = 1 << 20;

/// The processor on which DPDK runs the peer (`--lcores` in bench/dpdk). Our router takes its turns
/// there too: when the system moves it to another processor, in a pass or before one, its caches
/// are cold and it takes up to a third more time.
const PEERS_PROCESSOR: usize = 0;

const WITHOUT_SOURCE: &[(&str, &str)] = &[("CHECK_SOURCE", "false"), ("COUNT_FLOWS", "false")];

const COMPARED: [Compared; 5] = [
    Compared {
        row: "whole",
        what: "whole router, IPv4, both tables of 606,138 routes, destinations uniform",
        family: 4,
        pick: Pick::Uniform,
        set: &[],
        work: Work::Whole,
        goal: 1.3,
    },
    Compared {
        row: "forward",
        what: "the same without source lookup and counters, the work of DPDK's l3fwd",
        family: 4,
        pick: Pick::Uniform,
        set: WITHOUT_SOURCE,
        work: Work::Forward,
        goal: 1.3,
    },
    Compared {
        row: "ipv6",
        what: "whole router, IPv6, both tables of 27,693 routes, destinations uniform",
        family: 6,
        pick: Pick::Uniform,
        set: &[],
        work: Work::Whole,
        goal: 1.3,
    },
    Compared {
        row: "zipf",
        what: "whole router, IPv4, destinations by Zipf 1.1",
        family: 4,
        pick: Pick::Zipf(1.1),
        set: &[],
        work: Work::Whole,
        goal: 1.3,
    },
    Compared {
        row: "lookups",
        what: "IPv4 lookups alone, 606,138 routes, destinations uniform",
        family: 4,
        pick: Pick::Uniform,
        set: &[],
        work: Work::Scalar,
        goal: 1.0,
    },
];

/// The comparison whose peer is the same engine on one core.
const TWO_CORES: Compared = Compared {
    row: "cores",
    what: "whole router on two cores, IPv4; the peer is the router on one",
    family: 4,
    pick: Pick::Uniform,
    set: &[],
    work: Work::Whole,
    goal: 1.9,
};

/// A row of the result. Rates are in million packets (or lookups) a second.
#[derive(Clone, Debug, Serialize)]
struct Row {
    row: &'static str,
    what: &'static str,
    ours: f64,
    peer: f64,
    /// The ratio of our median to the peer's.
    ratio: f64,
    /// The least and the greatest ratio of consecutive samples.
    least: f64,
    most: f64,
    goal: f64,
    reached: bool,
    /// Bytes of the table that lookups read, ours and the peer's. Only lookups alone have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    peer_bytes: Option<f64>,
    samples: Vec<[f64; 2]>,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let store = settings.store()?;
    let mut rows = Vec::new();
    let mut faults = Vec::new();
    for compared in &COMPARED {
        let mix = if compared.family == 4 { "ipv4" } else { "ipv6" };
        let packets = picked_packets(settings, mix, compared.pick, PACKETS)?;
        let mut peer = Peer::start(settings, &store, compared.family, &packets)?;
        let row = if compared.work == Work::Scalar {
            lookups(settings, compared, &mut peer, &packets)?
        } else {
            router(settings, compared, &mut peer, packets)?
        };
        faults.extend(row.fault());
        rows.push(row);
    }
    if std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1) {
        let row = TWO_CORES.row(sampled(settings, cores::sampler(settings)?)?);
        faults.extend(row.fault());
        rows.push(row);
    }
    let group = |row: &Row| Group::new(row.row, [row.ours, row.peer]);
    let series = ["native", "peer"].map(str::to_owned);
    let title = "Packets (or lookups) a second in memory";
    let svg = Bars::new(title, "million a second", series, rows.iter().map(group).collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults })
}

/// Compares the router with the peer: first the packets that they send, then the rates.
fn router(
    settings: &Settings,
    compared: &Compared,
    peer: &mut Peer,
    packets: Vec<Packet>,
) -> Result<Row> {
    let set = compared.set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let source = Source { set: set.collect(), ..settings.router()? };
    let mut golden = Workload::of(settings, source.clone(), "golden", packets.clone())?;
    if golden.sent()? != peer.sent(compared.work)? {
        return Err(Error::new(format!(
            "{}: the peer in bench/dpdk does not send what golden sends",
            compared.row
        )));
    }
    drop(golden);
    let mut native = cores::machine(settings, &source)?;
    let _pinned = Pinned::to(PEERS_PROCESSOR);
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    let sample = || {
        // A forwarder normally runs alone, and the other one's turn has evicted its cache lines, so
        // only the second pass counts.
        peer.pass(compared.work)?;
        let pass = peer.pass(compared.work)?;
        let pass = pass.ok_or_else(|| Error::new("the peer took no time"))?;
        mpps(&mut native, &frames);
        Ok([mpps(&mut native, &frames), pass.mpps])
    };
    Ok(compared.row(sampled(settings, sample)?))
}

/// Measures the rate of one pass over the packets.
fn mpps(machine: &mut Native, frames: &[Frame<'_>]) -> f64 {
    let mut left = OutputSum::default();
    let begin = Instant::now();
    machine.offer_to(frames, |output, rest| left.add(output, rest));
    let seconds = begin.elapsed().as_secs_f64();
    assert!(left.count >= frames.len() && left.sum > 0, "every packet has an outcome");
    frames.len() as f64 / seconds / 1e6
}

fn lookups(
    settings: &Settings,
    compared: &Compared,
    peer: &mut Peer,
    packets: &[Packet],
) -> Result<Row> {
    let mut ours = Lookups::new(settings, packets)?;
    let _pinned = Pinned::to(PEERS_PROCESSOR);
    let mut peer_bytes = 0.0;
    let samples = sampled(settings, || {
        peer.look_up()?;
        let pass = peer.look_up()?;
        peer_bytes = pass.table_bytes;
        ours.mpps();
        Ok([ours.mpps(), pass.mpps])
    })?;
    let bytes = ours.bytes() as f64;
    let row = compared.row(samples);
    let reached = row.reached && bytes < peer_bytes / 2.0;
    Ok(Row { reached, bytes: Some(bytes), peer_bytes: Some(peer_bytes), ..row })
}

/// Takes samples of our rate and the peer's, after a warm-up sample.
fn sampled(
    settings: &Settings,
    mut sample: impl FnMut() -> Result<[f64; 2]>,
) -> Result<Vec<[f64; 2]>> {
    sample()?;
    (0..settings.runs).map(|_| sample()).collect()
}

impl Compared {
    fn row(&self, samples: Vec<[f64; 2]>) -> Row {
        let of = |which: usize| median(&samples.iter().map(|s| s[which]).collect::<Vec<f64>>());
        let (ours, peer) = (of(0), of(1));
        let ratios = || samples.iter().map(|[ours, peer]| ours / peer);
        Row {
            row: self.row,
            what: self.what,
            ours,
            peer,
            ratio: ours / peer,
            least: ratios().fold(f64::INFINITY, f64::min),
            most: ratios().fold(0.0, f64::max),
            goal: self.goal,
            reached: ours / peer >= self.goal,
            bytes: None,
            peer_bytes: None,
            samples,
        }
    }
}

impl Row {
    fn fault(&self) -> Option<String> {
        (!self.reached).then(|| {
            format!(
                "{}: {} times the peer's rate, and at least {} is the goal",
                self.row,
                number(self.ratio),
                self.goal
            )
        })
    }
}

fn text(rows: &[Row]) -> String {
    let heads = ["", "native", "peer", "ratio", "least", "most", "goal", ""];
    let mut table = output::table(&heads, &[1, 2, 3, 4, 5, 6]);
    let mut memory = String::new();
    for row in rows {
        let numbers = [row.ours, row.peer, row.ratio, row.least, row.most].map(number);
        let mut cells = vec![row.row.to_owned()];
        cells.extend(numbers);
        cells.push(row.goal.to_string());
        cells.push(if row.reached { "reached" } else { "MISSED" }.to_owned());
        table.add_row(cells);
        if let (Some(bytes), Some(peer)) = (row.bytes, row.peer_bytes) {
            let mib = |bytes: f64| number(bytes / f64::from(1 << 20));
            memory =
                format!("Memory that lookups read: {} MiB, DPDK {} MiB.\n", mib(bytes), mib(peer));
        }
    }
    let rows: String = rows.iter().map(|row| format!("{}: {}\n", row.row, row.what)).collect();
    format!(
        "{table}\n\nThe peer is a DPDK loop that does the same work, unless the row says otherwise.\n\
         Million packets (or lookups) a second; medians, and the spread of ratios of samples taken in turns.\n\
         {rows}{memory}"
    )
}

/// Tabulates the rates for pages.
fn rates_table(values: &Values) -> Result<Table> {
    let mut table = Table::new(["what", "native", "peer", "ratio (least to most)", "goal", ""]);
    // A computer with one core has no row for two.
    let cores = values.get("cores.ours").is_ok().then_some(&TWO_CORES);
    for compared in COMPARED.iter().chain(cores) {
        let get = |what: &str| values.get(&format!("{}.{what}", compared.row));
        let [ours, peer, ratio, least, most] = [
            number(get("ours")?),
            number(get("peer")?),
            number(get("ratio")?),
            number(get("least")?),
            number(get("most")?),
        ];
        let reached = if get("reached")? == 1.0 { "reached" } else { "missed" };
        table.row([
            compared.what.to_owned(),
            ours,
            peer,
            format!("{ratio} ({least} to {most})"),
            format!("at least {}", compared.goal),
            reached.to_owned(),
        ]);
    }
    Ok(table)
}

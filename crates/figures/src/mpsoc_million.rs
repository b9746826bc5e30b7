//! Millions of packets through the StepNP paper's machine for OC-192, compared with golden. No
//! packet may differ, the order of each flow must be kept, and every loss must have a cause.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;
use wireloom_ir::{Execute, Golden, Verdict};
use wireloom_mpsoc::engine::{MpsocEngine, Settled};
use wireloom_mpsoc::{Options, Spec};
use wireloom_net::Packet;
use wireloom_net::tables::read_prefixes;
use wireloom_net::traffic::{self, AddressSpec, Labels, Pick, Sizes};
use wireloom_sim::stats::{Record, Value as Statistic};
use wireloom_sim::sweep;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::mpsoc::workers;
use super::mpsoc_rig::{Router, machine};
use super::np_traffic::Traffic;
use super::rate::{Rate, Verdicts};
use super::registry::{command, json};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};
use wireloom_console::Working;
use wireloom_console::{output, thousands};
use wireloom_machine::{Error, Result};
use wireloom_machine::{Outputs, differences};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "mpsoc-million",
    what: "StepNP: millions of packets and real captures on mpsoc-oc192 against golden; order of flows, and why packets are lost",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom",
        names: &["traffic", "machine"],
        skip: &[],
        tools: &["arm-none-eabi-gcc"],
        tables: &[PageTable { name: "runs", write: table }],
    },
};

/// The names of the runs.
const RUNS: [&str; 5] = [
    "IPv4, 54 bytes",
    "the same, zipf:1.2",
    "all six, 54 bytes",
    "mix of the demonstration",
    "the same, line out 20 Gb/s",
];
/// Packets of a run.
const PACKETS: usize = 1_000_000;
const MACHINE: &str = "mpsoc-oc192";
/// Machines that run real captures.
const FOR_CAPTURES: [&str; 2] = ["mpsoc-oc48", MACHINE];
/// Packets per batch: more than can be in flight in the machine.
const BATCH: usize = 16_384;
/// Packets of one flow with a smaller distance than this may be in the machine at the same time.
const NEAR: u64 = 64;
/// The number of initial packets whose losses are counted separately, since caches are cold.
const COLD: u64 = 20_000;
/// A line that is busy for this share of a run is the bottleneck. It is idle only before the first
/// and after the last packet.
const FULL: f64 = 0.99;

/// The inputs of a run.
pub struct Trial<'a> {
    pub name: &'static str,
    pub router: &'a Router,
    pub traffic: traffic::Spec,
    pub spec: Spec,
}

/// The result of a run.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Held {
    pub traffic: &'static str,
    /// Gb/s of the output line; the input line has 10 Gb/s.
    line_out_gbps: f64,
    /// All statistics of the machine.
    #[serde(skip)]
    pub record: Record,
    /// Packets that were compared with golden.
    pub compared: u64,
    /// Packets that were lost at the input, and the number of them among the first 20,000.
    pub lost: u64,
    lost_cold: u64,
    /// The first difference from golden, in words.
    difference: Option<String>,
    /// Whether there is a difference.
    pub differs: bool,
    /// The number of flows, each a set of packets with equal bytes.
    flows: u64,
    /// Packets that arrived fewer than 64 packets after another one of their flow.
    near: u64,
    /// Packets that left after a packet of their flow that had arrived later.
    overtaken: u64,
    #[serde(flatten)]
    pub rate: Rate,
    /// Shares of time in which the lines were busy.
    line_in: f64,
    line_out: f64,
    /// Mean bytes of a packet on the lines: of arrived packets, lost ones included, and of packets
    /// that left.
    bytes_in: f64,
    bytes_out: f64,
}

/// The results of real captures on a machine.
#[derive(Clone, Debug, Serialize)]
struct Captured {
    machine: String,
    files: usize,
    compared: u64,
    lost: u64,
    differs: bool,
}

#[derive(Serialize)]
struct Data {
    runs: Vec<Held>,
    captures: Vec<Captured>,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let working = Working::on("the routing table");
    let plain = Router::new(settings)?;
    let prefixes = read_prefixes(&settings.prefixes()?).map_err(Error::new)?.into_iter().collect();
    // Some next hops of the demonstration put tags and labels in front of packets.
    let demo = Router::with(&settings.router()?, vec![settings.tables()?], prefixes)?;
    let spec = machine(MACHINE)?;
    let mut wide = spec.clone();
    wide.io.output.rate *= 2;
    let ipv4 = Traffic::named("IPv4").expect("it is there").bare(54);
    let zipf = AddressSpec { prefixes: None, pick: Pick::Zipf(1.2) };
    let flows = traffic::Spec { destinations: zipf.clone(), sources: zipf, ..ipv4.clone() };
    let six = Traffic::named("all six").expect("it is there").bare(54);
    // The mix of `make demo`.
    let mixed = traffic::Spec {
        sizes: Sizes::Fixed(64),
        mix: "ipv4=5,ipv6=3,mpls1..4=2".parse().map_err(Error::new)?,
        labels: Labels { first: 16, last: 79 },
        ports: 16,
        ..traffic::Spec::default()
    };
    let trial = |name, router, traffic: &traffic::Spec, spec: &Spec| Trial {
        name,
        router,
        traffic: traffic.clone(),
        spec: spec.clone(),
    };
    let trials = [
        trial(RUNS[0], &plain, &ipv4, &spec),
        trial(RUNS[1], &plain, &flows, &spec),
        trial(RUNS[2], &plain, &six, &spec),
        trial(RUNS[3], &demo, &mixed, &spec),
        trial(RUNS[4], &demo, &mixed, &wide),
    ];
    working.now("five million packets, against golden");
    let hold = |trial: &Trial<'_>| hold(trial, PACKETS);
    let runs = sweep(&trials, workers(), hold).map_err(Error::new)?;
    let runs = runs.into_iter().collect::<Result<Vec<Held>>>()?;
    working.now("real captures, against golden");
    let captures =
        FOR_CAPTURES.into_iter().map(|name| captures(settings, name)).collect::<Result<_>>()?;
    drop(working);
    let title = "Length of packets on the line in, and on the line out";
    let svg = Bars::new(title, "mean length, bytes", ["in", "out"], groups(&runs)).svg();
    let data = Data { runs, captures };
    let (text, faults) = (text(&data), faults(&data));
    let data = serde_json::to_value(&data).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text, data, svg, faults })
}

/// Runs the packets on the machine and on golden, and compares the outputs and the final state of
/// offloads.
///
/// # Errors
/// If the machine does not run the program.
pub fn hold(trial: &Trial<'_>, count: usize) -> Result<Held> {
    let Trial { name, router, traffic, spec } = trial;
    let mut golden = Golden::new(router.program().clone(), router.loaded()?);
    let engine = MpsocEngine::new(spec, router.program(), router.loaded()?, Options::default());
    let mut engine = engine.map_err(Error::new)?;
    let mut packets = router.traffic(traffic)?.take(count);
    let mut check = Check::default();
    let mut verdicts = Verdicts::default();
    let mut end = false;
    while !end && check.difference.is_none() {
        let batch: Vec<Packet> = packets.by_ref().take(BATCH).collect();
        end = batch.is_empty();
        check.outputs.clear();
        let mut keep = |output: wireloom_ir::Output<'_>| {
            verdicts.add(output.verdict, output.bytes.len());
            check.outputs.keep(output);
        };
        let settled =
            if end { engine.finish(&mut keep) } else { engine.execute(&batch, &mut keep) };
        check.settle(batch, &settled.map_err(Error::new)?, &mut golden);
    }
    let state = differences(golden.store(), engine.store());
    let state = state.first().map(|row| format!("offload {} differs at {}", row.offload, row.key));
    let (totals, record) = (engine.totals(), engine.record());
    let statistic = |path: &str| match record.value(&format!("platform.io.{path}")) {
        Some(Statistic::Count(count)) => Ok(*count as f64),
        Some(Statistic::Number(number)) => Ok(*number),
        _ => Err(Error::new(format!("the machine's record has no '{path}'"))),
    };
    Ok(Held {
        traffic: name,
        line_out_gbps: spec.io.output.rate as f64 / 1e9,
        compared: check.compared,
        lost: totals.lost,
        lost_cold: check.lost_cold,
        differs: check.difference.is_some() || state.is_some(),
        difference: check.difference.or(state),
        flows: check.flows.len() as u64,
        near: check.near,
        overtaken: check.overtaken,
        rate: verdicts.rate(totals.now.as_seconds()),
        line_in: statistic("input.line.use")?,
        line_out: statistic("output.line.use")?,
        bytes_in: statistic("input.line.bytes")? / (totals.taken + totals.lost) as f64,
        bytes_out: statistic("output.line.bytes")? / statistic("output.packets")?,
        record,
    })
}

/// A flow: packets with equal bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    /// The numbers of the flow's last arrival and last departure, each plus one; 0 before the
    /// first.
    came: u64,
    left: u64,
}

/// The state of a run so far.
#[derive(Default)]
struct Check {
    outputs: Outputs,
    expected: Outputs,
    /// Packets with pending outputs and their flows, by number; and the number of packets offered.
    open: BTreeMap<u64, (u64, Packet)>,
    given: u64,
    /// Flows by a hash of their packets' bytes. Two flows with the same hash count as one; its
    /// order must be kept as well.
    flows: HashMap<u64, Flow>,
    compared: u64,
    near: u64,
    overtaken: u64,
    lost_cold: u64,
    difference: Option<String>,
}

impl Check {
    /// Records a batch that was offered and the packets that have settled. Golden executes the same
    /// packets, and the outputs are compared.
    fn settle(&mut self, batch: Vec<Packet>, settled: &Settled, golden: &mut Golden) {
        for packet in batch {
            let mut hasher = DefaultHasher::new();
            packet.bytes.hash(&mut hasher);
            let (number, hash) = (self.given, hasher.finish());
            self.given += 1;
            let flow = self.flows.entry(hash).or_default();
            self.near += u64::from(flow.came > 0 && number + 1 - flow.came < NEAR);
            flow.came = number + 1;
            self.open.insert(number, (hash, packet));
        }
        for number in &settled.lost {
            self.open.remove(number);
            self.lost_cold += u64::from(*number < COLD);
        }
        self.follow();
        let taken = settled.taken.iter().filter_map(|number| self.open.remove(number));
        let taken: Vec<Packet> = taken.map(|(_, packet)| packet).collect();
        let base = self.compared;
        self.compared += taken.len() as u64;
        self.expected.clear();
        golden.execute(&taken, &mut |output| {
            let sequence = settled.taken[(output.sequence - base) as usize];
            self.expected.keep(wireloom_ir::Output { sequence, ..output });
        });
        let outputs = self.outputs.len().max(self.expected.len());
        let differs =
            (0..outputs).find(|index| self.outputs.at(*index) != self.expected.at(*index));
        self.difference = differs.map(|index| {
            let number = |outputs: &Outputs| outputs.at(index).map(|output| output.sequence);
            let first = [number(&self.outputs), number(&self.expected)].into_iter().flatten().min();
            format!("packet {} differs", first.unwrap_or(0))
        });
    }

    /// Counts packets that left after a packet of their flow that had arrived later.
    fn follow(&mut self) {
        for output in
            self.outputs.iter().filter(|output| matches!(output.verdict, Verdict::Sent { .. }))
        {
            let Some((hash, _)) = self.open.get(&output.sequence) else { continue };
            let flow = self.flows.entry(*hash).or_default();
            self.overtaken += u64::from(output.sequence + 1 < flow.left);
            flow.left = flow.left.max(output.sequence + 1);
        }
    }
}

/// Runs all captures of real traffic with `wireloom verify`.
fn captures(settings: &Settings, name: &str) -> Result<Captured> {
    let folder = settings.file(
        ".cache/data/pathspider/usr/lib/python3/dist-packages/pathspider/tests/data/real.pcap",
    )?;
    let folder = folder.parent().unwrap_or(Path::new("."));
    let unreadable = |error: std::io::Error| Error::new(format!("{}: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(unreadable)?;
    let paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<PathBuf>, _>>();
    let mut files = paths.map_err(unreadable)?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "pcap"));
    files.sort();
    let mut verify = command()?;
    verify.arg("verify").arg(settings.router()?.file).arg("--tables").arg(settings.tables()?);
    files.iter().for_each(|file| {
        verify.arg("--in").arg(file);
    });
    verify.args(["--on", name, "--json", "-"]);
    captured(name, files.len(), &json(&mut verify)?)
}

/// Parses the report of `wireloom verify` on one machine.
fn captured(name: &str, files: usize, report: &Value) -> Result<Captured> {
    let missing = |what: &str| Error::new(format!("the report of 'wireloom verify' has no {what}"));
    // The first machine is golden.
    let own = report["machines"].get(1).ok_or_else(|| missing("machine"))?;
    Ok(Captured {
        machine: name.to_owned(),
        files,
        compared: own["compared"].as_u64().ok_or_else(|| missing("count of packets"))?,
        lost: own["simulation"]["lost"].as_u64().ok_or_else(|| missing("count of lost packets"))?,
        differs: report["differences"].get(0).is_some(),
    })
}

fn groups(runs: &[Held]) -> Vec<Group> {
    runs.iter().map(|run| Group::new(run.traffic, [run.bytes_in, run.bytes_out])).collect()
}

impl Held {
    /// Whether the outputs exceed the output line's capacity. Every machine would then lose
    /// packets.
    fn is_line_full(&self) -> bool {
        self.line_out > FULL && self.bytes_out > self.bytes_in
    }

    /// Returns the violations of the run, one sentence each.
    fn faults(&self) -> Vec<String> {
        let order = (self.overtaken > 0).then(|| {
            format!("{} packets have overtaken others of their flow", thousands(self.overtaken))
        });
        let lost = (self.lost > 0 && !self.is_line_full())
            .then(|| format!("{} packets are lost", thousands(self.lost)));
        let all = self.difference.iter().cloned().chain(order).chain(lost);
        all.map(|fault| format!("{}: {fault}", self.traffic)).collect()
    }
}

fn faults(data: &Data) -> Vec<String> {
    let captures = data.captures.iter().filter(|captured| captured.differs || captured.lost > 0);
    let captures = captures.map(|captured| {
        format!("real captures on {}: they differ, or packets are lost", captured.machine)
    });
    data.runs.iter().flat_map(Held::faults).chain(captures).collect()
}

fn text(data: &Data) -> String {
    let heads = [
        "packets",
        "compared",
        "against golden",
        "flows",
        "near",
        "overtaken",
        "lost",
        "of them cold",
        "MPPS",
        "line in",
        "out",
        "bytes in",
        "out",
    ];
    let mut table = output::table(&heads, &(3..heads.len()).chain([1]).collect::<Vec<_>>());
    let verdict = |difference: Option<&str>| difference.unwrap_or("no difference").to_owned();
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    for run in &data.runs {
        table.add_row([
            run.traffic.to_owned(),
            thousands(run.compared),
            verdict(run.difference.as_deref()),
            thousands(run.flows),
            thousands(run.near),
            thousands(run.overtaken),
            thousands(run.lost),
            thousands(run.lost_cold),
            number(run.rate.mpps()),
            percent(run.line_in),
            percent(run.line_out),
            format!("{:.2}", run.bytes_in),
            format!("{:.2}", run.bytes_out),
        ]);
    }
    let mut captures = output::table(
        &["real captures on", "files", "packets", "lost", "against golden"],
        &[1, 2, 3],
    );
    for captured in &data.captures {
        captures.add_row([
            captured.machine.clone(),
            captured.files.to_string(),
            thousands(captured.compared),
            thousands(captured.lost),
            verdict(captured.differs.then_some("DIFFERS")),
        ]);
    }
    let full = data.runs.iter().filter(|run| run.lost > 0 && run.is_line_full()).map(|run| {
        format!(
            "{}: a packet that leaves has {:.2} bytes more than one that comes, so that the line out, which is busy for {} of the time, cannot keep up with an equal line in; \
             {} are lost.\n",
            run.traffic,
            run.bytes_out - run.bytes_in,
            percent(run.line_out),
            thousands(run.lost)
        )
    });
    let full: String = full.collect();
    format!(
        "{table}\n\n{full}\n{captures}\n\n{MACHINE}, whose lines carry 10 Gb/s each way but where a row says more; packets come without gaps. Compared: bytes, ports, verdicts and their order, and at the end \
         what all offloads hold. A flow is all packets of the same bytes; near: fewer than {NEAR} packets behind another one of the flow; overtaken: left before one of the flow that came earlier. \
         Cold: among the first {}. Busy lines and bytes are those of the machine's statistics.\n",
        thousands(COLD)
    )
}

/// Tabulates the runs for pages.
fn table(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "1,000,000 packets of",
        "compared",
        "differences",
        "packets that overtook one of their flow",
        "near",
        "lost",
        "line out busy",
        "bytes in, out",
    ]);
    for name in RUNS {
        let key = |field| format!("runs.{}.{field}", slug(name));
        let count = |field| values.fixed(&key(field), 0);
        table.row([
            name.to_owned(),
            count("compared")?,
            count("differs")?,
            count("overtaken")?,
            count("near")?,
            count("lost")?,
            values.percent(&key("line_out"), 1)?,
            format!(
                "{}, {}",
                values.fixed(&key("bytes_in"), 2)?,
                values.fixed(&key("bytes_out"), 2)?
            ),
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::super::mpsoc_rig::tests::router;
    use super::*;
    use serde_json::json;
    use wireloom_ir::Output;

    #[test]
    fn packets_are_held_to_golden_with_what_left_and_what_is_lost() {
        let (router, _folder) = router();
        let mut spec = machine("mpsoc-oc48").expect("a machine");
        let traffic = Traffic::named("IPv4").expect("it is there").bare(54);
        let zipf = AddressSpec { prefixes: None, pick: Pick::Zipf(1.0) };
        let traffic = traffic::Spec { destinations: zipf.clone(), sources: zipf, ..traffic };
        let trial = |spec: &Spec| Trial {
            name: "few",
            router: &router,
            traffic: traffic.clone(),
            spec: spec.clone(),
        };
        let held = hold(&trial(&spec), 300).expect("it runs");
        assert_eq!(
            (held.compared, held.lost, held.overtaken, held.flows),
            (300, 0, 0, 1),
            "{held:?}"
        );
        assert!(held.near == 299 && held.faults().is_empty(), "{held:?}");
        assert_eq!((held.bytes_in, held.bytes_out), (54.0, 54.0));
        // A machine that is too slow loses packets for which its lines are not the cause.
        spec.io.input.rate *= 40;
        spec.io.input.queue_packets = 4;
        let held = hold(&trial(&spec), 1500).expect("it runs");
        assert_eq!(held.compared + held.lost, 1500);
        assert!(
            held.lost > 0 && held.lost == held.lost_cold && held.difference.is_none(),
            "{held:?}"
        );
    }

    #[test]
    fn a_packet_that_overtakes_one_of_its_flow_and_one_that_differs_are_seen() {
        let (router, _folder) = router();
        let packets: Vec<Packet> =
            router.packets(Traffic::named("IPv4").expect("it is there"), 54, 2).expect("packets");
        let batch = vec![packets[0].clone(), packets[1].clone(), packets[0].clone()];
        let check = |order: [u64; 3], odd: u64| {
            let mut golden =
                Golden::new(router.program().clone(), router.loaded().expect("a table"));
            let mut all = Outputs::default();
            golden.execute(&batch, &mut |output| all.keep(output));
            let mut check = Check::default();
            for number in order {
                let output = all.at(number as usize).expect("it is forwarded");
                let spoilt: Vec<u8> =
                    output.bytes.iter().map(|byte| byte ^ u8::from(number == odd)).collect();
                check.outputs.keep(Output { bytes: &spoilt, ..output });
            }
            let mut golden =
                Golden::new(router.program().clone(), router.loaded().expect("a table"));
            check.settle(
                batch.clone(),
                &Settled { taken: order.to_vec(), lost: Vec::new() },
                &mut golden,
            );
            check
        };
        let right = check([0, 1, 2], 9);
        assert_eq!((right.overtaken, right.near, right.difference), (0, 1, None));
        assert_eq!(check([1, 0, 2], 9).overtaken, 0, "another flow");
        assert_eq!(check([2, 1, 0], 9).overtaken, 1);
        assert_eq!(check([0, 1, 2], 1).difference.as_deref(), Some("packet 1 differs"));
    }

    #[test]
    fn losses_are_a_fault_unless_the_line_out_is_full() {
        let run = Held {
            traffic: "few",
            lost: 5,
            line_out: 0.9,
            bytes_in: 60.0,
            bytes_out: 61.5,
            ..Held::default()
        };
        assert_eq!(run.faults(), ["few: 5 packets are lost"]);
        let full = Held { line_out: 0.999, ..run.clone() };
        assert_eq!(full.faults(), Vec::<String>::new());
        assert_eq!(Held { bytes_out: 60.0, ..full.clone() }.faults().len(), 1);
        let bad =
            Held { overtaken: 2, difference: Some("packet 3 differs".to_owned()), ..full.clone() };
        assert_eq!(bad.faults().len(), 2);
        let report = json!({"machines": [{}, {"compared": 7, "simulation": {"lost": 0}}], "differences": [{}]});
        let captured = captured("mpsoc-oc48", 3, &report).expect("a report");
        assert!(captured.differs && captured.compared == 7);
        let data = Data { runs: vec![full, bad], captures: vec![captured] };
        assert_eq!(faults(&data).len(), 3);
        let text = text(&data);
        assert!(text.contains("1.50 bytes more") && text.contains("DIFFERS"), "{text}");
    }
}

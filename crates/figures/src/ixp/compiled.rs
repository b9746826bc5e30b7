//! Engines in Loom C on the three chips: packet rate, size in the control stores, and utilisation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use wireloom_console::{Working, output, thousands};
use wireloom_ir::{Execute, Golden, Output, Verdict};
use wireloom_ixp::{Compiled, Spec, compile};
use wireloom_machine::{Error, Machine, Options, Program, Result, Source, load_store};
use wireloom_net::Packet;
use wireloom_net::traffic::{self, AddressSpec, Generator, Labels, Pick, Sizes};
use wireloom_plot::{Bars, Group};
use wireloom_sim::sweep_longest_first;

use super::{LINE_RATE, busiest};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::rate::{Rate, Verdicts};
use crate::registry::scratch;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::{Values, slug};

pub const FIGURE: Figure = Figure {
    name: "ixp-compiled",
    what: "engines in Loom C on ixp1200, ixp2400 and ixp2800: packets a second, control stores, what is in use",
    choice: Choice::Some(|| MACHINES.map(str::to_owned).to_vec()),
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/ipv4.loom, programs/router.loom and programs/nat.loom with the tables of programs/tables",
        names: &["program", "machine"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "rates", write: rates },
            PageTable { name: "use", write: in_use },
        ],
    },
};

const MACHINES: [&str; 3] = ["ixp1200", "ixp2400", "ixp2800"];
const PORTS: u16 = 8;
/// Packets offered per second: more than any chip accepts.
const OFFERED: u64 = 20_000_000;
/// MPKTs that a port holds. All packets that arrive on a port fit, so none is lost.
const HELD: u32 = 4096;
/// The number of packets from inside that precede a block of their replies.
const BLOCK: usize = 250;
/// The file from whose prefixes addresses are drawn.
const PREFIXES: &str = "programs/tables/eight-ports.tables";

/// A program and its packets.
struct Case {
    name: &'static str,
    program: &'static str,
    tables: &'static str,
    mix: &'static str,
    /// The number of ports on which packets arrive, in turn.
    ports: u16,
    /// The number of generated packets, and whether replies to the program's outputs follow.
    /// Packets that golden does not send are removed.
    packets: u64,
    replies: bool,
    /// The duration of a run relative to others.
    cost: u64,
}

const CASES: [Case; 3] = [
    Case {
        name: "ipv4",
        program: "programs/ipv4.loom",
        tables: PREFIXES,
        mix: "ipv4=1",
        ports: PORTS,
        packets: 10_000,
        replies: false,
        cost: 1,
    },
    Case {
        name: "router",
        program: "programs/router.loom",
        tables: PREFIXES,
        mix: "ipv4=5,ipv6=3,mpls1..2/ipv4=2",
        ports: PORTS,
        packets: 10_000,
        replies: false,
        cost: 2,
    },
    Case {
        name: "nat",
        program: "programs/nat.loom",
        tables: "programs/tables/nat.tables",
        mix: "ipv4=1",
        ports: 1, // inside; replies come from outside
        packets: 2000,
        replies: true,
        cost: 3,
    },
];

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
struct Row {
    program: &'static str,
    machine: &'static str,
    /// The rate from the first packet to the departure of the last one.
    #[serde(flatten)]
    rate: Rate,
    /// Packets that arrived, and packets that found no room at a port.
    offered: u64,
    lost: u64,
    /// The number of control stores over which the program is cut, and the sum of words in them.
    parts: usize,
    words: usize,
    /// The number of contexts that each process a packet at a time.
    threads: u32,
    /// The share of cycles in which engines computed, and in which they had no ready context.
    busy: f64,
    idle: f64,
    /// The utilisation of each unit and bus.
    in_use: BTreeMap<String, f64>,
}

impl Case {
    /// Returns packets of 60 bytes (frames of 64 with the check sequence), or as long as their
    /// headers need. The program sends all of them.
    fn packets(
        &self,
        settings: &Settings,
        program: &Program,
        tables: &Path,
    ) -> Result<Vec<Packet>> {
        let prefixes = Some(settings.file(PREFIXES)?);
        let spec = traffic::Spec {
            count: Some(self.packets),
            sizes: Sizes::Fixed(64),
            mix: self.mix.parse().map_err(Error::new)?,
            labels: Labels { first: 16, last: 19 },
            ports: self.ports,
            rate: traffic::Rate::PacketsPerSecond(OFFERED),
            destinations: AddressSpec { prefixes: prefixes.clone(), pick: Pick::Uniform },
            sources: AddressSpec { prefixes, pick: Pick::Uniform },
            ..traffic::Spec::default()
        };
        let packets: Vec<Packet> = Generator::new(&spec).map_err(Error::new)?.collect();
        let (store, _) = load_store(&program.optimised, &[tables.to_owned()], &|_| ())?;
        let golden = || Golden::new(program.optimised.clone(), store.clone());
        let mut packets = sent(&packets, &mut golden()).0;
        if self.replies {
            // Randomly drawn ports depend on a packet's number, so golden restarts without the
            // removed packets.
            packets = with_replies(&packets, &mut golden());
        }
        for (number, packet) in packets.iter_mut().enumerate() {
            packet.arrival_ns = number as u64 * 1_000_000_000 / OFFERED;
        }
        Ok(packets)
    }

    /// Returns the text of the tables that the program uses.
    fn tables(&self, settings: &Settings, program: &Program) -> Result<String> {
        let path = settings.file(self.tables)?;
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Error::new(format!("{}: {error}", path.display())))?;
        let engine = &program.optimised.engines[program.optimised.main.index()];
        let mut is_known = true;
        let is_kept = |line: &&str| {
            if let Some(name) = line.strip_prefix("table ") {
                is_known = engine.offloads.iter().any(|offload| offload.name == name.trim());
            }
            is_known
        };
        Ok(text.lines().filter(is_kept).collect::<Vec<_>>().join("\n"))
    }

    fn run(
        &self,
        machine: &'static str,
        program: &Program,
        tables: PathBuf,
        packets: &[Packet],
    ) -> Result<Row> {
        let mut spec = Spec::installed(machine).map_err(Error::new)?;
        (spec.ports.rate, spec.ports.receive_mpkts) = (LINE_RATE, HELD);
        let (mut store, _) = load_store(&program.optimised, &[tables], &|_| ())?;
        let compiled = compile(&spec, program, &mut store).map_err(|refused| {
            let first = refused.into_iter().next().map(|first| first.message);
            Error::new(first.unwrap_or_default())
        })?;
        let (words, threads) = (compiled.words(), compiled.threads());
        let chip = Compiled::start(compiled, &spec, store, &Options::default())?;
        let mut chip: Box<dyn Machine> = Box::new(chip);
        let frames: Vec<_> = packets.iter().map(Packet::frame).collect();
        let mut verdicts = Verdicts::default();
        let mut count = |output: Output<'_>| verdicts.add(output.verdict, output.bytes.len());
        let offered = chip.offer(&frames, &mut count)?;
        let finished = chip.finish(&mut count)?;
        let record =
            chip.record(Duration::ZERO).ok_or_else(|| Error::new("a chip has a record"))?;
        let report =
            serde_json::to_value(&record.values).map_err(|error| Error::new(error.to_string()))?;
        let number = |path: &str| {
            let found = report.pointer(path).and_then(serde_json::Value::as_f64);
            found.ok_or_else(|| Error::new(format!("the report of a chip has no {path}")))
        };
        Ok(Row {
            program: self.name,
            machine,
            rate: verdicts.rate(number("/simulated_us")? / 1e6),
            offered: packets.len() as u64,
            lost: (offered.lost.len() + finished.lost.len()) as u64,
            parts: words.len(),
            words: words.iter().sum(),
            threads,
            busy: number("/engines/busy")?,
            idle: number("/engines/idle")?,
            in_use: record.parts.iter().map(|part| (slug(&part.kind), part.share)).collect(),
        })
    }
}

/// Adds replies to the packets that golden sends, at the same rate: a block of packets, then the
/// replies to it.
fn with_replies(packets: &[Packet], golden: &mut Golden) -> Vec<Packet> {
    let mut all = Vec::new();
    for block in packets.chunks(BLOCK) {
        let (kept, sent) = sent(block, golden);
        all.extend(kept);
        all.extend(self::sent(&sent.iter().map(reply).collect::<Vec<_>>(), golden).0);
    }
    all
}

/// Returns the packets that golden sends, and the outputs as returning packets.
fn sent(packets: &[Packet], golden: &mut Golden) -> (Vec<Packet>, Vec<Packet>) {
    let (mut kept, mut sent) = (Vec::new(), Vec::new());
    for packet in packets {
        golden.execute(std::slice::from_ref(packet), &mut |output| {
            if let Verdict::Sent { port } = output.verdict {
                kept.push(packet.clone());
                sent.push(Packet { ingress: port, arrival_ns: 0, bytes: output.bytes.to_vec() });
            }
        });
    }
    (kept, sent)
}

/// Returns a packet with source and destination exchanged: Ethernet addresses, IPv4 addresses and
/// ports. The checksums remain valid.
fn reply(packet: &Packet) -> Packet {
    let (bytes, mut reply) = (&packet.bytes, packet.clone());
    for (first, second, length) in [(0, 6, 6), (26, 30, 4), (34, 36, 2)] {
        reply.bytes[first..first + length].copy_from_slice(&bytes[second..second + length]);
        reply.bytes[second..second + length].copy_from_slice(&bytes[first..first + length]);
    }
    reply
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("engines in Loom C on three chips");
    let folder = scratch()?;
    let mut ready = Vec::new();
    for case in &CASES {
        let program = Source::of(settings.file(case.program)?).compiled()?;
        let tables = folder.path().join(format!("{}.tables", case.name));
        output::write_file(&tables, case.tables(settings, &program)?.as_bytes())?;
        let packets = case.packets(settings, &program, &tables)?;
        ready.push((case, program, tables, packets));
    }
    let machines = MACHINES.into_iter().filter(|machine| settings.wants(machine));
    let trials: Vec<_> =
        machines.flat_map(|machine| ready.iter().map(move |ready| (machine, ready))).collect();
    let cost = |(_, (case, ..)): &(&str, &(&Case, _, _, _))| case.cost;
    let rows = sweep_longest_first(&trials, workers(), cost, |(machine, ready)| {
        let (case, program, tables, packets) = ready;
        case.run(machine, program, tables.clone(), packets)
    });
    let rows: Vec<Row> = rows.map_err(Error::new)?.into_iter().collect::<Result<_>>()?;
    let groups = CASES.each_ref().map(|case| {
        let own = rows.iter().filter(|row| row.program == case.name);
        Group::new(case.name, own.map(|row| row.rate.mpps()))
    });
    let machines = MACHINES.into_iter().filter(|machine| settings.wants(machine));
    let title = "Engines in Loom C, frames of 64 bytes";
    let svg = Bars::new(title, "million packets a second", machines, groups.to_vec()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: rows.iter().filter_map(fault).collect() })
}

/// Reports packets that golden sends and the machine does not. Ports have separate queues, so the
/// chip may process a reply before the packet that it replies to. It then drops the reply; the
/// table lists these drops next to the rate.
fn fault(row: &Row) -> Option<String> {
    let (program, machine, missing) = (row.program, row.machine, row.rate.dropped() + row.lost);
    let has_replies = CASES.iter().any(|case| case.name == program && case.replies);
    (missing > 0 && !has_replies).then(|| {
        format!("{program} on {machine}: {missing} of {} packets do not leave", row.offered)
    })
}

const HEADS: [&str; 10] = [
    "program",
    "machine",
    "Mpps",
    "dropped",
    "lost",
    "parts",
    "instructions",
    "threads",
    "engines busy",
    "in use most",
];

fn text(rows: &[Row]) -> String {
    let mut table = output::table(&HEADS, &[2, 3, 4, 5, 6, 7, 8]);
    for row in rows {
        table.add_row([
            row.program.to_owned(),
            row.machine.to_owned(),
            format!("{:.3}", row.rate.mpps()),
            thousands(row.rate.dropped()),
            thousands(row.lost),
            row.parts.to_string(),
            thousands(row.words as u64),
            row.threads.to_string(),
            format!("{:.0} %", 100.0 * row.busy),
            busiest(|unit| row.in_use.get(unit).copied()),
        ]);
    }
    format!(
        "{table}\n\nFrom the first packet to the last one, {} million a second offered.\n",
        OFFERED / 1_000_000
    )
}

/// Tabulates the rates for pages.
fn rates(values: &Values) -> Result<Table> {
    let heads = ["program", "packets", "dropped or lost"].map(str::to_owned).into_iter();
    let mut table = Table::new(heads.chain(MACHINES.map(|machine| format!("`{machine}`, Mpps"))));
    for case in &CASES {
        let of =
            |machine: &str, field: &str| values.get(&format!("{}.{machine}.{field}", case.name));
        let mut missing = 0.0;
        for machine in MACHINES {
            missing += of(machine, "dropped")? + of(machine, "lost")?;
        }
        let offered = of(MACHINES[0], "offered")? as u64;
        let mut cells = vec![format!("`{}`", case.name), thousands(offered), missing.to_string()];
        for machine in MACHINES {
            cells.push(values.short(&format!("{}.{machine}.mpps", case.name))?);
        }
        table.row(cells);
    }
    Ok(table)
}

/// Tabulates control stores and utilisation for pages.
fn in_use(values: &Values) -> Result<Table> {
    let mut table =
        Table::new(HEADS.into_iter().filter(|head| !["Mpps", "dropped", "lost"].contains(head)));
    for case in &CASES {
        for machine in MACHINES {
            let of = |field: &str| format!("{}.{machine}.{field}", case.name);
            table.row([
                format!("`{}`", case.name),
                format!("`{machine}`"),
                values.fixed(&of("parts"), 0)?,
                values.fixed(&of("words"), 0)?,
                values.fixed(&of("threads"), 0)?,
                values.percent(&of("busy"), 0)?,
                busiest(|unit| values.get(&of(&format!("in_use.{unit}"))).ok()),
            ]);
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn programs_have_the_tables_and_packets_that_they_need() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let settings = Settings { root, runs: 1, only: Vec::new() };
        let folder = scratch().expect("a folder");
        for case in &CASES {
            let file = settings.file(case.program).expect(case.name);
            let program = Source::of(file).compiled().expect(case.name);
            let text = case.tables(&settings, &program).expect(case.name);
            assert!(text.contains("\ntable ports\n"), "{}", case.name);
            assert_eq!(text.contains("table labels"), case.name == "router", "{}", case.name);
            let tables = folder.path().join(format!("{}.tables", case.name));
            std::fs::write(&tables, text).expect(case.name);
            let packets = case.packets(&settings, &program, &tables).expect(case.name);
            assert!(packets.is_sorted_by_key(|packet| packet.arrival_ns), "{}", case.name);
            // IPv6 and labels need up to 70 bytes.
            let longest = if case.name == "router" { 70 } else { 60 };
            let are_short = |packet: &Packet| (60..=longest).contains(&packet.bytes.len());
            assert!(packets.iter().all(are_short), "{}", case.name);
            let came: BTreeSet<u16> = packets.iter().map(|packet| packet.ingress).collect();
            let ports = if case.replies { 2 } else { PORTS };
            assert_eq!(came, (0..ports).collect(), "{}", case.name);
            // The rates count packets that leave, so golden must drop none.
            let store = load_store(&program.optimised, &[tables], &|_| ()).expect(case.name).0;
            let mut golden = Golden::new(program.optimised.clone(), store);
            let mut verdicts = Verdicts::default();
            golden.execute(&packets, &mut |output| {
                verdicts.add(output.verdict, output.bytes.len());
            });
            assert_eq!(
                (verdicts.sent, verdicts.dropped),
                (packets.len() as u64, 0),
                "{}",
                case.name
            );
            let drawn = case.packets * if case.replies { 2 } else { 1 };
            assert!(verdicts.sent * 10 > drawn * 9, "{}: {} packets", case.name, verdicts.sent);
        }
    }
}

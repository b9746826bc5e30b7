//! The real router on the StepNP paper's machines: instructions and latency per packet (section
//! 5.4).

use serde::Serialize;
use wireloom_mpsoc::Spec;
use wireloom_mpsoc::evaluation::SEEDS;
use wireloom_mpsoc::spec::Set;
use wireloom_net::Packet;
use wireloom_sim::sweep;

use super::figure::{Choice, Drawn, Figure, Kept};
use super::mpsoc::workers;
use super::mpsoc_rig::{Forwarded, Instructions, Router, SETS, machine};
use super::np_traffic::Traffic;
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::{Values, slug};
use super::{Settings, number};
use wireloom_console::Working;
use wireloom_console::{output, thousands};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bar, Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "mpsoc-router",
    what: "StepNP, section 5.4: the real router on the paper's machines, instructions, accesses and latency of a packet",
    choice: Choice::Some(|| MACHINES.map(|(name, _)| name.to_owned()).to_vec()),
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/router.loom",
        names: &["machine", "traffic", "bytes", "set"],
        skip: &[],
        tools: &["arm-none-eabi-gcc", "riscv64-unknown-elf-gcc"],
        tables: &[
            PageTable { name: "paper", write: papers_table },
            PageTable { name: "packets", write: packets_table },
        ],
    },
};

/// The paper's machines, with its packet latency on them in microseconds (Table 1).
const MACHINES: [(&str, f64); 2] = [("mpsoc-oc48", 16.0), ("mpsoc-oc192", 30.0)];
const TRAFFIC: [&str; 4] = ["IPv4", "IPv6", "MPLS_1", "MPLS_4"];
/// Packet lengths in bytes on the line.
const BYTES: [u32; 2] = [54, 64];
/// The number of packets that warm caches, and of reported packets.
const WARM: usize = 16_384;
const MEASURED: usize = 49_152;
/// The number of packets whose instructions are counted.
const COUNTED: usize = 8192;

/// The paper's profile of its IPv4 program (section 5.4): instructions, network accesses, and share
/// of communication.
const PAPER: (f64, f64, f64) = (860.0, 108.0, 0.09);

/// The cost of one kind of packet on an instruction set.
#[derive(Clone, Debug, Serialize)]
struct Work {
    traffic: &'static str,
    bytes: u32,
    set: &'static str,
    #[serde(flatten)]
    counted: Instructions,
}

/// The result on a machine.
#[derive(Clone, Debug, Serialize)]
struct Row {
    machine: String,
    traffic: &'static str,
    bytes: u32,
    set: &'static str,
    #[serde(flatten)]
    measured: Forwarded,
}

#[derive(Serialize)]
struct Data {
    work: Vec<Work>,
    rows: Vec<Row>,
}

/// Packets of one kind and length.
struct Stream {
    traffic: &'static str,
    bytes: u32,
    packets: Vec<Packet>,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let machines = MACHINES.into_iter().filter(|(name, _)| settings.wants(name));
    let machines = machines.map(|(name, _)| machine(name)).collect::<Result<Vec<Spec>>>()?;
    let working = Working::on("the routing table");
    let router = Router::new(settings)?;
    let mut streams = Vec::new();
    for traffic in TRAFFIC {
        for bytes in BYTES {
            let kind = Traffic::named(traffic).expect("it is one of them");
            streams.push(Stream {
                traffic,
                bytes,
                packets: router.packets(kind, bytes, WARM + MEASURED)?,
            });
        }
    }
    working.now("the router on the paper's machines");
    let data = measure(&router, &machines, &streams)?;
    drop(working);
    let series = ["the paper", SETS[0].1, SETS[1].1];
    let title = "Instructions for a packet of 54 bytes";
    let svg = Bars::new(title, "instructions", series, groups(&data.work))
        .with_limit("the paper, IPv4", PAPER.0)
        .svg();
    let (text, faults) = (text(&data), faults(&data));
    let data = serde_json::to_value(&data).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text, data, svg, faults })
}

fn measure(router: &Router, machines: &[Spec], streams: &[Stream]) -> Result<Data> {
    let kinds: Vec<(&Stream, (Set, &'static str))> =
        streams.iter().flat_map(|stream| SETS.map(|set| (stream, set))).collect();
    let count = |&(stream, (set, name)): &(&Stream, (Set, &'static str))| -> Result<Work> {
        let packets = &stream.packets[..COUNTED.min(stream.packets.len())];
        let counted = router.count(set, packets)?;
        Ok(Work { traffic: stream.traffic, bytes: stream.bytes, set: name, counted })
    };
    let work: Result<Vec<Work>> =
        sweep(&kinds, workers(), count).map_err(Error::new)?.into_iter().collect();
    let points: Vec<_> =
        machines.iter().flat_map(|spec| kinds.iter().map(move |kind| (spec, *kind))).collect();
    let forward = |&(spec, (stream, (set, name))): &(&Spec, (&Stream, (Set, &'static str)))| {
        let mut shaped = spec.clone();
        shaped.processor.instruction_set = set;
        let warm = WARM.min(stream.packets.len() / 4);
        let measured = router.forward(&shaped, &stream.packets, warm, *SEEDS.start())?;
        Ok(Row {
            machine: spec.name.clone(),
            traffic: stream.traffic,
            bytes: stream.bytes,
            set: name,
            measured,
        })
    };
    let rows: Result<Vec<Row>> =
        sweep(&points, workers(), forward).map_err(Error::new)?.into_iter().collect();
    Ok(Data { work: work?, rows: rows? })
}

/// Groups the costs by kind, for packets of 54 bytes: the paper's IPv4, and both instruction sets.
fn groups(work: &[Work]) -> Vec<Group> {
    let short = |traffic: &'static str| {
        let short =
            work.iter().filter(move |work| work.bytes == BYTES[0] && work.traffic == traffic);
        (1..).zip(short.map(|work| work.counted.instructions))
    };
    let paper = |traffic: &str| (traffic == "IPv4").then_some((0, PAPER.0));
    let group = |traffic: &'static str| Group {
        name: traffic.to_owned(),
        bars: paper(traffic)
            .into_iter()
            .chain(short(traffic))
            .map(|(series, value)| Bar::new(series, value))
            .collect(),
    };
    TRAFFIC.into_iter().map(group).collect()
}

/// Whether the paper has numbers for this case: IPv4 on ARM, in packets of 54 bytes. The goals are
/// for the same case.
fn is_papers(traffic: &str, bytes: u32, set: &str) -> bool {
    (traffic, bytes, set) == ("IPv4", BYTES[0], SETS[0].1)
}

fn faults(data: &Data) -> Vec<String> {
    let share = data.work.iter().filter(|work| is_papers(work.traffic, work.bytes, work.set));
    let share = share.filter(|work| work.counted.communication > PAPER.2).map(|work| {
        format!(
            "{:.1} % of the instructions of IPv4 on ARM are communication, and {:.0} % is the goal",
            100.0 * work.counted.communication,
            100.0 * PAPER.2
        )
    });
    let lost = data.rows.iter().filter(|row| row.measured.lost > 0).map(|row| {
        format!(
            "{}: {} of {} packets of {} bytes of {} are lost on {}",
            row.machine,
            thousands(row.measured.lost),
            thousands(row.measured.offered),
            row.bytes,
            row.traffic,
            row.set
        )
    });
    share.chain(lost).collect()
}

fn text(data: &Data) -> String {
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let mut beside = output::table(&["IPv4, 54 bytes, ARM", "the paper", "here"], &[1, 2]);
    if let Some(work) = data.work.iter().find(|work| is_papers(work.traffic, work.bytes, work.set))
    {
        beside.add_row([
            "instructions a packet".to_owned(),
            number(PAPER.0),
            number(work.counted.instructions),
        ]);
        beside.add_row([
            "of them communication".to_owned(),
            percent(PAPER.2),
            percent(work.counted.communication),
        ]);
    }
    let rows: Vec<&Row> =
        data.rows.iter().filter(|row| is_papers(row.traffic, row.bytes, row.set)).collect();
    if let Some(row) = rows.first() {
        let accesses = row.measured.latency.accesses;
        beside.add_row(["network accesses a packet".to_owned(), number(PAPER.1), number(accesses)]);
    }
    for row in rows {
        let paper =
            MACHINES.iter().find(|(name, _)| *name == row.machine).map_or(0.0, |(_, us)| *us);
        beside.add_row([
            format!("packet latency on {}, us", row.machine),
            number(paper),
            number(row.measured.latency.latency_us),
        ]);
    }

    let mut work =
        output::table(&["packets", "bytes", "set", "instructions", "communication"], &[1, 3, 4]);
    for Work { traffic, bytes, set, counted } in &data.work {
        work.add_row([
            (*traffic).to_owned(),
            bytes.to_string(),
            (*set).to_owned(),
            number(counted.instructions),
            percent(counted.communication),
        ]);
    }

    let heads = [
        "machine",
        "packets",
        "bytes",
        "set",
        "MPPS",
        "Gb/s",
        "use",
        "accesses",
        "latency, us",
        "99 %",
        "network",
        "pipeline",
        "rest",
        "way out",
        "lost, cold",
        "lost",
    ];
    let mut table = output::table(&heads, &(4..heads.len()).chain([2]).collect::<Vec<_>>());
    for Row { machine, traffic, bytes, set, measured } in &data.rows {
        let latency = &measured.latency;
        let rest = latency.processing_us - latency.network_us - latency.compute_us;
        let times = [
            latency.latency_us,
            latency.latency_99_us,
            latency.network_us,
            latency.compute_us,
            rest,
            latency.latency_us - latency.processing_us,
        ];
        let first = [machine.clone(), (*traffic).to_owned(), bytes.to_string(), (*set).to_owned()];
        let rates = [
            number(measured.mpps),
            number(measured.gbps),
            percent(measured.usage),
            number(latency.accesses),
        ];
        let lost = [measured.lost_before, measured.lost].map(thousands);
        table.add_row(first.into_iter().chain(rates).chain(times.map(number)).chain(lost));
    }
    format!(
        "{beside}\n\n{work}\n\n{table}\n\nPackets come without gaps, at the rate of the machine's line; bytes are those on the line, without padding and check sequence. Addresses are \
         drawn from the routing table; MPLS_n: all but the last of n labels are popped, the last is swapped. Accesses: calls of objects, and other accesses to the network for which \
         the thread waits, beside those of caches. Latency: from the last bit in to the last bit out, in order; of its mean, the thread waits for the network, has an instruction in the \
         pipeline, and the rest until packet I/O has the packet back (packet I/O, broker, turns of other threads); the way out is the wait for earlier packets and for the line, \
         which is no faster than the line in and so never makes up for the longest that any packet has taken, unless packets leave shorter than they came. Lost, cold: of \
         {} packets that fill caches and leave before the {} come that the other numbers are of.\n",
        thousands(WARM as u64),
        thousands(MEASURED as u64)
    )
}

/// Tabulates the paper's profile next to ours, for pages.
fn papers_table(values: &Values) -> Result<Table> {
    let mut table = Table::new(["IPv4, 54 bytes, ARM", "the paper", "here"]);
    let work = |field| format!("work.ipv4.{}.armv4.{field}", BYTES[0]);
    let percent = |share| format!("{:.0} %", 100.0 * share);
    table.row([
        "instructions a packet".to_owned(),
        number(PAPER.0),
        values.short(&work("instructions"))?,
    ]);
    let communication = values.percent(&work("communication"), 1)?;
    table.row(["of them communication".to_owned(), percent(PAPER.2), communication]);
    let row = |machine: &str, field| format!("rows.{machine}.ipv4.{}.armv4.{field}", BYTES[0]);
    let accesses = values.short(&row(MACHINES[0].0, "accesses"))?;
    table.row(["accesses to the network a packet".to_owned(), number(PAPER.1), accesses]);
    for (name, paper) in MACHINES {
        let spec = machine(name)?;
        let us = |field| values.get(&row(name, field));
        let (network, compute) = (us("network_us")?, us("compute_us")?);
        let (latency, processing) = (us("latency_us")?, us("processing_us")?);
        table.row([
            format!(
                "packet latency, {name} ({} processors of {} threads)",
                spec.processors, spec.threads
            ),
            format!("{paper} us"),
            format!(
                "{} us: {compute:.2} in the pipeline, {network:.2} waiting for the network, {:.2} packet I/O, broker and turns of other threads, {:.2} on the way out",
                number(latency),
                processing - network - compute,
                latency - processing
            ),
        ]);
    }
    Ok(table)
}

/// Tabulates the kinds of packets next to each other, for pages.
fn packets_table(values: &Values) -> Result<Table> {
    let [(small, _), (large, _)] = MACHINES;
    let [arm, risc_v] = SETS.map(|(_, name)| name);
    let mut table = Table::new([
        "packets".to_owned(),
        format!("instructions (communication) {arm}"),
        risc_v.to_owned(),
        "accesses".to_owned(),
        format!("latency on {large}, ARM, 54 bytes: mean, 99 %"),
        "until packet I/O has the packet back".to_owned(),
        format!("use of {small}, {large}"),
    ]);
    for traffic in TRAFFIC {
        let packet = format!("{}.{}", slug(traffic), BYTES[0]);
        let work = |set: &str| {
            let key = |field| format!("work.{packet}.{}.{field}", slug(set));
            let instructions = values.short(&key("instructions"))?;
            Ok::<_, Error>(format!(
                "{instructions} ({})",
                values.percent(&key("communication"), 1)?
            ))
        };
        let key = |machine: &str, field| format!("rows.{machine}.{packet}.{}.{field}", slug(arm));
        let us = |field| Ok::<_, Error>(format!("{} us", values.short(&key(large, field))?));
        let usage = |machine| values.percent(&key(machine, "usage"), 1);
        table.row([
            traffic.to_owned(),
            work(arm)?,
            work(risc_v)?,
            values.fixed(&key(large, "accesses"), 0)?,
            format!("{}, {}", us("latency_us")?, us("latency_99_us")?),
            us("processing_us")?,
            format!("{}, {}", usage(small)?, usage(large)?),
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::super::mpsoc_rig::tests::router;
    use super::*;

    #[test]
    fn the_papers_packets_are_measured_and_stand_beside_its_numbers() {
        let (router, _folder) = router();
        let ipv4 = Traffic::named("IPv4").expect("it is there");
        let packets = router.packets(ipv4, 54, 400).expect("packets");
        let streams = [Stream { traffic: "IPv4", bytes: 54, packets }];
        let machines = [machine("mpsoc-oc48").expect("a machine")];
        let mut data = measure(&router, &machines, &streams).expect("it is measured");
        assert_eq!((data.work.len(), data.rows.len()), (2, 2));
        assert_eq!(faults(&data), Vec::<String>::new());
        assert_eq!(groups(&data.work)[0].bars.len(), 3);
        let text = text(&data);
        for part in ["network accesses a packet", "packet latency on mpsoc-oc48, us", "860"] {
            assert!(text.contains(part), "no {part} in\n{text}");
        }
        data.work[0].counted.communication = 0.1;
        data.rows[1].measured.lost = 3;
        let faults = faults(&data);
        assert!(faults[0].starts_with("10.0 % of the instructions of IPv4 on ARM"), "{faults:?}");
        assert!(faults[1].contains("packets of 54 bytes of IPv4 are lost on RV32IM"), "{faults:?}");
    }
}

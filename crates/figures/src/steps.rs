//! Steps of the engines, slots per packet and bits of context, as the compiler counts them.

use serde::Serialize;
use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::explain::{EngineExplanation, explain};
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline;

use super::Settings;
use super::figure::{Choice, Drawn, Figure, Kept};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::Values;
use wireloom_console::output;
use wireloom_machine::{Error, Result, Source};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "steps",
    what: "Steps of the engines, slots that a packet of the router takes, bits of context: by ports of the header memory",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "the programs as they are",
        names: &["program", "ports", "packet"],
        skip: &[],
        tools: &[],
        tables: &[PageTable { name: "slots", write: slots_table }],
    },
};

/// The engines. Slots are counted for the first and the last.
const PROGRAMS: [&str; 4] = ["ipv4", "ipv6", "mpls", "router"];
/// Read and write ports of the header memory, of 16 bytes each. Without ports a step accesses the
/// whole header.
const PORTS: [(&str, Option<(u32, u32)>); 4] =
    [("any", None), ("1-1", Some((1, 1))), ("2-1", Some((2, 1))), ("2-2", Some((2, 2)))];
const PORT_BYTES: u32 = 16;
/// Narrower words, with two read ports and a write port; only the first program is counted with
/// them.
const NARROW: [(&str, u32); 2] = [("2-1 of 8 bytes", 8), ("2-1 of 4 bytes", 4)];
/// Packets of the router, by steps that they visit and steps that they do not visit.
const PACKETS: [(&str, &str, &[&str]); 3] = [
    ("IPv4", "ipv4_forward", &["mpls"]),
    ("IPv6", "ipv6_forward", &["mpls"]),
    ("a label swapped", "mpls_forward", &["mpls_penultimate", "ipv4", "ipv6"]),
];
const LABEL_POPPED: &str = "a label popped before";

/// The counts of a program for a header memory.
#[derive(Clone, Debug, Serialize)]
struct Row {
    program: &'static str,
    ports: &'static str,
    steps: usize,
    /// Bits of the declared context, the most live bits at a step boundary, and the bits that a
    /// thread stores.
    context_bits: u32,
    live_bits: u32,
    stored_bits: u32,
    /// The slots of the router's packets, most first.
    slots: Vec<Slots>,
}

/// The slots of a packet.
#[derive(Clone, Debug, Serialize)]
struct Slots {
    packet: &'static str,
    /// The fewest and the most slots on the paths of such packets.
    least: u32,
    most: u32,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let mut rows = Vec::new();
    for program in PROGRAMS {
        let source = Source::of(settings.file(&format!("programs/{program}.loom"))?);
        let lowered = source.compiled()?.lowered;
        let wide = PORTS.map(|(ports, header)| {
            let wide = |(reads, writes)| HeaderPorts { reads, writes, bytes: PORT_BYTES };
            (ports, header.map(wide))
        });
        let narrow = NARROW
            .map(|(ports, bytes)| (ports, Some(HeaderPorts { reads: 2, writes: 1, bytes })))
            .into_iter()
            .filter(|_| program == PROGRAMS[0]);
        for (ports, header) in wide.into_iter().chain(narrow) {
            let options = PassOptions::for_ports(header);
            let mut program_of_ports = lowered.clone();
            pipeline::optimise(&mut program_of_ports, &options);
            let explanation = explain(&program_of_ports, &options);
            let engine = explanation.engines.iter().find(|one| one.name == explanation.main);
            let engine = engine.ok_or_else(|| Error::new(format!("{program} has no engine")))?;
            rows.push(row(program, ports, engine));
        }
    }
    let groups = PROGRAMS.map(|program| {
        let own = rows.iter().filter(|row| row.program == program);
        let own = own.filter(|row| PORTS.iter().any(|(ports, _)| *ports == row.ports));
        Group::new(program, own.map(|row| row.steps as f64))
    });
    let title = "Steps of the engines, by read and write ports of the header memory";
    let series = PORTS.map(|(ports, _)| ports.replace('-', " and "));
    let svg = Bars::new(title, "steps", series, groups.to_vec()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

fn row(program: &'static str, ports: &'static str, engine: &EngineExplanation) -> Row {
    let is_counted = program == PROGRAMS[0] || program == PROGRAMS[PROGRAMS.len() - 1];
    let slots = if is_counted { slots(engine) } else { Vec::new() };
    Row {
        program,
        ports,
        steps: engine.steps.len(),
        context_bits: engine.context_bits,
        live_bits: engine.peak_live_bits,
        stored_bits: engine.stored_bits,
        slots,
    }
}

/// Counts the slots of packets.
fn slots(engine: &EngineExplanation) -> Vec<Slots> {
    let visits = |path: &[usize], step: &str| {
        path.iter().any(|index| {
            let name = engine.steps[*index].name.as_str();
            // A step that was split continues as `NAME.1`.
            name.split('.').next() == Some(step)
        })
    };
    let of = |packet, is_its: &dyn Fn(bool, &[usize]) -> bool| {
        let own = engine.paths.iter().filter(|path| is_its(path.is_round, &path.steps));
        let slots: Vec<u32> = own.map(|path| path.slots).collect();
        let (least, most) = (slots.iter().min()?, slots.iter().max()?);
        Some(Slots { packet, least: *least, most: *most })
    };
    let packets = PACKETS.into_iter().filter_map(|(packet, with, without)| {
        of(packet, &|is_round, path| {
            !is_round && visits(path, with) && !without.iter().any(|step| visits(path, step))
        })
    });
    packets.chain(of(LABEL_POPPED, &|is_round, _| is_round)).collect()
}

fn text(rows: &[Row]) -> String {
    let heads = ["program", "ports", "steps", "context, bits", "live", "stored", "slots"];
    let mut table = output::table(&heads, &[2, 3, 4, 5]);
    for row in rows {
        let slots = row
            .slots
            .iter()
            .map(|slots| format!("{} {}", slots.packet, range(slots.least, slots.most)));
        table.add_row([
            row.program.to_owned(),
            row.ports.to_owned(),
            row.steps.to_string(),
            row.context_bits.to_string(),
            row.live_bits.to_string(),
            row.stored_bits.to_string(),
            slots.collect::<Vec<_>>().join(", "),
        ]);
    }
    format!(
        "{table}\n\nPorts: read and write ports of the header memory, of {PORT_BYTES} bytes where no other number is given; any: a step accesses as much as it wants. Context: declared, at most live at a \
         step boundary, stored by a thread. Slots: of a multithreaded engine, for a packet that is sent.\n"
    )
}

fn range(least: u32, most: u32) -> String {
    if least == most { most.to_string() } else { format!("{least} to {most}") }
}

/// Tabulates the slots of the router's packets by ports.
fn slots_table(values: &Values) -> Result<Table> {
    let packets = PACKETS.iter().map(|(packet, ..)| *packet).chain([LABEL_POPPED]);
    let packets: Vec<&str> = packets.collect();
    let mut table = Table::new(["read and write ports"].into_iter().chain(packets.iter().copied()));
    for (ports, _) in PORTS.iter().skip(1) {
        let mut cells = vec![ports.replace('-', " and ")];
        for packet in &packets {
            let key =
                |which| format!("router.{ports}.slots.{}.{which}", super::values::slug(packet));
            let [least, most] =
                [values.get(&key("least"))?, values.get(&key("most"))?].map(|slots| slots as u32);
            cells.push(range(least, most));
        }
        table.row(cells);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_router_is_counted_with_every_kind_of_packet() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let drawn = make(&Settings { root, runs: 1, only: Vec::new() }).expect("it is counted");
        let values = FIGURE.values(&drawn).expect("values");
        assert_eq!(slots_table(&values).expect("a table").rows(), 3);
        let of = |key: &str| values.get(key).expect(key);
        assert!(of("router.1-1.steps") > of("router.any.steps"), "{}", drawn.text);
        assert!(of("router.any.stored_bits") <= of("router.any.context_bits"));
        assert!(of("router.1-1.slots.ipv4.most") < 20.0, "{}", drawn.text);
    }
}

//! The cycles of each task of the IPv4 router (Table 2): in the hand-written program, with its
//! stage alone and all around it faster; and in compiled code, with each task on a tile.

use serde::Serialize;
use wireloom_isa::raw::Network;
use wireloom_raw::asm::{Labels, Program, assemble, assemble_with_labels};
use wireloom_raw::device::{InputCard, InputSpec, Memory, MemorySpec, OutputCard, OutputSpec};
use wireloom_raw::dir24::{self, Route};
use wireloom_raw::routers::Version;
use wireloom_raw::{Chip, Side, Spec};

use super::cycles::{Cycles, KINDS};
use super::task_tiles::{Task as Compiled, Tiles};
use super::udp;
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "raw-tasks",
    what: "RAW: cycles of the tasks of the IPv4 router, by hand and compiled, next to the paper's Table 2",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/version-3.rasm and programs/raw/ipv4-tasks.loom on machines/raw.toml",
        names: &["task"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "tasks", write: table },
            PageTable { name: "compiled", write: parts },
        ],
    },
};

/// Cycles before the measurement, and measured cycles.
const BEFORE: u64 = 20_000;
const WINDOW: u64 = 50_000;
const BYTES: usize = 64;
/// The addresses of the tables of columns 0 and 1, and of the queues.
const TABLES: u32 = 0x1000_0000;
const QUEUES: u32 = 0x4000_0000;

/// A task of Table 2: its row, the labels between which its code is, its packets, and its cycles.
/// The row is also the number of its step in the compiled engine.
struct Task {
    name: &'static str,
    what: &'static str,
    row: u8,
    from: &'static str,
    to: Option<&'static str>,
    destinations: Destinations,
    published: f64,
}

/// The destinations of packets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Destinations {
    /// One destination, with a prefix of at most 24 bits, or longer.
    One { is_long: bool },
    /// More destinations than the cache holds, so that every lookup misses.
    Many { is_long: bool },
}

use Destinations::{Many, One};

const TASKS: [Task; 7] = [
    Task {
        name: "short-hit",
        what: "lookup, at most 24 bits, in the cache",
        row: 0,
        from: "lookup",
        to: None,
        destinations: One { is_long: false },
        published: 29.0,
    },
    Task {
        name: "short-miss",
        what: "lookup, at most 24 bits, missed",
        row: 0,
        from: "lookup",
        to: None,
        destinations: Many { is_long: false },
        published: 100.0,
    },
    Task {
        name: "long-hit",
        what: "lookup, more than 24 bits, in the cache",
        row: 0,
        from: "lookup",
        to: None,
        destinations: One { is_long: true },
        published: 36.0,
    },
    Task {
        name: "long-miss",
        what: "lookup, more than 24 bits, missed",
        row: 0,
        from: "lookup",
        to: None,
        destinations: Many { is_long: true },
        published: 150.0,
    },
    Task {
        name: "checksum",
        what: "header checksum",
        row: 1,
        from: "check",
        to: None,
        destinations: One { is_long: false },
        published: 78.0,
    },
    Task {
        name: "ttl",
        what: "TTL and checksum, packet sent on",
        row: 2,
        from: "decide",
        to: None,
        destinations: One { is_long: false },
        published: 26.0,
    },
    Task {
        name: "send",
        what: "dequeue and send to the card",
        row: 3,
        from: "send",
        to: Some("ready"),
        destinations: One { is_long: false },
        published: 22.0,
    },
];

/// The row of the tile whose task is to send packets.
const SENDS: u8 = 3;

/// The measurement of a task.
#[derive(Clone, Debug, Serialize)]
struct Row {
    task: &'static str,
    /// The cycles of the hand-written program.
    cycles: f64,
    published: f64,
    /// The compiled tile's cycles, by part of its program.
    parts: Compiled,
    /// Sums of the compiled tile's cycles: of the task, of all kinds that are not network waits,
    /// and of the waits.
    compiled: f64,
    busy: f64,
    waits: f64,
}

/// Generates the surroundings of the stage in column 0 and this row: switches that bring words, and
/// a tile that takes results or brings packets.
fn surroundings(row: u8) -> String {
    // Sixteen words per round, so that the jump back costs little.
    let drain = format!("again:\n{} j again\n", " move $zero, $cgni\n".repeat(16));
    let mut text = String::new();
    for above in 0..row {
        text += &format!(".switch 0 {above}\nagain: j again route $cNi->$cSo\n");
    }
    text += &format!(
        ".switch 0 {row}\npacket: movei $1, 16\nwords: bnezd $1, $1, words route $cNi->$csti\n \
         recv $2\n j packet\n"
    );
    match row {
        // Results go to row 2.
        0 | 1 => text += &format!(".tile 0 2\n{drain}"),
        // Two results per packet, always available: port 0 and a correct header.
        2 => {
            text += ".tile 1 2\n li $t0, 0x02000040\n li $t1, 1\nagain:\n";
            text += &" move $cgno, $t0\n move $cgno, $t1\n move $cgno, $zero\n move $cgno, $t0\n move $cgno, $zero\n move $cgno, $zero\n"
                .repeat(4);
            text += &format!(" j again\n.tile 0 3\n{drain}");
        }
        // Messages of 18 words.
        _ => {
            text += ".tile 0 2\n li $t0, 0x12000060\n li $t1, 64\nagain:\n move $cgno, $t0\n move $cgno, $t1\n";
            text += &" move $cgno, $zero\n".repeat(17);
            text += " j again\n";
        }
    }
    text
}

/// Returns destinations with their routes.
fn destinations(which: Destinations) -> (Vec<u32>, Vec<Route>) {
    // A line of either table holds 16 entries, and only one of them is used.
    let (count, is_long) = match which {
        One { is_long } => (1, is_long),
        Many { is_long } => (4096, is_long),
    };
    let address = |number: u32| 0x0a00_0000 + (number << 12) + 7;
    let addresses: Vec<u32> = (0..count).map(address).collect();
    let length = if is_long { 32 } else { 24 };
    let route = |prefix: &u32| Route { prefix: *prefix, length, port: 0 };
    let routes = addresses.iter().map(route).collect();
    (addresses, routes)
}

/// Measures the cycles of a task in the hand-written program.
fn measure(task: &Task, whole: &Program, labels: &Labels) -> Result<f64> {
    let place = (0, task.row);
    let mut program = assemble("surroundings", &surroundings(task.row))
        .map_err(|refused| Error::new(refused.render()))?;
    program.set_tile(place, whole.of(place).0.to_vec());
    let (addresses, routes) = destinations(task.destinations);
    let mut chip = Chip::new(&Spec::built_in(), &program).map_err(Error::new)?;
    let spec = |base, bytes| MemorySpec { base, ..MemorySpec::full_duplex(bytes) };
    let mut tables = Memory::new(spec(TABLES, dir24::FIRST_BYTES + dir24::SECOND_BYTES));
    dir24::write(&mut tables, TABLES, &routes).map_err(Error::new)?;
    chip.attach((0, 0), Side::West, tables).map_err(Error::new)?;
    let queues = Memory::new(spec(QUEUES, 0x2_0000));
    chip.attach((0, 3), Side::West, queues).map_err(Error::new)?;
    let packets = addresses.into_iter().cycle().map(|to| udp(0, 1, to, BYTES));
    let input = InputSpec { least_words: 16, ..InputSpec::new(0, Network::Static1) };
    chip.attach((0, 0), Side::North, InputCard::new(input, packets)).map_err(Error::new)?;
    let output = OutputSpec { interrupts: Some((0, 3)), ..OutputSpec::new(Network::General) };
    chip.attach((0, 3), Side::South, OutputCard::new(output)).map_err(Error::new)?;
    let label = |name: &str| {
        let found = labels.get(&(place, name.to_owned())).copied();
        found.ok_or_else(|| Error::new(format!("version-3.rasm has no label {name}")))
    };
    let from = label(task.from)?;
    let to = task.to.map_or(Ok(u32::MAX), label)?;
    chip.run(BEFORE).map_err(Error::new)?;
    let (mut cycles, mut packets, mut before) = (0u64, 0u64, from);
    for _ in 0..WINDOW {
        chip.run(1).map_err(Error::new)?;
        let now = chip.program_counter(place);
        cycles += u64::from((from..to).contains(&now));
        packets += u64::from(now == from && before != from);
        before = now;
    }
    Ok(cycles as f64 / packets as f64)
}

/// Measures all tasks. Tiles other than the lookup's use the first run of the compiled engine.
fn measured(settings: &Settings) -> Result<Vec<Row>> {
    let version = Version::named("III");
    let (whole, labels) = assemble_with_labels(version.file, version.text)
        .map_err(|refused| Error::new(refused.render()))?;
    let tiles = Tiles::new(&settings.root)?;
    let mut known: Vec<(Destinations, [Compiled; 4])> = Vec::new();
    let mut rows = Vec::new();
    for task in &TASKS {
        if !known.iter().any(|(of, _)| *of == task.destinations) {
            let (addresses, routes) = destinations(task.destinations);
            let packets: Vec<_> = addresses.into_iter().map(|to| udp(0, 1, to, BYTES)).collect();
            known.push((task.destinations, tiles.measure(&packets, &routes)?));
        }
        let of = known.iter().find(|(of, _)| *of == task.destinations);
        let parts = of.map(|(_, tiles)| tiles[usize::from(task.row)]).unwrap_or_default();
        let all = parts.all();
        // The last task sends packets; the others are steps between words in and words out.
        let sends = if task.row == SENDS { parts.leaves.busy() } else { 0.0 };
        rows.push(Row {
            task: task.name,
            cycles: measure(task, &whole, &labels)?,
            published: task.published,
            parts,
            compiled: parts.step.busy() + sends,
            busy: all.busy(),
            waits: all.total() - all.busy(),
        });
    }
    Ok(rows)
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("the tasks of the IPv4 router");
    let rows = measured(settings)?;
    let heads = ["task", "published", "by hand", "compiled", "whole tile", "waits"];
    let mut text = output::table(&heads, &[1, 2, 3, 4, 5]);
    for (task, row) in TASKS.iter().zip(&rows) {
        let numbers = [row.cycles, row.compiled, row.busy, row.waits];
        let [by_hand, compiled, busy, waits] = numbers.map(|number| format!("{number:.1}"));
        let published = format!("{:.0}", task.published);
        text.add_row([task.what.to_owned(), published, by_hand, compiled, busy, waits]);
    }
    let groups = TASKS.iter().zip(&rows);
    let groups = groups.map(|(task, row)| {
        Group::new(task.what, [row.published, row.cycles, row.compiled, row.busy])
    });
    let title = "Cycles of the tasks of the IPv4 router";
    let series = ["published", "by hand", "compiled", "compiled, whole tile"];
    let svg = Bars::new(title, "cycles a packet", series, groups.collect()).svg();
    let text = format!("{text}\n\nPackets of {BYTES} bytes; the paper's Table 2.\n");
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text, data, svg, faults: vec![] })
}

/// Tabulates the tasks next to Table 2, for pages.
fn table(values: &Values) -> Result<Table> {
    let heads = ["task", "published", "by hand", "off", "compiled", "off", "its whole tile"];
    let mut table = Table::new(heads.into_iter().chain(["waits of that tile"]));
    for task in &TASKS {
        let mut cells = vec![task.what.to_owned(), format!("{:.0}", task.published)];
        for field in ["cycles", "compiled"] {
            let cycles = values.get(&format!("{}.{field}", task.name))?;
            cells.push(format!("{cycles:.1}"));
            cells.push(format!("{:+.0} %", 100.0 * (cycles / task.published - 1.0)));
        }
        for field in ["busy", "waits"] {
            cells.push(values.fixed(&format!("{}.{field}", task.name), 1)?);
        }
        table.row(cells);
    }
    Ok(table)
}

/// Tabulates the use of the compiled tiles' cycles, for pages.
fn parts(values: &Values) -> Result<Table> {
    let parts = [("comes", "packet comes"), ("step", "step"), ("leaves", "packet leaves")];
    // The other kinds belong to networks that these tiles do not use.
    let kinds = &KINDS[..Cycles::GENERAL];
    let heads = ["task", "part", "cycles"].into_iter().chain(kinds.iter().map(|kind| kind.1));
    let mut table = Table::new(heads);
    for task in &TASKS {
        for (part, name) in parts {
            let of = |kind: &str| values.get(&format!("{}.parts.{part}.{kind}", task.name));
            let cycles = kinds.iter().map(|kind| of(kind.0)).collect::<Result<Vec<f64>>>()?;
            let all = [cycles.iter().sum()].into_iter().chain(cycles.iter().copied());
            let numbers = all.map(|cycles: f64| format!("{cycles:.1}"));
            let names = [task.what.to_owned(), name.to_owned()];
            table.row(names.into_iter().chain(numbers).collect::<Vec<_>>());
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn all_compiled_tiles_take_the_same_time_for_a_packet_and_one_of_them_never_waits_to_send() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (addresses, routes) = destinations(One { is_long: false });
        let packets: Vec<_> = addresses.into_iter().map(|to| udp(0, 1, to, BYTES)).collect();
        let tiles = Tiles::new(&root).and_then(|tiles| tiles.measure(&packets, &routes));
        let tiles = tiles.unwrap_or_else(|error| panic!("{}", error.message));
        let cycles = tiles.map(|tile| tile.all().total());
        assert_eq!(cycles, [cycles[0]; 4]);
        // The check is the slowest stage: the stage before it waits to send, and the one after it
        // waits for packets.
        let busy = tiles.map(|tile| tile.all().busy());
        assert!(busy.iter().all(|cycles| *cycles <= busy[1]), "{busy:?}");
        // A packet of 64 bytes is 17 words, plus the words before them.
        assert_eq!(tiles[0].comes.0[0], 18.0);
        assert_eq!(tiles[3].leaves.0[1], 20.0);
        // The steps and, last, sending. The checksum and the TTL wait for no load.
        assert_eq!(tiles.map(|tile| tile.step.busy()), [23.0, 66.0, 23.0, 5.0]);
        assert_eq!(tiles[3].leaves.busy(), 37.0);
    }
}

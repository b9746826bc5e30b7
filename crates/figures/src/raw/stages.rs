//! A breakdown of the cycles of the four stages, in the middle of a run under full load: Table 1,
//! word by word.

use serde::Serialize;
use wireloom_raw::board::Board;
use wireloom_raw::device::{Buffer, LineRate};
use wireloom_raw::routers::{NULL, Setting, Version, null_board};
use wireloom_raw::{Chip, Spec};

use super::cycles::{Cycles, KINDS};
use super::rig::Rig;
use super::{PORTS, Trace, play, program};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "raw-stages",
    what: "RAW: where each cycle of Table 1 goes: instructions and waits of the four stages, 64 and 1,500 bytes",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/null.rasm and version-3.rasm on machines/raw.toml",
        names: &["router", "bytes", "stage"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "null", write: |values| words(values, &ROUTERS[0]) },
            PageTable { name: "ipv4", write: |values| words(values, &ROUTERS[1]) },
            PageTable { name: "64", write: |values| stages(values, LOADS[0].0) },
            PageTable { name: "1500", write: |values| stages(values, LOADS[1].0) },
        ],
    },
};

/// A router of Table 1.
struct Router {
    name: &'static str,
    /// The cycles in Table 1 for packets of 64 and of 1,500 bytes.
    published: [f64; 2],
}

const ROUTERS: [Router; 2] = [
    Router { name: "null", published: [416.0, 3490.0] },
    Router { name: "iii", published: [690.0, 5394.0] },
];
/// Packet lengths: the name, bytes, and packets of the trace.
const LOADS: [(&str, usize, usize); 2] = [("64", 64, 4000), ("1500", 1500, 400)];
/// Additional words of a packet of 1,500 bytes over one of 64 bytes.
const MORE_WORDS: f64 = 359.0;

/// Cycles of a stage per packet of its column.
#[derive(Clone, Debug, Default, Serialize)]
struct Row {
    router: &'static str,
    bytes: &'static str,
    stage: String,
    /// The sum of all kinds.
    cycles: f64,
    #[serde(flatten)]
    kinds: Cycles,
}

/// Accounts for the stages of a router over the middle of a run. A run repeats to the cycle, so the
/// first one locates the middle, and a second one is stopped there.
fn account(
    router: &'static str,
    bytes: &'static str,
    board: &dyn Fn() -> Result<Board>,
    tile: &dyn Fn(u8, u8) -> (u8, u8),
) -> Result<Vec<Row>> {
    let whole = play(&mut board()?)?;
    let middle = whole.middle().ok_or_else(|| Error::new("a run without packets has no middle"))?;
    let Board { mut chip, .. } = board()?;
    let run = |chip: &mut Chip, cycles| chip.run(cycles).map_err(Error::new);
    let places: Vec<(usize, (u8, u8))> = (0..4)
        .flat_map(|stage| (0..PORTS as u8).map(move |port| (stage, port)))
        .map(|(stage, port)| (stage, tile(stage as u8, port)))
        .collect();
    let look = |chip: &Chip| -> Vec<_> { places.iter().map(|at| Cycles::of(chip, at.1)).collect() };
    run(&mut chip, middle.from)?;
    let before = look(&chip);
    run(&mut chip, middle.to - middle.from)?;
    let after = look(&chip);
    let stages = (0..4).map(|stage| {
        let mut kinds = Cycles::default();
        for (at, (before, after)) in places.iter().zip(before.iter().zip(&after)) {
            if at.0 == stage {
                kinds += *after - *before;
            }
        }
        let (kinds, stage) = (kinds.per(middle.packets as u64), (stage + 1).to_string());
        Row { router, bytes, stage, cycles: kinds.total(), kinds }
    });
    Ok(stages.collect())
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("the cycles of the stages");
    let rig = Rig::new(&settings.root)?;
    let null = program("null", NULL)?;
    let version = Version::named("III");
    let mut rows = Vec::new();
    for (name, bytes, packets) in LOADS {
        let trace = Trace::new(1, packets, bytes);
        let board = || {
            let board = null_board(LineRate::UNLIMITED, Buffer::Stall);
            let sent = vec![vec![vec![0; bytes]; packets / PORTS]; PORTS];
            Board::new(&Spec::built_in(), &null, board, sent).map_err(Error::new)
        };
        rows.extend(account("null", name, &board, &|stage, port| (port, stage))?);
        let board = || rig.board(version, &Setting::default(), &trace.packets, &trace.routes);
        rows.extend(account("III", name, &board, &|stage, port| version.tile(stage, port))?);
    }
    let heads = ["router", "bytes", "stage", "cycles"].into_iter();
    let heads: Vec<&str> = heads.chain(KINDS.map(|kind| kind.0)).collect();
    let mut text = output::table(&heads, &(1..heads.len()).collect::<Vec<_>>());
    for row in &rows {
        let names = [row.router.to_owned(), row.bytes.to_owned(), row.stage.clone()];
        let numbers = std::iter::once(row.cycles).chain(row.kinds.0);
        text.add_row(names.into_iter().chain(numbers.map(|number| format!("{number:.1}"))));
    }
    let groups = rows.iter().filter(|row| row.bytes == LOADS[0].0);
    let groups = groups.map(|row| {
        Group::new(format!("{} {}, stage {}", row.router, row.bytes, row.stage), row.kinds.0)
    });
    let bars = Bars::new(
        "Cycles of the stages, 64 bytes",
        "cycles a packet",
        KINDS.map(|kind| kind.1),
        groups.collect(),
    );
    let svg = Bars { is_stacked: true, ..bars }.svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    let text = format!(
        "{text}\n\nCycles a packet and column, from the cycle in which a quarter of the packets had \
         left to that in which three quarters had.\nTable 1: null 416 and 3,490 cycles, IPv4 690 and 5,394.\n"
    );
    Ok(Drawn { text, data, svg, faults: vec![] })
}

/// Returns the sum of the four stages.
fn sum(values: &Values, router: &str, bytes: &str, field: &str) -> Result<f64> {
    (1..=4).map(|stage| values.get(&format!("{router}.{bytes}.{stage}.{field}"))).sum()
}

/// Tabulates both lengths of a router, and the cost of an additional word, next to Table 1.
fn words(values: &Values, router: &Router) -> Result<Table> {
    let mut table =
        Table::new(["cycles of the four stages", "64 bytes", "1,500 bytes", "a word more"]);
    let mut row = |name: &str, [short, long]: [f64; 2], decimals: usize| {
        let word = (long - short) / MORE_WORDS;
        let cells = [short, long].map(|cycles| format!("{cycles:.decimals$}"));
        let [short, long] = cells;
        table.row([name.to_owned(), short, long, format!("{word:.2}")]);
    };
    let of = |field: &str| -> Result<[f64; 2]> {
        let of = |load: usize| sum(values, router.name, LOADS[load].0, field);
        Ok([of(0)?, of(1)?])
    };
    for (field, name) in KINDS {
        let cycles = of(field)?;
        if cycles.iter().any(|cycles| *cycles > 0.05) {
            row(name, cycles, 1);
        }
    }
    row("sum", of("cycles")?, 1);
    row("Table 1", router.published, 0);
    Ok(table)
}

/// Tabulates the stages of both routers for packets of one length.
fn stages(values: &Values, bytes: &str) -> Result<Table> {
    let heads = ["router", "stage", "cycles"].into_iter().chain(KINDS.map(|kind| kind.1));
    let mut table = Table::new(heads);
    for router in &ROUTERS {
        for stage in 1..=4 {
            let of =
                |field: &str| values.fixed(&format!("{}.{bytes}.{stage}.{field}", router.name), 1);
            let name = if router.name == "null" { "null" } else { "III" };
            let mut cells = vec![name.to_owned(), stage.to_string(), of("cycles")?];
            for (field, _) in KINDS {
                cells.push(of(field)?);
            }
            table.row(cells);
        }
    }
    Ok(table)
}

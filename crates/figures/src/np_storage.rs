//! Figure 6 of the Gorilla paper: the memory of the lookup accelerators for the Internet's routing
//! tables.

use serde::Serialize;
use wireloom_bits::Bits;
use wireloom_codegen_hardware::tables::{IPV4, IPV6, Shape, Storage, TrieImage};
use wireloom_net::tables::{Family, Prefix, read_prefixes};

use super::Settings;
use super::figure::{Choice, Drawn, Figure, Kept};
use super::store::Cost;
use wireloom_console::{output, thousands};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "np-storage",
    what: "Gorilla, Figure 6: words of QDR SRAM that routing tables take in the lookup accelerators",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "the layouts of programs/accelerators, routing tables of 2008 to 2015",
        names: &["table"],
        skip: &["strides"],
        tools: &[],
        tables: &[],
    },
};

/// A row of the figure.
#[derive(Clone, Debug, Serialize)]
struct Row {
    table: String,
    /// Whether the row is the paper's.
    published: bool,
    prefixes: u64,
    strides: Vec<u32>,
    /// The entries of each level.
    levels: Vec<u64>,
    /// Words of 18 bits, as the row's source counts them.
    total: u64,
    /// The words of each memory, and whether the table fits; `None` for the paper's rows.
    memories: Option<Vec<u64>>,
    fits: Option<bool>,
}

/// The paper's numbers: collector, prefixes, entries of the three levels, total.
const PUBLISHED: [(&str, u64, [u64; 3], u64); 4] = [
    ("rrc00, RIPE NCC Amsterdam", 344_029, [1_048_576, 1_053_584, 679_680], 2_442_000),
    ("rrc01, LINX London", 338_947, [1_048_576, 1_020_416, 534_016], 2_336_000),
    ("rrc02, Sfinx Paris", 274_115, [1_048_576, 865_104, 210_924], 2_019_142),
    ("rrc16, Miami", 344_029, [1_048_576, 1_051_792, 352_512], 2_276_624),
];

/// The tables of python3-pyasn.
const TABLES: [(&str, &str, Family); 4] = [
    ("1 May 2008, IPv4", "ipasn_20080501_v12.dat.gz", Family::V4),
    ("13 May 2014, IPv4", "ipasn_20140513.dat.gz", Family::V4),
    ("1 November 2015, IPv4", "ipasn6_20151101.dat.gz", Family::V4),
    ("1 November 2015, IPv6", "ipasn6_20151101.dat.gz", Family::V6),
];

fn make(settings: &Settings) -> Result<Drawn> {
    let mut rows: Vec<Row> = PUBLISHED
        .iter()
        .map(|(table, prefixes, levels, total)| Row {
            table: (*table).into(),
            published: true,
            prefixes: *prefixes,
            strides: vec![20, 4, 8],
            levels: levels.to_vec(),
            total: *total,
            memories: None,
            fits: None,
        })
        .collect();
    let mut notes = Vec::new();
    for (table, file, family) in TABLES {
        let path = settings
            .file(&format!(".cache/data/pyasn/usr/lib/python3/dist-packages/data/{file}"))?;
        let prefixes: Vec<Prefix> = read_prefixes(&path)
            .map_err(Error::new)?
            .into_iter()
            .filter(|prefix| prefix.family() == family)
            .collect();
        let (row, note) =
            measured(table, &prefixes, if family == Family::V4 { IPV4 } else { IPV6 });
        rows.push(row);
        notes.extend(note);
    }
    let mut text = table(&rows);
    text += "\n\nThe paper's totals count an entry of its third level, where there are only leaves, as half a word; ours has a word for it.\n";
    notes.iter().for_each(|note| text += &format!("{note}\n"));
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text, data, svg: plot(&rows), faults: Vec::new() })
}

/// Returns the storage of a table, and a message if it does not fit.
fn measured(table: &str, prefixes: &[Prefix], shape: Shape) -> (Row, Option<String>) {
    let levels = Storage::of_prefixes(prefixes).entries(&shape.strides());
    let mut memories = vec![0; shape.memories.iter().filter(|memory| memory.burst > 1).count()];
    levels.iter().zip(shape.levels).for_each(|(entries, level)| memories[level.memory] += entries);
    // Laying the table out shows whether it fits. The values are the demonstration's sixteen next
    // hops.
    let value = |index: usize| Bits::new(16, index as u128 % 16);
    let routes: Vec<_> = prefixes
        .iter()
        .enumerate()
        .map(|(index, prefix)| (prefix.bits().into(), prefix.length(), value(index)))
        .collect();
    let image = TrieImage::build(shape, &Bits::ones(16), 1024, &routes);
    let note = image.as_ref().err().map(|why| format!("{table}: {why}."));
    let row = Row {
        table: table.into(),
        published: false,
        prefixes: prefixes.len() as u64,
        strides: shape.strides(),
        total: levels.iter().sum(),
        levels,
        memories: Some(memories),
        fits: Some(image.is_ok()),
    };
    (row, note)
}

fn table(rows: &[Row]) -> String {
    let heads = [
        "table",
        "prefixes",
        "strides",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "total",
        "of each memory",
        "fits",
    ];
    let mut table = output::table(&heads, &[1, 3, 4, 5, 6, 7, 8, 9]);
    for row in rows {
        let level = |index: usize| {
            row.levels.get(index).map_or(String::new(), |entries| thousands(*entries))
        };
        let strides = row.strides.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let part = f64::from(IPV4.memories[0].entries);
        let share = |words: &u64| format!("{:.0} %", *words as f64 / part * 100.0);
        let shares =
            row.memories.as_ref().map(|all| all.iter().map(share).collect::<Vec<_>>().join(", "));
        let mut cells = vec![
            if row.published { format!("the paper: {}", row.table) } else { row.table.clone() },
            thousands(row.prefixes),
            strides,
        ];
        cells.extend((0..6).map(level));
        cells.extend([
            thousands(row.total),
            shares.unwrap_or_default(),
            row.fits.map_or("", |fits| if fits { "yes" } else { "NO" }).into(),
        ]);
        table.add_row(cells);
    }
    table.to_string()
}

/// Draws a stacked bar for each table with a segment per level, and a line at the end of a memory.
fn plot(rows: &[Row]) -> String {
    let group = |row: &Row| {
        let whose = if row.published { "the paper: " } else { "" };
        let entries = row.levels.iter().map(|entries| *entries as f64);
        Group::new(format!("{whose}{}", row.table), entries)
    };
    let levels = rows.iter().map(|row| row.levels.len()).max().unwrap_or(0);
    let series = (1..=levels).map(|level| format!("level {level}"));
    let groups = rows.iter().map(group).collect();
    let bars =
        Bars::new("Entries of the levels of tries, and their sum", "entries", series, groups)
            .with_limit("words of a memory", f64::from(IPV4.memories[0].entries));
    Bars { is_stacked: true, ..bars }.svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_totals_count_half_a_word_for_an_entry_of_the_third_level() {
        for (table, _, [first, second, third], total) in PUBLISHED {
            assert_eq!(first + second + third / 2, total, "{table}");
        }
    }

    #[test]
    fn a_table_is_counted_and_laid_out() {
        let prefixes: Vec<Prefix> = ["10.0.0.0/8", "10.1.2.0/24", "10.1.2.3/32"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        let (row, note) = measured("small", &prefixes, IPV4);
        assert_eq!(
            (row.levels, row.total, row.fits),
            (vec![1 << 20, 16, 256], (1 << 20) + 272, Some(true))
        );
        assert_eq!(note, None);
    }
}

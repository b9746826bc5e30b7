//! Parts of HTML reports that several subcommands share.

use wireloom_compile::explain::{explain, svg};
use wireloom_compile::passes::PassOptions;
use wireloom_console::thousands;
use wireloom_ir as ir;
use wireloom_machine::{Record, Recordings};
use wireloom_plot::{Bar, Bars, Group, Lines};
use wireloom_report::{Section, Table};

use crate::rows::OffloadReport;
use crate::simulation::{kinds, usage};
use wireloom_console::VerdictCounts;

/// Returns the command line, quoted for a shell.
pub fn command_line() -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./,=:+@".contains(letter);
    let quoted = |word: std::ffi::OsString| {
        let word = word.to_string_lossy().into_owned();
        match !word.is_empty() && word.chars().all(plain) {
            true => word,
            false => format!("'{}'", word.replace('\'', r"'\''")),
        }
    };
    let words = std::env::args_os().skip(1).map(quoted);
    std::iter::once("wireloom".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// Draws the step graph of a program, as software machines execute it.
pub fn step_graph(program: &ir::Program) -> Section {
    let graph = svg::step_graph(&explain(program, &PassOptions::default()));
    Section::new("Steps").picture(&graph, "Steps of the program, and how they lead to each other")
}

/// Shows the destinations of packets, as a table and as bars.
pub fn fates(fates: &VerdictCounts) -> Section {
    let section = Section::new("Where packets went");
    let rows = fates.rows();
    if rows.is_empty() {
        return section.paragraph("No packet left the machine.");
    }
    let mut table = Table::new(["went to", "packets", "bytes"], &[1, 2]);
    for (place, count) in &rows {
        table.row([place.clone(), thousands(count.packets), count.bytes_text()]);
    }
    let group = |(place, count): &(String, wireloom_console::Count)| {
        let label = thousands(count.packets);
        let bar = Bar { label, ..Bar::new(0, count.packets as f64) };
        Group { name: place.clone(), bars: vec![bar] }
    };
    let groups = rows.iter().map(group).collect();
    let plot = Bars::new("Packets by where they went", "packets", ["packets"], groups);
    section.table(table).picture(&plot.svg(), "Packets by where they went")
}

/// Shows the statistics of a simulated machine, and its recordings over time.
pub fn simulation(machine: &str, record: &Record, recordings: &Recordings<'_>) -> Section {
    let lines = record.lines.iter().map(|line| (line.name, line.text.as_str()));
    let mut section = Section::new(format!("Simulation of {machine}")).facts(lines);
    if !record.bars.is_empty() {
        let group = |bar: &wireloom_machine::Bar| {
            let name = format!("{} to {}", thousands(bar.from), thousands(bar.to));
            let label = thousands(bar.packets);
            let bars = vec![Bar { label, ..Bar::new(0, bar.packets as f64) }];
            Group { name, bars }
        };
        let groups = record.bars.iter().map(group).collect();
        let plot = Bars::new("Packets by latency in cycles", "packets", ["packets"], groups);
        section = section.picture(&plot.svg(), "Packets by latency in cycles");
    }
    if !record.parts.is_empty() {
        let kinds = kinds(&record.parts);
        let mut table = Table::new(["used", "parts", "least", "mean", "most"], &[1, 2, 3, 4]);
        for kind in &kinds {
            table.row(kind.cells());
        }
        let group = |kind: &crate::simulation::Use<'_>| {
            Group::new(kind.kind, [kind.least, kind.mean, kind.most].map(|share| 100.0 * share))
        };
        let groups = kinds.iter().map(group).collect();
        let title = "Use of the machine's parts";
        let plot = Bars::new(title, "use, %", ["least", "mean", "most"], groups);
        section = section.table(table).picture(&plot.svg(), title);
    }
    let Some(series) = recordings.series else { return section };
    section = section.picture(&usage(machine, series), "Use of the processors over time");
    let interval = series.interval().as_nanoseconds();
    for (name, title, axis) in [
        ("mpps", "Rate", "million packets a second"),
        ("lost", "Packets lost at the input", "packets an interval"),
    ] {
        let column = series.columns().find(|(column, _)| *column == name);
        if let Some((_, values)) = column {
            let plot = Lines::over_time(title, axis, interval, &[(title, values)]);
            section = section.picture(&plot.svg(), title);
        }
    }
    section
}

/// Shows the offloads that packets can change, and the requested rows.
pub fn offloads(offloads: &[OffloadReport], unread: &[String]) -> Section {
    let mut section = Section::new("Offloads");
    let mut table = Table::new(["offload", "kind", "rows"], &[2]);
    for offload in offloads {
        table.row([&offload.name, &offload.kind, &thousands(offload.count as u64)]);
    }
    section = section.table(table);
    for name in unread {
        let advice = format!("{name}: not read back, which takes long; --dump {name} does it.");
        section = section.paragraph(advice);
    }
    for offload in offloads {
        let Some(first) = offload.rows.first() else { continue };
        let heads =
            std::iter::once("key").chain(first.fields.iter().map(|(name, _)| name.as_str()));
        let numeric: Vec<usize> = (1..=first.fields.len()).collect();
        let mut table = Table::new(heads, &numeric);
        for row in &offload.rows {
            table.row(std::iter::once(&row.key).chain(row.fields.iter().map(|(_, value)| value)));
        }
        let left_out = offload.count - offload.rows.len();
        section = section.paragraph(format!("Rows of {}", offload.name)).table(table);
        if left_out > 0 {
            let left_out = thousands(left_out as u64);
            section =
                section.paragraph(format!("{left_out} rows are left out; --rows 0 shows all."));
        }
    }
    section
}

//! Checks that the numbers in the documentation equal the numbers in docs/figures, and that
//! docs/figures agrees with new measurements.

use std::fs;
use std::path::{Path, PathBuf};

use wireloom_figures::pages::{Store, page, pages};
use wireloom_figures::publish::image_path;
use wireloom_figures::store::{Class, Cost, FOLDER, Provenance, Stored};
use wireloom_figures::{BENCHMARKS, FIGURES, Figure, Settings, publish};

/// Tables and rows of docs/results whose numbers have no comment, by the beginning of the table's
/// first line or of the row, with the reason.
const UNMARKED: [(&str, &str); 5] = [
    ("| accelerator calls a packet", "counted by hand in the output of `wireloom explain`"),
    ("| simulation speed, one core |", "depends on the computer"),
    ("| IPv6 added to the IPv4 program |", "nothing is measured"),
    ("| bytes | Table 1, cycles |", "divisions of the paper's numbers"),
    ("| 32,000 packets (8,000 of 128 bytes)", "an experiment with a sender that is gone"),
];

/// Words that follow a measured number in the pages of [`held`], or that are in the head of its
/// column.
const MEASURED: [&str; 7] = [
    "LUTs",
    "flip-flops",
    "block RAMs",
    "MPPS",
    "Mpps",
    "million instructions",
    "instructions a packet",
];

/// Lines of those pages, and heads of tables, with such numbers from other sources: the beginning
/// and the reason.
const NOT_OURS: [(&str, &str); 1] =
    [("The paper gives a profile of its IPv4 program", "the paper's")];

/// Column heads without numbers of ours.
const NOT_MEASURED: [&str; 9] = [
    "goal",
    "the paper",
    "the paper's text",
    "goal, or the paper",
    "published",
    "difference",
    "command",
    "contents",
    "more",
];

/// Figures whose rates have no count of dropped packets next to them: the beginning of their names,
/// and the reason.
const ALL_FORWARDED: [(&str, &str); 4] = [
    ("live", "rates are of packets that come back to the sender"),
    ("mpsoc-", "a run in which a packet is dropped is refused"),
    ("np-", "a run in which a packet is dropped is refused"),
    ("raw-", "packets that golden does not send are left out"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn settings() -> Settings {
    Settings { root: root(), runs: 1, only: Vec::new() }
}

#[test]
fn pages_have_the_numbers_of_docs_figures() {
    let store = Store::read(&root()).expect("docs/figures");
    let mut wrong = Vec::new();
    for path in pages(&root()).expect("the pages") {
        let (text, written) = page(&store, &path).unwrap_or_else(|error| panic!("{error}"));
        let lines = text.lines().zip(written.lines()).enumerate();
        let lines = lines.filter(|(_, (has, should))| has != should);
        wrong.extend(lines.map(|(at, (has, should))| {
            format!("{}:{}\n  has  {has}\n  and  {should}", path.display(), at + 1)
        }));
        if text.lines().count() != written.lines().count() {
            wrong.push(format!("{}: a table has other rows", path.display()));
        }
    }
    assert!(
        wrong.is_empty(),
        "docs/figures has other numbers than these pages; `wireloom bench --write-docs` writes them:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_overview_of_the_benchmarks_shows_docs_figures() {
    let store = Store::read(&root()).expect("docs/figures");
    let drawn = publish::kept_overview(&store).unwrap_or_else(|error| panic!("{error}"));
    let image = fs::read_to_string(image_path(&root(), "bench")).expect("an image");
    assert!(
        image == drawn,
        "docs/images/bench.svg has other numbers; `wireloom bench --write-docs` draws it"
    );
}

#[test]
fn files_of_docs_figures_are_of_benchmarks_and_figures() {
    for name in Stored::names(&root()).expect("docs/figures") {
        let stored = Stored::read(&root(), &name).unwrap_or_else(|error| panic!("{error}"));
        let figure = FIGURES.iter().find(|figure| figure.name == name);
        if let Some(figure) = figure {
            assert_eq!(stored.command, format!("wireloom bench {name}"));
            let is_as_declared = (stored.class, stored.cost, stored.built.as_str())
                == (publish::class(figure), figure.kept.cost, figure.kept.built);
            assert!(
                is_as_declared,
                "{FOLDER}/{name}.json: `wireloom bench {name} --write-docs` writes it anew"
            );
        } else if let Some(benchmark) = BENCHMARKS.iter().find(|one| one.name == name) {
            assert_eq!(
                (stored.class, stored.built.as_str()),
                (Class::Host, benchmark.what),
                "{name}"
            );
            assert!(stored.measured.computer.is_some(), "{name} depends on the computer");
        } else {
            panic!("{FOLDER}/{name}.json is of nothing");
        }
    }
}

#[test]
fn rates_of_packets_have_the_dropped_ones_next_to_them() {
    let is_exempt =
        |name: &str| ALL_FORWARDED.iter().any(|(beginning, _)| name.starts_with(beginning));
    let mut rates = 0;
    // A profile is for the developer who takes it, and is not kept.
    let is_kept = |name: &str| root().join(FOLDER).join(format!("{name}.json")).exists();
    for figure in FIGURES.iter().filter(|one| is_kept(one.name)) {
        let stored = Stored::read(&root(), figure.name).unwrap_or_else(|error| panic!("{error}"));
        // A figure whose program drops packets on purpose counts them, whatever its name.
        let counts = stored.values.between("", ".dropped").next().is_some();
        if is_exempt(figure.name) && !counts {
            continue;
        }
        for row in stored.values.between("", ".mpps") {
            let dropped = format!("{row}.dropped");
            assert!(stored.values.has(&dropped), "{}: {dropped} is missing", figure.name);
            rates += 1;
        }
    }
    assert!(rates > 0, "no rate is held to anything");
}

#[test]
fn images_are_shown_by_pages() {
    let pages = pages(&root()).expect("the pages");
    let texts: String =
        pages.iter().map(|path| fs::read_to_string(path).expect("a page")).collect();
    for entry in fs::read_dir(root().join("docs/images")).expect("the images") {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        let is_shown = !name.ends_with(".svg") || texts.contains(&format!("images/{name}"));
        assert!(is_shown, "docs/images/{name} is in no page: show it, or remove it");
    }
}

/// Returns the rows of a page's table that have numbers of ours and no comment.
fn unmarked(lines: &[&str]) -> Vec<String> {
    let heads: Vec<&str> = lines[0].split('|').collect();
    let is_measured =
        |column: usize| heads.get(column).is_some_and(|head| !NOT_MEASURED.contains(&head.trim()));
    let rows = lines.iter().skip(2).filter(|row| {
        let cells = row.split('|').enumerate().skip(2).filter(|(column, _)| is_measured(*column));
        let has_number = |cell: &str| {
            let outside: String = cell.split('`').step_by(2).collect();
            outside.contains(|c: char| c.is_ascii_digit())
        };
        cells.clone().any(|(_, cell)| has_number(cell)) && !row.contains("<!--")
    });
    rows.map(|row| (*row).to_owned()).collect()
}

/// Calls `visit` for the tables of a text that no figure generates, with the number of the first
/// line.
fn tables(text: &str, mut visit: impl FnMut(usize, &[&str])) {
    let lines: Vec<&str> = text.lines().collect();
    let mut at = 0;
    while at < lines.len() {
        let is_written = at > 0 && lines[at - 1].trim().starts_with("<!-- figure:");
        let length = lines[at..].iter().take_while(|line| line.starts_with('|')).count();
        if length > 0 && !is_written {
            visit(at + 1, &lines[at..at + length]);
        }
        at += length.max(1);
    }
}

#[test]
fn tables_of_the_results_are_written_or_have_comments() {
    let results = root().join("docs/results");
    let below = fs::read_dir(&results).into_iter().flatten();
    let below = below.map(|entry| entry.expect("an entry").path());
    let mut seen = vec![false; UNMARKED.len()];
    let mut wrong = Vec::new();
    for path in below.chain([root().join("docs/results.md")]) {
        let text = fs::read_to_string(&path).expect("a page");
        tables(&text, |line, rows| {
            let mut is_listed = |line: &str| {
                let known = UNMARKED.iter().position(|(begin, _)| line.starts_with(begin));
                known.inspect(|known| seen[*known] = true).is_some()
            };
            if is_listed(rows[0]) {
                return;
            }
            let mut rows = unmarked(rows);
            rows.retain(|row| !is_listed(row));
            wrong.extend(
                rows.iter().map(|row| format!("{}, table of line {line}: {row}", path.display())),
            );
        });
    }
    let listed = UNMARKED.iter().zip(&seen).filter(|(_, seen)| !**seen);
    wrong.extend(
        listed.map(|((head, _), _)| format!("nothing without a comment begins with {head}")),
    );
    assert!(wrong.is_empty(), "rows of measured numbers without a comment:\n{}", wrong.join("\n"));
}

/// Returns the pages outside docs/results whose measured numbers have comments.
fn held() -> Vec<PathBuf> {
    let folders = ["docs", "docs/hardware", "docs/machines"].map(|folder| root().join(folder));
    let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).expect("a folder"));
    let pages = entries.map(|entry| entry.expect("an entry").path());
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.chain([root().join("README.md")]).collect()
}

/// Returns the lines of a page in which a measured number has no comment.
fn unmarked_lines(text: &str) -> Vec<(usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut is_code, mut heads, mut is_written) = (Vec::new(), false, None, false);
    for (at, line) in lines.iter().enumerate() {
        is_code ^= line.trim_start().starts_with("```");
        is_written =
            line.trim().starts_with("<!-- figure:") || is_written && line.trim() != "<!-- end -->";
        if is_code || is_written || line.starts_with("    ") {
            continue;
        }
        if line.starts_with('|') {
            let head = *heads.get_or_insert(at);
            if at > head + 1 && has_unmarked_cell(lines[head], line) {
                found.push((head + 1, lines[head]));
            }
            continue;
        }
        heads = None;
        if has_unmarked_number(line) {
            found.push((at + 1, *line));
        }
    }
    found
}

/// Whether a row has a number without a comment in a column of measured numbers.
fn has_unmarked_cell(head: &str, row: &str) -> bool {
    let heads: Vec<&str> = head.split('|').collect();
    row.split('|').enumerate().skip(2).any(|(column, cell)| {
        let head = heads.get(column).copied().unwrap_or_default().trim();
        let is_measured =
            MEASURED.iter().any(|word| head.contains(word)) && !NOT_MEASURED.contains(&head);
        is_measured && cell.contains(|c: char| c.is_ascii_digit()) && !cell.contains("<!--")
    })
}

/// Whether one of the words of [`MEASURED`] directly follows a number of a line.
fn has_unmarked_number(line: &str) -> bool {
    let outside: String = line.split('`').step_by(2).collect();
    MEASURED.iter().any(|word| {
        outside.match_indices(word).any(|(at, _)| {
            let before = outside[..at].trim_end();
            before.len() < at && before.ends_with(|c: char| c.is_ascii_digit())
        })
    })
}

#[test]
fn measured_numbers_of_other_pages_have_comments() {
    let mut seen = [false; NOT_OURS.len()];
    let mut wrong = Vec::new();
    for path in held() {
        // The numbers of the software machines are in their benchmarks' pages.
        if path.ends_with("machines/native.md") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a page");
        for (at, line) in unmarked_lines(&text) {
            match NOT_OURS.iter().position(|(begin, _)| line.starts_with(begin)) {
                Some(known) => seen[known] = true,
                None => wrong.push(format!("{}:{at}: {line}", path.display())),
            }
        }
    }
    let listed = NOT_OURS.iter().zip(seen).filter(|(_, seen)| !seen);
    wrong.extend(
        listed.map(|((line, _), _)| format!("no such number in a line that begins: {line}")),
    );
    assert!(wrong.is_empty(), "measured numbers without a comment:\n{}", wrong.join("\n"));
}

#[test]
fn measured_numbers_without_comments_are_found() {
    let text = "It takes 12 LUTs here.\n12<!-- x y --> LUTs, `3 LUTs`, LUTs of 6 inputs\n\
                ```\n3 LUTs\n```\n| a | LUTs | goal |\n|---|---|---|\n| b | 1 | 2 |\n| c | 1<!-- x y --> | 2 |\n\
                | 3 | | 4 |\n\n<!-- figure: x y -->\n| a | LUTs |\n|---|---|\n| b | 1 |\n<!-- end -->\n\
                of 7\nMPPS, 7 MPPS\n";
    let lines: Vec<usize> = unmarked_lines(text).into_iter().map(|(at, _)| at).collect();
    assert_eq!(lines, [1, 6, 18]);
}

#[test]
fn rows_without_comments_are_found() {
    let text = "| a | the paper | here |\n|---|---|---|\n| 1 | 2 | no |\n| b | 1 | 2 |\n| c | 1 | 2<!-- x y --> |\n| d | 1 | `4` |\n\n<!-- figure: x y -->\n| a | b |\n|---|---|\n| 1 | 2 |\n<!-- end -->\n";
    let mut found = Vec::new();
    tables(text, |line, rows| found.push((line, unmarked(rows))));
    assert_eq!(found, [(1, vec!["| b | 1 | 2 |".to_owned()])]);
}

/// Measures a figure, and returns the differences from docs/figures and docs/images. Numbers that
/// depend on tools count only if the tools are the ones of the stored numbers.
fn differences(figure: &Figure) -> Vec<String> {
    let stored = Stored::read(&root(), figure.name).unwrap_or_else(|error| panic!("{error}"));
    let here = Provenance::now(&root(), Class::Exact, figure.kept.tools).tools;
    if here != stored.measured.tools {
        eprintln!(
            "{}: not compared: measured with {:?}, and here are {here:?}",
            figure.name, stored.measured.tools
        );
        return Vec::new();
    }
    let drawn =
        (figure.make)(&settings()).unwrap_or_else(|error| panic!("{}: {error}", figure.name));
    let measured = figure.values(&drawn).unwrap_or_else(|error| panic!("{}: {error}", figure.name));
    let mut wrong = stored.values.differences(&measured);
    let image = fs::read_to_string(image_path(&root(), figure.name));
    if image.is_ok_and(|image| image != drawn.svg) {
        wrong.push("the image is drawn otherwise".to_owned());
    }
    wrong.iter().map(|wrong| format!("{}: {wrong}", figure.name)).collect()
}

#[test]
#[ignore = "measures again what takes up to some minutes"]
fn cheap_figures_are_as_kept() {
    let cheap = FIGURES.iter().filter(|figure| figure.kept.cost == Cost::Cheap);
    let wrong: Vec<String> = cheap.flat_map(differences).collect();
    assert!(
        wrong.is_empty(),
        "measured numbers differ from docs/figures; `make figures` writes them and the pages:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_steps_are_as_kept() {
    let figure = FIGURES.iter().find(|figure| figure.name == "steps").expect("it is there");
    assert_eq!(differences(figure), [""; 0], "`wireloom bench steps --write-docs` writes them");
}

//! `wireloom ctl tables`: the tables of a running forwarder.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, Subcommand, ValueHint};
use serde::Serialize;
use wireloom_console::output::{self, JsonTarget};
use wireloom_console::thousands;
use wireloom_control::Client;
use wireloom_control::protocol::{
    Change, Changes, End, Field, MOST_CHANGES, MOST_REQUEST_BYTES, Refused, Reply, Request, Row,
    Rows, ShowRows, Table, TableWriter,
};

use super::{show, unexpected};
use crate::failure::{Failure, Outcome};

/// See `wireloom ctl tables --help`.
#[derive(Args, Debug)]
pub struct Tables {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand, Debug)]
enum Action {
    /// List the offloads: kind, fields, entries, and who changes them
    List(List),
    /// Show entries as lines of a table file, and the state of packets as comments
    Show(Show),
    /// Add an entry; refused if its key has one
    Insert(Entry),
    /// Write an entry, in place of the one with its key if there is one
    Replace(Entry),
    /// Remove an entry; refused if its key has none
    Delete(Delete),
    /// Make the changes of a file together: all of them, or none
    Change(FromFile),
    /// Show entries that appear (+) and go (-), from look to look
    Watch(Watch),
}

#[derive(Args, Debug)]
struct List {
    /// Write the list as JSON, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

#[derive(Args, Debug)]
struct Show {
    #[command(flatten)]
    subject: Subject,
    /// Show at most this number of rows
    #[arg(long, value_name = "N", default_value_t = 100)]
    rows: u64,
    /// Show all rows
    #[arg(long, conflicts_with = "rows")]
    all: bool,
    /// Write the rows as JSON, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

/// The rows that are asked for.
#[derive(Args, Debug)]
struct Subject {
    /// The offload, as `list` names it
    #[arg(value_name = "PATH")]
    table: String,
    /// Only the rows of these keys, in the notation of table files; a key of several fields is one
    /// argument ('src=10.0.0.1 dst=10.0.0.2')
    #[arg(value_name = "KEY")]
    keys: Vec<String>,
}

#[derive(Args, Debug)]
struct Entry {
    /// The table, as `list` names it
    #[arg(value_name = "PATH")]
    table: String,
    /// The entry, in the notation of table files: `10.0.0.0/8 port=3`, `7 = 1`,
    /// 'src=10.0.0.1 -> port=3' (in quotes, since shells understand `>`)
    #[arg(value_name = "ENTRY", required = true)]
    entry: Vec<String>,
}

#[derive(Args, Debug)]
struct Delete {
    /// The table, as `list` names it
    #[arg(value_name = "PATH")]
    table: String,
    /// The key, in the notation of table files: `10.0.0.0/8`, `7`, `src=10.0.0.1 dst=10.0.0.2`
    #[arg(value_name = "KEY", required = true)]
    key: Vec<String>,
}

#[derive(Args, Debug)]
struct FromFile {
    /// The changes, one a line, from a file or standard input (-): `insert PATH ENTRY`,
    /// `replace PATH ENTRY`, `delete PATH KEY`; `#` begins a comment
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    file: PathBuf,
}

#[derive(Args, Debug)]
struct Watch {
    #[command(flatten)]
    subject: Subject,
    /// The time from one look to the next, such as 500ms or 2s
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    interval: Duration,
    /// End after this number of looks after the first; otherwise Ctrl-C ends it
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Write the differences as JSON, to a file or to standard output (-), at the end
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

/// Parses a time of 10 milliseconds to an hour: `500ms`, `2s`, `2`.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1),
        None => (text.strip_suffix('s').unwrap_or(text), 1000),
    };
    let milliseconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    match milliseconds {
        Some(milliseconds @ 10..=3_600_000) => Ok(Duration::from_millis(milliseconds)),
        _ => Err("give a time from 10ms to 3600s, such as 500ms or 2s".to_owned()),
    }
}

impl Tables {
    /// Whether the action itself handles the signals that ask the process to end.
    pub fn handles_signals(&self) -> bool {
        matches!(self.action, Action::Watch(_))
    }

    /// Sends the requests, and shows the replies.
    pub fn run(self, mut client: Client) -> Outcome {
        match self.action {
            Action::List(list) => match client.ask(&Request::Tables)? {
                Reply::Tables(tables) => {
                    show(list.json.as_ref(), || listed(&tables));
                    Ok(output::json(list.json.as_ref(), &tables)?)
                }
                _ => Err(unexpected()),
            },
            Action::Show(show) => show.run(&mut client),
            Action::Insert(Entry { table, entry }) => {
                change_one(&mut client, Change::Insert { table, entry: entry.join(" ") })
            }
            Action::Replace(Entry { table, entry }) => {
                change_one(&mut client, Change::Replace { table, entry: entry.join(" ") })
            }
            Action::Delete(Delete { table, key }) => {
                change_one(&mut client, Change::Delete { table, key: key.join(" ") })
            }
            Action::Change(from) => from.run(&mut client),
            Action::Watch(watch) => watch.run(client),
        }
    }
}

/// Formats fields with their widths.
fn layout(fields: &[Field], otherwise: &str) -> String {
    let text = |field: &Field| match field.name.as_str() {
        "" => format!("{} bits", field.bits),
        name => format!("{name}:{}", field.bits),
    };
    match fields {
        [] => otherwise.to_owned(),
        _ => fields.iter().map(text).collect::<Vec<_>>().join(" "),
    }
}

/// Formats the list of offloads.
fn listed(tables: &[Table]) -> String {
    let heads = ["table", "kind", "key", "value", "entries", "size", "written by"];
    let mut out = output::table(&heads, &[4, 5]);
    for table in tables {
        let number = |number: Option<u64>| number.map(thousands).unwrap_or_default();
        let writer = match table.writer {
            TableWriter::Control => "control plane",
            TableWriter::Kernel => "kernel",
            TableWriter::Nobody => "",
        };
        let packets = if table.changed_by_packets { "packets" } else { "" };
        let writers: Vec<&str> =
            [writer, packets].into_iter().filter(|who| !who.is_empty()).collect();
        let is_indexed = table.key.is_empty() && table.size.is_some();
        out.add_row([
            table.table.clone(),
            table.kind.clone(),
            layout(&table.key, if is_indexed { "index" } else { "" }),
            layout(&table.value, ""),
            number(table.entries),
            number(table.size),
            writers.join(", "),
        ]);
    }
    format!("{out}\n")
}

/// Asks for rows, and passes each page to `take`. Returns why they ended.
fn read(
    client: &mut Client,
    subject: &Subject,
    most: Option<u64>,
    mut take: impl FnMut(Vec<Row>),
) -> Outcome<End> {
    let (table, keys) = (subject.table.clone(), subject.keys.clone());
    client.send(&Request::Rows(ShowRows { table, keys, most }))?;
    loop {
        let Reply::Rows(Rows { rows, end }) = client.receive()? else { return Err(unexpected()) };
        take(rows);
        if let Some(end) = end {
            return Ok(end);
        }
    }
}

impl Show {
    fn run(self, client: &mut Client) -> Outcome {
        let most = if self.all { None } else { Some(self.rows) };
        let is_text = output::for_people(self.json.as_ref());
        let (mut shown, mut kept) = (0, Vec::new());
        let end = read(client, &self.subject, most, |rows| {
            if is_text {
                let head = match shown {
                    0 if !rows.is_empty() => format!("table {}\n", self.subject.table),
                    _ => String::new(),
                };
                output::print(&(head + &rows.iter().map(Row::line).collect::<String>()));
            }
            shown += rows.len();
            if self.json.is_some() {
                kept.extend(rows);
            }
        })?;
        output::json(self.json.as_ref(), &kept)?;
        if end == End::Limit {
            output::note(format!("{} rows shown; --all shows the others", thousands(shown as u64)));
        }
        let wanted = self.subject.keys.len();
        if end == End::Complete && wanted > shown {
            let (table, missing) = (&self.subject.table, wanted - shown);
            let what = format!("{table}: {missing} of {wanted} keys have no entry");
            return Err(Failure::unusable(what).with_help(
                "`wireloom ctl tables show` without keys lists the entries; an element that is zero is none",
            ));
        }
        Ok(())
    }
}

/// Makes a transaction. Returns the refusal if there is one.
fn transact(client: &mut Client, changes: Vec<Change>) -> Outcome<Option<Refused>> {
    match client.ask(&Request::Change(Changes { changes }))? {
        Reply::Changed(changed) => {
            output::say(format!(
                "{} changed; packets waited {:.0} us",
                match changed.changes {
                    1 => "1 entry".to_owned(),
                    count => format!("{} entries", thousands(count)),
                },
                changed.microseconds
            ));
            Ok(None)
        }
        Reply::Refused(refused) => Ok(Some(refused)),
        _ => Err(unexpected()),
    }
}

fn refusal(place: &str, refused: Refused) -> Failure {
    let failure = Failure::unusable(format!("{place}{}", refused.message));
    match refused.help {
        Some(help) => failure.with_help(help),
        None => failure,
    }
}

fn change_one(client: &mut Client, change: Change) -> Outcome {
    match transact(client, vec![change])? {
        Some(refused) => Err(refusal("", refused)),
        None => Ok(()),
    }
}

/// Returns the changes of a file, each with the number of its line.
fn changes(name: &str, text: &str) -> Outcome<Vec<(usize, Change)>> {
    let mut all = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let change = Change::parse(line).ok_or_else(|| malformed(name, number))?;
        all.push((number, change));
    }
    Ok(all)
}

fn malformed(name: &str, line: usize) -> Failure {
    Failure::unusable(format!("{name}:{line}: this is no change of an entry"))
        .with_help("write `insert PATH ENTRY`, `replace PATH ENTRY` or `delete PATH KEY`")
}

impl FromFile {
    fn run(self, client: &mut Client) -> Outcome {
        let name = match self.file == Path::new("-") {
            true => "standard input".to_owned(),
            false => self.file.display().to_string(),
        };
        let mut text = String::new();
        let read = match self.file == Path::new("-") {
            true => std::io::stdin().read_to_string(&mut text).map(drop),
            false => std::fs::read_to_string(&self.file).map(|read| text = read),
        };
        read.map_err(|error| Failure::unusable(format!("{name}: cannot be read: {error}")))?;
        let (lines, changes): (Vec<usize>, Vec<Change>) =
            changes(&name, &text)?.into_iter().unzip();
        // The request repeats some words for each change.
        let bytes = serde_json::to_vec(&changes).map_or(0, |bytes| bytes.len() + 100);
        if changes.len() > MOST_CHANGES || bytes > MOST_REQUEST_BYTES {
            return Err(Failure::unusable(format!(
                "{name}: {} changes are too many for one transaction, for which packets wait",
                thousands(changes.len() as u64)
            ))
            .with_help(format!(
                "divide the file; a transaction has at most {} changes and {} bytes",
                thousands(MOST_CHANGES as u64),
                thousands(MOST_REQUEST_BYTES as u64)
            )));
        }
        match transact(client, changes)? {
            Some(refused) => {
                let line = lines.get(refused.change as usize).copied().unwrap_or_default();
                Err(refusal(&format!("{name}:{line}: nothing was changed: "), refused))
            }
            None => Ok(()),
        }
    }
}

/// The longest sleep without a check for Ctrl-C.
const REST: Duration = Duration::from_millis(100);

/// A difference between two looks.
#[derive(Debug, PartialEq, Serialize)]
struct Difference {
    /// The seconds since the first look.
    seconds: f64,
    key: String,
    /// The row at the earlier look; absent if it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    /// The row at the later look; absent if it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<String>,
}

/// Returns the rows by their keys. Ages are left out: they always differ.
fn look(client: &mut Client, subject: &Subject) -> Outcome<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    read(client, subject, None, |rows| {
        found.extend(rows.into_iter().map(|row| {
            let timeless = Row { age_ns: None, left_ns: None, ..row };
            let text = timeless.line().trim_end().to_owned();
            (timeless.key, text)
        }));
    })?;
    Ok(found)
}

/// Returns the differences between two looks, by key.
fn differences(
    seconds: f64,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<Difference> {
    let mut keys: Vec<&String> = before.keys().chain(after.keys()).collect();
    keys.sort_unstable();
    keys.dedup();
    let of = |key: &String| {
        let (before, after) = (before.get(key).cloned(), after.get(key).cloned());
        (before != after).then(|| Difference { seconds, key: key.clone(), before, after })
    };
    keys.into_iter().filter_map(of).collect()
}

impl Watch {
    fn run(self, mut client: Client) -> Outcome {
        // Ctrl-C ends the watch, and the differences so far are written.
        client.close_on_signals()?;
        let begin = Instant::now();
        let mut all = Vec::new();
        let watched = self.look_on(&mut client, begin, &mut all);
        output::json(self.json.as_ref(), &all)?;
        match watched {
            Err(_) if client.is_interrupted() => Ok(()),
            watched => watched,
        }
    }

    fn look_on(&self, client: &mut Client, begin: Instant, all: &mut Vec<Difference>) -> Outcome {
        let mut before = look(client, &self.subject)?;
        let mut looks = 0;
        while self.count.is_none_or(|count| looks < count) {
            let next = Instant::now() + self.interval;
            // Ctrl-C closes the connection, which the next request would find out late.
            while !client.is_interrupted() && Instant::now() < next {
                thread::sleep(REST.min(next.saturating_duration_since(Instant::now())));
            }
            let after = look(client, &self.subject)?;
            let seconds = begin.elapsed().as_secs_f64();
            let found = differences(seconds, &before, &after);
            show(self.json.as_ref(), || {
                let side = |sign, row: &Option<String>| {
                    row.as_ref()
                        .map_or_else(String::new, |row| format!("{seconds:.1} {sign} {row}\n"))
                };
                found.iter().map(|one| side('-', &one.before) + &side('+', &one.after)).collect()
            });
            if self.json.is_some() {
                all.extend(found);
            }
            (before, looks) = (after, looks + 1);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_change_on_each_line() {
        let text =
            "# servers\n\ninsert routes 10.0.0.0/8 port=3 # the first\nreplace  slots 7 = 1\n";
        let wrong = "replace slots 7 = 1\ndelete slots\n";
        let Ok(all) = changes("f", text) else { panic!("changes") };
        let entry = "10.0.0.0/8 port=3 # the first".to_owned();
        assert_eq!(all[0], (3, Change::Insert { table: "routes".into(), entry }));
        assert_eq!(all[1], (4, Change::Replace { table: "slots".into(), entry: "7 = 1".into() }));
        let Err(Failure::Unusable { message, .. }) = changes("f", wrong) else { panic!("refused") };
        assert_eq!(message, "f:2: this is no change of an entry");
    }

    #[test]
    fn times_have_a_unit_and_bounds() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!((duration("2s"), duration("2")), (duration("2000ms"), duration("2s")));
        for wrong in ["", "s", "0", "9ms", "2h", "-1s", "3601s", "99999999999999999999s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn looks_differ_in_entries_that_come_go_and_change() {
        let rows = |rows: &[(&str, &str)]| -> BTreeMap<String, String> {
            rows.iter().map(|(key, row)| ((*key).to_owned(), (*row).to_owned())).collect()
        };
        let before = rows(&[("1", "1 = 1"), ("2", "2 = 1"), ("3", "3 = 1")]);
        let after = rows(&[("2", "2 = 1"), ("3", "3 = 2"), ("4", "4 = 1")]);
        let found = differences(1.0, &before, &after);
        let sides: Vec<_> =
            found.iter().map(|one| (one.before.as_deref(), one.after.as_deref())).collect();
        let expected =
            [(Some("1 = 1"), None), (Some("3 = 1"), Some("3 = 2")), (None, Some("4 = 1"))];
        assert_eq!(sides, expected);
    }
}

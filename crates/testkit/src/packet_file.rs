//! Files of packet tests. `programs/tests/README.md` describes them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use wireloom_ir::{Program, ReasonSet};
use wireloom_machine::{Source, load_store};
use wireloom_net::Packet;
use wireloom_net::tables::{Key, Literal, parse_entry, parse_key};
use wireloom_offloads::Store;
use wireloom_offloads::populate::suggest;

use crate::notation::{self, Headers, Written};
use crate::state::Entry;

/// A file of packet tests.
pub struct TestFile {
    pub path: PathBuf,
    /// The file of the program.
    pub program: PathBuf,
    pub tables: Option<PathBuf>,
    /// The constants of the program, as in `--set NAME=VALUE`.
    pub sets: Vec<(String, String)>,
    pub actions: Vec<Action>,
}

/// An action of a test.
pub struct Action {
    /// The name of the test; empty before the first test.
    pub test: String,
    /// The number of the test in its file. Two tests may have the same name.
    pub number: usize,
    /// The line in the file, from 1.
    pub line: usize,
    pub kind: ActionKind,
}

/// The kinds of [`Action`].
pub enum ActionKind {
    /// Sends a packet to the engine and checks the outputs.
    Send(Packet, Vec<Expected>),
    /// Advances the time, in nanoseconds, and checks the outputs of the timers that run.
    Advance(u64, Vec<Expected>),
    /// Checks that a table has an entry with these fields, or no entry if there are no fields.
    Table {
        /// The time in nanoseconds. Entries whose age has passed by then are absent.
        now_ns: u64,
        /// The path of the offload.
        offload: String,
        key: Key,
        /// The fields of the entry's value by name; `None` if no entry is expected.
        fields: Option<Vec<(String, Literal)>>,
    },
}

/// An expected output of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Sent to a port, with these bytes.
    Sent(u16, Written),
    /// To the control processor, for a reason.
    Cpu(String),
    /// Dropped, for a reason.
    Dropped(String),
}

impl TestFile {
    /// Returns the packets that the file sends, in order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.actions.iter().filter_map(|action| match &action.kind {
            ActionKind::Send(packet, _) => Some(packet),
            ActionKind::Advance(..) | ActionKind::Table { .. } => None,
        })
    }

    /// Returns the program, with the constants that the file sets.
    pub fn source(&self) -> Source {
        Source { set: self.sets.clone(), ..Source::of(&self.program) }
    }

    /// Returns the offloads of a program with the file's tables.
    ///
    /// # Errors
    /// If the table file is refused.
    pub fn store(&self, program: &Program) -> Result<Store, String> {
        let tables: Vec<PathBuf> = self.tables.iter().cloned().collect();
        let loaded = load_store(program, &tables, &|_| ());
        loaded.map(|(store, _)| store).map_err(|error| error.message)
    }

    /// Checks the names of the expected offloads, fields and reasons.
    ///
    /// # Errors
    /// `FILE:LINE:` and the mistake.
    pub fn check(&self, store: &Store, reasons: &[ReasonSet]) -> Result<(), String> {
        for Action { line, kind, .. } in &self.actions {
            let checked = match kind {
                ActionKind::Send(_, expected) | ActionKind::Advance(_, expected) => {
                    expected.iter().try_for_each(|expected| check_reason(expected, reasons))
                }
                ActionKind::Table { now_ns, offload, key, fields } => {
                    Entry::find(store, offload, key, *now_ns).and_then(|entry| {
                        fields.iter().flatten().try_for_each(|field| entry.check(field))
                    })
                }
            };
            checked.map_err(|what| format!("{}:{line}: {what}", self.path.display()))?;
        }
        Ok(())
    }

    /// Reads a file, and the headers that its program declares.
    ///
    /// # Errors
    /// `FILE:LINE:` and the mistake, or the errors of the program.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = wireloom_files::read_text(path, wireloom_files::MAX_TEXT_BYTES)
            .map_err(|e| format!("{}: {e}", path.display()))?;
        let statements = statements(&text);
        let mut file = Self {
            path: path.to_owned(),
            program: PathBuf::new(),
            tables: None,
            sets: Vec::new(),
            actions: Vec::new(),
        };
        let fail = |line: usize, what: String| format!("{}:{line}: {what}", path.display());
        for (line, statement) in &statements {
            file.setting(statement).map_err(|what| fail(*line, what))?;
        }
        if file.program.as_os_str().is_empty() {
            return Err(format!("{}: no line says `program FILE`", path.display()));
        }
        let headers = file.source().headers().map_err(|error| match error.help {
            Some(help) => format!("{}\nhelp: {help}", error.message),
            None => error.message,
        })?;
        let mut reading = Reading::new(&headers);
        for (line, statement) in &statements {
            reading.statement(*line, statement).map_err(|what| fail(*line, what))?;
        }
        file.actions = reading.actions;
        Ok(file)
    }

    /// Reads a statement that selects the program, its tables or a constant.
    fn setting(&mut self, statement: &str) -> Result<(), String> {
        let beside = |name: &str| self.path.parent().unwrap_or(Path::new("")).join(name);
        match words(statement) {
            ("program", rest) => self.program = beside(rest),
            ("tables", rest) => self.tables = Some(beside(rest)),
            ("set", rest) => {
                let (name, value) = rest.split_once('=').ok_or("set NAME=VALUE")?;
                self.sets.push((name.trim().into(), value.trim().into()));
            }
            _ => {}
        }
        Ok(())
    }
}

/// The state of parsing the statements of a file.
struct Reading<'a> {
    headers: &'a Headers,
    names: HashMap<String, String>,
    test: String,
    number: usize,
    now_ns: u64,
    actions: Vec<Action>,
}

impl<'a> Reading<'a> {
    fn new(headers: &'a Headers) -> Self {
        let (names, test, actions) = Default::default();
        Self { headers, names, test, number: 0, now_ns: 0, actions }
    }

    fn statement(&mut self, line: usize, statement: &str) -> Result<(), String> {
        let (word, rest) = words(statement);
        let rest = &expand(rest, &self.names)?;
        match word {
            "program" | "tables" | "set" => {}
            "let" => {
                let (name, value) = rest.split_once('=').ok_or("let NAME = PACKET")?;
                self.names.insert(name.trim().to_owned(), value.trim().to_owned());
            }
            "test" => (self.test, self.number) = (rest.clone(), self.number + 1),
            "at" => {
                self.now_ns = notation::time(rest)?;
                self.act(line, ActionKind::Advance(self.now_ns, Vec::new()));
            }
            "packet" => {
                let (ingress, packet) = notation::port_and_packet(rest, self.headers)?;
                let packet = Packet { ingress, arrival_ns: self.now_ns, bytes: packet.bytes };
                self.act(line, ActionKind::Send(packet, Vec::new()));
            }
            "expect" => match words(rest) {
                ("table", rest) => self.act(line, table(rest, self.now_ns)?),
                ("absent", rest) => self.act(line, absent(rest, self.now_ns)?),
                _ => {
                    let expected = expectation(rest, self.headers)?;
                    let last = self.actions.last_mut().map(|action| &mut action.kind);
                    let Some(ActionKind::Send(_, all) | ActionKind::Advance(_, all)) = last else {
                        return Err("no packet and no time stands before this".into());
                    };
                    all.push(expected);
                }
            },
            _ => return Err(format!("`{word}` is not known here")),
        }
        Ok(())
    }

    fn act(&mut self, line: usize, kind: ActionKind) {
        self.actions.push(Action { test: self.test.clone(), number: self.number, line, kind });
    }
}

/// Returns the first word of a statement, and the rest.
fn words(statement: &str) -> (&str, &str) {
    let (word, rest) = statement.split_once(' ').unwrap_or((statement, ""));
    (word, rest.trim())
}

/// Returns the nonempty lines and their numbers. A line that begins with a space continues the
/// previous one.
fn statements(text: &str) -> Vec<(usize, String)> {
    let mut out: Vec<(usize, String)> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        match out.last_mut() {
            Some((_, before)) if line.starts_with(' ') => {
                before.push(' ');
                before.push_str(line.trim());
            }
            _ => out.push((i + 1, line.trim_end().to_owned())),
        }
    }
    out
}

/// Replaces each `$name` by its `let` definition.
fn expand(text: &str, names: &HashMap<String, String>) -> Result<String, String> {
    let mut parts = text.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(part.len());
        let (name, rest) = part.split_at(end);
        out.push_str(names.get(name).ok_or(format!("`${name}` is not defined"))?);
        out.push_str(rest);
    }
    Ok(out)
}

fn expectation(text: &str, headers: &Headers) -> Result<Expected, String> {
    Ok(match words(text) {
        ("cpu", reason) => Expected::Cpu(reason.to_owned()),
        ("drop", reason) => Expected::Dropped(reason.to_owned()),
        _ => {
            let (port, packet) = notation::port_and_packet(text, headers)?;
            Expected::Sent(port, packet)
        }
    })
}

/// Parses `OFFLOAD ENTRY`, with the entry as in table files.
fn table(text: &str, now_ns: u64) -> Result<ActionKind, String> {
    let (offload, entry) =
        text.split_once(' ').ok_or("write `expect table OFFLOAD KEY FIELD=VALUE ...`")?;
    let (key, fields) = parse_entry(entry)?;
    Ok(ActionKind::Table { now_ns, offload: offload.to_owned(), key, fields: Some(fields) })
}

/// Parses `OFFLOAD KEY`.
fn absent(text: &str, now_ns: u64) -> Result<ActionKind, String> {
    let (offload, key) = text.split_once(' ').ok_or("write `expect absent OFFLOAD KEY`")?;
    let (offload, key) = (offload.to_owned(), parse_key(key)?);
    Ok(ActionKind::Table { now_ns, offload, key, fields: None })
}

/// Checks that the program has the expected reason.
fn check_reason(expected: &Expected, sets: &[ReasonSet]) -> Result<(), String> {
    let (Expected::Cpu(reason) | Expected::Dropped(reason)) = expected else { return Ok(()) };
    let members =
        || sets.iter().flat_map(|set| set.members.iter().map(move |(_, name)| (set, name)));
    let is_it = |(set, name): (&ReasonSet, &String)| reason_is(reason, &set.name, name);
    if reason == RUNAWAY || members().any(is_it) {
        return Ok(());
    }
    let names = members().map(|(_, name)| name.as_str());
    Err(format!("there is no reason `{reason}`{}", suggest(reason, names)))
}

/// The reason of packets that took too many steps.
pub(crate) const RUNAWAY: &str = "runaway";

/// Returns whether the text names a member of a set of reasons: `NAME`, or `SET.NAME`.
pub(crate) fn reason_is(text: &str, set: &str, name: &str) -> bool {
    text == name || text.strip_suffix(name).and_then(|rest| rest.strip_suffix('.')) == Some(set)
}

//! Files of packet tests: `programs/tests/README.md` describes them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use wireloom_ir::Program;
use wireloom_machine::{Source, load_store};
use wireloom_net::Packet;
use wireloom_offloads::Store;

use crate::notation;

/// A file of packet tests.
pub struct TestFile {
    /// The engine.
    pub program: PathBuf,
    /// The table file.
    pub tables: Option<PathBuf>,
    /// `--set NAME=VALUE`.
    pub sets: Vec<(String, String)>,
    /// The actions, in order.
    pub actions: Vec<Action>,
}

/// Something to do.
pub struct Action {
    /// Name of the test that it belongs to.
    pub test: String,
    /// Number of that test in its file: two tests may have the same name.
    pub number: usize,
    /// Line of the file, from 1.
    pub line: usize,
    /// The kind of action.
    pub kind: ActionKind,
}

/// The kinds of [`Action`].
pub enum ActionKind {
    /// Sends a packet to the engine and checks the outputs.
    Send(Packet, Vec<Expected>),
    /// Looks whether a table has an entry with these fields.
    Table {
        /// Path of the offload.
        offload: String,
        /// An index (one field without a name), or the fields of a key.
        key: Vec<(String, u128)>,
        /// Fields of the entry.
        fields: Vec<(String, u128)>,
    },
}

/// An expected output of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Sent to a port, with these bytes.
    Sent(u16, Vec<u8>),
    /// To the control processor, for a reason.
    Cpu(String),
    /// Dropped, for a reason.
    Dropped(String),
}

impl TestFile {
    /// The packets that the file sends, in order.
    pub fn packets(&self) -> impl Iterator<Item = &Packet> {
        self.actions.iter().filter_map(|action| match &action.kind {
            ActionKind::Send(packet, _) => Some(packet),
            ActionKind::Table { .. } => None,
        })
    }

    /// The program, with the constants that the file sets.
    pub fn source(&self) -> Source {
        Source { set: self.sets.clone(), ..Source::of(&self.program) }
    }

    /// The offloads of a program with the file's tables.
    ///
    /// # Errors
    /// If the table file is refused.
    pub fn store(&self, program: &Program) -> Result<Store, String> {
        let tables: Vec<PathBuf> = self.tables.iter().cloned().collect();
        let loaded = load_store(program, &tables, &|_| ());
        loaded.map(|(store, _)| store).map_err(|error| error.message)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// `FILE:LINE: what is wrong`.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = wireloom_files::read_text(path, wireloom_files::MAX_TEXT_BYTES)
            .map_err(|e| format!("{}: {e}", path.display()))?;
        let beside = |name: &str| path.parent().unwrap_or(Path::new("")).join(name);
        let mut file =
            Self { program: PathBuf::new(), tables: None, sets: Vec::new(), actions: Vec::new() };
        let mut names = HashMap::new();
        let (mut test, mut number, mut now_ns) = (String::new(), 0, 0);
        for (line, statement) in statements(&text) {
            let fail = |what: String| format!("{}:{line}: {what}", path.display());
            let (word, rest) = statement.split_once(' ').unwrap_or((&statement, ""));
            let rest = expand(rest.trim(), &names).map_err(fail)?;
            match word {
                "program" => file.program = beside(&rest),
                "tables" => file.tables = Some(beside(&rest)),
                "set" => {
                    let (name, value) =
                        rest.split_once('=').ok_or_else(|| fail("set NAME=VALUE".into()))?;
                    file.sets.push((name.trim().into(), value.trim().into()));
                }
                "let" => {
                    let (name, value) =
                        rest.split_once('=').ok_or_else(|| fail("let NAME = PACKET".into()))?;
                    names.insert(name.trim().to_owned(), value.trim().to_owned());
                }
                "test" => (test, number) = (rest, number + 1),
                "at" => {
                    let seconds =
                        rest.strip_suffix('s').ok_or_else(|| fail("at SECONDSs".into()))?;
                    let seconds = notation::number(seconds).map_err(fail)?;
                    now_ns = seconds
                        .checked_mul(1_000_000_000)
                        .ok_or_else(|| fail(format!("{seconds} s is beyond the clock's range")))?;
                }
                "packet" => {
                    let (ingress, packet) = notation::port_and_packet(&rest).map_err(fail)?;
                    let packet = Packet { ingress, arrival_ns: now_ns, bytes: packet };
                    let kind = ActionKind::Send(packet, Vec::new());
                    file.actions.push(Action { test: test.clone(), number, line, kind });
                }
                "expect" if rest.starts_with("table ") => {
                    let kind = table(&rest["table ".len()..]).map_err(fail)?;
                    file.actions.push(Action { test: test.clone(), number, line, kind });
                }
                "expect" => {
                    let Some(Action { kind: ActionKind::Send(_, expected), .. }) =
                        file.actions.last_mut()
                    else {
                        return Err(fail("no packet stands before this".into()));
                    };
                    expected.push(expectation(&rest).map_err(fail)?);
                }
                _ => return Err(fail(format!("`{word}` is not known here"))),
            }
        }
        if file.program.as_os_str().is_empty() {
            return Err(format!("{}: no line says `program FILE`", path.display()));
        }
        Ok(file)
    }
}

/// Returns the lines with contents and their numbers; lines that begin with a space continue the
/// one before.
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

fn expectation(text: &str) -> Result<Expected, String> {
    Ok(match text.split_once(' ') {
        Some(("cpu", reason)) => Expected::Cpu(reason.trim().to_owned()),
        Some(("drop", reason)) => Expected::Dropped(reason.trim().to_owned()),
        _ => {
            let (port, bytes) = notation::port_and_packet(text)?;
            Expected::Sent(port, bytes)
        }
    })
}

/// `OFFLOAD INDEX FIELD=VALUE ...` or `OFFLOAD KEYFIELD=VALUE ... -> FIELD=VALUE ...`.
fn table(text: &str) -> Result<ActionKind, String> {
    let pairs = |text: &str| {
        text.split_whitespace()
            .map(|pair| {
                let (name, value) =
                    pair.split_once('=').ok_or(format!("`{pair}` is not `field=value`"))?;
                Ok((name.to_owned(), notation::scalar(value)?))
            })
            .collect::<Result<Vec<_>, String>>()
    };
    let (offload, rest) = text.split_once(' ').ok_or("an offload and an entry")?;
    let (key, fields): (Vec<_>, Vec<_>) = match rest.split_once("->") {
        Some((key, fields)) => (pairs(key)?, pairs(fields)?),
        None => {
            let (index, fields) = rest.split_once(' ').ok_or("an index and fields")?;
            (vec![(String::new(), notation::scalar(index)?)], pairs(fields)?)
        }
    };
    if key.is_empty() {
        return Err("the fields of the key are missing".to_owned());
    }
    Ok(ActionKind::Table { offload: offload.to_owned(), key, fields })
}

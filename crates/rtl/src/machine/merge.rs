//! Reads a description with all that it extends.

use std::path::Path;

use toml::{Table, Value};

use super::{MachineError, machine_folder};

/// How many files may stand one behind the other.
const MAX_DEPTH: usize = 8;

/// The description that all others go back to; built in, so that `np-C-E-T` works without the file.
pub(super) fn base() -> Table {
    include_str!("../../../../machines/np.toml").parse().expect("machines/np.toml is TOML: a test holds it")
}

/// A description with all that it extends.
#[derive(Default)]
pub(super) struct Merged {
    pub(super) table: Table,
    /// The offloads that files of the user's own say something of: those that are not installed with the command.
    pub(super) own_offloads: Vec<String>,
}

/// A file and what it extends.
pub(super) fn load(path: &Path) -> Result<Merged, MachineError> {
    load_at(path, MAX_DEPTH)
}

fn load_at(path: &Path, depth: usize) -> Result<Merged, MachineError> {
    let text =
        std::fs::read_to_string(path).map_err(|error| MachineError::Read { path: path.to_owned(), error })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    parse_at(&path.display().to_string(), &text, folder, depth)
}

/// A text and what it extends; files are looked for in `folder`.
pub(super) fn parse(place: &str, text: &str, folder: &Path) -> Result<Merged, MachineError> {
    parse_at(place, text, folder, MAX_DEPTH)
}

fn parse_at(place: &str, text: &str, folder: &Path, depth: usize) -> Result<Merged, MachineError> {
    let error = |message: String| MachineError::Parse { place: place.to_owned(), message };
    let mut table: Table =
        text.parse().map_err(|e: toml::de::Error| error(e.to_string().trim().to_owned()))?;
    let own_offloads = if is_installed(folder) { Vec::new() } else { offloads(&table) };
    let Some(extends) = table.remove("extends") else { return Ok(Merged { table, own_offloads }) };
    let Value::String(name) = extends else {
        return Err(error("`extends` is the name of a machine description, such as \"np\"".to_owned()));
    };
    if depth == 0 {
        return Err(error(format!(
            "`extends` goes {MAX_DEPTH} files deep: do two of them extend each other?"
        )));
    }
    let beside = folder.join(format!("{name}.toml"));
    let installed = machine_folder().join(format!("{name}.toml"));
    let mut below = match () {
        () if beside.exists() => load_at(&beside, depth - 1)?,
        () if name == "np" => Merged { table: base(), ..Merged::default() },
        () if installed.exists() => load_at(&installed, depth - 1)?,
        () => return Err(error(format!("`extends = \"{name}\"`: there is no {}", beside.display()))),
    };
    overlay(&mut below.table, table);
    below.own_offloads.extend(own_offloads);
    Ok(below)
}

/// The offloads that a file says something of.
fn offloads(table: &Table) -> Vec<String> {
    let sections = table.get("offload").and_then(Value::as_table);
    sections.into_iter().flat_map(Table::keys).cloned().collect()
}

/// Whether the descriptions that come with the command stand in a folder.
fn is_installed(folder: &Path) -> bool {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let same = |folder: &Path| folder.canonicalize().ok();
    same(folder).is_some_and(|folder| Some(folder) == same(&machine_folder()))
}

/// Puts a table over another, table by table.
fn overlay(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => overlay(old, new),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

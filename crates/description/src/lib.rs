//! Machine descriptions: TOML files that extend each other. The kind of a machine defines the
//! meaning of its keys; this crate only reads and merges them.
//!
//! The installed descriptions are the files of `machines/` in the repository; they are part of the
//! command. The folder `machines` of `WIRELOOM_HOME` takes precedence over them ([`embedded`]).

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};
use wireloom_install::embedded;

/// The maximum length of a chain of files that extend each other.
const MAX_DEPTH: usize = 8;

/// Tables whose keys depend on their `kind`.
const BY_KIND: [&str; 2] = ["network", "partition"];

/// The reason why a description cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Read { path: PathBuf, error: std::io::Error },
    /// A file is no description.
    #[error("{place}: {message}")]
    Parse {
        /// The path of the file, or the name of the description.
        place: String,
        /// The problem, with the line.
        message: String,
    },
}

/// A description with everything that it extends.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// All keys, merged.
    pub table: Table,
    /// The user's own files, separately, base files first. These are files that are not installed
    /// with the command.
    pub own: Vec<OwnFile>,
}

/// A file of the user.
#[derive(Clone, Debug)]
pub struct OwnFile {
    /// The path of the file.
    pub place: String,
    /// The keys of the file alone.
    pub table: Table,
    text: String,
}

impl Description {
    /// Returns the built-in description at the root of a kind: `np` or `mpsoc`.
    ///
    /// # Panics
    /// If there is no description of that name.
    pub fn built_in(name: &str) -> Self {
        let text = embedded::built_in(&installed(name)).expect("a built-in description");
        Self { table: text.parse().expect("it is TOML: a test holds it"), own: Vec::new() }
    }

    /// Returns a description and the name of its machine. `name` is the name of an installed
    /// description, or a path that ends in `.toml` or `.json`. A `.json` file is a machine with all
    /// keys, as reports contain it, or such a report. Returns `None` if no description of that name
    /// is installed.
    ///
    /// # Errors
    /// If a file cannot be read, or is no description.
    pub fn find(name: &str) -> Result<Option<(String, Self)>, DescriptionError> {
        if name.ends_with(".toml") {
            let path = Path::new(name);
            let stem = path
                .file_stem()
                .map_or(name.to_owned(), |stem| stem.to_string_lossy().into_owned());
            return Ok(Some((stem, load(path, MAX_DEPTH)?)));
        }
        if name.ends_with(".json") {
            return load_reported(Path::new(name)).map(Some);
        }
        let found = find_installed(name, MAX_DEPTH)?;
        Ok(found.map(|description| (name.to_owned(), description)))
    }

    /// Parses a description. Files that it extends are searched among the installed ones.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn parse(place: &str, text: &str) -> Result<Self, DescriptionError> {
        parse(place, text, None, MAX_DEPTH)
    }

    /// Returns the names of all installed descriptions, sorted.
    pub fn installed() -> Vec<String> {
        embedded::names(FOLDER, "toml")
    }

    /// Returns the error of a machine whose description is wrong. It begins with the user's file
    /// and line to which `message` refers, found by the keys that the message puts in backquotes.
    /// If no file of the user is part of the machine, it begins with the machine's name.
    pub fn error(&self, name: &str, message: &str) -> DescriptionError {
        let message = message.trim().replace('\n', ", ");
        let paths = quoted_paths(&message);
        let line = |own: &OwnFile| {
            let line = paths.iter().find_map(|path| line_of(&own.text, path))?;
            Some(format!("{}:{line}", own.place))
        };
        let place = self.own.iter().rev().find_map(line);
        let place = place.or_else(|| self.own.last().map(|own| own.place.clone()));
        let place = place.unwrap_or_else(|| format!("machine {name}"));
        DescriptionError::Parse { place, message }
    }

    /// Returns the kind of machine, if the description gives one.
    pub fn kind(&self) -> Option<&str> {
        self.table.get("kind").and_then(Value::as_str)
    }
}

/// The longest description, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// The longest report from which a machine is taken, in bytes.
const MAX_REPORT_BYTES: u64 = 1 << 28;

/// The folder of descriptions in the repository, and in `WIRELOOM_HOME`.
const FOLDER: &str = "machines";

/// Returns the file name of an installed description.
fn installed(name: &str) -> String {
    format!("{FOLDER}/{name}.toml")
}

/// Finds an installed description, with everything that it extends.
fn find_installed(name: &str, depth: usize) -> Result<Option<Description>, DescriptionError> {
    let file = installed(name);
    let Some(text) = embedded::find(&file) else { return Ok(None) };
    let unreadable = |message| DescriptionError::Parse { place: name.to_owned(), message };
    parse(&file, &text.map_err(unreadable)?, None, depth).map(Some)
}

/// Loads a file and the files that it extends.
fn load(path: &Path, depth: usize) -> Result<Description, DescriptionError> {
    let text = wireloom_files::read_text(path, MAX_BYTES)
        .map_err(|error| DescriptionError::Read { path: path.to_owned(), error })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    parse(&path.display().to_string(), &text, Some(folder), depth)
}

/// Loads the machine of a report, or of a file with a machine alone, and its name.
fn load_reported(path: &Path) -> Result<(String, Description), DescriptionError> {
    let place = path.display().to_string();
    let error = |message: String| DescriptionError::Parse { place: place.clone(), message };
    let text = wireloom_files::read_text(path, MAX_REPORT_BYTES)
        .map_err(|error| DescriptionError::Read { path: path.to_owned(), error })?;
    let mut report: serde_json::Value =
        serde_json::from_str(&text).map_err(|e| error(e.to_string()))?;
    let machine = match report.get_mut("description").map(serde_json::Value::take) {
        Some(machine) => machine,
        None => report,
    };
    if !machine.get("kind").is_some_and(serde_json::Value::is_string) {
        return Err(error(
            "is no machine and no report of one: it needs `kind`, or `description` with `kind`, as \
             `run --json` and `machines NAME --json` write them"
                .to_owned(),
        ));
    }
    let mut table = Table::deserialize(machine).map_err(|e| error(e.to_string()))?;
    // Other descriptions have the name of their file.
    let name = table.remove("name").and_then(|name| name.as_str().map(str::to_owned));
    let stem = || path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let own = OwnFile { place: place.clone(), table: table.clone(), text: String::new() };
    Ok((name.unwrap_or_else(stem), Description { table, own: vec![own] }))
}

/// Parses a text and the files that it extends. Files are searched in `beside` first.
fn parse(
    place: &str,
    text: &str,
    beside: Option<&Path>,
    depth: usize,
) -> Result<Description, DescriptionError> {
    let error = |message: String| DescriptionError::Parse { place: place.to_owned(), message };
    let mut table: Table =
        text.parse().map_err(|e: toml::de::Error| error(e.to_string().trim().to_owned()))?;
    let own = if is_built_in(place, text) {
        Vec::new()
    } else {
        vec![OwnFile { place: place.to_owned(), table: table.clone(), text: text.to_owned() }]
    };
    let Some(extends) = table.remove("extends") else { return Ok(Description { table, own }) };
    let Value::String(name) = extends else {
        return Err(error(
            "`extends` is the name of a machine description, such as \"np\"".to_owned(),
        ));
    };
    if depth == 0 {
        return Err(error(format!(
            "`extends` goes {MAX_DEPTH} files deep: do two of them extend each other?"
        )));
    }
    let file =
        beside.map(|folder| folder.join(format!("{name}.toml"))).filter(|file| file.exists());
    let mut below = match file {
        Some(file) => load(&file, depth - 1)?,
        None => find_installed(&name, depth - 1)?.ok_or_else(|| error(missing(&name, beside)))?,
    };
    overlay(&mut below.table, table);
    below.own.extend(own);
    Ok(below)
}

/// Formats the error that there is no description of this name to extend.
fn missing(name: &str, beside: Option<&Path>) -> String {
    // The folder of a file without a folder in its path is the empty path.
    let beside = match beside {
        None => String::new(),
        Some(folder) if folder.as_os_str().is_empty() => " in this folder".to_owned(),
        Some(folder) => format!(" in {}", folder.display()),
    };
    let hint = name.strip_suffix(".toml").map_or_else(String::new, |name| {
        format!(": names have no `.toml`, so write `extends = \"{name}\"`")
    });
    format!(
        "`extends = \"{name}\"`: there is no {name}.toml{beside}, and no installed description of \
         that name (`wireloom machines` lists them){hint}"
    )
}

/// Returns the paths of keys to which a message can refer, likely ones first. These are the quoted
/// names, inside the section at the end of the message (`..., in SECTION`, as in messages about
/// types), the section, and the quoted names by themselves.
fn quoted_paths(message: &str) -> Vec<Vec<&str>> {
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let section = message.rsplit_once("in `").and_then(|(_, rest)| rest.strip_suffix('`'));
    let section: Vec<&str> = section.into_iter().flat_map(|path| path.split('.')).collect();
    let alone = quoted.iter().map(|name| name.split('.').collect::<Vec<_>>());
    let inside = alone.clone().map(|path| [&section[..], &path].concat());
    inside.chain([section.clone()]).chain(alone).filter(|path| !path.is_empty()).collect()
}

/// Returns the line, from 1, of the key at a path in a TOML text.
fn line_of(text: &str, path: &[&str]) -> Option<usize> {
    let root = DeTable::parse(text).ok()?;
    let mut table = root.get_ref();
    let (last, sections) = path.split_last()?;
    for section in sections {
        let (_, value) = table.iter().find(|(key, _)| key.get_ref() == section)?;
        let DeValue::Table(inner) = value.get_ref() else { return None };
        table = inner;
    }
    let (key, _) = table.iter().find(|(key, _)| key.get_ref() == last)?;
    Some(1 + text[..key.span().start].matches('\n').count())
}

/// Returns whether a text equals the built-in description of the same name.
fn is_built_in(place: &str, text: &str) -> bool {
    let stem = Path::new(place).file_stem().unwrap_or_default().to_string_lossy();
    embedded::built_in(&installed(&stem)) == Some(text)
}

/// Merges a table over another, table by table.
fn overlay(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) if !is_replaced(&key, old, &new) => {
                overlay(old, new)
            }
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// Returns whether a table replaces the one below it, because its kind has other keys.
fn is_replaced(key: &str, old: &Table, new: &Table) -> bool {
    BY_KIND.contains(&key) && new.get("kind").is_some_and(|kind| old.get("kind") != Some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_descriptions_are_toml_and_say_their_kind() {
        for name in ["np", "mpsoc"] {
            assert_eq!(Description::built_in(name).kind(), Some(name));
        }
        for name in Description::installed() {
            let (_, description) = Description::find(&name).unwrap().unwrap();
            assert!(description.kind().is_some() && description.own.is_empty(), "{name}");
        }
    }

    #[test]
    fn errors_name_the_line_of_what_they_quote() {
        let text =
            "extends = \"mpsoc\"\n# more\n[processor]\nfoo = 1\nthreads = 70\n[network]\nfoo = 2\n";
        let description = Description::parse("mine.toml", text).unwrap();
        let error = |message: &str| description.error("mine", message).to_string();
        for (message, place) in [
            (
                "unknown field `foo`, expected one of `bar`, `threads`, in `processor`",
                "mine.toml:4",
            ),
            ("unknown field `foo`, expected `kind`\nin `network`", "mine.toml:7"),
            ("invalid type: string, expected u32, in `processor.threads`", "mine.toml:5"),
            ("`processor.threads` is 70; it can be 1 to 64", "mine.toml:5"),
            ("unknown field `processor`", "mine.toml:3"),
            ("`extends` is odd", "mine.toml:1"),
            ("something else", "mine.toml"),
            ("`", "mine.toml"),
        ] {
            let wanted = format!("{place}: {}", message.replace('\n', ", "));
            assert_eq!(error(message), wanted);
        }
        let built_in = Description::built_in("np").error("np-1-1-1", "`threads` is 0");
        assert_eq!(built_in.to_string(), "machine np-1-1-1: `threads` is 0");
    }

    #[test]
    fn what_extends_changes_single_keys_and_whole_tables_of_another_kind() {
        let of = |text: &str| Description::parse("mine", text).unwrap().table;
        let network = |text: &str| of(text)["network"].as_table().unwrap().clone();
        let faster = network("extends = \"mpsoc\"\n[network]\nlatency_ns = 7");
        assert_eq!(
            (faster["latency_ns"].as_integer(), faster["jitter"].as_float()),
            (Some(7), Some(0.25))
        );
        let ring = network("extends = \"mpsoc\"\n[network]\nkind = \"ring\"\nslots = 2");
        assert_eq!((ring.len(), ring["slots"].as_integer()), (2, Some(2)));
        // All kinds of a processor's ports have the same keys.
        let ports =
            of("extends = \"np\"\n[ports]\nkind = \"10g\"")["ports"].as_table().unwrap().clone();
        assert_eq!((ports["kind"].as_str(), ports["bytes"].as_integer()), (Some("10g"), Some(8)));
    }

    #[test]
    fn installed_descriptions_and_files_of_ones_own_are_found() {
        assert!(Description::find("np-C-E-T").unwrap().is_none());
        let (name, installed) = Description::find("mpsoc-oc192").unwrap().unwrap();
        assert_eq!(
            (name.as_str(), installed.kind(), installed.own.len()),
            ("mpsoc-oc192", Some("mpsoc"), 0)
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.toml");
        std::fs::write(&path, "extends = \"mpsoc-oc192\"\nthreads = 3").unwrap();
        let (name, own) = Description::find(path.to_str().unwrap()).unwrap().unwrap();
        assert_eq!(
            (name.as_str(), own.own.len(), own.table["threads"].as_integer()),
            ("own", 1, Some(3))
        );
        assert_eq!(own.table["processors"].as_integer(), Some(48));
        std::fs::write(&path, "extends = \"nowhere\"").unwrap();
        let error = Description::find(path.to_str().unwrap()).unwrap_err().to_string();
        assert!(error.contains("there is no nowhere.toml in"), "{error}");
        let error = parse("own.toml", "extends = \"nowhere.toml\"", Some(Path::new("")), MAX_DEPTH);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("there is no nowhere.toml.toml in this folder, and"), "{error}");
        assert!(error.ends_with("so write `extends = \"nowhere\"`"), "{error}");
        std::fs::write(&path, "extends = \"own\"").unwrap();
        let error = Description::find(path.to_str().unwrap()).unwrap_err().to_string();
        assert!(error.contains("extend each other"), "{error}");
    }
}

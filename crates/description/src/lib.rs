//! Machine descriptions: TOML files that extend each other. What their keys mean, the machine of their kind knows.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// How many files may stand one behind the other.
const MAX_DEPTH: usize = 8;

/// Tables that have other keys where their `kind` is another.
const BY_KIND: [&str; 2] = ["network", "partition"];

/// The descriptions that others go back to; built in, so that machines can be had without the files.
const BUILT_IN: [(&str, &str); 2] = [
    ("np", include_str!("../../../machines/np.toml")),
    ("mpsoc", include_str!("../../../machines/mpsoc.toml")),
];

/// Why a description cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionError {
    /// A file cannot be read.
    #[error("{}: {error}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A file is no description.
    #[error("{place}: {message}")]
    Parse {
        /// File, or name.
        place: String,
        /// What is wrong, with the line.
        message: String,
    },
}

/// A description with all that it extends.
#[derive(Clone, Debug, Default)]
pub struct Description {
    /// All keys.
    pub table: Table,
    /// What files of the user's own say, each by itself: those that are not installed with the command.
    pub own: Vec<Table>,
}

impl Description {
    /// One of those that others go back to.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn built_in(name: &str) -> Self {
        let (_, text) =
            BUILT_IN.iter().find(|(built_in, _)| *built_in == name).expect("a built-in description");
        Self { table: text.parse().expect("it is TOML: a test holds it"), own: Vec::new() }
    }

    /// That of a name (a file of [`folder`] without its ending) or a path that ends in `.toml`, and the name of its machine; nothing if there is no such file in
    /// the folder.
    ///
    /// # Errors
    /// If a file cannot be read, or is no description.
    pub fn find(name: &str) -> Result<Option<(String, Self)>, DescriptionError> {
        if name.ends_with(".toml") {
            let path = Path::new(name);
            let stem = path.file_stem().map_or(name.to_owned(), |stem| stem.to_string_lossy().into_owned());
            return Ok(Some((stem, load(path, MAX_DEPTH)?)));
        }
        let file = folder().join(format!("{name}.toml"));
        if !file.exists() {
            return Ok(None);
        }
        Ok(Some((name.to_owned(), load(&file, MAX_DEPTH)?)))
    }

    /// That of a text; what it extends is looked for among the installed ones.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn parse(place: &str, text: &str) -> Result<Self, DescriptionError> {
        parse(place, text, &folder(), MAX_DEPTH)
    }

    /// What kind of machine it describes, if it says so.
    pub fn kind(&self) -> Option<&str> {
        self.table.get("kind").and_then(Value::as_str)
    }
}

/// The folder of the installed descriptions.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../machines")
}

/// A file and what it extends.
fn load(path: &Path, depth: usize) -> Result<Description, DescriptionError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| DescriptionError::Read { path: path.to_owned(), error })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    parse(&path.display().to_string(), &text, folder, depth)
}

/// A text and what it extends; files are looked for in `beside` first.
fn parse(place: &str, text: &str, beside: &Path, depth: usize) -> Result<Description, DescriptionError> {
    let error = |message: String| DescriptionError::Parse { place: place.to_owned(), message };
    let mut table: Table =
        text.parse().map_err(|e: toml::de::Error| error(e.to_string().trim().to_owned()))?;
    let own = if is_installed(beside) { Vec::new() } else { vec![table.clone()] };
    let Some(extends) = table.remove("extends") else { return Ok(Description { table, own }) };
    let Value::String(name) = extends else {
        return Err(error("`extends` is the name of a machine description, such as \"np\"".to_owned()));
    };
    if depth == 0 {
        return Err(error(format!(
            "`extends` goes {MAX_DEPTH} files deep: do two of them extend each other?"
        )));
    }
    let file = beside.join(format!("{name}.toml"));
    let installed = folder().join(format!("{name}.toml"));
    let mut below = match () {
        () if file.exists() => load(&file, depth - 1)?,
        () if BUILT_IN.iter().any(|(built_in, _)| *built_in == name) => Description::built_in(&name),
        () if installed.exists() => load(&installed, depth - 1)?,
        () => return Err(error(format!("`extends = \"{name}\"`: there is no {}", file.display()))),
    };
    overlay(&mut below.table, table);
    below.own.extend(own);
    Ok(below)
}

/// Whether the descriptions that come with the command stand in a folder.
fn is_installed(beside: &Path) -> bool {
    let beside = if beside.as_os_str().is_empty() { Path::new(".") } else { beside };
    let same = |folder: &Path| folder.canonicalize().ok();
    same(beside).is_some_and(|beside| Some(beside) == same(&folder()))
}

/// Puts a table over another, table by table.
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

/// Whether a table takes the place of the one below it, as its keys are others.
fn is_replaced(key: &str, old: &Table, new: &Table) -> bool {
    BY_KIND.contains(&key) && new.get("kind").is_some_and(|kind| old.get("kind") != Some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_descriptions_are_toml_and_say_their_kind() {
        for (name, _) in BUILT_IN {
            assert_eq!(Description::built_in(name).kind(), Some(name));
        }
    }

    #[test]
    fn what_extends_changes_single_keys_and_whole_tables_of_another_kind() {
        let of = |text: &str| Description::parse("mine", text).unwrap().table;
        let network = |text: &str| of(text)["network"].as_table().unwrap().clone();
        let faster = network("extends = \"mpsoc\"\n[network]\nlatency_ns = 7");
        assert_eq!((faster["latency_ns"].as_integer(), faster["jitter"].as_float()), (Some(7), Some(0.25)));
        let ring = network("extends = \"mpsoc\"\n[network]\nkind = \"ring\"\nslots = 2");
        assert_eq!((ring.len(), ring["slots"].as_integer()), (2, Some(2)));
        // All kinds of a processor's ports have the same keys.
        let ports = of("extends = \"np\"\n[ports]\nkind = \"10g\"")["ports"].as_table().unwrap().clone();
        assert_eq!((ports["kind"].as_str(), ports["bytes"].as_integer()), (Some("10g"), Some(8)));
    }

    #[test]
    fn installed_descriptions_and_files_of_ones_own_are_found() {
        assert!(Description::find("np-C-E-T").unwrap().is_none());
        let (name, installed) = Description::find("mpsoc-oc192").unwrap().unwrap();
        assert_eq!((name.as_str(), installed.kind(), installed.own.len()), ("mpsoc-oc192", Some("mpsoc"), 0));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("own.toml");
        std::fs::write(&path, "extends = \"mpsoc-oc192\"\nthreads = 3").unwrap();
        let (name, own) = Description::find(path.to_str().unwrap()).unwrap().unwrap();
        assert_eq!((name.as_str(), own.own.len(), own.table["threads"].as_integer()), ("own", 1, Some(3)));
        assert_eq!(own.table["processors"].as_integer(), Some(48));
    }
}

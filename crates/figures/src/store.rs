//! The measured numbers of figures and benchmarks in docs/figures, one file for each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use wireloom_console::output::{JsonTarget, write_json};
use wireloom_install::tools;
use wireloom_machine::{Error, Result};

use super::values::Values;

/// The folder of the files, relative to the repository root.
pub const FOLDER: &str = "docs/figures";

/// Whether numbers depend on the computer that measures them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Simulated, counted or synthesised: the numbers are equal on every computer with the same
    /// programs in [`Provenance::tools`].
    Exact,
    /// Speed and memory of the computer.
    Host,
}

/// How long a measurement takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cost {
    /// Some minutes at most; `make test-all` measures again and compares.
    Cheap,
    /// Up to hours.
    Dear,
}

/// The origin of a measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The day, in the form 2026-11-23.
    pub date: String,
    /// The measured commit.
    pub commit: String,
    /// The processor and its number of cores, if the numbers depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computer: Option<String>,
    /// Versions of the programs on which the numbers depend, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<String, String>,
}

/// A file: the numbers of a figure or benchmark, and their origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stored {
    /// The command that measures the numbers.
    pub command: String,
    /// The measured program and its constants.
    pub built: String,
    /// Whether the numbers depend on the computer.
    pub class: Class,
    /// The duration of the command.
    pub cost: Cost,
    /// The time and the place of the measurement.
    pub measured: Provenance,
    pub values: Values,
}

impl Stored {
    /// Returns the path of the file of a figure or benchmark.
    pub fn path(root: &Path, name: &str) -> PathBuf {
        root.join(FOLDER).join(format!("{name}.json"))
    }

    /// Reads the file of a figure or benchmark.
    ///
    /// # Errors
    /// If there is none, or it is malformed.
    pub fn read(root: &Path, name: &str) -> Result<Self> {
        let path = Self::path(root, name);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            Error::new(format!("{}: cannot be read: {error}", path.display()))
                .with_help(format!("`wireloom bench {name} --write-docs` measures it"))
        })?;
        serde_json::from_str(&text).map_err(|error| {
            Error::new(format!("{}: {error}", path.display()))
                .with_help(format!("`wireloom bench {name} --write-docs` writes it anew"))
        })
    }

    /// Writes the file of a figure or benchmark. If exact numbers have not changed, the file stays
    /// as it is, with the commit at which they were measured first.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, root: &Path, name: &str) -> Result {
        let is_same = |old: &Self| {
            self.class == Class::Exact
                && old.values == self.values
                && old.measured.tools == self.measured.tools
                && (&old.command, &old.built, old.class, old.cost)
                    == (&self.command, &self.built, self.class, self.cost)
        };
        if Self::read(root, name).is_ok_and(|old| is_same(&old)) {
            return Ok(());
        }
        let path = Self::path(root, name);
        let folder = path.parent().unwrap_or(root);
        std::fs::create_dir_all(folder).map_err(|error| {
            Error::new(format!("{}: cannot be made: {error}", folder.display()))
        })?;
        write_json(&JsonTarget::File(path), self)
    }

    /// Returns the names of all files.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn names(root: &Path) -> Result<Vec<String>> {
        let folder = root.join(FOLDER);
        let unreadable = |error| Error::new(format!("{}: {error}", folder.display()));
        let entries = std::fs::read_dir(&folder).map_err(unreadable)?;
        let mut names = Vec::new();
        for entry in entries {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_some_and(|extension| extension == "json") {
                names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
            }
        }
        names.sort();
        Ok(names)
    }
}

impl Provenance {
    /// Describes a measurement that is being made now: today's date, the checkout in this folder,
    /// this computer if `class` depends on it, and the versions of these programs.
    pub fn now(root: &Path, class: Class, programs: &[&str]) -> Self {
        Self {
            date: today(),
            commit: commit(root),
            computer: (class == Class::Host).then(computer),
            tools: programs.iter().map(|name| ((*name).to_owned(), version(name))).collect(),
        }
    }
}

/// Returns the processor's name and its number of cores.
pub fn computer() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1).map(str::trim));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores", model.unwrap_or("unknown processor"))
}

/// Returns the short name of a checkout's commit, and whether its sources have changed since.
fn commit(root: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let changed =
        git(&["status", "--porcelain", "--", "crates", "hardware", "machines", "programs"]);
    match (git(&["rev-parse", "--short=7", "HEAD"]), changed.as_deref()) {
        (Some(commit), Some("")) => commit,
        (Some(commit), _) => format!("{commit} with changes"),
        (None, _) => "unknown".to_owned(),
    }
}

/// Returns the version of a hardware tool (by its usual name), or of a compiler (by its program).
fn version(name: &str) -> String {
    let unknown = || "unknown".to_owned();
    if let Some(tool) = tools::about().into_iter().find(|tool| tool.name == name) {
        return tool.found.map_or_else(|_| unknown(), |(_, version)| version);
    }
    let output = Command::new(tools::cross_compiler(name)).arg("--version").output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    said.ok().and_then(|text| tools::version_in(&text)).unwrap_or_else(unknown)
}

/// Returns the current day in UTC, in the form 2026-11-23.
fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (year, month, day) = civil(since.as_secs() / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns year, month and day of a number of days after 1 January 1970.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    loop {
        let length = if is_leap(year) { 366 } else { 365 };
        if days < length {
            break;
        }
        (year, days) = (year + 1, days - length);
    }
    let february = if is_leap(year) { 29 } else { 28 };
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if days < length {
            break;
        }
        (month, days) = (month + 1, days - length);
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_with_leap_years() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (59, (1970, 3, 1)),
            (11_016, (2000, 2, 29)),
            (11_017, (2000, 3, 1)),
            (20_454, (2026, 1, 1)),
            (20_818, (2026, 12, 31)),
        ] {
            assert_eq!(civil(days), date, "{days}");
        }
    }

    #[test]
    fn exact_numbers_that_have_not_changed_keep_their_commit() {
        let folder = wireloom_files::TemporaryFolder::new().expect("a folder");
        let stored = |class, commit: &str, value: f64| {
            let mut values = Values::default();
            values.set("a", value).expect("it is new");
            let measured = Provenance { commit: commit.to_owned(), ..Provenance::default() };
            let (command, built) = ("wireloom bench x".into(), "x".into());
            Stored { command, built, class, cost: Cost::Cheap, measured, values }
        };
        let written = |class, commit: &str, value: f64| {
            stored(class, commit, value).write(folder.path(), "x").expect("it is written");
            Stored::read(folder.path(), "x").expect("it is read").measured.commit
        };
        assert_eq!(written(Class::Exact, "one", 1.0), "one");
        assert_eq!(written(Class::Exact, "two", 1.0), "one");
        assert_eq!(written(Class::Exact, "three", 1.5), "three");
        assert_eq!(written(Class::Host, "four", 1.5), "four");
        assert_eq!(written(Class::Host, "five", 1.5), "five");
        assert_eq!(Stored::names(folder.path()).expect("a folder"), ["x"]);
    }

    #[test]
    fn versions_of_what_is_not_there_are_unknown() {
        assert_eq!(version("no-such-compiler"), "unknown");
        assert!(version("cc").starts_with(|c: char| c.is_ascii_digit()));
    }
}

//! Update files: changes by the control plane while packets flow.
//!
//! An update file (by convention `NAME.updates`; may be compressed) has the notation of a table
//! file and two more kinds of line:
//!
//! ```text
//! at 1000                   # before packet 1000, counted from 0, until the next `at`:
//! table routes
//! 10.0.0.0/8 port=3         # inserted, or replaced
//! remove 10.1.0.0/16        # removed, if it is present
//! at 2000
//! 10.0.0.0/8 port=4         # in the same table
//! ```
//!
//! Imports are allowed in table files only.

use std::path::{Path, PathBuf};

use super::error::{Position, TableError};
use super::line::{self, Key, Line, UpdateLine};
use super::literal::Literal;
use super::text::Text;

/// A well-formed update file, in order.
#[derive(Clone, Debug)]
pub struct UpdateFile {
    path: PathBuf,
    updates: Vec<UpdateEntry>,
}

/// A change of an entry, as written in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateEntry {
    /// The packet before which the change happens, counted from 0.
    pub packet: u64,
    pub table: String,
    pub key: Key,
    /// The fields of the value, by name, with an empty name for a scalar. `None` if the entry is
    /// removed.
    pub fields: Option<Vec<(String, Literal)>>,
    /// The line of the file, from 1.
    pub line: u64,
}

impl UpdateFile {
    /// Reads an update file and checks its form.
    ///
    /// # Errors
    /// If the file cannot be read, or at its first malformed line.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        Self::parse(path, Text::read(path)?)
    }

    /// Creates an update file from its text. Messages call it `path`.
    ///
    /// # Errors
    /// At the first malformed line.
    pub fn from_text(path: &Path, text: &str) -> Result<Self, TableError> {
        Self::parse(path, Text::from(text))
    }

    fn parse(path: &Path, text: Text) -> Result<Self, TableError> {
        let mut file = Self { path: path.to_owned(), updates: Vec::new() };
        let (mut packet, mut table) = (None, None);
        text.drain(|number, text| {
            let error = |what: String| TableError::new(path, Position::Line(number), what);
            let (key, fields) = match line::parse_update(text).map_err(error)? {
                UpdateLine::At(at) if packet.is_some_and(|before| at < before) => {
                    return Err(error(format!(
                        "`at {at}` follows a later packet; put the updates in order"
                    )));
                }
                UpdateLine::At(at) => {
                    packet = Some(at);
                    return Ok(());
                }
                UpdateLine::Table(Line::Empty) => return Ok(()),
                UpdateLine::Table(Line::Table(name)) => {
                    table = Some(name);
                    return Ok(());
                }
                UpdateLine::Table(Line::Import(_)) => {
                    let what = "an import in an update file; write out its entries, or load it with --tables";
                    return Err(error(what.into()));
                }
                UpdateLine::Table(Line::Entry(key, fields)) => (key, Some(fields)),
                UpdateLine::Remove(key) => (key, None),
            };
            let Some(packet) = packet else {
                return Err(error("an update before the first `at NUMBER`".into()));
            };
            let Some(table) = table.clone() else {
                return Err(error("an update before the first `table NAME`".into()));
            };
            file.updates.push(UpdateEntry { packet, table, key, fields, line: number });
            Ok(())
        })?;
        Ok(file)
    }

    /// Returns the updates, in order.
    pub fn updates(&self) -> &[UpdateEntry] {
        &self.updates
    }

    /// Creates an error at a line of this file.
    pub fn error(&self, line: u64, what: impl Into<String>) -> TableError {
        TableError::new(&self.path, Position::Line(line), what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updates(text: &str) -> Result<Vec<UpdateEntry>, String> {
        let file =
            UpdateFile::from_text(Path::new("u"), text).map_err(|error| error.to_string())?;
        Ok(file.updates().to_vec())
    }

    #[test]
    fn updates_belong_to_the_packet_and_the_table_before_them() {
        let text = "at 1_000\ntable routes\n10.0.0.0/8 port=3\nremove 10.1.0.0/16 # gone\nat 2000\n\ntable flows\nremove src=1 dst=2";
        let all = updates(text).expect("well-formed");
        let said: Vec<_> =
            all.iter().map(|u| (u.packet, u.table.as_str(), u.fields.is_some(), u.line)).collect();
        assert_eq!(
            said,
            [(1000, "routes", true, 3), (1000, "routes", false, 4), (2000, "flows", false, 8)]
        );
        assert!(matches!(&all[2].key, Key::Fields(fields) if fields.len() == 2));
        // Fields of a key may be called `at` and `remove`.
        let all = updates("at 0\ntable t\nat=1 -> = 2\nremove=1 -> = 2").expect("keys");
        assert_eq!(all.len(), 2);
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("table t\n1 = 1", "u:2: an update before the first `at NUMBER`"),
            ("at 1\n1 = 1", "u:2: an update before the first `table NAME`"),
            ("at x", "u:1: `at x` does not name a packet"),
            ("at 5 6", "u:1: unexpected `6`"),
            ("at 5\nat 4", "u:2: `at 4` follows a later packet"),
            ("at 1\ntable t\nremove", "u:3: `` is not a key"),
            ("at 1\ntable t\nremove 1 = 2", "u:3: unexpected `= 2`"),
            ("at 1\ntable t\nimport prefixes \"l\" = 1", "u:3: an import in an update file"),
        ] {
            let error = updates(text).expect_err(text);
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }
}

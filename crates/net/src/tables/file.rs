//! Table files.

use std::path::{Path, PathBuf};

use super::error::{Position, TableError};
use super::line::{self, Key, Line};
use super::literal::Literal;
use super::prefix::{Family, Prefix};
use super::text::Text;

/// A table file whose lines are well-formed. Entries are parsed when they are visited, and imports
/// are streamed. So a file with a million entries takes only the memory of its compressed text, and
/// that memory shrinks while the entries are loaded.
#[derive(Clone, Debug, Default)]
pub struct TableFile {
    path: PathBuf,
    text: Text,
    sections: Vec<(String, u64)>,
}

/// An entry as passed to an offload.
#[derive(Debug)]
pub struct Entry<'a> {
    /// The name of the section that contains the entry: the offload's name.
    pub table: &'a str,
    pub key: &'a Key,
    /// The fields of the value, by name. A scalar has the empty name. Within a section, an import
    /// gives all its entries the same names in the same order.
    pub fields: &'a [(String, Literal)],
    /// The line of the table file, from 1, that has the entry or imports it.
    pub line: u64,
}

impl Entry<'_> {
    /// Returns the key, if it is an IPv4 or IPv6 prefix.
    pub fn ip_prefix(&self) -> Option<Prefix> {
        let Key::Prefix { value, length } = self.key else { return None };
        match value {
            Literal::Ipv4(a) => Prefix::new(Family::V4, u128::from(a.to_bits()), *length),
            Literal::Ipv6(a) => Prefix::new(Family::V6, a.to_bits(), *length),
            _ => None,
        }
    }
}

impl TableFile {
    /// Reads a table file and checks its form. Does not read the files that it imports.
    ///
    /// # Errors
    /// If the file cannot be read, or at its first malformed line.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        Self::check(path, Text::read(path)?)
    }

    /// Creates a table file from its text. Messages call it `path`, and imports are relative to its
    /// folder.
    ///
    /// # Errors
    /// At the first malformed line.
    pub fn from_text(path: &Path, text: impl AsRef<str>) -> Result<Self, TableError> {
        Self::check(path, Text::from(text.as_ref()))
    }

    fn check(path: &Path, text: Text) -> Result<Self, TableError> {
        let mut file = Self { path: path.to_owned(), ..Self::default() };
        let mut sections = Vec::new();
        text.for_each_line(|number, line| {
            match file.parse(number, line)? {
                Line::Table(name) => sections.push((name, number)),
                Line::Entry(..) | Line::Import(_) if sections.is_empty() => {
                    return Err(file.error(number, "an entry before the first `table NAME`"));
                }
                Line::Entry(..) | Line::Import(_) | Line::Empty => {}
            }
            Ok(())
        })?;
        (file.text, file.sections) = (text, sections);
        Ok(file)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns name and line of each section, in order. A name may occur more than once.
    pub fn sections(&self) -> impl Iterator<Item = (&str, u64)> {
        self.sections.iter().map(|(name, line)| (name.as_str(), *line))
    }

    /// Creates an error at a line of this file.
    pub fn error(&self, line: u64, what: impl Into<String>) -> TableError {
        TableError::new(&self.path, Position::Line(line), what)
    }

    /// Visits every entry, including imported ones, in order, and frees the text meanwhile:
    /// afterwards the file has sections, but no entries. A refusal of the visitor becomes an error
    /// at the entry's line (for an imported entry, at the line or byte of the imported file).
    ///
    /// # Errors
    /// The first refusal. Also if an imported file cannot be read or is malformed.
    pub fn drain(
        &mut self,
        visit: &mut dyn FnMut(&Entry<'_>) -> Result<(), String>,
    ) -> Result<(), TableError> {
        let folder = self.path.parent().unwrap_or(Path::new(""));
        let mut table = String::new();
        let text = std::mem::take(&mut self.text);
        text.drain(|number, line| {
            match self.parse(number, line)? {
                Line::Empty => {}
                Line::Table(name) => table = name,
                Line::Entry(key, fields) => {
                    visit(&Entry { table: &table, key: &key, fields: &fields, line: number })
                        .map_err(|what| self.error(number, what))?;
                }
                Line::Import(import) => {
                    let mut key = Key::Scalar(Literal::Bool(false));
                    let mut fields: Vec<_> = import
                        .fields
                        .iter()
                        .map(|(name, _)| (name.clone(), Literal::Bool(false)))
                        .collect();
                    import
                        .read(folder, &mut |_, route, variables| {
                            let Some(prefix) = route.prefix else { return Ok(()) };
                            let value = match prefix.family() {
                                Family::V4 => Literal::Ipv4((prefix.bits() as u32).into()),
                                Family::V6 => Literal::Ipv6(prefix.bits().into()),
                            };
                            key = Key::Prefix { value, length: prefix.length() };
                            for ((_, value), (_, given)) in fields.iter_mut().zip(&import.fields) {
                                *value = given.literal(variables)?;
                            }
                            visit(&Entry {
                                table: &table,
                                key: &key,
                                fields: &fields,
                                line: number,
                            })
                        })
                        .map_err(|e| e.imported_at(&self.path, number))?;
                }
            }
            Ok(())
        })
    }

    fn parse(&self, number: u64, text: &str) -> Result<Line, TableError> {
        line::parse(text).map_err(|what| self.error(number, what))
    }
}

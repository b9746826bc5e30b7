//! Loads table files: matches the keys and fields in the text with the layouts that offloads
//! declare.

use wireloom_bits::Bits;
use wireloom_net::tables::{Key, Literal, TableError, TableFile};

use crate::registry::{self, Members, TableForm, TableKey};
use crate::{Config, Content, Entry, EntryKey, Instance, Layout, Refused, Store};

/// A summary of the entries loaded from a table file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadSummary {
    /// The path of each offload that the file has a section for, in file order, and the number of
    /// entries loaded into it. An entry that replaces another one is counted too.
    pub tables: Vec<(String, u64)>,
}

impl LoadSummary {
    /// Returns the number of entries of all tables.
    pub fn entries(&self) -> u64 {
        self.tables.iter().map(|(_, entries)| entries).sum()
    }
}

/// Loads a table file into the offloads that its sections name.
///
/// Fields of values that an entry does not give are zero, except for `meter`, where they have the
/// declared values. An entry replaces an existing one with the same key.
///
/// # Errors
/// At the first entry that does not match its offload. The error names the file, the line, the
/// problem and a remedy. Earlier entries stay loaded.
pub fn load_tables(store: &mut Store, mut file: TableFile) -> Result<LoadSummary, TableError> {
    let mut summary = LoadSummary::default();
    for (path, line) in file.sections() {
        target(store, path).map_err(|what| file.error(line, what))?;
        if !summary.tables.iter().any(|(name, _)| name == path) {
            summary.tables.push((path.to_owned(), 0));
        }
    }
    let paths: Vec<String> = summary.tables.iter().map(|(path, _)| path.clone()).collect();
    for path in &paths {
        target(store, path).expect("it was found above").1.begin_load();
    }
    let loaded = file.drain(&mut |entry| {
        let (config, instance) = target(store, entry.table)?;
        let key = entry_key(config, entry.key)?;
        let value = entry_value(config, entry.fields)?;
        instance.load(Entry { key, value }).map_err(|Refused(what)| what)?;
        let counted = summary.tables.iter_mut().find(|(name, _)| name == entry.table);
        counted.expect("every section was counted above").1 += 1;
        Ok(())
    });
    let mut ended = Ok(());
    for path in &paths {
        let end = target(store, path).expect("it was found above").1.end_load();
        ended = ended.and(end);
    }
    loaded?;
    let last_line = file.sections().last().map_or(1, |(_, line)| line);
    ended.map_err(|Refused(what)| file.error(last_line, what))?;
    Ok(summary)
}

/// Returns the offload that a section names.
pub(crate) fn target<'a>(
    store: &'a mut Store,
    path: &str,
) -> Result<(&'a Config, &'a mut dyn Instance), String> {
    // The names of other offloads are collected only for an error, since there are hundreds of
    // thousands of routes.
    match store.find(path).map(|slot| &slot.content) {
        Some(Content::Kind { .. }) => {}
        Some(Content::Engine(_)) => {
            let inside = store.paths().into_iter().filter(|p| p.starts_with(&format!("{path}.")));
            return Err(format!(
                "`{path}` is an engine; name one of its offloads{}",
                list(": ", inside)
            ));
        }
        None => {
            let paths = store.paths();
            let suggestion = suggest(path, paths.iter().map(String::as_str));
            return Err(format!("there is no offload `{path}`{suggestion}"));
        }
    }
    match store.find_mut(path).map(|slot| &mut slot.content) {
        Some(Content::Kind { config, instance }) => Ok((config, instance.as_mut())),
        _ => Err(format!("`{path}` is no table")),
    }
}

/// Converts a key to the representation of the offload.
///
/// # Errors
/// If the key does not match the offload. The error is a sentence without a full stop.
pub fn entry_key(config: &Config, key: &Key) -> Result<EntryKey, String> {
    let layout = config.key.clone().unwrap_or_default();
    Ok(match table(config)?.key {
        TableKey::Prefix => {
            let (bits, length) = key.to_prefix(layout.width())?;
            EntryKey::Prefix { bits, length }
        }
        TableKey::Whole => EntryKey::Exact(whole_key(&layout, key)?),
        TableKey::Index => EntryKey::Index(index(key)?),
        TableKey::Pattern => EntryKey::Pattern(pattern(key)?),
    })
}

/// Converts a key of a row, as [`entry_key`] does. Unlike that, it also takes keys of kinds without a
/// table, such as timers, and keys of streams next to patterns.
///
/// # Errors
/// As [`entry_key`].
pub fn row_key(config: &Config, key: &Key) -> Result<EntryKey, String> {
    match (table(config), &config.key) {
        (Ok(TableForm { key: TableKey::Pattern, .. }), Some(layout))
            if !matches!(key, Key::Scalar(Literal::Text(_))) =>
        {
            whole_key(layout, key).map(EntryKey::Exact)
        }
        (Ok(_), _) => entry_key(config, key),
        (Err(_), Some(layout)) => whole_key(layout, key).map(EntryKey::Exact),
        (Err(_), None) => index(key).map(EntryKey::Index),
    }
}

/// Converts a value to the representation of the offload.
///
/// # Errors
/// If a field does not match the offload. The error is a sentence without a full stop.
pub fn entry_value(config: &Config, fields: &[(String, Literal)]) -> Result<Bits, String> {
    let (layout, base) = (table(config)?.value)(config);
    pack(&layout, base, fields)
}

/// Converts one field of an entry, of `width` bits, from its form in table files.
///
/// # Errors
/// If the value does not fit, or is no member of the enumeration of the field. The error is a
/// sentence without a full stop.
pub fn field_value(
    members: Option<&Members>,
    width: u32,
    literal: &Literal,
) -> Result<Bits, String> {
    match members {
        Some(members) => member(members, width, literal),
        None => literal.to_bits(width),
    }
}

/// Returns the layout of values in an offload's table; `None` if the offload has no table.
pub fn value_layout(config: &Config) -> Option<Layout> {
    table(config).ok().map(|form| (form.value)(config).0)
}

/// Returns the form of the entries of an offload's table.
fn table(config: &Config) -> Result<TableForm, String> {
    let kind = registry::kind(&config.kind);
    kind.and_then(|kind| kind.table)
        .ok_or_else(|| format!("`{}` has no table: remove the section", config.kind))
}

fn whole_key(layout: &Layout, key: &Key) -> Result<Bits, String> {
    match key {
        Key::Fields(fields) => {
            let bits = pack(layout, Bits::zero(layout.width()), fields)?;
            let is_given = |name: &str| fields.iter().any(|(given, _)| given == name);
            match layout.fields.iter().find(|(name, _)| !is_given(name)) {
                Some((name, _)) => {
                    Err(format!("the key has no `{name}`; write `{name}=0` if it is zero"))
                }
                None => Ok(bits),
            }
        }
        Key::Scalar(literal) => match &layout.fields[..] {
            [(name, _)] => {
                pack(layout, Bits::zero(layout.width()), &[(name.clone(), literal.clone())])
            }
            _ => {
                let names = layout.fields.iter().map(|(name, _)| format!("{name}=..."));
                Err(format!(
                    "the key has several fields; write{}",
                    list(" ", names).replace(", ", " ")
                ))
            }
        },
        Key::Prefix { value, .. } => Err(format!(
            "a prefix where the table matches whole keys; write `{value}` without a length"
        )),
    }
}

fn index(key: &Key) -> Result<u64, String> {
    match key {
        Key::Scalar(Literal::Number(bits)) => bits
            .to_u64()
            .ok_or_else(|| format!("index {bits} is out of range: it does not fit 64 bits")),
        _ => Err("an index is wanted here: a number, such as `17`".into()),
    }
}

fn pattern(key: &Key) -> Result<Vec<u8>, String> {
    match key {
        Key::Scalar(Literal::Text(bytes)) => Ok(bytes.clone()),
        _ => Err("a pattern in quotes is wanted here, such as `\"GET /\"`".into()),
    }
}

/// Returns `base` with these fields replaced.
fn pack(layout: &Layout, base: Bits, given: &[(String, Literal)]) -> Result<Bits, String> {
    let mut packed = base;
    for (name, literal) in given {
        let (lo, width) = field(layout, name)?;
        let bits = field_value(layout.enums.get(name), width, literal);
        let bits = bits.map_err(|what| match name.as_str() {
            "" => what,
            _ => format!("field `{name}`: {what}"),
        })?;
        packed = packed.with_slice(lo, &bits);
    }
    Ok(packed)
}

/// Converts a member of an enumeration, given by name or by number.
fn member(members: &Members, width: u32, literal: &Literal) -> Result<Bits, String> {
    let bits = match literal {
        Literal::Name(given) => match members.iter().find(|(name, _)| name == given) {
            Some((_, value)) => Bits::new(width, u128::from(*value)),
            None => {
                let names = members.iter().map(|(name, _)| name.as_str());
                return Err(format!("there is no member `{given}`{}", suggest(given, names)));
            }
        },
        _ => literal.to_bits(width)?,
    };
    if members.iter().all(|(_, value)| bits.to_u64() != Some(*value)) {
        let all = members.iter().map(|(name, value)| format!("`{name}` = {value}"));
        return Err(format!("no member has the value `{literal}`{}", list("; there is ", all)));
    }
    Ok(bits)
}

/// Returns the position of the least significant bit and the width of a field.
fn field(layout: &Layout, name: &str) -> Result<(u32, u32), String> {
    let mut top = layout.width();
    for (own, width) in &layout.fields {
        top -= width;
        if own == name {
            return Ok((top, *width));
        }
    }
    let names = || layout.fields.iter().map(|(own, _)| own.as_str());
    Err(match (name, names().next()) {
        (_, Some("")) => {
            format!("there is no field `{name}`: the value is a scalar, written `= NUMBER`")
        }
        ("", _) => {
            format!(
                "the value has fields; write{}",
                list(" ", names().map(|own| format!("{own}=...")))
            )
        }
        _ => format!("there is no field `{name}`{}", suggest(name, names())),
    })
}

/// Returns the end of a sentence that suggests the nearest name, or lists the names.
pub fn suggest<'a>(wrong: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let close = names
        .clone()
        .map(|name| (distance(wrong, name), name))
        .filter(|(d, name)| *d <= 1 + name.len() / 4 || name.starts_with(&format!("{wrong}.")));
    match close.min() {
        Some((_, name)) => format!("; did you mean `{name}`?"),
        None => list("; there is ", names.map(|name| format!("`{name}`"))),
    }
}

/// Lists at most eight names after a lead; returns an empty string if there are none.
fn list(lead: &str, names: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = names.collect();
    match all.len() {
        0 => String::new(),
        1..=8 => format!("{lead}{}", all.join(", ")),
        more => format!("{lead}{} and {} more", all[..8].join(", "), more - 8),
    }
}

/// Returns the Levenshtein distance: the least number of insertions, removals and replacements of
/// characters that change one word into the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, &cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
#[path = "populate_tests.rs"]
mod tests;

//! The contents of offloads: summaries, dumps and differences.

use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde::Serialize;
use wireloom_bits::Bits;
use wireloom_ir as ir;
use wireloom_offloads::registry::kind;
use wireloom_offloads::{Config, Content, EntryKey, Instance, Row, Store};

use crate::failure::{Failure, Outcome};
use crate::output::{self, thousands};

/// What is known of an offload after a run.
#[derive(Clone, Debug, Serialize)]
pub struct OffloadReport {
    /// Its path.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// How many rows it has: non-zero elements, live entries, kept packets.
    pub count: usize,
    /// Those that were asked for.
    pub rows: Vec<ShownRow>,
}

/// A row as text.
#[derive(Clone, Debug, Serialize)]
pub struct ShownRow {
    /// Its key.
    pub key: String,
    /// Name and value of each field.
    pub fields: Vec<(String, String)>,
}

/// The offload under a path.
///
/// # Errors
/// If there is none; the help names those that there are.
pub fn find<'a>(store: &'a Store, path: &str) -> Outcome<(&'a Config, &'a dyn Instance)> {
    match store.find(path).map(|slot| &slot.content) {
        Some(Content::Kind { config, instance }) => Ok((config, instance.as_ref())),
        _ => Err(Failure::unusable(format!("the program has no offload '{path}' with contents of its own"))
            .with_help(format!("it has {}", store.paths().join(", ")))),
    }
}

/// The offloads that packets can change, and those in `dump` with up to `limit` of their rows (all if it is 0).
pub fn summary(program: &ir::Program, store: &Store, dump: &[String], limit: usize) -> Vec<OffloadReport> {
    let mut changed = Vec::new();
    collect_changed(program, program.main, "", &mut changed);
    let mut reports = Vec::new();
    for path in store.paths() {
        let wanted = dump.contains(&path);
        if !wanted && !changed.contains(&path) {
            continue;
        }
        let Ok((config, instance)) = find(store, &path) else { continue };
        let mut rows = instance.rows();
        let count = rows.len();
        if !wanted {
            rows.clear();
        } else if limit > 0 {
            rows.sort_by(|a, b| values(b).cmp(&values(a)));
            rows.truncate(limit);
        }
        let rows = rows.iter().map(|row| shown(config, row)).collect();
        reports.push(OffloadReport { name: path, kind: config.kind.clone(), count, rows });
    }
    reports
}

/// The paths of offloads that some call of an engine, or of one that it calls, changes.
fn collect_changed(program: &ir::Program, engine: ir::EngineId, prefix: &str, changed: &mut Vec<String>) {
    let engine = &program.engines[engine.index()];
    for (id, offload) in (0..).map(ir::OffloadId).zip(&engine.offloads) {
        let path = format!("{prefix}{}", offload.name);
        match &offload.target {
            ir::OffloadTarget::Engine(inner) => {
                collect_changed(program, *inner, &format!("{path}."), changed);
            }
            ir::OffloadTarget::Kind(config) => {
                let Some(kind) = kind(&config.kind) else { continue };
                let mut has_effect = false;
                for step in &engine.steps {
                    step.for_each_op(|op| {
                        if let ir::OpKind::Call { offload, method, .. } = op.kind {
                            has_effect |= offload == id && kind.methods[method].state.has_effect();
                        }
                    });
                }
                if has_effect {
                    changed.push(path);
                }
            }
        }
    }
}

fn values(row: &Row) -> Vec<&Bits> {
    row.fields.iter().map(|(_, value)| value).collect()
}

/// A row as text.
pub fn shown(config: &Config, row: &Row) -> ShownRow {
    ShownRow {
        key: key_text(config, &row.key),
        fields: row.fields.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
    }
}

/// Reports as text for people: a line for each offload, and its rows as a table.
pub fn text(reports: &[OffloadReport]) -> String {
    let mut out = String::new();
    for report in reports {
        let count = thousands(report.count as u64);
        writeln!(out, "\n{} ({}): {count} rows", report.name, report.kind)
            .expect("a string takes everything");
        let Some(first) = report.rows.first() else { continue };
        let heads: Vec<&str> =
            std::iter::once("key").chain(first.fields.iter().map(|(name, _)| name.as_str())).collect();
        let numeric: Vec<usize> = (1..heads.len()).collect();
        let mut table = output::table(&heads, &numeric);
        for row in &report.rows {
            table.add_row(std::iter::once(&row.key).chain(row.fields.iter().map(|(_, value)| value)));
        }
        writeln!(out, "{table}").expect("a string takes everything");
    }
    out
}

/// A key as people write it: addresses for 32 and 128 bits, the fields of a structure by name.
pub fn key_text(config: &Config, key: &EntryKey) -> String {
    match key {
        EntryKey::Index(index) => index.to_string(),
        EntryKey::Pattern(bytes) => format!("\"{}\"", bytes.escape_ascii()),
        EntryKey::Prefix { bits, length } => format!("{}/{length}", scalar_text(bits)),
        EntryKey::Exact(bits) => {
            let fields = config.key.as_ref().map_or(&[][..], |layout| &layout.fields);
            let mut low = bits.width();
            let mut parts = Vec::new();
            for (name, width) in fields {
                low = low.saturating_sub(*width);
                let value = scalar_text(&bits.slice(low, *width));
                parts.push(if name.is_empty() { value } else { format!("{name}={value}") });
            }
            parts.join(" ")
        }
    }
}

fn scalar_text(bits: &Bits) -> String {
    let value = bits.to_u128().unwrap_or_default();
    match bits.width() {
        32 => Ipv4Addr::from(value as u32).to_string(),
        128 => Ipv6Addr::from(value).to_string(),
        _ => bits.to_string(),
    }
}

/// A row of one machine beside the other's.
pub struct RowDifference {
    /// Path of the offload.
    pub offload: String,
    /// The key.
    pub key: String,
    /// The fields on golden, if it has the row.
    pub expected: Option<Vec<(String, Bits)>>,
    /// The fields on the other machine, if it has the row.
    pub got: Option<Vec<(String, Bits)>>,
}

/// The first row of each offload that differs between two stores of one program.
pub fn differences(expected: &Store, got: &Store) -> Vec<RowDifference> {
    let mut differences = Vec::new();
    for path in expected.paths() {
        let (Ok((config, left)), Ok((_, right))) = (find(expected, &path), find(got, &path)) else {
            continue;
        };
        let (left, right) = (left.rows(), right.rows());
        let Some(at) = (0..left.len().max(right.len())).find(|&i| left.get(i) != right.get(i)) else {
            continue;
        };
        // Rows stand in a stable order of keys: where the keys differ, the lesser one is missing on the other side.
        let (mut one, mut other) = (left.get(at), right.get(at));
        if let (Some(a), Some(b)) = (one, other) {
            if a.key < b.key {
                other = None;
            } else if b.key < a.key {
                one = None;
            }
        }
        let key = one.or(other).map(|row| key_text(config, &row.key)).unwrap_or_default();
        let fields = |row: &Row| row.fields.clone();
        differences.push(RowDifference {
            offload: path,
            key,
            expected: one.map(fields),
            got: other.map(fields),
        });
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_offloads::Layout;

    fn exact(fields: &[(&str, u32)]) -> Config {
        let fields = fields.iter().map(|(name, width)| ((*name).to_owned(), *width)).collect();
        Config { kind: "exact".into(), key: Some(Layout { fields }), value: None, params: Default::default() }
    }

    #[test]
    fn keys_are_written_as_people_write_them() {
        let flow = exact(&[("src", 32), ("port", 16)]);
        let key = EntryKey::Exact(Bits::new(48, 0x0a00_0001_0050));
        assert_eq!(key_text(&flow, &key), "src=10.0.0.1 port=80");
        let scalar = exact(&[("", 128)]);
        assert_eq!(key_text(&scalar, &EntryKey::Exact(Bits::new(128, 1))), "::1");
        let prefix = EntryKey::Prefix { bits: Bits::new(32, 0xc000_0200), length: 24 };
        assert_eq!(key_text(&scalar, &prefix), "192.0.2.0/24");
        assert_eq!(key_text(&scalar, &EntryKey::Pattern(b"GET \r\n".to_vec())), "\"GET \\r\\n\"");
    }
}

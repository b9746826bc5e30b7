//! Summaries and dumps of offload contents.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;
use wireloom_bits::Bits;
use wireloom_ir as ir;
use wireloom_machine::{find_offload, key_text, thousands};
use wireloom_offloads::registry::kind;
use wireloom_offloads::{Config, EntryKey, Instance, StateRow, Store};

use wireloom_console::output;

/// The state of an offload after a run.
#[derive(Clone, Debug, Serialize)]
pub struct OffloadReport {
    /// The offload's path.
    pub name: String,
    /// The offload's kind.
    pub kind: String,
    /// The number of rows: non-zero elements, live entries, kept packets.
    pub count: usize,
    /// The rows that were requested.
    pub rows: Vec<ShownRow>,
}

/// A row as text.
#[derive(Clone, Debug, Serialize)]
pub struct ShownRow {
    pub key: String,
    /// The name and value of each field.
    pub fields: Vec<(String, String)>,
}

impl ShownRow {
    fn has_fields_of(&self, other: &Self) -> bool {
        let names = self.fields.iter().map(|(name, _)| name);
        names.eq(other.fields.iter().map(|(name, _)| name))
    }
}

/// Returns the offloads that packets can change, and the offloads in `dump`, which have up to
/// `limit` rows (all if it is 0).
pub fn summary(
    program: &ir::Program,
    store: &Store,
    dump: &[String],
    limit: usize,
) -> Vec<OffloadReport> {
    let mut changed = Vec::new();
    collect_changed(program, program.main, "", &mut changed);
    let mut reports = Vec::new();
    for path in store.paths() {
        let wanted = dump.contains(&path);
        if !wanted && !changed.contains(&path) {
            continue;
        }
        let Ok((config, instance)) = find_offload(store, &path) else { continue };
        let (count, rows) = match (wanted, limit) {
            (false, _) => first(instance, 0, by_key),
            (true, 0) => first(instance, usize::MAX, by_key),
            (true, limit) => first(instance, limit, by_value),
        };
        let rows = rows.iter().map(|row| shown(config, row)).collect();
        reports.push(OffloadReport { name: path, kind: config.kind.clone(), count, rows });
    }
    reports
}

/// Collects the paths of offloads that an engine, or an engine that it calls, changes.
fn collect_changed(
    program: &ir::Program,
    engine: ir::EngineId,
    prefix: &str,
    changed: &mut Vec<String>,
) {
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

pub fn by_key(row: &StateRow) -> EntryKey {
    row.key.clone()
}

/// Orders rows by value, largest first, and equal ones by key.
fn by_value(row: &StateRow) -> (Reverse<Vec<Bits>>, EntryKey) {
    (Reverse(row.fields.iter().map(|(_, value)| value.clone()).collect()), row.key.clone())
}

/// Returns the number of an offload's rows, and the first `limit` of them in an order without ties.
/// At most `limit` rows are in memory at a time.
pub fn first<K: Ord>(
    instance: &dyn Instance,
    limit: usize,
    order: impl Fn(&StateRow) -> K,
) -> (usize, Vec<StateRow>) {
    let mut count = 0;
    let mut kept: BTreeMap<K, StateRow> = BTreeMap::new();
    instance.for_each_row(&mut |row| {
        count += 1;
        if limit == 0 {
            return;
        }
        let place = order(&row);
        if kept.len() == limit && kept.last_key_value().is_some_and(|(last, _)| *last < place) {
            return;
        }
        kept.insert(place, row);
        if kept.len() > limit {
            kept.pop_last();
        }
    });
    (count, kept.into_values().collect())
}

/// Formats a row as text.
pub fn shown(config: &Config, row: &StateRow) -> ShownRow {
    ShownRow {
        key: key_text(config, &row.key),
        fields: row.fields.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
    }
}

/// Formats the reports for people: one line per offload, and its rows as a table.
pub fn text(reports: &[OffloadReport]) -> String {
    let mut out = String::new();
    for report in reports {
        let count = thousands(report.count as u64);
        writeln!(out, "\n{} ({}): {count} rows", report.name, report.kind)
            .expect("a string takes everything");
        // Streams and patterns have different fields.
        for alike in report.rows.chunk_by(ShownRow::has_fields_of) {
            let fields = alike[0].fields.iter().map(|(name, _)| name.as_str());
            let heads: Vec<&str> = std::iter::once("key").chain(fields).collect();
            let numeric: Vec<usize> = (1..heads.len()).collect();
            let mut table = output::table(&heads, &numeric);
            for row in alike {
                table.add_row(
                    std::iter::once(&row.key).chain(row.fields.iter().map(|(_, value)| value)),
                );
            }
            writeln!(out, "{table}").expect("a string takes everything");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_ir::builder::config;
    use wireloom_offloads::{Entry, instantiate};

    #[test]
    fn the_first_rows_are_those_of_a_sorted_list() {
        let mut table = instantiate(&config("lpm", &[("", 32)], &[("", 8)], &[])).expect("a table");
        for number in 0..200u32 {
            let bits = Bits::new(32, u128::from(number.wrapping_mul(0x9e37_79b9)));
            let value = Bits::new(8, u128::from(number % 7));
            table.load(Entry { key: EntryKey::Prefix { bits, length: 32 }, value }).expect("room");
        }
        let sorted = table.rows();
        for limit in [0, 1, 20, 200, usize::MAX] {
            let expected = &sorted[..limit.min(200)];
            assert_eq!(first(table.as_ref(), limit, by_key), (200, expected.to_vec()));
            let mut largest = sorted.clone();
            largest.sort_by_key(by_value);
            largest.truncate(limit);
            assert_eq!(first(table.as_ref(), limit, by_value), (200, largest));
        }
    }
}

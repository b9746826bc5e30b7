//! Summaries and dumps of offload contents.

use std::fmt::Write;

use serde::Serialize;
use wireloom_bits::Bits;
use wireloom_ir as ir;
use wireloom_machine::{find_offload, key_text, thousands};
use wireloom_offloads::registry::kind;
use wireloom_offloads::{Config, Row, Store};

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
    /// The key.
    pub key: String,
    /// The name and value of each field.
    pub fields: Vec<(String, String)>,
}

/// Returns the offloads that packets can change, and those in `dump` with up to `limit` of their
/// rows (all if it is 0).
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

fn values(row: &Row) -> Vec<&Bits> {
    row.fields.iter().map(|(_, value)| value).collect()
}

/// Formats a row as text.
pub fn shown(config: &Config, row: &Row) -> ShownRow {
    ShownRow {
        key: key_text(config, &row.key),
        fields: row.fields.iter().map(|(name, value)| (name.clone(), value.to_string())).collect(),
    }
}

/// Formats the reports for people: one line an offload, and its rows as a table.
pub fn text(reports: &[OffloadReport]) -> String {
    let mut out = String::new();
    for report in reports {
        let count = thousands(report.count as u64);
        writeln!(out, "\n{} ({}): {count} rows", report.name, report.kind)
            .expect("a string takes everything");
        let Some(first) = report.rows.first() else { continue };
        let heads: Vec<&str> = std::iter::once("key")
            .chain(first.fields.iter().map(|(name, _)| name.as_str()))
            .collect();
        let numeric: Vec<usize> = (1..heads.len()).collect();
        let mut table = output::table(&heads, &numeric);
        for row in &report.rows {
            table.add_row(
                std::iter::once(&row.key).chain(row.fields.iter().map(|(_, value)| value)),
            );
        }
        writeln!(out, "{table}").expect("a string takes everything");
    }
    out
}

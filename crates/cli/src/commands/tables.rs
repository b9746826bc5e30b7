//! `wireloom tables`: the contents that table files give a program's offloads.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;
use wireloom_offloads::EntryKey;

use crate::failure::Outcome;
use crate::program::ProgramArgs;
use crate::rows;
use wireloom_console::load_store;
use wireloom_console::memory;
use wireloom_console::output::{self, JsonTarget};
use wireloom_console::thousands;
use wireloom_machine::find_offload;

/// See `wireloom tables --help`.
#[derive(Args, Debug)]
pub struct Tables {
    #[command(flatten)]
    program: ProgramArgs,
    /// Load a table file (may be given several times; later entries replace earlier ones)
    #[arg(long, value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Show this number of entries of each offload
    #[arg(long, value_name = "N", default_value_t = 0)]
    rows: usize,
    /// Write the summary as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

#[derive(Serialize)]
struct Report {
    entries_read: u64,
    load_seconds: f64,
    /// Growth of the process's memory during loading: the tables, and the memory that the allocator
    /// retains afterwards.
    memory_mib: f64,
    offloads: Vec<Contents>,
}

#[derive(Serialize)]
struct Contents {
    name: String,
    kind: String,
    entries: usize,
    /// The number of prefixes of each length, for longest-prefix match.
    prefix_lengths: BTreeMap<u32, usize>,
    rows: Vec<rows::ShownRow>,
}

impl Tables {
    /// Loads the tables and prints a report.
    pub fn run(self) -> Outcome {
        let program = self.program.optimised()?;
        let places = self.program.places().reads(&self.tables);
        let places = places.writes_json(self.json.as_ref());
        places.check()?;
        let before = memory::resident_kib();
        let (store, loaded) = load_store(&program, &self.tables)?;
        places.check()?;
        let memory_mib = memory::resident_kib().saturating_sub(before) as f64 / 1024.0;
        let mut offloads = Vec::new();
        for path in store.paths() {
            let (config, instance) = find_offload(&store, &path)?;
            let mut prefix_lengths = BTreeMap::new();
            let (entries, found) = rows::first(instance, self.rows, rows::by_key);
            if entries == 0 {
                continue;
            }
            instance.for_each_row(&mut |row| {
                if let EntryKey::Prefix { length, .. } = row.key {
                    *prefix_lengths.entry(length).or_default() += 1;
                }
            });
            let rows = found.iter().map(|row| rows::shown(config, row)).collect();
            let kind = config.kind.clone();
            offloads.push(Contents { name: path, kind, entries, prefix_lengths, rows });
        }
        let report = Report {
            entries_read: loaded.entries,
            load_seconds: loaded.time.as_secs_f64(),
            memory_mib,
            offloads,
        };
        if output::for_people(self.json.as_ref()) {
            output::print(&report.text());
        }
        Ok(output::json(self.json.as_ref(), &report)?)
    }
}

impl Report {
    fn text(&self) -> String {
        let mut out = format!(
            "{} entries read in {:.2} s; the process grew by {:.0} MiB\n\n",
            thousands(self.entries_read),
            self.load_seconds,
            self.memory_mib,
        );
        let mut table = output::table(&["offload", "kind", "entries", "prefix lengths"], &[2]);
        for offload in &self.offloads {
            let lengths = &offload.prefix_lengths;
            let most = lengths.iter().max_by_key(|(_, count)| **count);
            let span = match (lengths.first_key_value(), lengths.last_key_value(), most) {
                (Some((least, _)), Some((longest, _)), Some((most, count))) => {
                    format!(
                        "/{least} to /{longest}, most of them /{most}: {}",
                        thousands(*count as u64)
                    )
                }
                _ => String::new(),
            };
            table.add_row([
                &offload.name,
                &offload.kind,
                &thousands(offload.entries as u64),
                &span,
            ]);
        }
        out += &format!("{table}\n");
        let shown = self.offloads.iter().filter(|offload| !offload.rows.is_empty());
        out + &rows::text(
            &shown
                .map(|offload| rows::OffloadReport {
                    name: offload.name.clone(),
                    kind: offload.kind.clone(),
                    count: offload.entries,
                    rows: offload.rows.clone(),
                })
                .collect::<Vec<_>>(),
        )
    }
}

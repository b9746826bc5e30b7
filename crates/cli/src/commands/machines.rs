//! `wireloom machines`: what programs can run on.

use clap::{Args, ValueEnum};
use serde::Serialize;

use crate::failure::Outcome;
use crate::machine::MachineName;
use crate::output::{self, JsonTarget};

/// See `wireloom machines --help`.
#[derive(Args, Debug)]
pub struct Machines {
    /// Write the list as JSON, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    what: String,
}

impl Machines {
    /// Lists the machines.
    pub fn run(self) -> Outcome {
        let entries: Vec<Entry> = MachineName::value_variants()
            .iter()
            .filter_map(MachineName::to_possible_value)
            .map(|value| Entry {
                name: value.get_name().to_owned(),
                what: value.get_help().map(ToString::to_string).unwrap_or_default(),
            })
            .collect();
        if output::for_people(self.json.as_ref()) {
            let mut table = output::table(&["machine", "what it is"], &[]);
            table.add_rows(entries.iter().map(|entry| [&entry.name, &entry.what]));
            output::say(table.to_string());
        }
        self.json.map_or(Ok(()), |target| output::write_json(&target, &entries))
    }
}

//! `wireloom machines`: the machines that programs run on.

use clap::Args;
use serde::Serialize;
use wireloom_machine::{Named, described, explained};
use wireloom_machines::REGISTRY;

use crate::failure::{Failure, Outcome};
use wireloom_console::output::{self, JsonTarget};

/// See `wireloom machines --help`.
#[derive(Args, Debug)]
pub struct Machines {
    /// Explain this machine's description, key by key
    #[arg(value_name = "MACHINE")]
    name: Option<String>,
    /// Write the list, or the description, as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    what: String,
}

impl Machines {
    /// Lists the machines, or shows one.
    pub fn run(self) -> Outcome {
        match &self.name {
            Some(name) => self.show(name),
            None => self.list(),
        }
    }

    fn list(&self) -> Outcome {
        let entries = entries();
        if output::for_people(self.json.as_ref()) {
            let mut table = output::table(&["machine", "what it is"], &[]);
            table.add_rows(entries.iter().map(|entry| [&entry.name, &entry.what]));
            output::say(table.to_string());
            output::say(output::fitted(
                "\nwireloom machines NAME shows a description, each key explained; NAME.toml can be a file of yours.",
            ));
        }
        Ok(output::json(self.json.as_ref(), &entries)?)
    }

    fn show(&self, name: &str) -> Outcome {
        let machine = REGISTRY.find(name)?;
        let kind = REGISTRY.kind(machine.kind());
        let schema = kind.and_then(|kind| kind.schema());
        let (Some(schema), Some(_)) = (schema, machine.settings()) else {
            return Err(Failure::unusable(format!(
                "{name} has no description: nothing about it can be chosen"
            )));
        };
        if output::for_people(self.json.as_ref()) {
            output::print(&explained(machine.as_ref(), schema).unwrap_or_default());
        }
        Ok(output::json(self.json.as_ref(), &described(machine.as_ref()))?)
    }
}

/// Returns all named machines, and the forms of names that encode a configuration.
fn entries() -> Vec<Entry> {
    // A description that does not parse is reported when it is requested.
    let found = REGISTRY.names().into_iter().filter_map(|name| REGISTRY.find(&name).ok());
    let mut entries: Vec<Entry> = found
        .map(|machine| Entry { name: machine.name().to_owned(), what: machine.about().to_owned() })
        .collect();
    for kind in REGISTRY.kinds() {
        if let Named::Many(pattern) = kind.named() {
            entries.push(Entry { name: pattern.shape.to_owned(), what: pattern.about.to_owned() });
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_description::Description;
    use wireloom_machine::Configured;

    fn shown(machine: &dyn Configured) -> String {
        let schema = REGISTRY.kind(machine.kind()).and_then(|kind| kind.schema());
        explained(machine, schema.expect("a schema")).expect("a description")
    }

    #[test]
    fn a_description_that_is_shown_is_one_that_can_be_read() {
        let own = "extends = \"np\"\nclusters = 4\n[engine]\nstorage = \"block\"\n\
                   [offload.ports]\nrealisation = \"table\"\nplace = \"cluster\"";
        let network = "extends = \"mpsoc\"\nprocessors = 3\n[network]\nkind = \"crossbar\"\nclock_mhz = 500\nwidth_bytes = 16\n\
                       latency_cycles = 2\nqueue_messages = 4\n[object.counters]\nlatency_ns = 3\ninterval_ns = 1\nports = 2";
        let parse = |name: &str, text: &str| {
            let description = Description::parse(name, text).expect("TOML");
            REGISTRY.configure(name, description).expect("a machine")
        };
        let machines = [
            REGISTRY.find("np-16-6-4").expect("a machine"),
            parse("mine", own),
            parse("mine", network),
        ];
        for machine in machines {
            let shown = shown(machine.as_ref());
            let again = parse(machine.name(), &shown);
            assert_eq!(again.settings(), machine.settings(), "{shown}");
        }
    }

    #[test]
    fn values_are_the_machines_and_words_the_common_ones() {
        let shown = |name: &str| shown(REGISTRY.find(name).expect("a machine").as_ref());
        let np = shown("np-7-1-1");
        assert!(np.contains("clusters = 7 # of the whole processor"), "{np}");
        assert!(np.contains("core_mhz = 100 # the paper"), "{np}");
        let mpsoc = shown("mpsoc-oc192");
        assert!(mpsoc.contains("processors = 48 # \"Number of processors: 1 to 48\""), "{mpsoc}");
        assert!(REGISTRY.kind("native").expect("a kind").schema().is_none());
    }

    #[test]
    fn machines_are_listed_with_what_they_are() {
        let names: Vec<String> = entries().into_iter().map(|entry| entry.name).collect();
        for name in ["golden", "native", "np", "np-C-E-T", "mpsoc", "mpsoc-oc48"] {
            assert!(names.iter().any(|listed| listed == name), "{names:?}");
        }
    }
}

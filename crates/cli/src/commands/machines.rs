//! `wireloom machines`: what programs can run on.

use clap::Args;
use serde::Serialize;
use wireloom_rtl::machine::{Machine, machine_folder};

use crate::failure::{Failure, Outcome};
use crate::machine::{MachineName, SOFTWARE};
use crate::output::{self, JsonTarget};

/// See `wireloom machines --help`.
#[derive(Args, Debug)]
pub struct Machines {
    /// Show the description of this machine, each key explained
    #[arg(value_name = "MACHINE")]
    name: Option<String>,
    /// Write the list, or the description, as JSON, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

#[derive(Serialize)]
struct Entry {
    name: String,
    what: String,
}

/// The description that states and explains every key.
const EXPLAINED: &str = include_str!("../../../../machines/np.toml");

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
            output::say(
                "\nwireloom machines NAME shows a description, each key explained; NAME.toml can be a file of yours.",
            );
        }
        self.json.as_ref().map_or(Ok(()), |target| output::write_json(target, &entries))
    }

    fn show(&self, name: &str) -> Outcome {
        let MachineName::Np(machine) = name.parse::<MachineName>().map_err(Failure::unusable)? else {
            return Err(Failure::unusable(format!(
                "{name} has no description: nothing about it can be chosen"
            )));
        };
        if output::for_people(self.json.as_ref()) {
            output::print(&explained(&machine));
        }
        self.json.as_ref().map_or(Ok(()), |target| output::write_json(target, &*machine))
    }
}

/// All machines that have a name of their own.
fn entries() -> Vec<Entry> {
    let software = SOFTWARE.iter().map(|(name, what)| Entry { name: (*name).into(), what: (*what).into() });
    let any = Entry {
        name: "np-C-E-T".into(),
        what: "network processor of C clusters of E engines of T threads, else as np".into(),
    };
    let mut described: Vec<Entry> = std::fs::read_dir(machine_folder())
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        // A file that does not parse is told when it is asked for.
        .filter_map(|name| Some(Entry { what: Machine::find(&name).ok()?.about, name }))
        .collect();
    described.sort_by(|a, b| a.name.cmp(&b.name));
    software.chain(described).chain([any]).collect()
}

/// A machine's description, in the words of the one that explains every key.
fn explained(machine: &Machine) -> String {
    let values = toml::Table::try_from(machine).unwrap_or_default();
    let mut text = format!("# {}\n", machine.name);
    let mut section = String::new();
    let mut told: Vec<String> = Vec::new();
    for line in EXPLAINED.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            name.clone_into(&mut section);
            told.push(section.clone());
        }
        text += &match line.split_once(" = ") {
            Some((key, rest)) if !key.starts_with('#') => {
                let comment = rest.find(" #").map_or("", |at| &rest[at..]);
                match find(&values, &section).and_then(|table| table.get(key)) {
                    Some(value) => format!("{key} = {value}{comment}\n"),
                    None => continue,
                }
            }
            _ => format!("{line}\n"),
        };
    }
    // Offloads that only this machine speaks of.
    for (name, rule) in values.get("offload").and_then(toml::Value::as_table).into_iter().flatten() {
        if !told.contains(&format!("offload.{name}")) {
            text += &format!("\n[offload.{name}]\n{}", toml::to_string(rule).unwrap_or_default());
        }
    }
    text
}

/// The table of a section: `engine`, or `offload.array`.
fn find<'a>(values: &'a toml::Table, section: &str) -> Option<&'a toml::Table> {
    section
        .split('.')
        .filter(|name| !name.is_empty())
        .try_fold(values, |table, name| table.get(name).and_then(toml::Value::as_table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_that_is_shown_is_one_that_can_be_read() {
        let own = "extends = \"np\"\nclusters = 4\n[engine]\nstorage = \"block\"\n\
                   [offload.ports]\nrealisation = \"table\"\nplace = \"cluster\"";
        for machine in [Machine::find("np-16-6-4"), Machine::parse("mine", own)] {
            let machine = machine.expect("a machine");
            let shown = explained(&machine);
            let mut again =
                Machine::parse(&machine.name, &shown).unwrap_or_else(|e| panic!("{e} in\n{shown}"));
            again.name.clone_from(&machine.name);
            assert_eq!(again, machine);
        }
    }

    #[test]
    fn values_are_the_machines_and_words_the_common_ones() {
        let shown = explained(&Machine::find("np-7-1-1").expect("a machine"));
        assert!(shown.contains("clusters = 7 # of the whole processor"), "{shown}");
        assert!(shown.contains("core_mhz = 100 # the paper"), "{shown}");
    }

    #[test]
    fn machines_are_listed_with_what_they_are() {
        let names: Vec<String> = entries().into_iter().map(|entry| entry.name).collect();
        for name in ["golden", "native", "np", "np-C-E-T"] {
            assert!(names.iter().any(|listed| listed == name), "{names:?}");
        }
    }
}

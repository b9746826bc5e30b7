//! `wireloom machines`: what programs can run on.

use clap::Args;
use serde::Serialize;
use toml::Table;
use wireloom_description::{Description, folder};

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

/// The descriptions that state and explain every key of a kind.
const NP: &str = include_str!("../../../../machines/np.toml");
const MPSOC: &str = include_str!("../../../../machines/mpsoc.toml");

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
        let machine = name.parse::<MachineName>().map_err(Failure::unusable)?;
        if output::for_people(self.json.as_ref()) {
            match explained(&machine) {
                Some(text) => output::print(&text),
                None => return Err(has_none(name)),
            }
        }
        let Some(target) = self.json.as_ref() else { return Ok(()) };
        match &machine {
            MachineName::Np(np) => output::write_json(target, &**np),
            MachineName::Mpsoc(mpsoc) => output::write_json(target, &**mpsoc),
            MachineName::Golden | MachineName::Native => Err(has_none(name)),
        }
    }
}

fn has_none(name: &str) -> Failure {
    Failure::unusable(format!("{name} has no description: nothing about it can be chosen"))
}

/// All machines that have a name of their own.
fn entries() -> Vec<Entry> {
    let software = SOFTWARE.iter().map(|(name, what)| Entry { name: (*name).into(), what: (*what).into() });
    let any = Entry {
        name: "np-C-E-T".into(),
        what: "network processor of C clusters of E engines of T threads, else as np".into(),
    };
    let mut described: Vec<Entry> = std::fs::read_dir(folder())
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".toml")?.to_owned()))
        // A file that does not parse is told when it is asked for.
        .filter_map(|name| Some(Entry { what: about(&name)?, name }))
        .collect();
    described.sort_by(|a, b| a.name.cmp(&b.name));
    software.chain(described).chain([any]).collect()
}

/// What an installed description says that its machine is.
fn about(name: &str) -> Option<String> {
    let (name, description) = Description::find(name).ok()??;
    match MachineName::described(&name, description).ok()? {
        MachineName::Np(np) => Some(np.about.clone()),
        MachineName::Mpsoc(mpsoc) => Some(mpsoc.about.clone()),
        MachineName::Golden | MachineName::Native => None,
    }
}

/// A machine's description, in the words of the one that explains every key of its kind; nothing if it has none.
fn explained(machine: &MachineName) -> Option<String> {
    let (mut values, words) = match machine {
        MachineName::Np(np) => (Table::try_from(&**np).ok()?, NP),
        MachineName::Mpsoc(mpsoc) => (Table::try_from(&**mpsoc).ok()?, MPSOC),
        MachineName::Golden | MachineName::Native => return None,
    };
    // No key, but the name of the file.
    values.remove("name");
    let mut text = format!("# {}\n", machine.as_str());
    let mut section = String::new();
    for line in words.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            text += &untold(&mut values, &section);
            name.clone_into(&mut section);
        }
        text += &match line.split_once(" = ") {
            Some((key, rest)) if !key.starts_with('#') => {
                let comment = rest.find(" #").map_or("", |at| &rest[at..]);
                match find(&mut values, &section).and_then(|table| table.remove(key)) {
                    Some(value) => format!("{key} = {value}{comment}\n"),
                    None => continue,
                }
            }
            _ => format!("{line}\n"),
        };
    }
    text += &untold(&mut values, &section);
    // Sections that only this machine has, such as those of single offloads.
    drop_empty(&mut values);
    if !values.is_empty() {
        text += &format!("\n{}", toml::to_string(&values).unwrap_or_default());
    }
    Some(text)
}

/// The keys of a section that the words do not speak of: those of another kind of network.
fn untold(values: &mut Table, section: &str) -> String {
    let Some(table) = find(values, section) else { return String::new() };
    let keys: Vec<String> =
        table.iter().filter(|(_, value)| !value.is_table()).map(|(key, _)| key.clone()).collect();
    keys.iter().filter_map(|key| Some(format!("{key} = {}\n", table.remove(key)?))).collect()
}

/// The table of a section: `engine`, or `offload.array`.
fn find<'a>(values: &'a mut Table, section: &str) -> Option<&'a mut Table> {
    section
        .split('.')
        .filter(|name| !name.is_empty())
        .try_fold(values, |table, name| table.get_mut(name).and_then(toml::Value::as_table_mut))
}

fn drop_empty(table: &mut Table) {
    table.retain(|_, value| {
        let Some(inner) = value.as_table_mut() else { return true };
        drop_empty(inner);
        !inner.is_empty()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_that_is_shown_is_one_that_can_be_read() {
        let own = "extends = \"np\"\nclusters = 4\n[engine]\nstorage = \"block\"\n\
                   [offload.ports]\nrealisation = \"table\"\nplace = \"cluster\"";
        let network = "extends = \"mpsoc\"\nprocessors = 3\n[network]\nkind = \"crossbar\"\nclock_mhz = 500\nwidth_bytes = 16\n\
                       latency_cycles = 2\nqueue_messages = 4\n[object.counters]\nlatency_ns = 3\ninterval_ns = 1\nports = 2";
        let parse = |name: &str, text: &str| {
            MachineName::described(name, Description::parse(name, text).expect("TOML")).expect("a machine")
        };
        for machine in ["np-16-6-4".parse().expect("a machine"), parse("mine", own), parse("mine", network)] {
            let shown = explained(&machine).expect("a description");
            assert_eq!(parse(machine.as_str(), &shown), machine, "{shown}");
        }
    }

    #[test]
    fn values_are_the_machines_and_words_the_common_ones() {
        let shown = |name: &str| explained(&name.parse().expect("a machine")).expect("a description");
        let np = shown("np-7-1-1");
        assert!(np.contains("clusters = 7 # of the whole processor"), "{np}");
        assert!(np.contains("core_mhz = 100 # the paper"), "{np}");
        let mpsoc = shown("mpsoc-oc192");
        assert!(mpsoc.contains("processors = 48 # \"Number of processors: 1 to 48\""), "{mpsoc}");
        assert!(explained(&MachineName::Native).is_none());
    }

    #[test]
    fn machines_are_listed_with_what_they_are() {
        let names: Vec<String> = entries().into_iter().map(|entry| entry.name).collect();
        for name in ["golden", "native", "np", "np-C-E-T", "mpsoc", "mpsoc-oc48"] {
            assert!(names.iter().any(|listed| listed == name), "{names:?}");
        }
    }
}

//! Machine descriptions of kind `np`.
//!
//! A description is TOML. `machines/np.toml` states every key and its default; a file may extend
//! another and change some; the names `np-C-E-T` stand for it with other numbers of clusters,
//! engines and threads.

mod ports;
mod rig;
mod shell;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use wireloom_compile::passes::PassOptions;
use wireloom_description::{Description, DescriptionError};
use wireloom_offloads::KINDS;

use crate::realisation::Realisation;

pub use ports::{PortKind, Ports};
pub use rig::{Rig, Traffic};
pub use shell::{Scheduler, Shell, ShellKind, Storage};

/// The name for engines that packets call, in addition to those of the offloads' kinds.
pub const ENGINE_KIND: &str = "engine";

/// Why a machine cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// There is no such machine.
    #[error(
        "no network processor is called '{0}': say np-C-E-T (clusters, engines, threads), the name of a description (wireloom machines lists them) or the path of a .toml file"
    )]
    Unknown(String),
    /// Its description cannot be read.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// The keys are well-formed but do not go together.
    #[error("machine {machine}: {message}")]
    Illegal {
        /// Its name.
        machine: String,
        /// The misfit, and what would fit.
        message: String,
    },
}

/// A machine of kind `np`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Its name: that of the file, or `np-C-E-T`.
    #[serde(skip_deserializing)]
    pub name: String,
    /// Always `np`.
    pub kind: Kind,
    /// Description for users.
    pub about: String,
    /// Clusters of the whole processor.
    pub clusters: usize,
    /// Engines of each cluster.
    pub engines: usize,
    /// Threads of each engine.
    pub threads: usize,
    /// Lanes on which packets enter and leave.
    lanes: Lanes,
    /// The streams on which they do so.
    pub ports: Ports,
    /// Clocks.
    pub clock: Clock,
    /// The engines' shell.
    pub engine: Shell,
    /// How packets are distributed.
    pub balance: Balance,
    /// How requesters of one resource are served.
    pub arbitration: Arbitration,
    /// Memory outside the chip.
    pub memory: Memory,
    /// How offloads are realised, by name or kind.
    pub offload: BTreeMap<String, Rule>,
    /// The embedded test rig, for processors that are built with one.
    pub rig: Rig,
    /// The offload names or kinds in the user's own files.
    #[serde(skip)]
    own_offloads: Vec<String>,
}

/// The kind of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A network processor in SystemVerilog.
    Np,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
enum Lanes {
    Number(usize),
    Auto(Auto),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Auto {
    Auto,
}

/// Clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Clock of everything except the memories, in MHz.
    pub core_mhz: u32,
    /// The memories' clock over it.
    pub memory_ratio: usize,
}

/// How packets are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Balance {
    /// Over the clusters of a pipe.
    pub clusters: BalancePolicy,
    /// Over the engines of a cluster.
    pub engines: BalancePolicy,
}

/// A way to choose a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BalancePolicy {
    /// Each in turn, free or not (the paper).
    Static,
    /// The one with most free threads.
    LeastLoaded,
    /// The first that is free.
    FirstFree,
}

impl BalancePolicy {
    /// Its number in the templates.
    pub fn number(self) -> u32 {
        match self {
            Self::Static => 0,
            Self::LeastLoaded => 1,
            Self::FirstFree => 2,
        }
    }
}

/// How requesters of one resource are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Arbitration {
    /// Among the engines of a cluster.
    pub cluster: Policy,
    /// Among the clusters of a pipe.
    pub pipe: Policy,
}

/// Arbiters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The lowest number first.
    Fixed,
    /// Round robin.
    Fair,
}

/// Memory outside the chip: QDR SRAM parts, one on each channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// Memory cycles from a command to its data.
    pub latency: usize,
    /// Words of a part, in units of 2^20.
    pub mega_words: usize,
}

/// How an offload is realised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The provider.
    pub realisation: &'static dyn Realisation,
    /// Where it is placed, which determines how many copies there are.
    pub place: Place,
    /// Bins of a set, for a cache.
    #[serde(default = "default_bins")]
    pub bins: usize,
    /// Sets, for a cache.
    #[serde(default = "default_sets")]
    pub sets: usize,
    /// Different values that the prefixes can have, for a trie.
    #[serde(default = "default_values")]
    pub values: usize,
    /// States, a power of two, for an automaton.
    #[serde(default = "default_states")]
    pub states: usize,
    /// Classes of bytes, a power of two, for an automaton.
    #[serde(default = "default_classes")]
    pub classes: usize,
}

fn default_values() -> usize {
    16_384
}

fn default_states() -> usize {
    1024
}

fn default_classes() -> usize {
    64
}

fn default_bins() -> usize {
    2
}

fn default_sets() -> usize {
    256
}

/// Where an offload is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// One in each engine.
    Engine,
    /// One in each cluster.
    Cluster,
    /// One in each pipe.
    Pipe,
}

impl Machine {
    /// The machine of a name (`np-16-6-4`, or a file of `machines/` without its ending) or a path
    /// that ends in `.toml`.
    ///
    /// # Errors
    /// If there is none, or its description is wrong.
    pub fn find(name: &str) -> Result<Self, MachineError> {
        if let Some((name, description)) = Description::find(name)? {
            return Self::build(&name, description);
        }
        let Some([clusters, engines, threads]) = numbers(name) else {
            return Err(MachineError::Unknown(name.to_owned()));
        };
        let mut description = Description::built_in("np");
        for (key, number) in [("clusters", clusters), ("engines", engines), ("threads", threads)] {
            description.table.insert(key.to_owned(), toml::Value::Integer(number));
        }
        Self::build(name, description)
    }

    /// A machine from the text of a description.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub fn parse(name: &str, text: &str) -> Result<Self, MachineError> {
        Self::build(name, Description::parse(name, text)?)
    }

    /// A machine like this one with other numbers of clusters, engines and threads.
    ///
    /// # Errors
    /// If there can be none.
    pub fn shaped(
        &self,
        clusters: usize,
        engines: usize,
        threads: usize,
    ) -> Result<Self, MachineError> {
        let name = match self.name.as_str() {
            "np" => format!("np-{clusters}-{engines}-{threads}"),
            name => format!("{name} ({clusters}-{engines}-{threads})"),
        };
        let machine = Self { name, clusters, engines, threads, ..self.clone() };
        machine.check()?;
        Ok(machine)
    }

    /// The machine of a description.
    ///
    /// # Errors
    /// If it is wrong.
    pub fn build(name: &str, description: Description) -> Result<Self, MachineError> {
        let parsed = Self::deserialize(description.table);
        let error =
            |message: String| DescriptionError::Parse { place: format!("machine {name}"), message };
        let mut machine = parsed.map_err(|e| error(e.to_string().trim().replace('\n', ", ")))?;
        machine.name = name.to_owned();
        let sections =
            description.own.iter().filter_map(|own| own.get("offload").and_then(Value::as_table));
        // Those below come first.
        machine.own_offloads = sections.flat_map(Table::keys).cloned().collect();
        machine.check()?;
        Ok(machine)
    }

    fn check(&self) -> Result<(), MachineError> {
        let range = |what: &str, value: usize, most: usize| {
            let message = format!("`{what}` is {value}; it can be 1 to {most}");
            if (1..=most).contains(&value) { Ok(()) } else { Err(self.illegal(message)) }
        };
        range("clusters", self.clusters, 64)?;
        range("engines", self.engines, 64)?;
        let is_pipelined = self.engine.shell == ShellKind::Pipelined;
        range("threads", self.threads, if is_pipelined { 512 } else { 64 })?;
        range("lanes", self.lanes(), 8)?;
        range("clock.memory_ratio", self.clock.memory_ratio, 6)?;
        range("clock.core_mhz", self.clock.core_mhz as usize, 1000)?;
        range("engine.header_reads", self.engine.header_reads as usize, 4)?;
        range("engine.header_writes", self.engine.header_writes as usize, 2)?;
        range("engine.stage_levels", self.engine.stage_levels as usize, 64)?;
        range("memory.latency", self.memory.latency, 256)?;
        range("memory.mega_words", self.memory.mega_words, 64)?;
        if !self.clusters.is_multiple_of(self.lanes()) {
            let (clusters, lanes) = (self.clusters, self.lanes());
            return Err(self.illegal(format!(
                "{clusters} clusters cannot be shared out over {lanes} lanes evenly"
            )));
        }
        if self.engine.shell == ShellKind::StateMachine && self.threads != 1 {
            return Err(
                self.illegal("a state machine has one thread: set `threads = 1`".to_owned())
            );
        }
        self.engine.check().map_err(|message| self.illegal(message))?;
        if is_pipelined && (self.clusters != self.lanes() || self.engines != 1) {
            let message = "a pipelined engine stands in the place of all clusters of a lane: set `engines = 1`, and `lanes` and \
                           `clusters` to one number";
            return Err(self.illegal(message.to_owned()));
        }
        self.ports
            .check(self.lanes())
            .map_err(|message| self.illegal(format!("`ports`: {message}")))?;
        self.rig.check().map_err(|message| self.illegal(format!("`rig`: {message}")))?;
        for (name, rule) in &self.offload {
            if !rule.bins.is_power_of_two() || !rule.sets.is_power_of_two() {
                return Err(
                    self.illegal(format!("`offload.{name}`: bins and sets are powers of two"))
                );
            }
            if rule.place == Place::Engine && !rule.realisation.stands_in_engines() {
                return Err(self
                    .illegal(format!("`offload.{name}`: only a table can stand in each engine")));
            }
        }
        Ok(())
    }

    fn illegal(&self, message: String) -> MachineError {
        MachineError::Illegal { machine: self.name.clone(), message }
    }

    /// Lanes on which packets enter and leave; each has a pipe of its own.
    pub fn lanes(&self) -> usize {
        match self.lanes {
            Lanes::Number(number) => number,
            Lanes::Auto(Auto::Auto) if self.clusters >= 16 && self.clusters.is_multiple_of(2) => 2,
            Lanes::Auto(Auto::Auto) => 1,
        }
    }

    /// Returns the same machine with `lanes` lanes. A different number becomes part of the name.
    pub fn with_lanes(&self, lanes: usize) -> Self {
        if self.lanes == Lanes::Number(lanes) {
            return self.clone();
        }
        let name =
            format!("{} with {lanes} {}", self.name, if lanes == 1 { "lane" } else { "lanes" });
        Self { name, lanes: Lanes::Number(lanes), ..self.clone() }
    }

    /// Clusters of each pipe.
    pub fn clusters_a_pipe(&self) -> usize {
        self.clusters / self.lanes()
    }

    /// Returns the header memory's parameters for the compiler.
    pub fn pass_options(&self) -> PassOptions {
        PassOptions { header: Some(self.engine.header_ports()) }
    }

    /// Returns how an offload of that name and kind is realised.
    pub fn rule(&self, name: &str, kind: &str) -> Option<Rule> {
        self.offload.get(name).or_else(|| self.offload.get(kind)).copied()
    }

    /// Sections `[offload.NAME]` of the user's own files that are for none of these offloads and
    /// for no kind: of another program, or misspelt.
    pub fn sections_for_nothing<'a>(
        &'a self,
        offloads: &'a [&str],
    ) -> impl Iterator<Item = &'a str> {
        let sections = self.own_offloads.iter().map(String::as_str);
        sections.filter(move |name| !offloads.contains(name) && kinds().all(|kind| kind != *name))
    }
}

/// The kinds that a description can speak of.
pub fn kinds() -> impl Iterator<Item = &'static str> + Clone {
    KINDS.iter().map(|kind| kind.name).chain([ENGINE_KIND])
}

/// Clusters, engines and threads of `np-C-E-T`.
fn numbers(name: &str) -> Option<[i64; 3]> {
    let mut parts = name.strip_prefix("np-")?.split('-').map(|part| part.parse::<i64>().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

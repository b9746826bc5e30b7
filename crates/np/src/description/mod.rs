//! Machine descriptions of kind `np`.
//!
//! A description is a TOML file. `machines/np.toml` states every key and its default. A file can
//! extend another file and change some of its keys. The name `np-C-E-T` selects `np` with C
//! clusters, E engines per cluster and T threads per engine.

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

use crate::realisation::interface::Realisation;

pub use ports::{LANE_BYTES, PortKind, Ports};
pub use rig::{Rig, Traffic};
pub use shell::{Scheduler, Shell, ShellKind, Storage};

/// The key under `[offload]` for all engines that packets call.
pub const ENGINE_KIND: &str = "engine";

/// A reason why a machine cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The machine does not exist.
    #[error(
        "no network processor is called '{0}': say np-C-E-T (clusters, engines, threads), the name of a description (wireloom machines lists them) or the path of a .toml file"
    )]
    Unknown(String),
    /// The description cannot be read.
    #[error(transparent)]
    Description(#[from] DescriptionError),
    /// The keys are well-formed but do not fit together.
    #[error("machine {machine}: {message}")]
    Illegal {
        machine: String,
        /// The conflict, and values that fit.
        message: String,
    },
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NpSpec {
    /// The name of the description file, or `np-C-E-T`.
    #[serde(skip_deserializing)]
    pub name: String,
    /// Always `np`.
    pub kind: NpKind,
    /// A description of the machine for users.
    pub about: String,
    /// Clusters in the whole processor.
    pub clusters: usize,
    /// Engines in each cluster.
    pub engines: usize,
    /// Threads in each engine.
    pub threads: usize,
    /// Lanes on which packets enter and leave the processor.
    lanes: Lanes,
    /// The reset of all registers that have a reset.
    pub reset: Reset,
    /// The packet streams of the processor.
    pub ports: Ports,
    pub clock: Clock,
    /// The shell around the engines.
    pub engine: Shell,
    pub balance: Balance,
    /// The arbitration between requesters of one resource.
    pub arbitration: Arbitration,
    /// Memory outside the chip.
    pub memory: Memory,
    /// The realisation rule of each offload name or kind.
    pub offload: BTreeMap<String, Rule>,
    /// The embedded test rig, for processors that are built with one.
    pub rig: Rig,
    /// The offload names and kinds that the user's own files mention.
    #[serde(skip)]
    own_offloads: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NpKind {
    /// A network processor in SystemVerilog.
    Np,
}

/// The reset of a processor, which is active high.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reset {
    /// Sampled at the rising edge of the clock.
    Synchronous,
    /// Asserted at any time. It must be released synchronously to the clock.
    Asynchronous,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Clock of everything except the memories, in MHz.
    pub core_mhz: u32,
    /// Ratio of the memory clock to the core clock.
    pub memory_ratio: usize,
}

/// The distribution of packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Balance {
    /// Among the clusters of a pipe.
    pub clusters: BalancePolicy,
    /// Among the engines of a cluster.
    pub engines: BalancePolicy,
}

/// A policy that selects a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BalancePolicy {
    /// Round robin, whether the target is free or not, as in the paper.
    Static,
    /// The target with the most free threads.
    LeastLoaded,
    /// The first free target.
    FirstFree,
}

impl BalancePolicy {
    /// Returns the number of this policy in the templates.
    pub fn number(self) -> u32 {
        match self {
            Self::Static => 0,
            Self::LeastLoaded => 1,
            Self::FirstFree => 2,
        }
    }
}

/// The arbitration between requesters of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Arbitration {
    /// Among the engines of a cluster.
    pub cluster: Policy,
    /// Among the clusters of a pipe.
    pub pipe: Policy,
}

/// An arbitration policy.
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
    /// Latency from a command to its data, in memory cycles.
    pub latency: usize,
    /// Words in one part, in units of 2^20.
    pub mega_words: usize,
}

/// The realisation of an offload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The realisation that provides the offload.
    pub realisation: &'static dyn Realisation,
    /// The placement, which determines the number of copies.
    pub place: Place,
    /// Bins per set, for a cache.
    #[serde(default = "default_bins")]
    pub bins: usize,
    /// Number of sets, for a cache.
    #[serde(default = "default_sets")]
    pub sets: usize,
    /// Requests that a table outside the chip takes in a core cycle. Each request has its own slots
    /// of the memory channel. The clusters of a pipe share them.
    #[serde(default = "default_requests")]
    pub requests: usize,
    /// Number of different values that the prefixes can have, for a trie.
    #[serde(default = "default_values")]
    pub values: usize,
    /// Number of states, a power of two, for an automaton.
    #[serde(default = "default_states")]
    pub states: usize,
    /// Number of byte classes, a power of two, for an automaton.
    #[serde(default = "default_classes")]
    pub classes: usize,
}

fn default_requests() -> usize {
    1
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

impl NpSpec {
    /// Returns the machine with a name (`np-16-6-4`, or a file of `machines/` without its
    /// extension) or with a path that ends in `.toml`.
    ///
    /// # Errors
    /// If the machine does not exist or its description is wrong.
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

    /// Builds a machine from the text of a description.
    ///
    /// # Errors
    /// As for [`find`](Self::find).
    pub fn parse(name: &str, text: &str) -> Result<Self, MachineError> {
        Self::build(name, Description::parse(name, text)?)
    }

    /// Returns this machine with other numbers of clusters, engines and threads.
    ///
    /// # Errors
    /// If the machine cannot have these numbers.
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

    /// Builds the machine of a description.
    ///
    /// # Errors
    /// If the description is wrong.
    pub fn build(name: &str, description: Description) -> Result<Self, MachineError> {
        let parsed = Self::deserialize(description.table.clone());
        let mut machine = parsed.map_err(|e| description.error(name, &e.to_string()))?;
        machine.name = name.to_owned();
        let sections = description
            .own
            .iter()
            .filter_map(|own| own.table.get("offload").and_then(Value::as_table));
        // Base files come before the files that extend them.
        machine.own_offloads = sections.flat_map(Table::keys).cloned().collect();
        machine.check().map_err(|error| match error {
            MachineError::Illegal { message, .. } => description.error(name, &message).into(),
            other => other,
        })?;
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
        range("memory.latency", self.memory.latency, 512)?;
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
            let several = rule.realisation.takes_several();
            if rule.requests == 0 || rule.requests > 1 && !several {
                return Err(self.illegal(format!(
                    "`offload.{name}`: `requests` is {}; it is 1, or more for a table that is `direct` or `cached`",
                    rule.requests
                )));
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

    /// Returns the number of lanes on which packets enter and leave. Each lane has its own pipe.
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

    /// Returns the number of clusters in each pipe.
    pub fn clusters_a_pipe(&self) -> usize {
        self.clusters / self.lanes()
    }

    /// Returns the parameters of the header memory for the compiler.
    pub fn pass_options(&self) -> PassOptions {
        PassOptions::hardware(self.engine.header_ports())
    }

    /// Returns the rule for an offload, by its name or else by its kind.
    pub fn rule(&self, name: &str, kind: &str) -> Option<Rule> {
        self.offload.get(name).or_else(|| self.offload.get(kind)).copied()
    }

    /// Returns the `[offload.NAME]` sections of the user's own files that match none of these
    /// offloads and no kind. Such a section is misspelt or meant for another program.
    pub fn sections_for_nothing<'a>(
        &'a self,
        offloads: &'a [&str],
    ) -> impl Iterator<Item = &'a str> {
        let sections = self.own_offloads.iter().map(String::as_str);
        sections.filter(move |name| !offloads.contains(name) && kinds().all(|kind| kind != *name))
    }
}

/// Returns the offload kinds that a description can mention.
pub fn kinds() -> impl Iterator<Item = &'static str> + Clone {
    KINDS.iter().map(|kind| kind.name).chain([ENGINE_KIND])
}

/// Returns the clusters, engines and threads of a name `np-C-E-T`.
fn numbers(name: &str) -> Option<[i64; 3]> {
    let mut parts = name.strip_prefix("np-")?.split('-').map(|part| part.parse::<i64>().ok());
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

//! The description of an `mpsoc` in machine files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wireloom_description::Description;
use wireloom_ir::{EngineId, OffloadTarget, Program};
use wireloom_offloads::registry;
use wireloom_sim::parts::cache::{Cache, CacheSpec};
use wireloom_sim::parts::interconnect::{Interconnect, InterconnectSpec};
use wireloom_sim::parts::issue::STAGES;
use wireloom_sim::parts::line::Pace;
use wireloom_sim::parts::memory::{Memory, MemorySpec};
use wireloom_sim::spec::{megahertz, within};
use wireloom_sim::{Clock, Rng, SpecError};

use super::broker::BrokerSpec;
use super::element::{ElementSpec, ObjectSpec};
use super::energy::PowerSpec;
use super::io::{IoSpec, PacketIo};
use super::partition::PartitionSpec;
use super::program::BuildOptions;
use super::toolchain::Optimisation;

/// A machine. `machines/mpsoc.toml` states every key, with the source of its value.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The name of the machine file, without its extension.
    #[serde(skip)]
    pub name: String,
    /// Objects that the user's own files name in sections `[object.NAME]`.
    #[serde(skip)]
    pub own_objects: Vec<String>,
    /// Always `mpsoc`.
    pub kind: MpsocKind,
    /// A description for people.
    pub about: String,
    /// The number of processors, 1 to 64.
    pub processors: u32,
    /// The number of hardware threads per processor, 1 to 32.
    pub threads: u32,
    /// The size of a message without its contents, in bytes, 0 to 256.
    pub header_bytes: u32,
    /// The order in which order-sensitive objects make calls.
    pub call_order: CallOrder,
    /// The partition of packet processing.
    pub partition: PartitionSpec,
    pub processor: ProcessorSpec,
    /// The network on the chip.
    pub network: InterconnectSpec,
    /// The object request broker.
    pub broker: BrokerSpec,
    /// Packet input and output.
    pub io: IoSpec,
    /// The shared memory.
    pub memory: SharedSpec,
    /// The energy of events.
    pub power: PowerSpec,
    /// Called engines in hardware elements, by the name of the offload or of the engine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub element: BTreeMap<String, ElementSpec>,
    /// Objects by the name or the kind of an offload; `any` applies to all others.
    pub object: BTreeMap<String, ObjectSpec>,
}

/// The kind of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MpsocKind {
    /// StepNP.
    Mpsoc,
}

/// The order in which order-sensitive objects make calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallOrder {
    /// The order of the packets' arrival, as in golden.
    Arrival,
    /// The order of the calls' arrival.
    Coming,
}

/// The description of the processors, which are all alike.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessorSpec {
    pub instruction_set: Set,
    /// How the programs of engines are compiled.
    pub optimisation: Optimisation,
    /// The clock frequency; in machine files `clock_mhz`.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// The number of pipeline stages, 1 to 16.
    pub stages: u32,
    /// The way in which threads share the pipeline.
    pub multithreading: Multithreading,
    /// The cycles for which an instruction blocks the issue of others.
    pub cycles: CyclesSpec,
    /// The size of a group of one-way calls, 1 to 65,536: the last call of each group that a thread
    /// makes to one object or service requests an acknowledgement, and the thread makes the next
    /// call after its arrival.
    pub one_way_calls: u32,
    /// The instruction cache: up to 1 MiB in up to 65,536 lines.
    pub instruction_cache: CacheSpec,
    /// The cache of constants: up to 1 MiB in up to 65,536 lines.
    pub data_cache: CacheSpec,
}

impl ProcessorSpec {
    /// The options with which programs for this processor are built, with the default cache.
    pub fn build_options(&self) -> BuildOptions {
        let options = BuildOptions::new(self.instruction_set.into());
        BuildOptions { optimisation: self.optimisation, ..options }
    }
}

/// Instruction sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Set {
    /// ARM, version 4.
    Armv4,
    /// RISC-V: RV32IM.
    Rv32im,
}

impl From<Set> for wireloom_isa::program::Architecture {
    fn from(set: Set) -> Self {
        match set {
            Set::Armv4 => Self::Arm,
            Set::Rv32im => Self::Riscv,
        }
    }
}

/// The way in which threads share a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Multithreading {
    /// Each stage has an instruction of another thread; a thread that waits yields its turn to the
    /// others (the paper, section 5.2).
    Barrel,
    /// One thread holds the pipeline until it waits for a packet; during all other waits the
    /// processor stalls.
    Blocking,
}

/// Cycles of each class of instructions, 1 to 64 each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CyclesSpec {
    /// Arithmetic, logic, shifts, moves.
    pub alu: u8,
    /// ARM: an operand shifted by a register.
    pub shifted_by_register: u8,
    /// A 32-bit product.
    pub multiply: u8,
    /// A 64-bit product.
    pub multiply_long: u8,
    /// Division and remainder.
    pub divide: u8,
    /// Loads.
    pub load: u8,
    /// Stores.
    pub store: u8,
    /// ARM: each word of LDM.
    pub load_multiple_word: u8,
    /// ARM: each word of STM.
    pub store_multiple_word: u8,
    /// ARM: SWP.
    pub swap: u8,
    /// Jumps and calls.
    pub branch: u8,
    /// All others.
    pub other: u8,
}

/// The shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SharedSpec {
    /// The size that programs can change, in bytes: a multiple of 4 up to 2^26.
    pub bytes: u32,
    pub timing: MemorySpec,
}

impl Spec {
    /// The machine of `machines/mpsoc.toml`.
    pub fn base() -> Self {
        let base = Self::build("mpsoc", Description::built_in("mpsoc"));
        base.expect("machines/mpsoc.toml is a machine: a test holds it")
    }

    /// Builds the machine of a description.
    ///
    /// # Errors
    /// A sentence that names the machine and the key.
    pub fn build(name: &str, description: Description) -> Result<Self, String> {
        let own = description.own.iter().filter_map(|own| own.table.get("object")?.as_table());
        let own_objects = own.flat_map(|table| table.keys().cloned()).collect();
        let wrong = |message: &str| description.error(name, message).to_string();
        let parsed = Self::deserialize(description.table.clone());
        let mut spec = parsed.map_err(|error| wrong(&error.to_string()))?;
        name.clone_into(&mut spec.name);
        spec.own_objects = own_objects;
        spec.check().map_err(|error| wrong(&error.to_string()))?;
        Ok(spec)
    }

    /// The number of hardware threads of all processors: each serves calls.
    pub fn servers(&self) -> u32 {
        self.processors * self.threads
    }

    /// The element that holds an engine. `path` is the path of offloads to the engine; its last
    /// name counts.
    pub(super) fn element(&self, path: &str, engine: &str) -> Option<&ElementSpec> {
        let offload = path.rsplit('.').next().unwrap_or(path);
        self.element.get(offload).or_else(|| self.element.get(engine))
    }

    /// The names of sections `[object.NAME]` in the user's own files that have no effect with a
    /// program. Such a section names no offload of the program, no kind and no object of the
    /// machine: it is misspelt, or belongs to another program. (An `[element.NAME]` without effect
    /// is rejected.)
    pub fn sections_for_nothing(&self, program: &Program) -> Vec<String> {
        let mut paths = Vec::new();
        self.offloads(program, program.main, "", &mut paths);
        let is_for_something = |name: &String| {
            PLATFORM_OBJECTS.contains(&name.as_str())
                || paths.contains(name)
                || registry::kind(name).is_some()
                || program.engines.iter().any(|engine| engine.name == *name)
        };
        self.own_objects.iter().filter(|name| !is_for_something(name)).cloned().collect()
    }

    /// Collects the paths of an engine's offloads, as the machine names them. The paths in a
    /// hardware element also start at its own engine.
    fn offloads(&self, program: &Program, engine: EngineId, prefix: &str, paths: &mut Vec<String>) {
        for offload in &program.engines[engine.index()].offloads {
            let path = format!("{prefix}{}", offload.name);
            if let OffloadTarget::Engine(called) = offload.target {
                self.offloads(program, called, &format!("{path}."), paths);
                if self.element(&path, &program.engines[called.index()].name).is_some() {
                    self.offloads(program, called, "", paths);
                }
            }
            paths.push(path);
        }
    }

    /// Checks the range of all numbers, also in the descriptions of all parts.
    ///
    /// # Errors
    /// The first number out of range, by its key.
    pub fn check(&self) -> Result<(), SpecError> {
        within("processors", self.processors, 1..=64)?;
        within("threads", self.threads, 1..=32)?;
        within("header_bytes", self.header_bytes, 0..=256)?;
        within("processor.stages", self.processor.stages, 1..=STAGES as u32)?;
        for (key, cycles) in self.processor.cycles.all() {
            within(&format!("processor.cycles.{key}"), u32::from(cycles), 1..=64)?;
        }
        within("processor.one_way_calls", self.processor.one_way_calls, 1..=1 << 16)?;
        self.partition.check()?;
        within("broker.call_cycles", self.broker.call_cycles, 1..=1024)?;
        within("io.threads", self.io.threads, 1..=1024)?;
        within("io.packets", self.io.packets, 1..=1 << 16)?;
        match self.io.pace {
            Pace::Load(load) => within("io.pace.load", load, LEAST_LOAD..=1.0)?,
            Pace::Poisson(load) => within("io.pace.poisson", load, LEAST_LOAD..=MOST_POISSON)?,
            Pace::Line | Pace::Given => {}
        }
        within("memory.bytes", self.memory.bytes, 0..=1 << 26)?;
        if !self.memory.bytes.is_multiple_of(4) {
            return Err(SpecError::new(
                "memory.bytes",
                format!("is {}; it can be a multiple of 4", self.memory.bytes),
            ));
        }
        self.power.check()?;
        for (name, element) in &self.element {
            element.check().map_err(|error| error.within(&format!("element.{name}")))?;
        }
        for (name, object) in &self.object {
            within(&format!("object.{name}.ports"), object.ports, 1..=64)?;
        }
        self.processor.instruction_cache.check("processor.instruction_cache")?;
        self.processor.data_cache.check("processor.data_cache")?;
        Memory::new(self.memory.timing).map_err(|error| error.within("memory.timing"))?;
        PacketIo::new(&self.io, 0, None)?;
        // A program's objects are additional nodes.
        let nodes = self.processors + PLATFORM_NODES;
        let network = Interconnect::<()>::new(&self.network, nodes, Rng::new(0, "network"));
        network.map(|_| ()).map_err(|error| error.within("network"))
    }
}

/// The minimum load of a line. With a lower load, arrival times exceed the supported range.
const LEAST_LOAD: f64 = 1e-6;
/// The maximum load with random arrivals. At full load, the queue in front of the line grows
/// without limit.
const MOST_POISSON: f64 = 0.999_999;

/// Names of `[object.NAME]` that are not offloads: the objects of the platform, and `any`, which
/// applies to all other objects.
const PLATFORM_OBJECTS: [&str; 3] = ["any", "thread-manager", "console"];

/// The number of network nodes in addition to the processors: packet I/O, the broker and shared
/// memory.
pub(super) const PLATFORM_NODES: u32 = 3;

/// The maximum size of a processor's cache in bytes. The number of lines has a limit too because
/// each line costs the simulator memory.
const CACHE_BYTES: u64 = 1 << 20;
const CACHE_LINES: u64 = 1 << 16;

/// A part of a machine file that is checked on its own.
trait Check {
    fn check(&self, table: &str) -> Result<(), SpecError>;
}

impl Check for CacheSpec {
    fn check(&self, table: &str) -> Result<(), SpecError> {
        within("bytes", self.bytes, 16..=CACHE_BYTES).map_err(|error| error.within(table))?;
        let lines = self.bytes / self.line_bytes.max(1);
        if lines > CACHE_LINES && self.line_bytes >= 4 {
            let problem = format!(
                "is {}, which makes {lines} lines of {} bytes; there can be {CACHE_LINES}",
                self.line_bytes, self.bytes
            );
            return Err(SpecError::new(&format!("{table}.line_bytes"), problem));
        }
        Cache::new(*self, Rng::new(0, "cache")).map(|_| ()).map_err(|error| error.within(table))
    }
}

impl CyclesSpec {
    fn all(&self) -> [(&'static str, u8); 12] {
        [
            ("alu", self.alu),
            ("shifted_by_register", self.shifted_by_register),
            ("multiply", self.multiply),
            ("multiply_long", self.multiply_long),
            ("divide", self.divide),
            ("load", self.load),
            ("store", self.store),
            ("load_multiple_word", self.load_multiple_word),
            ("store_multiple_word", self.store_multiple_word),
            ("swap", self.swap),
            ("branch", self.branch),
            ("other", self.other),
        ]
    }
}

#[cfg(test)]
mod tests {
    use wireloom_sim::Time;

    use super::*;

    fn own(text: &str) -> Result<Spec, String> {
        Spec::build(
            "mine",
            Description::parse("mine", &format!("extends = \"mpsoc\"\n{text}")).expect("TOML"),
        )
    }

    #[test]
    fn the_common_description_states_every_key() {
        let stated = Description::built_in("mpsoc").table;
        let all = toml::Table::try_from(Spec::base()).expect("a table");
        fn missing(all: &toml::Table, stated: &toml::Table, place: &str) -> Vec<String> {
            let key = |key: &str| format!("{place}{key}");
            let each = all.iter().flat_map(|(name, value)| match (value, stated.get(name)) {
                // The write policy of a cache has no effect if nothing is written.
                (_, None) if name == "write" => Vec::new(),
                (_, None) => vec![key(name)],
                (toml::Value::Table(all), Some(toml::Value::Table(stated))) => {
                    missing(all, stated, &key(&format!("{name}.")))
                }
                _ => Vec::new(),
            });
            each.collect()
        }
        assert_eq!(missing(&all, &stated, ""), ["network.keep_order"]);
    }

    #[test]
    fn the_papers_machines_have_its_numbers() {
        let find = |name: &str| {
            let (name, description) = Description::find(name).expect("TOML").expect("a file");
            Spec::build(&name, description).expect("a machine")
        };
        for (name, processors, threads, latency_ns, gbps) in
            [("mpsoc-oc48", 16, 8, 40, 2_500_000_000), ("mpsoc-oc192", 48, 16, 80, 10_000_000_000)]
        {
            let spec = find(name);
            assert_eq!(
                (spec.name.as_str(), spec.processors, spec.threads),
                (name, processors, threads)
            );
            assert_eq!((spec.io.input.rate, spec.io.output.rate), (gbps, gbps));
            let InterconnectSpec::Channel(channel) = spec.network else { panic!("{name}") };
            assert_eq!((channel.latency, channel.jitter), (Time::nanoseconds(latency_ns), 0.25));
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_a_sentence_with_the_key() {
        for (text, said) in [
            ("processors = 65", "mine:2: `processors`: is 65; it can be 1 to 64"),
            ("threads = 0", "`threads`: is 0; it can be 1 to 32"),
            ("thraeds = 4", "unknown field `thraeds`"),
            ("[processor]\nstages = 17", "`processor.stages`: is 17; it can be 1 to 16"),
            ("[processor]\ninstruction_set = \"mips\"", "unknown variant `mips`"),
            (
                "[processor.cycles]\ndivide = 0",
                "`processor.cycles.divide`: is 0; it can be 1 to 64",
            ),
            ("[network]\nlatency_ns = -1", "-1 is not a time in nanoseconds"),
            ("[network]\nwidth = 4", "unknown field `width`"),
            ("[broker]\npolicy = \"random\"", "unknown variant `random`"),
            ("[memory]\nbytes = 6", "`memory.bytes`: is 6; it can be a multiple of 4"),
            ("[partition]\nparts = 2", "`partition.parts`: is only for `kind = \"within-packet\"`"),
            (
                "[partition]\nkind = \"within-packet\"",
                "`partition.parts`: is missing; say how many, or name steps",
            ),
            (
                "[partition]\nkind = \"within-packet\"\nparts = 17",
                "makes 17 parts; it can be 1 to 16",
            ),
            (
                "[partition]\nkind = \"within-packet\"\nparts = 2\ncuts = []",
                "is stated beside `parts`",
            ),
            (
                "[partition]\nkind = \"within-packet\"\ncuts = [\"x\"]\nshares = [1]",
                "`partition.shares`: has 1 numbers for 2 parts; say one for each",
            ),
            (
                "[partition]\nkind = \"within-packet\"\nparts = 2\nshares = [1, 0]",
                "has 0; it can be 1 to 1000: a part without threads does nothing",
            ),
            ("[power]\nprocess_nm = 10", "`power.process_nm`: is 10; it can be 65 to 2000"),
            ("[power]\nchip_um = 100001", "`power.chip_um`: is 100001; it can be 0 to 100000"),
            ("[power]\nidle_percent = 10", "unknown field `idle_percent`"),
            ("[object.lpm]\nports = 0", "`object.lpm.ports`: is 0; it can be 1 to 64"),
        ] {
            let error = own(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}

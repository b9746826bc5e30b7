//! What a machine file says of an `mpsoc`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wireloom_description::Description;
use wireloom_sim::parts::cache::CacheSpec;
use wireloom_sim::parts::interconnect::InterconnectSpec;
use wireloom_sim::parts::line::{LineSpec, Pace};
use wireloom_sim::parts::memory::MemorySpec;
use wireloom_sim::spec::{megahertz, nanoseconds, within};
use wireloom_sim::{Clock, SpecError, Time};

use super::broker::Policy;
use super::element::ElementSpec;
use super::io::Order;
use super::partition::PartitionSpec;
use super::pipeline::STAGES;

/// A machine. `machines/mpsoc.toml` states every key, and where its value comes from.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Its name: that of the file.
    #[serde(skip)]
    pub name: String,
    /// Always `mpsoc`.
    pub kind: Kind,
    /// What it is, for people.
    pub about: String,
    /// Processors, 1 to 64.
    pub processors: u32,
    /// Hardware threads of each, 1 to 32.
    pub threads: u32,
    /// What each message has beside its contents, 0 to 256.
    pub header_bytes: u32,
    /// In which order objects make calls to which it matters whose packet came first.
    pub call_order: CallOrder,
    /// Whether a thread has a packet for all of its steps.
    pub partition: PartitionSpec,
    /// The processors.
    pub processor: ProcessorSpec,
    /// The network on the chip.
    pub network: InterconnectSpec,
    /// The object request broker.
    pub broker: BrokerSpec,
    /// Packet input and output.
    pub io: IoSpec,
    /// The shared memory.
    pub memory: SharedSpec,
    /// Engines that are called and are hardware elements, by the name of the offload or of the engine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub element: BTreeMap<String, ElementSpec>,
    /// Objects by the name or the kind of an offload; `any` is for those that are not named.
    pub object: BTreeMap<String, ObjectSpec>,
}

/// The kind of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// StepNP.
    Mpsoc,
}

/// In which order order-sensitive objects make calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallOrder {
    /// In that of the packets' arrival, as golden does.
    Arrival,
    /// As they come.
    Coming,
}

/// A processor.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProcessorSpec {
    /// Which instructions it executes.
    pub instruction_set: Set,
    /// Its clock; in machine files `clock_mhz`.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// Stages of the pipeline, 1 to 16.
    pub stages: u32,
    /// How threads share the pipeline.
    pub multithreading: Multithreading,
    /// Cycles for which an instruction keeps others from being issued.
    pub cycles: CyclesSpec,
    /// Of instructions.
    pub instruction_cache: CacheSpec,
    /// Of constant data.
    pub data_cache: CacheSpec,
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

impl From<Set> for wireloom_isa::program::Machine {
    fn from(set: Set) -> Self {
        match set {
            Set::Armv4 => Self::Arm,
            Set::Rv32im => Self::Riscv,
        }
    }
}

/// How threads share a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Multithreading {
    /// Each stage has an instruction of another thread; who waits gives its turn to the others (the paper, section 5.2).
    Barrel,
    /// One thread has the pipeline until it waits for a packet; while it waits for anything else the processor stands still.
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
    /// A product of 32 bits.
    pub multiply: u8,
    /// A product of 64 bits.
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
    /// Jumps, calls.
    pub branch: u8,
    /// All others.
    pub other: u8,
}

/// The object request broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BrokerSpec {
    /// Which idle server gets a call.
    pub policy: Policy,
    /// Cycles of the processors' clock from one call to the next, 1 to 1,024.
    pub call_cycles: u32,
}

/// Packet input and output.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IoSpec {
    /// Hardware threads, 1 to 1,024: each brings a packet from the line into packet memory and has its call served.
    pub threads: u32,
    /// Packets that packet memory holds, 1 to 65,536.
    pub packets: u32,
    /// In which order packets leave.
    pub order: Order,
    /// When packets come.
    pub pace: Pace,
    /// The line on which packets come.
    pub input: LineSpec,
    /// The line on which they leave.
    pub output: LineSpec,
    /// Packet memory.
    pub memory: MemorySpec,
}

/// The shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SharedSpec {
    /// Bytes that programs can change: a multiple of 4 up to 2^26.
    pub bytes: u32,
    /// Its times.
    pub timing: MemorySpec,
}

/// A hardware element that answers calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ObjectSpec {
    /// From the begin of a call to its reply; in machine files `latency_ns`.
    #[serde(rename = "latency_ns", with = "nanoseconds")]
    pub latency: Time,
    /// From the begin of a call to that of the next one at the same port; in machine files `interval_ns`.
    #[serde(rename = "interval_ns", with = "nanoseconds")]
    pub interval: Time,
    /// Calls that can begin side by side, 1 to 64.
    pub ports: u32,
}

impl Spec {
    /// The machine of `machines/mpsoc.toml`.
    pub fn base() -> Self {
        let base = Self::build("mpsoc", Description::built_in("mpsoc"));
        base.expect("machines/mpsoc.toml is a machine: a test holds it")
    }

    /// The machine of a description.
    ///
    /// # Errors
    /// A sentence that names the machine and the key.
    pub fn build(name: &str, description: Description) -> Result<Self, String> {
        let parsed = Self::deserialize(description.table);
        let mut spec = parsed
            .map_err(|error| format!("machine {name}: {}", error.to_string().trim().replace('\n', ", ")))?;
        name.clone_into(&mut spec.name);
        spec.check().map_err(|error| format!("machine {name}: {error}"))?;
        Ok(spec)
    }

    /// All hardware threads of the processors.
    pub fn servers(&self) -> u32 {
        self.processors * self.threads
    }

    /// How an object of that name and kind is realised.
    pub fn object(&self, name: &str, kind: &str) -> Option<&ObjectSpec> {
        [name, kind, "any"].iter().find_map(|key| self.object.get(*key))
    }

    /// Refuses numbers that are out of their ranges; those of the parts are looked at by these.
    ///
    /// # Errors
    /// The first of them.
    pub fn check(&self) -> Result<(), SpecError> {
        within("processors", self.processors, 1..=64)?;
        within("threads", self.threads, 1..=32)?;
        within("header_bytes", self.header_bytes, 0..=256)?;
        within("processor.stages", self.processor.stages, 1..=STAGES as u32)?;
        for (key, cycles) in self.processor.cycles.all() {
            within(&format!("processor.cycles.{key}"), u32::from(cycles), 1..=64)?;
        }
        self.partition.check()?;
        within("broker.call_cycles", self.broker.call_cycles, 1..=1024)?;
        within("io.threads", self.io.threads, 1..=1024)?;
        within("io.packets", self.io.packets, 1..=1 << 16)?;
        within("memory.bytes", self.memory.bytes, 0..=1 << 26)?;
        if !self.memory.bytes.is_multiple_of(4) {
            return Err(SpecError::new(
                "memory.bytes",
                format!("is {}; it can be a multiple of 4", self.memory.bytes),
            ));
        }
        for (name, element) in &self.element {
            element.check().map_err(|error| error.within(&format!("element.{name}")))?;
        }
        for (name, object) in &self.object {
            within(&format!("object.{name}.ports"), object.ports, 1..=64)?;
        }
        Ok(())
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
                // What caches do with writes does not matter where nothing is written.
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
            assert_eq!((spec.name.as_str(), spec.processors, spec.threads), (name, processors, threads));
            assert_eq!((spec.io.input.rate, spec.io.output.rate), (gbps, gbps));
            let InterconnectSpec::Channel(channel) = spec.network else { panic!("{name}") };
            assert_eq!((channel.latency, channel.jitter), (Time::nanoseconds(latency_ns), 0.25));
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_a_sentence_with_the_key() {
        for (text, said) in [
            ("processors = 65", "machine mine: `processors`: is 65; it can be 1 to 64"),
            ("threads = 0", "`threads`: is 0; it can be 1 to 32"),
            ("thraeds = 4", "unknown field `thraeds`"),
            ("[processor]\nstages = 17", "`processor.stages`: is 17; it can be 1 to 16"),
            ("[processor]\ninstruction_set = \"mips\"", "unknown variant `mips`"),
            ("[processor.cycles]\ndivide = 0", "`processor.cycles.divide`: is 0; it can be 1 to 64"),
            ("[network]\nlatency_ns = -1", "-1 is not a time in nanoseconds"),
            ("[network]\nwidth = 4", "unknown field `width`"),
            ("[broker]\npolicy = \"random\"", "unknown variant `random`"),
            ("[memory]\nbytes = 6", "`memory.bytes`: is 6; it can be a multiple of 4"),
            ("[partition]\nparts = 2", "`partition.parts`: is only for `kind = \"within-packet\"`"),
            (
                "[partition]\nkind = \"within-packet\"",
                "`partition.parts`: is missing; say how many, or name steps",
            ),
            ("[partition]\nkind = \"within-packet\"\nparts = 17", "makes 17 parts; it can be 1 to 16"),
            ("[partition]\nkind = \"within-packet\"\nparts = 2\ncuts = []", "is stated beside `parts`"),
            (
                "[partition]\nkind = \"within-packet\"\ncuts = [\"x\"]\nshares = [1]",
                "`partition.shares`: has 1 numbers for 2 parts; say one for each",
            ),
            (
                "[partition]\nkind = \"within-packet\"\nparts = 2\nshares = [1, 0]",
                "has 0; it can be 1 to 1000: a part without threads does nothing",
            ),
            ("[object.lpm]\nports = 0", "`object.lpm.ports`: is 0; it can be 1 to 64"),
        ] {
            let error = own(text).expect_err(text);
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}

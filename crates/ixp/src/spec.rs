//! The description of an `ixp` in machine files.

use serde::{Deserialize, Serialize};
use wireloom_description::Description;
use wireloom_isa::microengine::Version;
use wireloom_sim::parts::arbiter::{Arbiter, ArbiterSpec};
use wireloom_sim::parts::line::Pace;
use wireloom_sim::spec::{gigabits, megahertz, within};
use wireloom_sim::{Clock, SpecError};

/// Bytes of an MPKT, and of an element of a FIFO.
pub const MPKT_BYTES: u32 = 64;

/// A machine. `machines/ixp1200.toml` states every key, with the source of its value.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Its name: that of the file.
    #[serde(skip)]
    pub name: String,
    /// Always `ixp`.
    pub kind: Kind,
    /// A description for people.
    pub about: String,
    /// The number of microengines, 1 to 16.
    pub engines: u32,
    /// The microengines.
    pub engine: EngineSpec,
    /// Buses and units.
    pub core: CoreSpec,
    /// The bus that carries commands from engines to units.
    pub command_bus: CommandBusSpec,
    /// The push and pull buses of SRAM, scratchpad, hash unit and FBI.
    pub sram_bus: DataBusSpec,
    /// The push and pull buses of SDRAM.
    pub sdram_bus: DataBusSpec,
    /// SRAM.
    pub sram: SramSpec,
    /// SDRAM.
    pub sdram: SdramSpec,
    /// The scratchpad.
    pub scratch: ScratchSpec,
    /// The hash unit.
    pub hash: HashSpec,
    /// FIFOs and registers between engines and ports.
    pub fbi: FbiSpec,
    /// The bus between FIFOs and ports.
    pub ix_bus: IxBusSpec,
    /// The line cards.
    pub ports: PortsSpec,
}

/// The kind of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A network processor of microengines.
    Ixp,
}

/// A microengine.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSpec {
    /// The version of its instructions, 1 or 2.
    #[serde(with = "version")]
    pub version: Version,
    /// Its clock; in machine files `clock_mhz`.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// Hardware contexts, 1 to 4; of version 2 1 to 8.
    pub contexts: u32,
    /// Instructions of the control store, 1 to 2,048; of version 2 to 8,192.
    pub control_store: u32,
    /// Stages of the pipeline, 1 to 16.
    pub stages: u32,
    /// The stage in which an instruction computes, from 0; less than `stages`.
    pub execute_stage: u32,
    /// Instructions that a change of context aborts, 0 to 3.
    pub swap_aborts: u32,
    /// Commands that wait in the engine for the command bus, 1 to 64.
    pub commands: u32,
    /// The policy that chooses the next context.
    pub arbiter: ArbiterSpec,
    /// Whether an aborted `ctx_arb[kill]` stops its context.
    pub prefetched_kill_stops: bool,
}

/// A version in machine files.
mod version {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use wireloom_isa::microengine::Version;

    pub(super) fn serialize<S: Serializer>(version: &Version, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u32(if *version == Version::One { 1 } else { 2 })
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Version, D::Error> {
        match u32::deserialize(from)? {
            1 => Ok(Version::One),
            2 => Ok(Version::Two),
            other => {
                Err(D::Error::custom(format!("`engine.version` is {other}; it can be 1 or 2")))
            }
        }
    }
}

/// Buses and units.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoreSpec {
    /// Their clock; in machine files `clock_mhz`.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
}

/// The bus that carries commands.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CommandBusSpec {
    /// Cycles from the grant to the queue of the unit, 1 to 1,024.
    pub latency_cycles: u32,
    /// Cycles between two grants, 1 to 1,024.
    pub interval_cycles: u32,
    /// The policy that chooses among engines.
    pub arbiter: ArbiterSpec,
}

/// A pair of buses that carry data, one in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DataBusSpec {
    /// Words of 4 bytes in a cycle, 1 to 4.
    pub words_per_cycle: u32,
    /// Cycles from the last word to the signal in the engine, 1 to 1,024.
    pub push_cycles: u32,
    /// Cycles from the request for words to the first of them, 1 to 1,024.
    pub pull_cycles: u32,
}

/// SRAM. All cycles are 1 to 1,024, those of `turnaround_cycles` 0 to 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SramSpec {
    /// Its size, a multiple of 4 up to 64 MiB.
    pub bytes: u32,
    /// Commands in each queue, 1 to 1,024.
    pub queue: u32,
    /// To the first word of a read.
    pub access_cycles: u32,
    /// From the last word of a write to its signal.
    pub write_cycles: u32,
    /// The interval between two words.
    pub word_cycles: u32,
    /// Between a read and a write.
    pub turnaround_cycles: u32,
    /// Addresses that can be locked, 1 to 64.
    pub locks: u32,
    /// Lists of push and pop, 1 to 8.
    pub lists: u32,
}

/// SDRAM. All cycles are 1 to 1,024, those of `turnaround_cycles` 0 to 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SdramSpec {
    /// Its size, a multiple of 8 up to 256 MiB.
    pub bytes: u32,
    /// Banks, a power of two from 2 to 16.
    pub banks: u32,
    /// Bytes of a row, a power of two from 64 to 65,536.
    pub row_bytes: u32,
    /// Commands in each queue, 1 to 1,024.
    pub queue: u32,
    /// To the first 8 bytes of an open row.
    pub access_cycles: u32,
    /// To open a row.
    pub activate_cycles: u32,
    /// To close a row.
    pub precharge_cycles: u32,
    /// From the last word of a write to its signal.
    pub write_cycles: u32,
    /// The interval between two granules of 8 bytes.
    pub quad_cycles: u32,
    /// Between a read and a write.
    pub turnaround_cycles: u32,
    /// Between two refreshes, 0 for none, up to 16,777,216.
    pub refresh_interval_cycles: u32,
    /// The time of a refresh, which closes all rows.
    pub refresh_cycles: u32,
}

/// The scratchpad. All cycles are 1 to 1,024, those of `modify_cycles` 0 to 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ScratchSpec {
    /// Its size, a multiple of 4 up to 65,536.
    pub bytes: u32,
    /// Commands in each queue, 1 to 1,024.
    pub queue: u32,
    /// To the first word of a read.
    pub access_cycles: u32,
    /// From the last word of a write to its signal.
    pub write_cycles: u32,
    /// The interval between two words.
    pub word_cycles: u32,
    /// By which an operation that reads and writes takes longer.
    pub modify_cycles: u32,
}

/// The hash unit. All cycles are 1 to 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HashSpec {
    /// Commands in each queue, 1 to 1,024.
    pub queue: u32,
    /// Before the first step.
    pub front_cycles: u32,
    /// Bits of a key in a step, 1 to 64.
    pub step_bits: u32,
    /// After the last step.
    pub back_cycles: u32,
}

/// The FIFO and bus interface. All cycles are 1 to 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FbiSpec {
    /// Commands in each queue, 1 to 1,024.
    pub queue: u32,
    /// To the first word.
    pub access_cycles: u32,
    /// From the last word of a write to its signal.
    pub write_cycles: u32,
    /// The interval between two words.
    pub word_cycles: u32,
    /// Elements of the receive FIFO, 1 to 16.
    pub receive_elements: u32,
    /// Elements of the transmit FIFO, 1 to 16.
    pub transmit_elements: u32,
}

/// The bus between FIFOs and ports.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct IxBusSpec {
    /// Its clock; in machine files `clock_mhz`.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// Its width in bytes, 1 to 64.
    pub bytes: u32,
    /// Cycles of its clock for each MPKT beside those of its bytes, 0 to 1,024.
    pub overhead_cycles: u32,
}

/// The line cards.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PortsSpec {
    /// Their number, 1 to 16.
    pub count: u32,
    /// When packets come.
    pub pace: Pace,
    /// MPKTs that a port holds on the way in, 24 (an Ethernet frame) to 4,096.
    pub receive_mpkts: u32,
    /// MPKTs that a port holds on the way out, 1 to 4,096.
    pub transmit_mpkts: u32,
    /// Bits per second of each port; in machine files `rate_gbps`.
    #[serde(rename = "rate_gbps", with = "gigabits")]
    pub rate: u64,
    /// The overhead of a packet on the line, in bytes, 0 to 65,535.
    pub overhead_bytes: u16,
}

impl Spec {
    /// The machine of `machines/ixp1200.toml`.
    pub fn base() -> Self {
        let base = Self::build("ixp1200", Description::built_in("ixp1200"));
        base.expect("machines/ixp1200.toml is a machine: a test holds it")
    }

    /// Builds the machine of a description.
    ///
    /// # Errors
    /// A sentence that names the machine and the key.
    pub fn build(name: &str, description: Description) -> Result<Self, String> {
        let wrong = |message: &str| description.error(name, message).to_string();
        let parsed = Self::deserialize(description.table.clone());
        let mut spec = parsed.map_err(|error| wrong(&error.to_string()))?;
        name.clone_into(&mut spec.name);
        spec.check().map_err(|error| wrong(&error.to_string()))?;
        Ok(spec)
    }

    /// Checks the range of all numbers.
    ///
    /// # Errors
    /// The first number out of range, by its key.
    pub fn check(&self) -> Result<(), SpecError> {
        within("engines", self.engines, 1..=16)?;
        let EngineSpec { contexts, control_store, stages, execute_stage, .. } = self.engine;
        let sizes = self.engine.version.sizes();
        within("engine.contexts", contexts, 1..=sizes.contexts as u32)?;
        within("engine.control_store", control_store, 1..=sizes.control_store as u32)?;
        within("engine.stages", stages, 1..=16)?;
        within("engine.execute_stage", execute_stage, 0..=stages - 1)?;
        within("engine.swap_aborts", self.engine.swap_aborts, 0..=3)?;
        within("engine.commands", self.engine.commands, 1..=64)?;
        Arbiter::new(&self.engine.arbiter, contexts as usize)
            .map_err(|error| error.within("engine.arbiter"))?;
        Arbiter::new(&self.command_bus.arbiter, self.engines as usize)
            .map_err(|error| error.within("command_bus.arbiter"))?;
        for (bus, spec) in [("sram_bus", self.sram_bus), ("sdram_bus", self.sdram_bus)] {
            within(&format!("{bus}.words_per_cycle"), spec.words_per_cycle, 1..=4)?;
        }
        for (key, value, range) in self.sizes() {
            within(key, value, range)?;
        }
        within("hash.step_bits", self.hash.step_bits, 1..=64)?;
        for (key, value) in self.cycles() {
            within(key, value, 1..=1024)?;
        }
        let turns = [
            ("sram.turnaround_cycles", self.sram.turnaround_cycles),
            ("sdram.turnaround_cycles", self.sdram.turnaround_cycles),
            ("scratch.modify_cycles", self.scratch.modify_cycles),
            ("ix_bus.overhead_cycles", self.ix_bus.overhead_cycles),
        ];
        turns.into_iter().try_for_each(|(key, value)| within(key, value, 0..=1024))?;
        for (key, bytes, granule) in [
            ("sram.bytes", self.sram.bytes, 4),
            ("sdram.bytes", self.sdram.bytes, 8),
            ("scratch.bytes", self.scratch.bytes, 4),
        ] {
            if !bytes.is_multiple_of(granule) {
                let problem = format!("is {bytes}; it can be a multiple of {granule}");
                return Err(SpecError::new(key, problem));
            }
        }
        for (key, value) in
            [("sdram.banks", self.sdram.banks), ("sdram.row_bytes", self.sdram.row_bytes)]
        {
            if !value.is_power_of_two() {
                return Err(SpecError::new(key, format!("is {value}; it can be a power of two")));
            }
        }
        match self.ports.pace {
            Pace::Load(load) => within("ports.pace.load", load, 1e-6..=1.0),
            Pace::Poisson(load) => within("ports.pace.poisson", load, 1e-6..=0.999_999),
            Pace::Line | Pace::Given => Ok(()),
        }
    }

    fn sizes(&self) -> [(&'static str, u32, std::ops::RangeInclusive<u32>); 19] {
        [
            ("sram.bytes", self.sram.bytes, 4..=1 << 26),
            ("sram.queue", self.sram.queue, 1..=1024),
            ("sram.locks", self.sram.locks, 1..=64),
            ("sram.lists", self.sram.lists, 1..=8),
            ("sdram.bytes", self.sdram.bytes, 8..=1 << 28),
            ("sdram.banks", self.sdram.banks, 2..=16),
            ("sdram.row_bytes", self.sdram.row_bytes, 64..=65536),
            ("sdram.queue", self.sdram.queue, 1..=1024),
            ("sdram.refresh_interval_cycles", self.sdram.refresh_interval_cycles, 0..=1 << 24),
            ("scratch.bytes", self.scratch.bytes, 4..=65536),
            ("scratch.queue", self.scratch.queue, 1..=1024),
            ("hash.queue", self.hash.queue, 1..=1024),
            ("fbi.queue", self.fbi.queue, 1..=1024),
            ("fbi.receive_elements", self.fbi.receive_elements, 1..=16),
            ("fbi.transmit_elements", self.fbi.transmit_elements, 1..=16),
            ("ix_bus.bytes", self.ix_bus.bytes, 1..=MPKT_BYTES),
            ("ports.count", self.ports.count, 1..=16),
            ("ports.receive_mpkts", self.ports.receive_mpkts, 24..=4096),
            ("ports.transmit_mpkts", self.ports.transmit_mpkts, 1..=4096),
        ]
    }

    fn cycles(&self) -> [(&'static str, u32); 23] {
        [
            ("command_bus.latency_cycles", self.command_bus.latency_cycles),
            ("command_bus.interval_cycles", self.command_bus.interval_cycles),
            ("sram_bus.push_cycles", self.sram_bus.push_cycles),
            ("sram_bus.pull_cycles", self.sram_bus.pull_cycles),
            ("sdram_bus.push_cycles", self.sdram_bus.push_cycles),
            ("sdram_bus.pull_cycles", self.sdram_bus.pull_cycles),
            ("sram.access_cycles", self.sram.access_cycles),
            ("sram.write_cycles", self.sram.write_cycles),
            ("sram.word_cycles", self.sram.word_cycles),
            ("sdram.access_cycles", self.sdram.access_cycles),
            ("sdram.activate_cycles", self.sdram.activate_cycles),
            ("sdram.precharge_cycles", self.sdram.precharge_cycles),
            ("sdram.write_cycles", self.sdram.write_cycles),
            ("sdram.quad_cycles", self.sdram.quad_cycles),
            ("sdram.refresh_cycles", self.sdram.refresh_cycles),
            ("scratch.access_cycles", self.scratch.access_cycles),
            ("scratch.write_cycles", self.scratch.write_cycles),
            ("scratch.word_cycles", self.scratch.word_cycles),
            ("hash.front_cycles", self.hash.front_cycles),
            ("hash.back_cycles", self.hash.back_cycles),
            ("fbi.access_cycles", self.fbi.access_cycles),
            ("fbi.write_cycles", self.fbi.write_cycles),
            ("fbi.word_cycles", self.fbi.word_cycles),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_in_the_repository_is_a_machine() {
        let spec = Spec::base();
        assert_eq!((spec.engines, spec.engine.contexts), (6, 4));
        assert_eq!(spec.check(), Ok(()));
    }

    #[test]
    fn unknown_keys_and_values_out_of_range_are_refused_by_their_key() {
        let refused = |text: &str| {
            let text = format!("extends = \"ixp1200\"\n{text}");
            let description = Description::parse("mine.toml", &text).expect("it is TOML");
            Spec::build("mine", description).expect_err("it is wrong")
        };
        for (text, says) in [
            ("engins = 6", "engins"),
            ("engines = 0", "`engines`"),
            ("[sram]\nlatency = 3", "latency"),
            ("[sram]\nbytes = 6", "`sram.bytes`"),
            ("[sdram]\nbanks = 3", "`sdram.banks`"),
            ("[engine]\nexecute_stage = 5", "`engine.execute_stage`"),
            ("[ports]\nreceive_mpkts = 2", "`ports.receive_mpkts`"),
            ("[hash]\nstep_bits = 0", "`hash.step_bits`"),
        ] {
            let message = refused(text);
            assert!(message.contains(says), "{text}: {message}");
        }
    }
}

//! The description of an `ixp` machine in machine files.

mod check;

use serde::{Deserialize, Serialize};
use wireloom_description::Description;
use wireloom_isa::microengine::Version;
use wireloom_sim::Clock;
use wireloom_sim::parts::arbiter::ArbiterSpec;
use wireloom_sim::parts::line::Pace;
use wireloom_sim::spec::{gigabits, megahertz};

use crate::energy::PowerSpec;
use crate::governor::GovernorSpec;
use crate::network::NetworkKind;

/// Bytes of an MPKT, and of an element of a FIFO.
pub const MPKT_BYTES: u32 = 64;

/// An `ixp` machine. `machines/ixp1200.toml` states every key and the source of its value.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The machine's name: the name of its file.
    #[serde(skip)]
    pub name: String,
    /// Always `ixp`.
    pub kind: IxpKind,
    /// A description for users.
    pub about: String,
    /// The number of microengines, 1 to 16.
    pub engines: u32,
    /// Clusters of engines, each with its own buses; a divisor of `engines`.
    pub clusters: u32,
    pub engine: EngineSpec,
    /// The clock that buses and units share.
    pub core: CoreSpec,
    /// The network that carries commands from engines to units.
    pub command_bus: CommandBusSpec,
    /// The push and pull buses of SRAM, scratchpad, hash unit and FBI.
    pub sram_bus: DataBusSpec,
    /// The push and pull buses of SDRAM.
    pub sdram_bus: DataBusSpec,
    pub sram: SramSpec,
    pub sdram: SdramSpec,
    pub scratch: ScratchSpec,
    pub hash: HashSpec,
    /// The FIFO and bus interface: FIFOs and registers between engines and ports.
    pub fbi: FbiSpec,
    /// The bus between FIFOs and ports.
    pub ix_bus: IxBusSpec,
    /// RBUF and TBUF (version 2).
    pub msf: MsfSpec,
    /// The line cards.
    pub ports: PortsSpec,
    /// The parameters of the energy models.
    pub power: PowerSpec,
    /// The governor of voltages and clocks.
    pub governor: GovernorSpec,
}

/// The kind of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum IxpKind {
    /// A network processor of microengines.
    Ixp,
}

/// A microengine.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EngineSpec {
    /// The version of the instruction set, 1 or 2.
    #[serde(with = "version")]
    pub version: Version,
    /// The clock of engines; `clock_mhz` in machine files.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// Hardware contexts, 1 to 4 on version 1, 1 to 8 on version 2.
    pub contexts: u32,
    /// Instructions of the control store, 1 to 2,048 on version 1, 1 to 8,192 on version 2.
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

/// Reads and writes a version in machine files.
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

/// The clock that buses and units share.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CoreSpec {
    /// The core clock; `clock_mhz` in machine files.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
}

/// The command network.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CommandBusSpec {
    pub kind: NetworkKind,
    /// Cycles from the grant to the queue of the unit, 1 to 1,024. The links of a ring or a mesh
    /// come in addition.
    pub latency_cycles: u32,
    /// Cycles between two commands on a bus or a link, 1 to 1,024.
    pub interval_cycles: u32,
    /// Cycles of a link of a ring or a mesh, 1 to 1,024.
    pub hop_cycles: u32,
    /// The policy that chooses among engines.
    pub arbiter: ArbiterSpec,
}

/// A pair of data buses, one in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DataBusSpec {
    /// Words of 4 bytes that a bus carries in a cycle, 1 to 4.
    pub words_per_cycle: u32,
    /// Cycles from the last word to the signal in the engine, 1 to 1,024.
    pub push_cycles: u32,
    /// Cycles from the request for words to the first word, 1 to 1,024.
    pub pull_cycles: u32,
}

/// SRAM. All cycle counts are 1 to 1,024, except `turnaround_cycles`: 0 to 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SramSpec {
    /// The size in bytes, a multiple of 4 up to 64 MiB.
    pub bytes: u32,
    /// Channels, 1 to 4.
    pub channels: u32,
    /// The interleaving of channels in bytes, a power of two from 64 to 65,536. A command goes to
    /// the channel of its first word.
    pub interleave_bytes: u32,
    /// Capacity of each command queue, 1 to 1,024.
    pub queue: u32,
    /// Latency to the first word of a read.
    pub access_cycles: u32,
    /// Latency from the last word of a write to its signal.
    pub write_cycles: u32,
    /// The interval between two words.
    pub word_cycles: u32,
    /// The turnaround time between a read and a write.
    pub turnaround_cycles: u32,
    /// Addresses that can be locked at a time, 1 to 64.
    pub locks: u32,
    /// Lists for push and pop, 1 to 8.
    pub lists: u32,
}

/// SDRAM. All cycle counts are 1 to 1,024, except `turnaround_cycles`: 0 to 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SdramSpec {
    /// The size in bytes, a multiple of 8 up to 256 MiB.
    pub bytes: u32,
    /// Channels, 1 to 4.
    pub channels: u32,
    /// The interleaving of channels in bytes, a power of two from 64 to 65,536. A command goes to
    /// the channel of its first word.
    pub interleave_bytes: u32,
    /// The shortest access in granules of 8 bytes, 1 to 8.
    pub burst_quads: u32,
    /// Banks, a power of two from 2 to 16.
    pub banks: u32,
    /// Bytes of a row, a power of two from 64 to 65,536.
    pub row_bytes: u32,
    /// Capacity of each command queue, 1 to 1,024.
    pub queue: u32,
    /// Latency to the first 8 bytes of an open row.
    pub access_cycles: u32,
    /// The time to open a row.
    pub activate_cycles: u32,
    /// The time to close a row.
    pub precharge_cycles: u32,
    /// Latency from the last word of a write to its signal.
    pub write_cycles: u32,
    /// The interval between two granules of 8 bytes.
    pub quad_cycles: u32,
    /// The turnaround time between a read and a write.
    pub turnaround_cycles: u32,
    /// The refresh interval, up to 16,777,216; 0 turns refresh off.
    pub refresh_interval_cycles: u32,
    /// The duration of a refresh, which closes all rows.
    pub refresh_cycles: u32,
}

/// The scratchpad. All cycle counts are 1 to 1,024, except `modify_cycles`: 0 to 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ScratchSpec {
    /// The size in bytes, a multiple of 4 up to 65,536.
    pub bytes: u32,
    /// Capacity of each command queue, 1 to 1,024.
    pub queue: u32,
    /// Latency to the first word of a read.
    pub access_cycles: u32,
    /// Latency from the last word of a write to its signal.
    pub write_cycles: u32,
    /// The interval between two words.
    pub word_cycles: u32,
    /// The extra time of an operation that reads and writes.
    pub modify_cycles: u32,
}

/// The hash unit. All cycle counts are 1 to 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct HashSpec {
    /// Capacity of each command queue, 1 to 1,024.
    pub queue: u32,
    /// The latency before the first step.
    pub front_cycles: u32,
    /// Bits of a key that a step processes, 1 to 64.
    pub step_bits: u32,
    /// The latency after the last step.
    pub back_cycles: u32,
}

/// The FIFO and bus interface. All cycle counts are 1 to 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FbiSpec {
    /// Capacity of each command queue, 1 to 1,024.
    pub queue: u32,
    /// Latency to the first word.
    pub access_cycles: u32,
    /// Latency from the last word of a write to its signal.
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
    /// The clock of the bus; `clock_mhz` in machine files.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// The width in bytes, 1 to 64.
    pub bytes: u32,
    /// Bus cycles for each MPKT in addition to the data cycles, 0 to 1,024.
    pub overhead_cycles: u32,
    /// Whether MPKTs can go in and out at the same time.
    pub duplex: bool,
}

/// RBUF and TBUF of version 2. All cycle counts are 1 to 1,024.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MsfSpec {
    /// Bytes of an element and of an MPKT: 64, 128 or 256.
    pub element_bytes: u32,
    /// Bytes of RBUF, a multiple of `element_bytes` up to 8,192.
    pub receive_bytes: u32,
    /// Bytes of TBUF, a multiple of `element_bytes` up to 8,192.
    pub transmit_bytes: u32,
    /// Lists of threads that wait for MPKTs, 1 to 3. Ports are assigned to them in rotation.
    pub freelists: u32,
    /// Capacity of each command queue, 1 to 1,024.
    pub queue: u32,
    /// Latency to the first word.
    pub access_cycles: u32,
    /// Latency from the last word of a write to its signal.
    pub write_cycles: u32,
    /// The interval between two words.
    pub word_cycles: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PortsSpec {
    /// The number of ports, 1 to 16.
    pub count: u32,
    /// The pace at which packets arrive.
    pub pace: Pace,
    /// The threads that may take a port's packets.
    pub assignment: Assignment,
    /// MPKTs that a port holds on the way in, 24 (an Ethernet frame) to 4,096.
    pub receive_mpkts: u32,
    /// MPKTs that a port holds on the way out, 1 to 4,096.
    pub transmit_mpkts: u32,
    /// Bits per second of each port; `rate_gbps` in machine files.
    #[serde(rename = "rate_gbps", with = "gigabits")]
    pub rate: u64,
    /// The overhead of a packet on the line, in bytes, 0 to 65,535.
    pub overhead_bytes: u16,
}

/// The threads that may take a port's packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// Only threads that asked for this port.
    Fixed,
    /// Any waiting thread, whichever port it asked for.
    Any,
}

impl Spec {
    /// Returns the machine of `machines/ixp1200.toml`.
    pub fn base() -> Self {
        let base = Self::build("ixp1200", Description::built_in("ixp1200"));
        base.expect("machines/ixp1200.toml is a machine: a test holds it")
    }

    /// Returns the machine of an installed description, such as `ixp2400`.
    ///
    /// # Errors
    /// If there is no description of this name, or if it is of another kind.
    pub fn installed(name: &str) -> Result<Self, String> {
        let found = Description::find(name).map_err(|error| error.to_string())?;
        let (name, description) = found.ok_or_else(|| format!("there is no machine {name}"))?;
        Self::build(&name, description)
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

    /// Whether packets pass through RBUF and TBUF.
    pub fn has_msf(&self) -> bool {
        self.engine.version == Version::Two
    }

    pub fn mpkt_bytes(&self) -> u32 {
        if self.has_msf() { self.msf.element_bytes } else { MPKT_BYTES }
    }

    /// The number of elements of the receive FIFO or RBUF, and of the transmit FIFO or TBUF.
    pub fn elements(&self) -> [u32; 2] {
        let MsfSpec { element_bytes, receive_bytes, transmit_bytes, .. } = self.msf;
        match self.has_msf() {
            true => [receive_bytes / element_bytes, transmit_bytes / element_bytes],
            false => [self.fbi.receive_elements, self.fbi.transmit_elements],
        }
    }

    /// The number of command targets: the channels of SRAM and SDRAM, and the other units.
    pub fn targets(&self) -> u32 {
        self.sram.channels + self.sdram.channels + if self.has_msf() { 4 } else { 3 }
    }
}

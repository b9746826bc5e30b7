//! The shell of a machine's engines, and how their steps access the header.

use serde::{Deserialize, Serialize};
use wireloom_compile::analysis::ports::HeaderPorts;

/// The shell around the core of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    pub shell: ShellKind,
    pub scheduler: Scheduler,
    /// The memories for contexts and header windows.
    pub storage: Storage,
    /// Words of the header window that a step can read.
    pub header_reads: u32,
    /// Words of the header window that a step can write.
    pub header_writes: u32,
    /// Bytes in a header word: 4, 8 or 16.
    pub header_bytes: u32,
    /// LUT levels allowed between two registers.
    pub stage_levels: u32,
}

/// A shell for engines that receive packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShellKind {
    /// Many threads that share one slot per cycle.
    Multithreaded,
    /// One thread.
    StateMachine,
    /// All steps as a pipeline that replaces all clusters of a pipe.
    Pipelined,
}

/// A thread scheduler (the paper, section 4.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Each thread in order, whether it is ready or not.
    RoundRobin,
    /// Any thread that is ready.
    ReadyToExecute,
}

/// The implementation of small memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    Lut,
    /// Header windows in block RAM, and all other thread state in LUT RAM.
    BlockWindows,
    /// All thread state in block RAM.
    Block,
}

impl Shell {
    /// Returns the ports through which a step accesses the header.
    pub(super) fn header_ports(&self) -> HeaderPorts {
        HeaderPorts {
            reads: self.header_reads,
            writes: self.header_writes,
            bytes: self.header_bytes,
        }
    }

    /// Checks the parameters. The error is a sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        let bytes = self.header_bytes;
        if ![4, 8, 16].contains(&bytes) {
            let instead = match bytes > 16 {
                true => {
                    "; two ports of 16 bytes (`engine.header_reads = 2`) read all that one of 32 does, and more"
                }
                false => "",
            };
            return Err(format!("`engine.header_bytes` is {bytes}; it can be 4, 8 or 16{instead}"));
        }
        let unused_storage = match (self.shell, self.storage) {
            (ShellKind::Pipelined, Storage::Block | Storage::BlockWindows) => {
                Some("a pipelined engine has no threads to store: set `engine.storage = \"lut\"`")
            }
            (ShellKind::StateMachine, Storage::Block) => Some(
                "a state machine has its state in registers: set `engine.storage = \"block-windows\"`, for its header window alone, or \"lut\"",
            ),
            _ => None,
        };
        unused_storage.map_or(Ok(()), |message| Err(message.to_owned()))
    }
}

//! How a machine's engines are built, and how their steps access the header.

use serde::{Deserialize, Serialize};
use wireloom_compile::passes::HeaderPorts;

/// How an engine is built around its core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Shell {
    /// The shell.
    pub shell: ShellKind,
    /// The choice of the next thread.
    pub scheduler: Scheduler,
    /// Where contexts and header windows are stored.
    pub storage: Storage,
    /// Words of the header window that a step can read.
    pub header_reads: u32,
    /// Words that it can write.
    pub header_writes: u32,
    /// Bytes of such a word: 4, 8 or 16.
    pub header_bytes: u32,
    /// LUT levels between two registers.
    pub stage_levels: u32,
}

/// The shells of engines that take packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ShellKind {
    /// Many threads, one slot a cycle.
    Multithreaded,
    /// One thread.
    StateMachine,
    /// All steps in sequence, in place of all clusters of a pipe.
    Pipelined,
}

/// Thread schedulers (the paper, section 4.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// Each thread in turn, ready or not.
    RoundRobin,
    /// Any thread that is ready.
    ReadyToExecute,
}

/// The implementation of small memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// LUT RAM.
    Lut,
    /// Header windows in block RAM, what else threads keep in LUT RAM.
    BlockWindows,
    /// Block RAM.
    Block,
}

impl Shell {
    /// The ports through which a step reaches the header.
    pub(super) fn header_ports(&self) -> HeaderPorts {
        HeaderPorts {
            reads: self.header_reads,
            writes: self.header_writes,
            bytes: self.header_bytes,
        }
    }

    /// Checks the choices; an error is a sentence.
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

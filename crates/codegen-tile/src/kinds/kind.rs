//! The interface of an offload kind on tiles.

use std::fmt::Debug;
use std::sync::Arc;

use wireloom_ir::Value;
use wireloom_offloads::{Config, Instance, Method};

use super::ticks::ChipMemory;
use crate::lower::Lower;
use crate::memory::Memory;
use crate::words::Words;

/// An offload kind on tiles. Kinds override the default methods only where they need to.
pub trait KindOnTiles: Sync {
    /// Returns the name in Loom C.
    fn name(&self) -> &'static str;

    /// Takes memory for an offload and writes its contents there.
    ///
    /// # Errors
    /// If the memory is too small. The error is a sentence without a full stop.
    fn place(
        &self,
        config: &Config,
        instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String>;

    /// Returns what tiles do not support of an offload as declared, if there is something. The
    /// sentence follows the name of the offload and a colon, and has no full stop.
    fn unsupported(&self, _config: &Config) -> Option<String> {
        None
    }

    /// Returns the assembly of the routines that its calls need. Each begins with `.routine NAME`.
    fn routines(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the numbers that the routines use by name. A name precedes all names that begin
    /// with a part of it.
    fn names(&self) -> &'static [(&'static str, u32)] {
        &[]
    }

    /// Returns whether a method replaces the packet by another one, which may have arrived at
    /// another time on another port.
    fn replaces_packet(&self, _method: &Method) -> bool {
        false
    }

    /// Returns whether each tile changes a copy of its own, so that packets may change the state on
    /// any tile and in any order.
    fn has_copies(&self) -> bool {
        false
    }

    /// Returns why the state owner cannot make the calls of other tiles, if it cannot. The reason
    /// follows the name of the offload.
    fn refuses_state_owner(&self) -> Option<&'static str> {
        None
    }
}

/// An offload in memory. The code of its calls depends on what `Debug` shows, and on nothing else
/// of its contents.
pub trait Placed: Debug + Send + Sync {
    /// Writes the code of a call and returns the reply, if the method has one.
    ///
    /// # Errors
    /// If tiles do not support the method.
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported>;

    /// Takes the state that packets have changed from memory into the instance. `word` reads the
    /// word at an address.
    fn read_back(
        &self,
        _config: &Config,
        _instance: &mut dyn Instance,
        _word: &mut dyn FnMut(u32) -> u32,
    ) {
    }

    /// Advances an offload whose times end at ticks to engine time. No packet is in the chip.
    fn pass_tick(&self, _now_ns: u64, _memory: &mut dyn ChipMemory) {}

    /// Returns when the next time ends for which a step runs, in nanoseconds. `word` reads the word
    /// at an address.
    fn next_due(&self, _config: &Config, _word: &mut dyn FnMut(u32) -> u32) -> Option<u64> {
        None
    }
}

/// A call of an offload.
pub struct Call<'a> {
    pub config: &'a Config,
    pub method: &'static Method,
    pub args: &'a [Value],
    /// The bits of the reply; 0 if it has none or nothing uses it.
    pub width: u32,
}

/// Tiles do not support the method of a call.
#[derive(Debug)]
pub struct Unsupported;

/// Returns the reason for refusing a method (a whole offload if it has no call) that tiles do not
/// support.
pub fn refusal(offload: &str, method: Option<&str>, kind: &str) -> String {
    let method = method.map(|method| format!(".{method}")).unwrap_or_default();
    format!("`{offload}{method}` (kind `{kind}`) is not supported on raw yet")
}

//! The offload kinds that have C of their own, a file each. A call of any other kind goes through
//! the host's instance on this computer, and to an object over the network on a processor of 32
//! bits.
//!
//! To give a kind C of its own, write its file here and, if it needs functions of the runtime, a
//! header in `runtime/c`, then add it to [`KINDS`].

mod array;
mod checksum;
mod clock;
mod counter;
mod hash;
mod lpm;
mod payload;
mod random;

use wireloom_offloads::{Config, Method};

use super::calls::Call;
use super::ops::Operand;
use super::tree::{Expr, Stmt, Type};

/// All of them.
pub const KINDS: &[&KindInC] = &[
    &array::KIND,
    &checksum::KIND,
    &clock::KIND,
    &counter::KIND,
    &hash::KIND,
    &lpm::KIND,
    &payload::KIND,
    &random::KIND,
];

/// The C realisation of an offload kind.
pub struct KindInC {
    /// The kind's name.
    pub name: &'static str,
    /// The runtime's header with its functions: name and text. Programs that use the kind include
    /// it.
    pub header: Option<(&'static str, &'static str)>,
    /// Writes a call on this computer. Returns nothing for calls that the host's instance executes.
    pub call: fn(&Call<'_>) -> Option<Vec<Stmt>>,
    /// How calls of such an offload split into a request and a reply; nothing if splitting does not
    /// pay off.
    pub split_phase: fn(&Config) -> Option<&'static dyn SplitPhase>,
    /// How a hardware thread of a 32-bit processor executes a method itself; nothing if it sends a
    /// call.
    pub by_thread: fn(&Method) -> Option<ByThread>,
}

/// Makes the expression of a call that a hardware thread executes itself, from the current packet
/// (a pointer) and the arguments.
pub type ByThread = fn(Expr, Vec<Expr>) -> Expr;

impl KindInC {
    /// A kind whose calls all go elsewhere.
    const PLAIN: Self =
        Self { name: "", header: None, call: |_| None, split_phase: |_| None, by_thread: |_| None };
}

/// A kind whose calls name memory that is likely to be far, so that it pays to fetch it ahead.
pub trait SplitPhase {
    /// Fetches the first memory that a call will read.
    fn fetch(&self, access: &Access<'_>) -> Stmt;

    /// How the call proceeds from one memory access to the next, if it has several.
    fn search(&self) -> Option<&'static dyn Search> {
        None
    }
}

/// A call that reads memory several times and can pause before each.
pub trait Search {
    /// The type of the state of a search.
    fn state(&self) -> Type;

    /// How often a search pauses after the first fetch.
    fn pauses(&self, config: &Config) -> usize;

    /// Goes on after a pause, counted from 0, to the next fetch.
    fn advance(&self, access: &Access<'_>, pause: usize, state: &Expr) -> Stmt;
}

/// A split-phase call: its key, and its offload.
pub struct Access<'a> {
    /// The address of the offload's slot.
    pub slot: Expr,
    /// The offload's configuration.
    pub config: &'a Config,
    /// The first argument.
    pub key: Operand,
}

/// The C of the kind of an offload, if it has some.
pub fn find(config: &Config) -> Option<&'static KindInC> {
    KINDS.iter().find(|kind| kind.name == config.kind).copied()
}

/// How a hardware thread executes a call itself, if it does.
pub fn by_thread(config: &Config, method: &Method) -> Option<ByThread> {
    (find(config)?.by_thread)(method)
}

/// Arrays and counters of at most this many bytes are assumed to be in the first level of cache:
/// waiting for them would cost more than it hides.
const NEAR_BYTES: u64 = 8 << 10;

/// Whether an offload with elements of this many words is likely to be far away in memory.
fn is_far(config: &Config, words: u32) -> bool {
    config.param("size").low_u64() * 8 * u64::from(words) > NEAR_BYTES
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wireloom_offloads::registry;

    use super::*;

    #[test]
    fn each_kind_is_in_the_registry_once_with_a_header_of_its_own() {
        let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), KINDS.len());
        for name in names {
            assert!(registry::kind(name).is_some(), "{name}");
        }
        for (name, text) in KINDS.iter().filter_map(|kind| kind.header) {
            let runtime = super::super::RUNTIME.iter().filter(|(other, _)| *other == name);
            assert_eq!(runtime.map(|(_, text)| *text).collect::<Vec<_>>(), [text], "{name}");
        }
    }
}

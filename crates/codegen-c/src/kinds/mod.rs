//! The offload kinds that have their own C code, one file each. On the host, a call of any other
//! kind goes through the host's instance; on a 32-bit processor, it becomes a message to an object
//! over the network.
//!
//! To give a kind its own C code, write its file here and, if it needs functions of the runtime, a
//! header in `runtime/c`, then add it to [`KINDS`].

mod array;
mod checksum;
mod clock;
mod counter;
mod exact;
mod hash;
mod kind;
mod lpm;
mod matching;
mod meter;
mod payload;
mod random;

use wireloom_offloads::{Config, Method};

pub use self::array::lanes;
pub use self::kind::{Access, ByThread, KindInC, Search, SplitPhase};

/// All kinds with their own C code.
pub const KINDS: &[&KindInC] = &[
    &array::KIND,
    &checksum::KIND,
    &clock::KIND,
    &counter::KIND,
    &exact::KIND,
    &hash::KIND,
    &lpm::KIND,
    &matching::KIND,
    &meter::KIND,
    &payload::KIND,
    &random::KIND,
];

/// Returns the C implementation of an offload's kind, if there is one.
pub fn find(config: &Config) -> Option<&'static KindInC> {
    KINDS.iter().find(|kind| kind.name == config.kind).copied()
}

/// Returns how a hardware thread executes a call itself, if it does.
pub fn by_thread(config: &Config, method: &Method) -> Option<ByThread> {
    (find(config)?.by_thread)(method)
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

//! Realisations: the hardware that a machine builds for offloads.
//!
//! Each realisation is one file that holds everything the processor needs to know about it: which
//! offloads it suits, its modules and their ports, its control targets, the contents of its
//! memories, its probes, and how table entries are written and read over the control port. All of
//! them implement the trait [`Realisation`], and [`ALL`] lists them. A machine description names
//! one for each offload ([`Rule::realisation`](crate::description::Rule::realisation)).

mod automaton;
mod bloom;
mod body;
mod cached;
mod counters;
mod direct;
mod entries;
mod flow_counter;
mod hash_table;
pub(crate) mod interface;
mod meter;
mod park;
mod pipeline;
mod random;
mod secrets;
mod table;
mod timed_table;
mod trie;
mod wiring;

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};

pub use automaton::{PatternWrite, Patterns};
pub(crate) use entries::instance;
pub use interface::{DueKeys, Realisation, Updater};
pub use meter::RATE_BITS;

/// All realisations, in the order of the documentation (docs/machines/np.md).
pub static ALL: &[&dyn Realisation] = &[
    &table::Table,
    &trie::Trie,
    &cached::Cached,
    &direct::Direct,
    &counters::Counters,
    &flow_counter::FlowCounter,
    &hash_table::HashTable,
    &bloom::Bloom,
    &meter::Meter,
    &random::Random,
    &secrets::SIPHASH,
    &secrets::AES,
    &body::Body,
    &automaton::Automaton,
    &park::Park,
    &pipeline::Pipeline,
];

/// Returns the realisation of that name in machine descriptions.
pub fn find(name: &str) -> Option<&'static dyn Realisation> {
    ALL.iter().copied().find(|realisation| realisation.name() == name)
}

/// Reads the realisation of a rule by its name in [`ALL`].
impl<'de> Deserialize<'de> for &'static dyn Realisation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static NAMES: LazyLock<Vec<&str>> =
            LazyLock::new(|| ALL.iter().map(|r| r.name()).collect());
        let name = String::deserialize(deserializer)?;
        find(&name).ok_or_else(|| serde::de::Error::unknown_variant(&name, &NAMES))
    }
}

#[cfg(test)]
mod tests;

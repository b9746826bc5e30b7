//! The offload kinds that tiles support, one file each.
//!
//! The file of a kind has everything that depends on it: where its parts are in memory and what
//! they contain, how the state comes back from there, the code of its calls, and the routines that
//! the code calls. To support a kind, write its file and add it to [`KINDS`].
//!
//! [`kind`] is the interface of a kind. Other files here are shared by kinds: [`elements`],
//! [`keyed`], [`ticks`], [`lanes`], [`checks`] and [`direct`].

mod array;
mod bloom;
mod checks;
mod checksum;
mod clock;
mod counter;
mod crc;
mod direct;
mod elements;
mod exact;
mod hash;
mod keyed;
pub mod kind;
mod lanes;
mod lpm;
mod matching;
mod meter;
mod park;
mod payload;
mod random;
mod siphash;
#[cfg(test)]
mod tests;
pub mod ticks;
mod timer;

use wireloom_offloads::{Config, registry};

use kind::KindOnTiles;

/// All kinds that tiles support.
pub static KINDS: &[&dyn KindOnTiles] = &[
    &array::Array,
    &bloom::Bloom,
    &checksum::Checksum,
    &clock::Clock,
    &counter::Counter,
    &crc::Crc,
    &exact::Exact,
    &hash::Hash,
    &lpm::Lpm,
    &matching::Match,
    &meter::Meter,
    &park::Park,
    &payload::Payload,
    &random::Random,
    &siphash::SipHash,
    &timer::Timer,
];

/// Returns the kind of an offload if tiles support it.
pub fn find(config: &Config) -> Option<&'static dyn KindOnTiles> {
    KINDS.iter().copied().find(|kind| kind.name() == config.kind)
}

/// Returns whether calls of a method change state that all tiles share. A single tile must make the
/// calls of such an offload, since caches of tiles are not coherent.
pub fn changes_shared_state(config: &Config, method: usize) -> bool {
    registry::kind(&config.kind).is_some_and(|kind| kind.methods[method].state.has_effect())
        && find(config).is_none_or(|kind| !kind.has_copies())
}

/// Returns whether a method replaces the packet by another one.
pub fn replaces_packet(config: &Config, method: usize) -> bool {
    let registered = registry::kind(&config.kind);
    find(config)
        .zip(registered)
        .is_some_and(|(kind, registered)| kind.replaces_packet(&registered.methods[method]))
}

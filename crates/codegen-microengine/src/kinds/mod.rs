//! The offload kinds on microengines, one file each.
//!
//! The file of a kind contains everything that the generator knows about it: the memory that an
//! offload takes, its contents and how they are read back, the microcode of its methods and the
//! routines that they call, and what the methods do to the packet. Other modules use a kind only
//! through [`KindOnMicroengines`] and [`Methods`].

mod array;
mod bloom;
mod checks;
mod checksum;
mod clock;
mod counter;
mod crc;
mod declared;
mod exact;
mod hash;
mod indexed;
mod lpm;
mod matching;
mod meter;
mod packet;
mod park;
mod payload;
mod random;
mod siphash;
mod timer;

use wireloom_ir::{Engine, OffloadTarget};
use wireloom_offloads::Config;

use crate::calls::Methods;
use crate::kind::{KindOnMicroengines, Kinds};

/// All kinds on microengines.
pub static KINDS: &[&dyn Methods] = &[
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

/// Returns the kind of an offload, if microengines have it.
fn find(config: &Config) -> Option<&'static dyn Methods> {
    KINDS.iter().copied().find(|kind| kind.name() == config.kind)
}

/// Returns the kinds of offloads with these declarations.
pub fn of<'a>(configs: impl IntoIterator<Item = &'a Config>) -> Kinds {
    let kind = |config| find(config).map(|kind| kind as &dyn KindOnMicroengines);
    Kinds::new(configs.into_iter().map(kind).collect())
}

/// Returns the methods of each offload of an engine, if microengines have its kind.
pub fn methods(engine: &Engine) -> Vec<Option<&'static dyn Methods>> {
    let methods = |target: &OffloadTarget| match target {
        OffloadTarget::Kind(config) => find(config),
        OffloadTarget::Engine(_) => None,
    };
    engine.offloads.iter().map(|offload| methods(&offload.target)).collect()
}

#[cfg(test)]
pub(crate) mod tests;

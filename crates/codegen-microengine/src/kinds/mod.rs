//! The offload kinds on microengines, one file each.
//!
//! The file of a kind contains everything that the generator knows about it: the memory that an
//! offload takes, its contents and how they are read back, the microcode of its methods and the
//! routines that they call, and what the methods do to the packet. Other modules use a kind only
//! through [`KindOnMicroengines`].

mod array;
mod bloom;
mod checks;
mod checksum;
mod clock;
mod counter;
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

use wireloom_bits::Bits;
use wireloom_codegen::refused::Refused;
use wireloom_ir::{Engine, OffloadTarget, Op, OpKind};
use wireloom_isa::microengine::Version;
use wireloom_offloads::{Config, Instance, Layout, registry};

use crate::calls::Call;
use crate::layout::{Region, Unit};
use crate::words::{self, Words};

pub use checks::Check;

/// All kinds on microengines.
pub static KINDS: &[&dyn KindOnMicroengines] = &[
    &array::Array,
    &bloom::Bloom,
    &checksum::Checksum,
    &clock::Clock,
    &counter::Counter,
    &exact::Exact,
    &hash::Hash,
    &lpm::Lpm,
    &matching::Match,
    &meter::Meter,
    &park::Park,
    &payload::Payload,
    &random::Random,
];

/// An offload kind on microengines.
///
/// A kind overrides the default methods only where it differs from a kind without memory, whose
/// methods do not access the packet.
pub trait KindOnMicroengines: Sync {
    /// Returns the name in the registry.
    fn name(&self) -> &'static str;

    // Memory.

    /// Returns the memory that an offload needs for its present contents, or `None` if it needs
    /// none. `most` is the number of words of the largest memory.
    ///
    /// # Errors
    /// If the offload is refused. The error is a sentence without a full stop.
    fn wanted(
        &self,
        _config: &Config,
        _instance: &mut dyn Instance,
        _most: u32,
    ) -> Result<Option<Wanted>, String> {
        Ok(None)
    }

    /// Returns the number of words that an offload takes in the scratchpad, or `None` if it cannot
    /// be there.
    fn scratchpad_words(&self, _config: &Config, _version: Version) -> Option<u64> {
        None
    }

    /// Returns the checks whose tables the methods read. All offloads share one table of each.
    fn checks(&self) -> &'static [Check] {
        &[]
    }

    /// Returns how an offload uses the hash unit.
    fn hash_unit(&self, _config: &Config) -> HashUnit {
        HashUnit::Unused
    }

    /// Returns the contents of an offload as words, from the first word of its region on.
    /// `multiplier` is the 64-bit multiplier of the hash unit.
    ///
    /// # Errors
    /// If the contents do not fit. The error is a sentence without a full stop.
    fn image(
        &self,
        _config: &Config,
        _instance: &mut dyn Instance,
        _region: Region,
        _multiplier: u64,
    ) -> Result<Vec<u32>, String> {
        Ok(Vec::new())
    }

    /// Copies the state that packets can change from the region into the instance. `word` reads a
    /// word of the region's memory by its address.
    fn read_back(
        &self,
        _config: &Config,
        _instance: &mut dyn Instance,
        _region: Region,
        _word: &dyn Fn(u32) -> u32,
    ) {
    }

    /// Returns whether its commuting methods may overlap, so that they need no order.
    fn is_atomic(&self) -> bool {
        false
    }

    // Calls.

    /// Returns whether a method reads or writes bytes of the packet outside the header window.
    fn reaches_packet(&self, _method: &str) -> bool {
        false
    }

    /// Returns whether a method may change bytes of the header window.
    fn changes_window(&self, _method: &str) -> bool {
        false
    }

    /// Returns whether a method may move the front of the header window.
    fn moves_front(&self, _method: &str) -> bool {
        false
    }

    /// Returns whether a method may cut off the end of the header window.
    fn cuts_window(&self, _method: &str) -> bool {
        false
    }

    /// Returns whether a method calls no routine when its calls need no order, so that registers
    /// keep their values.
    fn keeps_registers(&self, _method: &str) -> bool {
        false
    }

    /// Writes the part of a call that does not depend on earlier packets. Where calls come in the
    /// order of packets, threads execute it before they wait for their turn.
    fn before_turn(&self, _call: &mut Call<'_, '_>) {}

    /// Writes a call. Returns the reply, unless there is none or it has gone to the frame.
    ///
    /// # Errors
    /// If the kind does not have the method ([`Call::unsupported`]), or if something that it needs
    /// has no place.
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused>;
}

/// The memory that an offload needs.
pub struct Wanted {
    /// The number of words in each memory in which it can be, the best memory first.
    pub words: Vec<(Unit, u64)>,
    /// Whether other contents take another number of words.
    pub grows: bool,
}

impl Wanted {
    /// Returns a need that does not depend on the contents, in one of these memories.
    fn fixed(units: &[Unit], words: u64) -> Self {
        Self { words: units.iter().map(|unit| (*unit, words)).collect(), grows: false }
    }

    /// Returns a need that depends on the contents, in one of these memories.
    fn growing(units: &[Unit], words: usize) -> Self {
        Self { grows: true, ..Self::fixed(units, words as u64) }
    }
}

/// How an offload uses the hash unit of the chip, which has one multiplier for keys of 48 bits and
/// one for keys of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashUnit {
    Unused,
    /// Any multipliers suit it. These are set if no other offload requires others.
    Prefers([u64; 2]),
    /// The replies depend on the multipliers, which must be these.
    Requires([u64; 2]),
}

/// Returns the kind of an offload, if microengines have it.
pub fn find(config: &Config) -> Option<&'static dyn KindOnMicroengines> {
    KINDS.iter().copied().find(|kind| kind.name() == config.kind)
}

/// Returns the kind and the method that an operation calls. `None` for other operations.
pub fn called(engine: &Engine, op: &Op) -> Option<(&'static dyn KindOnMicroengines, &'static str)> {
    let (OpKind::Call { offload, method, .. } | OpKind::Evaluate { offload, method, .. }) =
        &op.kind
    else {
        return None;
    };
    let OffloadTarget::Kind(config) = &engine.offloads[offload.index()].target else {
        return None;
    };
    Some((find(config)?, registry::kind(&config.kind)?.methods[*method].name))
}

/// Returns the number of elements or entries.
fn size(config: &Config) -> u64 {
    config.param("size").low_u64()
}

/// Returns the width of keys in bits.
fn key_width(config: &Config) -> u32 {
    config.key.as_ref().map_or(0, Layout::width)
}

/// Returns the width of values in bits.
fn value_width(config: &Config) -> u32 {
    config.value.as_ref().map_or(0, Layout::width)
}

/// Returns the words of a value, the low word first.
fn halves(bits: &Bits) -> impl Iterator<Item = u32> {
    let all = bits.words().flat_map(|word| [word as u32, (word >> 32) as u32]);
    all.take(words::count(bits.width()))
}

/// Returns the value with these words, the low word first.
fn bits(width: u32, halves: &[u32]) -> Bits {
    let pair = |pair: &[u32]| {
        let high = pair.get(1).copied().unwrap_or(0);
        u64::from(high) << 32 | u64::from(pair[0])
    };
    Bits::from_words(width, &halves.chunks(2).map(pair).collect::<Vec<_>>())
}

#[cfg(test)]
pub(crate) mod tests;

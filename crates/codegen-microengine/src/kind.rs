//! Offload kinds as the placement and the analyses of a program see them: the memory that an
//! offload takes, its contents, and what its methods do to the packet and to registers. The
//! microcode of the methods is in [`Methods`](super::calls::Methods).

use std::fmt;

use wireloom_ir::{Engine, OffloadTarget, Op, OpKind};
use wireloom_isa::microengine::Version;
use wireloom_offloads::{Config, Instance, registry};

use super::check::Check;
use super::unit::{Region, Unit};

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

    /// Returns whether the methods use the sequence number of the packet.
    fn numbers_packets(&self) -> bool {
        false
    }

    /// Advances the region of an offload whose times end at ticks to engine time. No packet is in
    /// the chip. `words` are all words of the region's memory.
    fn pass_tick(&self, _config: &Config, _region: Region, _now_ns: u64, _words: &mut [u32]) {}

    /// Returns when the next time ends for which a step runs, in nanoseconds. `word` reads a word
    /// of the region's memory by its address.
    fn next_due(
        &self,
        _config: &Config,
        _region: Region,
        _word: &dyn Fn(u32) -> u32,
    ) -> Option<u64> {
        None
    }

    /// Returns whether its commuting methods may overlap, so that they need no order.
    fn is_atomic(&self) -> bool {
        false
    }

    // What methods do to the packet and to registers.

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
    pub fn fixed(units: &[Unit], words: u64) -> Self {
        Self { words: units.iter().map(|unit| (*unit, words)).collect(), grows: false }
    }

    /// Returns a need that depends on the contents, in one of these memories.
    pub fn growing(units: &[Unit], words: usize) -> Self {
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

/// The kinds of a program's offloads, by the number of the offload.
#[derive(Clone, Default)]
pub struct Kinds(Vec<Option<&'static dyn KindOnMicroengines>>);

impl Kinds {
    /// Returns these kinds. `None` is a kind that microengines do not have.
    pub fn new(kinds: Vec<Option<&'static dyn KindOnMicroengines>>) -> Self {
        Self(kinds)
    }

    /// Returns the kind of an offload, if microengines have it.
    pub fn get(&self, offload: usize) -> Option<&'static dyn KindOnMicroengines> {
        self.0.get(offload).copied().flatten()
    }

    /// Returns the kind and the method that an operation calls. `None` for other operations.
    pub fn called(
        &self,
        engine: &Engine,
        op: &Op,
    ) -> Option<(&'static dyn KindOnMicroengines, &'static str)> {
        let (OpKind::Call { offload, method, .. } | OpKind::Evaluate { offload, method, .. }) =
            &op.kind
        else {
            return None;
        };
        let OffloadTarget::Kind(config) = &engine.offloads[offload.index()].target else {
            return None;
        };
        Some((self.get(offload.index())?, registry::kind(&config.kind)?.methods[*method].name))
    }
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|kind| kind.map(|kind| kind.name()))).finish()
    }
}

//! Tests of the list of kinds, and what the tests of the kinds share.

use std::collections::BTreeSet;
use std::path::Path;

use wireloom_bits::Bits;
use wireloom_isa::microengine::Version;
use wireloom_net::PacketInHand;
use wireloom_offloads::kinds::{self, instantiate};
use wireloom_offloads::sources::named_kinds;
use wireloom_offloads::{Config, Env, Instance, Layout, ValueType, registry};

use super::{KINDS, find, hash};
use crate::kind::KindOnMicroengines;
use crate::unit::{Region, Unit};

/// The contents of words of memory that no image has set.
const GARBAGE: u32 = 0xdead_beef;

/// Returns a declaration with key and value types of one leaf each, and defaults filled in.
pub fn config(kind: &str, key: Option<u32>, value: Option<u32>, params: &[(&str, u64)]) -> Config {
    let mut config = Config {
        kind: kind.into(),
        key: key.map(Layout::scalar),
        value: value.map(Layout::scalar),
        params: Default::default(),
    };
    for param in registry::kind(kind).expect("a kind of the registry").params {
        let given = params.iter().find(|(name, _)| *name == param.name).map(|(_, value)| *value);
        let value = given.or(param.default).unwrap_or(0);
        let value = Bits::new(param.ty.width(&config), value.into());
        config.params.insert(param.name.to_owned(), value);
    }
    config
}

/// Returns a value of this width. Other seeds give other values.
pub fn value(width: u32, seed: u64) -> Bits {
    let word = |index: u64| (seed + index + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let words: Vec<u64> = (0..u64::from(width.div_ceil(64).max(1))).map(word).collect();
    Bits::from_words(width, &words)
}

/// Calls a method by name. Returns the reply.
pub fn call(
    config: &Config,
    instance: &mut dyn Instance,
    method: &str,
    args: &[Bits],
    now_ns: u64,
    packet: Option<&mut PacketInHand>,
) -> Bits {
    let kind = registry::kind(&config.kind).expect("a kind of the registry");
    let (number, method) = kind.method(method).expect("a method of the kind");
    let widths = method.args.iter().map(|(_, ty): &(&str, ValueType)| ty.width(config));
    assert!(widths.eq(args.iter().map(Bits::width)), "the widths of the arguments");
    instance.call(number, args, &mut Env { packet, now_ns, sequence: 0 })
}

/// A memory that holds the image of an offload.
pub struct Stored {
    pub region: Region,
    /// All words of the memory up to the end of the region and a few more.
    pub words: Vec<u32>,
}

/// Writes the contents of an offload into each memory in which it may be.
pub fn stored(config: &Config, instance: &mut dyn Instance) -> Vec<Stored> {
    const MOST: u32 = 1 << 20;
    let kind = find(config).expect("a kind on microengines");
    let wanted = kind.wanted(config, instance, MOST).expect("it has a place");
    let wanted = wanted.expect("it needs memory");
    let scratchpad = kind.scratchpad_words(config, Version::Two);
    let scratchpad = scratchpad.map(|words| (Unit::Scratch, words));
    let all = wanted.words.into_iter().chain(scratchpad);
    let stored = all.map(|(unit, words)| {
        let region = Region { unit, first: 3 * 16, words: words as u32 };
        let image = image(kind, config, instance, region);
        assert!(image.len() as u64 <= words, "{unit:?}: {} words of {words}", image.len());
        let mut words = vec![GARBAGE; (region.first + region.words) as usize + 16];
        words[region.first as usize..][..image.len()].copy_from_slice(&image);
        Stored { region, words }
    });
    stored.collect()
}

fn image(
    kind: &dyn KindOnMicroengines,
    config: &Config,
    instance: &mut dyn Instance,
    region: Region,
) -> Vec<u32> {
    let [_, multiplier] = hash::default_multipliers();
    kind.image(config, instance, region, multiplier).expect("it fits")
}

/// Writes an offload into each memory in which it may be, and reads it back into a fresh instance.
/// Checks that this has the same rows, and calls `check` with it.
pub fn round_trip(
    config: &Config,
    instance: &mut dyn Instance,
    mut check: impl FnMut(&mut dyn Instance, &mut dyn Instance),
) {
    let kind = find(config).expect("a kind on microengines");
    for Stored { region, words } in stored(config, instance) {
        let mut fresh = instantiate(config).expect("a valid declaration");
        kind.read_back(config, fresh.as_mut(), region, &|at| words[at as usize]);
        assert_eq!(fresh.rows(), instance.rows(), "{:?}", region.unit);
        check(instance, fresh.as_mut());
    }
}

#[test]
fn each_kind_is_in_the_registry_once() {
    let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), KINDS.len());
    let known: BTreeSet<&str> = kinds::KINDS.iter().map(|kind| kind.name).collect();
    assert_eq!(names.difference(&known).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[test]
fn names_of_kinds_stand_only_in_the_files_of_kinds() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let found = named_kinds(&source, "kinds").expect("the sources");
    // The register with the bytes of the payload has the name of a kind.
    let is_register = |place: &String| place.contains("state.rs:") && place.ends_with(": payload");
    let (registers, others): (Vec<String>, Vec<String>) = found.into_iter().partition(is_register);
    assert_eq!((registers.len(), others), (1, Vec::new()), "{registers:?}");
}

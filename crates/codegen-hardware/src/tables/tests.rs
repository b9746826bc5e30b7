use std::path::PathBuf;

use proptest::prelude::*;
use wireloom_bits::Bits;
use wireloom_net::tables::{Family, Prefix, read_prefixes};
use wireloom_offloads::lpm::Table;

use super::shape::KEY_BITS;
use super::*;

/// A value of 20 bits. Lookups without a match return the largest one.
fn value(number: u32) -> Bits {
    Bits::new(20, u128::from(number))
}

fn miss() -> Bits {
    Bits::ones(20)
}

/// The golden prefix table and the image; both get the same changes.
struct Pair {
    golden: Table,
    image: TrieImage,
}

impl Pair {
    fn new(shape: Shape) -> Self {
        let golden = Table::new(shape.key_bits, &miss()).unwrap();
        Self { golden, image: TrieImage::new(shape, &miss(), 1 << 16) }
    }

    fn golden(&self, key: Key) -> Bits {
        self.golden.lookup(&self.image.shape().golden_key(key))
    }

    fn change(
        &mut self,
        (key, length): (Key, u32),
        new: Option<u32>,
    ) -> Result<Vec<Write>, DoesNotFit> {
        let bits = self.image.shape().golden_key(key);
        match new {
            Some(new) => {
                let writes = self.image.insert(key, length, &value(new))?;
                self.golden.insert(&bits, length, &value(new)).unwrap();
                Ok(writes)
            }
            None => {
                let writes = self.image.remove(key, length)?;
                self.golden.remove(&bits, length).unwrap();
                Ok(writes)
            }
        }
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![Just(IPV4), Just(IPV4_SHARED), Just(IPV6), Just(IPV6_SHARED)]
}

/// All bits of a key set.
fn all(shape: Shape) -> Key {
    Key::MAX >> (KEY_BITS - shape.key_bits)
}

/// Keys with common leading bits of many lengths, so that random prefixes nest.
fn key(shape: Shape) -> impl Strategy<Value = Key> {
    let parts = [
        0x2001_0db8_0000_0000_0000_0000_0000_0001,
        0x2001_0db8_00ff_8000_0000_0001_0000_0000,
        0,
        u128::MAX,
    ];
    let noise = (any::<u128>(), any::<u8>());
    (prop::sample::select(parts.to_vec()), noise, 0u32..=132).prop_map(
        move |(part, (noise, last), keep)| {
            let mask = Key::MAX >> keep;
            // The key is left-aligned until the last shift.
            let part = Key::from_words(part, 0);
            let noise = Key::from_words(noise, u128::from(last) << 120);
            (part & !mask | noise & mask) >> (KEY_BITS - shape.key_bits)
        },
    )
}

fn prefix(shape: Shape) -> impl Strategy<Value = (Key, u32)> {
    let width = shape.key_bits;
    // All lengths, but mostly those that occur in real tables.
    let usual = [0, 8, 16, 20, 21, 24, 28, 29, 32, 48, 64, 127, 128, 132];
    let length = prop_oneof![prop::sample::select(usual.to_vec()), 0u32..=132, 64u32..=132];
    (key(shape), length).prop_map(move |(key, length)| {
        let length = length.min(width);
        let keep = if length == 0 { Key::ZERO } else { Key::MAX << (width - length) };
        (key & keep & all(shape), length)
    })
}

/// Keys at the ends of a prefix and next to them.
fn boundaries(shape: Shape, (key, length): (Key, u32)) -> Vec<Key> {
    let mask = all(shape);
    let last = key | mask >> length;
    vec![key, last, key.wrapping_sub(Key::ONE) & mask, last.wrapping_add(Key::ONE) & mask]
}

/// A shape, prefixes with values, and keys.
type Case = (Shape, Vec<((Key, u32), u32)>, Vec<Key>);

fn tables() -> impl Strategy<Value = Case> {
    shapes().prop_flat_map(|shape| {
        let routes = prop::collection::vec((prefix(shape), 0u32..6), 0..16);
        (Just(shape), routes, prop::collection::vec(key(shape), 64))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, rng_seed: prop::test_runner::RngSeed::Fixed(7), failure_persistence: None,
        ..Default::default() })]

    #[test]
    fn images_answer_as_golden_does((shape, routes, keys) in tables()) {
        let mut golden = Table::new(shape.key_bits, &miss()).unwrap();
        let mut distinct = std::collections::BTreeMap::new();
        for (prefix, number) in routes {
            golden.insert(&shape.golden_key(prefix.0), prefix.1, &value(number)).unwrap();
            distinct.insert(prefix, value(number));
        }
        let list: Vec<_> = distinct.iter().map(|(&(key, length), value)| (key, length, value.clone())).collect();
        let image = TrieImage::build(shape, &miss(), 1 << 16, &list).unwrap();
        for key in distinct.keys().flat_map(|&prefix| boundaries(shape, prefix)).chain(keys) {
            prop_assert_eq!(image.lookup(key), &golden.lookup(&shape.golden_key(key)), "{:x}", key);
        }
    }

    #[test]
    fn an_image_that_was_changed_is_like_one_that_was_built((shape, routes, keys) in tables(), removed in any::<u32>()) {
        let mut pair = Pair::new(shape);
        for (index, &(prefix, number)) in routes.iter().enumerate() {
            let _ = pair.change(prefix, Some(number));
            if removed >> (index % 32) & 1 == 1 {
                let _ = pair.change(routes[index / 2].0, None);
            }
        }
        let mut list = Vec::new();
        pair.golden.for_each(&mut |key, length, value| list.push((super::key(&key), length, value)));
        let built = TrieImage::build(shape, &miss(), 1 << 16, &list).unwrap();
        prop_assert_eq!(pair.image.levels(), built.levels());
        for key in routes.iter().flat_map(|&(prefix, _)| boundaries(shape, prefix)).chain(keys) {
            prop_assert_eq!(pair.image.lookup(key), &pair.golden(key));
            prop_assert_eq!(built.lookup(key), &pair.golden(key));
        }
    }

    /// The writes reach separate memories one by one, and between any two of them lookups in
    /// progress read an entry. Each lookup returns a result that was correct at some time since it
    /// began.
    #[test]
    fn lookups_see_the_old_table_or_the_new_one((shape, routes, keys) in tables(), seed in 1u64..) {
        let mut pair = Pair::new(shape);
        let mut memories = pair.image.memories().to_vec();
        let mut values = vec![miss(); 1 << 16];
        let mut walks: Vec<(Walk, Key, Vec<Bits>)> = Vec::new();
        let ends = routes.iter().flat_map(|&(prefix, _)| boundaries(shape, prefix));
        let keys: Vec<Key> = ends.chain(keys).collect();
        let mut state = seed;
        let mut random = move |limit: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as usize % limit
        };
        let changes = routes.iter().enumerate().flat_map(|(index, &(prefix, number))| {
            [(prefix, Some(number)), (routes[index / 2].0, (index % 3 == 0).then_some(number + 1))]
        });
        for (prefix, new) in changes {
            let old: Vec<Bits> = keys.iter().map(|&key| pair.golden(key)).collect();
            let Ok(writes) = pair.change(prefix, new) else { continue };
            walks.iter_mut().for_each(|(_, key, answers)| answers.push(pair.golden(*key)));
            // The many writes of a short prefix are all alike, so lookups check only some of them.
            let every = 1 + writes.len() / 64;
            for (index, write) in writes.into_iter().enumerate() {
                let drain = write == Write::Barrier;
                match write {
                    Write::Burst { memory, address, data } => memories[memory].set_burst(address, &data),
                    Write::Value { number, value } => values[number as usize] = value,
                    Write::Barrier => {}
                }
                if index % every == 0 && walks.len() < 12 {
                    let pick = random(keys.len());
                    let answers = vec![old[pick].clone(), pair.golden(keys[pick])];
                    walks.push((Walk::new(shape, keys[pick]), keys[pick], answers));
                }
                if !drain && index % every != 0 {
                    continue;
                }
                walks.retain_mut(|(walk, key, answers)| {
                    while drain || random(3) == 0 {
                        if let Some(number) = walk.read(&memories) {
                            let answer = &values[number as usize];
                            assert!(answers.contains(answer), "{key:x}: {answer:?}, not one of {answers:?}");
                            return false;
                        }
                    }
                    true
                });
            }
        }
        prop_assert!(memories == pair.image.memories(), "the writes are all that there is to do");
    }
}

#[test]
fn a_prefix_of_the_first_level_takes_one_burst_and_a_longer_one_its_blocks_first() {
    let mut image = TrieImage::new(IPV4, &miss(), 8);
    let host = image.insert(Key::new(0x0a00_0001), 32, &value(1)).unwrap();
    // The value, a block of 256 entries, a block of 16 entries, and finally the entry that points
    // to them.
    assert_eq!(host.len(), 1 + 128 + 8 + 1);
    assert!(matches!(host[0], Write::Value { number: 1, .. }));
    assert!(matches!(host[137], Write::Burst { memory: 0, address: 0x5000, .. }));
    assert_eq!(image.levels(), [1 << 20, 16, 256]);
    let again = image.insert(Key::new(0x0a00_0002), 32, &value(1)).unwrap();
    assert_eq!(again.len(), 1, "an entry of a block that is there");
    assert_eq!(
        image.insert(Key::new(0x0a00_0002), 32, &value(1)).unwrap(),
        [],
        "nothing has changed"
    );
    image.remove(Key::new(0x0a00_0002), 32).unwrap();
    let removed = image.remove(Key::new(0x0a00_0001), 32).unwrap();
    assert_eq!(
        (removed.len(), removed.last()),
        (2, Some(&Write::Barrier)),
        "one write frees both blocks"
    );
    assert_eq!(image.levels(), [1 << 20, 0, 0]);
    assert!(image.is_empty() && image.remove(Key::new(0x0a00_0001), 32).unwrap().is_empty());
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let mut image = TrieImage::new(IPV4, &miss(), 3);
    for number in [1, 2] {
        image.insert(Key::from(number) << 24, 8, &value(number)).unwrap();
    }
    let before = image.clone();
    let refused = image.insert(Key::new(9 << 24), 8, &value(9)).unwrap_err();
    assert!(refused.0.starts_with(
        "the prefixes have more different values than the value table has elements (3,"
    ));
    assert_eq!((image.len(), image.values()), (before.len(), before.values()));

    // A /21 in each of 131,073 different /20s: one block too many.
    let routes: Vec<_> =
        (0..=1u128 << 17).map(|index| (Key::new(index << 12), 21, value(1))).collect();
    let refused = TrieImage::build(IPV4, &miss(), 8, &routes).unwrap_err();
    assert_eq!(
        refused.0,
        "the table does not fit a memory of 4194304 words: the levels of [20, 4, 8] bits have 1048576, 2097168, 0 entries; a part of \
         8388608 words would hold them, and levels of [10, 11, 11] bits would take 265216 words"
    );

    // A /33 in each of 769 different /20s: blocks of 4,096 and of 256 entries.
    let routes: Vec<_> =
        (0..=768u128).map(|index| (Key::new(index << 108), 33, value(1))).collect();
    let refused = TrieImage::build(IPV6, &miss(), 8, &routes).unwrap_err();
    assert_eq!(
        refused.0,
        "the table does not fit a memory of 4194304 words: the levels of [20, 12, 8, 8, 8, 8] bits have 1048576, 3149824, 196864, 0, 0, 0 \
         entries; a part of 8388608 words would hold them"
    );
}

#[test]
fn a_level_on_the_chip_that_is_full_is_told_of() {
    // A /17 for each of 257 different sequences of 16 leading bits, and a router's number: one
    // block too many for the second level.
    let routes: Vec<_> =
        (0..=256u32).map(|index| (Key::from(index) << 112, 21, value(1))).collect();
    assert!(TrieImage::build(IPV6_SHARED, &miss(), 8, &routes[1..]).is_ok());
    let refused = TrieImage::build(IPV6_SHARED, &miss(), 8, &routes).unwrap_err();
    assert_eq!(
        refused.0,
        "the levels of [20, 8, 8, 8, 8, 8, 8] bits have 1048576, 65792, 0, 0, 0, 0, 0 entries, \
         of which 65792 are on the chip, where there is room for 65536; leave out some, or let fewer routers share it"
    );
}

#[test]
fn trees_of_ranges_have_their_limits_and_say_so() {
    // Every other address of a network, each with its own value.
    let routes: Vec<_> =
        (0..600u128).map(|index| (Key::new(index * 2), 128, value(index as u32))).collect();
    let refused = TrieImage::build(IPV6, &miss(), 1 << 12, &routes).unwrap_err();
    assert!(
        refused.0.contains("into 1200 ranges, and the accelerator can search 1024"),
        "{refused}"
    );
    let mut image = TrieImage::build(IPV6, &miss(), 1 << 12, &routes[..512]).unwrap();
    assert_eq!((image.lookup(Key::new(22)), image.lookup(Key::new(23))), (&value(11), &miss()));
    // The last level has room for two copies of the tree, but not for a third tree of that size.
    assert!(image.insert(Key::new(23), 128, &value(5)).is_ok());
    assert_eq!((image.lookup(Key::new(22)), image.lookup(Key::new(23))), (&value(11), &value(5)));
    let other = |index: u128| (Key::new((1 << 64) + index * 2), 128, value(index as u32));
    let mut refused = None;
    for (key, length, value) in (0..512).map(other) {
        if let Err(error) = image.insert(key, length, &value) {
            refused = Some(error);
            break;
        }
    }
    assert!(
        refused
            .expect("the nodes run out")
            .0
            .contains("need more tree nodes than the accelerator has (512 in each of 5 levels")
    );
    assert_eq!(
        (image.lookup(Key::new(22)), image.lookup(Key::new(23))),
        (&value(11), &value(5)),
        "what was there still is"
    );
}

/// The prefixes of a file of python3-pyasn with their value numbers, if the file was fetched (`make
/// data`).
fn real(file: &str, family: Family) -> Option<Vec<(Key, u32, Bits)>> {
    let folder = ".cache/data/pyasn/usr/lib/python3/dist-packages/data";
    let path: PathBuf =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder).join(file);
    if !path.exists() {
        eprintln!("{} is missing: run `make data`", path.display());
        return None;
    }
    let prefixes: Vec<Prefix> = read_prefixes(&path).unwrap();
    let family = prefixes.iter().filter(|prefix| prefix.family() == family);
    Some(
        family
            .enumerate()
            .map(|(n, p)| (p.bits().into(), p.length(), value((n * 7919 % 1000) as u32)))
            .collect(),
    )
}

#[test]
fn a_real_table_fits_and_answers_as_golden_does() {
    real_tables_do_as_golden(&[("ipasn6_20151101.dat.gz", Family::V6, IPV6)]);
}

#[test]
#[ignore = "takes long: make test-all"]
fn large_real_tables_fit_and_answer_as_golden_does() {
    real_tables_do_as_golden(&[
        ("ipasn_20140513.dat.gz", Family::V4, IPV4),
        ("ipasn6_20151101.dat.gz", Family::V4, IPV4),
    ]);
}

fn real_tables_do_as_golden(tables: &[(&str, Family, Shape)]) {
    for &(file, family, shape) in tables {
        let Some(routes) = real(file, family) else { return };
        let image = TrieImage::build(shape, &miss(), 1 << 12, &routes).unwrap();
        let mut golden = Table::new(shape.key_bits, &miss()).unwrap();
        golden.begin_bulk();
        for (key, length, value) in &routes {
            golden.insert(&shape.golden_key(*key), *length, value).unwrap();
        }
        golden.end_bulk().unwrap();
        for (key, length, _) in routes.iter().step_by(1 + routes.len() / 20_000) {
            for key in boundaries(shape, (*key, *length)) {
                assert_eq!(image.lookup(key), &golden.lookup(&shape.golden_key(key)), "{key:x}");
            }
        }
        eprintln!("{file} {family:?}: {} prefixes, entries {:?}", routes.len(), image.levels());
        if family == Family::V4 {
            let prefixes: Vec<Prefix> = routes
                .iter()
                .map(|(key, length, _)| Prefix::new(family, key.as_u128(), *length).unwrap())
                .collect();
            assert_eq!(Storage::of_prefixes(&prefixes).entries(&[20, 4, 8]), image.levels());
        }
    }
}

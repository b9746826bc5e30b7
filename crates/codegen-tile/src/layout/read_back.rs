//! Takes what packets changed from memory into the store.

use wireloom_bits::Bits;
use wireloom_offloads::{Content, Entry, EntryKey, Store};

use super::super::words;
use super::{Place, keyed, meters};

/// Takes what packets changed from memory into the store. `tiles` is the number of tiles that have
/// counters.
pub fn read_back(
    places: &[Vec<Place>],
    tiles: u32,
    store: &mut Store,
    word: &mut dyn FnMut(u32) -> u32,
) {
    read_instance(places, 0, tiles, store, word);
}

fn read_instance(
    places: &[Vec<Place>],
    number: usize,
    tiles: u32,
    store: &mut Store,
    word: &mut dyn FnMut(u32) -> u32,
) {
    for (place, slot) in places[number].iter().zip(&mut store.slots) {
        if let Content::Kind { config, instance } = &mut slot.content {
            match (*place, config.kind.as_str()) {
                (Place::Table { base }, _) => {
                    keyed::read_exact(config, instance.as_mut(), base, word);
                    continue;
                }
                (Place::Park { base }, _) => {
                    keyed::read_park(config, instance.as_mut(), base, word);
                    continue;
                }
                (Place::Elements { base, .. }, "meter") => {
                    meters::read_back(instance.as_mut(), base, word);
                    continue;
                }
                _ => {}
            }
        }
        let (base, stride, size, apart) = match (*place, &mut slot.content) {
            (Place::Engine(called), Content::Engine(inner)) => {
                read_instance(places, called, tiles, inner, word);
                continue;
            }
            (Place::Bits { base, words }, Content::Kind { instance, .. }) => {
                for number in 0..words {
                    let value = Bits::new(32, u128::from(word(base + 4 * number)));
                    // A word of the filter always has a place.
                    let _ = instance.load(Entry { key: EntryKey::Index(number.into()), value });
                }
                continue;
            }
            (Place::Elements { base, stride, size }, _) => (base, stride, size, None),
            (Place::Counters { base, stride, size, apart }, _) => (base, stride, size, Some(apart)),
            _ => continue,
        };
        let Content::Kind { config, instance } = &mut slot.content else { continue };
        for index in 0..size {
            let at = base + index * stride;
            let value = match apart {
                None => {
                    let width = config.value.as_ref().map_or(1, |layout| layout.width());
                    value_at(at, width, word)
                }
                // The upper 64 bits are packets, the lower ones bytes.
                Some(apart) => {
                    let mut sums = [0u64; 2];
                    for tile in 0..tiles {
                        let own = value_at(at + tile * apart, 128, word);
                        let halves = [own.word(0), own.word(1)];
                        for (sum, half) in sums.iter_mut().zip(halves) {
                            *sum = sum.wrapping_add(half);
                        }
                    }
                    Bits::from_words(128, &sums)
                }
            };
            // An element that has a place exists.
            let _ = instance.load(Entry { key: EntryKey::Index(index.into()), value });
        }
    }
}

/// A value in memory.
pub fn value_at(at: u32, width: u32, word: &mut dyn FnMut(u32) -> u32) -> Bits {
    let count = words::count(width) as u32;
    let mut half = |half: u32| if half < count { u64::from(word(at + 4 * half)) } else { 0 };
    let wide: Vec<u64> =
        (0..width.div_ceil(64)).map(|at| half(2 * at) | half(2 * at + 1) << 32).collect();
    Bits::from_words(width, &wide)
}

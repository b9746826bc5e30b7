//! Random engines: native does what golden does.

mod support;

use support::random::{Random, packets, program};
use wireloom_bits::Bits;
use wireloom_offloads::{Content, Entry, EntryKey, Store};

/// Some prefixes in every prefix table, some elements in every array.
fn load(store: &mut Store) {
    let random = &mut Random(7);
    for path in store.paths() {
        let Content::Kind { config, instance } =
            &mut store.find_mut(&path).expect("a path of the store").content
        else {
            unreachable!("paths name kinds")
        };
        let value_width = config.value.as_ref().map_or(1, |layout| layout.width());
        for _ in 0..60 {
            let words: Vec<u64> = (0..17).map(|_| random.next()).collect();
            let value = Bits::from_words(value_width, &words);
            let key = match config.kind.as_str() {
                "lpm" => {
                    let width = config.key.as_ref().map_or(1, |layout| layout.width());
                    let length = random.below(width as usize + 1) as u32;
                    // Short runs of ones and zeros in front, so that prefixes nest and packets meet them.
                    let low =
                        if random.chance(2) { Bits::zero(width) } else { Bits::from_words(width, &words) };
                    let bits = if length == 0 {
                        Bits::zero(width)
                    } else {
                        low.lshr(width - length).shl(width - length)
                    };
                    EntryKey::Prefix { bits, length }
                }
                "array" => EntryKey::Index(random.below(2) as u64),
                _ => break,
            };
            // A full table or an index out of range changes nothing; both machines are refused alike.
            let _ = instance.load(Entry { key, value });
        }
    }
}

/// `WIRELOOM_NATIVE_RANDOM=FIRST..END` tries other seeds than those of every run.
#[test]
fn random_engines_agree() {
    let range = std::env::var("WIRELOOM_NATIVE_RANDOM").unwrap_or_else(|_| "0..200".into());
    let (first, end) = range.split_once("..").expect("FIRST..END");
    let seeds: Vec<u64> = (first.parse().expect("a number")..end.parse().expect("a number")).collect();
    let packets = packets(1, 150);
    for chunk in seeds.chunks(100) {
        let programs: Vec<_> = chunk.iter().map(|seed| program(*seed)).collect();
        support::agree(&programs, &packets, &load);
    }
}

//! `lpm` searches DIR-24-8 tables for keys of 32 bits if the memory has room for them, and a trie
//! otherwise.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError};

use wireloom_bits::Bits;
use wireloom_codegen::trie::{self, Route};
use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::kinds::lpm;
use wireloom_offloads::{Config, Instance, Layout};

use super::direct::Direct;
use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::code::{Code, FRAME, Instruction, Operand};
use crate::frame;
use crate::lower::Lower;
use crate::memory::{Memory, stride_of};
use crate::words::{self, Words};

/// The most bits of a key.
const MOST: u32 = 128;

pub struct Lpm;

impl KindOnTiles for Lpm {
    fn name(&self) -> &'static str {
        "lpm"
    }

    fn unsupported(&self, config: &Config) -> Option<String> {
        let width = key_width(config);
        let why = "are not supported on raw yet, only keys of up to";
        (width > MOST).then(|| format!("keys of {width} bits {why} {MOST}"))
    }

    fn place(
        &self,
        config: &Config,
        instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        Ok(Arc::new(routes(config, instance, memory)?))
    }

    fn routines(&self) -> &'static [&'static str] {
        &[include_str!("lpm.s")]
    }
}

/// Places the prefixes of an instance.
fn routes(config: &Config, instance: &dyn Instance, memory: &mut Memory) -> Result<Routes, String> {
    let width = key_width(config);
    let any: &dyn Any = instance;
    let table = any.downcast_ref::<lpm::Lpm>().ok_or("it has no prefixes")?.table();
    let mut numbers = HashMap::new();
    // Entries are numbers of values. Number 0 is the value of a miss.
    let mut values = vec![config.param("miss").clone()];
    numbers.insert(values[0].clone(), 0);
    let mut routes = Vec::new();
    let table = table.lock().unwrap_or_else(PoisonError::into_inner);
    table.for_each(&mut |bits: Bits, length, value: Bits| {
        let next = values.len() as u32;
        let value = *numbers.entry(value).or_insert_with_key(|value| {
            values.push(value.clone());
            next
        });
        let key = bits.to_u128().and_then(|key| key.checked_shl(MOST - width)).unwrap_or(0);
        routes.push(Route { key, length, value });
    });
    // In this order the same table gives the same image, however it was loaded.
    routes.sort_unstable_by_key(|route| (route.length, route.key));
    let stride = stride_of(words::count(values[0].width()));
    let values = memory.elements(stride, values.len(), values.iter().enumerate())?;
    let search = if width == 32
        && memory.left() >= Direct::LEAST
        && let Some(direct) = Direct::new(&routes)
    {
        let first = memory.take(u64::from(Direct::FIRST_BYTES))?;
        let second = memory.take(direct.second_bytes())?;
        memory.images.extend(direct.images(first, second));
        Search::Direct { first, second }
    } else {
        let (root, left) = (memory.next(), (memory.left() / 4) as usize);
        let image = trie::image(width, &routes, 0, root / 4, left).map_err(|e| e.to_string())?;
        Search::Trie { root: memory.put(image)? }
    };
    Ok(Routes { search, values, stride })
}

#[derive(Debug)]
struct Routes {
    search: Search,
    /// The address of the values.
    values: u32,
    /// Bytes from one value to the next.
    stride: u32,
}

#[derive(Debug)]
enum Search {
    /// The addresses of both tables of [`Direct`].
    Direct { first: u32, second: u32 },
    /// The address of the root of a [`trie`].
    Trie { root: u32 },
}

impl Placed for Routes {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        if call.method.name != "search" {
            return Err(Unsupported);
        }
        let (key_width, key) = (lower.width(call.args[0]), lower.get(call.args[0]));
        let code = &mut lower.code;
        let entry = match self.search {
            Search::Direct { first, second } => direct(code, first, second, key[0]),
            Search::Trie { root } => walk(code, root, key, key_width),
        };
        let offset = code.two(Do::Mul, entry, Operand::Number(self.stride));
        // The upper half of the address is the same for all words of a value, which are in a line
        // of the cache.
        let (at, lower) = code.address(offset, self.values);
        let word = |word| code.load(at, lower + 4 * word as i32).into();
        Ok(Some((0..words::count(call.width)).map(word).collect()))
    }
}

/// Returns the number of the value that the DIR-24-8 tables have for a key.
fn direct(code: &mut Code, first: u32, second: u32, key: Operand) -> Operand {
    let at = code.shift(Do::Srl, key, 8);
    let at = code.shift(Do::Sll, at, 1);
    let ((at, lower), entry) = (code.address(at, first), code.register());
    // An entry with its sign set has the number of a segment.
    code.memory(Do::Lh, entry, at, lower);
    let (long, done) = (code.label(), code.label());
    code.push(Instruction { rs: Some(entry), label: long.clone(), ..Instruction::new(Do::Bltz) });
    code.apart(|code| {
        code.place(&long);
        let segment = code.two(Do::And, entry.into(), Operand::Number(0x7fff));
        let segment = code.shift(Do::Sll, segment, 9);
        let low = code.two(Do::And, key, Operand::Number(0xff));
        let low = code.shift(Do::Sll, low, 1);
        let at = code.two(Do::Addu, segment, low);
        let (at, lower) = code.address(at, second);
        code.memory(Do::Lhu, entry, at, lower);
        code.jump(&done);
    });
    code.place(&done);
    entry.into()
}

/// Returns the number of the value that a trie has for a key.
fn walk(code: &mut Code, root: u32, key: Words, width: u32) -> Operand {
    // The routine `walk` takes the key from its most significant bit on.
    let left = width.next_multiple_of(32) - width;
    let aligned = match left {
        0 => key,
        _ => code.concat(&[(key, width), (words::zeros(left), left)]),
    };
    for (at, word) in aligned.iter().rev().enumerate() {
        code.store(*word, FRAME, frame::WORK as i32 + 4 * at as i32);
    }
    let top = *aligned.last().expect("a key has words");
    let index = code.shift(Do::Srl, top, 32 - trie::root_bits(width));
    let index = code.shift(Do::Sll, index, 2);
    let (at, lower) = code.address(index, root);
    let entry = code.load(at, lower).into();
    if width > trie::root_bits(width) { code.call("walk", &[entry], 1)[0] } else { entry }
}

fn key_width(config: &Config) -> u32 {
    config.key.as_ref().map_or(0, Layout::width)
}

#[cfg(test)]
mod tests {
    use wireloom_offloads::{Entry, EntryKey, Env};

    use super::*;
    use crate::memory::{Memories, value_at};
    use crate::testing::{Contents, Random};

    /// Returns the value that memory has for a key.
    fn found(routes: &Routes, contents: &Contents, key: &Bits, width: u32) -> Bits {
        let mut word = |at: u32| contents.word(at);
        let bit = |at: u32| u32::from(key.bit(key.width() - 1 - at));
        // Bits of the key from the most significant one on, with zeros after them.
        let part = |from: u32, count: u32| {
            (from..from + count)
                .fold(0, |all, at| all << 1 | if at < key.width() { bit(at) } else { 0 })
        };
        let number = match routes.search {
            Search::Direct { first, second } => {
                let half = |at: u32| (word(at) >> (16 - 8 * (at & 2))) & 0xffff;
                match half(first + 2 * part(0, 24)) {
                    entry if entry >> 15 == 0 => entry,
                    entry => half(second + 512 * (entry & 0x7fff) + 2 * part(24, 8)),
                }
            }
            Search::Trie { root } => {
                let mut done = key.width().min(16);
                let mut entry = word(root + 4 * part(0, done));
                while entry >> 31 == 1 {
                    entry = word(4 * ((entry & 0x7fff_ffff) + part(done, 4)));
                    done += 4;
                }
                entry
            }
        };
        value_at(routes.values + routes.stride * number, width, &mut word)
    }

    fn agrees(width: u32, bytes: u32, seeds: std::ops::Range<u64>) {
        for seed in seeds {
            let mut random = Random::new(seed);
            let value = random.one_of(&[8, 32, 40, 100]);
            let params = [("miss".to_owned(), random.bits(value))].into();
            let (key, layout) = (Some(Layout::scalar(width)), Some(Layout::scalar(value)));
            let config = Config { kind: Lpm.name().to_owned(), key, value: layout, params };
            let mut instance = wireloom_offloads::instantiate(&config).expect("a valid table");
            let mut keys = vec![random.bits(width)];
            for _ in 0..random.below(40) {
                let length = random.below(1 + u64::from(width)) as u32;
                // Prefixes of other keys, so that they are nested.
                let bits =
                    if random.below(2) == 0 { random.one_of(&keys) } else { random.bits(width) };
                let bits = bits.lshr(width - length).shl(width - length);
                keys.push(bits.clone());
                let key = EntryKey::Prefix { bits, length };
                instance.load(Entry { key, value: random.bits(value) }).expect("a prefix");
            }
            let mut memory =
                Memory::new(Memories { first: 64, end: 64 + bytes, tiles: 1, has_rest: false });
            let routes = routes(&config, instance.as_ref(), &mut memory).expect("a large memory");
            assert_eq!(matches!(routes.search, Search::Direct { .. }), bytes > 1 << 24);
            let contents = Contents::new(memory.images);
            for _ in 0..200 {
                let flipped = Bits::new(width, 1).shl(random.below(width.into()) as u32);
                let key = random.one_of(&keys).xor(&flipped);
                let mut env = Env { packet: None, now_ns: 0, sequence: 0 };
                let wanted = instance.call(0, std::slice::from_ref(&key), &mut env);
                assert_eq!(found(&routes, &contents, &key, value), wanted, "{seed}: {key:?}");
            }
        }
    }

    #[test]
    fn tries_have_the_values_of_the_longest_prefixes() {
        for width in [1, 8, 16, 19, 32, 47, 64, 128] {
            agrees(width, 4 << 20, 0..8);
        }
    }

    #[test]
    fn direct_tables_have_the_values_of_the_longest_prefixes() {
        agrees(32, 40 << 20, 0..2);
    }

    #[test]
    fn keys_of_more_than_128_bits_are_not_supported() {
        let config = |width| {
            let (kind, key) = (Lpm.name().to_owned(), Some(Layout::scalar(width)));
            Config { kind, key, value: None, params: Default::default() }
        };
        assert_eq!(Lpm.unsupported(&config(128)), None);
        let why = Lpm.unsupported(&config(129));
        assert_eq!(
            why.as_deref(),
            Some("keys of 129 bits are not supported on raw yet, only keys of up to 128")
        );
    }
}

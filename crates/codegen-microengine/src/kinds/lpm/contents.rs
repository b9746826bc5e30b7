//! The contents of `lpm` in memory: a trie, and the values that do not fit into its entries.
//!
//! ```text
//! trie ... | value of `miss` | value | ...
//! ```
//!
//! Values of at most 31 bits are in the entries of the trie. For wider values an entry has the
//! address of the value, which is even, and a value has an even number of words.

use std::any::Any;
use std::collections::HashMap;
use std::sync::PoisonError;

use wireloom_bits::Bits;
use wireloom_codegen::trie::{self, Key, Route};
use wireloom_offloads::kinds::lpm::Lpm;
use wireloom_offloads::{Config, Instance};

use super::super::declared::{key_width, value_width};
use crate::words::{self, halves};

/// The width in bits of the widest values that fit into an entry.
pub const ENTRY_BITS: u32 = 31;
/// The width in bits of the widest keys that are looked up in registers.
pub const KEY_BITS: u32 = 128;

/// Returns the width of a key in the trie. Keys too wide for registers are padded to whole words
/// with zeros in front.
pub fn padded(width: u32) -> u32 {
    if width <= KEY_BITS { width } else { width.next_multiple_of(32) }
}

/// Returns the words of an instance, from word address `base` on, at most `words`.
///
/// # Errors
/// If it needs more words.
pub fn prefixes(
    config: &Config,
    instance: &mut dyn Instance,
    base: u32,
    words: u32,
) -> Result<Vec<u32>, String> {
    let any: &dyn Any = instance;
    let lpm = any.downcast_ref::<Lpm>().ok_or("it has no prefixes")?;
    let width = key_width(config);
    if width <= KEY_BITS {
        let key = |bits: Bits| {
            bits.to_u128().and_then(|key| key.checked_shl(KEY_BITS - width)).unwrap_or(0)
        };
        return image(config, lpm, key, base, words);
    }
    image(config, lpm, |bits| bits.resize(padded(width)), base, words)
}

fn image<K: Key>(
    config: &Config,
    lpm: &Lpm,
    key: impl Fn(Bits) -> K,
    base: u32,
    words: u32,
) -> Result<Vec<u32>, String> {
    let width = key_width(config);
    let value_width = value_width(config);
    let is_in_entry = value_width <= ENTRY_BITS;
    let miss = config.param("miss").resize(value_width);
    // Each value is stored once, in the order of first use.
    let mut values: Vec<Bits> = vec![miss.clone()];
    let mut known = HashMap::from([(miss.clone(), 0)]);
    let mut routes = Vec::new();
    let table = lpm.table();
    let table = table.lock().unwrap_or_else(PoisonError::into_inner);
    table.for_each(&mut |bits: Bits, length, value: Bits| {
        let number = if is_in_entry {
            value.low_u64() as u32
        } else {
            *known.entry(value).or_insert_with_key(|value| {
                values.push(value.clone());
                values.len() as u32 - 1
            })
        };
        let length = length + padded(width) - width;
        routes.push(Route { key: key(bits), length, value: number });
    });
    let first = if is_in_entry { miss.low_u64() as u32 } else { 0 };
    let image = trie::image(padded(width), &routes, first, base, words as usize);
    let mut image = image.map_err(|why| why.to_string())?;
    if !is_in_entry {
        let stride = words::count(value_width).next_multiple_of(2);
        let from = (base as usize + image.len()).next_multiple_of(2) as u32;
        for entry in image.iter_mut().filter(|entry| **entry & trie::POINTER == 0) {
            *entry = from + *entry * stride as u32;
        }
        image.resize((from - base) as usize, 0);
        for value in &values {
            let end = image.len() + stride;
            image.extend(halves(value));
            image.resize(end, 0);
        }
    }
    Ok(image)
}

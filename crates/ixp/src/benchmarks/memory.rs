//! The memory layout of the benchmarks.

use super::contents::Contents;
use super::mapping::Threads;
use super::{automaton, routes};
use crate::chip::Chip;
use crate::units::hash::product;

// Word addresses in SRAM.
const PORTS: u32 = 0x100;
const NEXT_HOPS: u32 = 0x200;
const THREADS: u32 = 0x800;
const FRAMES: u32 = 0x900;
const RING: u32 = 0x1000;
/// Buffers have numbers, not addresses: buffer n begins at granule 256 n of SDRAM.
const BUFFERS: u32 = 0x1000;
const BUCKETS: u32 = 0x1_0000;
const BUCKET_COUNT: u32 = 0x4000;
const BINDINGS: u32 = 0x2_0000;
const TRIE: u32 = 0x1_0000;
/// The granule of SDRAM at which the automaton begins.
const AUTOMATON: u32 = 0x18_0000;

/// The number of buffers, less than the places of the ring.
const BUFFER_COUNT: u32 = 1000;
const RING_PLACES: u32 = 1024;

/// The SRAM lists of free buffers and free bindings.
pub const FREE_BUFFERS: usize = 0;
const FREE_BINDINGS: usize = 1;

/// The names that the programs import, with their values.
pub fn imports(contents: &Contents) -> Vec<(&'static str, u32)> {
    let outside = match contents {
        Contents::Nat { outside, .. } => u32::from_be_bytes(*outside),
        _ => 0,
    };
    vec![
        ("PORTS", PORTS),
        ("NEXT_HOPS", NEXT_HOPS),
        ("THREADS", THREADS),
        ("RING", RING),
        ("FRAMES", FRAMES),
        ("OUTSIDE", outside),
        ("BUCKETS", BUCKETS),
        ("BINDINGS", BINDINGS),
        ("TRIE", TRIE),
        ("AUTOMATON", AUTOMATON),
    ]
}

/// Fills the memories.
///
/// # Errors
/// A sentence that says what does not fit.
pub fn fill<E>(chip: &mut Chip<E>, threads: &Threads, contents: &Contents) -> Result<(), String> {
    let sram = chip.sram.words_mut();
    for (thread, wanted) in threads.requests() {
        put("sram", sram, THREADS + 4 * thread.number(), &[wanted.word()])?;
    }
    for (thread, words) in threads.senders() {
        put("sram", sram, THREADS + 4 * thread.number(), &words)?;
    }
    for place in 0..RING_PLACES {
        put("sram", sram, RING + 4 * place, &[0, 0, 0, threads.sender(place).number()])?;
    }
    match contents {
        Contents::Ipfwdr { ports, routes, next_hops } => {
            if ports.len() > 16 || next_hops.len() > 256 {
                return Err("there is room for 16 ports and 256 next hops".to_owned());
            }
            let words: Vec<u32> = ports.iter().flat_map(routes::port).collect();
            put("sram", sram, PORTS, &words)?;
            let words: Vec<u32> = next_hops.iter().flat_map(routes::next_hop).collect();
            put("sram", sram, NEXT_HOPS, &words)?;
            put("sram", sram, TRIE, &routes::trie(TRIE, routes)?)?;
        }
        Contents::Url(patterns) => {
            let rows = automaton::rows(AUTOMATON, patterns)?;
            put("sdram", chip.sdram.words_mut(), 2 * AUTOMATON, &rows)?;
        }
        Contents::Nat { bindings, .. } => {
            let first = 1 + bindings.len() as u32;
            if first > Contents::BINDINGS {
                return Err(format!("there is room for {} bindings", Contents::BINDINGS - 1));
            }
            let multiplier = chip.hash.multipliers[1];
            for (place, binding) in bindings.iter().enumerate() {
                let address = u32::from_be_bytes(binding.address);
                let key = u32::from(binding.protocol) << 16 | u32::from(binding.port);
                let key_bits = u128::from(address) << 32 | u128::from(key);
                let hash = product(key_bits, multiplier, 64);
                let bucket = BUCKETS + hash as u32 % BUCKET_COUNT;
                let at = BINDINGS + 4 * (1 + place as u32);
                let head = sram.get(bucket as usize).copied().unwrap_or_default();
                put("sram", sram, at, &[address, key, head])?;
                put("sram", sram, bucket, &[at])?;
            }
            // The first binding goes last onto the list: a pop takes the newest entry.
            let free = (first..Contents::BINDINGS).rev().map(|binding| BINDINGS + 4 * binding);
            fill_list(chip, FREE_BINDINGS, free)?;
        }
        Contents::Md4 => {}
    }
    fill_list(chip, FREE_BUFFERS, (0..BUFFER_COUNT).map(|buffer| BUFFERS + buffer))?;
    // The buffer with the highest number must fit.
    let words = 512 * (BUFFERS + BUFFER_COUNT);
    if words as usize > chip.sdram.words().len() {
        return Err(format!("sdram: the buffers end at word {words}, beyond the memory"));
    }
    Ok(())
}

fn put(memory: &str, words: &mut [u32], at: u32, values: &[u32]) -> Result<(), String> {
    let size = words.len();
    let place = words.get_mut(at as usize..at as usize + values.len());
    place
        .ok_or_else(|| {
            let end = at as usize + values.len();
            format!("{memory}: the tables end at word {end}, and the memory has {size}")
        })?
        .copy_from_slice(values);
    Ok(())
}

fn fill_list<E>(
    chip: &mut Chip<E>,
    list: usize,
    values: impl Iterator<Item = u32>,
) -> Result<(), String> {
    let found = chip.sram.list_mut(list);
    found.ok_or_else(|| format!("sram: there is no list {list}; set `sram.lists`"))?.extend(values);
    Ok(())
}

//! What is in the memory of each kind of offload: how many words, where, and which; and back.

use std::any::Any;

use wireloom_bits::Bits;
use wireloom_offloads::kinds::matching::Match;
use wireloom_offloads::kinds::meter::{Meter, Used};
use wireloom_offloads::{Config, Entry, EntryKey, Instance, Row};

use super::super::routines::meter;
use super::super::words;
use super::prefixes::prefixes;
use super::{Place, Region, Unit, park, tables};

/// What an offload wants of the memories.
pub(super) struct Wanted {
    /// Words of each memory in which it can be, for what is in it now; the best one first.
    pub words: Vec<(Unit, u64)>,
    /// Whether other contents take another number of words.
    pub grows: bool,
}

const SRAM: &[Unit] = &[Unit::Sram];
const ANY: &[Unit] = &[Unit::Sram, Unit::Sdram];

/// What an offload wants; nothing if it needs no memory. `most` is the words of the largest memory.
///
/// # Errors
/// What has no place.
pub(super) fn wanted(
    config: &Config,
    instance: &mut dyn Instance,
    most: u32,
) -> Result<Option<Wanted>, String> {
    let each = |units: &[Unit], words| units.iter().map(|unit| (*unit, words)).collect();
    let fixed = |words, units| Ok(Some(Wanted { words: each(units, words), grows: false }));
    let grows =
        |words: usize, units| Ok(Some(Wanted { words: each(units, words as u64), grows: true }));
    match config.kind.as_str() {
        "array" | "counter" => {
            let words = elements(config).ok_or("a command reads 8 words at most")?;
            fixed(words, if config.kind == "counter" { SRAM } else { ANY })
        }
        "lpm" => grows(prefixes(config, instance, 0, most)?.len(), ANY),
        "exact" => {
            let words = tables::wanted(config)?;
            let words = vec![(Unit::Sram, words), (Unit::Sdram, 2 * words)];
            Ok(Some(Wanted { words, grows: false }))
        }
        "park" => {
            let words = vec![(Unit::Sdram, park::wanted(config))];
            Ok(Some(Wanted { words, grows: false }))
        }
        "meter" => fixed(config.param("size").low_u64() << meter::SHIFT, SRAM),
        "bloom" => fixed(config.param("size").low_u64().div_ceil(32), SRAM),
        "match" => grows(automaton(config, instance, 0)?.len(), SRAM),
        "payload" | "hash" | "checksum" | "clock" | "random" => Ok(None),
        kind => Err(format!("offloads of kind `{kind}` are not realised on microengines yet")),
    }
}

/// The words of an array or of counters; none if an element has more than a command reads.
pub(super) fn elements(config: &Config) -> Option<u64> {
    let own = element_words(config);
    let words = config.param("size").low_u64() * own.next_power_of_two() as u64;
    (own <= 8).then_some(words)
}

/// Where the parts of an offload are.
pub(super) fn place(config: &Config, region: Region) -> Place {
    let Region { unit, first, .. } = region;
    match config.kind.as_str() {
        "lpm" => Place::Trie { unit, base: first },
        "exact" => Place::Table { unit, base: first / quad(unit) },
        "park" => Place::Park { base: first / quad(unit) },
        "bloom" => Place::Bits { base: first },
        "meter" => Place::Meters { base: first, size: config.param("size").low_u64() as u32 },
        "match" => Place::Automaton { classes: first, start: first + CLASSES },
        _ => {
            let shift = element_words(config).next_power_of_two().trailing_zeros();
            let size = config.param("size").low_u64() as u32;
            Place::Elements { unit, base: first, shift, size }
        }
    }
}

/// The words of an offload's contents.
///
/// # Errors
/// If they are more than there are.
pub(super) fn image(
    config: &Config,
    instance: &mut dyn Instance,
    region: Region,
    multiplier: u64,
) -> Result<Vec<u32>, String> {
    let image = match config.kind.as_str() {
        "lpm" => prefixes(config, instance, region.first, region.words)?,
        "exact" => {
            let words = quad(region.unit);
            let base = region.first / words;
            let all = tables::image(config, instance, base, multiplier)?;
            match region.unit {
                Unit::Sdram => all.into_iter().flat_map(|word| [word, 0]).collect(),
                _ => all,
            }
        }
        "park" => park::image(config, instance, region.first / quad(region.unit), multiplier)?,
        "match" => automaton(config, instance, region.first)?,
        "meter" => meters(config, instance)?,
        "bloom" => rows(instance, region.words, 1, |row, word| {
            word[0] = row.fields[0].1.low_u64() as u32;
        }),
        kind => {
            let own = element_words(config);
            let is_counter = kind == "counter";
            let entries = |instance: &dyn Instance, row: &Row| instance.entry(row).value;
            let instance = &*instance;
            rows(instance, region.words, own.next_power_of_two(), |row, words| {
                let halves = halves(&entries(instance, row));
                words[..own].copy_from_slice(&halves[..own]);
                if is_counter {
                    // `calls::counter` has the order.
                    words.rotate_left(2);
                    words.swap(1, 2);
                }
            })
        }
    };
    match image.len() > region.words as usize {
        true => Err(format!("its {} words are more than its {}", image.len(), region.words)),
        false => Ok(image),
    }
}

/// Takes back what packets have changed: `word` reads a word of the memories.
pub(super) fn read_back(
    config: &Config,
    instance: &mut dyn Instance,
    place: Place,
    word: impl Fn(Unit, u32) -> u32,
) {
    // Elements and words of filters always have a place.
    match place {
        Place::Bits { base } => {
            for number in 0..config.param("size").low_u64().div_ceil(32) {
                let value = Bits::new(32, u128::from(word(Unit::Sram, base + number as u32)));
                let _ = instance.load(Entry { key: EntryKey::Index(number), value });
            }
        }
        Place::Meters { base, size } => {
            let any: &mut dyn Any = instance;
            let Some(meters) = any.downcast_mut::<Meter>() else { return };
            for index in 0..size {
                let at = |word| base + (index << meter::SHIFT) + word;
                let long = |first| {
                    let [low, high] = [0_u32, 1].map(|half| word(Unit::Sram, at(first + half)));
                    u64::from(high) << 32 | u64::from(low)
                };
                let last_ns = long(4) * SECOND + u64::from(word(Unit::Sram, at(6)));
                // The chip's buckets are those of the declaration.
                let used = Used { committed: long(0), other: long(2), last_ns };
                let _ = meters.set_used(index.into(), used);
            }
        }
        Place::Table { unit, base } => {
            tables::read_back(config, instance, base, |at| word(unit, at * quad(unit)));
        }
        Place::Park { base } => {
            park::read_back(config, instance, base, |at| word(Unit::Sdram, at));
        }
        Place::Elements { unit, base, shift, size } => {
            let own = element_words(config) as u32;
            let is_counter = config.kind == "counter";
            let width = if is_counter { 128 } else { width(config) };
            for index in 0..size {
                let at = base + (index << shift);
                let mut words: Vec<u32> = (at..at + own).map(|at| word(unit, at)).collect();
                if is_counter {
                    words.swap(1, 2);
                    words.rotate_left(2);
                }
                let key = EntryKey::Index(index.into());
                let _ = match words.iter().all(|word| *word == 0) {
                    true => instance.unload(&key).map(|_| ()),
                    false => instance.load(Entry { key, value: bits(width, &words) }),
                };
            }
        }
        _ => {}
    }
}

const SECOND: u64 = 1_000_000_000;

/// Meters with their rates.
fn meters(config: &Config, instance: &dyn Instance) -> Result<Vec<u32>, String> {
    let any: &dyn Any = instance;
    let meters = any.downcast_ref::<Meter>().ok_or("it has no meters")?;
    let has_two_rates = config.param("rates").low_u64() == 2;
    let words = |index| {
        let (rates, used) = (meters.rates(index), meters.used(index));
        let other = if has_two_rates { rates.pbs } else { rates.ebs };
        let all = [
            used.committed,
            used.other,
            used.last_ns / SECOND,
            used.last_ns % SECOND,
            rates.cir,
            rates.cbs,
            rates.pir,
            other,
        ];
        all.into_iter().flat_map(|word| [word as u32, (word >> 32) as u32])
    };
    Ok((0..meters.size() as u64).flat_map(words).collect())
}

/// The words of memory for a word of a table.
fn quad(unit: Unit) -> u32 {
    if unit == Unit::Sdram { 2 } else { 1 }
}

/// Words of equal parts, each made by a row.
fn rows(
    instance: &dyn Instance,
    words: u32,
    stride: usize,
    mut fill: impl FnMut(&Row, &mut [u32]),
) -> Vec<u32> {
    let mut image = vec![0; words as usize];
    instance.for_each_row(&mut |row| {
        if let EntryKey::Index(index) = row.key {
            fill(&row, &mut image[index as usize * stride..][..stride]);
        }
    });
    image
}

/// The width of an element.
fn width(config: &Config) -> u32 {
    config.value.as_ref().map_or(0, |layout| layout.width())
}

/// The words of an element.
fn element_words(config: &Config) -> usize {
    if config.kind == "counter" { 4 } else { words::count(width(config)) }
}

/// The words of a value, the low one first.
fn halves(value: &Bits) -> Vec<u32> {
    value.words().flat_map(|word| [word as u32, (word >> 32) as u32]).collect()
}

/// A value of words, the low one first.
fn bits(width: u32, halves: &[u32]) -> Bits {
    let pair = |pair: &[u32]| {
        let high = pair.get(1).copied().unwrap_or(0);
        u64::from(high) << 32 | u64::from(pair[0])
    };
    Bits::from_words(width, &halves.chunks(2).map(pair).collect::<Vec<_>>())
}

/// Words with the classes of bytes.
const CLASSES: u32 = 256;

/// The automaton of patterns, from word address `base` on; `Scan` has the layout. The row of the
/// first state comes first, whatever the patterns are.
fn automaton(config: &Config, instance: &mut dyn Instance, base: u32) -> Result<Vec<u32>, String> {
    let width = width(config);
    if width > 128 {
        return Err("values of at most 128 bits have a place".into());
    }
    let any: &mut dyn Any = instance;
    let patterns = any.downcast_mut::<Match>().ok_or("it has no patterns")?;
    let found = patterns.walk().ok_or("it has too many patterns")?;
    let count = found.class_count;
    let rows = found.next.len() as u32 / count;
    // The row of state 0, which ends a search, is not read: it changes its place with the first.
    let begin = found.start / count;
    let placed = |number: u32| match number {
        0 => begin,
        number if number == begin => 0,
        number => number,
    };
    let row = |state: u32| base + CLASSES + placed(state / count) * (count + 1);
    let mut image: Vec<u32> = found.classes.iter().map(|class| u32::from(*class) + 1).collect();
    let records = base + CLASSES + rows * (count + 1);
    let record = words::count(width) as u32 + 1;
    let is_match = |state: u32| state != 0 && state <= found.last_match;
    for state in (0..rows).map(placed) {
        let first = state * count;
        image.push(match is_match(first) {
            true => records + record * found.patterns[state as usize],
            false => 0,
        });
        image.extend(found.next[first as usize..][..count as usize].iter().map(
            |next| match *next {
                0 => 0,
                next if is_match(next) => row(next) | 1 << 31,
                next => row(next),
            },
        ));
    }
    for (length, value) in found.lengths.iter().zip(&found.values) {
        image.push(*length);
        image.extend(halves(value).into_iter().chain([0; 4]).take(record as usize - 1));
    }
    Ok(image)
}

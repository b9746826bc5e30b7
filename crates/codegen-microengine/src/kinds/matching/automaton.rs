//! The automaton of `match` in SRAM, in the layout of [`Scan`](super::scan::Scan).

use std::any::Any;

use wireloom_offloads::kinds::matching::Match;
use wireloom_offloads::{Config, Instance};

use super::super::declared::value_width;
use crate::words::{self, halves};

/// The number of words with the classes of bytes.
pub const CLASSES: u32 = 256;

/// Returns the automaton of the patterns, from word address `base` on. The row of the first state
/// comes first.
pub fn automaton(
    config: &Config,
    instance: &mut dyn Instance,
    base: u32,
) -> Result<Vec<u32>, String> {
    let width = value_width(config);
    if width > 128 {
        return Err("values of more than 128 bits are not supported".into());
    }
    let any: &mut dyn Any = instance;
    let patterns = any.downcast_mut::<Match>().ok_or("it has no patterns")?;
    let found = patterns.walk().ok_or("it has too many patterns")?;
    let count = found.class_count;
    let rows = found.next.len() as u32 / count;
    // The row of state 0, which ends a search, is never read, so it trades places with the row of
    // the first state.
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
        image.extend(halves(value).chain([0; 4]).take(record as usize - 1));
    }
    Ok(image)
}

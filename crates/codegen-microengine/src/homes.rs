//! Where a thread keeps what has no register: in its frame in SRAM, and nearer on version 2 in local memory, on
//! version 1 in the scratchpad.
//!
//! Words of the frame are numbered from 0 on, those of a thread's local memory from [`LOCAL`] on. The
//! context and the values of steps take them in this order:
//!
//! ```text
//! frame   3      24                  178             512
//!         | values | context, values | not for them | context, values ...
//! local   0      8                   words - 24      words
//!         | values | context         | values        |
//! ```
//!
//! Local memory has what is at most 128 bits wide: instructions name its words. What is wider, and arrays
//! of the context, are reached by commands with computed addresses, and so in the frame. The variables
//! that steps name most often come first. If some find no room, variables of at most 16 bits are packed: up to four
//! share a word of local memory. In the frame they would cost a read of SRAM more for each write. The header
//! window may be there too (`window.rs`), after the words of all contexts that this is about. If the steps are spread over
//! engines, neither is in local memory, since each engine has its own, unless the parts are a chain: packets take both along
//! (`carried.rs`).
//!
//! The words of a thread of version 1 in the scratchpad are numbered from [`LOCAL`] on too. They take commands as the
//! frame does, and so each may have any place, but fewer cycles; what they take leaves SRAM free for the window
//! and for tables. All engines reach them.

use std::collections::BTreeSet;
use std::ops::Range;

use wireloom_codegen::context;
use wireloom_codegen::steps::ops;
use wireloom_ir::{Engine, OpKind};

use super::frame;
use super::wide::is_wide;
use super::window;
use super::words;

/// Words from here on are in local memory.
pub const LOCAL: u32 = 1 << 24;
/// Words of local memory that one pointer reaches.
pub const GROUP: u32 = 16;
/// The first words of the frame are the number of the packet, its port, and jumps back: the runtime
/// sets them. Then words for values, the nearest first: numbers up to 31 need no register. Then the context.
const VALUES: u32 = 3;
const VARIABLES: u32 = 24;
/// Words of local memory for values, before the context and after it.
const BEFORE: u32 = 8;
const AFTER: u32 = 24;

/// Local memory of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Local {
    /// Words, a multiple of [`GROUP`]; 0 on version 1.
    pub words: u32,
    /// Whether the context may be there: all steps are in one control store.
    pub has_context: bool,
    /// Whether the header window may be there: likewise.
    pub has_window: bool,
    /// Whether the words are in the scratchpad (version 1): all engines reach them, by commands.
    pub is_scratch: bool,
}

impl Local {
    /// Local memory of so many words, for all that may be there.
    pub fn of(words: u32) -> Self {
        Self { words, has_context: words > 0, has_window: words > 0, is_scratch: false }
    }

    /// Words of the scratchpad instead, for the context and for values.
    pub fn of_scratchpad(words: u32) -> Self {
        Self { words, has_context: words > 0, has_window: false, is_scratch: words > 0 }
    }

    /// What may be there if the steps are spread over engines: in a chain, packets take it along.
    pub fn of_part(self, is_chain: bool) -> Self {
        if is_chain || self.is_scratch {
            self
        } else {
            Self { has_context: false, has_window: false, ..self }
        }
    }

    /// Words for the context and for values, a multiple of [`GROUP`]. The window is after those of all contexts.
    pub fn values(self) -> u32 {
        if self.has_window { self.words - window::WORDS } else { self.words }
    }

    /// Words in parts that one pointer reaches each. Commands reach all words of the scratchpad.
    fn groups(self, words: Range<u32>) -> Vec<Range<u32>> {
        if self.is_scratch { vec![words] } else { groups(words) }
    }

    /// Words for values, before the context and after it.
    fn ends(self) -> [Range<u32>; 2] {
        match (self.has_window, self.is_scratch) {
            (_, true) => [0..BEFORE, self.words..self.words],
            (true, _) => [window::OWN..window::OWN + 4, self.values() - GROUP / 2..self.values()],
            (false, _) => [0..BEFORE, self.values().saturating_sub(AFTER)..self.values()],
        }
    }
}

/// Where the context is, and which words are for values of steps.
#[derive(Clone, Debug)]
pub struct Homes {
    /// The first word of each variable.
    pub variables: Vec<u32>,
    /// The byte at which a variable begins that shares its word, from the lowest.
    pub bytes: Vec<Option<u32>>,
    /// The first word of each array, with the logarithm of the words of an element.
    pub arrays: Vec<(u32, u32)>,
    /// Words of the frame that the context needs.
    pub words: u32,
    /// Whether words from [`LOCAL`] on are in the scratchpad.
    pub is_scratch: bool,
    local: Vec<Range<u32>>,
    frame: Vec<Range<u32>>,
}

/// Words of the scratchpad that a thread of version 1 has use for: its context, as far as it may be there, and values.
pub fn wanted(engine: &Engine) -> u32 {
    let narrow = engine.context.iter().filter(|variable| !is_wide(variable.width));
    let context: u32 = narrow.map(|variable| words::count(variable.width) as u32).sum();
    context + VARIABLES - VALUES
}

impl Homes {
    /// Finds places for the context of an engine.
    pub fn of(engine: &Engine, local: Local) -> Self {
        let homes = Self::placed(engine, local, false);
        let is_left = |variable: usize| {
            homes.variables[variable] < LOCAL && !is_wide(engine.context[variable].width)
        };
        // In the scratchpad a write to a part of a word would take a read more.
        let may_pack = local.has_context && !local.is_scratch;
        match may_pack && (0..engine.context.len()).any(is_left) {
            true => Self::placed(engine, local, true),
            false => homes,
        }
    }

    fn placed(engine: &Engine, local: Local, packs: bool) -> Self {
        let mut homes = Self {
            variables: vec![0; engine.context.len()],
            bytes: vec![None; engine.context.len()],
            arrays: Vec::new(),
            words: 0,
            local: local.groups(if local.has_window { window::OWN } else { 0 }..local.values()),
            is_scratch: local.is_scratch,
            frame: Vec::new(),
        };
        let mut is_local = vec![false; engine.context.len()];
        let ends = local.ends();
        if local.has_context && ends[0].end < ends[1].start {
            let mut free = local.groups(ends[0].end..ends[1].start);
            let uses = uses(engine);
            let narrow = |variable: &usize| !is_wide(engine.context[*variable].width);
            let mut order: Vec<usize> = (0..engine.context.len()).filter(narrow).collect();
            order.sort_by_key(|variable| std::cmp::Reverse(uses[*variable]));
            // Words that variables share, and how many of their bytes are taken.
            let mut shared: Vec<(u32, u32)> = Vec::new();
            for variable in order {
                let width = engine.context[variable].width;
                let size = bytes(width).next_power_of_two();
                if packs && size < 4 {
                    let begin = |taken: u32| taken.next_multiple_of(size);
                    let has_room = |(_, taken): &&mut (u32, u32)| begin(*taken) + size <= 4;
                    if let Some((word, taken)) = shared.iter_mut().find(has_room) {
                        (homes.variables[variable], homes.bytes[variable]) =
                            (*word, Some(begin(*taken)));
                        *taken = begin(*taken) + size;
                        is_local[variable] = true;
                        continue;
                    }
                }
                let count = words::count(width) as u32;
                let Some(group) = free.iter_mut().find(|group| group.len() as u32 >= count) else {
                    continue;
                };
                homes.variables[variable] = LOCAL + group.start;
                group.start += count;
                is_local[variable] = true;
                if packs && size < 4 {
                    homes.bytes[variable] = Some(0);
                    shared.push((homes.variables[variable], size));
                }
            }
            homes.local = ends.into_iter().flat_map(|end| local.groups(end)).collect();
            homes.local.extend(free.into_iter().filter(|group| !group.is_empty()));
        }
        let mut next = VARIABLES;
        let mut place = |count: u32| {
            if next < frame::CONTEXT && next + count > frame::CONTEXT {
                next = frame::WORDS;
            }
            next += count;
            next - count
        };
        for (variable, declared) in engine.context.iter().enumerate() {
            if !is_local[variable] {
                homes.variables[variable] = place(words::count(declared.width) as u32);
            }
        }
        for array in &engine.arrays {
            let stride = words::count(array.width).next_power_of_two() as u32;
            homes.arrays.push((place(stride * array.count), stride.trailing_zeros()));
        }
        homes.words = next;
        // A value does not lie on both sides of the context.
        homes.frame.push(VALUES..VARIABLES);
        if next < frame::CONTEXT {
            homes.frame.push(next..frame::CONTEXT);
        }
        homes.frame.push(next.max(frame::WORDS)..LOCAL);
        homes
    }

    /// The word of local memory that this is, if it is one.
    pub fn local(&self, word: u32) -> Option<u32> {
        word.checked_sub(LOCAL).filter(|_| !self.is_scratch)
    }

    /// For each step, the words of local memory with variables that it or a later one may read before they are written.
    pub fn live(&self, engine: &Engine) -> Vec<BTreeSet<u32>> {
        let words = |variable: usize| {
            let first = self.variables[variable].checked_sub(LOCAL);
            let count = words::count(engine.context[variable].width) as u32;
            first.into_iter().flat_map(move |first| first..first + count)
        };
        let live = context::live(engine).into_iter();
        live.map(|variables| variables.into_iter().flat_map(words).collect()).collect()
    }

    /// The words of these arrays, as ranges that do not touch.
    pub fn ranges(&self, engine: &Engine, arrays: Range<usize>) -> Vec<Range<u32>> {
        let mut ranges: Vec<Range<u32>> = Vec::new();
        for array in arrays {
            let (first, shift) = self.arrays[array];
            let end = first + (engine.arrays[array].count << shift);
            match ranges.last_mut() {
                Some(last) if last.end == first => last.end = end,
                _ => ranges.push(first..end),
            }
        }
        ranges
    }
}

/// Bytes of so many bits.
pub fn bytes(width: u32) -> u32 {
    width.div_ceil(8)
}

/// Words of local memory in parts that one pointer reaches each.
fn groups(words: Range<u32>) -> Vec<Range<u32>> {
    let first = words.start / GROUP;
    (first..words.end.div_ceil(GROUP))
        .map(|group| {
            let end = (group + 1) * GROUP;
            words.start.max(group * GROUP)..words.end.min(end)
        })
        .collect()
}

/// How often the operations of all steps name each variable.
fn uses(engine: &Engine) -> Vec<usize> {
    let mut uses = vec![0; engine.context.len()];
    for op in engine.steps.iter().flat_map(ops) {
        if let OpKind::ReadContext(id) | OpKind::WriteContext(id, _) = &op.kind {
            uses[id.index()] += 1;
        }
    }
    uses
}

/// The words that values of a step have taken.
#[derive(Debug, Default)]
pub struct Room {
    taken: Vec<Range<u32>>,
}

impl Room {
    /// Takes words that follow each other: of local memory if there are any and `may_be_local`,
    /// otherwise of the frame.
    pub fn take(&mut self, homes: &Homes, count: u32, may_be_local: bool) -> Range<u32> {
        let near = homes.local.iter().filter(|_| may_be_local);
        let near = near.map(|range| LOCAL + range.start..LOCAL + range.end);
        let mut found = near.chain(homes.frame.iter().cloned());
        let own = found.find_map(|range| self.first(range, count));
        let own = own.expect("a frame has no end");
        self.taken.push(own.clone());
        own
    }

    fn first(&self, range: Range<u32>, count: u32) -> Option<Range<u32>> {
        let mut own = range.start..range.start + count;
        while own.end <= range.end {
            let other =
                self.taken.iter().find(|other| other.start < own.end && own.start < other.end);
            let Some(other) = other else { return Some(own) };
            own = other.end..other.end + count;
        }
        None
    }

    /// Gives words back.
    pub fn free(&mut self, own: &Range<u32>) {
        self.taken.retain(|taken| taken != own);
    }
}

#[cfg(test)]
mod tests {
    use super::{GROUP, Homes, LOCAL, Room, groups};

    #[test]
    fn a_value_lies_in_one_group_of_local_memory() {
        assert_eq!(groups(8..56), [8..16, 16..32, 32..48, 48..56]);
        let homes = Homes {
            variables: Vec::new(),
            bytes: Vec::new(),
            arrays: Vec::new(),
            words: 24,
            is_scratch: false,
            local: groups(0..2 * GROUP),
            frame: vec![3..24, 512..LOCAL],
        };
        let mut room = Room::default();
        let first = room.take(&homes, 14, true);
        assert_eq!(first, LOCAL..LOCAL + 14);
        // Two words are left in the first group.
        assert_eq!(room.take(&homes, 3, true), LOCAL + 16..LOCAL + 19);
        assert_eq!(room.take(&homes, 2, true), LOCAL + 14..LOCAL + 16);
        // What commands address is in the frame, and so is what has no room.
        assert_eq!(room.take(&homes, 8, false), 3..11);
        assert_eq!(room.take(&homes, 14, true), 512..526);
        room.free(&first);
        assert_eq!(room.take(&homes, 4, true), LOCAL..LOCAL + 4);
    }
}

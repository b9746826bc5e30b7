//! Spill slots: the places of context variables and of values without a register. They are in the
//! thread's frame in SRAM; on version 2 also in local memory, and on version 1 in the scratchpad,
//! which are faster.
//!
//! Words of the frame have numbers from 0 on, and words of a thread's local memory have numbers
//! from [`LOCAL`] on. The context and the values of steps take them in this order:
//!
//! ```text
//! frame   3      24                  178             512
//!         | values | context, values | not for them | context, values ...
//! local   0      8                   words - 24      words
//!         | values | context         | values        |
//! ```
//!
//! Local memory holds variables and values of at most 128 bits, since instructions name its words.
//! Wider ones and arrays of the context are in the frame, since commands with computed addresses
//! access them. The variables that steps name most often come first. If some do not fit, variables
//! of at most 16 bits are packed: up to four share a word of local memory. In the frame a packed
//! variable would cost another read of SRAM for each write. The header window may be in local
//! memory too (`window.rs`), after these words of all contexts. If the steps are spread over
//! engines, neither is in local memory, since each engine has its own. In a chain both are, since
//! packets take them along (`context_handover.rs`).
//!
//! The words of a thread of version 1 in the scratchpad also have numbers from [`LOCAL`] on. Like
//! the frame they are accessed by commands, so any word can have any place, but with fewer cycles.
//! They leave SRAM free for the window and for tables. All engines reach them.

use std::collections::BTreeSet;
use std::ops::Range;

use wireloom_codegen::context;
use wireloom_ir::{Engine, OpKind, Step};

use super::frame;
use super::local::{CONTEXTS, GROUP};
use super::window;
use super::words::{self, is_wide};

/// Words from this number on are in local memory.
pub const LOCAL: u32 = 1 << 24;
/// The first words of the frame are the number of the packet, its port, and the count of jumps
/// back, which the runtime sets. Words for values follow, since constants up to 31 in an address
/// need no register. Then comes the context.
const VALUES: u32 = 3;
const VARIABLES: u32 = 24;
/// The numbers of words of local memory for values, before the context and after it.
const BEFORE: u32 = 8;
const AFTER: u32 = 24;

/// The local memory of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Local {
    /// The number of words, a multiple of [`GROUP`]; 0 on version 1.
    pub words: u32,
    /// Whether the context may be there. That needs all steps in one control store, or a chain.
    pub has_context: bool,
    /// Whether the header window may be there. That needs the same.
    pub has_window: bool,
    /// Whether the words are in the scratchpad (version 1), which all engines reach by commands.
    pub is_scratch: bool,
}

impl Local {
    /// Returns local memory of `words` words, which may hold everything.
    pub fn of(words: u32) -> Self {
        Self { words, has_context: words > 0, has_window: words > 0, is_scratch: false }
    }

    /// Returns words of the scratchpad, for the context and for values.
    pub fn of_scratchpad(words: u32) -> Self {
        Self { words, has_context: words > 0, has_window: false, is_scratch: words > 0 }
    }

    /// Returns the uses that remain if the steps are spread over engines. In a chain all remain,
    /// since packets take the contents along.
    pub fn of_part(self, is_chain: bool) -> Self {
        if is_chain || self.is_scratch {
            self
        } else {
            Self { has_context: false, has_window: false, ..self }
        }
    }

    /// Returns the number of words for the context and for values, a multiple of [`GROUP`]. The
    /// window follows the words of all contexts.
    pub fn values(self) -> u32 {
        if self.has_window { self.words - window::WORDS } else { self.words }
    }

    /// Returns the byte of the window in the frame less its byte address in local memory, for
    /// context 0.
    pub fn window_base(self) -> u32 {
        4 * (window::FIRST - CONTEXTS * self.values())
    }

    /// Splits words into parts that one pointer reaches. Commands reach all words of the
    /// scratchpad.
    fn groups(self, words: Range<u32>) -> Vec<Range<u32>> {
        if self.is_scratch { vec![words] } else { groups(words) }
    }

    /// Returns the words for values, before the context and after it.
    fn ends(self) -> [Range<u32>; 2] {
        match (self.has_window, self.is_scratch) {
            (_, true) => [0..BEFORE, self.words..self.words],
            (true, _) => [window::OWN..window::OWN + 4, self.values() - GROUP / 2..self.values()],
            (false, _) => [0..BEFORE, self.values().saturating_sub(AFTER)..self.values()],
        }
    }
}

/// The places of the context, and the words for values of steps.
#[derive(Clone, Debug)]
pub struct Homes {
    /// The first word of each variable.
    pub variables: Vec<u32>,
    /// The first byte of a variable that shares its word, counted from the lowest byte.
    pub bytes: Vec<Option<u32>>,
    /// The first word of each array, with the logarithm of the words of an element.
    pub arrays: Vec<(u32, u32)>,
    /// The number of words of the frame that the context needs.
    pub words: u32,
    /// Whether words from [`LOCAL`] on are in the scratchpad.
    pub is_scratch: bool,
    local: Vec<Range<u32>>,
    frame: Vec<Range<u32>>,
}

/// Returns the first word, from `next` on, with room for `count` words of the context: before the words
/// with a meaning of their own, or after the frame.
fn fitting(next: u32, count: u32) -> u32 {
    let crosses = next <= frame::CONTEXT && next + count > frame::CONTEXT;
    if crosses { frame::WORDS } else { next }
}

/// Returns the number of words of the scratchpad that a thread of version 1 can use: for its narrow
/// variables and for values.
pub fn wanted(engine: &Engine) -> u32 {
    let narrow = engine.context.iter().filter(|variable| !is_wide(variable.width));
    let context: u32 = narrow.map(|variable| words::count(variable.width) as u32).sum();
    context + VARIABLES - VALUES
}

impl Homes {
    /// Returns places for the context of an engine.
    pub fn of(engine: &Engine, local: Local) -> Self {
        let homes = Self::placed(engine, local, false);
        let is_left = |variable: usize| {
            homes.variables[variable] < LOCAL && !is_wide(engine.context[variable].width)
        };
        // In the scratchpad a write to a part of a word would need another read.
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
            // Words that variables share, and the number of bytes taken in each.
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
            let first = fitting(next, count);
            next = first + count;
            first
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

    /// Returns the word of local memory with this number, unless the number is in the frame or the
    /// scratchpad.
    pub fn local(&self, word: u32) -> Option<u32> {
        word.checked_sub(LOCAL).filter(|_| !self.is_scratch)
    }

    /// Returns, for each step, the words of local memory with variables that it or a later step may
    /// read before they are written.
    pub fn live(&self, engine: &Engine) -> Vec<BTreeSet<u32>> {
        let words = |variable: usize| {
            let first = self.variables[variable].checked_sub(LOCAL);
            let count = words::count(engine.context[variable].width) as u32;
            first.into_iter().flat_map(move |first| first..first + count)
        };
        let live = context::live(engine).into_iter();
        live.map(|variables| variables.into_iter().flat_map(words).collect()).collect()
    }

    /// Returns the words of these arrays as ranges that do not touch.
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

/// Returns the number of bytes of `width` bits.
pub fn bytes(width: u32) -> u32 {
    width.div_ceil(8)
}

/// Splits words of local memory into parts that one pointer reaches.
fn groups(words: Range<u32>) -> Vec<Range<u32>> {
    let first = words.start / GROUP;
    (first..words.end.div_ceil(GROUP))
        .map(|group| {
            let end = (group + 1) * GROUP;
            words.start.max(group * GROUP)..words.end.min(end)
        })
        .collect()
}

/// Returns how often the operations of all steps name each variable.
fn uses(engine: &Engine) -> Vec<usize> {
    let mut uses = vec![0; engine.context.len()];
    for op in engine.steps.iter().flat_map(Step::ops) {
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
    /// Takes consecutive words: of local memory if `may_be_local` and enough are free, otherwise of
    /// the frame.
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
    use super::super::frame::{CONTEXT, WORDS};
    use super::super::local::GROUP;
    use super::{Homes, LOCAL, Room, VARIABLES, fitting, groups};

    #[test]
    fn the_context_leaves_out_the_words_with_a_meaning_of_their_own() {
        for count in 1..=CONTEXT {
            let mut next = VARIABLES;
            for _ in 0..300 {
                let first = fitting(next, count);
                let end = first + count;
                assert!(end <= CONTEXT || first >= WORDS, "{first}..{end}");
                next = end;
            }
        }
        assert_eq!(fitting(CONTEXT - 2, 2), CONTEXT - 2, "all words are used");
    }

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
        // Values accessed by commands are in the frame, and so are values that do not fit.
        assert_eq!(room.take(&homes, 8, false), 3..11);
        assert_eq!(room.take(&homes, 14, true), 512..526);
        room.free(&first);
        assert_eq!(room.take(&homes, 4, true), LOCAL..LOCAL + 4);
    }
}

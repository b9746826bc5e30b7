//! The automaton of a `match` offload as tables, for machines that walk it themselves.

use std::collections::{HashMap, VecDeque};

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, MatchKind, StartKind};
use wireloom_bits::Bits;

use crate::lanes::words;

/// The maximum number of elements of the transition table: 16 MiB.
const MOST: usize = 1 << 22;

/// `struct wl_match` of runtime/c/match.h. The pointers refer to the vectors of [`Tables`].
#[repr(C)]
pub struct View {
    next: *const u32,
    patterns: *const u32,
    lengths: *const u32,
    values: *const u64,
    start: u32,
    last_match: u32,
    class_count: u32,
    longest: u32,
    classes: [u16; 256],
    idle: [u8; 256],
}

/// The automaton of patterns. A search begins at `start`, follows `next` for each byte, and ends at
/// state 0. The last match state on the way determines the match.
#[derive(Clone, Debug)]
pub struct Walk {
    /// For each state, the next state for each class of bytes. A state is the index of its first
    /// element.
    pub next: Vec<u32>,
    /// The pattern of each match state. The first element belongs to state 0.
    pub patterns: Vec<u32>,
    /// The number of bytes of each pattern.
    pub lengths: Vec<u32>,
    pub values: Vec<Bits>,
    /// The initial state.
    pub start: u32,
    /// The highest match state. Match states are the states from the second one to this one.
    pub last_match: u32,
    /// The number of classes of bytes.
    pub class_count: u32,
    pub classes: [u16; 256],
}

/// An automaton that finds the leftmost match; among several patterns there, it finds the first
/// one.
pub struct Tables {
    /// For each state, the next state for each class of bytes. A state is the index of its first
    /// element.
    next: Vec<u32>,
    patterns: Vec<u32>,
    lengths: Vec<u32>,
    values: Vec<u64>,
    view: View,
}

// SAFETY: the view points into the tables beside it, which nothing changes.
unsafe impl Send for Tables {}

impl Tables {
    /// Builds the automaton of these patterns and values. Returns `None` if the tables would be too
    /// large.
    pub fn new(patterns: &[(Vec<u8>, Bits)]) -> Option<Box<Self>> {
        let mut classes = [0u16; 256];
        let mut class_count = 1;
        for byte in patterns.iter().flat_map(|(bytes, _)| bytes) {
            let class = &mut classes[usize::from(*byte)];
            if *class == 0 {
                *class = class_count;
                class_count += 1;
            }
        }
        let total: usize = patterns.iter().map(|(bytes, _)| bytes.len()).sum();
        // There is one state for each prefix of a pattern, the initial state and the end state.
        if (total + 2).checked_mul(usize::from(class_count))? > MOST {
            return None;
        }
        let dfa = DFA::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .start_kind(StartKind::Unanchored)
            .prefilter(false)
            .build(patterns.iter().map(|(bytes, _)| bytes))
            .ok()?;
        let start = dfa.start_state(Anchored::No).ok()?;
        // Choose one byte of each class. Class 0 contains the bytes that occur in no pattern, if
        // any.
        let example = |class: u16| (0..=255u8).find(|byte| classes[usize::from(*byte)] == class);
        let examples: Vec<Option<u8>> = (0..class_count).map(example).collect();
        let follow = |state: StateID, byte: &Option<u8>| {
            let next = byte.map(|byte| dfa.next_state(Anchored::No, state, byte));
            next.filter(|next| !dfa.is_dead(*next))
        };
        let mut found = vec![start];
        let mut seen: HashMap<StateID, usize> = [(start, 0)].into();
        let mut open = VecDeque::from([start]);
        while let Some(state) = open.pop_front() {
            for next in examples.iter().filter_map(|byte| follow(state, byte)) {
                if let std::collections::hash_map::Entry::Vacant(place) = seen.entry(next) {
                    place.insert(found.len());
                    found.push(next);
                    open.push_back(next);
                }
            }
        }
        // Number the match states first, after state 0.
        found.sort_by_key(|state| !dfa.is_match(*state));
        let count = u32::from(class_count);
        let number: HashMap<StateID, u32> =
            found.iter().copied().zip((1..).map(|n| n * count)).collect();
        let mut next = vec![0; class_count.into()];
        let mut of_matches = vec![0];
        for state in &found {
            next.extend(
                examples.iter().map(|byte| follow(*state, byte).map_or(0, |next| number[&next])),
            );
            if dfa.is_match(*state) {
                of_matches.push(dfa.match_pattern(*state, 0).as_u32());
            }
        }
        let start = number[&start];
        let idle =
            classes.map(|class| u8::from(next[start as usize + usize::from(class)] == start));
        let null = std::ptr::null();
        let view = View {
            next: null,
            patterns: null,
            lengths: null,
            values: std::ptr::null(),
            start,
            last_match: (of_matches.len() as u32 - 1) * count,
            class_count: count,
            longest: patterns.iter().map(|(bytes, _)| bytes.len() as u32).max().unwrap_or(1),
            classes,
            idle,
        };
        let lengths = patterns.iter().map(|(bytes, _)| bytes.len() as u32).collect();
        let values =
            patterns.iter().flat_map(|(_, value)| value.words().take(words(value.width())));
        let values = values.collect();
        let mut tables = Box::new(Self { next, patterns: of_matches, lengths, values, view });
        tables.view.next = tables.next.as_ptr();
        tables.view.patterns = tables.patterns.as_ptr();
        tables.view.lengths = tables.lengths.as_ptr();
        tables.view.values = tables.values.as_ptr();
        Some(tables)
    }

    /// Returns a copy without values, for machines that put it into their own memory.
    pub fn walk(&self) -> Walk {
        Walk {
            next: self.next.clone(),
            patterns: self.patterns.clone(),
            lengths: self.lengths.clone(),
            values: Vec::new(),
            start: self.view.start,
            last_match: self.view.last_match,
            class_count: self.view.class_count,
            classes: self.view.classes,
        }
    }

    /// Returns the address of the view.
    pub fn view(&self) -> *const View {
        &raw const self.view
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pattern and the position of the match, as C code finds them.
    fn find(tables: &Tables, text: &[u8]) -> Option<(usize, usize)> {
        let view = &tables.view;
        let (mut state, mut found) = (view.start, None);
        for (at, byte) in text.iter().enumerate() {
            if state == view.start && view.idle[usize::from(*byte)] != 0 {
                continue;
            }
            state = tables.next[state as usize + usize::from(view.classes[usize::from(*byte)])];
            if state == 0 {
                break;
            }
            if state <= view.last_match {
                let pattern = tables.patterns[(state / view.class_count) as usize] as usize;
                found = Some((pattern, at + 1 - tables.lengths[pattern] as usize));
            }
        }
        found
    }

    #[test]
    fn the_tables_find_what_the_library_finds() {
        let mut random = 1u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % below
        };
        for _ in 0..300 {
            let mut patterns: Vec<(Vec<u8>, Bits)> = Vec::new();
            for _ in 0..draw(6) {
                let bytes = (0..1 + draw(5)).map(|_| b'a' + draw(3) as u8).collect();
                if patterns.iter().all(|(other, _)| *other != bytes) {
                    patterns.push((bytes, Bits::zero(8)));
                }
            }
            let tables = Tables::new(&patterns).expect("few patterns");
            let library = aho_corasick::AhoCorasick::builder()
                .match_kind(MatchKind::LeftmostFirst)
                .build(patterns.iter().map(|(bytes, _)| bytes))
                .expect("few patterns");
            for _ in 0..20 {
                let text: Vec<u8> = (0..draw(30)).map(|_| b'a' + draw(4) as u8).collect();
                let expected = library.find(&text);
                let expected = expected.map(|hit| (hit.pattern().as_usize(), hit.start()));
                assert_eq!(find(&tables, &text), expected, "{patterns:?} {text:?}");
            }
        }
    }

    #[test]
    fn too_many_patterns_have_no_tables() {
        let patterns = [((0..=255).cycle().take(1 << 16).collect(), Bits::zero(1))];
        assert!(Tables::new(&patterns).is_none());
    }
}

//! Searches in the bytes of a stream.
//!
//! An answer depends only on the position where a search begins, on the bytes before the first gap,
//! and on whether more can follow. It does not depend on the segments in which the bytes came. An
//! answer that is not [`Answer::Pending`] stays the same when more bytes arrive.
//!
//! A search that is repeated from its position, or from the one that a pending answer names,
//! continues where it stopped: each byte is read once.

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, MatchKind};
use wireloom_bits::Bits;

use super::kept::Kept;

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer<T> {
    Found(T),
    /// Bytes that have not arrived decide.
    Pending(T),
    Absent(T),
}

impl<T: Default> Answer<T> {
    /// Nothing is there, and nothing is known about later positions.
    pub(super) fn nothing() -> Self {
        Self::Absent(T::default())
    }
}

/// A match of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Match {
    /// The position of its first byte. Without a match, none begins before this position.
    pub(super) at: u32,
    pub(super) length: usize,
    /// The number of the pattern.
    pub(super) pattern: usize,
}

/// A line without its end, and without blanks at its beginning and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// The position of the first byte.
    pub(super) at: u32,
    pub(super) length: usize,
    /// The position after the end of the line.
    pub(super) next: u32,
}

/// A number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) value: u64,
    /// The position after the last digit.
    pub(super) next: u32,
}

/// An automaton that finds the leftmost match, and among several there the first of the table.
pub(super) struct Finder {
    automaton: NFA,
    start: StateID,
    /// The number of bytes of the longest pattern.
    longest: usize,
}

impl Finder {
    pub(super) fn new(patterns: &[(Vec<u8>, Bits)], nocase: bool) -> Self {
        let automaton = NFA::builder()
            .match_kind(MatchKind::LeftmostFirst)
            .ascii_case_insensitive(nocase)
            .prefilter(false)
            .build(patterns.iter().map(|(bytes, _)| bytes))
            .expect("the bytes of all patterns keep the automaton within its limits");
        let start = automaton.start_state(Anchored::No).expect("it searches without an anchor");
        Self { start, longest: automaton.max_pattern_len(), automaton }
    }

    fn next(&self, state: StateID, byte: u8) -> StateID {
        self.automaton.next_state(Anchored::No, state, byte)
    }

    /// Whether no byte can change the match that was found on the way to a state.
    fn is_settled(&self, state: StateID) -> bool {
        (0..=u8::MAX).all(|byte| self.automaton.is_dead(self.next(state, byte)))
    }
}

/// How far the last search for patterns came.
#[derive(Clone)]
pub(super) struct Finding {
    /// The position where it began, and the one that its pending answer named.
    from: [u32; 2],
    state: StateID,
    /// The position of the next byte to read.
    next: u32,
    /// The pattern that matches, and the position after it.
    hit: Option<(usize, u32)>,
    is_decided: bool,
}

/// How far the last searches in a stream came.
#[derive(Clone, Default)]
pub(super) struct Progress {
    finding: Option<Finding>,
    /// Where the last search for the end of a line began, and the next byte to read.
    line: Option<(u32, u32)>,
}

impl Progress {
    /// Forgets the search for patterns, after they have changed.
    pub(super) fn forget_patterns(&mut self) {
        self.finding = None;
    }

    /// Forgets searches that stopped before the window. Otherwise one would continue when its
    /// position comes again, after 2^32 bytes.
    pub(super) fn forget_skipped(&mut self, kept: &Kept) {
        let is_there = |next: u32| kept.offset(next).is_some();
        self.finding = self.finding.take().filter(|finding| is_there(finding.next));
        self.line = self.line.filter(|(_, next)| is_there(*next));
    }

    /// Searches for the leftmost match from a position on.
    pub(super) fn find(&mut self, kept: &Kept, finder: &Finder, from: u32) -> Answer<Match> {
        let Some(begin) = kept.offset(from) else { return Answer::nothing() };
        if begin > kept.contiguous() {
            let pending = Match { at: from, ..Match::default() };
            return if kept.is_final() { Answer::nothing() } else { Answer::Pending(pending) };
        }
        let fresh = || Finding {
            from: [from; 2],
            state: finder.start,
            next: from,
            hit: None,
            is_decided: false,
        };
        let mut finding =
            self.finding.take().filter(|last| last.from.contains(&from)).unwrap_or_else(fresh);
        let mut offset = kept.offset(finding.next).unwrap_or(begin);
        if !finding.is_decided {
            for byte in kept.bytes_from(offset) {
                finding.state = finder.next(finding.state, byte);
                offset += 1;
                if finder.automaton.is_dead(finding.state) {
                    finding.is_decided = true;
                    break;
                }
                if finder.automaton.is_match(finding.state) {
                    let pattern = finder.automaton.match_pattern(finding.state, 0).as_usize();
                    finding.hit = Some((pattern, kept.position(offset)));
                }
            }
            finding.next = kept.position(offset);
            finding.is_decided =
                finding.is_decided || finding.hit.is_some() && finder.is_settled(finding.state);
        }
        // A match that is still possible, or that a longer one may still replace, begins less than
        // the longest pattern before the next byte.
        let earliest = begin.max((offset + 1).saturating_sub(finder.longest));
        let pending = kept.position(earliest.min(offset));
        finding.from = [from, pending];
        if finding.is_decided {
            finding.from = [from; 2];
        }
        let is_decided = finding.is_decided || kept.is_final();
        let hit = finding.hit;
        self.finding = Some(finding);
        match hit {
            Some((pattern, end)) if is_decided => {
                let length = finder.automaton.pattern_len(pattern_id(pattern));
                Answer::Found(Match { at: end.wrapping_sub(length as u32), length, pattern })
            }
            None if is_decided => Answer::Absent(Match { at: pending, ..Match::default() }),
            _ => Answer::Pending(Match { at: pending, ..Match::default() }),
        }
    }

    /// Searches for the end of the line that begins at a position: a line feed, perhaps after a
    /// carriage return (RFC 9112 section 2.2).
    pub(super) fn line(&mut self, kept: &Kept, from: u32) -> Answer<Line> {
        let Some(begin) = kept.offset(from) else { return Answer::nothing() };
        let resumed = self.line.filter(|(last, _)| *last == from).map_or(from, |(_, next)| next);
        let resumed = kept.offset(resumed).unwrap_or(begin).max(begin);
        let Some(count) = kept.bytes_from(resumed).position(|byte| byte == b'\n') else {
            self.line = Some((from, kept.position(resumed.max(kept.contiguous()))));
            return if kept.is_final() {
                Answer::nothing()
            } else {
                Answer::Pending(Line::default())
            };
        };
        let end = resumed + count;
        self.line = Some((from, kept.position(end)));
        let text: Vec<u8> = kept.parts(begin..end).concat();
        let text = text.strip_suffix(b"\r").unwrap_or(&text);
        let is_text = |byte: &u8| !is_blank(*byte);
        let (first, last) = match text.iter().position(is_text) {
            Some(first) => (first, text.iter().rposition(is_text).map_or(first, |last| last + 1)),
            None => (text.len(), text.len()),
        };
        let at = kept.position(begin + first);
        Answer::Found(Line { at, length: last - first, next: kept.position(end + 1) })
    }
}

/// Returns the pattern with a number.
fn pattern_id(number: usize) -> aho_corasick::PatternID {
    aho_corasick::PatternID::new(number).expect("the automaton returned the number")
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Reads the decimal number at a position, after blanks. A byte that is no digit ends it, or the end
/// of the stream. A number that does not fit 64 bits is none.
pub(super) fn number(kept: &Kept, from: u32) -> Answer<Number> {
    let Some(begin) = kept.offset(from) else { return Answer::nothing() };
    let (mut value, mut digits) = (0u64, 0);
    for (offset, byte) in (begin..).zip(kept.bytes_from(begin)) {
        if byte.is_ascii_digit() {
            let digit = u64::from(byte - b'0');
            let Some(more) = value.checked_mul(10).and_then(|tens| tens.checked_add(digit)) else {
                return Answer::nothing();
            };
            (value, digits) = (more, digits + 1);
        } else if digits > 0 {
            return Answer::Found(Number { value, next: kept.position(offset) });
        } else if !is_blank(byte) {
            return Answer::nothing();
        }
    }
    match kept.is_final() {
        true if digits > 0 && kept.is_complete() => {
            Answer::Found(Number { value, next: kept.next() })
        }
        true => Answer::nothing(),
        false => Answer::Pending(Number::default()),
    }
}

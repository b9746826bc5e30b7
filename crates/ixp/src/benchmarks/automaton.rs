//! The automaton of `url` in SDRAM: a row of 256 words for each state, indexed by the next byte.
//!
//! A word holds the granule at which the next state's row begins, or bit 31 and the output port of
//! a pattern that ends with the byte.

use std::collections::{BTreeMap, VecDeque};

use super::contents::Pattern;

/// Words of a row.
const ROW: usize = 256;
/// Granules of 8 bytes of a row.
const GRANULES: u32 = 128;
/// The bit of a word that ends the search.
pub const FOUND: u32 = 1 << 31;

/// Returns the rows of the automaton. The first row is the start state's and begins at the granule
/// `base`.
///
/// # Errors
/// If a pattern is empty or contained in another one: the first match to end would not be the
/// leftmost.
pub fn rows(base: u32, patterns: &[Pattern]) -> Result<Vec<u32>, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    for (place, pattern) in patterns.iter().enumerate() {
        if pattern.bytes.is_empty() {
            return Err("a pattern is empty".to_owned());
        }
        let contains =
            |outer: &[u8]| outer.windows(pattern.bytes.len()).any(|w| w == pattern.bytes);
        let others = patterns.iter().enumerate().filter(|(other, _)| *other != place);
        if let Some((_, outer)) = others.clone().find(|(_, outer)| contains(&outer.bytes)) {
            return Err(format!(
                "pattern '{}' is contained in pattern '{}': leave one of them out",
                text(&pattern.bytes),
                text(&outer.bytes)
            ));
        }
    }
    // The trie of the patterns. Each state has its successors, and the port if a pattern ends
    // there.
    let mut nodes: Vec<(BTreeMap<u8, usize>, Option<u16>)> = vec![Default::default()];
    for pattern in patterns {
        let mut at = 0;
        for byte in &pattern.bytes {
            let next = nodes[at].0.get(byte).copied();
            at = next.unwrap_or_else(|| {
                nodes.push(Default::default());
                let next = nodes.len() - 1;
                nodes[at].0.insert(*byte, next);
                next
            });
        }
        nodes[at].1 = Some(pattern.port);
    }
    // Breadth first. A state's row is the row of its longest proper suffix, with the state's own
    // successors written over it.
    let mut words = vec![base; nodes.len() * ROW];
    let mut queue = VecDeque::from([(0, 0)]);
    while let Some((node, suffix)) = queue.pop_front() {
        if node != 0 {
            words.copy_within(suffix * ROW..(suffix + 1) * ROW, node * ROW);
        }
        let successors = nodes[node].0.clone();
        for (byte, next) in successors {
            let place = node * ROW + usize::from(byte);
            // At this point the row holds the suffix's successor.
            let after = if node == 0 { 0 } else { state(base, words[place]) };
            words[place] = match nodes[next].1 {
                Some(port) => FOUND | u32::from(port),
                None => base + next as u32 * GRANULES,
            };
            queue.push_back((next, after));
        }
    }
    Ok(words)
}

/// The state that a word names; 0 where a pattern ends, since the search ends there.
fn state(base: u32, word: u32) -> usize {
    if word & FOUND != 0 { 0 } else { ((word - base) / GRANULES) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_sim::Rng;

    fn search(words: &[u32], base: u32, text: &[u8]) -> Option<u16> {
        let mut at = 0;
        for byte in text {
            let word = words[at * ROW + usize::from(*byte)];
            if word & FOUND != 0 {
                return Some(word as u16);
            }
            at = state(base, word);
        }
        None
    }

    #[test]
    fn the_leftmost_pattern_is_found() {
        let mut rng = Rng::new(3, "patterns");
        for round in 0..200 {
            let mut patterns: Vec<Pattern> = Vec::new();
            for port in 0..1 + round % 7 {
                let length = 1 + rng.below(5);
                let bytes = (0..length).map(|_| b'a' + rng.below(3) as u8).collect();
                patterns.push(Pattern { bytes, port });
                if rows(0x100, &patterns).is_err() {
                    patterns.pop();
                }
            }
            let words = rows(0x100, &patterns).expect("none contains another");
            for _ in 0..50 {
                let text: Vec<u8> = (0..30).map(|_| b'a' + rng.below(3) as u8).collect();
                let first = (0..text.len()).find_map(|at| {
                    let mut here = patterns.iter();
                    here.find(|pattern| text[at..].starts_with(&pattern.bytes))
                });
                let expected = first.map(|pattern| pattern.port);
                assert_eq!(search(&words, 0x100, &text), expected, "{patterns:?} in {text:?}");
            }
        }
    }

    #[test]
    fn patterns_within_others_are_refused() {
        let pattern = |text: &str| Pattern { bytes: text.into(), port: 1 };
        let refused = rows(0, &[pattern("GET /a"), pattern("/a")]).expect_err("one is contained");
        assert_eq!(refused, "pattern '/a' is contained in pattern 'GET /a': leave one of them out");
        assert!(rows(0, &[pattern("")]).is_err());
    }
}

use aho_corasick::AhoCorasick;
use proptest::prelude::*;

use super::*;
use crate::description::NpSpec;

fn rule(states: usize, classes: usize) -> Rule {
    let np = NpSpec::find("np").expect("a machine");
    let rule = np.rule("urls", "match").expect("it says how `match` is realised");
    assert_eq!(rule.realisation.name(), "automaton");
    Rule { states, classes, ..rule }
}

/// Returns the position and the value of the match that `wl_body_match` would find.
fn search(automaton: &Automaton, rule: &Rule, text: &[u8]) -> Option<(usize, u64)> {
    let [classes, next, matches] = &automaton.tables;
    let at =
        |table: &BTreeMap<u32, Bits>, address: u32| table.get(&address).map_or(0, Bits::low_u64);
    let (state_bits, class_bits) = (rule.states.trailing_zeros(), rule.classes.trailing_zeros());
    let (mut state, mut found) = (1, None);
    for (place, octet) in text.iter().enumerate() {
        let class = at(classes, u32::from(*octet)) as u32;
        let entry = at(next, state << class_bits | class);
        state = entry as u32 & ((1 << state_bits) - 1);
        if entry >> state_bits == 1 {
            let hit = &matches[&state];
            let length = hit.slice(hit.width() - LENGTH_BITS, LENGTH_BITS).low_u64() as usize;
            found = Some((place + 1 - length, hit.slice(0, 8).low_u64()));
        }
        if state == 0 {
            break;
        }
    }
    found
}

fn table(patterns: &[&[u8]]) -> Table {
    patterns
        .iter()
        .zip(1u8..)
        .map(|(pattern, value)| (pattern.to_vec(), Bits::new(8, value.into())))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, rng_seed: prop::test_runner::RngSeed::Fixed(11), failure_persistence: None,
        ..Default::default() })]

    #[test]
    fn the_automaton_finds_what_golden_finds(
        patterns in prop::collection::btree_set(prop::collection::vec(0u8..3, 1..6), 0..8),
        order in any::<u64>(),
        text in prop::collection::vec(0u8..4, 0..40),
    ) {
        let mut patterns: Vec<Vec<u8>> = patterns.into_iter().collect();
        patterns.sort_by_key(|pattern| pattern.iter().fold(order, |mix, byte| mix.rotate_left(7).wrapping_mul(31) ^ u64::from(*byte)));
        let listed: Vec<&[u8]> = patterns.iter().map(Vec::as_slice).collect();
        let rule = rule(64, 4);
        let automaton = Automaton::new(&table(&listed), &rule).unwrap();
        let golden = AhoCorasick::builder().match_kind(MatchKind::LeftmostFirst).build(&patterns).unwrap();
        let expected = golden.find(&text).map(|hit| (hit.start(), hit.pattern().as_u64() + 1));
        prop_assert_eq!(search(&automaton, &rule, &text), expected);
    }
}

#[test]
fn patterns_that_need_more_than_there_is_are_refused_with_what_would_do() {
    let refused = |patterns: &[&[u8]], states, classes| {
        Automaton::new(&table(patterns), &rule(states, classes)).unwrap_err()
    };
    // The automaton needs the end state, the start state, and one state for each byte.
    assert!(Automaton::new(&table(&[b"abcd"]), &rule(8, 8)).is_ok());
    assert_eq!(
        refused(&[b"abcdefg"], 8, 8),
        "its patterns make 9 states, and the automaton has 8: set `states` of [offload.match] or of the offload"
    );
    assert_eq!(
        refused(&[b"abcd"], 8, 4),
        "its patterns tell 5 classes of bytes apart, and the automaton 4: set `classes` of [offload.match] or of the offload"
    );
    let many: Vec<Vec<u8>> = (0..64u8).map(|first| vec![first; 2]).collect();
    let many: Vec<&[u8]> = many.iter().map(Vec::as_slice).collect();
    assert_eq!(beginnings(&table(&many)), 128);
    assert!(refused(&many, 16, 256).starts_with("its patterns make about 128 states"));
    let long = vec![b'a'; 65_536];
    assert_eq!(refused(&[&long], 65_536, 4), "a pattern has 65536 bytes: no packet is so long");
}

#[test]
fn numbers_of_states_and_classes_are_looked_at() {
    assert_eq!(illegal(1024, 64), None);
    assert!(illegal(1000, 64).is_some_and(|why| why.contains("`states` is 1000")));
    assert!(illegal(1024, 512).is_some_and(|why| why.contains("`classes` is 512")));
}

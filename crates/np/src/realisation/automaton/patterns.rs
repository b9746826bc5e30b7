//! The table contents of `wl_body_match`: automata for the patterns of a `match` offload. There are
//! two, so that the control plane can write one while packets are searched with the other.

use std::collections::{BTreeMap, HashMap};

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::{Anchored, MatchKind, StartKind, dfa};
use wireloom_bits::Bits;
use wireloom_offloads::{EntryKey, StateRow};

use crate::description::Rule;
use crate::processor::Service;
use crate::realisation::entries;

/// Number of control targets of an automaton: classes, next states, matches, and the number of the
/// automaton in use.
pub(super) const TARGETS: usize = 4;
/// Bits of the length of a pattern.
pub(super) const LENGTH_BITS: u32 = 16;
/// The most distinct prefixes that patterns may have, as a multiple of the number of states. Beyond
/// it no automaton is built. The number of distinct prefixes is about the number of states needed.
const MOST_BEGINNINGS: usize = 4;

pub(super) fn state_bits(service: &Service) -> u32 {
    service.rule.states.trailing_zeros()
}

/// Returns why there is no automaton with these numbers of states and classes, or `None` if there
/// is one.
pub(super) fn illegal(states: usize, classes: usize) -> Option<String> {
    let power =
        |number: usize, most: usize| number.is_power_of_two() && (2..=most).contains(&number);
    if !power(states, 1 << 16) {
        return Some(format!("`states` is {states}; it must be a power of two from 2 to 65,536"));
    }
    if !power(classes, 256) {
        return Some(format!("`classes` is {classes}; it must be a power of two from 2 to 256"));
    }
    None
}

/// Entries of the three tables, by their addresses within one automaton; absent entries are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Automaton {
    pub(super) tables: [BTreeMap<u32, Bits>; 3],
}

impl Automaton {
    /// Builds the automaton for patterns and their values, in the order of the table. The leftmost
    /// match wins, and then the first pattern in the table.
    ///
    /// # Errors
    /// If the patterns need more states or classes than the machine has. The error is a sentence
    /// without a full stop.
    pub(super) fn new(patterns: &[(Vec<u8>, Bits)], rule: &Rule) -> Result<Self, String> {
        let Rule { states, classes, .. } = *rule;
        let mut automaton = Self::default();
        if patterns.is_empty() {
            return Ok(automaton);
        }
        let too_many = |count: String| {
            format!(
                "its patterns make {count} states, and the automaton has {states}: set `states` of [offload.match] or of the offload"
            )
        };
        let beginnings = beginnings(patterns);
        if beginnings > MOST_BEGINNINGS * states {
            return Err(too_many(format!("about {beginnings}")));
        }
        if let Some((pattern, _)) =
            patterns.iter().find(|(pattern, _)| pattern.len() >> LENGTH_BITS > 0)
        {
            return Err(format!("a pattern has {} bytes: no packet is so long", pattern.len()));
        }
        let machine = dfa::Builder::new()
            .match_kind(MatchKind::LeftmostFirst)
            .start_kind(StartKind::Unanchored)
            .build(patterns.iter().map(|(pattern, _)| pattern))
            .map_err(|error| error.to_string())?;
        let start = machine.start_state(Anchored::No).map_err(|error| error.to_string())?;
        // States are numbered in the order of discovery. State 0 ends the search and state 1 is the
        // start.
        let mut numbers: HashMap<StateID, u32> = HashMap::from([(start, 1)]);
        let mut found = vec![start];
        let mut rows: Vec<[u32; 256]> = Vec::new();
        while let Some(&state) = found.get(rows.len()) {
            let mut row = [0; 256];
            for (octet, next) in (0u8..=255).zip(&mut row) {
                let to = machine.next_state(Anchored::No, state, octet);
                if machine.is_dead(to) {
                    continue;
                }
                *next = *numbers.entry(to).or_insert_with(|| {
                    found.push(to);
                    found.len() as u32
                });
            }
            rows.push(row);
        }
        if found.len() + 1 > states {
            return Err(too_many((found.len() + 1).to_string()));
        }
        // Bytes with the same transitions in all states form one class.
        let mut columns: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut examples: Vec<usize> = Vec::new();
        let mut class_of = [0; 256];
        for (octet, class) in class_of.iter_mut().enumerate() {
            let column: Vec<u32> = rows.iter().map(|row| row[octet]).collect();
            *class = *columns.entry(column).or_insert_with(|| {
                examples.push(octet);
                examples.len() as u32 - 1
            });
        }
        if examples.len() > classes {
            return Err(format!(
                "its patterns tell {} classes of bytes apart, and the automaton {classes}: set `classes` of [offload.match] or of the offload",
                examples.len()
            ));
        }
        let (state_bits, class_bits) = (states.trailing_zeros(), classes.trailing_zeros());
        let [class_table, next_table, match_table] = &mut automaton.tables;
        let put = |table: &mut BTreeMap<u32, Bits>, address: u32, entry: Bits| {
            if !entry.is_zero() {
                table.insert(address, entry);
            }
        };
        for (octet, class) in class_of.iter().enumerate() {
            put(class_table, octet as u32, Bits::new(class_bits, u128::from(*class)));
        }
        for (index, row) in rows.iter().enumerate() {
            for (class, example) in examples.iter().enumerate() {
                let next = row[*example];
                let is_match = next > 0 && machine.is_match(found[next as usize - 1]);
                let entry = u128::from(is_match) << state_bits | u128::from(next);
                let address = (index as u32 + 1) << class_bits | class as u32;
                put(next_table, address, Bits::new(1 + state_bits, entry));
            }
        }
        for (index, state) in
            found.iter().enumerate().filter(|(_, state)| machine.is_match(**state))
        {
            let (pattern, value) = &patterns[machine.match_pattern(*state, 0).as_usize()];
            let length = Bits::new(LENGTH_BITS, pattern.len() as u128);
            put(match_table, index as u32 + 1, length.concat(value));
        }
        Ok(automaton)
    }
}

/// Returns the number of distinct prefixes of the patterns.
fn beginnings(patterns: &[(Vec<u8>, Bits)]) -> usize {
    let mut sorted: Vec<&[u8]> = patterns.iter().map(|(pattern, _)| pattern.as_slice()).collect();
    sorted.sort_unstable();
    let mut before: &[u8] = &[];
    let mut count = 0;
    for pattern in sorted {
        count += pattern.len() - pattern.iter().zip(before).take_while(|(a, b)| a == b).count();
        before = pattern;
    }
    count
}

/// Patterns with their values, in the order of the table.
pub(super) type Table = Vec<(Vec<u8>, Bits)>;

pub(super) fn table(service: &Service, rows: &[StateRow]) -> Table {
    let entry = |row: &StateRow| {
        let EntryKey::Pattern(pattern) = &row.key else {
            unreachable!("rows of `match` have patterns")
        };
        (
            pattern.clone(),
            entries::packed(row).unwrap_or_else(|| Bits::zero(service.value_bits() as u32)),
        )
    };
    rows.iter().map(entry).collect()
}

/// The patterns of a `match` offload and the contents of its two automata.
#[derive(Clone, Debug)]
pub struct Patterns {
    rule: Rule,
    table: Table,
    automata: [Automaton; 2],
    live: usize,
}

/// A table write: the number of the control target, relative to the offload's first target, the
/// address and the entry.
pub type PatternWrite = (usize, u32, Bits);

impl Patterns {
    /// Returns the patterns of a processor that starts with these rows.
    ///
    /// # Errors
    /// If the patterns do not fit the machine's automaton. The error is a sentence without a full
    /// stop.
    pub(super) fn new(service: &Service, rows: &[StateRow]) -> Result<Self, String> {
        let table = table(service, rows);
        let first = Automaton::new(&table, &service.rule)?;
        Ok(Self { rule: service.rule, table, automata: [first, Automaton::default()], live: 0 })
    }

    /// Gives a pattern a value, or removes it, as the golden model does: an existing pattern keeps
    /// its position, and a new one is appended. Returns the writes: first they update the idle
    /// automaton, and the last one activates it. The caller must ensure that no packet is still
    /// being searched with the idle automaton
    /// ([`Plan::search_cycles`](crate::processor::Plan::search_cycles)).
    ///
    /// # Errors
    /// If the patterns do not fit the machine's automaton. The error is a sentence without a full
    /// stop, and the patterns stay unchanged.
    pub fn set(
        &mut self,
        pattern: &[u8],
        value: Option<&Bits>,
    ) -> Result<Vec<PatternWrite>, String> {
        let mut table = self.table.clone();
        match (table.iter().position(|(there, _)| there == pattern), value) {
            (Some(place), Some(value)) => table[place].1 = value.clone(),
            (Some(place), None) => drop(table.remove(place)),
            (None, Some(value)) => table.push((pattern.to_vec(), value.clone())),
            (None, None) => return Ok(Vec::new()),
        }
        let wanted = Automaton::new(&table, &self.rule)?;
        let other = 1 - self.live;
        let Rule { states, classes, .. } = self.rule;
        let sizes = [256, states * classes, states].map(|size| (size * other) as u32);
        let mut writes = Vec::new();
        for (target, (had, has)) in
            self.automata[other].tables.iter().zip(&wanted.tables).enumerate()
        {
            let gone = had.iter().filter(|(address, _)| !has.contains_key(*address));
            let gone = gone.map(|(address, entry)| (*address, Bits::zero(entry.width())));
            let new = has.iter().filter(|(address, entry)| had.get(*address) != Some(*entry));
            let new = new.map(|(address, entry)| (*address, entry.clone()));
            writes.extend(
                gone.chain(new).map(|(address, entry)| (target, sizes[target] + address, entry)),
            );
        }
        writes.push((TARGETS - 1, 0, Bits::new(1, other as u128)));
        self.automata[other] = wanted;
        self.live = other;
        self.table = table;
        Ok(writes)
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;

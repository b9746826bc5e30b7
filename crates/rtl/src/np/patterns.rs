//! What `wl_body_match` has in its tables: automata for the patterns of a `match` offload.
//!
//! There are two, so that one can be written while packets are searched with the other.

use std::collections::{BTreeMap, HashMap};

use aho_corasick::automaton::{Automaton as _, StateID};
use aho_corasick::{Anchored, MatchKind, StartKind, dfa};
use wireloom_bits::Bits;
use wireloom_offloads::{EntryKey, Row};

use super::NpError;
use super::images::{self, Image, line};
use super::memory_map::{Contents, leaves_of, packed};
use super::plan::{Plan, Service};
use crate::core::MAX_LENGTH;
use crate::machine::Rule;

/// Its control targets: classes, next states, matches, and which automaton is meant.
pub(super) const TARGETS: usize = 4;
/// Names of the contents of the first three.
const TABLES: [&str; 3] = ["classes", "next", "matches"];
/// Bits of a pattern's length.
const LENGTH_BITS: u32 = 16;
/// How many times the states that there are the patterns may have beginnings, which is about what they need, for an automaton to be tried.
const MOST_BEGINNINGS: usize = 4;

/// The widest entry that the control plane writes at once.
pub(super) fn control_bits(service: &Service) -> usize {
    (LENGTH_BITS as usize + service.value_bits()).max(1 + state_bits(service) as usize)
}

/// What the control targets hold, in order.
pub(super) fn targets(service: &Service) -> Vec<Contents> {
    let Rule { states, classes, .. } = service.rule;
    let part = |name: &str, bits: u32| (name.to_owned(), bits);
    let table = |name: &str, address: &str, size: usize, parts: Vec<(String, u32)>| {
        Contents::new(name, address, 2 * size as u64, packed(parts))
    };
    let [classes_name, next, matches] = TABLES;
    let transition = vec![part("match", 1), part("state", state_bits(service))];
    let found =
        [vec![part("length", LENGTH_BITS)], leaves_of("value", service.config.value.as_ref())].concat();
    let live = Contents::new("the automaton that is searched with", "0", 1, packed([part("automaton", 1)]));
    vec![
        table(
            classes_name,
            "256 times the automaton (0 or 1), and a byte",
            256,
            vec![part("class", classes.trailing_zeros())],
        ),
        table(
            next,
            &format!("{} times the automaton, {classes} times the state, and the class", states * classes),
            states * classes,
            transition,
        ),
        table(matches, &format!("{states} times the automaton, and the state"), states, found),
        live,
    ]
}

fn state_bits(service: &Service) -> u32 {
    service.rule.states.trailing_zeros()
}

/// Why a machine's numbers are no automaton's, if they are not.
pub(super) fn illegal(states: usize, classes: usize) -> Option<String> {
    let power = |number: usize, most: usize| number.is_power_of_two() && (2..=most).contains(&number);
    if !power(states, 1 << 16) {
        return Some(format!("`states` is {states}; it must be a power of two from 2 to 65,536"));
    }
    if !power(classes, 256) {
        return Some(format!("`classes` is {classes}; it must be a power of two from 2 to 256"));
    }
    None
}

/// Entries of the three tables, by their addresses within one automaton; what is not there is zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Automaton {
    pub(super) tables: [BTreeMap<u32, Bits>; 3],
}

impl Automaton {
    /// For patterns with their values, in the order of the table: leftmost, then first.
    ///
    /// # Errors
    /// If they need more states or classes than the machine has: a sentence without a final stop.
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
        if let Some((pattern, _)) = patterns.iter().find(|(pattern, _)| pattern.len() >> LENGTH_BITS > 0) {
            return Err(format!("a pattern has {} bytes: no packet is so long", pattern.len()));
        }
        let machine = dfa::Builder::new()
            .match_kind(MatchKind::LeftmostFirst)
            .start_kind(StartKind::Unanchored)
            .build(patterns.iter().map(|(pattern, _)| pattern))
            .map_err(|error| error.to_string())?;
        let start = machine.start_state(Anchored::No).map_err(|error| error.to_string())?;
        // States in the order in which they are found; 0 is the end, 1 the first.
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
        // Bytes that lead everywhere to the same states are one class.
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
        for (index, state) in found.iter().enumerate().filter(|(_, state)| machine.is_match(**state)) {
            let (pattern, value) = &patterns[machine.match_pattern(*state, 0).as_usize()];
            let length = Bits::new(LENGTH_BITS, pattern.len() as u128);
            put(match_table, index as u32 + 1, length.concat(value));
        }
        Ok(automaton)
    }
}

/// How many different beginnings patterns have.
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
type Table = Vec<(Vec<u8>, Bits)>;

fn table(service: &Service, rows: &[Row]) -> Table {
    let entry = |row: &Row| {
        let EntryKey::Pattern(pattern) = &row.key else { unreachable!("rows of `match` have patterns") };
        (pattern.clone(), images::packed(row).unwrap_or_else(|| Bits::zero(service.value_bits() as u32)))
    };
    rows.iter().map(entry).collect()
}

/// The contents of the tables at the beginning: automaton 0 is meant.
pub(super) fn images(plan: &Plan, service: &Service, rows: &[Row]) -> Result<Vec<Image>, NpError> {
    let automaton = Automaton::new(&table(service, rows), &service.rule).map_err(|why| NpError::Offload {
        offload: service.offload.clone(),
        machine: plan.machine.name.clone(),
        why,
    })?;
    let image = |(name, table): (&str, &BTreeMap<u32, Bits>)| Image {
        name: format!("{}_{name}", service.offload),
        text: table.iter().fold(String::new(), |mut text, (address, entry)| {
            line(&mut text, (*address).into(), entry);
            text
        }),
    };
    Ok(TABLES.into_iter().zip(&automaton.tables).map(image).collect())
}

/// The patterns of a processor's `match` offload, its two automata as they are, and how they change.
#[derive(Clone, Debug)]
pub struct Patterns {
    rule: Rule,
    table: Table,
    automata: [Automaton; 2],
    live: usize,
}

/// A write of one of its tables: number of the target, from the offload's first on, address, entry.
pub type PatternWrite = (usize, u32, Bits);

impl Patterns {
    /// As those of a processor that begins with these rows.
    ///
    /// # Errors
    /// If they do not fit the machine's automaton: a sentence without a final stop.
    pub(super) fn new(service: &Service, rows: &[Row]) -> Result<Self, String> {
        let table = table(service, rows);
        let first = Automaton::new(&table, &service.rule)?;
        Ok(Self { rule: service.rule, table, automata: [first, Automaton::default()], live: 0 })
    }

    /// Gives a pattern a value, or takes it out, as the golden model does: a pattern that is there keeps its place, a new one is the last. What is to
    /// be written: first what the automaton lacks that packets are not searched with, at last that it is the other way round. No packet may be
    /// under way that was searched with it before ([`Processor::search_cycles`](super::Processor::search_cycles)).
    ///
    /// # Errors
    /// As [`Processor::patterns`](super::Processor::patterns); then nothing has changed.
    pub fn set(&mut self, pattern: &[u8], value: Option<&Bits>) -> Result<Vec<PatternWrite>, String> {
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
        for (target, (had, has)) in self.automata[other].tables.iter().zip(&wanted.tables).enumerate() {
            let gone = had.iter().filter(|(address, _)| !has.contains_key(*address));
            let gone = gone.map(|(address, entry)| (*address, Bits::zero(entry.width())));
            let new = has.iter().filter(|(address, entry)| had.get(*address) != Some(*entry));
            let new = new.map(|(address, entry)| (*address, entry.clone()));
            writes.extend(gone.chain(new).map(|(address, entry)| (target, sizes[target] + address, entry)));
        }
        writes.push((TARGETS - 1, 0, Bits::new(1, other as u128)));
        self.automata[other] = wanted;
        self.live = other;
        self.table = table;
        Ok(writes)
    }
}

/// Core cycles in which the search of the longest packet ends.
pub(super) fn longest_search(plan: &Plan) -> u64 {
    let bytes = u64::from(MAX_LENGTH);
    // As `wl_body_match` promises.
    bytes + bytes.div_ceil(plan.data_bytes as u64) + 9
}

#[cfg(test)]
mod tests;

//! Where a program spends its time: what threads did at each line of its sources.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;

use crate::watch::Listing;

/// What threads did at an instruction or at a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineCounts {
    /// Instructions that were executed.
    pub instructions: u64,
    /// Cycles in which a thread executed one of these.
    pub executing: u64,
    /// Cycles in which a thread stood there: it waited for a word, for memory, for a signal or for its
    /// turn, or for instructions that it fetched elsewhere than predicted.
    pub waiting: u64,
}

impl LineCounts {
    /// All cycles of threads.
    pub fn cycles(self) -> u64 {
        self.executing + self.waiting
    }
}

impl AddAssign for LineCounts {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.executing += other.executing;
        self.waiting += other.waiting;
    }
}

/// A line of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileLine {
    /// `FILE:LINE`, or for an instruction that no line is known of, the program and the label before
    /// it.
    pub place: String,
    /// What threads did there.
    #[serde(flatten)]
    pub counts: LineCounts,
}

/// What threads did, by the lines of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// All lines together. Cycles of threads that have stopped do not count.
    pub total: LineCounts,
    /// The lines, those with the most cycles first.
    pub lines: Vec<ProfileLine>,
}

/// Gathers a [`Profile`].
#[derive(Clone, Debug, Default)]
pub struct Profiler {
    lines: BTreeMap<String, LineCounts>,
}

impl Profiler {
    /// Adds what a thread did at each instruction of its program, by address. An instruction belongs
    /// to its line. In a program that a compiler has written (`is_compiled`) that is the line of the
    /// language above the assembler's text; what has none there belongs to the label before it, since
    /// lines of the compiler's text are not what a user knows.
    pub fn add(
        &mut self,
        listing: &Listing,
        is_compiled: bool,
        counts: impl IntoIterator<Item = LineCounts>,
    ) {
        for (address, counts) in (0..).zip(counts) {
            if counts != LineCounts::default() {
                let places = usize::try_from(address).ok();
                let places = places.and_then(|address| listing.instructions.get(address));
                let is_known = places.is_some_and(|at| at.places.len() > usize::from(is_compiled));
                let line = if is_known { listing.line_of(address) } else { None };
                let place = line.unwrap_or_else(|| without_line(listing, address));
                *self.lines.entry(place).or_default() += counts;
            }
        }
    }

    /// The profile.
    pub fn profile(self) -> Profile {
        let mut total = LineCounts::default();
        self.lines.values().for_each(|counts| total += *counts);
        let lines = self.lines.into_iter().map(|(place, counts)| ProfileLine { place, counts });
        let mut lines: Vec<ProfileLine> = lines.collect();
        // Lines with as many cycles stay in the order of their names.
        lines.sort_by_key(|line| std::cmp::Reverse(line.counts.cycles()));
        Profile { total, lines }
    }
}

/// The name of an instruction that no line is known of.
fn without_line(listing: &Listing, address: u64) -> String {
    match listing.nearest(address) {
        Some((label, _)) => format!("{} <{}>", listing.name, label.trim_end_matches('#')),
        None => listing.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::{Instruction, Place, Source};

    #[test]
    fn lines_are_sorted_by_the_cycles_of_all_their_instructions() {
        let at = |line: Option<u32>| Instruction {
            text: String::new(),
            places: line.map(|line| Place { source: 0, line }).into_iter().collect(),
        };
        let listing = Listing {
            name: "tile-0-0".into(),
            instructions: [Some(3), Some(5), Some(3), None, None].map(at).into(),
            labels: vec![("begin".into(), 0), ("late#".into(), 4)],
            sources: vec![Source { name: "a.loom".into(), text: None }],
        };
        let counts =
            |instructions, waiting| LineCounts { instructions, executing: instructions, waiting };
        let mut profiler = Profiler::default();
        // Two threads with the same program; the last instruction is never reached.
        for _ in 0..2 {
            let all = [counts(1, 0), counts(2, 0), counts(1, 7), counts(4, 0), counts(0, 0)];
            profiler.add(&listing, false, all);
        }
        let profile = profiler.profile();
        let lines: Vec<_> = profile.lines.iter().map(|line| (&*line.place, line.counts)).collect();
        let wanted = [
            ("a.loom:3", counts(4, 14)),
            ("tile-0-0 <begin>", counts(8, 0)),
            ("a.loom:5", counts(4, 0)),
        ];
        assert_eq!(lines, wanted);
        assert_eq!((profile.total, profile.total.cycles()), (counts(16, 14), 30));
        // If the only line is that of a compiler's text, the label counts.
        let mut profiler = Profiler::default();
        profiler.add(&listing, true, [counts(1, 0), counts(2, 0)]);
        let lines = profiler.profile().lines;
        let places: Vec<&str> = lines.iter().map(|line| &*line.place).collect();
        assert_eq!(places, ["tile-0-0 <begin>"]);
    }
}

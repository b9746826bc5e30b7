//! Profiles: the cycles that threads spend at each line of a program's sources.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::Serialize;

use crate::watch::Listing;

/// Counts of the threads' activity at an instruction or a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineCounts {
    /// The number of executed instructions.
    pub instructions: u64,
    /// Cycles in which a thread executed an instruction here.
    pub executing: u64,
    /// Cycles in which a thread waited here: for a word, for memory, for a signal, for its turn, or
    /// for instructions after a wrong prediction.
    pub waiting: u64,
}

impl LineCounts {
    /// All cycles of threads at this place.
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

/// A line of a source, with its counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileLine {
    /// `FILE:LINE`. For an instruction without a known line, the program and the last label before
    /// it.
    pub place: String,
    #[serde(flatten)]
    pub counts: LineCounts,
}

/// The activity of threads, by the lines of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Profile {
    /// The sum over all lines. Cycles of stopped threads do not count.
    pub total: LineCounts,
    /// The lines, in descending order of cycles.
    pub lines: Vec<ProfileLine>,
}

/// Collects a [`Profile`].
#[derive(Clone, Debug, Default)]
pub struct Profiler {
    lines: BTreeMap<String, LineCounts>,
}

impl Profiler {
    /// Adds a thread's counts for each instruction of its program, by address. An instruction
    /// belongs to its line. In a compiled program (`is_compiled`) that is the line in the language
    /// above the assembler text. An instruction without such a line belongs to the last label
    /// before it, since users do not know the lines of the compiler's output.
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

    pub fn profile(self) -> Profile {
        let mut total = LineCounts::default();
        self.lines.values().for_each(|counts| total += *counts);
        let lines = self.lines.into_iter().map(|(place, counts)| ProfileLine { place, counts });
        let mut lines: Vec<ProfileLine> = lines.collect();
        // Lines with equal cycles stay in the order of their names.
        lines.sort_by_key(|line| std::cmp::Reverse(line.counts.cycles()));
        Profile { total, lines }
    }
}

/// A place name for an instruction without a known line.
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
        // Two threads run the same program. The last instruction is never reached.
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
        // If only a line of the compiler's output is known, the label counts.
        let mut profiler = Profiler::default();
        profiler.add(&listing, true, [counts(1, 0), counts(2, 0)]);
        let lines = profiler.profile().lines;
        let places: Vec<&str> = lines.iter().map(|line| &*line.place).collect();
        assert_eq!(places, ["tile-0-0 <begin>"]);
    }
}

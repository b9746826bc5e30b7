//! Samples of a run in bounded memory: fine ones of its end, coarse ones back to its beginning.
//!
//! Machines count the cycles of a long event all at once, when it begins or ends. The history
//! limits the time in use and in a state to the cycles of an interval, and carries the excess to
//! the next intervals.
//!
//! Sampled values never decrease, so the difference of any two samples is exactly what happened
//! between them. Level 0 keeps every sample, and each further level every fourth of the one before.
//! A full level forgets its oldest sample.

use std::collections::VecDeque;

use wireloom_machine::watch::{Measure, MeasureKind};

/// The most samples of a level.
const ROWS: usize = 2048;
/// The number of samples of a level per sample of the next one.
const STEP: u64 = 4;

/// A sample: the counts up to a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    pub cycle: u64,
    /// The value of each measure. Queue fills are summed over cycles, so a difference is a mean
    /// fill times cycles. Cycles in use and in states grow by no more than the elapsed cycles.
    pub values: Box<[u64]>,
}

/// The samples of a run.
#[derive(Clone, Debug)]
pub struct History {
    kinds: Vec<MeasureKind>,
    /// The last value of each measure, as the machine reported it.
    now: Vec<u64>,
    sums: Vec<u64>,
    last: u64,
    count: u64,
    levels: Vec<VecDeque<Sample>>,
}

impl History {
    /// Creates a history of these measures.
    pub fn new(measures: &[Measure]) -> Self {
        Self {
            kinds: measures.iter().map(|measure| measure.kind).collect(),
            now: vec![0; measures.len()],
            sums: vec![0; measures.len()],
            last: 0,
            count: 0,
            levels: vec![VecDeque::new()],
        }
    }

    /// Adds a sample. A sample of the same cycle as the last one only updates [`Self::now`].
    pub fn push(&mut self, cycle: u64, values: &[u64]) {
        self.now.clear();
        self.now.extend_from_slice(values);
        if self.count > 0 && cycle <= self.last {
            return;
        }
        let cycles = cycle - self.last;
        for ((sum, value), kind) in self.sums.iter_mut().zip(values).zip(&self.kinds) {
            *sum = match kind {
                MeasureKind::Level { places } => *sum + (*value).min(*places) * cycles,
                MeasureKind::Busy | MeasureKind::State => (*value).min(*sum + cycles),
                _ => *value,
            };
        }
        let row = Sample { cycle, values: self.sums.clone().into() };
        let mut number = self.count;
        for level in 0.. {
            if level == self.levels.len() {
                // A new level begins with the first sample of the run, which the level before still
                // has.
                let first = self.levels[level - 1].front().cloned();
                self.levels.push(first.into_iter().collect());
            }
            let rows = &mut self.levels[level];
            if rows.len() == ROWS {
                rows.pop_front();
            }
            rows.push_back(row.clone());
            if number == 0 || !number.is_multiple_of(STEP) {
                break;
            }
            number /= STEP;
        }
        self.last = cycle;
        self.count += 1;
    }

    /// The last value of each measure, as the machine reported it.
    pub fn now(&self) -> &[u64] {
        &self.now
    }

    /// The number of samples that are kept.
    pub fn len(&self) -> usize {
        self.levels.iter().map(VecDeque::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns samples that cover the cycles `from..to`, from the finest level that reaches back to
    /// `from`. It returns about `most` (2 or more) of them, evenly chosen.
    pub fn rows(&self, from: u64, to: u64, most: usize) -> Vec<&Sample> {
        let has = |rows: &VecDeque<Sample>| rows.front().is_some_and(|row| row.cycle <= from);
        let finest = self.levels.iter().position(has).unwrap_or(self.levels.len() - 1);
        let rows = &self.levels[finest];
        let begin = rows.partition_point(|row| row.cycle <= from).saturating_sub(1);
        let end = (rows.partition_point(|row| row.cycle < to) + 1).min(rows.len());
        let stride = (end - begin).div_ceil(most.max(2) - 1).max(1);
        let mut chosen: Vec<&Sample> = rows.range(begin..end).step_by(stride).collect();
        let last = rows.range(begin..end).next_back();
        if let Some(last) = last.filter(|last| chosen.last().is_some_and(|c| c.cycle < last.cycle))
        {
            chosen.push(last);
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measures() -> Vec<Measure> {
        let measure = |name, kind| Measure { part: 0, name, kind };
        vec![measure("n", MeasureKind::Count), measure("q", MeasureKind::Level { places: 9 })]
    }

    fn long(samples: u64) -> History {
        let mut history = History::new(&measures());
        (0..samples).for_each(|at| history.push(at * 10, &[at * 3, 2]));
        history
    }

    #[test]
    fn memory_is_bounded_and_the_beginning_is_kept() {
        let history = long(300_000);
        assert!(history.len() < ROWS * 8, "{} rows", history.len());
        let all = history.rows(0, u64::MAX, 100);
        assert_eq!(all[0].cycle, 0);
        assert!(all.len() <= 101 && all.len() > 30, "{}", all.len());
        // Coarse rows say exactly what happened between them.
        for pair in all.windows(2) {
            let cycles = pair[1].cycle - pair[0].cycle;
            assert_eq!(pair[1].values[0] - pair[0].values[0], cycles / 10 * 3);
            assert_eq!(pair[1].values[1] - pair[0].values[1], cycles * 2);
        }
    }

    #[test]
    fn late_samples_are_fine_and_the_last_is_always_there() {
        let history = long(300_000);
        let rows = history.rows(2_999_500, 3_000_000, 1000);
        assert!(rows.len() >= 49 && rows[1].cycle - rows[0].cycle == 10);
        assert_eq!(rows.last().map(|row| row.cycle), Some(2_999_990));
        assert_eq!(history.now(), [299_999 * 3, 2]);
    }

    #[test]
    fn no_part_is_in_use_for_more_than_an_interval() {
        let measure = |name, kind| Measure { part: 0, name, kind };
        let measures = [
            measure("busy", MeasureKind::Busy),
            measure("waiting", MeasureKind::State),
            measure("queue", MeasureKind::Level { places: 4 }),
            measure("packets", MeasureKind::Count),
        ];
        let mut history = History::new(&measures);
        // An event of 1,000 cycles is counted when it begins; then nothing happens.
        for (cycle, busy) in [(0, 0), (100, 1000), (200, 1000), (1100, 1000), (1200, 1000)] {
            history.push(cycle, &[busy, u64::MAX, 9, busy * 7]);
        }
        let rows = history.rows(0, u64::MAX, 100);
        for pair in rows.windows(2) {
            let cycles = pair[1].cycle - pair[0].cycle;
            let grown: Vec<u64> =
                pair[1].values.iter().zip(&pair[0].values).map(|(to, from)| to - from).collect();
            assert!(grown[0] <= cycles && grown[1] <= cycles, "{grown:?} in {cycles}");
            assert_eq!(grown[2], 4 * cycles, "a queue holds no more than it has places for");
        }
        // The whole event is accounted for at the end, and counts are passed through unchanged.
        assert_eq!(rows.last().map(|row| (row.values[0], row.values[3])), Some((1000, 7000)));
    }

    #[test]
    fn a_sample_of_the_same_cycle_changes_nothing_but_now() {
        let mut history = long(3);
        history.push(20, &[7, 5]);
        assert_eq!(history.now(), [7, 5]);
        assert_eq!(history.rows(0, 100, 10).len(), 3);
    }
}

//! Bounded queues.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::Time;
use crate::spec::{SpecError, within};
use crate::stats::{Gauge, Histogram, Record};

/// The capacity of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct QueueSpec {
    /// The capacity in entries, 1 to 16,777,216.
    pub entries: u64,
}

/// A first-in, first-out queue. It refuses entries when it is full.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    entries: VecDeque<(Time, T)>,
    bound: usize,
    occupancy: Gauge,
    wait: Histogram,
    refused: u64,
}

impl<T> Queue<T> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// If the number of entries is out of range.
    pub fn new(spec: QueueSpec) -> Result<Self, SpecError> {
        within("entries", spec.entries, 1..=1 << 24)?;
        let (entries, wait) = (VecDeque::new(), Histogram::times());
        Ok(Self {
            entries,
            bound: spec.entries as usize,
            occupancy: Gauge::default(),
            wait,
            refused: 0,
        })
    }

    /// Appends an entry.
    ///
    /// # Errors
    /// The entry itself, if the queue is full. Refusals are counted.
    pub fn push(&mut self, now: Time, entry: T) -> Result<(), T> {
        if self.is_full() {
            self.refused += 1;
            return Err(entry);
        }
        self.entries.push_back((now, entry));
        self.occupancy.rise(now);
        Ok(())
    }

    /// Takes the first entry.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        let (since, entry) = self.entries.pop_front()?;
        self.occupancy.fall(now);
        self.wait.time(now - since);
        Some(entry)
    }

    pub fn front(&self) -> Option<&T> {
        self.entries.front().map(|(_, entry)| entry)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether the queue is full.
    pub fn is_full(&self) -> bool {
        self.entries.len() == self.bound
    }

    /// Returns the number of refused entries.
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The number of entries over time.
    pub fn occupancy(&self) -> &Gauge {
        &self.occupancy
    }

    /// The distribution of the times that entries stayed.
    pub fn wait(&self) -> &Histogram {
        &self.wait
    }

    /// Restricts the statistics to the time from now on, except the number of refused entries.
    pub fn begin_to_count(&mut self, now: Time) {
        self.occupancy.begin_to_count(now);
        self.wait = Histogram::times();
    }

    /// The record: `taken`, `refused`, `occupancy` (mean over time and maximum), `wait`.
    pub fn record(&self, now: Time) -> Record {
        Record::new()
            .with("taken", self.wait.count())
            .with("refused", self.refused)
            .with("occupancy", (&self.occupancy, now))
            .with("wait", &self.wait)
    }
}

#[cfg(test)]
mod tests;

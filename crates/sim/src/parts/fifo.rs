//! Registered FIFOs between units that act in the same cycles.
//!
//! A unit can read what another one writes at an instant only at later instants. Likewise, the room
//! that a read makes can be written only at later instants. So units that act at one instant see
//! the FIFO as it was before, and the order in which they are simulated does not matter. Nothing is
//! done at the end of a cycle: each word carries the time at which it was written.
//!
//! A FIFO has one writer and one reader, and each end moves at most one word at an instant. A FIFO
//! of one word passes a word in every second cycle, since a full register cannot be written in the
//! cycle in which it is read. A FIFO of two or more words passes a word in every cycle. A word
//! stays for at least a cycle.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::spec::{SpecError, within};
use crate::stats::Record;
use crate::{Activity, Kernel, Time, Unit};

/// A registered FIFO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FifoSpec {
    /// The capacity in words, 1 to 65,536.
    pub words: u64,
}

/// A registered FIFO with its contents and the units that wait at its ends.
#[derive(Clone, Debug)]
pub struct Fifo<T> {
    /// The words, each with the time at which it was written.
    words: VecDeque<(Time, T)>,
    bound: usize,
    last_write: Option<Time>,
    last_read: Option<Time>,
    /// The unit that sleeps until there is a word.
    reader: Option<Unit>,
    /// The unit that sleeps until there is room.
    writer: Option<Unit>,
    passed: u64,
    empty_waits: u64,
    full_waits: u64,
}

impl<T> Fifo<T> {
    /// Creates an empty FIFO.
    ///
    /// # Errors
    /// If the number of words is out of range.
    pub fn new(spec: FifoSpec) -> Result<Self, SpecError> {
        within("words", spec.words, 1..=1 << 16)?;
        Ok(Self {
            words: VecDeque::new(),
            bound: spec.words as usize,
            last_write: None,
            last_read: None,
            reader: None,
            writer: None,
            passed: 0,
            empty_waits: 0,
            full_waits: 0,
        })
    }

    /// The word that can be read now.
    pub fn front(&self, now: Time) -> Option<&T> {
        let (written, word) = self.words.front()?;
        (*written < now && self.last_read != Some(now)).then_some(word)
    }

    /// Whether a word can be written now.
    pub fn has_room(&self, now: Time) -> bool {
        let is_read = usize::from(self.last_read == Some(now));
        self.last_write != Some(now) && self.words.len() + is_read < self.bound
    }

    /// Reads a word, if there is one. A waiting writer wakes.
    pub fn read<E>(&mut self, kernel: &mut Kernel<E>) -> Option<T> {
        let now = kernel.now();
        self.front(now)?;
        let (_, word) = self.words.pop_front()?;
        self.last_read = Some(now);
        self.passed += 1;
        if let Some(writer) = self.writer.take() {
            kernel.wake_by(writer, now + Time(1));
        }
        Some(word)
    }

    /// Writes a word. A waiting reader wakes.
    ///
    /// # Errors
    /// The word itself, if there is no room.
    pub fn write<E>(&mut self, word: T, kernel: &mut Kernel<E>) -> Result<(), T> {
        let now = kernel.now();
        if !self.has_room(now) {
            return Err(word);
        }
        self.words.push_back((now, word));
        self.last_write = Some(now);
        if let Some(reader) = self.reader.take() {
            kernel.wake_by(reader, now + Time(1));
        }
        Ok(())
    }

    /// Waits for a word, in a cycle in which there was nothing to read. The unit has another cycle
    /// when there may be a word. The cycle must return the result, combined with other reasons by
    /// [`Activity::or`].
    pub fn wait_for_word(&mut self, reader: Unit) -> Activity {
        self.empty_waits += 1;
        // A word written at this instant can be read at the next edge.
        if !self.words.is_empty() {
            return Activity::Awake;
        }
        self.reader = Some(reader);
        Activity::Asleep
    }

    /// Waits for room, in a cycle in which there was none, as
    /// [`wait_for_word`](Self::wait_for_word) does for words.
    pub fn wait_for_room(&mut self, writer: Unit) -> Activity {
        self.full_waits += 1;
        if self.words.len() < self.bound {
            return Activity::Awake;
        }
        self.writer = Some(writer);
        Activity::Asleep
    }

    /// Returns the number of words, including those written at this instant.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether the FIFO is empty.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The record: `words` that have passed, and the numbers of times that units began to wait,
    /// `empty_waits` for a word and `full_waits` for room.
    pub fn record(&self) -> Record {
        Record::new()
            .with("words", self.passed)
            .with("empty_waits", self.empty_waits)
            .with("full_waits", self.full_waits)
    }
}

#[cfg(test)]
mod tests;

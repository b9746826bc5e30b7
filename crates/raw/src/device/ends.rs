//! Sources and sinks of words, for tests and measurements.

use std::collections::VecDeque;

use wireloom_isa::raw::Network;

use super::{Device, Port};

/// Writes words to a network in order.
#[derive(Clone, Debug)]
pub struct Source {
    network: Network,
    words: VecDeque<u32>,
    /// The first cycle with a word, and the cycles between two words.
    start: u64,
    interval: u64,
}

impl Source {
    /// Creates a source that writes from cycle `start` on, in every `interval`th cycle if there is
    /// room.
    pub fn new(
        network: Network,
        words: impl IntoIterator<Item = u32>,
        start: u64,
        interval: u64,
    ) -> Self {
        Self { network, words: words.into_iter().collect(), start, interval: interval.max(1) }
    }

    /// Returns the number of words that are still to be written.
    pub fn left(&self) -> usize {
        self.words.len()
    }
}

impl Device for Source {
    fn cycle(&mut self, port: &mut Port<'_>) -> bool {
        let Some(&word) = self.words.front() else { return false };
        if port.now < self.start {
            return true;
        }
        let is_written = port.write(self.network, word);
        if is_written {
            self.words.pop_front();
            self.start = port.now + self.interval;
        }
        is_written
    }

    fn waits_for(&self) -> Option<(Network, bool)> {
        (!self.words.is_empty()).then_some((self.network, false))
    }
}

/// Reads words from a network and keeps them with their cycles.
#[derive(Clone, Debug)]
pub struct Sink {
    network: Network,
    interval: u64,
    next: u64,
    /// Words with the cycles in which they came.
    pub words: Vec<(u64, u32)>,
}

impl Sink {
    /// Creates a sink that reads at most in every `interval`th cycle.
    pub fn new(network: Network, interval: u64) -> Self {
        Self { network, interval: interval.max(1), next: 0, words: Vec::new() }
    }
}

impl Device for Sink {
    fn cycle(&mut self, port: &mut Port<'_>) -> bool {
        if port.now < self.next {
            return true;
        }
        let Some(word) = port.read(self.network) else { return false };
        self.words.push((port.now, word));
        self.next = port.now + self.interval;
        true
    }
}

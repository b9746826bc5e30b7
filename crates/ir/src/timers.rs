//! Engine time on a line, and the packets with which the steps of timers begin.
//!
//! Some machines take packets from a line and execute many at once. Their line pauses before a
//! packet that arrives at a tick or later. When all packets before it have left, the timers that
//! are due come onto the line, one tick after the other, and then the packet.

use std::collections::VecDeque;

use wireloom_net::Packet;
use wireloom_offloads::Store;

use crate::{Clock, Due, Program, TIMERS, Times};

/// The clock of an engine whose times end at ticks, and the numbers of its packets.
#[derive(Clone, Debug)]
pub struct Timers {
    clock: Clock,
    /// The number of packets of timers that have come onto the line.
    run: u64,
    /// Runs of packets on the line, oldest first: the number of the first on the line, and its
    /// sequence number.
    numbers: VecDeque<(u64, u64)>,
}

impl Timers {
    /// Returns the timers of a program; `None` if none of its times end at ticks.
    pub fn of(program: &Program) -> Option<Self> {
        let clock = Clock::of(program)?;
        Some(Self { clock, run: 0, numbers: VecDeque::new() })
    }

    /// The number of packets of timers that have come onto the line.
    pub fn run(&self) -> u64 {
        self.run
    }

    /// Returns a time before which no timer is due.
    pub fn next(&self, store: &Store) -> Option<u64> {
        self.clock.next_timer(store)
    }

    /// Returns the same as [`next`](Self::next) for a machine that keeps the times elsewhere.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn next_of<T: Times>(&self, times: &mut T) -> Result<Option<u64>, T::Error> {
        self.clock.next_of(times)
    }

    /// Returns the packets of the next timers that are due by a time. They come onto the line with
    /// numbers from `line` on.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn due<T: Times>(
        &mut self,
        times: &mut T,
        by_ns: u64,
        line: u64,
    ) -> Result<Option<Due>, T::Error> {
        let due = self.clock.due_of(times, by_ns)?;
        if let Some(due) = &due {
            self.run += due.count() as u64;
            self.numbers.push_back((line, due.first));
        }
        Ok(due)
    }

    /// Advances engine time to the arrival of a packet.
    pub fn advance(&mut self, time_ns: u64) {
        self.clock.arrive(time_ns);
    }

    /// Advances engine time to that of the last packet that has left. No packet arrives: the ticks
    /// with timers since then still count.
    pub fn reach(&mut self, time_ns: u64) {
        if time_ns > self.clock.now_ns() {
            self.clock.arrive(time_ns);
        }
    }

    /// Whether a packet has to wait for the timers of a tick.
    pub fn delays(&self, packet: &Packet) -> bool {
        packet.arrival_ns >= self.clock.next_tick()
    }

    /// Notes packets that come onto the line with numbers from `line` on. The first has the number
    /// `sequence` among those that were offered.
    pub fn pass(&mut self, line: u64, sequence: u64) {
        if self.numbers.back().is_none_or(|(_, last)| *last >= TIMERS) {
            self.numbers.push_back((line, sequence));
        }
    }

    /// Returns the number of a packet on the line among those that were offered, or the sequence
    /// number of a timer.
    pub fn sequence(&self, line: u64) -> u64 {
        let run = self.numbers.partition_point(|(first, _)| *first <= line);
        let run = run.checked_sub(1).and_then(|run| self.numbers.get(run));
        run.map_or(line, |(first, sequence)| sequence + (line - first))
    }

    /// Forgets the first `count` packets of the line: they have left or were lost.
    pub fn forget(&mut self, count: u64) {
        while self.numbers.get(1).is_some_and(|(next, _)| *next <= count) {
            self.numbers.pop_front();
        }
    }
}

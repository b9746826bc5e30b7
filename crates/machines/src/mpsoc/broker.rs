//! The object request broker: which idle server gets a call (the paper, section 4.2).

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wireloom_sim::stats::{Histogram, Record};
use wireloom_sim::{Clock, Time};

use super::spec::BrokerSpec;

/// Which idle server gets a call. Calls are served in the order in which they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The server that has been idle for longest.
    FirstCome,
    /// An idle server of the next processor that has one.
    RoundRobin,
    /// A server of the processor that has most idle ones; of several, of the first.
    LeastLoaded,
}

/// Idle servers and calls that wait for one, of one service.
#[derive(Clone, Debug)]
pub(super) struct Broker {
    policy: Policy,
    clock: Clock,
    call_cycles: u64,
    threads: u32,
    /// Servers with the order of their becoming idle, processor by processor.
    idle: Vec<VecDeque<(u64, u32)>>,
    idle_count: usize,
    became_idle: u64,
    /// The processor whose turn it is.
    next: usize,
    waiting: VecDeque<(Time, u32)>,
    most_waiting: usize,
    /// The cycle in which the next call can be served.
    free: u64,
    wait: Histogram,
}

/// A call that has got its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) packet: u32,
    pub(super) thread: u32,
    /// When the broker has done it.
    pub(super) at: Time,
}

impl Broker {
    pub(super) fn new(spec: &BrokerSpec, clock: Clock, processors: u32, threads: u32) -> Self {
        Self {
            policy: spec.policy,
            clock,
            call_cycles: u64::from(spec.call_cycles),
            threads,
            idle: vec![VecDeque::new(); processors as usize],
            idle_count: 0,
            became_idle: 0,
            next: 0,
            waiting: VecDeque::new(),
            most_waiting: 0,
            free: 0,
            wait: Histogram::times(),
        }
    }

    /// A call has come, with the packet of this number.
    pub(super) fn call(&mut self, now: Time, packet: u32) -> Option<Match> {
        self.waiting.push_back((now, packet));
        let matched = self.serve(now);
        self.most_waiting = self.most_waiting.max(self.waiting.len());
        matched
    }

    /// A server has become idle.
    pub(super) fn offer(&mut self, now: Time, thread: u32) -> Option<Match> {
        self.idle[(thread / self.threads) as usize].push_back((self.became_idle, thread));
        self.became_idle += 1;
        self.idle_count += 1;
        self.serve(now)
    }

    /// Calls that wait for a server.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Either calls wait or servers do, so at most one pair comes of what has happened.
    fn serve(&mut self, now: Time) -> Option<Match> {
        if self.waiting.is_empty() || self.idle_count == 0 {
            return None;
        }
        let processor = self.choose();
        let (_, thread) = self.idle[processor].pop_front()?;
        let (since, packet) = self.waiting.pop_front()?;
        self.idle_count -= 1;
        self.wait.time(now - since);
        let begin = self.free.max(self.clock.edge_from(now));
        self.free = begin + self.call_cycles;
        Some(Match { packet, thread, at: self.clock.edge(self.free) })
    }

    /// A processor that has an idle server: there is one.
    fn choose(&mut self) -> usize {
        let count = self.idle.len();
        match self.policy {
            Policy::FirstCome => {
                let since =
                    |queue: &VecDeque<(u64, u32)>| queue.front().map_or(u64::MAX, |(order, _)| *order);
                (0..count).min_by_key(|processor| since(&self.idle[*processor])).unwrap_or(0)
            }
            Policy::RoundRobin => {
                let turn = (0..count).map(|step| (self.next + step) % count);
                let chosen =
                    turn.into_iter().find(|processor| !self.idle[*processor].is_empty()).unwrap_or(0);
                self.next = (chosen + 1) % count;
                chosen
            }
            Policy::LeastLoaded => {
                (0..count).rev().max_by_key(|processor| self.idle[*processor].len()).unwrap_or(0)
            }
        }
    }

    /// `calls` that got their servers, calls `waiting` and most of them, `wait` for a server, servers `idle`.
    pub(super) fn record(&self) -> Record {
        Record::new()
            .with("calls", self.wait.count())
            .with("waiting", self.waiting.len() as u64)
            .with("most_waiting", self.most_waiting as u64)
            .with("wait", &self.wait)
            .with("idle", self.idle_count as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three processors of two threads.
    fn broker(policy: Policy) -> Broker {
        Broker::new(&BrokerSpec { policy, call_cycles: 2 }, Clock::hertz(500_000_000), 3, 2)
    }

    /// Which servers get four calls, if these become idle in this order.
    fn servers(policy: Policy, idle: &[u32]) -> Vec<u32> {
        let mut broker = broker(policy);
        for thread in idle {
            assert_eq!(broker.offer(Time(0), *thread), None);
        }
        (0..4).map(|packet| broker.call(Time(0), packet).unwrap().thread).collect()
    }

    #[test]
    fn policies_choose_among_idle_servers() {
        let idle = [5, 1, 0, 4, 3];
        assert_eq!(servers(Policy::FirstCome, &idle), [5, 1, 0, 4]);
        assert_eq!(servers(Policy::RoundRobin, &idle), [1, 3, 5, 0]);
        assert_eq!(servers(Policy::LeastLoaded, &idle), [1, 5, 0, 3]);
    }

    #[test]
    fn calls_wait_for_servers_and_are_served_in_order_at_the_brokers_rate() {
        let mut broker = broker(Policy::FirstCome);
        for packet in [7, 8, 9] {
            assert_eq!(broker.call(Time(1000), packet), None);
        }
        let matched = |packet, thread, at| Some(Match { packet, thread, at: Time(at) });
        // A cycle is 2,000 ps: from the edge behind 5,000, two cycles for each call.
        assert_eq!(broker.offer(Time(5000), 2), matched(7, 2, 10_000));
        assert_eq!(broker.offer(Time(5000), 1), matched(8, 1, 14_000));
        assert_eq!((broker.waiting(), broker.most_waiting), (1, 3));
    }
}

//! The object request broker: it assigns calls to idle servers (the paper, section 4.2).

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};
use wireloom_sim::stats::{Histogram, Record};
use wireloom_sim::{Clock, Time};

use super::mpe;

/// The policy that selects an idle server. Calls are served in the order of their arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The server that has been idle for longest.
    FirstCome,
    /// An idle server of the next processor that has one.
    RoundRobin,
    /// A server of the processor with the most idle servers; on a tie, the first such processor.
    LeastLoaded,
}

/// The description of the broker in machine files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BrokerSpec {
    /// The policy that selects an idle server.
    pub policy: Policy,
    /// The cycles of the processors' clock between two calls, 1 to 1,024.
    pub call_cycles: u32,
}

/// The number of a service, unique on the chip. Calls name it and servers serve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Service(u8);

impl Service {
    /// The processing of packets: the whole engine, or its first part.
    pub(super) const PACKETS: Self = Self(0);

    /// The service of a part of an engine, by the number of the part.
    pub(super) fn part(number: u32) -> Self {
        Self(number.min(u32::from(FIRST_OBJECT) - 1) as u8)
    }

    /// The service of an object of a program, by the number that the program's interfaces give it.
    pub(super) fn object(number: u32) -> Option<Self> {
        (number < mpe::SERVICES).then_some(Self(number as u8 + FIRST_OBJECT))
    }

    fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.checked_sub(FIRST_OBJECT) {
            None if *self == Self::PACKETS => write!(f, "packets"),
            None => write!(f, "part {}", self.0),
            Some(number) => write!(f, "service {number}"),
        }
    }
}

/// The first service that is an object of a program.
const FIRST_OBJECT: u8 = 16;

/// The work that a server receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// A packet to process, by its place in packet memory.
    Packet(u32),
    /// A packet that another part hands over, by the number of the hand-over.
    HandOver(u32),
    /// A call to serve, by its number.
    Call(u32),
}

/// The broker: for each service, its idle servers and the calls that wait for one.
#[derive(Clone, Debug)]
pub(super) struct Broker {
    policy: Policy,
    clock: Clock,
    call_cycles: u64,
    processors: usize,
    threads: u32,
    /// The services by number, up to the highest that was ever called or offered.
    services: Vec<Servers>,
    /// The cycle in which the next call can be served.
    free: u64,
    /// The number of calls that got a server.
    calls: u64,
}

/// The servers and calls of one service.
#[derive(Clone, Debug)]
struct Servers {
    /// Servers in the order in which they became idle: one queue per processor, or one queue if the
    /// policy ignores processors.
    idle: Vec<VecDeque<u32>>,
    idle_count: usize,
    /// The processor that is next in round-robin order.
    next: usize,
    waiting: VecDeque<(Time, Errand)>,
    most_waiting: usize,
    wait: Histogram,
}

/// A call with its assigned server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) errand: Errand,
    pub(super) thread: u32,
    /// The time at which the broker completes the assignment.
    pub(super) at: Time,
}

impl Broker {
    pub(super) fn new(spec: &BrokerSpec, clock: Clock, processors: u32, threads: u32) -> Self {
        Self {
            policy: spec.policy,
            clock,
            call_cycles: u64::from(spec.call_cycles),
            processors: processors as usize,
            threads,
            services: Vec::new(),
            free: 0,
            calls: 0,
        }
    }

    /// Handles the arrival of a call.
    pub(super) fn call(&mut self, now: Time, service: Service, errand: Errand) -> Option<Match> {
        self.servers(service).waiting.push_back((now, errand));
        let matched = self.serve(now, service);
        let servers = self.servers(service);
        servers.most_waiting = servers.most_waiting.max(servers.waiting.len());
        matched
    }

    /// Handles a server that becomes idle.
    pub(super) fn offer(&mut self, now: Time, service: Service, thread: u32) -> Option<Match> {
        let queue = match self.policy {
            Policy::FirstCome => 0,
            Policy::RoundRobin | Policy::LeastLoaded => (thread / self.threads) as usize,
        };
        let servers = self.servers(service);
        servers.idle[queue].push_back(thread);
        servers.idle_count += 1;
        self.serve(now, service)
    }

    /// The number of calls that got a server.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    /// Services with calls that wait for a server, and the number of these calls.
    pub(super) fn waiting(&self) -> impl Iterator<Item = (Service, usize)> + '_ {
        let services = (0..).map(Service).zip(&self.services);
        services
            .map(|(service, servers)| (service, servers.waiting.len()))
            .filter(|(_, calls)| *calls > 0)
    }

    fn servers(&mut self, service: Service) -> &mut Servers {
        if self.services.len() <= service.index() {
            let queues = if self.policy == Policy::FirstCome { 1 } else { self.processors };
            self.services.resize_with(service.index() + 1, || Servers::new(queues));
        }
        &mut self.services[service.index()]
    }

    /// Matches a call with a server. Calls and servers never wait at the same time, so an event
    /// creates at most one pair.
    fn serve(&mut self, now: Time, service: Service) -> Option<Match> {
        let policy = self.policy;
        let (since, errand, thread) = self.servers(service).serve(policy)?;
        self.servers(service).wait.time(now - since);
        let begin = self.free.max(self.clock.edge_from(now));
        self.free = begin + self.call_cycles;
        self.calls += 1;
        Some(Match { errand, thread, at: self.clock.edge(self.free) })
    }

    /// Resets the statistics.
    pub(super) fn begin_to_count(&mut self) {
        for servers in &mut self.services {
            servers.most_waiting = servers.waiting.len();
            servers.wait = Histogram::times();
        }
    }

    /// Statistics of each service: `calls` that got a server, calls `waiting` and their maximum,
    /// `wait` for a server, number of idle servers (`idle`).
    pub(super) fn record(&self) -> Record {
        let services =
            (0..).map(Service).zip(&self.services).filter(|(_, servers)| servers.is_used());
        services.fold(Record::new(), |record, (service, servers)| {
            record.with(&service.to_string().replace(' ', "_"), servers.record())
        })
    }
}

impl Servers {
    fn new(queues: usize) -> Self {
        Self {
            idle: vec![VecDeque::new(); queues],
            idle_count: 0,
            next: 0,
            waiting: VecDeque::new(),
            most_waiting: 0,
            wait: Histogram::times(),
        }
    }

    /// Removes the first call and the server that gets it. Returns both, and the time since which
    /// the call has waited.
    fn serve(&mut self, policy: Policy) -> Option<(Time, Errand, u32)> {
        if self.waiting.is_empty() || self.idle_count == 0 {
            return None;
        }
        let queue = self.choose(policy);
        let thread = self.idle[queue].pop_front()?;
        let (since, errand) = self.waiting.pop_front()?;
        self.idle_count -= 1;
        Some((since, errand, thread))
    }

    /// Selects a queue of idle servers; at least one queue is not empty.
    fn choose(&mut self, policy: Policy) -> usize {
        let count = self.idle.len();
        match policy {
            Policy::FirstCome => 0,
            Policy::RoundRobin => {
                let turn = (0..count).map(|step| (self.next + step) % count);
                let chosen = turn
                    .into_iter()
                    .find(|processor| !self.idle[*processor].is_empty())
                    .unwrap_or(0);
                self.next = (chosen + 1) % count;
                chosen
            }
            Policy::LeastLoaded => {
                (0..count).rev().max_by_key(|processor| self.idle[*processor].len()).unwrap_or(0)
            }
        }
    }

    fn is_used(&self) -> bool {
        self.idle_count + self.waiting.len() > 0 || self.wait.count() > 0
    }

    fn record(&self) -> Record {
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

    /// A broker for three processors with two threads each.
    fn broker(policy: Policy) -> Broker {
        Broker::new(&BrokerSpec { policy, call_cycles: 2 }, Clock::hertz(500_000_000), 3, 2)
    }

    /// The servers that get four calls if servers become idle in this order.
    fn servers(policy: Policy, idle: &[u32]) -> Vec<u32> {
        let mut broker = broker(policy);
        for thread in idle {
            assert_eq!(broker.offer(Time(0), Service::PACKETS, *thread), None);
        }
        let call = |packet| broker.call(Time(0), Service::PACKETS, Errand::Packet(packet));
        (0..4).map(call).map(|matched| matched.unwrap().thread).collect()
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
            assert_eq!(broker.call(Time(1000), Service::PACKETS, Errand::Packet(packet)), None);
        }
        let matched = |packet, thread, at| {
            Some(Match { errand: Errand::Packet(packet), thread, at: Time(at) })
        };
        // A cycle is 2,000 ps: from the edge after 5,000, two cycles for each call.
        assert_eq!(broker.offer(Time(5000), Service::PACKETS, 2), matched(7, 2, 10_000));
        assert_eq!(broker.offer(Time(5000), Service::PACKETS, 1), matched(8, 1, 14_000));
        assert_eq!(broker.waiting().collect::<Vec<_>>(), [(Service::PACKETS, 1)]);
        assert_eq!(broker.services[0].most_waiting, 3);
    }

    #[test]
    fn servers_get_calls_of_their_own_service() {
        let mut broker = broker(Policy::FirstCome);
        let [first, second] = [0, 1].map(|number| Service::object(number).expect("there is room"));
        assert_eq!(broker.offer(Time(0), first, 0), None);
        assert_eq!(broker.call(Time(0), second, Errand::Call(5)), None);
        let matched = broker.offer(Time(0), second, 3).expect("a call waits");
        assert_eq!((matched.errand, matched.thread), (Errand::Call(5), 3));
        assert_eq!(
            broker.call(Time(0), first, Errand::Call(6)).map(|matched| matched.thread),
            Some(0)
        );
        assert_eq!(broker.waiting().count(), 0);
        assert_eq!(Service::object(mpe::SERVICES), None);
    }
}

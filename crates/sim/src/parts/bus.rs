//! A bus: one message at a time between any two nodes.

use serde::{Deserialize, Serialize};

use super::arbiter::{Arbiter, ArbiterSpec, Requests};
use super::contention::{Entrances, Steps};
use super::network::{Credits, Message, Network, NetworkEvent, Node, Notice, Traffic, entrance};
use crate::spec::{SpecError, megahertz, within};
use crate::stats::Record;
use crate::waits::Waits;
use crate::{Agenda, Clock, Time};

/// A shared bus. Alone, a message takes `arbitration_cycles`, a cycle for each beat of `width_bytes`, and `latency_cycles`; only the first two
/// keep the bus from others.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BusSpec {
    /// Its clock; in machine files `clock_mhz`.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// Bytes a cycle, 1 to 4,096.
    pub width_bytes: u64,
    /// Cycles that each grant costs the bus, 0 to 1,000.
    pub arbitration_cycles: u64,
    /// Cycles from the bus to the receiver, 0 to 65,536.
    pub latency_cycles: u64,
    /// Messages that wait at each node, 1 to 65,536.
    pub queue_messages: u64,
    /// Who is granted.
    #[serde(default)]
    pub arbiter: ArbiterSpec,
}

/// A bus and who waits for it.
#[derive(Clone, Debug)]
pub struct Bus<P> {
    spec: BusSpec,
    arbiter: Arbiter,
    entrances: Entrances,
    steps: Steps,
    /// The cycle from which it is free.
    free: u64,
    credits: Credits,
    traffic: Traffic<P>,
    busy: u64,
}

impl<P> Bus<P> {
    /// A free one between so many nodes.
    ///
    /// # Errors
    /// If a number of the specification is out of its range, or there are no nodes or more than 4,096.
    pub fn new(spec: BusSpec, nodes: u32) -> Result<Self, SpecError> {
        within("nodes", u64::from(nodes), 1..=4096)?;
        within("width_bytes", spec.width_bytes, 1..=4096)?;
        within("arbitration_cycles", spec.arbitration_cycles, 0..=1000)?;
        within("latency_cycles", spec.latency_cycles, 0..=1 << 16)?;
        within("queue_messages", spec.queue_messages, 1..=1 << 16)?;
        let arbiter = Arbiter::new(&spec.arbiter, nodes as usize).map_err(|error| error.within("arbiter"))?;
        let (entrances, steps) = (Entrances::new(nodes, 1, spec.queue_messages), Steps::new(spec.clock));
        let (credits, traffic) = (Credits::new(nodes), Traffic::new());
        Ok(Self { spec, arbiter, entrances, steps, free: 0, credits, traffic, busy: 0 })
    }

    fn step(&mut self, cycle: u64, agenda: &mut impl Agenda<NetworkEvent>) {
        if self.free > cycle {
            return self.steps.want(self.free, agenda);
        }
        let mut requests = Requests::new(self.credits.nodes());
        for (node, number) in self.entrances.heads() {
            if self.credits.has(self.traffic.message(number).to) {
                requests.insert(node.0 as usize);
            }
        }
        let Some(granted) = self.arbiter.grant(&requests) else { return };
        let Some(number) = self.entrances.pop(granted, 0, agenda) else { return };
        let message = self.traffic.message(number);
        self.credits.take(message.to);
        let taken =
            self.spec.arbitration_cycles + u64::from(message.bytes).div_ceil(self.spec.width_bytes).max(1);
        self.free = cycle + taken;
        self.busy += taken;
        self.steps.send(self.free + self.spec.latency_cycles, NetworkEvent::Deliver(number), agenda);
        if self.entrances.heads().next().is_some() {
            self.steps.want(self.free, agenda);
        }
    }
}

impl<P> Network<P> for Bus<P> {
    fn can_send(&self, from: Node, _: Node) -> bool {
        self.entrances.has_room(from, 0)
    }

    fn send(
        &mut self,
        message: Message<P>,
        agenda: &mut impl Agenda<NetworkEvent>,
    ) -> Result<(), Message<P>> {
        self.credits.check(&message);
        let from = message.from;
        if !self.can_send(from, message.to) {
            self.entrances.refuse(from);
            return Err(message);
        }
        let number = self.traffic.begin(message, agenda.now());
        self.entrances.push(from, 0, number);
        self.steps.want(self.steps.now(agenda).max(self.free), agenda);
        Ok(())
    }

    fn arrive(&mut self, event: NetworkEvent, agenda: &mut impl Agenda<NetworkEvent>) -> Option<Notice<P>> {
        match event {
            NetworkEvent::Step => {
                if let Some(cycle) = self.steps.begin(agenda) {
                    self.step(cycle, agenda);
                }
                None
            }
            event => self.traffic.notice(event, agenda.now()),
        }
    }

    fn bound(&mut self, node: Node, messages: u32) {
        self.credits.set(node, messages);
    }

    fn release(&mut self, node: Node, agenda: &mut impl Agenda<NetworkEvent>) {
        self.credits.give(node);
        self.steps.want(self.steps.now(agenda).max(self.free), agenda);
    }

    fn under_way(&self) -> usize {
        self.traffic.under_way()
    }

    /// Beside the common ones `use`: the share of its cycles in which the bus was taken.
    fn record(&self, now: Time) -> Record {
        let cycles = self.spec.clock.edge_from(now).max(1);
        self.traffic.record().with("use", self.busy as f64 / cycles as f64)
    }

    fn waits(&self, name: &dyn Fn(Node) -> String, waits: &mut Waits) {
        for (node, number) in self.entrances.heads() {
            let to = self.traffic.message(number).to;
            if !self.credits.has(to) {
                waits.add(entrance(name(node)), name(to), "it holds as many messages as it can");
            }
        }
    }
}

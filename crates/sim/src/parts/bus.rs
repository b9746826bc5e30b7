//! A bus: one message at a time between any two nodes.

use serde::{Deserialize, Serialize};

use super::arbiter::{Arbiter, ArbiterSpec, Requests};
use super::contention::{Contended, Entrances, Medium, Waiting};
use super::network::{NetworkEvent, Node};
use crate::spec::{SpecError, megahertz, within};
use crate::stats::Record;
use crate::{Clock, EventSink};

/// A shared bus. The unloaded latency of a message is `arbitration_cycles`, a cycle for each beat
/// of `width_bytes`, and `latency_cycles`; only the first two occupy the bus.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BusSpec {
    /// The clock; `clock_mhz` in machine files.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// The width in bytes a cycle, 1 to 4,096.
    pub width_bytes: u64,
    /// Cycles that each grant costs the bus, 0 to 1,000.
    pub arbitration_cycles: u64,
    /// Cycles from the bus to the receiver, 0 to 65,536.
    pub latency_cycles: u64,
    /// Capacity of each node's queue in messages, 1 to 65,536.
    pub queue_messages: u64,
    #[serde(default)]
    pub arbiter: ArbiterSpec,
}

/// A bus as a medium.
#[derive(Clone, Debug)]
pub(crate) struct Wires {
    spec: BusSpec,
    arbiter: Arbiter,
    /// The cycle from which the bus is free.
    free: u64,
    busy: u64,
}

pub(crate) type Bus<P> = Contended<Wires, P>;

impl BusSpec {
    /// Creates a free bus between this number of nodes.
    ///
    /// # Errors
    /// If a number of the specification is out of range, or if there are no nodes or more than
    /// 4,096.
    pub(crate) fn build<P>(&self, nodes: u32) -> Result<Bus<P>, SpecError> {
        within("nodes", u64::from(nodes), 1..=4096)?;
        within("width_bytes", self.width_bytes, 1..=4096)?;
        within("arbitration_cycles", self.arbitration_cycles, 0..=1000)?;
        within("latency_cycles", self.latency_cycles, 0..=1 << 16)?;
        within("queue_messages", self.queue_messages, 1..=1 << 16)?;
        let arbiter = Arbiter::new(&self.arbiter, nodes as usize);
        let arbiter = arbiter.map_err(|error| error.within("arbiter"))?;
        let wires = Wires { spec: self.clone(), arbiter, free: 0, busy: 0 };
        let entrances = Entrances::new(nodes, 1, self.queue_messages);
        Ok(Contended::new(wires, self.clock, nodes, entrances))
    }
}

impl Medium for Wires {
    fn free_for(&self, _: Node, _: Node) -> u64 {
        self.free
    }

    fn free(&self) -> u64 {
        self.free
    }

    fn step<P>(
        &mut self,
        cycle: u64,
        waiting: &mut Waiting<P>,
        events: &mut impl EventSink<NetworkEvent>,
    ) {
        let Waiting { entrances, steps, credits, traffic } = waiting;
        if self.free > cycle {
            return steps.want(self.free, events);
        }
        let mut requests = Requests::new(credits.nodes());
        for (node, number) in entrances.heads() {
            if credits.has(traffic.message(number).to) {
                requests.insert(node.0 as usize);
            }
        }
        let Some(granted) = self.arbiter.grant(&requests) else { return };
        let Some(number) = entrances.pop(granted, 0, events) else { return };
        let message = traffic.message(number);
        credits.take(message.to);
        let beats = u64::from(message.bytes).div_ceil(self.spec.width_bytes).max(1);
        let taken = self.spec.arbitration_cycles + beats;
        self.free = cycle + taken;
        self.busy += taken;
        let delivered = self.free + self.spec.latency_cycles;
        steps.send(delivered, NetworkEvent::Deliver(number), events);
        if entrances.heads().next().is_some() {
            steps.want(self.free, events);
        }
    }

    fn hold(&mut self, cycle: u64) {
        self.free = self.free.min(cycle);
    }

    fn begin_to_count(&mut self) {
        self.busy = 0;
    }

    /// In addition to the common keys, `use`: the share of cycles in which the bus was taken.
    fn record(&self, cycles: u64, record: Record) -> Record {
        record.with("use", self.busy as f64 / cycles as f64)
    }
}

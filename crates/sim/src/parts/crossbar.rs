//! A crossbar: it connects each input to any output, with one message at a time at each input and
//! output.

use serde::{Deserialize, Serialize};

use super::arbiter::{Arbiter, ArbiterSpec, Requests};
use super::contention::{Contended, Entrances, Medium, Waiting};
use super::network::{NetworkEvent, Node};
use crate::spec::{SpecError, megahertz, within};
use crate::stats::Record;
use crate::{Clock, EventSink};

/// The queueing of messages at an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Queueing {
    /// One queue. Its first message blocks others whose outputs are free (head-of-line blocking).
    /// With random receivers and many outputs, at most a share of 2 - sqrt(2) of them is busy
    /// (Karol, Hluchyj and Morgan, 1987).
    #[default]
    Fifo,
    /// One queue for each output, matched by iSLIP (McKeown, 1999), repeated until no match can be
    /// added.
    PerOutput,
}

/// A crossbar. The unloaded latency of a message is `latency_cycles` and a cycle for each beat of
/// `width_bytes`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CrossbarSpec {
    /// The clock; `clock_mhz` in machine files.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// Bytes that a path carries in a cycle, 1 to 4,096.
    pub width_bytes: u64,
    /// Cycles from one side to the other, 0 to 65,536.
    pub latency_cycles: u64,
    /// Capacity of a queue in messages, 1 to 65,536.
    pub queue_messages: u64,
    /// The queueing at inputs.
    #[serde(default)]
    pub queueing: Queueing,
    /// The arbiter of an output.
    #[serde(default)]
    pub arbiter: ArbiterSpec,
}

/// A crossbar as a medium.
#[derive(Clone, Debug)]
pub(crate) struct Switch {
    spec: CrossbarSpec,
    inputs: Vec<Side>,
    outputs: Vec<Side>,
    beats: u64,
    /// The inputs that request each output, and the outputs that grant each input. Both are empty
    /// between steps.
    asking: Vec<Requests>,
    granting: Vec<Requests>,
}

/// An input or output.
#[derive(Clone, Debug)]
struct Side {
    /// The cycle from which the side is free.
    free: u64,
    arbiter: Arbiter,
}

pub(crate) type Crossbar<P> = Contended<Switch, P>;

impl CrossbarSpec {
    /// Creates a free crossbar between this number of nodes.
    ///
    /// # Errors
    /// If a number of the specification is out of range, or if there are no nodes or more than
    /// 1,024.
    pub(crate) fn build<P>(&self, nodes: u32) -> Result<Crossbar<P>, SpecError> {
        within("nodes", u64::from(nodes), 1..=1024)?;
        within("width_bytes", self.width_bytes, 1..=4096)?;
        within("latency_cycles", self.latency_cycles, 0..=1 << 16)?;
        within("queue_messages", self.queue_messages, 1..=1 << 16)?;
        let arbiter = Arbiter::new(&self.arbiter, nodes as usize);
        let arbiter = arbiter.map_err(|error| error.within("arbiter"))?;
        let lanes = if self.queueing == Queueing::Fifo { 1 } else { nodes };
        let sides = vec![Side { free: 0, arbiter }; nodes as usize];
        let nobody = vec![Requests::new(nodes as usize); nodes as usize];
        let switch = Switch {
            spec: self.clone(),
            inputs: sides.clone(),
            outputs: sides,
            beats: 0,
            asking: nobody.clone(),
            granting: nobody,
        };
        let entrances = Entrances::new(nodes, lanes, self.queue_messages);
        Ok(Contended::new(switch, self.clock, nodes, entrances))
    }
}

impl Switch {
    /// Matches outputs (grant) and inputs (accept) and starts messages. Returns whether any
    /// started. As in iSLIP, only the first round advances the arbiters, and an output's arbiter
    /// only if its grant is accepted.
    fn match_sides<P>(
        &mut self,
        cycle: u64,
        is_first: bool,
        waiting: &mut Waiting<P>,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> bool {
        self.asking.iter_mut().for_each(Requests::clear);
        for (node, number) in waiting.entrances.heads() {
            let to = waiting.traffic.message(number).to;
            if self.free_for(node, to) <= cycle && waiting.credits.has(to) {
                self.asking[to.0 as usize].insert(node.0 as usize);
            }
        }
        self.granting.iter_mut().for_each(Requests::clear);
        for (output, asking) in self.asking.iter().enumerate() {
            if let Some(input) = self.outputs[output].arbiter.choose(asking) {
                self.granting[input].insert(output);
            }
        }
        let mut any = false;
        for input in 0..self.inputs.len() {
            let chosen = self.inputs[input].arbiter.choose(&self.granting[input]);
            let Some(output) = chosen else { continue };
            if is_first {
                self.inputs[input].arbiter.granted(output);
                self.outputs[output].arbiter.granted(input);
            }
            self.pass(cycle, (input, output), waiting, events);
            any = true;
        }
        any
    }

    /// Starts the first message of an input for an output.
    fn pass<P>(
        &mut self,
        cycle: u64,
        (input, output): (usize, usize),
        waiting: &mut Waiting<P>,
        events: &mut impl EventSink<NetworkEvent>,
    ) {
        let to = Node(output as u32);
        let Some(number) = waiting.entrances.pop(input, self.lane(to), events) else { return };
        let bytes = u64::from(waiting.traffic.message(number).bytes);
        let beats = bytes.div_ceil(self.spec.width_bytes).max(1);
        waiting.credits.take(to);
        self.inputs[input].free = cycle + beats;
        self.outputs[output].free = cycle + beats;
        self.beats += beats;
        let delivered = cycle + beats + self.spec.latency_cycles;
        waiting.steps.send(delivered, NetworkEvent::Deliver(number), events);
    }
}

impl Medium for Switch {
    fn lane(&self, to: Node) -> usize {
        if self.spec.queueing == Queueing::Fifo { 0 } else { to.0 as usize }
    }

    fn free_for(&self, from: Node, to: Node) -> u64 {
        self.inputs[from.0 as usize].free.max(self.outputs[to.0 as usize].free)
    }

    fn step<P>(
        &mut self,
        cycle: u64,
        waiting: &mut Waiting<P>,
        events: &mut impl EventSink<NetworkEvent>,
    ) {
        let mut is_first = true;
        while self.match_sides(cycle, is_first, waiting, events) {
            is_first = false;
        }
        // A message that stays is tried again as soon as both sides are free. If its receiver is
        // full, it waits for the release.
        let ready = |(node, number): (Node, u32)| {
            let to = waiting.traffic.message(number).to;
            let free = self.free_for(node, to).max(cycle + 1);
            waiting.credits.has(to).then_some(free)
        };
        if let Some(next) = waiting.entrances.heads().filter_map(ready).min() {
            waiting.steps.want(next, events);
        }
    }

    fn hold(&mut self, cycle: u64) {
        for side in self.inputs.iter_mut().chain(&mut self.outputs) {
            side.free = side.free.min(cycle);
        }
    }

    fn begin_to_count(&mut self) {
        self.beats = 0;
    }

    /// In addition to the common keys, `use`: the share of the outputs' cycles in which they
    /// carried something.
    fn record(&self, cycles: u64, record: Record) -> Record {
        let cycles = cycles * self.outputs.len() as u64;
        record.with("use", self.beats as f64 / cycles as f64)
    }
}

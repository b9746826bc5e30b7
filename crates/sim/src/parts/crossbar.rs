//! A crossbar: each input to any output, one message at a time at each of both.

use serde::{Deserialize, Serialize};

use super::arbiter::{Arbiter, ArbiterSpec, Requests};
use super::contention::{Entrances, Steps};
use super::network::{Credits, Message, Network, NetworkEvent, Node, Notice, Traffic, entrance};
use crate::spec::{SpecError, megahertz, within};
use crate::stats::Record;
use crate::waits::Waits;
use crate::{Agenda, Clock, Time};

/// How messages wait at an input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Queueing {
    /// In one queue: the first keeps others from outputs that are free. With random receivers at most 2 - sqrt(2) of the outputs are busy, where
    /// there are many (Karol, Hluchyj and Morgan, 1987).
    #[default]
    Fifo,
    /// In a queue for each output, matched by iSLIP (McKeown, 1999), repeated until nobody can be added.
    PerOutput,
}

/// A crossbar. Alone, a message takes `latency_cycles` and a cycle for each beat of `width_bytes`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CrossbarSpec {
    /// Its clock; in machine files `clock_mhz`.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// Bytes that a way through it carries in a cycle, 1 to 4,096.
    pub width_bytes: u64,
    /// Cycles from one side to the other, 0 to 65,536.
    pub latency_cycles: u64,
    /// Messages in a queue, 1 to 65,536.
    pub queue_messages: u64,
    /// How they wait.
    #[serde(default)]
    pub queueing: Queueing,
    /// Which input an output takes.
    #[serde(default)]
    pub arbiter: ArbiterSpec,
}

/// A crossbar and who waits for its outputs.
#[derive(Clone, Debug)]
pub struct Crossbar<P> {
    spec: CrossbarSpec,
    nodes: usize,
    entrances: Entrances,
    inputs: Vec<Side>,
    outputs: Vec<Side>,
    steps: Steps,
    credits: Credits,
    traffic: Traffic<P>,
    beats: u64,
    /// Inputs that ask for each output, and outputs that grant each input: empty between steps.
    asking: Vec<Requests>,
    granting: Vec<Requests>,
}

/// An input or output.
#[derive(Clone, Debug)]
struct Side {
    /// The cycle from which it is free.
    free: u64,
    arbiter: Arbiter,
}

impl<P> Crossbar<P> {
    /// A free one between so many nodes.
    ///
    /// # Errors
    /// If a number of the specification is out of its range, or there are no nodes or more than 1,024.
    pub fn new(spec: CrossbarSpec, nodes: u32) -> Result<Self, SpecError> {
        within("nodes", u64::from(nodes), 1..=1024)?;
        within("width_bytes", spec.width_bytes, 1..=4096)?;
        within("latency_cycles", spec.latency_cycles, 0..=1 << 16)?;
        within("queue_messages", spec.queue_messages, 1..=1 << 16)?;
        let arbiter = Arbiter::new(&spec.arbiter, nodes as usize).map_err(|error| error.within("arbiter"))?;
        let lanes = if spec.queueing == Queueing::Fifo { 1 } else { nodes };
        let sides = vec![Side { free: 0, arbiter }; nodes as usize];
        let nobody = vec![Requests::new(nodes as usize); nodes as usize];
        Ok(Self {
            nodes: nodes as usize,
            entrances: Entrances::new(nodes, lanes, spec.queue_messages),
            inputs: sides.clone(),
            outputs: sides,
            steps: Steps::new(spec.clock),
            credits: Credits::new(nodes),
            traffic: Traffic::new(),
            beats: 0,
            asking: nobody.clone(),
            granting: nobody,
            spec,
        })
    }

    fn lane(&self, to: Node) -> usize {
        if self.spec.queueing == Queueing::Fifo { 0 } else { to.0 as usize }
    }

    fn step(&mut self, cycle: u64, agenda: &mut impl Agenda<NetworkEvent>) {
        let mut is_first = true;
        while self.match_sides(cycle, is_first, agenda) {
            is_first = false;
        }
        // Whoever is left is tried again as soon as both sides are free. One whose receiver is full waits for its release.
        let ready = |(node, number): (Node, u32)| {
            let to = self.traffic.message(number).to;
            let free = self.inputs[node.0 as usize].free.max(self.outputs[to.0 as usize].free);
            self.credits.has(to).then_some(free.max(cycle + 1))
        };
        if let Some(next) = self.entrances.heads().filter_map(ready).min() {
            self.steps.want(next, agenda);
        }
    }

    /// Outputs grant, inputs accept, messages go; answers whether any did. As in iSLIP, only what happens in the first round moves the arbiters on, and
    /// an output's only if its grant is accepted.
    fn match_sides(&mut self, cycle: u64, is_first: bool, agenda: &mut impl Agenda<NetworkEvent>) -> bool {
        self.asking.iter_mut().for_each(Requests::clear);
        for (node, number) in self.entrances.heads() {
            let to = self.traffic.message(number).to;
            let is_free =
                self.inputs[node.0 as usize].free <= cycle && self.outputs[to.0 as usize].free <= cycle;
            if is_free && self.credits.has(to) {
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
        for input in 0..self.nodes {
            let Some(output) = self.inputs[input].arbiter.choose(&self.granting[input]) else { continue };
            if is_first {
                self.inputs[input].arbiter.granted(output);
                self.outputs[output].arbiter.granted(input);
            }
            self.pass(cycle, input, output, agenda);
            any = true;
        }
        any
    }

    /// The first message of an input for an output goes through.
    fn pass(&mut self, cycle: u64, input: usize, output: usize, agenda: &mut impl Agenda<NetworkEvent>) {
        let to = Node(output as u32);
        let Some(number) = self.entrances.pop(input, self.lane(to), agenda) else { return };
        let beats = u64::from(self.traffic.message(number).bytes).div_ceil(self.spec.width_bytes).max(1);
        self.credits.take(to);
        self.inputs[input].free = cycle + beats;
        self.outputs[output].free = cycle + beats;
        self.beats += beats;
        self.steps.send(cycle + beats + self.spec.latency_cycles, NetworkEvent::Deliver(number), agenda);
    }
}

impl<P> Network<P> for Crossbar<P> {
    fn can_send(&self, from: Node, to: Node) -> bool {
        self.entrances.has_room(from, self.lane(to))
    }

    fn send(
        &mut self,
        message: Message<P>,
        agenda: &mut impl Agenda<NetworkEvent>,
    ) -> Result<(), Message<P>> {
        self.credits.check(&message);
        let (from, lane) = (message.from, self.lane(message.to));
        if !self.entrances.has_room(from, lane) {
            self.entrances.refuse(from);
            return Err(message);
        }
        let ready = self.inputs[from.0 as usize].free.max(self.outputs[message.to.0 as usize].free);
        let number = self.traffic.begin(message, agenda.now());
        self.entrances.push(from, lane, number);
        self.steps.want(self.steps.now(agenda).max(ready), agenda);
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
        self.steps.want(self.steps.now(agenda), agenda);
    }

    fn under_way(&self) -> usize {
        self.traffic.under_way()
    }

    /// Beside the common ones `use`: the share of the outputs' cycles in which they carried something.
    fn record(&self, now: Time) -> Record {
        let cycles = self.spec.clock.edge_from(now).max(1) * self.nodes as u64;
        self.traffic.record().with("use", self.beats as f64 / cycles as f64)
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

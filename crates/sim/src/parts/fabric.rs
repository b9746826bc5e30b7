//! Routers and their links: the common parts of rings and meshes.
//!
//! Switching is virtual cut-through (Kermani and Kleinrock, 1979). The head advances as soon as the
//! link is free and the next router has a free slot, which is large enough for any message; the
//! rest follows, a flit a cycle. A slot is free again when the last flit has left it. A message
//! therefore costs two events at each router, whatever its length, and nothing while it waits.

use std::collections::VecDeque;

use super::arbiter::{Arbiter, ArbiterSpec, Requests};
use super::contention::{FULL, Steps};
use super::network::{Credits, Message, Network, NetworkEvent, Node, Notice, Traffic, entrance};
use crate::spec::{SpecError, within};
use crate::stats::Record;
use crate::wait_graph::WaitGraph;
use crate::{Clock, EventSink, Time};

/// The port of each router at which its node sends and receives messages.
pub(crate) const LOCAL: usize = 0;

/// The routers and the routes of messages. A message leaves by an output and arrives at the input
/// with the same number.
pub(crate) trait Topology {
    /// Returns the number of ports of each router, the local one included.
    fn ports(&self) -> usize;

    /// Returns the router at the far end of an output, if there is one.
    fn behind(&self, router: usize, output: usize) -> Option<usize>;

    /// Returns the output that leads back from an input.
    fn opposite(&self, port: usize) -> usize;

    /// Returns the output by which a message for `to` leaves.
    fn route(&self, router: usize, to: usize) -> usize;

    /// Returns the number of free slots that a message from this input needs to advance. It is two
    /// if links form a cycle and the message is entering it, so that one slot stays free and the
    /// cycle can always advance (bubble flow control; Carrion and others, 1997).
    fn slots_needed(&self, input: usize) -> u64;
}

/// The parameters of routers of any topology.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouterSpec<'a> {
    pub(crate) clock: Clock,
    pub(crate) width_bytes: u64,
    pub(crate) router_cycles: u64,
    pub(crate) link_cycles: u64,
    pub(crate) queue_messages: u64,
    pub(crate) slots: u64,
    pub(crate) arbiter: &'a ArbiterSpec,
}

/// Routers, and the messages between them.
#[derive(Clone, Debug)]
pub(crate) struct Fabric<T, P> {
    topology: T,
    width_bytes: u64,
    router_cycles: u64,
    hop_cycles: u64,
    /// The inputs of all routers, router by router.
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    /// Routers at which a message may advance in the next step.
    ready: Vec<usize>,
    is_ready: Vec<bool>,
    /// Nodes that were refused and wait for room.
    refused: Vec<bool>,
    steps: Steps,
    credits: Credits,
    traffic: Traffic<P>,
    requests: Requests,
    /// The cycle at which the measurement began.
    counted_from: u64,
}

#[derive(Clone, Debug)]
struct Input {
    /// Messages whose head is here, each with its output.
    queue: VecDeque<(u32, usize)>,
    /// Occupied slots. Messages whose head is on its way here, or has left, also occupy one.
    taken: u64,
    slots: u64,
    /// The cycle from which the next message can leave.
    free: u64,
}

#[derive(Clone, Debug)]
struct Output {
    free: u64,
    arbiter: Arbiter,
    flits: u64,
}

impl<T: Topology, P> Fabric<T, P> {
    pub(crate) fn new(
        topology: T,
        spec: RouterSpec<'_>,
        routers: usize,
    ) -> Result<Self, SpecError> {
        within("width_bytes", spec.width_bytes, 1..=4096)?;
        within("router_cycles", spec.router_cycles, 1..=1000)?;
        within("link_cycles", spec.link_cycles, 0..=1000)?;
        within("queue_messages", spec.queue_messages, 1..=1 << 16)?;
        within("slots", spec.slots, 2..=1 << 16)?;
        let ports = topology.ports();
        let arbiter = Arbiter::new(spec.arbiter, ports).map_err(|error| error.within("arbiter"))?;
        let input = |number: usize| Input {
            queue: VecDeque::new(),
            taken: 0,
            slots: if number % ports == LOCAL { spec.queue_messages } else { spec.slots },
            free: 0,
        };
        Ok(Self {
            inputs: (0..routers * ports).map(input).collect(),
            outputs: vec![Output { free: 0, arbiter, flits: 0 }; routers * ports],
            topology,
            width_bytes: spec.width_bytes,
            router_cycles: spec.router_cycles,
            hop_cycles: spec.router_cycles + spec.link_cycles,
            ready: Vec::new(),
            is_ready: vec![false; routers],
            refused: vec![false; routers],
            steps: Steps::new(spec.clock),
            credits: Credits::new(routers as u32),
            traffic: Traffic::new(),
            requests: Requests::new(ports),
            counted_from: 0,
        })
    }

    /// Schedules a router for this cycle, after a change.
    fn look_at(&mut self, router: usize, events: &mut impl EventSink<NetworkEvent>) {
        if !std::mem::replace(&mut self.is_ready[router], true) {
            self.ready.push(router);
        }
        self.steps.want(self.steps.now(events), events);
    }

    fn step(&mut self, cycle: u64, events: &mut impl EventSink<NetworkEvent>) {
        let mut ready = std::mem::take(&mut self.ready);
        for &router in &ready {
            self.is_ready[router] = false;
            for output in 0..self.topology.ports() {
                self.grant(cycle, router, output, events);
            }
        }
        ready.clear();
        self.ready = ready;
    }

    /// Grants an output to one of its messages, if the output is free and there is a slot at its
    /// far end.
    fn grant(
        &mut self,
        cycle: u64,
        router: usize,
        output: usize,
        events: &mut impl EventSink<NetworkEvent>,
    ) {
        let ports = self.topology.ports();
        if self.outputs[router * ports + output].free > cycle {
            return;
        }
        self.requests.clear();
        for input in 0..ports {
            if self.can_go(cycle, router, input, output) {
                self.requests.insert(input);
            }
        }
        let Some(input) = self.outputs[router * ports + output].arbiter.grant(&self.requests)
        else {
            return;
        };
        let from = &mut self.inputs[router * ports + input];
        let Some((number, _)) = from.queue.pop_front() else { return };
        let message = self.traffic.message(number);
        let flits = u64::from(message.bytes).div_ceil(self.width_bytes).max(1);
        from.free = cycle + flits;
        let way = &mut self.outputs[router * ports + output];
        way.free = cycle + flits;
        way.flits += flits;
        match self.topology.behind(router, output) {
            None => {
                self.credits.take(message.to);
                let last = cycle + self.router_cycles + flits - 1;
                self.steps.send(last, NetworkEvent::Deliver(number), events);
            }
            Some(next) => {
                self.inputs[next * ports + output].taken += 1;
                let event = NetworkEvent::Head {
                    router: next as u32,
                    input: output as u8,
                    message: number,
                };
                self.steps.send(cycle + self.hop_cycles, event, events);
            }
        }
        let event = NetworkEvent::Tail { router: router as u32, input: input as u8 };
        self.steps.send(cycle + flits, event, events);
    }

    /// Whether the first message of an input requests this output and may leave by it.
    fn can_go(&self, cycle: u64, router: usize, input: usize, output: usize) -> bool {
        let ports = self.topology.ports();
        let from = &self.inputs[router * ports + input];
        let Some(&(number, wants)) = from.queue.front() else { return false };
        if wants != output || from.free > cycle {
            return false;
        }
        match self.topology.behind(router, output) {
            None => self.credits.has(self.traffic.message(number).to),
            Some(next) => {
                let behind = &self.inputs[next * ports + output];
                behind.taken + self.topology.slots_needed(input) <= behind.slots
            }
        }
    }

    /// Handles the arrival of a message's head at an input.
    fn enter(
        &mut self,
        router: usize,
        input: usize,
        number: u32,
        events: &mut impl EventSink<NetworkEvent>,
    ) {
        let output = self.topology.route(router, self.traffic.message(number).to.0 as usize);
        self.inputs[router * self.topology.ports() + input].queue.push_back((number, output));
        self.look_at(router, events);
    }

    /// Handles the departure of a message's last flit from an input: its slot and the link to this
    /// router become free.
    fn leave(&mut self, router: usize, input: usize, events: &mut impl EventSink<NetworkEvent>) {
        self.inputs[router * self.topology.ports() + input].taken -= 1;
        self.look_at(router, events);
        if input == LOCAL {
            if std::mem::take(&mut self.refused[router]) {
                events.send(Time::ZERO, NetworkEvent::Room(Node(router as u32)));
            }
        } else if let Some(before) = self.topology.behind(router, self.topology.opposite(input)) {
            self.look_at(before, events);
        }
    }
}

impl<T: Topology, P> Network<P> for Fabric<T, P> {
    fn can_send(&self, from: Node, _: Node) -> bool {
        let entrance = &self.inputs[from.0 as usize * self.topology.ports() + LOCAL];
        entrance.taken < entrance.slots
    }

    fn send(
        &mut self,
        message: Message<P>,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Result<(), Message<P>> {
        self.credits.check(&message);
        let from = message.from.0 as usize;
        if !self.can_send(message.from, message.to) {
            self.refused[from] = true;
            return Err(message);
        }
        let number = self.traffic.begin(message, events.now());
        self.inputs[from * self.topology.ports() + LOCAL].taken += 1;
        self.enter(from, LOCAL, number, events);
        Ok(())
    }

    fn arrive(
        &mut self,
        event: NetworkEvent,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Option<Notice<P>> {
        match event {
            NetworkEvent::Head { router, input, message } => {
                self.enter(router as usize, input as usize, message, events);
                None
            }
            NetworkEvent::Tail { router, input } => {
                self.leave(router as usize, input as usize, events);
                None
            }
            NetworkEvent::Step => {
                if let Some(cycle) = self.steps.begin(events) {
                    self.step(cycle, events);
                }
                None
            }
            event => self.traffic.notice(event, events.now()),
        }
    }

    fn bound(&mut self, node: Node, messages: u32) {
        self.credits.set(node, messages);
    }

    fn release(&mut self, node: Node, events: &mut impl EventSink<NetworkEvent>) {
        self.credits.give(node);
        self.look_at(node.0 as usize, events);
    }

    fn set_rate(&mut self, rate: Clock, settle: Time, events: &mut impl EventSink<NetworkEvent>) {
        let held = self.steps.set_rate(rate, settle, 0, events);
        self.inputs.iter_mut().for_each(|input| input.free = input.free.min(held));
        self.outputs.iter_mut().for_each(|output| output.free = output.free.min(held));
    }

    fn under_way(&self) -> usize {
        self.traffic.under_way()
    }

    fn begin_to_count(&mut self, now: Time) {
        self.counted_from = self.steps.cycles(now);
        self.outputs.iter_mut().for_each(|way| way.flits = 0);
        self.traffic.begin_to_count();
    }

    /// Adds to the common record `use`, the share of all links' cycles in which they carried
    /// something, and `most_used`, the share of the busiest link.
    fn record(&self, now: Time) -> Record {
        let cycles = (self.steps.cycles(now) - self.counted_from).max(1) as f64;
        let ports = self.topology.ports();
        let ways = self.outputs.iter().enumerate();
        let is_way = |number: usize| self.topology.behind(number / ports, number % ports).is_some();
        let flits: Vec<u64> =
            ways.filter(|(number, _)| is_way(*number)).map(|(_, way)| way.flits).collect();
        let most = flits.iter().max().copied().unwrap_or(0);
        let mean = flits.iter().sum::<u64>() as f64 / flits.len().max(1) as f64;
        self.traffic.record().with("use", mean / cycles).with("most_used", most as f64 / cycles)
    }

    fn waits(&self, name: &dyn Fn(Node) -> String, waits: &mut WaitGraph) {
        let ports = self.topology.ports();
        let place = |router: usize, input: usize| match input {
            LOCAL => entrance(name(Node(router as u32))),
            _ => format!("input {input} of router {router}"),
        };
        for (index, input) in self.inputs.iter().enumerate() {
            let (router, port) = (index / ports, index % ports);
            let Some(&(number, output)) = input.queue.front() else { continue };
            match self.topology.behind(router, output) {
                Some(next) => waits.add(place(router, port), place(next, output), "a free slot"),
                None => {
                    let to = self.traffic.message(number).to;
                    if !self.credits.has(to) {
                        waits.add(place(router, port), name(to), FULL);
                    }
                }
            }
        }
    }
}

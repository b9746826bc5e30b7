//! Routers and the ways between them: what rings and meshes have in common.
//!
//! Messages cut through (virtual cut-through, Kermani and Kleinrock, 1979): the head goes on as soon as the next router has a free slot, which is large
//! enough for any message, and the way behind it; the rest follows, a flit a cycle. A slot is free again when the last flit has left it. So a
//! message costs two events at each router, however long it is, and nothing while it waits.

use std::collections::VecDeque;

use super::arbiter::{Arbiter, ArbiterSpec, Requests};
use super::contention::Steps;
use super::network::{Credits, Message, Network, NetworkEvent, Node, Notice, Traffic, entrance};
use crate::spec::{SpecError, within};
use crate::stats::Record;
use crate::waits::Waits;
use crate::{Agenda, Clock, Time};

/// The port of each router at which its node puts messages in and gets them.
pub(crate) const LOCAL: usize = 0;

/// Which routers there are and how messages go. A message leaves by an output and comes to the input of the same number.
pub(crate) trait Topology {
    /// Ports of each router, the local one included.
    fn ports(&self) -> usize;

    /// The router behind an output, if there is one.
    fn behind(&self, router: usize, output: usize) -> Option<usize>;

    /// The output that leads from an input.
    fn opposite(&self, port: usize) -> usize;

    /// By which output a message for `to` leaves.
    fn route(&self, router: usize, to: usize) -> usize;

    /// How many slots must be free for a message from this input to go on: two where ways lie in a circle and it is new on it, so that one
    /// stays free and the circle can always turn (bubble flow control; Carrion and others, 1997).
    fn slots_needed(&self, input: usize) -> u64;
}

/// What routers of any topology have.
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

/// Routers, and what is under way between them.
#[derive(Clone, Debug)]
pub(crate) struct Fabric<T, P> {
    topology: T,
    clock: Clock,
    width_bytes: u64,
    router_cycles: u64,
    hop_cycles: u64,
    /// Of all routers, one after the other.
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    /// Routers at which something may go on in the next step.
    ready: Vec<usize>,
    is_ready: Vec<bool>,
    /// Nodes that wait for room.
    refused: Vec<bool>,
    steps: Steps,
    credits: Credits,
    traffic: Traffic<P>,
    requests: Requests,
}

#[derive(Clone, Debug)]
struct Input {
    /// Messages whose head is here, with the output each wants.
    queue: VecDeque<(u32, usize)>,
    /// Slots that are taken: also by messages whose head is on its way here or has left.
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
    pub(crate) fn new(topology: T, spec: RouterSpec<'_>, routers: usize) -> Result<Self, SpecError> {
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
            clock: spec.clock,
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
        })
    }

    /// Something has changed at a router: it is looked at in this cycle.
    fn look_at(&mut self, router: usize, agenda: &mut impl Agenda<NetworkEvent>) {
        if !std::mem::replace(&mut self.is_ready[router], true) {
            self.ready.push(router);
        }
        self.steps.want(self.steps.now(agenda), agenda);
    }

    fn step(&mut self, cycle: u64, agenda: &mut impl Agenda<NetworkEvent>) {
        let mut ready = std::mem::take(&mut self.ready);
        for &router in &ready {
            self.is_ready[router] = false;
            for output in 0..self.topology.ports() {
                self.grant(cycle, router, output, agenda);
            }
        }
        ready.clear();
        self.ready = ready;
    }

    /// Lets one of the messages go that want an output, if it is free and there is a slot behind it.
    fn grant(&mut self, cycle: u64, router: usize, output: usize, agenda: &mut impl Agenda<NetworkEvent>) {
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
        let Some(input) = self.outputs[router * ports + output].arbiter.grant(&self.requests) else { return };
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
                self.steps.send(last, NetworkEvent::Deliver(number), agenda);
            }
            Some(next) => {
                self.inputs[next * ports + output].taken += 1;
                let event = NetworkEvent::Head { router: next as u32, input: output as u8, message: number };
                self.steps.send(cycle + self.hop_cycles, event, agenda);
            }
        }
        let event = NetworkEvent::Tail { router: router as u32, input: input as u8 };
        self.steps.send(cycle + flits, event, agenda);
    }

    /// Whether the first message of an input wants this output and may leave by it.
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

    /// A message's head is at an input.
    fn enter(&mut self, router: usize, input: usize, number: u32, agenda: &mut impl Agenda<NetworkEvent>) {
        let output = self.topology.route(router, self.traffic.message(number).to.0 as usize);
        self.inputs[router * self.topology.ports() + input].queue.push_back((number, output));
        self.look_at(router, agenda);
    }

    /// A message's last flit has left an input: its slot, and the way to here, are free.
    fn leave(&mut self, router: usize, input: usize, agenda: &mut impl Agenda<NetworkEvent>) {
        self.inputs[router * self.topology.ports() + input].taken -= 1;
        self.look_at(router, agenda);
        if input == LOCAL {
            if std::mem::take(&mut self.refused[router]) {
                agenda.send(Time::ZERO, NetworkEvent::Room(Node(router as u32)));
            }
        } else if let Some(before) = self.topology.behind(router, self.topology.opposite(input)) {
            self.look_at(before, agenda);
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
        agenda: &mut impl Agenda<NetworkEvent>,
    ) -> Result<(), Message<P>> {
        self.credits.check(&message);
        let from = message.from.0 as usize;
        if !self.can_send(message.from, message.to) {
            self.refused[from] = true;
            return Err(message);
        }
        let number = self.traffic.begin(message, agenda.now());
        self.inputs[from * self.topology.ports() + LOCAL].taken += 1;
        self.enter(from, LOCAL, number, agenda);
        Ok(())
    }

    fn arrive(&mut self, event: NetworkEvent, agenda: &mut impl Agenda<NetworkEvent>) -> Option<Notice<P>> {
        match event {
            NetworkEvent::Head { router, input, message } => {
                self.enter(router as usize, input as usize, message, agenda);
                None
            }
            NetworkEvent::Tail { router, input } => {
                self.leave(router as usize, input as usize, agenda);
                None
            }
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
        self.look_at(node.0 as usize, agenda);
    }

    fn under_way(&self) -> usize {
        self.traffic.under_way()
    }

    /// Beside the common ones `use`: the share of all ways' cycles in which they carried something, and `most_used`, that of the busiest.
    fn record(&self, now: Time) -> Record {
        let cycles = self.clock.edge_from(now).max(1) as f64;
        let ports = self.topology.ports();
        let ways = self.outputs.iter().enumerate();
        let is_way = |number: usize| self.topology.behind(number / ports, number % ports).is_some();
        let flits: Vec<u64> = ways.filter(|(number, _)| is_way(*number)).map(|(_, way)| way.flits).collect();
        let most = flits.iter().max().copied().unwrap_or(0);
        let mean = flits.iter().sum::<u64>() as f64 / flits.len().max(1) as f64;
        self.traffic.record().with("use", mean / cycles).with("most_used", most as f64 / cycles)
    }

    fn waits(&self, name: &dyn Fn(Node) -> String, waits: &mut Waits) {
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
                        waits.add(place(router, port), name(to), "it holds as many messages as it can");
                    }
                }
            }
        }
    }
}

//! Wormhole routing: a mesh through which messages go flit by flit.
//!
//! A message is a worm of flits. Its head chooses the route, and each link that it takes belongs to
//! the message until its tail has passed. An input of a router holds only a few flits, so a waiting
//! worm occupies several routers and blocks others from its links (Dally and Seitz, 1987). Messages
//! go along their row first, then along the column, so no deadlock can arise.
//!
//! All routers act at once in a cycle. Room that a flit leaves can be taken in the next cycle, and
//! a flit that arrives was sent in an earlier cycle. Nothing is done while no flit can move.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::arbiter::{Arbiter, ArbiterSpec, Requests};
use super::contention::{Contended, Entrances, FULL, Medium, Waiting};
use super::fabric::{LOCAL, Topology};
use super::mesh::Grid;
use super::network::{NetworkEvent, Node, entrance};
use crate::spec::{SpecError, megahertz, within};
use crate::stats::Record;
use crate::wait_graph::WaitGraph;
use crate::{Clock, EventSink};

/// A mesh of routers with wormhole routing, one for each node, row by row. The unloaded latency of
/// a message over h links is h + 1 times `router_cycles`, plus h times `link_cycles`, plus a cycle
/// for each flit but the first. A link carries a flit in each cycle if `buffer_flits` is more than
/// the cycles of a router and a link; otherwise it carries `buffer_flits` flits in that many cycles
/// plus one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WormholeSpec {
    /// The clock; `clock_mhz` in machine files.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// The number of columns, 1 to 64.
    pub columns: u64,
    /// The number of rows, 1 to 64.
    pub rows: u64,
    /// Bytes of a flit, which a link carries in a cycle, 1 to 4,096.
    pub width_bytes: u64,
    /// Cycles of a flit in each router, 1 to 1,000.
    pub router_cycles: u64,
    /// Cycles of a flit on each link, 0 to 1,000.
    pub link_cycles: u64,
    /// Capacity of each node's queue in messages, 1 to 65,536.
    pub queue_messages: u64,
    /// Flits that each input of a router holds, including flits on their way to it, 1 to 65,536.
    pub buffer_flits: u64,
    /// The arbiter of a link.
    #[serde(default)]
    pub arbiter: ArbiterSpec,
}

pub(crate) type Wormhole<P> = Contended<Worms, P>;

/// Routers and the flits in them.
#[derive(Clone, Debug)]
pub(crate) struct Worms {
    spec: WormholeSpec,
    grid: Grid,
    /// The inputs of all routers, router by router.
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    /// Routers that have flits or to which flits are on their way.
    active: Vec<usize>,
    is_active: Vec<bool>,
    requests: Requests,
    /// Inputs that a flit has left in this cycle.
    left: Vec<usize>,
    /// The cycle after the last one in which flits moved, as there is one step in a cycle.
    next_cycle: u64,
}

/// An input of a router. The node's input holds no flits, but splits waiting messages into flits.
#[derive(Clone, Debug, Default)]
struct Input {
    flits: VecDeque<Flit>,
    /// Flits that are here, are on their way here, or have left in this cycle.
    taken: u64,
    /// The number of flits of the first message that have left, for inputs of nodes.
    gone: u64,
    /// The cycle after the last departure of a flit, as an input passes one flit in a cycle.
    free: u64,
}

#[derive(Clone, Copy, Debug)]
struct Flit {
    message: u32,
    is_head: bool,
    is_tail: bool,
    /// The cycle of its arrival.
    arrives: u64,
}

#[derive(Clone, Debug)]
struct Output {
    arbiter: Arbiter,
    /// The input whose message holds the link, from its head to its tail.
    holder: Option<usize>,
    flits: u64,
}

impl WormholeSpec {
    /// # Errors
    /// If a number is out of range, or if there are more nodes than routers.
    pub(crate) fn build<P>(&self, nodes: u32) -> Result<Wormhole<P>, SpecError> {
        let grid = Grid::new(self.columns, self.rows, nodes)?;
        within("width_bytes", self.width_bytes, 1..=4096)?;
        within("router_cycles", self.router_cycles, 1..=1000)?;
        within("link_cycles", self.link_cycles, 0..=1000)?;
        within("queue_messages", self.queue_messages, 1..=1 << 16)?;
        within("buffer_flits", self.buffer_flits, 1..=1 << 16)?;
        let (ports, routers) = (grid.ports(), grid.routers());
        let arbiter = Arbiter::new(&self.arbiter, ports);
        let arbiter = arbiter.map_err(|error| error.within("arbiter"))?;
        let worms = Worms {
            spec: self.clone(),
            grid,
            inputs: vec![Input::default(); routers * ports],
            outputs: vec![Output { arbiter, holder: None, flits: 0 }; routers * ports],
            active: Vec::new(),
            is_active: vec![false; routers],
            requests: Requests::new(ports),
            left: Vec::new(),
            next_cycle: 0,
        };
        let entrances = Entrances::new(routers as u32, 1, self.queue_messages);
        Ok(Contended::new(worms, self.clock, routers as u32, entrances))
    }
}

impl Worms {
    fn activate(&mut self, router: usize) {
        if !std::mem::replace(&mut self.is_active[router], true) {
            self.active.push(router);
        }
    }

    /// The first flit of an input.
    fn front<P>(&self, router: usize, input: usize, waiting: &Waiting<P>) -> Option<Flit> {
        let place = &self.inputs[router * self.grid.ports() + input];
        if input != LOCAL {
            return place.flits.front().copied();
        }
        let message = waiting.entrances.front(router, 0)?;
        let bytes = u64::from(waiting.traffic.message(message).bytes);
        let flits = bytes.div_ceil(self.spec.width_bytes).max(1);
        let (is_head, is_tail) = (place.gone == 0, place.gone + 1 == flits);
        Some(Flit { message, is_head, is_tail, arrives: 0 })
    }

    /// Returns the output that the first flit of an input requests in this cycle.
    fn wants<P>(
        &self,
        cycle: u64,
        (router, input): (usize, usize),
        waiting: &Waiting<P>,
    ) -> Option<(Flit, usize)> {
        let flit = self.front(router, input, waiting)?;
        let is_free = self.inputs[router * self.grid.ports() + input].free <= cycle;
        if flit.arrives > cycle || !is_free {
            return None;
        }
        let to = waiting.traffic.message(flit.message).to.0 as usize;
        Some((flit, self.grid.route(router, to)))
    }

    /// Returns the input whose flit goes over a link in this cycle, and the flit.
    fn grant<P>(
        &mut self,
        cycle: u64,
        (router, output): (usize, usize),
        waiting: &Waiting<P>,
    ) -> Option<(usize, Flit)> {
        let ports = self.grid.ports();
        if let Some(next) = self.grid.behind(router, output)
            && self.inputs[next * ports + output].taken >= self.spec.buffer_flits
        {
            return None;
        }
        let wants = |this: &Self, input| {
            let (flit, wanted) = this.wants(cycle, (router, input), waiting)?;
            let to = waiting.traffic.message(flit.message).to;
            let is_full = output == LOCAL && flit.is_head && !waiting.credits.has(to);
            (wanted == output && !is_full).then_some(flit)
        };
        let place = router * ports + output;
        if let Some(holder) = self.outputs[place].holder {
            return wants(self, holder).map(|flit| (holder, flit));
        }
        self.requests.clear();
        for input in 0..ports {
            if wants(self, input).is_some() {
                self.requests.insert(input);
            }
        }
        let granted = self.outputs[place].arbiter.grant(&self.requests)?;
        wants(self, granted).map(|flit| (granted, flit))
    }

    /// Moves a flit over a link, or out of the network.
    fn pass<P>(
        &mut self,
        cycle: u64,
        (router, input, output): (usize, usize, usize),
        flit: Flit,
        waiting: &mut Waiting<P>,
        events: &mut impl EventSink<NetworkEvent>,
    ) {
        let ports = self.grid.ports();
        let from = &mut self.inputs[router * ports + input];
        from.free = cycle + 1;
        if input == LOCAL {
            from.gone = if flit.is_tail { 0 } else { from.gone + 1 };
            if flit.is_tail {
                waiting.entrances.pop(router, 0, events);
            }
        } else {
            from.flits.pop_front();
            self.left.push(router * ports + input);
        }
        let link = &mut self.outputs[router * ports + output];
        link.holder = (!flit.is_tail).then_some(input);
        link.flits += 1;
        match self.grid.behind(router, output) {
            Some(next) => {
                let arrives = cycle + self.spec.router_cycles + self.spec.link_cycles;
                let to = &mut self.inputs[next * ports + output];
                to.taken += 1;
                to.flits.push_back(Flit { arrives, ..flit });
                self.activate(next);
            }
            None => {
                if flit.is_head {
                    waiting.credits.take(Node(router as u32));
                }
                if flit.is_tail {
                    let delivered = cycle + self.spec.router_cycles;
                    waiting.steps.send(delivered, NetworkEvent::Deliver(flit.message), events);
                }
            }
        }
    }

    /// The first flits of all inputs of active routers, with their places.
    fn fronts<'a, P>(
        &'a self,
        waiting: &'a Waiting<P>,
    ) -> impl Iterator<Item = (usize, usize, Flit)> {
        let ports = self.grid.ports();
        let places = self
            .active
            .iter()
            .flat_map(move |&router| (0..ports).map(move |input| (router, input)));
        places.filter_map(|(router, input)| {
            Some((router, input, self.front(router, input, waiting)?))
        })
    }
}

impl Medium for Worms {
    fn free_for(&self, _: Node, _: Node) -> u64 {
        self.next_cycle
    }

    fn free(&self) -> u64 {
        self.next_cycle
    }

    fn joined(&mut self, from: Node) {
        self.activate(from.0 as usize);
    }

    fn step<P>(
        &mut self,
        cycle: u64,
        waiting: &mut Waiting<P>,
        events: &mut impl EventSink<NetworkEvent>,
    ) {
        let mut moved = false;
        self.next_cycle = cycle + 1;
        // Routers that become active in this cycle have nothing to do before the next one.
        for index in 0..self.active.len() {
            let router = self.active[index];
            for output in 0..self.grid.ports() {
                if let Some((input, flit)) = self.grant(cycle, (router, output), waiting) {
                    self.pass(cycle, (router, input, output), flit, waiting, events);
                    moved = true;
                }
            }
        }
        for input in std::mem::take(&mut self.left) {
            self.inputs[input].taken -= 1;
        }
        let mut active = std::mem::take(&mut self.active);
        active.retain(|&router| {
            let has =
                (0..self.grid.ports()).any(|input| self.front(router, input, waiting).is_some());
            self.is_active[router] = has;
            has
        });
        self.active = active;
        if self.active.is_empty() {
            return;
        }
        let arrivals = self.fronts(waiting).map(|(.., flit)| flit.arrives);
        let next = arrivals.filter(|arrives| *arrives > cycle).min();
        if let Some(next) = if moved { Some(cycle + 1) } else { next } {
            waiting.steps.want(next, events);
        }
    }

    fn busy(&self) -> u64 {
        let arriving = self.inputs.iter().filter_map(|input| input.flits.back());
        arriving.map(|flit| flit.arrives).max().unwrap_or(0)
    }

    fn hold(&mut self, cycle: u64) {
        for input in &mut self.inputs {
            input.free = input.free.min(cycle);
            for flit in &mut input.flits {
                flit.arrives = flit.arrives.min(cycle);
            }
        }
    }

    fn begin_to_count(&mut self) {
        self.outputs.iter_mut().for_each(|link| link.flits = 0);
    }

    /// Adds to the common record `use`, the share of all links' cycles in which they carried a
    /// flit, and `most_used`, the share of the busiest link.
    fn record(&self, cycles: u64, record: Record) -> Record {
        let ports = self.grid.ports();
        let is_link = |number: usize| self.grid.behind(number / ports, number % ports).is_some();
        let links = self.outputs.iter().enumerate().filter(|(number, _)| is_link(*number));
        let flits: Vec<u64> = links.map(|(_, link)| link.flits).collect();
        let most = flits.iter().max().copied().unwrap_or(0);
        let mean = flits.iter().sum::<u64>() as f64 / flits.len().max(1) as f64;
        record.with("use", mean / cycles as f64).with("most_used", most as f64 / cycles as f64)
    }

    fn waits<P>(&self, waiting: &Waiting<P>, name: &dyn Fn(Node) -> String, waits: &mut WaitGraph) {
        let ports = self.grid.ports();
        let place = |router: usize, input: usize| match input {
            LOCAL => entrance(name(Node(router as u32))),
            _ => format!("input {input} of router {router}"),
        };
        for (router, input, flit) in self.fronts(waiting) {
            let to = waiting.traffic.message(flit.message).to;
            let output = self.grid.route(router, to.0 as usize);
            let holder = self.outputs[router * ports + output].holder;
            let who = place(router, input);
            match (holder, self.grid.behind(router, output)) {
                (Some(holder), _) if holder != input => {
                    waits.add(who, place(router, holder), "a link that a message holds");
                }
                (_, Some(next)) => waits.add(who, place(next, output), "room for a flit"),
                (_, None) if flit.is_head && !waiting.credits.has(to) => {
                    waits.add(who, name(to), FULL);
                }
                _ => {}
            }
        }
    }
}

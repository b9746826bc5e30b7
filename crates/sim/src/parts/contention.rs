//! What networks with contention have in common: queues at the ways in, and steps in which those who wait are chosen among.

use std::collections::VecDeque;

use super::network::{NetworkEvent, Node};
use crate::{Agenda, Clock, Time};

/// The cycles in which something may be granted. There is an event for each of them, and none while nobody waits.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    clock: Clock,
    due: Option<u64>,
}

impl Steps {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, due: None }
    }

    /// The first cycle from now on.
    pub(crate) fn now(&self, agenda: &impl Agenda<NetworkEvent>) -> u64 {
        self.clock.edge_from(agenda.now())
    }

    /// There is a step in this cycle, or one before it which will say so again.
    pub(crate) fn want(&mut self, cycle: u64, agenda: &mut impl Agenda<NetworkEvent>) {
        if self.due.is_none_or(|due| cycle < due) {
            self.due = Some(cycle);
            agenda.send_at(self.clock.edge(cycle), NetworkEvent::Step);
        }
    }

    /// The event of a step has come; answers its cycle, unless an earlier step has taken its place.
    pub(crate) fn begin(&mut self, agenda: &impl Agenda<NetworkEvent>) -> Option<u64> {
        let cycle = self.now(agenda);
        (self.due == Some(cycle)).then(|| {
            self.due = None;
            cycle
        })
    }

    /// Sends an event that arrives in this cycle.
    pub(crate) fn send(&self, cycle: u64, event: NetworkEvent, agenda: &mut impl Agenda<NetworkEvent>) {
        agenda.send_at(self.clock.edge(cycle), event);
    }
}

/// Bounded queues of messages at the ways in, some for each node.
#[derive(Clone, Debug)]
pub(crate) struct Entrances {
    queues: Vec<VecDeque<u32>>,
    /// Queues of each node.
    lanes: usize,
    bound: usize,
    /// Nodes that wait for room.
    refused: Vec<bool>,
}

impl Entrances {
    pub(crate) fn new(nodes: u32, lanes: u32, bound: u64) -> Self {
        let queues = vec![VecDeque::new(); (nodes * lanes) as usize];
        Self { queues, lanes: lanes as usize, bound: bound as usize, refused: vec![false; nodes as usize] }
    }

    pub(crate) fn has_room(&self, node: Node, lane: usize) -> bool {
        self.queues[node.0 as usize * self.lanes + lane].len() < self.bound
    }

    pub(crate) fn refuse(&mut self, node: Node) {
        self.refused[node.0 as usize] = true;
    }

    pub(crate) fn push(&mut self, node: Node, lane: usize, message: u32) {
        self.queues[node.0 as usize * self.lanes + lane].push_back(message);
    }

    /// Takes the first message; who was refused hears that there is room.
    pub(crate) fn pop(
        &mut self,
        node: usize,
        lane: usize,
        agenda: &mut impl Agenda<NetworkEvent>,
    ) -> Option<u32> {
        let message = self.queues[node * self.lanes + lane].pop_front()?;
        if std::mem::take(&mut self.refused[node]) {
            agenda.send(Time::ZERO, NetworkEvent::Room(Node(node as u32)));
        }
        Some(message)
    }

    /// The first messages of all queues, with their nodes.
    pub(crate) fn heads(&self) -> impl Iterator<Item = (Node, u32)> {
        let node = |(number, queue): (usize, &VecDeque<u32>)| {
            queue.front().map(|message| (Node((number / self.lanes) as u32), *message))
        };
        self.queues.iter().enumerate().filter_map(node)
    }
}

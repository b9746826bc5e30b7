//! What a platform tells of itself: what was counted, and who waits for whom.

use wireloom_sim::Time;
use wireloom_sim::parts::network::{Network, Node, entrance};
use wireloom_sim::stats::Record;
use wireloom_sim::waits::{Waits, Watched};

use super::super::broker::Service;
use super::super::context::Wait;
use super::super::objects::Objects;
use super::super::processor::Processor;
use super::super::workload::Workload;
use super::Platform;
use super::multiflex::Application;

impl<W: Workload, O: Objects> Platform<W, O> {
    fn node_name(&self, node: Node) -> String {
        let processors = self.processors.len() as u32;
        match node.0.checked_sub(processors) {
            None => format!("processor {}", node.0),
            Some(0) => "packet I/O".to_owned(),
            Some(1) => "the broker".to_owned(),
            Some(2) => "shared memory".to_owned(),
            Some(object) => match self.elements.get(object as usize - 3) {
                Some(element) => format!("object {}", element.name()),
                None if node == self.manager_node() => "the thread manager".to_owned(),
                None => "the console".to_owned(),
            },
        }
    }

    /// Cycles in which processors issued instructions, and instructions, of all.
    pub(in super::super) fn issued(&self) -> (u64, u64) {
        let sum = |count: fn(&Processor<W::Thread>) -> u64| self.processors.iter().map(count).sum();
        (sum(Processor::busy), sum(Processor::instructions))
    }

    /// Cycles in which each processor issued instructions.
    pub(in super::super) fn busy(&self) -> Vec<u64> {
        self.processors.iter().map(Processor::busy).collect()
    }

    pub(in super::super) fn record(&self, cycles: u64, now: Time) -> Record {
        let processors: Vec<Record> =
            self.processors.iter().map(|processor| processor.record(cycles, now)).collect();
        let own = self.application.iter().flat_map(Application::elements);
        let elements = self.elements.iter().zip(&self.turns).map(|(element, turns)| match turns {
            Some(turns) => element.record(now).with("turn_wait", turns.wait()),
            None => element.record(now),
        });
        let objects: Vec<Record> = elements.chain(own.map(|element| element.record(now))).collect();
        Record::new()
            .with("io", self.io.record(now))
            .with("broker", self.broker.record())
            .with("parts", self.parts(cycles))
            .with("network", self.network.record(now))
            .with("memory", self.memory.record(now))
            .with("objects", objects)
            .with("processors", processors)
    }
}

impl<W: Workload, O: Objects> Watched for Platform<W, O> {
    fn outstanding(&self) -> u64 {
        let is_open = self.application.as_ref().is_some_and(|application| application.ended().is_none());
        // One whose first thread waits for packets or calls may wait for ever.
        let runs = is_open && !self.processors[0].context(0).wait.is_idle();
        self.io.outstanding() as u64 + u64::from(runs)
    }

    /// Packets done; of an application instructions: it may compute for as long as it likes.
    fn progress(&self) -> u64 {
        match self.application {
            None => self.io.counts().1,
            Some(_) => self.processors.iter().map(Processor::progress).sum(),
        }
    }

    fn waits(&self, waits: &mut Waits) {
        for (number, processor) in self.processors.iter().enumerate() {
            for (lane, (wait, registers)) in processor.threads().enumerate() {
                let who = self.thread_name(number as u32 * self.threads + lane as u32);
                let place = self.workload.place(registers);
                match wait {
                    None | Some(Wait::Nothing | Wait::Begin) => {}
                    Some(Wait::Request) => waits.add(who, "the broker", "a call"),
                    Some(Wait::Packet) => waits.add(who, "the broker", "a packet"),
                    // The thread manager says for what.
                    Some(Wait::Reply(_)) if self.is_managed(number as u32 * self.threads + lane as u32) => {}
                    Some(Wait::Reply(ticket)) => {
                        waits.add(who, "the objects", format!("the reply of ticket {ticket}, at {place}"));
                    }
                    Some(Wait::Probe | Wait::Memory | Wait::Fetch | Wait::Data) => {
                        waits.add(who, "shared memory", format!("an answer, at {place}"));
                    }
                }
            }
        }
        for (node, calls, packet) in self.waiting_for_turns() {
            waits.add(
                self.node_name(node),
                format!("packet {packet}"),
                format!("the turns of {calls} calls"),
            );
        }
        for (service, calls) in self.broker.waiting() {
            let who = match service {
                Service::PACKETS => "packet I/O".to_owned(),
                service => format!("clients of {service}"),
            };
            waits.add(who, "the broker", format!("servers for {calls} calls"));
        }
        if let Some(application) = &self.application {
            for (thread, on, what) in application.waits() {
                let on = on.map_or("the thread manager".to_owned(), |on| format!("thread {on}"));
                waits.add(format!("thread {thread}"), on, what);
            }
        }
        if let Some(number) = self.io.blocker() {
            waits.add("the line", "packet I/O", format!("packet {number}, the next in order"));
        }
        for (node, refused) in self.refused.iter().enumerate().filter(|(_, refused)| !refused.is_empty()) {
            let name = self.node_name(Node(node as u32));
            waits.add(name.clone(), entrance(name), format!("room for {} messages", refused.len()));
        }
        self.network.waits(&|node| self.node_name(node), waits);
    }
}

//! Reports of a platform: statistics and the wait graph.

use wireloom_sim::Time;
use wireloom_sim::parts::network::{Network, Node, entrance};
use wireloom_sim::stats::Record;
use wireloom_sim::wait_graph::{WaitGraph, Watched};

use super::super::broker::Service;
use super::super::call::{Call, Target};
use super::super::context::{Context, Wait};
use super::super::objects::Objects;
use super::super::one_way::Receiver;
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

    /// The name in the wait graph of the target of a thread's call.
    fn called(&self, thread: u32, ticket: u32) -> String {
        let is_it =
            |call: &Call| call.thread == thread && call.ticket == ticket && call.reply_words > 0;
        let call = self.calls.iter().find(|(_, call)| is_it(call));
        if let Some(server) = call.and_then(|(number, _)| self.server_of(number as u32)) {
            return self.thread_name(server);
        }
        match call.map(|(_, call)| call.target) {
            Some(Target::Object { object, .. }) => self.node_name(self.object_node(object)),
            Some(Target::Service { service, .. }) => service.to_string(),
            Some(Target::ThreadManager { .. }) => self.node_name(self.manager_node()),
            Some(Target::Console { .. }) => self.node_name(self.console_node()),
            None => "the network".to_owned(),
        }
    }

    /// The contexts of all threads, with their numbers.
    fn contexts(&self) -> impl Iterator<Item = (u32, &Context)> {
        let contexts =
            |processor| (0..self.threads).map(move |lane| Processor::context(processor, lane));
        (0..).zip(self.processors.iter().flat_map(contexts))
    }

    /// The thread that serves a call.
    fn server_of(&self, number: u32) -> Option<u32> {
        self.contexts()
            .find(|(_, context)| context.serving() == Some(number))
            .map(|(thread, _)| thread)
    }

    /// Adds a service with waiting calls to the wait graph: the calls wait for each of its servers,
    /// which are all busy.
    fn waits_of_service(&self, service: Service, calls: usize, waits: &mut WaitGraph) {
        let software = self.contexts().filter(|(_, context)| context.service() == Some(service));
        let mut servers: Vec<String> =
            software.map(|(thread, _)| self.thread_name(thread)).collect();
        let hardware = self.objects.servers().iter();
        let hardware = hardware.filter(|server| Service::object(server.service) == Some(service));
        servers.extend(hardware.flat_map(|server| {
            server.objects.clone().map(|object| self.node_name(self.object_node(object as u32)))
        }));
        let name = service.to_string();
        if servers.is_empty() {
            waits.add(name, "a server", format!("{calls} calls, and no thread serves it"));
            return;
        }
        for server in servers {
            waits.add(name.clone(), server, format!("its server, for {calls} calls that wait"));
        }
    }

    /// The cycles in which processors issued instructions, and the number of instructions, over all
    /// processors.
    pub(in super::super) fn issued(&self) -> (u64, u64) {
        let sum = |count: fn(&Processor<W::Thread>) -> u64| self.processors.iter().map(count).sum();
        (sum(Processor::busy), sum(Processor::instructions))
    }

    /// For each processor, the number of cycles before an edge in which it issued instructions or
    /// was blocked by one. The cycles before that edge are executed.
    pub(in super::super) fn busy_before(&self, edge: u64) -> Vec<u64> {
        self.processors.iter().map(|processor| processor.busy_before(edge)).collect()
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
        let is_open =
            self.application.as_ref().is_some_and(|application| application.ended().is_none());
        // An application whose first thread waits for packets or calls may wait without limit,
        // except for its calls of services.
        let runs = is_open && !self.processors[0].context(0).wait.is_idle();
        let is_asked = |(_, call): &(usize, &Call)| {
            call.reply_words > 0 && matches!(call.target, Target::Service { .. })
        };
        let has_no_room = |(_, context): &(u32, &Context)| matches!(context.wait, Wait::Room(_));
        let asked = match is_open {
            true => {
                self.calls.iter().filter(is_asked).count()
                    + self.contexts().filter(has_no_room).count()
            }
            false => 0,
        };
        (self.io.outstanding() + asked) as u64 + u64::from(runs)
    }

    /// The number of instructions of all threads.
    fn progress(&self) -> u64 {
        self.processors.iter().map(Processor::progress).sum()
    }

    /// The number of packets done; for an application, which may compute without limit, the
    /// progress.
    fn results(&self) -> u64 {
        match self.application {
            None => self.io.counts().1,
            Some(_) => self.progress(),
        }
    }

    fn waits(&self, waits: &mut WaitGraph) {
        for (number, processor) in self.processors.iter().enumerate() {
            for (lane, (wait, registers)) in processor.threads().enumerate() {
                let who = self.thread_name(number as u32 * self.threads + lane as u32);
                let place = self.workload.place(registers);
                match wait {
                    None | Some(Wait::Nothing | Wait::Begin) => {}
                    Some(Wait::Request) => waits.add(who, "the broker", "a call"),
                    Some(Wait::Packet) => waits.add(who, "the broker", "a packet"),
                    // The thread manager reports the event.
                    Some(Wait::Reply(_))
                        if self.is_managed(number as u32 * self.threads + lane as u32) => {}
                    Some(Wait::Reply(ticket)) => {
                        let thread = number as u32 * self.threads + lane as u32;
                        let on = self.called(thread, ticket);
                        waits.add(who, on, format!("the reply of ticket {ticket}, at {place}"));
                    }
                    Some(Wait::Room(receiver)) => {
                        let on = match receiver {
                            Receiver::Object(object) => self.node_name(self.object_node(object)),
                            Receiver::Service(service) => service.to_string(),
                            Receiver::Console => self.node_name(self.console_node()),
                        };
                        waits.add(
                            who,
                            on,
                            format!("room for another call without a reply, at {place}"),
                        );
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
            if self.application.is_some() && service != Service::PACKETS {
                self.waits_of_service(service, calls, waits);
                continue;
            }
            let who = match service {
                Service::PACKETS => "packet I/O".to_owned(),
                service => format!("packets for {service}"),
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
        for (node, refused) in
            self.refused.iter().enumerate().filter(|(_, refused)| !refused.is_empty())
        {
            let name = self.node_name(Node(node as u32));
            waits.add(name.clone(), entrance(name), format!("room for {} messages", refused.len()));
        }
        self.network.waits(&|node| self.node_name(node), waits);
    }
}

//! The platform: processors, packet I/O, broker, objects and memory around one network (the paper,
//! Figures 1 and 2).

mod bytes;
mod course;
mod energy;
mod look;
mod lookahead;
mod messages;
mod multiflex;
mod order;
mod partition;
mod processors;
mod report;
mod services;

use std::collections::VecDeque;

use slab::Slab;
use wireloom_machine::Sequence;
use wireloom_sim::parts::interconnect::Interconnect;
use wireloom_sim::parts::line::LineEvent;
use wireloom_sim::parts::network::{Message, Network, NetworkEvent, Node, Notice};
use wireloom_sim::parts::run_ahead::RunAhead;
use wireloom_sim::{
    Activity, Clock, Effort, EventSink, Kernel, Model, Rng, SpecError, Time, Timeline, Unit,
};

use super::broker::{Broker, Errand, Match};
use super::call::{Call, Target};
use super::context::Context;
use super::finish::Finish;
use super::handover::Forward;
use super::io::PacketIo;
use super::noc_payload::NocPayload;
use super::objects::{Called, Element, Objects};
use super::one_way::Receiver;
use super::options::Options;
use super::order_gate::OrderGate;
use super::problem::Failure;
use super::processor::{Labels, Processor, Sent};
use super::shared::SharedMemory;
use super::spec::{PLATFORM_NODES, Spec};
use super::workload::Workload;
use crate::multiflex::races::Watch;
pub(super) use course::Course;
pub use course::CourseEvent;
use energy::Carried;
pub(super) use energy::Counts;
#[cfg(test)]
pub(super) use energy::ProcessorCounts;
pub(super) use look::Look;
use lookahead::Lookahead;
use multiflex::Application;

/// The events of the kernel.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    Network(NetworkEvent),
    Line(LineEvent),
    /// The packet has arrived in packet memory.
    Stored(u32),
    /// Packet I/O can send packets.
    Output,
    /// A component has finished a request, and sends this message.
    Send(Message<NocPayload>),
}

/// The machine as the kernel sees it.
#[derive(Clone)]
pub(super) struct Platform<W: Workload, O: Objects> {
    workload: W,
    threads: u32,
    header: u32,
    processors: Vec<Processor<W::Thread>>,
    pub(super) io: PacketIo,
    broker: Broker,
    memory: SharedMemory,
    elements: Vec<Element>,
    /// The order gates of the objects that must see packets in the order of their arrival.
    turns: Vec<Option<OrderGate>>,
    /// If any object has an order gate: the packets in transit to the broker, and the order gates
    /// of the parts of a cut engine.
    arrivals: Option<Sequence<u32>>,
    part_turns: Vec<OrderGate>,
    pub(super) objects: O,
    network: Interconnect<NocPayload>,
    /// Traffic counters of the network.
    carried: Carried,
    /// Whether processors fetch their own messages from the network.
    collects: bool,
    /// Messages for which the network had no room, by sender.
    refused: Vec<VecDeque<Message<NocPayload>>>,
    calls: Slab<Call>,
    outputs: Slab<Finish>,
    forwards: Slab<Forward>,
    /// The messages that threads have sent in this turn; empty between turns.
    sent: Vec<Sent>,
    pub(super) timeline: Timeline,
    labels: Labels,
    clock: Clock,
    /// Whether run-ahead execution is off.
    is_naive: bool,
    /// The time that an instruction spends in the pipeline.
    pipeline: Time,
    is_output_due: bool,
    application: Option<Application>,
    pub(super) watch: Option<Watch>,
    /// The number of initial packets that do not count.
    warm: u64,
    lookahead: Lookahead,
    /// The course of the followed packet.
    course: Option<Course>,
    pub(super) failure: Option<Box<Failure>>,
}

impl<W: Workload, O: Objects> Platform<W, O> {
    pub(super) fn new(
        spec: &Spec,
        workload: W,
        objects: O,
        options: Options,
    ) -> Result<Self, SpecError> {
        spec.check()?;
        let Options { seed, mut timeline, races, warm, rate, .. } = options;
        let application = workload.is_application().then(|| Application::new(spec)).transpose()?;
        let labels = Labels::new(&mut timeline);
        let processors = (0..spec.processors).map(|number| {
            Processor::new(
                &spec.processor,
                (number, spec.threads),
                &workload,
                (seed, options.effort, options.profile),
                &mut timeline,
            )
        });
        let processors = processors.collect::<Result<Vec<_>, _>>()?;
        let elements = objects.interfaces().iter().map(|object| Element::new(object, &spec.object));
        let elements = elements.collect::<Result<Vec<_>, _>>()?;
        let turns: Vec<Option<OrderGate>> = objects
            .interfaces()
            .iter()
            .map(|object| object.is_ordered.then(OrderGate::new))
            .collect();
        let nodes = spec.processors
            + PLATFORM_NODES
            + elements.len() as u32
            + 2 * u32::from(application.is_some());
        let network = Interconnect::new(&spec.network, nodes, Rng::new(seed, "network"));
        let mut network = network.map_err(|error: SpecError| error.within("network"))?;
        // The messages of an application also define the happens-before order for race detection,
        // on the whole chip, so its processors do not fetch messages on their own.
        let collects = application.is_none()
            && network.run_ahead().is_some_and(|network| {
                (0..spec.processors).all(|number| network.collect(Node(number)))
            });
        let mut platform = Self {
            threads: spec.threads,
            header: spec.header_bytes,
            processors,
            io: PacketIo::new(&spec.io, seed, rate)?,
            broker: Broker::new(
                &spec.broker,
                spec.processor.clock,
                spec.processors + objects.servers().len() as u32,
                spec.threads,
            ),
            memory: SharedMemory::new(&spec.memory, workload.variables())?,
            elements,
            arrivals: turns.iter().any(Option::is_some).then(Sequence::default),
            turns,
            part_turns: vec![OrderGate::new(); workload.parts().len()],
            objects,
            network,
            carried: Carried::new(&spec.network, nodes),
            collects,
            refused: vec![VecDeque::new(); nodes as usize],
            calls: Slab::new(),
            outputs: Slab::new(),
            forwards: Slab::new(),
            sent: Vec::new(),
            timeline,
            labels,
            clock: spec.processor.clock,
            is_naive: options.effort == Effort::Naive,
            pipeline: spec.processor.clock.cycles(u64::from(spec.processor.stages)),
            is_output_due: false,
            application,
            watch: races.then(Watch::default),
            warm,
            lookahead: Lookahead::new(spec.processors),
            course: None,
            failure: None,
            workload,
        };
        platform.offer_hardware();
        platform.tell_who_answers();
        Ok(platform)
    }

    /// The address of the next instruction of a thread, if there is such a thread.
    pub(super) fn address(&self, processor: u32, thread: u32) -> Option<u32> {
        let processor = self.processors.get(processor as usize)?;
        let (_, registers) = processor.threads().nth(thread as usize)?;
        self.workload.address(registers)
    }

    /// Whether no call is in progress.
    pub(super) fn has_no_calls(&self) -> bool {
        self.calls.is_empty()
    }

    /// Whether the initial packets that do not count are done.
    pub(super) fn is_warm(&self) -> bool {
        self.io.counts().1 >= self.warm
    }

    /// Resets the statistics.
    pub(super) fn begin_to_count(&mut self, now: Time) {
        self.io.begin_to_count(now);
        self.network.begin_to_count(now);
        self.memory.begin_to_count(now);
        self.processors.iter_mut().for_each(|processor| processor.begin_to_count(now));
        self.broker.begin_to_count();
        self.elements.iter_mut().for_each(|element| element.begin_to_count(now));
        self.turns.iter_mut().flatten().for_each(OrderGate::begin_to_count);
    }

    fn io_node(&self) -> Node {
        Node(self.processors.len() as u32)
    }

    fn broker_node(&self) -> Node {
        Node(self.processors.len() as u32 + 1)
    }

    fn memory_node(&self) -> Node {
        Node(self.processors.len() as u32 + 2)
    }

    fn object_node(&self, object: u32) -> Node {
        Node(self.processors.len() as u32 + 3 + object)
    }

    /// The node of an application's thread manager.
    fn manager_node(&self) -> Node {
        self.object_node(self.elements.len() as u32)
    }

    /// The node of an application's console.
    fn console_node(&self) -> Node {
        self.object_node(self.elements.len() as u32 + 1)
    }

    /// The node of a thread's processor.
    fn thread_node(&self, thread: u32) -> Node {
        Node(thread / self.threads)
    }

    /// Handles the assignment of a call to a server.
    fn matched(&mut self, matched: Option<Match>, kernel: &mut Kernel<Event>) {
        let Some(Match { errand, thread, at }) = matched else { return };
        let packet = match errand {
            Errand::Packet(packet) => packet,
            Errand::HandOver(number) => return self.give(number, thread, at, kernel),
            Errand::Call(call) => {
                let bytes = 4 * self.calls[call as usize].words.len() as u32;
                let Some(to) = self.server_node(thread, call) else {
                    return self.misdirected(call, kernel);
                };
                let serve =
                    self.message(self.broker_node(), to, bytes, NocPayload::Serve { call, thread });
                self.send_at(at, serve, kernel);
                if self.calls[call as usize].is_acknowledged {
                    let call = self.calls[call as usize].clone();
                    self.acknowledge(&call, self.broker_node(), at, kernel);
                }
                return;
            }
        };
        self.tell_matched(packet, thread, at);
        let loaded = self.io.window(packet).0.loaded;
        let from = self.broker_node();
        let work = self.message(
            from,
            self.thread_node(thread),
            loaded,
            NocPayload::Work { packet, thread },
        );
        self.send_at(at, work, kernel);
        let served = self.message(from, self.io_node(), 0, NocPayload::Served);
        self.send_at(at, served, kernel);
    }

    /// Executes a call that its object is ready to make.
    fn call(&mut self, number: u32, kernel: &mut Kernel<Event>) {
        let Target::Object { object, method } = self.calls[number as usize].target else { return };
        let (object, method) = (object as usize, method as usize);
        let now = kernel.now();
        let mut hand = self.join(number);
        let call = &mut self.calls[number as usize];
        let arguments = std::mem::take(&mut call.words);
        let called = Called {
            object,
            method,
            arguments: &arguments,
            packet: call.caller,
            hand: hand.as_mut(),
        };
        call.words = self.objects.call(called);
        let words = call.reply_words;
        call.words.resize(words as usize, 0);
        let mut bytes = 0;
        let ready = hand.map_or(now, |hand| {
            let extent = self.objects.extent(object, method, &arguments, hand.len());
            bytes = extent.len();
            self.exchange(number, extent, &hand, now)
        });
        self.elements[object].count(method, bytes);
        let call = &self.calls[number as usize];
        let (bytes, client) = (call.reply_bytes(), self.thread_node(call.thread));
        let done = self.elements[object].call(now, ready);
        self.tell_object(number, self.elements[object].begun(done), "begins the call");
        self.tell_object(number, done, "has done the call");
        let from = self.object_node(object as u32);
        if words == 0 {
            let call = self.calls.remove(number as usize);
            let begun = self.elements[object].begun(done);
            return self.acknowledge(&call, from, begun, kernel);
        }
        let answer = self.message(from, client, bytes, NocPayload::Reply { call: number });
        self.send_at(done, answer, kernel);
    }

    /// Sends the acknowledgement of a one-way call that begins, if the call requests one.
    fn acknowledge(&mut self, call: &Call, from: Node, at: Time, kernel: &mut Kernel<Event>) {
        let Some(receiver) = Receiver::of(call.target).filter(|_| call.is_acknowledged) else {
            return;
        };
        let thread = call.thread;
        let told = self.message(
            from,
            self.thread_node(thread),
            0,
            NocPayload::Acknowledged { thread, receiver },
        );
        self.send_at(at, told, kernel);
    }

    /// Lets packet I/O take packets from the line while it can.
    fn accept(&mut self, kernel: &mut Kernel<Event>) {
        while let Some((packet, stored)) = self.io.take(kernel.now()) {
            self.tell_taken(packet, kernel.now(), stored);
            kernel.send_at(stored, Event::Stored(packet));
        }
        self.io.resume(&mut kernel.wrapped(Event::Line));
    }

    /// Lets packet I/O send packets while it can.
    fn output(&mut self, kernel: &mut Kernel<Event>) {
        let next = self.io.advance(kernel.now());
        if let (Some(next), false) = (next, self.is_output_due) {
            self.is_output_due = true;
            kernel.send_at(next, Event::Output);
        }
        self.accept(kernel);
    }
}

/// The context of a thread of the chip; each processor has `threads` threads.
fn context<T>(processors: &mut [Processor<T>], threads: u32, thread: u32) -> &mut Context {
    processors[(thread / threads) as usize].context_mut(thread % threads)
}

impl<W: Workload, O: Objects> Model for Platform<W, O> {
    type Event = Event;

    fn arrive(&mut self, event: Event, kernel: &mut Kernel<Event>) {
        match event {
            Event::Network(event) => {
                match self.network.arrive(event, &mut kernel.wrapped(Event::Network)) {
                    Some(Notice::Delivered(message)) => self.receive(message, kernel.now(), kernel),
                    Some(Notice::Room(node)) => self.room(node, kernel),
                    None => {}
                }
            }
            Event::Line(event) => {
                self.io.arrive(event, &mut kernel.wrapped(Event::Line));
                self.accept(kernel);
            }
            Event::Stored(packet) => {
                let loaded = self.io.window(packet).0.loaded;
                let process = self.message(
                    self.io_node(),
                    self.broker_node(),
                    loaded,
                    NocPayload::Process { packet },
                );
                self.send(process, kernel);
            }
            Event::Output => {
                self.is_output_due = false;
                self.output(kernel);
            }
            Event::Send(message) => self.send(message, kernel),
        }
    }

    #[inline]
    fn cycle(&mut self, unit: Unit, kernel: &mut Kernel<Event>) -> Activity {
        self.cycles_of(unit, kernel)
    }
}

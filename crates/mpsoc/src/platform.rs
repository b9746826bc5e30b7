//! The platform: processors, packet I/O, broker, objects and memory around one network (the paper,
//! Figures 1 and 2).

mod bytes;
mod course;
mod look;
mod lookahead;
mod multiflex;
mod order;
mod partition;
mod processors;
mod report;
mod services;

use std::collections::VecDeque;

use slab::Slab;
use wireloom_sim::parts::interconnect::Interconnect;
use wireloom_sim::parts::line::LineEvent;
use wireloom_sim::parts::network::{Message, Network, NetworkEvent, Node, Notice};
use wireloom_sim::parts::run_ahead::RunAhead;
use wireloom_sim::{
    Activity, Clock, Effort, EventSink, Kernel, Model, Rng, SpecError, Time, Timeline, Unit,
};

use super::broker::{Broker, Errand, Match};
use super::context::{Context, SharedAccess, Store, Wait};
use super::handover::Forward;
use super::io::PacketIo;
use super::machine::{Failure, Options};
use super::mpe::{Call, Finish, Target};
use super::noc_payload::{NocPayload, Request};
use super::objects::{Called, Element, Objects};
use super::one_way::Receiver;
use super::order_gate::{Arrivals, OrderGate};
use super::processor::{Labels, Processor, Sent};
use super::shared::SharedMemory;
use super::spec::{PLATFORM_NODES, Spec};
use super::workload::Workload;
use crate::multiflex::races::{Meeting, Party, Usage, Watch};
pub(super) use course::Course;
pub use course::CourseEvent;
pub(super) use look::Look;
use lookahead::Lookahead;
use multiflex::{Application, watched};

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
    /// With such objects: packets in transit to the broker, and to the parts of an engine that is
    /// cut.
    arrivals: Option<Arrivals>,
    part_turns: Vec<OrderGate>,
    pub(super) objects: O,
    network: Interconnect<NocPayload>,
    /// Whether processors fetch their messages.
    collects: bool,
    /// Messages that the network had no room for, by sender.
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
    /// The course of the packet that is followed.
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
        let Options { seed, mut timeline, races, warm, .. } = options;
        let application = workload.is_application().then(|| Application::new(spec)).transpose()?;
        let labels = Labels::new(&mut timeline);
        let processors = (0..spec.processors).map(|number| {
            Processor::new(
                &spec.processor,
                (number, spec.threads),
                &workload,
                (seed, options.effort),
                &mut timeline,
            )
        });
        let processors = processors.collect::<Result<Vec<_>, _>>()?;
        let elements = objects.interfaces().iter().map(|object| Element::new(object, spec));
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
        // on the whole chip.
        let collects = application.is_none()
            && network.run_ahead().is_some_and(|network| {
                (0..spec.processors).all(|number| network.collect(Node(number)))
            });
        let mut platform = Self {
            threads: spec.threads,
            header: spec.header_bytes,
            processors,
            io: PacketIo::new(&spec.io, seed)?,
            broker: Broker::new(
                &spec.broker,
                spec.processor.clock,
                spec.processors + objects.servers().len() as u32,
                spec.threads,
            ),
            memory: SharedMemory::new(&spec.memory, workload.variables())?,
            elements,
            arrivals: turns.iter().any(Option::is_some).then(Arrivals::default),
            turns,
            part_turns: vec![OrderGate::new(); workload.parts().len()],
            objects,
            network,
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
        self.io.measure_from(now);
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

    fn message(
        &self,
        from: Node,
        to: Node,
        bytes: u32,
        payload: NocPayload,
    ) -> Message<NocPayload> {
        Message { from, to, bytes: bytes + self.header, payload }
    }

    /// Puts a message into the network, or into the queue of messages that it had no room for.
    fn send(&mut self, message: Message<NocPayload>, kernel: &mut Kernel<Event>) {
        if self.network.run_ahead().is_some() {
            return self.send_at(kernel.now(), message, kernel);
        }
        let waiting = &mut self.refused[message.from.0 as usize];
        if waiting.is_empty() {
            if let Err(message) = self.network.send(message, &mut kernel.wrapped(Event::Network)) {
                waiting.push_back(message);
            }
        } else {
            waiting.push_back(message);
        }
    }

    /// Retries the messages of a node after a refusal.
    fn room(&mut self, node: Node, kernel: &mut Kernel<Event>) {
        while let Some(message) = self.refused[node.0 as usize].pop_front() {
            if let Err(message) = self.network.send(message, &mut kernel.wrapped(Event::Network)) {
                self.refused[node.0 as usize].push_front(message);
                return;
            }
        }
    }

    /// Sends the messages of this turn's threads.
    fn flush(&mut self, kernel: &mut Kernel<Event>) {
        let mut sent = std::mem::take(&mut self.sent);
        for sent in sent.drain(..) {
            self.tell_sent(&sent);
            let Sent { at, thread, request, .. } = sent;
            let from = self.thread_node(thread);
            let (to, bytes, parcel) = match request {
                Request::Idle(service) => {
                    (self.broker_node(), 0, NocPayload::Idle { thread, service })
                }
                Request::Probe => (self.memory_node(), 0, NocPayload::Probe { thread }),
                Request::Access => (self.memory_node(), 4, NocPayload::Access { thread }),
                Request::Line(line) => {
                    (self.memory_node(), 0, NocPayload::Line { processor: from.0, line })
                }
                Request::Call(call) => {
                    let (target, bytes) = (call.target, call.launch_bytes());
                    let call = self.calls.insert(call) as u32;
                    let to = match target {
                        Target::Object { object, .. } => self.object_node(object),
                        Target::Service { .. } => {
                            self.publish(thread, Meeting::Call(u64::from(call)));
                            self.broker_node()
                        }
                        Target::ThreadManager { .. } => self.manager_node(),
                        Target::Console { .. } => self.console_node(),
                    };
                    (to, bytes, NocPayload::Call { call })
                }
                Request::Release(released) => {
                    (self.object_node(released.object), 4, NocPayload::Released(released))
                }
                Request::Answer { call, words } => {
                    self.publish(thread, Meeting::Call(u64::from(call)));
                    let bytes = 4 * words.len() as u32;
                    self.calls[call as usize].words = words;
                    let client = self.thread_node(self.calls[call as usize].thread);
                    (client, bytes, NocPayload::Reply { call })
                }
                Request::Forward(forward) => {
                    let bytes = forward.contents.bytes();
                    let number = self.forwards.insert(*forward) as u32;
                    (self.broker_node(), bytes, NocPayload::HandOver { number })
                }
                Request::Finish(finish) => {
                    let bytes = finish.window_bytes;
                    let output = self.outputs.insert(*finish) as u32;
                    (self.io_node(), bytes, NocPayload::Finished { output })
                }
            };
            let message = self.message(from, to, bytes, parcel);
            self.send_at(at, message, kernel);
        }
        self.sent = sent;
    }

    /// Puts a message into the network at a time that may lie in the future.
    fn send_at(&mut self, at: Time, message: Message<NocPayload>, kernel: &mut Kernel<Event>) {
        if let Some(network) = self.network.run_ahead() {
            let unit = Unit(message.to.0);
            if let Some(time) = network.send_ahead(message, at, &mut kernel.wrapped(Event::Network))
            {
                kernel.wake_by(unit, time);
            }
        } else if at > kernel.now() {
            kernel.send_at(at, Event::Send(message));
        } else {
            self.send(message, kernel);
        }
    }

    /// Handles a message that leaves the network now or at a future time.
    fn receive(&mut self, message: Message<NocPayload>, now: Time, kernel: &mut Kernel<Event>) {
        if message.to.0 < self.processors.len() as u32 {
            self.lookahead.arrive(message.to.0, self.clock.edge_from(now));
        }
        let reply = |platform: &Self, bytes, parcel| {
            platform.message(message.to, message.from, bytes, parcel)
        };
        match message.payload {
            NocPayload::Process { packet } => self.process(packet, kernel),
            NocPayload::Idle { thread, service } => {
                let matched = self.broker.offer(now, service, thread);
                self.matched(matched, kernel);
            }
            NocPayload::HandOver { number } => self.hand_over(number, kernel),
            NocPayload::TakeOver { number, thread } => self.take_over(number, thread, now, kernel),
            NocPayload::Serve { call, thread } => self.serve(call, thread, kernel),
            NocPayload::Begin { hardware, start } => self.begin(hardware, start, kernel),
            NocPayload::Served => {
                self.io.served();
                self.accept(kernel);
            }
            NocPayload::Work { packet, thread } => {
                let (information, window) = self.io.window(packet);
                context(&mut self.processors, self.threads, thread).deliver(
                    packet,
                    information,
                    window,
                );
                self.tell_begun(packet, thread, now);
                self.resume(thread, now, kernel);
            }
            NocPayload::Finished { output } => {
                let finish = self.outputs.remove(output as usize);
                self.tell_finished(finish.packet, now, !finish.is_kept());
                self.release(&finish, kernel);
                let is_last = !finish.is_kept() && self.io.counts().1 + 1 == self.warm;
                self.io.finished(finish, now, self.pipeline);
                if is_last {
                    kernel.stop();
                }
                self.output(kernel);
            }
            NocPayload::Call { call } => match self.calls[call as usize].target {
                Target::Object { .. } => self.call_in_turn(call, kernel),
                Target::Service { service, .. } => self.call_service(call, service, kernel),
                Target::ThreadManager { .. } => self.manage(call, kernel),
                Target::Console { .. } => self.print(call, kernel),
            },
            NocPayload::Released(released) => self.released(released, kernel),
            NocPayload::Reply { call } => {
                let Call { target, thread, ticket, words, carried, .. } =
                    self.calls.remove(call as usize);
                self.tell_arrived(thread, message.from, now, "reply");
                if matches!(target, Target::Service { .. }) {
                    self.learn_once(thread, Meeting::Call(u64::from(call)));
                }
                let context = context(&mut self.processors, self.threads, thread);
                if let Some(carried) = carried {
                    context.take_back(*carried);
                }
                if context.reply(ticket, &words) {
                    self.resume(thread, now, kernel);
                }
            }
            NocPayload::Acknowledged { thread, receiver } => {
                let context = context(&mut self.processors, self.threads, thread);
                context.one_way.acknowledge(receiver);
                if context.wait == Wait::Room(receiver) {
                    self.resume(thread, now, kernel);
                }
            }
            NocPayload::Probe { thread } => {
                let answer = reply(self, 0, NocPayload::Probed { thread });
                self.send(answer, kernel);
            }
            NocPayload::Probed { thread } => {
                self.tell_arrived(thread, message.from, now, "answer");
                context(&mut self.processors, self.threads, thread).is_answered = true;
                self.resume(thread, now, kernel);
            }
            NocPayload::Access { thread } => {
                let context = context(&mut self.processors, self.threads, thread);
                let Some(SharedAccess { access, store, instruction }) = context.access else {
                    return;
                };
                if let Some(watch) = &mut self.watch {
                    let usage = match store {
                        Store::Nothing => Usage::Read,
                        Store::Value(_) => Usage::Write,
                        Store::Swap(_) => Usage::Exchange,
                    };
                    let thread = watched(self.application.as_ref(), thread);
                    watch.access(Party { thread, instruction, usage }, access);
                }
                // The bus has already checked that there is memory.
                let Ok((value, done)) = self.memory.access(now, access, store) else { return };
                let answer = reply(self, 4, NocPayload::Accessed { thread, value });
                self.send_at(done, answer, kernel);
            }
            NocPayload::Accessed { thread, value } => {
                self.tell_arrived(thread, message.from, now, "answer");
                let context = context(&mut self.processors, self.threads, thread);
                context.replies.arrive(&[value]);
                context.access = None;
                self.resume(thread, now, kernel);
            }
            NocPayload::Line { processor, line } => {
                let bytes = self.processors[processor as usize].line_bytes(line.cache);
                let done = self.memory.line(now, line.address, bytes);
                let answer = reply(self, bytes, NocPayload::Filled { processor, line });
                self.send_at(done, answer, kernel);
            }
            NocPayload::Filled { processor, line } => {
                self.tell_filled(processor, &line, now);
                self.fill(processor, line, now, kernel);
            }
        }
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

    /// Executes a call whose turn at its object has come.
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
        let ready = hand.map_or(now, |hand| {
            let extent = self.objects.extent(object, method, &arguments, hand.len());
            self.exchange(number, extent, &hand, now)
        });
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

    /// Sends the acknowledgement of a one-way call that begins, if requested.
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

    /// Lets packet I/O take the packets that it can.
    fn accept(&mut self, kernel: &mut Kernel<Event>) {
        while let Some((packet, stored)) = self.io.take(kernel.now()) {
            self.tell_taken(packet, kernel.now(), stored);
            kernel.send_at(stored, Event::Stored(packet));
        }
    }

    /// Lets packet I/O send the packets that it can.
    fn output(&mut self, kernel: &mut Kernel<Event>) {
        let next = self.io.advance(kernel.now());
        if let (Some(next), false) = (next, self.is_output_due) {
            self.is_output_due = true;
            kernel.send_at(next, Event::Output);
        }
        self.accept(kernel);
    }
}

/// The context of a thread, for so many threads per processor.
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

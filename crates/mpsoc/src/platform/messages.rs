//! Messages: how they enter the network, and what the receiving nodes do with them.

use wireloom_sim::parts::network::{Message, Network, Node};
use wireloom_sim::parts::run_ahead::RunAhead;
use wireloom_sim::{EventSink, Kernel, Time, Unit};

use super::super::call::{Call, Target};
use super::super::context::{SharedAccess, Store, Wait};
use super::super::noc_payload::{NocPayload, Request};
use super::super::objects::Objects;
use super::super::processor::Sent;
use super::super::workload::Workload;
use super::multiflex::watched;
use super::{Event, Platform, context};
use crate::multiflex::races::{Meeting, Party, Usage};

impl<W: Workload, O: Objects> Platform<W, O> {
    /// A message with `bytes` bytes of contents.
    pub(super) fn message(
        &self,
        from: Node,
        to: Node,
        bytes: u32,
        payload: NocPayload,
    ) -> Message<NocPayload> {
        Message { from, to, bytes: bytes + self.header, payload }
    }

    /// Puts a message into the network, or into the queue of the sender if the network has no room.
    pub(super) fn send(&mut self, message: Message<NocPayload>, kernel: &mut Kernel<Event>) {
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
    pub(super) fn room(&mut self, node: Node, kernel: &mut Kernel<Event>) {
        while let Some(message) = self.refused[node.0 as usize].pop_front() {
            if let Err(message) = self.network.send(message, &mut kernel.wrapped(Event::Network)) {
                self.refused[node.0 as usize].push_front(message);
                return;
            }
        }
    }

    /// Sends the messages that threads have created in this turn.
    pub(super) fn flush(&mut self, kernel: &mut Kernel<Event>) {
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
    pub(super) fn send_at(
        &mut self,
        at: Time,
        message: Message<NocPayload>,
        kernel: &mut Kernel<Event>,
    ) {
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
    pub(super) fn receive(
        &mut self,
        message: Message<NocPayload>,
        now: Time,
        kernel: &mut Kernel<Event>,
    ) {
        self.carried.count(&message);
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
}

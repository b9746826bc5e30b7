//! Services that hardware elements serve. To the broker each element is an additional processor.
//! Its threads are the calls that the element can hold.

use wireloom_sim::parts::network::Node;
use wireloom_sim::{Kernel, Time};

use super::super::broker::Service;
use super::super::call::{Call, Target};
use super::super::mpe;
use super::super::noc_payload::NocPayload;
use super::super::objects::{Called, Objects, Server};
use super::super::problem::Problem;
use super::super::workload::Workload;
use super::{Event, Platform};
use crate::multiflex::races::Meeting;

impl<W: Workload, O: Objects> Platform<W, O> {
    /// Offers each hardware server to the broker as many times as it can hold calls.
    pub(super) fn offer_hardware(&mut self) {
        let Self { objects, broker, processors, threads, .. } = self;
        for (number, Server { service, places, .. }) in
            (processors.len() as u32..).zip(objects.servers())
        {
            let service =
                Service::object(*service).expect("interfaces have as many services at most");
            for _ in 0..*places {
                let matched = broker.offer(Time::ZERO, service, number * *threads);
                debug_assert!(matched.is_none(), "nothing was called yet");
            }
        }
    }

    /// The hardware server of a thread number of the broker; `None` if the thread is one of a
    /// processor.
    pub(super) fn hardware_server(&self, thread: u32) -> Option<&Server> {
        self.objects
            .servers()
            .get((thread / self.threads).checked_sub(self.processors.len() as u32)? as usize)
    }

    /// The object of a hardware server that implements the method of a call.
    pub(super) fn method_of(&self, server: &Server, number: u32) -> Option<usize> {
        let Call { target: Target::Service { method, .. }, ref words, .. } =
            self.calls[number as usize]
        else {
            return None;
        };
        let object = server.objects.clone().nth(method as usize)?;
        let wanted = self.objects.interfaces()[object].methods[0].argument_words;
        (words.len() == wanted as usize).then_some(object)
    }

    /// The node at which a server receives a call; `None` if the server is hardware without such a
    /// method.
    pub(super) fn server_node(&self, thread: u32, number: u32) -> Option<Node> {
        let Some(server) = self.hardware_server(thread) else {
            return Some(self.thread_node(thread));
        };
        self.method_of(server, number).map(|object| self.object_node(object as u32))
    }

    /// Ends the run: a call does not fit the interface of its server.
    pub(super) fn misdirected(&mut self, number: u32, kernel: &mut Kernel<Event>) {
        let Call { target: Target::Service { service, method }, ref words, thread, .. } =
            self.calls[number as usize]
        else {
            return;
        };
        self.fail(thread, Problem::NoMethod { service, method, words: words.len() as u32 }, kernel);
    }

    /// Handles a call that has arrived at a hardware element. Its place becomes free when the call
    /// has entered the pipeline.
    pub(super) fn serve_in_hardware(
        &mut self,
        number: u32,
        (thread, object): (u32, usize),
        kernel: &mut Kernel<Event>,
    ) {
        let Target::Service { service, .. } = self.calls[number as usize].target else { return };
        let now = kernel.now();
        let done = self.elements[object].call(now, now);
        self.elements[object].count(0, 0);
        let from = self.object_node(object as u32);
        let free = self.elements[object].begins_next(done);
        let idle = self.message(from, self.broker_node(), 0, NocPayload::Idle { thread, service });
        self.send_at(free, idle, kernel);
        let call = &mut self.calls[number as usize];
        let (arguments, packet, client) =
            (std::mem::take(&mut call.words), call.caller, call.thread);
        if call.reply_words == 0 {
            self.calls.remove(number as usize);
            return self.learn_once(client, Meeting::Call(u64::from(number)));
        }
        let ticket = call.ticket;
        let reply = self.objects.call(Called {
            object,
            method: 0,
            arguments: &arguments,
            packet,
            hand: None,
        });
        if reply.len() > mpe::reply_room(ticket) as usize {
            let problem = Problem::NoRoom { service, ticket, words: reply.len() };
            return self.fail(client, problem, kernel);
        }
        let bytes = 4 * reply.len() as u32;
        self.calls[number as usize].words = reply;
        let answer =
            self.message(from, self.thread_node(client), bytes, NocPayload::Reply { call: number });
        self.send_at(done, answer, kernel);
    }
}

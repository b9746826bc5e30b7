//! The operations of a thread's instructions on its message passing engine.

use wireloom_isa::Fault;

use super::{Served, Wait};
use crate::broker::Service;
use crate::call::{Call, Launch, Target};
use crate::finish::Finish;
use crate::handover::{Forward, HandOver};
use crate::mpe::{self, Registers};
use crate::multiflex::threads;
use crate::noc_payload::{Released, Request};
use crate::objects::PacketUse;
use crate::one_way::Receiver;
use crate::order_gate::CallCounts;
use crate::tickets::Ticket;
use crate::workload::Port;

impl Port<'_> {
    /// Returns the low word of the number of the thread's packet. Without a packet, the thread
    /// waits for one.
    pub fn receive(&mut self) -> Option<u32> {
        if let Some(held) = &self.context.held {
            return Some(held.information.number as u32);
        }
        self.waits(Wait::Packet, Request::Idle(Service::part(self.context.part)));
        None
    }

    /// Sets the service that the thread serves, by its number in the program's interfaces.
    ///
    /// # Errors
    /// The number is out of range, or the reply to a call is outstanding.
    pub(crate) fn set_service(&mut self, number: u32) -> Result<(), Fault> {
        let service = Service::object(number).ok_or(Fault::Refused)?;
        if self.context.served.is_some_and(|served| served.call.is_some()) {
            return Err(Fault::Refused);
        }
        self.context.served = None;
        self.context.service = Some(service);
        Ok(())
    }

    /// Returns the word of [`mpe::REQUEST`] for the next call to serve. Without a call, the thread
    /// waits for one.
    ///
    /// # Errors
    /// The thread serves no service, or has not replied to the previous call.
    pub(crate) fn request(&mut self) -> Result<Option<u32>, Fault> {
        let context = &mut *self.context;
        match &mut context.served {
            Some(served) if served.is_new => {
                served.is_new = false;
                return Ok(Some(served.word));
            }
            Some(Served { call: Some(_), .. }) => return Err(Fault::Refused),
            _ => context.served = None,
        }
        let service = context.service.ok_or(Fault::Refused)?;
        self.waits(Wait::Request, Request::Idle(service));
        Ok(None)
    }

    /// Replies to the call that the thread serves with `words` words of its local store.
    ///
    /// # Errors
    /// No call needs a reply, or the caller has too little room for the words.
    pub(crate) fn answer(&mut self, words: u32) -> Result<(), Fault> {
        let context = &mut *self.context;
        let served = context.served.as_mut().ok_or(Fault::Refused)?;
        if words > served.room {
            return Err(Fault::Refused);
        }
        let call = served.call.take().ok_or(Fault::Refused)?;
        let words =
            (0..words as usize).map(|index| context.word(mpe::ANSWERS + 4 * index)).collect();
        self.request = Some(Request::Answer { call, words });
        Ok(())
    }

    /// Probes shared memory. Returns whether the reply, which carries no data, has arrived; if not,
    /// the thread waits for it.
    pub fn probe(&mut self) -> bool {
        if std::mem::take(&mut self.context.is_answered) {
            return true;
        }
        self.context.spent.accesses += 1;
        self.waits(Wait::Probe, Request::Probe);
        false
    }

    /// Sends the packet as the registers say.
    ///
    /// # Errors
    /// The thread has no packet, or an object still works on it. Or a register is invalid: the
    /// window lies outside its area, or the packet has fewer bytes. Or the thread hands the packet
    /// over while calls are in progress.
    pub fn send(&mut self, kind: u32) -> Result<(), Fault> {
        let context = &mut *self.context;
        let held = context.held.as_mut().ok_or(Fault::Refused)?;
        let Registers { egress, front, length, .. } = context.own.registers;
        let (window_bytes, body) = context.own.registers.window_and_body().ok_or(Fault::Refused)?;
        if body > held.behind() || held.lent > 0 || kind & 0xff > mpe::kind::COPY_TO_CPU {
            return Err(Fault::Refused);
        }
        let mut spent = held.others.plus(context.spent.since(held.before));
        // This instruction belongs to the packet but is not counted until its end.
        spent.instructions += 1;
        spent.cycles += 1;
        if kind & 0xff == mpe::kind::FORWARD {
            // The replies would overwrite the context.
            if context.tickets.is_any_under_way() {
                return Err(Fault::Refused);
            }
            let contents = HandOver::of(kind, context.own.local.as_slice(), &context.own.registers);
            let contents = contents.ok_or(Fault::Refused)?;
            let (packet, sent, left) = (held.packet, held.sent, held.left.clone());
            let (counts, from) = (std::mem::take(&mut held.counts), context.part);
            let forward = Forward { packet, sent, spent, contents, left, counts, from };
            context.held = None;
            self.request = Some(Request::Forward(Box::new(forward)));
            return Ok(());
        }
        let finish = Finish {
            packet: held.packet,
            sequence: held.sent,
            kind,
            egress: egress as u16,
            length,
            extent: std::mem::replace(&mut context.own.registers.extent, mpe::WHOLE),
            window: mpe::unswizzle(
                &context.own.local[..mpe::AREA_BYTES],
                front as usize,
                window_bytes as usize,
            ),
            window_bytes,
            left: held.left.clone(),
            spent,
            counts: if mpe::is_kept(kind) {
                CallCounts::default()
            } else {
                std::mem::take(&mut held.counts)
            },
            part: context.part,
        };
        held.sent += 1;
        if !finish.is_kept() {
            context.held = None;
        }
        self.request = Some(Request::Finish(Box::new(finish)));
        Ok(())
    }

    /// Begins a call. The arguments except the last word are in the local store, or all of them are
    /// in the window area; `word` is the last argument, or the address after the arguments. Returns
    /// `false` if the thread must wait first, because it has reached its limit of one-way calls to
    /// this receiver.
    ///
    /// # Errors
    /// The ticket is in use, or has too little room for the reply. Or the call works on packet
    /// bytes, but there is no packet, another object that may change it has it, or the call is
    /// one-way. Or the arguments lie in the window area, but there is no window or they lie outside
    /// it.
    pub(crate) fn call(&mut self, launch: Launch, word: u32) -> Result<bool, Fault> {
        let Launch { target, ticket, argument_words, is_field, reply_words, packet, in_order } =
            launch;
        let context = &mut *self.context;
        if reply_words > mpe::reply_room(ticket)
            || argument_words as usize > mpe::ARGUMENT_WORDS + 1
        {
            return Err(Fault::Refused);
        }
        if target == (Target::ThreadManager { method: threads::EXIT }) && context.has_duties() {
            return Err(Fault::Refused);
        }
        if reply_words > 0 {
            let by_threads =
                in_order || matches!(target, Target::Service { .. } | Target::ThreadManager { .. });
            if !context.tickets.begin(ticket, by_threads) {
                return Err(Fault::Refused);
            }
        }
        let receiver = Receiver::of(target).filter(|_| reply_words == 0);
        let is_acknowledged =
            match receiver.map(|receiver| (receiver, context.one_way.make(receiver))) {
                Some((receiver, None)) => {
                    context.wait = Wait::Room(receiver);
                    return Ok(false);
                }
                Some((_, Some(is_acknowledged))) => is_acknowledged,
                None => false,
            };
        // The arguments are read before the packet is sent, because a call that may change the
        // packet can have a field of it as argument.
        let words = context.arguments(argument_words, is_field, word).ok_or(Fault::Refused)?;
        let carried = match packet {
            PacketUse::Nothing => None,
            PacketUse::Reads | PacketUse::Writes if reply_words == 0 => return Err(Fault::Refused),
            PacketUse::Reads => Some(context.carry(false).ok_or(Fault::Refused)?),
            PacketUse::Writes => Some(context.carry(true).ok_or(Fault::Refused)?),
        };
        let turn = match (target, in_order) {
            (Target::Object { object, .. }, true) => {
                Some(context.turn(object).ok_or(Fault::Refused)?)
            }
            _ => None,
        };
        let (caller, thread) = (context.caller(), context.number);
        context.spent.accesses += 1;
        let call = Call {
            target,
            ticket,
            words,
            reply_words,
            caller,
            carried,
            thread,
            turn,
            is_acknowledged,
        };
        self.request = Some(Request::Call(call));
        Ok(true)
    }

    /// Announces that the thread's packet makes no more calls of an object with an order gate.
    ///
    /// # Errors
    /// The thread has no packet.
    pub(crate) fn release(&mut self, object: u32) -> Result<(), Fault> {
        let held = self.context.held.as_mut().ok_or(Fault::Refused)?;
        let packet = held.information.number;
        self.request = held
            .counts
            .end(object)
            .map(|calls| Request::Release(Released { object, packet, calls }));
        Ok(())
    }

    /// Returns the first word of a ticket's reply; if it has not arrived, the thread waits for it.
    ///
    /// # Errors
    /// No call has that ticket.
    pub(crate) fn wait(&mut self, ticket: u32) -> Result<Option<u32>, Fault> {
        match self.context.tickets.get(ticket) {
            Ticket::Here(word) => Ok(Some(word)),
            Ticket::UnderWay { .. } => {
                self.context.wait = Wait::Reply(ticket);
                Ok(None)
            }
            Ticket::Free => Err(Fault::Refused),
        }
    }

    pub(crate) fn waits(&mut self, wait: Wait, request: Request) {
        self.context.wait = wait;
        self.request = Some(request);
    }
}

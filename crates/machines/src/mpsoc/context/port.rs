//! What the instructions of a thread do with its message passing engine.

use wireloom_isa::Fault;

use super::{Served, Wait};
use crate::mpsoc::broker::Service;
use crate::mpsoc::handover::{Forward, HandOver};
use crate::mpsoc::mpe::{self, Call, Finish, Launch, Registers, Target};
use crate::mpsoc::objects::PacketUse;
use crate::mpsoc::parcel::{Released, Request};
use crate::mpsoc::tickets::Ticket;
use crate::mpsoc::turns::CallCounts;
use crate::mpsoc::workload::Port;
use crate::multiflex::threads;

impl Port<'_> {
    /// The low word of the number of the thread's packet; if it has none, it waits for one.
    pub fn receive(&mut self) -> Option<u32> {
        if let Some(held) = &self.context.held {
            return Some(held.information.number as u32);
        }
        self.waits(Wait::Packet, Request::Idle(Service::part(self.context.part)));
        None
    }

    /// From now on the thread serves a service, by its number in the program's interfaces.
    ///
    /// # Errors
    /// If there are not so many, or a call has not been answered.
    pub(in crate::mpsoc) fn set_service(&mut self, number: u32) -> Result<(), Fault> {
        let service = Service::object(number).ok_or(Fault::Refused)?;
        if self.context.served.is_some_and(|served| served.call.is_some()) {
            return Err(Fault::Refused);
        }
        self.context.served = None;
        self.context.service = Some(service);
        Ok(())
    }

    /// What [`mpe::REQUEST`] says of the next call to serve; if there is none, the thread waits for one.
    ///
    /// # Errors
    /// If the thread serves nothing, or has not answered the call before.
    pub(in crate::mpsoc) fn request(&mut self) -> Result<Option<u32>, Fault> {
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

    /// Answers the call that the thread serves with so many words of its local store.
    ///
    /// # Errors
    /// If there is none that wants an answer, or the caller has no room for so many.
    pub(in crate::mpsoc) fn answer(&mut self, words: u32) -> Result<(), Fault> {
        let context = &mut *self.context;
        let served = context.served.as_mut().ok_or(Fault::Refused)?;
        if words > served.room {
            return Err(Fault::Refused);
        }
        let call = served.call.take().ok_or(Fault::Refused)?;
        let words = (0..words as usize).map(|index| context.word(mpe::ANSWERS + 4 * index)).collect();
        self.request = Some(Request::Answer { call, words });
        Ok(())
    }

    /// An access to shared memory that says nothing: whether its answer is there; if not, the thread waits for it.
    pub fn probe(&mut self) -> bool {
        if std::mem::take(&mut self.context.is_answered) {
            return true;
        }
        self.context.spent.accesses += 1;
        self.waits(Wait::Probe, Request::Probe);
        false
    }

    /// Sends the packet as the words say that were written before.
    ///
    /// # Errors
    /// If the thread has no packet, or an object still works on it, or what was written before makes no sense: a window outside of its area,
    /// more bytes than there are; or if it hands the packet over while calls are under way.
    pub fn send(&mut self, kind: u32) -> Result<(), Fault> {
        let context = &mut *self.context;
        let held = context.held.as_mut().ok_or(Fault::Refused)?;
        let Registers { egress, front, length, .. } = context.own.registers;
        let (window_bytes, body) = context.own.registers.window_and_body().ok_or(Fault::Refused)?;
        if body > held.behind() || held.lent > 0 || kind & 0xff > mpe::kind::FORWARD {
            return Err(Fault::Refused);
        }
        let mut spent = held.others.plus(context.spent.since(held.before));
        // This instruction is counted when it is over, but belongs to the packet.
        spent.instructions += 1;
        spent.cycles += 1;
        if kind & 0xff == mpe::kind::FORWARD {
            // What comes back would lie where the context does.
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
            window: mpe::unswizzle(
                &context.own.local[..mpe::AREA_BYTES],
                front as usize,
                window_bytes as usize,
            ),
            window_bytes,
            left: held.left.clone(),
            spent,
            counts: if mpe::is_kept(kind) { CallCounts::default() } else { std::mem::take(&mut held.counts) },
            part: context.part,
        };
        held.sent += 1;
        if !finish.is_kept() {
            context.held = None;
        }
        self.request = Some(Request::Finish(Box::new(finish)));
        Ok(())
    }

    /// Begins a call whose arguments but for the last word stand in the local store, or all in the window area; `word` is that last word, or says where.
    ///
    /// # Errors
    /// If the ticket is under way, or has no room for the reply; or if the call is about the bytes of a packet that there is not, or that
    /// another object has which may change it, or nothing would come back from it; or if the arguments are in the window, and there is none, or not there.
    pub(in crate::mpsoc) fn call(&mut self, launch: Launch, word: u32) -> Result<(), Fault> {
        let Launch { target, ticket, argument_words, is_field, reply_words, packet, in_order } = launch;
        let context = &mut *self.context;
        if reply_words > mpe::reply_room(ticket) || argument_words as usize > mpe::ARGUMENT_WORDS + 1 {
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
        // Before the packet is carried: what may change it may be called with a field of it.
        let words = context.arguments(argument_words, is_field, word).ok_or(Fault::Refused)?;
        let carried = match packet {
            PacketUse::Nothing => None,
            PacketUse::Reads | PacketUse::Writes if reply_words == 0 => return Err(Fault::Refused),
            PacketUse::Reads => Some(context.carry(false).ok_or(Fault::Refused)?),
            PacketUse::Writes => Some(context.carry(true).ok_or(Fault::Refused)?),
        };
        let turn = match (target, in_order) {
            (Target::Object { object, .. }, true) => Some(context.turn(object).ok_or(Fault::Refused)?),
            _ => None,
        };
        let (caller, thread) = (context.caller(), context.number);
        context.spent.accesses += 1;
        let call = Call { target, ticket, words, reply_words, caller, carried, thread, turn };
        self.request = Some(Request::Call(call));
        Ok(())
    }

    /// The thread's packet makes no more calls of an object that takes turns.
    ///
    /// # Errors
    /// If the thread has no packet.
    pub(in crate::mpsoc) fn release(&mut self, object: u32) -> Result<(), Fault> {
        let held = self.context.held.as_mut().ok_or(Fault::Refused)?;
        let packet = held.information.number;
        self.request =
            held.counts.end(object).map(|calls| Request::Release(Released { object, packet, calls }));
        Ok(())
    }

    /// The first word of a ticket's reply; if that has not come, the thread waits for it.
    ///
    /// # Errors
    /// If there is no call with that ticket.
    pub(in crate::mpsoc) fn wait(&mut self, ticket: u32) -> Result<Option<u32>, Fault> {
        match self.context.tickets.get(ticket) {
            Ticket::Here(word) => Ok(Some(word)),
            Ticket::UnderWay { .. } => {
                self.context.wait = Wait::Reply(ticket);
                Ok(None)
            }
            Ticket::Free => Err(Fault::Refused),
        }
    }

    pub(in crate::mpsoc) fn waits(&mut self, wait: Wait, request: Request) {
        self.context.wait = wait;
        self.request = Some(request);
    }
}

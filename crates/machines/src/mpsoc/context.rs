//! What the hardware keeps for each thread beside its registers: local store, message passing engine, and what it waits for.

use std::ops::Range;

use wireloom_isa::{Access, Exception, Fault, Replies};
use wireloom_sim::Time;

use super::broker::Service;
use super::carried::{Carried, Left};
use super::handover::{Forward, HandOver};
use super::mpe::{self, Call, Finish, Information, Launch, Registers, Spent, Target};
use super::objects::{CallersPacket, PacketUse, Words};
use super::own::{Constants, Own};
use super::parcel::{Released, Request};
use super::tickets::{Ticket, Tickets};
use super::turns::{CallCounts, Turn};
use super::workload::Port;
use crate::multiflex::threads;

/// The context of a hardware thread.
#[derive(Clone, Debug)]
pub struct Context {
    /// Among all threads of the chip.
    pub(super) number: u32,
    /// Among those of its processor.
    pub(super) lane: u32,
    pub(super) wait: Wait,
    /// Whether what the thread waited for has come; of [`Wait::Probe`].
    pub(super) is_answered: bool,
    /// A line that has come for this thread: its instruction finds it even if it has left the cache again.
    pub(super) fill: Option<u32>,
    pub(super) replies: Replies,
    /// The access that waits for shared memory, and what it stores.
    pub(super) access: Option<SharedAccess>,
    pub(super) own: Own,
    pub(super) exception: Option<Box<Exception>>,
    tickets: Tickets,
    /// The part of the engine that the thread executes.
    pub(super) part: u32,
    held: Option<Held>,
    /// The service that the thread serves.
    service: Option<Service>,
    served: Option<Served>,
    pub(super) spent: Spent,
    /// Time that it has waited for packets.
    pub(super) idle: Time,
    /// Since when it waits, or runs.
    pub(super) since: Time,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing.
    #[default]
    Nothing,
    /// A packet.
    Packet,
    /// An answer that says nothing.
    Probe,
    /// Shared memory.
    Memory,
    /// The line of its next instruction.
    Fetch,
    /// A line of data.
    Data,
    /// The reply to a call, by its ticket.
    Reply(u32),
    /// A call to serve.
    Request,
    /// Something to execute: no thread of the program runs.
    Begin,
}

impl Wait {
    /// Whether who waits so has nothing to do.
    pub(super) fn is_idle(self) -> bool {
        matches!(self, Self::Packet | Self::Request | Self::Begin)
    }
}

/// An access to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedAccess {
    pub(super) access: Access,
    pub(super) store: Store,
    /// The address of the instruction.
    pub(super) instruction: u32,
}

/// What an access to shared memory writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Store {
    /// Nothing: it reads.
    Nothing,
    /// A value.
    Value(u32),
    /// A value; what was there is the answer.
    Swap(u32),
}

/// The call that a server has.
#[derive(Clone, Copy, Debug)]
struct Served {
    /// Its number; none if it wants no answer, or has it.
    call: Option<u32>,
    /// What [`mpe::REQUEST`] says of it.
    word: u32,
    /// Words that the answer can have.
    room: u32,
    /// Whether the thread has not read it yet.
    is_new: bool,
}

/// The packet that a thread has.
#[derive(Clone, Debug)]
struct Held {
    /// Its place in packet memory.
    packet: u32,
    /// Packets that were sent while it was held.
    sent: u32,
    information: Information,
    /// What the thread had spent when it came.
    before: Spent,
    /// What the threads of other parts have spent on it.
    others: Spent,
    /// What objects have left of it in packet memory.
    left: Left,
    /// Calls under way that have it.
    lent: u32,
    /// Whether one of them may change it.
    is_changing: bool,
    /// Calls made of objects that take turns.
    counts: CallCounts,
}

impl Held {
    /// Bytes behind the window in packet memory.
    fn behind(&self) -> u32 {
        match &self.left {
            Some(changed) => changed.kept().behind.len() as u32,
            None => self.information.length - self.information.loaded,
        }
    }
}

impl Context {
    pub(super) fn new(number: u32, lane: u32, part: u32, constants: Constants) -> Self {
        Self {
            number,
            lane,
            wait: Wait::Nothing,
            is_answered: false,
            fill: None,
            replies: Replies::default(),
            access: None,
            own: Own::new(constants),
            exception: None,
            tickets: Tickets::default(),
            part,
            held: None,
            service: None,
            served: None,
            spent: Spent::default(),
            idle: Time::ZERO,
            since: Time::ZERO,
        }
    }

    /// Whether a processor that executes one thread at a time goes on with another while this one waits: it has nothing to do, or what it waits for may need the others.
    pub(super) fn gives_way(&self) -> bool {
        match self.wait {
            Wait::Reply(ticket) => self.tickets.get(ticket) == Ticket::UnderWay { by_threads: true },
            wait => wait.is_idle(),
        }
    }

    /// What objects are told of the packet that the thread has.
    fn caller(&self) -> Option<CallersPacket> {
        let Information { number, arrival_ns, .. } = self.held.as_ref()?.information;
        Some(CallersPacket { number, arrival_ns })
    }

    /// A packet has come, of which `window` is in the message; without contents that is empty.
    pub(super) fn deliver(&mut self, packet: u32, information: Information, window: &[u8]) {
        mpe::place_window(&mut self.own.local[..mpe::AREA_BYTES], window);
        self.put(mpe::INFORMATION, &information.words());
        self.own.registers = Registers::arrived(information.length, information.loaded);
        self.hold(packet, information, 0, Spent::default(), None);
    }

    /// A packet has come that another part hands over; what was known of it when it arrived is `information`.
    pub(super) fn take_over(&mut self, forward: Forward, information: Information) {
        let Forward { packet, sent, spent, contents, left, counts, from: _ } = forward;
        self.own.registers = contents.place(self.own.local.as_mut_slice(), &information);
        if let Some(changed) = &left {
            changed.tell(self.own.local.as_mut_slice());
        }
        self.hold(packet, information, sent, spent, left);
        if let Some(held) = &mut self.held {
            held.counts = counts;
        }
    }

    fn hold(&mut self, packet: u32, information: Information, sent: u32, others: Spent, left: Left) {
        let before = self.spent;
        let (lent, is_changing, counts) = (0, false, CallCounts::default());
        self.held = Some(Held { packet, sent, information, before, others, left, lent, is_changing, counts });
    }

    /// Whether something would be left undone if the thread ended: replies that would come to another one, a call that is to be answered, a packet.
    fn has_duties(&self) -> bool {
        let is_asked = self.served.is_some_and(|served| served.call.is_some());
        self.tickets.is_any_under_way() || is_asked || self.held.is_some()
    }

    /// A reply has come; answers whether the thread waits for it.
    pub(super) fn reply(&mut self, ticket: u32, words: &[u32]) -> bool {
        self.put(mpe::REPLIES + 4 * mpe::REPLY_WORDS * ticket as usize, words);
        self.tickets.arrive(ticket, words.first().copied().unwrap_or(0));
        self.wait == Wait::Reply(ticket)
    }

    /// An object has been at the packet, and may have changed it.
    pub(super) fn take_back(&mut self, carried: Carried) {
        let Some(held) = &mut self.held else { return };
        held.lent -= 1;
        if carried.may_change {
            carried.put(self.own.local.as_mut_slice());
            self.own.registers = carried.registers;
            held.left = carried.left;
            held.is_changing = false;
        }
    }

    /// A call has come that the thread is to serve.
    pub(super) fn serve(&mut self, number: u32, call: &Call) {
        self.put(0, &call.words);
        let Target::Service { method, .. } = call.target else { return };
        let has_reply = call.reply_words > 0;
        self.served = Some(Served {
            call: has_reply.then_some(number),
            word: method | (call.words.len() as u32) << 8 | u32::from(has_reply) << 16,
            room: mpe::reply_room(call.ticket).min(mpe::ANSWER_WORDS as u32),
            is_new: true,
        });
    }

    /// Forgets what the thread before has left of calls and services; the local store stays as it is.
    pub(super) fn begin(&mut self) {
        self.tickets = Tickets::default();
        self.service = None;
        self.served = None;
        self.replies = Replies::default();
    }

    /// The packet for an object, as it stands; if that may change it, the thread has it no more until it comes back. Nothing if the thread has none,
    /// or the registers name what there is not.
    fn carry(&mut self, may_change: bool) -> Option<Box<Carried>> {
        let held = self.held.as_mut().filter(|held| !held.is_changing)?;
        let (_, body) = self.own.registers.window_and_body()?;
        if body > held.behind() {
            return None;
        }
        let Held { packet, left, .. } = held;
        let mut carried = Carried::of(self.own.local.as_slice(), self.own.registers, *packet, left)?;
        carried.may_change = may_change;
        held.lent += 1;
        held.is_changing = may_change;
        Some(Box::new(carried))
    }

    /// The turn of the packet's next call of an object that takes turns; none if the thread has no packet, or has said that it makes no more.
    fn turn(&mut self, object: u32) -> Option<Turn> {
        let held = self.held.as_mut().filter(|held| !held.counts.is_over(object))?;
        Some(Turn { packet: held.information.number, call: held.counts.next(object) })
    }

    /// What of the local store others may write while the thread does not wait: where replies come, if one is to come. Nothing if that may be more, because an
    /// object has the packet.
    pub(super) fn shared_bytes(&self) -> Option<Range<u32>> {
        if self.held.as_ref().is_some_and(|held| held.is_changing) {
            return None;
        }
        let words = if self.tickets.is_any_under_way() { mpe::reply_room(0) } else { 0 };
        Some(mpe::REPLIES as u32..mpe::REPLIES as u32 + 4 * words)
    }

    /// As [`mpe::arguments`]; a field there is only while the thread has a packet.
    fn arguments(&self, words: u32, is_field: bool, written: u32) -> Option<Words> {
        let has_packet = self.held.as_ref().is_some_and(|held| !held.is_changing);
        if is_field && !has_packet {
            return None;
        }
        mpe::arguments(self.own.local.as_slice(), is_field, words, written)
    }

    fn put(&mut self, at: usize, words: &[u32]) {
        mpe::put_words(self.own.local.as_mut_slice(), at, words);
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes([
            self.own.local[at],
            self.own.local[at + 1],
            self.own.local[at + 2],
            self.own.local[at + 3],
        ])
    }
}

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
    pub(super) fn set_service(&mut self, number: u32) -> Result<(), Fault> {
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
    pub(super) fn request(&mut self) -> Result<Option<u32>, Fault> {
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
    pub(super) fn answer(&mut self, words: u32) -> Result<(), Fault> {
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
    pub(super) fn call(&mut self, launch: Launch, word: u32) -> Result<(), Fault> {
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
    pub(super) fn release(&mut self, object: u32) -> Result<(), Fault> {
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
    pub(super) fn wait(&mut self, ticket: u32) -> Result<Option<u32>, Fault> {
        match self.context.tickets.get(ticket) {
            Ticket::Here(word) => Ok(Some(word)),
            Ticket::UnderWay { .. } => {
                self.context.wait = Wait::Reply(ticket);
                Ok(None)
            }
            Ticket::Free => Err(Fault::Refused),
        }
    }

    pub(super) fn waits(&mut self, wait: Wait, request: Request) {
        self.context.wait = wait;
        self.request = Some(request);
    }
}

//! What the hardware keeps for each thread beside its registers: local store, message passing engine, and what it waits for.

mod port;

use std::ops::Range;

use wireloom_isa::{Access, Exception, Replies};
use wireloom_sim::Time;

use super::broker::Service;
use super::carried::{Carried, Left};
use super::handover::Forward;
use super::mpe::{self, Call, Information, Registers, Spent, Target};
use super::objects::{CallersPacket, Words};
use super::own::{Constants, Own};
use super::tickets::{Ticket, Tickets};
use super::turns::{CallCounts, Turn};

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

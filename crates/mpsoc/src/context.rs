//! The state that the hardware keeps for each thread in addition to its registers: local store,
//! message passing engine, and the awaited event.

mod port;

use std::ops::Range;

use wireloom_isa::{Access, Replies};
use wireloom_sim::Time;

use super::broker::Service;
use super::call::{Call, Target};
use super::finish::Spent;
use super::handover::Forward;
use super::local_memory::{Constants, LocalMemory};
use super::mpe::{self, Information, Registers};
use super::objects::{CallersPacket, Words};
use super::one_way::{OneWayCalls, Receiver};
use super::order_gate::{CallCounts, Position};
use super::packet_message::{PacketChange, PacketMessage};
use super::problem::Problem;
use super::tickets::{Ticket, Tickets};

/// The context of a hardware thread.
#[derive(Clone, Debug)]
pub struct Context {
    /// The number of the thread on the chip.
    pub(super) number: u32,
    /// The number of the thread in its processor.
    pub(super) lane: u32,
    pub(super) wait: Wait,
    /// Whether the reply to [`Wait::Probe`] has arrived.
    pub(super) is_answered: bool,
    /// A line that has arrived for this thread. The thread's instruction finds the line even if the
    /// cache has evicted it again.
    pub(super) fill: Option<u32>,
    pub(super) replies: Replies,
    /// The access that waits for shared memory, with the value that it stores.
    pub(super) access: Option<SharedAccess>,
    pub(super) own: LocalMemory,
    /// The exception of the thread, with the address of the instruction.
    pub(super) exception: Option<Box<(u32, Problem)>>,
    tickets: Tickets,
    pub(super) one_way: OneWayCalls,
    /// The part of the engine that the thread executes.
    pub(super) part: u32,
    held: Option<Held>,
    /// The service that the thread serves.
    service: Option<Service>,
    served: Option<Served>,
    pub(super) spent: Spent,
    /// The time for which the thread has waited for packets.
    pub(super) idle: Time,
    /// The time since which the thread waits or runs.
    pub(super) since: Time,
}

/// The event that a thread waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Wait {
    #[default]
    Nothing,
    Packet,
    /// The reply to a probe, which carries no data.
    Probe,
    /// The reply from shared memory.
    Memory,
    /// The cache line of the thread's next instruction.
    Fetch,
    /// A cache line of data.
    Data,
    /// The reply to a call, by its ticket.
    Reply(u32),
    /// A call to serve.
    Request,
    /// The acknowledgement that an object or a service has begun the thread's one-way calls.
    Room(Receiver),
    /// A thread to execute: the hardware thread is free.
    Begin,
}

impl Wait {
    /// Whether a thread in this state is idle.
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

/// The write part of an access to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Store {
    /// No write: the access only reads.
    Nothing,
    Value(u32),
    /// A value, stored while the access returns the old one.
    Swap(u32),
}

/// The call that a server serves.
#[derive(Clone, Copy, Debug)]
struct Served {
    /// The number of the call; `None` if the call needs no reply, or the thread has replied.
    call: Option<u32>,
    /// The word that [`mpe::REQUEST`] returns for the call.
    word: u32,
    /// The maximum number of words in the reply.
    room: u32,
    /// Whether the thread has not yet read the call.
    is_new: bool,
}

/// The packet that a thread holds.
#[derive(Clone, Debug)]
struct Held {
    /// The place of the packet in packet memory.
    packet: u32,
    /// The number of packets sent while the thread held this one.
    sent: u32,
    information: Information,
    /// The thread's counters when the packet came.
    before: Spent,
    /// The counters of other parts' threads for this packet.
    others: Spent,
    /// The bytes that objects have changed in packet memory.
    left: PacketChange,
    /// The number of calls in progress that carry the packet.
    lent: u32,
    /// Whether one of these calls may change the packet.
    is_changing: bool,
    /// The number of the packet's calls to objects with an order gate.
    counts: CallCounts,
}

impl Held {
    /// The number of bytes after the window, in packet memory.
    fn behind(&self) -> u32 {
        match &self.left {
            Some(changed) => changed.kept().behind.len() as u32,
            None => self.information.length - self.information.loaded,
        }
    }
}

impl Context {
    pub(super) fn new(
        (number, lane): (u32, u32),
        part: u32,
        constants: Constants,
        one_way_calls: u32,
    ) -> Self {
        Self {
            number,
            lane,
            wait: Wait::Nothing,
            is_answered: false,
            fill: None,
            replies: Replies::default(),
            access: None,
            own: LocalMemory::new(constants),
            exception: None,
            tickets: Tickets::default(),
            one_way: OneWayCalls::new(one_way_calls),
            part,
            held: None,
            service: None,
            served: None,
            spent: Spent::default(),
            idle: Time::ZERO,
            since: Time::ZERO,
        }
    }

    /// Whether a processor that executes one thread at a time switches to another thread during
    /// this wait: the thread is idle, or the awaited event may need other threads.
    pub(super) fn gives_way(&self) -> bool {
        match self.wait {
            Wait::Reply(ticket) => {
                self.tickets.get(ticket) == Ticket::UnderWay { by_threads: true }
            }
            Wait::Room(_) => true,
            wait => wait.is_idle(),
        }
    }

    /// The description of the thread's packet for objects.
    fn caller(&self) -> Option<CallersPacket> {
        let Information { number, arrival_ns, .. } = self.held.as_ref()?.information;
        Some(CallersPacket { number, arrival_ns })
    }

    /// Handles the arrival of a packet with `window` in the message. The window is empty if packets
    /// have no contents.
    pub(super) fn deliver(&mut self, packet: u32, information: Information, window: &[u8]) {
        mpe::place_window(&mut self.own.local[..mpe::AREA_BYTES], window);
        self.put(mpe::INFORMATION, &information.words());
        self.own.registers = Registers::arrived(information.length, information.loaded);
        self.hold(packet, information, 0, Spent::default(), None);
    }

    /// Takes over a packet from another part of the engine. `information` is the packet's
    /// information from arrival.
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

    fn hold(
        &mut self,
        packet: u32,
        information: Information,
        sent: u32,
        others: Spent,
        left: PacketChange,
    ) {
        let before = self.spent;
        let (lent, is_changing, counts) = (0, false, CallCounts::default());
        self.held = Some(Held {
            packet,
            sent,
            information,
            before,
            others,
            left,
            lent,
            is_changing,
            counts,
        });
    }

    /// Whether the thread has obligations that forbid its end: outstanding replies, a call without
    /// reply, or a packet.
    fn has_duties(&self) -> bool {
        let is_asked = self.served.is_some_and(|served| served.call.is_some());
        self.tickets.is_any_under_way() || is_asked || self.held.is_some()
    }

    /// Handles the arrival of a reply; returns whether the thread waits for it.
    pub(super) fn reply(&mut self, ticket: u32, words: &[u32]) -> bool {
        self.put(mpe::REPLIES + 4 * mpe::REPLY_WORDS * ticket as usize, words);
        self.tickets.arrive(ticket, words.first().copied().unwrap_or(0));
        self.wait == Wait::Reply(ticket)
    }

    /// Takes back the packet from an object, which may have changed it.
    pub(super) fn take_back(&mut self, carried: PacketMessage) {
        let Some(held) = &mut self.held else { return };
        held.lent -= 1;
        if carried.may_change {
            carried.put(self.own.local.as_mut_slice());
            self.own.registers = carried.registers;
            held.left = carried.left;
            held.is_changing = false;
        }
    }

    /// Handles the arrival of a call to serve.
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

    /// The service that the thread serves.
    pub(super) fn service(&self) -> Option<Service> {
        self.service
    }

    /// The number of the call that the thread serves, if the reply is outstanding.
    pub(super) fn serving(&self) -> Option<u32> {
        self.served.and_then(|served| served.call)
    }

    /// Clears the calls and services of the previous thread; the local store keeps its contents.
    pub(super) fn begin(&mut self) {
        self.tickets = Tickets::default();
        self.service = None;
        self.served = None;
        self.replies = Replies::default();
    }

    /// The current packet as a message for an object. If the object may change it, the thread loses
    /// the packet until the reply. `None` if the thread has no packet, or the registers are
    /// invalid.
    fn carry(&mut self, may_change: bool) -> Option<Box<PacketMessage>> {
        let held = self.held.as_mut().filter(|held| !held.is_changing)?;
        let (_, body) = self.own.registers.window_and_body()?;
        if body > held.behind() {
            return None;
        }
        let Held { packet, left, .. } = held;
        let mut carried =
            PacketMessage::of(self.own.local.as_slice(), self.own.registers, *packet, left)?;
        carried.may_change = may_change;
        held.lent += 1;
        held.is_changing = may_change;
        Some(Box::new(carried))
    }

    /// The position of the packet's next call to an object with an order gate; `None` if the thread
    /// has no packet, or has released the object.
    fn turn(&mut self, object: u32) -> Option<Position> {
        let held = self.held.as_mut().filter(|held| !held.counts.is_over(object))?;
        Some(Position { packet: held.information.number, call: held.counts.next(object) })
    }

    /// The part of the local store that other components may write while the thread runs: the area
    /// of outstanding replies. `None` if an object has the packet, because then the object may
    /// write outside that area.
    pub(super) fn shared_bytes(&self) -> Option<Range<u32>> {
        if self.held.as_ref().is_some_and(|held| held.is_changing) {
            return None;
        }
        let words = if self.tickets.is_any_under_way() { mpe::reply_room(0) } else { 0 };
        Some(mpe::REPLIES as u32..mpe::REPLIES as u32 + 4 * words)
    }

    /// Collects the arguments as [`mpe::arguments`] does. Fields exist only while the thread has a
    /// packet.
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

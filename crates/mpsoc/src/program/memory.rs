//! The targets of a thread's accesses when every reply is immediate.

use std::collections::VecDeque;

use wireloom_isa::{Access, Bus, Fault, Size, Stall};
use wireloom_net::Packet;
use wireloom_net::packet::WINDOW;

use super::marshal::{Offloads, leaving};
use crate::Verdict;
use crate::handover::HandOver;
use crate::mpe::{
    AREA_BYTES, ARGUMENTS, CALLS, FIELD, INFORMATION, Information, LOCAL_BYTES, LOCAL_STORE,
    RECEIVE, RELEASE, REPLIES, REPLY_WORDS, Registers, SEND, TICKETS, WAIT, WHOLE, arguments,
    is_kept, kind, place_window, put_words,
};
use crate::objects::{Called, CallersPacket, Objects, PacketUse};
use crate::packet_message::{Kept, PacketChange, PacketMessage};

/// The lowest offset of the stack. The area below it holds packets and messages.
const STACK_BEGIN: usize = REPLIES + 4 * REPLY_WORDS * TICKETS;

/// A packet that left, derived from the current packet.
pub struct Sent {
    pub verdict: wireloom_ir::Verdict,
    pub bytes: Vec<u8>,
}

/// Program memory, local stores, message passing engine and objects of the threads of an engine's
/// parts. One thread runs at a time.
pub struct Surroundings {
    /// Code and constants, from address 0 on.
    program: Vec<u8>,
    /// The local store of each part's thread.
    locals: Vec<Vec<u8>>,
    /// The part whose thread runs.
    part: usize,
    handed: Option<HandOver>,
    registers: Registers,
    pub objects: Offloads,
    /// The current packet, until the thread has finished it.
    hand: Option<(Packet, CallersPacket)>,
    /// The changes that objects have made to the current packet in packet memory.
    left: PacketChange,
    /// The packets that RECEIVE will return.
    pub next: VecDeque<(Packet, CallersPacket)>,
    pub sent: Vec<Sent>,
    /// Whether the last executed instruction has sent, called, waited, or accessed arguments or
    /// replies.
    pub communicates: bool,
}

impl Surroundings {
    pub fn new(program: Vec<u8>, objects: Offloads, parts: usize) -> Self {
        Self {
            program,
            locals: vec![vec![0; LOCAL_BYTES]; parts],
            part: 0,
            handed: None,
            registers: Registers::default(),
            objects,
            hand: None,
            left: None,
            next: VecDeque::new(),
            sent: Vec::new(),
            communicates: false,
        }
    }

    /// The part whose thread runs.
    pub fn part(&self) -> usize {
        self.part
    }

    /// Switches to the thread that has a packet when a thread waits for one. Returns `false` if no
    /// thread has a packet.
    pub fn takes_over(&mut self) -> bool {
        let next = self.handed.as_ref().map_or(0, |handed| handed.part as usize);
        let goes_on = self.handed.is_some() || self.part != 0;
        self.part = next;
        goes_on
    }

    fn local(&mut self) -> &mut [u8] {
        &mut self.locals[self.part]
    }

    fn receive(&mut self) -> Result<u32, Stall> {
        if let Some(handed) = self.handed.take_if(|handed| handed.part as usize == self.part) {
            let (packet, caller) = self.hand.as_ref().ok_or(REFUSED)?;
            let information = information(packet, *caller);
            self.registers = handed.place(&mut self.locals[self.part], &information);
            if let Some(changed) = &self.left {
                changed.tell(&mut self.locals[self.part]);
            }
        }
        if self.handed.is_some() || self.hand.is_none() && self.part != 0 {
            return Err(Stall::Wait);
        }
        if self.hand.is_none() {
            let (packet, caller) = self.next.pop_front().ok_or(Stall::Wait)?;
            let information = information(&packet, caller);
            self.registers = Registers::arrived(information.length, information.loaded);
            let loaded = &packet.bytes[..information.loaded as usize];
            place_window(&mut self.local()[..AREA_BYTES], loaded);
            put_words(self.local(), INFORMATION, &information.words());
            self.hand = Some((packet, caller));
            self.left = None;
        }
        Ok(self.hand.as_ref().map_or(0, |(_, caller)| caller.number as u32))
    }

    fn send(&mut self, word: u32) -> Result<(), Stall> {
        let (packet, _) = self.hand.as_ref().ok_or(REFUSED)?;
        if word & 0xff == kind::FORWARD {
            let handed =
                HandOver::of(word, &self.locals[self.part], &self.registers).ok_or(REFUSED)?;
            if handed.part as usize >= self.locals.len() {
                return Err(REFUSED);
            }
            self.handed = Some(handed);
            return Ok(());
        }
        let verdict = Verdict::decode(word, self.registers.egress as u16).ok_or(REFUSED)?;
        if let Some(verdict) = verdict.meaning() {
            let Kept { behind, .. } =
                self.left.as_ref().map_or(came(packet), |changed| changed.kept());
            let bytes = leaving(&self.locals[self.part], &self.registers, behind).ok_or(REFUSED)?;
            self.sent.push(Sent { verdict, bytes });
        }
        self.registers.extent = WHOLE;
        if !is_kept(word) {
            self.hand = None;
        }
        Ok(())
    }

    fn call(&mut self, place: u32, word: u32) -> Result<(), Stall> {
        let (object, method, ticket) =
            (place >> 24, place >> 8 & 0xffff, (place >> 4 & 0xf) as usize);
        let (object, method) = (object as usize, method as usize);
        let (packet, caller) = self.hand.as_ref().ok_or(REFUSED)?;
        let (came, caller) = (came(packet), *caller);
        let interface = self.objects.method(object, method).ok_or(REFUSED)?;
        let words = interface.argument_words;
        let is_field = place & FIELD != 0;
        let message = arguments(&self.locals[self.part], is_field, words, word).ok_or(REFUSED)?;
        let mut carried = match interface.packet {
            PacketUse::Nothing => None,
            _ => Some(
                PacketMessage::of(&self.locals[self.part], self.registers, 0, &self.left)
                    .ok_or(REFUSED)?,
            ),
        };
        let mut hand = carried.as_ref().map(|carried| carried.join(came, caller.number));
        let (packet, arguments) = (Some(caller), &message);
        let reply =
            self.objects.call(Called { object, method, arguments, packet, hand: hand.as_mut() });
        if let (PacketUse::Writes, Some(carried), Some(hand)) =
            (interface.packet, &mut carried, &hand)
        {
            carried.take_over(hand, came);
            carried.put(&mut self.locals[self.part]);
            (self.registers, self.left) = (carried.registers, carried.left.clone());
        }
        let at = REPLIES + 4 * REPLY_WORDS * ticket;
        if at + 4 * reply.len() > STACK_BEGIN {
            return Err(REFUSED);
        }
        put_words(self.local(), at, &reply);
        Ok(())
    }

    fn words(&self, at: usize, count: usize) -> Vec<u32> {
        let words = self.locals[self.part][at..].chunks_exact(4).take(count);
        words.map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]])).collect()
    }
}

const REFUSED: Stall = Stall::Fault(Fault::Refused);

impl Bus for Surroundings {
    fn load(&mut self, access: Access) -> Result<u32, Stall> {
        let Access { address, size, .. } = access;
        if let Some(local) = local_place(address) {
            self.communicates |= (ARGUMENTS..STACK_BEGIN).contains(&local);
            return Ok(read(&self.locals[self.part][local..], size));
        }
        if address < LOCAL_STORE {
            let place = self
                .program
                .get(address as usize..)
                .filter(|rest| rest.len() >= size.bytes() as usize);
            return place.map(|place| read(place, size)).ok_or(Stall::Fault(Fault::Nothing));
        }
        self.communicates = true;
        match address {
            _ if size != Size::Word => Err(Stall::Fault(Fault::Unsupported)),
            RECEIVE => self.receive(),
            _ if (WAIT..WAIT + 4 * TICKETS as u32).contains(&address) => {
                let ticket = ((address - WAIT) / 4) as usize;
                Ok(self.words(REPLIES + 4 * REPLY_WORDS * ticket, 1)[0])
            }
            _ => self.registers.at(address).copied().ok_or(Stall::Fault(Fault::Nothing)),
        }
    }

    fn store(&mut self, access: Access, value: u32) -> Result<(), Stall> {
        let Access { address, size, .. } = access;
        if let Some(local) = local_place(address) {
            self.communicates |= (ARGUMENTS..STACK_BEGIN).contains(&local);
            let bytes = size.bytes() as usize;
            self.local()[local..local + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            return Ok(());
        }
        if address < LOCAL_STORE {
            return Err(Stall::Fault(Fault::ReadOnly));
        }
        self.communicates = true;
        match address {
            _ if size != Size::Word => return Err(Stall::Fault(Fault::Unsupported)),
            SEND => return self.send(value),
            // Only one packet is processed at a time.
            RELEASE => {}
            CALLS.. => return self.call(address - CALLS, value),
            _ => *self.registers.at(address).ok_or(Stall::Fault(Fault::Nothing))? = value,
        }
        Ok(())
    }

    fn swap(&mut self, access: Access, value: u32) -> Result<u32, Stall> {
        if local_place(access.address).is_none() {
            return Err(Stall::Fault(Fault::Unsupported));
        }
        let old = self.load(access)?;
        self.store(access, value)?;
        Ok(old)
    }
}

/// The information that a thread gets about an arriving packet.
fn information(packet: &Packet, caller: CallersPacket) -> Information {
    Information {
        number: caller.number,
        length: packet.bytes.len() as u32,
        ingress: packet.ingress,
        arrival_ns: caller.arrival_ns,
        loaded: packet.bytes.len().min(WINDOW) as u32,
    }
}

/// The part of an arrived packet that packet memory holds outside its window.
fn came(packet: &Packet) -> Kept<'_> {
    let behind = &packet.bytes[packet.bytes.len().min(WINDOW)..];
    Kept { ingress: packet.ingress, arrival_ns: packet.arrival_ns, behind }
}

/// The offset of an address in the local store.
fn local_place(address: u32) -> Option<usize> {
    let place = address.wrapping_sub(LOCAL_STORE) as usize;
    (place < LOCAL_BYTES).then_some(place)
}

fn read(place: &[u8], size: Size) -> u32 {
    match size {
        Size::Byte => u32::from(place[0]),
        Size::Half => u32::from(u16::from_le_bytes([place[0], place[1]])),
        Size::Word => u32::from_le_bytes([place[0], place[1], place[2], place[3]]),
    }
}

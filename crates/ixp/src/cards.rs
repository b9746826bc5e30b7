//! The line cards, and the bus between them and the FIFOs.

mod outputs;
mod requests;
mod state;

use std::collections::VecDeque;

use wireloom_machine::{Arrivals, Rate};
use wireloom_offloads::TIMER;
use wireloom_sim::parts::line::{
    FASTEST, LineEvent, LineSink, LineSource, LineSpec, Offered, Pace, Reception,
};
use wireloom_sim::stats::Histogram;
use wireloom_sim::{EventSink, Rng, SpecError, Time};

use crate::mpkt::{Control, Wanted, Way};
use crate::options::Options;
use crate::spec::{Assignment, IxBusSpec, PortsSpec, Spec};
use crate::units::fbi::{ELEMENT_WORDS, Element, Fbi};
pub use outputs::Outputs;
use requests::Requests;

/// Packets still to arrive on a line; the machine appends to this queue.
type Feed = VecDeque<Offered>;

/// The queue length of the line model in packets, too large to limit: ports count MPKTs themselves.
const UNLIMITED: u64 = 1 << 24;

/// The most status words that are kept for a thread.
const STATUSES: usize = 64;

/// A packet on a line or in the machine.
#[derive(Clone, Debug, Default)]
struct Packet {
    /// The number under which it was offered.
    offered: u64,
    arrival_ns: u64,
    /// Engine time when the chip took it, in nanoseconds; its arrival time if the engine has no
    /// ticks.
    engine_ns: u64,
    bytes: Vec<u8>,
    /// The time at which the port had received all of it.
    came: Time,
    /// The thread that took its first MPKT.
    thread: u8,
}

/// An output that has left the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The number under which the packet was offered.
    pub offered: u64,
    /// The ingress port of the packet that began the thread.
    pub ingress: u16,
    /// The arrival time under which it was offered.
    pub arrival_ns: u64,
    /// The control word: port, destination and reason.
    pub control: Control,
    pub bytes: Vec<u8>,
    /// The time at which it left.
    pub at: Time,
    /// Whether this is the packet's last output.
    pub is_last: bool,
}

/// Events of the line cards.
#[derive(Clone, Copy, Debug)]
pub enum CardEvent {
    /// The last bit of a packet arrives on a line.
    Line(u8, LineEvent),
    /// The bus has carried an MPKT; true if inward.
    Carried(bool),
    /// A packet has left by a port and frees its MPKTs.
    Departed(u8, u32),
    /// The core hands over the packets of timers.
    Core,
}

/// A transfer on the bus.
#[derive(Clone, Copy, Debug)]
enum Transfer {
    In { port: u8, wanted: Wanted, element: u16 },
    Out,
}

impl Transfer {
    fn is_in(self) -> bool {
        matches!(self, Self::In { .. })
    }
}

#[derive(Clone, Debug)]
struct Port {
    source: LineSource<std::vec::IntoIter<Offered>>,
    feed: Feed,
    /// Packets that have arrived and wait for the bus, with the bytes that it has already carried.
    waiting: VecDeque<(u64, u32)>,
    /// MPKTs that wait for the bus.
    held_in: u32,
    /// The thread that gets the rest of the packet in transfer.
    bound: Option<u8>,
    sink: LineSink,
    held_out: u32,
    lost: u64,
}

/// An output under assembly. Packets of different ports and destinations may interleave.
#[derive(Clone, Debug)]
struct Open {
    number: u32,
    control: Control,
    bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
pub struct Cards {
    spec: PortsSpec,
    bus: IxBusSpec,
    /// Bytes of an MPKT.
    mpkt: u32,
    /// The number of thread lists to which ports are assigned in rotation, if threads do not ask
    /// for a port (version 2).
    lists: Option<u8>,
    ports: Vec<Port>,
    /// Packets by line number; the front one has the number `first`.
    packets: VecDeque<Option<(u16, Packet)>>,
    first: u64,
    /// The line numbers of packets that the chip has taken, indexed by the chip's packet number
    /// less `taken_from`; `None` once the packet has left.
    taken: VecDeque<Option<u64>>,
    taken_from: u32,
    open: Vec<Open>,
    /// The line numbers of packets of timers that the core hands over next.
    from_core: Vec<u64>,
    /// Engine time in nanoseconds, if times of the engine end at ticks.
    engine_ns: Option<u64>,
    requests: Requests,
    /// The transfers under way: at most one in all, or with a duplex bus one in each direction.
    transfers: Vec<Transfer>,
    /// The bus cycles in which the last MPKTs in and out end.
    ends: [u64; 2],
    was_in: bool,
    next_port: usize,
    /// The arrival process (times of the packets, or a rate from the options), and the last
    /// arrival.
    arrivals: Arrivals,
    last_arrival: Time,
    /// Whether a packet arrives only when its port has room for it.
    waits: bool,
    /// The capacity of a port in packets, if it is not counted in MPKTs.
    buffer: Option<usize>,
    /// The number of warm-up packets, and whether all of them are done.
    warm: u64,
    is_warm: bool,
    /// The latency through the machine of packets that arrived at or after `measured_from`.
    latency: Histogram,
    measured_from: Time,
    /// The time at which the last packet left or was dropped.
    last_left: Time,
    /// Outputs that have left since the machine last took them.
    pub delivered: Vec<Delivered>,
    /// Packets that found no room since the machine last took them.
    pub lost: Vec<u64>,
    /// Packets that the chip began to take, by offer number, since the machine last took them.
    pub accepted: Vec<u64>,
    /// Packets whose outputs have all left.
    pub left: u64,
    pub outputs: Outputs,
    /// The backlog of a port, in MPKTs, that sets `is_marked`.
    pub mark: u32,
    /// Whether a packet has come to a port with a backlog at the mark since the chip last cleared
    /// it.
    pub is_marked: bool,
    /// MPKTs that a port holds beyond `ports.receive_mpkts`.
    pub extra_mpkts: u32,
    /// MPKTs that the bus has carried in and out, and the bus cycles that they took.
    carried: [u64; 2],
    cycles: [u64; 2],
}

impl Cards {
    /// Creates idle line cards.
    ///
    /// # Errors
    /// If a number of the description is out of range.
    pub fn new(chip: &Spec, options: &Options) -> Result<Self, SpecError> {
        let mut spec = chip.ports;
        if options.rate.is_some() {
            (spec.rate, spec.pace) = (FASTEST, Pace::Given);
        }
        let threads = chip.engine.version.sizes().contexts;
        let line =
            |rate| LineSpec { rate, overhead_bytes: spec.overhead_bytes, queue_packets: UNLIMITED };
        let port = |number: u32| {
            let rng = Rng::new(options.seed, &format!("port {number}"));
            Ok(Port {
                source: LineSource::new(line(spec.rate), spec.pace, Vec::new().into_iter(), rng)?,
                feed: Feed::new(),
                waiting: VecDeque::new(),
                held_in: 0,
                bound: None,
                sink: LineSink::new(line(chip.ports.rate))?,
                held_out: 0,
                lost: 0,
            })
        };
        Ok(Self {
            spec,
            bus: chip.ix_bus,
            mpkt: chip.mpkt_bytes(),
            lists: chip.has_msf().then_some(chip.msf.freelists as u8),
            ports: (0..spec.count).map(port).collect::<Result<_, SpecError>>()?,
            packets: VecDeque::new(),
            first: 0,
            taken: VecDeque::new(),
            taken_from: 0,
            open: Vec::new(),
            from_core: Vec::new(),
            engine_ns: None,
            requests: Requests::new(threads),
            transfers: Vec::new(),
            ends: [0; 2],
            was_in: false,
            next_port: 0,
            arrivals: Arrivals::new(options.rate.unwrap_or(Rate::Capture)),
            last_arrival: Time::ZERO,
            waits: options.rate == Some(Rate::Max),
            buffer: options.buffer.map(|packets| packets as usize),
            warm: options.warm,
            is_warm: false,
            latency: Histogram::times(),
            measured_from: Time::ZERO,
            last_left: Time::ZERO,
            delivered: Vec::new(),
            lost: Vec::new(),
            accepted: Vec::new(),
            left: 0,
            outputs: Outputs::default(),
            mark: u32::MAX,
            is_marked: false,
            extra_mpkts: 0,
            carried: [0; 2],
            cycles: [0; 2],
        })
    }

    /// Queues a packet on the line of a port, with its offer number and its arrival time in
    /// nanoseconds. It arrives only after a call of [`begin`](Self::begin).
    pub fn offer(&mut self, port: u16, offered: u64, arrival_ns: u64, bytes: &[u8]) {
        let at = Time(self.arrivals.next(arrival_ns));
        self.last_arrival = at;
        let number = self.first + self.packets.len() as u64;
        let packet = Packet { offered, arrival_ns, bytes: bytes.to_vec(), ..Packet::default() };
        self.packets.push_back(Some((port, packet)));
        let bytes = bytes.len() as u32;
        self.ports[usize::from(port)].feed.push_back(Offered { number, bytes, at });
    }

    /// Queues the packet of a timer, with its sequence number and the time of its tick. The core
    /// hands it to the threads of port 0, after a call of [`begin`](Self::begin).
    pub fn offer_timer(&mut self, sequence: u64, tick_ns: u64, bytes: &[u8]) {
        self.from_core.push(self.first + self.packets.len() as u64);
        let packet = Packet {
            offered: sequence,
            arrival_ns: tick_ns,
            bytes: bytes.to_vec(),
            ..Packet::default()
        };
        self.packets.push_back(Some((TIMER, packet)));
    }

    /// Advances engine time. From then on, packets have engine time in place of an earlier arrival
    /// time.
    pub fn advance_engine_time(&mut self, time_ns: u64) {
        self.engine_ns = Some(self.engine_ns().max(time_ns));
    }

    /// The engine time that the packets so far have reached, in nanoseconds.
    pub fn engine_ns(&self) -> u64 {
        self.engine_ns.unwrap_or_default()
    }

    /// The number of packets that the chip has taken, with those of timers.
    pub fn taken_in_all(&self) -> u64 {
        u64::from(self.taken_from) + self.taken.len() as u64
    }

    /// Starts arrivals on idle lines, and the packets of timers.
    pub fn begin(&mut self, events: &mut impl EventSink<CardEvent>) {
        if !self.from_core.is_empty() {
            events.send_at(events.now(), CardEvent::Core);
        }
        for number in 0..self.ports.len() {
            self.begin_port(number, events);
        }
    }

    fn begin_port(&mut self, number: usize, events: &mut impl EventSink<CardEvent>) {
        let port = &self.ports[number];
        let Some(next) = port.feed.front().filter(|_| port.source.is_exhausted()) else { return };
        let count = match self.waits {
            true => usize::from(self.has_room(port, self.size(next.bytes))),
            false => port.feed.len(),
        };
        if count > 0 {
            let port = &mut self.ports[number];
            let feed: Vec<Offered> = port.feed.drain(..count).collect();
            *port.source.packets_mut() = feed.into_iter();
            port.source.begin(&mut events.wrapped(|event| CardEvent::Line(number as u8, event)));
        }
    }

    /// The length of a packet in MPKTs.
    fn size(&self, bytes: u32) -> u32 {
        bytes.div_ceil(self.mpkt).max(1)
    }

    /// Whether a port has room for a packet of `mpkts` MPKTs. An empty port accepts a packet of any
    /// length, as the bus drains it meanwhile.
    fn has_room(&self, port: &Port, mpkts: u32) -> bool {
        let places = self.spec.receive_mpkts + self.extra_mpkts;
        match self.buffer {
            Some(packets) => port.waiting.len() < packets,
            None => port.held_in == 0 || port.held_in + mpkts <= places,
        }
    }

    /// Returns true once, on the first call after all warm-up packets are done.
    pub fn becomes_warm(&mut self) -> bool {
        let becomes = self.warm > 0 && !self.is_warm && self.left >= self.warm;
        self.is_warm |= becomes;
        becomes
    }

    /// The arrival time of the last offered packet, if arrival times are given.
    pub fn last_arrival(&self) -> Time {
        self.last_arrival
    }

    /// Whether the run has warm-up packets.
    pub fn has_warm_up(&self) -> bool {
        self.warm > 0
    }

    /// Whether the run had warm-up packets and all of them are done.
    pub fn is_warm(&self) -> bool {
        self.is_warm
    }

    /// The count of packets on the lines and in the machine.
    pub fn to_come(&self) -> u64 {
        self.packets.iter().filter(|packet| packet.is_some()).count() as u64
    }

    /// Whether a packet waits for the machine or is inside it.
    pub fn is_inside(&self) -> bool {
        !self.taken.is_empty() || self.ports.iter().any(|port| !port.waiting.is_empty())
    }

    /// The earliest next arrival over all lines.
    pub fn next_arrival(&self) -> Option<Time> {
        self.ports.iter().filter_map(|port| port.source.next_arrival()).min()
    }

    /// Handles an event. If an MPKT has arrived for a thread, returns the thread and the element.
    pub fn arrive(
        &mut self,
        event: CardEvent,
        fbi: &mut Fbi,
        events: &mut impl EventSink<CardEvent>,
    ) -> Option<(u8, u16)> {
        let mut signalled = None;
        match event {
            CardEvent::Line(port, event) => self.line(usize::from(port), event, events),
            CardEvent::Carried(is_in) => {
                let place = self.transfers.iter().position(|carried| carried.is_in() == is_in);
                match place.map(|place| self.transfers.swap_remove(place)) {
                    Some(Transfer::In { port, wanted, element }) => {
                        signalled = self.received((port, element), wanted, fbi, events.now());
                        if self.waits {
                            self.begin_port(usize::from(port), events);
                        }
                    }
                    Some(Transfer::Out) => self.transmitted(fbi, events),
                    None => {}
                }
            }
            CardEvent::Core => self.take_from_core(events.now()),
            CardEvent::Departed(port, mpkts) => {
                let port = &mut self.ports[usize::from(port)];
                port.held_out = port.held_out.saturating_sub(mpkts);
            }
        }
        self.kick(fbi, events);
        signalled
    }

    /// Handles a thread's request for an MPKT of a port. Returns false if the port or the element
    /// does not exist.
    pub fn want(
        &mut self,
        wanted: Wanted,
        fbi: &mut Fbi,
        events: &mut impl EventSink<CardEvent>,
    ) -> bool {
        let has_element = usize::from(wanted.element) < fbi.receive.len();
        let ports = self.lists.map_or(self.ports.len(), usize::from);
        if !has_element || usize::from(wanted.port) >= ports {
            return false;
        }
        self.requests.add(wanted, events.now());
        self.kick(fbi, events);
        true
    }

    fn line(&mut self, number: usize, event: LineEvent, events: &mut impl EventSink<CardEvent>) {
        let port = &mut self.ports[number];
        let mut line = events.wrapped(|event| CardEvent::Line(number as u8, event));
        let came = port.source.arrive(event, &mut line);
        if let Some(Reception::Queued) = came
            && let Some(arrived) = port.source.take(events.now())
        {
            let mpkts = self.size(arrived.bytes);
            let has_room = self.has_room(&self.ports[number], mpkts);
            let port = &mut self.ports[number];
            if !has_room {
                port.lost += 1;
                let place = (arrived.number - self.first) as usize;
                if let Some((_, packet)) = self.packets[place].take() {
                    self.lost.push(packet.offered);
                }
                self.forget();
            } else {
                port.held_in += mpkts;
                port.waiting.push_back((arrived.number, 0));
                if let Some((_, packet)) = &mut self.packets[(arrived.number - self.first) as usize]
                {
                    packet.came = events.now();
                }
            }
            self.is_marked |= self.ports[number].held_in >= self.mark;
        }
        self.begin_port(number, events);
    }

    /// Puts the packets of timers into the queue of port 0, which always has room for them.
    fn take_from_core(&mut self, now: Time) {
        for number in std::mem::take(&mut self.from_core) {
            let Some((_, packet)) = &mut self.packets[(number - self.first) as usize] else {
                continue;
            };
            packet.came = now;
            let mpkts = packet.bytes.len().div_ceil(self.mpkt as usize).max(1) as u32;
            self.ports[0].held_in += mpkts;
            self.ports[0].waiting.push_back((number, 0));
        }
    }

    /// Starts the next transfer if the bus is idle. Where both directions are possible, they
    /// alternate.
    pub fn kick(&mut self, fbi: &mut Fbi, events: &mut impl EventSink<CardEvent>) {
        self.tell(fbi);
        let carries = |is_in| self.transfers.iter().any(|carried| carried.is_in() == is_in);
        let (mut can_in, mut can_out) = (!carries(true), !carries(false));
        if !self.bus.duplex {
            let is_idle = self.transfers.is_empty();
            (can_in, can_out) = (is_idle, is_idle);
        }
        let inward = can_in.then(|| self.next_in(fbi)).flatten();
        let outward = can_out.then(|| self.can_send(fbi, events.now())).flatten();
        if let Some((port, wanted, bytes)) = inward
            && (self.bus.duplex || !self.was_in || outward.is_none())
        {
            let element = match self.lists {
                None => u16::from(wanted.element),
                Some(_) => fbi.free.pop_front().unwrap_or_default(),
            };
            self.carry(Transfer::In { port, wanted, element }, bytes, events);
            if !self.bus.duplex {
                return;
            }
        }
        if let Some(bytes) = outward {
            self.carry(Transfer::Out, bytes, events);
        }
    }

    fn carry(&mut self, transfer: Transfer, bytes: u32, events: &mut impl EventSink<CardEvent>) {
        self.was_in = transfer.is_in();
        self.transfers.push(transfer);
        let cycles = u64::from(bytes.div_ceil(self.bus.bytes) + self.bus.overhead_cycles).max(1);
        self.cycles[usize::from(!transfer.is_in())] += cycles;
        let start = self.bus.clock.edge_from(events.now());
        self.ends[usize::from(!transfer.is_in())] = start + cycles;
        events.send_at(self.bus.clock.edge(start + cycles), CardEvent::Carried(transfer.is_in()));
    }

    /// Updates the port lines that registers show.
    fn tell(&self, fbi: &mut Fbi) {
        let mut lines = fbi.lines;
        (lines.receive_ready, lines.transmit_ready) = (0, 0);
        for (number, port) in self.ports.iter().enumerate() {
            lines.receive_ready |= u32::from(!port.waiting.is_empty()) << number;
            let has_room = port.held_out < self.spec.transmit_mpkts;
            lines.transmit_ready |= u32::from(has_room) << number;
        }
        lines.ports = self.ports.len() as u32;
        lines.receive_sequence = self.taken_from + self.taken.len() as u32;
        lines.transmit_sequence = self.taken_from;
        fbi.lines = lines;
    }

    /// The port that can deliver an MPKT next, the request that it serves, and the MPKT's length in
    /// bytes.
    fn next_in(&self, fbi: &Fbi) -> Option<(u8, Wanted, u32)> {
        if self.lists.is_some() && fbi.free.is_empty() {
            return None;
        }
        let count = self.ports.len();
        (0..count).map(|turn| (self.next_port + turn) % count).find_map(|number| {
            let port = &self.ports[number];
            let (packet, done) = *port.waiting.front()?;
            let asked = match (self.lists, self.spec.assignment) {
                (Some(lists), _) => Some(number as u8 % lists),
                (None, Assignment::Any) => None,
                (None, Assignment::Fixed) => Some(number as u8),
            };
            let wanted = match port.bound {
                // The thread that took the first MPKT of a packet gets the rest.
                Some(thread) => self.requests.of_thread(thread, asked)?,
                None => self.requests.first(asked)?,
            };
            let (_, packet) = self.packets[(packet - self.first) as usize].as_ref()?;
            let left = packet.bytes.len() as u32 - done;
            Some((number as u8, wanted, left.min(self.mpkt)))
        })
    }

    fn received(
        &mut self,
        (port, place): (u8, u16),
        wanted: Wanted,
        fbi: &mut Fbi,
        now: Time,
    ) -> Option<(u8, u16)> {
        self.next_port = (usize::from(port) + 1) % self.ports.len();
        let line = &mut self.ports[usize::from(port)];
        let (number, done) = line.waiting.pop_front()?;
        let (ingress, packet) = self.packets[(number - self.first) as usize].as_mut()?;
        if done == 0 {
            packet.thread = wanted.thread;
            packet.engine_ns = match &mut self.engine_ns {
                Some(engine_ns) => {
                    *engine_ns = packet.arrival_ns.max(*engine_ns);
                    *engine_ns
                }
                None => packet.arrival_ns,
            };
            self.taken.push_back(Some(number));
            self.accepted.push(packet.offered);
        }
        let taken = self.taken.iter().rposition(|taken| *taken == Some(number))?;
        let rest = &packet.bytes[done as usize..];
        let bytes = rest.len().min(self.mpkt as usize);
        let last = bytes == rest.len();
        let control = Control {
            bytes: bytes as u16,
            first: done == 0,
            last,
            port,
            more: *ingress == TIMER,
            element: wanted.element,
            // The field of the receive FIFO is too small for the number of an RBUF element.
            reason: if self.lists.is_some() { place as u8 } else { 0 },
            valid: true,
            ..Control::default()
        };
        let element = &mut fbi.receive[usize::from(place)];
        element.words = words(&rest[..bytes]);
        element.control = [control.word(), self.taken_from + taken as u32];
        element.arrival = [packet.engine_ns as u32, (packet.engine_ns >> 32) as u32];
        if !last {
            line.waiting.push_front((number, done + self.mpkt));
        }
        line.bound = (!last).then_some(wanted.thread);
        self.requests.take(wanted, done == 0, last, now);
        line.held_in -= 1;
        self.carried[0] += 1;
        if let Some(statuses) = fbi.arrived.get_mut(usize::from(wanted.thread)) {
            // If a program never reads its statuses, the oldest one is lost.
            if statuses.len() == STATUSES {
                statuses.pop_front();
            }
            statuses.push_back(control.word());
        }
        Some((wanted.thread, place))
    }

    /// The length in bytes of the next element to leave, if it can leave now.
    fn can_send(&self, fbi: &Fbi, now: Time) -> Option<u32> {
        let element = &fbi.transmit[fbi.next_out];
        let control = Control::from_word(element.control[0]);
        if !element.valid {
            return None;
        }
        let has_room = match (control.way, self.ports.get(usize::from(control.egress()))) {
            // A packet longer than the port's transmit buffer passes if it is alone there.
            (Way::Port, Some(port)) => {
                let is_alone = !control.first && port.sink.next_departure(now).is_none();
                port.held_out < self.spec.transmit_mpkts || is_alone
            }
            _ => true,
        };
        has_room.then_some(u32::from(control.bytes).min(self.mpkt))
    }

    fn transmitted(&mut self, fbi: &mut Fbi, events: &mut impl EventSink<CardEvent>) {
        let count = fbi.transmit.len();
        let element = &mut fbi.transmit[fbi.next_out];
        let Element { words, control: [control, number], .. } = *element;
        element.valid = false;
        fbi.next_out = (fbi.next_out + 1) % count;
        self.carried[1] += 1;
        fbi.sent = fbi.sent.wrapping_add(1);
        let control = Control::from_word(control);
        let mut out = match self.open.iter().position(|open| open.number == number) {
            Some(place) if !control.first => self.open.swap_remove(place),
            _ => Open { number, control, bytes: Vec::new() },
        };
        let bytes = words.iter().flat_map(|word| word.to_be_bytes());
        out.bytes.extend(bytes.take(usize::from(control.bytes).min(self.mpkt as usize)));
        out.control = control;
        let port = self.ports.get_mut(usize::from(control.egress()));
        let port = port.filter(|_| control.way == Way::Port);
        let mut departs = events.now();
        if let Some(port) = port {
            port.held_out += 1;
            if control.last {
                let mpkts = (out.bytes.len() as u32).div_ceil(self.mpkt).max(1);
                let now = events.now();
                let at = port.sink.send(now, out.bytes.len() as u32).unwrap_or(now);
                departs = at;
                events.send_at(at, CardEvent::Departed(control.port, mpkts));
            }
        }
        if control.last {
            self.deliver(out, events.now(), departs);
        } else {
            self.open.push(out);
        }
    }

    /// Delivers a complete output. Its last bit leaves the line later, at `departs`.
    fn deliver(&mut self, out: Open, at: Time, departs: Time) {
        let Some(place) = out.number.checked_sub(self.taken_from) else { return };
        let Some(Some(number)) = self.taken.get(place as usize).copied() else { return };
        let slot = &mut self.packets[(number - self.first) as usize];
        let Some((ingress, packet)) = slot.as_ref() else { return };
        let is_last = !out.control.more;
        self.left += u64::from(is_last);
        self.last_left = self.last_left.max(departs);
        if is_last && packet.came >= self.measured_from {
            self.latency.time(departs.since(packet.came));
        }
        let has_port = usize::from(out.control.egress()) < self.ports.len();
        self.outputs.count(&out.control, has_port, out.bytes.len());
        self.delivered.push(Delivered {
            offered: packet.offered,
            ingress: *ingress,
            arrival_ns: packet.arrival_ns,
            control: out.control,
            bytes: out.bytes,
            at,
            is_last,
        });
        if is_last {
            self.requests.done(packet.thread);
            *slot = None;
            self.taken[place as usize] = None;
            while let Some(None) = self.taken.front() {
                self.taken.pop_front();
                self.taken_from += 1;
            }
            self.forget();
        }
    }

    /// Frees the slots of packets that have left or were lost.
    fn forget(&mut self) {
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

/// Packs bytes into the words of an element.
fn words(bytes: &[u8]) -> [u32; ELEMENT_WORDS] {
    let mut words = [0; ELEMENT_WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(4)) {
        let mut full = [0; 4];
        full[..bytes.len()].copy_from_slice(bytes);
        *word = u32::from_be_bytes(full);
    }
    words
}

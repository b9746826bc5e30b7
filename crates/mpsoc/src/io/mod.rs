//! Packet input and output: from the line into packet memory, and back in order (the paper, section
//! 5.2).

mod latencies;
mod packets;
mod spec;
mod supply;
mod verdict;

use std::collections::VecDeque;
use std::ops::Range;

use slab::Slab;
use wireloom_machine::{Arrivals, Rate};
use wireloom_net::Packet;
use wireloom_net::packet::WINDOW;
use wireloom_sim::parts::line::{FASTEST, LineEvent, LineSink, LineSource, Pace, Reception};
use wireloom_sim::parts::memory::{Direction, Memory};
use wireloom_sim::stats::Record;
use wireloom_sim::{EventSink, Rng, SpecError, Time};

use super::finish::Finish;
use super::mpe::Information;
use super::packet_message::Kept;
pub use latencies::Followed;
use latencies::Latencies;
pub use packets::Delivered;
use packets::{InFlight, Leaving};
pub use spec::{IoSpec, Order};
use supply::{Feed, Supply};
pub use verdict::{Reason, Verdict};

/// Packet I/O.
#[derive(Clone, Debug)]
pub(super) struct PacketIo {
    spec: IoSpec,
    source: LineSource<Feed>,
    /// Whether the line waits with packets for which there is no room.
    waits: bool,
    /// Engine time, the latest arrival of the packets that were taken; `None` if packets have only
    /// their own times.
    engine_ns: Option<u64>,
    supply: Supply,
    sink: LineSink,
    memory: Memory,
    packets: Slab<InFlight>,
    /// Packets in the order in which they leave.
    order: VecDeque<u32>,
    leaving: VecDeque<Leaving>,
    free_threads: u32,
    taken: u64,
    ended: u64,
    delivered: Vec<Delivered>,
    /// The numbers of lost packets with contents, among all offered packets.
    lost: Vec<u64>,
    latencies: Latencies,
    /// The number of words of packets that were taken from the line, or sent to it.
    line_words: u64,
}

impl PacketIo {
    /// Packet I/O with packets that arrive at `rate`, or at the pace of the description.
    pub(super) fn new(spec: &IoSpec, seed: u64, rate: Option<Rate>) -> Result<Self, SpecError> {
        let (feed, rng) = (Feed::default(), Rng::new(seed, "line"));
        let (mut input, mut pace) = (spec.input, spec.pace);
        if rate.is_some() {
            (input.rate, pace) = (FASTEST, Pace::Given);
        }
        let source = LineSource::new(input, pace, feed, rng);
        let mut source = source.map_err(|error| error.within("io.input"))?;
        let waits = rate == Some(Rate::Max);
        source.wait(waits);
        Ok(Self {
            source,
            waits,
            engine_ns: None,
            supply: Supply::new(Arrivals::new(rate.unwrap_or(Rate::Capture))),
            sink: LineSink::new(spec.output).map_err(|error| error.within("io.output"))?,
            memory: Memory::new(spec.memory).map_err(|error| error.within("io.memory"))?,
            packets: Slab::new(),
            order: VecDeque::new(),
            leaving: VecDeque::new(),
            free_threads: spec.threads,
            taken: 0,
            ended: 0,
            delivered: Vec::new(),
            lost: Vec::new(),
            latencies: Latencies::new(Time::ZERO),
            line_words: 0,
            spec: spec.clone(),
        })
    }

    /// Starts the line.
    pub(super) fn begin(&mut self, events: &mut impl EventSink<LineEvent>) {
        self.source.begin(events);
    }

    /// Offers further packets to the line.
    pub(super) fn offer(&mut self, packets: Vec<Packet>, events: &mut impl EventSink<LineEvent>) {
        self.source.wait(self.waits);
        self.bring(packets, events);
    }

    /// Offers further packets to the line, which brings them as fast as they are taken.
    pub(super) fn offer_all(
        &mut self,
        packets: Vec<Packet>,
        events: &mut impl EventSink<LineEvent>,
    ) {
        self.source.wait(true);
        self.bring(packets, events);
    }

    fn bring(&mut self, packets: Vec<Packet>, events: &mut impl EventSink<LineEvent>) {
        let offered = self.supply.offer(packets);
        if self.source.packets_mut().offer(offered) {
            self.source.begin(events);
        }
    }

    /// Offers `count` packets of `bytes` bytes each without contents to the line.
    pub(super) fn offer_plain(
        &mut self,
        bytes: u32,
        count: u64,
        events: &mut impl EventSink<LineEvent>,
    ) {
        if self.source.packets_mut().offer_plain(bytes, count) {
            self.source.begin(events);
        }
    }

    /// Advances engine time, which packets have from now on in place of their own times.
    pub(super) fn advance_engine_time(&mut self, time_ns: u64) {
        self.engine_ns = self.engine_ns.max(Some(time_ns));
    }

    /// Engine time: the latest arrival of the packets that were taken.
    pub(super) fn engine_ns(&self) -> u64 {
        self.engine_ns.unwrap_or(0)
    }

    /// Handles a packet that the line has brought or lost.
    pub(super) fn arrive(&mut self, event: LineEvent, events: &mut impl EventSink<LineEvent>) {
        if let Some(Reception::Lost(lost)) = self.source.arrive(event, events) {
            if self.supply.packet(lost.number).is_some() {
                self.lost.push(lost.number);
            }
            self.supply.forget(lost.number);
        }
    }

    /// Lets a waiting line bring the next packet, if there is room again.
    pub(super) fn resume(&mut self, events: &mut impl EventSink<LineEvent>) {
        self.source.resume(events);
    }

    /// Lets a hardware thread take the next waiting packet, if a thread and a place are free.
    /// Returns the packet's place in packet memory and the time at which it is stored.
    pub(super) fn take(&mut self, now: Time) -> Option<(u32, Time)> {
        if self.free_threads == 0 || self.packets.len() == self.spec.packets as usize {
            return None;
        }
        let arrived = self.source.take(now)?;
        self.free_threads -= 1;
        self.line_words += u64::from(arrived.bytes.div_ceil(4));
        let number = self.taken;
        self.taken += 1;
        let packet = self.supply.packet(arrived.number);
        let mut arrival_ns = packet.map_or(arrived.at.0 / 1000, |packet| packet.arrival_ns);
        if let Some(engine_ns) = &mut self.engine_ns {
            *engine_ns = arrival_ns.max(*engine_ns);
            arrival_ns = *engine_ns;
        }
        let information = Information {
            number,
            length: arrived.bytes,
            ingress: packet.map_or(0, |packet| packet.ingress),
            arrival_ns,
            loaded: arrived.bytes.min(WINDOW as u32),
        };
        let place = self.packets.insert(InFlight {
            number,
            offered: arrived.number,
            information,
            arrived: arrived.at,
            finished: Vec::new(),
            left: 0,
            done: Time::ZERO,
        }) as u32;
        if self.spec.order == Order::Arrival {
            self.order.push_back(place);
        }
        let stored =
            self.memory.request(now, Direction::Write, address(place), u64::from(arrived.bytes));
        Some((place, stored))
    }

    /// Handles the assignment of a call to a server: the packet I/O thread that has brought the
    /// packet becomes free.
    pub(super) fn served(&mut self) {
        self.free_threads += 1;
    }

    /// The information for the thread that gets a packet, and the packet's window, which is empty
    /// if packets have no contents.
    pub(super) fn window(&self, place: u32) -> (Information, &[u8]) {
        let packet = &self.packets[place as usize];
        let bytes = self.supply.packet(packet.offered).map_or(&[][..], |packet| &packet.bytes);
        (packet.information, &bytes[..bytes.len().min(packet.information.loaded as usize)])
    }

    /// The numbers of a packet among all offered packets, and among all packets that were taken.
    pub(super) fn numbers(&self, place: u32) -> (u64, u64) {
        let packet = &self.packets[place as usize];
        (packet.offered, packet.number)
    }

    /// The part of an arrived packet that packet memory holds outside its window.
    pub(super) fn kept(&self, place: u32) -> Kept<'_> {
        self.packets[place as usize].kept(&self.supply)
    }

    /// Lets an object read or write bytes of a packet in packet memory. Returns the completion
    /// time.
    pub(super) fn reach(
        &mut self,
        now: Time,
        direction: Direction,
        place: u32,
        bytes: Range<usize>,
    ) -> Time {
        if bytes.is_empty() {
            return now;
        }
        let first = address(place) + bytes.start as u64;
        self.memory.request(now, direction, first, bytes.len() as u64)
    }

    /// Handles a packet that a thread has sent.
    pub(super) fn finished(&mut self, finish: Finish, now: Time, cycle: Time) {
        let place = finish.packet;
        let packet = &mut self.packets[place as usize];
        if !finish.is_kept() {
            packet.done = now;
            self.ended += 1;
            self.latencies.processed(packet, &finish, now, cycle);
        }
        packet.finished.push(finish);
        if self.spec.order == Order::Done {
            self.leave(place, now);
        }
    }

    /// Sends all packets that can leave. Returns the time at which more can leave.
    pub(super) fn advance(&mut self, now: Time) -> Option<Time> {
        while let Some(&front) = self.order.front() {
            if !self.leave(front, now) {
                break;
            }
            self.order.pop_front();
        }
        while let Some(first) = self.leaving.front_mut() {
            if first.loaded > now {
                return Some(first.loaded);
            }
            if let Verdict::Sent { .. } = first.delivered.verdict {
                if !self.sink.can_send(now) {
                    return self.sink.next_departure(now);
                }
                let at = self.sink.send(now, first.length);
                first.delivered.at = at.expect("the line has said that it can");
                self.line_words += u64::from(first.length.div_ceil(4));
            }
            let Some(left) = self.leaving.pop_front() else { break };
            self.latencies.output(left.delivered.offered, left.delivered.at);
            if left.delivered.is_last {
                let packet = self.packets.remove(left.packet as usize);
                self.supply.forget(packet.offered);
                self.latencies.left(&packet, left.delivered.at);
            }
            self.delivered.push(left.delivered);
        }
        None
    }

    /// Reads the outputs of a packet from packet memory, in the order in which its thread sent
    /// them. Returns whether the outputs are complete.
    fn leave(&mut self, place: u32, now: Time) -> bool {
        let packet = &mut self.packets[place as usize];
        while let Some(index) =
            packet.finished.iter().position(|finish| finish.sequence == packet.left)
        {
            let finish = packet.finished.swap_remove(index);
            packet.left += 1;
            let verdict = Verdict::decode(finish.kind, finish.egress)
                .expect("it was looked at when it was sent");
            let (is_last, length) = (!finish.is_kept(), finish.sent_bytes());
            let loaded = match verdict {
                Verdict::Sent { .. } => {
                    self.memory.request(now, Direction::Read, address(place), u64::from(length))
                }
                _ => now,
            };
            let came = packet.kept(&self.supply);
            let bytes = match self.supply.packet(packet.offered) {
                Some(_) => finish.merge(came),
                None => Vec::new(),
            };
            // A packet leaves with the time that it came with.
            let arrival_ns = self
                .supply
                .packet(packet.offered)
                .map_or(packet.information.arrival_ns, |packet| packet.arrival_ns);
            let ingress = came.ingress;
            let (number, offered) = (packet.number, packet.offered);
            let delivered = Delivered {
                number,
                offered,
                ingress,
                arrival_ns,
                is_last,
                verdict,
                bytes,
                at: now,
            };
            self.leaving.push_back(Leaving { packet: place, length, loaded, delivered });
            if is_last {
                return true;
            }
        }
        false
    }

    /// The number of words of packets that were taken from the line, or sent to it.
    pub(super) fn line_words(&self) -> u64 {
        self.line_words
    }

    /// The numbers of bytes read from packet memory, and written to it.
    pub(super) fn moved(&self) -> [u64; 2] {
        self.memory.moved()
    }

    /// Takes the packets that have left.
    pub(super) fn take_delivered(&mut self) -> Vec<Delivered> {
        std::mem::take(&mut self.delivered)
    }

    /// Restricts the latencies to packets that arrive from now on.
    pub(super) fn measure_from(&mut self, now: Time) {
        self.latencies = Latencies::new(now);
    }

    /// Restricts the statistics to the time from now on, except for numbers of packets.
    pub(super) fn begin_to_count(&mut self, now: Time) {
        self.measure_from(now);
        self.source.begin_to_count(now);
        self.sink.begin_to_count(now);
        self.memory.begin_to_count(now);
    }

    /// Keeps the times of a packet. Its number is its position among all offered packets.
    pub(super) fn follow(&mut self, number: u64) {
        self.latencies.follow(number);
    }

    pub(super) fn followed(&self) -> Option<&Followed> {
        self.latencies.followed()
    }

    pub(super) fn latencies(&self) -> &Latencies {
        &self.latencies
    }

    /// The numbers of packets that packet I/O has taken, and that threads have finished.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.taken, self.ended)
    }

    /// The number of packets sent by a port.
    pub(super) fn sent(&self) -> u64 {
        self.sink.packets()
    }

    /// The bytes of packets sent by a port.
    pub(super) fn sent_bytes(&self) -> u64 {
        self.sink.bytes()
    }

    /// The packets inside that were taken with number `number` or later, by their numbers among all
    /// offered packets.
    pub(super) fn taken_since(&self, number: u64) -> Vec<u64> {
        let packets = self.packets.iter().map(|(_, packet)| packet);
        packets.filter(|packet| packet.number >= number).map(|packet| packet.offered).collect()
    }

    /// The number of packets that were taken and have not left.
    pub(super) fn outstanding(&self) -> usize {
        self.packets.len()
    }

    /// Takes the numbers of packets with contents that were lost since the last call. A packet's
    /// number is its position among all offered packets.
    pub(super) fn take_lost(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.lost)
    }

    /// The number of packets with contents whose arrival has not begun.
    pub(super) fn to_come(&self) -> u64 {
        self.source.packets().to_come()
    }

    /// The number of packets lost because all places in front of packet I/O were occupied.
    pub(super) fn lost(&self) -> u64 {
        self.source.lost()
    }

    /// The first packet in departure order, which its thread has not finished. `None` if no packet
    /// is inside, or packets leave in any order.
    pub(super) fn blocker(&self) -> Option<u64> {
        self.order.front().map(|place| self.packets[*place as usize].number)
    }

    /// Whether the line is silent and all packets have left.
    pub(super) fn is_done(&self) -> bool {
        self.source.is_exhausted() && self.packets.is_empty()
    }

    /// Statistics: `taken`, `done`, `threads_busy`, `input`, `output`, `memory`, `latency`.
    pub(super) fn record(&self, now: Time) -> Record {
        Record::new()
            .with("taken", self.taken)
            .with("done", self.ended)
            .with("threads_busy", u64::from(self.spec.threads - self.free_threads))
            .with("input", self.source.record(now))
            .with("output", self.sink.record(now))
            .with("memory", self.memory.record(now))
            .with("latency", self.latencies.record())
    }
}

/// The address of a packet in packet memory. No packet is longer than the distance between two.
fn address(place: u32) -> u64 {
    u64::from(place) << 16
}

//! Runs a program on the chip through the interface of all machines.

mod by_hand;
mod cards;
mod compiled;
mod leaving;
mod lines;
mod mapping;
mod messages;
mod metering;
mod order;
mod out_line;
mod packet_tails;
mod place;
mod port;
mod proof;
mod queues;
mod report;
mod tail_paths;
mod timers;
mod watch;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use wireloom_codegen_tile::{self as tile, Link};
use wireloom_ir::Program;
use wireloom_machine::watch::Watched;
use wireloom_machine::{
    Departures, Error, Line, Machine, Options, Pauses, Profile, Record, Recordings, Refusal,
    Result, Sequence, Settled, Sink, Snapshot, UpdateError, Wanted, thousands,
};
use wireloom_net::Frame;
use wireloom_net::packet::MAX_LENGTH;
use wireloom_offloads::{Store, Update};
use wireloom_power::Account;
use wireloom_sim::Time;
use wireloom_sim::stats::Series;

pub use by_hand::{is_by_hand, start as start_by_hand};
use cards::CardAt;
pub use compiled::compile;
use compiled::{Compiled, compile_again, turns};
use lines::{Coming, Lines};
use mapping::Placement;
pub use mapping::{MachineSpec, Mapping, Outputs};
use metering::Metering;
use out_line::OutLine;
use packet_tails::{Card, Memories, Rests};
pub use packet_tails::{Carrier, Duplex, Keep, Protocol, RestSpec};
use place::Edge;
use port::{Departure, PacketPort};
pub use queues::{QueueMemory, Queues};
use report::Measured;
use watch::{Events, Programs};

use crate::Chip;
use crate::device::{LineRate, words_of};
use crate::device::{Memory, MemorySpec};
use crate::message::Header;

/// Packets that are offered before the machine begins to simulate.
const AHEAD: usize = 64;
/// Limit on the packets that wait, if packets arrive at given times.
const KEPT: usize = 1 << 14;
/// Cycles between two looks at the packets that have left.
const STEP: u64 = 16;

/// A packet in the chip.
#[derive(Clone, Copy, Debug)]
struct Pending {
    number: u64,
    /// The cycle since the start in which it arrived, if the line was not stopped.
    at: u64,
    arrival_ns: u64,
    ingress: u16,
}

/// A chip whose tiles run an engine.
pub struct Raw {
    spec: MachineSpec,
    program: Program,
    store: Store,
    pub(crate) chip: Chip,
    compiled: Compiled,
    placement: Placement,
    /// The packets of each line card, in order.
    pending: Vec<VecDeque<Pending>>,
    /// The departures of each card over the general network, by serial number.
    serial: Vec<Sequence<Departure>>,
    /// For each port and card the number after the last packet that left.
    last: BTreeMap<(usize, usize), u64>,
    /// Packets that have left at each port, and packets that its full queue dropped.
    left_at: Vec<u64>,
    dropped_at: Vec<u64>,
    /// All packets that have not been passed on, with their departures so far.
    departures: Departures<Pending, Departure>,
    offered: u64,
    /// Packets that were accepted, with those of timers. Programs with a state owner count packets
    /// by this number.
    accepted: u64,
    /// Packets of timers that were accepted.
    of_timers: u64,
    /// Engine time and the packets that wait for a tick, if times of the engine end at ticks.
    pauses: Option<Pauses>,
    /// The latest arrival of a packet that was accepted, in nanoseconds.
    engine_ns: u64,
    lines: Lines,
    /// Cycles of earlier chips.
    elapsed: u64,
    measured: Measured,
    metering: Metering,
    /// The power over time, once all packets have left.
    series: Option<Series>,
    /// The programs for debuggers, once a debugger has asked for them.
    programs: Option<Programs>,
    events: Events,
}

impl Raw {
    /// Compiles a program and starts a chip with it.
    ///
    /// # Errors
    /// If the program does not fit.
    pub fn start(
        spec: &MachineSpec,
        program: &Program,
        store: Store,
        options: &Options,
    ) -> Result<Self> {
        let spec = spec.suited(program);
        let placement = spec.placement().map_err(Error::new)?;
        let (chip, compiled) = chip(&spec, program, &store, 0, None)?;
        let lines = Lines::new(options, spec.chip.clock_mhz)?;
        let interval = options.interval_ns.map(Time::nanoseconds);
        let metering = Metering::new(&chip, interval).map_err(Error::new)?;
        let measured = Measured::new(spec.chip.clock_mhz, options.warm);
        let (count, ports) = (placement.cards.len(), placement.ports.len());
        Ok(Self {
            spec,
            program: program.clone(),
            store,
            chip,
            compiled,
            placement,
            pending: vec![VecDeque::new(); count],
            serial: vec![Sequence::default(); count],
            last: BTreeMap::new(),
            left_at: vec![0; ports],
            dropped_at: vec![0; ports],
            departures: Departures::default(),
            offered: 0,
            accepted: 0,
            of_timers: 0,
            pauses: Pauses::of(program),
            engine_ns: 0,
            lines,
            elapsed: 0,
            measured,
            metering,
            series: None,
            programs: None,
            events: Events::default(),
        })
    }

    pub fn chip(&self) -> &Chip {
        &self.chip
    }

    /// Returns the source of all programs of tiles and switches, as the assembler takes it.
    pub fn source(&self) -> &str {
        &self.compiled.text
    }

    /// Returns the cycle in which each packet left by a port, and its bytes.
    pub fn departures(&self) -> &[(u64, u32)] {
        &self.measured.departures
    }

    /// Returns the mean cycles from a packet's first word into the chip to its last word out of it.
    pub fn mean_latency(&self) -> f64 {
        self.measured.mean_latency()
    }

    /// Returns the energy up to now.
    pub fn energy(&self) -> Account {
        self.metering.account(&self.chip)
    }

    /// Puts other tables into memory, on a chip without packets. Compiles the program again if a
    /// table moves.
    fn reload(&mut self) -> Result {
        self.measured.add_chip(&self.chip, &self.placement, &self.spec);
        self.metering.replace(&self.chip);
        self.elapsed += self.chip.cycles();
        let stood = self.stood();
        let before = Some(&self.compiled);
        (self.chip, self.compiled) =
            chip(&self.spec, &self.program, &self.store, self.accepted, before)?;
        for (card, stood) in self.placement.cards.iter().zip(stood) {
            let port = Self::port(&mut self.chip, card.port);
            (port.base, port.stood) = (self.elapsed, stood);
        }
        self.serial.iter_mut().for_each(Sequence::restart);
        self.last.clear();
        Ok(())
    }

    fn port(chip: &mut Chip, (place, side): Edge) -> &mut PacketPort {
        chip.device(place, side).expect("each card has its port")
    }

    /// Returns the report line on the packet tails in cards.
    fn rests(&self) -> Option<Line> {
        let head = self.compiled.head?;
        let cards: Vec<&Card> = self.inputs().flat_map(PacketPort::cards).collect();
        let all = cards.iter().map(|card| card.all).sum();
        let largest = cards.iter().map(|card| card.largest).max().unwrap_or_default();
        let of = if self.spec.mapping.has_shared_cards() { "of a chain" } else { "in a card" };
        let text = format!(
            "{} packets of more than {head} bytes, at most {largest} {of} at a time",
            thousands(all)
        );
        Some(Line::new("rests that went past the tiles", text))
    }

    /// Returns the cycles for which each card's line was stopped.
    fn stood(&self) -> Vec<u64> {
        self.inputs().map(|port| port.stood).collect()
    }

    /// Returns the ports at which packets enter.
    fn inputs(&self) -> impl Iterator<Item = &PacketPort> {
        let inputs = self.placement.cards.iter().map(|card| card.port);
        inputs.filter_map(|(place, side)| self.chip.device_at(place, side))
    }

    /// Takes the packets that have left the chip. Starts the measurement once the warm-up packets
    /// are done. Returns the packets that began to enter.
    pub(crate) fn collect(&mut self) -> Result<Vec<u64>> {
        let entered = self.collect_left()?;
        let (lost, chip) = (self.lines.lost_in_all, &self.chip);
        if self.measured.begins_to_count(lost, chip, &self.placement, &self.spec) {
            self.metering.begin_to_count(chip);
        }
        Ok(entered)
    }

    /// Returns the cycles since the start.
    fn now(&self) -> u64 {
        self.elapsed + self.chip.cycles()
    }

    fn accept(&mut self, frame: &Frame<'_>) -> Result {
        let bytes = &frame.bytes[..frame.bytes.len().min(MAX_LENGTH)];
        if frame.ingress == u16::MAX && bytes.len() == MAX_LENGTH {
            // A message without a packet has the same first word.
            return Err(Error::new(format!(
                "packet {}: tiles cannot take {MAX_LENGTH} bytes from port {}",
                self.offered,
                u16::MAX
            )));
        }
        let number = self.offered;
        self.offered += 1;
        match &mut self.pauses {
            Some(pauses) => pauses.hold(number, &Frame { bytes, ..*frame }),
            None => self.come(number, &Frame { bytes, ..*frame }),
        }
        self.go_on();
        Ok(())
    }

    /// Lets a packet come to its card.
    fn come(&mut self, number: u64, frame: &Frame<'_>) {
        let card = usize::from(frame.ingress) % self.placement.cards.len();
        let coming = Coming {
            at: self.lines.at(number, frame),
            number,
            card,
            arrival_ns: frame.arrival_ns,
            ingress: frame.ingress,
            bytes: frame.bytes.to_vec(),
        };
        if self.lines.buffer.is_some() {
            Self::port(&mut self.chip, self.placement.cards[card].port).awaited += 1;
            self.lines.coming.push_back(coming);
        } else {
            self.enter(&coming);
        }
    }

    /// Lets packets that have arrived enter. A packet that finds the buffer full is lost.
    fn arrive(&mut self) {
        let (now, buffer) = (self.now(), self.lines.buffer.unwrap_or(usize::MAX));
        while self.lines.coming.front().is_some_and(|next| next.at <= now)
            && let Some(coming) = self.lines.coming.pop_front()
        {
            let port = Self::port(&mut self.chip, self.placement.cards[coming.card].port);
            port.awaited -= 1;
            if port.waiting() < buffer {
                self.enter(&coming);
            } else {
                self.lines.lost.push(coming.number);
                self.lines.lost_in_all += 1;
            }
        }
    }

    /// Puts a packet into the queue of its port.
    fn enter(&mut self, coming: &Coming) {
        let Coming { at, number, card, arrival_ns, ingress, bytes } = coming;
        let head = self.compiled.head.map_or(bytes.len(), |head| bytes.len().min(head as usize));
        let (bytes, rest) = bytes.split_at(head);
        // The number of words less one comes first.
        let mut words = vec![0, u32::from(*ingress) << 16 | bytes.len() as u32];
        let mut long = |value: u64| words.extend([(value >> 32) as u32, value as u32]);
        self.engine_ns = self.engine_ns.max(*arrival_ns);
        if self.compiled.needs.arrival {
            long(if self.pauses.is_some() { self.engine_ns } else { *arrival_ns });
        }
        if self.compiled.needs.sequence {
            long(self.sequence(*number));
        }
        self.accepted += 1;
        let place = words.len();
        words.extend(self.compiled.head.map(|_| 0));
        let aligned = [&[0; tile::ALIGN as usize], bytes].concat();
        words.extend(words_of(&aligned));
        words[0] = words.len() as u32 - 2;
        let pending =
            Pending { number: *number, at: *at, arrival_ns: *arrival_ns, ingress: *ingress };
        let input = self.placement.cards[*card].port;
        let rest = (!rest.is_empty()).then(|| (place, rest.to_vec()));
        Self::port(&mut self.chip, input).offer(*number, *at, words, rest);
        self.pending[*card].push_back(pending);
        self.departures.take(*number, pending);
    }

    /// Simulates up to the cycle in which the last offered packet arrives. The next packets may
    /// arrive in any cycle after it. Continues while many packets are inside.
    fn work_timed(&mut self, sink: Sink<'_>) -> Result<Settled> {
        let mut settled = self.work_off(sink)?;
        while self.now() < self.lines.last || self.departures.len() > KEPT {
            let left = self.lines.last.saturating_sub(self.now()).max(1);
            let step = self.step();
            self.run(left.min(step))?;
            self.collect()?;
            settled.extend(&self.pass_on(sink));
        }
        Ok(settled)
    }

    /// Returns the packets in front of the chip and in it.
    fn inside(&self) -> usize {
        self.departures.len() + self.lines.coming.len()
    }

    /// Returns the packets that hold up the offer of more. With queues only packets in front of the
    /// chip count, since packets in a queue hold up no others. The limit on the packets inside
    /// still applies.
    fn ahead(&self) -> usize {
        let inside = self.inside();
        if self.spec.mapping.queues.is_none() || inside > KEPT {
            return inside;
        }
        self.inputs().map(PacketPort::waiting).sum()
    }

    /// Simulates while `more_than.0` counts more than `more_than.1` packets, for at most `cycles`
    /// cycles. Passes on packets that are complete.
    fn work(
        &mut self,
        more_than: (fn(&Self) -> usize, usize),
        cycles: u64,
        sink: Sink<'_>,
    ) -> Result<Settled> {
        let mut settled =
            if cycles == u64::MAX { self.work_off(sink)? } else { Settled::default() };
        let mut rest = cycles;
        while more_than.0(self) > more_than.1 && rest > 0 {
            let step = rest.min(self.step());
            self.run(step)?;
            rest -= step;
            self.collect()?;
            settled.extend(&self.pass_on(sink));
        }
        settled.extend(&self.pass_on(sink));
        Ok(settled)
    }

    /// Returns the cycles until the next look at departures. This is more than [`STEP`] where the
    /// chip rests, but never beyond the next arrival.
    fn step(&self) -> u64 {
        let coming = self.lines.coming.front();
        let next = coming.map_or(u64::MAX, |next| next.at.saturating_sub(self.now()));
        let rest = self.chip.resting().min(next);
        // A multiple, so that looks are in the same cycles as without skipping.
        (rest / STEP * STEP).max(STEP)
    }

    fn run(&mut self, cycles: u64) -> Result {
        let mut left = cycles;
        while left > 0 {
            self.arrive();
            let next = self.lines.coming.front().map_or(u64::MAX, |next| next.at - self.now());
            let step = self.metering.cycles(&self.chip, left).min(next);
            let ran = self.chip.run(step);
            ran.map_err(|error| watch::located(&self.chip, &watch::programs(self), error))?;
            self.metering.ran(&self.chip);
            left -= step;
        }
        Ok(())
    }
}

/// Builds a chip with the program and the tables, before packet `number`. The program may be
/// compiled already, with other tables.
fn chip(
    spec: &MachineSpec,
    program: &Program,
    store: &Store,
    number: u64,
    before: Option<&Compiled>,
) -> Result<(Chip, Compiled)> {
    let mut compiled = compile_again(spec, program, store, before).map_err(Refusal::first)?;
    let failed = |error: crate::Error| Error::new(error.to_string());
    let mut chip = Chip::new(&spec.chip, &compiled.image).map_err(failed)?;
    let placement = spec.placement().map_err(Error::new)?;
    // The port of each chain's card.
    let inputs = placement.inputs();
    let Placement { chains, cards, ports, memory: (place, side), rests: edges, .. } = placement;
    let mut memory = Memory::new(MemorySpec {
        latency_cycles: spec.memory.latency_cycles,
        outstanding: spec.memory.outstanding as usize,
        ..MemorySpec::full_duplex(spec.memory.megabytes << 20)
    });
    let turn = compiled.turn.map(|address| (address, vec![number as u32]));
    for (first, words) in std::mem::take(&mut compiled.images).into_iter().chain(turn) {
        for (address, word) in (first..).step_by(4).zip(words) {
            *memory.word(address).ok_or_else(|| Error::new("a table is past the memory"))? = word;
        }
    }
    chip.attach(place, side, memory).map_err(failed)?;
    let beside = compiled.beside();
    let rest = spec.mapping.rest.as_ref();
    let memories = rest.and_then(|rest| Memories::of(rest, &edges, chains.len()));
    let requests = rest.map_or(0, |rest| rest.requests);
    if let Some(memories) = &memories {
        for (place, side, described) in memories.all(spec.memory.latency_cycles) {
            chip.attach(place, side, Memory::new(described)).map_err(failed)?;
        }
    }
    for CardAt { port: (place, side), chains } in cards {
        let card = |rest: &RestSpec| {
            let of = |chain: &usize| Card::new(*chain, rest.packets, memories.clone());
            chains.iter().map(of).collect()
        };
        let kept = rest.map(card).unwrap_or_default();
        let rests = Rests::new(kept, inputs.clone(), memories.clone(), requests);
        let header = Header { origin: place, destination: place, ..Header::default() };
        let hop = (spec.mapping.links == Link::General).then_some(header);
        let port = PacketPort::new(chains.len(), spec.mapping.idles(), hop, beside, rests);
        chip.attach(place, side, port).map_err(failed)?;
    }
    for (place, side) in ports.into_iter().filter(|port| !inputs.contains(port)) {
        let rests = Rests::new(Vec::new(), inputs.clone(), memories.clone(), requests);
        let port = match &spec.mapping.queues {
            None => PacketPort::new(1, 0, None, beside, rests),
            Some(queues) => {
                let rate = queues.line_mbps.map_or(LineRate::UNLIMITED, |mbps| LineRate {
                    bits_per_second: u64::from(mbps) * 1_000_000,
                    clock_hertz: u64::from(spec.chip.clock_mhz) * 1_000_000,
                });
                PacketPort::of_queue(OutLine::new(rate, queues.ready), beside, rests)
            }
        };
        chip.attach(place, side, port).map_err(failed)?;
    }
    Ok((chip, compiled))
}

impl Machine for Raw {
    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled> {
        frames.iter().try_for_each(|frame| self.accept(frame))?;
        if self.lines.is_timed() {
            return self.work_timed(sink);
        }
        self.work((Self::ahead, AHEAD), u64::MAX, sink)
    }

    fn advance(&mut self, cycles: u64, sink: Sink<'_>) -> Result<Settled> {
        if self.inside() == 0 {
            self.proceed();
        }
        self.work((Self::inside, 0), cycles, sink)
    }

    fn advance_to(&mut self, time_ns: u64, sink: Sink<'_>) -> Result<Settled> {
        self.run_timers_to(time_ns, sink)
    }

    fn next_timer(&self) -> Option<u64> {
        self.pauses.as_ref()?;
        self.next_due()
    }

    fn finish(&mut self, sink: Sink<'_>) -> Result<Settled> {
        let settled = self.work((Self::inside, 0), u64::MAX, sink)?;
        // Cards are still being told of the last dropped packets. If a card were not told, nothing
        // would move any more, and the run would end with an error.
        while self.inputs().flat_map(PacketPort::cards).any(|card| card.kept() > 0) {
            self.run(STEP)?;
        }
        self.series = self.metering.over_time(&self.chip);
        Ok(settled)
    }

    fn recordings(&self) -> Recordings<'_> {
        Recordings { series: self.series.as_ref(), ..Recordings::default() }
    }

    fn update(&mut self, update: &Update, sink: Sink<'_>) -> Result<Settled, UpdateError> {
        let settled = self.finish(sink)?;
        self.read_back(Wanted::All, &|_| ())?;
        update.apply(&mut self.store).map_err(|refused| UpdateError::Refused(refused.0))?;
        self.reload()?;
        // An entry that has ended may be in the table again.
        self.advance_engine_time(0);
        Ok(settled)
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result {
        snapshot.restore(&mut self.store)?;
        self.reload()?;
        self.advance_engine_time(0);
        Ok(())
    }

    fn read_back(&mut self, _: Wanted<'_>, _: &dyn Fn(&str)) -> Result<Vec<String>> {
        let memory = self.chip.memory();
        let mut word = |address| memory.word(address).unwrap_or_default();
        tile::read_back(&self.compiled.places, &mut self.store, &mut word);
        Ok(Vec::new())
    }

    fn watch(&mut self) -> Option<&mut dyn Watched> {
        if self.programs.is_none() {
            self.programs = Some(watch::programs(self));
        }
        Some(self)
    }

    fn profile(&self) -> Option<Profile> {
        Some(watch::programs(self).profile(&self.chip, true))
    }

    fn record(&self, work: Duration) -> Option<Record> {
        let energy = self.energy();
        let has_queues = self.spec.mapping.queues.is_some();
        let line = report::LineCounts {
            lost: self.lines.lost_in_all,
            dropped: has_queues.then(|| self.dropped_at.iter().sum()),
            stood: self.lines.is_timed().then(|| self.stood().iter().sum()),
        };
        let measured = &self.measured;
        let mut record =
            measured.record(&self.spec, &self.chip, &self.placement, &energy, line, work);
        let engine = &self.program.engines[self.program.main.index()];
        let (chain, stages) = (&self.placement.chains[0], &self.compiled.stages[0]);
        let tiles = chain.tiles.iter().zip(turns(stages)).map(|((x, y), (stage, _))| {
            let steps = engine.steps.iter().zip(&stages.of).filter(|(_, of)| **of == stage);
            let names: Vec<&str> = steps.map(|(step, _)| step.name.as_str()).collect();
            let words = self.compiled.image.of((*x, *y)).0.len();
            let names = match &names[..] {
                [] => "no step".to_owned(),
                [only] => format!("step {only}"),
                [first, .., last] => format!("steps {first} to {last}"),
            };
            format!("({x},{y}) {names} ({words} instructions)")
        });
        let tiles: Vec<String> = tiles.collect();
        let chains = match self.placement.chains.len() {
            1 => String::new(),
            count => format!("{count} chains like "),
        };
        record.lines.push(Line::new("tiles", chains + &tiles.join(", ")));
        if self.spec.mapping.has_shared_cards() {
            let card = |(number, card): (usize, &CardAt)| {
                let chains: Vec<String> = card.chains.iter().map(ToString::to_string).collect();
                format!("card {number} to chains {}", chains.join(", "))
            };
            let cards: Vec<String> = self.placement.cards.iter().enumerate().map(card).collect();
            record.lines.push(Line::new("packets in turn", cards.join("; ")));
        }
        if self.lines.is_timed() {
            let stood: Vec<String> = self.stood().into_iter().map(thousands).collect();
            let lost = thousands(self.lines.lost_in_all);
            record.lines.push(match self.lines.buffer {
                Some(room) => Line::new(
                    "line cards",
                    format!("{lost} packets lost in front of a full buffer; one holds {room}"),
                ),
                None => {
                    let each = stood.join(", ");
                    Line::new("line cards", format!("each line stood still for {each} cycles"))
                }
            });
        }
        record.lines.extend(self.rests());
        if let Some((x, y)) = self.spec.mapping.state_owner {
            let words = self.compiled.image.of((x, y)).0.len();
            let owner = format!("({x},{y}) for all tiles ({words} instructions)");
            record.lines.push(Line::new("state that packets change", owner));
        }
        if self.spec.mapping.outputs == Outputs::Egress {
            let each = |counts: &[u64]| {
                let each = counts.iter().enumerate();
                each.map(|(port, count)| format!("{port}: {count}")).collect::<Vec<_>>().join(", ")
            };
            record.lines.push(Line::new("packets out of each port", each(&self.left_at)));
            if has_queues {
                record.lines.push(Line::new("dropped in full queues", each(&self.dropped_at)));
            }
        }
        Some(record)
    }
}

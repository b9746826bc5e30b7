//! Runs a program on the chip, behind the interface that all machines share.

use std::collections::VecDeque;
use std::time::Duration;

use wireloom_ir::{Output, Reason, TIMERS, Verdict};
use wireloom_machine::watch::{Event, Watched};
use wireloom_machine::{
    Departures, Error, Machine, Pauses, Profile, Profiler, Rate, Record, Recordings, Result,
    Settled, Sink, Snapshot, UpdateError, Wanted,
};
use wireloom_net::Frame;
use wireloom_offloads::{Store, Update};
use wireloom_sim::stats::Series;

use crate::assertions::{self, Broken, Rule};
use crate::cards::Delivered;
use crate::energy::Metered;
use crate::mpkt::Way;
use crate::processor::{Processor, RunError};
use crate::tables::Tables;
use crate::watch::{Sources, listing};

/// Packets that are queued before the machine starts to work on them.
const AHEAD: u64 = 256;
/// The limit that applies if packets wait for room. It exceeds the capacity of all ports, so that a
/// line never lacks a packet.
const WAITING: u64 = 1 << 14;

/// A machine with programs in its engines.
///
/// It passes outputs on in the order in which the chip took their packets.
pub struct Ixp<E = ()> {
    pub(crate) processor: Processor<E>,
    store: Store,
    /// The meanings of the reason numbers in control words.
    reasons: Vec<Reason>,
    offered: u64,
    /// Packets that the chip has taken, until their outputs are passed on.
    departures: Departures<(), Delivered>,
    pub(crate) lost: u64,
    /// The memory layout of the offloads of an engine in Loom C.
    tables: Tables,
    /// The sources of the programs, for debuggers.
    pub(crate) sources: Sources,
    /// Events that a debugger has not fetched yet. Empty unless `keeps_events` is set.
    pub(crate) events: VecDeque<Event>,
    pub(crate) keeps_events: bool,
    /// The power over time. Set after all packets have left.
    series: Option<Series>,
    /// The assertions that its events must satisfy.
    rules: Vec<Rule>,
    /// The arrival rate of packets, if it is not the description's.
    rate: Option<Rate>,
    /// Engine time and the packets that wait for a tick, if times of the engine end at ticks.
    pauses: Option<Pauses>,
    /// The number of packets of timers that the core has sent.
    of_timers: u64,
}

impl<E: Metered> Ixp<E> {
    /// Creates a machine from a processor with programs. `reasons` gives the meanings of the reason
    /// numbers in control words.
    pub fn new(processor: Processor<E>, store: Store, reasons: Vec<Reason>) -> Self {
        Self {
            processor,
            store,
            reasons,
            offered: 0,
            departures: Departures::default(),
            lost: 0,
            tables: Tables::default(),
            sources: Sources::default(),
            events: VecDeque::new(),
            keeps_events: false,
            series: None,
            rules: Vec::new(),
            rate: None,
            pauses: None,
            of_timers: 0,
        }
    }

    /// Sets the clock of an engine whose times end at ticks.
    #[must_use]
    pub(crate) fn with_pauses(mut self, pauses: Option<Pauses>) -> Self {
        if pauses.is_some() {
            self.processor.chip.cards.advance_engine_time(0);
        }
        Self { pauses, ..self }
    }

    /// Adds assertions that are checked when the run has finished.
    #[must_use]
    pub(crate) fn with_rules(self, rules: Vec<Rule>) -> Self {
        Self { rules, ..self }
    }

    /// Sets the arrival rate. The options of the processor must have the same rate.
    #[must_use]
    pub(crate) fn with_rate(self, rate: Option<Rate>) -> Self {
        Self { rate, ..self }
    }

    /// Sets the memory layout of the store's offloads.
    #[must_use]
    pub(crate) fn with_tables(self, tables: Tables) -> Self {
        Self { tables, ..self }
    }

    /// Adds the sources of the programs, for debuggers.
    #[must_use]
    pub fn with_sources(self, sources: Sources) -> Self {
        Self { sources, ..self }
    }

    pub fn processor(&self) -> &Processor<E> {
        &self.processor
    }

    /// Queues packets on the lines.
    pub(crate) fn accept(&mut self, frames: &[Frame<'_>]) -> Result {
        let ports = self.processor.chip.spec.ports.count;
        for frame in frames {
            if u32::from(frame.ingress) >= ports {
                let message = format!(
                    "packet {} comes on port {}: the machine has {ports}, from 0",
                    self.offered, frame.ingress
                );
                return Err(
                    Error::new(message).with_help("change `ports.count` of its description")
                );
            }
            match &mut self.pauses {
                None => {
                    let arrival_ns = frame.arrival_ns;
                    self.processor.offer(frame.ingress, self.offered, arrival_ns, frame.bytes);
                }
                Some(pauses) => pauses.hold(self.offered, frame),
            }
            self.offered += 1;
        }
        self.pass_on();
        Ok(())
    }

    /// Queues packets on the lines that need not wait for a tick.
    fn pass_on(&mut self) {
        let Some(pauses) = &mut self.pauses else { return };
        while let Some((number, packet)) = pauses.pass(self.processor.chip.cards.engine_ns()) {
            self.processor.offer(packet.ingress, number, packet.arrival_ns, &packet.bytes);
        }
    }

    /// The number of packets that wait for a tick.
    pub(crate) fn held(&self) -> u64 {
        self.pauses.as_ref().map_or(0, Pauses::held)
    }

    /// Goes on after a pause: lets the core send the packets of the timers that are due, or queues
    /// the packets that waited. No packet is on the lines or inside. Does nothing if none waits.
    pub(crate) fn proceed(&mut self) {
        let Some(first_ns) = self.pauses.as_ref().and_then(Pauses::next_arrival) else { return };
        if self.run_timers(first_ns) {
            return;
        }
        self.advance_engine_time(first_ns);
        let first = self.pauses.as_mut().and_then(Pauses::take);
        if let Some((number, packet)) = first {
            self.processor.offer(packet.ingress, number, packet.arrival_ns, &packet.bytes);
        }
        self.pass_on();
    }

    /// Lets the core send the packets of the next timers that are due by a time. Returns whether
    /// there are any.
    fn run_timers(&mut self, by_ns: u64) -> bool {
        let Some(pauses) = &mut self.pauses else { return false };
        if self.tables.next_due(&self.processor).is_none_or(|next| next > by_ns) {
            return false;
        }
        self.tables.read_timers(&self.processor, &mut self.store);
        let reached_ns = self.processor.chip.cards.engine_ns();
        let Some(due) = pauses.due(&mut self.store, reached_ns, by_ns) else { return false };
        self.tables.pass_tick(&mut self.processor, pauses.now_ns());
        let taken = self.processor.chip.cards.taken_in_all();
        self.tables.number_from(&mut self.processor, due.first.wrapping_sub(taken));
        self.of_timers += due.count() as u64;
        for (frame, sequence) in due.frames().zip(due.first..) {
            self.processor.chip.cards.offer_timer(sequence, frame.arrival_ns, frame.bytes);
        }
        true
    }

    /// Advances engine time, on an empty chip.
    fn advance_engine_time(&mut self, time_ns: u64) {
        let Some(pauses) = &mut self.pauses else { return };
        pauses.arrive(time_ns.max(self.processor.chip.cards.engine_ns()));
        self.tables.pass_tick(&mut self.processor, pauses.now_ns());
        self.tables.number_from(&mut self.processor, 0_u64.wrapping_sub(self.of_timers));
    }

    /// Simulates until at most `most` packets are left, and passes on outputs that are due.
    fn work(&mut self, most: u64, sink: Sink<'_>) -> Result<Settled> {
        let mut settled = Settled::default();
        while self.held() > 0 {
            settled.extend(&self.simulate(|processor| processor.run_packets(0), sink)?);
            self.proceed();
        }
        settled.extend(&self.simulate(|processor| processor.run_packets(most), sink)?);
        Ok(settled)
    }

    /// Simulates, goes on after the warm-up ends, and passes on outputs that are due.
    fn simulate(
        &mut self,
        run: impl Fn(&mut Processor<E>) -> std::result::Result<(), RunError>,
        sink: Sink<'_>,
    ) -> Result<Settled> {
        let mut done = run(&mut self.processor);
        while done.is_ok() && self.processor.begins_to_count() {
            done = run(&mut self.processor);
        }
        let done = done.map_err(|error| self.failure(error));
        let settled = self.settle(sink)?;
        done.map(|()| settled)
    }

    /// Converts the error of a run, with source lines.
    pub(crate) fn failure(&self, error: RunError) -> Error {
        let line = |engine: usize, address: u16| {
            let engine = &self.processor.chip.engines[engine];
            let version = self.processor.chip.spec.engine.version;
            listing::of(engine.program(), version, &self.sources).line_of(address.into())
        };
        Error::new(match error {
            RunError::Refused { at, message, instruction } => {
                let line = instruction.and_then(|(engine, address)| line(engine, address));
                // For microcode written by hand, the message already names the line.
                let line = line.filter(|line| !message.contains(line.as_str()));
                let from = line.map_or(String::new(), |line| format!(" (from {line})"));
                let message = message + &from;
                RunError::Refused { at, message, instruction }
            }
            RunError::Stuck { at, packets, .. } => {
                RunError::Stuck { at, packets, waits: self.processor.waits(&line) }
            }
        })
    }

    pub(crate) fn settle(&mut self, sink: Sink<'_>) -> Result<Settled> {
        let mut settled = Settled::default();
        let cards = &mut self.processor.chip.cards;
        cards.accepted.drain(..).for_each(|number| self.departures.take(number, ()));
        for number in cards.lost.drain(..) {
            settled.lost.push(number);
            self.lost += 1;
        }
        for delivered in self.processor.delivered() {
            let (number, is_last) = (delivered.offered, delivered.is_last);
            self.departures.leave(number, delivered, is_last);
        }
        while let Some((number, (), all)) = self.departures.pop() {
            if number < TIMERS {
                settled.taken.push(number);
            }
            for delivered in all {
                if let Some(verdict) = self.verdict(&delivered)? {
                    sink(Output {
                        sequence: delivered.offered,
                        arrival_ns: delivered.arrival_ns,
                        ingress: delivered.ingress,
                        verdict,
                        bytes: match verdict {
                            Verdict::Dropped(_) => &[],
                            Verdict::Sent { port } if !self.has_port(port) => &[],
                            _ => &delivered.bytes,
                        },
                    });
                }
            }
        }
        Ok(settled)
    }

    fn verdict(&self, delivered: &Delivered) -> Result<Option<Verdict>> {
        let number = delivered.control.reason_number();
        let reason = || {
            self.reasons.get(usize::from(number)).copied().ok_or_else(|| {
                Error::new(format!("the program gives reason {number}, which it does not have"))
            })
        };
        Ok(match delivered.control.way {
            Way::Port => Some(Verdict::Sent { port: delivered.control.egress() }),
            Way::Core => Some(Verdict::ToCpu(reason()?)),
            Way::Drop => Some(Verdict::Dropped(reason()?)),
            Way::Done => None,
        })
    }
}

impl<E: Metered> Machine for Ixp<E> {
    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled> {
        self.accept(frames)?;
        match self.rate {
            None => self.work(AHEAD, sink),
            Some(Rate::Max) => self.work(WAITING, sink),
            // The next packets may arrive at any time from then on.
            Some(_) => {
                let mut settled = Settled::default();
                if self.held() > 0 {
                    settled = self.work(u64::MAX, sink)?;
                }
                let last = self.processor.chip.cards.last_arrival();
                settled.extend(&self.simulate(|processor| processor.run_to(last), sink)?);
                Ok(settled)
            }
        }
    }

    fn advance(&mut self, cycles: u64, sink: Sink<'_>) -> Result<Settled> {
        if self.processor.chip.cards.to_come() == 0 {
            self.proceed();
        }
        if self.processor.chip.cards.to_come() > 0 {
            let ran = self.processor.run_cycles(cycles);
            ran.map_err(|error| self.failure(error))?;
            self.processor.begins_to_count();
        }
        self.settle(sink)
    }

    fn advance_to(&mut self, time_ns: u64, sink: Sink<'_>) -> Result<Settled> {
        let mut settled = self.work(0, sink)?;
        while self.run_timers(time_ns) {
            settled.extend(&self.simulate(|processor| processor.run_packets(0), sink)?);
        }
        if self.pauses.is_some() {
            self.advance_engine_time(time_ns);
            self.processor.chip.cards.advance_engine_time(time_ns);
        }
        Ok(settled)
    }

    fn next_timer(&self) -> Option<u64> {
        self.pauses.as_ref()?;
        self.tables.next_due(&self.processor)
    }

    fn finish(&mut self, sink: Sink<'_>) -> Result<Settled> {
        let settled = self.work(0, sink)?;
        self.series = self.processor.power_over_time();
        let broken = assertions::check(&self.rules, &self.processor.chip.trace, false);
        match broken.first() {
            Some(Broken { rule, message }) => {
                Err(Error::finding(format!("the events break the rule `{rule}`: {message}")))
            }
            None => Ok(settled),
        }
    }

    fn update(&mut self, update: &Update, sink: Sink<'_>) -> Result<Settled, UpdateError> {
        let settled = self.work(0, sink)?;
        let made = self.tables.update(&mut self.processor, &mut self.store, update);
        // An entry that has ended may be in the table again.
        self.advance_engine_time(0);
        made.map(|()| settled).map_err(UpdateError::Refused)
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result {
        self.tables.restore(&mut self.processor, &mut self.store, snapshot)?;
        self.advance_engine_time(0);
        Ok(())
    }

    fn read_back(&mut self, _: Wanted<'_>, _: &dyn Fn(&str)) -> Result<Vec<String>> {
        self.tables.read_back(&self.processor, &mut self.store, None);
        Ok(Vec::new())
    }

    fn has_port(&self, number: u16) -> bool {
        u32::from(number) < self.processor.chip.spec.ports.count
    }

    fn recordings(&self) -> Recordings<'_> {
        let trace = &self.processor.chip.trace;
        Recordings {
            series: self.series.as_ref(),
            events: trace.is_on().then_some(trace as _),
            ..Recordings::default()
        }
    }

    fn profile(&self) -> Option<Profile> {
        let mut profiler = Profiler::default();
        let version = self.processor.chip.spec.engine.version;
        let is_compiled = !self.sources.loom.is_empty();
        for (number, engine) in self.processor.chip.engines.iter().enumerate() {
            let now = engine.cycles() + self.processor.sleeping(number);
            let listing = listing::of(engine.program(), version, &self.sources);
            profiler.add(&listing, is_compiled, engine.counts(now));
        }
        Some(profiler.profile())
    }

    fn record(&self, work: Duration) -> Option<Record> {
        Some(self.processor.report(work))
    }

    fn watch(&mut self) -> Option<&mut dyn Watched> {
        Some(self)
    }
}

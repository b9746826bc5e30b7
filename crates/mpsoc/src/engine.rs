//! Engines on the machine: the program runs on all threads, the offloads are objects.

use std::collections::VecDeque;

use wireloom_ir::{EngineId, Output, Program, TIMERS, Timers};
use wireloom_isa::Compiled;
use wireloom_machine::Profile;
use wireloom_machine::watch::Listing;
use wireloom_net::Packet;
use wireloom_offloads::{Store, Update};
use wireloom_power::Account;
use wireloom_sim::stats::{Record, Series};
use wireloom_sim::{Time, Timeline};

use super::any::{AnyMachine, each};
use super::code::Code;
use super::energy::Unit;
use super::io::{self, Delivered, Followed};
use super::machine::{Multiprocessor, RunError};
use super::objects::Objects as _;
use super::options::Options;
use super::platform::{CourseEvent, Look};
use super::program::marshal::Offloads;
use super::program::{Built, Elements, Partition, build};
use super::spec::{CallOrder, Set, Spec};
use super::toolchain::BuildError;
use super::totals::Totals;

/// An engine on a machine.
#[derive(Clone)]
pub struct MpsocEngine {
    machine: AnyMachine<Offloads>,
    /// The time up to which the machine is simulated.
    until: Time,
    /// The outputs of a packet whose last output has not left yet.
    open: Vec<Delivered>,
    /// Packets that wait until those before them have left: they arrive after the first of
    /// `updates`, or at a tick.
    held: VecDeque<Packet>,
    /// The number of packets given to the line, excluding those of timers.
    passed: u64,
    /// The number of packets that have left or were lost, including those of timers.
    gone: u64,
    /// Engine time and timers, if times of the program end at ticks.
    timers: Option<Timers>,
    /// The packet to be followed.
    follows: Option<u64>,
    /// Pending updates, in the order of their packets.
    updates: VecDeque<Update>,
}

/// The reason why an engine cannot run on a machine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The program does not build.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The machine cannot hold the engine.
    #[error("machine {machine}: {message}")]
    Machine {
        /// The name of the machine.
        machine: String,
        message: String,
    },
}

/// The partition of an engine, and the work of each part.
struct Threads<'a> {
    partition: &'a Partition,
    work: &'a [u64],
}

/// Creates a machine that executes a built program.
///
/// # Errors
/// A sentence, if the machine cannot execute it.
fn machine<S: Compiled>(
    spec: &Spec,
    program: &Program,
    threads: &Threads<'_>,
    built: Built,
    offloads: Offloads,
    options: Options,
) -> Result<Box<Multiprocessor<Code<S>, Offloads>>, String> {
    let offloads = match spec.call_order {
        CallOrder::Arrival => offloads,
        CallOrder::Coming => offloads.without_order(),
    };
    let ordered = offloads.interfaces().iter().find(|object| object.is_ordered);
    if let Some(object) = ordered
        && threads.partition.goes_back(&program.engines[program.main.index()])
    {
        return Err(format!(
            "packets can come back to a part that they have left, so calls of '{}' cannot be made in the order of arrival: cut elsewhere, or say `call_order = \"coming\"`",
            object.name
        ));
    }
    let code = Code::<S>::new(&built.program, spec, offloads.interfaces())?;
    let mut code = code.with_sources(built.sources);
    if threads.partition.parts() > 1 {
        let of_thread = spec.partition.threads(threads.work, [spec.processors, spec.threads])?;
        code = code.cut(threads.partition.names(program), of_thread);
    }
    Multiprocessor::new(spec, code, offloads, options)
        .map(Box::new)
        .map_err(|error| error.to_string())
}

/// The simulated time between two checks of the machine.
const STEP: Time = Time::nanoseconds(20_000);
/// The number of packets that remain on the line when more can be offered. No line brings as many
/// in one step, so it never falls silent between two batches (with packets of 54 bytes, 40 Gb/s
/// bring 1,852).
const AHEAD: u64 = 8192;

impl MpsocEngine {
    /// Builds the program of an engine and loads it onto a machine, with the offloads that
    /// `wireloom_ir::store` has created for it.
    ///
    /// # Errors
    /// See [`EngineError`].
    ///
    /// # Panics
    /// The store belongs to another program.
    pub fn new(
        spec: &Spec,
        program: &Program,
        store: Store,
        options: Options,
    ) -> Result<Self, EngineError> {
        let refused =
            |message: String| EngineError::Machine { machine: spec.name.clone(), message };
        if spec.io.order == io::Order::Done {
            return Err(refused(
                "packets of engines leave in order: say `[io] order = \"arrival\"`".to_owned(),
            ));
        }
        if let Some(name) =
            spec.element.iter().find_map(|(name, element)| element.places.map(|_| name))
        {
            return Err(refused(format!(
                "`element.{name}.places` is for services of applications; an engine's calls wait at its element"
            )));
        }
        spec.check().map_err(|error| refused(error.to_string()))?;
        let names = spec.element.keys().map(String::as_str);
        let elements = Elements::named(program, names).map_err(BuildError::from)?;
        let partition = spec.partition.partition(program, &elements).map_err(BuildError::from)?;
        let built = build(program, &partition, &elements, &spec.processor.build_options())?;
        let times = |path: &str, engine: EngineId| {
            let element = spec.element(path, &program.engines[engine.index()].name);
            let element = element.expect("an element is one of the machine's");
            let times = element.times(&spec.object, program, engine)?;
            Ok((times, Unit::pipeline(&times, element.clock)))
        };
        let offloads =
            Offloads::new(program, &elements, store).with_times(times).map_err(refused)?;
        let threads = Threads { partition: &partition, work: &partition.work(program, &elements) };
        let machine = match spec.processor.instruction_set {
            Set::Armv4 => {
                machine(spec, program, &threads, built, offloads, options).map(AnyMachine::Arm)
            }
            Set::Rv32im => {
                machine(spec, program, &threads, built, offloads, options).map(AnyMachine::Riscv)
            }
        };
        let mut machine = machine.map_err(refused)?;
        let timers = Timers::of(program);
        if timers.is_some() {
            each!(&mut machine, machine => machine.advance_engine_time(0));
        }
        Ok(Self {
            machine,
            until: Time::ZERO,
            open: Vec::new(),
            held: VecDeque::new(),
            passed: 0,
            gone: 0,
            timers,
            follows: None,
            updates: VecDeque::new(),
        })
    }

    /// Offers further packets and simulates until few of them remain on the line. Passes the
    /// packets that have left to `sink`, numbered in the order of the offers.
    ///
    /// # Errors
    /// The program raises an exception, or the machine makes no progress.
    pub fn execute(
        &mut self,
        packets: &[Packet],
        sink: &mut dyn FnMut(Output<'_>),
    ) -> Result<Settled, RunError> {
        self.offer(packets.to_vec());
        self.run(AHEAD, sink)
    }

    /// Offers further packets without simulating. Packets after a pending [update](Self::schedule)
    /// come onto the line when that update is made.
    pub fn offer(&mut self, packets: Vec<Packet>) {
        if self.held.is_empty() && self.updates.is_empty() && self.timers.is_none() {
            self.passed += packets.len() as u64;
            self.machine.offer(packets);
        } else {
            let were_held = !self.held.is_empty();
            self.held.extend(packets);
            if !were_held {
                self.pass_on(0);
            }
        }
    }

    /// Gives the line the held packets that precede all pending updates and the next tick, and at
    /// least this number: no tick comes after the end of time.
    fn pass_on(&mut self, least: usize) {
        let until = self.updates.front().map_or(u64::MAX, |update| update.packet);
        let mut count = (until - self.passed).min(self.held.len() as u64) as usize;
        if let Some(timers) = &self.timers {
            let at_tick = self.held.iter().position(|packet| timers.delays(packet));
            count = count.min(at_tick.unwrap_or(count).max(least));
        }
        if count == 0 {
            return;
        }
        let packets = self.held.drain(..count).collect();
        let first = self.passed;
        self.passed += count as u64;
        if let Some(timers) = &mut self.timers {
            let line = first + timers.run();
            timers.pass(line, first);
            if let Some(packet) =
                self.follows.filter(|packet| (first..self.passed).contains(packet))
            {
                each!(&mut self.machine, machine => machine.follow(line + (packet - first)));
            }
        }
        self.machine.offer(packets);
    }

    /// Makes the next thing that waits until the line is empty: puts the timers that are due on the
    /// line, or makes updates and puts held packets on the line. Returns whether packets came.
    ///
    /// # Errors
    /// An update does not fit its offload.
    fn proceed(&mut self) -> Result<bool, RunError> {
        let Some(first) = self.held.front().map(|packet| packet.arrival_ns) else {
            return Ok(false);
        };
        while self.updates.front().is_some_and(|update| update.packet == self.passed) {
            let Some(update) = self.updates.pop_front() else { break };
            let made = update.apply(self.store_mut());
            made.map_err(|refused| RunError::Update { line: update.line, message: refused.0 })?;
        }
        if self.run_timers(first) {
            return Ok(true);
        }
        let taken = self.taken();
        if let Some(timers) = &mut self.timers {
            timers.advance(first);
            let packets = taken - timers.run();
            self.number_from(packets);
        }
        self.pass_on(1);
        Ok(true)
    }

    /// Puts the next timers on the line that are due by a time. Returns whether there are any. The
    /// line is empty before.
    fn run_timers(&mut self, by_ns: u64) -> bool {
        let engine_ns = each!(&self.machine, machine => machine.platform().io.engine_ns());
        let Some(timers) = &mut self.timers else { return false };
        timers.reach(engine_ns);
        let line = self.passed + timers.run();
        let store = each!(&mut self.machine, machine => machine.objects_mut().store_mut());
        let Ok(Some(due)) = timers.due(store, by_ns, line) else { return false };
        self.number_from(due.first);
        each!(&mut self.machine, machine => machine.offer_all(due.packets()));
        true
    }

    /// The number of packets that packet I/O has taken, with those of timers.
    fn taken(&self) -> u64 {
        each!(&self.machine, machine => machine.platform().io.counts().0)
    }

    /// Sets the sequence number, for the offloads, of the packet that packet I/O takes next.
    fn number_from(&mut self, sequence: u64) {
        let next = self.taken();
        each!(&mut self.machine, machine => machine.objects_mut().number_from(next, sequence));
    }

    /// Schedules an update between two packets. Packets are counted from 0 in the order of the
    /// offers. All packets before number `update.packet` see the offload before the update, and all
    /// later packets see it after the update. For that the line pauses: packet `update.packet`
    /// comes when all earlier packets have left and have made all their calls. Updates before the
    /// same packet are made in the order in which they were scheduled. An update whose packet is
    /// never offered is not made.
    ///
    /// # Errors
    /// A sentence, if the packet is already on the line.
    pub fn schedule(&mut self, update: Update) -> Result<(), String> {
        if update.packet < self.passed {
            return Err(format!(
                "an update before packet {} comes too late: {} packets are on the line or have left",
                update.packet, self.passed
            ));
        }
        let place = self.updates.partition_point(|other| other.packet <= update.packet);
        self.updates.insert(place, update);
        Ok(())
    }

    /// Simulates until all offered packets have left and have made all their calls, then passes the
    /// offloads to `change`. Packets that are offered later see the result. Reports the packets
    /// that have left as [`run`](Self::run) does.
    ///
    /// # Errors
    /// See [`run`](Self::run); in this case nothing is changed.
    pub fn change<R>(
        &mut self,
        sink: &mut dyn FnMut(Output<'_>),
        change: impl FnOnce(&mut Store) -> R,
    ) -> Result<(Settled, R), RunError> {
        let settled = self.finish(sink)?;
        Ok((settled, change(self.store_mut())))
    }

    /// Simulates until all packets have left, and reports them.
    ///
    /// # Errors
    /// See [`execute`](Self::execute).
    pub fn finish(&mut self, sink: &mut dyn FnMut(Output<'_>)) -> Result<Settled, RunError> {
        self.run(0, sink)
    }

    /// Simulates until at most `ahead` of the offered packets remain on the line; with 0, until all
    /// have left. Makes the [updates](Self::schedule) of the packets that it reaches. Reports the
    /// packets that have left.
    ///
    /// # Errors
    /// The program raises an exception, the machine makes no progress, or an update does not fit
    /// its offload.
    pub fn run(
        &mut self,
        ahead: u64,
        sink: &mut dyn FnMut(Output<'_>),
    ) -> Result<Settled, RunError> {
        let mut settled = Settled::default();
        loop {
            let ahead = if self.held.is_empty() { ahead } else { 0 };
            self.simulate(ahead, &mut settled, sink)?;
            if !self.proceed()? {
                return Ok(settled);
            }
        }
    }

    /// Simulates until all packets have left, then runs the timers that are due by a time. Reports
    /// the packets that have left.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    pub fn advance_to(
        &mut self,
        time_ns: u64,
        sink: &mut dyn FnMut(Output<'_>),
    ) -> Result<Settled, RunError> {
        let mut settled = self.run(0, sink)?;
        while self.run_timers(time_ns) {
            self.simulate(0, &mut settled, sink)?;
        }
        if let Some(timers) = &mut self.timers {
            timers.advance(time_ns);
            each!(&mut self.machine, machine => machine.advance_engine_time(time_ns));
        }
        Ok(settled)
    }

    /// Returns a time before which no timer is due, in nanoseconds; `None` if no timer is set.
    pub fn next_timer(&self) -> Option<u64> {
        self.timers.as_ref()?.next(self.store())
    }

    /// Simulates this number of cycles of the processors, or until all packets on the line have
    /// left. Reports the packets that have left.
    ///
    /// # Errors
    /// The program raises an exception, or the machine makes no progress.
    pub fn advance(
        &mut self,
        cycles: u64,
        sink: &mut dyn FnMut(Output<'_>),
    ) -> Result<Settled, RunError> {
        let mut settled = Settled::default();
        if self.is_at_rest() {
            self.proceed()?;
        }
        each!(&mut self.machine, machine => {
            if !machine.is_at_rest() {
                let now = machine.totals().now.max(self.until);
                self.until = now + machine.clock().cycles(cycles);
                machine.run(self.until)?;
            }
        });
        self.settle(&mut settled, sink);
        Ok(settled)
    }

    fn simulate(
        &mut self,
        ahead: u64,
        settled: &mut Settled,
        sink: &mut dyn FnMut(Output<'_>),
    ) -> Result<(), RunError> {
        each!(&mut self.machine, machine => {
            while machine.to_come() > ahead || (ahead == 0 && !machine.is_at_rest()) {
                // An idle machine stops at its last event.
                self.until = machine.totals().now.max(self.until) + STEP;
                machine.run(self.until)?;
            }
        });
        self.settle(settled, sink);
        Ok(())
    }

    /// Reports the packets that have left since the last report.
    fn settle(&mut self, settled: &mut Settled, sink: &mut dyn FnMut(Output<'_>)) {
        let (delivered, mut lost) =
            each!(&mut self.machine, machine => (machine.delivered(), machine.lost()));
        self.gone += lost.len() as u64;
        for mut delivered in delivered {
            let is_last = delivered.is_last;
            if let Some(timers) = &self.timers {
                delivered.offered = timers.sequence(delivered.offered);
            }
            self.open.push(delivered);
            if is_last {
                self.gone += 1;
                settled.note(&self.open, sink);
                self.open.clear();
            }
        }
        if let Some(timers) = &mut self.timers {
            lost.iter_mut().for_each(|number| *number = timers.sequence(*number));
            timers.forget(self.gone);
        }
        settled.lost.extend(lost);
    }

    /// The offloads with their state.
    pub fn store(&self) -> &Store {
        each!(&self.machine, machine => machine.objects().store())
    }

    /// The offloads, for the control plane to change before the first packet. Later, packets may be
    /// anywhere in the machine: to change offloads between packets, use
    /// [`schedule`](Self::schedule) or [`change`](Self::change).
    pub fn store_mut(&mut self) -> &mut Store {
        each!(&mut self.machine, machine => machine.objects_mut().store_mut())
    }

    /// Keeps the times of a packet, by its number in the order of the offers.
    pub fn follow(&mut self, packet: u64) {
        match self.timers {
            // Its number on the line is not known yet.
            Some(_) => self.follows = Some(packet),
            None => each!(&mut self.machine, machine => machine.follow(packet)),
        }
    }

    /// The events of the followed packet: see [`Multiprocessor::course`].
    pub fn course(&self) -> (Vec<CourseEvent>, u64) {
        each!(&self.machine, machine => machine.course())
    }

    /// The times so far of the followed packet.
    pub fn followed(&self) -> Option<&Followed> {
        each!(&self.machine, machine => machine.followed())
    }

    /// The number of the first edge of the processors' clock at or after a time.
    pub fn cycle(&self, time: Time) -> u64 {
        each!(&self.machine, machine => machine.clock().edge_from(time))
    }

    /// Simulates until a cycle of the processors' clock. A machine at rest stays at rest. Packets
    /// that have left wait for [`take`](Self::take).
    ///
    /// # Errors
    /// The program raises an exception, or the machine makes no progress.
    pub(super) fn run_to_cycle(&mut self, cycle: u64) -> Result<(), RunError> {
        if self.is_at_rest() {
            self.proceed()?;
        }
        each!(&mut self.machine, machine => {
            self.until = machine.clock().edge(cycle).max(self.until);
            machine.run(self.until)
        })
    }

    /// Reports packets that have left.
    pub(super) fn take(&mut self, sink: &mut dyn FnMut(Output<'_>)) -> Settled {
        let mut settled = Settled::default();
        self.settle(&mut settled, sink);
        settled
    }

    /// The state of the machine for monitors, at a cycle of the processors' clock. Everything
    /// before that cycle is simulated.
    pub(super) fn look(&self, cycle: u64) -> Look {
        each!(&self.machine, machine => {
            let now = machine.clock().edge(cycle);
            machine.platform().look(cycle, now)
        })
    }

    /// The program that the threads execute.
    pub(super) fn listing(&self, name: &str) -> Listing {
        each!(&self.machine, machine => machine.platform().listing(name))
    }

    /// What all threads have done so far at each line of the program; `None` if that was not asked
    /// for.
    pub(super) fn profile(&self, name: &str) -> Option<Profile> {
        each!(&self.machine, machine => machine.platform().profile(name, machine.totals().now))
    }

    /// The first `count` registers of a thread, then the address of its next instruction.
    pub(super) fn registers(&self, thread: u32, count: usize) -> Vec<u32> {
        each!(&self.machine, machine => machine.platform().registers(thread, count))
    }

    /// Words of shared memory.
    pub(super) fn shared(&self, address: u64, count: usize) -> Vec<u32> {
        each!(&self.machine, machine => machine.platform().shared(address, count))
    }

    /// The packets that were taken after the first `number`, and how many have been taken in all.
    pub(super) fn taken_since(&self, number: u64) -> (Vec<u64>, u64) {
        each!(&self.machine, machine => machine.platform().taken_since(number))
    }

    /// Whether nothing more happens without new packets.
    pub(super) fn is_at_rest(&self) -> bool {
        each!(&self.machine, machine => machine.is_at_rest())
    }

    /// The totals up to now.
    pub fn totals(&self) -> Totals {
        self.machine.totals()
    }

    /// The totals when packets began to count: see [`Options::warm`].
    pub fn counted_from(&self) -> Totals {
        each!(&self.machine, machine => machine.counted_from())
    }

    /// The share of cycles in which processors have issued instructions since packets began to
    /// count.
    pub fn usage(&self) -> f64 {
        self.usage_between(&self.counted_from(), &self.totals())
    }

    /// The share of cycles in which processors have issued instructions between two times.
    pub fn usage_between(&self, from: &Totals, to: &Totals) -> f64 {
        self.machine.usage(from, to)
    }

    /// Restricts the latencies in the [`record`](Self::record) to packets that arrive from now on.
    pub fn measure_latencies(&mut self) {
        each!(&mut self.machine, machine => machine.measure_latencies());
    }

    /// The offloads with their state, for use by another machine.
    pub fn into_store(mut self) -> Store {
        std::mem::take(self.store_mut())
    }

    /// The time series, if sampling is on: see [`Multiprocessor::series`].
    pub fn series(&self) -> Option<&Series> {
        self.machine.series()
    }

    /// The energy since packets began to count: see [`Multiprocessor::energy`].
    pub fn energy(&self) -> Account {
        self.machine.energy()
    }

    /// The time from the arrival of a packet's last bit until its last output has left, over the
    /// packets that arrived while packets counted.
    pub fn arrival_to_departure(&self) -> wireloom_machine::Latency {
        each!(&self.machine, machine => (&machine.platform().io.latencies().total).into())
    }

    /// All statistics.
    pub fn record(&self) -> Record {
        self.machine.record()
    }

    /// The timeline of the threads.
    pub fn timeline(&self) -> &Timeline {
        self.machine.timeline()
    }
}

/// Packets that are completely processed, by their numbers in the order of the offers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Packets that left, in the order in which they were taken.
    pub taken: Vec<u64>,
    /// Packets lost at the input.
    pub lost: Vec<u64>,
}

impl Settled {
    /// Records all outputs of one packet.
    fn note(&mut self, packet: &[Delivered], sink: &mut dyn FnMut(Output<'_>)) {
        self.taken.extend(packet.first().map(|first| first.offered).filter(|n| *n < TIMERS));
        for Delivered { offered, ingress, arrival_ns, verdict, bytes, .. } in packet {
            if let Some(verdict) = verdict.meaning() {
                sink(Output {
                    sequence: *offered,
                    arrival_ns: *arrival_ns,
                    ingress: *ingress,
                    verdict,
                    bytes,
                });
            }
        }
    }
}

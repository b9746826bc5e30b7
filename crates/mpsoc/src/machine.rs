//! A runnable machine: the platform with its kernel.

use std::ops::ControlFlow;

use wireloom_net::Packet;
use wireloom_power::Account;
use wireloom_sim::stats::{Histogram, Record, Series};
use wireloom_sim::wait_graph::{Stuck, Watchdog};
use wireloom_sim::{
    Breakpoint, Clock, EventSink, Happened, Kernel, Observer, SingleStep, SpecError, Stop, Time,
    Timeline,
};

use super::energy::{self, Unit};
use super::io::{Delivered, Followed};
use super::objects::Objects;
use super::options::Options;
use super::platform::{Course, CourseEvent, Event, Platform};
use super::problem::Failure;
use super::sampler::Sampler;
use super::spec::Spec;
use super::totals::Totals;
use super::workload::Workload;
use crate::multiflex::races::{Race, Watch};

/// A machine with its workload and the objects that serve its calls.
///
/// A clone is a checkpoint of the whole machine: time, events under way, threads, caches, memories,
/// objects, random numbers and statistics. A run that continues from it equals the original run.
#[derive(Clone)]
pub struct Multiprocessor<W: Workload, O: Objects> {
    kernel: Kernel<Event>,
    platform: Platform<W, O>,
    clock: Clock,
    processors: u32,
    sampler: Option<Sampler>,
    /// The account of energy when packets began to count.
    account: Account,
    units: Vec<Unit>,
    watchdog: Watchdog,
    /// The totals when the packets of [`Options::warm`] were done; `None` before.
    counted_from: Option<Totals>,
}

/// The reason why a run has ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The machine makes no progress.
    #[error(transparent)]
    Stuck(#[from] Box<Stuck>),
    /// A thread has raised an exception.
    #[error(transparent)]
    Failed(#[from] Box<Failure>),
    /// An update between packets does not fit its offload.
    #[error("the update of line {line}: {message}")]
    Update {
        /// The line in the file of updates, from 1.
        line: u64,
        /// The reason, as a sentence.
        message: String,
    },
}

/// A machine in the middle of a run, as [`Multiprocessor::run_to`] shows it.
pub struct View<'a, W: Workload, O: Objects> {
    kernel: &'a Kernel<Event>,
    platform: &'a Platform<W, O>,
}

impl<W: Workload, O: Objects> View<'_, W, O> {
    /// The time.
    pub fn now(&self) -> Time {
        self.kernel.now()
    }

    /// The numbers of packets that packet I/O has taken, and that threads have finished.
    pub fn packets(&self) -> (u64, u64) {
        self.platform.io.counts()
    }

    /// The address of the next instruction of a thread; `None` if there is no such thread, or its
    /// workload has no addresses. With [`Effort::Active`](wireloom_sim::Effort::Active) a thread
    /// may have executed instructions before their issue time.
    pub fn address(&self, processor: u32, thread: u32) -> Option<u32> {
        self.platform.address(processor, thread)
    }

    /// The objects that serve calls.
    pub fn objects(&self) -> &O {
        &self.platform.objects
    }
}

/// Mean latencies of packets from the arrival of their last bit on, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// The latency until the departure of the last bit.
    pub total_ns: f64,
    /// The latency until the thread returns the packet to packet I/O.
    pub processing_ns: f64,
    /// The part of `processing_ns` in which the thread waited for the network.
    pub network_ns: f64,
    /// The part of `processing_ns` in which an instruction of the thread was in the pipeline.
    pub compute_ns: f64,
}

impl<W: Workload, O: Objects> Multiprocessor<W, O> {
    /// A machine at time 0, with an empty line.
    ///
    /// # Errors
    /// A number of the specification is out of range, or an object of the program has no
    /// specification.
    pub fn new(spec: &Spec, workload: W, objects: O, options: Options) -> Result<Self, SpecError> {
        let mut kernel = Kernel::new(options.effort, spec.processor.clock.cycles(1));
        let interfaces = objects.interfaces();
        let plan = energy::plan(spec, interfaces, workload.constants().bytes())?;
        let account = Account::new(plan, None)?;
        let units = interfaces.iter().map(|object| object.unit.clone()).collect();
        let sampler = options.sampling;
        let sampler = sampler.map(|interval| Sampler::new(interval, spec.processors, &account));
        let watchdog = Watchdog::new(options.patience);
        let counted_from = (options.warm == 0).then(Totals::default);
        let mut platform = Platform::new(spec, workload, objects, options)?;
        let clock = kernel.add_clock(spec.processor.clock);
        for _ in 0..spec.processors {
            let unit = kernel.add_unit(clock);
            // An idle processor sleeps again after its first cycle.
            kernel.wake(unit);
        }
        platform.io.begin(&mut kernel.wrapped(Event::Line));
        let (clock, processors) = (spec.processor.clock, spec.processors);
        Ok(Self {
            kernel,
            platform,
            clock,
            processors,
            sampler,
            account,
            units,
            watchdog,
            counted_from,
        })
    }

    /// Adds packets to the line after the packets that were offered before. The very first packet
    /// comes at once; with `pace = "given"` the others keep their time offsets from it.
    ///
    /// # Panics
    /// Packets without contents were offered before.
    pub fn offer(&mut self, packets: Vec<Packet>) {
        self.platform.io.offer(packets, &mut self.kernel.wrapped(Event::Line));
    }

    /// Adds packets as [`offer`](Self::offer) does, none of which is lost: the line waits while the
    /// queue is full, until all packets have been taken.
    pub fn offer_all(&mut self, packets: Vec<Packet>) {
        self.platform.io.offer_all(packets, &mut self.kernel.wrapped(Event::Line));
    }

    /// Advances engine time, the latest arrival of a packet. From the first call on, threads see it
    /// in place of the packets' own times.
    pub fn advance_engine_time(&mut self, time_ns: u64) {
        self.platform.io.advance_engine_time(time_ns);
    }

    /// Adds `count` packets, at least 1, of `bytes` bytes each without contents to the line.
    pub fn offer_plain(&mut self, bytes: u32, count: u64) {
        self.platform.io.offer_plain(bytes, count, &mut self.kernel.wrapped(Event::Line));
    }

    /// The objects that serve calls.
    pub fn objects(&self) -> &O {
        &self.platform.objects
    }

    /// The objects, for changes between packets.
    pub fn objects_mut(&mut self) -> &mut O {
        &mut self.platform.objects
    }

    /// Runs until a time, or until all offered packets have left.
    ///
    /// # Errors
    /// A thread has raised an exception, or the machine has packets and makes no progress.
    pub fn run(&mut self, until: Time) -> Result<(), RunError> {
        let ControlFlow::Continue(()) = self.observe(until, &mut ())?;
        Ok(())
    }

    /// Runs one step: an event arrives, or a processor has a turn. With
    /// [`Effort::Naive`](wireloom_sim::Effort::Naive) a turn is a cycle; with
    /// [`Effort::Active`](wireloom_sim::Effort::Active) it includes all cycles in which nothing can
    /// reach the processor. Returns the kind of step, or `None` if nothing happens until that time.
    ///
    /// # Errors
    /// See [`Multiprocessor::run`].
    pub fn step(&mut self, until: Time) -> Result<Option<Happened>, RunError> {
        Ok(self.observe(until, &mut SingleStep)?.break_value())
    }

    /// Runs as [`Multiprocessor::run`] does, and stops as soon as a condition holds: a breakpoint.
    /// It is checked after each [step](Multiprocessor::step); the next run continues exactly there.
    /// Returns `None` if the condition did not hold until that time.
    ///
    /// # Errors
    /// See [`Multiprocessor::run`].
    pub fn run_to(
        &mut self,
        until: Time,
        mut condition: impl FnMut(&View<'_, W, O>) -> bool,
    ) -> Result<Option<Happened>, RunError> {
        let mut observer = Breakpoint(|platform: &Platform<W, O>, kernel: &Kernel<Event>| {
            condition(&View { kernel, platform })
        });
        Ok(self.observe(until, &mut observer)?.break_value())
    }

    /// Runs until a time under an observer, and takes samples.
    fn observe<B: Observer<Platform<W, O>>>(
        &mut self,
        until: Time,
        observer: &mut B,
    ) -> Result<ControlFlow<B::Break>, RunError> {
        while let Some(next) =
            self.sampler.as_ref().map(Sampler::next).filter(|next| *next <= until)
        {
            // Events at `next` belong to the next interval.
            let end = Time(next.0 - 1);
            let result = self.run_on(end, observer);
            if matches!(result, Ok(ControlFlow::Break(_))) {
                return result;
            }
            self.look();
            let _ = result?;
            if self.kernel.now() < end {
                return Ok(ControlFlow::Continue(()));
            }
        }
        let result = self.run_on(until, observer);
        self.look();
        result
    }

    /// Takes the samples that are due.
    fn look(&mut self) {
        let Some(sampler) = &mut self.sampler else { return };
        let (next, interval) = (sampler.next(), sampler.series().interval());
        let cycles = self.clock.edge_from(next) - self.clock.edge_from(next - interval);
        // All cycles before this instant, and the cycle at this instant, are executed.
        let edge = self.clock.edge_from(self.kernel.now() + Time(1));
        let busy = self.platform.busy_before(edge);
        let mut totals = totals(&self.kernel, &self.platform);
        totals.busy = busy.iter().sum();
        let counts = self.platform.counts();
        let account = sampler.account();
        account.advance(totals.now);
        let cycles_of_all = self.clock.edge_from(totals.now);
        energy::charge(account, &counts, &self.units, cycles_of_all);
        sampler.look(totals, busy, cycles.max(1) as f64);
    }

    /// Runs until a time, or until no events remain.
    fn run_on<B: Observer<Platform<W, O>>>(
        &mut self,
        until: Time,
        observer: &mut B,
    ) -> Result<ControlFlow<B::Break>, RunError> {
        let stop = loop {
            let stop = self.watchdog.observe(&mut self.kernel, &mut self.platform, until, observer);
            // After a break, cycles at this instant may still be pending.
            let is_over = !matches!(stop, Ok(ControlFlow::Break(_)));
            self.platform.settle_before(self.kernel.now() + Time(u64::from(is_over)));
            match stop? {
                ControlFlow::Break(reason) => return Ok(ControlFlow::Break(reason)),
                ControlFlow::Continue(Stop::Stopped)
                    if self.platform.is_warm() && self.counted_from.is_none() =>
                {
                    self.begin_to_count()
                }
                ControlFlow::Continue(stop) => break stop,
            }
        };
        match self.platform.failure.take() {
            Some(failure) if stop == Stop::Stopped => Err(failure.into()),
            _ => Ok(ControlFlow::Continue(())),
        }
    }

    /// Resets the statistics. Afterwards everything but the numbers of packets counts from now on.
    fn begin_to_count(&mut self) {
        self.counted_from = Some(self.totals());
        self.account = self.energy();
        self.account.begin_to_count();
        self.platform.begin_to_count(self.kernel.now());
    }

    /// The totals when packets began to count: zero, or the totals when the packets of
    /// [`Options::warm`] were done. Before that, the current totals. The [`record`](Self::record)
    /// covers the time from then on, except for the numbers of packets, which cover the whole run
    /// because arrivals do.
    pub fn counted_from(&self) -> Totals {
        self.counted_from.unwrap_or_else(|| self.totals())
    }

    /// Whether all offered packets have left or were lost.
    pub fn is_done(&self) -> bool {
        self.platform.io.is_done()
    }

    /// Whether all offered packets have left or were lost, and no call is in progress, not even a
    /// one-way call of a packet that has left.
    pub fn is_at_rest(&self) -> bool {
        self.is_done() && self.platform.has_no_calls()
    }

    /// Takes the packets that have left since the last call, in the order in which they left.
    pub fn delivered(&mut self) -> Vec<Delivered> {
        self.platform.io.take_delivered()
    }

    /// Takes the numbers of packets with contents that were lost at the input since the last call.
    /// A packet's number is its position among all offered packets.
    pub fn lost(&mut self) -> Vec<u64> {
        self.platform.io.take_lost()
    }

    /// The number of offered packets with contents whose arrival has not begun.
    pub fn to_come(&self) -> u64 {
        self.platform.io.to_come()
    }

    /// The platform, for debuggers and monitors.
    pub(super) fn platform(&self) -> &Platform<W, O> {
        &self.platform
    }

    /// The clock of the processors.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The totals up to now.
    pub fn totals(&self) -> Totals {
        totals(&self.kernel, &self.platform)
    }

    /// Restricts the latencies to packets that arrive from now on.
    pub fn measure_latencies(&mut self) {
        self.platform.io.measure_from(self.kernel.now());
    }

    /// Keeps the times of a packet. Its number is its position among all offered packets.
    pub fn follow(&mut self, packet: u64) {
        self.platform.io.follow(packet);
        self.platform.follow(packet);
    }

    /// The events of the followed packet, by time, and the number of further events that were not
    /// kept.
    pub fn course(&self) -> (Vec<CourseEvent>, u64) {
        self.platform.course().map(Course::events).unwrap_or_default()
    }

    /// The times so far of the followed packet.
    pub fn followed(&self) -> Option<&Followed> {
        self.platform.io.followed()
    }

    /// The components of the latency of packets.
    pub fn latency(&self) -> Latency {
        let latencies = self.platform.io.latencies();
        let mean = |histogram: &Histogram| histogram.mean() / 1e3;
        Latency {
            total_ns: mean(&latencies.total),
            processing_ns: mean(&latencies.processing),
            network_ns: mean(&latencies.network),
            compute_ns: mean(&latencies.compute),
        }
    }

    /// The share of cycles between two times in which processors issued instructions.
    pub fn usage(&self, from: &Totals, to: &Totals) -> f64 {
        let cycles = self.clock.edge_from(to.now) - self.clock.edge_from(from.now);
        (to.busy - from.busy) as f64 / (cycles.max(1) * u64::from(self.processors)) as f64
    }

    /// The energy since packets began to count: see docs/power.md. With run-ahead, threads may have
    /// executed instructions before their issue time; these count already. Once all packets have
    /// left there are none.
    pub fn energy(&self) -> Account {
        let (mut account, now) = (self.account.clone(), self.kernel.now());
        account.advance(now);
        let cycles = self.clock.edge_from(now);
        energy::charge(&mut account, &self.platform.counts(), &self.units, cycles);
        account
    }

    /// All statistics.
    pub fn record(&self) -> Record {
        let now = self.kernel.now();
        let (from, totals) = (self.counted_from(), self.totals());
        let cycles = self.clock.edge_from(now) - self.clock.edge_from(from.now);
        let (unit_cycles, events) = self.kernel.work();
        Record::new()
            .with("from", from.now)
            .with("time", now - from.now)
            .with("cycles", cycles)
            .with("instructions", totals.instructions - from.instructions)
            .with("use", self.usage(&from, &totals))
            .with("kernel_cycles", unit_cycles)
            .with("kernel_events", events)
            .with("platform", self.platform.record(cycles, now))
    }

    /// The exit value of the first thread of an application; `None` while it runs.
    pub fn ended(&self) -> Option<u32> {
        self.platform.ended()
    }

    /// Takes the bytes that an application has printed since the last call.
    pub fn printed(&mut self) -> Vec<u8> {
        self.platform.take_printed()
    }

    /// The data races found so far; empty if race detection is off.
    pub fn races(&self) -> Vec<Race> {
        self.platform.watch.as_ref().map(Watch::races).unwrap_or_default()
    }

    /// The timeline of the threads.
    pub fn timeline(&self) -> &Timeline {
        &self.platform.timeline
    }

    /// The time series, if sampling is on: `use` (share of the processors' cycles), `mpps` (million
    /// packets per second that threads finished), `lost` (packets), the use of each processor, and
    /// the power in watts: `power_w` for the chip, then one series a processor and one a part.
    pub fn series(&self) -> Option<&Series> {
        self.sampler.as_ref().map(Sampler::series)
    }
}

fn totals<W: Workload, O: Objects>(kernel: &Kernel<Event>, platform: &Platform<W, O>) -> Totals {
    let (taken, done) = platform.io.counts();
    let (busy, instructions) = platform.issued();
    let io = &platform.io;
    let (sent, sent_bytes, lost) = (io.sent(), io.sent_bytes(), io.lost());
    Totals { now: kernel.now(), taken, done, sent, sent_bytes, lost, instructions, busy }
}

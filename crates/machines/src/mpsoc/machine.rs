//! A machine that can be run: the platform with its kernel.

use wireloom_isa::{Exception, Symbols};
use wireloom_net::Packet;
use wireloom_sim::stats::{Histogram, Record, Series};
use wireloom_sim::waits::{Stuck, run_watched};
use wireloom_sim::{Agenda, Clock, Effort, Kernel, SpecError, Stop, Time, Timeline};

use super::broker::Service;
use super::io::Delivered;
use super::objects::Objects;
use super::platform::{Event, Platform};
use super::sampler::Sampler;
use super::spec::Spec;
use super::workload::Workload;
use crate::multiflex::races::{Race, Watch};
use crate::multiflex::threads::Misuse;

/// How a machine is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of all that comes by chance.
    pub seed: u64,
    /// How the kernel spends its time.
    pub effort: Effort,
    /// What keeps what threads do.
    pub timeline: Timeline,
    /// Whether accesses to shared memory are watched for data races.
    pub races: bool,
    /// The intervals at which it is looked at, for [`Machine::series`].
    pub sampling: Option<Time>,
}

impl Default for Options {
    fn default() -> Self {
        Self { seed: 1, effort: Effort::Active, timeline: Timeline::off(), races: false, sampling: None }
    }
}

/// A machine with what it executes, and what answers its calls.
pub struct Machine<W: Workload, O: Objects> {
    kernel: Kernel<Event>,
    platform: Platform<W, O>,
    clock: Clock,
    processors: u32,
    sampler: Option<Sampler>,
}

/// Why a run has ended before its time.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The machine does not get on.
    #[error(transparent)]
    Stuck(#[from] Box<Stuck>),
    /// A thread has done what it cannot.
    #[error(transparent)]
    Failed(#[from] Box<Failure>),
}

impl RunError {
    /// For people who know the program: an instruction's place by its function's name.
    pub fn within(&self, symbols: &Symbols) -> String {
        match self {
            Self::Failed(failure) => match &failure.problem {
                Problem::Exception(exception) => format!(
                    "processor {} thread {} at {}: {}",
                    failure.processor,
                    failure.thread,
                    failure.at,
                    exception.within(symbols)
                ),
                _ => self.to_string(),
            },
            Self::Stuck(_) => self.to_string(),
        }
    }
}

/// What a thread has done that it cannot.
#[derive(Clone, Debug, thiserror::Error)]
#[error("processor {processor} thread {thread} at {at}: {problem}")]
pub struct Failure {
    /// The processor.
    pub processor: u32,
    /// The thread among those of the processor.
    pub thread: u32,
    /// When.
    pub at: Time,
    /// What.
    pub problem: Problem,
}

/// What threads can do wrong.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Problem {
    /// An instruction that cannot be executed.
    #[error(transparent)]
    Exception(Exception),
    /// A request to the thread manager that makes no sense.
    #[error(transparent)]
    Misuse(Misuse),
    /// Two requests to the thread manager at a time.
    #[error("it asks the thread manager before that has answered what it asked last")]
    Asks,
    /// A call that a hardware element does not know.
    #[error(
        "it calls method {method} of {service} with {words} words, which the hardware element that serves it has not"
    )]
    NoMethod {
        /// The service.
        service: Service,
        /// The method.
        method: u32,
        /// Words of the call.
        words: u32,
    },
    /// A reply of a hardware element for which the ticket has no room.
    #[error(
        "it calls {service} under ticket {ticket}, where a reply of {words} words has no room: take a lower ticket"
    )]
    NoRoom {
        /// The service.
        service: Service,
        /// The ticket.
        ticket: u32,
        /// Words of the reply.
        words: usize,
    },
}

/// What has happened until a time; two of them say what happened between.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// The time.
    pub now: Time,
    /// Packets that packet I/O has taken.
    pub taken: u64,
    /// Packets that threads are done with.
    pub done: u64,
    /// Packets lost on the way in.
    pub lost: u64,
    /// Instructions.
    pub instructions: u64,
    /// Cycles in which a processor issued an instruction, or was kept from it by one of several cycles; of all processors.
    pub busy: u64,
}

/// Mean latencies of packets from their last bit's arrival on, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Until the last bit has left.
    pub total_ns: f64,
    /// Until packet I/O has the packet back from its thread.
    pub processing_ns: f64,
    /// Of that: the thread waited for the network.
    pub network_ns: f64,
    /// Of that: an instruction of the thread was in the pipeline.
    pub compute_ns: f64,
}

/// For so long a machine may not get on before it is called stuck.
const PATIENCE: Time = Time::nanoseconds(10_000_000);

impl<W: Workload, O: Objects> Machine<W, O> {
    /// A machine at time 0, whose line brings nothing yet.
    ///
    /// # Errors
    /// If a number of the specification is out of its range, or an object of the program has none.
    pub fn new(spec: &Spec, workload: W, objects: O, options: Options) -> Result<Self, SpecError> {
        let mut kernel = Kernel::new(options.effort, spec.processor.clock.cycles(1));
        let sampler = options.sampling.map(|interval| Sampler::new(interval, spec.processors));
        let mut platform = Platform::new(spec, workload, objects, options)?;
        let clock = kernel.add_clock(spec.processor.clock);
        for _ in 0..spec.processors {
            let unit = kernel.add_unit(clock);
            // One that has nothing to execute sleeps again behind its first cycle.
            kernel.wake(unit);
        }
        platform.io.begin(&mut kernel.wrapped(Event::Line));
        Ok(Self { kernel, platform, clock: spec.processor.clock, processors: spec.processors, sampler })
    }

    /// The line brings these packets, behind those that were offered before. The first of all comes at once; with `pace = "given"` others come as much
    /// later than it as they say.
    ///
    /// # Panics
    /// If packets without contents were offered before.
    pub fn offer(&mut self, packets: Vec<Packet>) {
        self.platform.io.offer(packets, &mut self.kernel.wrapped(Event::Line));
    }

    /// The line brings so many packets of so many bytes, more than none, which have no contents.
    pub fn offer_plain(&mut self, bytes: u32, count: u64) {
        self.platform.io.offer_plain(bytes, count, &mut self.kernel.wrapped(Event::Line));
    }

    /// What answers calls.
    pub fn objects(&self) -> &O {
        &self.platform.objects
    }

    /// As [`objects`](Self::objects), to be changed between packets.
    pub fn objects_mut(&mut self) -> &mut O {
        &mut self.platform.objects
    }

    /// Runs until a time, or until all packets that are offered have left.
    ///
    /// # Errors
    /// If a thread causes an exception, or the machine has packets and does not get on.
    pub fn run(&mut self, until: Time) -> Result<(), RunError> {
        while let Some(next) = self.sampler.as_ref().map(Sampler::next).filter(|next| *next <= until) {
            let result = self.run_on(next);
            self.look();
            result?;
            if self.kernel.now() < next {
                return Ok(());
            }
        }
        let result = self.run_on(until);
        self.look();
        result
    }

    /// Lets the sampler look.
    fn look(&mut self) {
        let Some(sampler) = &mut self.sampler else { return };
        let (next, interval) = (sampler.next(), sampler.series().interval());
        let cycles = self.clock.edge_from(next) - self.clock.edge_from(next - interval);
        let (totals, busy) = (totals(&self.kernel, &self.platform), self.platform.busy());
        sampler.look(totals, busy, cycles.max(1) as f64);
    }

    /// Runs until a time, or until nothing happens any more.
    fn run_on(&mut self, until: Time) -> Result<(), RunError> {
        let stop = run_watched(&mut self.kernel, &mut self.platform, until, PATIENCE);
        self.platform.settle(self.kernel.now());
        let stop = stop?;
        match self.platform.failure.take() {
            Some(failure) if stop == Stop::Stopped => Err(failure.into()),
            _ => Ok(()),
        }
    }

    /// Whether all packets that are offered have left, or were lost.
    pub fn is_done(&self) -> bool {
        self.platform.io.is_done()
    }

    /// Takes the packets that have left since the last time, in the order in which they did.
    pub fn delivered(&mut self) -> Vec<Delivered> {
        self.platform.io.take_delivered()
    }

    /// Takes the numbers of packets with contents that were lost on the way in since the last time, among all that were offered.
    pub fn lost(&mut self) -> Vec<u64> {
        self.platform.io.take_lost()
    }

    /// Packets with contents that were offered and that the line has not begun to bring.
    pub fn to_come(&self) -> u64 {
        self.platform.io.to_come()
    }

    /// What has happened until now.
    pub fn totals(&self) -> Totals {
        totals(&self.kernel, &self.platform)
    }

    /// Latencies are those of packets that arrive from now on.
    pub fn measure_latencies(&mut self) {
        self.platform.io.measure_from(self.kernel.now());
    }

    /// What the latency of packets is made of.
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

    /// The share of cycles in which processors issued instructions, between two times.
    pub fn usage(&self, from: &Totals, to: &Totals) -> f64 {
        let cycles = self.clock.edge_from(to.now) - self.clock.edge_from(from.now);
        (to.busy - from.busy) as f64 / (cycles.max(1) * u64::from(self.processors)) as f64
    }

    /// Everything that is counted.
    pub fn record(&self) -> Record {
        let now = self.kernel.now();
        let totals = self.totals();
        let cycles = self.clock.edge_from(now);
        let (unit_cycles, events) = self.kernel.work();
        Record::new()
            .with("time", now)
            .with("cycles", cycles)
            .with("instructions", totals.instructions)
            .with("use", self.usage(&Totals::default(), &totals))
            .with("kernel_cycles", unit_cycles)
            .with("kernel_events", events)
            .with("platform", self.platform.record(cycles, now))
    }

    /// What the first thread of an application has ended with; nothing while it runs.
    pub fn ended(&self) -> Option<u32> {
        self.platform.ended()
    }

    /// Takes what an application has printed since the last time.
    pub fn printed(&mut self) -> Vec<u8> {
        self.platform.take_printed()
    }

    /// The data races that were found until now; none if nobody has watched.
    pub fn races(&self) -> Vec<Race> {
        self.platform.watch.as_ref().map(Watch::races).unwrap_or_default()
    }

    /// What threads did.
    pub fn timeline(&self) -> &Timeline {
        &self.platform.timeline
    }

    /// Numbers over time, if it was told to keep them: `use` (share of the processors' cycles), `mpps` (million packets a second that threads were done with), `lost` (packets), and
    /// the use of each processor.
    pub fn series(&self) -> Option<&Series> {
        self.sampler.as_ref().map(Sampler::series)
    }
}

fn totals<W: Workload, O: Objects>(kernel: &Kernel<Event>, platform: &Platform<W, O>) -> Totals {
    let (taken, done) = platform.io.counts();
    let (busy, instructions) = platform.issued();
    Totals { now: kernel.now(), taken, done, lost: platform.io.lost(), instructions, busy }
}

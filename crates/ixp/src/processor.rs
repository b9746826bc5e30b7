//! A runnable chip: the chip with its simulation kernel.

use std::ops::ControlFlow;

use wireloom_isa::microengine::Signal;
use wireloom_isa::microengine::text::signal_name;
use wireloom_sim::stats::Series;
use wireloom_sim::{
    Clock, EnergyMeter, EnergySink, EventSink, Kernel, Observer, SpecError, Stop, Time,
};

use crate::cards::Delivered;
use crate::chip::{Chip, Event};
use crate::energy::{Metered, Power};
use crate::engine::{Program, State};
use crate::options::Options;
use crate::report::Baseline;
use crate::spec::Spec;

/// The simulated time without a departing packet after which a machine that holds packets is stuck.
/// It is long enough for a thread that jumps back 65,535 times through steps of a thousand cycles
/// and is then dropped.
const PATIENCE: Time = Time(300_000_000_000);
/// The simulated time of one slice of a run.
const STEP: Time = Time(20_000_000);

/// A runnable chip. A clone is a checkpoint.
#[derive(Clone, Debug)]
pub struct Processor<E = ()> {
    pub chip: Chip<E>,
    kernel: Kernel<Event>,
    until: Time,
    /// The counters at the end of the warm-up, once it has ended.
    pub(crate) counted_from: Option<Baseline>,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A program accesses something that does not exist.
    #[error("at {at}: {message}")]
    Refused {
        /// The simulated time.
        at: Time,
        /// The reason, as a sentence.
        message: String,
        /// The engine and the address of the instruction at fault, if there is one.
        instruction: Option<(usize, u16)>,
    },
    /// Packets make no progress.
    #[error("at {at}: {packets} packets do not get on: {waits}")]
    Stuck {
        /// The simulated time.
        at: Time,
        /// The number of packets on the lines and inside.
        packets: u64,
        /// The wait graph, as text.
        waits: String,
    },
}

impl Processor {
    /// Creates a chip without energy accounting. `programs` holds a program for each engine and a
    /// bit mask of the contexts that run; an engine without a program is idle.
    ///
    /// # Errors
    /// If a number of the description is out of range.
    pub fn new(
        spec: &Spec,
        programs: Vec<(Program, u8)>,
        options: &Options,
    ) -> Result<Self, SpecError> {
        Self::with_energy(spec, programs, options, ())
    }
}

impl<E: EnergySink> Processor<E> {
    /// Creates a chip with an energy sink. Its components must be the components of
    /// [`meter`](crate::energy::meter).
    ///
    /// # Errors
    /// If a number of the description is out of range.
    pub fn with_energy(
        spec: &Spec,
        mut programs: Vec<(Program, u8)>,
        options: &Options,
        energy: E,
    ) -> Result<Self, SpecError> {
        spec.check()?;
        let version = spec.engine.version;
        let others = programs.iter().filter_map(|(program, _)| program.version());
        if others.into_iter().any(|other| other != version) {
            let problem = "is not that of a program".to_owned();
            return Err(SpecError::new("engine.version", problem));
        }
        programs.resize(spec.engines as usize, (Program::default(), 0));
        let chip = Chip::new(spec, programs, options, energy)?;
        let mut kernel = Kernel::new(wireloom_sim::Effort::Active, spec.core.clock.cycles(1));
        let core = kernel.add_clock(spec.core.clock);
        kernel.add_unit(core);
        for _ in 0..spec.engines {
            let clock = kernel.add_variable_clock(spec.engine.clock);
            let unit = kernel.add_unit(clock);
            kernel.wake(unit);
        }
        if let Some(period) = chip.control.period() {
            kernel.send(period, Event::Tick);
        }
        if let Some(interval) = options.energy_interval {
            kernel.send(interval, Event::Sample);
        }
        Ok(Self { chip, kernel, until: Time::ZERO, counted_from: None })
    }

    /// The simulated time.
    pub fn now(&self) -> Time {
        self.kernel.now()
    }

    /// The cost of the run: the numbers of simulated unit cycles and of events.
    pub fn work(&self) -> (u64, u64) {
        self.kernel.work()
    }

    /// Queues a packet on the line of a port. It arrives in the next run.
    pub fn offer(&mut self, port: u16, number: u64, arrival_ns: u64, bytes: &[u8]) {
        self.chip.cards.offer(port, number, arrival_ns, bytes);
    }

    /// Simulates for another `time`.
    ///
    /// # Errors
    /// If a program does something undefined.
    pub fn run(&mut self, time: Time) -> Result<Stop, RunError> {
        self.until = self.until.max(self.kernel.now()) + time;
        self.chip.cards.begin(&mut self.kernel.wrapped(Event::Card));
        let stop = self.kernel.run(&mut self.chip, self.until);
        match self.chip.failed.take() {
            None => {
                if stop == Stop::Stopped {
                    self.until = self.kernel.now();
                }
                Ok(stop)
            }
            Some((refused, instruction)) => {
                Err(RunError::Refused { at: self.now(), message: refused.0, instruction })
            }
        }
    }

    /// Simulates up to a time, or until the warm-up ends.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_to(&mut self, time: Time) -> Result<(), RunError> {
        let from = self.until.max(self.kernel.now());
        if time > from {
            self.run(time - from)?;
        }
        Ok(())
    }

    /// Simulates this number of core clock cycles.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_cycles(&mut self, cycles: u64) -> Result<Stop, RunError> {
        let from = self.until.max(self.kernel.now());
        let clock = self.chip.spec.core.clock;
        let end = clock.edge(clock.edge_from(from) + cycles);
        self.run(end - from)
    }

    /// Simulates this number of core clock cycles under an observer. The observer can break the run
    /// between two events or unit cycles; the next run continues exactly there.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn observe_cycles<O: Observer<Chip<E>>>(
        &mut self,
        cycles: u64,
        observer: &mut O,
    ) -> Result<ControlFlow<O::Break, Stop>, RunError> {
        let from = self.until.max(self.kernel.now());
        let clock = self.chip.spec.core.clock;
        self.until = clock.edge(clock.edge_from(from) + cycles);
        self.chip.cards.begin(&mut self.kernel.wrapped(Event::Card));
        let ran = self.kernel.observe(&mut self.chip, self.until, observer);
        if ran.is_break() {
            self.until = self.kernel.now();
        }
        match self.chip.failed.take() {
            None => Ok(ran),
            Some((refused, instruction)) => {
                Err(RunError::Refused { at: self.now(), message: refused.0, instruction })
            }
        }
    }

    /// Simulates until at most `most` packets are left on the lines and inside, or until the
    /// warm-up ends.
    ///
    /// # Errors
    /// As [`run`](Self::run), or if packets make no progress.
    pub fn run_packets(&mut self, most: u64) -> Result<(), RunError> {
        let mut progress = (self.chip.cards.left, self.now());
        while self.chip.cards.to_come() > most {
            // The time until the next arrival is no delay of the machine.
            let was_empty = !self.chip.cards.is_inside();
            let next = self.chip.cards.next_arrival().filter(|_| was_empty);
            let stop = self.run(next.map_or(STEP, |next| STEP.max(next.since(self.now()))))?;
            let left = self.chip.cards.left + self.chip.cards.lost.len() as u64;
            if stop == Stop::Stopped {
                return Ok(());
            }
            if left != progress.0 || was_empty {
                progress = (left, self.now());
            }
            let is_late = self.now().since(progress.1) > PATIENCE && self.chip.cards.is_inside();
            if (stop == Stop::Silent && self.chip.cards.to_come() > most) || is_late {
                return Err(RunError::Stuck {
                    at: self.now(),
                    packets: self.chip.cards.to_come(),
                    waits: self.waits(&|_, _| None),
                });
            }
        }
        Ok(())
    }

    /// Changes the clock of an engine. The engine has no edges during the settling time.
    ///
    /// # Panics
    /// If the engine does not exist.
    pub fn set_engine_rate(&mut self, engine: usize, rate: Clock, settle: Time) {
        self.kernel.set_rate(engine + 1, rate, settle);
    }

    /// Stops the clock of an engine, until [`ungate_engine`](Self::ungate_engine).
    ///
    /// # Panics
    /// If the engine does not exist.
    pub fn gate_engine(&mut self, engine: usize) {
        self.kernel.gate(engine + 1);
    }

    /// Restarts the clock of an engine after a settling time.
    ///
    /// # Panics
    /// If the engine does not exist.
    pub fn ungate_engine(&mut self, engine: usize, settle: Time) {
        self.kernel.ungate(engine + 1, settle);
    }

    /// Takes the outputs that have left since the last call.
    pub fn delivered(&mut self) -> Vec<Delivered> {
        std::mem::take(&mut self.chip.cards.delivered)
    }

    /// The idle cycles of a sleeping engine that its counters do not include yet.
    pub fn sleeping(&self, engine: usize) -> u64 {
        self.chip.unslept(engine, &self.kernel)
    }

    /// The energy up to now by component, if the sink is a meter.
    pub fn power(&self) -> Option<Power>
    where
        E: Metered,
    {
        self.meter().map(|meter| Power::new(meter, self.chip.engines.len()))
    }

    /// The power in each interval of the options, if the sink is a meter.
    pub fn power_over_time(&self) -> Option<Series>
    where
        E: Metered,
    {
        let interval = self.chip.sample()?;
        Some(self.power()?.over_time(interval, self.now()))
    }

    /// The energy meter up to now, if the sink is one.
    pub fn meter(&self) -> Option<EnergyMeter>
    where
        E: Metered,
    {
        let mut meter = self.chip.energy.meter()?;
        let now = self.now();
        for (component, class, events) in self.chip.ledger.clone().news(&self.chip, &self.kernel) {
            meter.count(component, class, now.since(Time(1)), events);
        }
        meter.settle(now);
        Some(meter)
    }

    /// The wait graph of all contexts, as text. `line` returns the source line of an instruction of
    /// an engine.
    pub(crate) fn waits(&self, line: &dyn Fn(usize, u16) -> Option<String>) -> String {
        let mut waits = Vec::new();
        let blocked = self.chip.sram.blocked();
        if blocked > 0 {
            let locked = self.chip.sram.locked();
            waits
                .push(format!("{blocked} commands of SRAM wait for a lock; locked are {locked:?}"));
        }
        for (number, engine) in self.chip.engines.iter().enumerate() {
            if engine.is_halted() {
                waits.push(format!("engine {number} is at a breakpoint"));
            }
            for (place, context) in engine.contexts().iter().enumerate() {
                let what = match context.state {
                    State::Waiting => {
                        let missing = context.mask & !context.signals;
                        let bits = (0..16).filter(|bit| missing >> bit & 1 != 0);
                        let version = self.chip.spec.engine.version;
                        let names = bits.map(|bit| signal_name(version, Signal(bit)));
                        format!("signals {}", names.collect::<Vec<_>>().join(", "))
                    }
                    State::Stopped => continue,
                    State::Ready | State::Running => "nothing".to_owned(),
                };
                let at =
                    line(number, context.pc).map_or(String::new(), |line| format!(" ({line})"));
                waits
                    .push(format!("engine {number} context {place} at {}{at}: {what}", context.pc));
            }
        }
        if waits.is_empty() { "no context runs".to_owned() } else { waits.join("; ") }
    }
}

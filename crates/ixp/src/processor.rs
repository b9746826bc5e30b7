//! A chip with its kernel: what runs.

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

/// After this time without a packet that leaves, a machine that has packets is stuck: a thread that
/// jumps back 65,535 times, through steps of a thousand cycles, is dropped before.
const PATIENCE: Time = Time(300_000_000_000);
/// The time that is simulated at once.
const STEP: Time = Time(20_000_000);

/// A chip that runs. A clone is a checkpoint.
#[derive(Clone, Debug)]
pub struct Processor<E = ()> {
    /// The chip.
    pub chip: Chip<E>,
    kernel: Kernel<Event>,
    until: Time,
    /// What had happened when packets began to count, if some at the start do not.
    pub(crate) counted_from: Option<Baseline>,
}

/// Why a run has ended before its time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A program asks for something that does not exist.
    #[error("at {at}: {message}")]
    Refused {
        /// When.
        at: Time,
        /// What, as a sentence.
        message: String,
        /// The engine and the address of the instruction, if one is the reason.
        instruction: Option<(usize, u16)>,
    },
    /// Packets do not get on.
    #[error("at {at}: {packets} packets do not get on: {waits}")]
    Stuck {
        /// When.
        at: Time,
        /// How many.
        packets: u64,
        /// Who waits for what.
        waits: String,
    },
}

impl Processor {
    /// Creates a chip that does not account for energy. There is a program for each engine, and a
    /// bit for each of its contexts that run; engines without a program are idle.
    ///
    /// # Errors
    /// If a number of the description is out of its range.
    pub fn new(
        spec: &Spec,
        programs: Vec<(Program, u8)>,
        options: &Options,
    ) -> Result<Self, SpecError> {
        Self::with_energy(spec, programs, options, ())
    }
}

impl<E: EnergySink> Processor<E> {
    /// Creates a chip with an energy sink, whose components are those of
    /// [`meter`](crate::energy::meter).
    ///
    /// # Errors
    /// If a number of the description is out of its range.
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

    /// The time.
    pub fn now(&self) -> Time {
        self.kernel.now()
    }

    /// The number of cycles of units and of events that it took, as the cost of the run.
    pub fn work(&self) -> (u64, u64) {
        self.kernel.work()
    }

    /// Puts a packet on the line of a port, from which it comes in the next run.
    pub fn offer(&mut self, port: u16, number: u64, arrival_ns: u64, bytes: &[u8]) {
        self.chip.cards.offer(port, number, arrival_ns, bytes);
    }

    /// Simulates this time from where it is.
    ///
    /// # Errors
    /// If a program does something without a meaning.
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

    /// Simulates up to a time, or until packets begin to count.
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

    /// Simulates this number of cycles of the core clock.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_cycles(&mut self, cycles: u64) -> Result<Stop, RunError> {
        let from = self.until.max(self.kernel.now());
        let clock = self.chip.spec.core.clock;
        let end = clock.edge(clock.edge_from(from) + cycles);
        self.run(end - from)
    }

    /// Simulates this number of cycles of the core clock under an observer that can break the run
    /// between two events or cycles of units; the next run goes on exactly there.
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

    /// Simulates until at most this number of packets is left, on lines and inside, or until packets
    /// begin to count.
    ///
    /// # Errors
    /// As [`run`](Self::run), and if packets do not get on.
    pub fn run_packets(&mut self, most: u64) -> Result<(), RunError> {
        let mut progress = (self.chip.cards.left, self.now());
        while self.chip.cards.to_come() > most {
            // The time until the next packet comes is nobody's.
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

    /// Changes the clock of an engine: it has no edges until the time to settle has passed.
    ///
    /// # Panics
    /// If there is no such engine.
    pub fn set_engine_rate(&mut self, engine: usize, rate: Clock, settle: Time) {
        self.kernel.set_rate(engine + 1, rate, settle);
    }

    /// Stops the clock of an engine, until [`ungate_engine`](Self::ungate_engine).
    ///
    /// # Panics
    /// If there is no such engine.
    pub fn gate_engine(&mut self, engine: usize) {
        self.kernel.gate(engine + 1);
    }

    /// Starts the clock of an engine again, after a time to settle.
    ///
    /// # Panics
    /// If there is no such engine.
    pub fn ungate_engine(&mut self, engine: usize, settle: Time) {
        self.kernel.ungate(engine + 1, settle);
    }

    /// Takes what has left since the last call.
    pub fn delivered(&mut self) -> Vec<Delivered> {
        std::mem::take(&mut self.chip.cards.delivered)
    }

    /// The idle cycles of an engine that are not in its counts yet, because it sleeps.
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

    /// The meter of energy up to now, if the sink is one.
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

    /// What contexts wait for. `line` returns the line of an instruction of an engine.
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

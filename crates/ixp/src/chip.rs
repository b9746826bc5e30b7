//! The chip: engines, units, buses and line cards, and what goes from one to another.

mod control;
mod engines;

use wireloom_isa::microengine::{Signal, TransferFile, Unit};

use wireloom_sim::parts::arbiter::{Arbiter, Requests};
use wireloom_sim::{Activity, EnergySink, EventSink, Kernel, Model, SpecError, Time};

use crate::bus::{Bus, Carried};
use crate::cards::{CardEvent, Cards};
use crate::energy::Ledger;
use crate::engine::{Engine, Program};
use crate::options::{Fault, Options};
use crate::request::{Handle, Pool};
use crate::spec::Spec;
use crate::trace::{Event as Traced, Trace, What};
use crate::units::fbi::Effect;
use crate::units::queue::Queues;
use crate::units::{Fbi, HashUnit, Refused, Scratch, Sdram, Sram, Started};

pub use control::{Control, Did};

/// Units on the pair of buses of SRAM.
const SRAM_BUS_UNITS: usize = 4;

/// Events of the chip.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A command comes to its unit.
    Arrive(Handle),
    /// A unit is done with a command.
    Done(Handle),
    /// Something happens at the line cards.
    Card(CardEvent),
    /// A period of the governor ends.
    Tick,
    /// An engine has its new voltage and clock.
    Settled(u8),
    /// An interval of the energy's record ends.
    Sample,
    /// A context gets a signal for which it set a time.
    Signal(u8, u8, Signal),
}

/// A pair of buses.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Words from engines.
    pub pull: Bus,
    /// Words to engines.
    pub push: Bus,
    push_cycles: u64,
    pull_cycles: u64,
}

/// The chip.
#[derive(Clone, Debug)]
pub struct Chip<E = ()> {
    /// Its description.
    pub spec: Spec,
    pool: Pool,
    /// The engines.
    pub engines: Vec<Engine>,
    /// The edge of its clock at which each engine fell asleep.
    asleep: Vec<Option<u64>>,
    /// SRAM.
    pub sram: Sram,
    /// SDRAM.
    pub sdram: Sdram,
    /// The scratchpad.
    pub scratch: Scratch,
    /// The hash unit.
    pub hash: HashUnit,
    /// FIFOs and registers.
    pub fbi: Fbi,
    /// The line cards.
    pub cards: Cards,
    /// The buses of SRAM, scratchpad, hash unit and FBI.
    pub sram_bus: Pair,
    /// The buses of SDRAM.
    pub sdram_bus: Pair,
    arbiter: Arbiter,
    asking: Requests,
    /// The first cycle in which the command bus is free.
    free: u64,
    /// Commands that it carried.
    pub granted: u64,
    effects: Vec<Effect>,
    /// Events.
    pub trace: Trace,
    /// The energy sink.
    pub energy: E,
    /// What the energy sink has heard of.
    pub(crate) ledger: Ledger,
    /// Voltages and clocks of engines.
    pub control: Control,
    /// The intervals of the energy's record, if it has some.
    sample: Option<Time>,
    fault: Option<Fault>,
    /// Why it cannot go on.
    pub failed: Option<Refused>,
}

impl<E: EnergySink> Chip<E> {
    /// Creates a chip with a program for each engine, of whose contexts those of the mask run.
    pub(crate) fn new(
        spec: &Spec,
        programs: Vec<(Program, u8)>,
        options: &Options,
        energy: E,
    ) -> Result<Self, SpecError> {
        let engines = programs.into_iter().enumerate();
        let engines: Vec<Engine> = engines
            .map(|(number, (program, mask))| Engine::new(number as u8, &spec.engine, program, mask))
            .collect::<Result<_, _>>()?;
        let pair = |bus: crate::spec::DataBusSpec, units| Pair {
            pull: Bus::new(bus, units),
            push: Bus::new(bus, units),
            push_cycles: bus.push_cycles.into(),
            pull_cycles: bus.pull_cycles.into(),
        };
        let count = engines.len();
        let mut chip = Self {
            pool: Pool::default(),
            asleep: vec![None; count],
            engines,
            sram: Sram::new(spec.sram),
            sdram: Sdram::new(spec.sdram),
            scratch: Scratch::new(spec.scratch),
            hash: HashUnit::new(spec.hash),
            fbi: Fbi::new(spec.fbi, count, spec.engine.version.sizes().contexts),
            cards: Cards::new(
                spec.ports,
                spec.ix_bus,
                spec.engine.version.sizes().contexts,
                options.seed,
            )?,
            sram_bus: pair(spec.sram_bus, SRAM_BUS_UNITS),
            sdram_bus: pair(spec.sdram_bus, 1),
            arbiter: Arbiter::new(&spec.command_bus.arbiter, count)?,
            asking: Requests::new(count),
            free: 0,
            granted: 0,
            effects: Vec::new(),
            trace: Trace::of(options.trace_events),
            energy,
            ledger: Ledger::default(),
            control: Control::new(spec, count),
            sample: options.energy_interval,
            fault: options.fault,
            failed: None,
            spec: spec.clone(),
        };
        chip.cards.extra_mpkts = spec.governor.extra_mpkts();
        chip.cards.mark = chip.control.mark(spec.ports.receive_mpkts);
        match options.fault {
            Some(Fault::Overtaking) => chip.sram.queues.overtakes = true,
            Some(Fault::WideBus) => chip.sram_bus.push.is_doubled = true,
            Some(Fault::NoWaiting) => {
                chip.engines.iter_mut().for_each(|engine| engine.runs_early = true);
            }
            _ => {}
        }
        Ok(chip)
    }

    /// The cycle of the core clock at or after a time.
    pub fn core_cycle(&self, now: Time) -> u64 {
        self.spec.core.clock.edge_from(now)
    }

    /// The intervals of the energy's record, if it has some.
    pub(crate) fn sample(&self) -> Option<Time> {
        self.sample
    }

    /// Commands on their way.
    pub fn commands(&self) -> usize {
        self.pool.len()
    }

    /// The idle cycles of an engine that are not counted yet.
    pub(crate) fn unslept(&self, engine: usize, kernel: &Kernel<Event>) -> u64 {
        self.asleep[engine].map_or(0, |since| kernel.edges(engine + 1).saturating_sub(since))
    }

    fn queues(&mut self, unit: Unit) -> Option<&mut Queues> {
        Some(match unit {
            Unit::Sram => &mut self.sram.queues,
            Unit::Sdram => &mut self.sdram.queues,
            Unit::Scratch => &mut self.scratch.queues,
            Unit::Hash => &mut self.hash.queues,
            Unit::Fbi | Unit::Cap => &mut self.fbi.queues,
            Unit::Msf | Unit::Pci => return None,
        })
    }

    /// The pair of buses of a unit, its number there, and the transfer registers that it uses.
    fn buses(&mut self, unit: Unit) -> (&mut Pair, usize) {
        match unit {
            Unit::Sdram => (&mut self.sdram_bus, 0),
            Unit::Sram => (&mut self.sram_bus, 0),
            Unit::Scratch => (&mut self.sram_bus, 1),
            Unit::Hash => (&mut self.sram_bus, 2),
            _ => (&mut self.sram_bus, 3),
        }
    }

    fn note(&mut self, now: Time, what: What, handle: Handle, value: u32) {
        if self.trace.is_on() {
            let request = &self.pool[handle];
            self.trace.add(Traced {
                cycle: self.spec.core.clock.edge_from(now),
                what,
                engine: request.engine,
                context: request.context,
                value,
                command: Some(request.into()),
            });
        }
    }

    fn fail(&mut self, refused: Refused, kernel: &mut Kernel<Event>) {
        self.failed.get_or_insert(refused);
        kernel.stop();
    }

    /// A context gets a signal.
    fn signal(&mut self, engine: u8, context: u8, signal: Signal, kernel: &mut Kernel<Event>) {
        if self.trace.is_on() {
            self.trace.add(Traced {
                cycle: self.core_cycle(kernel.now()),
                what: What::Signal,
                engine,
                context,
                value: signal.0.into(),
                command: None,
            });
        }
        let number = usize::from(engine);
        let slept = self.unslept(number, kernel);
        let Some(found) = self.engines.get_mut(number) else { return };
        let cycle = found.cycles() + slept;
        if found.signal(context, signal, cycle) {
            kernel.wake(wireloom_sim::Unit(number as u32 + 1));
        }
    }

    /// A thread of the chip gets a signal.
    fn signal_thread(&mut self, thread: u8, signal: Signal, kernel: &mut Kernel<Event>) {
        let share = self.threads_each() as u8;
        self.signal(thread / share, thread % share, signal, kernel);
    }

    /// A unit is done with a command.
    fn done(&mut self, handle: Handle, kernel: &mut Kernel<Event>) {
        let request = &self.pool[handle];
        let (id, engine, receiver, signal) =
            (request.id, request.engine, request.receiver, request.signal);
        if self.fault == Some(Fault::LostAnswer) && id % 16 == 15 {
            return;
        }
        self.note(kernel.now(), What::Done, handle, 0);
        if self.fault == Some(Fault::SecondAnswer) && id % 16 == 15 {
            self.note(kernel.now(), What::Done, handle, 0);
        }
        self.pool.remove(handle);
        if let Some(signal) = signal {
            self.signal(engine, receiver, signal, kernel);
        }
    }

    /// A cycle of everything but the engines.
    fn core(&mut self, kernel: &mut Kernel<Event>) -> Result<Activity, Refused> {
        let now = kernel.now();
        let cycle = self.core_cycle(now);
        self.carry(TransferFile::Sram, cycle, kernel);
        self.carry(TransferFile::Sdram, cycle, kernel);
        self.serve(cycle, kernel)?;
        self.grant(cycle, kernel)?;
        let is_waiting = self.engines.iter().any(|engine| !engine.commands.is_empty())
            || self.sram.is_waiting()
            || !self.sdram.queues.is_empty()
            || !self.scratch.queues.is_empty()
            || !self.hash.queues.is_empty()
            || !self.fbi.queues.is_empty();
        if is_waiting {
            return Ok(Activity::Awake);
        }
        let buses =
            [&self.sram_bus.pull, &self.sram_bus.push, &self.sdram_bus.pull, &self.sdram_bus.push];
        let next = buses.into_iter().filter_map(|bus| bus.next_cycle(cycle)).min();
        Ok(next.map_or(Activity::Asleep, |next| match next - cycle {
            1 => Activity::Awake,
            cycles => Activity::After(cycles),
        }))
    }

    /// Moves words on a pair of buses.
    fn carry(&mut self, file: TransferFile, cycle: u64, kernel: &mut Kernel<Event>) {
        let now = kernel.now();
        let pair = match file {
            TransferFile::Sram => &mut self.sram_bus,
            TransferFile::Sdram => &mut self.sdram_bus,
        };
        let push_cycles = pair.push_cycles;
        if let Some(Carried { handle, first, words, is_last }) =
            pair.pull.cycle(cycle, &mut self.pool)
        {
            let request = &mut self.pool[handle];
            let registers = &mut self.engines[usize::from(request.engine)].registers;
            for word in first..first + words {
                let register = request.register + u16::from(word);
                request.data[usize::from(word)] = registers.pull(file, register);
            }
            request.is_ready |= is_last;
            self.note(now, What::Pull, handle, words.into());
        }
        let pair = match file {
            TransferFile::Sram => &mut self.sram_bus,
            TransferFile::Sdram => &mut self.sdram_bus,
        };
        if let Some(Carried { handle, first, words, is_last }) =
            pair.push.cycle(cycle, &mut self.pool)
        {
            let request = &self.pool[handle];
            let registers = &mut self.engines[usize::from(request.engine)].registers;
            for word in first..first + words {
                let register = request.register + u16::from(word);
                registers.push(file, register, request.data[usize::from(word)]);
            }
            self.note(now, What::Push, handle, words.into());
            if is_last {
                kernel.send_at(self.spec.core.clock.edge(cycle + push_cycles), Event::Done(handle));
            }
        }
    }

    /// Lets units begin commands.
    fn serve(&mut self, cycle: u64, kernel: &mut Kernel<Event>) -> Result<(), Refused> {
        if !self.sdram.queues.is_empty() {
            let started = self.sdram.cycle(cycle, &mut self.pool, &mut self.fbi)?;
            self.started(Unit::Sdram, started, kernel);
        }
        if !self.sram.queues.is_empty() || self.sram.blocked() > 0 {
            let started = self.sram.cycle(cycle, &mut self.pool)?;
            self.started(Unit::Sram, started, kernel);
        }
        if !self.scratch.queues.is_empty() {
            let started = self.scratch.cycle(cycle, &mut self.pool)?;
            self.started(Unit::Scratch, started, kernel);
        }
        if !self.hash.queues.is_empty() {
            let started = self.hash.cycle(cycle, &mut self.pool)?;
            self.started(Unit::Hash, started, kernel);
        }
        if !self.fbi.queues.is_empty() {
            let started = self.fbi.cycle(cycle, &mut self.pool, &mut self.effects)?;
            self.started(Unit::Fbi, started, kernel);
            self.make_effects(kernel)?;
        }
        Ok(())
    }

    fn started(&mut self, unit: Unit, started: Option<Started>, kernel: &mut Kernel<Event>) {
        let Some(Started { handle, mut first, interval, granule }) = started else { return };
        let now = kernel.now();
        let words_in = self.pool[handle].words_in;
        if self.fault == Some(Fault::EarlyAnswer) {
            first = self.core_cycle(now) + 1;
        }
        self.note(now, What::Start, handle, 0);
        if words_in == 0 {
            kernel.send_at(self.spec.core.clock.edge(first), Event::Done(handle));
        } else {
            let (pair, number) = self.buses(unit);
            pair.push.add(number, handle, words_in, first, (interval, granule));
        }
    }

    /// Does what writes to registers ask for.
    fn make_effects(&mut self, kernel: &mut Kernel<Event>) -> Result<(), Refused> {
        while let Some(effect) = self.effects.pop() {
            match effect {
                Effect::Signal { thread, signal } => self.signal_thread(thread, signal, kernel),
                Effect::Ring { number, value } => self.scratch.set_ring(number.into(), value)?,
                Effect::Receive(wanted) => {
                    let mut events = kernel.wrapped(Event::Card);
                    if !self.cards.want(wanted, &mut self.fbi, &mut events) {
                        return Err(Refused(format!(
                            "rcv_req: there is no port {} or no element {}",
                            wanted.port, wanted.element
                        )));
                    }
                    self.stop_drained(kernel);
                }
                Effect::Transmit => {
                    self.cards.kick(&mut self.fbi, &mut kernel.wrapped(Event::Card));
                }
                Effect::Multiplier { which, high, value } => {
                    let multiplier = &mut self.hash.multipliers[usize::from(which) % 2];
                    let shift = if high { 32 } else { 0 };
                    *multiplier &= !(0xffff_ffff << shift);
                    *multiplier |= u64::from(value) << shift;
                }
            }
        }
        Ok(())
    }

    /// Grants the command bus to an engine.
    fn grant(&mut self, cycle: u64, kernel: &mut Kernel<Event>) -> Result<(), Refused> {
        if cycle < self.free {
            return Ok(());
        }
        let now = kernel.now();
        self.asking.clear();
        for number in 0..self.engines.len() {
            let Some(&(handle, issued)) = self.engines[number].commands.front() else { continue };
            let (unit, order) = (self.pool[handle].unit, self.pool[handle].order);
            let Some(queues) = self.queues(unit) else {
                return Err(Refused(format!("this chip has no unit {unit:?}")));
            };
            if issued < now && queues.has_room(order) {
                self.asking.insert(number);
            }
        }
        let Some(number) = self.arbiter.grant(&self.asking) else { return Ok(()) };
        let Some((handle, _)) = self.engines[number].commands.pop_front() else { return Ok(()) };
        let (unit, order) = (self.pool[handle].unit, self.pool[handle].order);
        if let Some(queues) = self.queues(unit) {
            queues.reserve(order);
        }
        self.granted += 1;
        self.free = cycle + u64::from(self.spec.command_bus.interval_cycles);
        let arrival = cycle + u64::from(self.spec.command_bus.latency_cycles);
        kernel.send_at(self.spec.core.clock.edge(arrival), Event::Arrive(handle));
        Ok(())
    }
}

impl<E: EnergySink> Model for Chip<E> {
    type Event = Event;

    fn arrive(&mut self, event: Event, kernel: &mut Kernel<Event>) {
        match event {
            Event::Arrive(handle) => {
                let now = kernel.now();
                let (unit, order) = (self.pool[handle].unit, self.pool[handle].order);
                let words = self.pool[handle].words_out;
                if let Some(queues) = self.queues(unit) {
                    queues.push(handle, order);
                }
                if words > 0 {
                    let cycle = self.core_cycle(now);
                    let (pair, number) = self.buses(unit);
                    let from = cycle + pair.pull_cycles;
                    pair.pull.add(number, handle, words, from, (1, words));
                }
                self.note(now, What::Arrive, handle, 0);
                kernel.wake(wireloom_sim::Unit(0));
            }
            Event::Done(handle) => self.done(handle, kernel),
            Event::Signal(engine, context, signal) => self.signal(engine, context, signal, kernel),
            Event::Card(event) => {
                let mut events = kernel.wrapped(Event::Card);
                let signalled = self.cards.arrive(event, &mut self.fbi, &mut events);
                if let Some(thread) = signalled {
                    self.signal_thread(thread, Signal::START_RECEIVE, kernel);
                }
                if std::mem::take(&mut self.cards.is_marked) {
                    self.govern(true, kernel);
                }
                self.stop_drained(kernel);
            }
            Event::Tick => self.tick(kernel),
            Event::Settled(engine) => self.settled(engine.into(), kernel),
            Event::Sample => {
                self.post(kernel);
                if let Some(interval) = self.sample {
                    kernel.send(interval, Event::Sample);
                }
            }
        }
    }

    fn cycle(&mut self, unit: wireloom_sim::Unit, kernel: &mut Kernel<Event>) -> Activity {
        let done = match unit.0 {
            0 => self.core(kernel),
            number => self.engine_cycle(number as usize - 1, kernel),
        };
        match done {
            Ok(activity) => activity,
            Err(refused) => {
                self.fail(refused, kernel);
                Activity::Asleep
            }
        }
    }
}

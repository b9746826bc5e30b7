//! The chip: engines, units, buses and line cards, and the transfers between them.

mod commands;
mod control;
mod engines;

use wireloom_isa::microengine::{Operation, Order, Signal, TransferFile, Unit};

use wireloom_sim::{Activity, EnergySink, EventSink, Kernel, Model, SpecError, Time};

use crate::bus::Bus;
use crate::cards::{CardEvent, Cards};
use crate::energy::Ledger;
use crate::engine::{Microengine, Program};
use crate::network::Network;
use crate::options::{Fault, Options};
use crate::request::{Handle, MAX_WORDS, Pool, Request};
use crate::spec::Spec;
use crate::trace::{Event as Traced, Trace, What};
use crate::units::fbi::Effect;
use crate::units::{Fbi, HashUnit, Msf, Refused, Scratch, Sdram, Sram};

pub use control::{Control, Did};

/// Units that share the SRAM pair of buses.
const SRAM_BUS_UNITS: usize = 5;
/// Words of status that a thread of version 2 gets with an MPKT.
const STATUS_WORDS: u8 = 4;

/// Events of the chip.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A command arrives at its unit.
    Arrive(Handle),
    /// A unit has finished a command.
    Done(Handle),
    /// An event of the line cards.
    Card(CardEvent),
    /// A governor period ends.
    Tick,
    /// An engine has reached its new voltage and clock.
    Settled(u8),
    /// A sampling interval of the energy record ends.
    Sample,
    /// The timer of a context expires: engine, context and signal.
    Signal(u8, u8, Signal),
}

/// A pair of data buses.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Carries words from engines.
    pub pull: Bus,
    /// Carries words to engines.
    pub push: Bus,
    push_cycles: u64,
    pull_cycles: u64,
}

#[derive(Clone, Debug)]
pub struct Chip<E = ()> {
    /// The machine description.
    pub spec: Spec,
    pool: Pool,
    pub engines: Vec<Microengine>,
    /// For each sleeping engine, the edge of its clock at which it fell asleep.
    asleep: Vec<Option<u64>>,
    pub sram: Sram,
    pub sdram: Sdram,
    pub scratch: Scratch,
    pub hash: HashUnit,
    /// The FIFO and bus interface, with the chip's registers.
    pub fbi: Fbi,
    /// The command path to RBUF and TBUF (version 2).
    pub msf: Msf,
    pub cards: Cards,
    /// The buses that SRAM, scratchpad, hash unit, FBI and MSF share, one pair for each cluster.
    pub sram_bus: Vec<Pair>,
    /// The SDRAM buses, one pair for each cluster.
    pub sdram_bus: Vec<Pair>,
    /// The command network.
    pub network: Network,
    effects: Vec<Effect>,
    pub trace: Trace,
    pub energy: E,
    /// The counts that the energy sink has already received.
    pub(crate) ledger: Ledger,
    /// Voltages and clocks of engines.
    pub control: Control,
    /// The sampling interval of the energy record, if it has one.
    sample: Option<Time>,
    fault: Option<Fault>,
    /// The reason why the run failed, with the engine and the address of the instruction at fault,
    /// if there is one.
    pub failed: Option<(Refused, Option<(usize, u16)>)>,
}

impl<E: EnergySink> Chip<E> {
    /// Creates a chip. `programs` holds a program and a mask of active contexts for each engine.
    pub(crate) fn new(
        spec: &Spec,
        programs: Vec<(Program, u8)>,
        options: &Options,
        energy: E,
    ) -> Result<Self, SpecError> {
        let engines = programs.into_iter().enumerate();
        let engines: Vec<Microengine> = engines
            .map(|(number, (program, mask))| {
                Microengine::new(number as u8, &spec.engine, program, mask)
            })
            .collect::<Result<_, _>>()?;
        let pairs = |bus: crate::spec::DataBusSpec, units: usize| {
            let pair = Pair {
                pull: Bus::new(bus, units),
                push: Bus::new(bus, units),
                push_cycles: bus.push_cycles.into(),
                pull_cycles: bus.pull_cycles.into(),
            };
            vec![pair; spec.clusters as usize]
        };
        let count = engines.len();
        let share = spec.engine.version.sizes().contexts;
        let mut chip = Self {
            pool: Pool::default(),
            asleep: vec![None; count],
            engines,
            sram: Sram::new(spec.sram),
            sdram: Sdram::new(spec.sdram),
            scratch: Scratch::new(spec.scratch),
            hash: HashUnit::new(spec.hash),
            fbi: Fbi::new(spec, count, share),
            msf: Msf::new(spec.msf, share as u32),
            cards: Cards::new(spec, options)?,
            sram_bus: pairs(spec.sram_bus, SRAM_BUS_UNITS + spec.sram.channels as usize - 1),
            sdram_bus: pairs(spec.sdram_bus, spec.sdram.channels as usize),
            network: Network::new(
                &spec.command_bus,
                count,
                spec.clusters as usize,
                spec.targets() as usize,
            )?,
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
            Some(Fault::Overtaking) => {
                let channels = &mut chip.sram.channels;
                channels.iter_mut().for_each(|channel| channel.queues.overtakes = true);
            }
            Some(Fault::WideBus) => {
                chip.sram_bus.iter_mut().for_each(|pair| pair.push.is_doubled = true);
            }
            Some(Fault::NoWaiting) => {
                chip.engines.iter_mut().for_each(|engine| engine.runs_early = true);
            }
            _ => {}
        }
        Ok(chip)
    }

    /// The first cycle of the core clock at or after a time.
    pub fn core_cycle(&self, now: Time) -> u64 {
        self.spec.core.clock.edge_from(now)
    }

    /// The sampling interval of the energy record, if it has one.
    pub(crate) fn sample(&self) -> Option<Time> {
        self.sample
    }

    /// The data buses of all clusters: SRAM push and pull, SDRAM push and pull.
    pub fn data_buses(&self) -> [Vec<&Bus>; 4] {
        [
            self.sram_bus.iter().map(|pair| &pair.push).collect(),
            self.sram_bus.iter().map(|pair| &pair.pull).collect(),
            self.sdram_bus.iter().map(|pair| &pair.push).collect(),
            self.sdram_bus.iter().map(|pair| &pair.pull).collect(),
        ]
    }

    /// The count of commands in flight.
    pub fn commands(&self) -> usize {
        self.pool.len()
    }

    /// The idle cycles of a sleeping engine that its counters do not include yet.
    pub(crate) fn unslept(&self, engine: usize, kernel: &Kernel<Event>) -> u64 {
        self.asleep[engine].map_or(0, |since| kernel.edges(engine + 1).saturating_sub(since))
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

    fn fail(&mut self, refused: Refused, at: Option<(usize, u16)>, kernel: &mut Kernel<Event>) {
        self.failed.get_or_insert((refused, at));
        kernel.stop();
    }

    /// Delivers a signal to a context.
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

    /// Refuses a register write that names a thread which the chip does not have.
    fn has_thread(&self, register: &str, thread: u32) -> Result<(), Refused> {
        let share = self.threads_each();
        let engine = self.engines.get(thread as usize / share);
        match engine.is_some_and(|engine| thread as usize % share < engine.contexts().len()) {
            true => Ok(()),
            false => Err(Refused(format!("{register}: there is no thread {thread}"))),
        }
    }

    /// Delivers a signal to a thread, by its number on the chip.
    fn signal_thread(&mut self, thread: u8, signal: Signal, kernel: &mut Kernel<Event>) {
        let share = self.threads_each() as u8;
        self.signal(thread / share, thread % share, signal, kernel);
    }

    /// Runs a core cycle: everything except the engines.
    fn core(&mut self, kernel: &mut Kernel<Event>) -> Result<Activity, Refused> {
        let now = kernel.now();
        let cycle = self.core_cycle(now);
        for cluster in 0..self.sram_bus.len() {
            self.carry(TransferFile::Sram, cluster, cycle, kernel);
            self.carry(TransferFile::Sdram, cluster, cycle, kernel);
        }
        self.serve(cycle, kernel)?;
        self.grant(cycle, kernel);
        let is_waiting = self.engines.iter().any(|engine| !engine.commands.is_empty())
            || self.sram.is_waiting()
            || self.sdram.is_waiting()
            || !self.scratch.queues.is_empty()
            || !self.hash.queues.is_empty()
            || !self.fbi.queues.is_empty()
            || !self.msf.queues.is_empty();
        if is_waiting {
            return Ok(Activity::Awake);
        }
        let pairs = self.sram_bus.iter().chain(&self.sdram_bus);
        let buses = pairs.flat_map(|pair| [&pair.pull, &pair.push]);
        let next = buses.filter_map(|bus| bus.next_cycle(cycle)).min();
        Ok(next.map_or(Activity::Asleep, |next| match next - cycle {
            1 => Activity::Awake,
            cycles => Activity::After(cycles),
        }))
    }

    /// Carries out the effects of register writes.
    fn make_effects(&mut self, kernel: &mut Kernel<Event>) -> Result<(), Refused> {
        let mut effects = std::mem::take(&mut self.effects);
        for effect in effects.drain(..) {
            match effect {
                Effect::Signal { thread, signal } => {
                    self.has_thread("inter_thd_sig", thread)?;
                    self.signal_thread(thread as u8, signal, kernel);
                }
                Effect::Ring { number, value } => self.scratch.set_ring(number.into(), value)?,
                Effect::SramRing { number, value } => self.sram.set_ring(number.into(), value)?,
                Effect::Receive(wanted) => {
                    self.has_thread("rcv_req", wanted.thread.into())?;
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
                Effect::Multiplier { which, word, value } => {
                    let multiplier = &mut self.hash.multipliers[usize::from(which) % 3];
                    let shift = 32 * u32::from(word);
                    *multiplier &= !(0xffff_ffff << shift);
                    *multiplier |= u128::from(value) << shift;
                }
            }
        }
        self.effects = effects;
        Ok(())
    }

    /// Pushes the status of an MPKT to a thread of version 2. No command asked for these words.
    fn push_status(&mut self, thread: u8, element: u16, kernel: &mut Kernel<Event>) {
        let share = self.threads_each() as u8;
        let (engine, context) = (thread / share, thread % share);
        let answers = self.fbi.answers.get_mut(usize::from(thread));
        let Some(answer) = answers.and_then(std::collections::VecDeque::pop_front) else { return };
        let found = &self.fbi.receive[usize::from(element)];
        let mut data = [0; MAX_WORDS];
        data[..2].copy_from_slice(&found.control);
        data[2..4].copy_from_slice(&found.arrival);
        let Some(registers) = self.engines.get(usize::from(engine)).map(|engine| &engine.registers)
        else {
            return;
        };
        let register = registers.transfer(context, answer.register);
        let request = Request {
            id: 0,
            engine,
            context,
            receiver: context,
            unit: Unit::Msf,
            channel: 0,
            cluster: (usize::from(engine) * self.sram_bus.len() / self.engines.len()) as u8,
            operation: Operation::Read,
            address: element.into(),
            count: STATUS_WORDS,
            register,
            fifo: 0,
            value: 0,
            order: Order::Default,
            signal: Some(answer.signal),
            words_out: 0,
            words_in: STATUS_WORDS,
            moved: 0,
            is_ready: true,
            data,
        };
        let handle = self.pool.insert(request);
        let from = self.core_cycle(kernel.now()) + 1;
        let (pair, number) = self.buses(handle);
        pair.push.add(number, handle, STATUS_WORDS, from, (1, 1));
        kernel.wake(wireloom_sim::Unit(0));
    }
}

impl<E: EnergySink> Model for Chip<E> {
    type Event = Event;

    fn arrive(&mut self, event: Event, kernel: &mut Kernel<Event>) {
        match event {
            Event::Arrive(handle) => self.arrived(handle, kernel),
            Event::Done(handle) => self.done(handle, kernel),
            Event::Signal(engine, context, signal) => self.signal(engine, context, signal, kernel),
            Event::Card(event) => {
                let mut events = kernel.wrapped(Event::Card);
                let signalled = self.cards.arrive(event, &mut self.fbi, &mut events);
                match signalled {
                    Some((thread, element)) if self.spec.has_msf() => {
                        self.push_status(thread, element, kernel);
                    }
                    Some((thread, _)) => {
                        self.signal_thread(thread, Signal::START_RECEIVE, kernel);
                    }
                    None => {}
                }
                if std::mem::take(&mut self.cards.is_marked) {
                    self.govern(true, kernel);
                }
                self.stop_drained(kernel);
                if self.cards.becomes_warm() {
                    kernel.stop();
                }
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
                let number = (unit.0 as usize).checked_sub(1);
                let at = number.and_then(|number| {
                    let engine = &self.engines[number];
                    let active = engine.active()?;
                    Some((number, engine.contexts()[usize::from(active)].pc))
                });
                self.fail(refused, at, kernel);
                Activity::Asleep
            }
        }
    }
}

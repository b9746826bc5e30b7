//! The governor's view of the chip, and the execution of its actions.

use wireloom_isa::microengine::Signal;
use wireloom_power::PartKey;
use wireloom_sim::energy::Class;
use wireloom_sim::{EnergySink, EventSink, Kernel, Time};

use super::{Chip, Event};
use crate::energy::{EnginePart, GATED, ON, engine_part, regulator};
use crate::engine::State;
use crate::governor::{Action, EngineSeen, Governor, Mode, Seen};
use crate::spec::Spec;

/// Voltages, clocks and modes of engines.
#[derive(Clone, Debug)]
pub struct Control {
    governor: Option<Governor>,
    period: Time,
    modes: Vec<Mode>,
    /// Whether the voltage of each engine is changing. Stopped engines can change voltage too.
    changing: Vec<bool>,
    steps: Vec<usize>,
    /// Whether at least one engine is stopping.
    is_stopping: bool,
    /// The values at the end of the last period: time, cycles and idle cycles of each engine, MPKTs
    /// that the bus carried and that arrived, busy picoseconds of SDRAM and the bus, the integral
    /// of waiting threads, and lost packets.
    before: Before,
    /// Whether an engine was stopped or slow after the last period.
    held_back: bool,
    /// The counts of the governor's actions and their costs.
    pub did: Did,
}

#[derive(Clone, Debug, Default)]
struct Before {
    at: Time,
    engines: Vec<(u64, u64)>,
    mpkts: u64,
    came: u64,
    units: [f64; 2],
    waited: u128,
    lost: u64,
}

/// The counts of a governor's actions and their costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Did {
    pub slower: u64,
    pub faster: u64,
    /// The number of times that an engine's clock stopped.
    pub stopped: u64,
    /// The number of times that an engine's clock started again.
    pub started: u64,
    /// The time, in whole periods, in which a packet had waited at a port for longer than
    /// `governor.wait_ns` while an engine was stopped or slow.
    pub late: Time,
    /// Packets that found no room at a port in periods with a stopped or slow engine.
    pub lost: u64,
}

impl Control {
    pub(super) fn new(spec: &Spec, engines: usize) -> Self {
        let governor = Governor::new(&spec.governor, spec.ports.receive_mpkts);
        Self {
            period: spec.engine.clock.cycles(spec.governor.period_cycles.into()),
            governor,
            modes: vec![Mode::Running; engines],
            changing: vec![false; engines],
            steps: vec![0; engines],
            is_stopping: false,
            held_back: false,
            before: Before { engines: vec![(0, 0); engines], ..Before::default() },
            did: Did::default(),
        }
    }

    /// The time between two decisions; `None` without a governor.
    pub fn period(&self) -> Option<Time> {
        self.governor.as_ref().map(|_| self.period)
    }

    /// The backlog of a port, in MPKTs, at which the governor is asked at once.
    pub(super) fn mark(&self, receive_mpkts: u32) -> u32 {
        self.governor.as_ref().map_or(u32::MAX, |governor| governor.mark(receive_mpkts))
    }

    pub fn mode(&self, engine: usize) -> Mode {
        self.modes[engine]
    }

    /// Whether an engine is stopped, or slower than without a governor.
    fn is_held_back(&self) -> bool {
        let is_off = |mode: &Mode| matches!(mode, Mode::Stopping | Mode::Stopped);
        self.modes.iter().any(is_off) || self.steps.iter().any(|step| *step > 0)
    }

    /// The step of an engine, an index into `governor.steps`.
    pub fn step(&self, engine: usize) -> usize {
        self.steps[engine]
    }
}

impl<E: EnergySink> Chip<E> {
    /// Ends a period.
    pub(super) fn tick(&mut self, kernel: &mut Kernel<Event>) {
        self.count_late(kernel.now());
        self.govern(false, kernel);
        self.control.held_back = self.control.is_held_back();
        kernel.send(self.control.period, Event::Tick);
    }

    /// Counts delays and losses of a period in which an engine was stopped or slow.
    fn count_late(&mut self, now: Time) {
        let lost = self.cards.lost_at_input();
        if self.control.held_back || self.control.is_held_back() {
            let Control { did, before, .. } = &mut self.control;
            did.lost += lost - before.lost;
            if self.cards.longest_wait(now) > self.spec.governor.wait() {
                did.late += now.since(before.at);
            }
        }
        self.control.before.lost = lost;
    }

    /// Posts the counts up to now to the energy sink.
    pub(crate) fn post(&mut self, kernel: &Kernel<Event>) {
        let mut ledger = std::mem::take(&mut self.ledger);
        // The events happened before now, so they belong to the interval that ends now.
        let at = kernel.now().since(Time(1));
        for (component, class, events) in ledger.news(self, kernel) {
            self.energy.count(component, class, at, events);
        }
        self.ledger = ledger;
    }

    /// Asks the governor and carries out its actions, at the end of a period or because a port
    /// fills.
    pub(super) fn govern(&mut self, is_urgent: bool, kernel: &mut Kernel<Event>) {
        let Some(mut governor) = self.control.governor.take() else { return };
        let seen = self.observe(is_urgent, kernel);
        for action in governor.decide(&seen) {
            match action {
                Action::Step { engine, step } => self.take_step(engine, step, kernel),
                Action::Stop { engine } => self.stop(engine, kernel),
                Action::Start { engine } => self.start(engine, kernel),
            }
        }
        self.control.governor = Some(governor);
    }

    fn observe(&mut self, is_urgent: bool, kernel: &Kernel<Event>) -> Seen {
        let now = kernel.now();
        let before = &self.control.before;
        let elapsed = now.since(before.at).0.max(1) as f64;
        let counts = self.engines.iter().enumerate().map(|(number, engine)| {
            let slept = self.unslept(number, kernel);
            (engine.cycles() + slept, engine.used.idle + slept)
        });
        let counts: Vec<(u64, u64)> = counts.collect();
        let (mpkts, came) = (self.cards.mpkts(), self.cards.came());
        let occupied = self.sdram.sum(|channel| channel.occupied) as f64 * 1e12
            / (self.spec.core.clock.rate() * self.sdram.channels.len() as f64);
        let units = [occupied, self.cards.bus_time().0 as f64];
        let busy = units.iter().zip(&before.units).map(|(now, before)| now - before);
        let waited = self.cards.requests().waited(now);
        let engines = counts.iter().zip(&before.engines).enumerate().map(|(number, (is, was))| {
            EngineSeen {
                // NaN if the engine had no cycle.
                idle: (is.1 - was.1) as f64 / (is.0 - was.0) as f64,
                step: self.control.steps[number],
                mode: self.control.modes[number],
                is_changing: self.control.changing[number],
                receives: self.cards.requests().receivers(number) > 0,
                can_stop: self.can_stop(number),
            }
        });
        let takes = |number: usize| !self.cards.requests().is_withheld(number);
        let threads = (0..self.engines.len()).filter(|number| takes(*number));
        let seen = Seen {
            engines: engines.collect(),
            waiting: self.cards.requests().waiting(),
            mean_waiting: (waited - before.waited) as f64 / elapsed,
            threads: threads.map(|number| self.cards.requests().receivers(number)).sum(),
            backlog: self.cards.backlog(),
            served: mpkts - before.mpkts,
            came: came.saturating_sub(before.came),
            busiest: busy.fold(0.0, f64::max) / elapsed,
            inside: self.cards.inside(),
            is_late: self.cards.longest_wait(now) > self.spec.governor.wait(),
            is_urgent,
        };
        if !is_urgent {
            let lost = self.control.before.lost;
            self.control.before =
                Before { at: now, engines: counts, mpkts, came, units, waited, lost };
        }
        seen
    }

    /// Whether every active context of an engine asks for packets, and every port keeps another
    /// engine if this one stops.
    fn can_stop(&self, engine: usize) -> bool {
        let contexts = self.engines[engine].contexts().iter();
        let mut running =
            contexts.enumerate().filter(|(_, context)| context.state != State::Stopped);
        let thread = |context: usize| (self.threads_each() * engine + context) as u8;
        let requests = self.cards.requests();
        let receives = running.all(|(context, _)| requests.last_port(thread(context)).is_some());
        receives
            && self.control.modes[engine] == Mode::Running
            && requests.receivers(engine) > 0
            && !self.cards.would_orphan(engine)
    }

    /// Threads of an engine: the thread number is `threads_each * engine + context`.
    pub(super) fn threads_each(&self) -> usize {
        self.spec.engine.version.sizes().contexts
    }

    fn take_step(&mut self, engine: usize, step: usize, kernel: &mut Kernel<Event>) {
        let old = self.control.steps[engine];
        let mode = self.control.modes[engine];
        let can = matches!(mode, Mode::Running | Mode::Stopped) && !self.control.changing[engine];
        if !can || old == step {
            return;
        }
        self.post(kernel);
        let now = kernel.now();
        let class = Class(step.min(old) as u32);
        self.energy.count(regulator(self.engines.len(), engine), class, now, 1);
        if step < old {
            self.control.did.faster += 1;
            // The voltage rises before the clock does.
            self.set_voltage(engine, step, now);
        } else {
            self.control.did.slower += 1;
        }
        self.control.steps[engine] = step;
        self.control.changing[engine] = true;
        if mode == Mode::Running {
            self.control.modes[engine] = Mode::Changing;
        }
        let change = self.spec.governor.change();
        kernel.set_rate(engine + 1, self.spec.governor.steps[step].clock, change);
        kernel.send(change, Event::Settled(engine as u8));
    }

    /// Completes a change of voltage.
    pub(super) fn settled(&mut self, engine: usize, kernel: &Kernel<Event>) {
        self.post(kernel);
        self.control.changing[engine] = false;
        if self.control.modes[engine] == Mode::Changing {
            self.control.modes[engine] = Mode::Running;
        }
        self.set_voltage(engine, self.control.steps[engine], kernel.now());
    }

    fn set_voltage(&mut self, engine: usize, step: usize, now: Time) {
        let millivolts = self.spec.governor.steps[step].millivolts;
        for part in EnginePart::ALL {
            self.energy.set_voltage(engine_part(engine, *part), millivolts, now);
        }
    }

    fn stop(&mut self, engine: usize, kernel: &mut Kernel<Event>) {
        if self.can_stop(engine) {
            self.control.modes[engine] = Mode::Stopping;
            self.control.is_stopping = true;
            self.cards.withhold(engine, true, kernel.now());
            self.stop_drained(kernel);
        }
    }

    /// Stops the clocks of stopping engines that hold no packet.
    #[inline]
    pub(super) fn stop_drained(&mut self, kernel: &mut Kernel<Event>) {
        if self.control.is_stopping {
            self.stop_all_drained(kernel);
        }
    }

    #[cold]
    fn stop_all_drained(&mut self, kernel: &mut Kernel<Event>) {
        let mut is_stopping = false;
        for engine in 0..self.engines.len() {
            if self.control.modes[engine] != Mode::Stopping {
                continue;
            }
            if !self.is_drained(engine) {
                is_stopping = true;
                continue;
            }
            self.post(kernel);
            self.control.modes[engine] = Mode::Stopped;
            self.control.did.stopped += 1;
            kernel.gate(engine + 1);
            self.set_state(engine, GATED, kernel.now());
        }
        self.control.is_stopping = is_stopping;
    }

    /// Whether all contexts of an engine wait for a packet that they have asked for and hold none.
    fn is_drained(&self, number: usize) -> bool {
        let (engine, threads) = (&self.engines[number], self.threads_each());
        let mut contexts = engine.contexts().iter().enumerate();
        engine.is_quiet()
            && contexts.all(|(place, context)| {
                context.state == State::Stopped
                    || context.state == State::Waiting
                        && self.waits_for_packet(number, place)
                        && self.cards.requests().is_parked((threads * number + place) as u8)
                        && !self.cards.is_coming((threads * number + place) as u8)
            })
    }

    /// Whether a context waits for the signal that announces a packet.
    fn waits_for_packet(&self, engine: usize, context: usize) -> bool {
        let mask = self.engines[engine].contexts()[context].mask;
        let thread = self.threads_each() * engine + context;
        match self.fbi.answers[thread].front() {
            Some(answer) => mask == answer.signal.bit(),
            None => mask == Signal::START_RECEIVE.bit(),
        }
    }

    fn start(&mut self, engine: usize, kernel: &mut Kernel<Event>) {
        let now = kernel.now();
        match self.control.modes[engine] {
            Mode::Stopping => {}
            Mode::Stopped => {
                self.post(kernel);
                self.control.did.started += 1;
                kernel.ungate(engine + 1, self.spec.governor.wake());
                self.set_state(engine, ON, now);
            }
            Mode::Running | Mode::Changing => return,
        }
        // A stopped engine that still changes its voltage gets no edge before the change is over.
        let is_changing = self.control.changing[engine];
        self.control.modes[engine] = if is_changing { Mode::Changing } else { Mode::Running };
        self.cards.withhold(engine, false, now);
        self.cards.kick(&mut self.fbi, &mut kernel.wrapped(Event::Card));
    }

    fn set_state(&mut self, engine: usize, state: wireloom_sim::energy::PowerState, now: Time) {
        for part in EnginePart::ALL {
            self.energy.set_state(engine_part(engine, *part), state, now);
        }
    }
}

//! A microengine: contexts that share a pipeline without preemption.
//!
//! Instructions compute in one stage, in order, one in a cycle; results are forwarded, so no
//! instruction waits for another one. What costs cycles is a change of the stream: a taken branch
//! aborts the instructions that were fetched after it, a change of context aborts one, and an
//! engine that was idle fills its pipeline. So the pipeline is a count of cycles until the next
//! instruction computes.

mod contexts;
mod execute;
mod program;
mod registers;
mod second;

pub use contexts::{Context, State};
pub use program::{Decoded, Program};
pub use registers::Registers;
pub use second::Outside;
use second::Second;

use std::collections::VecDeque;

use wireloom_isa::microengine::{Flags, Instruction, Signal};
use wireloom_machine::LineCounts;
use wireloom_sim::parts::arbiter::{Arbiter, Requests};
use wireloom_sim::{SpecError, Time};

use crate::request::{Handle, Pool};
use crate::spec::EngineSpec;
use crate::units::Refused;

/// What an engine did in its cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// An instruction computed.
    pub busy: u64,
    /// The slot was that of an aborted instruction.
    pub aborted: u64,
    /// A command found no room.
    pub stalled: u64,
    /// No context was ready, or the pipeline filled after that.
    pub idle: u64,
}

/// The outcome of a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// An instruction computed.
    Busy,
    /// A slot was lost.
    Lost,
    /// No context is ready.
    Idle,
}

/// What an engine sees of the chip.
pub struct Around<'a> {
    /// Commands on their way.
    pub pool: &'a mut Pool,
    /// The time.
    pub now: Time,
    /// Ports that have an MPKT.
    pub receive_ready: bool,
    /// Whether the transmit FIFO is full.
    pub transmit_full: bool,
    /// Scratchpad rings 0 to 3 that are full, a bit each (version 2).
    pub full_rings: u8,
    /// A context that has begun to run, and the signals that it waited for.
    pub began: Option<(u8, u16)>,
    /// A command that was issued.
    pub issued: Option<Handle>,
}

/// What happens when the defer slots have been executed.
#[derive(Clone, Copy, Debug)]
struct Pending {
    slots: u8,
    aborts: u8,
    then: Then,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Branch(u16),
    Wait { mask: u16, any: bool },
    Yield,
    Kill,
    Breakpoint,
}

/// What the instruction before has left: its operands, as they were read, and its result.
#[derive(Clone, Copy, Debug, Default)]
struct Previous {
    a: u32,
    b: u32,
    result: u32,
}

/// A microengine.
#[derive(Clone, Debug)]
pub struct Engine {
    number: u8,
    spec: EngineSpec,
    program: Program,
    /// The registers.
    pub registers: Registers,
    /// What only version 2 has.
    pub(crate) second: Second,
    contexts: Vec<Context>,
    ready: Requests,
    arbiter: Arbiter,
    active: Option<u8>,
    /// Slots until the next instruction computes, and whether they count as idle.
    bubbles: u8,
    fills: bool,
    pending: Option<Pending>,
    flags: Flags,
    previous: Previous,
    /// Whether a context has come to a breakpoint.
    is_halted: bool,
    /// A value that the next `immed` takes.
    csr: Option<u32>,
    /// The results of `find_bset`, the last one first.
    found: [u32; 2],
    /// Commands that wait for the command bus, and when they were issued.
    pub commands: VecDeque<(Handle, Time)>,
    /// What it did.
    pub used: Use,
    /// How often each instruction of the control store was executed.
    executed: Vec<u64>,
    /// Cycles in which contexts waited at each, had the engine without executing it, or fetched what
    /// a branch then aborted.
    waits: Vec<u64>,
    /// Whether contexts run without their signals: a fault, for tests.
    pub runs_early: bool,
}

/// Operations that energy models distinguish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Additions, subtractions and addresses of commands.
    pub add: u64,
    /// Other operations of the ALU.
    pub logic: u64,
    /// Instructions that use the shifter.
    pub shift: u64,
    /// Reads of general-purpose registers.
    pub read: u64,
    /// Writes of general-purpose registers.
    pub write: u64,
    /// Accesses of instructions to transfer registers.
    pub transfer: u64,
    /// Reads of the engine's own control registers.
    pub csr: u64,
    /// Commands.
    pub command: u64,
}

impl Operations {
    /// Adds another count, this number of times.
    fn add(&mut self, other: &Self, times: u64) {
        self.add += other.add * times;
        self.logic += other.logic * times;
        self.shift += other.shift * times;
        self.read += other.read * times;
        self.write += other.write * times;
        self.transfer += other.transfer * times;
        self.csr += other.csr * times;
        self.command += other.command * times;
    }
}

impl Engine {
    /// Creates an engine whose contexts `enabled` (a bit each) start with a program; the others
    /// never run.
    ///
    /// # Errors
    /// If a number of the description is out of its range.
    pub fn new(
        number: u8,
        spec: &EngineSpec,
        program: Program,
        enabled: u8,
    ) -> Result<Self, SpecError> {
        let count = spec.contexts as usize;
        let (executed, waits) = (vec![0; program.len()], vec![0; program.len()]);
        let mut ready = Requests::new(count);
        let contexts = (0..count)
            .map(|context| {
                let runs = enabled >> context & 1 != 0 && !program.is_empty();
                if runs {
                    ready.insert(context);
                }
                Context::new(program.entry(), runs)
            })
            .collect();
        Ok(Self {
            number,
            spec: spec.clone(),
            program,
            registers: Registers::new(spec.version),
            second: Second::new(number, spec.version.sizes()),
            contexts,
            ready,
            arbiter: Arbiter::new(&spec.arbiter, count)?,
            active: None,
            bubbles: 0,
            fills: false,
            pending: None,
            flags: Flags::default(),
            previous: Previous::default(),
            is_halted: false,
            csr: None,
            found: [16; 2],
            commands: VecDeque::new(),
            used: Use::default(),
            executed,
            waits,
            runs_early: false,
        })
    }

    /// Its contexts.
    pub fn contexts(&self) -> &[Context] {
        &self.contexts
    }

    /// The context that runs.
    pub fn active(&self) -> Option<u8> {
        self.active
    }

    /// How often each instruction of its control store was executed.
    pub fn executed(&self) -> &[u64] {
        &self.executed
    }

    /// What contexts did at each instruction of its control store, up to a cycle of the engine.
    pub fn counts(&self, cycle: u64) -> Vec<LineCounts> {
        let both = self.executed.iter().zip(&self.waits);
        let mut counts: Vec<LineCounts> = both
            .map(|(times, waits)| LineCounts {
                instructions: *times,
                executing: *times,
                waiting: *waits,
            })
            .collect();
        for context in &self.contexts {
            if matches!(context.state, State::Ready | State::Waiting)
                && let Some(counts) = counts.get_mut(usize::from(context.left_at))
            {
                counts.waiting += cycle.saturating_sub(context.left_in);
            }
        }
        counts
    }

    /// Counts cycles in which a context stands at an instruction.
    #[inline]
    fn waits(&mut self, address: u16, cycles: u64) {
        if let Some(waits) = self.waits.get_mut(usize::from(address)) {
            *waits += cycles;
        }
    }

    /// What its instructions used so far.
    pub fn operations(&self) -> Operations {
        let mut sum = Operations::default();
        for (address, times) in self.executed.iter().enumerate() {
            if *times > 0
                && let Some(decoded) = self.program.at(address as u16)
            {
                sum.add(&decoded.operations(), *times);
            }
        }
        sum
    }

    /// Whether no context runs or wants to, and no command waits.
    pub fn is_quiet(&self) -> bool {
        self.active.is_none() && self.ready.is_empty() && self.commands.is_empty()
    }

    /// Its program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Whether the next instruction asks whether the transmit FIFO or a ring is full.
    pub fn asks_for_room(&self) -> bool {
        let context = self.active.map(|active| &self.contexts[usize::from(active)]);
        let next = context.and_then(|context| self.program.at(context.pc));
        matches!(next, Some(Decoded { instruction: Instruction::BranchInput { .. }, .. }))
    }

    /// Cycles that it has had, idle ones as far as they were counted.
    pub fn cycles(&self) -> u64 {
        let Use { busy, aborted, stalled, idle } = self.used;
        busy + aborted + stalled + idle
    }

    /// A signal comes for a context. Returns whether the engine has something to do now.
    pub fn signal(&mut self, context: u8, signal: Signal, cycle: u64) -> bool {
        let Some(found) = self.contexts.get_mut(usize::from(context)) else { return false };
        found.signals |= signal.bit();
        if found.is_answered() {
            found.state = State::Ready;
            found.since(cycle);
            self.ready.insert(context.into());
        }
        self.active.is_none() && !self.ready.is_empty() && !self.is_halted
    }

    /// Whether a context has come to a breakpoint: none runs any more.
    pub fn is_halted(&self) -> bool {
        self.is_halted
    }

    /// Runs a cycle.
    ///
    /// # Errors
    /// If the program does something that has no meaning.
    #[inline]
    pub fn cycle(&mut self, around: &mut Around<'_>) -> Result<Cycle, Refused> {
        if self.bubbles > 0 {
            self.bubbles -= 1;
            *(if self.fills { &mut self.used.idle } else { &mut self.used.aborted }) += 1;
            return Ok(Cycle::Lost);
        }
        let Some(active) = self.active else {
            self.used.idle += 1;
            if self.ready.is_empty() || self.is_halted {
                return Ok(Cycle::Idle);
            }
            self.next_context(0, around);
            // The first instruction is fetched now.
            (self.bubbles, self.fills) = (self.spec.execute_stage.saturating_sub(1) as u8, true);
            return Ok(Cycle::Lost);
        };
        if !self.execute(active, around)? {
            self.used.stalled += 1;
            self.waits(self.contexts[usize::from(active)].pc, 1);
            return Ok(Cycle::Lost);
        }
        self.used.busy += 1;
        self.contexts[usize::from(active)].instructions += 1;
        if let Some(pending) = &mut self.pending {
            if pending.slots == 0 {
                let pending = *pending;
                self.pending = None;
                self.leave(active, pending, around);
            } else {
                pending.slots -= 1;
            }
        }
        Ok(Cycle::Busy)
    }

    /// Does what a branch or a change of context asks for, after its defer slots.
    fn leave(&mut self, active: u8, pending: Pending, around: &mut Around<'_>) {
        self.fills = false;
        self.bubbles = pending.aborts;
        let pc = self.contexts[usize::from(active)].pc;
        let cycle = self.cycles();
        // The last instruction before: the one that leaves, or one of its defer slots.
        let left_at = pc.saturating_sub(1);
        self.waits(left_at, pending.aborts.into());
        let context = &mut self.contexts[usize::from(active)];
        (context.left_at, context.left_in) = (left_at, cycle);
        match pending.then {
            Then::Branch(target) => {
                let aborted = pc..pc.saturating_add(pending.aborts.into());
                let stops = self.spec.prefetched_kill_stops
                    && aborted.into_iter().any(|at| self.program.kills(at));
                context.pc = target;
                if !stops {
                    return;
                }
                context.state = State::Stopped;
            }
            Then::Kill => context.state = State::Stopped,
            Then::Breakpoint => {
                context.state = State::Ready;
                self.ready.insert(active.into());
                self.is_halted = true;
            }
            Then::Yield => {
                context.state = State::Ready;
                (context.mask, context.any) = (0, false);
                self.ready.insert(active.into());
            }
            Then::Wait { mask, any } => {
                (context.mask, context.any) = (mask, any);
                context.state = State::Waiting;
                if context.is_answered() || self.runs_early {
                    context.state = State::Ready;
                    self.ready.insert(active.into());
                }
            }
        }
        context.since(cycle);
        context.swaps += 1;
        self.active = None;
        if !self.ready.is_empty() && !self.is_halted {
            self.next_context(pending.aborts, around);
        } else {
            // Nothing is fetched: the slots are idle ones.
            self.bubbles = 0;
        }
    }

    fn next_context(&mut self, bubbles: u8, around: &mut Around<'_>) {
        let Some(chosen) = self.arbiter.grant(&self.ready) else { return };
        self.ready.remove(chosen);
        let cycle = self.cycles();
        let Context { left_at, left_in, .. } = self.contexts[chosen];
        self.waits(left_at, cycle.saturating_sub(left_in));
        let context = &mut self.contexts[chosen];
        let mask = context.signals & context.mask;
        around.began = Some((chosen as u8, if context.any { mask } else { context.mask }));
        context.signals &= !context.mask;
        (context.mask, context.any) = (0, false);
        context.state = State::Running;
        context.since(cycle);
        self.active = Some(chosen as u8);
        self.bubbles = bubbles;
    }

    /// Counts idle cycles in which the engine slept.
    pub fn slept(&mut self, cycles: u64) {
        self.used.idle += cycles;
    }
}

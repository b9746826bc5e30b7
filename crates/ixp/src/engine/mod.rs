//! A microengine: contexts that share a pipeline without preemption.
//!
//! Instructions compute in one stage, in order, one in a cycle. Results are forwarded, so no
//! instruction waits for another one. Only changes of the instruction stream cost cycles: a taken
//! branch aborts the instructions that were fetched after it, a change of context aborts one, and
//! an idle engine must fill its pipeline. The pipeline is therefore modelled as a count of cycles
//! until the next instruction computes.

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

/// The use of an engine's cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// An instruction computed.
    pub busy: u64,
    /// The slot held an aborted instruction.
    pub aborted: u64,
    /// A command found no room.
    pub stalled: u64,
    /// No context was ready, or the pipeline filled after idle cycles.
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

/// The engine's view of the chip during a cycle.
pub struct Around<'a> {
    /// The commands in flight.
    pub pool: &'a mut Pool,
    pub now: Time,
    /// Whether a port has an MPKT.
    pub receive_ready: bool,
    /// Whether the transmit FIFO is full.
    pub transmit_full: bool,
    /// Scratchpad rings 0 to 3 that are full, a bit each (version 2).
    pub full_rings: u8,
    /// The context that began to run in this cycle, and the signals that it waited for.
    pub began: Option<(u8, u16)>,
    /// The command that was issued in this cycle.
    pub issued: Option<Handle>,
}

/// The effect that follows the defer slots.
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

/// The operands and the result of the previous instruction.
#[derive(Clone, Copy, Debug, Default)]
struct Previous {
    a: u32,
    b: u32,
    result: u32,
}

#[derive(Clone, Debug)]
pub struct Microengine {
    number: u8,
    spec: EngineSpec,
    program: Program,
    pub registers: Registers,
    /// The state that only version 2 has.
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
    /// Whether a context has reached a breakpoint.
    is_halted: bool,
    /// The value of a control register that was read; the next `immed` takes it.
    csr: Option<u32>,
    /// The results of `find_bset`, newest first.
    found: [u32; 2],
    /// Commands that wait for the command bus, each with its time of issue.
    pub commands: VecDeque<(Handle, Time)>,
    /// The use of the engine's cycles so far.
    pub used: Use,
    /// The number of executions of each instruction in the control store.
    executed: Vec<u64>,
    /// For each instruction, the cycles in which a context waited at it, was stalled at it, or lost
    /// slots after it to an abort.
    waits: Vec<u64>,
    /// A fault for tests: contexts run without waiting for their signals.
    pub runs_early: bool,
}

/// Counts of the operations that energy models distinguish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Additions, subtractions and addresses of commands.
    pub add: u64,
    /// Other operations of the ALU.
    pub logic: u64,
    /// Operations that use the shifter.
    pub shift: u64,
    /// Reads of general-purpose registers.
    pub read: u64,
    /// Writes of general-purpose registers.
    pub write: u64,
    /// Accesses to transfer registers by instructions.
    pub transfer: u64,
    /// Reads of the engine's own control registers.
    pub csr: u64,
    pub command: u64,
}

impl Operations {
    /// Adds another count `times` times.
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

impl Microengine {
    /// Creates an engine with a program. `enabled` is a bit mask of the contexts that start; the
    /// others never run.
    ///
    /// # Errors
    /// If a number of the description is out of range.
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

    pub fn contexts(&self) -> &[Context] {
        &self.contexts
    }

    /// The running context.
    pub fn active(&self) -> Option<u8> {
        self.active
    }

    /// The number of executions of each instruction in the control store.
    pub fn executed(&self) -> &[u64] {
        &self.executed
    }

    /// The counts of each instruction in the control store, up to a cycle of the engine.
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

    /// Counts cycles that a context spent at an instruction without executing it.
    #[inline]
    fn waits(&mut self, address: u16, cycles: u64) {
        if let Some(waits) = self.waits.get_mut(usize::from(address)) {
            *waits += cycles;
        }
    }

    /// The operations of all executed instructions so far.
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

    /// Whether no context is running or ready and no command waits.
    pub fn is_quiet(&self) -> bool {
        self.active.is_none() && self.ready.is_empty() && self.commands.is_empty()
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Whether the next instruction tests whether the transmit FIFO or a ring is full.
    pub fn asks_for_room(&self) -> bool {
        let context = self.active.map(|active| &self.contexts[usize::from(active)]);
        let next = context.and_then(|context| self.program.at(context.pc));
        matches!(next, Some(Decoded { instruction: Instruction::BranchInput { .. }, .. }))
    }

    /// The cycles so far, without idle cycles that are not yet counted.
    pub fn cycles(&self) -> u64 {
        let Use { busy, aborted, stalled, idle } = self.used;
        busy + aborted + stalled + idle
    }

    /// Delivers a signal to a context. Returns whether the engine has to wake up.
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

    /// Whether a context has reached a breakpoint. No context runs from then on.
    pub fn is_halted(&self) -> bool {
        self.is_halted
    }

    /// Runs a cycle.
    ///
    /// # Errors
    /// If the program does something undefined.
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
            // The fetch of the first instruction begins now.
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

    /// Carries out a branch or a change of context after its defer slots.
    fn leave(&mut self, active: u8, pending: Pending, around: &mut Around<'_>) {
        self.fills = false;
        self.bubbles = pending.aborts;
        let pc = self.contexts[usize::from(active)].pc;
        let cycle = self.cycles();
        // The last executed instruction: the one that leaves, or the last of its defer slots.
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
            // Nothing is fetched, so these slots are idle.
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

    /// Counts idle cycles during which the engine slept.
    pub fn slept(&mut self, cycles: u64) {
        self.used.idle += cycles;
    }
}

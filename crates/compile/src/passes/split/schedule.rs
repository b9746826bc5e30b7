//! Scheduling: which part of a split step each operation belongs to.
//!
//! Every operation gets a time `t = 2k + r`: the `k`-th part, `r = 0` in its request region, `r = 1` in its edit
//! region. Operations are looked at in program order and get the earliest time that their operands, and the order of
//! effects, allow:
//! - a pure operation: when its operands are there;
//! - a call: an even time; its reply is there at the odd time that follows. Two calls of one offload are in one part
//!   only if their guards exclude each other;
//! - a change of packet or context: an odd time, not before the reads that must not see it;
//! - a read: not before the changes that it must see;
//! - an exit: the jump of the part in which all effects before it in program order have been done, unless their guards
//!   exclude its own.

use std::collections::{BTreeSet, HashMap};

use wireloom_ir::{ContextId, EngineId, Exit, Op, OpKind, Step, Value};

use crate::analysis::effects::{CallEffects, Effects};
use crate::analysis::guards::Guards;
use crate::analysis::packet::{Access, Packets};
use crate::analysis::{Definitions, is_pure};
use crate::passes::PassOptions;

/// Why an operation, or the value that it computes, is not earlier: index of the operation that it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// Nothing made it wait.
    None,
    /// It uses the reply of a call.
    Reply(usize),
    /// It uses what a change of the packet's size answered.
    Resize(usize),
    /// It uses the offload that this call uses.
    Port(usize),
    /// It reads what this operation changes in the packet, or changes what it reads.
    Packet(usize),
    /// It uses a field that could not be read earlier, because the header port had served its words.
    Words(usize),
}

/// When everything happens.
pub(super) struct Schedule {
    /// Time of each operation.
    pub time: Vec<u32>,
    /// Time at which each value is there.
    pub value_time: Vec<u32>,
    /// For each read, the last time at which it would still see the same.
    pub until: Vec<u32>,
    /// Why each call, and each access that had to wait for the header port, is not in an earlier part.
    pub cause: Vec<Cause>,
    /// Whether reads must happen exactly when they are scheduled, since the header port is limited.
    pub fixed_reads: bool,
    /// Number of parts.
    pub parts: u32,
}

/// The earlier operations that later ones may have to wait for.
struct Past {
    op: usize,
    access: Access,
    guard: Option<Value>,
    call: Option<CallEffects>,
}

struct Scheduler<'a> {
    ops: &'a [Op],
    guards: Guards<'a>,
    packets: Packets<'a>,
    effects: &'a Effects,
    engine: EngineId,
    options: &'a PassOptions,
    schedule: Schedule,
    /// Why each value is not there earlier.
    value_cause: Vec<Cause>,
    /// Packet accesses so far.
    accesses: Vec<Past>,
    calls: Vec<usize>,
    context_reads: HashMap<ContextId, Vec<usize>>,
    context_writes: HashMap<ContextId, Vec<usize>>,
    /// Effects that exits wait for.
    effects_so_far: Vec<usize>,
    /// Header words touched in each region.
    words: HashMap<u32, BTreeSet<(Option<Value>, u64)>>,
}

/// Schedules the operations of a step of flat sequential code.
pub(super) fn schedule(
    step: &Step,
    ops: &[Op],
    effects: &Effects,
    engine: EngineId,
    options: &PassOptions,
) -> Schedule {
    let definitions = Definitions::of(step);
    let mut scheduler = Scheduler {
        ops,
        guards: Guards::new(&definitions),
        packets: Packets::new(effects, engine, step, &definitions),
        effects,
        engine,
        options,
        schedule: Schedule {
            time: vec![0; ops.len()],
            value_time: vec![0; step.values.len()],
            until: vec![u32::MAX; ops.len()],
            cause: vec![Cause::None; ops.len()],
            fixed_reads: options.header_words > 0,
            parts: 1,
        },
        value_cause: vec![Cause::None; step.values.len()],
        accesses: Vec::new(),
        calls: Vec::new(),
        context_reads: HashMap::new(),
        context_writes: HashMap::new(),
        effects_so_far: Vec::new(),
        words: HashMap::new(),
    };
    for index in 0..ops.len() {
        scheduler.place(index);
    }
    scheduler.schedule
}

/// The earliest time found so far, and what it waits for.
struct Earliest {
    time: u32,
    cause: Cause,
}

impl Earliest {
    fn after(&mut self, time: u32, cause: Cause) {
        if time > self.time {
            *self = Self { time, cause };
        }
    }

    /// Up to the next request region.
    fn delay_to_request(&mut self) {
        self.time = self.time.next_multiple_of(2);
    }

    /// Up to the next edit region.
    fn delay_to_edit(&mut self) {
        self.time |= 1;
    }
}

impl Scheduler<'_> {
    fn place(&mut self, index: usize) {
        let op = &self.ops[index];
        let mut at = Earliest { time: 0, cause: Cause::None };
        op.kind.for_each_operand(|v| self.value(v, &mut at));
        op.guard.iter().for_each(|v| self.value(*v, &mut at));
        let access = self.packets.access(op);
        let mut result_delay = 0;
        match &op.kind {
            kind if is_pure(kind) => {}
            OpKind::ReadContext(id) => {
                for &write in self.context_writes.get(id).into_iter().flatten() {
                    at.after(self.schedule.time[write], self.cause_of(write));
                }
                self.context_reads.entry(*id).or_default().push(index);
            }
            OpKind::ReadPacket { .. } | OpKind::ReadMeta(_) => {
                self.order_read(&access, &mut at);
                self.fit_words(index, &access, 1, &mut at);
            }
            OpKind::Call { .. } => {
                self.order_call(index, &access, &mut at);
                result_delay = 1;
            }
            OpKind::WriteContext(id, _) => {
                at.delay_to_edit();
                let others = [self.context_reads.get(id), self.context_writes.get(id)];
                for &other in others.into_iter().flatten().flatten() {
                    at.after(self.schedule.time[other] | 1, Cause::None);
                }
                self.context_writes.entry(*id).or_default().push(index);
            }
            OpKind::WritePacket { .. }
            | OpKind::WriteMeta(..)
            | OpKind::Insert { .. }
            | OpKind::Remove { .. }
            | OpKind::Reset { .. } => {
                at.delay_to_edit();
                self.order_edit(op, &access, &mut at);
                self.fit_words(index, &access, 2, &mut at);
            }
            OpKind::Exit(exit) => self.order_exit(op, exit, &mut at),
            _ => unreachable!("`if` is gone after if-conversion"),
        }
        self.finish(index, access, result_delay, at);
    }

    fn value(&self, value: Value, at: &mut Earliest) {
        at.after(self.schedule.value_time[value.index()], self.value_cause[value.index()]);
    }

    /// What the operation waited for, as the cause of what depends on it.
    fn cause_of(&self, op: usize) -> Cause {
        self.schedule.cause[op]
    }

    fn exclusive(&self, a: Option<Value>, b: Option<Value>) -> bool {
        self.guards.exclusive(a, b)
    }

    /// A read comes after the changes that it must see.
    fn order_read(&self, access: &Access, at: &mut Earliest) {
        for past in self.accesses.iter().filter(|p| p.access.writes() && p.access.conflicts(access)) {
            at.after(self.schedule.time[past.op] | 1, Cause::Packet(past.op));
        }
    }

    fn order_call(&self, index: usize, access: &Access, at: &mut Earliest) {
        let op = &self.ops[index];
        at.delay_to_request();
        let OpKind::Call { offload, .. } = op.kind else { unreachable!("only calls come here") };
        for past in &self.accesses {
            if past.call.is_none() && access.conflicts(&past.access) && !self.exclusive(past.guard, op.guard)
            {
                let time = self.schedule.time[past.op];
                let waits = if past.access.writes() { time + 1 } else { time };
                at.after(waits.next_multiple_of(2), Cause::Packet(past.op));
            }
            // Calls of one part are issued together: one that changes the packet is alone with those that read it.
            if past.call.is_some() && access.conflicts(&past.access) && !self.exclusive(past.guard, op.guard)
            {
                at.after(self.schedule.time[past.op] + 2, Cause::Packet(past.op));
            }
        }
        for &call in &self.calls {
            let OpKind::Call { offload: other, .. } = self.ops[call].kind else { continue };
            if other == offload && !self.exclusive(self.ops[call].guard, op.guard) {
                at.after(self.schedule.time[call] + 2, Cause::Port(call));
            }
        }
    }

    fn order_edit(&self, op: &Op, access: &Access, at: &mut Earliest) {
        for past in self.accesses.iter().filter(|p| p.access.conflicts(access)) {
            if !self.exclusive(past.guard, op.guard) {
                at.after(self.schedule.time[past.op] | 1, Cause::Packet(past.op));
            }
        }
    }

    /// An exit comes in the jump of the part that does the last of the effects before it.
    fn order_exit(&self, op: &Op, exit: &Exit, at: &mut Earliest) {
        for &effect in &self.effects_so_far {
            let before = &self.ops[effect];
            let goes_on = matches!(exit, Exit::Next(_) | Exit::Emit(_));
            let matters = goes_on || !matches!(before.kind, OpKind::WriteContext(..));
            if matters && !self.exclusive(before.guard, op.guard) {
                at.after(self.schedule.time[effect], Cause::None);
            }
        }
    }

    /// Waits until the header port has words to spare: `step` regions at a time.
    fn fit_words(&mut self, index: usize, access: &Access, step: u32, at: &mut Earliest) {
        let limit = self.options.header_words as usize;
        let Some(field) = access.field().filter(|_| limit > 0) else { return };
        let wanted = field.words(self.options.word_bits);
        let mut waited = at.time;
        loop {
            let used = self.words.entry(waited).or_default();
            let more = wanted.difference(used).count();
            // A field of more words than the port serves has a region to itself.
            if used.len() + more <= limit || used.is_empty() || more == 0 {
                used.extend(wanted);
                break;
            }
            waited += step;
        }
        at.after(waited, Cause::Words(index));
    }

    fn finish(&mut self, index: usize, access: Access, result_delay: u32, at: Earliest) {
        let op = &self.ops[index];
        let Earliest { time, cause } = at;
        self.schedule.time[index] = time;
        self.schedule.cause[index] = cause;
        self.schedule.parts = self.schedule.parts.max(time / 2 + 1);
        for result in &op.results {
            self.schedule.value_time[result.index()] = time + result_delay;
            self.value_cause[result.index()] = match op.kind {
                OpKind::Call { .. } => Cause::Reply(index),
                OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => Cause::Resize(index),
                _ => cause,
            };
        }
        let call = match op.kind {
            OpKind::Call { offload, method, .. } => Some(self.effects.call(self.engine, offload, method)),
            _ => None,
        };
        if let OpKind::WriteContext(id, _) = op.kind {
            for &read in self.context_reads.get(&id).into_iter().flatten() {
                self.schedule.until[read] = self.schedule.until[read].min(time);
            }
        }
        if access.writes() {
            for past in self.accesses.iter().filter(|p| !p.access.writes() && p.call.is_none()) {
                if access.conflicts(&past.access) {
                    self.schedule.until[past.op] = self.schedule.until[past.op].min(time);
                }
            }
        }
        if call.is_some() {
            self.calls.push(index);
        }
        if access.writes()
            || call.is_some_and(|c| c.has_effect)
            || matches!(op.kind, OpKind::WriteContext(..))
        {
            self.effects_so_far.push(index);
        }
        if access.touches() {
            self.accesses.push(Past { op: index, access, guard: op.guard, call });
        }
    }
}

//! Scheduling: assigns each operation to a part of a split step.
//!
//! Every operation gets a time `t = 2k + r`: it is in part `k`, in its request region if `r = 0`
//! and in its edit region if `r = 1`. Operations are visited in program order and get the earliest
//! time that their operands and the order of effects allow:
//! - a pure operation: as soon as its operands are available;
//! - a call: an even time; its reply is available at the following odd time. Two calls of one
//!   offload are in the same part only if their guards exclude each other;
//! - a change of packet or context: an odd time, not before the reads that must not see it;
//! - a read: not before the changes that it must see;
//! - an exit: the jump of the part in which all effects before it in program order have been done,
//!   unless their guards exclude its own.
//!
//! Header ports add constraints, since they read when a part begins and write when it ends:
//! - a read is in a part that can compute its offset from what is available when the part begins,
//!   and after the parts that change what it reads;
//! - a part has no more reads and writes than its ports serve ([`ports`](super::ports));
//! - writes of different ports do not overlap, and an operation that resizes the packet is in no
//!   part with an earlier write or resize. A write after a resize counts its offset from the new
//!   front.

use std::collections::HashMap;

use wireloom_ir::{ArrayId, ContextId, EngineId, Exit, Op, OpKind, Step, Value};

use crate::analysis::effects::{CallEffects, Effects};
use crate::analysis::guards::Guards;
use crate::analysis::known_bits::Known;
use crate::analysis::packet::{Access, Packets};
use crate::analysis::ports::Sort;
use crate::analysis::{Definitions, is_pure};
use crate::passes::PassOptions;

use super::ports::PartPorts;
use super::sink;

/// Why an operation, or the value that it computes, is not earlier: the index of the operation that
/// it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// It did not wait.
    None,
    /// It uses the reply of a call.
    Reply(usize),
    /// It uses the result of a change of the packet's size.
    Resize(usize),
    /// It uses the offload that this call uses.
    Port(usize),
    /// It reads what this operation changes in the packet, or changes what it reads.
    Packet(usize),
    /// It is, or uses, an access for which no header port was left.
    Access(usize),
    /// It is, or uses, a read whose position this operation determines.
    Offset(usize),
    /// It resizes the packet, or uses the result, after this change in the same part.
    Change(usize),
    /// It was moved to this part, though it could be in an earlier one.
    Later,
    /// It may write the same bytes as this write of another port.
    Overlap(usize),
}

/// The times of all operations and values.
pub(super) struct Schedule {
    /// Time of each operation.
    pub time: Vec<u32>,
    /// Time at which each value is available.
    pub value_time: Vec<u32>,
    /// For each read, the last time at which it would still return the same value.
    pub until: Vec<u32>,
    /// Why each operation is not in an earlier part.
    pub cause: Vec<Cause>,
    /// The accesses that the header ports serve, if there are any.
    pub ports: Option<PartPorts>,
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
    schedule: Schedule,
    /// Why each value is not available earlier.
    value_cause: Vec<Cause>,
    /// Packet accesses so far.
    accesses: Vec<Past>,
    calls: Vec<usize>,
    context_reads: HashMap<ContextId, Vec<usize>>,
    context_writes: HashMap<ContextId, Vec<usize>>,
    arrays: HashMap<ArrayId, ArrayUse>,
    /// Effects that exits wait for.
    effects_so_far: Vec<usize>,
    /// The first part in which each value can be the offset of a read, and the operation that it
    /// waits for.
    offset_part: Vec<(u32, usize)>,
}

/// Schedules the operations of a step of flat sequential code.
pub(super) fn schedule(
    step: &Step,
    ops: &[Op],
    effects: &Effects,
    engine: EngineId,
    known: &[Known],
    options: &PassOptions,
) -> Schedule {
    let definitions = Definitions::of(step);
    let mut scheduler = Scheduler {
        ops,
        guards: Guards::new(&definitions),
        packets: Packets::new(effects, engine, step, &definitions),
        effects,
        engine,
        schedule: Schedule {
            time: vec![0; ops.len()],
            value_time: vec![0; step.values.len()],
            until: vec![u32::MAX; ops.len()],
            cause: vec![Cause::None; ops.len()],
            ports: options.header.map(|limits| PartPorts::new(limits, step, ops, known)),
            parts: 1,
        },
        value_cause: vec![Cause::None; step.values.len()],
        accesses: Vec::new(),
        calls: Vec::new(),
        context_reads: HashMap::new(),
        context_writes: HashMap::new(),
        arrays: HashMap::new(),
        effects_so_far: Vec::new(),
        offset_part: vec![(0, 0); step.values.len()],
    };
    for index in 0..ops.len() {
        scheduler.place(index);
    }
    let mut schedule = scheduler.schedule;
    sink::sink(step, ops, &mut schedule, |index| match ops[index].kind {
        OpKind::Call { offload, method, .. } => {
            let call = effects.call(engine, offload, method);
            !call.has_effect && !call.reads_packet && !call.writes_packet
        }
        _ => false,
    });
    schedule
}

fn is_resize(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. })
}

/// The uses of a context array so far.
#[derive(Default)]
struct ArrayUse {
    /// The last write in program order, which is also the latest.
    last_write: Option<usize>,
    /// The latest time of a read or a write.
    latest: u32,
    /// The reads since the last write.
    reads: Vec<usize>,
}

/// The earliest time found so far, and the operation that it waits for.
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

    /// Delays to the next request region.
    fn delay_to_request(&mut self) {
        self.time = self.time.next_multiple_of(2);
    }

    /// Delays to the next edit region.
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
            OpKind::ReadElement { array, .. } => {
                let uses = self.arrays.entry(*array).or_default();
                if let Some(write) = uses.last_write {
                    at.after(self.schedule.time[write], self.cause_of(write));
                }
            }
            OpKind::ReadPacket { base, .. } => {
                self.order_read(index, &access, &mut at);
                self.place_read(index, *base, &mut at);
            }
            OpKind::ReadMeta(_) => self.order_read(index, &access, &mut at),
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
            OpKind::WriteElement { array, .. } => {
                at.delay_to_edit();
                let before = self.arrays.get(array).map_or(0, |uses| uses.latest);
                at.after(before | 1, Cause::None);
            }
            OpKind::WritePacket { .. }
            | OpKind::WriteMeta(..)
            | OpKind::Insert { .. }
            | OpKind::Remove { .. }
            | OpKind::Reset { .. } => {
                at.delay_to_edit();
                self.order_edit(index, &access, &mut at);
                self.place_write(index, &mut at);
            }
            OpKind::Exit(exit) => self.order_exit(op, exit, &mut at),
            _ => unreachable!("`if` is gone after if-conversion"),
        }
        self.finish(index, access, result_delay, at);
    }

    fn value(&self, value: Value, at: &mut Earliest) {
        at.after(self.schedule.value_time[value.index()], self.value_cause[value.index()]);
    }

    /// The cause of the operation's wait, as the cause for its users.
    fn cause_of(&self, op: usize) -> Cause {
        self.schedule.cause[op]
    }

    fn exclusive(&self, a: Option<Value>, b: Option<Value>) -> bool {
        self.guards.exclusive(a, b)
    }

    /// Whether the order of an operation and an earlier one matters, apart from their guards.
    fn conflict(&self, past: &Past, index: usize, access: &Access) -> bool {
        let spans =
            self.schedule.ports.as_ref().map(|ports| (ports.span(past.op), ports.span(index)));
        match spans {
            Some((Some(a), Some(b))) if a.root == b.root && !a.overlaps(&b) => false,
            _ => past.access.conflicts(access),
        }
    }

    /// Orders a read after the changes that it must see.
    fn order_read(&self, index: usize, access: &Access, at: &mut Earliest) {
        let at_beginning = self.schedule.ports.is_some() && access.field().is_some();
        for past in
            self.accesses.iter().filter(|p| p.access.writes() && self.conflict(p, index, access))
        {
            let behind = self.schedule.time[past.op] | 1;
            at.after(behind + u32::from(at_beginning), Cause::Packet(past.op));
        }
    }

    /// Delays a read until its offset is known and a port is free.
    fn place_read(&mut self, index: usize, base: Value, at: &mut Earliest) {
        let Some(ports) = &mut self.schedule.ports else { return };
        let (part, op) = self.offset_part[base.index()];
        at.after(2 * part, Cause::Offset(op));
        at.delay_to_request();
        let mut time = at.time;
        if let Some(span) = ports.span(index) {
            while !ports.admit(time / 2, Sort::Read, span) {
                time += 2;
            }
        }
        at.after(time, Cause::Access(index));
    }

    /// Delays a write until a port is free.
    fn place_write(&mut self, index: usize, at: &mut Earliest) {
        let Some(ports) = &mut self.schedule.ports else { return };
        let Some(span) = ports.span(index) else { return };
        let mut time = at.time;
        while !ports.admit(time / 2, Sort::Write, span) {
            time += 2;
        }
        at.after(time, Cause::Access(index));
    }

    fn order_call(&self, index: usize, access: &Access, at: &mut Earliest) {
        let op = &self.ops[index];
        at.delay_to_request();
        let OpKind::Call { offload, .. } = op.kind else { unreachable!("the operation is a call") };
        for past in &self.accesses {
            if past.call.is_none()
                && access.conflicts(&past.access)
                && !self.exclusive(past.guard, op.guard)
            {
                let time = self.schedule.time[past.op];
                let waits = if past.access.writes() { time + 1 } else { time };
                at.after(waits.next_multiple_of(2), Cause::Packet(past.op));
            }
            // Calls of one part are issued together; a call that changes the packet cannot be in
            // one part with calls that read it.
            if past.call.is_some()
                && access.conflicts(&past.access)
                && !self.exclusive(past.guard, op.guard)
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

    fn order_edit(&self, index: usize, access: &Access, at: &mut Earliest) {
        let op = &self.ops[index];
        for past in self.accesses.iter().filter(|p| self.conflict(p, index, access)) {
            if self.exclusive(past.guard, op.guard) {
                continue;
            }
            let time = self.schedule.time[past.op];
            at.after(time | 1, Cause::Packet(past.op));
            let Some(ports) = &self.schedule.ports else { continue };
            let next = (time | 1) + 2;
            if is_resize(&op.kind) && past.access.writes() {
                at.after(next, Cause::Change(past.op));
            }
            if let (Some(own), Some(other), true) =
                (ports.span(index), ports.span(past.op), past.access.writes())
                && own.root != other.root
            {
                at.after(next, Cause::Overlap(past.op));
            }
        }
    }

    /// Puts an exit into the jump of the part that does the last of the effects before it.
    fn order_exit(&self, op: &Op, exit: &Exit, at: &mut Earliest) {
        for &effect in &self.effects_so_far {
            let before = &self.ops[effect];
            let goes_on = matches!(exit, Exit::Next(_) | Exit::Emit(_));
            let is_context =
                matches!(before.kind, OpKind::WriteContext(..) | OpKind::WriteElement { .. });
            let matters = goes_on || !is_context;
            if matters && !self.exclusive(before.guard, op.guard) {
                at.after(self.schedule.time[effect], Cause::None);
            }
        }
    }

    /// The first part in which the results of an operation can be offsets of reads, and the
    /// operation that determines them.
    fn offset_part_of(&self, index: usize, access: &Access, time: u32) -> (u32, usize) {
        let op = &self.ops[index];
        // After the parts that change what it reads.
        let behind = |changes: &mut dyn Iterator<Item = usize>| {
            changes
                .map(|change| (self.schedule.time[change] / 2 + 1, index))
                .max()
                .unwrap_or((0, index))
        };
        match &op.kind {
            kind if is_pure(kind) => {
                let mut latest = (0, index);
                kind.for_each_operand(|v| latest = latest.max(self.offset_part[v.index()]));
                latest
            }
            OpKind::ReadContext(id) => {
                behind(&mut self.context_writes.get(id).into_iter().flatten().copied())
            }
            OpKind::ReadMeta(_) => behind(
                &mut self
                    .accesses
                    .iter()
                    .filter(|p| p.access.writes() && p.access.conflicts(access))
                    .map(|p| p.op),
            ),
            _ => (time / 2 + 1, index),
        }
    }

    fn finish(&mut self, index: usize, access: Access, result_delay: u32, at: Earliest) {
        let op = &self.ops[index];
        let Earliest { time, cause } = at;
        self.schedule.time[index] = time;
        self.schedule.cause[index] = cause;
        self.schedule.parts = self.schedule.parts.max(time / 2 + 1);
        let offset_part = self.offset_part_of(index, &access, time);
        for result in &op.results {
            self.offset_part[result.index()] = offset_part;
            self.schedule.value_time[result.index()] = time + result_delay;
            self.value_cause[result.index()] = match op.kind {
                OpKind::Call { .. } => Cause::Reply(index),
                OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => {
                    Cause::Resize(index)
                }
                _ => cause,
            };
        }
        let call = match op.kind {
            OpKind::Call { offload, method, .. } => {
                Some(self.effects.call(self.engine, offload, method))
            }
            _ => None,
        };
        if let OpKind::WriteContext(id, _) = op.kind {
            for &read in self.context_reads.get(&id).into_iter().flatten() {
                self.schedule.until[read] = self.schedule.until[read].min(time);
            }
        }
        match op.kind {
            OpKind::ReadElement { array, .. } => {
                let uses = self.arrays.entry(array).or_default();
                uses.latest = uses.latest.max(time);
                uses.reads.push(index);
            }
            OpKind::WriteElement { array, .. } => {
                let uses = self.arrays.entry(array).or_default();
                uses.latest = uses.latest.max(time);
                uses.last_write = Some(index);
                // Later writes come at the same time or later.
                for read in uses.reads.drain(..) {
                    self.schedule.until[read] = self.schedule.until[read].min(time);
                }
            }
            _ => {}
        }
        if access.writes() {
            for past in self.accesses.iter().filter(|p| !p.access.writes() && p.call.is_none()) {
                if self.conflict(past, index, &access) {
                    self.schedule.until[past.op] = self.schedule.until[past.op].min(time);
                }
            }
        }
        if call.is_some() {
            self.calls.push(index);
        }
        if access.writes()
            || call.is_some_and(|c| c.has_effect)
            || matches!(op.kind, OpKind::WriteContext(..) | OpKind::WriteElement { .. })
        {
            self.effects_so_far.push(index);
        }
        if access.touches() {
            self.accesses.push(Past { op: index, access, guard: op.guard, call });
        }
    }
}

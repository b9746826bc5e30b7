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
//! - a read is in a part that can compute its offset from values available when the part begins,
//!   and after the parts that change the bytes that it reads;
//! - a part has no more reads and writes than its ports serve ([`ports`](super::ports));
//! - writes of different ports do not overlap, and an operation that resizes the packet is in no
//!   part with an earlier write or resize. A write after a resize counts its offset from the new
//!   front;
//! - a reset of the packet is in a part that reads none of its bytes, since the hardware clears
//!   them before the part is done.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use wireloom_ir::{ArrayId, ContextId, EngineId, Exit, OffloadId, Op, OpKind, Step, Value};

use crate::analysis::conditions::Guards;
use crate::analysis::effects::{CallEffects, Effects};
use crate::analysis::known_bits::Known;
use crate::analysis::packet::{Access, Packets};
use crate::analysis::ports::Sort;
use crate::analysis::{Definitions, is_pure};
use crate::passes::PassOptions;

use super::ports::PartPorts;
use super::sink;

/// Why an operation, or the value that it computes, is not earlier. The index is the operation that
/// it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The operation did not wait.
    None,
    /// Uses the reply of a call.
    Reply(usize),
    /// Uses the result of a change of the packet's size.
    Resize(usize),
    /// Uses the offload that this call uses.
    Port(usize),
    /// Reads packet data that the other operation changes, or changes packet data that the other
    /// operation reads.
    Packet(usize),
    /// Resets the packet after this operation has read bytes of it.
    Clear(usize),
    /// Is, or uses, an access that found no free header port.
    Access(usize),
    /// Is, or uses, a read whose position depends on the other operation.
    Offset(usize),
    /// Resizes the packet, or uses the result of that, after this change in the same part.
    Change(usize),
    /// The operation was moved to this part, although it could be in an earlier one.
    Later,
    /// The operations before this one fill a part.
    Long,
    /// Might write the same bytes as this write by another port.
    Overlap(usize),
}

/// The largest weight of a part of a step in software, in operations on 64 bits. Compilers take
/// more than linear time for long functions, and a part becomes one function.
const LONGEST_PART: u32 = 1024;

/// Returns for each operation the first part that it can be in so that no part is too long.
fn first_parts(step: &Step, ops: &[Op]) -> Vec<u32> {
    let mut weight = 0;
    let weigh = |op: &Op| {
        let width = |value: Value| step.values[value.index()].width;
        let mut widest = op.results.iter().map(|value| width(*value)).max().unwrap_or(0);
        op.kind.for_each_operand(|value| widest = widest.max(width(value)));
        let parts = if let OpKind::Concat(parts) = &op.kind { parts.len() as u32 } else { 1 };
        weight += parts + widest / 64;
        (weight - 1) / LONGEST_PART
    };
    ops.iter().map(weigh).collect()
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
    /// Whether the step is split because of its length.
    pub is_long: bool,
}

/// An earlier operation that later ones may have to wait for.
#[derive(Clone)]
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
    /// The first part that each operation can be in. Empty if parts may be of any length.
    first_part: Vec<u32>,
    /// Why each value is not available earlier.
    value_cause: Vec<Cause>,
    /// Packet accesses so far.
    accesses: Vec<Past>,
    /// The latest time of a packet access so far.
    latest_access: u32,
    /// The distinct changes of the packet so far, each with the latest time and its operation.
    changes: Vec<(Past, u32)>,
    /// The position in `changes` of each access, unless header ports distinguish accesses.
    change_of: HashMap<Access, usize>,
    /// The reads of the packet that a later change may still affect. Reads of one field are kept
    /// together, unless header ports distinguish accesses.
    open_reads: HashMap<(Access, usize), Vec<usize>>,
    /// The calls of each offload so far, by time.
    calls: HashMap<OffloadId, BTreeMap<u32, Vec<usize>>>,
    variables: HashMap<ContextId, Uses>,
    arrays: HashMap<ArrayId, Uses>,
    /// The guards of the effects that exits wait for, by the effects' time.
    effects_so_far: BTreeMap<u32, HashSet<EffectGuard>>,
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
    let first_part = if options.header.is_none() { first_parts(step, ops) } else { Vec::new() };
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
            is_long: first_part.last().is_some_and(|part| *part > 0),
        },
        first_part,
        value_cause: vec![Cause::None; step.values.len()],
        accesses: Vec::new(),
        latest_access: 0,
        changes: Vec::new(),
        change_of: HashMap::new(),
        open_reads: HashMap::new(),
        calls: HashMap::new(),
        variables: HashMap::new(),
        arrays: HashMap::new(),
        effects_so_far: BTreeMap::new(),
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

/// The uses of a context variable or array so far.
#[derive(Default)]
struct Uses {
    /// The first of the latest writes. Later writes have the same time or a later one.
    write: Option<usize>,
    /// The latest time of a read or a write.
    latest: u32,
    /// The reads since the last write.
    reads: Vec<usize>,
}

impl Uses {
    fn read(&mut self, index: usize, time: u32) {
        self.latest = self.latest.max(time);
        self.reads.push(index);
    }

    /// Records a write and returns the reads that must not see it.
    fn write(&mut self, index: usize, times: &[u32]) -> Vec<usize> {
        if self.write.is_none_or(|before| times[before] < times[index]) {
            self.write = Some(index);
        }
        self.latest = self.latest.max(times[index]);
        std::mem::take(&mut self.reads)
    }
}

/// The guard of an effect, and whether the effect is on the context. Context matters only to
/// threads that continue.
type EffectGuard = (Option<Value>, bool);

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
        if let Some(part) = self.first_part.get(index) {
            at.after(2 * part, Cause::Long);
        }
        op.kind.for_each_operand(|v| self.value(v, &mut at));
        op.guard.iter().for_each(|v| self.value(*v, &mut at));
        let access = self.packets.access(op);
        let mut result_delay = 0;
        match &op.kind {
            kind if is_pure(kind) => {}
            OpKind::ReadContext(id) => {
                if let Some(write) = self.variables.get(id).and_then(|uses| uses.write) {
                    at.after(self.schedule.time[write], self.cause_of(write));
                }
            }
            OpKind::ReadElement { array, .. } => {
                if let Some(write) = self.arrays.get(array).and_then(|uses| uses.write) {
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
                let before = self.variables.get(id).map_or(0, |uses| uses.latest);
                at.after(before | 1, Cause::None);
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

    /// Returns the cause of the operation's wait, as the cause for its users.
    fn cause_of(&self, op: usize) -> Cause {
        self.schedule.cause[op]
    }

    fn exclusive(&self, a: Option<Value>, b: Option<Value>) -> bool {
        self.guards.exclusive(a, b)
    }

    /// Returns whether the order of an operation and an earlier one matters, without regard to
    /// their guards.
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
        let behind = |time: u32| (time | 1) + u32::from(at_beginning);
        let waits = self
            .changes
            .iter()
            .filter(|(past, time)| behind(*time) > at.time && self.conflict(past, index, access));
        // Wait for the latest change; among several, for the first.
        if let Some((past, time)) = waits.max_by_key(|(past, time)| (*time, Reverse(past.op))) {
            at.after(behind(*time), Cause::Packet(past.op));
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
        let past = if access.touches() { &self.accesses[..] } else { &[] };
        for past in past {
            let time = self.schedule.time[past.op];
            let waits = match past.call {
                // Calls of one part are issued together. A call that changes the packet cannot be
                // in one part with calls that read it.
                Some(_) => time + 2,
                None if past.access.writes() => (time + 1).next_multiple_of(2),
                None => time.next_multiple_of(2),
            };
            if waits > at.time
                && access.conflicts(&past.access)
                && !self.exclusive(past.guard, op.guard)
            {
                at.after(waits, Cause::Packet(past.op));
            }
        }
        let latest_first =
            self.calls.get(&offload).into_iter().flat_map(|calls| calls.iter().rev());
        for (time, calls) in latest_first.take_while(|(time, _)| **time + 2 > at.time) {
            let meets = |call: &&usize| !self.exclusive(self.ops[**call].guard, op.guard);
            if let Some(call) = calls.iter().find(meets) {
                return at.after(time + 2, Cause::Port(*call));
            }
        }
    }

    fn order_edit(&self, index: usize, access: &Access, at: &mut Earliest) {
        let op = &self.ops[index];
        // The latest time to which an access can delay the edit.
        let limit = (self.latest_access | 1) + if self.schedule.ports.is_some() { 2 } else { 0 };
        if limit <= at.time {
            return;
        }
        self.order_reset(index, at);
        for past in &self.accesses {
            let time = self.schedule.time[past.op];
            let limit = (time | 1) + if self.schedule.ports.is_some() { 2 } else { 0 };
            if limit <= at.time
                || !self.conflict(past, index, access)
                || self.exclusive(past.guard, op.guard)
            {
                continue;
            }
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

    /// Delays a reset in hardware until after the parts that read bytes of the packet. It does not
    /// matter whether their guards exclude each other: the part reads in any case.
    fn order_reset(&self, index: usize, at: &mut Earliest) {
        let Some(ports) = &self.schedule.ports else { return };
        if !matches!(self.ops[index].kind, OpKind::Reset { .. }) {
            return;
        }
        for past in &self.accesses {
            if past.call.is_none() && !past.access.writes() && ports.span(past.op).is_some() {
                let time = self.schedule.time[past.op];
                at.after((time | 1) + 2, Cause::Clear(past.op));
            }
        }
    }

    /// Puts an exit into the jump of the part that does the last of the effects before it.
    fn order_exit(&self, op: &Op, exit: &Exit, at: &mut Earliest) {
        // The jump is the last region of a part.
        at.delay_to_edit();
        let goes_on = matches!(exit, Exit::Next(_) | Exit::Emit(..));
        let waits = |(guard, is_context): &EffectGuard| {
            (goes_on || !is_context) && !self.exclusive(*guard, op.guard)
        };
        let latest_first = self.effects_so_far.iter().rev();
        let mut later = latest_first.take_while(|(time, _)| **time > at.time);
        if let Some((time, _)) = later.find(|(_, guards)| guards.iter().any(waits)) {
            at.after(*time, Cause::None);
        }
    }

    /// Returns the first part in which the results of an operation can be offsets of reads, and the
    /// operation that determines that part.
    fn offset_part_of(&self, index: usize, access: &Access, time: u32) -> (u32, usize) {
        let op = &self.ops[index];
        // Wait until after the parts that change its data.
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
                behind(&mut self.variables.get(id).and_then(|uses| uses.write).into_iter())
            }
            OpKind::ReadMeta(_) => behind(
                &mut self
                    .changes
                    .iter()
                    .filter(|(past, _)| past.access.conflicts(access))
                    .map(|(past, _)| past.op),
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
        match op.kind {
            OpKind::ReadContext(id) => self.variables.entry(id).or_default().read(index, time),
            OpKind::ReadElement { array, .. } => {
                self.arrays.entry(array).or_default().read(index, time);
            }
            _ => {}
        }
        let ended = match op.kind {
            OpKind::WriteContext(id, _) => {
                self.variables.entry(id).or_default().write(index, &self.schedule.time)
            }
            OpKind::WriteElement { array, .. } => {
                self.arrays.entry(array).or_default().write(index, &self.schedule.time)
            }
            _ => Vec::new(),
        };
        for read in ended {
            self.schedule.until[read] = self.schedule.until[read].min(time);
        }
        if let OpKind::Call { offload, .. } = op.kind {
            let calls = self.calls.entry(offload).or_default();
            calls.entry(time).or_default().push(index);
        }
        let is_context = matches!(op.kind, OpKind::WriteContext(..) | OpKind::WriteElement { .. });
        if access.writes() || call.is_some_and(|c| c.has_effect) || is_context {
            self.effects_so_far.entry(time).or_default().insert((op.guard, is_context));
        }
        if access.touches() {
            self.touch(index, access, call);
        }
    }

    /// Records an access to the packet.
    fn touch(&mut self, index: usize, access: Access, call: Option<CallEffects>) {
        let time = self.schedule.time[index];
        let past = Past { op: index, access, guard: self.ops[index].guard, call };
        self.latest_access = self.latest_access.max(time);
        if access.writes() {
            // No later change is earlier than this.
            let floor = self.first_part.get(index).map_or(1, |part| 2 * part + 1);
            let mut open = std::mem::take(&mut self.open_reads);
            for ((own, _), reads) in &mut open {
                let before = Past { op: reads[0], access: *own, guard: None, call: None };
                if !self.conflict(&before, index, &access) {
                    continue;
                }
                reads.retain(|&read| {
                    let until = &mut self.schedule.until[read];
                    *until = time.min(*until);
                    *until > floor
                });
            }
            open.retain(|_, reads| !reads.is_empty());
            self.open_reads = open;
            // Changes of the same field differ only in their time.
            let same = self.schedule.ports.is_none().then(|| self.change_of.get(&access)).flatten();
            match same.copied() {
                Some(at) if self.changes[at].1 >= time => {}
                Some(at) => self.changes[at] = (past.clone(), time),
                None => {
                    self.change_of.insert(access, self.changes.len());
                    self.changes.push((past.clone(), time));
                }
            }
        } else if call.is_none() {
            let apart = if self.schedule.ports.is_some() { index } else { 0 };
            self.open_reads.entry((access, apart)).or_default().push(index);
        }
        self.accesses.push(past);
    }
}

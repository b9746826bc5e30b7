//! Emits the parts of a scheduled step.
//!
//! A part holds the operations scheduled in it and everything that they need. Needs are followed
//! backward from the effects, so that an operation goes into the last region that still serves all
//! its users: logic that only an edit needs does not lengthen the request. A value of an earlier
//! part is recomputed if that costs less than keeping it (constants, context and packet fields that
//! have not changed, wiring, and a little logic over them). Otherwise it is *spilled*: written to a
//! separate context variable in the part that knows it, and read in the parts that need it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use wireloom_bits::Bits;
use wireloom_ir::{
    BinaryOp, Block, Code, ContextId, ContextVar, Exit, Loc, Op, OpKind, Step, StepId, UnaryOp,
    Value, ValueInfo,
};

use super::apart::{self, Change};
use super::schedule::Schedule;
use crate::analysis::conditions::Guards;
use crate::analysis::conditions::Holds;
use crate::analysis::{Definitions, is_pure, is_read};

/// A region of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Region {
    Request,
    Edit,
    Jump,
}

/// The source of a value in a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The result of a call or resize that the part executes.
    Effect,
    /// The part computes or reads the value.
    Here,
    /// The part reads the value from the context variable that it was spilled to.
    Spilled,
    /// The value is certain in this part, since otherwise an earlier part would have ended the
    /// step.
    Certain(bool),
}

/// A step that is being emitted.
struct Emitter<'a> {
    step: &'a Step,
    ops: &'a [Op],
    schedule: &'a Schedule,
    /// Index of the operation that defines each value.
    definitions: Vec<Option<usize>>,
    /// The needs of each part: for each value its source, and the latest region that serves all
    /// users.
    needs: Vec<BTreeMap<Value, (Source, Region)>>,
    spilled: HashMap<Value, ContextId>,
    /// The values that each part keeps for later ones.
    kept: Vec<BTreeSet<Value>>,
    /// The effects of each part, exits included, in program order.
    effects: Vec<Vec<usize>>,
    /// Facts that hold in each part because the exits of earlier parts were not taken.
    certain: Vec<Holds<'a>>,
    context: &'a mut Vec<ContextVar>,
    names: &'a mut Names,
}

/// The names of an engine's context variables.
pub(super) struct Names {
    taken: HashSet<String>,
    /// The number at which the search for a free name begins, for each wanted name.
    next: HashMap<String, u64>,
}

impl Names {
    /// Collects the names of existing variables.
    pub(super) fn of(context: &[ContextVar]) -> Self {
        let taken = context.iter().map(|var| var.name.clone()).collect();
        Self { taken, next: HashMap::new() }
    }

    /// Returns a name that no variable has: the wanted one, or the wanted one with the smallest
    /// free number.
    fn give(&mut self, wanted: String) -> String {
        if self.taken.insert(wanted.clone()) {
            return wanted;
        }
        let next = self.next.entry(wanted.clone()).or_insert(2);
        loop {
            let name = format!("{wanted}.{next}");
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// Returns the parts of a step as new steps. `target` maps the old number of a step to the new one.
/// `first` is the number of the first part.
pub(super) fn emit(
    step: &Step,
    ops: &[Op],
    schedule: &Schedule,
    reasons: &[Option<String>],
    (context, names): (&mut Vec<ContextVar>, &mut Names),
    first: u32,
    target: impl Fn(StepId) -> StepId,
) -> Vec<Step> {
    let parts = part_count(ops, schedule);
    let mut definitions = vec![None; step.values.len()];
    for (index, op) in ops.iter().enumerate() {
        op.results.iter().for_each(|r| definitions[r.index()] = Some(index));
    }
    let known = Definitions::of(step);
    let guards = Guards::new(&known);
    let mut effects = vec![Vec::new(); parts as usize];
    for (index, op) in ops.iter().enumerate() {
        let part = (schedule.time[index] / 2) as usize;
        if part < effects.len() && !is_pure(&op.kind) && !is_read(&op.kind) {
            effects[part].push(index);
        }
    }
    let mut emitter = Emitter {
        step,
        ops,
        schedule,
        definitions,
        needs: vec![BTreeMap::new(); parts as usize],
        spilled: HashMap::new(),
        kept: vec![BTreeSet::new(); parts as usize],
        effects,
        certain: certainties(ops, schedule, &guards, parts),
        context,
        names,
    };
    emitter.find_needs(parts);
    let part = |part: u32| {
        let go_on = (part + 1 < parts).then(|| StepId(first + part + 1));
        let (values, code, changes) = emitter.part(part, go_on, &target);
        let mut made = Step {
            name: if part == 0 { step.name.clone() } else { format!("{}.{part}", step.name) },
            loc: step.loc,
            split: reasons[part as usize].clone(),
            values,
            code,
        };
        if schedule.ports.is_some() {
            apart::keep_apart(&mut made, &changes, ops, &guards);
        }
        made
    };
    (0..parts).map(part).collect()
}

/// Derives the facts of each part. Control reaches a part only if no exit of an earlier part was
/// taken. So the guards of these exits are 0, and more may follow from that.
fn certainties<'a>(
    ops: &[Op],
    schedule: &Schedule,
    guards: &Guards<'a>,
    parts: u32,
) -> Vec<Holds<'a>> {
    let mut not_taken = vec![Vec::new(); parts as usize];
    for (op, time) in ops.iter().zip(&schedule.time) {
        let next = (time / 2 + 1) as usize;
        if let (OpKind::Exit(_), Some(guard), true) = (&op.kind, op.guard, next < not_taken.len()) {
            not_taken[next].push((guard, false));
        }
    }
    let mut holds = guards.together(Vec::new());
    let part = |said: Vec<(Value, bool)>| {
        if !said.is_empty() {
            holds.extend(said);
        }
        holds.clone()
    };
    not_taken.into_iter().map(part).collect()
}

/// Returns the number of parts up to the last exit. Nothing happens after it.
pub(super) fn part_count(ops: &[Op], schedule: &Schedule) -> u32 {
    let exits = ops.iter().zip(&schedule.time).filter(|(op, _)| matches!(op.kind, OpKind::Exit(_)));
    exits.map(|(_, time)| time / 2 + 1).max().unwrap_or(1)
}

/// Returns the assumed cost of recomputing an operation, in bits of context that this would have to
/// save.
fn logic_cost(kind: &OpKind) -> u32 {
    match kind {
        OpKind::Extend(_)
        | OpKind::Slice(..)
        | OpKind::Concat(_)
        | OpKind::Unary(UnaryOp::Not, _) => 0,
        // The thread has the packet's arrival time.
        OpKind::Evaluate { args, .. } if args.is_empty() => 0,
        OpKind::Select(..) | OpKind::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, ..) => 2,
        OpKind::Binary(
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Ult
            | BinaryOp::Ule,
            ..,
        ) => 6,
        _ => wireloom_bits::MAX_WIDTH,
    }
}

/// Depth of the search for something cheaper than a spill.
const SEARCH_DEPTH: u32 = 6;

/// The search depth in a step that is split for its length. A deep search would recompute much in
/// each of many parts.
const SEARCH_DEPTH_LONG: u32 = 1;

impl Emitter<'_> {
    fn width(&self, value: Value) -> u32 {
        self.step.values[value.index()].width
    }

    fn home(&self, value: Value) -> u32 {
        self.schedule.value_time[value.index()] / 2
    }

    /// Returns the exits between which the jump of a part chooses, in program order.
    fn exits(&self, part: u32) -> Vec<usize> {
        let is_exit = |index: &&usize| matches!(self.ops[**index].kind, OpKind::Exit(_));
        self.effects[part as usize].iter().filter(is_exit).copied().collect()
    }

    /// Returns the value of a bit that is certain in a part.
    fn certain(&self, value: Value, part: u32) -> Option<bool> {
        if self.width(value) == 1 { self.certain[part as usize].bit(value) } else { None }
    }

    fn find_needs(&mut self, parts: u32) {
        let last_exit = self.exits(parts - 1).last().copied();
        for index in 0..self.ops.len() {
            let op = &self.ops[index];
            let part = self.schedule.time[index] / 2;
            if part >= parts || is_pure(&op.kind) || is_read(&op.kind) {
                continue;
            }
            let region = match op.kind {
                OpKind::Call { .. } => Region::Request,
                OpKind::Exit(_) => Region::Jump,
                _ => Region::Edit,
            };
            let mut wanted = op.kind.operands();
            // The last exit of the last part happens if no other exit does.
            let implied = last_exit == Some(index);
            wanted.extend(op.guard.filter(|_| !implied));
            for value in wanted {
                self.need(value, part, region);
            }
        }
    }

    /// Records that a part needs a value in a region, and all needs that follow. The values wait on
    /// a list, since a chain of operations may be as long as a step.
    fn need(&mut self, value: Value, part: u32, region: Region) {
        let mut open = vec![(value, part, region)];
        while let Some((value, part, region)) = open.pop() {
            self.need_one(value, part, region, &mut open);
        }
    }

    /// Records one need, and appends the needs that follow to `open`, the first one last.
    fn need_one(
        &mut self,
        value: Value,
        part: u32,
        region: Region,
        open: &mut Vec<(Value, u32, Region)>,
    ) {
        let known = self.needs[part as usize].get(&value).copied();
        if known.is_some_and(|(_, at)| at <= region) {
            return;
        }
        let index = self.definitions[value.index()].expect("a used value is defined");
        let kind = &self.ops[index].kind;
        let certain = self.certain(value, part).map(Source::Certain);
        let source = match known.map(|(source, _)| source).or(certain) {
            Some(source) => source,
            None if !is_pure(kind) && !is_read(kind) && self.home(value) == part => Source::Effect,
            None if self.is_computed_in(value, index, part, region) => Source::Here,
            None => Source::Spilled,
        };
        let region = match source {
            Source::Effect => return,
            Source::Spilled => region.min(Region::Edit),
            Source::Certain(_) => region,
            Source::Here => self.region_of(index, part, region),
        };
        self.needs[part as usize].insert(value, (source, region));
        match source {
            Source::Spilled if self.spill(value) => {
                open.push((value, self.home(value), Region::Edit));
            }
            Source::Spilled | Source::Certain(_) | Source::Effect => {}
            Source::Here => {
                let operands = kind.operands().into_iter().rev();
                open.extend(operands.map(|operand| (operand, part, region)));
            }
        }
    }

    /// Returns the region in which a part computes an operation that it needs in `region`.
    fn region_of(&self, index: usize, part: u32, region: Region) -> Region {
        let kind = &self.ops[index].kind;
        if !is_read(kind) {
            return region;
        }
        // A read happens no later than the edit, and not after a call of this part that changes its
        // result.
        if 2 * part + 1 > self.schedule.until[index] {
            Region::Request
        } else {
            region.min(Region::Edit)
        }
    }

    fn is_computed_in(&self, value: Value, index: usize, part: u32, region: Region) -> bool {
        let op = &self.ops[index];
        if self.home(value) == part && (is_pure(&op.kind) || is_read(&op.kind)) {
            return true;
        }
        if self.schedule.ports.as_ref().is_some_and(|ports| ports.is_derived(value)) {
            return true;
        }
        !self.spilled.contains_key(&value) && {
            let again = self.cost_again(
                op,
                index,
                2 * part + u32::from(region > Region::Request),
                if self.schedule.is_long { SEARCH_DEPTH_LONG } else { SEARCH_DEPTH },
            );
            // A part keeps only one of a bit and its complement.
            let limit =
                self.width(value) + u32::from(matches!(op.kind, OpKind::Unary(UnaryOp::Not, _)));
            again.is_some_and(|cost| cost < limit)
        }
    }

    /// Returns the cost of having a value at a time in a later part.
    fn cost(&self, value: Value, time: u32, depth: u32) -> u32 {
        if self.spilled.contains_key(&value) || self.home(value) == time / 2 {
            return 0;
        }
        let index = self.definitions[value.index()].expect("a used value is defined");
        let again = if depth == 0 {
            None
        } else {
            self.cost_again(&self.ops[index], index, time, depth - 1)
        };
        again.unwrap_or(u32::MAX).min(self.width(value))
    }

    /// Returns the cost of recomputing an operation. Returns `None` if that is impossible.
    fn cost_again(&self, op: &Op, index: usize, time: u32, depth: u32) -> Option<u32> {
        let mut cost = match &op.kind {
            OpKind::Const(_) => 0,
            OpKind::ReadPacket { .. } if self.schedule.ports.is_some() => return None,
            kind if is_read(kind) => (time <= self.schedule.until[index]).then_some(0)?,
            kind if is_pure(kind) => logic_cost(kind),
            _ => return None,
        };
        op.kind.for_each_operand(|v| cost += self.cost(v, time, depth));
        Some(cost)
    }

    /// Gives a value a context variable. Returns whether it had none.
    fn spill(&mut self, value: Value) -> bool {
        if self.spilled.contains_key(&value) {
            return false;
        }
        let id = ContextId(self.context.len() as u32);
        let info = &self.step.values[value.index()];
        let name = info.name.clone().unwrap_or_else(|| format!("v{}", value.0));
        let wanted = format!("{}.{name}", self.step.name);
        let name = self.names.give(wanted);
        self.context.push(ContextVar { name, width: info.width });
        self.spilled.insert(value, id);
        let home = self.home(value) as usize;
        self.kept[home].insert(value);
        true
    }

    fn part(
        &self,
        part: u32,
        go_on: Option<StepId>,
        target: &impl Fn(StepId) -> StepId,
    ) -> (Vec<ValueInfo>, Code, Vec<Change>) {
        let (values, numbers, changes) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut writer = Writer { emitter: self, part, values, numbers, changes };
        let request = writer.region(Region::Request);
        let mut edit = writer.region(Region::Edit);
        for value in &self.kept[part as usize] {
            let kind = OpKind::WriteContext(self.spilled[value], writer.numbers[value]);
            let loc = writer.loc_of(*value);
            edit.ops.push(Op { kind, results: vec![], guard: None, loc });
        }
        let mut jump = writer.region(Region::Jump);
        writer.exits(&mut jump, go_on, target);
        (writer.values, Code::Regions { request, edit, jump }, writer.changes)
    }
}

/// Writes one part and renumbers its values.
struct Writer<'e, 'a> {
    emitter: &'e Emitter<'a>,
    part: u32,
    values: Vec<ValueInfo>,
    numbers: BTreeMap<Value, Value>,
    changes: Vec<Change>,
}

impl Writer<'_, '_> {
    fn define(&mut self, old: Value) -> Value {
        let new = Value(self.values.len() as u32);
        self.values.push(self.emitter.step.values[old.index()].clone());
        self.numbers.insert(old, new);
        new
    }

    fn loc_of(&self, value: Value) -> Loc {
        self.emitter.definitions[value.index()].map_or(Loc::default(), |i| self.emitter.ops[i].loc)
    }

    fn region(&mut self, region: Region) -> Block {
        let mut ops = Vec::new();
        let needs = &self.emitter.needs[self.part as usize];
        for (value, (source, at)) in needs {
            let kind = match source {
                Source::Spilled => OpKind::ReadContext(self.emitter.spilled[value]),
                Source::Certain(bit) => OpKind::Const(Bits::bool(*bit)),
                Source::Here | Source::Effect => continue,
            };
            if *at == region {
                let results = vec![self.define(*value)];
                ops.push(Op { kind, results, guard: None, loc: self.loc_of(*value) });
            }
        }
        let effect_is_here = |index: &usize| {
            let time = self.emitter.schedule.time[*index];
            match self.emitter.ops[*index].kind {
                OpKind::Exit(_) => false,
                OpKind::Call { .. } => region == Region::Request && time == 2 * self.part,
                _ => region == Region::Edit && time == 2 * self.part + 1,
            }
        };
        let effects = self.emitter.effects[self.part as usize].iter().copied();
        let computed = needs.iter().filter(|(_, need)| **need == (Source::Here, region));
        let computed = computed.filter_map(|(value, _)| self.emitter.definitions[value.index()]);
        let mut here: Vec<usize> = computed.chain(effects.filter(effect_is_here)).collect();
        here.sort_unstable();
        for index in here {
            let op = &self.emitter.ops[index];
            if apart::is_change(&op.kind) {
                self.changes.push((ops.len(), index));
            }
            ops.push(self.copy(op));
        }
        Block { ops }
    }

    fn copy(&mut self, op: &Op) -> Op {
        let mut copy = op.clone();
        copy.kind.for_each_operand_mut(|v| *v = self.numbers[v]);
        copy.guard = op.guard.map(|g| self.numbers[&g]);
        copy.results = op.results.iter().map(|r| self.define(*r)).collect();
        copy
    }

    /// Writes the exits of a jump. Exactly one has a true guard. The exit that remains if no other
    /// guard is true is the last exit, or the jump to the next part.
    fn exits(
        &mut self,
        jump: &mut Block,
        go_on: Option<StepId>,
        target: &impl Fn(StepId) -> StepId,
    ) {
        let mut exits: Vec<Op> = Vec::new();
        let indices = self.emitter.exits(self.part);
        for (i, &index) in indices.iter().enumerate() {
            let mut op = self.emitter.ops[index].clone();
            if i + 1 == indices.len() && go_on.is_none() {
                op.guard = None;
            }
            op.kind.for_each_operand_mut(|v| *v = self.numbers[v]);
            op.guard = op.guard.map(|g| self.numbers[&g]);
            if let OpKind::Exit(Exit::Next(to) | Exit::Emit(to, _)) = &mut op.kind {
                *to = target(*to);
            }
            exits.push(op);
        }
        if let Some(next) = go_on {
            let loc = self.emitter.step.loc;
            exits.push(Op {
                kind: OpKind::Exit(Exit::Next(next)),
                results: vec![],
                guard: None,
                loc,
            });
        }
        let Some((last, others)) = exits.split_last_mut() else { return };
        let mut none = None;
        for other in others.iter() {
            let guard = other
                .guard
                .unwrap_or_else(|| self.bit(jump, OpKind::Const(Bits::bool(true)), other.loc));
            none = Some(match none {
                None => guard,
                Some(sum) => self.bit(jump, OpKind::Binary(BinaryOp::Or, sum, guard), last.loc),
            });
        }
        last.guard = none.map(|any| self.bit(jump, OpKind::Unary(UnaryOp::Not, any), last.loc));
        jump.ops.extend(exits);
    }

    fn bit(&mut self, block: &mut Block, kind: OpKind, loc: Loc) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueInfo { width: 1, name: None });
        block.ops.push(Op { kind, results: vec![value], guard: None, loc });
        value
    }
}

//! Checks steps and their operations.

use wireloom_bits::MAX_WIDTH;
use wireloom_offloads::{ReplyType, registry};

use super::paths::{FallsThrough, falls_through};
use super::scope::Scope;
use super::{Checker, is_width};
use crate::{
    ArrayId, Block, Code, ContextArray, EngineKind, Exit, Loc, Meta, OffloadId, OffloadTarget, Op,
    OpKind, Step, StepId, Value,
};

/// The part of a step that contains an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Sequential,
    Request,
    Edit,
    Jump,
}

/// A field must end within the first 65,536 bytes after its base.
const MAX_FIELD_END: u64 = 8 * 65_536;

/// The maximum number of elements of a table. It is also the limit of arrays in the language.
pub(super) const MOST_ELEMENTS: usize = 4096;

impl Checker<'_> {
    pub(super) fn step(&mut self, step: &Step) {
        for (index, info) in step.values.iter().enumerate() {
            if !is_width(info.width) {
                let width = info.width;
                self.step_problem(
                    step,
                    format!("value %{index} has {width} bits; it must have 1 to {MAX_WIDTH}"),
                );
            }
        }
        if self.is_nowhere(step.loc) {
            self.step_problem(step, "the step refers to a source file that does not exist");
        }
        let mut scope = Scope::new(step);
        match &step.code {
            Code::Sequential(block) => {
                self.block(&mut scope, step, block, Place::Sequential);
                if falls_through(block, false) == FallsThrough::Surely {
                    self.step_problem(step, "there is a path through the step without an exit");
                }
            }
            Code::Regions { request, edit, jump } => {
                self.block(&mut scope, step, request, Place::Request);
                self.block(&mut scope, step, edit, Place::Edit);
                self.block(&mut scope, step, jump, Place::Jump);
                self.exits(step, jump);
            }
        }
    }

    fn is_nowhere(&self, loc: Loc) -> bool {
        loc.line != 0 && loc.file as usize >= self.program.files.len()
    }

    /// Checks the exits of a `jump` region. There is either one exit without a guard, or several
    /// with distinct guards.
    fn exits(&mut self, step: &Step, jump: &Block) {
        let exits: Vec<_> =
            jump.ops.iter().filter(|op| matches!(op.kind, OpKind::Exit(_))).collect();
        if exits.is_empty() {
            self.step_problem(step, "the jump region has no exit");
        }
        for (i, exit) in exits.iter().enumerate() {
            if exit.guard.is_none() && exits.len() > 1 {
                self.op_problem(
                    step,
                    exit,
                    "an exit without a guard must be the only one of a jump region",
                );
            } else if exit.guard.is_some() && exits[..i].iter().any(|e| e.guard == exit.guard) {
                self.op_problem(step, exit, "two exits have the same guard");
            }
        }
    }

    fn block(&mut self, scope: &mut Scope, step: &Step, block: &Block, place: Place) {
        for op in &block.ops {
            self.op(scope, step, op, place);
        }
    }

    fn op(&mut self, scope: &mut Scope, step: &Step, op: &Op, place: Place) {
        if self.is_nowhere(op.loc) {
            self.op_problem(step, op, "the operation refers to a source file that does not exist");
        }
        self.placed(step, op, place);
        self.guarded(scope, step, op);
        let operands = op.kind.operands();
        let widths: Option<Vec<u32>> = operands
            .iter()
            .map(|v| self.used(scope, step, op, *v))
            .collect::<Vec<_>>()
            .into_iter()
            .collect();
        if place == Place::Request {
            self.replies(scope, step, op, &operands);
        }
        if let OpKind::If { then, otherwise, .. } = &op.kind {
            self.branches(scope, step, op, [then, otherwise], place);
        }
        self.define(scope, step, op);
        // If an operand is missing, checking widths would only repeat that problem.
        if let Some(widths) = widths {
            self.widths(step, op, &widths);
        }
    }

    /// Checks that the operation is allowed in its region.
    fn placed(&mut self, step: &Step, op: &Op, place: Place) {
        let (allowed, rule) = match op.kind {
            OpKind::Call { .. } => {
                (place == Place::Request, "calls are allowed in request regions only")
            }
            OpKind::Exit(_) => (place == Place::Jump, "exits are allowed in jump regions only"),
            OpKind::If { .. } => (false, "`if` is not allowed in regions"),
            OpKind::WriteContext(..)
            | OpKind::WriteElement { .. }
            | OpKind::WritePacket { .. }
            | OpKind::WriteMeta(..)
            | OpKind::Insert { .. }
            | OpKind::Remove { .. }
            | OpKind::Reset { .. } => {
                (place == Place::Edit, "context and packet can be changed in edit regions only")
            }
            _ => (true, ""),
        };
        if !allowed && place != Place::Sequential {
            self.op_problem(step, op, rule);
        }
    }

    fn guarded(&mut self, scope: &Scope, step: &Step, op: &Op) {
        let Some(guard) = op.guard else { return };
        if !op.kind.has_effect() {
            self.op_problem(step, op, "only writes, resizes, calls and exits can have a guard");
        }
        if self.used(scope, step, op, guard).is_some_and(|w| w != 1) {
            self.op_problem(step, op, "a guard must have one bit");
        }
    }

    /// Checks that no argument and no guard of a request region depends on a reply.
    fn replies(&mut self, scope: &mut Scope, step: &Step, op: &Op, operands: &[Value]) {
        let tainted = operands.iter().chain(&op.guard).any(|v| scope.comes_of_reply(*v));
        let is_call = matches!(op.kind, OpKind::Call { .. });
        if tainted && is_call {
            self.op_problem(
                step,
                op,
                "an argument or guard of a request depends on a reply of the same step",
            );
        }
        if tainted || is_call {
            op.results.iter().for_each(|r| scope.mark_reply(*r));
        }
    }

    fn branches(
        &mut self,
        scope: &mut Scope,
        step: &Step,
        op: &Op,
        branches: [&(Block, Vec<Value>); 2],
        place: Place,
    ) {
        for (block, yields) in branches {
            let mark = scope.enter();
            self.block(scope, step, block, place);
            if yields.len() != op.results.len() {
                self.op_problem(
                    step,
                    op,
                    format!(
                        "a branch yields {} values, but the operation has {} results",
                        yields.len(),
                        op.results.len()
                    ),
                );
            }
            for (value, result) in yields.iter().zip(&op.results) {
                let width = self.used(scope, step, op, *value);
                let expected = step.values.get(result.index()).map(|v| v.width);
                if width.is_some() && expected.is_some() && width != expected {
                    self.op_problem(
                        step,
                        op,
                        format!("yield %{} and result %{} differ in width", value.0, result.0),
                    );
                }
            }
            scope.leave(mark);
        }
    }

    /// Checks the number of results, and the widths of operands and results. `widths` are the
    /// widths of the operands.
    fn widths(&mut self, step: &Step, op: &Op, widths: &[u32]) {
        let results: Option<Vec<u32>> =
            op.results.iter().map(|r| step.values.get(r.index()).map(|v| v.width)).collect();
        let Some(results) = results else { return };
        if let Err(message) = self.shape(op, widths, &results) {
            self.op_problem(step, op, message);
        }
    }

    fn shape(&self, op: &Op, widths: &[u32], results: &[u32]) -> Result<(), String> {
        let expect =
            |holds: bool, message: &str| if holds { Ok(()) } else { Err(message.to_owned()) };
        match &op.kind {
            OpKind::Const(bits) => one(results, bits.width()),
            OpKind::Unary(..) => one(results, widths[0]),
            OpKind::Binary(binary, ..) => {
                expect(
                    binary.is_shift() || widths[0] == widths[1],
                    "the operands differ in width",
                )?;
                one(results, if binary.is_comparison() { 1 } else { widths[0] })
            }
            OpKind::Select(..) => {
                expect(widths[0] == 1, "a condition must have one bit")?;
                expect(widths[1] == widths[2], "the operands differ in width")?;
                one(results, widths[1])
            }
            OpKind::Extend(_) => {
                let result = any(results)?;
                expect(
                    result > widths[0],
                    "the result of an extension must be wider than its operand",
                )
            }
            OpKind::Slice(_, lo) => {
                let result = any(results)?;
                let end = u64::from(*lo) + u64::from(result);
                expect(end <= u64::from(widths[0]), "the slice does not lie inside its operand")
            }
            OpKind::Concat(_) => {
                expect(!widths.is_empty(), "a concatenation needs at least one part")?;
                one(results, widths.iter().fold(0, |sum: u32, w| sum.saturating_add(*w)))
            }
            OpKind::Table { elements, .. } => {
                expect(
                    (1..=MOST_ELEMENTS).contains(&elements.len()),
                    "a table has 1 to 4096 elements",
                )?;
                expect(widths[0] <= 32, "the index of a table has at most 32 bits")?;
                elements.iter().try_for_each(|element| one(results, element.width()))
            }
            OpKind::ReadContext(id) => {
                let var = self
                    .engine
                    .context
                    .get(id.index())
                    .ok_or("the context variable does not exist")?;
                one(results, var.width)
            }
            OpKind::WriteContext(id, _) => {
                let var = self
                    .engine
                    .context
                    .get(id.index())
                    .ok_or("the context variable does not exist")?;
                none(results)?;
                expect(widths[0] == var.width, "value and context variable differ in width")
            }
            OpKind::ReadElement { array, .. } => {
                let array = self.array(*array)?;
                expect(widths[0] <= 32, "the index of an array has at most 32 bits")?;
                one(results, array.width)
            }
            OpKind::WriteElement { array, .. } => {
                let array = self.array(*array)?;
                none(results)?;
                expect(widths[0] <= 32, "the index of an array has at most 32 bits")?;
                expect(widths[1] == array.width, "value and elements differ in width")
            }
            OpKind::ReadPacket { bit, .. } => {
                self.needs_packet()?;
                let result = any(results)?;
                field(*bit, result, widths[0])
            }
            OpKind::WritePacket { bit, .. } => {
                self.needs_packet()?;
                none(results)?;
                field(*bit, widths[1], widths[0])
            }
            OpKind::ReadMeta(meta) => {
                self.needs_packet()?;
                one(results, meta.width())
            }
            OpKind::WriteMeta(meta, _) => {
                self.needs_packet()?;
                none(results)?;
                expect(*meta == Meta::Egress, "only the egress port can be written")?;
                expect(widths[0] == meta.width(), "an egress port must have 16 bits")
            }
            OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => {
                self.needs_packet()?;
                expect(widths.iter().all(|w| *w == 16), "offsets and counts must have 16 bits")?;
                if results.is_empty() { Ok(()) } else { one(results, 1) }
            }
            OpKind::Call { offload, method, .. } => self.call(*offload, *method, widths, results),
            OpKind::Evaluate { offload, method, .. } => {
                self.call(*offload, *method, widths, results)?;
                expect(
                    self.is_function(*offload, *method),
                    "only methods without state that do not access the packet can be evaluated",
                )?;
                any(results).map(|_| ())
            }
            OpKind::If { .. } => expect(widths[0] == 1, "a condition must have one bit"),
            OpKind::Exit(exit) => {
                none(results)?;
                self.exit(exit, widths)
            }
        }
    }

    fn array(&self, array: ArrayId) -> Result<&ContextArray, String> {
        let array = self.engine.arrays.get(array.index());
        array.ok_or_else(|| "the context array does not exist".to_owned())
    }

    fn needs_packet(&self) -> Result<(), String> {
        match self.engine.kind {
            EngineKind::Packet => Ok(()),
            EngineKind::Call { .. } => Err("a called engine has no packet".to_owned()),
        }
    }

    fn is_function(&self, offload: OffloadId, method: usize) -> bool {
        let target = self.engine.offloads.get(offload.index()).map(|offload| &offload.target);
        let Some(OffloadTarget::Kind(config)) = target else { return false };
        let method = registry::kind(&config.kind).and_then(|kind| kind.methods.get(method));
        method.is_some_and(|method| method.is_function())
    }

    fn call(
        &self,
        offload: OffloadId,
        method: usize,
        widths: &[u32],
        results: &[u32],
    ) -> Result<(), String> {
        let offload =
            self.engine.offloads.get(offload.index()).ok_or("the offload does not exist")?;
        let (args, reply): (Vec<u32>, u32) = match &offload.target {
            OffloadTarget::Engine(id) => {
                if method != 0 {
                    return Err("the only method of an engine is 0".to_owned());
                }
                // An engine that does not exist or cannot be called is reported with the
                // declaration of the offload.
                let Some(callee) = self.program.engines.get(id.index()) else { return Ok(()) };
                let EngineKind::Call { params, reply } = &callee.kind else { return Ok(()) };
                let width =
                    |p: &crate::ContextId| callee.context.get(p.index()).map_or(0, |c| c.width);
                (params.iter().map(width).collect(), *reply)
            }
            OffloadTarget::Kind(config) => {
                let Some(kind) = registry::kind(&config.kind) else { return Ok(()) };
                let method = kind.methods.get(method).ok_or("the method does not exist")?;
                if method.reads_packet || method.writes_packet {
                    self.needs_packet()?;
                }
                let args = method.args.iter().map(|(_, ty)| ty.width(config)).collect();
                let reply =
                    if method.reply == ReplyType::None { 0 } else { method.reply.width(config) };
                (args, reply)
            }
        };
        if widths.len() != args.len() {
            return Err(format!("the method takes {} arguments, not {}", args.len(), widths.len()));
        }
        for (i, (found, expected)) in widths.iter().zip(&args).enumerate() {
            if found != expected {
                return Err(format!(
                    "argument {i} has {found} bits, but the method takes {expected}"
                ));
            }
        }
        if reply == 0 { none(results) } else { one(results, reply) }
    }

    fn exit(&self, exit: &Exit, widths: &[u32]) -> Result<(), String> {
        let step = |id: &StepId| {
            let there = id.index() < self.engine.steps.len();
            if there { Ok(()) } else { Err("the step does not exist".to_owned()) }
        };
        if let Exit::Next(id) | Exit::Emit(id, _) = exit {
            step(id)?;
        }
        let reasons = match exit {
            Exit::Drop(_, set) | Exit::ToCpu(_, set) => Some(set),
            Exit::Emit(_, copied) => copied.cpu.as_ref().map(|(_, set)| set),
            _ => None,
        };
        if reasons.is_some_and(|set| set.index() >= self.program.reasons.len()) {
            return Err("the reason set does not exist".to_owned());
        }
        match exit {
            Exit::Drop(..) | Exit::ToCpu(..) if widths[0] != 16 => {
                return Err("a reason must have 16 bits".to_owned());
            }
            Exit::Emit(..) if widths.iter().any(|width| *width != 16) => {
                return Err("offset, count and reason of a copy must have 16 bits".to_owned());
            }
            _ => {}
        }
        match (&self.engine.kind, exit) {
            (_, Exit::Next(_)) => Ok(()),
            (EngineKind::Call { reply, .. }, Exit::Reply(_)) if widths[0] == *reply => Ok(()),
            (EngineKind::Call { reply, .. }, Exit::Reply(_)) => {
                Err(format!("the engine replies {reply} bits, not {}", widths[0]))
            }
            (EngineKind::Packet, Exit::Reply(_)) => {
                Err("an engine that takes packets cannot reply".to_owned())
            }
            (EngineKind::Packet, _) => Ok(()),
            (EngineKind::Call { .. }, _) => Err("a called engine has no packet".to_owned()),
        }
    }
}

fn none(results: &[u32]) -> Result<(), String> {
    if results.is_empty() { Ok(()) } else { Err("the operation has no result".to_owned()) }
}

fn any(results: &[u32]) -> Result<u32, String> {
    match results {
        [width] => Ok(*width),
        _ => Err(format!("the operation has one result, not {}", results.len())),
    }
}

fn one(results: &[u32], expected: u32) -> Result<(), String> {
    let width = any(results)?;
    if width == expected {
        Ok(())
    } else {
        Err(format!("the result has {width} bits, not {expected}"))
    }
}

fn field(bit: u32, width: u32, base: u32) -> Result<(), String> {
    if base != 16 {
        return Err("the base of a header must have 16 bits".to_owned());
    }
    if u64::from(bit) + u64::from(width) > MAX_FIELD_END {
        return Err("the field lies more than 65,536 bytes after its base".to_owned());
    }
    Ok(())
}

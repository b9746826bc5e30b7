//! Converts context arrays to variables, for machines whose threads have no arrays.
//!
//! ```text
//! array a : 2 of u8                       context a[0] : u8
//!                                         context a[1] : u8
//! array.write a at %i, %v                 %2:u8 = context.read a[0]
//! %1:u8 = array.read a at %j              %3:u8 = context.read a[1]
//! next b                                  %4:u1 = const 0
//!                                    =>   %5:u1 = eq %i, %4
//!                                         %6:u8 = select %5, %v, %2
//!                                         (the same for a[1], then a choice between both by %j)
//!                                         context.write a[0], %6
//!                                         context.write a[1], %8
//!                                         next b
//! ```
//!
//! As in lowering, a step reads an element when it first needs it, computes with values, and writes
//! the changed elements before it continues at another step. A constant index selects one element.
//! Any other index is a choice among all elements.
//!
//! Engines that have steps with regions stay unchanged.

use std::collections::{BTreeMap, HashMap};

use wireloom_bits::Bits;
use wireloom_ir::{
    ArrayId, BinaryOp, Block, Code, ContextArray, ContextId, ContextVar, Engine, Exit, Loc, Op,
    OpKind, Program, Step, Value, ValueInfo,
};

use super::PassOptions;

/// Replaces the arrays of every engine.
pub fn run(program: &mut Program, options: &PassOptions) {
    if options.scalars {
        program.engines.iter_mut().for_each(scatter);
    }
}

fn scatter(engine: &mut Engine) {
    let is_sequential = |step: &Step| matches!(step.code, Code::Sequential(_));
    if engine.arrays.is_empty() || !engine.steps.iter().all(is_sequential) {
        return;
    }
    let arrays = std::mem::take(&mut engine.arrays);
    let mut first = Vec::with_capacity(arrays.len());
    for array in &arrays {
        first.push(engine.context.len() as u32);
        let variable = |i| ContextVar { name: format!("{}[{i}]", array.name), width: array.width };
        engine.context.extend((0..array.count).map(variable));
    }
    for step in &mut engine.steps {
        let constants = constants(step);
        let (front, initial) = (Vec::new(), Path::new());
        Writer { arrays: &arrays, first: &first, step, constants, front, initial }.run();
    }
}

/// Returns the constants of a step that have at most 64 bits.
fn constants(step: &Step) -> HashMap<Value, u64> {
    let mut constants = HashMap::new();
    step.for_each_op(|op| {
        if let OpKind::Const(bits) = &op.kind
            && let Some(number) = bits.to_u64()
        {
            constants.insert(op.results[0], number);
        }
    });
    constants
}

/// The values of the elements that a path has written since the step began.
type Path = BTreeMap<ContextId, Value>;

struct Writer<'a> {
    arrays: &'a [ContextArray],
    /// The variable of element 0 of each array.
    first: &'a [u32],
    step: &'a mut Step,
    constants: HashMap<Value, u64>,
    /// The reads of elements at the beginning of the step, and their results.
    front: Vec<Op>,
    initial: Path,
}

impl Writer<'_> {
    fn run(&mut self) {
        let Code::Sequential(block) = &mut self.step.code else { return };
        let block = std::mem::take(block);
        let block = self.block(block, &mut Path::new());
        let ops = std::mem::take(&mut self.front).into_iter().chain(block.ops).collect();
        self.step.code = Code::Sequential(Block { ops });
    }

    fn fresh(&mut self, width: u32) -> Value {
        self.step.values.push(ValueInfo { width, name: None });
        Value(self.step.values.len() as u32 - 1)
    }

    fn value(&mut self, out: &mut Vec<Op>, width: u32, kind: OpKind, loc: Loc) -> Value {
        let value = self.fresh(width);
        out.push(Op { kind, results: vec![value], guard: None, loc });
        value
    }

    fn width(&self, value: Value) -> u32 {
        self.step.values[value.index()].width
    }

    /// Returns the value of an element on a path.
    fn now(&mut self, path: &Path, id: ContextId, width: u32) -> Value {
        if let Some(value) = path.get(&id).or_else(|| self.initial.get(&id)) {
            return *value;
        }
        let value = self.fresh(width);
        let (kind, results) = (OpKind::ReadContext(id), vec![value]);
        self.front.push(Op { kind, results, guard: None, loc: Loc::default() });
        self.initial.insert(id, value);
        value
    }

    fn block(&mut self, block: Block, path: &mut Path) -> Block {
        let mut out = Vec::with_capacity(block.ops.len());
        for op in block.ops {
            let loc = op.loc;
            match op.kind {
                OpKind::ReadElement { array, index } => {
                    self.read(&mut out, path, (array, index), op.results[0], loc);
                }
                OpKind::WriteElement { array, index, value } => {
                    self.write(&mut out, path, (array, index), (value, op.guard), loc);
                }
                OpKind::If { condition, then, otherwise } => {
                    let ([then, otherwise], results) =
                        self.branches([then, otherwise], op.results, path);
                    let kind = OpKind::If { condition, then, otherwise };
                    out.push(Op { kind, results, guard: op.guard, loc });
                }
                OpKind::Exit(Exit::Next(_) | Exit::Emit(..)) => {
                    let write = |(id, value): (&ContextId, &Value)| Op {
                        kind: OpKind::WriteContext(*id, *value),
                        results: Vec::new(),
                        guard: op.guard,
                        loc,
                    };
                    out.extend(path.iter().map(write));
                    out.push(op);
                }
                _ => out.push(op),
            }
        }
        Block { ops: out }
    }

    /// Replaces the arrays in both arms of an `if`. Elements that an arm changes become results.
    fn branches(
        &mut self,
        arms: [(Block, Vec<Value>); 2],
        mut results: Vec<Value>,
        path: &mut Path,
    ) -> ([(Block, Vec<Value>); 2], Vec<Value>) {
        let [then, otherwise] = arms;
        let (mut in_then, mut in_otherwise) = (path.clone(), path.clone());
        let mut then = (self.block(then.0, &mut in_then), then.1);
        let mut otherwise = (self.block(otherwise.0, &mut in_otherwise), otherwise.1);
        let ids: Vec<ContextId> = in_then.keys().chain(in_otherwise.keys()).copied().collect();
        for id in ids {
            let known = in_then.get(&id).or_else(|| in_otherwise.get(&id));
            let width = known.map_or(0, |value| self.width(*value));
            let a = self.now(&in_then, id, width);
            let b = self.now(&in_otherwise, id, width);
            if a == b {
                continue;
            }
            let merged = self.fresh(width);
            results.push(merged);
            then.1.push(a);
            otherwise.1.push(b);
            path.insert(id, merged);
            in_then.insert(id, merged);
            in_otherwise.insert(id, merged);
        }
        ([then, otherwise], results)
    }

    /// Returns the elements that an index may select, each with the condition under which it does.
    /// The condition is `None` if it certainly does.
    fn chosen(
        &mut self,
        out: &mut Vec<Op>,
        (array, index): (ArrayId, Value),
        loc: Loc,
    ) -> Vec<(ContextId, Option<Value>)> {
        let (first, count) = (self.first[array.index()], self.arrays[array.index()].count);
        let reach = self.width(index);
        if let Some(known) = self.constants.get(&index) {
            let inside = (*known < u64::from(count)).then_some(*known as u32);
            return inside.map(|i| (ContextId(first + i), None)).into_iter().collect();
        }
        let possible = if reach < 32 { count.min(1 << reach) } else { count };
        let element = |i: u32| {
            let number = Bits::new(reach, i.into());
            let number = self.value(out, reach, OpKind::Const(number), loc);
            let hit = self.value(out, 1, OpKind::Binary(BinaryOp::Eq, index, number), loc);
            (ContextId(first + i), Some(hit))
        };
        (0..possible).map(element).collect()
    }

    fn read(
        &mut self,
        out: &mut Vec<Op>,
        path: &Path,
        at: (ArrayId, Value),
        result: Value,
        loc: Loc,
    ) {
        let width = self.width(result);
        let mut so_far = self.value(out, width, OpKind::Const(Bits::zero(width)), loc);
        for (id, hit) in self.chosen(out, at, loc) {
            let element = self.now(path, id, width);
            so_far = match hit {
                Some(hit) => self.value(out, width, OpKind::Select(hit, element, so_far), loc),
                None => element,
            };
        }
        // This slice keeps the result's old name. Folding removes it.
        let kind = OpKind::Slice(so_far, 0);
        out.push(Op { kind, results: vec![result], guard: None, loc });
    }

    fn write(
        &mut self,
        out: &mut Vec<Op>,
        path: &mut Path,
        at: (ArrayId, Value),
        (value, guard): (Value, Option<Value>),
        loc: Loc,
    ) {
        let width = self.width(value);
        for (id, hit) in self.chosen(out, at, loc) {
            let condition = match (hit, guard) {
                (Some(hit), Some(guard)) => {
                    let both = OpKind::Binary(BinaryOp::And, guard, hit);
                    Some(self.value(out, 1, both, loc))
                }
                (hit, guard) => hit.or(guard),
            };
            let after = match condition {
                Some(condition) => {
                    let before = self.now(path, id, width);
                    self.value(out, width, OpKind::Select(condition, value, before), loc)
                }
                None => value,
            };
            path.insert(id, after);
        }
    }
}

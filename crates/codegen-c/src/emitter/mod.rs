//! Turns a run of operations into C statements.
//!
//! Step code is straight-line: every effect carries its guard, and values that only a guarded
//! effect needs are computed unconditionally. C is easier to read, and runs faster, when an `if`
//! holds everything that belongs to its condition. Effects are therefore written in order, and
//! adjacent effects with the same guard share one `if`. Any other operation is written when the
//! first effect needs it. It goes inside the `if` if nothing outside needs it, before the `if` if
//! something outside does, and inline in the expression if it is used once. A read must keep its
//! original result, so it is written at the latest before the effect that would change the resource
//! it reads.

mod forms;
mod groups;

use std::collections::{BTreeSet, HashMap};
use std::iter::Peekable;
use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_compile::analysis::resources::reads;
use wireloom_ir::{Engine, Loc, Meta, Op, OpKind, Program, Step, Value};

use super::names::Names;
use super::ops::{Fill, Form, Operand, Place};
use super::print;
use super::tree::{Expr, Stmt};
use super::types::Model;

/// The longest expression, in characters, that is written inline. Longer ones get a name.
const LONGEST: usize = 96;

/// `WL_REACH`: the last byte of the window at which a read may begin.
pub const REACH: u64 = 560;

/// The longest chain of operations from which bounds of offsets are computed.
const MOST_LOOKED_AT: u32 = 6;

/// The longest chain of operations without names.
const DEEPEST: usize = 64;

/// C expressions for the names that operations refer to, in the function being written.
pub struct Scope<'a> {
    pub program: &'a Program,
    /// The engine that contains the step.
    pub engine: &'a Engine,
    pub step: &'a Step,
    /// The expression of each context variable.
    pub context: &'a [Expr],
    /// The expression of each context array.
    pub arrays: &'a [Expr],
    /// The current packet, a pointer.
    pub packet: Expr,
    /// The object through which fields of the packet are read and written: its window's position,
    /// or the packet.
    pub window: Expr,
    /// The C compiler's types.
    pub model: Model,
    /// Whether the code itself must prove that array indices are in range, since a verifier reads
    /// it. Arrays then have [`proved_room`].
    pub proves_indices: bool,
}

/// Returns the number of elements of an array whose indices are masked.
pub fn proved_room(count: u64) -> u64 {
    count.next_power_of_two()
}

/// Writes effects. The implementation asks the emitter for the operands.
pub trait Effects {
    /// Writes the effect of an operation into the current block. `result` is the object for its
    /// reply.
    fn effect(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&Expr>) -> Vec<Stmt>;

    /// Returns whether no statement may be placed before the `if` that holds this effect.
    fn ends_group(&self, _op: &Op) -> bool {
        false
    }
}

/// The state of a value during emission.
#[derive(Clone, Debug)]
enum Made {
    /// Not written yet.
    No,
    /// Written, or provided at the start, as this expression.
    Yes(Operand),
}

/// A line of the open `if`.
enum Line {
    Plain(Stmt),
    /// Defines a local. Whether its declaration moves before the `if` is known when the `if` is
    /// closed.
    Define(Local),
}

/// A local that holds a value.
struct Local {
    value: Value,
    name: String,
    content: Content,
    loc: Loc,
}

/// The initialisation of a local.
enum Content {
    Initialiser(Expr),
    Statements(Fill),
}

/// The open `if`.
struct Group {
    guard: Value,
    condition: Operand,
    lines: Vec<Line>,
    /// Indices of the effects in the `if`.
    effects: Vec<usize>,
}

/// Writes the operations of one function.
pub struct Emitter<'a> {
    pub scope: Scope<'a>,
    names: Names,
    ops: Vec<&'a Op>,
    /// The operation that defines each value; and, if the step is in the form of regions, its
    /// definition in the whole step.
    definition: Vec<Option<usize>>,
    origins: Vec<Option<&'a Op>>,
    /// The constant arrays written so far, with their names.
    tables: HashMap<Arc<[Bits]>, String>,
    /// The number of uses of each value by live operations, and the number of uses not yet written.
    uses: Vec<u32>,
    left: Vec<u32>,
    /// The only guard under which each value is needed, if there is just one.
    only: Vec<Option<Value>>,
    made: Vec<Made>,
    /// The reads not yet examined, and the reads whose results are still to be written.
    reads: Peekable<std::vec::IntoIter<usize>>,
    waiting: Vec<usize>,
    /// Whether an operand is being written. Operands nest.
    is_inside: bool,
    written: Vec<bool>,
    top: Vec<Stmt>,
    group: Option<Group>,
    last_line: Option<wireloom_ir::Loc>,
}

impl<'a> Emitter<'a> {
    /// Creates an emitter for these operations, in order. `wanted` are values that are needed in
    /// addition to the operands of effects.
    pub fn new(scope: Scope<'a>, ops: Vec<&'a Op>, wanted: &[Value]) -> Self {
        let count = scope.step.values.len();
        let is_read = |index: &usize| reads(&ops[*index].kind).is_some();
        let reads: Vec<usize> = (0..ops.len()).filter(is_read).collect();
        let mut origins = vec![None; count];
        for op in scope.step.ops() {
            op.results.iter().for_each(|result| origins[result.index()] = Some(op));
        }
        let mut emitter = Self {
            scope,
            names: Names::default(),
            definition: vec![None; count],
            origins,
            tables: HashMap::new(),
            uses: vec![0; count],
            left: Vec::new(),
            only: vec![None; count],
            made: vec![Made::No; count],
            reads: reads.into_iter().peekable(),
            waiting: Vec::new(),
            is_inside: false,
            written: vec![false; ops.len()],
            ops,
            top: Vec::new(),
            group: None,
            last_line: None,
        };
        emitter.analyse(wanted);
        emitter
    }

    fn analyse(&mut self, wanted: &[Value]) {
        // `None`: not needed yet. `Some(None)`: needed everywhere. `Some(Some(g))`: needed only
        // under g.
        let mut need: Vec<Option<Option<Value>>> = vec![None; self.uses.len()];
        let want = |need: &mut Vec<Option<Option<Value>>>, v: Value, under: Option<Value>| {
            need[v.index()] = match need[v.index()] {
                None => Some(under),
                Some(before) if before == under => Some(under),
                Some(_) => Some(None),
            };
        };
        for v in wanted {
            self.uses[v.index()] += 1;
            want(&mut need, *v, None);
        }
        for (index, op) in self.ops.iter().enumerate() {
            for result in &op.results {
                self.definition[result.index()] = Some(index);
            }
        }
        for op in self.ops.iter().rev() {
            let under = if op.kind.has_effect() {
                if let Some(guard) = op.guard {
                    self.uses[guard.index()] += 1;
                    want(&mut need, guard, None);
                }
                op.guard
            } else {
                match op.results.first().and_then(|r| need[r.index()]) {
                    Some(under) => under,
                    None => continue,
                }
            };
            for v in op.kind.operands() {
                self.uses[v.index()] += 1;
                want(&mut need, v, under);
            }
        }
        self.only = need.into_iter().map(Option::flatten).collect();
        self.left = self.uses.clone();
    }

    /// Declares that a value already exists as the expression `c`.
    pub fn provide(&mut self, value: Value, c: Expr) {
        let width = self.width(value);
        self.made[value.index()] = Made::Yes(self.scope.model.operand(c, width));
    }

    /// Returns the width of a value in bits.
    pub fn width(&self, value: Value) -> u32 {
        self.scope.step.values[value.index()].width
    }

    /// Returns whether a live operation of this function uses the value.
    pub fn is_used(&self, value: Value) -> bool {
        self.uses[value.index()] > 0
    }

    /// Returns the constant that defines a value, if it is a constant.
    pub fn constant(&self, value: Value) -> Option<&'a wireloom_bits::Bits> {
        match &self.ops[self.definition[value.index()]?].kind {
            OpKind::Const(bits) => Some(bits),
            _ => None,
        }
    }

    pub fn run(&mut self, effects: &mut dyn Effects) {
        for index in 0..self.ops.len() {
            let op = self.ops[index];
            if !op.kind.has_effect() {
                continue;
            }
            self.keep_reads(index);
            self.effect(index, effects);
        }
        self.close();
    }

    pub fn finish(mut self) -> Vec<Stmt> {
        self.close();
        self.top
    }

    /// Appends a statement outside all `if`s.
    pub fn plain(&mut self, statement: Stmt) {
        self.close();
        self.top.push(statement);
    }

    /// Returns a value for use outside all `if`s. The result is never an expression with operators.
    pub fn kept_outside(&mut self, value: Value) -> Operand {
        self.close();
        self.kept_operand(value)
    }

    fn local_name(&mut self, value: Value, op: &Op) -> String {
        let own = self.scope.step.values[value.index()].name.clone();
        let hint = own.unwrap_or_else(|| match &op.kind {
            OpKind::ReadContext(id) => self.scope.engine.context[id.index()].name.clone(),
            OpKind::ReadElement { array, .. } => {
                self.scope.engine.arrays[array.index()].name.clone()
            }
            OpKind::ReadMeta(meta) => match meta {
                Meta::Ingress => "ingress",
                Meta::Egress => "egress",
                Meta::Length => "length",
                Meta::Window => "window",
                Meta::Arrival => "arrival",
            }
            .into(),
            OpKind::Call { offload, .. } | OpKind::Evaluate { offload, .. } => {
                format!("{}_reply", self.scope.engine.offloads[offload.index()].name)
            }
            _ => format!("v{}", value.0),
        });
        self.names.give(&hint)
    }

    /// Gives names to values in the middle of a long computation, so that neither this program nor
    /// the C compiler recurses deeply in it.
    fn shorten(&mut self, value: Value) {
        let mut needed = BTreeSet::new();
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if let (Some(index), Made::No) =
                (self.definition[value.index()], &self.made[value.index()])
                && needed.insert(index)
            {
                open.extend(self.ops[index].kind.operands());
            }
        }
        if needed.len() <= DEEPEST {
            return;
        }
        let mut depths: HashMap<Value, usize> = HashMap::new();
        for index in needed {
            let op = self.ops[index];
            let operands = op.kind.operands().into_iter();
            let depth = operands.map(|v| depths.get(&v).map_or(0, |depth| depth + 1)).max();
            let (result, depth) = (op.results[0], depth.unwrap_or(0));
            if depth < DEEPEST {
                depths.insert(result, depth);
            } else if let Made::No = self.made[result.index()]
                && result != value
            {
                self.make(result);
            }
        }
    }

    /// Returns the expression of an operand. The call counts as one use of the value.
    pub fn operand(&mut self, value: Value) -> Operand {
        if !std::mem::replace(&mut self.is_inside, true) {
            self.shorten(value);
            let operand = self.operand_inside(value);
            self.is_inside = false;
            return operand;
        }
        self.operand_inside(value)
    }

    fn operand_inside(&mut self, value: Value) -> Operand {
        if let Made::No = self.made[value.index()] {
            let index = self.definition[value.index()].expect("a value has a definition");
            let op = self.ops[index];
            let model = self.scope.model;
            let is_wide = model.class(self.width(value)).is_wide();
            if let OpKind::Const(bits) = &op.kind
                && !is_wide
            {
                self.took(value);
                return Operand {
                    constant: bits.to_u64().filter(|_| bits.width() <= 64),
                    ..model.operand(model.literal(bits), bits.width())
                };
            }
            if self.uses[value.index()] == 1 && !is_wide {
                let content = match self.form(op, value) {
                    Form::Expression(operand) if print::width(&operand.c) <= LONGEST => {
                        self.took(value);
                        return operand;
                    }
                    form => Content::from(form),
                };
                self.define(value, op, content);
            } else {
                self.make(value);
            }
        }
        self.took(value);
        match &self.made[value.index()] {
            Made::Yes(operand) => operand.clone(),
            Made::No => unreachable!("the value was just made"),
        }
    }

    /// Returns the operand as [`operand`](Self::operand) does, but never as an expression with
    /// operators: callers may use it twice.
    pub fn kept_operand(&mut self, value: Value) -> Operand {
        let is_literal =
            self.constant(value).is_some() && !self.scope.model.class(self.width(value)).is_wide();
        if !is_literal && let Made::No = self.made[value.index()] {
            self.make(value);
        }
        self.operand(value)
    }

    /// Returns the position of the window field that a value equals. The call counts as a use of
    /// the value, which then need not be read. Returns `None` if the value is not a field, does not
    /// begin at a byte boundary, or has already been read.
    pub fn field(&mut self, value: Value) -> Option<Place> {
        let Made::No = self.made[value.index()] else { return None };
        let OpKind::ReadPacket { base, bit } = self.ops[self.definition[value.index()]?].kind
        else {
            return None;
        };
        if bit % 8 != 0 {
            return None;
        }
        self.took(value);
        Some(self.place(base, bit))
    }

    fn took(&mut self, value: Value) {
        let left = &mut self.left[value.index()];
        *left = left.saturating_sub(1);
    }

    /// Writes a local that holds the value.
    fn make(&mut self, value: Value) {
        if !std::mem::replace(&mut self.is_inside, true) {
            self.shorten(value);
            self.make_inside(value);
            self.is_inside = false;
            return;
        }
        self.make_inside(value);
    }

    fn make_inside(&mut self, value: Value) {
        let index = self.definition[value.index()].expect("a value has a definition");
        let op = self.ops[index];
        let content = Content::from(self.form(op, value));
        self.define(value, op, content);
    }

    fn define(&mut self, value: Value, op: &Op, content: Content) {
        let name = self.local_name(value, op);
        self.provide(value, Expr::name(&name));
        let local = Local { value, name, content, loc: op.loc };
        match &mut self.group {
            Some(group) if self.only[value.index()] == Some(group.guard) => {
                group.lines.push(Line::Define(local));
            }
            _ => {
                let class = self.scope.model.class(self.width(value));
                self.top.extend(local.define(class, false));
            }
        }
    }
}

impl From<Form> for Content {
    fn from(form: Form) -> Self {
        match form {
            Form::Expression(operand) => Self::Initialiser(operand.c),
            Form::Statements(fill) => Self::Statements(fill),
        }
    }
}

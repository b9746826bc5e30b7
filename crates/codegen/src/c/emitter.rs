//! Turns a run of operations into C statements.
//!
//! Step code is straight-line: every effect carries its guard, and values that only a guarded
//! effect needs are computed unconditionally. C is easier to read, and runs faster, when an `if`
//! holds everything that belongs to its condition. Effects are therefore written in their order,
//! and neighbours with the same guard share one `if`. Any other operation is written when the first
//! effect needs it: inside the `if` if nothing outside needs it, before the `if` if something
//! outside does, and inline in the expression if it is used once. A read must keep its original
//! result; it is written at the latest before the effect that would change what it reads.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::iter::Peekable;
use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Engine, Meta, Op, OpKind, Program, Step, Value};

use super::calls;
use super::conflict::{Resource, changes, reads};
use super::names::Names;
use super::ops::{self, Fill, Form, Operand, Place};
use super::plan;
use super::print;
use super::tree::{Binary, Declaration, Expr, Stmt};
use super::types::{Class, Model};

/// The longest expression, in characters, that is written in place. Longer ones get a name.
const LONGEST: usize = 96;

/// `WL_REACH`: the farthest byte of the window at which a read may begin.
pub const REACH: u64 = 560;

/// The most operations in a row that bounds of offsets are computed from.
const MOST_LOOKED_AT: u32 = 6;

/// The most operations in a row that have no names.
const DEEPEST: usize = 64;

/// C expressions for the names that operations refer to, in the function being written.
pub struct Scope<'a> {
    /// The program.
    pub program: &'a Program,
    /// The engine that contains the step.
    pub engine: &'a Engine,
    /// The step.
    pub step: &'a Step,
    /// The expression of each context variable.
    pub context: &'a [Expr],
    /// The expression of each context array.
    pub arrays: &'a [Expr],
    /// The current packet, a pointer.
    pub packet: Expr,
    /// The object in which fields of the packet are read and written: where its window lies, or the
    /// packet.
    pub window: Expr,
    /// The C compiler's types.
    pub model: Model,
}

/// Writes effects. The implementation asks the emitter for the operands.
pub trait Effects {
    /// Writes the effect of an operation into the current block. `result` is the object for its
    /// reply.
    fn effect(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&Expr>) -> Vec<Stmt>;

    /// Whether no statement may be placed before the `if` that holds this effect.
    fn ends_group(&self, _op: &Op) -> bool {
        false
    }
}

/// The state of a value.
#[derive(Clone, Debug)]
enum Made {
    /// Not written yet.
    No,
    /// Written, or provided from the beginning, as this expression.
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
}

/// The source of a local's value.
enum Content {
    Initialiser(Expr),
    Statements(Fill),
}

/// The open `if`.
struct Group {
    guard: Value,
    condition: Operand,
    lines: Vec<Line>,
    /// Indices of the effects in it.
    effects: Vec<usize>,
}

/// Writes the operations of one function.
pub struct Emitter<'a> {
    /// The C expressions of names.
    pub scope: Scope<'a>,
    names: Names,
    ops: Vec<&'a Op>,
    /// The operation that defines each value, and the one of the whole step that does, if the step
    /// is in the form of regions.
    definition: Vec<Option<usize>>,
    origins: Vec<Option<&'a Op>>,
    /// The constant arrays that have been written, and their names.
    tables: HashMap<Arc<[Bits]>, String>,
    /// The number of uses of each value by live operations, and the number of these uses not yet
    /// written.
    uses: Vec<u32>,
    left: Vec<u32>,
    /// The only guard under which each value is needed, if there is one.
    only: Vec<Option<Value>>,
    made: Vec<Made>,
    /// The reads that have not been looked at yet, and those whose results are still to be written.
    reads: Peekable<std::vec::IntoIter<usize>>,
    waiting: Vec<usize>,
    /// Whether an operand is being written, perhaps for another one.
    is_inside: bool,
    written: Vec<bool>,
    top: Vec<Stmt>,
    group: Option<Group>,
    last_line: Option<wireloom_ir::Loc>,
}

impl<'a> Emitter<'a> {
    /// Creates an emitter for these operations, in order. `wanted` are the values that are needed
    /// in addition to those that the effects use.
    pub fn new(scope: Scope<'a>, ops: Vec<&'a Op>, wanted: &[Value]) -> Self {
        let count = scope.step.values.len();
        let is_read = |index: &usize| reads(&ops[*index].kind).is_some();
        let reads: Vec<usize> = (0..ops.len()).filter(is_read).collect();
        let mut origins = vec![None; count];
        for op in plan::ops(scope.step) {
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
        // `None`: not needed yet. `Some(None)`: needed everywhere. `Some(Some(g))`: needed under g
        // only.
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

    /// The width of a value in bits.
    pub fn width(&self, value: Value) -> u32 {
        self.scope.step.values[value.index()].width
    }

    /// Whether a live operation of this function uses the value.
    pub fn is_used(&self, value: Value) -> bool {
        self.uses[value.index()] > 0
    }

    /// Returns the constant that defines a value, if it is one.
    pub fn constant(&self, value: Value) -> Option<&'a wireloom_bits::Bits> {
        match &self.ops[self.definition[value.index()]?].kind {
            OpKind::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// Writes all effects.
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

    /// Returns the statements that were written.
    pub fn finish(mut self) -> Vec<Stmt> {
        self.close();
        self.top
    }

    /// Adds a statement outside all `if`s.
    pub fn plain(&mut self, statement: Stmt) {
        self.close();
        self.top.push(statement);
    }

    /// Returns a value that is needed outside all `if`s, never as an expression with operators.
    pub fn kept_outside(&mut self, value: Value) -> Operand {
        self.close();
        self.kept_operand(value)
    }

    fn effect(&mut self, index: usize, effects: &mut dyn Effects) {
        let op = self.ops[index];
        let guard = op.guard.filter(|g| self.constant(*g).is_none_or(|c| c.is_zero()));
        // Statements before the `if` may depend on statements in it. In that case the `if` ends
        // first.
        if self.group.as_ref().is_some_and(|g| Some(g.guard) != guard)
            || op.kind.operands().iter().any(|v| self.depends_on_group(*v, guard))
        {
            self.close();
        }
        if let (Some(guard), None) = (guard, &self.group) {
            let condition = self.operand(guard);
            self.group = Some(Group { guard, condition, lines: Vec::new(), effects: Vec::new() });
        }
        let result = op.results.first().copied().filter(|r| self.is_used(*r));
        let object = result.map(|r| {
            let name = self.local_name(r, op);
            if guard.is_some() {
                self.declare_zero(r, &name);
            }
            (r, name)
        });
        let target = object.as_ref().map(|(_, name)| Expr::name(name));
        let statements = effects.effect(self, op, target.as_ref());
        let located = self.located(op);
        match &mut self.group {
            Some(group) => {
                group.lines.extend(located.into_iter().chain(statements).map(Line::Plain));
                group.effects.push(index);
            }
            None => {
                self.top.extend(located);
                if let Some((r, name)) = &object {
                    let class = self.scope.model.class(self.width(*r));
                    self.top.push(Declaration::new(class.c_type(), name).into());
                }
                self.top.extend(statements);
            }
        }
        if let Some((r, name)) = object {
            self.provide(r, Expr::name(name));
        }
        self.written[index] = true;
        if matches!(op.kind, OpKind::Exit(_)) || effects.ends_group(op) {
            self.close();
        }
    }

    /// Returns the comment `/* file:line */` if an effect is from another line than the one before.
    fn located(&mut self, op: &Op) -> Option<Stmt> {
        if op.loc.line == 0 || self.last_line == Some(op.loc) {
            return None;
        }
        self.last_line = Some(op.loc);
        let file = self.scope.program.files.get(op.loc.file as usize).map_or("?", |f| f.as_str());
        let file = file.rsplit('/').next().unwrap_or(file);
        Some(Stmt::Comment(format!("{file}:{}", op.loc.line)))
    }

    /// Writes the earlier reads whose results an effect would invalidate and that later operations
    /// still need.
    fn keep_reads(&mut self, index: usize) {
        let changed = changes(self.scope.engine, &self.ops[index].kind);
        if changed.is_empty() {
            return;
        }
        while let Some(read) = self.reads.next_if(|read| *read < index) {
            self.waiting.push(read);
        }
        let (left, made, ops) = (&self.left, &self.made, &self.ops);
        self.waiting.retain(|read| {
            let value = ops[*read].results[0].index();
            left[value] > 0 && matches!(made[value], Made::No)
        });
        for read in self.waiting.clone() {
            let op = self.ops[read];
            let Some(resource) = reads(&op.kind) else { continue };
            let value = op.results[0];
            if !changed.iter().any(|c| c.covers(resource))
                || matches!(self.made[value.index()], Made::Yes(_))
            {
                continue;
            }
            // The only use may be the effect itself, which reads before it writes.
            if self.left[value.index()] == 1 && self.ops[index].kind.operands().contains(&value) {
                continue;
            }
            if self.depends_on_group(value, self.group.as_ref().map(|g| g.guard)) {
                self.close();
            }
            self.make(value);
        }
    }

    /// Whether it would be too early to write the value now, before the open `if`: it needs a reply
    /// of an effect in the `if`, or reads something that such an effect changes. A value that goes
    /// into the `if` itself is never too early.
    fn depends_on_group(&self, value: Value, guard: Option<Value>) -> bool {
        let Some(group) = &self.group else { return false };
        let (mut seen, mut safe) = (HashSet::new(), HashSet::new());
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if matches!(self.made[value.index()], Made::Yes(_)) || !seen.insert(value) {
                continue;
            }
            let Some(index) = self.definition[value.index()] else { continue };
            let inside =
                guard.is_some() && guard == Some(group.guard) && self.only[value.index()] == guard;
            if !inside && self.unsafe_in_front(value, group, &mut safe) {
                return true;
            }
            open.extend(self.ops[index].kind.operands());
        }
        false
    }

    /// `safe` are values for which the answer is known to be no.
    fn unsafe_in_front(&self, value: Value, group: &Group, safe: &mut HashSet<Value>) -> bool {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            let Some(index) = self.definition[value.index()] else { continue };
            if group.effects.contains(&index) {
                return true;
            }
            if matches!(self.made[value.index()], Made::Yes(_)) || !safe.insert(value) {
                continue;
            }
            let op = self.ops[index];
            let falsified = |resource: Resource| {
                group.effects.iter().any(|e| {
                    *e < index
                        && changes(self.scope.engine, &self.ops[*e].kind)
                            .iter()
                            .any(|c| c.covers(resource))
                })
            };
            if reads(&op.kind).is_some_and(falsified) {
                return true;
            }
            open.extend(op.kind.operands());
        }
        false
    }

    /// Closes the open `if`. Locals in it that later operations need are declared before it.
    fn close(&mut self) {
        let Some(group) = self.group.take() else { return };
        if group.lines.is_empty() {
            return;
        }
        let mut body = Vec::new();
        for line in group.lines {
            match line {
                Line::Plain(statement) => body.push(statement),
                Line::Define(local) => {
                    let is_needed_later = self.left[local.value.index()] > 0;
                    if is_needed_later {
                        self.declare_zero(local.value, &local.name);
                    }
                    let class = self.scope.model.class(self.width(local.value));
                    body.extend(local.define(class, is_needed_later));
                }
            }
        }
        self.top.push(Stmt::If(group.condition.c, body));
    }

    /// Declares a local before the `if` that sets it.
    fn declare_zero(&mut self, value: Value, name: &str) {
        let class = self.scope.model.class(self.width(value));
        self.top.push(Declaration::new(class.c_type(), name).with(class.zero()).into());
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

    /// Gives names to values in the middle of a long computation that is to be written, so that
    /// neither this program nor the C compiler recurses deeply in it.
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

    /// Returns the operand as [`operand`](Self::operand) does, but never an expression with
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
        let local = Local { value, name, content };
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

    /// Returns the form of an operation that is not an effect.
    fn form(&mut self, op: &Op, value: Value) -> Form {
        let (width, model) = (self.width(value), self.scope.model);
        match &op.kind {
            OpKind::Const(bits) => Form::Expression(model.operand(model.wide_literal(bits), width)),
            OpKind::Unary(op, a) => {
                let a = self.operand(*a);
                ops::unary(*op, &a)
            }
            OpKind::Binary(op, a, b) => {
                let fits = self.exact(*op, *a, *b, MOST_LOOKED_AT).is_some_and(|largest| {
                    width <= 64 && largest < 1 << width && model == Model::Bits64
                });
                let (a, b) = (self.operand(*a), self.operand(*b));
                ops::binary(*op, &a, &b, fits)
            }
            OpKind::Select(c, a, b) => {
                let (c, a, b) = (self.operand(*c), self.operand(*a), self.operand(*b));
                ops::select(&c, &a, &b)
            }
            OpKind::Extend(a) => {
                let a = self.operand(*a);
                ops::extend(&a, width)
            }
            OpKind::Slice(a, lo) => {
                let a = self.operand(*a);
                ops::slice(&a, *lo, width)
            }
            OpKind::Concat(parts) => {
                let parts: Vec<Operand> = parts.iter().map(|part| self.operand(*part)).collect();
                ops::concat(&parts)
            }
            OpKind::ReadContext(id) => {
                Form::Expression(model.operand(self.scope.context[id.index()].clone(), width))
            }
            OpKind::ReadElement { array, index } => {
                let elements = self.scope.arrays[array.index()].clone();
                let count = self.scope.engine.arrays[array.index()].count;
                let at = self.index(*index, count.into());
                Form::Expression(model.operand(elements.index(at), width))
            }
            OpKind::ReadMeta(meta) => Form::Expression(self.meta(*meta)),
            OpKind::Table { elements, index } => {
                Form::Expression(self.table(elements, *index, width))
            }
            OpKind::Evaluate { offload, method, args } => {
                let args: Vec<Operand> = args.iter().map(|arg| self.kept_operand(*arg)).collect();
                let c = calls::evaluate(self, *offload, *method, &args);
                Form::Expression(model.operand(c, width))
            }
            OpKind::ReadPacket { base, bit } => {
                let place = self.place(*base, *bit);
                ops::read_packet(model, &place, width)
            }
            _ => unreachable!("effects are written in their order"),
        }
    }

    /// Reads a constant array, which is written in front of everything else. The element after the
    /// last one is zero, for all indices without an element.
    fn table(&mut self, elements: &Arc<[Bits]>, index: Value, width: u32) -> Operand {
        let model = self.scope.model;
        let count = elements.len() as u64;
        let name = match self.tables.get(elements) {
            Some(name) => name.clone(),
            None => {
                let name = self.names.give("table");
                let is_wide = model.class(width).is_wide();
                let literal = |element: &Bits| match is_wide {
                    true => model.wide_literal(element),
                    false => model.literal(element),
                };
                let beyond = Bits::zero(width);
                let items = elements.iter().chain([&beyond]).map(literal).collect();
                let ty = model.c_type(width).constant();
                let table = Declaration::new(ty, &name).sized([Expr::number(count + 1)]);
                self.top.push(Stmt::Static(table.with(Expr::List(items))));
                self.tables.insert(Arc::clone(elements), name.clone());
                name
            }
        };
        let at = self.index(index, count);
        model.operand(Expr::name(name).index(at), width)
    }

    /// Returns the index of an element of an array, or that of the zero after its last element.
    fn index(&mut self, index: Value, count: u64) -> Expr {
        let reach = self.width(index);
        let index = self.kept_operand(index);
        if 1u64 << reach <= count || index.constant.is_some_and(|constant| constant < count) {
            return index.c;
        }
        let count = || Expr::number(format!("{count}u"));
        index.c.clone().binary(Binary::Less, count()).choose(index.c, count())
    }

    fn meta(&self, meta: Meta) -> Operand {
        let (p, model) = (self.scope.packet.clone(), self.scope.model);
        let (c, width) = match meta {
            Meta::Ingress => (Expr::call("wl_ingress", [p]), 16),
            Meta::Egress => (p.arrow("egress"), 16),
            Meta::Length if model == Model::Bits32 => (Expr::call("wl_length", [p]), 16),
            Meta::Length => (Expr::call("wl_length", [p]).cast("uint16_t"), 16),
            Meta::Window => (Expr::call("wl_window", [p]), 16),
            Meta::Arrival => (Expr::call("wl_arrival_ns", [p]), 64),
        };
        model.operand(c, width)
    }

    /// An upper bound of a value of at most 64 bits, from the operations that it is made of. Looks
    /// at `depth` of them in a row.
    fn largest(&self, value: Value, depth: u32) -> u128 {
        let any = 1u128.checked_shl(self.width(value)).map_or(u128::MAX, |end| end - 1);
        let is_scalar = depth > 0 && self.width(value) <= 64;
        let Some(op) = self.origins[value.index()].filter(|_| is_scalar) else { return any };
        let of = |value: Value| self.largest(value, depth - 1);
        let bound = match &op.kind {
            OpKind::Const(bits) => bits.low_u64().into(),
            OpKind::Extend(a) => of(*a),
            OpKind::Select(_, a, b) => of(*a).max(of(*b)),
            OpKind::Binary(BinaryOp::And, a, b) => of(*a).min(of(*b)),
            OpKind::Binary(op, a, b) => self.exact(*op, *a, *b, depth - 1).unwrap_or(any),
            _ => any,
        };
        bound.min(any)
    }

    /// An upper bound of a sum, a product or a left shift without overflow, of operands of at most
    /// 64 bits.
    fn exact(&self, op: BinaryOp, a: Value, b: Value, depth: u32) -> Option<u128> {
        if self.width(a) > 64 {
            return None;
        }
        let [a, b] = [a, b].map(|value| self.largest(value, depth));
        match op {
            BinaryOp::Add => Some(a + b),
            BinaryOp::Mul => Some(a * b),
            BinaryOp::Shl if b < 64 => Some(a << b),
            _ => None,
        }
    }

    /// Returns the position of a field that begins `bit` bits after byte `base` of the window.
    pub fn place(&mut self, base: Value, bit: u32) -> Place {
        let byte = bit / 8;
        let is_near = self.largest(base, MOST_LOOKED_AT) + u128::from(byte) <= u128::from(REACH);
        let base = self.operand(base);
        let mut arguments = vec![self.scope.window.clone()];
        match (base.constant, self.scope.model) {
            (Some(constant), Model::Bits32) => {
                arguments.extend([Expr::number(0), Expr::number(constant + u64::from(byte))]);
            }
            (None, Model::Bits32) => arguments.extend([base.c, Expr::number(byte)]),
            (Some(constant), Model::Bits64) => {
                arguments.push(Expr::number(constant + u64::from(byte)))
            }
            (None, Model::Bits64) if byte == 0 => arguments.push(base.c),
            (None, Model::Bits64) => {
                arguments.push(base.c.binary(Binary::Add, Expr::number(format!("{byte}u"))));
            }
        }
        Place { arguments, bit: bit % 8, is_near }
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

impl Local {
    /// Returns the statements that give the local its value, and declare it unless it is already
    /// declared.
    fn define(self, class: Class, is_declared: bool) -> Vec<Stmt> {
        let name = Expr::name(&self.name);
        match self.content {
            Content::Initialiser(value) if is_declared => {
                vec![Stmt::Assign(name, class.value_of(value))]
            }
            Content::Initialiser(value) => {
                vec![Declaration::new(class.c_type().constant(), self.name).with(value).into()]
            }
            Content::Statements(fill) => {
                let declaration =
                    (!is_declared).then(|| Declaration::new(class.c_type(), self.name).into());
                declaration.into_iter().chain(fill(&name)).collect()
            }
        }
    }
}

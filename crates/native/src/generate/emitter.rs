//! Writes a run of operations as C statements.
//!
//! Step code is straight: every effect carries its guard, and what only a guarded effect needs is computed beside it.
//! C reads better, and runs faster, when `if` holds what belongs to a condition. So effects are written in their order,
//! neighbours of one guard into one `if`, and everything else is written when the first effect asks for it: into that
//! `if` when nothing outside needs it, in front of it when something does, and as part of the expression itself when it
//! is used once. A read must see what it saw where it stood; it is written at the latest before the effect that would
//! change what it reads.

use wireloom_ir::{Engine, Meta, Op, OpKind, Program, Step, Value};

use super::conflict::{Resource, changes, reads};
use super::names::Names;
use super::ops::{self, Form, Text};
use super::types::{Class, Model};

/// The longest expression that is written in place rather than named.
const LONGEST: usize = 96;

/// Names of the things that operations refer to, as C expressions of the function that is written.
pub struct Scope<'a> {
    /// The program.
    pub program: &'a Program,
    /// The engine that the step is of.
    pub engine: &'a Engine,
    /// The step.
    pub step: &'a Step,
    /// For each context variable: the expression that is it.
    pub context: &'a [String],
    /// The packet in hand: a pointer.
    pub packet: &'a str,
    /// The C compiler's types.
    pub model: Model,
}

/// An effect, as its owner wants it written. The owner asks the emitter for the operands' texts.
pub trait Effects {
    /// Writes the effect of an operation into the present block; `result` is the object that its reply is put into.
    fn effect(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&str>) -> Vec<String>;

    /// Whether nothing may be put in front of the `if` that holds this effect any more.
    fn ends_group(&self, _op: &Op) -> bool {
        false
    }
}

/// What is known of a value.
#[derive(Clone, Debug)]
enum Made {
    /// Not written yet.
    No,
    /// Written, or there from the beginning: this expression.
    Yes(Text),
}

/// A line of the block that is being written.
enum Line {
    Plain(String),
    /// Definition of a local: its value, C type and name, and either an initialiser or statements that fill it.
    Define {
        value: Value,
        name: String,
        fill: Fill,
    },
}

enum Fill {
    Initialiser(String),
    Statements(Vec<String>),
}

/// The `if` that is being filled.
struct Group {
    guard: Value,
    condition: Text,
    lines: Vec<Line>,
    /// Indices of the effects in it.
    effects: Vec<usize>,
}

/// Writes the operations of one function.
pub struct Emitter<'a> {
    /// What names mean.
    pub scope: Scope<'a>,
    names: Names,
    ops: Vec<&'a Op>,
    /// The operation that defines a value.
    definition: Vec<Option<usize>>,
    /// How often a live operation uses a value, and how many of these uses are not yet written.
    uses: Vec<u32>,
    left: Vec<u32>,
    /// The guard without which a value is not needed.
    only: Vec<Option<Value>>,
    made: Vec<Made>,
    written: Vec<bool>,
    top: Vec<String>,
    group: Option<Group>,
    last_line: Option<wireloom_ir::Loc>,
}

impl<'a> Emitter<'a> {
    /// An emitter for these operations, in order. `wanted` are values that are needed besides by the effects.
    pub fn new(scope: Scope<'a>, ops: Vec<&'a Op>, wanted: &[Value]) -> Self {
        let count = scope.step.values.len();
        let mut emitter = Self {
            scope,
            names: Names::default(),
            definition: vec![None; count],
            uses: vec![0; count],
            left: Vec::new(),
            only: vec![None; count],
            made: vec![Made::No; count],
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
        // `None`: not needed yet. `Some(None)`: needed everywhere. `Some(Some(g))`: needed under g only.
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
        for (index, op) in self.ops.iter().enumerate().rev() {
            for result in &op.results {
                self.definition[result.index()] = Some(index);
            }
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

    /// Says that a value is there already, as this expression.
    pub fn provide(&mut self, value: Value, c: &str) {
        let width = self.width(value);
        self.made[value.index()] = Made::Yes(self.scope.model.atom(c, width));
    }

    /// Width of a value.
    pub fn width(&self, value: Value) -> u32 {
        self.scope.step.values[value.index()].width
    }

    /// Whether a live operation of this function uses the value.
    pub fn is_used(&self, value: Value) -> bool {
        self.uses[value.index()] > 0
    }

    /// The constant that a value is.
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

    /// The statements that were written.
    pub fn finish(mut self) -> Vec<String> {
        self.close();
        self.top
    }

    /// Adds a statement outside all `if`s.
    pub fn plain(&mut self, line: impl Into<String>) {
        self.close();
        self.top.push(line.into());
    }

    /// The text of a value that is needed outside all `if`s, never as an expression with operators.
    pub fn kept_outside(&mut self, value: Value) -> Text {
        self.close();
        self.text_kept(value)
    }

    fn effect(&mut self, index: usize, effects: &mut dyn Effects) {
        let op = self.ops[index];
        let guard = op.guard.filter(|g| self.constant(*g).is_none_or(|c| c.is_zero()));
        // What stands in front of the `if` may depend on what is in it: then that one ends first.
        if self.group.as_ref().is_some_and(|g| Some(g.guard) != guard)
            || op.kind.operands().iter().any(|v| self.depends_on_group(*v, guard))
        {
            self.close();
        }
        if let (Some(guard), None) = (guard, &self.group) {
            let condition = self.text(guard);
            self.group = Some(Group { guard, condition, lines: Vec::new(), effects: Vec::new() });
        }
        let result = op.results.first().copied().filter(|r| self.is_used(*r));
        let object = result.map(|r| {
            let name = self.local_name(r, op);
            if guard.is_some() {
                let class = self.scope.model.class(self.width(r));
                self.top.push(format!("{} {name} = {};", class.c_type(), class.zero()));
            }
            name
        });
        let lines = effects.effect(self, op, object.as_deref());
        let located = self.located(op);
        let depth_lines = located.into_iter().map(Line::Plain);
        match &mut self.group {
            Some(group) => {
                group.lines.extend(depth_lines);
                group.lines.extend(lines.into_iter().map(Line::Plain));
                group.effects.push(index);
            }
            None => {
                self.top.extend(depth_lines.filter_map(|l| match l {
                    Line::Plain(text) => Some(text),
                    Line::Define { .. } => None,
                }));
                if let (Some(r), Some(name)) = (result, &object) {
                    let class = self.scope.model.class(self.width(r));
                    self.top.push(format!("{} {name};", class.c_type()));
                }
                self.top.extend(lines);
            }
        }
        if let (Some(r), Some(name)) = (result, object) {
            self.made[r.index()] = Made::Yes(self.scope.model.atom(name, self.width(r)));
        }
        self.written[index] = true;
        if matches!(op.kind, OpKind::Exit(_)) || effects.ends_group(op) {
            self.close();
        }
    }

    /// `/* file:line */` when an effect is of another line than the one before.
    fn located(&mut self, op: &Op) -> Option<String> {
        if op.loc.line == 0 || self.last_line == Some(op.loc) {
            return None;
        }
        self.last_line = Some(op.loc);
        let file = self.scope.program.files.get(op.loc.file as usize).map_or("?", |f| f.as_str());
        let file = file.rsplit('/').next().unwrap_or(file);
        Some(format!("/* {}:{} */", file.replace("*/", "* /"), op.loc.line))
    }

    /// Writes the reads in front of an effect that it would falsify and that something later still needs.
    fn keep_reads(&mut self, index: usize) {
        let changed = changes(self.scope.engine, &self.ops[index].kind);
        if changed.is_empty() {
            return;
        }
        for read in 0..index {
            let op = self.ops[read];
            let Some(resource) = reads(&op.kind) else { continue };
            let value = op.results[0];
            if !changed.iter().any(|c| c.covers(resource))
                || self.left[value.index()] == 0
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

    /// Whether writing the value now, in front of the open `if`, would be too early: it needs a reply of an effect
    /// in the `if`, or reads what one changes. A value that goes into the `if` itself has no such trouble.
    fn depends_on_group(&self, value: Value, guard: Option<Value>) -> bool {
        let Some(group) = &self.group else { return false };
        if matches!(self.made[value.index()], Made::Yes(_)) {
            return false;
        }
        let Some(index) = self.definition[value.index()] else { return false };
        let op = self.ops[index];
        let inside = guard.is_some() && guard == Some(group.guard) && self.only[value.index()] == guard;
        if !inside && self.unsafe_in_front(value, group) {
            return true;
        }
        op.kind.operands().iter().any(|v| self.depends_on_group(*v, guard))
    }

    fn unsafe_in_front(&self, value: Value, group: &Group) -> bool {
        let Some(index) = self.definition[value.index()] else { return false };
        if group.effects.contains(&index) {
            return true;
        }
        if matches!(self.made[value.index()], Made::Yes(_)) {
            return false;
        }
        let op = self.ops[index];
        let read = reads(&op.kind);
        let falsified = |resource: Resource| {
            group.effects.iter().any(|e| {
                *e < index
                    && changes(self.scope.engine, &self.ops[*e].kind).iter().any(|c| c.covers(resource))
            })
        };
        read.is_some_and(falsified) || op.kind.operands().iter().any(|v| self.unsafe_in_front(*v, group))
    }

    /// Ends the open `if`. Locals in it that something later needs move in front.
    fn close(&mut self) {
        let Some(group) = self.group.take() else { return };
        if group.lines.is_empty() {
            return;
        }
        let mut body = Vec::new();
        for line in group.lines {
            match line {
                Line::Plain(text) => body.push(text),
                Line::Define { value, name, fill } => {
                    let class = self.scope.model.class(self.width(value));
                    let later = self.left[value.index()] > 0;
                    if later {
                        self.top.push(format!("{} {name} = {};", class.c_type(), class.zero()));
                    }
                    body.extend(define(class, &name, fill, later));
                }
            }
        }
        self.top.push(format!("if ({}) {{", group.condition.c));
        self.top.extend(body.into_iter().map(|line| format!("    {line}")));
        self.top.push("}".into());
    }

    fn local_name(&mut self, value: Value, op: &Op) -> String {
        let own = self.scope.step.values[value.index()].name.clone();
        let hint = own.unwrap_or_else(|| match &op.kind {
            OpKind::ReadContext(id) => self.scope.engine.context[id.index()].name.clone(),
            OpKind::ReadMeta(meta) => match meta {
                Meta::Ingress => "ingress",
                Meta::Egress => "egress",
                Meta::Length => "length",
                Meta::Window => "window",
                Meta::Arrival => "arrival",
            }
            .into(),
            OpKind::Call { offload, .. } => {
                format!("{}_reply", self.scope.engine.offloads[offload.index()].name)
            }
            _ => format!("v{}", value.0),
        });
        self.names.give(&hint)
    }

    /// The text of an operand, which this use takes.
    pub fn text(&mut self, value: Value) -> Text {
        if let Made::No = self.made[value.index()] {
            let index = self.definition[value.index()].expect("a value has a definition");
            let op = self.ops[index];
            if let OpKind::Const(bits) = &op.kind
                && !self.scope.model.class(bits.width()).is_wide()
            {
                self.took(value);
                return Text {
                    constant: bits.to_u64().filter(|_| bits.width() <= 64),
                    ..self.scope.model.atom(self.scope.model.literal(bits), bits.width())
                };
            }
            let once = self.uses[value.index()] == 1 && !self.scope.model.class(self.width(value)).is_wide();
            if once && let Form::Expression(text) = self.form(op, value) {
                if text.c.len() <= LONGEST {
                    self.took(value);
                    return text;
                }
                self.define(value, op, Fill::Initialiser(text.c));
            } else if let Made::No = self.made[value.index()] {
                self.make(value);
            }
        }
        self.took(value);
        match &self.made[value.index()] {
            Made::Yes(text) => text.clone(),
            Made::No => unreachable!("the value was just made"),
        }
    }

    /// As [`text`](Self::text), but never an expression with operators: it may stand twice.
    pub fn text_kept(&mut self, value: Value) -> Text {
        let is_literal =
            self.constant(value).is_some() && !self.scope.model.class(self.width(value)).is_wide();
        if !is_literal && let Made::No = self.made[value.index()] {
            self.make(value);
        }
        self.text(value)
    }

    /// Where the field of the window begins that a value is: the packet and [`byte_offset`](Self::byte_offset). This use takes the value, which need not be
    /// read then. Nothing if it is something else, does not begin with a byte, or has been read.
    pub fn field(&mut self, value: Value) -> Option<String> {
        let Made::No = self.made[value.index()] else { return None };
        let OpKind::ReadPacket { base, bit } = self.ops[self.definition[value.index()]?].kind else {
            return None;
        };
        if bit % 8 != 0 {
            return None;
        }
        self.took(value);
        let place = self.byte_offset(base, bit);
        Some(format!("{}, {place}", self.scope.packet))
    }

    fn took(&mut self, value: Value) {
        let left = &mut self.left[value.index()];
        *left = left.saturating_sub(1);
    }

    /// Writes a local that holds the value.
    fn make(&mut self, value: Value) {
        let index = self.definition[value.index()].expect("a value has a definition");
        let op = self.ops[index];
        let fill = match self.form(op, value) {
            Form::Expression(text) => Fill::Initialiser(text.c),
            Form::Statements(lines) => Fill::Statements(lines),
        };
        self.define(value, op, fill);
    }

    fn define(&mut self, value: Value, op: &Op, fill: Fill) {
        let name = self.local_name(value, op);
        self.made[value.index()] = Made::Yes(self.scope.model.atom(name.clone(), self.width(value)));
        match &mut self.group {
            Some(group) if self.only[value.index()] == Some(group.guard) => {
                group.lines.push(Line::Define { value, name, fill });
            }
            _ => {
                let class = self.scope.model.class(self.width(value));
                self.top.extend(define(class, &name, fill, false));
            }
        }
    }

    /// How an operation that is no effect is written.
    fn form(&mut self, op: &Op, value: Value) -> Form {
        let width = self.width(value);
        match &op.kind {
            OpKind::Const(bits) => {
                let model = self.scope.model;
                Form::Expression(model.atom(model.wide_literal(bits), width))
            }
            OpKind::Unary(op, a) => {
                let a = self.text(*a);
                ops::unary(*op, &a)
            }
            OpKind::Binary(op, a, b) => {
                let (a, b) = (self.text(*a), self.text(*b));
                ops::binary(*op, &a, &b)
            }
            OpKind::Select(c, a, b) => {
                let (c, a, b) = (self.text(*c), self.text(*a), self.text(*b));
                ops::select(&c, &a, &b)
            }
            OpKind::Extend(a) => {
                let a = self.text(*a);
                ops::extend(&a, width)
            }
            OpKind::Slice(a, lo) => {
                let a = self.text(*a);
                ops::slice(&a, *lo, width)
            }
            OpKind::Concat(parts) => {
                let parts: Vec<Text> = parts.iter().map(|part| self.text(*part)).collect();
                ops::concat(&parts)
            }
            OpKind::ReadContext(id) => {
                Form::Expression(self.scope.model.atom(self.scope.context[id.index()].clone(), width))
            }
            OpKind::ReadMeta(meta) => {
                let (p, model) = (self.scope.packet, self.scope.model);
                Form::Expression(match meta {
                    Meta::Ingress => model.atom(format!("wl_ingress({p})"), 16),
                    Meta::Egress => model.atom(format!("{p}->egress"), 16),
                    Meta::Length if model == Model::Bits32 => model.atom(format!("wl_length({p})"), 16),
                    Meta::Length => model.compound(format!("(uint16_t)wl_length({p})"), 16),
                    Meta::Window => model.atom(format!("wl_window({p})"), 16),
                    Meta::Arrival => model.atom(format!("wl_arrival_ns({p})"), 64),
                })
            }
            OpKind::ReadPacket { base, bit } => {
                let at = self.byte_offset(*base, *bit);
                ops::read_packet(self.scope.model, self.scope.packet, &at, bit % 8, width)
            }
            _ => unreachable!("effects are written in their order"),
        }
    }

    /// The byte in which a field begins, as a C expression of 32 bits; for processors of 32 bits two, separated by a
    /// comma: where its header begins, and the constant offset from there.
    pub fn byte_offset(&mut self, base: Value, bit: u32) -> String {
        let byte = bit / 8;
        let base = self.text(base);
        match base.constant {
            constant if self.scope.model == Model::Bits32 => match constant {
                Some(constant) => format!("0, {}", constant + u64::from(byte)),
                None => format!("{}, {byte}", base.c),
            },
            Some(constant) => format!("{}", constant + u64::from(byte)),
            None if byte == 0 => base.c,
            None => format!("{} + {byte}u", base.p()),
        }
    }
}

fn define(class: Class, name: &str, fill: Fill, declared: bool) -> Vec<String> {
    let c_type = class.c_type();
    match fill {
        Fill::Initialiser(text) if declared && class.is_wide() && text.starts_with('{') => {
            vec![format!("{name} = ({c_type}){text};")]
        }
        Fill::Initialiser(text) if declared => vec![format!("{name} = {text};")],
        Fill::Initialiser(text) => vec![format!("const {c_type} {name} = {text};")],
        Fill::Statements(lines) => {
            let declaration = (!declared).then(|| format!("{c_type} {name};"));
            declaration.into_iter().chain(lines.into_iter().map(|line| line.replace('@', name))).collect()
        }
    }
}

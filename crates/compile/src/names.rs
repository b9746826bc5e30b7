//! The names and types that the source gives to values, header fields and calls. The step IR keeps
//! only the names of values.

use std::collections::HashMap;
use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_ir::{EngineId, Loc, OffloadId};
use wireloom_lang::hir::{
    self, Expr, ExprKind, OffloadTarget, Place, Projection, Resize, Root, Stmt, StmtKind, Type,
};
use wireloom_offloads::registry::kind;

use crate::lower::Lines;

/// The notation of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// A member of an enumeration: the value and name of each.
    Enum(Arc<[(Bits, String)]>),
}

/// A scalar: a variable, a field, or a part of a request or a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The name, such as `key.protocol`. Empty for a reply that is a scalar.
    pub name: String,
    /// The width in bits.
    pub width: u32,
    /// The notation of its value.
    pub form: Form,
}

/// The parts of a call's arguments and reply, each packed with the first part most significant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The parts of each argument of the step IR's call.
    pub args: Vec<Vec<Leaf>>,
    /// The parts of the reply.
    pub reply: Vec<Leaf>,
}

/// The names of a program.
pub struct Names {
    lines: Vec<Vec<String>>,
    engines: Vec<EngineNames>,
}

#[derive(Default)]
struct EngineNames {
    forms: HashMap<(String, u32), Form>,
    /// The header fields that the statements on a line assign, by their bit offset in the header
    /// and their width.
    written: HashMap<(Loc, u32, u32), Leaf>,
    calls: HashMap<(u32, usize), Call>,
}

impl Names {
    /// Collects the names of a checked program.
    pub fn new(program: &hir::Program) -> Self {
        let lines = Lines::new(program);
        let collect = |engine| {
            let mut collector =
                Collector { program, engine, lines: &lines, names: EngineNames::default() };
            collector.engine();
            collector.names
        };
        let texts = program.sources.files.iter();
        Self {
            engines: program.engines.iter().map(collect).collect(),
            lines: texts.map(|file| file.text.lines().map(str::to_owned).collect()).collect(),
        }
    }

    /// Returns the source text at a position, without the blanks around it.
    pub fn line(&self, loc: Loc) -> Option<&str> {
        let line = (loc.line as usize).checked_sub(1)?;
        self.lines.get(loc.file as usize)?.get(line).map(|text| text.trim())
    }

    /// Returns the form of the variable or header field with a name, such as `hop.port`.
    pub fn form(&self, engine: EngineId, name: &str, width: u32) -> &Form {
        let forms = &self.engines[engine.index()].forms;
        forms.get(&(name.to_owned(), width)).unwrap_or(&Form::Number)
    }

    /// Returns the header field that the statement at a position assigns with a write at this bit
    /// offset.
    pub fn written(&self, engine: EngineId, loc: Loc, bit: u32, width: u32) -> Option<&Leaf> {
        self.engines[engine.index()].written.get(&(loc, bit, width))
    }

    /// Returns the parts of the arguments and of the reply of a method that the engine calls.
    pub fn call(&self, engine: EngineId, offload: OffloadId, method: usize) -> Option<&Call> {
        self.engines[engine.index()].calls.get(&(offload.0, method))
    }
}

/// Collects the names of an engine.
struct Collector<'a> {
    program: &'a hir::Program,
    engine: &'a hir::TypedEngine,
    lines: &'a Lines,
    names: EngineNames,
}

impl<'a> Collector<'a> {
    fn engine(&mut self) {
        let engine = self.engine;
        for var in &engine.vars {
            self.named(&var.name, &var.ty);
        }
        for view in &engine.views {
            self.named(&view.name, &Type::Struct(view.header));
            self.expr(&view.offset);
        }
        let functions = engine.functions.iter().map(|function| &function.body);
        for body in functions.chain(engine.steps.iter().map(|step| &step.body)) {
            self.stmts(body);
        }
    }

    /// Records the forms of a variable or a header.
    fn named(&mut self, name: &str, ty: &Type) {
        for leaf in self.leaves(name, ty) {
            let form = leaf.form.clone();
            let known = self.names.forms.entry((leaf.name, leaf.width)).or_insert(leaf.form);
            if *known != form {
                *known = Form::Number;
            }
        }
    }

    fn leaves(&self, name: &str, ty: &Type) -> Vec<Leaf> {
        let mut out = Vec::new();
        self.collect(name.to_owned(), ty, &mut out);
        out
    }

    fn collect(&self, name: String, ty: &Type, out: &mut Vec<Leaf>) {
        let form = match ty {
            Type::Void => return,
            Type::Bits(_) => Form::Number,
            Type::Bool => Form::Bool,
            Type::Enum(id) => {
                let members = self.program.enums[id.index()].members.iter();
                Form::Enum(members.map(|(name, value)| (value.clone(), name.clone())).collect())
            }
            Type::Struct(id) => {
                for field in &self.program.structs[id.index()].fields {
                    self.collect(field_of(&name, &field.name), &field.ty, out);
                }
                return;
            }
            Type::Array(element, count) => {
                for index in 0..*count {
                    self.collect(format!("{name}[{index}]"), element, out);
                }
                return;
            }
        };
        out.push(Leaf { name, width: self.program.width(ty), form });
    }

    fn stmts(&mut self, stmts: &'a [Stmt]) {
        for stmt in stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Local(_, value) | StmtKind::Return(value) => {
                value.iter().for_each(|value| self.expr(value));
            }
            StmtKind::Assign(place, value) => {
                self.place(place);
                self.expr(value);
                if let Some((name, header)) = self.header(&place.root) {
                    let loc = self.lines.loc(stmt.span);
                    self.assigned(loc, &Type::Struct(header), 0, &place.path, name.to_owned());
                }
            }
            StmtKind::Expr(expr) => self.expr(expr),
            StmtKind::If(condition, then, otherwise) => {
                self.expr(condition);
                self.stmts(then);
                self.stmts(otherwise);
            }
            StmtKind::Switch { on, cases, default } => {
                self.expr(on);
                cases.iter().for_each(|(_, body)| self.stmts(body));
                self.stmts(default);
            }
            StmtKind::For { body, .. } | StmtKind::Block(body) => self.stmts(body),
            StmtKind::Exit(exit) => exit.parts().into_iter().for_each(|e| self.expr(e)),
            StmtKind::Break | StmtKind::Continue | StmtKind::SetNext(_) => {}
        }
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Const(_) | ExprKind::Meta(_) => {}
            ExprKind::Read(place) => self.place(place),
            ExprKind::Field(a, _)
            | ExprKind::Slice(a, ..)
            | ExprKind::Not(a)
            | ExprKind::Neg(a)
            | ExprKind::Popcount(a)
            | ExprKind::Clz(a)
            | ExprKind::LogicalNot(a)
            | ExprKind::Cast(a) => self.expr(a),
            ExprKind::Index(a, b)
            | ExprKind::Run(a, b, _)
            | ExprKind::Binary(_, a, b)
            | ExprKind::AndThen(a, b)
            | ExprKind::OrElse(a, b)
            | ExprKind::Resize(Resize::Insert(a, b) | Resize::Remove(a, b)) => {
                self.expr(a);
                self.expr(b);
            }
            ExprKind::Resize(Resize::Reset(a)) => self.expr(a),
            ExprKind::Conditional(a, b, c) => {
                self.expr(a);
                self.expr(b);
                self.expr(c);
            }
            ExprKind::Aggregate(parts) | ExprKind::Concat(parts) | ExprKind::Call(_, parts) => {
                parts.iter().for_each(|part| self.expr(part));
            }
            ExprKind::Offload(offload, method, args) => {
                args.iter().for_each(|arg| self.expr(arg));
                let call = self.call(*offload, *method, args, &expr.ty);
                self.names.calls.insert((offload.0, *method), call);
            }
        }
    }

    fn call(&self, offload: hir::OffloadId, method: usize, args: &[Expr], reply: &Type) -> Call {
        let args = match &self.engine.offloads[offload.index()].target {
            OffloadTarget::Kind(config) => {
                let names = kind(&config.kind).map_or(&[][..], |kind| kind.methods[method].args);
                let args = names.iter().zip(args);
                args.map(|((name, _), arg)| self.leaves(name, &arg.ty)).collect()
            }
            // An engine takes its request leaf by leaf.
            OffloadTarget::Engine(id) => match &self.program.engines[id.index()] {
                hir::TypedEngine { kind: hir::EngineKind::Call { params, .. }, vars, .. } => {
                    let params = params.iter().map(|param| &vars[param.index()]);
                    let leaves = params.flat_map(|var| self.leaves(&var.name, &var.ty));
                    leaves.map(|leaf| vec![leaf]).collect()
                }
                hir::TypedEngine { kind: hir::EngineKind::Packet, .. } => Vec::new(),
            },
        };
        Call { args, reply: self.leaves("", reply) }
    }

    fn place(&mut self, place: &'a Place) {
        if let Root::Local(var, header) = place.root {
            self.named(&self.engine.vars[var.index()].name, &Type::Struct(header));
        }
        for projection in &place.path {
            if let Projection::Index(index) | Projection::Run(index, _) = projection {
                self.expr(index);
            }
        }
    }

    /// Returns the name and type of the header that contains a place.
    fn header(&self, root: &Root) -> Option<(&'a str, hir::StructId)> {
        match root {
            Root::View(id) => {
                let view = &self.engine.views[id.index()];
                // A view of the whole packet is written by calls.
                view.chunks.is_none().then_some((&view.name, view.header))
            }
            Root::Local(var, header) => Some((&self.engine.vars[var.index()].name, *header)),
            Root::Var(_) | Root::Meta(_) => None,
        }
    }

    /// Records the fields that an assignment to a part of a header writes. The value of type `ty`,
    /// which begins at `bit`, contains the part. `path` selects the part in it.
    fn assigned(&mut self, loc: Loc, ty: &Type, bit: u32, path: &[Projection], name: String) {
        let Some((first, rest)) = path.split_first() else {
            let mut at = bit;
            for leaf in self.leaves(&name, ty) {
                let width = leaf.width;
                self.note(loc, at, leaf);
                at += width;
            }
            return;
        };
        let number = |width, name| Leaf { name, width, form: Form::Number };
        match (first, ty) {
            (Projection::Field(index), Type::Struct(id)) => {
                let fields = &self.program.structs[id.index()].fields;
                let before: u32 =
                    fields[..*index as usize].iter().map(|f| self.program.width(&f.ty)).sum();
                let field = &fields[*index as usize];
                self.assigned(loc, &field.ty, bit + before, rest, field_of(&name, &field.name));
            }
            (Projection::Index(_), Type::Array(element, count)) => {
                let size = self.program.width(element);
                for index in 0..*count {
                    let name = format!("{name}[{index}]");
                    self.assigned(loc, element, bit + index * size, rest, name);
                }
            }
            (Projection::Slice(hi, lo), _) => {
                let above = self.program.width(ty) - 1 - hi;
                self.note(loc, bit + above, number(hi - lo + 1, format!("{name}[{hi}:{lo}]")));
            }
            _ => self.note(loc, bit, number(self.program.width(ty), name)),
        }
    }

    fn note(&mut self, loc: Loc, bit: u32, leaf: Leaf) {
        let known = self.names.written.entry((loc, bit, leaf.width)).or_insert(leaf.clone());
        if known.name != leaf.name {
            known.name = format!("{} or {}", known.name, leaf.name);
        }
    }
}

fn field_of(name: &str, field: &str) -> String {
    if name.is_empty() { field.to_owned() } else { format!("{name}.{field}") }
}

//! Variables that hold arrays with a run-time index, and that are too long for a selection of
//! values. They become context arrays. Their elements are read and written where the source does
//! it.
//!
//! A structure of arrays, or an array of structures, becomes one context array for each scalar of
//! the structure: `struct { u8 a; u16 b[4]; } t[100]` becomes `t.a` of 100 and `t.b` of 400
//! elements. A local variable becomes a context array too. Its declaration sets all elements.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use wireloom_ir as ir;
use wireloom_ir::{BinaryOp, OpKind, Value};
use wireloom_lang::hir::{
    self, Expr, ExprKind, Place, Projection, Root, Stmt, StmtKind, Type, TypedEngine, VarId,
    VarKind,
};

use super::place::ResolvedProjection;
use super::{StepLowering, leaves};

/// The fewest scalars of a variable that is kept in context arrays. Shorter ones become selections
/// of values, which later passes can optimise.
const FEWEST: usize = 32;

/// The most scalars of local variables that an engine keeps in arrays, since they enlarge each
/// thread. A context holds this many one-bit variables.
const MOST_LOCAL: usize = 1 << 16;

/// The context arrays of an engine's variables.
#[derive(Default)]
pub struct Arrays {
    /// The arrays, for the engine.
    pub all: Vec<ir::ContextArray>,
    /// The first array of each variable that is kept in arrays. The variable's other arrays follow
    /// it.
    first: HashMap<VarId, u32>,
}

impl Arrays {
    /// Selects the variables of an engine that are kept in arrays.
    pub fn of(program: &hir::Program, engine: &TypedEngine) -> Self {
        let mut indexed = Indexed { counters: Vec::new(), found: HashSet::new() };
        engine.functions.iter().for_each(|function| indexed.statements(&function.body));
        engine.steps.iter().for_each(|step| indexed.statements(&step.body));
        engine.views.iter().for_each(|view| indexed.expression(&view.offset));
        if let hir::EngineKind::Call { params, .. } = &engine.kind {
            params.iter().for_each(|param| _ = indexed.found.remove(param));
        }
        let mut arrays = Self::default();
        let mut local = 0;
        for (index, var) in engine.vars.iter().enumerate() {
            let id = VarId(index as u32);
            let scalars = leaves::count(program, &var.ty);
            if !indexed.found.contains(&id) || scalars < FEWEST {
                continue;
            }
            if var.kind == VarKind::Local {
                local += scalars;
                if local > MOST_LOCAL {
                    continue;
                }
            }
            arrays.first.insert(id, arrays.all.len() as u32);
            for (suffix, width, count) in columns(program, &var.ty) {
                let name = format!("{}{suffix}", var.name);
                arrays.all.push(ir::ContextArray { name, width, count });
            }
        }
        arrays
    }

    /// Returns whether a variable is kept in arrays.
    pub fn hold(&self, var: VarId) -> bool {
        self.first.contains_key(&var)
    }
}

/// Returns the name suffix, the width and the number of scalars of each column of a type.
fn columns(program: &hir::Program, ty: &Type) -> Vec<(String, u32, u32)> {
    match ty {
        Type::Void => Vec::new(),
        Type::Bits(_) | Type::Bool | Type::Enum(_) => vec![(String::new(), program.width(ty), 1)],
        Type::Struct(id) => {
            let fields = program.structs[id.index()].fields.iter();
            let field = |field: &hir::Field| {
                let inner = columns(program, &field.ty).into_iter();
                let named =
                    |(suffix, width, count)| (format!(".{}{suffix}", field.name), width, count);
                inner.map(named).collect::<Vec<_>>()
            };
            fields.flat_map(field).collect()
        }
        Type::Array(element, n) => {
            let all = columns(program, element).into_iter();
            all.map(|(suffix, width, count)| (suffix, width, count * n)).collect()
        }
    }
}

/// Appends the column and the position of each scalar of a type, in packed order. `at` is the
/// position of the value among values of this type.
fn positions(program: &hir::Program, ty: &Type, column: u32, at: u32, out: &mut Vec<(u32, u32)>) {
    match ty {
        Type::Void => {}
        Type::Bits(_) | Type::Bool | Type::Enum(_) => out.push((column, at)),
        Type::Struct(id) => {
            let mut column = column;
            for field in &program.structs[id.index()].fields {
                positions(program, &field.ty, column, at, out);
                column += columns(program, &field.ty).len() as u32;
            }
        }
        Type::Array(element, n) => {
            (0..*n).for_each(|i| positions(program, element, column, at * n + i, out));
        }
    }
}

/// A part of a variable that is kept in arrays.
struct Part<'p> {
    ty: Type,
    /// The first array of the part.
    array: u32,
    /// The indices on the path to the part, each with the length of its array.
    indices: Vec<(Value, u32)>,
    /// The remaining selection of bits.
    rest: &'p [ResolvedProjection],
}

impl<'a> StepLowering<'a> {
    fn part_in_arrays<'p>(&self, var: VarId, path: &'p [ResolvedProjection]) -> Part<'p> {
        let mut part = Part {
            ty: self.engine.vars[var.index()].ty.clone(),
            array: self.arrays.first[&var],
            indices: Vec::new(),
            rest: path,
        };
        while let [first, rest @ ..] = part.rest {
            part.ty = match (*first, &part.ty) {
                (ResolvedProjection::Field(index), Type::Struct(id)) => {
                    let fields = &self.program.structs[id.index()].fields;
                    let before = fields[..index as usize].iter();
                    let before = before.map(|field| columns(self.program, &field.ty).len() as u32);
                    part.array += before.sum::<u32>();
                    fields[index as usize].ty.clone()
                }
                (ResolvedProjection::Index(index), Type::Array(element, n)) => {
                    part.indices.push((index, *n));
                    (**element).clone()
                }
                _ => break,
            };
            part.rest = rest;
        }
        part
    }

    /// Returns the index of a scalar in its array. `at` counts values of the part's type, which has
    /// `each` scalars in the array. If an index exceeds its own array, the result exceeds this one.
    fn index_in_array(&mut self, indices: &[(Value, u32)], each: u32, at: u32) -> Value {
        /// Enough for every array, and for an index out of range.
        const WIDTH: u32 = 16;
        if let ([(index, _)], 1) = (indices, each)
            && self.b.width(*index) <= WIDTH
        {
            return *index;
        }
        let mut flat = self.b.number(WIDTH, 0);
        let mut inside: Option<Value> = None;
        for (index, n) in indices {
            let width = self.b.width(*index);
            if width >= u32::BITS || *n < 1 << width {
                let limit = self.b.number(width, (*n).into());
                let fits = self.b.binary(BinaryOp::Ult, *index, limit);
                inside = Some(match inside {
                    Some(before) => self.b.binary(BinaryOp::And, before, fits),
                    None => fits,
                });
            }
            let n = self.b.number(WIDTH, (*n).into());
            let low = self.b.resize(*index, WIDTH);
            flat = self.b.binary(BinaryOp::Mul, flat, n);
            flat = self.b.binary(BinaryOp::Add, flat, low);
        }
        let each = self.b.number(WIDTH, each.into());
        let at = self.b.number(WIDTH, at.into());
        flat = self.b.binary(BinaryOp::Mul, flat, each);
        flat = self.b.binary(BinaryOp::Add, flat, at);
        let Some(inside) = inside else { return flat };
        let outside = self.b.number(WIDTH, u16::MAX.into());
        self.b.select(inside, flat, outside)
    }

    /// Returns the array and the index of each scalar of a part, in packed order.
    fn scalars_in_arrays(&mut self, part: &Part<'_>) -> Vec<(ir::ArrayId, Value)> {
        let columns = columns(self.program, &part.ty);
        let mut scalars = Vec::new();
        positions(self.program, &part.ty, 0, 0, &mut scalars);
        let place = |(column, at): (u32, u32)| {
            let index = self.index_in_array(&part.indices, columns[column as usize].2, at);
            (ir::ArrayId(part.array + column), index)
        };
        scalars.into_iter().map(place).collect()
    }

    /// Reads a part of a variable that is kept in arrays.
    pub(super) fn read_arrays(&mut self, var: VarId, path: &[ResolvedProjection]) -> Rc<[Value]> {
        let part = self.part_in_arrays(var, path);
        let scalars = self.scalars_in_arrays(&part);
        let whole = self.read_scalars(&scalars);
        self.part(&whole, &part.ty, part.rest)
    }

    fn read_scalars(&mut self, scalars: &[(ir::ArrayId, Value)]) -> Rc<[Value]> {
        let read = |(array, index): &(ir::ArrayId, Value)| {
            let (array, index) = (*array, *index);
            let width = self.arrays.all[array.index()].width;
            self.b.value(width, OpKind::ReadElement { array, index })
        };
        scalars.iter().map(read).collect()
    }

    /// Writes a part of a variable that is kept in arrays.
    pub(super) fn write_arrays(
        &mut self,
        var: VarId,
        path: &[ResolvedProjection],
        new: &Rc<[Value]>,
    ) {
        let part = self.part_in_arrays(var, path);
        let scalars = self.scalars_in_arrays(&part);
        let new = if part.rest.is_empty() {
            Rc::clone(new)
        } else {
            let old = self.read_scalars(&scalars);
            self.with_part(&old, &part.ty, part.rest, new)
        };
        for ((array, index), &value) in scalars.into_iter().zip(new.iter()) {
            self.b.effect(OpKind::WriteElement { array, index, value });
        }
    }
}

/// Finds the variables in which a run-time index only selects an element.
struct Indexed {
    /// The variables of the enclosing loops. Unrolling makes their values known.
    counters: Vec<VarId>,
    found: HashSet<VarId>,
}

impl Indexed {
    fn statements(&mut self, statements: &[Stmt]) {
        statements.iter().for_each(|statement| self.statement(statement));
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Local(_, value) | StmtKind::Return(value) => {
                value.iter().for_each(|value| self.expression(value));
            }
            StmtKind::Assign(place, value) => {
                self.place(place);
                for projection in &place.path {
                    if let Projection::Index(index) | Projection::Run(index, _) = projection {
                        self.expression(index);
                    }
                }
                self.expression(value);
            }
            StmtKind::Expr(value) => self.expression(value),
            StmtKind::If(condition, then, otherwise) => {
                self.expression(condition);
                self.statements(then);
                self.statements(otherwise);
            }
            StmtKind::Switch { on, cases, default } => {
                self.expression(on);
                cases.iter().for_each(|(_, body)| self.statements(body));
                self.statements(default);
            }
            StmtKind::For { var, body, .. } => {
                self.counters.push(*var);
                self.statements(body);
                self.counters.pop();
            }
            StmtKind::Block(inner) => self.statements(inner),
            StmtKind::Exit(exit) => exit.parts().into_iter().for_each(|e| self.expression(e)),
            StmtKind::Break | StmtKind::Continue | StmtKind::SetNext(_) => {}
        }
    }

    fn expression(&mut self, expression: &Expr) {
        if let ExprKind::Read(place) = &expression.kind {
            self.place(place);
        }
        expression.parts().into_iter().for_each(|part| self.expression(part));
    }

    fn place(&mut self, place: &Place) {
        let Root::Var(var) = place.root else { return };
        let is_chosen = |projection: &Projection| match projection {
            Projection::Index(index) => !index.is_known(&self.counters),
            _ => false,
        };
        if place.path.iter().any(is_chosen) {
            self.found.insert(var);
        }
    }
}

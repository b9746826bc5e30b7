//! The limit on the size of a step after functions are inlined and loops unrolled.

use super::Checker;
use crate::diagnostics::Diagnostic;
use crate::hir::{self, Expr, ExprKind, Place, Projection, Root, Stmt, StmtKind, Type, VarId};

/// The maximum number of operations of a step.
const MAX_STEP_COST: u64 = 1 << 18;

impl Checker<'_> {
    /// Refuses steps that inlining and unrolling would make too large.
    pub(super) fn check_cost(&mut self, steps: &[hir::Step]) {
        let mut size = Size { checker: self, functions: Vec::new(), counters: Vec::new() };
        // The functions that a function calls come before it.
        for function in &self.cx.functions {
            let cost = size.statements(&function.body);
            size.functions.push(cost);
        }
        let costs: Vec<u64> = steps.iter().map(|step| size.statements(&step.body)).collect();
        for (step, cost) in steps.iter().zip(costs).filter(|(_, cost)| *cost > MAX_STEP_COST) {
            let message = format!("step `{}` becomes too large: {cost} operations", step.name);
            self.report(Diagnostic::new("E0521", step.span, message).help(format!(
                "loops are unrolled and functions inlined, and an index known at run time only \
                 chooses among all elements; the limit is {MAX_STEP_COST}. Loop over steps instead"
            )));
        }
    }
}

/// Counts operations.
struct Size<'a, 'b> {
    checker: &'a Checker<'b>,
    /// The operations of each function so far.
    functions: Vec<u64>,
    /// The variables of the loops around, whose values are known when these are unrolled.
    counters: Vec<VarId>,
}

impl Size<'_, '_> {
    fn statements(&mut self, stmts: &[Stmt]) -> u64 {
        stmts.iter().fold(0u64, |sum, stmt| sum.saturating_add(self.statement(stmt)))
    }

    fn statement(&mut self, stmt: &Stmt) -> u64 {
        let inner = match &stmt.kind {
            StmtKind::Local(_, value) | StmtKind::Return(value) => {
                value.as_ref().map_or(0, |e| self.expression(e))
            }
            StmtKind::Assign(place, value) => {
                let indices = place.path.iter().filter_map(|p| match p {
                    Projection::Index(e) | Projection::Bit(e) => Some(self.expression(e)),
                    _ => None,
                });
                indices
                    .fold(self.expression(value), u64::saturating_add)
                    .saturating_add(self.choices(place))
            }
            StmtKind::Expr(e) => self.expression(e),
            StmtKind::If(condition, then, otherwise) => self
                .expression(condition)
                .saturating_add(self.statements(then))
                .saturating_add(self.statements(otherwise)),
            StmtKind::Switch { on, cases, default } => cases
                .iter()
                .map(|(labels, body)| self.statements(body).saturating_add(labels.len() as u64))
                .fold(0, u64::saturating_add)
                .saturating_add(self.expression(on))
                .saturating_add(self.statements(default)),
            StmtKind::For { var, values, body } => {
                self.counters.push(*var);
                let round = self.statements(body);
                self.counters.pop();
                // A round costs time and memory even if nothing is in it.
                round.saturating_add(1).saturating_mul(values.len() as u64)
            }
            StmtKind::Exit(exit) => match exit {
                hir::Exit::Reply(e) | hir::Exit::Drop(e) | hir::Exit::ToCpu(e) => {
                    self.expression(e)
                }
                _ => 0,
            },
            StmtKind::Block(stmts) => self.statements(stmts),
            StmtKind::Break | StmtKind::Continue | StmtKind::SetNext(_) => 0,
        };
        inner.saturating_add(1)
    }

    fn expression(&self, e: &Expr) -> u64 {
        let own = match &e.kind {
            ExprKind::Call(id, _) => self.functions[id.index()],
            ExprKind::Read(place) => self.choices(place).saturating_add(1),
            _ => 1,
        };
        e.parts().into_iter().map(|e| self.expression(e)).fold(own, u64::saturating_add)
    }

    /// The number of scalars among which the indices of a place choose at run time. Constant
    /// arrays are no places.
    fn choices(&self, place: &Place) -> u64 {
        let checker = self.checker;
        let mut ty = match &place.root {
            Root::Var(var) => checker.cx.vars[var.index()].ty.clone(),
            Root::View(view) => match &checker.cx.views[view.index()] {
                Some(view) => Type::Struct(view.header),
                None => return 0,
            },
            Root::Local(_, header) => Type::Struct(*header),
            Root::Meta(_) => return 0,
        };
        let mut choices = 0u64;
        for projection in &place.path {
            ty = match (projection, ty) {
                (Projection::Field(field), Type::Struct(id)) => {
                    checker.structs[id.index()].fields[*field as usize].ty.clone()
                }
                (Projection::Index(index), Type::Array(element, count)) => {
                    if !index.is_known(&self.counters) {
                        choices += u64::from(count) * self.leaves(&element);
                    }
                    *element
                }
                _ => break,
            };
        }
        choices
    }

    /// The number of scalars in a value of a type. Types are bounded, and so is this.
    fn leaves(&self, ty: &Type) -> u64 {
        match ty {
            Type::Struct(id) => self.checker.structs[id.index()]
                .fields
                .iter()
                .map(|field| self.leaves(&field.ty))
                .sum(),
            Type::Array(element, count) => u64::from(*count) * self.leaves(element),
            _ => 1,
        }
    }
}

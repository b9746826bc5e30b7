//! Limits the size of steps and engines after functions are inlined and loops unrolled, so that
//! every accepted program compiles within seconds.

use super::Checker;
use crate::diagnostics::Diagnostic;
use crate::hir::{self, Expr, ExprKind, Place, Projection, Root, Stmt, StmtKind, Type, VarId};

/// The maximum number of operations of a step and of an engine. An operation on a wide value counts
/// once for each 64 bits.
const MAX_COST: u64 = 1 << 18;

/// The cost of a step besides its statements, in operations.
const STEP_COST: u64 = 32;

/// The cost of each element in a choice among the elements of a header, in operations. The choice
/// reads or writes the packet for each element.
const HEADER_CHOICE_COST: u64 = 8;

impl Checker<'_> {
    /// Reports steps that inlining and unrolling make too large, and engines that are too large in
    /// total.
    pub(super) fn check_cost(&mut self, steps: &[hir::Step]) {
        let mut size = Size { checker: self, functions: Vec::new(), counters: Vec::new() };
        // Called functions come before their callers.
        for function in &self.cx.functions {
            let cost = size.statements(&function.body);
            size.functions.push(cost);
        }
        let costs: Vec<u64> = steps.iter().map(|step| size.statements(&step.body)).collect();
        for (step, cost) in steps.iter().zip(&costs).filter(|(_, cost)| **cost > MAX_COST) {
            let message = format!("step `{}` becomes too large: {cost} operations", step.name);
            self.report(Diagnostic::new("E0521", step.span, message).help(format!(
                "loops are unrolled and functions inlined, and an index known at run time only \
                 chooses among all elements; the limit is {MAX_COST}. Loop over steps instead"
            )));
        }
        let mut sum = 0u64;
        let too_many = steps.iter().zip(&costs).find(|(_, cost)| {
            sum = sum.saturating_add(**cost).saturating_add(STEP_COST);
            sum > MAX_COST
        });
        if let Some((step, cost)) = too_many
            && *cost <= MAX_COST
        {
            let message =
                format!("the engine becomes too large: {sum} operations with step `{}`", step.name);
            self.report(Diagnostic::new("E0521", step.span, message).help(format!(
                "a step counts as {STEP_COST} operations and those in it; the limit is {MAX_COST}. \
                 Share steps, or divide the work among engines that call each other"
            )));
        }
    }
}

/// Counts operations.
struct Size<'a, 'b> {
    checker: &'a Checker<'b>,
    /// The operations of the functions so far, by index.
    functions: Vec<u64>,
    /// The variables of enclosing loops, whose values are known after unrolling.
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
                    Projection::Index(e) | Projection::Run(e, _) => Some(self.expression(e)),
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
                // Even an empty round costs time and memory.
                round.saturating_add(1).saturating_mul(values.len() as u64)
            }
            StmtKind::Exit(exit) => {
                let parts = exit.parts().into_iter().map(|e| self.expression(e));
                parts.fold(0, u64::saturating_add)
            }
            StmtKind::Block(stmts) => self.statements(stmts),
            StmtKind::Break | StmtKind::Continue | StmtKind::SetNext(_) => 0,
        };
        inner.saturating_add(1)
    }

    fn expression(&self, e: &Expr) -> u64 {
        let own = match &e.kind {
            ExprKind::Call(id, _) => self.functions[id.index()],
            ExprKind::Read(place) => self.choices(place).saturating_add(self.words(&e.ty)),
            _ => self.words(&e.ty),
        };
        e.parts().into_iter().map(|e| self.expression(e)).fold(own, u64::saturating_add)
    }

    /// Returns the number of 64-bit words of a value.
    fn words(&self, ty: &Type) -> u64 {
        u64::from(self.checker.width(ty).div_ceil(64)).max(1)
    }

    /// Returns the number of scalars among which the indices of a place select at run time.
    /// Constant arrays are not places.
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
        let is_header = matches!(place.root, Root::View(_) | Root::Local(..));
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
        if is_header { choices.saturating_mul(HEADER_CHOICE_COST) } else { choices }
    }

    /// Returns the number of scalars in a value of a type. Types are bounded, so this number is
    /// too.
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

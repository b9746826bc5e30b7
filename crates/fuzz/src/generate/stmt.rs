//! Statements and bodies.

use rand::Rng;

use super::{Generator, Variable};
use crate::tree::{Copied, Expr, Stmt, Ty};

impl Generator {
    /// Generates a sequence of statements. Its declarations go out of scope at its end.
    pub(super) fn body(&mut self, depth: u32, most: usize) -> Vec<Stmt> {
        let visible = self.scope.variables.len();
        let mut out = Vec::new();
        for _ in 0..1 + self.below(most) {
            let stmt = self.statement(depth);
            out.extend(stmt);
        }
        let declared = self.scope.variables.split_off(visible);
        self.absorb(declared, &mut out);
        out
    }

    /// Combines most of the variables that go out of scope with variables that stay in scope;
    /// otherwise their values would not be observed.
    fn absorb(&mut self, declared: Vec<Variable>, out: &mut Vec<Stmt>) {
        let is_number = |v: &&Variable| v.can_assign && !v.is_view && matches!(v.ty, Ty::Bits(_));
        let targets: Vec<_> = self.scope.variables.iter().filter(is_number).cloned().collect();
        if targets.is_empty() {
            return;
        }
        for variable in declared {
            if self.chance(70) {
                let target = self.pick(&targets).clone();
                let value = Expr::atom(variable.ty, variable.name);
                let value = super::expr::convert(&target.ty, value);
                out.push(Stmt::Assign(Expr::atom(target.ty, target.name), "^=", value));
            }
        }
    }

    fn statement(&mut self, depth: u32) -> Option<Stmt> {
        match self.below(21) {
            0..=2 => {
                let ty = self.variable_type();
                let value = if self.chance(85) { Some(self.expr(&ty, 3)) } else { None };
                let name = self.fresh("v");
                self.declare(&name, ty.clone(), true, false);
                Some(Stmt::Local(ty, name, value))
            }
            3 if self.scope.has_packet => {
                let header = self.header();
                let offset = self.offset();
                let name = self.fresh("w");
                self.declare(&name, Ty::Struct(Box::new(header.clone())), true, true);
                Some(Stmt::View(header.name, name, offset))
            }
            4..=9 => self.assignment(),
            10 => {
                let target = self.target()?;
                matches!(target.ty, Ty::Bits(_))
                    .then(|| Stmt::Step(target, if self.chance(50) { "++" } else { "--" }))
            }
            11 => self.call_statement().map(Stmt::Expr),
            12 => self.record(),
            13 => self.function_call(2, false).map(Stmt::Expr),
            14 if self.scope.has_packet && self.budget > 0 => {
                self.budget -= 1;
                Some(Stmt::Expr(self.resize()))
            }
            15 | 16 if depth > 0 => {
                let condition = self.expr(&Ty::Bool, 3);
                let then = self.body(depth - 1, 3);
                let otherwise = if self.chance(50) { self.body(depth - 1, 3) } else { vec![] };
                Some(Stmt::If(condition, then, otherwise))
            }
            17 if depth > 0 => Some(self.switch(depth - 1)),
            18 if depth > 0 => Some(self.loop_statement(depth - 1)),
            19 if depth > 0 => self.leave(),
            20 if self.budget > 0 && !self.scope.in_loop => self.exclusive_calls(),
            _ => self.assignment(),
        }
    }

    pub(super) fn declare(&mut self, name: &str, ty: Ty, can_assign: bool, is_view: bool) {
        self.scope.variables.push(Variable { name: name.to_owned(), ty, can_assign, is_view });
    }

    /// Generates the byte offset of a view, mostly near the front.
    pub(super) fn offset(&mut self) -> Expr {
        if self.chance(60) {
            let at = self.rng.random_range(0..60);
            return Expr::atom(Ty::Bits(16), format!("{at}"));
        }
        let ty = Ty::Bits(*self.pick(&[4, 8, 16]));
        let offset = self.expr(&ty, 1);
        // The cast says that the offset may wrap.
        super::expr::cast(&Ty::Bits(16), offset)
    }

    fn assignment(&mut self) -> Option<Stmt> {
        if self.scope.has_packet && self.chance(10) {
            let port = self.expr(&Ty::Bits(16), 2);
            return Some(Stmt::Assign(Expr::atom(Ty::Bits(16), "packet.egress"), "=", port));
        }
        let target = self.target()?;
        let is_number = matches!(target.ty, Ty::Bits(_));
        let op = if is_number && self.chance(30) {
            *self.pick(&["+=", "-=", "*=", "&=", "|=", "^=", "<<=", ">>=", "/=", "%="])
        } else {
            "="
        };
        // A wider value is truncated, and a narrower value is extended.
        let ty = if is_number && self.chance(10) { self.bits_type() } else { target.ty.clone() };
        let value = self.expr(&ty, 3);
        Some(Stmt::Assign(target, op, value))
    }

    /// Generates calls of one offload on mutually exclusive branches. They can become one call.
    fn exclusive_calls(&mut self) -> Option<Stmt> {
        let offloads: Vec<String> = self.offloads_in_scope();
        if offloads.is_empty() {
            return None;
        }
        let offload = self.pick(&offloads).clone();
        let of_one = self.scope.methods.iter().filter(|m| m.offload() == offload).cloned();
        let of_one = of_one.collect();
        let conditions: Vec<Expr> =
            (0..1 + self.below(3)).map(|_| self.expr(&Ty::Bool, 2)).collect();
        let all = std::mem::replace(&mut self.scope.methods, of_one);
        let budget = self.budget.saturating_sub(1);
        let mut branches = self.calling_branch();
        for condition in conditions {
            let mut then = self.calling_branch();
            if self.chance(30) && self.scope.function.is_none() {
                then.push(self.end(false));
            }
            branches = vec![Stmt::If(condition, then, branches)];
        }
        self.budget = budget;
        self.scope.methods = all;
        branches.pop()
    }

    /// Generates a branch with a call, and observes the reply.
    fn calling_branch(&mut self) -> Vec<Stmt> {
        self.budget = 1;
        let visible = self.scope.variables.len();
        let call = match self.target() {
            Some(target) if self.chance(50) => self.effect(2).map(|reply| {
                let value = super::expr::convert(&target.ty, reply);
                Stmt::Assign(target, "=", value)
            }),
            _ => self.record(),
        };
        let mut out = Vec::new();
        out.extend(call.or_else(|| self.call_statement().map(Stmt::Expr)));
        let declared = self.scope.variables.split_off(visible);
        self.absorb(declared, &mut out);
        out
    }

    fn switch(&mut self, depth: u32) -> Stmt {
        let width = *self.pick(&[2, 3, 8, 16]);
        let on = self.expr(&Ty::Bits(width), 2);
        let mut labels: Vec<u64> = (0..4).collect();
        let mut cases = Vec::new();
        while !labels.is_empty() && (cases.is_empty() || self.chance(60)) {
            let taken = (1 + self.below(2)).min(labels.len());
            let labels = labels.drain(..taken).collect();
            let body = self.body(depth, 2);
            cases.push((labels, body));
        }
        Stmt::Switch(on, cases, self.body(depth, 2))
    }

    fn loop_statement(&mut self, depth: u32) -> Stmt {
        let (name, count) = (self.fresh("i"), 1 + self.below(4) as u32);
        let outer = std::mem::replace(&mut self.scope.in_loop, true);
        let visible = self.scope.variables.len();
        self.declare(&name, Ty::Bits(8), false, false);
        // Unrolling multiplies the effects.
        let budget = self.budget;
        self.budget = budget.min(1);
        let body = self.body(depth, 3);
        self.budget = budget.saturating_sub(1);
        self.scope.variables.truncate(visible);
        self.scope.in_loop = outer;
        Stmt::For(8, name, count, body)
    }

    /// Generates a conditional early exit from the loop, the function or the step.
    fn leave(&mut self) -> Option<Stmt> {
        let stmt = match self.scope.function.clone() {
            _ if self.scope.in_loop && self.chance(40) => {
                Stmt::Leave(if self.chance(50) { "break" } else { "continue" })
            }
            Some(Some(result)) => Stmt::Return(self.expr(&result, 2)),
            Some(None) => return None,
            None if !self.scope.forward.is_empty() && self.chance(10) => {
                Stmt::SetNext(self.forward_step())
            }
            None => self.end(false),
        };
        let condition = self.expr(&Ty::Bool, 2);
        Some(Stmt::If(condition, vec![stmt], vec![]))
    }

    /// Generates a statement that ends a step. `last` means that the statement is at the end of the
    /// step.
    pub(super) fn end(&mut self, last: bool) -> Stmt {
        let forward = !self.scope.forward.is_empty();
        if let Some(reply) = self.scope.reply.clone() {
            if forward && self.chance(if last { 80 } else { 40 }) {
                return Stmt::Next(self.forward_step());
            }
            return Stmt::EndWith("finish", self.expr(&reply, 3));
        }
        match self.below(if last { 24 } else { 7 }) {
            0 if !self.program.enums.is_empty() => {
                let reason = self.enum_type();
                Stmt::EndWith("drop", self.expr(&reason, 1))
            }
            1 if !self.program.enums.is_empty() => {
                let reason = self.enum_type();
                Stmt::EndWith("to_cpu", self.expr(&reason, 1))
            }
            2 if forward && self.uses.copies => Stmt::Emit(self.copied(), self.forward_step()),
            3 if self.chance(30) => Stmt::End("done"),
            4..=22 if forward => Stmt::Next(self.forward_step()),
            _ => match self.scope.dump.clone() {
                Some(dump) if self.chance(80) => Stmt::Next(dump),
                _ => Stmt::End("finish"),
            },
        }
    }

    /// Generates what a copy is made of: often the whole packet, for its port.
    pub(super) fn copied(&mut self) -> Copied {
        let mut copied = Copied::default();
        if !self.program.enums.is_empty() && self.chance(30) {
            let reason = self.enum_type();
            copied.reason = Some(self.expr(&reason, 1));
        }
        if self.chance(30) {
            copied.bytes = Some([200, 300].map(|most| self.extent(most)));
        }
        copied
    }

    pub(super) fn forward_step(&mut self) -> String {
        // The next step is preferred, so that most steps are reached.
        let steps = self.scope.forward.clone();
        if self.chance(70) { steps[0].clone() } else { self.pick(&steps).clone() }
    }
}

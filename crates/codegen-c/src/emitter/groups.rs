//! Orders effects. Adjacent effects with the same guard share one `if`, and values that an effect
//! would change are read before it.

use std::collections::HashSet;

use wireloom_codegen::files::short_place;
use wireloom_compile::analysis::resources::{Resource, changes, reads};
use wireloom_ir::{Op, OpKind, Value};

use super::{Content, Effects, Emitter, Group, Line, Local, Made};
use crate::tree::{Declaration, Expr, Stmt};
use crate::types::Class;

impl Emitter<'_> {
    pub(super) fn effect(&mut self, index: usize, effects: &mut dyn Effects) {
        let op = self.ops[index];
        let guard = op.guard.filter(|g| self.constant(*g).is_none_or(|c| c.is_zero()));
        // Statements before the `if` may depend on statements in it. Then the `if` ends first.
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

    /// Returns the comment `/* file:line */` if an effect comes from another line than the previous
    /// one.
    fn located(&mut self, op: &Op) -> Option<Stmt> {
        if op.loc.line == 0 || self.last_line == Some(op.loc) {
            return None;
        }
        self.last_line = Some(op.loc);
        let place = short_place(self.scope.program, op.loc);
        place.map(|place| Stmt::Located(place, op.loc))
    }

    /// Writes the earlier reads whose results an effect would invalidate and that later operations
    /// still need.
    pub(super) fn keep_reads(&mut self, index: usize) {
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

    /// Returns whether writing the value now, before the open `if`, would be too early: it needs a
    /// reply of an effect in the `if`, or reads something that such an effect changes. A value that
    /// goes into the `if` itself is never too early.
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

    /// Decides [`depends_on_group`](Self::depends_on_group) for one value. `safe` caches the values
    /// for which the result is false.
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
    pub(super) fn close(&mut self) {
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
}

impl Local {
    /// Returns the statements that give the local its value, and declare it unless it is already
    /// declared.
    pub(super) fn define(self, class: Class, is_declared: bool) -> Vec<Stmt> {
        let name = Expr::name(&self.name);
        match self.content {
            Content::Initialiser(value) if is_declared => {
                vec![Stmt::Assign(name, class.value_of(value))]
            }
            Content::Initialiser(value) => {
                let declaration = Declaration::new(class.c_type().constant(), self.name);
                vec![declaration.with(value).at(self.loc).into()]
            }
            Content::Statements(fill) => {
                let declaration =
                    (!is_declared).then(|| Declaration::new(class.c_type(), self.name).into());
                declaration.into_iter().chain(fill(&name)).collect()
            }
        }
    }
}

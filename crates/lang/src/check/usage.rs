//! Warnings about unused and unreachable code, and the limit on the expanded size of a step.

use std::ops::Range;
use std::rc::Rc;

use super::{Checker, flow, fold};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, ExprKind, Stmt, StmtKind, VarKind};
use crate::source::{FileId, Span};

/// The maximum number of operations of a step after functions are inlined and loops unrolled.
const MAX_STEP_COST: u64 = 1 << 18;

impl Checker<'_> {
    /// Reports statements that control never reaches.
    pub(super) fn report_unreachable(&mut self, stmts: &[Stmt]) {
        for span in flow::unreachable(stmts) {
            self.report(
                Diagnostic::new("W0709", span, "this statement is never reached")
                    .help("the statement before it always leaves"),
            );
        }
    }

    /// Reports local variables, from `first` on, that are never read.
    pub(super) fn report_unused_locals(&mut self, first: usize) {
        // After an error, the use may be in code that could not be checked.
        if self.sink.has_errors() {
            return;
        }
        for index in first..self.cx.vars.len() {
            let (var, uses) = (&self.cx.vars[index], &self.cx.uses[index]);
            if var.kind == VarKind::Context || uses.read || uses.exempt {
                continue;
            }
            let (message, span) = if uses.written {
                (format!("variable `{}` is assigned but never read", var.name), var.span)
            } else {
                (format!("variable `{}` is never used", var.name), var.span)
            };
            self.report(Diagnostic::new("W0712", span, message).help("remove it"));
        }
    }

    pub(super) fn report_unused_in_engine(
        &mut self,
        consts: Range<usize>,
        functions: Range<usize>,
    ) {
        if self.sink.has_errors() {
            return;
        }
        for index in 0..self.cx.vars.len() {
            let (var, uses) = (&self.cx.vars[index], self.cx.uses[index].clone());
            if var.kind != VarKind::Context {
                continue;
            }
            let (name, span) = (var.name.clone(), var.span);
            let is_param = self.cx.params.iter().any(|p| p.index() == index);
            let diagnostic = match (uses.read, uses.written) {
                (true, true) => continue,
                (false, _) if is_param => {
                    let message = format!("parameter `{name}` is never read");
                    Diagnostic::new("W0703", span, message)
                        .help("remove it from the engine and from its calls")
                }
                (false, false) => {
                    let message = format!("context variable `{name}` is never used");
                    Diagnostic::new("W0703", span, message)
                        .help("remove it: every thread stores it")
                }
                (false, true) => {
                    let message = format!("context variable `{name}` is written but never read");
                    Diagnostic::new("W0704", span, message)
                        .help("remove it: every thread stores it")
                }
                (true, false) => {
                    let message = format!("context variable `{name}` is read but never written");
                    Diagnostic::new("W0705", span, message)
                        .help("it is always zero; assign it first, or make it a constant")
                }
            };
            self.report(diagnostic);
        }
        for index in 0..self.cx.offloads.len() {
            if let (false, Some(offload)) = (self.cx.offload_used[index], &self.cx.offloads[index])
            {
                let (message, span) =
                    (format!("offload `{}` is never called", offload.name), offload.span);
                self.report(
                    Diagnostic::new("W0702", span, message)
                        .help("remove it: machines reserve room for it"),
                );
            }
        }
        for index in 0..self.cx.views.len() {
            if let (false, Some(view)) = (self.cx.view_used[index], &self.cx.views[index]) {
                let (message, span) = (format!("view `{}` is never used", view.name), view.span);
                self.report_in_main_file("W0714", span, message);
            }
        }
        self.report_unused_declarations(consts, functions);
    }

    /// Reports constants and functions that are never used.
    fn report_unused_declarations(&mut self, consts: Range<usize>, functions: Range<usize>) {
        for index in consts {
            let entry = &self.consts[index];
            if !entry.used && entry.replaced.is_none() {
                let name = &entry.decl.name;
                let (message, span) =
                    (format!("constant `{}` is never used", name.text), name.span);
                self.report_in_main_file("W0707", span, message);
            }
        }
        for index in functions {
            let entry = &self.functions[index];
            if !entry.used {
                let name = &entry.decl.name;
                let (message, span) =
                    (format!("function `{}` is never called", name.text), name.span);
                self.report_in_main_file("W0706", span, message);
            }
        }
    }

    /// Reports only declarations of the main file. Unused declarations of shared files cost nothing
    /// and are no error.
    fn report_in_main_file(&mut self, code: &'static str, span: Span, message: String) {
        if span.file == FileId(0) {
            self.report(Diagnostic::new(code, span, message).help("remove it"));
        }
    }

    /// Reports unused declarations of the file, outside of engines.
    pub(super) fn report_unused(&mut self) {
        if self.sink.has_errors() {
            return;
        }
        let file_level = |level: usize| level == 1;
        let consts: Vec<usize> =
            (0..self.consts.len()).filter(|&i| file_level(self.consts[i].level)).collect();
        let functions: Vec<usize> =
            (0..self.functions.len()).filter(|&i| file_level(self.functions[i].level)).collect();
        for index in consts {
            self.report_unused_declarations(index..index + 1, 0..0);
        }
        for index in functions {
            self.report_unused_declarations(0..0, index..index + 1);
        }
        let idle: Vec<(Rc<str>, Span)> = self
            .engine_decls
            .iter()
            .filter(|e| e.decl.reply.is_some() && !e.used)
            .map(|e| (e.decl.name.text.clone(), e.decl.name.span))
            .collect();
        for (name, span) in idle {
            self.report_in_main_file("W0715", span, format!("engine `{name}` is never called"));
        }
    }

    /// Reports steps that no thread reaches, and loops that no thread leaves.
    pub(super) fn check_step_graph(&mut self, steps: &[hir::Step]) {
        if steps.is_empty() || self.sink.has_errors() {
            return;
        }
        let exits: Vec<flow::Exits> = steps.iter().map(|s| flow::exits(&s.body)).collect();
        let mut reached = vec![false; steps.len()];
        let mut open = vec![0];
        while let Some(step) = open.pop() {
            if !std::mem::replace(&mut reached[step], true) {
                open.extend(exits[step].next.iter().map(|s| s.index()));
            }
        }
        // Works backwards from the steps in which a thread can end.
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
        for (from, exits) in exits.iter().enumerate() {
            exits.next.iter().for_each(|to| before[to.index()].push(from));
        }
        let mut can_end = vec![false; steps.len()];
        let mut open: Vec<usize> = (0..steps.len()).filter(|&s| exits[s].ends).collect();
        while let Some(step) = open.pop() {
            if !std::mem::replace(&mut can_end[step], true) {
                open.extend(&before[step]);
            }
        }
        for (step, _) in steps.iter().zip(&reached).filter(|(_, reached)| !**reached) {
            let message = format!("step `{}` is never reached", step.name);
            self.report(
                Diagnostic::new("W0701", step.span, message).help(
                    "no path from the first step leads here: name it in a `next`, or remove it",
                ),
            );
        }
        let endless: Vec<&hir::Step> = steps
            .iter()
            .zip(reached.iter().zip(&can_end))
            .filter(|(_, (reached, ends))| **reached && !**ends)
            .map(|(step, _)| step)
            .collect();
        if let Some((first, others)) = endless.split_first() {
            let mut diagnostic =
                Diagnostic::new("W0708", first.span, format!("a thread that reaches step `{}` never ends", first.name))
                    .help("give a path from here to `finish`, `drop`, `to_cpu` or `done`; such threads are dropped as `runaway`");
            for other in others.iter().take(4) {
                diagnostic = diagnostic.also(other.span, "nor does one here");
            }
            self.report(diagnostic);
        }
    }

    /// Refuses steps that inlining and unrolling would make too large.
    pub(super) fn check_cost(&mut self, steps: &[hir::Step]) {
        let mut costs: Vec<u64> = Vec::new();
        // The functions that a function calls come before it.
        for function in &self.cx.functions {
            let cost = statements(&function.body, &costs);
            costs.push(cost);
        }
        for step in steps {
            let cost = statements(&step.body, &costs);
            if cost > MAX_STEP_COST {
                let message = format!("step `{}` becomes too large: {cost} operations", step.name);
                self.report(Diagnostic::new("E0521", step.span, message).help(format!(
                    "loops are unrolled and functions inlined; the limit is {MAX_STEP_COST}. Loop over steps instead"
                )));
            }
        }
    }
}

fn statements(stmts: &[Stmt], functions: &[u64]) -> u64 {
    stmts.iter().fold(0u64, |sum, stmt| sum.saturating_add(statement(stmt, functions)))
}

fn statement(stmt: &Stmt, functions: &[u64]) -> u64 {
    let inner = match &stmt.kind {
        StmtKind::Local(_, value) | StmtKind::Return(value) => {
            value.as_ref().map_or(0, |e| expression(e, functions))
        }
        StmtKind::Assign(place, value) => {
            let indices = place.path.iter().filter_map(|p| match p {
                hir::Projection::Index(e) | hir::Projection::Bit(e) => {
                    Some(expression(e, functions))
                }
                _ => None,
            });
            indices.fold(expression(value, functions), u64::saturating_add)
        }
        StmtKind::Expr(e) => expression(e, functions),
        StmtKind::If(condition, then, otherwise) => expression(condition, functions)
            .saturating_add(statements(then, functions))
            .saturating_add(statements(otherwise, functions)),
        StmtKind::Switch { on, cases, default } => cases
            .iter()
            .map(|(labels, body)| statements(body, functions).saturating_add(labels.len() as u64))
            .fold(expression(on, functions), u64::saturating_add)
            .saturating_add(statements(default, functions)),
        StmtKind::For { values, body, .. } => {
            // A round costs time and memory even if nothing is in it.
            statements(body, functions).saturating_add(1).saturating_mul(values.len() as u64)
        }
        StmtKind::Exit(exit) => match exit {
            hir::Exit::Reply(e) | hir::Exit::Drop(e) | hir::Exit::ToCpu(e) => {
                expression(e, functions)
            }
            _ => 0,
        },
        StmtKind::Block(stmts) => statements(stmts, functions),
        StmtKind::Break | StmtKind::Continue | StmtKind::SetNext(_) => 0,
    };
    inner.saturating_add(1)
}

fn expression(e: &hir::Expr, functions: &[u64]) -> u64 {
    let own = match &e.kind {
        ExprKind::Call(id, _) => functions[id.index()],
        _ => 1,
    };
    fold::parts(e).into_iter().map(|e| expression(e, functions)).fold(own, u64::saturating_add)
}

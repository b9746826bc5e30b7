//! Warnings about unused and unreachable code.

use std::ops::Range;
use std::rc::Rc;

use super::{Checker, flow};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, Stmt, VarKind};
use crate::source::{FileId, Span};

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

    /// Reports local variables from index `first` that are never read.
    pub(super) fn report_unused_locals(&mut self, first: usize) {
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
            let help = match uses.called {
                true => "remove the variable, and keep the call as a statement of its own",
                false => "remove it",
            };
            self.report(Diagnostic::new("W0712", span, message).help(help));
        }
    }

    pub(super) fn report_unused_in_engine(
        &mut self,
        consts: Range<usize>,
        functions: Range<usize>,
    ) {
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

    /// Reports a declaration of the main file. Unused declarations of shared files cost nothing and
    /// are no error.
    fn report_in_main_file(&mut self, code: &'static str, span: Span, message: String) {
        if span.file == FileId(0) {
            self.report(Diagnostic::new(code, span, message).help("remove it"));
        }
    }

    /// Reports unused declarations at file level.
    pub(super) fn report_unused(&mut self) {
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
        // Work backwards from the steps that can end a thread.
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
}

//! Warns about context variables that are read before any path can have assigned them.
//!
//! Context is zero at the start of each packet. A C programmer who expects it to persist like a
//! global variable writes `count++`, which here always yields 1.
//!
//! Each step is walked once, with functions inlined. The walk tracks the set of variables that some
//! path from the start of the step has assigned. The sets then propagate along the graph of steps.

use std::collections::{BTreeMap, HashSet};

use super::Checker;
use crate::diagnostics::Diagnostic;
use crate::hir::{self, Exit, Expr, ExprKind, Place, Projection, Root, Stmt, StmtKind, VarId};
use crate::hir::{Function, VarKind};
use crate::source::Span;

/// The advice, for help lines, on offloads that keep a value from packet to packet.
pub(super) const KEEPS_VALUES: &str = "to keep a value from packet to packet, use an `array` \
                                       offload (read, write, fetch_add) or a `counter`";

impl Checker<'_> {
    /// Reports W0719: a read of context that always returns zero, once for each variable.
    pub(super) fn warn_initial_reads(&mut self, steps: &[hir::Step]) {
        if steps.is_empty() || self.sink.has_errors() {
            return;
        }
        for (var, span) in self.initial_reads(steps) {
            let declared = &self.cx.vars[var.index()];
            let message = format!("`{}` is always zero here", declared.name);
            let diagnostic = Diagnostic::new("W0719", span, message)
                .here("nothing assigns it before")
                .also(declared.span, "it begins at zero with each packet")
                .help(format!(
                    "variables live for one packet; {KEEPS_VALUES}; else assign it first"
                ));
            self.report(diagnostic);
        }
    }

    fn initial_reads(&self, steps: &[hir::Step]) -> BTreeMap<VarId, Span> {
        let implicit = self.reads_in_view_offsets();
        let functions = &self.cx.functions;
        // Context is declared before all locals, so the sets need no room for locals.
        let is_context = |var: &hir::Variable| var.kind == VarKind::Context;
        let count = self.cx.vars.iter().rposition(is_context).map_or(0, |last| last + 1);
        let walks: Vec<Walk<'_>> =
            steps.iter().map(|step| Walk::of_step(step, functions, &implicit, count)).collect();
        let entries = entries(&walks, count);
        let mut assigned_again = Vars::new(count);
        let mut covered: HashSet<(VarId, Span)> = HashSet::new();
        for (walk, entry) in walks.iter().zip(&entries) {
            let Some(entry) = entry else { continue };
            covered.extend(&walk.covered);
            let later = walk.reads.iter().filter(|r| entry.contains(r.var));
            covered.extend(later.map(|r| (r.var, r.span)));
            assigned_again.add(&walk.assigned_again);
            let mut again = walk.assigned.clone();
            again.keep(entry);
            assigned_again.add(&again);
        }
        let mut out: BTreeMap<VarId, Span> = BTreeMap::new();
        let reached = walks.iter().zip(&entries).filter(|(_, entry)| entry.is_some());
        for read in reached.flat_map(|(walk, _)| &walk.reads) {
            let (var, uses) = (read.var, &self.cx.uses[read.var.index()]);
            // Variables that are never written or never read have other warnings.
            let reported = uses.read
                && uses.written
                && !self.cx.params.contains(&var)
                && !covered.contains(&(var, read.span))
                && !(read.accumulates && assigned_again.contains(var));
            if reported {
                let first = out.entry(var).or_insert(read.span);
                if (read.span.file, read.span.start) < (first.file, first.start) {
                    *first = read.span;
                }
            }
        }
        out
    }

    /// Returns the spans of context reads in the offsets of views. An access to such a view does
    /// not name these variables, and an offset usually begins at zero.
    fn reads_in_view_offsets(&self) -> HashSet<Span> {
        fn collect(e: &Expr, out: &mut HashSet<Span>) {
            if let ExprKind::Read(place) = &e.kind {
                out.insert(place.span);
            }
            e.parts().into_iter().for_each(|part| collect(part, out));
        }
        let mut out = HashSet::new();
        self.cx.views.iter().flatten().for_each(|view| collect(&view.offset, &mut out));
        out
    }
}

/// Returns the variables that may have been assigned at the start of each step; `None` for steps
/// that no thread reaches.
fn entries(walks: &[Walk<'_>], count: usize) -> Vec<Option<Vars>> {
    let mut entries: Vec<Option<Vars>> = vec![None; walks.len()];
    entries[0] = Some(Vars::new(count));
    let mut open = vec![0];
    while let Some(step) = open.pop() {
        let here = entries[step].clone().expect("opened steps are reached");
        for (next, assigned) in &walks[step].exits {
            let known = entries[*next].is_some();
            let entry = entries[*next].get_or_insert_with(|| Vars::new(count));
            let changed = entry.add(&here) | entry.add(assigned);
            if changed || !known {
                open.push(*next);
            }
        }
    }
    entries
}

/// A set of context variables.
#[derive(Clone)]
struct Vars(Vec<u64>);

impl Vars {
    /// Returns the empty set, with room for the first `count` variables.
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn contains(&self, var: VarId) -> bool {
        self.0[var.index() / 64] >> (var.index() % 64) & 1 != 0
    }

    fn insert(&mut self, var: VarId) {
        self.0[var.index() / 64] |= 1 << (var.index() % 64);
    }

    /// Adds the variables of another set. Returns whether the set grew.
    fn add(&mut self, other: &Self) -> bool {
        let mut changed = false;
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            changed |= other & !*word != 0;
            *word |= other;
        }
        changed
    }

    /// Removes the variables that another set lacks.
    fn keep(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= other);
    }

    /// Removes the variables of another set.
    fn remove(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word &= !other);
    }
}

/// A read of a variable that no earlier statement of the step has assigned.
struct Read {
    var: VarId,
    span: Span,
    /// Whether the value is used for a new value of the same variable: `x += y`, `x = x | y`.
    accumulates: bool,
}

/// The variables assigned on paths that leave the body of a loop by `break` or by `continue`.
struct Loop {
    broken: Option<Vars>,
    continued: Option<Vars>,
}

/// The walk through a step, which collects reads and assignments.
struct Walk<'a> {
    functions: &'a [Function],
    implicit: &'a HashSet<Span>,
    /// The number of variables up to the last context variable. Locals are ignored.
    count: usize,
    /// The variables that a path to this point may have assigned; `None` if control does not reach
    /// this point.
    now: Option<Vars>,
    /// The variable whose new value is currently computed.
    target: Option<VarId>,
    loops: Vec<Loop>,
    /// For each open call, the variables assigned at its `return` statements.
    returns: Vec<Option<Vars>>,
    /// The possible values of `Next_step` at the end.
    chosen: Vec<usize>,
    reads: Vec<Read>,
    /// Reads that follow an assignment on some path of the step.
    covered: HashSet<(VarId, Span)>,
    /// The variables that the step assigns.
    assigned: Vars,
    /// The variables that the step may assign more than once.
    assigned_again: Vars,
    /// The next steps, and the variables that may have been assigned on the way there.
    exits: BTreeMap<usize, Vars>,
}

impl<'a> Walk<'a> {
    fn of_step(
        step: &hir::Step,
        functions: &'a [Function],
        implicit: &'a HashSet<Span>,
        count: usize,
    ) -> Self {
        let mut walk = Self {
            functions,
            implicit,
            count,
            now: Some(Vars::new(count)),
            target: None,
            loops: Vec::new(),
            returns: Vec::new(),
            chosen: Vec::new(),
            reads: Vec::new(),
            covered: HashSet::new(),
            assigned: Vars::new(count),
            assigned_again: Vars::new(count),
            exits: BTreeMap::new(),
        };
        walk.statements(&step.body);
        for next in std::mem::take(&mut walk.chosen) {
            walk.exit(next);
        }
        walk
    }

    fn exit(&mut self, next: usize) {
        let Some(now) = &self.now else { return };
        match self.exits.get_mut(&next) {
            Some(known) => _ = known.add(now),
            None => _ = self.exits.insert(next, now.clone()),
        }
    }

    fn statements(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            // Unreachable statements have another warning.
            if self.now.is_some() {
                self.statement(stmt);
            }
        }
    }

    fn statement(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Local(_, value) => value.iter().for_each(|e| self.value(e)),
            StmtKind::Assign(place, value) => self.assign(place, value),
            StmtKind::Expr(e) => self.value(e),
            StmtKind::If(condition, then, otherwise) => {
                self.value(condition);
                self.branches([&then[..], &otherwise[..]]);
            }
            StmtKind::Switch { on, cases, default } => {
                self.value(on);
                self.branches(cases.iter().map(|(_, body)| &body[..]).chain([&default[..]]));
            }
            StmtKind::For { values, body, .. } if !values.is_empty() => {
                self.rounds(body, values.len())
            }
            StmtKind::For { .. } => {}
            StmtKind::Break => {
                let now = self.now.take();
                if let Some(inner) = self.loops.last_mut() {
                    join(&mut inner.broken, now);
                }
            }
            StmtKind::Continue => {
                let now = self.now.take();
                if let Some(inner) = self.loops.last_mut() {
                    join(&mut inner.continued, now);
                }
            }
            StmtKind::Return(value) => {
                value.iter().for_each(|e| self.value(e));
                let now = self.now.take();
                if let Some(call) = self.returns.last_mut() {
                    join(call, now);
                }
            }
            StmtKind::Exit(exit) => {
                exit.parts().into_iter().for_each(|e| self.value(e));
                if let Exit::Next(step) | Exit::Emit(step, _) = exit {
                    self.exit(step.index());
                }
                self.now = None;
            }
            StmtKind::SetNext(step) => self.chosen.push(step.index()),
            StmtKind::Block(stmts) => self.statements(stmts),
        }
    }

    fn assign(&mut self, place: &Place, value: &Expr) {
        for part in &place.path {
            if let Projection::Index(e) | Projection::Run(e, _) = part {
                self.value(e);
            }
        }
        let Root::Var(var) = place.root else { return self.value(value) };
        let outer = self.target.replace(var);
        self.value(value);
        self.target = outer;
        if let Some(now) = self.now.as_mut().filter(|_| var.index() < self.count) {
            if now.contains(var) {
                self.assigned_again.insert(var);
            }
            now.insert(var);
            self.assigned.insert(var);
        }
    }

    fn branches<'b>(&mut self, bodies: impl IntoIterator<Item = &'b [Stmt]>) {
        let before = self.now.clone();
        let mut after = None;
        for body in bodies {
            self.now.clone_from(&before);
            self.statements(body);
            join(&mut after, self.now.take());
        }
        self.now = after;
    }

    fn rounds(&mut self, body: &[Stmt], rounds: usize) {
        let (before, first) = (self.now.clone(), self.reads.len());
        self.loops.push(Loop { broken: None, continued: None });
        self.statements(body);
        let Loop { broken, continued } = self.loops.pop().expect("pushed above");
        join(&mut self.now, continued);
        if rounds > 1
            && let (Some(before), Some(now)) = (before, &self.now)
        {
            // The second round sees the assignments of the first.
            let seen = self.reads[first..].iter().filter(|read| now.contains(read.var));
            self.covered.extend(seen.map(|read| (read.var, read.span)));
            let mut again = now.clone();
            again.remove(&before);
            self.assigned_again.add(&again);
        }
        join(&mut self.now, broken);
    }

    fn value(&mut self, e: &Expr) {
        e.parts().into_iter().for_each(|part| self.value(part));
        match &e.kind {
            ExprKind::Read(Place { root: Root::Var(var), span, .. }) => self.read(*var, *span),
            ExprKind::Call(id, _) => {
                let (outer, loops) = (self.target.take(), std::mem::take(&mut self.loops));
                self.returns.push(None);
                self.statements(&self.functions[id.index()].body);
                let returned = self.returns.pop().expect("pushed above");
                join(&mut self.now, returned);
                (self.target, self.loops) = (outer, loops);
            }
            _ => {}
        }
    }

    fn read(&mut self, var: VarId, span: Span) {
        let Some(now) = self.now.as_ref().filter(|_| var.index() < self.count) else { return };
        if now.contains(var) {
            self.covered.insert((var, span));
        } else if !self.implicit.contains(&span) {
            self.reads.push(Read { var, span, accumulates: self.target == Some(var) });
        }
    }
}

/// Merges a path into a point where paths meet.
fn join(point: &mut Option<Vars>, path: Option<Vars>) {
    match (point, path) {
        (_, None) => {}
        (Some(point), Some(path)) => _ = point.add(&path),
        (point, path) => *point = path,
    }
}

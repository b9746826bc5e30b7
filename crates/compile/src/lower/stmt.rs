//! Lowers statements, and splits and merges paths.

use std::collections::VecDeque;
use std::mem::replace;
use std::rc::Rc;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Copied, Exit, Loc, ReasonSetId, StepId, Value};
use wireloom_lang::hir::{self, Stmt, StmtKind, Type, VarId};

use super::merge::Merge;
use super::state::{Exited, Flow};
use super::{StepLowering, leaves};

/// Work still to be lowered on a path.
#[derive(Clone, Copy)]
enum Work<'a> {
    Stmt(&'a Stmt),
    /// The remaining cases of a `switch`.
    Switch {
        on: Value,
        loc: Loc,
        cases: &'a [(Vec<Bits>, Vec<Stmt>)],
        default: &'a [Stmt],
    },
    /// The end of the step: continue at the step in `Next_step`.
    StepEnd,
}

/// The most cases of a `switch` that are tested one after the other. Longer switches are halved
/// first.
const MOST_IN_CHAIN: usize = 64;

type Queue<'a> = VecDeque<Work<'a>>;

fn work(stmts: &[Stmt]) -> Queue<'_> {
    stmts.iter().map(Work::Stmt).collect()
}

/// Puts work before the remaining work, which is not copied: thousands of statements may follow an
/// `if`, and each of them may be another `if`.
fn prepend<'a>(rest: &mut Queue<'a>, first: Queue<'a>) {
    first.into_iter().rev().for_each(|work| rest.push_front(work));
}

impl<'a> StepLowering<'a> {
    pub(super) fn step(&mut self, step: &'a hir::Step) {
        self.b.loc = self.lines.loc(step.span);
        self.read_context();
        let mut queue = work(&step.body);
        queue.push_back(Work::StepEnd);
        self.sequence(queue);
    }

    /// Lowers the body of a function that is being inlined.
    pub(super) fn body(&mut self, stmts: &'a [Stmt]) {
        self.sequence(work(stmts));
    }

    /// Lowers a list of statements onto the current path.
    fn sequence(&mut self, mut queue: Queue<'a>) {
        while !self.state.flow.is_dead() {
            if queue.is_empty() {
                return;
            }
            if let Some(left) = self.left() {
                let already = self.state.flow;
                let remaining = |me: &mut Self| {
                    me.state.flow = Flow::STRAIGHT;
                    me.sequence(queue);
                };
                self.unless_left(left, remaining, already.only_exits());
                return;
            }
            match queue.pop_front().expect("the queue is not empty") {
                Work::StepEnd => self.step_end(),
                Work::Switch { cases: [], default, .. } => prepend(&mut queue, work(default)),
                Work::Switch { on, loc, cases, default } if cases.len() > MOST_IN_CHAIN => {
                    self.b.loc = loc;
                    let (first, others) = cases.split_at(cases.len() / 2);
                    let (last, first) = first.split_last().expect("half of many is not empty");
                    let labels = first.iter().chain([last]).flat_map(|(labels, _)| labels);
                    let labels: Vec<&Bits> = labels.collect();
                    let Some(hit) = self.is_one_of(on, &labels) else {
                        queue.push_front(Work::Switch { on, loc, cases: others, default });
                        continue;
                    };
                    let then = Work::Switch { on, loc, cases: first, default: &last.1 };
                    let otherwise = Work::Switch { on, loc, cases: others, default };
                    let arms = [then, otherwise].map(|work| VecDeque::from([work]));
                    let [then, otherwise] = arms;
                    self.if_else(hit, then, otherwise, &mut queue);
                }
                Work::Switch { on, loc, cases: [(constants, body), cases @ ..], default } => {
                    self.b.loc = loc;
                    let labels: Vec<&Bits> = constants.iter().collect();
                    let hit = self.is_one_of(on, &labels);
                    let others = VecDeque::from([Work::Switch { on, loc, cases, default }]);
                    let Some(hit) = hit else {
                        prepend(&mut queue, others);
                        continue;
                    };
                    self.if_else(hit, work(body), others, &mut queue);
                }
                Work::Stmt(stmt) => {
                    self.b.loc = self.lines.loc(stmt.span);
                    match &stmt.kind {
                        StmtKind::Block(inner) => prepend(&mut queue, work(inner)),
                        StmtKind::If(condition, then, otherwise) => {
                            let condition = self.scalar(condition);
                            self.if_else(condition, work(then), work(otherwise), &mut queue);
                        }
                        StmtKind::Switch { on, cases, default } => {
                            let on = self.scalar(on);
                            let loc = self.b.loc;
                            queue.push_front(Work::Switch { on, loc, cases, default });
                        }
                        _ => self.simple(stmt),
                    }
                }
            }
        }
    }

    /// Returns whether a value is one of the labels. Returns `None` if there are no labels.
    fn is_one_of(&mut self, on: Value, labels: &[&Bits]) -> Option<Value> {
        labels.iter().fold(None, |hit, label| {
            let label = self.b.constant((*label).clone());
            let same = self.b.binary(BinaryOp::Eq, on, label);
            Some(hit.map_or(same, |hit| self.b.binary(BinaryOp::Or, hit, same)))
        })
    }

    /// Lowers a loop, or a statement that contains no statements.
    fn simple(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Local(var, init) => {
                let ty = &self.engine.vars[var.index()].ty;
                let value = match init {
                    Some(init) => self.expr(init),
                    None => self.zeros(ty),
                };
                self.set_var(*var, value);
            }
            StmtKind::Assign(place, value) => {
                let place = self.resolve(place);
                let value = self.expr(value);
                self.write(&place, &value);
            }
            StmtKind::Expr(expr) => {
                self.expr(expr);
            }
            StmtKind::For { var, values, body } => self.unroll(*var, values, body),
            StmtKind::Break => self.state.flow.broke = Exited::Always,
            StmtKind::Continue => self.state.flow.continued = Exited::Always,
            StmtKind::Return(value) => {
                if let Some(value) = value {
                    self.state.result = self.expr(value);
                }
                self.state.flow.returned = Exited::Always;
            }
            StmtKind::Exit(exit) => self.exit(exit),
            StmtKind::SetNext(step) => {
                if !self.assigned.contains(step) {
                    self.assigned.push(*step);
                }
                self.state.next = Some(self.b.number(16, step.0.into()));
            }
            StmtKind::Block(_) | StmtKind::If(..) | StmtKind::Switch { .. } => {
                unreachable!("lowered as part of a sequence")
            }
        }
    }

    fn exit(&mut self, exit: &'a hir::Exit) {
        let exit = match exit {
            hir::Exit::Next(step) => Exit::Next(StepId(step.0)),
            hir::Exit::Emit(step, copied) => Exit::Emit(StepId(step.0), self.copied(copied)),
            hir::Exit::Finish => Exit::Finish,
            hir::Exit::Done => Exit::Done,
            hir::Exit::Reply(value) => {
                let leaves = self.expr(value);
                Exit::Reply(self.b.concat(&leaves))
            }
            hir::Exit::Drop(reason) => {
                let (value, set) = self.reason(reason);
                Exit::Drop(value, set)
            }
            hir::Exit::ToCpu(reason) => {
                let (value, set) = self.reason(reason);
                Exit::ToCpu(value, set)
            }
        };
        self.leave(exit);
    }

    fn copied(&mut self, copied: &'a hir::Copied) -> Copied {
        let cpu = copied.cpu.as_ref().map(|reason| self.reason(reason));
        let bytes = copied.bytes.as_ref().map(|(offset, count)| {
            let offset = self.scalar(offset);
            (offset, self.scalar(count))
        });
        Copied { bytes, cpu }
    }

    fn reason(&mut self, reason: &'a hir::Expr) -> (Value, ReasonSetId) {
        let Type::Enum(id) = reason.ty else { unreachable!("reasons are of enumeration types") };
        let set = self.reasons.of(self.program, id);
        let value = self.scalar(reason);
        (self.b.resize(value, 16), set)
    }

    fn leave(&mut self, exit: Exit) {
        if matches!(exit, Exit::Next(_) | Exit::Emit(..)) {
            self.write_context();
        }
        self.b.exit(exit);
        self.state.flow.exited = Exited::Always;
    }

    /// Continues at the step in `Next_step`, which may differ from path to path.
    fn step_end(&mut self) {
        let Some(next) = self.state.next else { return };
        match self.b.as_constant(next) {
            Some(step) => {
                let step = StepId(step.low_u64() as u32);
                self.leave(Exit::Next(step));
            }
            None => self.next_among(next, &self.assigned.clone()),
        }
    }

    fn next_among(&mut self, next: Value, candidates: &[hir::StepId]) {
        let [first, others @ ..] = candidates else { unreachable!("`Next_step` was assigned") };
        if others.is_empty() {
            return self.leave(Exit::Next(StepId(first.0)));
        }
        let number = self.b.number(16, first.0.into());
        let same = self.b.binary(BinaryOp::Eq, next, number);
        self.b.open();
        self.leave(Exit::Next(StepId(first.0)));
        let then = self.b.close();
        self.b.open();
        self.next_among(next, others);
        let otherwise = self.b.close();
        self.b.choice(same, then, otherwise, &[]);
    }

    /// Lowers the loop's body once for each value.
    fn unroll(&mut self, var: VarId, values: &[Bits], body: &'a [Stmt]) {
        for value in values {
            if self.state.flow.is_dead() {
                break;
            }
            let iteration = |me: &mut Self| {
                me.state.flow = Flow::STRAIGHT;
                let value = me.b.constant(value.clone());
                me.set_var(var, Rc::new([value]));
                me.sequence(work(body));
                me.state.flow.continued = Exited::Never;
            };
            match self.left() {
                None => iteration(self),
                Some(left) => {
                    let only_exits = self.state.flow.only_exits();
                    self.unless_left(left, iteration, only_exits);
                }
            }
        }
        self.state.flow.broke = Exited::Never;
    }

    /// Returns the flag that says whether control has left before this point. Returns `None` if
    /// control has never left.
    fn left(&mut self) -> Option<Value> {
        self.state.flow.ways().into_iter().fold(None, |flag, way| match (flag, way) {
            (None, Exited::If(v)) => Some(v),
            (Some(f), Exited::If(v)) => Some(self.b.binary(BinaryOp::Or, f, v)),
            _ => flag,
        })
    }

    /// Emits work that happens only if control has not left before. The choice has no position,
    /// since it is not in the source.
    fn unless_left(&mut self, left: Value, work: impl FnOnce(&mut Self), only_exits: bool) {
        let loc = std::mem::take(&mut self.b.loc);
        let work = |me: &mut Self| -> Rc<[Value]> {
            me.b.loc = loc;
            work(me);
            Rc::new([])
        };
        self.branch(left, |_| Rc::new([]), work, only_exits);
        self.b.loc = loc;
    }

    /// Lowers `if`. If one arm never reaches its end, the remaining statements (`rest`, which is
    /// then taken) belong to the other arm.
    fn if_else(
        &mut self,
        condition: Value,
        then: Queue<'a>,
        otherwise: Queue<'a>,
        rest: &mut Queue<'a>,
    ) {
        if let Some(known) = self.b.as_constant(condition) {
            let taken = if known.is_zero() { otherwise } else { then };
            prepend(rest, taken);
            return;
        }
        let loc = self.b.loc;
        let before = self.state.clone();
        self.b.open();
        self.sequence(then);
        let mut then_block = self.b.close();
        let mut then_state = replace(&mut self.state, before.clone());
        self.b.open();
        if then_state.flow.is_dead() {
            prepend(rest, otherwise);
            self.sequence(std::mem::take(rest));
        } else {
            self.sequence(otherwise);
            if self.state.flow.is_dead() && !rest.is_empty() {
                let otherwise_block = self.b.close();
                let otherwise_state = replace(&mut self.state, then_state);
                self.b.reopen(then_block);
                self.sequence(std::mem::take(rest));
                then_block = self.b.close();
                then_state = replace(&mut self.state, otherwise_state);
                self.b.reopen(otherwise_block);
            }
        }
        let otherwise_block = self.b.close();
        let otherwise_state = replace(&mut self.state, before);
        self.b.loc = loc;
        let mut merge = Merge::new(&mut self.b, &then_state, &otherwise_state, false);
        self.state = merge.states(&self.state);
        let yields = merge.yields;
        self.b.choice(condition, then_block, otherwise_block, &yields);
    }

    /// Emits a choice between two computations, each of which returns leaves. Returns the leaves of
    /// the chosen one. `then_gone` says that the first arm represents paths that have already ended
    /// the step.
    pub(super) fn branch(
        &mut self,
        condition: Value,
        then: impl FnOnce(&mut Self) -> Rc<[Value]>,
        otherwise: impl FnOnce(&mut Self) -> Rc<[Value]>,
        then_gone: bool,
    ) -> Rc<[Value]> {
        if let Some(known) = self.b.as_constant(condition) {
            return if known.is_zero() { otherwise(self) } else { then(self) };
        }
        let loc = self.b.loc;
        let before = self.state.clone();
        self.b.open();
        let then_leaves = then(self);
        let then_block = self.b.close();
        let then_state = replace(&mut self.state, before.clone());
        self.b.open();
        let otherwise_leaves = otherwise(self);
        let otherwise_block = self.b.close();
        let otherwise_state = replace(&mut self.state, before);
        self.b.loc = loc;
        let mut merge = Merge::new(&mut self.b, &then_state, &otherwise_state, then_gone);
        self.state = merge.states(&self.state);
        let leaves = merge.lists(&then_leaves, &otherwise_leaves, &[]);
        let yields = merge.yields;
        self.b.choice(condition, then_block, otherwise_block, &yields);
        leaves
    }

    /// Returns zeros for all leaves of a type.
    pub(super) fn zeros(&mut self, ty: &Type) -> Rc<[Value]> {
        leaves::of(self.program, ty).into_iter().map(|(_, width)| self.b.number(width, 0)).collect()
    }

    /// Assigns a value to a variable, and gives the value the variable's name.
    pub(super) fn set_var(&mut self, var: VarId, value: Rc<[Value]>) {
        if self.arrays.hold(var) {
            return self.write_arrays(var, &[], &value);
        }
        let declared = &self.engine.vars[var.index()];
        for ((suffix, _), &leaf) in leaves::of(self.program, &declared.ty).iter().zip(value.iter())
        {
            self.b.name(leaf, &format!("{}{suffix}", declared.name));
        }
        self.state.vars[var.index()] = Some(value);
    }
}

//! Control flow within a body and between the steps of an engine.

use crate::hir::{Exit, StepId, Stmt, StmtKind};
use crate::source::Span;

/// The state of control at a point of a body.
#[derive(Clone, Copy)]
struct State {
    reachable: bool,
    /// Whether `Next_step` has been assigned on every path to this point.
    decided: bool,
}

impl State {
    const START: Self = Self { reachable: true, decided: false };
    const NOWHERE: Self = Self { reachable: false, decided: true };

    fn join(self, other: Self) -> Self {
        Self {
            reachable: self.reachable || other.reachable,
            decided: self.decided && other.decided,
        }
    }
}

#[derive(Default)]
struct Walk {
    /// For each loop, innermost last: the state at its `break` statements and the state at its
    /// `continue` statements.
    loops: Vec<(State, State)>,
    /// The first statement of each unreachable run.
    unreachable: Vec<Span>,
}

impl Walk {
    fn all(&mut self, stmts: &[Stmt], mut state: State) -> State {
        let mut told = !state.reachable;
        for stmt in stmts {
            if !state.reachable && !told {
                self.unreachable.push(stmt.span);
                told = true;
            }
            state = self.one(stmt, state);
        }
        state
    }

    fn one(&mut self, stmt: &Stmt, state: State) -> State {
        match &stmt.kind {
            StmtKind::Local(..) | StmtKind::Assign(..) | StmtKind::Expr(_) => state,
            StmtKind::If(_, then, otherwise) => {
                self.all(then, state).join(self.all(otherwise, state))
            }
            StmtKind::Switch { cases, default, .. } => {
                let after = self.all(default, state);
                cases.iter().fold(after, |after, (_, body)| after.join(self.all(body, state)))
            }
            StmtKind::For { values, body, .. } => {
                self.loops.push((State::NOWHERE, State::NOWHERE));
                let end = self.all(body, state);
                let (broken, continued) = self.loops.pop().expect("pushed above");
                let end = end.join(continued).join(broken);
                if values.is_empty() { state } else { end }
            }
            StmtKind::Break | StmtKind::Continue => {
                if let Some((broken, continued)) = self.loops.last_mut() {
                    let to = if matches!(stmt.kind, StmtKind::Break) { broken } else { continued };
                    *to = if state.reachable { to.join(state) } else { *to };
                }
                State::NOWHERE
            }
            StmtKind::Return(_) | StmtKind::Exit(_) => State::NOWHERE,
            StmtKind::SetNext(_) => State { decided: true, ..state },
            StmtKind::Block(stmts) => self.all(stmts, state),
        }
    }
}

/// Whether control can reach the end of a body.
pub(super) fn reaches_end(stmts: &[Stmt]) -> bool {
    Walk::default().all(stmts, State::START).reachable
}

/// Whether control can reach the end of a step without a next step.
pub(super) fn ends_undecided(stmts: &[Stmt]) -> bool {
    let end = Walk::default().all(stmts, State::START);
    end.reachable && !end.decided
}

/// Returns the first statement of each unreachable run.
pub(super) fn unreachable(stmts: &[Stmt]) -> Vec<Span> {
    let mut walk = Walk::default();
    walk.all(stmts, State::START);
    walk.unreachable
}

/// The exits of a step.
#[derive(Default)]
pub(super) struct Exits {
    /// The steps that can follow.
    pub(super) next: Vec<StepId>,
    /// Whether the thread can end in the step.
    pub(super) ends: bool,
}

/// Collects the exits of a step from its body.
pub(super) fn exits(stmts: &[Stmt]) -> Exits {
    let mut out = Exits::default();
    collect(stmts, &mut out);
    out
}

fn collect(stmts: &[Stmt], out: &mut Exits) {
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::If(_, then, otherwise) => {
                collect(then, out);
                collect(otherwise, out);
            }
            StmtKind::Switch { cases, default, .. } => {
                cases.iter().for_each(|(_, body)| collect(body, out));
                collect(default, out);
            }
            StmtKind::For { body, .. } | StmtKind::Block(body) => collect(body, out),
            StmtKind::Exit(Exit::Next(step) | Exit::Emit(step, _)) | StmtKind::SetNext(step) => {
                out.next.push(*step)
            }
            StmtKind::Exit(_) => out.ends = true,
            StmtKind::Local(..)
            | StmtKind::Assign(..)
            | StmtKind::Expr(_)
            | StmtKind::Break
            | StmtKind::Continue
            | StmtKind::Return(_) => {}
        }
    }
}

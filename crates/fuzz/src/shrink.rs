//! Shrinks a failing program and its input to a small case that fails in the same way.
//!
//! Every cut is tried on the complete source text. A cut is undone if the checker refuses the
//! result, or if it fails differently or not at all. Cuts therefore need not be careful: a cut that
//! removes a variable's declaration succeeds only after its uses are gone.

use crate::compare::Failure;
use crate::input::Input;
use crate::tree::{Copied, Expr, Function, Program, Stmt};

/// A failing program and its input.
#[derive(Clone)]
pub struct Case {
    pub program: Program,
    pub input: Input,
}

/// Shrinks until no cut keeps the failure, or until `tries` cuts were tried. `run` returns the
/// outcome of a case.
pub fn shrink(
    case: Case,
    failure: Failure,
    tries: u32,
    run: impl FnMut(&Case) -> Result<(), Failure>,
) -> (Case, Failure) {
    let mut shrinker = Shrinker { case, failure, run, tries };
    while shrinker.round() {}
    (shrinker.case, shrinker.failure)
}

struct Shrinker<R> {
    case: Case,
    failure: Failure,
    run: R,
    tries: u32,
}

impl<R: FnMut(&Case) -> Result<(), Failure>> Shrinker<R> {
    /// Tries every kind of cut. Returns whether one of the cuts kept the failure.
    fn round(&mut self) -> bool {
        let mut progress = self.lists();
        for cut in CUTS {
            let mut at = 0;
            while self.tries > 0 {
                let mut candidate = self.case.clone();
                if !cut(&mut candidate.program, at) {
                    break;
                }
                if candidate.program != self.case.program && self.accept(candidate) {
                    // The next element has moved to this index.
                    progress = true;
                } else {
                    at += 1;
                }
            }
        }
        progress && self.tries > 0
    }

    /// Drops packets and table entries: first all at once, then half at a time, down to single
    /// ones.
    fn lists(&mut self) -> bool {
        let mut progress = false;
        for drop in [drop_packets, drop_entries, drop_events] {
            let input = &self.case.input;
            let mut size = input.packets.len().max(input.entries.len()).max(input.events.len());
            while size > 0 {
                let mut at = 0;
                loop {
                    let mut candidate = self.case.clone();
                    if self.tries == 0 || !drop(&mut candidate.input, at, size) {
                        break;
                    }
                    if self.accept(candidate) { progress = true } else { at += size }
                }
                size /= 2;
            }
        }
        progress
    }

    fn accept(&mut self, candidate: Case) -> bool {
        self.tries = self.tries.saturating_sub(1);
        match (self.run)(&candidate) {
            Err(failure) if failure.kind == self.failure.kind => {
                self.case = candidate;
                self.failure = failure;
                true
            }
            _ => false,
        }
    }
}

fn drop_packets(input: &mut Input, at: usize, count: usize) -> bool {
    let end = (at + count).min(input.packets.len());
    let any = at < end;
    if any {
        input.packets.drain(at..end);
        for (before, _) in &mut input.events {
            *before = if *before >= end { *before - (end - at) } else { (*before).min(at) };
        }
    }
    any
}

fn drop_events(input: &mut Input, at: usize, count: usize) -> bool {
    let end = (at + count).min(input.events.len());
    let any = at < end;
    if any {
        input.events.drain(at..end);
    }
    any
}

fn drop_entries(input: &mut Input, at: usize, count: usize) -> bool {
    let end = (at + count).min(input.entries.len());
    let any = at < end;
    if any {
        input.entries.drain(at..end);
    }
    any
}

/// The kinds of cuts. Each function makes cut number `at`, or returns `false` if it has no more.
const CUTS: [fn(&mut Program, usize) -> bool; 7] = [
    drop_engine,
    drop_step,
    drop_statement,
    unwrap_statement,
    drop_declaration,
    replace_by_zero,
    replace_by_part,
];

fn remove_nth<T>(list: &mut Vec<T>, at: &mut usize) -> bool {
    if *at < list.len() {
        list.remove(*at);
        return true;
    }
    *at -= list.len();
    false
}

fn drop_engine(program: &mut Program, at: usize) -> bool {
    // The last engine is the main one.
    at + 1 < program.engines.len() && {
        program.engines.remove(at);
        true
    }
}

/// Drops a step. Jumps to it go to the next step, or end the thread.
fn drop_step(program: &mut Program, mut at: usize) -> bool {
    for engine in &mut program.engines {
        if at < engine.steps.len() {
            let gone = engine.steps.remove(at).name;
            let heir = engine.steps.get(at).map(|s| s.name.clone());
            let reply = engine.interface.as_ref().map(|(_, reply)| reply.clone());
            for step in &mut engine.steps {
                redirect(&mut step.body, &gone, heir.as_deref(), reply.as_ref());
            }
            return true;
        }
        at -= engine.steps.len();
    }
    false
}

fn redirect(body: &mut [Stmt], gone: &str, heir: Option<&str>, reply: Option<&crate::tree::Ty>) {
    for stmt in body {
        match (&mut *stmt, heir) {
            (Stmt::Next(step) | Stmt::Emit(_, step) | Stmt::SetNext(step), Some(heir))
                if step == gone =>
            {
                *step = heir.to_owned()
            }
            (Stmt::Next(step) | Stmt::Emit(_, step) | Stmt::SetNext(step), None)
                if step == gone =>
            {
                *stmt = match reply {
                    Some(ty) => Stmt::EndWith("finish", Expr::zero(ty.clone())),
                    None => Stmt::End("finish"),
                };
            }
            _ => blocks_mut(stmt).into_iter().for_each(|b| redirect(b, gone, heir, reply)),
        }
    }
}

fn blocks_mut(stmt: &mut Stmt) -> Vec<&mut Vec<Stmt>> {
    match stmt {
        Stmt::If(_, then, otherwise) => vec![then, otherwise],
        Stmt::Switch(_, cases, default) => {
            cases.iter_mut().map(|(_, body)| body).chain(std::iter::once(default)).collect()
        }
        Stmt::For(_, _, _, body) => vec![body],
        _ => vec![],
    }
}

fn functions_mut(program: &mut Program) -> impl Iterator<Item = &mut Function> {
    let own = program.engines.iter_mut().flat_map(|e| &mut e.functions);
    program.functions.iter_mut().chain(own)
}

/// Returns the bodies of all steps and functions.
fn bodies_mut(program: &mut Program) -> Vec<&mut Vec<Stmt>> {
    let mut out = Vec::new();
    for engine in &mut program.engines {
        out.extend(engine.steps.iter_mut().map(|s| &mut s.body));
        out.extend(engine.functions.iter_mut().map(|f| &mut f.body));
    }
    out.extend(program.functions.iter_mut().map(|f| &mut f.body));
    out
}

/// Applies a function to statement number `at`, counted through the whole program.
fn at_statement(program: &mut Program, at: usize, act: fn(&mut Vec<Stmt>, usize) -> bool) -> bool {
    fn walk(body: &mut Vec<Stmt>, at: &mut usize, act: fn(&mut Vec<Stmt>, usize) -> bool) -> bool {
        // Statements are visited from the end, so that declarations are removed after their uses.
        for index in (0..body.len()).rev() {
            if *at == 0 {
                return act(body, index);
            }
            *at -= 1;
            if blocks_mut(&mut body[index]).into_iter().any(|b| walk(b, at, act)) {
                return true;
            }
        }
        false
    }
    let mut at = at;
    bodies_mut(program).into_iter().any(|body| walk(body, &mut at, act))
}

fn drop_statement(program: &mut Program, at: usize) -> bool {
    at_statement(program, at, |body, index| {
        body.remove(index);
        true
    })
}

/// Replaces a compound statement by its contents. Other statements are left unchanged.
fn unwrap_statement(program: &mut Program, at: usize) -> bool {
    at_statement(program, at, |body, index| {
        let mut stmt = body.remove(index);
        let inner: Vec<Stmt> = blocks_mut(&mut stmt).into_iter().flat_map(std::mem::take).collect();
        if inner.is_empty() {
            body.insert(index, stmt);
        } else {
            body.splice(index..index, inner);
        }
        true
    })
}

fn drop_declaration(program: &mut Program, mut at: usize) -> bool {
    let at = &mut at;
    for engine in &mut program.engines {
        if remove_nth(&mut engine.offloads, at)
            || remove_nth(&mut engine.functions, at)
            || remove_nth(&mut engine.views, at)
            || remove_nth(&mut engine.context, at)
        {
            return true;
        }
    }
    if remove_nth(&mut program.functions, at)
        || remove_nth(&mut program.tables, at)
        || remove_nth(&mut program.structs, at)
        || remove_nth(&mut program.enums, at)
    {
        return true;
    }
    functions_mut(program).any(|f| remove_nth(&mut f.params, at))
}

fn statement_expressions_mut(stmt: &mut Stmt) -> Vec<&mut Expr> {
    match stmt {
        Stmt::Local(_, _, Some(e))
        | Stmt::View(_, _, e)
        | Stmt::Expr(e)
        | Stmt::If(e, ..)
        | Stmt::Switch(e, ..)
        | Stmt::Return(e)
        | Stmt::EndWith(_, e)
        | Stmt::Assign(_, _, e) => vec![e],
        Stmt::Emit(Copied { reason, bytes }, _) => {
            reason.iter_mut().chain(bytes.iter_mut().flatten()).collect()
        }
        _ => vec![],
    }
}

/// Applies a function to expression number `at` of the program. Targets of assignments are left
/// unchanged.
fn at_expression(program: &mut Program, at: usize, act: fn(&mut Expr) -> bool) -> bool {
    fn walk(expr: &mut Expr, at: &mut usize, act: fn(&mut Expr) -> bool) -> bool {
        if *at == 0 {
            return act(expr);
        }
        *at -= 1;
        expr.parts_mut().into_iter().any(|part| walk(part, at, act))
    }
    fn body(stmts: &mut [Stmt], at: &mut usize, act: fn(&mut Expr) -> bool) -> bool {
        stmts.iter_mut().any(|stmt| {
            statement_expressions_mut(stmt).into_iter().any(|e| walk(e, at, act))
                || blocks_mut(stmt).into_iter().any(|b| body(b, at, act))
        })
    }
    let mut at = at;
    bodies_mut(program).into_iter().any(|b| body(b, &mut at, act))
}

fn replace_by_zero(program: &mut Program, at: usize) -> bool {
    at_expression(program, at, |expr| {
        *expr = Expr::zero(expr.ty.clone());
        true
    })
}

/// Replaces an expression by its first part of the same type, if there is one.
fn replace_by_part(program: &mut Program, at: usize) -> bool {
    at_expression(program, at, |expr| {
        let ty = expr.ty.clone();
        let part = expr.parts_mut().into_iter().find(|part| part.ty == ty).cloned();
        if let Some(part) = part {
            *expr = part;
        }
        true
    })
}

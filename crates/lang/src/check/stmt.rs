//! Checks statements.

use std::collections::HashMap;

use wireloom_bits::Bits;

use super::engine::ResolvedTarget;
use super::scope::Symbol;
use super::{Checker, flow, fold, place};
use crate::ast::{
    self, BinaryOp, Case, Name, StmtKind as Written, TypeKind, VariableDecl, ViewDecl,
};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, Exit, ExprKind, Place, Projection, Root, Stmt, StmtKind, Type, VarKind};
use crate::source::Span;

/// The maximum width of the reason of `drop` and `to_cpu` in bits.
const MAX_REASON_BITS: u32 = 16;

/// A loop or `switch` around the current statement.
#[derive(Default)]
pub(super) struct Frame {
    is_switch: bool,
    /// The span of the `break` that ends the current case.
    last_break: Option<Span>,
    /// The span of a `break` in the middle of a case.
    broke: Option<Span>,
    /// Whether a `continue` of the enclosing loop occurs in the `switch`.
    continued: bool,
}

/// The step or function that is currently checked.
#[derive(Default)]
pub(super) struct Body {
    pub(super) in_step: bool,
    /// The type of the result, in a function.
    pub(super) result: Option<Type>,
    pub(super) frames: Vec<Frame>,
    /// Whether only constants are allowed.
    pub(super) constant: bool,
    /// Whether the expression is an offset or a length in the packet.
    pub(super) extent: bool,
    /// Whether a statement had an error and is missing.
    pub(super) failed: bool,
}

impl Checker<'_> {
    /// Checks the statements of a block, in the current scope.
    pub(super) fn statements(&mut self, written: &[ast::Stmt]) -> Vec<Stmt> {
        let mut out = Vec::new();
        for stmt in written {
            self.statement(stmt, &mut out);
        }
        out
    }

    /// Checks a statement in its own scope: the body of an `if` or loop.
    pub(super) fn single(&mut self, written: &ast::Stmt) -> Vec<Stmt> {
        self.scoped(|c| match &written.kind {
            Written::Block(stmts) => c.statements(stmts),
            _ => c.statements(std::slice::from_ref(written)),
        })
    }

    fn statement(&mut self, s: &ast::Stmt, out: &mut Vec<Stmt>) {
        let done = self.nested(s.span, |c| c.statement_inner(s, out));
        if done.is_none() {
            self.body.failed = true;
        }
    }

    fn statement_inner(&mut self, s: &ast::Stmt, out: &mut Vec<Stmt>) -> Option<()> {
        let kind = match &s.kind {
            Written::Variable(decl) => self.local(decl)?,
            Written::View(decl) => self.local_view(decl)?,
            Written::Const(decl) => {
                let value = self.const_decl(decl);
                self.declare_local_const(&decl.name, value);
                return Some(());
            }
            Written::Assert(assert) => {
                self.static_assert(assert);
                return Some(());
            }
            Written::Assign(place, None, value) => self.assign(place, value)?,
            Written::Assign(place, Some(op), value) => {
                let at = self.settled_place(place, out)?;
                let old = self.old_value(&at);
                let new = self.compound(*op, old, value, s.span)?;
                self.assign_value(at, new)?
            }
            Written::Increment(place, op) => {
                let at = self.settled_place(place, out)?;
                let old = self.old_value(&at);
                let new = self.incremented(*op, old)?;
                self.assign_value(at, new)?
            }
            Written::Expr(e) => self.for_effect(e)?,
            Written::If(condition, then, otherwise) => {
                let condition = self.condition(condition);
                let then = self.single(then);
                let otherwise = otherwise.as_ref().map_or_else(Vec::new, |s| self.single(s));
                StmtKind::If(condition?, then, otherwise)
            }
            Written::Switch(on, cases) => self.switch(on, cases, s.span)?,
            Written::For(l) => self.for_loop(l)?,
            Written::Break => match self.break_statement(s.span)? {
                Some(kind) => kind,
                None => return Some(()),
            },
            Written::Continue => self.continue_statement(s.span)?,
            Written::Return(value) => self.return_statement(value.as_ref(), s.span)?,
            Written::Next(step) => {
                self.ends_step(s.span, "next")?;
                StmtKind::Exit(Exit::Next(self.step(step)?))
            }
            Written::SetNext(step) => {
                self.ends_step(s.span, "Next_step")?;
                StmtKind::SetNext(self.step(step)?)
            }
            Written::Finish(value) => self.finish(value.as_ref(), s.span)?,
            Written::Emit(copied) => self.emit(copied, s.span)?,
            Written::Drop(reason) => {
                self.sends(s.span, "drop")?;
                StmtKind::Exit(Exit::Drop(self.reason(reason)?))
            }
            Written::ToCpu(reason) => {
                self.sends(s.span, "to_cpu")?;
                StmtKind::Exit(Exit::ToCpu(self.reason(reason)?))
            }
            Written::Done => {
                self.sends(s.span, "done")?;
                StmtKind::Exit(Exit::Done)
            }
            Written::Block(stmts) => StmtKind::Block(self.scoped(|c| c.statements(stmts))),
            Written::Empty => return Some(()),
        };
        out.push(Stmt { kind, span: s.span });
        Some(())
    }

    fn local(&mut self, decl: &VariableDecl) -> Option<StmtKind> {
        let place = format!("variable `{}`", decl.name.text);
        let (ty, value) = if matches!(decl.ty.kind, TypeKind::Auto) {
            let value = match &decl.value {
                Some(value) => self.expr(value, None),
                None => {
                    self.report(
                        Diagnostic::new(
                            "E0314",
                            decl.ty.span,
                            "`auto` needs a value to take its type from",
                        )
                        .help("write the type, or `auto name = value;`"),
                    );
                    None
                }
            };
            let value = match value {
                Some(v) if v.ty == Type::Void => self.void_value(v.span),
                other => other,
            };
            (value.as_ref().map(|v| v.ty.clone()), value.map(Some))
        } else {
            let ty = self.value_type(&decl.ty);
            let value = match (&decl.value, &ty) {
                (None, _) => Some(None),
                (Some(written), Some(ty)) => {
                    self.expr(written, Some(ty)).and_then(|v| self.coerce(v, ty, &place)).map(Some)
                }
                (Some(_), None) => None,
            };
            (ty, value)
        };
        let Some(ty) = ty else {
            self.declare(&decl.name, Symbol::Poisoned);
            return None;
        };
        let var = self.cx.add_var(&decl.name.text, ty, VarKind::Local, decl.name.span);
        self.declare(&decl.name, Symbol::Var(var));
        let value = value?;
        self.cx.uses[var.index()].called = value.as_ref().is_some_and(|v| self.is_needed(v));
        Some(StmtKind::Local(var, value))
    }

    fn local_view(&mut self, decl: &ViewDecl) -> Option<StmtKind> {
        let header = self.header_type(&decl.header);
        if decl.in_packet().is_some() {
            let message = "a view of the whole packet is declared in a step or function";
            self.report(
                Diagnostic::new("E0627", decl.name.span, message)
                    .help("declare it in the engine, outside of steps and functions"),
            );
            self.declare(&decl.name, Symbol::Poisoned);
            return None;
        }
        let offset = self.offset(&decl.offset, "the offset of a view");
        let there = self.needs_packet(decl.name.span, "the packet");
        let Some(header) = header.filter(|_| there.is_some()) else {
            self.declare(&decl.name, Symbol::Poisoned);
            return None;
        };
        let var = self.cx.add_var(&decl.name.text, Type::Bits(16), VarKind::Local, decl.name.span);
        self.declare(&decl.name, Symbol::LocalView(var, header));
        Some(StmtKind::Local(var, Some(offset?)))
    }

    /// Declares a constant in a block. Its value is known at once, so it is not resolved on demand.
    fn declare_local_const(&mut self, name: &Name, value: Option<hir::Expr>) {
        let symbol = value.map_or(Symbol::Poisoned, |v| {
            self.local_consts.push(v);
            Symbol::LocalConst(self.local_consts.len() - 1)
        });
        self.declare(name, symbol);
    }

    fn assign(&mut self, place: &ast::Expr, value: &ast::Expr) -> Option<StmtKind> {
        let at = self.assigned(place);
        let value = self.expr(value, at.as_ref().map(|p| &p.ty));
        self.assign_value(at?, value?)
    }

    fn assign_value(&mut self, at: Place, value: hir::Expr) -> Option<StmtKind> {
        let value = self.coerce(value, &at.ty, "the target")?;
        if let (ExprKind::Read(from), Root::Var(to)) = (&value.kind, &at.root)
            && matches!(from.root, Root::Var(v) if v == *to)
            && from.path.is_empty()
            && at.path.is_empty()
        {
            self.report(Diagnostic::new(
                "W0717",
                value.span,
                "this variable is assigned to itself",
            ));
        }
        Some(StmtKind::Assign(at, value))
    }

    /// Checks the place of `place OP= value`. Its indices are evaluated once: indices with side
    /// effects are stored in variables.
    fn settled_place(&mut self, e: &ast::Expr, out: &mut Vec<Stmt>) -> Option<Place> {
        let mut at = self.assigned(e)?;
        for step in &mut at.path {
            let (Projection::Index(index) | Projection::Run(index, _)) = step else { continue };
            if !fold::has_effect(index) {
                continue;
            }
            let (ty, span) = (index.ty.clone(), index.span);
            let var = self.cx.add_var("index", ty.clone(), VarKind::Local, span);
            self.cx.uses[var.index()].exempt = true;
            let read = place::read(Place { root: Root::Var(var), path: Vec::new(), ty, span });
            let value = std::mem::replace(index, read);
            out.push(Stmt { kind: StmtKind::Local(var, Some(value)), span });
        }
        Some(at)
    }

    /// Returns the value at a place, from which selected bits of a number are extracted.
    fn old_value(&self, at: &Place) -> hir::Expr {
        let mut whole = at.clone();
        match whole.path.pop() {
            Some(Projection::Slice(high, low)) => {
                whole.ty = self.type_at(&whole);
                fold::slice(place::read(whole), high, low, at.span)
            }
            Some(Projection::Run(index, count)) => {
                whole.ty = self.type_at(&whole);
                fold::run(place::read(whole), index, count, at.span)
            }
            _ => place::read(at.clone()),
        }
    }

    /// Returns the type of a place according to its root and path.
    fn type_at(&self, at: &Place) -> Type {
        let root = match at.root {
            Root::Var(var) => self.cx.vars[var.index()].ty.clone(),
            Root::View(view) => Type::Struct(
                self.cx.view_headers[view.index()].expect("resolved views have headers"),
            ),
            Root::Local(_, header) => Type::Struct(header),
            Root::Meta(_) => Type::Bits(16),
        };
        at.path.iter().fold(root, |ty, step| match (step, ty) {
            (Projection::Field(i), Type::Struct(id)) => {
                self.structs[id.index()].fields[*i as usize].ty.clone()
            }
            (Projection::Index(_), Type::Array(element, _)) => *element,
            (Projection::Slice(high, low), _) => Type::Bits(high - low + 1),
            (Projection::Run(_, count), _) => Type::Bits(*count),
            (_, ty) => ty,
        })
    }

    /// Checks an expression used as a statement.
    fn for_effect(&mut self, e: &ast::Expr) -> Option<StmtKind> {
        let value = self.expr(e, None)?;
        match &value.kind {
            ExprKind::Call(..) | ExprKind::Resize(_) => {}
            ExprKind::Offload(id, method, _) => {
                let info = self.cx.offload_infos[id.index()].as_ref()?;
                if let ResolvedTarget::Kind(kind) = &info.kind
                    && !self.is_needed(&value)
                {
                    let name = kind.methods[*method].name;
                    let message = format!("the reply of `{}.{name}` is not used", info.name);
                    self.report(
                        Diagnostic::new("W0710", e.span, message)
                            .help("the call changes nothing; use its reply, or remove it"),
                    );
                }
            }
            _ => {
                let equality = matches!(&e.kind, ast::ExprKind::Binary(BinaryOp::Eq, ..))
                    .then_some("to assign, write `=`");
                self.report(
                    Diagnostic::new("W0711", e.span, "this statement does nothing")
                        .help(equality.unwrap_or("its value is computed and discarded")),
                );
            }
        }
        Some(StmtKind::Expr(value))
    }

    /// Whether an expression is a call that is needed for its side effects even if its value is
    /// unused.
    fn is_needed(&self, value: &hir::Expr) -> bool {
        match &value.kind {
            ExprKind::Call(..) | ExprKind::Resize(_) => true,
            ExprKind::Offload(id, method, _) => {
                let info = self.cx.offload_infos[id.index()].as_ref();
                info.is_some_and(|info| match &info.kind {
                    ResolvedTarget::Kind(kind) => {
                        let method = &kind.methods[*method];
                        method.state.has_effect() || method.writes_packet
                    }
                    ResolvedTarget::Engine { .. } => true,
                })
            }
            ExprKind::Cast(inner) | ExprKind::Field(inner, _) => self.is_needed(inner),
            _ => false,
        }
    }

    fn switch(&mut self, on: &ast::Expr, written: &[Case], span: Span) -> Option<StmtKind> {
        let scrutinee = self.expr(on, None);
        let ty = scrutinee.as_ref().map(|v| v.ty.clone());
        if let Some(ty @ (Type::Struct(_) | Type::Array(..) | Type::Void)) = &ty {
            let message = format!("a `switch` needs a number, not `{}`", self.type_name(ty));
            self.report(
                Diagnostic::new("E0520", on.span, message)
                    .help("use `if` and `==`, or switch on a field"),
            );
            return None;
        }
        let mut seen: HashMap<Bits, Span> = HashMap::new();
        let mut default: Option<(Vec<Stmt>, Span)> = None;
        let mut cases = Vec::new();
        self.body.frames.push(Frame { is_switch: true, ..Frame::default() });
        for (i, case) in written.iter().enumerate() {
            let body = self.case(case, i + 1 == written.len());
            let mut values = Vec::new();
            let mut is_default = None;
            for (label, label_span) in &case.labels {
                match label {
                    None => is_default = Some(*label_span),
                    Some(e) => values.extend(self.label(e, ty.as_ref(), &mut seen)),
                }
            }
            match is_default {
                None => cases.push((values, body)),
                Some(label) => match &default {
                    // Labels next to `default` have no effect.
                    None => default = Some((body, label)),
                    Some((_, before)) => {
                        let before = *before;
                        self.report(
                            Diagnostic::new("E0509", label, "this `switch` has two defaults")
                                .also(before, "the first"),
                        );
                    }
                },
            }
        }
        let frame = self.body.frames.pop().expect("pushed above");
        let on = self.number(scrutinee?)?;
        let default = default.map_or_else(Vec::new, |(body, _)| body);
        let switch = StmtKind::Switch { on, cases, default };
        let Some(broke) = frame.broke else { return Some(switch) };
        if frame.continued {
            self.report(
                Diagnostic::new(
                    "E0522",
                    broke,
                    "a case with a `break` in its middle cannot contain a `continue`",
                )
                .help("end the case with the `break`, or use `if` and `else`"),
            );
            return None;
        }
        // The early `break` leaves a loop of one round.
        let var = self.cx.add_var("once", Type::Bits(1), VarKind::Local, span);
        self.cx.uses[var.index()].exempt = true;
        Some(StmtKind::For {
            var,
            values: vec![Bits::zero(1)],
            body: vec![Stmt { kind: switch, span }],
        })
    }

    /// Checks a case. The last case may reach its end, since no case follows.
    fn case(&mut self, case: &Case, is_last: bool) -> Vec<Stmt> {
        let ending = last_break(&case.body);
        self.body.frames.last_mut().expect("inside a switch").last_break = ending;
        let failed = std::mem::take(&mut self.body.failed);
        let body = self.scoped(|c| c.statements(&case.body));
        if ending.is_none() && !is_last && !self.body.failed && flow::reaches_end(&body) {
            let (_, label) = case.labels.last().expect("a case has a label");
            self.report(
                Diagnostic::new("E0507", *label, "this case has no end").help(
                    "end it with `break;`, or leave the step, loop or function; there is no fall-through",
                ),
            );
        }
        self.body.failed |= failed;
        body
    }

    fn label(
        &mut self,
        e: &ast::Expr,
        ty: Option<&Type>,
        seen: &mut HashMap<Bits, Span>,
    ) -> Option<Bits> {
        let value = self.constant(e, ty)?;
        let bits = fold::value(&value)?.clone();
        if let Some(before) = seen.insert(bits.clone(), e.span) {
            let message = format!("the value {bits} is selected twice");
            self.report(Diagnostic::new("E0508", e.span, message).also(before, "the first time"));
            return None;
        }
        Some(bits)
    }

    /// Checks a `break`. The inner `None` means that the `break` only ends its case.
    fn break_statement(&mut self, span: Span) -> Option<Option<StmtKind>> {
        let Some(frame) = self.body.frames.last_mut() else {
            self.outside_loop(span, "break", "a loop or `switch`");
            return None;
        };
        if frame.is_switch {
            if frame.last_break == Some(span) {
                return Some(None);
            }
            frame.broke.get_or_insert(span);
        }
        Some(Some(StmtKind::Break))
    }

    fn continue_statement(&mut self, span: Span) -> Option<StmtKind> {
        let Some(at) = self.body.frames.iter().rposition(|f| !f.is_switch) else {
            self.outside_loop(span, "continue", "a loop");
            return None;
        };
        for frame in &mut self.body.frames[at + 1..] {
            frame.continued = true;
        }
        Some(StmtKind::Continue)
    }

    fn outside_loop(&mut self, span: Span, word: &str, place: &str) {
        let message = format!("`{word}` is outside of {place}");
        self.report(
            Diagnostic::new("E0503", span, message)
                .help("`next`, `finish` and the like end a step; `return` ends a function"),
        );
    }

    fn return_statement(&mut self, value: Option<&ast::Expr>, span: Span) -> Option<StmtKind> {
        let Some(result) = self.body.result.clone() else {
            self.report(
                Diagnostic::new("E0504", span, "`return` is outside of a function")
                    .help("a step ends with `next STEP;`, `finish;`, `drop(reason);` and the like"),
            );
            return None;
        };
        match (value, result) {
            (None, Type::Void) => Some(StmtKind::Return(None)),
            (None, ty) => {
                let message = format!("this function returns `{}`", self.type_name(&ty));
                self.report(Diagnostic::new("E0505", span, message).help("write `return value;`"));
                None
            }
            (Some(e), Type::Void) => {
                self.report(
                    Diagnostic::new("E0505", e.span, "this function returns nothing")
                        .help("write `return;`, or give the function a type instead of `void`"),
                );
                None
            }
            (Some(e), ty) => {
                let value = self.expr(e, Some(&ty))?;
                Some(StmtKind::Return(Some(self.coerce(value, &ty, "the function's result")?)))
            }
        }
    }

    /// Reports the end of a step outside of steps.
    fn ends_step(&mut self, span: Span, word: &str) -> Option<()> {
        if self.body.in_step {
            return Some(());
        }
        let message = format!("`{word}` is not allowed in a function");
        self.report(Diagnostic::new("E0506", span, message).help(
            "return a value that tells the step what to do; only steps choose the next step",
        ));
        None
    }

    /// Reports a packet operation that a called engine does not have.
    fn sends(&mut self, span: Span, word: &str) -> Option<()> {
        self.ends_step(span, word)?;
        if self.cx.reply.is_none() {
            return Some(());
        }
        let message = format!("`{word}` needs a packet, but a called engine has none");
        self.report(
            Diagnostic::new("E0515", span, message)
                .help("end with `finish(reply);` or `next STEP;`"),
        );
        None
    }

    fn finish(&mut self, value: Option<&ast::Expr>, span: Span) -> Option<StmtKind> {
        self.ends_step(span, "finish")?;
        match (value, self.cx.reply.clone()) {
            (None, None) => Some(StmtKind::Exit(Exit::Finish)),
            (Some(e), None) => {
                self.report(
                    Diagnostic::new(
                        "E0514",
                        e.span,
                        "an engine that takes packets cannot reply with a value",
                    )
                    .help("write `finish;`, which sends the packet to `packet.egress`"),
                );
                None
            }
            (None, Some(ty)) => {
                let message = format!("this engine replies with a `{}`", self.type_name(&ty));
                self.report(Diagnostic::new("E0514", span, message).help("write `finish(value);`"));
                None
            }
            (Some(e), Some(ty)) => {
                let value = self.expr(e, Some(&ty))?;
                // The error in the reply type has been reported.
                if ty == Type::Void {
                    return None;
                }
                Some(StmtKind::Exit(Exit::Reply(self.coerce(value, &ty, "the reply")?)))
            }
        }
    }

    fn emit(&mut self, copied: &ast::Copied, span: Span) -> Option<StmtKind> {
        self.sends(span, if copied.reason.is_some() { "to_cpu" } else { "emit" })?;
        let cpu = copied.reason.as_ref().map(|reason| self.reason(reason));
        let step = self.step(&copied.step);
        let bytes = copied.bytes.as_ref().map(|(offset, count)| {
            let offset = self.offset(offset, "the offset");
            offset.zip(self.offset(count, "the number of bytes"))
        });
        let optional = |part: Option<Option<_>>| part.map_or(Some(None), |part| part.map(Some));
        let bytes = bytes.map_or(Some(None), |bytes| bytes.map(Some))?;
        Some(StmtKind::Exit(Exit::Emit(step?, hir::Copied { bytes, cpu: optional(cpu)? })))
    }

    fn reason(&mut self, e: &ast::Expr) -> Option<hir::Expr> {
        let value = self.expr(e, None)?;
        let Type::Enum(id) = value.ty else {
            let message = format!(
                "a reason must be of an enumeration, but this is `{}`",
                self.type_name(&value.ty)
            );
            self.report(Diagnostic::new("E0516", e.span, message).help(
                "declare the reasons: `enum Reason : u8 { TOO_SHORT, NO_ROUTE };`; they are counted by name",
            ));
            return None;
        };
        let of = &self.enums[id.index()];
        if of.width > MAX_REASON_BITS {
            let (message, declared) = (format!("`{}` has {} bits", of.name, of.width), of.span);
            let help = format!("a reason can have at most {MAX_REASON_BITS} bits");
            self.report(
                Diagnostic::new("E0517", e.span, message)
                    .also(declared, "declared here")
                    .help(help),
            );
            return None;
        }
        Some(value)
    }
}

/// Returns the `break` that ends a case, if there is one. It is the last statement, or the last one
/// in a block that is the last statement.
fn last_break(stmts: &[ast::Stmt]) -> Option<Span> {
    let last = stmts.iter().rev().find(|s| !matches!(s.kind, Written::Empty))?;
    match &last.kind {
        Written::Break => Some(last.span),
        Written::Block(inner) => last_break(inner),
        _ => None,
    }
}

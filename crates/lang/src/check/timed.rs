//! Steps that run when the time of a key is over: `step NAME on OFFLOAD(TYPE key) { ... }`.
//!
//! Such a step becomes an ordinary one. The machine starts a thread with a packet from port
//! [`TIMER`] that contains the key and a number, which selects the step. The checker adds a first
//! step, which recognises these packets by their port. The selected step first claims the key and
//! then empties the packet.

use wireloom_bits::Bits;
use wireloom_offloads::TIMER;

use super::engine::ResolvedTarget;
use super::place;
use super::scope::Symbol;
use super::{Checker, fold};
use crate::ast;
use crate::diagnostics::Diagnostic;
use crate::hir::{
    self, BinaryOp, Exit, ExprKind, Meta, OffloadId, OffloadTarget, Place, Projection, Resize,
    Root, StepId, Stmt, StmtKind, StructId, Type, VarId, VarKind,
};
use crate::source::Span;

/// The number of bytes of a packet that all machines hold in the header window.
const WINDOW_BYTES: u32 = 128;
/// The bits in front of the key in the packet of a timer: the number of the step.
const NUMBER_BITS: u32 = 16;

/// A step that runs for the keys of an offload.
pub(super) struct Timed {
    pub(super) step: StepId,
    pub(super) offload: OffloadId,
    /// The layout of the packets that start it.
    header: StructId,
    span: Span,
}

impl Checker<'_> {
    /// Finds the steps that run for keys, in the order of the declaration of their offloads.
    pub(super) fn declare_timed(&mut self, steps: &[&ast::StepDecl]) -> Vec<Timed> {
        let mut all: Vec<Timed> = Vec::new();
        for (index, decl) in steps.iter().enumerate() {
            let Some(trigger) = &decl.trigger else { continue };
            // The first step is the one that tells the packets of timers from others.
            let step = StepId(index as u32 + 1);
            let Some(timed) = self.timed_step(step, trigger) else { continue };
            if let Some(other) = all.iter().find(|other| other.offload == timed.offload) {
                let message = format!("`{}` has two steps", trigger.offload.text);
                self.report(
                    Diagnostic::new("E0623", trigger.offload.span, message)
                        .also(other.span, "the first one")
                        .help("one step runs for every key; let it branch"),
                );
                continue;
            }
            all.push(timed);
        }
        all.sort_by_key(|timed| timed.offload);
        for timed in &all {
            if let Some(hir::Offload { target: OffloadTarget::Kind(config), .. }) =
                &mut self.cx.offloads[timed.offload.index()]
            {
                config.params.insert("step".into(), Bits::new(1, 1));
            }
        }
        all
    }

    fn timed_step(&mut self, step: StepId, trigger: &ast::Trigger) -> Option<Timed> {
        let name = &trigger.offload;
        let id = match self.lookup(&name.text) {
            Some(Symbol::Offload(id)) => id,
            Some(Symbol::Poisoned) => return None,
            found => {
                let message = match found {
                    Some(other) => {
                        format!("`{}` is {}, not an offload", name.text, other.describe())
                    }
                    None => format!("there is no offload `{}`", name.text),
                };
                let help = self.suggestion(&name.text, |s| matches!(s, Symbol::Offload(_)));
                self.report(Diagnostic::new("E0216", name.span, message).help_if(help));
                return None;
            }
        };
        self.cx.offload_used[id.index()] = true;
        let info = self.cx.offload_infos[id.index()].clone()?;
        let claim = match &info.kind {
            ResolvedTarget::Kind(kind) => kind.claim.map(|_| *kind),
            ResolvedTarget::Engine { .. } => None,
        };
        let refused = if self.cx.reply.is_some() {
            Some(
                "a called engine starts no threads of its own: no step runs for a key in it".into(),
            )
        } else if claim.is_none() {
            Some(format!("`{}` sets no times, so no step can run for its keys", name.text))
        } else {
            let Some(hir::Offload { target: OffloadTarget::Kind(config), .. }) =
                &self.cx.offloads[id.index()]
            else {
                return None;
            };
            (!config.has_ticks()).then(|| {
                format!(
                    "entries of `{}` expire between ticks, so no step can run for them",
                    name.text
                )
            })
        };
        if let Some(message) = refused {
            self.report(Diagnostic::new("E0621", name.span, message).help(
                "a step can run for the keys of a `timer`, and of an `exact` table with `tick = \
                 NANOSECONDS`, in an engine that takes packets",
            ));
            return None;
        }
        let key = info.key.clone()?;
        let bits = NUMBER_BITS + self.width(&key);
        if bits > 8 * WINDOW_BYTES {
            let message = format!(
                "the key of `{}` has {} bits; a step can run for at most {}",
                name.text,
                self.width(&key),
                8 * WINDOW_BYTES - NUMBER_BITS
            );
            self.report(
                Diagnostic::new("E0625", name.span, message).help("use an index as the key"),
            );
            return None;
        }
        let field = |name: &str, ty| hir::Field { name: name.to_owned(), ty };
        let mut fields = vec![field("number", Type::Bits(NUMBER_BITS)), field("key", key)];
        if !bits.is_multiple_of(8) {
            fields.push(field("rest", Type::Bits(8 - bits % 8)));
        }
        let header = StructId(self.structs.len() as u32);
        self.structs.push(hir::Struct {
            name: format!("{}.trigger", info.name),
            is_header: true,
            fields,
            span: name.span,
        });
        Some(Timed { step, offload: id, header, span: name.span })
    }

    /// Declares the parameters of a step that runs for a key, and returns the statements with which
    /// the step begins.
    pub(super) fn claim(&mut self, timed: &Timed, trigger: &ast::Trigger) -> Option<Vec<Stmt>> {
        let info = self.cx.offload_infos[timed.offload.index()].clone()?;
        let ResolvedTarget::Kind(kind) = &info.kind else { return None };
        let span = trigger.offload.span;
        let (key, value) = (info.key.clone()?, info.value.clone());
        let wanted: Vec<Type> = [key.clone()].into_iter().chain(value.clone()).collect();
        let mut types = Vec::new();
        for (_, written) in &trigger.params {
            types.push(self.value_type(written)?);
        }
        if types != wanted {
            let of = |types: &[Type]| {
                types.iter().map(|ty| self.type_name(ty)).collect::<Vec<_>>().join(", ")
            };
            let message = format!(
                "a step on `{}` has the parameters ({}), not ({})",
                info.name,
                of(&wanted),
                of(&types)
            );
            let what = if value.is_some() { "the key and its value" } else { "the key" };
            self.report(Diagnostic::new("E0622", span, message).help(format!("they are {what}")));
            return None;
        }
        let mut params = trigger.params.iter().map(|(name, _)| {
            let ty = wanted[usize::from(name.span != trigger.params[0].0.span)].clone();
            let var = self.cx.add_var(&name.text, ty, VarKind::Local, name.span);
            self.cx.uses[var.index()].exempt = true;
            self.declare(name, Symbol::Var(var));
            var
        });
        let (key_var, value_var) = (params.next()?, params.next());
        drop(params);

        let (method, found) = kind.method(kind.claim?).expect("the registry names its methods");
        let reply = self.reply_type(timed.offload, &info, method, found.reply)?;
        let statement = |kind| Stmt { kind, span };
        let (at, read) = self.trigger_field(timed.header, 1, key.clone(), span);
        let claimed = self.hidden("claimed", reply.clone(), span);
        let args = vec![variable(key_var, key, span)];
        let call = hir::Expr {
            kind: ExprKind::Offload(timed.offload, method, args),
            ty: reply.clone(),
            span,
        };
        let reply = variable(claimed, reply, span);
        let is_over = match value {
            Some(_) => part(reply.clone(), 0, Type::Bool, span),
            None => reply.clone(),
        };
        let empty = ExprKind::Resize(Resize::Reset(Box::new(self.zero(&Type::Bits(16), span))));
        let mut begin = vec![
            at,
            statement(StmtKind::Local(key_var, Some(read))),
            statement(StmtKind::Local(claimed, Some(call))),
            statement(StmtKind::If(
                fold::logical_not(is_over, span),
                vec![statement(StmtKind::Exit(Exit::Done))],
                Vec::new(),
            )),
            statement(StmtKind::Expr(hir::Expr { kind: empty, ty: Type::Bool, span })),
        ];
        if let (Some(var), Some(ty)) = (value_var, value) {
            let value = part(reply, 1, ty, span);
            begin.push(statement(StmtKind::Local(var, Some(value))));
        }
        Some(begin)
    }

    /// Returns the step in front of all others: it sends packets of timers to their steps, and all
    /// others to the first step that is not one of these.
    pub(super) fn first_step(&mut self, timed: &[Timed], packets: StepId, span: Span) -> hir::Step {
        let number = Type::Bits(NUMBER_BITS);
        let (at, read) = self.trigger_field(timed[0].header, 0, number.clone(), span);
        let statement = |kind| Stmt { kind, span };
        let cases = timed.iter().zip(0u32..).map(|(timed, index)| {
            let label = Bits::new(NUMBER_BITS, index.into());
            (vec![label], vec![statement(StmtKind::Exit(Exit::Next(timed.step)))])
        });
        let select = StmtKind::Switch {
            on: read,
            cases: cases.collect(),
            default: vec![statement(StmtKind::Exit(Exit::Done))],
        };
        let ingress = hir::Expr { kind: ExprKind::Meta(Meta::Ingress), ty: Type::Bits(16), span };
        let port = fold::constant(Bits::new(16, TIMER.into()), Type::Bits(16), span);
        let is_timer = fold::binary(BinaryOp::Eq, ingress, port, Type::Bool, span);
        let body = vec![
            at,
            statement(StmtKind::If(is_timer, vec![statement(select)], Vec::new())),
            statement(StmtKind::Exit(Exit::Next(packets))),
        ];
        let taken = |name: &str| self.lookup(name).is_some();
        let mut name = "arrive".to_owned();
        while taken(&name) {
            name.push('_');
        }
        hir::Step { name, body, span }
    }

    /// Returns a statement that fixes the place of the packet of a timer, and a field of it.
    fn trigger_field(
        &mut self,
        header: StructId,
        field: u32,
        ty: Type,
        span: Span,
    ) -> (Stmt, hir::Expr) {
        let at = self.hidden("trigger", Type::Bits(16), span);
        let zero = self.zero(&Type::Bits(16), span);
        let place =
            Place { root: Root::Local(at, header), path: vec![Projection::Field(field)], ty, span };
        (Stmt { kind: StmtKind::Local(at, Some(zero)), span }, place::read(place))
    }

    /// Adds a variable that the program does not name.
    fn hidden(&mut self, name: &str, ty: Type, span: Span) -> VarId {
        let var = self.cx.add_var(name, ty, VarKind::Local, span);
        self.cx.uses[var.index()].exempt = true;
        var
    }
}

fn variable(var: VarId, ty: Type, span: Span) -> hir::Expr {
    place::read(Place { root: Root::Var(var), path: Vec::new(), ty, span })
}

/// Returns a field of a variable.
fn part(mut whole: hir::Expr, field: u32, ty: Type, span: Span) -> hir::Expr {
    let ExprKind::Read(place) = &mut whole.kind else { unreachable!("it reads a variable") };
    place.path.push(Projection::Field(field));
    place.ty = ty.clone();
    hir::Expr { kind: whole.kind, ty, span }
}

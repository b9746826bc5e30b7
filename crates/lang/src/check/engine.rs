//! Checks engines: their declarations and their steps.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use wireloom_offloads::{OffloadKind, ValueType};

use super::offload::MAX_INSTANCES;
use super::place::Access;
use super::scope::Symbol;
use super::stmt::Body;
use super::timed::Timed;
use super::{Checker, Resolution, range};
use crate::ast::{self, Item, TypeKind};
use crate::diagnostics::Diagnostic;
use crate::hir::{
    self, EngineId, EngineKind, ExprKind, FunctionId, OffloadId, Root, StepId, StructId, Type,
    VarId, VarKind, Variable, ViewId,
};
use crate::source::Span;

/// The maximum size of a thread's context in bits.
const MAX_CONTEXT_BITS: u64 = 65_536;

/// The uses of a variable, for warnings.
#[derive(Clone, Debug, Default)]
pub(super) struct VarUse {
    pub(super) read: bool,
    pub(super) written: bool,
    /// Whether the variable is exempt from warnings: a parameter, a loop variable, or one that the
    /// compiler creates.
    pub(super) exempt: bool,
    /// Whether the initial value is a call that is needed even if the variable is not.
    pub(super) called: bool,
}

/// The facts about an offload that checking its calls requires.
#[derive(Clone, Debug)]
pub(super) struct OffloadInfo {
    pub(super) name: String,
    pub(super) kind: ResolvedTarget,
    pub(super) key: Option<Type>,
    pub(super) value: Option<Type>,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum ResolvedTarget {
    Kind(&'static OffloadKind),
    Engine { params: Vec<(String, Type)>, reply: Type },
}

impl OffloadInfo {
    /// Resolves a type of the registry for this offload.
    pub(super) fn value_type(&self, ty: ValueType) -> Option<Type> {
        match ty {
            ValueType::Bits(n) => Some(Type::Bits(n)),
            ValueType::Bool => Some(Type::Bool),
            ValueType::Key => self.key.clone(),
            ValueType::Value => self.value.clone(),
        }
    }
}

/// The engine that is currently checked. It is empty outside of engines.
#[derive(Default)]
pub(super) struct Context {
    /// The reply type of a called engine.
    pub(super) reply: Option<Type>,
    pub(super) vars: Vec<Variable>,
    /// The uses of each variable, parallel to `vars`.
    pub(super) uses: Vec<VarUse>,
    pub(super) params: Vec<VarId>,
    pub(super) views: Vec<Option<hir::View>>,
    /// The header of each view, parallel to `views`. Headers are known before offsets.
    pub(super) view_headers: Vec<Option<StructId>>,
    /// The `payload` offload of each view of the whole packet, parallel to `views`.
    pub(super) view_chunks: Vec<Option<OffloadId>>,
    pub(super) view_used: Vec<bool>,
    pub(super) offloads: Vec<Option<hir::Offload>>,
    /// The facts about each offload, parallel to `offloads`.
    pub(super) offload_infos: Vec<Option<OffloadInfo>>,
    pub(super) offload_used: Vec<bool>,
    /// The structures for replies of several parts, by offload and method.
    pub(super) replies: HashMap<(OffloadId, usize), StructId>,
    pub(super) functions: Vec<hir::Function>,
    /// The functions by index of the declaration and by which parameters are views.
    pub(super) function_ids: HashMap<(usize, Vec<bool>), Option<FunctionId>>,
    /// The ranges of the variables of open loops.
    pub(super) loop_ranges: HashMap<VarId, range::Range>,
    /// The functions whose bodies are currently checked, outermost first.
    pub(super) open_calls: Vec<usize>,
    /// The index of the declaration in the file.
    pub(super) decl: Option<usize>,
    /// The number of the first step that the engine declares.
    pub(super) first_step: u32,
    /// The steps that run for keys.
    pub(super) timed: HashSet<StepId>,
}

impl Context {
    pub(super) fn add_var(&mut self, name: &str, ty: Type, kind: VarKind, span: Span) -> VarId {
        let id = VarId(self.vars.len() as u32);
        self.vars.push(Variable { name: name.to_owned(), ty, kind, span });
        self.uses.push(VarUse::default());
        id
    }

    /// Records that a variable is read or written.
    pub(super) fn note(&mut self, var: VarId, access: Access) {
        let uses = &mut self.uses[var.index()];
        match access {
            Access::Read => uses.read = true,
            Access::Write => uses.written = true,
        }
    }
}

impl<'a> Checker<'a> {
    /// Checks an engine on first use and returns it. The engines that it calls come before it.
    pub(super) fn resolve_engine(&mut self, index: usize) -> Option<EngineId> {
        if let Some(known) = Self::done(&self.engine_decls[index].state) {
            return known;
        }
        let decl = self.engine_decls[index].decl;
        self.engine_decls[index].state = Resolution::InProgress;
        let outer = (std::mem::take(&mut self.cx), std::mem::take(&mut self.body));
        self.cx.decl = Some(index);
        let engine =
            self.nested(decl.name.span, |c| c.at_level(1, |c| c.scoped(|c| c.engine(decl))));
        (self.cx, self.body) = outer;
        let id = engine.map(|engine| {
            let id = EngineId(self.engines.len() as u32);
            let nested = engine.offloads.iter().map(|o| match &o.target {
                hir::OffloadTarget::Kind(_) => 1,
                hir::OffloadTarget::Engine(e) => self.instances[e.index()].saturating_add(1),
            });
            // An excess has been reported. Enclosing engines must not report it again.
            let nested = nested.fold(0, u64::saturating_add);
            self.instances.push(if nested > MAX_INSTANCES { 0 } else { nested });
            self.engines.push(engine);
            id
        });
        self.engine_decls[index].state = Resolution::Done(id);
        id
    }

    fn engine(&mut self, decl: &'a ast::EngineDecl) -> Option<hir::TypedEngine> {
        let kind = self.interface(decl);
        let (first_const, first_function) = (self.consts.len(), self.functions.len());
        self.cx.first_step = first_step(decl);
        let steps = self.declare_engine(decl);
        // Engines that this engine calls append their own declarations later.
        let (consts, functions) =
            (first_const..self.consts.len(), first_function..self.functions.len());
        self.declare_context(decl);
        self.declare_offloads(decl);
        self.check_views(decl);
        for item in &decl.items {
            if let Item::Assert(assert) = item {
                self.static_assert(assert);
            }
        }
        for index in consts.clone() {
            self.resolve_const(index);
        }
        if steps.is_empty() {
            let message = format!("engine `{}` has no steps", decl.name.text);
            self.report(
                Diagnostic::new("E0602", decl.name.span, message)
                    .help("the first step is where a thread begins: `step NAME { ... finish; }`"),
            );
        }
        let steps = self.check_steps(decl, &steps);
        self.check_step_graph(&steps);
        self.check_cost(&steps);
        self.warn_initial_reads(&steps);
        self.check_uncalled_functions(functions.clone());
        self.report_unused_in_engine(consts, functions);
        let cx = std::mem::take(&mut self.cx);
        Some(hir::TypedEngine {
            name: decl.name.text.to_string(),
            kind: kind?,
            vars: cx.vars,
            views: cx.views.into_iter().collect::<Option<_>>()?,
            offloads: cx.offloads.into_iter().collect::<Option<_>>()?,
            functions: cx.functions,
            steps,
            span: decl.name.span,
        })
    }

    /// Checks the parameters and the reply.
    fn interface(&mut self, decl: &ast::EngineDecl) -> Option<EngineKind> {
        let Some(written) = &decl.reply else {
            if let Some((name, _)) = decl.params.first() {
                self.report(
                    Diagnostic::new(
                        "E0605",
                        name.span,
                        "an engine that takes packets has no parameters",
                    )
                    .help("write `-> TYPE` after them if the engine is to be called"),
                );
                decl.params.iter().for_each(|(name, _)| self.declare(name, Symbol::Poisoned));
                return None;
            }
            return Some(EngineKind::Packet);
        };
        let reply = self.value_type(written);
        let reply = reply.and_then(|ty| self.offload_type(ty, written.span, "reply"));
        // Even if the reply type is wrong, the engine is a called engine.
        self.cx.reply = Some(reply.clone().unwrap_or(Type::Void));
        let mut complete = true;
        for (name, written) in &decl.params {
            let ty = self.value_type(written);
            let Some(ty) = ty.and_then(|ty| self.offload_type(ty, written.span, "parameter"))
            else {
                self.declare(name, Symbol::Poisoned);
                complete = false;
                continue;
            };
            let var = self.cx.add_var(&name.text, ty, VarKind::Context, name.span);
            self.cx.uses[var.index()].written = true;
            self.cx.params.push(var);
            self.declare(name, Symbol::Var(var));
        }
        let reply = reply.filter(|_| complete)?;
        Some(EngineKind::Call { params: self.cx.params.clone(), reply })
    }

    /// Adds the names of the engine to its scope and returns its steps. Types that others depend on
    /// come first.
    fn declare_engine(&mut self, decl: &'a ast::EngineDecl) -> Vec<&'a ast::StepDecl> {
        let mut steps = Vec::new();
        for item in &decl.items {
            match item {
                Item::Const(c) => self.declare_const(c, 2, None),
                Item::Function(f) => self.declare_function(f, 2),
                Item::Step(s) => {
                    let id = StepId(steps.len() as u32 + self.cx.first_step);
                    steps.push(s);
                    if s.trigger.is_some() {
                        self.cx.timed.insert(id);
                    }
                    self.declare(&s.name, Symbol::Step(id));
                }
                Item::View(v) => {
                    let id = ViewId(self.cx.view_headers.len() as u32);
                    self.cx.view_headers.push(None);
                    self.cx.view_used.push(false);
                    self.declare(&v.name, Symbol::View(id));
                    let chunks = v.in_packet().map(|_| {
                        // If the view is unused, it is reported as a view.
                        self.cx.offload_used.push(true);
                        OffloadId(self.cx.offload_used.len() as u32 - 1)
                    });
                    self.cx.view_chunks.push(chunks);
                }
                Item::Offload(o) => {
                    let id = OffloadId(self.cx.offload_used.len() as u32);
                    self.cx.offload_used.push(false);
                    self.declare(&o.name, Symbol::Offload(id));
                }
                Item::Variable(v) => self.declare(&v.name, Symbol::Poisoned),
                Item::Enum(e) => {
                    self.misplaced(e.name.span, "an enumeration", "the file, outside of engines")
                }
                Item::Struct(s) => {
                    self.misplaced(s.name.span, "a type", "the file, outside of engines")
                }
                Item::Engine(e) => {
                    self.misplaced(e.name.span, "an engine", "the file, outside of engines")
                }
                Item::Assert(_) => {}
            }
        }
        let views =
            decl.items.iter().filter_map(|i| if let Item::View(v) = i { Some(v) } else { None });
        for (index, view) in views.enumerate() {
            self.cx.view_headers[index] = self.header_type(&view.header);
        }
        steps
    }

    fn declare_context(&mut self, decl: &'a ast::EngineDecl) {
        let mut bits = 0u64;
        for item in &decl.items {
            let Item::Variable(v) = item else { continue };
            if let Some(value) = &v.value {
                self.report(
                    Diagnostic::new(
                        "E0615",
                        value.span,
                        "a context variable cannot have an initial value",
                    )
                    .help(
                        "it is zero when a packet's thread begins; assign it in the first step, or \
                             write `const` if it never changes",
                    ),
                );
            }
            if matches!(v.ty.kind, TypeKind::Auto) {
                self.report(
                    Diagnostic::new("E0314", v.ty.span, "a context variable cannot be `auto`")
                        .help("write its type"),
                );
                continue;
            }
            let Some(ty) = self.value_type(&v.ty) else { continue };
            bits += u64::from(self.width(&ty));
            let var = self.cx.add_var(&v.name.text, ty, VarKind::Context, v.name.span);
            self.redefine(&v.name, Symbol::Var(var));
        }
        if bits > MAX_CONTEXT_BITS {
            let message = format!("the context of `{}` has {bits} bits", decl.name.text);
            let help =
                format!("every thread stores all of it; the limit is {MAX_CONTEXT_BITS} bits");
            self.report(Diagnostic::new("E0620", decl.name.span, message).help(help));
        }
    }

    /// Checks the offsets of the engine's views. They may use only context and constants.
    fn check_views(&mut self, decl: &'a ast::EngineDecl) {
        for item in &decl.items {
            let Item::View(view) = item else { continue };
            let index = self.cx.views.len();
            let (header, chunks) = (self.cx.view_headers[index], self.cx.view_chunks[index]);
            if self.needs_packet(view.name.span, "the packet").is_none() {
                self.cx.views.push(None);
                continue;
            }
            let written = view.in_packet().unwrap_or(&view.offset);
            let offset = self.offset(written, "the offset of a view");
            let offset = offset.filter(|offset| match outside_context(offset) {
                None => true,
                Some(span) => {
                    self.report(
                        Diagnostic::new(
                            "E0614",
                            span,
                            "the offset of an engine's view can use its context only",
                        )
                        .help("it is computed at each access; declare the view in a step to compute it once"),
                    );
                    false
                }
            });
            let name = view.name.text.to_string();
            let checked = header.zip(offset).map(|(header, offset)| hir::View {
                name,
                header,
                offset,
                chunks,
                span: view.name.span,
            });
            self.cx.views.push(checked);
        }
    }

    /// Checks the steps. If some of them run for keys, another step comes before all of them.
    fn check_steps(
        &mut self,
        decl: &ast::EngineDecl,
        written: &[&ast::StepDecl],
    ) -> Vec<hir::Step> {
        let timed = self.declare_timed(written);
        let checked = written.iter().zip(self.cx.first_step..).map(|(step, index)| {
            let timed = timed.iter().find(|timed| timed.step == StepId(index));
            self.check_step(step, timed)
        });
        let mut steps: Vec<hir::Step> = checked.collect();
        if !timed.is_empty() {
            let first = written.iter().position(|step| step.trigger.is_none());
            match first {
                Some(first) => {
                    let packets = StepId(first as u32 + self.cx.first_step);
                    steps.insert(0, self.first_step(&timed, packets, decl.name.span));
                }
                None => {
                    let message = format!("engine `{}` has no step for packets", decl.name.text);
                    self.report(
                        Diagnostic::new("E0602", decl.name.span, message)
                            .help("the thread of a packet begins at the first step without `on`"),
                    );
                }
            }
        }
        steps
    }

    fn check_step(&mut self, decl: &ast::StepDecl, timed: Option<&Timed>) -> hir::Step {
        self.body = Body { in_step: true, ..Body::default() };
        let first_local = self.cx.vars.len();
        let body = self.scoped(|c| {
            let mut body = Vec::new();
            if let Some(trigger) = &decl.trigger {
                match timed.and_then(|timed| c.claim(timed, trigger)) {
                    Some(begin) => body = begin,
                    // The error is reported; the body may name the parameters.
                    None => trigger
                        .params
                        .iter()
                        .for_each(|(name, _)| c.declare(name, Symbol::Poisoned)),
                }
            }
            body.extend(c.statements(&decl.body));
            body
        });
        // After an error the body lacks statements, so it may reach its end without cause.
        let failed = std::mem::take(&mut self.body).failed;
        self.report_unused_locals(first_local);
        if !failed && super::flow::ends_undecided(&body) {
            let message =
                format!("step `{}` can end without saying what comes next", decl.name.text);
            self.report(
                Diagnostic::new("E0501", decl.end, message)
                    .here("the end is reached here")
                    .also(decl.name.span, "this step")
                    .help("end every path with `next STEP;`, `finish;`, `drop(reason);` or another ending"),
            );
        }
        self.report_unreachable(&body);
        hir::Step { name: decl.name.text.to_string(), body, span: decl.name.span }
    }

    fn check_uncalled_functions(&mut self, functions: Range<usize>) {
        let vars = self.cx.vars.len();
        for index in functions {
            if !self.functions[index].used {
                self.check_uncalled_function(index);
            }
        }
        self.cx.vars.truncate(vars);
        self.cx.uses.truncate(vars);
    }
}

/// Returns the number of the first step that the engine declares. If a step runs for keys, there is
/// one before all of them.
fn first_step(decl: &ast::EngineDecl) -> u32 {
    let is_timed = |item: &Item| matches!(item, Item::Step(step) if step.trigger.is_some());
    u32::from(decl.items.iter().any(is_timed))
}

/// Returns the span of a part that is neither constant nor a context variable, if there is one.
fn outside_context(expr: &hir::Expr) -> Option<Span> {
    match &expr.kind {
        ExprKind::Call(..) | ExprKind::Offload(..) | ExprKind::Resize(_) | ExprKind::Meta(_) => {
            Some(expr.span)
        }
        ExprKind::Read(place) if !matches!(place.root, Root::Var(_)) => Some(expr.span),
        _ => expr.parts().into_iter().find_map(outside_context),
    }
}

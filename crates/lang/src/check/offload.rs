//! Checks declarations of offloads against the registry of kinds.

use std::collections::BTreeMap;

use wireloom_bits::Bits;
use wireloom_offloads::{Config, KINDS, Layout, OffloadKind, Param, ValueType, registry};

use super::engine::{OffloadInfo, ResolvedTarget};
use super::scope::Symbol;
use super::{Checker, Resolution};
use crate::ast::{self, Expr, Item, Name, TypeExpr};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, EngineKind, OffloadTarget, StructId, Type};
use crate::layout::layout;
use crate::source::Span;

/// The maximum width in bits of the key or value of an offload, and of the parameters and reply of
/// an engine.
const MAX_OFFLOAD_BITS: u32 = 1024;
/// The most bytes that a view of the whole packet reads or writes at once: every machine has chunks of
/// this size.
const MAX_CHUNK_BYTES: u32 = 16;
/// The maximum number of offloads of an engine and of the engines that it calls. Each instance is
/// counted.
pub(super) const MAX_INSTANCES: u64 = 4096;

impl<'a> Checker<'a> {
    pub(super) fn declare_offloads(&mut self, decl: &'a ast::EngineDecl) {
        let (mut instances, mut views) = (0u64, 0);
        for item in &decl.items {
            let offload = match item {
                Item::Offload(offload) => offload,
                Item::View(view) => {
                    if view.in_packet().is_some() {
                        instances = instances.saturating_add(1);
                        self.declare_chunks(&view.name, self.cx.view_headers[views]);
                    }
                    views += 1;
                    continue;
                }
                _ => continue,
            };
            let checked = match &offload.target {
                ast::OffloadTarget::Engine(name) => {
                    self.engine_offload(offload, name, &mut instances)
                }
                ast::OffloadTarget::Kind { kind, types, params } => {
                    instances = instances.saturating_add(1);
                    self.kind_offload(offload, kind, types, params)
                }
            };
            if instances > MAX_INSTANCES {
                let message = format!(
                    "this engine needs more than {MAX_INSTANCES} offloads, nested ones counted"
                );
                self.report(Diagnostic::new("E0617", offload.name.span, message).help(
                    "each offload that is an engine has its own copy of that engine's offloads",
                ));
                instances = 0;
            }
            let (target, info) = checked.unzip();
            let name = offload.name.text.to_string();
            self.cx.offloads.push(target.map(|target| hir::Offload {
                name,
                target,
                span: offload.name.span,
            }));
            self.cx.offload_infos.push(info);
        }
    }

    /// Declares the `payload` offload through which a view of the whole packet reads and writes.
    fn declare_chunks(&mut self, view: &Name, header: Option<StructId>) {
        let bytes = header.map(|header| self.width(&Type::Struct(header)) / 8);
        let chunk = bytes.map(|bytes| Type::Bits(bytes.min(MAX_CHUNK_BYTES) * 8));
        let kind = registry::kind("payload").expect("a kind of the registry");
        let (name, span) = (view.text.to_string(), view.span);
        self.cx.offloads.push(chunk.as_ref().map(|chunk| hir::Offload {
            name: name.clone(),
            target: OffloadTarget::Kind(Config {
                kind: kind.name.into(),
                key: None,
                value: Some(self.layout(chunk)),
                params: BTreeMap::new(),
            }),
            span,
        }));
        self.cx.offload_infos.push(chunk.map(|chunk| OffloadInfo {
            name,
            kind: ResolvedTarget::Kind(kind),
            key: None,
            value: Some(chunk),
            span,
        }));
    }

    fn engine_offload(
        &mut self,
        offload: &ast::OffloadDecl,
        name: &Name,
        instances: &mut u64,
    ) -> Option<(OffloadTarget, OffloadInfo)> {
        let index = match self.lookup(&name.text) {
            Some(Symbol::Engine(index)) => index,
            found => {
                let message = match found {
                    Some(other) => {
                        format!("`{}` is {}, not an engine", name.text, other.describe())
                    }
                    None => format!("there is no engine `{}`", name.text),
                };
                let help = self.suggestion(&name.text, |s| matches!(s, Symbol::Engine(_)));
                self.report(Diagnostic::new("E0210", name.span, message).help_if(help));
                return None;
            }
        };
        let entry = &mut self.engine_decls[index];
        entry.used = true;
        let decl = entry.decl;
        if decl.reply.is_none() {
            let message = format!("engine `{}` takes packets and cannot be called", name.text);
            self.report(
                Diagnostic::new("E0611", name.span, message)
                    .also(decl.name.span, "declared here")
                    .help("an engine that is called declares its reply: `engine NAME(u32 key) -> TYPE`"),
            );
            return None;
        }
        if matches!(entry.state, Resolution::InProgress) {
            let message = format!("engine `{}` calls itself", name.text);
            self.report(
                Diagnostic::new("E0610", name.span, message).also(decl.name.span, "declared here").help(
                    "engines are laid out in hardware, so none can contain itself, even through others",
                ),
            );
            return None;
        }
        let id = self.resolve_engine(index)?;
        *instances = instances.saturating_add(self.instances[id.index()]).saturating_add(1);
        let engine = &self.engines[id.index()];
        let EngineKind::Call { params, reply } = &engine.kind else {
            unreachable!("it has a reply")
        };
        let params = params
            .iter()
            .map(|v| {
                let var = &engine.vars[v.index()];
                (var.name.clone(), var.ty.clone())
            })
            .collect();
        let info = OffloadInfo {
            name: offload.name.text.to_string(),
            kind: ResolvedTarget::Engine { params, reply: reply.clone() },
            key: None,
            value: None,
            span: offload.name.span,
        };
        Some((OffloadTarget::Engine(id), info))
    }

    fn kind_offload(
        &mut self,
        offload: &ast::OffloadDecl,
        kind_name: &Name,
        types: &[TypeExpr],
        params: &[(Name, Expr)],
    ) -> Option<(OffloadTarget, OffloadInfo)> {
        let Some(kind) = KINDS.iter().find(|kind| kind.name == &*kind_name.text) else {
            let message = format!("there is no offload kind `{}`", kind_name.text);
            let help = match self.lookup(&kind_name.text) {
                Some(Symbol::Engine(_)) => {
                    Some(format!("to call an engine, write `engine {}`", kind_name.text))
                }
                _ => crate::suggest::suggest_or_list(
                    &kind_name.text,
                    "the kinds",
                    KINDS.iter().map(|k| k.name),
                ),
            };
            self.report(Diagnostic::new("E0206", kind_name.span, message).help_if(help));
            return None;
        };
        let (key, value) = self.offload_types(kind, kind_name.span, types)?;
        let params = self.offload_params(kind, kind_name.span, params, value.as_ref());
        let config = Config {
            kind: kind.name.into(),
            key: key.as_ref().map(|ty| self.layout(ty)),
            value: value.as_ref().map(|ty| self.layout(ty)),
            params: params?,
        };
        let info = OffloadInfo {
            name: offload.name.text.to_string(),
            kind: ResolvedTarget::Kind(kind),
            key,
            value,
            span: offload.name.span,
        };
        Some((OffloadTarget::Kind(config), info))
    }

    /// Checks the type arguments and returns the key type and the value type.
    fn offload_types(
        &mut self,
        kind: &OffloadKind,
        span: Span,
        written: &[TypeExpr],
    ) -> Option<(Option<Type>, Option<Type>)> {
        let mut wanted = Vec::new();
        if kind.has_key {
            wanted.push("a key type");
        }
        if kind.has_value {
            wanted.push("a value type");
        }
        if written.len() != wanted.len() {
            let takes = if wanted.is_empty() { "no types".into() } else { wanted.join(" and ") };
            let message =
                format!("offload kind `{}` takes {takes}, but {} given", kind.name, written.len());
            let example = match (kind.has_key, kind.has_value) {
                (true, true) => format!("{}<u32, u16>", kind.name),
                (true, false) => format!("{}<u32>", kind.name),
                (false, true) => format!("{}<u16>", kind.name),
                (false, false) => kind.name.into(),
            };
            self.report(
                Diagnostic::new("E0604", span, message).help(format!("for example `{example}`")),
            );
            return None;
        }
        let mut types = Vec::new();
        for (t, what) in written.iter().zip(&wanted) {
            let what = if *what == "a key type" { "key" } else { "value" };
            let ty = self.value_type(t).and_then(|ty| self.offload_type(ty, t.span, what));
            types.push(ty);
        }
        let types: Vec<Type> = types.into_iter().collect::<Option<_>>()?;
        let mut types = types.into_iter();
        let key = if kind.has_key { types.next() } else { None };
        let value = types.next();
        if let Some(chunk) = value.as_ref().filter(|_| kind.name == "payload") {
            let width = self.width(chunk);
            if !width.is_multiple_of(8) {
                let message =
                    format!("a chunk of the payload is a whole number of bytes, not {width} bits");
                self.report(Diagnostic::new("E0609", written[0].span, message));
                return None;
            }
        }
        Some((key, value))
    }

    /// Reports a type that is too wide for an offload.
    pub(super) fn offload_type(&mut self, ty: Type, span: Span, what: &str) -> Option<Type> {
        let width = self.width(&ty);
        if width <= MAX_OFFLOAD_BITS {
            return Some(ty);
        }
        let message = format!(
            "this {what} is {width} bits wide; the limit for offloads is {MAX_OFFLOAD_BITS}"
        );
        self.report(
            Diagnostic::new("E0608", span, message).help("split it, or pass an index instead"),
        );
        None
    }

    fn offload_params(
        &mut self,
        kind: &OffloadKind,
        span: Span,
        written: &[(Name, Expr)],
        value: Option<&Type>,
    ) -> Option<BTreeMap<String, Bits>> {
        let mut out: BTreeMap<String, Bits> = BTreeMap::new();
        let mut places: BTreeMap<&str, Span> = BTreeMap::new();
        let mut complete = true;
        for (name, given) in written {
            let known = || kind.params.iter().filter(|param| !param.is_derived);
            let Some(param) = known().find(|param| *param.name == *name.text) else {
                let message =
                    format!("offload kind `{}` has no parameter `{}`", kind.name, name.text);
                let names: Vec<&str> = known().map(|param| param.name).collect();
                let help = crate::suggest::suggest_or_list(&name.text, "its parameters", names);
                self.report(Diagnostic::new("E0208", name.span, message).help_if(help));
                complete = false;
                continue;
            };
            if let Some(before) = places.insert(param.name, name.span) {
                let message = format!("parameter `{}` is given twice", name.text);
                self.report(
                    Diagnostic::new("E0607", name.span, message).also(before, "the first time"),
                );
                complete = false;
                continue;
            }
            match self.offload_param(param, given, value) {
                Some(bits) => {
                    out.insert(param.name.into(), bits);
                }
                None => complete = false,
            }
        }
        for param in kind.params {
            if places.contains_key(param.name) {
                continue;
            }
            let width = match param.ty {
                ValueType::Bits(n) => n,
                ValueType::Value => value.map_or(1, |ty| self.width(ty)),
                ValueType::Bool | ValueType::Key => 1,
            };
            match param.default {
                Some(default) => {
                    out.insert(param.name.into(), Bits::new(width, default.into()));
                }
                None => {
                    let message = format!(
                        "offload kind `{}` needs its parameter `{}`",
                        kind.name, param.name
                    );
                    let help = format!("{} For example `{} = 1024`", param.doc, param.name);
                    self.report(Diagnostic::new("E0606", span, message).help(help));
                    complete = false;
                }
            }
        }
        complete.then_some(out)
    }

    fn offload_param(&mut self, param: &Param, given: &Expr, value: Option<&Type>) -> Option<Bits> {
        let ty = match param.ty {
            ValueType::Bits(n) => Type::Bits(n),
            ValueType::Bool => Type::Bool,
            ValueType::Value | ValueType::Key => value?.clone(),
        };
        let constant = self.constant(given, Some(&ty))?;
        let bits = super::fold::value(&constant)?.clone();
        let (least, most) = param.range;
        let in_range = bits.to_u64().is_some_and(|v| (least..=most).contains(&v));
        if matches!(param.ty, ValueType::Bits(n) if n <= 64) && !in_range {
            let message =
                format!("parameter `{}` must be {least} to {most}, not {bits}", param.name);
            self.report(Diagnostic::new("E0618", given.span, message).help(param.doc));
            return None;
        }
        Some(bits)
    }

    /// Returns the leaves of a type, named as in table files.
    fn layout(&self, ty: &Type) -> Layout {
        layout(ty, &self.structs, &self.enums)
    }
}

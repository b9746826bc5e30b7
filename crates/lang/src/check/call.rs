//! Checks calls of functions, of offloads, and of packet operations.

use wireloom_offloads::{Method, OffloadKind, ReplyType, ValueType};

use super::engine::{OffloadInfo, ResolvedTarget};
use super::place::OPERATIONS;
use super::scope::Symbol;
use super::{Checker, fold};
use crate::ast::{Expr, ExprKind, Name};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, OffloadId, Resize, StructId, Type};
use crate::source::Span;

/// The names of method arguments that are offsets or lengths in the packet.
const EXTENTS: [&str; 3] = ["offset", "length", "count"];

/// Functions of the language. A program may declare functions with the same names.
const BUILT_IN: [&str; 4] = ["clz", "max", "min", "popcount"];

impl Checker<'_> {
    pub(super) fn call(&mut self, e: &Expr, callee: &Expr, args: &[Expr]) -> Option<hir::Expr> {
        match &callee.kind {
            ExprKind::Name(name) => match self.lookup(name) {
                Some(Symbol::Function(index)) => self.call_function(index, args, e.span),
                Some(Symbol::Poisoned) => None,
                None if BUILT_IN.contains(&&**name) => self.built_in(name, args, e.span),
                found => {
                    self.unknown_function(name, found, callee.span);
                    None
                }
            },
            ExprKind::Field(base, method) => match &base.kind {
                ExprKind::Name(name) if &**name == "packet" => {
                    self.packet_operation(method, args, e.span)
                }
                ExprKind::Name(name) => match self.lookup(name) {
                    Some(Symbol::Offload(id)) => self.call_offload(id, method, args, e.span),
                    Some(Symbol::Poisoned) => None,
                    found => {
                        let message = match found {
                            Some(other) => {
                                format!(
                                    "`{name}` is {}; only offloads have methods",
                                    other.describe()
                                )
                            }
                            None => format!("there is no offload `{name}`"),
                        };
                        let help = self.suggestion(name, |s| matches!(s, Symbol::Offload(_)));
                        self.report(Diagnostic::new("E0216", base.span, message).help_if(help));
                        None
                    }
                },
                _ => {
                    self.report(
                        Diagnostic::new("E0216", base.span, "only offloads have methods")
                            .help("write `offload_name.method(...)`"),
                    );
                    None
                }
            },
            _ => {
                self.report(Diagnostic::new("E0205", callee.span, "this cannot be called"));
                None
            }
        }
    }

    fn built_in(&mut self, name: &str, args: &[Expr], span: Span) -> Option<hir::Expr> {
        let is_unary = ["clz", "popcount"].contains(&name);
        let wanted: &[&str] = if is_unary { &["x"] } else { &["a", "b"] };
        self.argument_count(&format!("`{name}`"), wanted, args.len(), span)?;
        if is_unary {
            let value = self.expr(&args[0], None).and_then(|value| self.number(value))?;
            let of = if name == "clz" { fold::clz } else { fold::popcount };
            return Some(of(value, span));
        }
        let op = if name == "min" { hir::BinaryOp::Min } else { hir::BinaryOp::Max };
        let (a, b) = self.operands(&args[0], &args[1], None)?;
        let (a, b) = (self.number(a)?, self.number(b)?);
        let width = self.width(&a.ty).max(self.width(&b.ty));
        let (a, b) = (self.widen(a, width), self.widen(b, width));
        Some(fold::binary(op, a, b, Type::Bits(width), span))
    }

    fn unknown_function(&mut self, name: &str, found: Option<Symbol>, span: Span) {
        let message = match found {
            Some(other) => format!("`{name}` is {}, not a function", other.describe()),
            None => format!("there is no function `{name}`"),
        };
        let help = match found {
            Some(Symbol::Offload(_)) => Some("call one of its methods: `name.method(...)`".into()),
            Some(Symbol::Type(_)) => Some(format!("to convert, write `({name})x`")),
            _ => self.suggestion_or_word(name, |s| matches!(s, Symbol::Function(_))),
        };
        self.report(Diagnostic::new("E0205", span, message).help_if(help));
    }

    /// Reports a call where only constants are allowed.
    pub(super) fn not_constant(&mut self, span: Span) -> Option<()> {
        if self.body.constant {
            self.report(Diagnostic::new("E0402", span, "a call is not constant").help(
                "a constant is computed from literals, other constants, enumeration members and sizes",
            ));
            return None;
        }
        Some(())
    }

    /// Reports a wrong number of arguments, with the expected ones.
    pub(super) fn argument_count(
        &mut self,
        what: &str,
        wanted: &[&str],
        got: usize,
        span: Span,
    ) -> Option<()> {
        if wanted.len() == got {
            return Some(());
        }
        let plural = if wanted.len() == 1 { "argument" } else { "arguments" };
        let message = format!("{what} takes {} {plural}, {got} given", wanted.len());
        let help = (!wanted.is_empty()).then(|| format!("they are: {}", wanted.join(", ")));
        self.report(Diagnostic::new("E0519", span, message).help_if(help));
        None
    }

    fn packet_operation(&mut self, method: &Name, args: &[Expr], span: Span) -> Option<hir::Expr> {
        let wanted: &[&str] = match &*method.text {
            "push" | "pop" | "reset" => &["count"],
            "insert" | "remove" => &["offset", "count"],
            other => {
                let message = format!("the packet has no operation `{other}`");
                let help = crate::suggest::suggest_or_list(other, "its operations", OPERATIONS);
                self.report(Diagnostic::new("E0209", method.span, message).help_if(help));
                return None;
            }
        };
        self.needs_packet(span, "the packet")?;
        self.argument_count(&format!("`packet.{}`", method.text), wanted, args.len(), span)?;
        let mut values = Vec::new();
        for (arg, name) in args.iter().zip(wanted) {
            values.push(Box::new(self.offset(arg, &format!("the {name}"))?));
        }
        let count = values.pop().expect("there is at least one argument");
        let offset = values.pop().unwrap_or_else(|| Box::new(self.zero(&Type::Bits(16), span)));
        let resize = match &*method.text {
            "push" | "insert" => Resize::Insert(offset, count),
            "pop" | "remove" => Resize::Remove(offset, count),
            _ => Resize::Reset(count),
        };
        Some(hir::Expr { kind: hir::ExprKind::Resize(resize), ty: Type::Bool, span })
    }

    fn call_offload(
        &mut self,
        id: OffloadId,
        method: &Name,
        args: &[Expr],
        span: Span,
    ) -> Option<hir::Expr> {
        self.not_constant(span)?;
        self.cx.offload_used[id.index()] = true;
        let info = self.cx.offload_infos[id.index()].clone()?;
        let mut on_packet = false;
        let (index, wanted, ty): (usize, Vec<(String, Type)>, Type) = match &info.kind {
            ResolvedTarget::Engine { params, reply } => {
                if &*method.text != "call" {
                    let message = format!("an engine has no method `{}`", method.text);
                    self.report(
                        Diagnostic::new("E0207", method.span, message)
                            .help(format!("its only method is `{}.call(...)`", info.name)),
                    );
                    return None;
                }
                (0, params.clone(), reply.clone())
            }
            ResolvedTarget::Kind(kind) => {
                let Some((index, found)) = kind.method(&method.text) else {
                    let message =
                        format!("offload kind `{}` has no method `{}`", kind.name, method.text);
                    let names: Vec<&str> = kind.methods.iter().map(|m| m.name).collect();
                    let help = crate::suggest::suggest_or_list(&method.text, "its methods", names);
                    self.report(Diagnostic::new("E0207", method.span, message).help_if(help));
                    return None;
                };
                if (found.reads_packet || found.writes_packet) && self.cx.reply.is_some() {
                    let message = format!(
                        "`{}.{}` works on the packet, but a called engine has none",
                        info.name, method.text
                    );
                    self.report(
                        Diagnostic::new("E0613", span, message)
                            .help("call it in the engine that takes packets, and pass the result"),
                    );
                    return None;
                }
                self.needed_param(id, &info, kind, found, span)?;
                on_packet = found.reads_packet || found.writes_packet;
                let wanted =
                    found.args.iter().map(|(n, t)| Some(((*n).to_owned(), info.value_type(*t)?)));
                let wanted = wanted.collect::<Option<Vec<_>>>()?;
                (index, wanted, self.reply_type(id, &info, index, found.reply)?)
            }
        };
        let names: Vec<&str> = wanted.iter().map(|(n, _)| n.as_str()).collect();
        let what = format!("`{}.{}`", info.name, method.text);
        self.argument_count(&what, &names, args.len(), span)?;
        let mut values = Vec::new();
        for (arg, (name, ty)) in args.iter().zip(&wanted) {
            let extent = on_packet && EXTENTS.contains(&name.as_str());
            values.push(self.in_extent(extent, |c| {
                let value = c.expr(arg, Some(ty))?;
                c.coerce(value, ty, &format!("argument `{name}`"))
            }));
        }
        let values = values.into_iter().collect::<Option<Vec<_>>>()?;
        Some(hir::Expr { kind: hir::ExprKind::Offload(id, index, values), ty, span })
    }

    /// Reports a call of a method that needs a parameter which the offload does not have.
    fn needed_param(
        &mut self,
        id: OffloadId,
        info: &OffloadInfo,
        kind: &OffloadKind,
        method: &Method,
        span: Span,
    ) -> Option<()> {
        let Some(needed) = method.needs else { return Some(()) };
        let Some(hir::Offload { target: hir::OffloadTarget::Kind(config), .. }) =
            &self.cx.offloads[id.index()]
        else {
            return None;
        };
        if !config.param(needed).is_zero() {
            return Some(());
        }
        let (name, kind) = (&info.name, kind.name);
        let message =
            format!("`{name}.{}` needs the parameter `{needed}` of `{name}`", method.name);
        let help = format!("declare it: `offload {name} : {kind}<..., {needed} = 1000000>`");
        self.report(Diagnostic::new("E0626", span, message).help(help));
        None
    }

    /// Returns the type of a method's reply. Each reply of several parts has its own structure.
    pub(super) fn reply_type(
        &mut self,
        id: OffloadId,
        info: &OffloadInfo,
        method: usize,
        reply: ReplyType,
    ) -> Option<Type> {
        match reply {
            ReplyType::None => Some(Type::Void),
            ReplyType::One(ty) => info.value_type(ty),
            ReplyType::Record(parts) => {
                if let Some(known) = self.cx.replies.get(&(id, method)) {
                    return Some(Type::Struct(*known));
                }
                let field = |(name, ty): &(&str, ValueType)| {
                    Some(hir::Field { name: (*name).to_owned(), ty: info.value_type(*ty)? })
                };
                let fields = parts.iter().map(field).collect::<Option<Vec<_>>>()?;
                let ResolvedTarget::Kind(kind) = &info.kind else {
                    unreachable!("engines have no records of parts")
                };
                let record = StructId(self.structs.len() as u32);
                self.structs.push(hir::Struct {
                    name: format!("{}.{}", info.name, kind.methods[method].name),
                    is_header: false,
                    fields,
                    span: info.span,
                });
                self.cx.replies.insert((id, method), record);
                Some(Type::Struct(record))
            }
        }
    }
}

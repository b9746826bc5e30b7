//! Names, fields, elements and bits, as values and as targets of assignments.

use super::scope::Symbol;
use super::{Checker, TypeDecl, fold};
use crate::ast::{Expr, ExprKind, Name};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, Meta, Place, Projection, Root, Type};
use crate::source::Span;
use crate::suggest::suggest_or_list;

/// The kind of access to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    /// An assignment, including compound assignments. Their reads of the old value do not count as
    /// uses.
    Write,
}

/// The result of resolving an expression that may be a place.
pub(super) enum Resolved {
    Place(Place),
    /// A value that cannot be assigned.
    Value(hir::Expr),
}

impl Resolved {
    fn ty(&self) -> &Type {
        match self {
            Self::Place(place) => &place.ty,
            Self::Value(value) => &value.ty,
        }
    }
}

/// The properties of the packet.
const PROPERTIES: [(&str, Meta); 5] = [
    ("ingress", Meta::Ingress),
    ("egress", Meta::Egress),
    ("length", Meta::Length),
    ("window", Meta::Window),
    ("arrival", Meta::Arrival),
];

/// The names of packet operations, for suggestions.
pub(super) const OPERATIONS: [&str; 5] = ["push", "pop", "insert", "remove", "reset"];

impl Checker<'_> {
    /// Checks the target of an assignment.
    pub(super) fn assigned(&mut self, e: &Expr) -> Option<Place> {
        match self.resolve(e, Access::Write)? {
            Resolved::Place(place) => Some(place),
            Resolved::Value(_) => {
                self.report(
                    Diagnostic::new("E0409", e.span, "this cannot be assigned").help(
                        "variables, fields of views, their elements and bits, and `packet.egress` can be assigned",
                    ),
                );
                None
            }
        }
    }

    pub(super) fn resolve(&mut self, e: &Expr, access: Access) -> Option<Resolved> {
        match &e.kind {
            ExprKind::Name(name) => self.resolve_name(name, e.span, access),
            ExprKind::Field(base, field) => {
                if let ExprKind::Name(name) = &base.kind {
                    if &**name == "packet" {
                        return self.packet_property(field, e.span, access);
                    }
                    if let Some(Symbol::Type(index)) = self.lookup(name) {
                        return self.member_of_type(index, field, base.span);
                    }
                    if let Some(Symbol::Offload(_)) = self.lookup(name) {
                        let message = format!("`{name}.{}` needs its arguments", field.text);
                        self.report(Diagnostic::new("E0216", e.span, message).help(
                            "an offload has only methods, which are called: `name.method(...)`",
                        ));
                        return None;
                    }
                }
                let base = self.nested(base.span, |c| c.resolve(base, access))?;
                self.project_field(base, field, e.span)
            }
            ExprKind::Index(base, index) => {
                let base = self.nested(base.span, |c| c.resolve(base, access));
                let index = self.expr(index, None).and_then(|i| self.number(i));
                self.project_index(base?, index?, e.span, access)
            }
            ExprKind::Slice(base, high, low) => {
                let base = self.nested(base.span, |c| c.resolve(base, access));
                let bounds = (self.const_number(high), self.const_number(low));
                let (base, high, low) = (base?, bounds.0?.to_shift(), bounds.1?.to_shift());
                self.project_slice(base, high, low, e.span, access)
            }
            ExprKind::Run(base, index, count) => {
                let base = self.nested(base.span, |c| c.resolve(base, access));
                let index = self.expr(index, None).and_then(|i| self.number(i));
                let count = self.const_number(count);
                self.project_run(base?, index?, count?.to_shift(), e.span, access)
            }
            _ => Some(Resolved::Value(self.expr(e, None)?)),
        }
    }

    fn resolve_name(&mut self, name: &str, span: Span, access: Access) -> Option<Resolved> {
        let Some(symbol) = self.lookup(name) else {
            if name == "packet" {
                self.report(Diagnostic::new("E0215", span, "`packet` is not a value").help(
                    "read `packet.length` and the like, or its bytes through a view or a payload offload",
                ));
                return None;
            }
            let help = self.suggestion_or_word(name, |s| {
                !matches!(
                    s,
                    Symbol::Type(_) | Symbol::Step(_) | Symbol::Engine(_) | Symbol::Function(_)
                )
            });
            let unknown = Diagnostic::new("E0201", span, format!("there is no `{name}` here"))
                .here("not declared");
            let unknown = match self.local_elsewhere(name, span) {
                Some(found) => found.explain(unknown),
                None => unknown.help_if(help),
            };
            self.report(unknown);
            return None;
        };
        let place = |root, ty: Type| Resolved::Place(Place { root, path: Vec::new(), ty, span });
        match symbol {
            Symbol::Var(id) => {
                self.cx.note(id, access);
                Some(place(Root::Var(id), self.cx.vars[id.index()].ty.clone()))
            }
            Symbol::LoopVar(id) => {
                if access == Access::Write {
                    let message = format!("`{name}` counts a loop and cannot be assigned in it");
                    self.report(
                        Diagnostic::new("E0411", span, message)
                            .help("copy it to a variable of your own; `break` leaves the loop"),
                    );
                    return None;
                }
                self.cx.note(id, access);
                Some(place(Root::Var(id), self.cx.vars[id.index()].ty.clone()))
            }
            Symbol::View(id) => {
                self.cx.view_used[id.index()] = true;
                Some(place(Root::View(id), Type::Struct(self.cx.view_headers[id.index()]?)))
            }
            Symbol::LocalView(var, header) => {
                self.cx.note(var, Access::Read);
                Some(place(Root::Local(var, header), Type::Struct(header)))
            }
            Symbol::Const(_) | Symbol::LocalConst(_) | Symbol::Member(..)
                if access == Access::Write =>
            {
                let message = format!("`{name}` is constant and cannot be assigned");
                let mut diagnostic = Diagnostic::new("E0410", span, message);
                if let Some(declared) = self.declared_at(name) {
                    diagnostic = diagnostic.also(declared, "declared here");
                }
                self.report(diagnostic.help(
                    "to keep a value as long as the packet, declare a variable in the engine",
                ));
                None
            }
            Symbol::Const(index) => {
                self.consts[index].used = true;
                let value = self.resolve_const(index)?;
                Some(Resolved::Value(hir::Expr { span, ..value }))
            }
            Symbol::LocalConst(index) => {
                let value = self.local_consts[index].clone();
                Some(Resolved::Value(hir::Expr { span, ..value }))
            }
            Symbol::Member(index, member) => {
                Some(Resolved::Value(self.member(index, member, span)?))
            }
            Symbol::Poisoned => None,
            Symbol::Type(_)
            | Symbol::Function(_)
            | Symbol::Engine(_)
            | Symbol::Offload(_)
            | Symbol::Step(_) => {
                let help = match symbol {
                    Symbol::Function(_) => "call it: `name(...)`",
                    Symbol::Offload(_) => "call one of its methods: `name.method(...)`",
                    Symbol::Step(_) => "`next STEP;` continues at a step",
                    Symbol::Engine(_) => {
                        "declare an offload for it: `offload NAME : engine ENGINE;`"
                    }
                    _ => "a value of the type is written `(TYPE){ ... }`",
                };
                let message = format!("`{name}` is {}, not a value", symbol.describe());
                self.report(Diagnostic::new("E0215", span, message).help(help));
                None
            }
        }
    }

    /// Reports `Reason.A`.
    fn member_of_type(&mut self, index: usize, field: &Name, span: Span) -> Option<Resolved> {
        let (name, help) = match self.types[index].decl {
            TypeDecl::Enum(decl) => {
                let members: Vec<&str> = decl.members.iter().map(|(m, _)| &*m.text).collect();
                let help = match suggest_or_list(&field.text, "its members", members.clone()) {
                    _ if members.contains(&&*field.text) => {
                        format!("write `{}`: its members are names of the file", field.text)
                    }
                    Some(near) => format!("{near}; members are written without the type"),
                    None => "it has no members".to_owned(),
                };
                (&decl.name.text, help)
            }
            TypeDecl::Struct(decl) => {
                (&decl.name.text, "a value of the type is written `(TYPE){ ... }`".to_owned())
            }
        };
        let message = format!("`{name}` is a type, not a value");
        self.report(Diagnostic::new("E0215", span, message).help(help));
        None
    }

    fn packet_property(&mut self, field: &Name, span: Span, access: Access) -> Option<Resolved> {
        let Some((_, meta)) = PROPERTIES.iter().find(|(name, _)| *name == &*field.text) else {
            let names: Vec<&str> = PROPERTIES.iter().map(|(n, _)| *n).chain(OPERATIONS).collect();
            let help = if OPERATIONS.contains(&&*field.text) {
                Some(format!("it is an operation: `packet.{}(...)`", field.text))
            } else {
                crate::suggest::suggest_or_list(&field.text, "the packet has", names)
            };
            let message = format!("the packet has no property `{}`", field.text);
            self.report(Diagnostic::new("E0209", field.span, message).help_if(help));
            return None;
        };
        self.needs_packet(span, "the packet")?;
        let ty = Type::Bits(if *meta == Meta::Arrival { 64 } else { 16 });
        if *meta == Meta::Egress {
            return Some(Resolved::Place(Place {
                root: Root::Meta(*meta),
                path: Vec::new(),
                ty,
                span,
            }));
        }
        if access == Access::Write {
            let message = format!("`packet.{}` can only be read", field.text);
            let help = match meta {
                Meta::Length | Meta::Window => {
                    "bytes are added and removed by `packet.push`, `pop`, `insert`, `remove` and the payload offload"
                }
                _ => "only `packet.egress` can be assigned",
            };
            self.report(Diagnostic::new("E0413", span, message).help(help));
            return None;
        }
        Some(Resolved::Value(hir::Expr { kind: hir::ExprKind::Meta(*meta), ty, span }))
    }

    /// Reports use of the packet where there is none: in constants and in called engines.
    pub(super) fn needs_packet(&mut self, span: Span, what: &str) -> Option<()> {
        if self.body.constant {
            let message = format!("{what} is not known at compile time");
            self.report(Diagnostic::new("E0402", span, message));
            return None;
        }
        if self.cx.reply.is_some() {
            let message = format!("{what} does not exist in a called engine");
            self.report(
                Diagnostic::new("E0612", span, message)
                    .help("pass what it needs as parameters: `engine NAME(u32 key) -> TYPE`"),
            );
            return None;
        }
        Some(())
    }

    fn project_field(&mut self, base: Resolved, field: &Name, span: Span) -> Option<Resolved> {
        let ty = base.ty();
        let Type::Struct(id) = *ty else {
            let ty = ty.clone();
            if ty == Type::Void {
                return self.void_value(span);
            }
            self.unknown_field(field, &ty);
            return None;
        };
        let of = &self.structs[id.index()];
        let Some(index) = of.fields.iter().position(|f| *f.name == *field.text) else {
            self.unknown_field(field, &Type::Struct(id));
            return None;
        };
        Some(match base {
            Resolved::Place(mut place) => {
                place.ty = of.fields[index].ty.clone();
                place.path.push(Projection::Field(index as u32));
                Resolved::Place(Place { span, ..place })
            }
            Resolved::Value(value) => {
                let width = |ty: &Type| super::width(&self.enums, &self.structs, ty);
                Resolved::Value(fold::field(value, index, of, width, span))
            }
        })
    }

    fn project_index(
        &mut self,
        base: Resolved,
        index: hir::Expr,
        span: Span,
        access: Access,
    ) -> Option<Resolved> {
        let base = self.whole(base, span, access)?;
        let ty = base.ty().clone();
        let (count, element) = match &ty {
            Type::Array(element, count) => (*count, Some((**element).clone())),
            Type::Bits(width) => (*width, None),
            _ => return self.not_indexable(&ty, span),
        };
        if let Some(i) = fold::value(&index)
            && i.to_shift() >= count
        {
            let last = count - 1;
            let message = format!(
                "index {i} is out of range: the last one of `{}` is {last}",
                self.type_name(&ty)
            );
            self.report(
                Diagnostic::new("W0605", index.span, message)
                    .help("it reads as zero, and nothing is written"),
            );
        }
        Some(match (base, element) {
            (Resolved::Place(mut place), Some(element)) => {
                place.ty = element;
                place.path.push(Projection::Index(index));
                Resolved::Place(Place { span, ..place })
            }
            (base, None) => part(base, Bits::Run(index, 1), span, access),
            (Resolved::Value(value), Some(element)) => {
                let width = self.width(&element);
                Resolved::Value(fold::element(value, index, element, count, width, span))
            }
        })
    }

    fn project_slice(
        &mut self,
        base: Resolved,
        high: u32,
        low: u32,
        span: Span,
        access: Access,
    ) -> Option<Resolved> {
        let base = self.whole(base, span, access)?;
        let Type::Bits(width) = *base.ty() else {
            let ty = base.ty().clone();
            return self.not_indexable(&ty, span);
        };
        if high < low || high >= width {
            let message = format!("`[{high}:{low}]` is not a range of bits of a `u{width}`");
            let help = format!("the higher bit comes first; the highest bit is {}", width - 1);
            self.report(Diagnostic::new("E0405", span, message).help(help));
            return None;
        }
        Some(part(base, Bits::Slice(high, low), span, access))
    }

    /// Selects `x[index +: count]`.
    fn project_run(
        &mut self,
        base: Resolved,
        index: hir::Expr,
        count: u32,
        span: Span,
        access: Access,
    ) -> Option<Resolved> {
        let base = self.whole(base, span, access)?;
        let Type::Bits(width) = *base.ty() else {
            let ty = base.ty().clone();
            return self.not_indexable(&ty, span);
        };
        if count == 0 || count > width {
            let message = format!("`+: {count}` selects no run of bits of a `u{width}`");
            let help = format!("the number of bits, after `+:`, is 1 to {width}");
            self.report(Diagnostic::new("E0405", span, message).help(help));
            return None;
        }
        if let Some(from) = fold::value(&index) {
            let from = from.to_shift();
            match from.checked_add(count - 1).filter(|high| *high < width) {
                Some(high) => return self.project_slice(base, high, from, span, access),
                None => {
                    let message = format!("bits from {from} on are out of range of `u{width}`");
                    self.report(
                        Diagnostic::new("W0605", index.span, message)
                            .help("those beyond read as zero, and are not written"),
                    );
                }
            }
        }
        Some(part(base, Bits::Run(index, count), span, access))
    }

    /// Reports an assignment to bits that are selected from bits of a place.
    fn whole(&mut self, base: Resolved, span: Span, access: Access) -> Option<Resolved> {
        let partial = matches!(&base, Resolved::Place(p)
            if matches!(p.path.last(), Some(Projection::Slice(..) | Projection::Run(..))));
        if access == Access::Write && partial {
            self.report(
                Diagnostic::new("E0409", span, "bits of bits cannot be assigned")
                    .help("select them at once: `x[hi:lo]`"),
            );
            return None;
        }
        Some(base)
    }

    fn not_indexable<T>(&mut self, ty: &Type, span: Span) -> Option<T> {
        if *ty == Type::Void {
            return self.void_value(span);
        }
        let message = format!("`{}` has no elements and no bits to select", self.type_name(ty));
        self.report(
            Diagnostic::new("E0317", span, message)
                .help("arrays have elements and `uN` has bits; cast other types to `uN` first"),
        );
        None
    }
}

/// A selection of bits of a number.
enum Bits {
    /// Bits `hi..=lo`.
    Slice(u32, u32),
    /// A number of bits, starting at an index.
    Run(hir::Expr, u32),
}

/// Selects bits: as a place for an assignment, else as a value.
fn part(base: Resolved, bits: Bits, span: Span, access: Access) -> Resolved {
    let value = match base {
        Resolved::Place(mut place) if access == Access::Write => {
            let (width, projection) = match bits {
                Bits::Slice(high, low) => (high - low + 1, Projection::Slice(high, low)),
                Bits::Run(index, count) => (count, Projection::Run(index, count)),
            };
            place.path.push(projection);
            return Resolved::Place(Place { span, ty: Type::Bits(width), ..place });
        }
        Resolved::Place(place) => read(place),
        Resolved::Value(value) => value,
    };
    Resolved::Value(match bits {
        Bits::Slice(high, low) => fold::slice(value, high, low, span),
        Bits::Run(index, count) => fold::run(value, index, count, span),
    })
}

/// Reads a place.
pub(super) fn read(place: Place) -> hir::Expr {
    hir::Expr { ty: place.ty.clone(), span: place.span, kind: hir::ExprKind::Read(place) }
}

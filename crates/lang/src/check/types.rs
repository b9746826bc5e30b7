//! Checks types and their limits.

use std::collections::HashMap;

use wireloom_bits::{Bits, MAX_WIDTH};

use super::{Checker, Resolution, TypeDecl, fold};
use crate::ast::{self, TypeExpr, TypeKind};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, EnumId, StructId, Type};
use crate::source::Span;

use super::scope::Symbol;

/// The maximum width of `uN` in bits.
pub(super) const MAX_BITS: u32 = 1024;
/// The maximum number of elements of an array.
const MAX_ELEMENTS: u64 = 4096;
/// The maximum width of the underlying type of an enumeration in bits.
const MAX_ENUM_BITS: u32 = 64;
/// The maximum length of a header in bytes: the capacity of the header window after pushes.
const MAX_HEADER_BYTES: u32 = 256;

impl<'a> Checker<'a> {
    /// Resolves a type, including `void`.
    pub(super) fn ty(&mut self, written: &TypeExpr) -> Option<Type> {
        match &written.kind {
            TypeKind::Bits(n) if (1..=MAX_BITS).contains(n) => Some(Type::Bits(*n)),
            TypeKind::Bits(_) => {
                let message = format!("the width of a number must be 1 to {MAX_BITS} bits");
                self.report(
                    Diagnostic::new("E0301", written.span, message)
                        .help("wider data is an array or a structure"),
                );
                None
            }
            TypeKind::Bool => Some(Type::Bool),
            TypeKind::Void => Some(Type::Void),
            TypeKind::Auto => {
                self.report(
                    Diagnostic::new(
                        "E0314",
                        written.span,
                        "`auto` needs a value to take its type from",
                    )
                    .help("write the type"),
                );
                None
            }
            TypeKind::Named(name) => match self.lookup(name) {
                Some(Symbol::Type(index)) => self.resolve_type(index),
                Some(Symbol::Poisoned) => None,
                found => {
                    let message = match found {
                        Some(other) => format!("`{name}` is {}, not a type", other.describe()),
                        None => format!("there is no type `{name}`"),
                    };
                    let help = match &**name {
                        "bit" => Some("P4's `bit` is `u1`, and `bit<32>` is `u32`".to_owned()),
                        _ => self.suggestion(name, |s| matches!(s, Symbol::Type(_))),
                    };
                    self.report(Diagnostic::new("E0202", written.span, message).help_if(help));
                    None
                }
            },
            TypeKind::Array(element, size) => {
                let element_type = self.value_type(element);
                let count = self.array_size(size);
                let (element, count) = (element_type?, count?);
                let ty = Type::Array(Box::new(element.clone()), count);
                self.bounded(ty, u64::from(self.width(&element)) * u64::from(count), written.span)
            }
        }
    }

    /// Resolves a type that has values.
    pub(super) fn value_type(&mut self, written: &TypeExpr) -> Option<Type> {
        match self.ty(written)? {
            Type::Void => {
                self.report(
                    Diagnostic::new("E0313", written.span, "`void` has no values")
                        .help("only a function's result can be `void`"),
                );
                None
            }
            ty => Some(ty),
        }
    }

    fn bounded(&mut self, ty: Type, bits: u64, span: Span) -> Option<Type> {
        if bits <= u64::from(MAX_WIDTH) {
            return Some(ty);
        }
        let message = format!("this type is {bits} bits wide; the limit is {MAX_WIDTH}");
        self.report(
            Diagnostic::new("E0309", span, message)
                .help("keep large tables in an offload of kind `array`, or split the variable"),
        );
        None
    }

    fn array_size(&mut self, size: &ast::Expr) -> Option<u32> {
        let count = self.const_number(size)?;
        match count.to_u64() {
            Some(n) if (1..=MAX_ELEMENTS).contains(&n) => Some(n as u32),
            _ => {
                let message =
                    format!("an array must have 1 to {MAX_ELEMENTS} elements, not {count}");
                self.report(Diagnostic::new("E0305", size.span, message));
                None
            }
        }
    }

    /// Resolves a declaration of a type and returns the type.
    pub(super) fn resolve_type(&mut self, index: usize) -> Option<Type> {
        let (decl, name) = match self.types[index].decl {
            TypeDecl::Enum(e) => (TypeDecl::Enum(e), &e.name),
            TypeDecl::Struct(s) => (TypeDecl::Struct(s), &s.name),
        };
        match &self.types[index].state {
            Resolution::Done(ty) => return ty.clone(),
            Resolution::InProgress => {
                let message = format!("`{}` contains itself", name.text);
                self.report(
                    Diagnostic::new("E0302", name.span, message)
                        .help("a type cannot hold a value of its own type; there are no pointers"),
                );
                return None;
            }
            Resolution::Open => {}
        }
        self.types[index].state = Resolution::InProgress;
        let ty = self.nested(name.span, |c| {
            c.at_level(1, |c| match decl {
                TypeDecl::Enum(e) => c.enumeration(index, e),
                TypeDecl::Struct(s) => c.structure(s),
            })
        });
        self.types[index].state = Resolution::Done(ty.clone());
        ty
    }

    fn enumeration(&mut self, index: usize, decl: &'a ast::EnumDecl) -> Option<Type> {
        if decl.members.is_empty() {
            let message = format!("enumeration `{}` has no members", decl.name.text);
            self.report(Diagnostic::new("E0315", decl.name.span, message));
            return None;
        }
        let underlying = match &decl.underlying {
            None => None,
            Some(written) => match self.ty(written)? {
                Type::Bits(n) if n <= MAX_ENUM_BITS => Some(n),
                _ => {
                    let message =
                        format!("an enumeration must be a number of at most {MAX_ENUM_BITS} bits");
                    self.report(
                        Diagnostic::new("E0311", written.span, message)
                            .help("write `: u8`, for example"),
                    );
                    return None;
                }
            },
        };
        let limit = underlying.unwrap_or(MAX_ENUM_BITS);
        let mut next = Some(Bits::zero(MAX_ENUM_BITS));
        let mut members = Vec::new();
        let mut values: HashMap<Bits, &ast::Name> = HashMap::new();
        for (i, (name, written)) in decl.members.iter().enumerate() {
            let (value, span) = match written {
                Some(e) => (self.const_number(e), e.span),
                None => (next.clone(), name.span),
            };
            // The error in the value has been reported. Later members that count on from it are
            // skipped.
            let Some(value) = value else {
                next = None;
                continue;
            };
            if value.significant() > limit {
                let message =
                    format!("{value} does not fit in the {limit} bits of `{}`", decl.name.text);
                let help = "give it a wider underlying type: `enum NAME : u16 { ... };`";
                self.report(Diagnostic::new("E0311", span, message).help(help));
                next = None;
                continue;
            }
            let value = value.resize(MAX_ENUM_BITS);
            if let Some(other) = values.insert(value.clone(), name) {
                let message = format!("`{}` has the same value as `{}`", name.text, other.text);
                self.report(
                    Diagnostic::new("W0607", name.span, message)
                        .also(other.span, format!("this is {value} too"))
                        .help("reasons and reports will show only one of the names"),
                );
            }
            self.types[index].members[i] = Some(value.clone());
            // The largest 64-bit number has no successor.
            let one = Bits::new(MAX_ENUM_BITS + 1, 1);
            next = Some(value.resize(MAX_ENUM_BITS + 1).add(&one));
            members.push((name.text.to_string(), value));
        }
        if members.len() < decl.members.len() {
            return None;
        }
        let least = members.iter().map(|(_, v)| v.significant()).max().unwrap_or(0).max(1);
        let width = underlying.unwrap_or(least);
        let members = members.into_iter().map(|(n, v)| (n, v.resize(width))).collect();
        let id = EnumId(self.enums.len() as u32);
        self.enums.push(hir::Enum {
            name: decl.name.text.to_string(),
            width,
            members,
            span: decl.name.span,
        });
        Some(Type::Enum(id))
    }

    fn structure(&mut self, decl: &'a ast::StructDecl) -> Option<Type> {
        let what = if decl.is_header { "header" } else { "structure" };
        if decl.fields.is_empty() {
            let message = format!("{what} `{}` has no fields", decl.name.text);
            self.report(Diagnostic::new("E0315", decl.name.span, message));
            return None;
        }
        let mut fields: Vec<hir::Field> = Vec::new();
        let mut places: HashMap<&str, Span> = HashMap::new();
        let mut complete = true;
        let mut bits = 0u64;
        for (name, written) in &decl.fields {
            if let Some(before) = places.insert(&name.text, name.span) {
                let message = format!("{what} `{}` has two fields `{}`", decl.name.text, name.text);
                self.report(Diagnostic::new("E0212", name.span, message).also(before, "the first"));
                complete = false;
            }
            match self.value_type(written) {
                Some(ty) => {
                    bits += u64::from(self.width(&ty));
                    fields.push(hir::Field { name: name.text.to_string(), ty });
                }
                None => complete = false,
            }
        }
        if !complete {
            return None;
        }
        if decl.is_header && !bits.is_multiple_of(8) {
            let message = format!(
                "header `{}` has {bits} bits, which is not a whole number of bytes",
                decl.name.text
            );
            let help =
                format!("{} bits are missing: a reserved field, or a wrong width?", 8 - bits % 8);
            self.report(Diagnostic::new("E0303", decl.name.span, message).help(help));
            return None;
        }
        if decl.is_header && bits > u64::from(MAX_HEADER_BYTES) * 8 {
            let message = format!("header `{}` has {} bytes", decl.name.text, bits / 8);
            let help = format!("the header window never holds more than {MAX_HEADER_BYTES} bytes");
            self.report(Diagnostic::new("E0304", decl.name.span, message).help(help));
            return None;
        }
        let id = StructId(self.structs.len() as u32);
        let ty = self.bounded(Type::Struct(id), bits, decl.name.span)?;
        self.structs.push(hir::Struct {
            name: decl.name.text.to_string(),
            is_header: decl.is_header,
            fields,
            span: decl.name.span,
        });
        Some(ty)
    }

    /// Returns the value of an enumeration's member. Inside its own declaration a member is a plain
    /// number.
    pub(super) fn member(&mut self, index: usize, member: usize, span: Span) -> Option<hir::Expr> {
        if matches!(self.types[index].state, Resolution::InProgress) {
            let Some(value) = self.types[index].members[member].clone() else {
                self.report(
                    Diagnostic::new("E0403", span, "the value of this member is not known yet")
                        .help("a member can refer only to earlier members"),
                );
                return None;
            };
            return Some(fold::constant(value, Type::Bits(MAX_ENUM_BITS), span));
        }
        let Some(Type::Enum(id)) = self.resolve_type(index) else { return None };
        let value = self.enums[id.index()].members[member].1.clone();
        Some(fold::constant(value, Type::Enum(id), span))
    }

    /// Resolves the header of a view.
    pub(super) fn header_type(&mut self, written: &TypeExpr) -> Option<StructId> {
        match self.ty(written)? {
            Type::Struct(id) if self.structs[id.index()].is_header => Some(id),
            ty => {
                let message = format!(
                    "only a header can be viewed in a packet, but `{}` is not one",
                    self.type_name(&ty)
                );
                let help = match ty {
                    Type::Struct(_) => "declare it with `header` instead of `struct`",
                    _ => "declare a `header` with the fields that the packet has there",
                };
                self.report(Diagnostic::new("E0616", written.span, message).help(help));
                None
            }
        }
    }
}

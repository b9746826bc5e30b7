//! Checks functions. A function is checked once for each engine that calls it and for each
//! combination of views and values among its arguments.

use super::place::Access;
use super::scope::Symbol;
use super::stmt::Body;
use super::{Checker, flow};
use crate::ast::{self, Expr, ExprKind};
use crate::diagnostics::Diagnostic;
use crate::hir::{self, FunctionId, StructId, Type, VarKind};
use crate::source::Span;

/// The maximum depth of nested calls.
const MAX_CALL_DEPTH: usize = 64;

/// A view as an argument for a header parameter: the header and the offset.
type ViewArgument = (StructId, hir::Expr);

impl Checker<'_> {
    pub(super) fn call_function(
        &mut self,
        index: usize,
        args: &[Expr],
        span: Span,
    ) -> Option<hir::Expr> {
        self.not_constant(span)?;
        self.functions[index].used = true;
        let (decl, level) = (self.functions[index].decl, self.functions[index].level);
        let names: Vec<&str> = decl.params.iter().map(|(n, _)| &*n.text).collect();
        let counted =
            self.argument_count(&format!("`{}`", decl.name.text), &names, args.len(), span);
        let types: Vec<Option<Type>> =
            self.at_level(level, |c| decl.params.iter().map(|(_, t)| c.value_type(t)).collect());
        counted?;
        let mut values = Vec::new();
        let mut by_view = Vec::new();
        for ((arg, ty), (name, _)) in args.iter().zip(&types).zip(&decl.params) {
            let place = format!("parameter `{}`", name.text);
            let Some(ty) = ty else {
                // The type of the parameter has an error, but the argument may have errors of its
                // own.
                self.expr(arg, None);
                values.push(None);
                by_view.push(false);
                continue;
            };
            let wants_header = matches!(ty, Type::Struct(id) if self.structs[id.index()].is_header);
            if wants_header && let Some((header, offset)) = self.view_argument(arg) {
                if Type::Struct(header) != *ty {
                    let (wanted, got) = (self.type_name(ty), self.type_name(&Type::Struct(header)));
                    let message = format!("{place} is a `{wanted}`, but this is a view of `{got}`");
                    self.report(Diagnostic::new("E0306", arg.span, message).help(format!(
                        "declare a view at the same offset: `{wanted} name @ offset;`"
                    )));
                    values.push(None);
                } else {
                    values.push(Some(offset));
                }
                by_view.push(true);
                continue;
            }
            let value = self.expr(arg, Some(ty)).and_then(|v| self.coerce(v, ty, &place));
            values.push(value);
            by_view.push(false);
        }
        let id = self.instance(index, by_view, span)?;
        let values = values.into_iter().collect::<Option<Vec<_>>>()?;
        let ty = self.cx.functions[id.index()].result.clone();
        Some(hir::Expr { kind: hir::ExprKind::Call(id, values), ty, span })
    }

    /// Returns the header and the offset of an argument that is a view.
    fn view_argument(&mut self, arg: &Expr) -> Option<ViewArgument> {
        let ExprKind::Name(name) = &arg.kind else { return None };
        match self.lookup(name)? {
            Symbol::View(id) => {
                self.cx.view_used[id.index()] = true;
                let view = self.cx.views[id.index()].as_ref()?;
                let (header, offset) = (view.header, view.offset.clone());
                if view.chunks.is_some() {
                    let message = format!("the function cannot be passed `{name}` as a view");
                    let header = &self.structs[header.index()].name;
                    let help = format!(
                        "it is a view of the whole packet; pass its value: `({header}){name}`"
                    );
                    self.report(Diagnostic::new("E0627", arg.span, message).help(help));
                }
                Some((header, hir::Expr { span: arg.span, ..offset }))
            }
            Symbol::LocalView(var, header) => {
                self.cx.note(var, Access::Read);
                let place = hir::Place {
                    root: hir::Root::Var(var),
                    path: Vec::new(),
                    ty: Type::Bits(16),
                    span: arg.span,
                };
                Some((header, super::place::read(place)))
            }
            _ => None,
        }
    }

    /// Returns the instance of a function for this engine, with certain header parameters passed as
    /// views.
    fn instance(&mut self, index: usize, by_view: Vec<bool>, span: Span) -> Option<FunctionId> {
        let key = (index, by_view);
        if let Some(known) = self.cx.function_ids.get(&key) {
            return *known;
        }
        let decl = self.functions[index].decl;
        if self.cx.open_calls.contains(&index) {
            let message = format!("`{}` calls itself", decl.name.text);
            let chain: Vec<&str> =
                self.cx.open_calls.iter().map(|&i| &*self.functions[i].decl.name.text).collect();
            let help = format!(
                "functions are inlined ({} > {}); to loop at run time, end the step with `next` to an earlier one",
                chain.join(" > "),
                decl.name.text
            );
            self.report(
                Diagnostic::new("E0518", span, message)
                    .also(decl.name.span, "declared here")
                    .help(help),
            );
            return None;
        }
        if self.cx.open_calls.len() >= MAX_CALL_DEPTH {
            let message = format!("calls are nested more than {MAX_CALL_DEPTH} levels deep here");
            self.report(
                Diagnostic::new("E0524", span, message)
                    .help("functions are inlined; flatten the chain"),
            );
            return None;
        }
        self.cx.open_calls.push(index);
        let function = self.nested(span, |c| c.function(index, &key.1));
        self.cx.open_calls.pop();
        let id = function.map(|f| {
            let id = FunctionId(self.cx.functions.len() as u32);
            self.cx.functions.push(f);
            id
        });
        self.cx.function_ids.insert(key, id);
        id
    }

    /// Checks the body of a declaration in the scopes that the declaration can see.
    fn function(&mut self, index: usize, by_view: &[bool]) -> Option<hir::Function> {
        let (decl, level) = (self.functions[index].decl, self.functions[index].level);
        self.at_level(level, |c| c.scoped(|c| c.function_here(decl, by_view)))
    }

    fn function_here(
        &mut self,
        decl: &ast::FunctionDecl,
        by_view: &[bool],
    ) -> Option<hir::Function> {
        let result = self.ty(&decl.result);
        let mut params = Vec::new();
        for (i, (name, written)) in decl.params.iter().enumerate() {
            let Some(ty) = self.value_type(written) else {
                self.declare(name, Symbol::Poisoned);
                continue;
            };
            let view = match ty {
                Type::Struct(id) if by_view.get(i) == Some(&true) => Some(id),
                _ => None,
            };
            let ty = if view.is_some() { Type::Bits(16) } else { ty };
            let var = self.cx.add_var(&name.text, ty, VarKind::Local, name.span);
            self.cx.uses[var.index()].exempt = true;
            params.push(var);
            self.declare(
                name,
                view.map_or(Symbol::Var(var), |header| Symbol::LocalView(var, header)),
            );
        }
        let result = result?;
        let complete = params.len() == decl.params.len();
        let body = Body { result: Some(result.clone()), ..Body::default() };
        let outer = std::mem::replace(&mut self.body, body);
        let first_local = self.cx.vars.len();
        // The body has its own scope, so that names that hide a parameter are reported.
        let stmts = self.scoped(|c| c.statements(&decl.body));
        // After an error the body lacks statements, so it may reach its end without cause.
        let failed = std::mem::replace(&mut self.body, outer).failed;
        self.report_unused_locals(first_local);
        if !failed && result != Type::Void && flow::reaches_end(&stmts) {
            let message = format!("`{}` can end without `return`", decl.name.text);
            self.report(
                Diagnostic::new("E0502", decl.end, message)
                    .here("the end is reached here")
                    .also(decl.result.span, "the result type is declared here")
                    .help("return a value on every path"),
            );
        }
        self.report_unreachable(&stmts);
        complete.then(|| hir::Function {
            name: decl.name.text.to_string(),
            params,
            result,
            body: stmts,
            span: decl.name.span,
        })
    }

    /// Checks a function that is never called. The result is discarded.
    pub(super) fn check_uncalled_function(&mut self, index: usize) {
        let known = self.cx.functions.len();
        let views = vec![false; self.functions[index].decl.params.len()];
        let span = self.functions[index].decl.name.span;
        self.instance(index, views, span);
        self.cx.functions.truncate(known);
        self.cx.function_ids.retain(|_, id| id.is_none_or(|id| id.index() < known));
    }
}

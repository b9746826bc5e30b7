//! Explains unknown names that are declared elsewhere: in another step, in a block that has ended,
//! or in a function.

use super::Checker;
use crate::ast::{EngineDecl, Item, Name, Stmt, StmtKind, TypeExpr, TypeKind};
use crate::diagnostics::Diagnostic;
use crate::source::Span;

/// A declaration that is not visible at the use of its name.
pub(super) struct Elsewhere {
    declared: Span,
    place: String,
    help: String,
}

impl Elsewhere {
    /// Adds the declaration and the remedy to the error about the unknown name.
    pub(super) fn explain(self, unknown: Diagnostic) -> Diagnostic {
        unknown.also(self.declared, self.place).help(self.help)
    }
}

/// A declaration in a body.
#[derive(Clone, Copy)]
enum Local<'a> {
    Variable(&'a Name, &'a TypeExpr),
    View(&'a Name, &'a TypeExpr),
    Const(&'a Name),
    Counter(&'a Name),
}

impl Local<'_> {
    fn name(&self) -> &Name {
        match self {
            Self::Variable(name, _)
            | Self::View(name, _)
            | Self::Const(name)
            | Self::Counter(name) => name,
        }
    }
}

impl Checker<'_> {
    /// Finds a local of the current engine that has an unknown name.
    pub(super) fn local_elsewhere(&self, name: &str, used: Span) -> Option<Elsewhere> {
        let engine: &EngineDecl = self.engine_decls[self.cx.decl?].decl;
        let mut in_other_step = None;
        let mut in_function = None;
        for item in &engine.items {
            match item {
                Item::Step(step) => {
                    let Some(local) = find(&step.body, name) else { continue };
                    let (begin, end) = (step.name.span, step.end);
                    if begin.file == used.file && (begin.start..end.end).contains(&used.start) {
                        return Some(out_of_block(local));
                    }
                    in_other_step.get_or_insert((local, &step.name));
                }
                Item::Function(function) => {
                    let local = find(&function.body, name);
                    in_function = in_function.or(local.map(|local| (local, &function.name)));
                }
                _ => {}
            }
        }
        let of_step = in_other_step.map(|(local, step)| match self.body.in_step {
            true => self.in_other_step(local, &step.text),
            false => Elsewhere {
                declared: local.name().span,
                place: format!("a local of step `{}`", step.text),
                help: format!(
                    "functions see the engine's variables and their own: pass `{name}` as an \
                     argument"
                ),
            },
        });
        of_step.or_else(|| {
            in_function.map(|(local, function)| Elsewhere {
                declared: local.name().span,
                place: format!("a local of function `{}`", function.text),
                help: "return it from the function, or declare it in the engine".to_owned(),
            })
        })
    }

    fn in_other_step(&self, local: Local<'_>, step: &str) -> Elsewhere {
        let name = &local.name().text;
        let help = match local {
            Local::Variable(_, ty) => match self.declaration(name, ty, local.name().span) {
                Some(declaration) => format!(
                    "declare it in the engine, outside of the steps (`{declaration}`), and assign \
                     it in step `{step}` (`{name} = ...;`): such variables go with the packet from \
                     step to step"
                ),
                None => format!(
                    "declare variables in the engine, outside of the steps, for the parts of the \
                     reply that are needed, and assign them in step `{step}` (`x = {name}.part;`): \
                     such variables go with the packet from step to step"
                ),
            },
            Local::View(_, ty) => {
                let header = self.quoted(ty.span).unwrap_or_else(|| "HEADER".to_owned());
                format!(
                    "declare the view in this step too, or in the engine, outside of the steps: \
                     `{header} {name} @ ...;`"
                )
            }
            Local::Const(_) => {
                "declare it in the engine, outside of the steps, or at file level".to_owned()
            }
            Local::Counter(_) => {
                "copy it to a variable that is declared in the engine, outside of the steps"
                    .to_owned()
            }
        };
        Elsewhere {
            declared: local.name().span,
            place: format!("a local of step `{step}`: it ends with that step"),
            help,
        }
    }

    /// Returns the declaration of a variable without its value. Returns `None` for the reply of an
    /// offload, whose type has no name. The type of an array or of `auto` is known if its step has
    /// been checked.
    fn declaration(&self, name: &str, ty: &TypeExpr, declared: Span) -> Option<String> {
        Some(match &ty.kind {
            TypeKind::Bits(width) => format!("u{width} {name};"),
            TypeKind::Bool => format!("bool {name};"),
            TypeKind::Named(of) => format!("{of} {name};"),
            TypeKind::Array(..) | TypeKind::Auto | TypeKind::Void => {
                let known = self.cx.vars.iter().find(|v| v.span == declared);
                let known = known.map_or("TYPE".to_owned(), |v| self.type_name(&v.ty));
                let (element, sizes) = known.split_at(known.find('[').unwrap_or(known.len()));
                let is_reply = element.contains('.');
                return (!is_reply).then(|| format!("{element} {name}{sizes};"));
            }
        })
    }
}

/// Explains a local of the same step that is used after its block or before its declaration.
fn out_of_block(local: Local<'_>) -> Elsewhere {
    Elsewhere {
        declared: local.name().span,
        place: "a local of a block: it is visible from here to the end of the block".to_owned(),
        help: "declare it before its first use, outside of the block, and assign it in the block"
            .to_owned(),
    }
}

/// Finds the first local of a name in a body.
fn find<'a>(stmts: &'a [Stmt], name: &str) -> Option<Local<'a>> {
    stmts.iter().find_map(|stmt| {
        let local = match &stmt.kind {
            StmtKind::Variable(decl) => Local::Variable(&decl.name, &decl.ty),
            StmtKind::View(decl) => Local::View(&decl.name, &decl.header),
            StmtKind::Const(decl) => Local::Const(&decl.name),
            StmtKind::If(_, then, otherwise) => {
                let of_else = || otherwise.as_ref().and_then(|body| find_one(body, name));
                return find_one(then, name).or_else(of_else);
            }
            StmtKind::Switch(_, cases) => {
                return cases.iter().find_map(|case| find(&case.body, name));
            }
            StmtKind::For(l) if *l.name.text == *name => Local::Counter(&l.name),
            StmtKind::For(l) => return find_one(&l.body, name),
            StmtKind::Block(stmts) => return find(stmts, name),
            _ => return None,
        };
        (*local.name().text == *name).then_some(local)
    })
}

fn find_one<'a>(stmt: &'a Stmt, name: &str) -> Option<Local<'a>> {
    find(std::slice::from_ref(stmt), name)
}

//! Checks the syntax tree and builds the checked program.
//!
//! Names at file level and in engines may be used before they are declared. Types, constants and
//! engines are resolved on first use. Functions are checked once for each engine that calls them
//! and each combination of views and values. Each error is reported once, at its cause; everything
//! that depends on it is skipped silently (`None`).

mod call;
mod constants;
mod convert;
mod cost;
mod engine;
mod expr;
mod flow;
mod fold;
mod function;
mod initial;
mod literal;
mod locals;
mod loops;
mod offload;
mod operators;
mod place;
mod range;
mod scope;
mod stmt;
mod timed;
mod traps;
mod types;
mod usage;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use wireloom_bits::Bits;

use crate::ast;
use crate::diagnostics::{Diagnostic, Sink};
use crate::hir::{self, EngineId, Type};
use crate::parser::Parsed;
use crate::source::{FileId, SourceMap, Span};
use scope::{Scope, Symbol};

/// The maximum total nesting of expressions, statements and called functions. The parser bounds the
/// nesting of the text; this limit also counts the nesting of the declarations that names refer to.
const MAX_DEPTH: u32 = 400;

/// The state of a declaration that is resolved on first use.
enum Resolution<T> {
    Open,
    InProgress,
    Done(Option<T>),
}

struct TypeEntry<'a> {
    decl: TypeDecl<'a>,
    state: Resolution<Type>,
    /// The values of an enumeration's members that are known so far.
    members: Vec<Option<Bits>>,
}

#[derive(Clone, Copy)]
enum TypeDecl<'a> {
    Enum(&'a ast::EnumDecl),
    Struct(&'a ast::StructDecl),
}

struct ConstEntry<'a> {
    decl: &'a ast::ConstDecl,
    /// The number of scopes that the declaration can see: 1 at file level, 2 in an engine.
    level: usize,
    /// The value of `--set`, which replaces the declared value.
    replaced: Option<&'a ast::Expr>,
    state: Resolution<hir::Expr>,
    used: bool,
}

struct FunctionEntry<'a> {
    decl: &'a ast::FunctionDecl,
    level: usize,
    used: bool,
}

struct EngineEntry<'a> {
    decl: &'a ast::EngineDecl,
    state: Resolution<EngineId>,
    used: bool,
}

/// A constant that the command line sets.
pub(crate) struct Set {
    pub(crate) name: String,
    pub(crate) value: ast::Expr,
    /// The span of the complete value, for messages.
    pub(crate) span: Span,
}

pub(crate) struct Checker<'a> {
    sink: &'a mut Sink,
    /// The source files, which help lines quote.
    sources: &'a SourceMap,
    enums: Vec<hir::Enum>,
    structs: Vec<hir::Struct>,
    types: Vec<TypeEntry<'a>>,
    consts: Vec<ConstEntry<'a>>,
    functions: Vec<FunctionEntry<'a>>,
    engine_decls: Vec<EngineEntry<'a>>,
    /// The values of constants declared in blocks.
    local_consts: Vec<hir::Expr>,
    engines: Vec<hir::TypedEngine>,
    /// For each engine of `engines`, the total number of offloads, including nested ones.
    instances: Vec<u64>,
    scopes: Vec<Scope>,
    /// The engine that is currently checked.
    cx: engine::Context,
    /// The step or function that is currently checked.
    body: stmt::Body,
    /// Names in text that the parser could not parse.
    lost: &'a HashSet<Rc<str>>,
    syntax_errors: bool,
    depth: u32,
    /// The constants that wrapped when they were computed, and the casts that permit this.
    wraps: range::Wraps,
    /// The spans of `!x`, where `x` is a number of more than one bit.
    negated_numbers: HashSet<Span>,
}

/// Checks the program of file 0. Returns `None` if and only if an error was reported.
pub(crate) fn check(
    parsed: &Parsed,
    sets: &[Set],
    engine: Option<&str>,
    sources: &SourceMap,
    sink: &mut Sink,
) -> Option<hir::Program> {
    let syntax_errors = sink.has_errors();
    let mut checker = Checker {
        sink,
        sources,
        enums: Vec::new(),
        structs: Vec::new(),
        types: Vec::new(),
        consts: Vec::new(),
        functions: Vec::new(),
        engine_decls: Vec::new(),
        local_consts: Vec::new(),
        engines: Vec::new(),
        instances: Vec::new(),
        scopes: vec![Scope::default()],
        cx: engine::Context::default(),
        body: stmt::Body::default(),
        lost: &parsed.lost,
        syntax_errors,
        depth: 0,
        wraps: range::Wraps::default(),
        negated_numbers: HashSet::new(),
    };
    checker.declare_file(&parsed.items, sets);
    checker.resolve_all(&parsed.items);
    let main = checker.main(engine);
    checker.report_unused();
    let main = main.filter(|_| !checker.sink.has_errors())?;
    Some(hir::Program {
        sources: sources.clone(),
        enums: checker.enums,
        structs: checker.structs,
        engines: checker.engines,
        main,
    })
}

impl<'a> Checker<'a> {
    fn report(&mut self, diagnostic: Diagnostic) {
        self.sink.push(diagnostic);
    }

    /// Runs `work` one level deeper, or reports that the nesting is too deep.
    fn nested<T>(&mut self, span: Span, work: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.report(
                Diagnostic::new(
                    "E0108",
                    span,
                    format!("this is nested more than {MAX_DEPTH} levels deep"),
                )
                .help(
                    "expressions, statements and the functions that they call are counted together",
                ),
            );
            return None;
        }
        self.depth += 1;
        let out = work(self);
        self.depth -= 1;
        out
    }

    /// Adds all names of the file to the outermost scope.
    fn declare_file(&mut self, items: &'a [ast::Item], sets: &'a [Set]) {
        let mut pending: HashMap<&str, &'a Set> =
            sets.iter().map(|s| (s.name.as_str(), s)).collect();
        for item in items {
            match item {
                ast::Item::Enum(decl) => {
                    let index = self.types.len();
                    let members = vec![None; decl.members.len()];
                    let decl_kind = TypeDecl::Enum(decl);
                    self.types.push(TypeEntry {
                        decl: decl_kind,
                        state: Resolution::Open,
                        members,
                    });
                    self.declare(&decl.name, Symbol::Type(index));
                    for (i, (member, _)) in decl.members.iter().enumerate() {
                        self.declare(member, Symbol::Member(index, i));
                    }
                }
                ast::Item::Struct(decl) => {
                    let index = self.types.len();
                    let decl_kind = TypeDecl::Struct(decl);
                    self.types.push(TypeEntry {
                        decl: decl_kind,
                        state: Resolution::Open,
                        members: Vec::new(),
                    });
                    self.declare(&decl.name, Symbol::Type(index));
                }
                ast::Item::Const(decl) => {
                    let replaced = pending.remove(&*decl.name.text).map(|s| &s.value);
                    self.declare_const(decl, 1, replaced);
                }
                ast::Item::Function(decl) => self.declare_function(decl, 1),
                ast::Item::Engine(decl) => {
                    let index = self.engine_decls.len();
                    self.engine_decls.push(EngineEntry {
                        decl,
                        state: Resolution::Open,
                        used: false,
                    });
                    self.declare(&decl.name, Symbol::Engine(index));
                }
                ast::Item::Assert(_) => {}
                ast::Item::Variable(decl) => self.global_variable(&decl.name),
                ast::Item::View(decl) => {
                    self.misplaced(decl.name.span, "a view", "an engine, step or function")
                }
                ast::Item::Offload(decl) => {
                    self.misplaced(decl.name.span, "an offload", "an engine")
                }
                ast::Item::Step(decl) => self.misplaced(decl.name.span, "a step", "an engine"),
            }
        }
        for set in pending.into_values() {
            let names: Vec<Rc<str>> =
                self.consts.iter().map(|c| c.decl.name.text.clone()).collect();
            let help = crate::suggest::suggest_or_list(
                &set.name,
                "constants of the file",
                names.iter().map(|n| &**n),
            );
            let message = format!("there is no constant `{}` to set", set.name);
            self.report(Diagnostic::new("E0214", set.span, message).help_if(help));
        }
    }

    fn global_variable(&mut self, name: &ast::Name) {
        self.report(Diagnostic::new("E0603", name.span, "there are no global variables").help(
            format!(
                "a variable belongs in an engine and lives for one packet; {}",
                initial::KEEPS_VALUES
            ),
        ));
    }

    fn misplaced(&mut self, span: Span, what: &str, place: &str) {
        let message = format!("{what} is not allowed here");
        self.report(
            Diagnostic::new("E0603", span, message).help(format!("{what} belongs in {place}")),
        );
    }

    fn declare_const(
        &mut self,
        decl: &'a ast::ConstDecl,
        level: usize,
        replaced: Option<&'a ast::Expr>,
    ) {
        let index = self.consts.len();
        self.consts.push(ConstEntry {
            decl,
            level,
            replaced,
            state: Resolution::Open,
            used: false,
        });
        self.declare(&decl.name, Symbol::Const(index));
    }

    fn declare_function(&mut self, decl: &'a ast::FunctionDecl, level: usize) {
        let index = self.functions.len();
        self.functions.push(FunctionEntry { decl, level, used: false });
        self.declare(&decl.name, Symbol::Function(index));
    }

    /// Checks all declarations, including unused ones.
    fn resolve_all(&mut self, items: &'a [ast::Item]) {
        for index in 0..self.types.len() {
            self.resolve_type(index);
        }
        for index in 0..self.consts.len() {
            self.resolve_const(index);
        }
        for item in items {
            if let ast::Item::Assert(assert) = item {
                self.static_assert(assert);
            }
        }
        for index in 0..self.engine_decls.len() {
            self.resolve_engine(index);
        }
        // Check functions that no engine calls, outside of any engine.
        for index in 0..self.functions.len() {
            if self.functions[index].level == 1 && !self.functions[index].used {
                self.check_uncalled_function(index);
            }
        }
    }

    /// Returns the main engine: the requested one, or the last one that takes packets.
    fn main(&mut self, wanted: Option<&str>) -> Option<EngineId> {
        let start = Span { file: FileId(0), start: 0, end: 0 };
        let takes_packets = |e: &EngineEntry| e.decl.reply.is_none();
        let index = match wanted {
            Some(name) => {
                let found = self.engine_decls.iter().position(|e| &*e.decl.name.text == name);
                let known: Vec<Rc<str>> = self
                    .engine_decls
                    .iter()
                    .filter(|e| takes_packets(e))
                    .map(|e| e.decl.name.text.clone())
                    .collect();
                let Some(index) = found.filter(|&i| takes_packets(&self.engine_decls[i])) else {
                    let why = if found.is_some() {
                        "is called and takes no packets"
                    } else {
                        "does not exist"
                    };
                    let message = format!("the engine `{name}` to run {why}");
                    let names = known.iter().map(|n| &**n);
                    let help =
                        crate::suggest::suggest_or_list(name, "engines that take packets", names);
                    self.report(Diagnostic::new("E0210", start, message).help_if(help).usage());
                    return None;
                };
                index
            }
            None => {
                let Some(index) = self.engine_decls.iter().rposition(takes_packets) else {
                    // The engine may exist in text that could not be parsed.
                    if self.syntax_errors {
                        return None;
                    }
                    self.report(
                        Diagnostic::new("E0601", start, "there is no engine that takes packets")
                            .help("declare one: `engine NAME() { step first { finish; } }`"),
                    );
                    return None;
                };
                index
            }
        };
        self.engine_decls[index].used = true;
        match self.engine_decls[index].state {
            Resolution::Done(id) => id,
            _ => None,
        }
    }

    /// Returns the packed width of a type in bits.
    fn width(&self, ty: &Type) -> u32 {
        width(&self.enums, &self.structs, ty)
    }

    /// Returns the name of a type in messages.
    fn type_name(&self, ty: &Type) -> String {
        match ty {
            Type::Bits(n) => format!("u{n}"),
            Type::Bool => "bool".into(),
            Type::Enum(id) => self.enums[id.index()].name.clone(),
            Type::Struct(id) => self.structs[id.index()].name.clone(),
            Type::Array(element, count) => format!("{}[{count}]", self.type_name(element)),
            Type::Void => "void".into(),
        }
    }
}

/// Returns the packed width of a type in bits.
fn width(enums: &[hir::Enum], structs: &[hir::Struct], ty: &Type) -> u32 {
    match ty {
        Type::Bits(n) => *n,
        Type::Bool => 1,
        Type::Enum(id) => enums[id.index()].width,
        Type::Struct(id) => {
            structs[id.index()].fields.iter().map(|f| width(enums, structs, &f.ty)).sum()
        }
        Type::Array(element, count) => width(enums, structs, element) * count,
        Type::Void => 0,
    }
}

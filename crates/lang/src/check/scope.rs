//! Scopes: names and their meanings.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Checker, Resolution};
use crate::ast::Name;
use crate::diagnostics::Diagnostic;
use crate::hir::{OffloadId, StepId, StructId, VarId, ViewId};
use crate::source::Span;

/// Words of the language that a misspelt name may stand for.
const WORDS: [&str; 14] = [
    "break", "concat", "continue", "done", "drop", "emit", "false", "finish", "next", "packet",
    "return", "sizeof", "to_cpu", "true",
];

/// The meaning of a name. Indices refer to the tables of the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    Type(usize),
    /// A member of an enumeration: the indices of the enumeration and of the member.
    Member(usize, usize),
    Const(usize),
    /// A constant of a block, as an index into `local_consts`.
    LocalConst(usize),
    Function(usize),
    Engine(usize),
    Var(VarId),
    /// The variable of a `for`.
    LoopVar(VarId),
    View(ViewId),
    /// A view that is declared in a step or function, or passed to a function. The variable
    /// contains the offset.
    LocalView(VarId, StructId),
    Offload(OffloadId),
    Step(StepId),
    /// A declaration with an error, which has been reported.
    Poisoned,
}

impl Symbol {
    /// Describes the symbol with an article, for messages.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Type(_) => "a type",
            Self::Member(..) => "a member of an enumeration",
            Self::Const(_) | Self::LocalConst(_) => "a constant",
            Self::Function(_) => "a function",
            Self::Engine(_) => "an engine",
            Self::Var(_) | Self::LoopVar(_) | Self::Poisoned => "a variable",
            Self::View(_) | Self::LocalView(..) => "a view",
            Self::Offload(_) => "an offload",
            Self::Step(_) => "a step",
        }
    }
}

/// The names of a file, an engine, or a block.
#[derive(Default)]
pub(super) struct Scope {
    names: HashMap<Rc<str>, (Symbol, Span)>,
}

impl<'a> Checker<'a> {
    /// Adds a name to the innermost scope.
    pub(super) fn declare(&mut self, name: &Name, symbol: Symbol) {
        let inner = self.scopes.len() - 1;
        if let Some((other, span)) = self.scopes[inner].names.get(&name.text).copied() {
            let message = format!("`{}` is declared twice", name.text);
            let before = format!("{} of that name is declared here", other.describe());
            self.report(Diagnostic::new("E0211", name.span, message).also(span, before).help(
                "names are shared by types, constants, functions, variables, offloads and steps",
            ));
            return;
        }
        // Names at file level may be hidden, since shared files declare more names than a program
        // needs to know.
        let hidden =
            self.scopes[1..inner.max(1)].iter().rev().find_map(|s| s.names.get(&name.text));
        if let Some((other, span)) = hidden.copied() {
            let message = format!("`{}` hides {} of the same name", name.text, other.describe());
            self.report(
                Diagnostic::new("W0713", name.span, message)
                    .also(span, "this one")
                    .help("rename one of the two"),
            );
        }
        self.scopes[inner].names.insert(name.text.clone(), (symbol, name.span));
    }

    /// Changes the meaning of a name in the innermost scope after its declaration has been checked.
    pub(super) fn redefine(&mut self, name: &Name, symbol: Symbol) {
        let inner = self.scopes.last_mut().expect("there is always the file's scope");
        if let Some(entry) = inner.names.get_mut(&name.text)
            && entry.1 == name.span
        {
            entry.0 = symbol;
        }
    }

    /// Looks a name up from the innermost scope outwards.
    pub(super) fn lookup(&self, name: &str) -> Option<Symbol> {
        let found =
            self.scopes.iter().rev().find_map(|s| s.names.get(name)).map(|(symbol, _)| *symbol);
        found.or_else(|| self.lost.contains(name).then_some(Symbol::Poisoned))
    }

    /// Returns the span of a visible name's declaration.
    pub(super) fn declared_at(&self, name: &str) -> Option<Span> {
        self.scopes.iter().rev().find_map(|s| s.names.get(name)).map(|(_, span)| *span)
    }

    /// Suggests the visible name of the wanted kind whose spelling is closest to `unknown`. For
    /// types, the types of the language are included.
    pub(super) fn suggestion(
        &self,
        unknown: &str,
        wanted: impl Fn(Symbol) -> bool,
    ) -> Option<String> {
        // The error will not be shown, and comparing with all names takes time.
        if self.sink.is_full() {
            return None;
        }
        let names = self
            .scopes
            .iter()
            .flat_map(|s| s.names.iter())
            .filter(|(_, (symbol, _))| wanted(*symbol))
            .map(|(name, _)| &**name);
        crate::suggest::suggest(unknown, names)
    }

    /// Like [`suggestion`](Self::suggestion), but also considers words of the language.
    pub(super) fn suggestion_or_word(
        &self,
        unknown: &str,
        wanted: impl Fn(Symbol) -> bool,
    ) -> Option<String> {
        self.suggestion(unknown, wanted).or_else(|| crate::suggest::suggest(unknown, WORDS))
    }

    /// Runs `work` in a new scope.
    pub(super) fn scoped<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(Scope::default());
        let out = work(self);
        self.scopes.pop();
        out
    }

    /// Runs `work` with only the outermost `level` scopes visible: 1 for the file, 2 for the
    /// engine.
    pub(super) fn at_level<T>(&mut self, level: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        let hidden = self.scopes.split_off(level.min(self.scopes.len()));
        let out = work(self);
        self.scopes.truncate(level);
        self.scopes.extend(hidden);
        out
    }

    /// Looks up a step by name.
    pub(super) fn step(&mut self, name: &Name) -> Option<StepId> {
        match self.lookup(&name.text) {
            Some(Symbol::Step(id)) if self.cx.timed.contains(&id) => {
                let message = format!("step `{}` runs when the time of a key is over", name.text);
                self.report(
                    Diagnostic::new("E0624", name.span, message).help(
                        "put what both need into a step of its own, and go on there from both",
                    ),
                );
                None
            }
            Some(Symbol::Step(id)) => Some(id),
            Some(Symbol::Poisoned) => None,
            found => {
                let near = self.suggestion(&name.text, |s| matches!(s, Symbol::Step(_)));
                let help = near.or_else(|| match found {
                    None => Some(format!("declare it: `step {} {{ ... }}`", name.text)),
                    // The name is already used.
                    Some(_) => Some("a step is declared in the engine, `step NAME { ... }`".into()),
                });
                let message = match found {
                    Some(other) => format!("`{}` is {}, not a step", name.text, other.describe()),
                    None => format!("there is no step `{}`", name.text),
                };
                self.report(Diagnostic::new("E0204", name.span, message).help_if(help));
                None
            }
        }
    }

    /// Returns the result of a resolution that has ended; else `None`.
    pub(super) fn done<T: Clone>(state: &Resolution<T>) -> Option<Option<T>> {
        match state {
            Resolution::Done(result) => Some(result.clone()),
            Resolution::Open | Resolution::InProgress => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, check_source};

    #[test]
    fn misspelt_words_of_the_language_are_recognised() {
        let helps = |statement: &str| {
            let source = format!("engine e() {{ step s {{ {statement} }} }}");
            let checked = check_source("test.loom", &source, &Options::default());
            checked.diagnostics.iter().flat_map(|d| d.help.clone()).collect::<Vec<_>>()
        };
        assert_eq!(helps("fnish;"), ["did you mean `finish`?"]);
        assert_eq!(helps("bool b = ture; finish;"), ["did you mean `true`?"]);
        assert_eq!(helps("emitt(s);"), ["did you mean `emit`?"]);
    }
}

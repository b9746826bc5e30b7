//! Names and their meanings.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Checker, Resolution};
use crate::ast::Name;
use crate::diagnostics::Diagnostic;
use crate::hir::{OffloadId, StepId, StructId, VarId, ViewId};
use crate::source::Span;

/// Words of the language for which a misspelt name can be meant.
const WORDS: [&str; 14] = [
    "break", "concat", "continue", "done", "drop", "emit", "false", "finish", "next", "packet",
    "return", "sizeof", "to_cpu", "true",
];

/// The meaning of a name. The indices are those of the checker's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    Type(usize),
    /// Enumeration and member.
    Member(usize, usize),
    Const(usize),
    /// A constant of a block, among `local_consts`.
    LocalConst(usize),
    Function(usize),
    Engine(usize),
    Var(VarId),
    /// The variable of a `for`.
    LoopVar(VarId),
    View(ViewId),
    /// A view declared in a step or function, or passed to a function: the variable that holds its
    /// offset.
    LocalView(VarId, StructId),
    Offload(OffloadId),
    Step(StepId),
    /// The declaration is wrong, which has been reported.
    Poisoned,
}

impl Symbol {
    /// A description with an article, for messages.
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
        // Names at file level may be hidden, since shared files declare more names than one program
        // knows.
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

    /// Changes the meaning of a name of the innermost scope once its declaration has been checked.
    pub(super) fn redefine(&mut self, name: &Name, symbol: Symbol) {
        let inner = self.scopes.last_mut().expect("there is always the file's scope");
        if let Some(entry) = inner.names.get_mut(&name.text)
            && entry.1 == name.span
        {
            entry.0 = symbol;
        }
    }

    /// The meaning of a name, searched from the innermost scope outwards.
    pub(super) fn lookup(&self, name: &str) -> Option<Symbol> {
        let found =
            self.scopes.iter().rev().find_map(|s| s.names.get(name)).map(|(symbol, _)| *symbol);
        found.or_else(|| self.lost.contains(name).then_some(Symbol::Poisoned))
    }

    /// Where a visible name was declared.
    pub(super) fn declared_at(&self, name: &str) -> Option<Span> {
        self.scopes.iter().rev().find_map(|s| s.names.get(name)).map(|(_, span)| *span)
    }

    /// The visible name of that kind whose spelling is closest to `unknown`; for types, also those
    /// of the language.
    pub(super) fn suggestion(
        &self,
        unknown: &str,
        wanted: impl Fn(Symbol) -> bool,
    ) -> Option<String> {
        // The error will not be shown, and comparing with every name takes time.
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

    /// Like [`suggestion`](Self::suggestion), where a word of the language is possible as well.
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

    /// Runs `work` with only the outermost `level` scopes visible: 1 is the file, 2 the engine.
    pub(super) fn at_level<T>(&mut self, level: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        let hidden = self.scopes.split_off(level.min(self.scopes.len()));
        let out = work(self);
        self.scopes.truncate(level);
        self.scopes.extend(hidden);
        out
    }

    /// The step of that name.
    pub(super) fn step(&mut self, name: &Name) -> Option<StepId> {
        match self.lookup(&name.text) {
            Some(Symbol::Step(id)) => Some(id),
            Some(Symbol::Poisoned) => None,
            found => {
                let near = self.suggestion(&name.text, |s| matches!(s, Symbol::Step(_)));
                let help = near.or_else(|| match found {
                    None => Some(format!("declare it: `step {} {{ ... }}`", name.text)),
                    // The name is taken.
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

    /// The result of resolution, if it has ended.
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

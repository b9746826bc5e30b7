//! The first part of a file: its purpose, the warnings that it disables, and the types of its wide
//! values.

use std::collections::BTreeSet;

use wireloom_codegen::files::{short_names, short_place};
use wireloom_ir::{EngineKind, Program, Step};

use super::tree::{Expr, Item};
use super::types::{Class, Model};

/// Warnings about the source program rather than about the generated C.
pub const IGNORED_WARNINGS: &[&str] = &[
    "type-limits",
    "tautological-compare",
    "bool-compare",
    "sign-compare",
    "unused-variable",
    "unused-but-set-variable",
    "unused-const-variable",
];

/// Returns the first lines of a file: its purpose, and the page that explains it.
pub fn opening(program: &Program, page: &str) -> Vec<Item> {
    let main = &program.engines[program.main.index()];
    let mut files: Vec<&str> = short_names(&program.files).collect();
    if files.is_empty() {
        files.push("the step IR");
    }
    let files = files.join(", ");
    let comment = format!(
        "Engine `{}`, from {files}. Written by Wireloom from the step IR; {page} says how to read it.",
        main.name
    );
    vec![Item::Comment(comment), Item::Blank]
}

/// Disables a warning of the C compiler.
pub fn ignored(warning: &str) -> Item {
    Item::Directive(format!("pragma GCC diagnostic ignored \"-W{warning}\""))
}

/// Declares the type of values of `words` words.
pub fn declare_wide(words: u32) -> Item {
    Item::Macro(Expr::call("WL_WIDE", [Expr::number(words)]))
}

/// Returns the source line of a step as `, file:line`. The text is empty if the line is unknown.
pub fn source_line(program: &Program, step: &Step) -> String {
    short_place(program, step.loc).map_or_else(String::new, |place| format!(", {place}"))
}

/// Returns the widths in bits of all values: of context variables, steps, and engine replies.
pub fn widths(program: &Program) -> BTreeSet<u32> {
    let mut widths = BTreeSet::new();
    for engine in &program.engines {
        widths.extend(engine.context.iter().map(|var| var.width));
        widths.extend(engine.arrays.iter().map(|array| array.width));
        widths.extend(
            engine.steps.iter().flat_map(|step| step.values.iter().map(|value| value.width)),
        );
        if let EngineKind::Call { reply, .. } = engine.kind {
            widths.insert(reply);
        }
    }
    widths
}

/// Returns the sizes in words of the values that are not scalars. A division needs a second object
/// of the size of its operands, which is among these.
pub fn wide_sizes(widths: BTreeSet<u32>, model: Model) -> BTreeSet<u32> {
    let wide = widths.into_iter().filter_map(|width| match model.class(width) {
        Class::Wide(n) => Some(n),
        _ => None,
    });
    wide.collect()
}

//! Loom C: from source text to a checked program. The language is specified in docs/language.md.

pub mod hir;
pub mod source;

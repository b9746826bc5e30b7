//! Code that all code generators share: names of source files in generated text, reasons for
//! refusal, the context that threads need, longest-prefix tables as tries of words, and the
//! expansion of operators that a target lacks.
//!
//! Each family of targets has its own generator crate: `codegen-c`, `codegen-hardware`,
//! `codegen-microengine` and `codegen-tile`. They depend only on the step IR, and not on the timing
//! of any machine.

pub mod context;
pub mod expand;
pub mod files;
pub mod refused;
pub mod steps;
pub mod trie;

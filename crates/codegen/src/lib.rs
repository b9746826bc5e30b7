//! What the code generators share: names of sources in generated text, reasons why something has
//! no place, resources that operations read and change, conditions that hold at exits, the context
//! that threads need, longest-prefix tables as tries of words, and operators that a target does not
//! have as those that it has.
//!
//! The generators are crates of their own, one for each family of targets: `codegen-c`,
//! `codegen-hardware`, `codegen-microengine` and `codegen-tile`. All depend only on step IR, and
//! not on the timing of any machine.

pub mod context;
pub mod expand;
pub mod facts;
pub mod files;
pub mod refused;
pub mod resources;
pub mod steps;
pub mod trie;

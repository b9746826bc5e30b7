//! The textual form of the step IR (docs/ir.md). [`print`] and [`parse`] are inverses of each
//! other.

mod lex;
mod names;
mod parse;
mod print;

pub use parse::parse;
pub use print::{print, print_op};

/// A syntax error and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// A sentence without a full stop.
    pub message: String,
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// The maximum nesting depth of `if` blocks in a text.
pub const MAX_NESTING: u32 = 500;

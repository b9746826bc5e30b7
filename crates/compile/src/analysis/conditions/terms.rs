//! What conditions are made of.

use std::hash::Hash;

use wireloom_ir::{BinaryOp, OpKind, UnaryOp, Value};

use super::super::Definitions;
use super::Holds;

/// The operation that computes a one-bit term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form<T> {
    Constant(bool),
    Not(T),
    And(T, T),
    Or(T, T),
    /// Any other operation, also one on wider terms.
    Other,
}

/// Terms and the operations that compute them: the values of a step, or the nodes of a graph.
pub trait Terms: Sized {
    type Term: Copy + Ord + Hash;

    /// The depth to which the operands of a term are searched for known bits.
    const DEPTH: u32 = 64;

    /// The most conjunctions that are 0 and disjunctions that are 1 whose sides are open. What
    /// follows once one side is known costs time for each of them.
    const MOST_OPEN: usize = 256;

    /// Returns the operation that computes a term.
    fn form(&self, term: Self::Term) -> Form<Self::Term>;

    /// Returns the bit of a term of another form, if it follows from what `holds` knows. Operands
    /// are looked up with [`Holds::bit_at`] to the given depth.
    fn decide(&self, _holds: &Holds<'_, Self>, _term: Self::Term, _depth: u32) -> Option<bool> {
        None
    }
}

impl Terms for Definitions<'_> {
    type Term = Value;

    fn form(&self, value: Value) -> Form<Value> {
        match self.kind(value) {
            Some(OpKind::Const(bits)) if bits.width() == 1 => Form::Constant(!bits.is_zero()),
            Some(OpKind::Unary(UnaryOp::Not, x)) => Form::Not(*x),
            Some(OpKind::Binary(BinaryOp::And, a, b)) if self.width(*a) == 1 => Form::And(*a, *b),
            Some(OpKind::Binary(BinaryOp::Or, a, b)) if self.width(*a) == 1 => Form::Or(*a, *b),
            _ => Form::Other,
        }
    }
}

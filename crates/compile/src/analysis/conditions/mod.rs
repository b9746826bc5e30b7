//! Conditions: what follows from one-bit values that are known, and which exclude each other.
//!
//! A packet that is dropped passes through the guarded operations of the whole step, since the step
//! IR has no branches. All targets therefore ask which guards hold, exclude each other, or need no
//! test:
//!
//! - [`Holds`] propagates known bits through conjunctions, disjunctions and negations, and tries
//!   open cases by contradiction. Its [`Terms`] are values of a step or nodes of another graph.
//! - [`Guards`] says whether two guards exclude each other, also by the constants that they
//!   compare values with.
//! - [`Comparisons`] decides comparisons with constants.
//! - [`exits`] says what is known where a packet leaves a step.
//!
//! The result "not known" is always allowed.

mod comparisons;
pub mod exits;
mod guards;
mod holds;
mod terms;
#[cfg(test)]
mod tests;

pub use comparisons::Comparisons;
pub use guards::{Guards, Literals};
pub use holds::Holds;
pub use terms::{Form, Terms};

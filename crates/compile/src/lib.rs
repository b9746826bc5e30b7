//! From the checked program to step IR, and the passes over it.

pub mod lower;

pub use lower::lower;

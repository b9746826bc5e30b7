//! The shared-memory side of MultiFlex (the StepNP paper, section 4.1): the thread manager and race
//! detection. Both are untimed; a machine calls them in the order in which requests and accesses
//! take effect.

pub mod races;
pub mod threads;

//! Virtual routers (the Gorilla paper, section 5): a list of them, and the processors that they are built as.
//!
//! [`description`] reads the list, [`choice`] divides it into groups, [`lanes`] says what a group is made of and how large it is, [`verify`]
//! holds its processors to golden.

pub mod choice;
pub mod description;
pub mod lanes;
mod traffic;
mod verify;

pub use choice::Method;
pub use description::Description;
pub use lanes::{Evaluator, Lane, Machines};
pub use verify::Verified;

//! Virtual routers (the Gorilla paper, section 5): a list of them, and the processors that they are built as.
//!
//! [`description`] reads the list, [`choice`] divides it into groups, [`lanes`] says what a group is made of and how large it is, [`joined`]
//! puts all processors onto one chip, [`verify`] holds that to golden.

pub mod choice;
pub mod description;
mod joined;
pub mod lanes;
mod schedule;
mod traffic;
mod verify;

pub use choice::Method;
pub use description::Description;
pub use lanes::{Evaluator, Lane, Machines};
pub use verify::Verified;

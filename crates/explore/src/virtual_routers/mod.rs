//! Virtual routers (the Gorilla paper, section 5): a list of routers, and the processors that
//! implement them.
//!
//! [`description`] reads the list, [`choice`] divides it into groups, [`lanes`] defines the
//! processors of a group and their size, [`joined`] puts all processors onto one chip, [`verify`]
//! compares the chip with golden.

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

//! Assembly of the canonical architecture: clusters, pipes, services.

mod design;

pub use design::{Design, File, Hash, Unit};

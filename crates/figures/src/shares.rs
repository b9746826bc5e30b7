//! Shares of all energy, as the power figures keep them.

use serde::Serialize;

/// The energy of a group of parts.
#[derive(Clone, Debug, Serialize)]
pub struct GroupShare {
    pub group: &'static str,
    pub percent: f64,
}

/// The energy of a part.
#[derive(Clone, Debug, Serialize)]
pub struct PartShare {
    pub part: String,
    pub percent: f64,
}

//! Shares of all energy, as figures of power keep them.

use serde::Serialize;

/// What a group of parts takes.
#[derive(Clone, Debug, Serialize)]
pub struct GroupShare {
    pub group: &'static str,
    pub percent: f64,
}

/// What a part takes.
#[derive(Clone, Debug, Serialize)]
pub struct PartShare {
    pub part: String,
    pub percent: f64,
}

//! The way of one packet through a machine that has times.

use serde::Serialize;

use crate::Line;

/// What a machine tells about one packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Passage {
    /// When what happened to it, in order.
    pub milestones: Vec<Milestone>,
    /// The number of later milestones that were left out.
    pub omitted: u64,
    /// What else is known.
    pub lines: Vec<Line>,
}

/// An event on the way of a packet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Milestone {
    /// The part of the machine; empty at its input and output.
    #[serde(rename = "where")]
    pub place: String,
    /// What happened.
    pub what: String,
    /// The time since the machine started, in nanoseconds.
    pub ns: f64,
    /// The cycle of the machine's main clock.
    pub cycle: u64,
}

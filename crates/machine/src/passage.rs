//! The way of one packet through a machine that has times.

use serde::Serialize;

use crate::Line;

/// What a machine tells about one packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Passage {
    /// When what happened to it, in order.
    pub milestones: Vec<Milestone>,
    /// What else is known.
    pub lines: Vec<Line>,
}

/// An event on the way of a packet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Milestone {
    /// What happened.
    pub what: &'static str,
    /// The time since the machine started, in nanoseconds.
    pub ns: f64,
    /// The cycle of the machine's main clock.
    pub cycle: u64,
}

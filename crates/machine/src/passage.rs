//! The passage of one packet through a machine with times.

use serde::Serialize;

use crate::Line;

/// The recorded passage of one packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Passage {
    /// The events of the packet with their times, oldest first.
    pub milestones: Vec<Milestone>,
    /// The number of later milestones that were omitted.
    pub omitted: u64,
    /// Further facts about the packet.
    pub lines: Vec<Line>,
}

/// An event in the passage of a packet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Milestone {
    /// The part of the machine; empty at its input and output.
    #[serde(rename = "where")]
    pub place: String,
    /// The event, in words.
    pub what: String,
    /// The time since the machine started, in nanoseconds.
    pub ns: f64,
    /// The cycle of the machine's main clock.
    pub cycle: u64,
}

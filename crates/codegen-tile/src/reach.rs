//! The destinations of a tile's messages over the general network.

use super::ports::Ports;

/// The state owner, as another tile sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateOwner {
    /// The header of messages from this tile to it, without a length.
    pub header: u32,
}

/// The destinations of a tile's messages over the general network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reach {
    /// The ports, if packets leave at the port of their egress.
    pub ports: Option<Ports>,
    /// The tile that makes the calls of offloads that packets change.
    pub state_owner: Option<StateOwner>,
    /// The header of messages to the next tile of the chain, if messages of the chain go over the
    /// general network.
    pub hop: Option<u32>,
}

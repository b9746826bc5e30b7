//! Routes as sources of prefixes give them.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::error::Position;
use super::prefix::Prefix;

/// A prefix and its attributes. An attribute that a source lacks is zero or empty.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Route {
    /// The prefix. `None` only in the default value.
    pub prefix: Option<Prefix>,
    /// The number of the autonomous system that originates the prefix.
    pub asn: u32,
    /// The metric in the kernel.
    pub metric: u32,
    /// The route type in the kernel (`RTN_...` of linux/rtnetlink.h).
    pub kind: u8,
    /// The next hops in the kernel. Routes that refuse packets have none.
    pub hops: Vec<Hop>,
}

/// A next hop of a kernel route.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The name of the outgoing interface.
    pub device: Arc<str>,
    /// The kernel's index of that interface.
    pub device_index: u32,
    /// The gateway's address, as right-aligned bits. 0 if the destination is on the link.
    pub gateway: u128,
    /// Whether packets get another header, of MPLS for example.
    pub is_encapsulated: bool,
}

/// A visitor of routes. It returns whether to continue, or a sentence about a problem with the
/// route.
pub(super) type Visit<'a> = dyn FnMut(Position, &Route) -> Result<ControlFlow<()>, String> + 'a;

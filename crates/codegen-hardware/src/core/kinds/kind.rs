//! The interface of an offload kind that hardware treats in a way of its own.

use wireloom_ir::Op;
use wireloom_offloads::Config;

use crate::core::graph::Node;
use crate::core::lowering::Lowering;
use crate::core::port::{Body, PortMethod};

/// The treatment of an offload kind in hardware.
pub(in crate::core) struct KindInHardware {
    pub name: &'static str,
    /// The reason why no hardware can provide the kind.
    pub missing: Option<&'static str>,
    /// Returns how the core computes a method itself, or `None` if a service executes it.
    pub inside: fn(method: &str) -> Option<Inside>,
    /// How the service accesses the bodies of packets; `None` if it does not.
    pub body: Option<&'static InBody>,
    /// Whether a lookup pipeline can call a method: the method only reads a memory, or the core
    /// computes it without looking at the packet.
    pub in_pipeline: fn(method: &str) -> bool,
}

impl KindInHardware {
    /// A kind whose calls are requests to a service.
    pub(super) const PLAIN: Self =
        Self { name: "", missing: None, inside: |_| None, body: None, in_pipeline: |_| false };
}

/// Builds the reply of a call that the core computes itself.
pub(in crate::core) type Inside = fn(&mut Lowering<'_>, &Call<'_>) -> Node;

/// How a service accesses the bodies of packets.
pub(in crate::core) struct InBody {
    /// Returns the access, for the methods that an engine uses.
    pub access: fn(&Config, &[PortMethod]) -> Body,
    /// Whether the service sees the packet as it arrived, without changes of earlier steps.
    pub as_arrived: bool,
    /// Returns the most bytes that a call writes, for methods that change the end of the packet.
    pub appended: fn(&Config) -> Appended,
    /// Lowers a call to a request at this port.
    pub call: fn(&mut Lowering<'_>, &Call<'_>, port: usize),
    /// Returns the reply in an engine without a packet, which is that for an empty packet; `None`
    /// if it is zero.
    pub without_packet: fn(&Call<'_>) -> Option<Node>,
}

/// The most bytes that a call writes to the body of its packet, and where.
pub(in crate::core) enum Appended {
    /// The number of bytes by which the body grows.
    After(u32),
    /// The number of bytes that replace the whole body.
    Instead(u32),
}

pub(in crate::core) struct Call<'a> {
    pub op: &'a Op,
    pub config: &'a Config,
    pub method: &'static str,
    pub arguments: &'a [Node],
    /// The condition under which the call happens.
    pub guard: Node,
}

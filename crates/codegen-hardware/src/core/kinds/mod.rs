//! The offload kinds that hardware treats in a way of their own, one file each. A call of any other
//! kind is a request to a service, whose data are the method and its arguments ([`OffloadPort`]).
//!
//! To treat a kind differently, write its file here and add it to [`KINDS`].
//!
//! [`OffloadPort`]: super::OffloadPort

mod array;
mod checksum;
mod clock;
mod hash;
mod matching;
mod park;
mod payload;

use wireloom_ir::Op;
use wireloom_offloads::Config;

use super::graph::Node;
use super::lower::Lowering;
use super::offload::{Body, PortMethod};

/// All kinds that are treated in a way of their own.
const KINDS: &[&KindInHardware] = &[
    &array::KIND,
    &checksum::KIND,
    &clock::KIND,
    &hash::KIND,
    &matching::KIND,
    &park::KIND,
    &payload::KIND,
];

/// What hardware does with an offload kind.
pub(super) struct KindInHardware {
    /// The kind's name.
    pub name: &'static str,
    /// The reason why no hardware can provide the kind.
    pub missing: Option<&'static str>,
    /// Returns how the core computes a method itself, or `None` if a service executes it.
    pub inside: fn(method: &str) -> Option<Inside>,
    /// How its service accesses the bodies of packets, if it does.
    pub body: Option<&'static InBody>,
    /// Whether a lookup pipeline can call a method: the method only reads a memory, or the core
    /// computes it without looking at the packet.
    pub in_pipeline: fn(method: &str) -> bool,
}

impl KindInHardware {
    /// A kind whose calls are requests to a service.
    const PLAIN: Self =
        Self { name: "", missing: None, inside: |_| None, body: None, in_pipeline: |_| false };
}

/// Builds the reply of a call that the core computes itself.
pub(super) type Inside = fn(&mut Lowering<'_>, &Call<'_>) -> Node;

/// How a service accesses the bodies of packets.
pub(super) struct InBody {
    /// Returns the access, for the methods that an engine uses.
    pub access: fn(&Config, &[PortMethod]) -> Body,
    /// Whether the service sees the packet as it arrived, without changes of earlier steps.
    pub as_arrived: bool,
    /// Lowers a call to a request at this port.
    pub call: fn(&mut Lowering<'_>, &Call<'_>, port: usize),
    /// Returns the reply in an engine without a packet, which is that for an empty packet; `None`
    /// if it is zero.
    pub without_packet: fn(&Call<'_>) -> Option<Node>,
}

/// A call.
pub(super) struct Call<'a> {
    /// The operation.
    pub op: &'a Op,
    /// The offload.
    pub config: &'a Config,
    /// The method's name.
    pub method: &'static str,
    /// The arguments.
    pub arguments: &'a [Node],
    /// The condition under which the call happens.
    pub guard: Node,
}

/// Returns what hardware does with a kind, if it is treated in a way of its own.
pub(super) fn find(name: &str) -> Option<&'static KindInHardware> {
    KINDS.iter().find(|kind| kind.name == name).copied()
}

/// Returns how the service of a kind accesses the bodies of packets, if it does.
pub(super) fn body(name: &str) -> Option<&'static InBody> {
    find(name)?.body
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wireloom_offloads::registry;

    use super::*;

    #[test]
    fn each_kind_is_in_the_registry_and_stands_here_once() {
        let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), KINDS.len());
        assert!(names.iter().all(|name| registry::kind(name).is_some()), "{names:?}");
    }

    #[test]
    fn whatever_looks_at_the_packet_has_hardware_that_does_or_is_missing() {
        for kind in registry::KINDS {
            for method in kind.methods.iter().filter(|m| m.reads_packet || m.writes_packet) {
                let special = find(kind.name).is_some_and(|special| {
                    special.missing.is_some()
                        || special.body.is_some()
                        || (special.inside)(method.name).is_some()
                });
                assert!(special, "{}.{}", kind.name, method.name);
            }
        }
    }
}

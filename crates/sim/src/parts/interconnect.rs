//! A network of any kind, as chosen in a machine file.

use serde::{Deserialize, Serialize};

use super::bus::{Bus, BusSpec};
use super::channel::{Channel, ChannelSpec};
use super::crossbar::{Crossbar, CrossbarSpec};
use super::mesh::{Mesh, MeshSpec};
use super::network::{Message, Network, NetworkEvent, Node, Notice};
use super::ring::{Ring, RingSpec};
use super::run_ahead::RunAhead;
use super::wormhole::{Wormhole, WormholeSpec};
use crate::rng::Rng;
use crate::spec::SpecError;
use crate::stats::Record;
use crate::wait_graph::WaitGraph;
use crate::{Clock, EventSink, Time};

/// A network: `kind`, and the keys of that kind.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum InterconnectSpec {
    /// A lumped latency.
    Channel(ChannelSpec),
    /// A shared bus.
    Bus(BusSpec),
    Crossbar(CrossbarSpec),
    /// A ring of routers.
    Ring(RingSpec),
    /// A mesh of routers with cut-through switching.
    Mesh(MeshSpec),
    /// A mesh of routers with wormhole switching.
    Wormhole(WormholeSpec),
}

/// A network of any kind.
#[derive(Clone, Debug)]
pub struct Interconnect<P>(AnyNetwork<P>);

#[derive(Clone, Debug)]
enum AnyNetwork<P> {
    Channel(Channel<P>),
    Bus(Bus<P>),
    Crossbar(Crossbar<P>),
    Ring(Ring<P>),
    Mesh(Mesh<P>),
    Wormhole(Wormhole<P>),
}

impl<P> Interconnect<P> {
    /// Creates an empty network between this number of nodes. `rng` is for jitter.
    ///
    /// # Errors
    /// If the specification is invalid for this number of nodes.
    pub fn new(spec: &InterconnectSpec, nodes: u32, rng: Rng) -> Result<Self, SpecError> {
        Ok(Self(match spec {
            InterconnectSpec::Channel(spec) => {
                AnyNetwork::Channel(Channel::new(*spec, nodes, rng)?)
            }
            InterconnectSpec::Bus(spec) => AnyNetwork::Bus(spec.build(nodes)?),
            InterconnectSpec::Crossbar(spec) => AnyNetwork::Crossbar(spec.build(nodes)?),
            InterconnectSpec::Ring(spec) => AnyNetwork::Ring(spec.build(nodes)?),
            InterconnectSpec::Mesh(spec) => AnyNetwork::Mesh(spec.build(nodes)?),
            InterconnectSpec::Wormhole(spec) => AnyNetwork::Wormhole(spec.build(nodes)?),
        }))
    }

    /// Returns the network if its nodes can run ahead: it must be a channel that does not keep
    /// order. In other networks the delivery of a message depends on messages sent later.
    #[inline]
    pub fn run_ahead(&mut self) -> Option<&mut impl RunAhead<P>> {
        match &mut self.0 {
            AnyNetwork::Channel(channel) if channel.knows_deliveries() => Some(channel),
            _ => None,
        }
    }
}

/// Repeats an expression for each kind.
macro_rules! each {
    ($self:expr, $network:ident => $answer:expr) => {
        match $self {
            AnyNetwork::Channel($network) => $answer,
            AnyNetwork::Bus($network) => $answer,
            AnyNetwork::Crossbar($network) => $answer,
            AnyNetwork::Ring($network) => $answer,
            AnyNetwork::Mesh($network) => $answer,
            AnyNetwork::Wormhole($network) => $answer,
        }
    };
}

impl<P> Network<P> for Interconnect<P> {
    fn can_send(&self, from: Node, to: Node) -> bool {
        each!(&self.0, network => network.can_send(from, to))
    }

    fn send(
        &mut self,
        message: Message<P>,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Result<(), Message<P>> {
        each!(&mut self.0, network => network.send(message, events))
    }

    fn arrive(
        &mut self,
        event: NetworkEvent,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Option<Notice<P>> {
        each!(&mut self.0, network => network.arrive(event, events))
    }

    fn bound(&mut self, node: Node, messages: u32) {
        each!(&mut self.0, network => Network::<P>::bound(network, node, messages));
    }

    fn release(&mut self, node: Node, events: &mut impl EventSink<NetworkEvent>) {
        each!(&mut self.0, network => Network::<P>::release(network, node, events));
    }

    fn set_rate(&mut self, rate: Clock, settle: Time, events: &mut impl EventSink<NetworkEvent>) {
        each!(&mut self.0, network => Network::<P>::set_rate(network, rate, settle, events));
    }

    fn under_way(&self) -> usize {
        each!(&self.0, network => Network::<P>::under_way(network))
    }

    fn begin_to_count(&mut self, now: Time) {
        each!(&mut self.0, network => Network::<P>::begin_to_count(network, now));
    }

    fn record(&self, now: Time) -> Record {
        each!(&self.0, network => Network::<P>::record(network, now))
    }

    fn waits(&self, name: &dyn Fn(Node) -> String, waits: &mut WaitGraph) {
        each!(&self.0, network => Network::<P>::waits(network, name, waits));
    }
}

#[cfg(test)]
mod tests;

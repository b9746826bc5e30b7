//! What the offload kinds that access the packet beyond the header window share.

use wireloom_bits::Bits;
use wireloom_ir::BinaryOp;

use super::Lowering;
use crate::core::graph::{Input, Node};
use crate::core::kinds::{Call, InBody};
use crate::core::offload::{BEGIN_BITS, Body, PLACE_BITS};

impl Lowering<'_> {
    /// Returns the lengths of the header window and of the packet, [`BEGIN_BITS`] bits each, and
    /// that of the body, 16 bits.
    pub(in crate::core) fn extent(&mut self) -> [Node; 3] {
        let (window, length) = (self.hand.window(self.graph), self.hand.length(self.graph));
        let window = self.graph.resize(window, BEGIN_BITS);
        let length = self.graph.resize(length, BEGIN_BITS);
        let body = self.graph.binary(BinaryOp::Sub, length, window);
        [window, length, self.graph.slice(body, 0, 16)]
    }

    /// Returns the address of the packet's body in the body buffer.
    pub(in crate::core) fn place(&mut self) -> Node {
        let low = self.around.layout.place.expect("the layout has what the ports use");
        let info = self.graph.input(Input::Info, self.around.layout.info_bits);
        self.graph.slice(info, low, PLACE_BITS)
    }

    /// Returns how the service at a port accesses bodies.
    pub(in crate::core) fn body_of(&self, port: usize) -> Option<Body> {
        self.around.ports[port].body
    }

    /// Lowers a call in an engine without a packet: it behaves as for an empty packet.
    pub(super) fn bodiless_call(&mut self, call: &Call<'_>, body: Option<&InBody>) {
        let Some(result) = call.op.results.first() else { return };
        let reply = body.and_then(|body| (body.without_packet)(call)).unwrap_or_else(|| {
            let width = self.width(*result);
            self.graph.constant(Bits::zero(width))
        });
        let reply = self.masked_reply(call.op, call.guard, reply);
        self.define(call.op, reply);
    }
}

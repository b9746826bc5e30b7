//! `match`: packets are searched as they arrived, by `wl_body_match`.

use super::kind::{Appended, Call, InBody, KindInHardware};
use crate::core::lowering::Lowering;
use crate::core::port::Body;

pub(super) const KIND: KindInHardware = KindInHardware {
    name: "match",
    body: Some(&InBody {
        access: |_, _| Body::Search,
        as_arrived: true,
        appended: |_| Appended::After(0),
        call,
        without_packet: |_| None,
    }),
    ..KindInHardware::PLAIN
};

/// Requests a search, whose positions count from the packet's first byte.
fn call(lowering: &mut Lowering<'_>, call: &Call<'_>, port: usize) {
    let (place, length) = (lowering.place(), lowering.hand.length(lowering.graph));
    let length = lowering.graph.resize(length, 16);
    let parts = vec![place, call.arguments[0], call.arguments[1], length];
    let request = lowering.graph.concat(parts);
    lowering.ask(port, call.guard, request);
    lowering.define_reply(call.op, port, call.guard);
}

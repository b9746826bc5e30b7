//! `checksum`: bodies are summed by `wl_body_sum`.

use wireloom_ir::BinaryOp;

use super::kind::{Appended, Call, InBody, KindInHardware};
use crate::core::lowering::Lowering;
use crate::core::port::{BEGIN_BITS, Body};

pub(super) const KIND: KindInHardware = KindInHardware {
    name: "checksum",
    body: Some(&InBody {
        access: |_, _| Body::Sum,
        as_arrived: false,
        appended: |_| Appended::After(0),
        call,
        // The sum of no bytes is the initial one.
        without_packet: |call| Some(call.arguments[2]),
    }),
    ..KindInHardware::PLAIN
};

/// Requests the sum of a range of the body.
fn call(lowering: &mut Lowering<'_>, call: &Call<'_>, port: usize) {
    let [window, _, body] = lowering.extent();
    let from = lowering.graph.resize(call.arguments[0], BEGIN_BITS);
    let begin = lowering.graph.binary(BinaryOp::Sub, from, window);
    let (length, initial) = (call.arguments[1], call.arguments[2]);
    let parts = vec![lowering.place(), begin, length, body, initial];
    let request = lowering.graph.concat(parts);
    lowering.ask(port, call.guard, request);
    lowering.define_reply(call.op, port, call.guard);
}

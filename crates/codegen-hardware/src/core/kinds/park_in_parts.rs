//! `park_in_parts`: packets are kept by `wl_park`, which copies their bodies from the body buffer
//! and back.

use wireloom_bits::Bits;
use wireloom_offloads::kinds::park_in_parts::{NAME, WORD_BITS};

use super::kind::{Appended, Call, InBody, KindInHardware};
use crate::core::lowering::Lowering;
use crate::core::port::Body;

pub(super) const KIND: KindInHardware = KindInHardware {
    name: NAME,
    body: Some(&InBody {
        access: |config, _| Body::Park {
            key_bits: config.key.as_ref().map_or(0, |key| key.width()),
        },
        as_arrived: false,
        appended: |config| Appended::Instead(config.param("longest").low_u64() as u32),
        call,
        without_packet: |_| None,
    }),
    ..KindInHardware::PLAIN
};

/// The number of each method in a request.
const METHODS: [(&str, u64); 7] = [
    ("begin", 0),
    ("release", 1),
    ("expire", 2),
    ("put", 3),
    ("get", 4),
    ("store", 5),
    ("fetch", 6),
];

/// Requests a part of a call: the method, the key, a word of data, a number, the place of the body
/// and the time.
fn call(lowering: &mut Lowering<'_>, call: &Call<'_>, port: usize) {
    let (args, guard) = (call.arguments, call.guard);
    let Some(Body::Park { key_bits }) = lowering.body_of(port) else {
        unreachable!("the port is that of a park")
    };
    let methods = METHODS.iter().find(|(name, _)| *name == call.method);
    let number = methods.expect("a method of the kind").1;
    let (mut key, mut data, mut count) = (None, None, None);
    match call.method {
        "begin" => (key, data) = (Some(args[0]), Some(args[1])),
        "release" => key = Some(args[0]),
        "put" => (count, data) = (Some(args[0]), Some(args[1])),
        "expire" => data = Some(args[0]),
        _ => count = Some(args[0]),
    }
    let graph = &mut *lowering.graph;
    let mut or_zero = |node: Option<_>, width: u32| match node {
        Some(node) => graph.resize(node, width),
        None => graph.constant(Bits::zero(width)),
    };
    let parts = [or_zero(key, key_bits), or_zero(data, WORD_BITS), or_zero(count, 16)];
    let method = graph.number(3, number);
    let (place, time) = (lowering.place(), lowering.arrival());
    let [key, data, count] = parts;
    let mut request = Vec::new();
    let around = &lowering.around.ports[port];
    if around.ordered {
        request.extend(lowering.place_in_order(around));
    }
    request.extend([method, key, data, count, place, time]);
    let request = lowering.graph.concat(request);
    lowering.ask(port, guard, request);
    if call.method == "fetch" {
        lowering.hand.append(lowering.graph, guard, count);
    }
    lowering.define_reply(call.op, port, guard);
}

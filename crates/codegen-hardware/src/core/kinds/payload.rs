//! `payload`: chunks of bodies are read and written by `wl_payload`; the core cuts packets.

use wireloom_bits::Bits;
use wireloom_ir::BinaryOp;
use wireloom_offloads::{Config, ValueType};

use super::kind::{Appended, Call, InBody, KindInHardware};
use crate::core::MAX_LENGTH;
use crate::core::lowering::Lowering;
use crate::core::port::{BEGIN_BITS, Body, PortMethod};

pub(super) const KIND: KindInHardware = KindInHardware {
    name: "payload",
    inside: |method| match method {
        "truncate" => Some(|lowering, call| {
            lowering.hand.truncate(lowering.graph, call.guard, call.arguments[0])
        }),
        _ => None,
    },
    body: Some(&InBody {
        access,
        as_arrived: false,
        appended: |config| Appended::After(ValueType::Value.width(config) / 8),
        call,
        without_packet: |_| None,
    }),
    ..KindInHardware::PLAIN
};

fn access(config: &Config, methods: &[PortMethod]) -> Body {
    Body::Chunks {
        bytes: ValueType::Value.width(config) / 8,
        reads: methods.iter().any(|m| m.name == "read"),
        writes: methods.iter().any(|m| m.name != "read"),
    }
}

/// Requests a chunk to be read or, if it fits, to be written.
fn call(lowering: &mut Lowering<'_>, call: &Call<'_>, port: usize) {
    let (arguments, guard) = (call.arguments, call.guard);
    let [window, length, body] = lowering.extent();
    // The data that `write` and `append` request to be written, and their number of bytes.
    let (begin, written) = match call.method {
        "write" => (arguments[0], Some((arguments[1], arguments[2]))),
        "append" => (length, Some((arguments[0], arguments[1]))),
        _ => (arguments[0], None),
    };
    let graph = &mut *lowering.graph;
    let from = graph.resize(begin, BEGIN_BITS);
    let begin = graph.binary(BinaryOp::Sub, from, window);
    let condition = match written {
        Some((data, count)) => {
            let bytes = graph.number(16, u64::from(graph.width(data) / 8));
            let fits_chunk = graph.binary(BinaryOp::Ule, count, bytes);
            let wide_count = graph.resize(count, BEGIN_BITS);
            let end = graph.binary(BinaryOp::Add, from, wide_count);
            let limit = match call.method {
                "append" => graph.number(BEGIN_BITS, u64::from(MAX_LENGTH)),
                _ => length,
            };
            let fits = graph.binary(BinaryOp::Ule, end, limit);
            graph.all([guard, fits_chunk, fits])
        }
        None => guard,
    };
    let Some(Body::Chunks { bytes, reads, writes }) = lowering.body_of(port) else {
        unreachable!("the port is that of a payload")
    };
    let mut parts = Vec::new();
    if reads && writes {
        parts.push(lowering.graph.bit(written.is_some()));
    }
    parts.extend([lowering.place(), begin, written.map_or(body, |(_, count)| count)]);
    if writes {
        let nothing = lowering.graph.constant(Bits::zero(8 * bytes));
        parts.push(written.map_or(nothing, |(data, _)| data));
    }
    let request = lowering.graph.concat(parts);
    lowering.ask(port, condition, request);
    match written {
        Some((_, count)) => {
            if call.method == "append" {
                lowering.hand.append(lowering.graph, condition, count);
            }
            lowering.define(call.op, condition);
        }
        None => lowering.define_reply(call.op, port, guard),
    }
}

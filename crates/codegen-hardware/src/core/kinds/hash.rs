//! `hash`: exclusive ORs in the core.

use wireloom_bits::Bits;
use wireloom_offloads::Config;
use wireloom_offloads::kinds::hash;

use super::kind::KindInHardware;
use crate::core::graph::{Graph, Node};

pub(super) const KIND: KindInHardware = KindInHardware {
    name: "hash",
    inside: |_| {
        Some(|lowering, call| {
            let hash = logic(lowering.graph, call.config, call.method, call.arguments[0]);
            lowering.masked_reply(call.op, call.guard, hash)
        })
    },
    in_pipeline: |_| true,
    ..KindInHardware::PLAIN
};

/// Builds the reply of a method of `hash`.
fn logic(graph: &mut Graph, config: &Config, method: &str, data: Node) -> Node {
    let [multiplier48, multiplier64] =
        ["multiplier48", "multiplier64"].map(|name| config.param(name).low_u64());
    match method {
        "crc32" => linear(graph, data, 32, |data| u64::from(hash::crc32(data))),
        "hash48" => linear(graph, data, 48, |data| hash::hash48(data, multiplier48)),
        _ => linear(graph, data, 64, |data| hash::hash64(data, multiplier64)),
    }
}

/// Builds a function of `width` bits that is linear over GF(2) except for a constant: each bit of
/// the reply is the parity of some bits of the data. The golden model determines which ones.
pub(super) fn linear(
    graph: &mut Graph,
    data: Node,
    width: u32,
    function: impl Fn(&Bits) -> u64,
) -> Node {
    let data_width = graph.width(data);
    let offset = function(&Bits::zero(data_width));
    let mut masks = vec![Bits::zero(data_width); width as usize];
    for bit in 0..data_width {
        let one = Bits::new(data_width, 1).shl(bit);
        let changes = function(&one) ^ offset;
        for (index, mask) in masks.iter_mut().enumerate() {
            if changes >> index & 1 == 1 {
                *mask = mask.or(&one);
            }
        }
    }
    let mut parts = Vec::new();
    for (index, mask) in masks.into_iter().enumerate().rev() {
        let parity = graph.parity(data, mask);
        parts.push(if offset >> index & 1 == 1 { graph.not(parity) } else { parity });
    }
    graph.concat(parts)
}

//! `crc`: exclusive ORs in the core.

use wireloom_offloads::kinds::crc::Crc;

use super::hash::linear;
use super::kind::KindInHardware;

pub(super) const KIND: KindInHardware = KindInHardware {
    name: "crc",
    inside: |_| {
        Some(|lowering, call| {
            let crc = Crc::new(call.config);
            let reply = linear(lowering.graph, call.arguments[0], 64, |data| crc.of(data));
            lowering.masked_reply(call.op, call.guard, reply)
        })
    },
    in_pipeline: |_| true,
    ..KindInHardware::PLAIN
};

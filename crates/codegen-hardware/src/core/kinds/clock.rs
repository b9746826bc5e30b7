//! `clock`: the core has the packet's arrival time.

use super::kind::KindInHardware;

pub(super) const KIND: KindInHardware = KindInHardware {
    name: "clock",
    inside: |_| {
        Some(|lowering, call| {
            let arrival = lowering.arrival();
            lowering.masked_reply(call.op, call.guard, arrival)
        })
    },
    ..KindInHardware::PLAIN
};

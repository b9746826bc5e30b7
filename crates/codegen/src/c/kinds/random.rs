//! `random` is computed from the seed and the packet's number.

use super::KindInC;
use crate::c::calls::env;
use crate::c::tree::Expr;
use crate::c::types::Model;

pub const KIND: KindInC = KindInC {
    name: "random",
    header: Some(("random.h", include_str!("../../../runtime/c/random.h"))),
    call: |call| {
        let seed = || Model::Bits64.literal(call.config.param("seed"));
        let next = || call.scalar(Expr::call("wl_random", [seed(), env(), call.arg(0)]));
        (call.method.name == "next").then(next)
    },
    ..KindInC::PLAIN
};

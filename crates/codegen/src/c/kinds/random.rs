//! `random` is computed from the seed and the packet's number.

use super::KindInC;
use crate::c::calls::env;
use crate::c::tree::Expr;
use crate::c::types::Model;

pub const KIND: KindInC = KindInC {
    name: "random",
    header: Some(("random.h", include_str!("../../../runtime/c/random.h"))),
    function: |config, _, args| {
        let seed = Model::Bits64.literal(config.param("seed"));
        Some(Expr::call("wl_random", [seed, env(), args[0].c.clone()]))
    },
    ..KindInC::PLAIN
};

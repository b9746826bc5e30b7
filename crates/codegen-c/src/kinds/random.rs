//! `random` is computed from the seed and the packet's number.

use super::kind::{InKernel, KindInC};
use crate::call::env;
use crate::tree::Expr;
use crate::types::Model;

pub const KIND: KindInC = KindInC {
    name: "random",
    header: Some(("random.h", include_str!("../../runtime/random.h"))),
    function: |config, _, args| {
        let seed = Model::Bits64.literal(config.param("seed"));
        Some(Expr::call("wl_random", [seed, env(), args[0].c.clone()]))
    },
    in_kernel: InKernel { header: Some("random.h"), evaluates: true, ..InKernel::NONE },
    ..KindInC::PLAIN
};

//! `siphash` is computed from its secret, which is in the memory of the host.

use super::kind::KindInC;
use crate::ops::as_words;
use crate::tree::Expr;

pub const KIND: KindInC = KindInC {
    name: "siphash",
    header: Some(("siphash.h", include_str!("../../runtime/siphash.h"))),
    call: |call| {
        let data = &call.args[1];
        let bytes = Expr::number(data.width.div_ceil(8));
        let arguments = [call.slot_address(), call.arg(0), as_words(data), bytes];
        Some(call.scalar(Expr::call("wl_siphash", arguments)))
    },
    ..KindInC::PLAIN
};

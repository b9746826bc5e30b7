//! `checksum` reads the current packet.

use super::kind::KindInC;
use crate::tree::Expr;

pub const KIND: KindInC = KindInC {
    name: "checksum",
    header: Some(("checksum.h", include_str!("../../runtime/checksum.h"))),
    call: |call| {
        let (packet, _) = call.around.packet.clone()?;
        let sum = || Expr::call("wl_checksum", [packet, call.arg(0), call.arg(1), call.arg(2)]);
        (call.method.name == "sum").then(|| call.scalar(sum()))
    },
    ..KindInC::PLAIN
};

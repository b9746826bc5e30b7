//! `payload` reads and changes the current packet.

use super::kind::{ByThread, InKernel, InLanes, KindInC};
use crate::call::Call;
use crate::ops::as_words;
use crate::tree::{Expr, Stmt};

pub const KIND: KindInC = KindInC {
    name: "payload",
    header: Some(("payload.h", include_str!("../../runtime/payload.h"))),
    call,
    by_thread: |method| {
        let truncate = |packet, mut arguments: Vec<Expr>| {
            Expr::call("wl_truncate", [packet, arguments.remove(0)])
        };
        (method.name == "truncate").then_some(truncate as ByThread)
    },
    in_lanes: |_, method| (method.name == "truncate").then_some(InLanes::Truncate),
    in_kernel: InKernel {
        calls: |method| method.name == "truncate",
        call: |kernel| {
            let (packet, _) = kernel.call.around.packet.clone()?;
            let truncated = Expr::call("wl_truncate", [packet, kernel.call.arg(0)]);
            Some(kernel.call.scalar(truncated))
        },
        ..InKernel::NONE
    },
    ..KindInC::PLAIN
};

fn call(call: &Call<'_>) -> Option<Vec<Stmt>> {
    let (packet, arena) = call.around.packet.clone()?;
    let chunk = Expr::number(call.config.value.as_ref()?.width() / 8);
    let data = |i: usize| as_words(&call.args[i]);
    Some(match call.method.name {
        "read" => call.fill("wl_payload_read", vec![packet, call.arg(0), chunk]),
        "write" => {
            let arguments = [packet, arena, call.arg(0), data(1), chunk, call.arg(2)];
            call.scalar(Expr::call("wl_payload_write", arguments))
        }
        "append" => call
            .scalar(Expr::call("wl_payload_append", [packet, arena, data(0), chunk, call.arg(1)])),
        "truncate" => call.scalar(Expr::call("wl_payload_truncate", [packet, call.arg(0)])),
        _ => return None,
    })
}

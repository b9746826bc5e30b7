//! `meter` marks packets in the host's memory.

use super::kind::{Access, KindInC, SplitPhase, is_far};
use crate::call::{Call, env};
use crate::tree::{Expr, Stmt};

/// The number of words of a meter.
const WORDS: u32 = 4;

pub const KIND: KindInC = KindInC {
    name: "meter",
    header: Some(("meter.h", include_str!("../../runtime/meter.h"))),
    call: |call| Some(self::call(call)),
    split_phase: |config| is_far(config, WORDS).then_some(&Meters as &dyn SplitPhase),
    ..KindInC::PLAIN
};

struct Meters;

impl SplitPhase for Meters {
    fn fetch(&self, access: &Access<'_>) -> Stmt {
        Stmt::call("wl_meter_prefetch", [access.slot.clone(), access.key.c.clone()])
    }
}

fn call(call: &Call<'_>) -> Vec<Stmt> {
    let has_two_rates = call.config.param("rates").low_u64() == 2;
    let has_two_rates = Expr::name(if has_two_rates { "true" } else { "false" });
    let color = match call.method.name {
        "color" => Expr::name("WL_GREEN"),
        "color_aware" => call.arg(2),
        _ => return call.through_host(),
    };
    let (index, bytes) = (call.arg(0), call.arg(1));
    let now = env().arrow("now_ns");
    let arguments = [call.slot_address(), has_two_rates, index, bytes, color, now];
    call.scalar(Expr::call("wl_meter_color", arguments))
}

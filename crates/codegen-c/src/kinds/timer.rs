//! `timer` is a table of keys without values, searched like `exact`.

use super::exact::{Table, arguments, words};
use super::kind::{KindInC, SplitPhase, is_far};
use crate::call::Call;
use crate::tree::{Expr, Stmt};

pub const KIND: KindInC = KindInC {
    name: "timer",
    header: Some(("timer.h", include_str!("../../runtime/timer.h"))),
    call: |call| Some(self::call(call)),
    split_phase: |config| is_far(config, words(config)).then_some(&Table as &dyn SplitPhase),
    ..KindInC::PLAIN
};

fn call(call: &Call<'_>) -> Vec<Stmt> {
    let mut all = arguments(call);
    match call.method.name {
        "left" => call.fill("wl_timer_left", all),
        "set" => {
            all.push(call.arg(1));
            call.scalar(Expr::call("wl_timer_set", all))
        }
        "cancel" => call.scalar(Expr::call("wl_timer_cancel", all)),
        _ => call.scalar(Expr::call("wl_timer_claim", all)),
    }
}

//! `counter` counts in the host's memory: one word for packets and one for bytes.

use super::kind::{Access, KindInC, SplitPhase, is_far};
use crate::tree::{Expr, Stmt};

/// The number of words of a counter.
const WORDS: u32 = 2;

pub const KIND: KindInC = KindInC {
    name: "counter",
    header: Some(("counter.h", include_str!("../../runtime/counter.h"))),
    call: |call| {
        let arguments = [call.slot_address(), call.arg(0), call.arg(1)];
        (call.method.name == "count").then(|| vec![Stmt::call("wl_count", arguments)])
    },
    split_phase: |config| is_far(config, WORDS).then_some(&Counters as &dyn SplitPhase),
    ..KindInC::PLAIN
};

struct Counters;

impl SplitPhase for Counters {
    fn fetch(&self, access: &Access<'_>) -> Stmt {
        let words = Expr::number(WORDS);
        Stmt::call("wl_element_prefetch", [access.slot.clone(), access.key.c.clone(), words])
    }
}

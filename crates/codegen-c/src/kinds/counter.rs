//! `counter` counts in the memory of the host or in a map of the kernel: one word for packets and
//! one for bytes.

use super::kind::{Access, InKernel, InLanes, KernelCall, KindInC, SplitPhase, is_far};
use crate::bpf::map::Content;
use crate::tree::{Expr, Stmt};

/// The number of words of a counter.
const WORDS: u32 = 2;

/// The most elements of a counter that is kept per processor: 16 MiB.
const OWN_COUNTERS: u64 = 1 << 20;

pub const KIND: KindInC = KindInC {
    name: "counter",
    header: Some(("counter.h", include_str!("../../runtime/counter.h"))),
    call: |call| {
        let arguments = [call.slot_address(), call.arg(0), call.arg(1)];
        (call.method.name == "count").then(|| vec![Stmt::call("wl_count", arguments)])
    },
    split_phase: |config| is_far(config, WORDS).then_some(&Counters as &dyn SplitPhase),
    in_lanes: |_, method| {
        (method.name == "count").then_some(InLanes::Count { words: WORDS as usize })
    },
    in_kernel: InKernel {
        header: Some("elements.h"),
        map: |config, _| {
            let count = config.param("size").low_u64();
            Some(match count {
                0..=OWN_COUNTERS => Content::Counters { count },
                _ => Content::Elements { count, words: WORDS },
            })
        },
        calls: |method| method.name == "count",
        call: call_in_kernel,
        ..InKernel::NONE
    },
    ..KindInC::PLAIN
};

struct Counters;

impl SplitPhase for Counters {
    fn fetch(&self, access: &Access<'_>) -> Stmt {
        let words = Expr::number(WORDS);
        Stmt::call("wl_element_prefetch", [access.slot.clone(), access.key.c.clone(), words])
    }
}

fn call_in_kernel(KernelCall { call, map, .. }: &KernelCall<'_>) -> Option<Vec<Stmt>> {
    let [slot, index, bytes] = [call.slot_address(), call.arg(0), call.arg(1)];
    Some(vec![match map.as_ref()?.content {
        Content::Counters { count } => {
            Stmt::call("wl_count_own", [slot, Expr::number(count), index, bytes])
        }
        _ => Stmt::call("wl_count", [slot, index, bytes]),
    }])
}

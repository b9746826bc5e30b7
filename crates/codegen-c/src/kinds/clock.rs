//! `clock` reads the time from the thread's environment.

use super::kind::{InKernel, KindInC};
use crate::call::env;
use crate::tree::Expr;

pub const KIND: KindInC = KindInC {
    name: "clock",
    function: |_, _, _| Some(env().arrow("now_ns")),
    by_thread: |_| Some(|_, _| Expr::call("wl_begun_ns", [])),
    in_kernel: InKernel { evaluates: true, ..InKernel::NONE },
    ..KindInC::PLAIN
};

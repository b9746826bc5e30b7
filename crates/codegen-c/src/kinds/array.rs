//! `array` accesses its elements directly in the host's memory.

use wireloom_offloads::{Config, Layout};

use super::kind::{Access, KindInC, SplitPhase, is_far};
use crate::call::Call;
use crate::ops::as_words;
use crate::tree::{Expr, Stmt, Type};
use crate::types::Model;

pub const KIND: KindInC = KindInC {
    name: "array",
    header: Some(("array.h", include_str!("../../runtime/array.h"))),
    call: |call| Some(self::call(call)),
    split_phase: |config| is_far(config, words(config)).then_some(&Elements as &dyn SplitPhase),
    ..KindInC::PLAIN
};

/// Returns the number of words of an element.
fn words(config: &Config) -> u32 {
    Model::Bits64.words(config.value.as_ref().map_or(1, Layout::width))
}

struct Elements;

impl SplitPhase for Elements {
    fn fetch(&self, access: &Access<'_>) -> Stmt {
        let words = Expr::number(words(access.config));
        Stmt::call("wl_element_prefetch", [access.slot.clone(), access.key.c.clone(), words])
    }
}

fn call(call: &Call<'_>) -> Vec<Stmt> {
    let layout = call.config.value.as_ref().expect("an array has a value type");
    let width = layout.width();
    let with = |more: Vec<Expr>| {
        let element = [call.slot_address(), call.arg(0), Expr::number(words(call.config))];
        element.into_iter().chain(more).collect::<Vec<Expr>>()
    };
    let value = |i: usize| as_words(&call.args[i]);
    let added = || {
        let lanes = Expr::Object(Type::structure("wl_lane").constant().array(), lanes(layout));
        with(vec![value(1), lanes, Expr::number(layout.fields.len())])
    };
    match call.method.name {
        "read" => call.fill("wl_array_read", with(vec![])),
        "write" => vec![Stmt::call("wl_array_write", with(vec![value(1)]))],
        "add" => vec![Stmt::call("wl_array_add", added())],
        "fetch_add" => call.fill("wl_array_fetch_add", added()),
        "exchange" => call.fill("wl_array_exchange", with(vec![value(1)])),
        "compare_swap" => call.fill_before(
            "wl_array_compare_swap",
            with(vec![value(1), value(2), Expr::number(width)]),
            vec![Expr::number(Model::Bits64.words(call.width))],
        ),
        _ => call.through_host(),
    }
}

/// Returns the fields of an element, each with its lowest bit and its width.
pub fn lanes(layout: &Layout) -> Vec<Expr> {
    let mut top = layout.width();
    let lane = |width: &u32| {
        top -= width;
        Expr::List(vec![Expr::number(top), Expr::number(width)])
    };
    layout.fields.iter().map(|(_, width)| width).map(lane).collect()
}

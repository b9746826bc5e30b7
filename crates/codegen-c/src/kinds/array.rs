//! `array` accesses its elements directly in the memory of the host or in a map of the kernel.

use wireloom_offloads::{Config, Layout, Method};

use super::kind::{
    Access, InKernel, InLanes, KernelCall, KindInC, SplitPhase, is_far, object, value_words,
};
use crate::bpf::map::Content;
use crate::call::Call;
use crate::ops::as_words;
use crate::tree::{Expr, Stmt, Type};
use crate::types::Model;

pub const KIND: KindInC = KindInC {
    name: "array",
    header: Some(("array.h", include_str!("../../runtime/array.h"))),
    call: |call| Some(self::call(call)),
    split_phase: |config| is_far(config, words(config)).then_some(&Elements as &dyn SplitPhase),
    in_lanes: |config, method| {
        let words = words(config) as usize;
        (method.name == "read").then_some(InLanes::Read { words })
    },
    in_kernel: InKernel {
        header: Some("elements.h"),
        map: |config, is_changed| {
            let (count, words) = (config.param("size").low_u64(), value_words(config));
            Some(match is_changed {
                true => Content::Elements { count, words },
                false => Content::ReadOnly { count, words },
            })
        },
        calls: |_| true,
        refusal: |config, method| is_sum(method).then(|| crossing_field(config)).flatten(),
        call: call_in_kernel,
        ..InKernel::NONE
    },
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

fn is_sum(method: &Method) -> bool {
    ["add", "fetch_add"].contains(&method.name)
}

/// Returns why the kernel cannot add to the values of an offload, if a field prevents it.
pub fn crossing_field(config: &Config) -> Option<String> {
    let layout = config.value.as_ref()?;
    let mut top = layout.width();
    for (_, width) in &layout.fields {
        top -= width;
        if top / 64 != (top + width - 1) / 64 {
            return Some(format!(
                "a field of {width} bits crosses a word of 64: additions in the kernel are to \
                 fields within a word"
            ));
        }
    }
    None
}

/// Returns the number of fields to which a call in the kernel adds, and their array. A call that
/// adds nothing has no fields.
pub fn added_lanes(layout: &Layout, adds: bool) -> [Expr; 2] {
    let lanes = if adds { lanes(layout) } else { Vec::new() };
    let count = Expr::number(lanes.len());
    let array = match lanes.is_empty() {
        true => Expr::name("NULL"),
        false => Expr::Object(Type::structure("wl_lane").constant().array(), lanes),
    };
    [count, array]
}

fn call_in_kernel(KernelCall { call, offload, map }: &KernelCall<'_>) -> Option<Vec<Stmt>> {
    if let Content::ReadOnly { words, .. } = map.as_ref()?.content {
        let element = vec![call.slot_address(), Expr::number(words), call.arg(0)];
        return Some(call.fill("wl_read_only", element));
    }
    let layout = call.config.value.as_ref().expect("an array has a value type");
    let numbers = [*offload, value_words(call.config) as usize, layout.width() as usize];
    let parts = [call.slot_address()].into_iter().chain(numbers.map(Expr::number));
    let array = object("wl_array", parts.chain(added_lanes(layout, is_sum(call.method))).collect());
    let value = |i: usize| as_words(&call.args[i]);
    let with =
        |more: Vec<Expr>| [array, call.arg(0)].into_iter().chain(more).collect::<Vec<Expr>>();
    Some(match call.method.name {
        "read" => call.fill("wl_array_read", with(vec![])),
        "write" => vec![Stmt::call("wl_array_write", with(vec![value(1)]))],
        "add" => vec![Stmt::call("wl_array_add", with(vec![value(1)]))],
        "fetch_add" => call.fill("wl_array_fetch_add", with(vec![value(1)])),
        "exchange" => call.fill("wl_array_exchange", with(vec![value(1)])),
        "compare_swap" => call.fill("wl_array_compare_swap", with(vec![value(1), value(2)])),
        _ => return None,
    })
}

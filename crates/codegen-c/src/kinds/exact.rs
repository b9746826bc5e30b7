//! `exact` searches the host's table and pauses before each access to it. In the kernel it is a
//! hash map.

use wireloom_offloads::{Config, Layout, Method, StateUse};

use super::array::{added_lanes, crossing_field, lanes};
use super::kind::{
    Access, InKernel, KernelCall, KindInC, Search, SplitPhase, is_far, object, value_words,
};
use crate::bpf::map::Content;
use crate::call::{Call, env};
use crate::ops::as_words;
use crate::tree::{Expr, Stmt, Type};
use crate::types::Model;

pub const KIND: KindInC = KindInC {
    name: "exact",
    header: Some(("exact.h", include_str!("../../runtime/exact.h"))),
    call: |call| Some(self::call(call)),
    split_phase: |config| is_far(config, words(config)).then_some(&Table as &dyn SplitPhase),
    // A touch changes no reply of `lookup`: an entry that was found stays until a change removes
    // it, and a lookup that finds an expired entry counts as a change.
    version: |method, slot| {
        let table = Expr::call("wl_exact_table", [slot]);
        (method.name == "lookup").then(|| table.arrow("changes"))
    },
    in_kernel: InKernel {
        header: Some("exact.h"),
        map: |config, _| {
            let (count, key) = (config.param("size").low_u64(), key_words(config));
            Some(Content::Keys { count, key, words: value_words(config) })
        },
        calls: |method| method.needs.is_none(),
        refusal: |config, method| is_sum(method).then(|| crossing_field(config)).flatten(),
        call: call_in_kernel,
        ..InKernel::NONE
    },
    ..KindInC::PLAIN
};

/// Returns the number of words of an entry before its key.
fn head(config: &Config) -> u32 {
    if config.has_ticks() { 4 } else { 2 }
}

/// Returns the number of words of an entry.
pub(super) fn words(config: &Config) -> u32 {
    head(config) + key_words(config) + Model::Bits64.words(value_width(config))
}

pub(super) fn key_words(config: &Config) -> u32 {
    Model::Bits64.words(config.key.as_ref().map_or(0, Layout::width))
}

fn value_width(config: &Config) -> u32 {
    config.value.as_ref().map_or(0, Layout::width)
}

/// Returns the table's `struct wl_exact_type`.
pub(super) fn table_type(config: &Config) -> Expr {
    let width = value_width(config);
    let words = [head(config), key_words(config), Model::Bits64.words(width), width];
    // With ticks, each entry has a time of its own.
    let age = config.params.get("age").filter(|_| !config.has_ticks());
    let age = age.map_or_else(|| Expr::number(0), |age| Model::Bits64.literal(age));
    let tick = Model::Bits64.literal(config.param("tick"));
    let is_claimed = Expr::number(u32::from(config.has_step()));
    let all = words.map(Expr::number).into_iter().chain([age, tick, is_claimed]).collect();
    Expr::Object(Type::structure("wl_exact_type"), all)
}

/// How calls of a table split.
pub(super) struct Table;

impl SplitPhase for Table {
    fn fetch(&self, access: &Access<'_>) -> Stmt {
        begin(access).unused()
    }

    fn search(&self) -> Option<&'static dyn Search> {
        Some(&Self)
    }

    /// A search makes three accesses, which is worth a branch.
    fn is_guarded(&self) -> bool {
        true
    }

    fn suits(&self, method: &Method) -> bool {
        method.name != "expire"
    }
}

/// Fetches the bucket and returns the key's hash.
fn begin(access: &Access<'_>) -> Expr {
    let words = Expr::number(key_words(access.config));
    Expr::call("wl_exact_begin", [access.slot.clone(), as_words(&access.key), words])
}

impl Search for Table {
    fn state(&self) -> Type {
        Type::structure("wl_exact_walk")
    }

    fn begin(&self, access: &Access<'_>, state: &Expr) -> Option<Stmt> {
        Some(Stmt::Assign(state.clone().member("hash"), begin(access)))
    }

    /// A search pauses for the bucket. If a list links the entries, it also pauses for the entry;
    /// after that pause the entry's neighbours in the list are fetched.
    fn pauses(&self, config: &Config) -> usize {
        let has_list = !config.has_ticks() && !config.param("age").is_zero();
        if has_list { 2 } else { 1 }
    }

    fn advance(&self, access: &Access<'_>, pause: usize, state: &Expr) -> Option<Stmt> {
        let function = match pause {
            0 => "wl_exact_look",
            _ if access.method.state == StateUse::Change => "wl_exact_near",
            _ => return None,
        };
        let ty = table_type(access.config);
        Some(Stmt::call(function, [access.slot.clone(), ty, state.clone().address()]))
    }
}

fn call(call: &Call<'_>) -> Vec<Stmt> {
    let (slot, ty) = (call.slot_address(), table_type(call.config));
    let now = env().arrow("now_ns");
    if call.method.name == "expire" {
        return call.scalar(Expr::call("wl_exact_expire", [slot, ty, now, call.arg(0)]));
    }
    let value = || as_words(&call.args[1]);
    let with = |more: Vec<Expr>| arguments(call).into_iter().chain(more).collect::<Vec<Expr>>();
    let filled = |function: &str, arguments: Vec<Expr>| {
        let words = Expr::number(Model::Bits64.words(call.width));
        call.fill_before(function, arguments, vec![words])
    };
    match call.method.name {
        "lookup" => filled("wl_exact_lookup", with(vec![])),
        "touch" => filled("wl_exact_touch", with(vec![])),
        "insert" => filled("wl_exact_insert", with(vec![value()])),
        "update" => call.scalar(Expr::call("wl_exact_update", with(vec![value()]))),
        "accumulate" => {
            let layout = call.config.value.as_ref().expect("an exact table has a value type");
            let lane = Type::structure("wl_lane").constant().array();
            let added =
                vec![value(), Expr::Object(lane, lanes(layout)), Expr::number(layout.fields.len())];
            filled("wl_exact_accumulate", with(added))
        }
        "remove" => filled("wl_exact_remove", with(vec![])),
        "compare_swap" => {
            let values = vec![value(), as_words(&call.args[2])];
            filled("wl_exact_compare_swap", with(values))
        }
        "keep" => call.scalar(Expr::call("wl_exact_keep", with(vec![call.arg(1)]))),
        "claim" => filled("wl_exact_claim", with(vec![])),
        "age" => call.fill("wl_exact_age", with(vec![])),
        _ => call.through_host(),
    }
}

/// Returns the arguments that the functions of the runtime begin with: slot, type, hash, key, time.
pub(super) fn arguments(call: &Call<'_>) -> Vec<Expr> {
    let (slot, key) = (call.slot_address(), as_words(&call.args[0]));
    let hash = match &call.walk {
        Some(walk) => walk.clone().member("hash"),
        None => {
            let table = Expr::call("wl_exact_table", [slot.clone()]);
            Expr::call("wl_exact_hash", [table, key.clone(), Expr::number(key_words(call.config))])
        }
    };
    vec![slot, table_type(call.config), hash, key, env().arrow("now_ns")]
}

fn is_sum(method: &Method) -> bool {
    method.name == "accumulate"
}

fn call_in_kernel(KernelCall { call, offload, map }: &KernelCall<'_>) -> Option<Vec<Stmt>> {
    let layout = call.config.value.as_ref().expect("an exact table has a value type");
    let clock = Expr::name(map.as_ref()?.clock()).address();
    let numbers = [*offload, value_words(call.config) as usize, layout.width() as usize];
    let age = Model::Bits64.literal(call.config.param("age"));
    let parts = [call.slot_address(), clock].into_iter().chain(numbers.map(Expr::number));
    let parts = parts.chain(added_lanes(layout, is_sum(call.method))).chain([age]);
    let table = object("wl_exact", parts.collect());
    let now = env().arrow("now_ns");
    if call.method.name == "expire" {
        return Some(call.scalar(Expr::call("wl_exact_expire", [table, now, call.arg(0)])));
    }
    let key = as_words(&call.args[0]);
    let value = || as_words(&call.args[1]);
    Some(match call.method.name {
        "compare_swap" => {
            let swap = object("wl_exact_swap", vec![value(), as_words(&call.args[2])]);
            call.fill("wl_exact_compare_swap", vec![table, key, now, swap])
        }
        "lookup" => call.fill("wl_exact_lookup", vec![table, key, now]),
        "touch" => call.fill("wl_exact_touch", vec![table, key, now]),
        "age" => call.fill("wl_exact_age", vec![table, key, now]),
        "remove" => call.fill("wl_exact_remove", vec![table, key, now]),
        "insert" => call.fill("wl_exact_insert", vec![table, key, now, value()]),
        "accumulate" => call.fill("wl_exact_accumulate", vec![table, key, now, value()]),
        "update" => call.scalar(Expr::call("wl_exact_update", [table, key, now, value()])),
        _ => return None,
    })
}

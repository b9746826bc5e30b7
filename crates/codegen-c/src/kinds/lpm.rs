//! `lpm` searches the host's table and pauses before each access to it. In the kernel the table is
//! in parts of one map.

use wireloom_offloads::lpm::STRIDE;
use wireloom_offloads::{Config, Layout};

use super::kind::{
    Access, InKernel, InLanes, KernelCall, KindInC, Search, SplitPhase, object, value_words,
};
use crate::bpf::map::Content;
use crate::call::Call;
use crate::ops::{Operand, from_words, high_word};
use crate::tree::{Binary, Declaration, Expr, Stmt, Type};
use crate::types::{Class, Model};

pub const KIND: KindInC = KindInC {
    name: "lpm",
    header: Some(("lpm.h", include_str!("../../runtime/lpm.h"))),
    call: |call| (call.method.name == "search").then(|| search(call)),
    split_phase: |_| Some(&Table),
    in_lanes: |_, method| (method.name == "search").then_some(InLanes::Search),
    in_kernel: InKernel {
        header: Some("lpm.h"),
        map: |config, _| {
            let stride = value_words(config).next_power_of_two();
            let width = config.key.as_ref().map_or(1, Layout::width);
            Some(Content::Prefixes { stride, part_bits: part_bits(width, stride) })
        },
        calls: |method| method.name == "search",
        refusal: |config, _| {
            let width = config.key.as_ref().map_or(0, Layout::width);
            (width > WIDEST_IN_KERNEL).then(|| {
                format!(
                    "prefixes of {width} bits: tables in the kernel have keys of at most \
                     {WIDEST_IN_KERNEL}"
                )
            })
        },
        call: |call| Some(search_in_kernel(call)),
        ..InKernel::NONE
    },
    ..KindInC::PLAIN
};

/// The widest key of a prefix table in the kernel, in bits.
const WIDEST_IN_KERNEL: u32 = 128;

struct Table;

/// The widths of keys whose tables may consist of blocks with short entries.
const SHORT_KEYS: std::ops::RangeInclusive<u32> = wireloom_offloads::lpm::SHORT_KEYS;

impl SplitPhase for Table {
    fn fetch(&self, access: &Access<'_>) -> Stmt {
        let bits = [direct_bits(&access.key)];
        Stmt::Expr(function("fetch", &access.slot, &access.key, bits))
    }

    fn search(&self) -> Option<&'static dyn Search> {
        Some(&Self)
    }
}

impl Search for Table {
    fn state(&self) -> Type {
        Type::structure("wl_lpm_walk")
    }

    /// A search pauses once for the direct entry, then once for each node. Deeper searches finish
    /// without a pause: IPv4 tables seldom need a second node, and the deeper nodes of IPv6 tables
    /// are few and likely to be in the cache.
    fn pauses(&self, config: &Config) -> usize {
        if config.key.as_ref().map_or(0, Layout::width) <= 32 { 2 } else { 3 }
    }

    fn begun(&self, state: &Expr) -> Option<Expr> {
        Some(state.clone().member("leaf"))
    }

    /// Tables of blocks for short keys need only the first pause. IPv4 tables consist of blocks
    /// unless they have very many values.
    fn is_needed(&self, slot: &Expr, config: &Config, pause: usize) -> Option<Expr> {
        let width = config.key.as_ref().map_or(0, Layout::width);
        (pause > 0 && SHORT_KEYS.contains(&width))
            .then(|| Expr::call("wl_lpm_is_deep", [slot.clone()]))
    }

    fn advance(&self, access: &Access<'_>, pause: usize, state: &Expr) -> Option<Stmt> {
        let (state, key) = (state.clone().address(), &access.key);
        let at = direct_width(key) + pause.saturating_sub(1) as u32 * STRIDE;
        let name = if pause == 0 { "begin" } else { "walk" };
        Some(Stmt::Expr(function(name, &access.slot, key, [Expr::number(at), state])))
    }

    /// In tables of blocks, few searches need a second block. Such a search would stall the whole
    /// batch until the block arrives.
    fn may_go_further(&self, config: &Config) -> bool {
        SHORT_KEYS.contains(&config.key.as_ref().map_or(0, Layout::width))
    }

    fn further(&self, access: &Access<'_>, state: &Expr) -> Expr {
        function("further", &access.slot, &access.key, [state.clone().address()])
    }
}

fn search(call: &Call<'_>) -> Vec<Stmt> {
    let (slot, key) = (call.slot_address(), &call.args[0]);
    let words = Expr::number(Model::Bits64.words(call.width).max(1));
    let found = match &call.walk {
        Some(walk) => function("value", &slot, key, [words, walk.clone().address()]),
        None => function("search", &slot, key, [direct_bits(key), words]),
    };
    let found = match call.around.counts {
        true => Expr::call("wl_lpm_count", [slot, Expr::number(call.number), found]),
        false => found,
    };
    let result = call.result.expect("a search without a use is not written").clone();
    match Model::Bits64.class(call.width) {
        Class::Wide(n) => {
            let size = Expr::number(n).binary(Binary::Mul, Expr::SizeOfType("uint64_t".into()));
            vec![Stmt::call("memcpy", [result.member("w"), found, size])]
        }
        Class::Double => {
            let pointer = Type::named("uint64_t").constant().const_pointer();
            let value = from_words(&Expr::name("words"), call.width);
            let declared = Declaration::new(pointer, "words").with(found);
            vec![Stmt::Block(vec![declared.into(), Stmt::Assign(result, value)])]
        }
        _ => vec![Stmt::Assign(result, from_words(&found, call.width))],
    }
}

/// Calls the runtime's function for keys of this form.
fn function<const N: usize>(name: &str, slot: &Expr, key: &Operand, more: [Expr; N]) -> Expr {
    let (form, key) = search_key(key);
    let arguments = std::iter::once(slot.clone()).chain(key).chain(more);
    Expr::call(format!("wl_lpm{form}_{name}"), arguments)
}

/// Returns the form of a search key, and the key as arguments. A scalar key is left-aligned in its
/// words.
fn search_key(key: &Operand) -> (&'static str, Vec<Expr>) {
    match key.class() {
        Class::Wide(_) => ("_wide", vec![key.words(), Expr::number(key.width)]),
        Class::Double => ("128", vec![shifted(key.c.clone(), 128 - key.width)]),
        _ if key.width == 32 => ("32", vec![key.c.clone()]),
        _ if SHORT_KEYS.contains(&key.width) => {
            ("32", vec![shifted(key.c.clone().cast("uint32_t"), 32 - key.width)])
        }
        _ if key.width == 64 => ("64", vec![key.c.clone()]),
        _ => ("64", vec![shifted(key.c.clone().cast("uint64_t"), 64 - key.width)]),
    }
}

/// Returns a key that is left-aligned in a word with `spare` more bits.
fn shifted(key: Expr, spare: u32) -> Expr {
    match spare {
        0 => key,
        _ => key.binary(Binary::Shl, Expr::number(spare)),
    }
}

/// Returns the number of key bits that index the direct table.
fn direct_bits(key: &Operand) -> Expr {
    Expr::number(direct_width(key))
}

fn direct_width(key: &Operand) -> u32 {
    key.width.min(wireloom_offloads::lpm::DIRECT_BITS)
}

/// Returns the binary logarithm of the size in bytes of a part of a prefix table. A part is twice
/// as large as the direct table, so that a small table fits into its first part. It is at least as
/// large as a value, and as a page.
fn part_bits(width: u32, stride: u32) -> u32 {
    // Tables for keys of 19 to 32 bits have entries of 4 bytes if they consist of blocks, as most
    // do.
    let entry_bits = if (19..=32).contains(&width) { 2 } else { 3 };
    (width.min(18) + entry_bits + 1).max(stride.ilog2() + 3).max(12)
}

fn search_in_kernel(KernelCall { call, .. }: &KernelCall<'_>) -> Vec<Stmt> {
    let key = &call.args[0];
    let [high, low] = match key.class() {
        Class::Double => {
            let key = shifted(key.c.clone(), 128 - key.width);
            [high_word(&key), key.cast("uint64_t")]
        }
        _ => [shifted(key.c.clone().cast("uint64_t"), 64 - key.width), Expr::number(0)],
    };
    let n = value_words(call.config);
    let stride = n.next_power_of_two();
    let numbers = [key.width, n, stride, part_bits(key.width, stride)].map(Expr::number);
    let ty = object("wl_lpm_type", numbers.into());
    call.fill("wl_lpm_search", vec![call.slot_address(), high, low, ty])
}

//! `lpm` searches the host's table and pauses before each access to it.

use wireloom_offloads::lpm::STRIDE;
use wireloom_offloads::{Config, Layout};

use super::kind::{Access, KindInC, Search, SplitPhase};
use crate::call::Call;
use crate::ops::{Operand, from_words};
use crate::tree::{Binary, Declaration, Expr, Stmt, Type};
use crate::types::{Class, Model};

pub const KIND: KindInC = KindInC {
    name: "lpm",
    header: Some(("lpm.h", include_str!("../../runtime/lpm.h"))),
    call: |call| (call.method.name == "search").then(|| search(call)),
    split_phase: |_| Some(&Table),
    ..KindInC::PLAIN
};

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
    let shifted = |value: Expr, spare: u32| match spare {
        0 => value,
        _ => value.binary(Binary::Shl, Expr::number(spare)),
    };
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

/// Returns the number of key bits that index the direct table.
fn direct_bits(key: &Operand) -> Expr {
    Expr::number(direct_width(key))
}

fn direct_width(key: &Operand) -> u32 {
    key.width.min(wireloom_offloads::lpm::DIRECT_BITS)
}

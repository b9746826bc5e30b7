//! `hash` is computed from its argument.

use super::kind::KindInC;
use crate::ops::as_words;
use crate::tree::Expr;
use crate::types::Model;

pub const KIND: KindInC = KindInC {
    name: "hash",
    header: Some(("hash.h", include_str!("../../runtime/hash.h"))),
    function: |config, method, args| {
        let data = &args[0];
        let multiplier = |name: &str| Model::Bits64.literal(config.param(name));
        let hash = |function: &str, name: &str| {
            Expr::call(function, [as_words(data), Expr::number(data.width), multiplier(name)])
        };
        Some(match method.name {
            "crc32" => {
                Expr::call("wl_crc32", [as_words(data), Expr::number(data.width.div_ceil(8))])
            }
            "hash48" => hash("wl_hash48", "multiplier48"),
            "hash64" => hash("wl_hash64", "multiplier64"),
            _ => return None,
        })
    },
    ..KindInC::PLAIN
};

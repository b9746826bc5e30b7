//! `crc` is computed from its argument.

use wireloom_offloads::kinds::crc::reflected;

use super::kind::{KindInC, object};
use crate::ops::as_words;
use crate::tree::Expr;
use crate::types::Model;

pub const KIND: KindInC = KindInC {
    name: "crc",
    header: Some(("crc.h", include_str!("../../runtime/crc.h"))),
    function: |config, _, args| {
        let number = |name: &str| config.param(name).low_u64();
        let (width, is_reflected) = (number("width") as u32, number("reflected"));
        let placed = |name: &str| match is_reflected {
            0 => number(name) << (64 - width),
            _ => reflected(number(name), width),
        };
        let inverted = number("inverted") & u64::MAX >> (64 - width);
        let long = |value: u64| Model::Bits64.literal(&wireloom_bits::Bits::new(64, value.into()));
        let crc = object(
            "wl_crc",
            vec![
                Expr::number(width),
                Expr::number(is_reflected),
                long(placed("polynomial")),
                long(placed("initial")),
                long(inverted),
            ],
        );
        let data = &args[0];
        Some(Expr::call("wl_crc", [crc, as_words(data), Expr::number(data.width.div_ceil(8))]))
    },
    ..KindInC::PLAIN
};

//! `crc`: a constant table of 256 elements, and a step for each byte.

use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Op, OpKind, Value};
use wireloom_offloads::Config;
use wireloom_offloads::kinds::crc::reflected;

use super::Expansion;
use crate::expand::Before;

pub(super) const EXPANSION: Expansion = Expansion { kind: "crc", expand };

/// A register that takes bytes. It has eight bits at least: a shorter one is in its upper bits, or, if
/// it is reflected, in its lower bits.
struct Register {
    width: u32,
    is_reflected: bool,
    polynomial: u64,
}

impl Register {
    /// Takes the eight bits of a byte, and returns the register.
    fn after(&self, byte: u64) -> u64 {
        let top = self.width - 1;
        let mut register = if self.is_reflected { byte } else { byte << (self.width - 8) };
        for _ in 0..8 {
            let out = if self.is_reflected { register & 1 } else { register >> top };
            register = if self.is_reflected { register >> 1 } else { register << 1 };
            register = (register ^ (out * self.polynomial)) & u64::MAX >> (63 - top);
        }
        register
    }

    fn table(&self) -> Arc<[Bits]> {
        (0..256).map(|byte| Bits::new(self.width, self.after(byte).into())).collect()
    }

    /// Emits the step for a byte.
    fn step(
        &self,
        before: &mut Before<'_>,
        table: &Arc<[Bits]>,
        register: Value,
        byte: Value,
    ) -> Value {
        let width = self.width;
        let next = before.slice(register, if self.is_reflected { 0 } else { width - 8 }, 8);
        let index = before.binary(BinaryOp::Xor, next, byte);
        let added = before.op(width, OpKind::Table { elements: Arc::clone(table), index });
        if width == 8 {
            return added;
        }
        let rest = before.slice(register, if self.is_reflected { 8 } else { 0 }, width - 8);
        let zero = before.number(8, 0);
        let parts = if self.is_reflected { vec![zero, rest] } else { vec![rest, zero] };
        let shifted = before.op(width, OpKind::Concat(parts));
        before.binary(BinaryOp::Xor, shifted, added)
    }
}

fn expand(before: &mut Before<'_>, config: &Config, op: &Op) -> OpKind {
    let (OpKind::Call { args, .. } | OpKind::Evaluate { args, .. }) = &op.kind else {
        unreachable!("a call is expanded")
    };
    let number = |name: &str| config.param(name).low_u64();
    let width = number("width") as u32;
    let is_reflected = config.param("reflected").bit(0);
    let holder = width.max(8);
    let placed = |name: &str| {
        let value = number(name) & u64::MAX >> (64 - width);
        if is_reflected { reflected(value, width) } else { value << (holder - width) }
    };
    let register = Register { width: holder, is_reflected, polynomial: placed("polynomial") };
    let table = register.table();
    let mut crc = before.number(holder, placed("initial").into());
    for byte in before.bytes(args[0]) {
        crc = register.step(before, &table, crc, byte);
    }
    let crc = before.slice(crc, if is_reflected { 0 } else { holder - width }, width);
    let crc = before.extend(crc, 64);
    let inverted = number("inverted") & u64::MAX >> (64 - width);
    let inverted = before.number(64, inverted.into());
    OpKind::Binary(BinaryOp::Xor, crc, inverted)
}

#[cfg(test)]
mod tests {
    use super::super::super::expand::tests::expanded_call;
    use wireloom_bits::Bits;
    use wireloom_offloads::kinds::crc::Crc;

    #[test]
    fn expanded_checks_are_those_of_the_kind() {
        let mut seed = 1u64;
        let mut draw = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            seed ^ seed >> 29
        };
        for width in (1..=64u32).chain([8, 16, 32, 32, 64]) {
            for bits in [1, 7, 8, 9, 32, 104, 130] {
                let params = [
                    ("width", u64::from(width)),
                    ("polynomial", draw()),
                    ("initial", draw()),
                    ("reflected", draw() >> 40 & 1),
                    ("inverted", draw()),
                ];
                let data = Bits::from_words(bits, &[draw(), draw(), draw()]);
                let (config, got) =
                    expanded_call("crc", bits, &params, std::slice::from_ref(&data), None);
                let expected = Crc::new(&config).of(&data);
                assert_eq!(got, Bits::new(64, expected.into()), "{params:?} of {data:?}");
            }
        }
    }
}

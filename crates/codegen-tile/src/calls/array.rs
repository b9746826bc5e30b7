//! Arrays and counters.

use wireloom_ir::Value;
use wireloom_isa::raw::tile::Op as Do;

use super::super::code::{NOTHING, Operand, Register};
use super::super::layout::Place;
use super::super::lower::Lower;
use super::super::words::{self, Words};

/// A method of an array. `fields` are the lanes of its elements, the first most significant.
pub fn call(
    lower: &mut Lower<'_>,
    place: Place,
    method: &str,
    args: &[Value],
    fields: &[(String, u32)],
) -> Option<Words> {
    let Place::Elements { base, stride, size } = place else {
        unreachable!("arrays have elements")
    };
    let width = fields.iter().map(|(_, width)| width).sum();
    let count = words::count(width);
    let index = lower.word(args[0]);
    if method == "read" {
        return Some(lower.element(base, stride, size, index, count));
    }
    let values: Vec<Words> = args[1..].iter().map(|value| lower.get(*value)).collect();
    let has_reply = matches!(method, "fetch_add" | "exchange" | "compare_swap");
    let reply = if method == "compare_swap" { width + 1 } else { width };
    let words = lower.or_zero(if has_reply { words::count(reply) } else { 0 }, |lower, done| {
        let at = lower.inside(base, stride, size, index, done)?;
        let before: Words = match method {
            "write" => Words::new(),
            _ => (0..count).map(|word| lower.code.load(at, 4 * word as i32).into()).collect(),
        };
        match method {
            "write" | "exchange" => put(lower, at, &values[0]),
            "add" | "fetch_add" => {
                let after = add(lower, &before, &values[0], width, fields);
                put(lower, at, &after);
            }
            _ => {
                let same = lower.code.is_equal(&before, &values[0]);
                let choose = |(new, old): (&Operand, &Operand)| lower.code.choose(same, *new, *old);
                let after: Words = values[1].iter().zip(&before).map(choose).collect();
                put(lower, at, &after);
                return Some(lower.code.concat(&[(vec![same], 1), (before, width)]));
            }
        }
        Some(before)
    });
    has_reply.then_some(words)
}

pub fn put(lower: &mut Lower<'_>, at: Register, words: &[Operand]) {
    for (place, word) in words.iter().enumerate() {
        lower.code.store(*word, at, 4 * place as i32);
    }
}

/// Adds each lane.
pub fn add(
    lower: &mut Lower<'_>,
    a: &[Operand],
    b: &[Operand],
    width: u32,
    fields: &[(String, u32)],
) -> Words {
    let code = &mut lower.code;
    if let [(_, only)] = fields {
        return code.sum(a, b, *only, NOTHING);
    }
    let mut top = width;
    let mut lanes = Vec::new();
    for (_, own) in fields {
        top -= own;
        let (a, b) = (code.slice(a, width, top, *own), code.slice(b, width, top, *own));
        lanes.push((code.sum(&a, &b, *own, NOTHING), *own));
    }
    code.concat(&lanes)
}

/// Counts a packet: 64 bits of bytes, then 64 of packets.
pub fn count(lower: &mut Lower<'_>, place: Place, args: &[Value]) {
    let Place::Counters { base, stride, size, apart } = place else {
        unreachable!("counters have places of theirs")
    };
    let base = base + lower.tile * apart;
    let (index, bytes) = (lower.word(args[0]), lower.word(args[1]));
    lower.or_zero(0, |lower, done| {
        let at = lower.inside(base, stride, size, index, done)?;
        for (place, more) in [(0, bytes), (8, Operand::Number(1))] {
            let code = &mut lower.code;
            let low: Operand = code.load(at, place).into();
            let sum = code.two(Do::Addu, low, more);
            code.store(sum, at, place);
            // A carry is rare, so the upper word is seldom touched.
            let carry = code.two(Do::Sltu, sum, low);
            let carry = code.in_register(carry);
            let (over, go_on) = (code.label(), code.label());
            code.branch(Do::Bne, carry, super::super::code::ZERO, &over);
            code.apart(|code| {
                code.place(&over);
                let high = code.load(at, place + 4).into();
                let high = code.two(Do::Addu, high, Operand::Number(1));
                code.store(high, at, place + 4);
                code.jump(&go_on);
            });
            code.place(&go_on);
        }
        None
    });
}

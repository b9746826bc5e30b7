//! Products and quotients of 64 bits. Microengines of version 1 have no multiplier, so they compute
//! products bit by bit, as all versions compute quotients.

use super::super::code::Code;
use super::super::operand::{Operand, Register, Shift, Target};
use super::super::routine::Routine;
use super::super::words;

/// The low word and the high word of a number.
pub type Pair = [Register; 2];

/// Returns the registers of a number that routines and their callers share under this name.
pub fn pair(code: &mut Code, name: &str, is_a: bool) -> Pair {
    ["0", "1"].map(|word| code.shared(&format!("{name}_{word}"), is_a))
}

/// The words of a number as operands.
pub fn both(pair: Pair) -> [Operand; 2] {
    pair.map(Operand::from)
}

/// Shifts left by one bit. The lowest bit becomes the highest of `below`.
fn double(code: &mut Code, pair: Pair, below: Operand) {
    code.double_shift(pair[1], pair[1].into(), pair[0].into(), 31);
    code.double_shift(pair[0], pair[0].into(), below, 31);
}

/// `product = a * b`, modulo 2^64. Without a multiplier it takes a round for each bit of `b`, and
/// destroys both factors.
pub struct Multiply {
    pub a: Pair,
    pub b: Pair,
    pub product: Pair,
}

impl Multiply {
    pub const ROUTINE: Routine = Routine::new(0, "Multiply", |code, _| Self::of(code).write(code));

    pub fn of(code: &mut Code) -> Self {
        let pairs = [("multiply_a", true), ("multiply_b", true), ("product", false)];
        let [a, b, product] = pairs.map(|(name, is_a)| pair(code, name, is_a));
        Self { a, b, product }
    }

    fn write(&self, code: &mut Code) {
        let Self { a, b, product } = *self;
        code.line("#ifdef VERSION_2");
        by_multiplier(code);
        code.line("#else");
        let (next, even, done) = (code.label(), code.label(), code.label());
        product.iter().for_each(|word| code.set(*word, Operand::Number(0)));
        code.place(next);
        code.alu(Target::None, b[0].into(), "OR", b[1].into());
        code.branch("br=0", done);
        code.branch_clear(b[0], 0, even);
        code.chain(&product.map(Target::from), "+", "+carry", &both(product), &both(a));
        code.place(even);
        double(code, a, Operand::Number(0));
        code.double_shift(b[0], b[1].into(), b[0].into(), 1);
        code.shift(b[1], Operand::None, "B", b[1].into(), Shift::Right(1));
        code.branch("br", next);
        code.place(done);
        code.line("#endif");
    }
}

/// Multiplies with the multiplier of version 2. It adds the whole product of the low words, and the
/// low words of the two mixed products. Operands of one instruction are in different banks.
fn by_multiplier(code: &mut Code) {
    let steps = "    mul_step[0]\n    mul_step[1]\n    mul_step[2]\n    mul_step[3]";
    code.line("    .begin\n    .reg factor part");
    let first = "    mul_last[product_0]\n    mul_last2[product_1]";
    let other = "    mul_last[part]\n    alu[product_1, product_1, +, part]";
    for (a, b, last) in [(0, 0, first), (0, 1, other), (1, 0, other)] {
        code.line(&format!("    alu[factor, --, B, multiply_a_{a}]"));
        code.line(&format!("    mul_start[factor, multiply_b_{b}]\n{steps}\n{last}"));
    }
    code.line("    .end");
}

/// `a = a / b` and `rest = a % b`. The dividend is in the upper `bits` bits of `a`. With divisor 0
/// the quotient is all ones and the remainder is the dividend.
pub struct Divide {
    /// The dividend, at the upper end; then the quotient, at the lower end.
    pub a: Pair,
    /// The divisor.
    pub b: Pair,
    /// The remainder.
    pub rest: Pair,
    /// The width of the dividend.
    pub bits: Register,
}

impl Divide {
    pub const ROUTINE: Routine = Routine::new(1, "Divide", |code, _| Self::of(code).write(code));

    pub fn of(code: &mut Code) -> Self {
        let pairs = [("divide_a", false), ("divide_b", true), ("divide_rest", false)];
        let [a, b, rest] = pairs.map(|(name, is_a)| pair(code, name, is_a));
        Self { a, b, rest, bits: code.shared("divide_bits", true) }
    }

    fn write(&self, code: &mut Code) {
        let Self { a, b, rest, bits } = *self;
        let (next, fits, less) = (code.label(), code.label(), code.label());
        rest.iter().for_each(|word| code.set(*word, Operand::Number(0)));
        code.place(next);
        let top = code.copy(rest[1].into());
        double(code, rest, a[1].into());
        double(code, a, Operand::Number(0));
        let left = [code.register(), code.register()];
        code.chain(&left.map(Target::from), "-", "-carry", &both(rest), &both(b));
        code.branch("br=cout", fits);
        // If bit 64 of the remainder was set, it is larger than the divisor.
        code.branch_clear(top, 31, less);
        code.place(fits);
        for (rest, left) in rest.iter().zip(left) {
            code.set(*rest, left.into());
        }
        code.alu(a[0], a[0].into(), "OR", Operand::Number(1));
        code.place(less);
        code.alu(bits, bits.into(), "-", Operand::Number(1));
        code.branch("br!=0", next);
    }
}

/// Copies the words of a value to a pair of registers.
pub fn give(code: &mut Code, pair: Pair, value: &words::Words) {
    for (index, register) in pair.iter().enumerate() {
        code.set(*register, value.get(index).copied().unwrap_or(Operand::Number(0)));
    }
}

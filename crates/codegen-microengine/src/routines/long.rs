//! Products and quotients of more than 64 bits, word by word in the frame.

use super::super::code::{Code, Label};
use super::super::frame::ARGUMENTS;
use super::super::operand::{Operand, Register, Shift, Target};
use super::super::routine::Routine;
use super::super::state::State;
use super::arithmetic::Multiply;
use super::keep;

/// The first word of the second operand. The first operand is in the arguments.
pub const SECOND: u32 = ARGUMENTS + 32;
/// The first word of results whose values are in registers.
pub const RESULT: u32 = ARGUMENTS + 64;

/// Registers that the routines share with their callers.
pub struct Long {
    /// The number of words of each operand, at most 32.
    pub words: Register,
    /// The first word of the frame for the product or the remainder.
    pub to: Register,
}

impl Long {
    pub fn of(code: &mut Code) -> Self {
        Self { words: code.shared("long_words", true), to: code.shared("long_to", false) }
    }
}

/// Reads a word of the frame.
fn load(code: &mut Code, state: State, target: Register, at: Register) {
    code.command("sram[read", "$0", state.frame.into(), at.into(), 1);
    code.set(target, Operand::Transfer(0));
}

/// Branches if a number is less than another one; both are less than 2^31.
fn branch_less(code: &mut Code, a: Register, b: Register, to: Label) {
    code.alu(Target::None, a.into(), "-", b.into());
    code.branch("br<0", to);
}

/// Multiplies two operands, modulo their width. It adds the products of words column by column.
pub struct Product;

impl Product {
    pub const ROUTINE: Routine = Routine::new(2, "Product", Self::write);

    fn write(code: &mut Code, state: State) {
        let Long { words, to } = Long::of(code);
        let Multiply { a, b, product } = Multiply::of(code);
        let (column, term) = (code.label(), code.label());
        let [number, index, at, zero] = [(); 4].map(|()| code.register());
        let sum = [(); 3].map(|()| code.register());
        let none = Operand::Number(0);
        code.set(number, none);
        sum.iter().for_each(|word| code.set(*word, none));
        code.place(column);
        code.set(index, none);
        code.place(term);
        code.set(at, Operand::Number(ARGUMENTS));
        code.alu(at, at.into(), "+", index.into());
        load(code, state, a[0], at);
        code.set(at, Operand::Number(SECOND));
        code.alu(at, at.into(), "+", number.into());
        code.alu(at, at.into(), "-", index.into());
        load(code, state, b[0], at);
        [a[1], b[1]].iter().for_each(|word| code.set(*word, none));
        let kept = [number, index, words, to, sum[0], sum[1], sum[2]];
        keep(code, state, &kept, &Multiply::ROUTINE);
        code.set(zero, none);
        let terms = [product[0], product[1], zero].map(Operand::from);
        code.chain(&sum.map(Target::from), "+", "+carry", &sum.map(Operand::from), &terms);
        code.alu(index, index.into(), "+", Operand::Number(1));
        code.alu(Target::None, number.into(), "-", index.into());
        code.branch("br>=0", term);
        code.alu(at, to.into(), "+", number.into());
        state.store(code, at.into(), &[sum[0].into()]);
        code.set(sum[0], sum[1].into());
        code.set(sum[1], sum[2].into());
        code.set(sum[2], none);
        code.alu(number, number.into(), "+", Operand::Number(1));
        branch_less(code, number, words, column);
    }
}

/// Divides. The quotient replaces the first operand. With divisor 0 the quotient is all ones and
/// the remainder is the dividend.
pub struct Quotient;

impl Quotient {
    pub const ROUTINE: Routine = Routine::new(3, "Quotient", Self::write);

    fn write(code: &mut Code, state: State) {
        let Long { words, to } = Long::of(code);
        let [clear, word, bit, shift, take, skip] = [(); 6].map(|()| code.label());
        let [left, dividend, bits, quotient] = [(); 4].map(|()| code.register());
        let [index, at, own, other, bit_in, carry, top] = [(); 7].map(|()| code.register());
        let (none, one) = (Operand::Number(0), Operand::Number(1));
        code.set(index, none);
        code.place(clear);
        code.alu(at, to.into(), "+", index.into());
        state.store(code, at.into(), &[none]);
        code.alu(index, index.into(), "+", one);
        branch_less(code, index, words, clear);
        code.set(left, words.into());
        // Take the words of the dividend from the highest on.
        code.place(word);
        code.alu(left, left.into(), "-", one);
        code.set(at, Operand::Number(ARGUMENTS));
        code.alu(at, at.into(), "+", left.into());
        load(code, state, dividend, at);
        code.set(quotient, none);
        code.set(bits, Operand::Number(32));
        code.place(bit);
        code.shift(bit_in, Operand::None, "B", dividend.into(), Shift::Right(31));
        code.shift(dividend, Operand::None, "B", dividend.into(), Shift::Left(1));
        code.set(index, none);
        code.set(carry, one);
        // Append the next bit to the remainder, and compare it with the divisor: `carry` is 0 if it
        // is less.
        code.place(shift);
        code.alu(at, to.into(), "+", index.into());
        load(code, state, own, at);
        code.shift(top, Operand::None, "B", own.into(), Shift::Right(31));
        code.shift(own, bit_in.into(), "OR", own.into(), Shift::Left(1));
        code.set(bit_in, top.into());
        state.store(code, at.into(), &[own.into()]);
        code.set(at, Operand::Number(SECOND));
        code.alu(at, at.into(), "+", index.into());
        load(code, state, other, at);
        borrow(code, carry, Target::None, own, other);
        code.alu(index, index.into(), "+", one);
        branch_less(code, index, words, shift);
        code.shift(quotient, Operand::None, "B", quotient.into(), Shift::Left(1));
        // A remainder with one bit more than the divisor is larger.
        code.alu(carry, carry.into(), "OR", bit_in.into());
        code.branch("br=0", skip);
        code.alu(quotient, quotient.into(), "OR", one);
        code.set(index, none);
        code.set(carry, one);
        code.place(take);
        code.set(at, Operand::Number(SECOND));
        code.alu(at, at.into(), "+", index.into());
        load(code, state, other, at);
        code.alu(at, to.into(), "+", index.into());
        load(code, state, own, at);
        borrow(code, carry, own.into(), own, other);
        state.store(code, at.into(), &[own.into()]);
        code.alu(index, index.into(), "+", one);
        branch_less(code, index, words, take);
        code.place(skip);
        code.alu(bits, bits.into(), "-", one);
        code.branch("br!=0", bit);
        code.set(at, Operand::Number(ARGUMENTS));
        code.alu(at, at.into(), "+", left.into());
        state.store(code, at.into(), &[quotient.into()]);
        code.alu(Target::None, left.into(), "-", none);
        code.branch("br!=0", word);
    }
}

/// `target = a - b`, less 1 if `carry` is 0. Sets `carry` to 0 if the difference is below 0.
fn borrow(code: &mut Code, carry: Register, target: Target, a: Register, b: Register) {
    // Subtracting 1 from `carry` restores the carry condition.
    let (first, second) = ([carry, a].map(Operand::from), [Operand::Number(1), b.into()]);
    code.chain(&[Target::None, target], "-", "-carry", &first, &second);
    code.alu(carry, Operand::Number(0), "+carry", Operand::Number(0));
}

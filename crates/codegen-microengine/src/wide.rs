//! Values of more than 128 bits are in the frame. They are computed in pieces of 128 bits, which
//! fit into registers.

use wireloom_codegen::refused::Refused;
use wireloom_ir::{BinaryOp, Op, OpKind, UnaryOp, Value};

use super::code::Label;
use super::frame::ARGUMENTS;
use super::lower::{Lower, Place};
use super::operand::{Operand, Register, Shift, Target};
use super::routines::{Long, Product, Quotient, SECOND};
use super::words::{self, MOST, Words, is_wide, pieces};

/// The most words of the frame that one command reads. A word of a shifted value is made of two
/// words.
const READ: usize = 8;

impl Lower<'_> {
    /// Returns some words of a value. Words past its end are 0.
    pub(super) fn part(&mut self, value: Value, first: usize, count: usize) -> Words {
        let all = words::count(self.width(value));
        let place = self.values.get(&value).cloned().unwrap_or_default();
        let mut part = match place.words {
            Some(words) => words.iter().skip(first).take(count).copied().collect(),
            None if !is_wide(self.width(value)) => {
                self.get(value).iter().skip(first).take(count).copied().collect()
            }
            None => {
                let there = count.min(all.saturating_sub(first));
                let from = place.slot.unwrap_or_default() + first as u32;
                words::of(&self.load(from, there))
            }
        };
        part.resize(count, Operand::Number(0));
        part
    }

    /// Returns some bits of a value. Bits past its end are 0.
    pub(super) fn bits(&mut self, value: Value, lo: u32, width: u32) -> Words {
        let first = lo / 32;
        let count = (lo + width).div_ceil(32) - first;
        let part = self.part(value, first as usize, count as usize);
        words::slice(self.code, &part, lo % 32, width)
    }

    /// Takes words of the frame for the result of an operation.
    pub(super) fn slot(&mut self, op: &Op) -> Option<u32> {
        let result = *op.results.first()?;
        let own = self.take(words::count(self.width(result)));
        let first = own.start;
        let place = Place { slot: Some(first), own: Some(own), words: None };
        self.values.insert(result, place);
        Some(first)
    }

    /// Writes the words of a value to the frame.
    pub(super) fn store_value(&mut self, first: u32, value: Value) {
        for (lo, width) in pieces(self.width(value)) {
            let part = self.part(value, lo as usize / 32, words::count(width));
            self.store(first + lo / 32, &part);
        }
    }

    /// Computes an operation with wide values. Returns whether the operation is one.
    pub(super) fn wide(&mut self, op: &Op) -> Result<bool, Refused> {
        let width = op.results.first().map_or(0, |value| self.width(*value));
        if is_wide(width) {
            return self.wide_result(op, width);
        }
        match &op.kind {
            OpKind::Slice(a, lo) if is_wide(self.width(*a)) => {
                let words = self.bits(*a, *lo, width);
                self.define(op, words);
            }
            OpKind::Binary(operation, a, b) if is_wide(self.width(*a)) => {
                let words = self.compare_wide(*operation, *a, *b);
                self.define(op, words);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn wide_result(&mut self, op: &Op, width: u32) -> Result<bool, Refused> {
        match &op.kind {
            OpKind::Const(bits) => {
                let words = words::constant(bits);
                self.define(op, words);
                return Ok(true);
            }
            OpKind::ReadContext(_)
            | OpKind::Call { .. }
            | OpKind::Evaluate { .. }
            | OpKind::Table { .. }
            | OpKind::ReadElement { .. } => return Ok(false),
            _ => {}
        }
        let Some(first) = self.slot(op) else { return Ok(true) };
        match &op.kind {
            OpKind::Select(condition, then, otherwise) => {
                let condition = self.get(*condition)[0];
                let condition = self.in_register(condition);
                let (other, done) = (self.code.label(), self.code.label());
                self.code.branch_clear(condition, 0, other);
                self.store_value(first, *then);
                self.code.branch("br", done);
                self.code.place(other);
                self.store_value(first, *otherwise);
                self.code.place(done);
            }
            OpKind::Binary(BinaryOp::Add, a, b) => self.wide_sum(first, "+", Some(*a), *b),
            OpKind::Binary(BinaryOp::Sub, a, b) => self.wide_sum(first, "-", Some(*a), *b),
            OpKind::Unary(UnaryOp::Neg, a) => self.wide_sum(first, "-", None, *a),
            OpKind::Binary(operation @ (BinaryOp::Mul | BinaryOp::Udiv | BinaryOp::Urem), a, b) => {
                let at = self.long(*operation, *a, *b, first);
                for (lo, piece) in pieces(width) {
                    let words = self.load(at + lo / 32, words::count(piece));
                    words::clear_top(self.code, &words, piece);
                    self.store(first + lo / 32, &words::of(&words));
                }
            }
            OpKind::Binary(operation @ (BinaryOp::Shl | BinaryOp::Lshr), a, by) => {
                self.shift_by(first, *operation == BinaryOp::Shl, *a, *by);
            }
            _ => {
                for (lo, piece) in pieces(width) {
                    let words = self.piece(&op.kind, width, lo, piece);
                    self.store(first + lo / 32, &words);
                }
            }
        }
        Ok(true)
    }

    /// Returns a piece of a result that depends on bits at fixed places only.
    fn piece(&mut self, kind: &OpKind, width: u32, lo: u32, piece: u32) -> Words {
        match kind {
            OpKind::Unary(UnaryOp::Not, a) => {
                let a = self.bits(*a, lo, piece);
                words::not(self.code, &a, piece)
            }
            OpKind::Binary(operation, a, b) => {
                let (a, b) = (self.bits(*a, lo, piece), self.bits(*b, lo, piece));
                let name = match operation {
                    BinaryOp::And => "AND",
                    BinaryOp::Or => "OR",
                    _ => "XOR",
                };
                words::logic(self.code, name, &a, &b, piece)
            }
            OpKind::Extend(a) => {
                let there = self.width(*a).saturating_sub(lo).min(piece);
                let mut words = match there {
                    0 => Words::new(),
                    there => self.bits(*a, lo, there),
                };
                words.resize(words::count(piece), Operand::Number(0));
                words
            }
            OpKind::Slice(a, from) => self.bits(*a, from + lo, piece),
            OpKind::Concat(parts) => {
                let mut found = Vec::new();
                let mut top = width;
                for part in parts {
                    let bottom = top - self.width(*part);
                    let (from, to) = (bottom.max(lo), top.min(lo + piece));
                    if from < to {
                        found.push((self.bits(*part, from - bottom, to - from), to - from));
                    }
                    top = bottom;
                }
                words::concat(self.code, &found)
            }
            OpKind::ReadPacket { base, bit } => {
                let most = self.most(*base);
                let base = self.get(*base)[0];
                let bit = bit + width - lo - piece;
                self.state.read(self.code, base, most, bit, piece)
            }
            other => unreachable!("no piece of {other:?}"),
        }
    }

    /// Computes a product, a quotient or a remainder of more than 64 bits. A product or a remainder
    /// goes to the words of the frame from `to` on. Returns the first word of the result. Bits past
    /// its width are undefined.
    pub(super) fn long(&mut self, operation: BinaryOp, a: Value, b: Value, to: u32) -> u32 {
        let count = words::count(self.width(a)) as u32;
        self.store_value(ARGUMENTS, a);
        self.store_value(SECOND, b);
        let Long { words, to: target } = Long::of(self.code);
        self.code.set(words, Operand::Number(count));
        self.code.set(target, Operand::Number(to));
        let is_product = operation == BinaryOp::Mul;
        self.code.call(if is_product { &Product::ROUTINE } else { &Quotient::ROUTINE });
        if operation == BinaryOp::Udiv { ARGUMENTS } else { to }
    }

    /// Adds or subtracts piece by piece. Without a first operand it is 0.
    fn wide_sum(&mut self, first: u32, operation: &str, a: Option<Value>, b: Value) {
        let width = self.width(b);
        let with_carry = format!("{operation}carry");
        let mut carry: Option<Register> = None;
        for (lo, piece) in pieces(width) {
            let a = match a {
                Some(a) => self.bits(a, lo, piece),
                None => vec![Operand::Number(0); words::count(piece)],
            };
            let b = self.bits(b, lo, piece);
            let sum = words::registers(self.code, piece);
            let targets: Vec<Target> = sum.iter().map(|register| (*register).into()).collect();
            self.chain_from(carry, &targets, [operation, &with_carry], &a, &b);
            let next = self.code.register();
            self.code.alu(next, Operand::Number(0), "+carry", Operand::Number(0));
            carry = Some(next);
            words::clear_top(self.code, &sum, piece);
            self.store(first + lo / 32, &words::of(&sum));
        }
    }

    /// Continues a chain with a carry that was kept.
    fn chain_from(
        &mut self,
        carry: Option<Register>,
        targets: &[Target],
        [first, rest]: [&str; 2],
        a: &[Operand],
        b: &[Operand],
    ) {
        let Some(carry) = carry else { return self.code.chain(targets, first, rest, a, b) };
        // Subtracting 1 from the carry restores the carry condition.
        let targets = [&[Target::None], targets].concat();
        let (a, b) = ([&[carry.into()], a].concat(), [&[Operand::Number(1)], b].concat());
        self.code.chain(&targets, "-", rest, &a, &b);
    }

    /// Returns the carry of a difference: 1 if `a >= b`.
    fn is_at_least(&mut self, a: Value, b: Value) -> Register {
        let mut carry = None;
        for (lo, piece) in pieces(self.width(a)) {
            let (a, b) = (self.bits(a, lo, piece), self.bits(b, lo, piece));
            let targets = vec![Target::None; a.len()];
            self.chain_from(carry, &targets, ["-", "-carry"], &a, &b);
            let next = self.code.register();
            self.code.alu(next, Operand::Number(0), "+carry", Operand::Number(0));
            carry = Some(next);
        }
        carry.expect("a value has a piece")
    }

    /// Compares wide values.
    fn compare_wide(&mut self, operation: BinaryOp, a: Value, b: Value) -> Words {
        match operation {
            BinaryOp::Ule => vec![self.is_at_least(b, a).into()],
            BinaryOp::Ult => {
                let least = vec![self.is_at_least(a, b).into()];
                words::not(self.code, &least, 1)
            }
            _ => {
                let all = self.code.copy(Operand::Number(0));
                for (lo, piece) in pieces(self.width(a)) {
                    let (a, b) = (self.bits(a, lo, piece), self.bits(b, lo, piece));
                    for word in words::logic(self.code, "XOR", &a, &b, piece) {
                        self.code.alu(all, all.into(), "OR", word);
                    }
                }
                let (all, zero) = (vec![all.into()], vec![Operand::Number(0)]);
                match operation {
                    BinaryOp::Eq => words::equal(self.code, &all, &zero),
                    _ => words::differ(self.code, &all, &zero),
                }
            }
        }
    }

    /// Branches if the count of a shift is not less than the width. Returns the low word of the
    /// count.
    fn count_within(&mut self, by: Value, width: u32, outside: Label) -> Register {
        for (lo, piece) in pieces(self.width(by)) {
            let first = usize::from(lo == 0);
            for word in self.bits(by, lo, piece).into_iter().skip(first) {
                if word != Operand::Number(0) {
                    self.code.alu(Target::None, Operand::None, "B", word);
                    self.code.branch("br!=0", outside);
                }
            }
        }
        let low = self.part(by, 0, 1)[0];
        let low = self.code.copy(low);
        words::compare(self.code, &vec![low.into()], &vec![Operand::Number(width)]);
        self.code.branch("br=cout", outside);
        low
    }

    /// Shifts a value of more than a word by a variable count, into these words of the frame.
    ///
    /// The value is put into the frame, with an equal number of zero words before it or after it.
    /// The result begins some words away from it, and each word of the result is made of two words.
    pub(super) fn shift_by(&mut self, first: u32, is_left: bool, a: Value, by: Value) {
        let width = self.width(a);
        let count = words::count(width);
        let zeros = |lower: &mut Self, at: u32| {
            for lo in (0..count as u32).step_by(READ) {
                let part = vec![Operand::Number(0); READ.min(count - lo as usize)];
                lower.store(at + lo, &part);
            }
        };
        let (outside, done) = (self.code.label(), self.code.label());
        let by = self.count_within(by, width, outside);
        let after = ARGUMENTS + count as u32;
        self.store_value(if is_left { after } else { ARGUMENTS }, a);
        zeros(self, if is_left { ARGUMENTS } else { after });
        let [at, left, right] = [(); 3].map(|()| self.code.register());
        let code = &mut *self.code;
        code.shift(at, Operand::None, "B", by.into(), Shift::Right(5));
        if is_left {
            let begin = code.copy(Operand::Number(after - 1));
            code.alu(at, begin.into(), "-", at.into());
        } else {
            let begin = code.copy(Operand::Number(ARGUMENTS));
            code.alu(at, begin.into(), "+", at.into());
        }
        code.alu(left, by.into(), "AND", Operand::Number(31));
        code.alu(right, Operand::Number(31), "-", left.into());
        for (lo, piece) in pieces(width) {
            let words = words::count(piece);
            let code = &mut *self.code;
            if lo > 0 {
                code.alu(at, at.into(), "+", Operand::Number(MOST as u32));
            }
            code.command("sram[read", "$0", self.state.frame.into(), at.into(), words as u32 + 1);
            let mut result = Vec::new();
            for index in 0..words as u8 {
                let (below, above) = (Operand::Transfer(index), Operand::Transfer(index + 1));
                let (own, next, word) = (code.register(), code.register(), code.register());
                if is_left {
                    // The word consists of the word above and of bits from below, which are shifted
                    // by 32 less the count.
                    code.shift_by(own, Operand::None, "B", above, Shift::LeftIndirect, left);
                    code.shift(next, Operand::None, "B", below, Shift::Right(1));
                    let (own, next) = (own.into(), next.into());
                    code.shift_by(word, own, "OR", next, Shift::RightIndirect, right);
                } else {
                    code.shift_by(own, Operand::None, "B", below, Shift::RightIndirect, left);
                    code.shift(next, Operand::None, "B", above, Shift::Left(1));
                    let (own, next) = (own.into(), next.into());
                    code.shift_by(word, own, "OR", next, Shift::LeftIndirect, right);
                }
                result.push(word);
            }
            words::clear_top(code, &result, piece);
            self.store(first + lo / 32, &words::of(&result));
        }
        self.code.branch("br", done);
        self.code.place(outside);
        zeros(self, first);
        self.code.place(done);
    }
}

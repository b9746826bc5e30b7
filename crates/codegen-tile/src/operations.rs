//! Writes the instructions of the operations of a step.

use wireloom_codegen::files::short_place;
use wireloom_codegen::refused::Refused;
use wireloom_compile::analysis::resources::writes_packet;
use wireloom_ir::{BinaryOp, Exit, Meta, Op, OpKind, UnaryOp, Value};
use wireloom_isa::raw::tile::Op as Do;

use super::code::{Code, FRAME, NOTHING, Operand, WINDOW, ZERO};
use super::lower::Lower;
use super::words::{self, Words};
use super::{calls, frame};

impl Lower<'_> {
    /// Writes the step, which begins with a label. `early` is the number of operations before the
    /// first effect. Before that, the fast way can be left for the label `all`.
    ///
    /// # Errors
    /// The refusal of a call.
    pub fn step(&mut self, label: &str, early: usize, all: &str) -> Result<(), Refused> {
        self.code.comment(&format!("step `{}` of `{}`", self.step.name, self.instance.engine.name));
        self.code.place(label);
        let ops = self.ops.clone();
        let mut place = (0, 0);
        // Operations before this index have been written.
        let mut grouped = 0;
        self.leave = (!all.is_empty()).then(|| all.to_owned());
        for (at, op) in ops.iter().enumerate() {
            self.at = at;
            if at == early {
                self.facts.clear();
                self.leave = None;
            }
            if at < grouped {
                continue;
            }
            if op.loc.line != 0 && (op.loc.file, op.loc.line) != place {
                place = (op.loc.file, op.loc.line);
                let place = short_place(self.program, op.loc);
                place.iter().for_each(|place| self.code.comment(place));
            }
            if let (OpKind::Exit(exit), true) = (&op.kind, at + 1 == ops.len()) {
                // Exactly one exit is taken, so the last one is taken if no other was.
                self.exit(exit);
                return Ok(());
            }
            let same = ops[at..].iter().take_while(|next| is_grouped(op, next)).count();
            if same > 1 && matches!(op.guard.map(|guard| self.word(guard)), Some(Operand::In(_))) {
                grouped = at + same;
                self.group(&ops[at..grouped])?;
                continue;
            }
            self.guarded(op)?;
            for result in &op.results {
                if let Some(is) = self.facts.get(result).copied() {
                    self.test(*result, is, all);
                }
            }
        }
        Ok(())
    }

    /// Leaves the fast way if a condition differs from its value there. After the test, the
    /// condition is a constant.
    fn test(&mut self, condition: Value, is: bool, all: &str) {
        match self.word(condition) {
            Operand::Number(number) if (number != 0) == is => return,
            Operand::Number(_) => self.code.jump(all),
            Operand::In(_) if self.implied.contains(&condition) => {}
            Operand::In(register) => {
                let op = if is { Do::Beq } else { Do::Bne };
                self.code.branch(op, register, ZERO, all);
            }
        }
        self.has_tests = true;
        self.values.insert(condition, vec![Operand::Number(u32::from(is))]);
    }

    /// Writes operations without results that have the same guard.
    fn group(&mut self, ops: &[&Op]) -> Result<(), Refused> {
        let guard = ops[0].guard.map(|guard| self.word(guard)).unwrap_or(NOTHING);
        let guard = self.code.in_register(guard);
        let (skip, first) = (self.code.label(), self.at);
        let known = self.known();
        self.code.branch(Do::Beq, guard, ZERO, &skip);
        for (at, op) in ops.iter().enumerate() {
            self.at = first + at;
            self.operation(op)?;
        }
        self.code.place(&skip);
        self.rejoin(known);
        Ok(())
    }

    /// Whether a guarded operation is rarely executed, so that its lines follow all others. Few
    /// packets are dropped, and few change their length differently from the others. None of these
    /// operations writes such lines itself.
    fn is_seldom(&self, op: &Op) -> bool {
        match &op.kind {
            OpKind::Exit(exit) => matches!(exit, Exit::Drop(..) | Exit::ToCpu(..)),
            OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. } => true,
            call => writes_packet(self.instance.engine, call),
        }
    }

    /// Writes an operation that is executed if its guard is 1.
    fn guarded(&mut self, op: &Op) -> Result<(), Refused> {
        let guard = op.guard.map(|guard| self.word(guard));
        let result = op.results.first().copied();
        match guard {
            Some(Operand::Number(0)) => {
                if let Some(result) = result {
                    self.values.insert(result, words::zeros(self.width(result)));
                }
                return Ok(());
            }
            Some(Operand::In(guard)) => {
                // Facts that the operation establishes do not hold after it, since it may be
                // skipped.
                let known = self.known();
                let kept = result.map(|result| {
                    let zeros = words::zeros(self.width(result));
                    zeros.into_iter().map(|zero| self.code.fresh(zero)).collect::<Vec<_>>()
                });
                let skip = self.code.label();
                let is_seldom = self.is_seldom(op);
                if is_seldom {
                    let apart = self.code.label();
                    self.code.branch(Do::Bne, guard, ZERO, &apart);
                    self.code.is_apart = true;
                    self.code.place(&apart);
                } else {
                    self.code.branch(Do::Beq, guard, ZERO, &skip);
                }
                let words = self.operation(op)?;
                if let (Some(result), Some(kept)) = (result, kept) {
                    let words = words.unwrap_or_default();
                    for (to, word) in kept.iter().zip(words) {
                        self.code.copy(*to, word);
                    }
                    let kept = kept.into_iter().map(Operand::from).collect();
                    self.values.insert(result, kept);
                }
                if is_seldom {
                    self.code.jump(&skip);
                    self.code.is_apart = false;
                }
                self.code.place(&skip);
                self.rejoin(known);
                return Ok(());
            }
            _ => {}
        }
        let words = self.operation(op)?;
        if let (Some(result), Some(words)) = (result, words) {
            self.values.insert(result, words);
        }
        Ok(())
    }

    fn operation(&mut self, op: &Op) -> Result<Option<Words>, Refused> {
        let result = op.results.first().copied();
        let width = result.map_or(0, |result| self.width(result));
        Ok(Some(match &op.kind {
            OpKind::Const(bits) => words::constant(bits),
            OpKind::Unary(UnaryOp::Not, a) => {
                let a = self.get(*a);
                self.code.not(&a, width)
            }
            OpKind::Unary(UnaryOp::Popcount | UnaryOp::Clz, _) => {
                unreachable!("compiling has expanded it")
            }
            OpKind::Unary(UnaryOp::Neg, a) => {
                let a = self.get(*a);
                self.code.difference(&words::zeros(width), &a, width)
            }
            OpKind::Binary(binary, a, b) => self.binary(*binary, *a, *b, width),
            OpKind::Select(condition, a, b) => {
                let (condition, a, b) = (self.word(*condition), self.get(*a), self.get(*b));
                let choose = |(a, b): (&Operand, &Operand)| self.code.choose(condition, *a, *b);
                a.iter().zip(&b).map(choose).collect()
            }
            OpKind::Extend(a) => {
                let mut words = self.get(*a);
                words.resize(words::count(width), NOTHING);
                words
            }
            OpKind::Slice(a, lo) => {
                let (whole, a) = (self.width(*a), self.get(*a));
                self.code.slice(&a, whole, *lo, width)
            }
            OpKind::Concat(parts) => {
                let parts: Vec<_> =
                    parts.iter().map(|part| (self.get(*part), self.width(*part))).collect();
                self.code.concat(&parts)
            }
            OpKind::Table { elements, index } => {
                let index = self.word(*index);
                let (base, stride) = self.layout.table(elements);
                self.element(base, stride, elements.len() as u32, index, words::count(width))
            }
            OpKind::ReadContext(variable) => {
                self.load(self.instance.variables[variable.index()], words::count(width))
            }
            OpKind::WriteContext(variable, value) => {
                let words = self.get(*value);
                self.store(self.instance.variables[variable.index()], &words);
                return Ok(None);
            }
            OpKind::ReadElement { array, index } => {
                let array_of = &self.instance.engine.arrays[array.index()];
                let (base, stride) = self.instance.arrays[array.index()];
                let index = self.word(*index);
                self.element(base, stride, array_of.count, index, words::count(width))
            }
            OpKind::WriteElement { array, index, value } => {
                let count = self.instance.engine.arrays[array.index()].count;
                let (base, stride) = self.instance.arrays[array.index()];
                let (index, words) = (self.word(*index), self.get(*value));
                let done = self.code.label();
                if let Some(at) = self.inside(base, stride, count, index, &done) {
                    for (place, word) in words.iter().enumerate() {
                        self.code.store(*word, at, 4 * place as i32);
                    }
                }
                self.code.place(&done);
                return Ok(None);
            }
            OpKind::ReadPacket { base, bit } => self.read_packet(*base, *bit, width),
            OpKind::WritePacket { base, bit, value } => {
                self.write_packet(*base, *bit, *value);
                return Ok(None);
            }
            OpKind::ReadMeta(meta) => match meta {
                Meta::Ingress => self.load(frame::INGRESS, 1),
                Meta::Egress => self.load(frame::EGRESS, 1),
                Meta::Length => self.load(frame::LENGTH, 1),
                // The window may change while its old length is still needed.
                Meta::Window => vec![self.code.fresh(WINDOW).into()],
                Meta::Arrival if self.layout.takes => self.load(frame::HAND, 2),
                Meta::Arrival => self.load(frame::ARRIVAL, 2),
            },
            OpKind::WriteMeta(_, value) => {
                let words = self.get(*value);
                self.store(frame::EGRESS, &words);
                return Ok(None);
            }
            OpKind::Insert { offset, count } => self.resize("insert", &[*offset, *count]),
            OpKind::Remove { offset, count } => self.resize("remove", &[*offset, *count]),
            OpKind::Reset { count } => self.resize("replace", &[*count]),
            OpKind::Call { offload, method, args } | OpKind::Evaluate { offload, method, args } => {
                return calls::call(self, *offload, *method, args, width);
            }
            OpKind::If { .. } => unreachable!("regions have no `if`"),
            OpKind::Exit(exit) => {
                self.exit(exit);
                return Ok(None);
            }
        }))
    }

    fn binary(&mut self, binary: BinaryOp, a: Value, b: Value, width: u32) -> Words {
        let whole = self.width(a);
        let (a, by) = (self.get(a), self.width(b));
        let b = self.get(b);
        let code = &mut self.code;
        let each = |code: &mut Code, op| {
            a.iter().zip(&b).map(|(a, b)| code.two(op, *a, *b)).collect::<Words>()
        };
        let flipped = |code: &mut Code, bit| code.two(Do::Xor, bit, Operand::Number(1));
        match binary {
            BinaryOp::Add => code.sum(&a, &b, width, NOTHING),
            BinaryOp::Sub => code.difference(&a, &b, width),
            BinaryOp::Mul => code.product(&a, &b, width),
            BinaryOp::And => each(code, Do::And),
            BinaryOp::Or => each(code, Do::Or),
            BinaryOp::Xor => each(code, Do::Xor),
            BinaryOp::Eq => vec![code.is_equal(&a, &b)],
            BinaryOp::Ne => {
                let equal = code.is_equal(&a, &b);
                vec![flipped(code, equal)]
            }
            BinaryOp::Ult => vec![code.is_less(&a, &b)],
            BinaryOp::Ule => {
                let less = code.is_less(&b, &a);
                vec![flipped(code, less)]
            }
            BinaryOp::Umin | BinaryOp::Umax => unreachable!("compiling has expanded it"),
            BinaryOp::Udiv | BinaryOp::Urem => self.division(&a, &b, width, binary),
            BinaryOp::Shl | BinaryOp::Lshr => {
                let is_left = binary == BinaryOp::Shl;
                if let Some(by) = known(&b) {
                    return self.shift(&a, whole, by, is_left);
                }
                assert!(by > 0);
                self.shift_by(&a, &b, width, is_left)
            }
        }
    }

    pub(super) fn division(
        &mut self,
        a: &[Operand],
        b: &[Operand],
        width: u32,
        binary: BinaryOp,
    ) -> Words {
        let is_quotient = binary == BinaryOp::Udiv;
        if width <= 32 {
            let [quotient, rest] = self.code.divide(a[0], b[0]);
            // The processor returns 32 ones as the quotient of a division by 0.
            let words = vec![if is_quotient { quotient } else { rest }];
            return if is_quotient { self.code.cut(words, width) } else { words };
        }
        let count = a.len() as u32;
        let own = 4 * (frame::WORK_WORDS / 4);
        self.store(frame::WORK, a);
        self.store(frame::WORK + own, b);
        self.code.call("divide", &[Operand::Number(count)], 0);
        let part = if is_quotient { 0 } else { 3 };
        let words = self.load(frame::WORK + part * own, count as usize);
        if is_quotient { self.code.cut(words, width) } else { words }
    }

    /// Returns a value shifted by a constant.
    fn shift(&mut self, a: &[Operand], width: u32, by: u32, is_left: bool) -> Words {
        if by >= width {
            return words::zeros(width);
        }
        if is_left {
            let kept = self.code.slice(a, width, 0, width - by);
            return if by == 0 {
                kept
            } else {
                self.code.concat(&[(kept, width - by), (words::zeros(by), by)])
            };
        }
        let mut words = self.code.slice(a, width, by, width - by);
        words.resize(words::count(width), NOTHING);
        words
    }

    /// Returns a value shifted by another value.
    fn shift_by(&mut self, a: &[Operand], by: &[Operand], width: u32, is_left: bool) -> Words {
        let outside = self.code.is_at_least(by, width);
        let inside = self.code.two(Do::Xor, outside, Operand::Number(1));
        let op = if is_left { Do::Sllv } else { Do::Srlv };
        if a.len() == 1 {
            let word = self.code.shift_by(op, a[0], by[0]);
            let word = self.code.only_if(inside, word);
            return self.code.cut(vec![word], width);
        }
        // The value is stored with zeros after it (before it for a left shift), and the result is
        // loaded from an address that is some words away.
        let count = a.len() as u32;
        let zeros = vec![NOTHING; a.len() + 1];
        let at = if is_left { frame::WORK + 4 * (count + 1) } else { frame::WORK };
        self.store(at, a);
        self.store(if is_left { frame::WORK } else { frame::WORK + 4 * count }, &zeros);
        let by = self.code.only_if(inside, by[0]);
        let skip = self.code.shift(Do::Srl, by, 5);
        let skip = self.code.shift(Do::Sll, skip, 2);
        let op = if is_left { Do::Subu } else { Do::Addu };
        let from = self.code.two(op, FRAME.into(), skip);
        let from = self.code.in_register(from);
        let bits = self.code.two(Do::And, by, Operand::Number(31));
        let rest = self.code.two(Do::Xor, bits, Operand::Number(31));
        let mut words = Words::new();
        for word in 0..count {
            let own = self.code.load(from, (at + 4 * word) as i32).into();
            let word = if is_left {
                let below = self.code.load(from, at as i32 + 4 * word as i32 - 4).into();
                let below = self.code.shift(Do::Srl, below, 1);
                let below = self.code.shift_by(Do::Srlv, below, rest);
                let own = self.code.shift_by(Do::Sllv, own, bits);
                self.code.two(Do::Or, own, below)
            } else {
                let above = self.code.load(from, (at + 4 * word + 4) as i32).into();
                let above = self.code.shift(Do::Sll, above, 1);
                let above = self.code.shift_by(Do::Sllv, above, rest);
                let own = self.code.shift_by(Do::Srlv, own, bits);
                self.code.two(Do::Or, own, above)
            };
            words.push(self.code.only_if(inside, word));
        }
        self.code.cut(words, width)
    }
}

/// Whether an operation can be in the same group as an earlier one.
fn is_grouped(first: &Op, op: &Op) -> bool {
    let is_plain = !matches!(op.kind, OpKind::Exit(_)) && op.results.is_empty();
    is_plain && op.guard.is_some() && op.guard == first.guard
}

/// Returns a constant value. Returns the largest word if the value has more than 32 significant
/// bits.
fn known(words: &[Operand]) -> Option<u32> {
    let numbers = words.iter().map(|word| match word {
        Operand::Number(number) => Some(*number),
        Operand::In(_) => None,
    });
    let numbers: Vec<u32> = numbers.collect::<Option<_>>()?;
    let is_large = numbers[1..].iter().any(|number| *number != 0);
    Some(if is_large { u32::MAX } else { numbers[0] })
}

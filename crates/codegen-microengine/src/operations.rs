//! Lowers operations to instructions.

use wireloom_codegen::context;
use wireloom_codegen::refused::Refused;
use wireloom_ir::{BinaryOp, Meta, Op, OpKind, UnaryOp, Value};

use super::calls;
use super::frame;
use super::lower::{Lower, Place};
use super::operand::Operand;
use super::routines::{Divide, Multiply, RESULT, give};
use super::words::{self, Words, is_wide, pieces};

impl Lower<'_> {
    /// Writes an operation.
    pub(super) fn op(&mut self, op: &Op) -> Result<(), Refused> {
        if self.wide(op)? {
            return Ok(());
        }
        let result = op.results.first().copied();
        let width = result.map_or(0, |value| self.width(value));
        let words = match &op.kind {
            OpKind::Const(bits) => words::constant(bits),
            OpKind::Unary(operation, a) => {
                let a = self.get(*a);
                match operation {
                    UnaryOp::Not => words::not(self.code, &a, width),
                    UnaryOp::Neg => {
                        let zero = vec![Operand::Number(0); a.len()];
                        words::sum(self.code, "-", &zero, &a, width)
                    }
                    UnaryOp::Popcount | UnaryOp::Clz => unreachable!("inlining has expanded it"),
                }
            }
            OpKind::Binary(operation, a, b) => self.binary(*operation, *a, *b)?,
            OpKind::Select(condition, then, otherwise) => {
                let condition = self.get(*condition)[0];
                let condition = self.in_register(condition);
                let (then, otherwise) = (self.get(*then), self.get(*otherwise));
                let result = words::registers(self.code, width);
                for (result, word) in result.iter().zip(otherwise) {
                    self.code.set(*result, word);
                }
                let done = self.code.label();
                self.code.branch_clear(condition, 0, done);
                for (result, word) in result.iter().zip(then) {
                    self.code.set(*result, word);
                }
                self.code.place(done);
                words::of(&result)
            }
            OpKind::Extend(a) => {
                let mut words = self.get(*a);
                words.resize(words::count(width), Operand::Number(0));
                words
            }
            OpKind::Slice(a, lo) => {
                let a = self.get(*a);
                words::slice(self.code, &a, *lo, width)
            }
            OpKind::Concat(parts) => {
                // Each part is read when it is added, since there may be more parts than registers.
                let mut all = words::Joined::new(width);
                for part in parts.iter().rev() {
                    let words = self.get(*part);
                    all.add(self.code, &words, self.width(*part));
                }
                all.words
            }
            OpKind::ReadContext(id) => {
                let first = self.homes.variables[id.index()];
                if let Some(byte) = self.homes.bytes[id.index()] {
                    let word = self.load(first, 1)[0];
                    let words = words::slice(self.code, &[word.into()], 8 * byte, width);
                    self.define(op, words);
                    return Ok(());
                }
                let is_written = self
                    .ops
                    .iter()
                    .any(|op| matches!(&op.kind, OpKind::WriteContext(other, _) if other == id));
                if !is_written && let Some(value) = result {
                    // The value is read where it is needed.
                    let place = Place { slot: Some(first), ..Place::default() };
                    self.values.insert(value, place);
                    return Ok(());
                }
                if is_wide(width) {
                    // A copy that later writes of the step do not change.
                    let Some(slot) = self.slot(op) else { return Ok(()) };
                    for at in (0..words::count(width)).step_by(8) {
                        let part = self.load(first + at as u32, (words::count(width) - at).min(8));
                        self.store(slot + at as u32, &words::of(&part));
                    }
                    return Ok(());
                }
                words::of(&self.load(first, words::count(width)))
            }
            OpKind::WriteContext(id, value) => {
                let first = self.homes.variables[id.index()];
                let byte = self.homes.bytes[id.index()];
                return self.guarded(op, |lower| {
                    match byte {
                        None => lower.store_value(first, *value),
                        Some(byte) => lower.store_part(first, byte, *value),
                    }
                    Ok(None)
                });
            }
            OpKind::ReadPacket { base, bit } => match self.field(*base, *bit, width) {
                Some(field) => self.read_field(field),
                None => {
                    if let Some(words) = self.field_of_group(*base, *bit, width) {
                        self.define(op, words);
                        return Ok(());
                    }
                    let most = self.most(*base);
                    let base = self.get(*base)[0];
                    self.state.read(self.code, base, most, *bit, width)
                }
            },
            OpKind::WritePacket { base, bit, value } => {
                return self.guarded(op, |lower| {
                    lower.write_packet(*base, *bit, *value);
                    Ok(None)
                });
            }
            OpKind::ReadMeta(meta) => self.meta(*meta),
            OpKind::WriteMeta(_, value) => {
                return self.guarded(op, |lower| {
                    let word = lower.get(*value)[0];
                    lower.code.set(lower.state.egress, word);
                    Ok(None)
                });
            }
            OpKind::Insert { offset, count } => {
                return self.guarded(op, |lower| Ok(Some(lower.insert(*offset, *count))));
            }
            OpKind::Remove { offset, count } => {
                return self.guarded(op, |lower| Ok(Some(lower.remove(*offset, *count))));
            }
            OpKind::Reset { count } => {
                return self.guarded(op, |lower| Ok(Some(lower.reset(*count))));
            }
            OpKind::Call { offload, method, args } => {
                return self.guarded(op, |lower| calls::call(lower, op, *offload, *method, args));
            }
            OpKind::Exit(exit) => {
                return self.guarded(op, |lower| lower.exit(exit).map(|()| None));
            }
            OpKind::Table { elements, index } => {
                let index = self.get(*index);
                return self.table(op, elements, &index);
            }
            OpKind::ReadElement { array, index } => {
                let index = self.get(*index);
                return self.read_element(op, *array, &index);
            }
            OpKind::WriteElement { array, index, value } => {
                return self.guarded(op, |lower| {
                    let index = lower.get(*index);
                    lower.write_element(*array, &index, *value);
                    Ok(None)
                });
            }
            OpKind::Evaluate { offload, method, args } => {
                return self.guarded(op, |lower| calls::call(lower, op, *offload, *method, args));
            }
            OpKind::If { .. } => unreachable!("no structured choice after splitting"),
        };
        self.define(op, words);
        Ok(())
    }

    /// Writes operations that are executed if the guard of an operation holds. Otherwise the result
    /// is 0.
    pub(super) fn guarded(
        &mut self,
        op: &Op,
        what: impl FnOnce(&mut Self) -> Result<Option<Words>, Refused>,
    ) -> Result<(), Refused> {
        let Some(guard) = op.guard else {
            if let Some(words) = what(self)? {
                self.define(op, words);
            }
            return Ok(());
        };
        // Operands are read from the frame before the branch. If the operation calls a routine, no
        // register keeps its value anyway.
        let is_far = self.is_far(op);
        for operand in op.kind.operands() {
            if !is_far && !is_wide(self.width(operand)) {
                self.get(operand);
            }
        }
        let guard = self.get(guard)[0];
        let guard = self.in_register(guard);
        if let OpKind::Exit(_) = op.kind {
            // Most packets do not take an exit.
            let away = self.code.label();
            self.code.branch_set(guard, 0, away);
            let main = self.code.set_apart();
            self.code.place(away);
            let done = what(self).map(|_| ());
            self.code.rejoin(main);
            return done;
        }
        let (skip, done) = (self.code.label(), self.code.label());
        self.code.branch_clear(guard, 0, skip);
        let saved = self.restores(op).then(|| self.save(op));
        let words = what(self)?;
        let Some(result) = op.results.first().copied() else {
            saved.into_iter().for_each(|saved| self.restore(saved));
            self.code.place(skip);
            return Ok(());
        };
        let width = self.width(result);
        let zero = Operand::Number(0);
        let Some(words) = words else {
            // The result is in the frame.
            self.code.branch("br", done);
            self.code.place(skip);
            let slot = self.values.get(&result).and_then(|place| place.slot);
            for at in (0..words::count(width)).step_by(8) {
                let part = vec![zero; (words::count(width) - at).min(8)];
                self.store(slot.unwrap_or_default() + at as u32, &part);
            }
            self.code.place(done);
            return Ok(());
        };
        let registers = words::registers(self.code, width);
        for (register, word) in registers.iter().zip(words) {
            self.code.set(*register, word);
        }
        saved.into_iter().for_each(|saved| self.restore(saved));
        self.code.branch("br", done);
        self.code.place(skip);
        registers.iter().for_each(|word| self.code.set(*word, zero));
        self.code.place(done);
        self.define(op, words::of(&registers));
        Ok(())
    }

    /// Writes a field of the header window, unless it lies partly outside.
    fn write_packet(&mut self, base: Value, bit: u32, value: Value) {
        let width = self.width(value);
        let field = self.field(base, bit, width).filter(|_| !is_wide(width));
        let base = self.get(base)[0];
        if let Some(field) = field {
            let words = self.get(value);
            let outside = self.code.label();
            self.state.within(self.code, base, (bit + width).div_ceil(8), outside);
            self.write_field(field, &words);
            self.code.place(outside);
            return;
        }
        if !is_wide(width) {
            let words = self.get(value);
            self.state.write(self.code, base, bit, &words, width);
            return;
        }
        let outside = self.code.label();
        self.state.within(self.code, base, (bit + width).div_ceil(8), outside);
        for (lo, piece) in pieces(width) {
            let words = self.bits(value, lo, piece);
            self.state.write(self.code, base, bit + width - lo - piece, &words, piece);
        }
        self.code.place(outside);
    }

    fn binary(&mut self, operation: BinaryOp, a: Value, b: Value) -> Result<Words, Refused> {
        let width = self.width(a);
        let (first, second) = (self.get(a), self.get(b));
        let code = &mut *self.code;
        Ok(match operation {
            BinaryOp::Add => words::sum(code, "+", &first, &second, width),
            BinaryOp::Sub => words::sum(code, "-", &first, &second, width),
            BinaryOp::And => words::logic(code, "AND", &first, &second, width),
            BinaryOp::Or => words::logic(code, "OR", &first, &second, width),
            BinaryOp::Xor => words::logic(code, "XOR", &first, &second, width),
            BinaryOp::Eq => words::equal(code, &first, &second),
            BinaryOp::Ne => words::differ(code, &first, &second),
            BinaryOp::Ult => words::less(code, &first, &second),
            BinaryOp::Ule => words::at_most(code, &first, &second),
            BinaryOp::Shl | BinaryOp::Lshr => {
                let is_left = operation == BinaryOp::Shl;
                let is_constant = second.iter().all(|word| matches!(word, Operand::Number(_)));
                if is_constant {
                    let by = match (second[0], second[1..].iter().any(|w| *w != Operand::Number(0)))
                    {
                        (Operand::Number(by), false) => by.min(width),
                        _ => width,
                    };
                    match is_left {
                        _ if by == width => vec![Operand::Number(0); words::count(width)],
                        true => words::shift_left(code, &first, by, width),
                        false => {
                            let mut words = words::slice(code, &first, by, width - by);
                            words.resize(words::count(width), Operand::Number(0));
                            words
                        }
                    }
                } else if width <= 32 {
                    words::shift_by(code, is_left, first[0], &second, width)
                } else {
                    let own = self.take(words::count(width));
                    let at = own.start;
                    self.shift_by(at, is_left, a, b);
                    self.room.free(&own);
                    words::of(&self.load(at, words::count(width)))
                }
            }
            BinaryOp::Umin | BinaryOp::Umax => unreachable!("inlining has expanded it"),
            BinaryOp::Mul | BinaryOp::Udiv | BinaryOp::Urem if width > 64 => {
                let at = self.long(operation, a, b, RESULT);
                let result = self.load(at, words::count(width));
                words::clear_top(self.code, &result, width);
                words::of(&result)
            }
            BinaryOp::Mul => {
                let routine = Multiply::of(code);
                give(code, routine.a, &first);
                give(code, routine.b, &second);
                code.call(&Multiply::ROUTINE);
                let words: Words = routine.product.map(|word| code.copy(word.into()).into()).into();
                words::slice(code, &words, 0, width)
            }
            BinaryOp::Udiv | BinaryOp::Urem => {
                let routine = Divide::of(code);
                // A dividend of one word takes half the rounds.
                let bits = if width <= 32 { 32 } else { 64 };
                let dividend = words::shift_left(code, &first, 64 - bits, 64);
                give(code, routine.a, &dividend);
                give(code, routine.b, &second);
                code.set(routine.bits, Operand::Number(bits));
                code.call(&Divide::ROUTINE);
                let result = if operation == BinaryOp::Udiv { routine.a } else { routine.rest };
                let words: Words = result.map(|word| code.copy(word.into()).into()).into();
                words::slice(code, &words, 0, width)
            }
        })
    }

    fn meta(&mut self, meta: Meta) -> Words {
        match meta {
            Meta::Ingress => words::of(&self.load(frame::INGRESS, 1)),
            Meta::Egress => vec![self.code.copy(self.state.egress.into()).into()],
            Meta::Window => vec![self.code.copy(self.state.window.into()).into()],
            Meta::Length => {
                let length = self.code.register();
                let (window, payload) = (self.state.window, self.state.payload);
                self.code.alu(length, window.into(), "+", payload.into());
                vec![length.into()]
            }
            Meta::Arrival if context::parks(self.engine) => words::of(&self.load(frame::HAND, 2)),
            Meta::Arrival => words::of(&self.load(frame::ARRIVAL, 2)),
        }
    }
}

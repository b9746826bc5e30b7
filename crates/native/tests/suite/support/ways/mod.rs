//! Random engines in which most packets take the same path. They use only operations that vector
//! code can execute: fields, arithmetic without division, searches, arrays, counters and edits.

pub mod edits;

use wireloom_ir::builder::{EngineBuilder, ProgramBuilder, StepBuilder, config};
use wireloom_ir::{
    BinaryOp, ContextId, Exit, Meta, OffloadId, Program, ReasonSetId, StepId, UnaryOp, Value,
};
use wireloom_net::Packet;
use wireloom_net::packet::MAX_LENGTH;

use super::random::Random;

const WIDTHS: [u32; 14] = [1, 3, 8, 12, 16, 16, 20, 32, 32, 33, 48, 64, 100, 128];
const OPS: [BinaryOp; 11] = [
    BinaryOp::Add,
    BinaryOp::Sub,
    BinaryOp::Mul,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
    BinaryOp::Eq,
    BinaryOp::Ne,
    BinaryOp::Ult,
    BinaryOp::Ule,
    BinaryOp::Shl,
];

struct Draft<'a> {
    random: &'a mut Random,
    context: Vec<(ContextId, u32)>,
    tables: Vec<(OffloadId, u32)>,
    arrays: Vec<OffloadId>,
    counters: Vec<OffloadId>,
    payload: OffloadId,
    reasons: ReasonSetId,
    /// Whether the packet is unchanged since its arrival. Vector code reads no changed packet.
    may_read: bool,
}

/// Returns a random program.
pub fn program(seed: u64) -> Program {
    let random = &mut Random(seed ^ 0x5eed);
    let mut builder = ProgramBuilder::new();
    let reasons = builder.reasons("Reason", &["A", "B"]);
    let mut engine = EngineBuilder::packet("main");
    let mut context = Vec::new();
    for index in 0..2 + random.below(4) {
        let width = random.of(&WIDTHS);
        context.push((engine.context(&format!("c.{index}"), width), width));
    }
    let (mut tables, mut arrays, mut counters) = (Vec::new(), Vec::new(), Vec::new());
    for index in 0..random.below(3) {
        let key = random.of(&[19, 20, 32, 32, 40, 64, 100, 128]);
        let value = random.of(&[1, 8, 16, 40, 64, 90, 200]);
        let table = config("lpm", &[("", key)], &[("", value)], &[("miss", 1)]);
        tables.push((engine.offload(&format!("table{index}"), table), key));
    }
    for index in 0..random.below(3) {
        let size = random.of(&[1, 5, 700, 70_000]);
        let value = random.of(&[1, 8, 32, 40, 130]);
        let array = config("array", &[], &[("", value)], &[("size", size)]);
        arrays.push(engine.offload(&format!("array{index}"), array));
        let counter = config("counter", &[], &[], &[("size", size)]);
        counters.push(engine.offload(&format!("counter{index}"), counter));
    }
    let payload = engine.offload("bytes", config("payload", &[], &[("", 8)], &[]));
    let mut draft =
        Draft { random, context, tables, arrays, counters, payload, reasons, may_read: true };
    let count = 1 + draft.random.below(4);
    for index in 0..count {
        engine.regions(&format!("step {index}"), |step| draft.step(step, index, count));
    }
    builder.engine(engine);
    builder.build()
}

impl Draft<'_> {
    fn step(&mut self, step: &mut StepBuilder<'_>, index: usize, count: usize) {
        let mut pool = Vec::new();
        let short = step.constant(16, 40);
        let length = step.meta(Meta::Length);
        let is_short = step.binary(BinaryOp::Ult, length, short);
        for _ in 0..2 + self.random.below(7) {
            self.pure(step, &mut pool);
        }
        // A rare case, and the common case.
        let field = self.value(step, &mut pool, 16);
        let rare = step.constant(16, 3);
        let is_rare = step.binary(BinaryOp::Eq, field, rare);
        let leaves = step.binary(BinaryOp::Or, is_short, is_rare);
        let stays = step.unary(UnaryOp::Not, leaves);
        let choice = self.value(step, &mut pool, 1);
        let stays_so = step.binary(BinaryOp::And, stays, choice);
        let not_choice = step.unary(UnaryOp::Not, choice);
        let stays_else = step.binary(BinaryOp::And, stays, not_choice);
        // A condition that no exit uses, possibly made of several conditions.
        let mut other = self.value(step, &mut pool, 1);
        for _ in 0..self.random.below(3) * 3 {
            let more = self.field(step, 1);
            other = step.binary(self.random.of(&[BinaryOp::And, BinaryOp::Or]), other, more);
        }
        let stays_too = step.binary(BinaryOp::And, stays, other);
        let either = step.binary(BinaryOp::Or, choice, other);
        let stays_either = step.binary(BinaryOp::And, stays, either);
        let guards =
            [stays, stays, stays_so, stays_else, stays_too, stays_too, stays_either, leaves];
        let mut replies = Vec::new();
        for _ in 0..self.random.below(4) {
            let guard = self.random.of(&guards);
            self.call(step, &mut pool, &mut replies, guard);
        }
        step.next_region();
        pool.extend(&replies);
        for _ in 0..2 + self.random.below(6) {
            self.pure(step, &mut pool);
        }
        for reply in replies {
            let (var, width) = self.random.of(&self.context);
            let value = self.random.fitted(step, reply, width);
            step.when(stays).write(var, value);
        }
        let is_last = index + 1 == count;
        for _ in 0..self.random.below(5) {
            let guard = self.random.of(&guards);
            let (var, width) = self.random.of(&self.context);
            let value = self.value(step, &mut pool, width);
            step.when(guard).write(var, value);
        }
        if is_last || self.random.chance(6) {
            let bases: Vec<Value> = (0..3).map(|_| self.base(step)).collect();
            self.may_read = self.random.chance(12);
            if self.random.chance(4) {
                self.header(step, &mut pool, &guards);
            }
            for _ in 0..self.random.below(6) {
                let guard = self.random.of(&guards);
                self.edit(step, &mut pool, &bases, guard);
            }
        }
        step.next_region();
        let reason = step.constant(16, 1);
        step.when(leaves).exit(Exit::Drop(reason, self.reasons));
        if is_last {
            step.when(stays).exit(Exit::Finish);
            return;
        }
        let ahead =
            |random: &mut Random| StepId((index + 1 + random.below(count - index - 1)) as u32);
        let [so, otherwise] = [ahead(self.random), ahead(self.random)];
        step.when(stays_so).exit(Exit::Next(so));
        step.when(stays_else).exit(Exit::Next(otherwise));
    }

    /// Returns a value of this width.
    fn value(&mut self, step: &mut StepBuilder<'_>, pool: &mut Vec<Value>, width: u32) -> Value {
        let fitting: Vec<Value> =
            pool.iter().copied().filter(|value| step.width(*value) == width).collect();
        if !fitting.is_empty() && !self.random.chance(4) {
            return self.random.of(&fitting);
        }
        let from = if pool.is_empty() || self.may_read && self.random.chance(2) {
            self.field(step, width)
        } else {
            self.random.of(pool)
        };
        let value = self.random.fitted(step, from, width);
        pool.push(value);
        value
    }

    /// Returns where a header begins: a constant, or one of several that the packet selects.
    fn base(&mut self, step: &mut StepBuilder<'_>) -> Value {
        if self.random.chance(2) {
            let at = self.random.below(30) as u128;
            return step.constant(16, at);
        }
        let zero = step.constant(16, 0);
        let byte = step.read_packet(zero, 8, 2);
        let wide = step.extend(byte, 16);
        let two = step.constant(4, 2);
        let words = step.binary(BinaryOp::Shl, wide, two);
        let first = self.random.below(20) as u128;
        let first = step.constant(16, first);
        step.binary(BinaryOp::Add, words, first)
    }

    fn field(&mut self, step: &mut StepBuilder<'_>, width: u32) -> Value {
        let base = self.base(step);
        let bit = self.random.below(40) as u32;
        let bit = if width > 32 && !self.random.chance(4) { bit & !7 } else { bit };
        if !self.random.chance(40) {
            return step.read_packet(base, bit, width);
        }
        let more = 1 + self.random.below(600) as u32;
        let wide = step.read_packet(base, bit, width + more);
        self.random.fitted(step, wide, width)
    }

    fn pure(&mut self, step: &mut StepBuilder<'_>, pool: &mut Vec<Value>) {
        let width = self.random.of(&WIDTHS);
        let value = match self.random.below(12) {
            0..=2 => {
                let (a, b) = (self.value(step, pool, width), self.value(step, pool, width));
                let op = self.random.of(&OPS);
                match op {
                    BinaryOp::Shl => {
                        let by = self.random.below(width as usize + 2) as u128;
                        let by = step.constant(9, by);
                        let op = self.random.of(&[BinaryOp::Shl, BinaryOp::Lshr]);
                        step.binary(op, a, by)
                    }
                    _ if width > 64 => {
                        let op = self.random.of(&[BinaryOp::And, BinaryOp::Eq, BinaryOp::Ne]);
                        step.binary(op, a, b)
                    }
                    _ => step.binary(op, a, b),
                }
            }
            3 => {
                let a = self.value(step, pool, width.min(64));
                let op = self.random.of(&[UnaryOp::Not, UnaryOp::Neg]);
                step.unary(op, a)
            }
            4 => {
                let c = self.value(step, pool, 1);
                let (a, b) = (self.value(step, pool, width), self.value(step, pool, width));
                step.select(c, a, b)
            }
            5 => {
                let parts: Vec<Value> = (0..1 + self.random.below(4))
                    .map(|_| {
                        let width = self.random.of(&WIDTHS);
                        self.value(step, pool, width)
                    })
                    .collect();
                step.concat(&parts)
            }
            6 => {
                let number = u128::from(self.random.next());
                step.constant(width, number)
            }
            7 => {
                let (var, _) = self.random.of(&self.context);
                step.read(var)
            }
            8 => {
                let metas = [Meta::Ingress, Meta::Egress, Meta::Length, Meta::Window];
                let meta = self.random.of(&metas);
                step.meta(meta)
            }
            9 if width <= 32 => {
                let (a, by) = (self.value(step, pool, width), self.value(step, pool, 8));
                let op = self.random.of(&[BinaryOp::Shl, BinaryOp::Lshr]);
                if width == 1 { a } else { step.binary(op, a, by) }
            }
            _ => self.field(step, width),
        };
        pool.push(value);
    }

    fn call(
        &mut self,
        step: &mut StepBuilder<'_>,
        pool: &mut Vec<Value>,
        replies: &mut Vec<Value>,
        guard: Value,
    ) {
        match self.random.below(5) {
            0 | 1 if !self.tables.is_empty() => {
                let (table, width) = self.random.of(&self.tables);
                let key = self.value(step, pool, width);
                replies.extend(step.when(guard).call(table, "search", &[key]));
            }
            2 if !self.arrays.is_empty() => {
                let array = self.random.of(&self.arrays);
                let index = self.value(step, pool, 32);
                let small = step.constant(32, 0x1_0fff);
                let index = step.binary(BinaryOp::And, index, small);
                replies.extend(step.when(guard).call(array, "read", &[index]));
            }
            3 if !self.counters.is_empty() => {
                let counter = self.random.of(&self.counters);
                let (index, bytes) = (self.value(step, pool, 32), self.value(step, pool, 32));
                step.when(guard).call(counter, "count", &[index, bytes]);
            }
            _ if self.random.chance(3) => {
                let cut = self.value(step, pool, 16);
                let most = step.constant(16, 127);
                let cut = step.binary(BinaryOp::And, cut, most);
                step.when(guard).call(self.payload, "truncate", &[cut]);
            }
            _ => {}
        }
    }

    /// Inserts a header in front of the packet and writes it, possibly only in part.
    fn header(&mut self, step: &mut StepBuilder<'_>, pool: &mut Vec<Value>, guards: &[Value]) {
        let guard = self.random.of(guards);
        let (at, bytes) = (step.constant(16, 0), 1 + self.random.below(14) as u32);
        let count = step.constant(16, bytes.into());
        step.when(guard).insert(at, count);
        let mut bit = 0;
        while bit < 8 * bytes {
            let width = self.random.of(&[8, 16, 32, 48]);
            if !self.random.chance(5) {
                let value = self.value(step, pool, width);
                let guard = if self.random.chance(5) { self.random.of(guards) } else { guard };
                step.when(guard).write_packet(at, bit, value);
            }
            bit += width;
        }
    }

    fn edit(
        &mut self,
        step: &mut StepBuilder<'_>,
        pool: &mut Vec<Value>,
        bases: &[Value],
        guard: Value,
    ) {
        match self.random.below(8) {
            0 => {
                let port = self.value(step, pool, 16);
                step.when(guard).set_egress(port);
            }
            kind @ (1 | 2) => {
                let offset = self.random.of(&[0, 0, 0, 0, 14, 14, 50, 110]);
                let offset = step.constant(16, offset);
                // Sometimes more bytes than there may be room for.
                let width = if self.random.chance(6) { 8 } else { 5 };
                let count = self.value(step, pool, width);
                let count = step.extend(count, 16);
                step.when(guard);
                let fits = match kind {
                    1 => step.insert(offset, count),
                    _ => step.remove(offset, count),
                };
                pool.push(fits);
            }
            _ => {
                let width = self.random.of(&WIDTHS);
                let value = self.value(step, pool, width);
                let base = self.random.of(bases);
                let bit = self.random.below(60) as u32;
                step.when(guard).write_packet(base, bit, value);
            }
        }
    }
}

/// Returns packets. Most are long enough for all fields that the engines read, some only just. A
/// few are nearly as long as packets may be.
pub fn packets(seed: u64, count: usize) -> Vec<Packet> {
    let random = &mut Random(seed);
    let packet = |index: usize| {
        let length = match random.below(16) {
            0 => random.below(60),
            1 => 100 + random.below(200),
            2 => 1500,
            3 | 4 => 38 + random.below(30),
            5 if random.chance(8) => MAX_LENGTH - random.below(40),
            _ => 60 + random.below(70),
        };
        let masks = [0xff, 0xff, 0x03, 0x00];
        let bytes = (0..length).map(|_| random.next() as u8 & random.of(&masks)).collect();
        Packet { ingress: random.below(8) as u16, arrival_ns: index as u64 * 1000, bytes }
    };
    (0..count).map(packet).collect()
}

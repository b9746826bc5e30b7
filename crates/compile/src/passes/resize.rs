//! Replaces insertions and removals after byte 0 of the packet by operations for hardware whose
//! header window grows and shrinks at its front: the bytes before the position move.
//!
//! ```text
//!                                        %4:u16 = meta.read window
//!                                        %5:u1 = ule %1, %4
//!                                        %6:u112 = packet.read %0 + 0  (bytes before %1)
//! %3:u1 = packet.insert %1, %2     =>    %3:u1 = packet.insert %0, %2 when %5
//!                                        packet.write %0 + 0, %6[111:104] when %3 and 0 < %1  ...
//!                                        packet.write %1 + 0, 0 when %3 and 0 < %2            ...
//!
//!                                        %4, %5, %6 as above, %5 also that the bytes are there
//! %3:u1 = packet.remove %1, %2     =>    %3:u1 = packet.remove %0, %2 when %5
//!                                        packet.write %0 + 0, %6[111:104] when %3 and 0 < %1  ...
//! ```
//!
//! (`%0` is zero.) Sixteen bytes move at once. The bytes before them move before they are
//! overwritten. The known bits of the offset bound the number of bytes. If nothing is known, it is
//! the whole window: sixteen moves. An offset of zero is left alone.
//!
//! The pass runs only for machines with header ports, and before steps are split into regions.

use wireloom_ir::{BinaryOp, Block, Code, Meta, Op, OpKind, Program, Value};

use super::PassOptions;
use super::sequence::Sequence;
use crate::analysis::context::KnownContext;
use crate::analysis::depth::WINDOW_BYTES;
use crate::analysis::known_bits::Known;

/// Maximum bytes of a window (docs/language.md).
const WINDOW: u32 = WINDOW_BYTES;
/// Bytes that are moved at once.
const CHUNK: u32 = 16;

/// Runs over every step.
pub fn run(program: &mut Program, options: &PassOptions) {
    if options.header.is_none() {
        return;
    }
    for engine in &mut program.engines {
        let known = KnownContext::of(engine).values(engine);
        for (step, known) in engine.steps.iter_mut().zip(&known) {
            if let Code::Sequential(block) = &mut step.code {
                let out = Sequence { values: &mut step.values, ops: Vec::new(), loc: step.loc };
                Resize { out, known }.block(block);
            }
        }
    }
}

struct Resize<'a> {
    out: Sequence<'a>,
    known: &'a [Known],
}

impl Resize<'_> {
    fn block(&mut self, block: &mut Block) {
        for op in std::mem::take(&mut block.ops) {
            self.out.loc = op.loc;
            match op.kind {
                OpKind::Insert { offset, count } if self.most(offset) > 0 => {
                    self.insert(&op, offset, count)
                }
                OpKind::Remove { offset, count } if self.most(offset) > 0 => {
                    self.remove(&op, offset, count)
                }
                _ => self.out.ops.push(op),
            }
        }
        block.ops = std::mem::take(&mut self.out.ops);
    }

    /// Returns the largest possible value of an offset or a count, at most the size of a window.
    fn most(&self, value: Value) -> u32 {
        let most = self.known[value.index()].max().to_u64();
        most.map_or(WINDOW, |most| most.min(u64::from(WINDOW)) as u32)
    }

    fn insert(&mut self, op: &Op, offset: Value, count: Value) {
        let zero = self.out.number(16, 0);
        let window = self.out.op(16, OpKind::ReadMeta(Meta::Window));
        let fits = self.out.binary(BinaryOp::Ule, offset, window);
        let guard = self.and(op.guard, fits);
        let chunks = self.chunks(offset);
        // The first bytes are read at their own position, so that short headers need no second read
        // of the window.
        let first = self.read(zero, 0, chunks[0]);
        let done = self.done(op);
        self.out.effect(OpKind::Insert { offset: zero, count }, vec![done], Some(guard));
        for (index, &bytes) in (0..).zip(&chunks) {
            let field = if index == 0 { first } else { self.read(count, index, bytes) };
            self.out.write_bytes(field, (zero, CHUNK * index), (CHUNK * index, offset), done);
        }
        for (index, &bytes) in (0..).zip(&self.chunks(count)) {
            let zeros = self.out.number(8 * bytes, 0);
            self.out.write_bytes(zeros, (offset, CHUNK * index), (CHUNK * index, count), done);
        }
    }

    fn remove(&mut self, op: &Op, offset: Value, count: Value) {
        let zero = self.out.number(16, 0);
        let window = self.out.op(16, OpKind::ReadMeta(Meta::Window));
        let begins = self.out.binary(BinaryOp::Ule, offset, window);
        let behind = self.out.binary(BinaryOp::Sub, window, offset);
        let ends = self.out.binary(BinaryOp::Ule, count, behind);
        let fits = self.out.binary(BinaryOp::And, begins, ends);
        let guard = self.and(op.guard, fits);
        let chunks = self.chunks(offset);
        for index in (1..chunks.len() as u32).rev() {
            let field = self.read(zero, index, chunks[index as usize]);
            self.out.write_bytes(field, (count, CHUNK * index), (CHUNK * index, offset), guard);
        }
        let first = self.read(zero, 0, chunks[0]);
        let done = self.done(op);
        self.out.effect(OpKind::Remove { offset: zero, count }, vec![done], Some(guard));
        self.out.write_bytes(first, (zero, 0), (0, offset), done);
    }

    /// Returns the number of bytes in each chunk, for the largest possible value of `count`.
    fn chunks(&self, count: Value) -> Vec<u32> {
        let most = self.most(count);
        (0..most.div_ceil(CHUNK)).map(|index| CHUNK.min(most - CHUNK * index)).collect()
    }

    fn read(&mut self, base: Value, index: u32, bytes: u32) -> Value {
        self.out.op(8 * bytes, OpKind::ReadPacket { base, bit: 8 * CHUNK * index })
    }

    /// Returns the result of an operation, even if the source does not use it.
    fn done(&mut self, op: &Op) -> Value {
        op.results.first().copied().unwrap_or_else(|| self.out.new_value(1))
    }

    fn and(&mut self, guard: Option<Value>, condition: Value) -> Value {
        match guard {
            Some(guard) => self.out.binary(BinaryOp::And, guard, condition),
            None => condition,
        }
    }
}

//! Makes each header access fit a header port.
//!
//! A field that is longer than the run of a port is split into shorter accesses. A field is written
//! only if all of it lies in the window. So each part of a write tests the whole field, except the
//! last one, which tests this itself.
//!
//! ```text
//!                                            %3:u128 = packet.read %0 + 0
//!                                            %4:u32 = packet.read %0 + 128
//! %1:u160 = packet.read %0 + 0               %1:u160 = concat(%3, %4)
//! packet.write %0 + 400, %2 (u160)     =>    %5:u16 = meta.read window
//!                                            %6:u1 = ule (%0 + 70), %5      (without wrapping)
//!                                            packet.write %0 + 400, %7 when %6   (%7 = %2[159:32])
//!                                            packet.write %0 + 528, %8           (%8 = %2[31:0])
//! ```
//!
//! A write whose base can be one of two numbers, because one of its bits is unknown, becomes two
//! writes at constant positions. These can share a port with other writes.
//!
//! ```text
//! %3:u16 = select %1, 4, 0
//! packet.write %3 + 112, %2            =>    packet.write 0 + 112, %2 when not %1
//!                                            packet.write 4 + 112, %2 when %1
//! ```
//!
//! The pass runs only for machines with header ports. Code with `if` stays unchanged.

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Block, Meta, Op, OpKind, Program, UnaryOp, Value, ValueInfo};

use super::PassOptions;
use crate::analysis::Definitions;
use crate::analysis::address::Addresses;
use crate::analysis::context::KnownContext;
use crate::analysis::known_bits::Known;

/// Runs over every step.
pub fn run(program: &mut Program, options: &PassOptions) {
    let Some(ports) = options.header else { return };
    for engine in &mut program.engines {
        let known = KnownContext::of(engine).values(engine);
        for (step, known) in engine.steps.iter_mut().zip(known) {
            let snapshot = step.clone();
            let definitions = Definitions::of(&snapshot);
            let addresses = Addresses::new(&snapshot, &definitions, &known);
            let mut fields =
                Fields { addresses, known, bytes: ports.bytes.max(1), values: &mut step.values };
            for block in step.code.blocks_mut() {
                fields.block(block);
            }
        }
    }
}

/// Bits of an address: 2^16 bytes of base and as many after it.
const ADDRESS_BITS: u32 = 18;

struct Fields<'a> {
    addresses: Addresses,
    known: Vec<Known>,
    bytes: u32,
    values: &'a mut Vec<ValueInfo>,
}

impl Fields<'_> {
    fn width(&self, value: Value) -> u32 {
        self.values[value.index()].width
    }

    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.ops.len());
        for op in std::mem::take(&mut block.ops) {
            match op.kind {
                OpKind::ReadPacket { base, bit } => {
                    let width = self.width(op.results[0]);
                    if self.is_long(bit, width) {
                        self.read(&mut out, &op, base, bit, width);
                    } else {
                        out.push(op);
                    }
                }
                OpKind::WritePacket { base, bit, value } => {
                    for (op, base) in self.places(&mut out, op, base) {
                        let width = self.width(value);
                        if self.is_long(bit, width) {
                            self.write(&mut out, &op, (base, bit), value);
                        } else {
                            out.push(op);
                        }
                    }
                }
                _ => out.push(op),
            }
        }
        block.ops = out;
    }

    fn new_op(&mut self, out: &mut Vec<Op>, like: &Op, width: u32, kind: OpKind) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueInfo { width, name: None });
        out.push(Op { kind, results: vec![value], guard: None, loc: like.loc });
        value
    }

    fn and(&mut self, out: &mut Vec<Op>, like: &Op, a: Value) -> Value {
        match like.guard {
            Some(guard) => self.new_op(out, like, 1, OpKind::Binary(BinaryOp::And, guard, a)),
            None => a,
        }
    }

    fn is_long(&self, bit: u32, width: u32) -> bool {
        (bit % 8 + width).div_ceil(8) > self.bytes
    }

    /// Returns the first bit and the width of the parts of a field. All parts except the last end
    /// on a byte boundary.
    fn parts(&self, bit: u32, width: u32) -> Vec<(u32, u32)> {
        let (mut first, end) = (bit, bit + width);
        let mut parts = Vec::new();
        while first < end {
            let next = ((first / 8 + self.bytes) * 8).min(end);
            parts.push((first, next - first));
            first = next;
        }
        parts
    }

    fn read(&mut self, out: &mut Vec<Op>, op: &Op, base: Value, bit: u32, width: u32) {
        let parts = self.parts(bit, width);
        let parts: Vec<Value> = parts
            .into_iter()
            .map(|(bit, width)| self.new_op(out, op, width, OpKind::ReadPacket { base, bit }))
            .collect();
        out.push(Op { kind: OpKind::Concat(parts), ..op.clone() });
    }

    fn write(&mut self, out: &mut Vec<Op>, op: &Op, (base, bit): (Value, u32), value: Value) {
        let width = self.width(value);
        let end = u128::from((bit + width).div_ceil(8));
        let base_wide = self.new_op(out, op, ADDRESS_BITS, OpKind::Extend(base));
        let behind =
            self.new_op(out, op, ADDRESS_BITS, OpKind::Const(Bits::new(ADDRESS_BITS, end)));
        let end =
            self.new_op(out, op, ADDRESS_BITS, OpKind::Binary(BinaryOp::Add, base_wide, behind));
        let window = self.new_op(out, op, 16, OpKind::ReadMeta(Meta::Window));
        let window = self.new_op(out, op, ADDRESS_BITS, OpKind::Extend(window));
        let inside = self.new_op(out, op, 1, OpKind::Binary(BinaryOp::Ule, end, window));
        let guard = self.and(out, op, inside);
        let parts = self.parts(bit, width);
        let last = parts.len() - 1;
        let mut left = width;
        for (index, (bit, width)) in parts.into_iter().enumerate() {
            left -= width;
            let value = self.new_op(out, op, width, OpKind::Slice(value, left));
            let guard = if index == last { op.guard } else { Some(guard) };
            out.push(Op { kind: OpKind::WritePacket { base, bit, value }, guard, ..op.clone() });
        }
    }

    /// Returns the writes that replace a write, each with its base.
    fn places(&mut self, out: &mut Vec<Op>, op: Op, base: Value) -> Vec<(Op, Value)> {
        let address = self.addresses.of(base);
        let Some(root) = address.root else { return vec![(op, base)] };
        let known = self.known[root.index()].clone();
        let width = known.width();
        let open = known.zeros.or(&known.ones).not();
        let bit = open.significant().saturating_sub(1);
        if width > 32 || open != Bits::new(width, 1).shl(bit) {
            return vec![(op, base)];
        }
        let which = self.new_op(out, &op, 1, OpKind::Slice(root, bit));
        let not = self.new_op(out, &op, 1, OpKind::Unary(UnaryOp::Not, which));
        let numbers = [(not, known.min().clone()), (which, known.max())];
        let mut writes = Vec::new();
        for (chosen, number) in numbers {
            let at = number.low_u64() as i64 + address.offset;
            let Some(at) = u16::try_from(at).ok() else { continue };
            let base = self.new_op(out, &op, 16, OpKind::Const(Bits::new(16, at.into())));
            let guard = Some(self.and(out, &op, chosen));
            let OpKind::WritePacket { bit, value, .. } = op.kind else {
                unreachable!("the operation is a write")
            };
            writes.push((
                Op { kind: OpKind::WritePacket { base, bit, value }, guard, ..op.clone() },
                base,
            ));
        }
        writes
    }
}

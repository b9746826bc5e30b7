//! Lowers views of the whole packet: their reads and writes become calls of a `payload` offload, in
//! chunks.

use std::rc::Rc;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Meta, OffloadId, OpKind, Value};
use wireloom_lang::hir::{OffloadTarget, StructId, Type};
use wireloom_offloads::registry;

use super::place::ResolvedProjection;
use super::{StepLowering, leaves};

/// A header at a byte offset of the packet.
#[derive(Clone, Copy)]
pub struct Whole {
    /// The offset, of 16 bits.
    pub base: Value,
    pub header: StructId,
    /// The `payload` offload.
    pub chunks: OffloadId,
}

/// The part of a header that the constant beginning of a path selects.
struct Part<'p> {
    /// The first bit, counted from the header's start.
    bit: u32,
    ty: Type,
    /// The rest of the path. It begins with an index that is known only at run time, if at all.
    rest: &'p [ResolvedProjection],
}

impl StepLowering<'_> {
    /// Reads the part that a path selects.
    pub(super) fn read_whole(&mut self, whole: Whole, path: &[ResolvedProjection]) -> Rc<[Value]> {
        let part = self.constant_part(whole.header, path);
        let leaves = self.read_part(whole, &part);
        self.part(&leaves, &part.ty, part.rest)
    }

    /// Writes the part that a path selects, with the other bits of its bytes as they are. If the
    /// packet ends before the part does, there is no effect.
    pub(super) fn write_whole(
        &mut self,
        whole: Whole,
        path: &[ResolvedProjection],
        new: &Rc<[Value]>,
    ) {
        let part = self.constant_part(whole.header, path);
        let new = if part.rest.is_empty() {
            Rc::clone(new)
        } else {
            let old = self.read_part(whole, &part);
            self.with_part(&old, &part.ty, part.rest, new)
        };
        let end = part.bit + new.iter().map(|leaf| self.b.width(*leaf)).sum::<u32>();
        let (first, last) = (part.bit / 8, end.div_ceil(8));
        let before =
            (part.bit > first * 8).then(|| self.read_bits(whole, first * 8, part.bit - first * 8));
        let after = (end < last * 8).then(|| self.read_bits(whole, end, last * 8 - end));
        let bits: Vec<Value> = before.into_iter().chain(new.iter().copied()).chain(after).collect();
        let chunk = self.chunk_bytes(whole);
        let pieces = (first..last).step_by(chunk as usize);
        let pieces: Vec<(u32, u32)> = pieces.map(|at| (at, chunk.min(last - at))).collect();
        if let [(at, count)] = pieces[..] {
            self.write_piece(whole, at, count, &bits);
            return;
        }
        let inside = self.reaches(whole, last);
        self.branch(
            inside,
            |me| {
                for (at, count) in pieces {
                    let data = me.run_of(&bits, (at - first) * 8, count * 8);
                    me.write_piece(whole, at, count, &data);
                }
                Rc::new([])
            },
            |_| Rc::new([]),
            false,
        );
    }

    /// Follows a path up to the first index that is known only at run time.
    fn constant_part<'p>(&self, header: StructId, path: &'p [ResolvedProjection]) -> Part<'p> {
        let mut part = Part { bit: 0, ty: Type::Struct(header), rest: path };
        while let Some((first, rest)) = part.rest.split_first() {
            let (bit, ty) = match *first {
                ResolvedProjection::Field(index) => {
                    let (field, _, offset) = leaves::field(self.program, &part.ty, index);
                    (offset, field)
                }
                ResolvedProjection::Index(index) => {
                    let (element, count) = leaves::element(&part.ty);
                    let known = self.b.as_constant(index).and_then(Bits::to_u64);
                    let Some(at) = known.filter(|at| *at < u64::from(count)) else { break };
                    (at as u32 * self.program.width(element), element.clone())
                }
                ResolvedProjection::Slice(low, width) => {
                    (self.program.width(&part.ty) - low - width, Type::Bits(width))
                }
                ResolvedProjection::Run(..) => break,
            };
            part = Part { bit: part.bit + bit, ty, rest };
        }
        part
    }

    fn read_part(&mut self, whole: Whole, part: &Part<'_>) -> Rc<[Value]> {
        let name = self.engine.offloads[whole.chunks.index()].name.clone();
        let mut at = part.bit;
        let leaves = leaves::of(self.program, &part.ty).into_iter();
        let read = |(suffix, width): (String, u32)| {
            let leaf = self.read_bits(whole, at, width);
            self.b.name(leaf, &format!("{name}{suffix}"));
            at += width;
            leaf
        };
        leaves.map(read).collect()
    }

    /// Reads bits of the header from the chunks that contain them. A chunk begins at a multiple of
    /// its size from the header's start, so that all reads of it are equal and become one.
    fn read_bits(&mut self, whole: Whole, bit: u32, width: u32) -> Value {
        let chunk = self.chunk_bytes(whole);
        let (first, last) = (bit / 8 / chunk, (bit + width - 1) / 8 / chunk);
        let chunks: Vec<Value> = (first..=last)
            .map(|index| {
                let offset = self.offset_of(whole, index * chunk);
                let kind = OpKind::Call {
                    offload: whole.chunks,
                    method: method("read"),
                    args: vec![offset],
                };
                self.b.value(chunk * 8, kind)
            })
            .collect();
        let bits = self.run_of(&chunks, bit - first * chunk * 8, width);
        self.b.concat(&bits)
    }

    /// Writes `count` bytes, which are these values, at a byte of the header.
    fn write_piece(&mut self, whole: Whole, at: u32, count: u32, bits: &[Value]) {
        let chunk = self.chunk_bytes(whole);
        let mut data = bits.to_vec();
        if count < chunk {
            data.push(self.b.number((chunk - count) * 8, 0));
        }
        let data = self.b.concat(&data);
        let (offset, count) = (self.offset_of(whole, at), self.b.number(16, u128::from(count)));
        let args = vec![offset, data, count];
        self.b.value(1, OpKind::Call { offload: whole.chunks, method: method("write"), args });
    }

    /// Returns the bits `from .. from + width` of values in a row, the first most significant.
    fn run_of(&mut self, values: &[Value], from: u32, width: u32) -> Vec<Value> {
        let (mut out, mut begin) = (Vec::new(), 0);
        for &value in values {
            let end = begin + self.b.width(value);
            let (first, last) = (from.max(begin), (from + width).min(end));
            if first < last {
                out.push(self.b.slice(value, end - last, last - first));
            }
            begin = end;
        }
        out
    }

    /// Returns whether the packet has the first `bytes` bytes of the header.
    fn reaches(&mut self, whole: Whole, bytes: u32) -> Value {
        let base = self.b.resize(whole.base, 17);
        let bytes = self.b.number(17, u128::from(bytes));
        let end = self.b.binary(BinaryOp::Add, base, bytes);
        let length = self.b.value(16, OpKind::ReadMeta(Meta::Length));
        let length = self.b.resize(length, 17);
        self.b.binary(BinaryOp::Ule, end, length)
    }

    /// Returns the offset in the packet of a byte of the header. Past the longest packet it is
    /// 65,535, a byte that no packet has.
    fn offset_of(&mut self, whole: Whole, byte: u32) -> Value {
        if byte == 0 {
            return whole.base;
        }
        let byte = self.b.number(16, u128::from(byte));
        let sum = self.b.binary(BinaryOp::Add, whole.base, byte);
        let wrapped = self.b.binary(BinaryOp::Ult, sum, whole.base);
        let none = self.b.number(16, u128::from(u16::MAX));
        self.b.select(wrapped, none, sum)
    }

    fn chunk_bytes(&self, whole: Whole) -> u32 {
        match &self.engine.offloads[whole.chunks.index()].target {
            OffloadTarget::Kind(config) => {
                config.value.as_ref().expect("a payload has chunks").width() / 8
            }
            OffloadTarget::Engine(_) => unreachable!("a view of the packet has a payload offload"),
        }
    }
}

/// Returns the number of a method of `payload`.
fn method(name: &str) -> usize {
    let kind = registry::kind("payload").expect("a kind of the registry");
    kind.method(name).expect("a method of the kind").0
}

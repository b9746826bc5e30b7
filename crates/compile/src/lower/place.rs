//! Lowers places: parts of variables, of headers in the packet, and metadata.

use std::rc::Rc;
use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Meta, OffloadId, OpKind, Value};
use wireloom_lang::hir::{self, Place, Projection, Root, Type, VarId};

use super::whole::Whole;
use super::{StepLowering, leaves};

/// A place whose run-time offset and indices have been computed.
pub struct Resolved<'a> {
    root: ResolvedRoot,
    path: Vec<ResolvedProjection>,
    place: &'a Place,
}

#[derive(Clone, Copy)]
enum ResolvedRoot {
    Var(VarId),
    /// A header at a byte offset (16 bits) of the window.
    Header(Value, hir::StructId),
    /// A header anywhere in the packet.
    Whole(Whole),
    Meta(hir::Meta),
}

/// A projection from a value to a part of it, with its index computed.
#[derive(Clone, Copy)]
pub enum ResolvedProjection {
    /// A field of a structure.
    Field(u32),
    /// An element of an array.
    Index(Value),
    /// The lowest bit and the width.
    Slice(u32, u32),
    /// Bits from a run-time index: the lowest bit and the width.
    Run(Value, u32),
}

/// The length from which a constant array becomes a table.
const SHORTEST_TABLE: usize = 8;

/// The most bits of a table's index.
const INDEX_BITS: u32 = 32;

/// Converts the language's metadata to the IR's.
pub fn meta(meta: hir::Meta) -> Meta {
    match meta {
        hir::Meta::Ingress => Meta::Ingress,
        hir::Meta::Egress => Meta::Egress,
        hir::Meta::Length => Meta::Length,
        hir::Meta::Window => Meta::Window,
        hir::Meta::Arrival => Meta::Arrival,
    }
}

impl<'a> StepLowering<'a> {
    /// Computes the run-time parts of a place, left to right.
    pub(super) fn resolve(&mut self, place: &'a Place) -> Resolved<'a> {
        let root = match &place.root {
            Root::Var(var) => ResolvedRoot::Var(*var),
            Root::View(id) => {
                let view = &self.engine.views[id.index()];
                let base = self.scalar(&view.offset);
                match view.chunks {
                    Some(chunks) => ResolvedRoot::Whole(Whole {
                        base,
                        header: view.header,
                        chunks: OffloadId(chunks.0),
                    }),
                    None => ResolvedRoot::Header(base, view.header),
                }
            }
            Root::Local(var, header) => ResolvedRoot::Header(self.var(*var)[0], *header),
            Root::Meta(meta) => ResolvedRoot::Meta(*meta),
        };
        let path = place
            .path
            .iter()
            .map(|projection| match projection {
                Projection::Field(index) => ResolvedProjection::Field(*index),
                Projection::Index(index) => ResolvedProjection::Index(self.scalar(index)),
                Projection::Slice(hi, lo) => ResolvedProjection::Slice(*lo, hi - lo + 1),
                Projection::Run(index, count) => {
                    ResolvedProjection::Run(self.scalar(index), *count)
                }
            })
            .collect();
        Resolved { root, path, place }
    }

    /// Returns the leaves of a variable. A variable that no path has set reads as zero.
    pub(super) fn var(&mut self, var: VarId) -> Rc<[Value]> {
        if self.arrays.hold(var) {
            return self.read_arrays(var, &[]);
        }
        match &self.state.vars[var.index()] {
            Some(leaves) => Rc::clone(leaves),
            None => self.zeros(&self.engine.vars[var.index()].ty),
        }
    }

    /// Reads the value of a place.
    pub(super) fn read(&mut self, resolved: &Resolved<'a>) -> Rc<[Value]> {
        match resolved.root {
            ResolvedRoot::Var(var) if self.arrays.hold(var) => {
                self.read_arrays(var, &resolved.path)
            }
            ResolvedRoot::Var(var) => {
                let leaves = self.var(var);
                let ty = self.engine.vars[var.index()].ty.clone();
                self.part(&leaves, &ty, &resolved.path)
            }
            ResolvedRoot::Header(base, header) => {
                let name = self.view_name(resolved.place);
                let ty = Type::Struct(header);
                self.read_header(base, 0, &ty, &resolved.path, &name)
            }
            ResolvedRoot::Whole(whole) => self.read_whole(whole, &resolved.path),
            ResolvedRoot::Meta(of) => {
                let of = meta(of);
                let value = self.b.value(of.width(), OpKind::ReadMeta(of));
                let ty = if of == Meta::Arrival { Type::Bits(64) } else { Type::Bits(16) };
                self.part(&[value], &ty, &resolved.path)
            }
        }
    }

    /// Writes a place.
    pub(super) fn write(&mut self, resolved: &Resolved<'a>, new: &Rc<[Value]>) {
        match resolved.root {
            ResolvedRoot::Var(var) if self.arrays.hold(var) => {
                self.write_arrays(var, &resolved.path, new);
            }
            ResolvedRoot::Var(var) => {
                let leaves = self.var(var);
                let ty = self.engine.vars[var.index()].ty.clone();
                let leaves = self.with_part(&leaves, &ty, &resolved.path, new);
                self.set_var(var, leaves);
            }
            ResolvedRoot::Header(base, header) => {
                self.write_header(base, 0, &Type::Struct(header), &resolved.path, new);
            }
            ResolvedRoot::Whole(whole) => self.write_whole(whole, &resolved.path, new),
            ResolvedRoot::Meta(of) => {
                let of = meta(of);
                let old = self.b.value(of.width(), OpKind::ReadMeta(of));
                let old: Rc<[Value]> = Rc::new([old]);
                let value = self.with_part(&old, &Type::Bits(16), &resolved.path, new)[0];
                self.b.effect(OpKind::WriteMeta(of, value));
            }
        }
    }

    fn view_name(&self, place: &Place) -> String {
        match &place.root {
            Root::View(id) => self.engine.views[id.index()].name.clone(),
            Root::Local(var, _) => self.engine.vars[var.index()].name.clone(),
            Root::Var(_) | Root::Meta(_) => unreachable!("only headers have views"),
        }
    }

    /// Reads the part of a value that a path selects.
    pub(super) fn part(
        &mut self,
        whole: &[Value],
        ty: &Type,
        path: &[ResolvedProjection],
    ) -> Rc<[Value]> {
        let Some((&first, rest)) = path.split_first() else { return whole.into() };
        match first {
            ResolvedProjection::Field(index) => {
                let (field, at, _) = leaves::field(self.program, ty, index);
                let count = leaves::count(self.program, &field);
                self.part(&whole[at..at + count], &field, rest)
            }
            ResolvedProjection::Index(index) => {
                let (element, _) = leaves::element(ty);
                let chosen = self.element(whole, ty, index);
                self.part(&chosen, element, rest)
            }
            ResolvedProjection::Slice(lo, width) => Rc::new([self.b.slice(whole[0], lo, width)]),
            ResolvedProjection::Run(index, count) => Rc::new([self.run(whole[0], index, count)]),
        }
    }

    /// Reads an element of an array at a run-time index. Out of range it is zero.
    pub(super) fn element(&mut self, whole: &[Value], ty: &Type, index: Value) -> Rc<[Value]> {
        let (element, count) = leaves::element(ty);
        let size = leaves::count(self.program, element);
        if let Some(known) = self.b.as_constant(index).cloned() {
            let inside = known.to_u64().filter(|&i| i < u64::from(count));
            return match inside {
                Some(i) => whole[i as usize * size..][..size].into(),
                None => self.zeros(element),
            };
        }
        if let Some(chosen) = self.table(whole, size, index) {
            return chosen;
        }
        let mut chosen = self.zeros(element);
        for i in 0..count as usize {
            let Some(hit) = self.index_is(index, i) else { break };
            let candidate = &whole[i * size..][..size];
            chosen = candidate
                .iter()
                .zip(chosen.iter())
                .map(|(&c, &o)| self.b.select(hit, c, o))
                .collect();
        }
        chosen
    }

    /// Reads an element of a constant array as a table, for each of the element's `size` leaves.
    /// Short arrays become selections, which later passes can optimise.
    fn table(&mut self, whole: &[Value], size: usize, index: Value) -> Option<Rc<[Value]>> {
        let count = whole.len() / size.max(1);
        if count < SHORTEST_TABLE || whole.iter().any(|leaf| self.b.as_constant(*leaf).is_none()) {
            return None;
        }
        let width = self.b.width(index);
        let (low, inside) = match width {
            0..=INDEX_BITS => (index, None),
            _ => {
                let count = self.b.number(width, count as u128);
                let inside = self.b.binary(BinaryOp::Ult, index, count);
                (self.b.slice(index, 0, INDEX_BITS), Some(inside))
            }
        };
        let leaf = |me: &mut Self, leaf: usize| {
            let elements = whole.iter().skip(leaf).step_by(size);
            let elements: Arc<[Bits]> =
                elements.map(|value| me.b.as_constant(*value).cloned()).collect::<Option<_>>()?;
            let width = elements[0].width();
            let element = me.b.value(width, OpKind::Table { elements, index: low });
            let Some(inside) = inside else { return Some(element) };
            let zero = me.b.number(width, 0);
            Some(me.b.select(inside, element, zero))
        };
        (0..size).map(|at| leaf(self, at)).collect()
    }

    /// Returns whether a run-time index equals `i`. Returns `None` if the index is too narrow for
    /// `i`.
    fn index_is(&mut self, index: Value, i: usize) -> Option<Value> {
        let width = self.b.width(index);
        if width < 64 && i as u64 >> width != 0 {
            return None;
        }
        let number = self.b.number(width, i as u128);
        Some(self.b.binary(BinaryOp::Eq, index, number))
    }

    /// Returns `count` bits of a value from bit `index` up. Bits outside the value are zero.
    pub(super) fn run(&mut self, value: Value, index: Value, count: u32) -> Value {
        let shifted = self.b.binary(BinaryOp::Lshr, value, index);
        self.b.slice(shifted, 0, count)
    }

    /// Returns a value with the part that a path selects replaced.
    pub(super) fn with_part(
        &mut self,
        whole: &Rc<[Value]>,
        ty: &Type,
        path: &[ResolvedProjection],
        new: &Rc<[Value]>,
    ) -> Rc<[Value]> {
        let Some((&first, rest)) = path.split_first() else { return Rc::clone(new) };
        match first {
            ResolvedProjection::Field(index) => {
                let (field, at, _) = leaves::field(self.program, ty, index);
                let count = leaves::count(self.program, &field);
                let old: Rc<[Value]> = whole[at..at + count].into();
                let part = self.with_part(&old, &field, rest, new);
                whole[..at].iter().chain(part.iter()).chain(&whole[at + count..]).copied().collect()
            }
            ResolvedProjection::Index(index) => {
                let (element, count) = leaves::element(ty);
                let size = leaves::count(self.program, element);
                let mut out = whole.to_vec();
                if let Some(known) = self.b.as_constant(index).cloned() {
                    if let Some(i) = known.to_u64().filter(|&i| i < u64::from(count)) {
                        let at = i as usize * size;
                        let old: Rc<[Value]> = whole[at..at + size].into();
                        out[at..at + size]
                            .copy_from_slice(&self.with_part(&old, element, rest, new));
                    }
                    return out.into();
                }
                for i in 0..count as usize {
                    let Some(hit) = self.index_is(index, i) else { break };
                    let at = i * size;
                    let old: Rc<[Value]> = whole[at..at + size].into();
                    let part = self.with_part(&old, element, rest, new);
                    for (k, (&new, &old)) in part.iter().zip(old.iter()).enumerate() {
                        out[at + k] = self.b.select(hit, new, old);
                    }
                }
                out.into()
            }
            ResolvedProjection::Slice(lo, width) => {
                let old = whole[0];
                let total = self.b.width(old);
                let mut parts = Vec::with_capacity(3);
                if lo + width < total {
                    parts.push(self.b.slice(old, lo + width, total - lo - width));
                }
                parts.push(new[0]);
                if lo > 0 {
                    parts.push(self.b.slice(old, 0, lo));
                }
                Rc::new([self.b.concat(&parts)])
            }
            ResolvedProjection::Run(index, count) => {
                let old = whole[0];
                let width = self.b.width(old);
                let ones = self.b.constant(Bits::ones(count).resize(width));
                let hole = self.b.binary(BinaryOp::Shl, ones, index);
                let kept = self.b.unary(wireloom_ir::UnaryOp::Not, hole);
                let kept = self.b.binary(BinaryOp::And, old, kept);
                let plug = self.b.resize(new[0], width);
                let plug = self.b.binary(BinaryOp::Shl, plug, index);
                Rc::new([self.b.binary(BinaryOp::Or, kept, plug)])
            }
        }
    }

    /// Reads the part of a header in the window that a path selects. The value of type `ty` begins
    /// at `bit`.
    fn read_header(
        &mut self,
        base: Value,
        bit: u32,
        ty: &Type,
        path: &[ResolvedProjection],
        name: &str,
    ) -> Rc<[Value]> {
        let Some((&first, rest)) = path.split_first() else {
            let mut at = bit;
            return leaves::of(self.program, ty)
                .into_iter()
                .map(|(suffix, width)| {
                    let value = self.b.value(width, OpKind::ReadPacket { base, bit: at });
                    self.b.name(value, &format!("{name}{suffix}"));
                    at += width;
                    value
                })
                .collect();
        };
        match first {
            ResolvedProjection::Field(index) => {
                let (field, _, offset) = leaves::field(self.program, ty, index);
                let Type::Struct(id) = ty else { unreachable!("only structures have fields") };
                let name = format!(
                    "{name}.{}",
                    self.program.structs[id.index()].fields[index as usize].name
                );
                self.read_header(base, bit + offset, &field, rest, &name)
            }
            ResolvedProjection::Slice(lo, width) => {
                let total = self.program.width(ty);
                let value =
                    self.b.value(width, OpKind::ReadPacket { base, bit: bit + total - lo - width });
                Rc::new([value])
            }
            ResolvedProjection::Index(_) | ResolvedProjection::Run(..) => {
                let whole = self.read_header(base, bit, ty, &[], name);
                self.part(&whole, ty, path)
            }
        }
    }

    /// Writes the part of a header in the window that a path selects. Only the selected bits are
    /// written, so that fields inside the window are written even if the header is partly outside.
    fn write_header(
        &mut self,
        base: Value,
        bit: u32,
        ty: &Type,
        path: &[ResolvedProjection],
        new: &Rc<[Value]>,
    ) {
        let Some((&first, rest)) = path.split_first() else {
            let mut at = bit;
            for &value in new.iter() {
                self.b.effect(OpKind::WritePacket { base, bit: at, value });
                at += self.b.width(value);
            }
            return;
        };
        match first {
            ResolvedProjection::Field(index) => {
                let (field, _, offset) = leaves::field(self.program, ty, index);
                self.write_header(base, bit + offset, &field, rest, new);
            }
            ResolvedProjection::Slice(lo, width) => {
                let total = self.program.width(ty);
                let at = bit + total - lo - width;
                self.b.effect(OpKind::WritePacket { base, bit: at, value: new[0] });
            }
            ResolvedProjection::Run(..) => {
                let whole = self.read_header(base, bit, ty, &[], "");
                let whole = self.with_part(&whole, ty, path, new);
                self.write_header(base, bit, ty, &[], &whole);
            }
            ResolvedProjection::Index(index) => {
                let (element, count) = leaves::element(ty);
                let size = self.program.width(element);
                for i in 0..count {
                    let Some(hit) = self.index_is(index, i as usize) else { break };
                    let element = element.clone();
                    self.branch(
                        hit,
                        |me| {
                            me.write_header(base, bit + i * size, &element, rest, new);
                            Rc::new([])
                        },
                        |_| Rc::new([]),
                        false,
                    );
                }
            }
        }
    }
}

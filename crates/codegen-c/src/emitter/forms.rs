//! The expressions and statements of operations without effects.

use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Meta, OffloadTarget, Op, OpKind, Value};

use super::{Emitter, MOST_LOOKED_AT, REACH, proved_room};
use crate::kinds;
use crate::ops::{self, Form, Operand, Place};
use crate::tree::{Binary, Declaration, Expr, Stmt};
use crate::types::Model;

impl Emitter<'_> {
    /// Returns the form of an operation that is not an effect.
    pub(super) fn form(&mut self, op: &Op, value: Value) -> Form {
        let (width, model) = (self.width(value), self.scope.model);
        match &op.kind {
            OpKind::Const(bits) => Form::Expression(model.operand(model.wide_literal(bits), width)),
            OpKind::Unary(op, a) => {
                let a = self.operand(*a);
                ops::unary(*op, &a)
            }
            OpKind::Binary(op, a, b) => {
                let fits = self.exact(*op, *a, *b, MOST_LOOKED_AT).is_some_and(|largest| {
                    width <= 64 && largest < 1 << width && model == Model::Bits64
                });
                let (a, b) = (self.operand(*a), self.operand(*b));
                ops::binary(*op, &a, &b, fits)
            }
            OpKind::Select(c, a, b) => {
                let (c, a, b) = (self.operand(*c), self.operand(*a), self.operand(*b));
                ops::select(&c, &a, &b)
            }
            OpKind::Extend(a) => {
                let a = self.operand(*a);
                ops::extend(&a, width)
            }
            OpKind::Slice(a, lo) => {
                let a = self.operand(*a);
                ops::slice(&a, *lo, width)
            }
            OpKind::Concat(parts) => {
                let parts: Vec<Operand> = parts.iter().map(|part| self.operand(*part)).collect();
                ops::concat(&parts)
            }
            OpKind::ReadContext(id) => {
                Form::Expression(model.operand(self.scope.context[id.index()].clone(), width))
            }
            OpKind::ReadElement { array, index } => {
                let elements = self.scope.arrays[array.index()].clone();
                let count = self.scope.engine.arrays[array.index()].count;
                Form::Expression(self.element(elements, *index, count.into(), width))
            }
            OpKind::ReadMeta(meta) => Form::Expression(self.meta(*meta)),
            OpKind::Table { elements, index } => {
                Form::Expression(self.table(elements, *index, width))
            }
            OpKind::Evaluate { offload, method, args } => {
                let args: Vec<Operand> = args.iter().map(|arg| self.kept_operand(*arg)).collect();
                let target = &self.scope.engine.offloads[offload.index()].target;
                let OffloadTarget::Kind(config) = target else {
                    unreachable!("an engine is no function")
                };
                let c = kinds::evaluate(model, config, *method, &args, &self.scope.packet);
                Form::Expression(model.operand(c, width))
            }
            OpKind::ReadPacket { base, bit } => {
                let place = self.place(*base, *bit);
                ops::read_packet(model, &place, width)
            }
            _ => unreachable!("effects are written in their order"),
        }
    }

    /// Reads a constant array, which is written before all steps. The element after the last one is
    /// zero. All out-of-range indices read it.
    fn table(&mut self, elements: &Arc<[Bits]>, index: Value, width: u32) -> Operand {
        let model = self.scope.model;
        let count = elements.len() as u64;
        let room = if self.scope.proves_indices { proved_room(count) } else { count + 1 };
        let name = match self.tables.get(elements) {
            Some(name) => name.clone(),
            None => {
                let name = self.names.give("table");
                let is_wide = model.class(width).is_wide();
                let literal = |element: &Bits| match is_wide {
                    true => model.wide_literal(element),
                    false => model.literal(element),
                };
                let beyond = Bits::zero(width);
                let beyond = (count < room).then_some(&beyond);
                let items = elements.iter().chain(beyond).map(literal).collect();
                let ty = model.c_type(width).constant();
                let table = Declaration::new(ty, &name).sized([Expr::number(room)]);
                self.top.push(Stmt::Static(table.with(Expr::List(items))));
                self.tables.insert(Arc::clone(elements), name.clone());
                name
            }
        };
        self.element(Expr::name(name), index, count, width)
    }

    /// Reads an element of an array. The result is zero if the index is out of range.
    fn element(&mut self, elements: Expr, index: Value, count: u64, width: u32) -> Operand {
        let model = self.scope.model;
        if !self.scope.proves_indices {
            let at = self.index(index, count);
            return model.operand(elements.index(at), width);
        }
        let index = self.kept_operand(index);
        if index.constant.is_some_and(|constant| constant < count) {
            return model.operand(elements.index(index.c), width);
        }
        let inside = index.c.clone().binary(Binary::Less, Expr::number(format!("{count}u")));
        let element = elements.index(self.proved_index(index.c, count));
        model.operand(inside.choose(element, model.class(width).zero_value()), width)
    }

    /// Returns an index below the number of elements. If the code must prove that, the expression
    /// proves it.
    pub fn proved_index(&self, index: Expr, count: u64) -> Expr {
        if !self.scope.proves_indices {
            return index;
        }
        Expr::call("wl_index", [index, Expr::number(proved_room(count) - 1)])
    }

    /// Returns the index of an element of an array, or the index of the zero after its last
    /// element.
    fn index(&mut self, index: Value, count: u64) -> Expr {
        let reach = self.width(index);
        let index = self.kept_operand(index);
        if 1u64 << reach <= count || index.constant.is_some_and(|constant| constant < count) {
            return index.c;
        }
        let count = || Expr::number(format!("{count}u"));
        index.c.clone().binary(Binary::Less, count()).choose(index.c, count())
    }

    fn meta(&self, meta: Meta) -> Operand {
        let (p, model) = (self.scope.packet.clone(), self.scope.model);
        let (c, width) = match meta {
            Meta::Ingress => (Expr::call("wl_ingress", [p]), 16),
            Meta::Egress => (p.arrow("egress"), 16),
            Meta::Length if model == Model::Bits32 => (Expr::call("wl_length", [p]), 16),
            Meta::Length => (Expr::call("wl_length", [p]).cast("uint16_t"), 16),
            Meta::Window => (Expr::call("wl_window", [p]), 16),
            Meta::Arrival => (Expr::call("wl_arrival_ns", [p]), 64),
        };
        model.operand(c, width)
    }

    /// Returns an upper bound of a value of at most 64 bits, computed from the operations that
    /// define it. Follows chains of up to `depth` operations.
    fn largest(&self, value: Value, depth: u32) -> u128 {
        let any = 1u128.checked_shl(self.width(value)).map_or(u128::MAX, |end| end - 1);
        let is_scalar = depth > 0 && self.width(value) <= 64;
        let Some(op) = self.origins[value.index()].filter(|_| is_scalar) else { return any };
        let of = |value: Value| self.largest(value, depth - 1);
        let bound = match &op.kind {
            OpKind::Const(bits) => bits.low_u64().into(),
            OpKind::Extend(a) => of(*a),
            OpKind::Select(_, a, b) => of(*a).max(of(*b)),
            OpKind::Binary(BinaryOp::And, a, b) => of(*a).min(of(*b)),
            OpKind::Binary(op, a, b) => self.exact(*op, *a, *b, depth - 1).unwrap_or(any),
            _ => any,
        };
        bound.min(any)
    }

    /// Returns an upper bound of a sum, a product or a left shift of operands of at most 64 bits,
    /// without overflow.
    fn exact(&self, op: BinaryOp, a: Value, b: Value, depth: u32) -> Option<u128> {
        if self.width(a) > 64 {
            return None;
        }
        let [a, b] = [a, b].map(|value| self.largest(value, depth));
        match op {
            BinaryOp::Add => Some(a + b),
            BinaryOp::Mul => Some(a * b),
            BinaryOp::Shl if b < 64 => Some(a << b),
            _ => None,
        }
    }

    /// Returns the position of a field that begins `bit` bits after byte `base` of the window.
    pub fn place(&mut self, base: Value, bit: u32) -> Place {
        let byte = bit / 8;
        let is_near = self.largest(base, MOST_LOOKED_AT) + u128::from(byte) <= u128::from(REACH);
        let base = self.operand(base);
        let mut arguments = vec![self.scope.window.clone()];
        match (base.constant, self.scope.model) {
            (Some(constant), Model::Bits32) => {
                arguments.extend([Expr::number(0), Expr::number(constant + u64::from(byte))]);
            }
            (None, Model::Bits32) => arguments.extend([base.c, Expr::number(byte)]),
            (Some(constant), Model::Bits64) => {
                arguments.push(Expr::number(constant + u64::from(byte)))
            }
            (None, Model::Bits64) if byte == 0 => arguments.push(base.c),
            (None, Model::Bits64) => {
                arguments.push(base.c.binary(Binary::Add, Expr::number(format!("{byte}u"))));
            }
        }
        Place { arguments, bit: bit % 8, is_near }
    }
}

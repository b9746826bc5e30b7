//! Lowers expressions.

use std::rc::Rc;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Meta, OffloadId, OpKind, UnaryOp, Value};
use wireloom_lang::hir::{
    self, Expr, ExprKind, FunctionId, Place, Resize, Root, Type, TypedEngine,
};
use wireloom_net::packet::MAX_LENGTH;
use wireloom_offloads::registry;

use super::state::Exited;
use super::{StepLowering, leaves, place};

impl<'a> StepLowering<'a> {
    /// Returns the value of an expression of a scalar type.
    pub(super) fn scalar(&mut self, expr: &'a Expr) -> Value {
        self.expr(expr)[0]
    }

    /// Returns the leaves of an expression's value.
    pub(super) fn expr(&mut self, expr: &'a Expr) -> Rc<[Value]> {
        let value = match &expr.kind {
            ExprKind::Const(bits) => return self.constant(bits, &expr.ty),
            ExprKind::Read(place) => {
                let place = self.resolve(place);
                return self.read(&place);
            }
            ExprKind::Field(whole, index) => {
                let value = self.expr(whole);
                let (field, at, _) = leaves::field(self.program, &whole.ty, *index);
                return value[at..at + leaves::count(self.program, &field)].into();
            }
            ExprKind::Index(whole, index) => {
                let value = self.expr(whole);
                let index = self.scalar(index);
                return self.element(&value, &whole.ty, index);
            }
            ExprKind::Aggregate(parts) => {
                return parts.iter().flat_map(|p| self.expr(p).to_vec()).collect();
            }
            ExprKind::Cast(inner) => {
                let value = self.expr(inner);
                return self.cast(&value, &inner.ty, &expr.ty);
            }
            ExprKind::Call(function, args) => return self.inline(*function, args),
            ExprKind::Conditional(condition, a, b) => return self.conditional(condition, a, b),
            ExprKind::Offload(offload, method, args) => {
                return self.call(OffloadId(offload.0), *method, args, &expr.ty);
            }
            ExprKind::Slice(whole, hi, lo) => {
                let whole = self.scalar(whole);
                self.b.slice(whole, *lo, hi - lo + 1)
            }
            ExprKind::Run(whole, index, count) => {
                // As for an element, the place is read after all of its indices are known.
                let (whole, index) = match &whole.kind {
                    ExprKind::Read(place) => {
                        let place = self.resolve(place);
                        let index = self.scalar(index);
                        (self.read(&place)[0], index)
                    }
                    _ => (self.scalar(whole), self.scalar(index)),
                };
                self.run(whole, index, *count)
            }
            ExprKind::Not(inner) | ExprKind::LogicalNot(inner) => {
                let inner = self.scalar(inner);
                self.b.unary(UnaryOp::Not, inner)
            }
            ExprKind::Neg(inner) => {
                let inner = self.scalar(inner);
                self.b.unary(UnaryOp::Neg, inner)
            }
            ExprKind::Popcount(inner) => {
                let inner = self.scalar(inner);
                self.b.unary(UnaryOp::Popcount, inner)
            }
            ExprKind::Clz(inner) => {
                let inner = self.scalar(inner);
                self.b.unary(UnaryOp::Clz, inner)
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                self.binary(*op, &a, &b)
            }
            ExprKind::AndThen(a, b) => self.lazy(a, b, true),
            ExprKind::OrElse(a, b) => self.lazy(a, b, false),
            ExprKind::Concat(parts) => {
                let parts: Vec<Value> = parts.iter().flat_map(|p| self.expr(p).to_vec()).collect();
                self.b.concat(&parts)
            }
            ExprKind::Meta(of) => {
                let of: Meta = place::meta(*of);
                self.b.value(of.width(), OpKind::ReadMeta(of))
            }
            ExprKind::Resize(resize) => {
                let kind = match resize {
                    Resize::Insert(offset, count) => {
                        OpKind::Insert { offset: self.scalar(offset), count: self.scalar(count) }
                    }
                    Resize::Remove(offset, count) => {
                        OpKind::Remove { offset: self.scalar(offset), count: self.scalar(count) }
                    }
                    Resize::Reset(count) => OpKind::Reset { count: self.scalar(count) },
                };
                self.b.value(1, kind)
            }
        };
        Rc::new([value])
    }

    /// Returns the leaves of a packed constant.
    fn constant(&mut self, bits: &Bits, ty: &Type) -> Rc<[Value]> {
        let mut end = bits.width();
        leaves::of(self.program, ty)
            .into_iter()
            .map(|(_, width)| {
                end -= width;
                self.b.constant(bits.slice(end, width))
            })
            .collect()
    }

    /// Splits a packed value into its leaves.
    fn unpack(&mut self, packed: Value, ty: &Type) -> Rc<[Value]> {
        let mut end = self.b.width(packed);
        leaves::of(self.program, ty)
            .into_iter()
            .map(|(suffix, width)| {
                end -= width;
                let leaf = self.b.slice(packed, end, width);
                if !suffix.is_empty() {
                    self.b.name(leaf, suffix.trim_start_matches('.'));
                }
                leaf
            })
            .collect()
    }

    fn cast(&mut self, value: &Rc<[Value]>, from: &Type, to: &Type) -> Rc<[Value]> {
        if leaves::of(self.program, from)
            .iter()
            .map(|l| l.1)
            .eq(leaves::of(self.program, to).iter().map(|l| l.1))
        {
            return Rc::clone(value);
        }
        let packed = self.b.concat(value);
        let resized = self.b.resize(packed, self.program.width(to));
        self.unpack(resized, to)
    }

    fn binary(&mut self, op: hir::BinaryOp, a: &[Value], b: &[Value]) -> Value {
        let (op, swapped, negated) = match op {
            hir::BinaryOp::Add => (BinaryOp::Add, false, false),
            hir::BinaryOp::Sub => (BinaryOp::Sub, false, false),
            hir::BinaryOp::Mul => (BinaryOp::Mul, false, false),
            hir::BinaryOp::Div => (BinaryOp::Udiv, false, false),
            hir::BinaryOp::Rem => (BinaryOp::Urem, false, false),
            hir::BinaryOp::And => (BinaryOp::And, false, false),
            hir::BinaryOp::Or => (BinaryOp::Or, false, false),
            hir::BinaryOp::Xor => (BinaryOp::Xor, false, false),
            hir::BinaryOp::Shl => (BinaryOp::Shl, false, false),
            hir::BinaryOp::Shr => (BinaryOp::Lshr, false, false),
            hir::BinaryOp::Eq => (BinaryOp::Eq, false, false),
            hir::BinaryOp::Ne => (BinaryOp::Eq, false, true),
            hir::BinaryOp::Lt => (BinaryOp::Ult, false, false),
            hir::BinaryOp::Le => (BinaryOp::Ule, false, false),
            hir::BinaryOp::Gt => (BinaryOp::Ult, true, false),
            hir::BinaryOp::Ge => (BinaryOp::Ule, true, false),
            hir::BinaryOp::Min => (BinaryOp::Umin, false, false),
            hir::BinaryOp::Max => (BinaryOp::Umax, false, false),
        };
        let (a, b) = if swapped { (b, a) } else { (a, b) };
        match (a, b) {
            ([a], [b]) if negated => self.b.binary(BinaryOp::Ne, *a, *b),
            ([a], [b]) => self.b.binary(op, *a, *b),
            _ => {
                // Aggregates are compared only for equality, leaf by leaf.
                let mut all = None;
                for (&a, &b) in a.iter().zip(b) {
                    let same = self.b.binary(BinaryOp::Eq, a, b);
                    all = Some(all.map_or(same, |all| self.b.binary(BinaryOp::And, all, same)));
                }
                let all = all.unwrap_or_else(|| self.b.number(1, 1));
                if negated { self.b.unary(UnaryOp::Not, all) } else { all }
            }
        }
    }

    /// Lowers `a && b` (`and`) or `a || b`. The result is a choice if `b` has effects or makes a
    /// call, else plain logic.
    fn lazy(&mut self, a: &'a Expr, b: &'a Expr, and: bool) -> Value {
        let first = self.scalar(a);
        if is_pure(self.engine, b) {
            let second = self.scalar(b);
            return self.b.binary(if and { BinaryOp::And } else { BinaryOp::Or }, first, second);
        }
        let short = |me: &mut Self| -> Rc<[Value]> { Rc::new([me.b.number(1, u128::from(!and))]) };
        let long = |me: &mut Self| me.expr(b);
        if and {
            self.branch(first, long, short, false)[0]
        } else {
            self.branch(first, short, long, false)[0]
        }
    }

    fn conditional(&mut self, condition: &'a Expr, a: &'a Expr, b: &'a Expr) -> Rc<[Value]> {
        let condition = self.scalar(condition);
        if is_pure(self.engine, a) && is_pure(self.engine, b) {
            let (a, b) = (self.expr(a), self.expr(b));
            return a.iter().zip(b.iter()).map(|(&a, &b)| self.b.select(condition, a, b)).collect();
        }
        self.branch(condition, |me| me.expr(a), |me| me.expr(b), false)
    }

    fn call(
        &mut self,
        offload: OffloadId,
        method: usize,
        args: &'a [Expr],
        reply: &Type,
    ) -> Rc<[Value]> {
        let engine =
            matches!(self.engine.offloads[offload.index()].target, hir::OffloadTarget::Engine(_));
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            let leaves = self.expr(arg);
            // An engine takes its request leaf by leaf. A kind takes packed values.
            if engine { values.extend(leaves.iter()) } else { values.push(self.b.concat(&leaves)) }
        }
        let longest = self.longest(offload, method);
        let kind = OpKind::Call { offload, method, args: values };
        let called = |me: &mut Self| -> Rc<[Value]> {
            let width = me.program.width(reply);
            if width == 0 {
                me.b.effect(kind);
                return Rc::new([]);
            }
            let packed = me.b.value(width, kind);
            me.unpack(packed, reply)
        };
        let Some(longest) = longest else { return called(self) };
        let length = self.b.value(16, OpKind::ReadMeta(Meta::Length));
        let longest = self.b.number(16, longest);
        let fits = self.b.binary(BinaryOp::Ule, length, longest);
        self.branch(fits, called, |me| me.zeros(reply), false)
    }

    /// Returns the most bytes of a packet for which a method is called, if not every packet has at
    /// most as many.
    fn longest(&self, offload: OffloadId, method: usize) -> Option<u128> {
        let hir::OffloadTarget::Kind(config) = &self.engine.offloads[offload.index()].target else {
            return None;
        };
        let kind = registry::kind(&config.kind)?;
        let longest = config.param(kind.methods[method].longest?).low_u64();
        (longest < MAX_LENGTH as u64).then(|| longest.into())
    }

    /// Inlines a function. Its parameters become variables. Its result collects the values of its
    /// `return`s.
    fn inline(&mut self, function: FunctionId, args: &'a [Expr]) -> Rc<[Value]> {
        let function = &self.engine.functions[function.index()];
        let values: Vec<_> = args.iter().map(|arg| self.expr(arg)).collect();
        for (&param, value) in function.params.iter().zip(values) {
            self.set_var(param, value);
        }
        let loc = self.b.loc;
        let nothing = self.zeros(&function.result);
        let outer = std::mem::replace(&mut self.state.result, nothing);
        self.body(&function.body);
        self.b.loc = loc;
        self.state.flow.returned = Exited::Never;
        std::mem::replace(&mut self.state.result, outer)
    }
}

/// Returns whether an expression of an engine has no effects and makes no call, so that it may be
/// evaluated unnecessarily.
fn is_pure(engine: &TypedEngine, expr: &Expr) -> bool {
    let is_pure = |expr: &Expr| is_pure(engine, expr);
    match &expr.kind {
        ExprKind::Call(..) | ExprKind::Offload(..) | ExprKind::Resize(_) => false,
        ExprKind::Const(_) | ExprKind::Meta(_) => true,
        ExprKind::Read(Place { root: Root::View(id), .. })
            if engine.views[id.index()].chunks.is_some() =>
        {
            false
        }
        ExprKind::Read(place) => place.path.iter().all(|p| match p {
            hir::Projection::Index(e) | hir::Projection::Run(e, _) => is_pure(e),
            hir::Projection::Field(_) | hir::Projection::Slice(..) => true,
        }),
        ExprKind::Field(e, _)
        | ExprKind::Slice(e, ..)
        | ExprKind::Not(e)
        | ExprKind::Neg(e)
        | ExprKind::Popcount(e)
        | ExprKind::Clz(e)
        | ExprKind::LogicalNot(e)
        | ExprKind::Cast(e) => is_pure(e),
        ExprKind::Index(a, b) | ExprKind::Run(a, b, _) | ExprKind::Binary(_, a, b) => {
            is_pure(a) && is_pure(b)
        }
        ExprKind::AndThen(a, b) | ExprKind::OrElse(a, b) => is_pure(a) && is_pure(b),
        ExprKind::Conditional(a, b, c) => is_pure(a) && is_pure(b) && is_pure(c),
        ExprKind::Aggregate(parts) | ExprKind::Concat(parts) => parts.iter().all(is_pure),
    }
}

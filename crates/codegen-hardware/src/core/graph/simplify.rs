//! Construction of binary operators, with simplification.

use wireloom_bits::Bits;
use wireloom_ir::BinaryOp;

use super::{Graph, Node, NodeKind};

impl Graph {
    /// Returns a binary operation with the semantics of [`BinaryOp`].
    pub fn binary(&mut self, op: BinaryOp, a: Node, b: Node) -> Node {
        if let BinaryOp::Umin | BinaryOp::Umax = op {
            let first_is_less = self.binary(BinaryOp::Ult, a, b);
            let (less, more) = if op == BinaryOp::Umin { (a, b) } else { (b, a) };
            return self.select(first_is_less, less, more);
        }
        if let (NodeKind::Const(x), NodeKind::Const(y)) = (self.kind(a), self.kind(b)) {
            let bits = op.apply(x, y);
            return self.constant(bits);
        }
        if let Some(simpler) = self.simplified(op, a, b) {
            return simpler;
        }
        // Operands of commutative operations are put into a canonical order; constants come last.
        let is_constant = |node| self.as_constant(node).is_some();
        let swap = op.commutes() && (is_constant(a), a) > (is_constant(b), b);
        let (a, b) = if swap { (b, a) } else { (a, b) };
        let width = if op.is_comparison() { 1 } else { self.width(a) };
        self.intern(NodeKind::Binary(op, a, b), width)
    }

    fn simplified(&mut self, op: BinaryOp, a: Node, b: Node) -> Option<Node> {
        let width = self.width(a);
        match op {
            BinaryOp::And => {
                if a == b || self.is_ones(b) {
                    return Some(a);
                }
                if self.is_ones(a) {
                    return Some(b);
                }
                let nothing = self.is_zero(a) || self.is_zero(b) || self.is_not_of(a, b);
                nothing.then(|| self.constant(Bits::zero(width)))
            }
            BinaryOp::Or => {
                if a == b || self.is_zero(b) {
                    return Some(a);
                }
                if self.is_zero(a) {
                    return Some(b);
                }
                let everything = self.is_ones(a) || self.is_ones(b) || self.is_not_of(a, b);
                everything.then(|| self.constant(Bits::ones(width)))
            }
            BinaryOp::Xor | BinaryOp::Sub if a == b => Some(self.constant(Bits::zero(width))),
            BinaryOp::Xor if self.is_ones(b) => Some(self.not(a)),
            BinaryOp::Xor if self.is_ones(a) => Some(self.not(b)),
            BinaryOp::Xor | BinaryOp::Add if self.is_zero(a) => Some(b),
            BinaryOp::Xor | BinaryOp::Add | BinaryOp::Sub if self.is_zero(b) => Some(a),
            BinaryOp::Sub => {
                // A subtraction of a constant becomes an addition, so that sums with constants have
                // one form.
                let constant = self.as_constant(b)?.neg();
                let constant = self.constant(constant);
                Some(self.binary(BinaryOp::Add, a, constant))
            }
            BinaryOp::Add => {
                let (x, c) = if self.as_constant(b).is_some() { (a, b) } else { (b, a) };
                let outer = self.as_constant(c)?.clone();
                let NodeKind::Binary(BinaryOp::Add, inner, d) = self.kind(x) else { return None };
                let inner = *inner;
                let sum = self.as_constant(*d)?.add(&outer);
                let sum = self.constant(sum);
                Some(self.binary(BinaryOp::Add, inner, sum))
            }
            BinaryOp::Shl | BinaryOp::Lshr => {
                let count = self.as_constant(b)?.to_shift();
                Some(self.shift(op == BinaryOp::Shl, a, count))
            }
            BinaryOp::Mul => {
                let (x, c) = if self.as_constant(b).is_some() { (a, b) } else { (b, a) };
                let constant = self.as_constant(c)?;
                let shift = constant.significant().checked_sub(1);
                let power =
                    shift.is_none_or(|s| constant.sub(&Bits::new(width, 1).shl(s)).is_zero());
                power.then(|| match shift {
                    Some(shift) => self.shift(true, x, shift),
                    None => self.constant(Bits::zero(width)),
                })
            }
            BinaryOp::Eq | BinaryOp::Ne => self.simplified_equality(op, a, b),
            BinaryOp::Ult | BinaryOp::Ule => self.simplified_order(op, a, b),
            _ => None,
        }
    }

    fn simplified_equality(&mut self, op: BinaryOp, a: Node, b: Node) -> Option<Node> {
        let equal = op == BinaryOp::Eq;
        if a == b {
            return Some(self.bit(equal));
        }
        let (x, c) = if self.as_constant(b).is_some() { (a, b) } else { (b, a) };
        if self.width(a) == 1
            && let Some(constant) = self.as_constant(c)
        {
            return Some(if constant.bit(0) == equal { x } else { self.not(x) });
        }
        let (low, high) = self.significant(x);
        if high > 0
            && let Some(constant) = self.as_constant(c).cloned()
        {
            if constant.significant() > low {
                return Some(self.bit(!equal));
            }
            let x = self.slice(x, 0, low.max(1));
            let c = self.constant(constant.resize(low.max(1)));
            return Some(self.binary(op, x, c));
        }
        self.trimmed(op, a, b)
    }

    fn simplified_order(&mut self, op: BinaryOp, a: Node, b: Node) -> Option<Node> {
        let strict = op == BinaryOp::Ult;
        if a == b {
            return Some(self.bit(!strict));
        }
        let width = self.width(a);
        // Comparisons with zero, with all ones, and with constants that the other operand cannot
        // reach.
        if strict && self.is_zero(b) || !strict && self.is_ones(a) && !self.is_ones(b) {
            let never = strict;
            return if never {
                Some(self.bit(false))
            } else {
                let ones = self.constant(Bits::ones(width));
                Some(self.binary(BinaryOp::Eq, b, ones))
            };
        }
        if !strict && (self.is_zero(a) || self.is_ones(b)) {
            return Some(self.bit(true));
        }
        if strict && self.is_zero(a) {
            let zero = self.constant(Bits::zero(width));
            return Some(self.binary(BinaryOp::Ne, b, zero));
        }
        if !strict && self.is_zero(b) {
            return Some(self.binary(BinaryOp::Eq, a, b));
        }
        let bound = |graph: &Self, node| Bits::ones(graph.significant(node).0 + 1).lshr(1);
        if let Some(c) = self.as_constant(b).cloned() {
            let max = bound(self, a).resize(width + 1);
            let c = c.resize(width + 1);
            if if strict { max < c } else { max <= c } {
                return Some(self.bit(true));
            }
        }
        if let Some(c) = self.as_constant(a).cloned() {
            let max = bound(self, b).resize(width + 1);
            let c = c.resize(width + 1);
            if if strict { c >= max } else { c > max } {
                return Some(self.bit(false));
            }
        }
        self.trimmed(op, a, b)
    }

    /// Compares only the bits that can be 1 in one of the operands.
    fn trimmed(&mut self, op: BinaryOp, a: Node, b: Node) -> Option<Node> {
        let width = self.width(a);
        let needed = self.significant(a).0.max(self.significant(b).0).max(1);
        (needed < width).then(|| {
            let (a, b) = (self.slice(a, 0, needed), self.slice(b, 0, needed));
            self.binary(op, a, b)
        })
    }

    /// Returns the number of low bits that can be 1, and the number of bits above them, which
    /// cannot.
    fn significant(&self, node: Node) -> (u32, u32) {
        let width = self.width(node);
        let low = match self.kind(node) {
            NodeKind::Const(bits) => bits.significant(),
            NodeKind::Concat(parts) => {
                let mut low = width;
                for part in parts {
                    let (inner, above) = self.significant(*part);
                    low -= above;
                    if inner > 0 {
                        break;
                    }
                }
                low
            }
            NodeKind::Select(_, a, b) => self.significant(*a).0.max(self.significant(*b).0),
            NodeKind::Mask(_, a) => self.significant(*a).0,
            _ => width,
        };
        (low, width - low)
    }

    fn shift(&mut self, left: bool, a: Node, count: u32) -> Node {
        let width = self.width(a);
        if count >= width {
            return self.constant(Bits::zero(width));
        }
        if count == 0 {
            return a;
        }
        let zeros = self.constant(Bits::zero(count));
        if left {
            let kept = self.slice(a, 0, width - count);
            self.concat(vec![kept, zeros])
        } else {
            let kept = self.slice(a, count, width - count);
            self.concat(vec![zeros, kept])
        }
    }
}

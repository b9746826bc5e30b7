//! The logic of an engine as one graph of word-level operations without duplicates.
//!
//! All steps are lowered into one graph. Nodes with the same operation and operands are shared, so
//! that steps have common logic (a field of a reply, a comparison of the packet's length) only
//! once. The constructors simplify expressions across steps, which the compiler's passes cannot do.

mod counts;
mod simplify;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Loc, UnaryOp};

/// A node of a [`Graph`]. Its operands have smaller numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(u32);

impl Node {
    /// Returns the node as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// An input of the core.
    Input(Input),
    /// A constant.
    Const(Bits),
    Unary(UnaryOp, Node),
    /// A binary operator. The count of a shift is not constant.
    Binary(BinaryOp, Node, Node),
    /// The second operand if the first (one bit) is 1, else the third.
    Select(Node, Node, Node),
    /// The second operand if the first (one bit) is 1, else zero.
    Mask(Node, Node),
    /// Bits from the given position on.
    Slice(Node, u32),
    /// A concatenation, the first part most significant.
    Concat(Vec<Node>),
    /// The parity of the bits under the mask: 1 if an odd number of them are 1.
    Parity(Node, Bits),
}

/// An input of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Input {
    /// The number of the step.
    Step,
    /// Whether the replies have arrived.
    Phase,
    /// The thread's state.
    State,
    /// The constant data of the packet.
    Info,
    /// The data of a read port.
    Word(u32),
    /// The reply of an offload port.
    Reply(u32),
}

/// The source location of a node, for readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The step that created it first, or `None` for logic that combines the steps.
    pub step: Option<usize>,
    /// The name in the source, if it has one.
    pub name: Option<String>,
    /// The source line.
    pub loc: Loc,
}

struct Entry {
    kind: NodeKind,
    width: u32,
    origin: Option<Origin>,
}

#[derive(Default)]
pub struct Graph {
    entries: Vec<Entry>,
    known: HashMap<(NodeKind, u32), Node>,
    /// The origin of new nodes.
    place: Option<(usize, Loc)>,
}

impl Graph {
    /// Creates an empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the kind of a node.
    pub fn kind(&self, node: Node) -> &NodeKind {
        &self.entries[node.index()].kind
    }

    /// Returns the width of a node in bits.
    pub fn width(&self, node: Node) -> u32 {
        self.entries[node.index()].width
    }

    /// Returns the origin of a node.
    pub fn origin(&self, node: Node) -> Option<&Origin> {
        self.entries[node.index()].origin.as_ref()
    }

    /// Returns all nodes, operands first.
    pub fn nodes(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.entries.len() as u32).map(Node)
    }

    /// Sets the step and the line from which new nodes originate.
    pub fn set_place(&mut self, place: Option<(usize, Loc)>) {
        self.place = place;
    }

    /// Gives a node its name in the source, if it has none yet.
    pub fn set_name(&mut self, node: Node, name: &str) {
        if matches!(self.kind(node), NodeKind::Const(_) | NodeKind::Input(_)) {
            return;
        }
        let place = self.place;
        let entry = &mut self.entries[node.index()];
        let origin = entry.origin.get_or_insert_with(|| Origin {
            step: place.map(|(step, _)| step),
            name: None,
            loc: place.map_or(Loc::default(), |(_, loc)| loc),
        });
        origin.name.get_or_insert_with(|| name.to_owned());
    }

    /// Calls `f` for each operand.
    pub fn for_each_operand(&self, node: Node, mut f: impl FnMut(Node)) {
        match self.kind(node) {
            NodeKind::Input(_) | NodeKind::Const(_) => {}
            NodeKind::Unary(_, a) | NodeKind::Slice(a, _) | NodeKind::Parity(a, _) => f(*a),
            NodeKind::Binary(_, a, b) | NodeKind::Mask(a, b) => {
                f(*a);
                f(*b);
            }
            NodeKind::Select(a, b, c) => {
                f(*a);
                f(*b);
                f(*c);
            }
            NodeKind::Concat(parts) => parts.iter().for_each(|p| f(*p)),
        }
    }

    /// Returns the nodes that the roots depend on, including the roots, as a set by index.
    pub fn cone(&self, roots: impl IntoIterator<Item = Node>) -> Vec<bool> {
        let mut inside = vec![false; self.entries.len()];
        let mut work: Vec<Node> = roots.into_iter().collect();
        while let Some(node) = work.pop() {
            if !std::mem::replace(&mut inside[node.index()], true) {
                self.for_each_operand(node, |operand| work.push(operand));
            }
        }
        inside
    }

    /// Rebuilds the node with other operands and the same origin.
    pub fn rebuilt(&mut self, node: Node, operand: impl Fn(Node) -> Node) -> Node {
        let origin = self.origin(node).cloned();
        let place = self.place;
        self.place = origin.as_ref().and_then(|o| Some((o.step?, o.loc)));
        let rebuilt = match self.kind(node).clone() {
            NodeKind::Input(_) | NodeKind::Const(_) => node,
            NodeKind::Unary(op, a) => self.unary(op, operand(a)),
            NodeKind::Binary(op, a, b) => self.binary(op, operand(a), operand(b)),
            NodeKind::Select(c, a, b) => self.select(operand(c), operand(a), operand(b)),
            NodeKind::Mask(bit, a) => self.mask(operand(bit), operand(a)),
            NodeKind::Slice(a, low) => {
                let width = self.width(node);
                self.slice(operand(a), low, width)
            }
            NodeKind::Concat(parts) => self.concat(parts.into_iter().map(operand).collect()),
            NodeKind::Parity(a, mask) => self.parity(operand(a), mask),
        };
        if let Some(name) = origin.and_then(|o| o.name) {
            self.set_name(rebuilt, &name);
        }
        self.place = place;
        rebuilt
    }

    fn intern(&mut self, kind: NodeKind, width: u32) -> Node {
        let key = (kind, width);
        if let Some(node) = self.known.get(&key) {
            return *node;
        }
        let node = Node(u32::try_from(self.entries.len()).expect("fewer nodes than that"));
        let origin = self.place.map(|(step, loc)| Origin { step: Some(step), name: None, loc });
        self.entries.push(Entry { kind: key.0.clone(), width, origin });
        self.known.insert(key, node);
        node
    }

    /// Returns an input of the module.
    pub fn input(&mut self, input: Input, width: u32) -> Node {
        self.intern(NodeKind::Input(input), width)
    }

    /// Returns a constant.
    pub fn constant(&mut self, bits: Bits) -> Node {
        let width = bits.width();
        self.intern(NodeKind::Const(bits), width)
    }

    /// Returns a constant whose value has at most 64 bits.
    pub fn number(&mut self, width: u32, value: u64) -> Node {
        self.constant(Bits::new(width, u128::from(value)))
    }

    /// Returns a truth value as a constant of one bit.
    pub fn bit(&mut self, value: bool) -> Node {
        self.constant(Bits::bool(value))
    }

    /// Returns the value, if the node is a constant.
    pub fn as_constant(&self, node: Node) -> Option<&Bits> {
        match self.kind(node) {
            NodeKind::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// Returns whether the node is the given truth value.
    pub fn is_bit(&self, node: Node, value: bool) -> bool {
        self.width(node) == 1 && self.as_constant(node).is_some_and(|c| c.bit(0) == value)
    }

    fn is_zero(&self, node: Node) -> bool {
        self.as_constant(node).is_some_and(Bits::is_zero)
    }

    fn is_ones(&self, node: Node) -> bool {
        self.as_constant(node).is_some_and(Bits::is_ones)
    }

    /// Returns the complement.
    pub fn not(&mut self, a: Node) -> Node {
        match self.kind(a) {
            NodeKind::Const(bits) => {
                let bits = bits.not();
                self.constant(bits)
            }
            NodeKind::Unary(UnaryOp::Not, inner) => *inner,
            NodeKind::Binary(BinaryOp::Eq, x, y) => {
                let (x, y) = (*x, *y);
                self.intern(NodeKind::Binary(BinaryOp::Ne, x, y), 1)
            }
            NodeKind::Binary(BinaryOp::Ne, x, y) => {
                let (x, y) = (*x, *y);
                self.intern(NodeKind::Binary(BinaryOp::Eq, x, y), 1)
            }
            _ => {
                let width = self.width(a);
                self.intern(NodeKind::Unary(UnaryOp::Not, a), width)
            }
        }
    }

    fn is_not_of(&self, a: Node, b: Node) -> bool {
        let inverts =
            |x: Node, y: Node| matches!(self.kind(x), NodeKind::Unary(UnaryOp::Not, i) if *i == y);
        inverts(a, b)
            || inverts(b, a)
            || match (self.kind(a), self.kind(b)) {
                (NodeKind::Binary(BinaryOp::Eq, x, y), NodeKind::Binary(BinaryOp::Ne, v, w))
                | (NodeKind::Binary(BinaryOp::Ne, x, y), NodeKind::Binary(BinaryOp::Eq, v, w)) => {
                    x == v && y == w
                }
                _ => false,
            }
    }

    pub fn unary(&mut self, op: UnaryOp, a: Node) -> Node {
        match op {
            UnaryOp::Not => self.not(a),
            UnaryOp::Neg => self.negated(a),
            UnaryOp::Popcount => self.popcount(a),
            UnaryOp::Clz => self.clz(a),
        }
    }

    fn negated(&mut self, a: Node) -> Node {
        match self.kind(a) {
            NodeKind::Const(bits) => {
                let bits = bits.neg();
                self.constant(bits)
            }
            NodeKind::Unary(UnaryOp::Neg, inner) => *inner,
            NodeKind::Binary(BinaryOp::Sub, x, y) => {
                let (x, y) = (*x, *y);
                self.binary(BinaryOp::Sub, y, x)
            }
            _ => {
                let width = self.width(a);
                if width == 1 { a } else { self.intern(NodeKind::Unary(UnaryOp::Neg, a), width) }
            }
        }
    }

    /// Returns the conjunction.
    pub fn and(&mut self, a: Node, b: Node) -> Node {
        self.binary(BinaryOp::And, a, b)
    }

    /// Returns the disjunction.
    pub fn or(&mut self, a: Node, b: Node) -> Node {
        self.binary(BinaryOp::Or, a, b)
    }

    /// Returns the conjunction of all bits; 1 if there are none.
    pub fn all(&mut self, bits: impl IntoIterator<Item = Node>) -> Node {
        let one = self.bit(true);
        bits.into_iter().fold(one, |all, bit| self.and(all, bit))
    }

    /// Returns the disjunction of all bits; 0 if there are none.
    pub fn any(&mut self, bits: impl IntoIterator<Item = Node>) -> Node {
        let zero = self.bit(false);
        bits.into_iter().fold(zero, |any, bit| self.or(any, bit))
    }

    /// Returns the element of a constant array, or zero if the index is out of range. It is a tree
    /// of selections, one level for each bit of the index: equal halves fall away, and synthesis
    /// packs the leaves into the fabric's tables.
    pub fn table(&mut self, elements: &[Bits], index: Node) -> Node {
        let width = elements[0].width();
        let reach = self.width(index);
        let levels = elements.len().next_power_of_two().trailing_zeros();
        let zero = self.constant(Bits::zero(width));
        let mut row: Vec<Node> = elements.iter().map(|bits| self.constant(bits.clone())).collect();
        for level in 0..levels.min(reach) {
            let bit = self.slice(index, level, 1);
            let pair = |graph: &mut Self, pair: &[Node]| {
                graph.select(bit, pair.get(1).copied().unwrap_or(zero), pair[0])
            };
            row = row.chunks(2).map(|nodes| pair(self, nodes)).collect();
        }
        if levels >= reach {
            return row[0];
        }
        let high = self.slice(index, levels, reach - levels);
        let none = self.constant(Bits::zero(reach - levels));
        let inside = self.binary(BinaryOp::Eq, high, none);
        self.select(inside, row[0], zero)
    }

    /// Returns `a` if the condition is 1, else `b`.
    pub fn select(&mut self, condition: Node, a: Node, b: Node) -> Node {
        if a == b || self.is_bit(condition, true) {
            return a;
        }
        if self.is_bit(condition, false) {
            return b;
        }
        if let NodeKind::Unary(UnaryOp::Not, inner) = self.kind(condition) {
            let inner = *inner;
            return self.select(inner, b, a);
        }
        let width = self.width(a);
        if width == 1 {
            if self.is_bit(a, true) {
                return self.or(condition, b);
            }
            if self.is_bit(a, false) {
                let other = self.not(condition);
                return self.and(other, b);
            }
            if self.is_bit(b, true) {
                let other = self.not(condition);
                return self.or(other, a);
            }
            if self.is_bit(b, false) {
                return self.and(condition, a);
            }
        }
        if self.is_zero(b) {
            return self.mask(condition, a);
        }
        if self.is_zero(a) {
            let other = self.not(condition);
            return self.mask(other, b);
        }
        // Equal leading parts of both need no selection.
        if let (NodeKind::Concat(x), NodeKind::Concat(y)) = (self.kind(a), self.kind(b))
            && x[0] == y[0]
        {
            let (top, rest) = (x[0], width - self.width(x[0]));
            let (a, b) = (self.slice(a, 0, rest), self.slice(b, 0, rest));
            let rest = self.select(condition, a, b);
            return self.concat(vec![top, rest]);
        }
        self.intern(NodeKind::Select(condition, a, b), width)
    }

    /// Returns `a` if the bit is 1, else zero.
    pub fn mask(&mut self, bit: Node, a: Node) -> Node {
        let width = self.width(a);
        if self.is_bit(bit, true) || self.is_zero(a) {
            return a;
        }
        if self.is_bit(bit, false) {
            return self.constant(Bits::zero(width));
        }
        if width == 1 {
            return self.and(bit, a);
        }
        self.intern(NodeKind::Mask(bit, a), width)
    }

    /// Zero-extends to a width that is not smaller.
    pub fn extend(&mut self, a: Node, width: u32) -> Node {
        let own = self.width(a);
        if own == width {
            return a;
        }
        let zeros = self.constant(Bits::zero(width - own));
        self.concat(vec![zeros, a])
    }

    /// Extends or truncates to a width.
    pub fn resize(&mut self, a: Node, width: u32) -> Node {
        if self.width(a) > width { self.slice(a, 0, width) } else { self.extend(a, width) }
    }

    /// Returns the bits `low .. low + width`.
    pub fn slice(&mut self, a: Node, low: u32, width: u32) -> Node {
        let own = self.width(a);
        assert!(low + width <= own, "bits {low}..{} of {own}", low + width);
        if width == own {
            return a;
        }
        match self.kind(a).clone() {
            NodeKind::Const(bits) => self.constant(bits.slice(low, width)),
            NodeKind::Slice(inner, offset) => self.slice(inner, low + offset, width),
            NodeKind::Concat(parts) => {
                let mut top = own;
                let mut pieces = Vec::new();
                for part in parts {
                    let part_width = self.width(part);
                    top -= part_width;
                    let from = low.max(top);
                    let to = (low + width).min(top + part_width);
                    if from < to {
                        pieces.push(self.slice(part, from - top, to - from));
                    }
                }
                self.concat(pieces)
            }
            // Slices of bitwise operations are sliced in their operands. The low bits of a sum are
            // the sum of the low bits.
            NodeKind::Unary(UnaryOp::Not, inner) => {
                let inner = self.slice(inner, low, width);
                self.not(inner)
            }
            NodeKind::Mask(bit, inner) => {
                let inner = self.slice(inner, low, width);
                self.mask(bit, inner)
            }
            NodeKind::Select(c, x, y) => {
                let (x, y) = (self.slice(x, low, width), self.slice(y, low, width));
                self.select(c, x, y)
            }
            NodeKind::Binary(op @ (BinaryOp::And | BinaryOp::Or | BinaryOp::Xor), x, y) => {
                let (x, y) = (self.slice(x, low, width), self.slice(y, low, width));
                self.binary(op, x, y)
            }
            _ => self.intern(NodeKind::Slice(a, low), width),
        }
    }

    /// Concatenates parts, the first most significant.
    pub fn concat(&mut self, parts: Vec<Node>) -> Node {
        let mut flat: Vec<Node> = Vec::new();
        for part in parts {
            match self.kind(part).clone() {
                NodeKind::Concat(inner) => {
                    inner.into_iter().for_each(|p| self.append(&mut flat, p))
                }
                _ => self.append(&mut flat, part),
            }
        }
        if let [only] = flat[..] {
            return only;
        }
        let width = flat.iter().map(|p| self.width(*p)).sum();
        self.intern(NodeKind::Concat(flat), width)
    }

    /// Returns the parity of the bits under a mask of the node's width: 1 if an odd number of them
    /// are 1.
    pub fn parity(&mut self, a: Node, mask: Bits) -> Node {
        match self.as_constant(a) {
            Some(bits) => {
                let ones = bits.and(&mask).words().map(u64::count_ones).sum::<u32>();
                self.bit(ones % 2 == 1)
            }
            None if mask.is_zero() => self.bit(false),
            None => self.intern(NodeKind::Parity(a, mask), 1),
        }
    }

    /// Appends a part to others. Adjacent parts that belong together are merged.
    fn append(&mut self, flat: &mut Vec<Node>, part: Node) {
        let Some(last) = flat.last().copied() else {
            flat.push(part);
            return;
        };
        let merged = match (self.kind(last), self.kind(part)) {
            (NodeKind::Const(high), NodeKind::Const(low)) => {
                let bits = high.concat(low);
                Some(self.constant(bits))
            }
            (NodeKind::Slice(x, high), NodeKind::Slice(y, low))
                if x == y && *high == low + self.width(part) =>
            {
                let (x, low, width) = (*x, *low, self.width(last) + self.width(part));
                Some(self.slice(x, low, width))
            }
            _ => None,
        };
        match merged {
            Some(merged) => *flat.last_mut().expect("there is a last one") = merged,
            None => flat.push(part),
        }
    }
}

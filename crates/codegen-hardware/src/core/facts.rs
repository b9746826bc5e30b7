//! Implications between conditions: which other conditions hold given one, and which cannot hold.
//!
//! Exits of a step exclude each other, and so do many guards. A state bit that is written before
//! one exit and dead after all others therefore needs no multiplexer. The result `None` means "not
//! known".

use std::collections::HashMap;

use wireloom_ir::{BinaryOp, UnaryOp};

use super::graph::{Graph, Kind, Node};

/// The maximum depth of the analysis of conditions.
const DEPTH: u32 = 12;

/// The facts that follow from a condition.
pub struct Facts<'a> {
    graph: &'a Graph,
    known: HashMap<Node, bool>,
}

impl<'a> Facts<'a> {
    /// Derives the facts from a one-bit node being 1.
    pub fn given(graph: &'a Graph, condition: Node) -> Self {
        let mut facts = Self { graph, known: HashMap::new() };
        facts.learn(condition, true);
        facts
    }

    /// Adds the fact that a one-bit node has a value.
    pub fn learn(&mut self, node: Node, value: bool) {
        let mut work = vec![(node, value)];
        while let Some((node, value)) = work.pop() {
            if self.known.insert(node, value).is_some() {
                continue;
            }
            match (self.graph.kind(node), value) {
                (Kind::Unary(UnaryOp::Not, a), _) => work.push((*a, !value)),
                (Kind::Binary(BinaryOp::And, a, b), true)
                | (Kind::Binary(BinaryOp::Or, a, b), false) => {
                    work.extend([(*a, value), (*b, value)]);
                }
                _ => {}
            }
        }
    }

    /// Returns the value of a one-bit node if it is known.
    pub fn value(&self, node: Node) -> Option<bool> {
        self.look(node, DEPTH)
    }

    fn look(&self, node: Node, depth: u32) -> Option<bool> {
        if let Some(value) = self.known.get(&node) {
            return Some(*value);
        }
        if let Some(constant) = self.graph.as_constant(node) {
            return Some(constant.bit(0));
        }
        let depth = depth.checked_sub(1)?;
        match self.graph.kind(node) {
            Kind::Unary(UnaryOp::Not, a) => self.look(*a, depth).map(|v| !v),
            Kind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b)
                if self.graph.width(node) == 1 =>
            {
                let decides = *op == BinaryOp::Or;
                match (self.look(*a, depth), self.look(*b, depth)) {
                    (Some(a), _) | (_, Some(a)) if a == decides => Some(decides),
                    (Some(_), Some(_)) => Some(!decides),
                    _ => None,
                }
            }
            Kind::Select(c, a, b) => match self.look(*c, depth) {
                Some(true) => self.look(*a, depth),
                Some(false) => self.look(*b, depth),
                None => {
                    let (a, b) = (self.look(*a, depth)?, self.look(*b, depth)?);
                    (a == b).then_some(a)
                }
            },
            Kind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b) => {
                self.equality(*a, *b).map(|equal| equal == (*op == BinaryOp::Eq))
            }
            Kind::Binary(BinaryOp::Ult, a, b) => self.order(*a, *b, true),
            Kind::Binary(BinaryOp::Ule, a, b) => self.order(*a, *b, false),
            _ => None,
        }
    }

    /// Returns whether two nodes are equal, from the facts about one of them and other constants.
    fn equality(&self, a: Node, b: Node) -> Option<bool> {
        for (fact, value) in &self.known {
            match self.graph.kind(*fact) {
                Kind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), x, y) => {
                    let equal = *value == (*op == BinaryOp::Eq);
                    if (*x, *y) == (a, b) {
                        return Some(equal);
                    }
                    let other_constant = *x == a
                        && matches!((self.graph.as_constant(*y), self.graph.as_constant(b)), (Some(c), Some(d)) if c != d);
                    if equal && other_constant {
                        return Some(false);
                    }
                }
                Kind::Binary(BinaryOp::Ult, x, y)
                    if *value && ((*x, *y) == (a, b) || (*y, *x) == (a, b)) =>
                {
                    return Some(false);
                }
                _ => {}
            }
        }
        None
    }

    /// Returns whether `a < b` or, if not strict, `a <= b`, from the facts about the two.
    fn order(&self, a: Node, b: Node, strict: bool) -> Option<bool> {
        for (fact, value) in &self.known {
            let Kind::Binary(op, x, y) = self.graph.kind(*fact) else { continue };
            // The fact in the form `low < high` or `low <= high`.
            let (low, high, apart) = match (op, value) {
                (BinaryOp::Ult, true) => (*x, *y, true),
                (BinaryOp::Ult, false) => (*y, *x, false),
                (BinaryOp::Ule, true) => (*x, *y, false),
                (BinaryOp::Ule, false) => (*y, *x, true),
                _ => continue,
            };
            if (low, high) == (a, b) && (apart || !strict) {
                return Some(true);
            }
            if (low, high) == (b, a) && (apart || strict) {
                return Some(false);
            }
        }
        None
    }
}

/// Returns whether two conditions are known never to hold together.
pub fn exclusive(graph: &Graph, a: Node, b: Node) -> bool {
    Facts::given(graph, a).value(b) == Some(false) || Facts::given(graph, b).value(a) == Some(false)
}

/// Returns an upper bound of the value of a node of at most 32 bits.
pub fn most(graph: &Graph, node: Node) -> u64 {
    let all = (1 << graph.width(node).min(32)) - 1;
    let found = match graph.kind(node) {
        Kind::Const(bits) => bits.low_u64(),
        Kind::Select(_, a, b) => most(graph, *a).max(most(graph, *b)),
        Kind::Mask(_, a) => most(graph, *a),
        Kind::Binary(BinaryOp::And, a, b) => most(graph, *a).min(most(graph, *b)),
        Kind::Binary(BinaryOp::Or, a, b) => {
            // No bit above the highest bit of either operand can be set.
            let bits = most(graph, *a).max(most(graph, *b));
            (bits + 1).next_power_of_two() - 1
        }
        Kind::Binary(BinaryOp::Add, a, b) => most(graph, *a) + most(graph, *b),
        Kind::Concat(parts) => parts.iter().fold(0, |sum: u64, part| {
            (sum << graph.width(*part).min(32))
                .saturating_add(most(graph, *part))
                .min(u64::from(u32::MAX))
        }),
        _ => all,
    };
    found.min(all)
}

/// Returns an upper bound of a node's value while a condition holds. The condition may imply that a
/// difference is not negative.
pub fn most_given(graph: &Graph, condition: Node, node: Node) -> u64 {
    let Kind::Binary(BinaryOp::Sub, a, b) = graph.kind(node) else { return most(graph, node) };
    let facts = Facts::given(graph, condition);
    let (larger, smaller) = (unextended(graph, *a), unextended(graph, *b));
    let says_so = |other: Node| {
        let (Kind::Binary(BinaryOp::Ult | BinaryOp::Ule, x, y), Some(holds)) =
            (graph.kind(other), facts.value(other))
        else {
            return false;
        };
        let pair = (unextended(graph, *x), unextended(graph, *y));
        pair == if holds { (smaller, larger) } else { (larger, smaller) }
    };
    if graph.nodes().any(says_so) { most(graph, *a) } else { most(graph, node) }
}

/// Returns the node without its zero extension.
fn unextended(graph: &Graph, node: Node) -> Node {
    match graph.kind(node) {
        Kind::Concat(parts)
            if parts.len() == 2 && graph.as_constant(parts[0]).is_some_and(|c| c.is_zero()) =>
        {
            unextended(graph, parts[1])
        }
        _ => node,
    }
}

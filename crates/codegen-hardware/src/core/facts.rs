//! Implications between conditions: which other conditions hold given one, and which cannot hold.
//!
//! Exits of a step exclude each other, and so do many guards. A state bit that is written before
//! one exit and dead after all others therefore needs no multiplexer.
//!
//! [`Holds`] propagates known bits. For a core's graph, [`Terms::decide`] also decides selections,
//! and comparisons whose nodes were compared before.

use wireloom_compile::analysis::conditions::{Form, Holds, Terms};
use wireloom_ir::{BinaryOp, UnaryOp};

use super::graph::{Graph, Node, NodeKind};

/// What follows from conditions of a core.
pub type Facts<'a> = Holds<'a, Graph>;

/// Derives the facts from a one-bit node being 1.
pub fn given(graph: &Graph, condition: Node) -> Facts<'_> {
    let mut facts = Facts::new(graph, []);
    facts.assume(condition, true);
    facts
}

impl Terms for Graph {
    type Term = Node;

    // Facts are derived for every pair of conditions, and a core has thousands of nodes: only what
    // follows directly is worth its time.
    const DEPTH: u32 = 12;
    const MOST_OPEN: usize = 0;

    fn form(&self, node: Node) -> Form<Node> {
        match self.kind(node) {
            _ if self.width(node) != 1 => Form::Other,
            NodeKind::Const(bits) => Form::Constant(!bits.is_zero()),
            NodeKind::Unary(UnaryOp::Not, x) => Form::Not(*x),
            NodeKind::Binary(BinaryOp::And, a, b) => Form::And(*a, *b),
            NodeKind::Binary(BinaryOp::Or, a, b) => Form::Or(*a, *b),
            _ => Form::Other,
        }
    }

    fn decide(&self, facts: &Facts<'_>, node: Node, depth: u32) -> Option<bool> {
        match self.kind(node) {
            NodeKind::Select(c, a, b) => match facts.bit_at(*c, depth) {
                Some(true) => facts.bit_at(*a, depth),
                Some(false) => facts.bit_at(*b, depth),
                None => {
                    let (a, b) = (facts.bit_at(*a, depth)?, facts.bit_at(*b, depth)?);
                    (a == b).then_some(a)
                }
            },
            NodeKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), a, b) => {
                equality(self, facts, *a, *b).map(|equal| equal == (*op == BinaryOp::Eq))
            }
            NodeKind::Binary(BinaryOp::Ult, a, b) => order(self, facts, *a, *b, true),
            NodeKind::Binary(BinaryOp::Ule, a, b) => order(self, facts, *a, *b, false),
            _ => None,
        }
    }
}

/// Returns whether two nodes are equal, from the facts about one of them and other constants.
fn equality(graph: &Graph, facts: &Facts<'_>, a: Node, b: Node) -> Option<bool> {
    for (fact, value) in facts.iter() {
        match graph.kind(fact) {
            NodeKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), x, y) => {
                let equal = value == (*op == BinaryOp::Eq);
                if (*x, *y) == (a, b) {
                    return Some(equal);
                }
                let other_constant = *x == a
                    && matches!((graph.as_constant(*y), graph.as_constant(b)), (Some(c), Some(d)) if c != d);
                if equal && other_constant {
                    return Some(false);
                }
            }
            NodeKind::Binary(BinaryOp::Ult, x, y)
                if value && ((*x, *y) == (a, b) || (*y, *x) == (a, b)) =>
            {
                return Some(false);
            }
            _ => {}
        }
    }
    None
}

/// Returns whether `a < b` or, if not strict, `a <= b`, from the facts about the two.
fn order(graph: &Graph, facts: &Facts<'_>, a: Node, b: Node, strict: bool) -> Option<bool> {
    for (fact, value) in facts.iter() {
        let NodeKind::Binary(op, x, y) = graph.kind(fact) else { continue };
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

/// Returns whether two conditions are known never to hold together.
pub fn exclusive(graph: &Graph, a: Node, b: Node) -> bool {
    given(graph, a).bit(b) == Some(false) || given(graph, b).bit(a) == Some(false)
}

/// Returns an upper bound of the value of a node of at most 32 bits.
pub fn most(graph: &Graph, node: Node) -> u64 {
    let all = (1 << graph.width(node).min(32)) - 1;
    let found = match graph.kind(node) {
        NodeKind::Const(bits) => bits.low_u64(),
        NodeKind::Select(_, a, b) => most(graph, *a).max(most(graph, *b)),
        NodeKind::Mask(_, a) => most(graph, *a),
        NodeKind::Binary(BinaryOp::And, a, b) => most(graph, *a).min(most(graph, *b)),
        NodeKind::Binary(BinaryOp::Or, a, b) => {
            // No bit above the highest bit of either operand can be set.
            let bits = most(graph, *a).max(most(graph, *b));
            (bits + 1).next_power_of_two() - 1
        }
        NodeKind::Binary(BinaryOp::Add, a, b) => most(graph, *a) + most(graph, *b),
        NodeKind::Concat(parts) => parts.iter().fold(0, |sum: u64, part| {
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
    let NodeKind::Binary(BinaryOp::Sub, a, b) = graph.kind(node) else { return most(graph, node) };
    let facts = given(graph, condition);
    let (larger, smaller) = (unextended(graph, *a), unextended(graph, *b));
    let says_so = |other: Node| {
        let (NodeKind::Binary(BinaryOp::Ult | BinaryOp::Ule, x, y), Some(holds)) =
            (graph.kind(other), facts.bit(other))
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
        NodeKind::Concat(parts)
            if parts.len() == 2 && graph.as_constant(parts[0]).is_some_and(|c| c.is_zero()) =>
        {
            unextended(graph, parts[1])
        }
        _ => node,
    }
}

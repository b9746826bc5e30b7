//! Converts chains of AND and OR to trees where that shortens the logic.
//!
//! Guards are conjunctions that grow from exit to exit, each with one condition more than the one
//! before. As chains they take the least area and are the slowest. Synthesis tools keep chains
//! whose links are also used elsewhere, so the slow ones are split here: a node whose operands are
//! ready much earlier than the end of its chain becomes a tree over them, with the latest operands
//! nearest to the root.

use wireloom_ir::BinaryOp;

use super::graph::{Graph, Node, NodeKind};
use super::schedule::{Arrival, through};

/// The half levels that a tree must save to be worth its gates.
const GAIN: u32 = 2;
/// The maximum number of operands of a tree.
const MOST: usize = 64;

/// Rebuilds the nodes that the roots depend on, and updates the roots.
pub fn balance(graph: &mut Graph, roots: &mut [&mut Node]) {
    let cone = graph.cone(roots.iter().map(|root| **root));
    let old: Vec<Node> = graph.nodes().filter(|n| cone[n.index()]).collect();
    let mut at: Vec<Arrival> = Vec::new();
    let mut now: Vec<Option<Node>> = vec![None; cone.len()];
    for node in old {
        let rebuilt =
            graph.rebuilt(node, |operand| now[operand.index()].expect("operands come first"));
        arrive(graph, &mut at);
        now[node.index()] = Some(shortened(graph, rebuilt, &mut at));
    }
    for root in roots {
        **root = now[root.index()].expect("roots are in their cone");
    }
}

/// Updates the arrivals for new nodes of the graph.
fn arrive(graph: &Graph, at: &mut Vec<Arrival>) {
    for node in graph.nodes().skip(at.len()) {
        let mut inputs = Vec::new();
        graph.for_each_operand(node, |operand| inputs.push(at[operand.index()]));
        at.push(through(graph, node, &inputs));
    }
}

fn shortened(graph: &mut Graph, node: Node, at: &mut Vec<Arrival>) -> Node {
    let NodeKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), ..) = *graph.kind(node) else {
        return node;
    };
    if graph.width(node) > 1 {
        return node;
    }
    let mut leaves = Vec::new();
    let mut work = vec![node];
    while let Some(next) = work.pop() {
        match graph.kind(next) {
            NodeKind::Binary(inner, a, b) if *inner == op && leaves.len() < MOST => {
                work.extend([*a, *b])
            }
            _ => leaves.push((at[next.index()].high, next)),
        }
    }
    leaves.sort_unstable();
    leaves.dedup();
    let depth = |mut times: Vec<u32>| {
        while times.len() > 1 {
            let later = times[0].max(times[1]) + 1;
            times.drain(..2);
            times.insert(times.partition_point(|t| *t < later), later);
        }
        times[0]
    };
    if depth(leaves.iter().map(|(time, _)| *time).collect()) + GAIN > at[node.index()].high {
        return node;
    }
    let origin = graph.origin(node).cloned();
    graph.set_place(origin.as_ref().and_then(|o| Some((o.step?, o.loc))));
    while leaves.len() > 1 {
        let [(first, a), (second, b)] = [leaves[0], leaves[1]];
        leaves.drain(..2);
        let both = graph.binary(op, a, b);
        arrive(graph, at);
        let later = (first.max(second) + 1, both);
        leaves.insert(leaves.partition_point(|leaf| *leaf < later), later);
    }
    graph.set_place(None);
    leaves[0].1
}

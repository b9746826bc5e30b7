//! Assigns each node to one of the core's register stages.
//!
//! A node is computed as soon as its operands are ready and its own depth fits into the remaining
//! budget of a stage. `wireloom_compile::analysis::depth` gives the depths, in half levels of
//! six-input LUTs, except for carry chains: chains in sequence overlap along the carry. The logic
//! of a shell between an output and its next register belongs to the last stage. Of all budgets
//! that take the same number of stages, the smallest one is used, so that the stages are about
//! equally deep.

use wireloom_compile::analysis::depth;
use wireloom_ir::{BinaryOp, UnaryOp};

use super::graph::{Graph, Node, NodeKind};

/// The half levels to enter and leave a carry chain, which every chain in a series costs: 1.5 ns on
/// an ECP5 of speed grade 8, where a level of other logic takes about 1 ns including routing
/// (nextpnr's report for the router's engine).
const CHAIN: u32 = 3;
/// The number of bits along a carry chain in half a level: 30 ps each on that part.
const CHAIN_BITS: u32 = 16;

#[derive(Clone, Copy, Debug)]
pub struct Root {
    pub node: Node,
    /// The half levels of logic outside the core, before the next register.
    pub behind: u32,
}

/// The schedule of a graph.
pub struct Schedule {
    /// The stage of each node, by index; registers separate stage `n` from `n + 1`.
    pub stages: Vec<u32>,
    /// The last stage, which is also the number of register boundaries.
    pub last: u32,
    /// The depth of the deepest stage in half levels.
    pub depth: u32,
}

/// Returns whether a node has no logic of its own, so that it costs nothing to duplicate it in each
/// stage that uses it.
pub fn is_transparent(kind: &NodeKind) -> bool {
    matches!(kind, NodeKind::Const(_) | NodeKind::Concat(_) | NodeKind::Unary(UnaryOp::Not, _))
}

/// Schedules everything that the roots depend on. Stages have at most `budget` half levels, unless
/// a single operation is deeper.
pub fn schedule(graph: &Graph, roots: &[Root], budget: u32) -> Schedule {
    let cone = graph.cone(roots.iter().map(|root| root.node));
    let mut best = assign(graph, &cone, roots, budget);
    while best.last > 0 && best.depth > 1 {
        let tighter = assign(graph, &cone, roots, best.depth - 1);
        if tighter.last > best.last || tighter.depth >= best.depth {
            break;
        }
        best = tighter;
    }
    best
}

/// Returns the depth in half levels of the logic between the inputs and these nodes, without
/// registers.
pub fn depth(graph: &Graph, roots: &[Node]) -> u32 {
    let cone = graph.cone(roots.iter().copied());
    let roots: Vec<Root> = roots.iter().map(|node| Root { node: *node, behind: 0 }).collect();
    assign(graph, &cone, &roots, u32::MAX).depth
}

/// The time at which a node's bits are ready, in half levels after the stage's registers. The
/// lowest bit of a carry chain is ready at once and the highest one late, so that the next chain
/// can begin while the first one is still in progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrival {
    /// The lowest bit.
    pub low: u32,
    /// All bits.
    pub high: u32,
}

fn assign(graph: &Graph, cone: &[bool], roots: &[Root], budget: u32) -> Schedule {
    let mut stages = vec![0; cone.len()];
    let mut at = vec![Arrival::default(); cone.len()];
    for node in graph.nodes().filter(|n| cone[n.index()]) {
        let (stage, arrival) = place(graph, node, &stages, &at, budget);
        stages[node.index()] = stage;
        at[node.index()] = arrival;
    }
    // If the logic outside the core no longer fits into a root's stage, a register precedes it.
    let end = |root: &Root| {
        let (stage, own) = (stages[root.node.index()], at[root.node.index()].high);
        let fits = own == 0 || own.saturating_add(root.behind) <= budget;
        if fits { (stage, own + root.behind) } else { (stage + 1, root.behind) }
    };
    let last = roots.iter().map(|root| end(root).0).max().unwrap_or(0);
    let inside = graph.nodes().filter(|n| cone[n.index()]).map(|n| at[n.index()].high);
    let ends = roots.iter().map(end).filter(|(stage, _)| *stage == last).map(|(_, depth)| depth);
    Schedule { depth: inside.chain(ends).max().unwrap_or(0), stages, last }
}

/// Returns the stage and the arrival of a node.
fn place(graph: &Graph, node: Node, stages: &[u32], at: &[Arrival], budget: u32) -> (u32, Arrival) {
    let mut leaves = Vec::new();
    graph.for_each_operand(node, |operand| leaves.push(operand));
    let mut stage = leaves.iter().map(|l| stages[l.index()]).max().unwrap_or(0);
    let arrivals = |stage: u32| -> Vec<Arrival> {
        let here =
            |l: &Node| if stages[l.index()] == stage { at[l.index()] } else { Arrival::default() };
        leaves.iter().map(here).collect()
    };
    let inputs = arrivals(stage);
    let mut arrival = through(graph, node, &inputs);
    let waits = inputs.iter().any(|a| a.high > 0) && !is_transparent(graph.kind(node));
    if arrival.high > budget && waits {
        stage += 1;
        arrival = through(graph, node, &arrivals(stage));
    }
    (stage, arrival)
}

/// Returns when a node's bits are ready, given the arrival of its operands.
pub fn through(graph: &Graph, node: Node, inputs: &[Arrival]) -> Arrival {
    let low = inputs.iter().map(|a| a.low).max().unwrap_or(0);
    let high = inputs.iter().map(|a| a.high).max().unwrap_or(0);
    let chain = |width: u32| (width.div_ceil(CHAIN_BITS), CHAIN);
    match graph.kind(node) {
        NodeKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, _)
        | NodeKind::Unary(UnaryOp::Neg, a) => {
            let (along, into) = chain(graph.width(*a));
            Arrival { low: low + into, high: (high + into).max(low + into + along) }
        }
        NodeKind::Binary(BinaryOp::Ult | BinaryOp::Ule, a, _) => {
            let (along, into) = chain(graph.width(*a));
            let result = (high + into).max(low + into + along);
            Arrival { low: result, high: result }
        }
        // Wires and bitwise operations.
        NodeKind::Concat(_)
        | NodeKind::Unary(UnaryOp::Not, _)
        | NodeKind::Select(..)
        | NodeKind::Mask(..)
        | NodeKind::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, ..) => {
            let own = own_depth(graph, node);
            let select = match graph.kind(node) {
                NodeKind::Select(..) | NodeKind::Mask(..) => inputs.first().map_or(0, |a| a.high),
                _ => 0,
            };
            Arrival { low: low.max(select) + own, high: high + own }
        }
        NodeKind::Slice(_, from) => Arrival { low: if *from == 0 { low } else { high }, high },
        _ => {
            let result = high + own_depth(graph, node);
            Arrival { low: result, high: result }
        }
    }
}

/// Returns the depth at the root of a tree of six-input LUTs over leaves that arrive at these
/// depths. Early leaves are combined first. A LUT with free inputs has room for a part of the next
/// one's logic, hence the half levels.
fn balanced(mut arrivals: Vec<u32>) -> u32 {
    arrivals.sort_unstable_by(|a, b| b.cmp(a));
    while arrivals.len() > 1 {
        let count = arrivals.len().min(6);
        let together: Vec<u32> = arrivals.split_off(arrivals.len() - count);
        let deepest = together.into_iter().max().unwrap_or(0);
        let out = deepest + if count > 3 { 2 } else { 1 };
        let position = arrivals.partition_point(|a| *a >= out);
        arrivals.insert(position, out);
    }
    arrivals.first().copied().unwrap_or(0)
}

fn own_depth(graph: &Graph, node: Node) -> u32 {
    let is_constant = |n: Node| graph.as_constant(n).is_some();
    let half = |depth: depth::Depth| depth.half_levels();
    match graph.kind(node) {
        NodeKind::Binary(op, a, b) => half(depth::binary(
            *op,
            graph.width(*a),
            is_constant(*b) || is_constant(*a) && !op.is_shift(),
            graph.width(*b),
        )),
        NodeKind::Select(..) | NodeKind::Mask(..) => 1,
        NodeKind::Parity(_, mask) => {
            let ones: u32 = mask.words().map(u64::count_ones).sum();
            balanced(vec![0; ones as usize]).next_multiple_of(2)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::super::graph::Input;
    use super::*;

    fn sums(count: u32) -> (Graph, Node) {
        let mut graph = Graph::new();
        let step = graph.input(Input::Info, 16);
        let first = graph.input(Input::State, 16);
        let sum = (0..count).fold(first, |sum, _| graph.binary(BinaryOp::Add, sum, step));
        (graph, sum)
    }

    #[test]
    fn each_chain_in_series_costs_its_way_in_and_out() {
        let depths = [1, 2, 3].map(|count| {
            let (graph, sum) = sums(count);
            depth(&graph, &[sum])
        });
        assert_eq!(depths, [4, 7, 10]);
    }

    #[test]
    fn logic_behind_an_output_belongs_to_the_last_stage() {
        let (graph, sum) = sums(1);
        let with = |behind| schedule(&graph, &[Root { node: sum, behind }], 8);
        assert_eq!(
            [0, 4, 5].map(|behind| (with(behind).last, with(behind).depth)),
            [(0, 4), (0, 8), (1, 5)]
        );
    }
}

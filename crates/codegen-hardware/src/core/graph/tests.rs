use proptest::prelude::*;

use super::*;

/// The widths of the inputs in bits: state and information.
const WIDTHS: [u32; 2] = [12, 5];

/// A recipe for a node whose operands are earlier nodes.
#[derive(Clone, Debug)]
enum Make {
    Const(u32, u64),
    Unary(UnaryOp, usize),
    Binary(BinaryOp, usize, usize),
    Select(usize, usize, usize),
    Mask(usize, usize),
    Slice(usize, u32, u32),
    Concat(usize, usize),
    Parity(usize, u64),
}

fn make() -> impl Strategy<Value = Make> {
    let n = 0..1_000usize;
    prop_oneof![
        (1..14u32, edge()).prop_map(|(w, v)| Make::Const(w, v)),
        (prop::sample::select(&UnaryOp::ALL[..]), n.clone()).prop_map(|(op, a)| Make::Unary(op, a)),
        (prop::sample::select(&BinaryOp::ALL[..]), n.clone(), n.clone())
            .prop_map(|(op, a, b)| Make::Binary(op, a, b)),
        (n.clone(), n.clone(), n.clone()).prop_map(|(c, a, b)| Make::Select(c, a, b)),
        (n.clone(), n.clone()).prop_map(|(c, a)| Make::Mask(c, a)),
        (n.clone(), any::<u32>(), any::<u32>())
            .prop_map(|(a, low, width)| Make::Slice(a, low, width)),
        (n.clone(), n.clone()).prop_map(|(a, b)| Make::Concat(a, b)),
        (n, any::<u64>()).prop_map(|(a, mask)| Make::Parity(a, mask)),
    ]
}

fn parity(bits: &Bits) -> Bits {
    Bits::bool(bits.words().map(u64::count_ones).sum::<u32>() % 2 == 1)
}

/// Evaluates a node, given the inputs.
fn evaluate(graph: &Graph, node: Node, inputs: &[Bits; 2]) -> Bits {
    let value = |n: &Node| evaluate(graph, *n, inputs);
    let width = graph.width(node);
    let bits = match graph.kind(node) {
        NodeKind::Input(Input::State) => inputs[0].clone(),
        NodeKind::Input(_) => inputs[1].clone(),
        NodeKind::Const(bits) => bits.clone(),
        NodeKind::Unary(op, a) => op.apply(&value(a)),
        NodeKind::Binary(op, a, b) => op.apply(&value(a), &value(b)),
        NodeKind::Select(c, a, b) => {
            if value(c).bit(0) {
                value(a)
            } else {
                value(b)
            }
        }
        NodeKind::Mask(c, a) => {
            if value(c).bit(0) {
                value(a)
            } else {
                Bits::zero(width)
            }
        }
        NodeKind::Slice(a, low) => value(a).slice(*low, width),
        NodeKind::Concat(parts) => {
            parts.iter().map(value).reduce(|high, low| high.concat(&low)).expect("it has parts")
        }
        NodeKind::Parity(a, mask) => parity(&value(a).and(mask)),
    };
    assert_eq!(bits.width(), width, "{:?}", graph.kind(node));
    bits
}

/// Picks one of `count` nodes, often one of the last.
fn pick(n: usize, count: usize) -> usize {
    if n < 500 { count - 1 - n % count.min(3) } else { n % count }
}

fn edge() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(u64::MAX), Just(31), Just(32), 0..20u64, any::<u64>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    /// The value equals the operator's, whatever the constructors simplify.
    #[test]
    fn simplified_nodes_mean_the_same(
        recipe in prop::collection::vec(make(), 1..24),
        seeds in prop::collection::vec((edge(), edge()), 8),
    ) {
        let mut graph = Graph::new();
        let mut nodes = vec![graph.input(Input::State, WIDTHS[0]), graph.input(Input::Info, WIDTHS[1])];
        let runs: Vec<[Bits; 2]> = seeds
            .iter()
            .map(|(a, b)| [Bits::new(WIDTHS[0], u128::from(*a)), Bits::new(WIDTHS[1], u128::from(*b))])
            .collect();
        // The value of each node in each run, computed by definition.
        let mut values: Vec<Vec<Bits>> = vec![
            runs.iter().map(|r| r[0].clone()).collect(),
            runs.iter().map(|r| r[1].clone()).collect(),
        ];
        for step in recipe {
            let count = nodes.len();
            let like = |graph: &mut Graph, nodes: &[Node], values: &[Vec<Bits>], index: usize, width: u32| {
                let resized = values[pick(index, count)].iter().map(|v| v.resize(width)).collect::<Vec<Bits>>();
                (graph.resize(nodes[pick(index, count)], width), resized)
            };
            let each = |f: &dyn Fn(usize) -> Bits| (0..runs.len()).map(f).collect::<Vec<Bits>>();
            let (node, value) = match step {
                Make::Const(width, value) => {
                    let bits = Bits::new(width, u128::from(value));
                    (graph.constant(bits.clone()), each(&|_| bits.clone()))
                }
                Make::Unary(op, a) => {
                    let a = pick(a, count);
                    (graph.unary(op, nodes[a]), each(&|run| op.apply(&values[a][run])))
                }
                Make::Binary(op, a, b) => {
                    let a = pick(a, count);
                    let width = graph.width(nodes[a]);
                    let (b, other) = if op.is_shift() {
                        (nodes[pick(b, count)], values[pick(b, count)].clone())
                    } else {
                        like(&mut graph, &nodes, &values, b, width)
                    };
                    (graph.binary(op, nodes[a], b), each(&|run| op.apply(&values[a][run], &other[run])))
                }
                Make::Select(c, a, b) => {
                    let a = pick(a, count);
                    let width = graph.width(nodes[a]);
                    let (c, condition) = like(&mut graph, &nodes, &values, c, 1);
                    let (b, other) = like(&mut graph, &nodes, &values, b, width);
                    let value = |run: usize| if condition[run].bit(0) { values[a][run].clone() } else { other[run].clone() };
                    (graph.select(c, nodes[a], b), each(&value))
                }
                Make::Mask(c, a) => {
                    let a = pick(a, count);
                    let width = graph.width(nodes[a]);
                    let (c, condition) = like(&mut graph, &nodes, &values, c, 1);
                    let value = |run: usize| if condition[run].bit(0) { values[a][run].clone() } else { Bits::zero(width) };
                    (graph.mask(c, nodes[a]), each(&value))
                }
                Make::Slice(a, low, width) => {
                    let a = pick(a, count);
                    let own = graph.width(nodes[a]);
                    let low = low % own;
                    let width = 1 + width % (own - low);
                    (graph.slice(nodes[a], low, width), each(&|run| values[a][run].slice(low, width)))
                }
                Make::Concat(a, b) => {
                    let (a, b) = (pick(a, count), pick(b, count));
                    if graph.width(nodes[a]) + graph.width(nodes[b]) > 60 {
                        continue;
                    }
                    (graph.concat(vec![nodes[a], nodes[b]]), each(&|run| values[a][run].concat(&values[b][run])))
                }
                Make::Parity(a, mask) => {
                    let a = pick(a, count);
                    let mask = Bits::new(graph.width(nodes[a]), u128::from(mask));
                    (graph.parity(nodes[a], mask.clone()), each(&|run| parity(&values[a][run].and(&mask))))
                }
            };
            for (run, inputs) in runs.iter().enumerate() {
                prop_assert_eq!(&evaluate(&graph, node, inputs), &value[run], "{:?}", graph.kind(node));
            }
            nodes.push(node);
            values.push(value);
        }
        // Balancing changes no value either.
        let mut last = *nodes.last().expect("there are the inputs");
        let before = last;
        crate::core::balance::balance(&mut graph, &mut [&mut last]);
        for inputs in &runs {
            prop_assert_eq!(evaluate(&graph, last, inputs), evaluate(&graph, before, inputs));
        }
    }
}

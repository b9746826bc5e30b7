//! Selection among the values that different steps, and different exits of a step, have for the
//! same output.
//!
//! The input is a list of *cases*. A case applies while its step runs; it has an ordered list of
//! conditions with values, and a default value. For steps without a case the result does not
//! matter. Equal values are merged; the remaining ones are selected by a binary code, so that four
//! values take one six-input LUT per bit and all bits share the logic of the code.

use std::collections::HashMap;

use super::graph::{Graph, Node};

/// A value that depends on conditions while a step runs.
pub struct Case {
    /// Whether the step runs (one bit).
    pub active: Node,
    /// Conditions that exclude each other, with their values.
    pub when: Vec<(Node, Node)>,
    /// The value if none of the conditions holds.
    pub otherwise: Node,
}

/// Returns a case of these alternatives. One of them holds whenever the result is used. The
/// last one becomes the default.
pub fn case(active: Node, mut alternatives: Vec<(Node, Node)>) -> Option<Case> {
    let (_, otherwise) = alternatives.pop()?;
    alternatives.retain(|(_, value)| *value != otherwise);
    Some(Case { active, when: alternatives, otherwise })
}

/// Returns the value of the active case. Without an active case the result is arbitrary.
pub fn choose(graph: &mut Graph, cases: &[Case]) -> Option<Node> {
    let mut counts: HashMap<Node, usize> = HashMap::new();
    let mut order: Vec<Node> = Vec::new();
    for case in cases {
        // Default values count twice: the most frequent value gets the code zero, which needs no
        // logic.
        for (value, weight) in case.when.iter().map(|(_, v)| (*v, 1)).chain([(case.otherwise, 2)]) {
            let count = counts.entry(value).or_insert_with(|| {
                order.push(value);
                0
            });
            *count += weight;
        }
    }
    order.sort_by_key(|value| (std::cmp::Reverse(counts[value]), *value));
    if order.len() < 2 {
        return order.pop();
    }
    let bits = usize::BITS - (order.len() - 1).leading_zeros();
    let codes: HashMap<Node, usize> =
        order.iter().enumerate().map(|(code, value)| (*value, code)).collect();
    let code: Vec<Node> = (0..bits).map(|bit| code_bit(graph, cases, &codes, bit)).collect();
    Some(pick(graph, &order, &code))
}

/// Returns a bit of the code.
fn code_bit(graph: &mut Graph, cases: &[Case], codes: &HashMap<Node, usize>, bit: u32) -> Node {
    let is_set = |value: &Node| codes[value] >> bit & 1 == 1;
    let mut terms = Vec::new();
    for case in cases {
        let flips = is_set(&case.otherwise);
        let conditions: Vec<Node> = case
            .when
            .iter()
            .filter(|(_, v)| is_set(v) != flips)
            .map(|(condition, _)| *condition)
            .collect();
        let any = graph.any(conditions);
        let term = if flips { graph.not(any) } else { any };
        terms.push(graph.and(case.active, term));
    }
    graph.any(terms)
}

/// Returns the value with the given code.
fn pick(graph: &mut Graph, values: &[Node], code: &[Node]) -> Node {
    let Some((top, rest)) = code.split_last() else { return values[0] };
    let half = 1 << rest.len();
    if values.len() <= half {
        return pick(graph, values, rest);
    }
    let (low, high) = values.split_at(half);
    let (low, high) = (pick(graph, low, rest), pick(graph, high, rest));
    graph.select(*top, high, low)
}

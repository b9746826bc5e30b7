//! Choosing among the values that different steps, and different exits of a step, have for one
//! thing.
//!
//! What comes in is a list of *cases*: while a step runs, an ordered list of conditions with
//! values, and a value otherwise. Steps that are not in the list do not care. Equal values meet;
//! what is left is chosen by a binary code, so that four values take one six-input table a bit and
//! the code's logic is shared by all bits.

use std::collections::HashMap;

use super::graph::{Graph, Node};

/// A value that depends on conditions while a step runs.
pub struct Case {
    /// One bit: the step runs.
    pub active: Node,
    /// Conditions that exclude each other, with the values that apply.
    pub when: Vec<(Node, Node)>,
    /// The value if none of them holds.
    pub otherwise: Node,
}

/// Makes a case from alternatives of which one holds whenever the result matters; the last one is
/// taken unconditionally.
pub fn case(active: Node, mut alternatives: Vec<(Node, Node)>) -> Option<Case> {
    let (_, otherwise) = alternatives.pop()?;
    alternatives.retain(|(_, value)| *value != otherwise);
    Some(Case { active, when: alternatives, otherwise })
}

/// The value of whatever case is active; anything if none is.
pub fn choose(graph: &mut Graph, cases: &[Case]) -> Option<Node> {
    let mut counts: HashMap<Node, usize> = HashMap::new();
    let mut order: Vec<Node> = Vec::new();
    for case in cases {
        // What is taken without asking is best told by zeros.
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

/// A bit of the code.
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

/// The value with that code.
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

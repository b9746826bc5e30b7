//! Finds the loops of the step graph.
//!
//! Steps that reach each other form a loop (a strongly connected component; Tarjan, 1972, in the
//! path-based form). The order of steps in the source does not matter: a jump to an earlier step
//! that no path leads back from is not a loop.

use wireloom_ir::{Engine, OpKind, StepId};

use super::effects::successor;

/// The loops of an engine.
pub struct Loops {
    /// The component of each step. A step that cannot reach itself is the only one of its
    /// component.
    component: Vec<usize>,
    /// The steps of each component that is a loop, in order of their declaration.
    loops: Vec<Vec<StepId>>,
}

impl Loops {
    /// Finds the loops of an engine.
    pub fn of(engine: &Engine) -> Self {
        let successors: Vec<Vec<usize>> = engine
            .steps
            .iter()
            .map(|step| {
                let mut next = Vec::new();
                step.for_each_op(|op| {
                    if let OpKind::Exit(exit) = &op.kind {
                        next.extend(successor(exit).map(StepId::index));
                    }
                });
                next
            })
            .collect();
        let component = components(&successors);
        let mut members: Vec<Vec<StepId>> = vec![Vec::new(); successors.len()];
        for (step, component) in component.iter().enumerate() {
            members[*component].push(StepId(step as u32));
        }
        let is_loop = |steps: &Vec<StepId>| match steps[..] {
            [] => false,
            [only] => successors[only.index()].contains(&only.index()),
            _ => true,
        };
        let mut loops: Vec<Vec<StepId>> = members.into_iter().filter(is_loop).collect();
        loops.sort();
        Self { component, loops }
    }

    /// Returns whether there are no loops.
    pub fn is_empty(&self) -> bool {
        self.loops.is_empty()
    }

    /// Returns the steps of each loop, in order of their declaration.
    pub fn iter(&self) -> impl Iterator<Item = &[StepId]> {
        self.loops.iter().map(Vec::as_slice)
    }

    /// Returns whether a jump closes a loop: its target can lead back to this step and is not
    /// declared after it. All other jumps together form no cycle.
    pub fn closes(&self, from: StepId, to: StepId) -> bool {
        to <= from && self.component[from.index()] == self.component[to.index()]
    }
}

/// Finds the strongly connected components and returns the number of each node's component.
fn components(successors: &[Vec<usize>]) -> Vec<usize> {
    const NEW: usize = usize::MAX;
    let mut order = vec![NEW; successors.len()];
    let mut component = vec![NEW; successors.len()];
    let (mut next_order, mut next_component) = (0, 0);
    // Nodes without a component so far, and the candidates among them for the first node of a
    // component.
    let (mut open, mut first): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for root in 0..successors.len() {
        if order[root] != NEW {
            continue;
        }
        // Each node on the path, with the number of its successors already followed. The stack is
        // explicit, so that no program can overflow the call stack.
        let mut path = vec![(root, 0)];
        while let Some((node, followed)) = path.pop() {
            if followed == 0 {
                order[node] = next_order;
                next_order += 1;
                open.push(node);
                first.push(node);
            }
            if let Some(&next) = successors[node].get(followed) {
                path.push((node, followed + 1));
                if order[next] == NEW {
                    path.push((next, 0));
                } else if component[next] == NEW {
                    while first.last().is_some_and(|f| order[*f] > order[next]) {
                        first.pop();
                    }
                }
            } else if first.last() == Some(&node) {
                first.pop();
                while let Some(member) = open.pop() {
                    component[member] = next_component;
                    if member == node {
                        break;
                    }
                }
                next_component += 1;
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn nodes_that_reach_each_other_are_one_component() {
        // 0 -> 1 -> 2 -> 1, 2 -> 3, 3 -> 3, 4 -> 0 (4 is not reached).
        let found = components(&[vec![1], vec![2], vec![1, 3], vec![3], vec![0]]);
        assert_eq!(found[1], found[2]);
        let distinct: std::collections::BTreeSet<_> =
            [0, 1, 3, 4].iter().map(|n| found[*n]).collect();
        assert_eq!(distinct.len(), 4);
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let chain: Vec<Vec<usize>> = (0..100_000).map(|i| vec![(i + 1) % 100_000]).collect();
        assert!(components(&chain).iter().all(|c| *c == 0));
    }
}

//! Removes parts of a step that lowering left unused, so that `--ir lower` reads well: context
//! reads of variables that the step does not mention, constants, and unused yields of `if`s. Values
//! are renumbered in order.

use wireloom_ir::{Block, Op, OpKind, Value, ValueInfo};

use crate::analysis::{is_pure, is_read};

/// Returns the step without its unused parts.
pub fn tidy(values: Vec<ValueInfo>, mut body: Block) -> (Vec<ValueInfo>, Block) {
    let mut used = vec![false; values.len()];
    mark(&body, &mut used);
    sweep(&mut body, &used);
    let mut renumber = Renumber { old: values, new: Vec::new(), map: Vec::new() };
    renumber.map = vec![None; renumber.old.len()];
    renumber.block(&mut body);
    (renumber.new, body)
}

fn removable(kind: &OpKind) -> bool {
    is_pure(kind) || is_read(kind)
}

/// Marks used values from the last operation to the first, so that each use precedes the definition
/// in the visit.
fn mark(block: &Block, used: &mut [bool]) {
    for op in block.ops.iter().rev() {
        if removable(&op.kind) && !op.results.iter().any(|r| used[r.index()]) {
            continue;
        }
        if let OpKind::If { condition, then, otherwise } = &op.kind {
            for (i, result) in op.results.iter().enumerate() {
                if used[result.index()] {
                    used[then.1[i].index()] = true;
                    used[otherwise.1[i].index()] = true;
                }
            }
            mark(&then.0, used);
            mark(&otherwise.0, used);
            used[condition.index()] = true;
        } else {
            op.kind.for_each_operand(|v| used[v.index()] = true);
        }
    }
}

fn sweep(block: &mut Block, used: &[bool]) {
    block.ops.retain(|op| !removable(&op.kind) || op.results.iter().any(|r| used[r.index()]));
    for Op { kind, results, .. } in &mut block.ops {
        if let OpKind::If { then, otherwise, .. } = kind {
            sweep(&mut then.0, used);
            sweep(&mut otherwise.0, used);
            let keep: Vec<bool> = results.iter().map(|r| used[r.index()]).collect();
            for list in [results, &mut then.1, &mut otherwise.1] {
                let mut keep = keep.iter();
                list.retain(|_| *keep.next().expect("as many yields as results"));
            }
        }
    }
    block.ops.retain(|op| match &op.kind {
        OpKind::If { then, otherwise, .. } => {
            !(op.results.is_empty() && then.0.ops.is_empty() && otherwise.0.ops.is_empty())
        }
        _ => true,
    });
}

struct Renumber {
    old: Vec<ValueInfo>,
    new: Vec<ValueInfo>,
    map: Vec<Option<Value>>,
}

impl Renumber {
    fn block(&mut self, block: &mut Block) {
        for op in &mut block.ops {
            if let OpKind::If { condition, then, otherwise } = &mut op.kind {
                self.operand(condition);
                for arm in [then, otherwise] {
                    self.block(&mut arm.0);
                    arm.1.iter_mut().for_each(|v| self.operand(v));
                }
            } else {
                op.kind.for_each_operand_mut(|v| self.operand(v));
            }
            for result in &mut op.results {
                let number = Value(self.new.len() as u32);
                self.new.push(self.old[result.index()].clone());
                self.map[result.index()] = Some(number);
                *result = number;
            }
        }
    }

    fn operand(&self, value: &mut Value) {
        *value = self.map[value.index()].expect("a value is defined before it is used");
    }
}

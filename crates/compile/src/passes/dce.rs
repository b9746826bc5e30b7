//! Dead code elimination: removes operations that have no effect and whose results are not used.
//!
//! ```text
//! %1:u32 = packet.read %0 + 128                      finish
//! %2:u8 = call routes.search(%1)             =>
//! context.write class, %2
//! finish
//! ```
//!
//! These are dead:
//! - values that no live operation uses;
//! - calls that change nothing and whose reply is dead;
//! - writes of context variables that no later path reads (in the whole engine), and of context
//!   arrays that no step reads;
//! - arms of an `if` that do nothing.
//!
//! Calls that change the state of an offload, and all changes of the packet, are live.

use wireloom_ir::{Block, Engine, EngineId, Op, OpKind, Program, Step};

use super::PassOptions;
use crate::analysis::effects::Effects;
use crate::analysis::liveness::Liveness;
use crate::analysis::{is_pure, is_read};

/// The most rounds over an engine. A chain of variables, each read only for the next, needs a round
/// for each. The next run removes the rest of longer chains, or the rest costs a little time.
const MAX_ROUNDS: usize = 16;

/// Cleans every engine until nothing more is dead. Removing a write may end the life of a variable
/// in another step.
pub fn run(program: &mut Program, _: &PassOptions) {
    let effects = Effects::of(program);
    for (index, engine) in program.engines.iter_mut().enumerate() {
        let id = EngineId(index as u32);
        for _ in 0..MAX_ROUNDS {
            let live = Liveness::of(engine);
            let writes: Vec<Vec<bool>> =
                engine.steps.iter().map(|s| live.writes(engine, s)).collect();
            let arrays = read_arrays(engine);
            let mut changed = false;
            for (step, writes) in engine.steps.iter_mut().zip(writes) {
                changed |= clean(step, writes, &arrays, &effects, id);
            }
            if !changed {
                break;
            }
        }
    }
}

/// Returns for each context array whether a step of the engine reads it.
fn read_arrays(engine: &Engine) -> Vec<bool> {
    let mut read = vec![false; engine.arrays.len()];
    for step in &engine.steps {
        step.for_each_op(|op| {
            if let OpKind::ReadElement { array, .. } = op.kind {
                read[array.index()] = true;
            }
        });
    }
    read
}

/// Cleans a step. `writes` says for each context write, from the last to the first, whether it is
/// live.
fn clean(
    step: &mut Step,
    writes: Vec<bool>,
    arrays: &[bool],
    effects: &Effects,
    engine: EngineId,
) -> bool {
    let mut sweep = Sweep {
        used: vec![false; step.values.len()],
        writes: writes.into_iter(),
        arrays,
        effects,
        engine,
        changed: false,
    };
    let blocks: Vec<&mut Block> = step.code.blocks_mut().collect();
    for block in blocks.into_iter().rev() {
        sweep.block(block);
    }
    sweep.changed
}

struct Sweep<'a> {
    used: Vec<bool>,
    writes: std::vec::IntoIter<bool>,
    /// Whether some step reads each context array.
    arrays: &'a [bool],
    effects: &'a Effects,
    engine: EngineId,
    changed: bool,
}

impl Sweep<'_> {
    /// Visits the last operation first, so that uses are seen before definitions.
    fn block(&mut self, block: &mut Block) {
        let mut kept = Vec::with_capacity(block.ops.len());
        for mut op in std::mem::take(&mut block.ops).into_iter().rev() {
            if self.keep(&mut op) {
                kept.push(op);
            } else {
                self.changed = true;
            }
        }
        kept.reverse();
        block.ops = kept;
    }

    fn keep(&mut self, op: &mut Op) -> bool {
        let wanted = op.results.iter().any(|r| self.used[r.index()]);
        if let OpKind::If { condition, then, otherwise } = &mut op.kind {
            // Unused results are removed together with their yields.
            let used: Vec<bool> = op.results.iter().map(|r| self.used[r.index()]).collect();
            if used.contains(&false) {
                self.changed = true;
                for list in [&mut op.results, &mut then.1, &mut otherwise.1] {
                    let mut flags = used.iter();
                    list.retain(|_| *flags.next().expect("as many yields as results"));
                }
            }
            then.1.iter().chain(&otherwise.1).for_each(|v| self.used[v.index()] = true);
            self.block(&mut otherwise.0);
            self.block(&mut then.0);
            if op.results.is_empty() && then.0.ops.is_empty() && otherwise.0.ops.is_empty() {
                return false;
            }
            self.used[condition.index()] = true;
            return true;
        }
        let live = match &op.kind {
            OpKind::WriteContext(..) => self.writes.next().expect("one flag for each write"),
            OpKind::WriteElement { array, .. } => self.arrays[array.index()],
            OpKind::Call { offload, method, .. } => {
                wanted || self.effects.call(self.engine, *offload, *method).has_effect
            }
            kind => wanted || !(is_pure(kind) || is_read(kind)),
        };
        if !live {
            return false;
        }
        op.kind.for_each_operand(|v| self.used[v.index()] = true);
        if let Some(guard) = op.guard {
            self.used[guard.index()] = true;
        }
        true
    }
}

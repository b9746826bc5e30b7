//! A thread with a stack for deep nesting.
//!
//! Choices nest as deeply as a step has conditions that can leave it: unrolled loops with `break`
//! reach tens of thousands. Lowering, and the passes before if-conversion, recurse as deeply.

use wireloom_ir::{Block, OpKind, Program};

/// Bytes of a large stack. Only the used part takes memory.
const STACK: usize = 1 << 29;

/// The depth for which any thread's stack suffices.
const SHALLOW: usize = 64;

/// Calls a function on a thread with a large stack, or on this thread if there is no memory for
/// one.
pub fn call<T: Send>(function: impl FnOnce() -> T + Send) -> T {
    let mut function = Some(function);
    let taken = &mut function;
    std::thread::scope(|scope| {
        let run = move || taken.take().map(|function| function());
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run);
        thread.ok().and_then(|thread| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
    .unwrap_or_else(|| function.take().expect("no thread has called it")())
}

/// Returns whether choices nest deeply in a program.
pub fn is_deep(program: &Program) -> bool {
    let steps = program.engines.iter().flat_map(|engine| &engine.steps);
    let mut open: Vec<(&Block, usize)> =
        steps.flat_map(|step| step.code.blocks()).map(|block| (block, 0)).collect();
    while let Some((block, depth)) = open.pop() {
        for op in &block.ops {
            if let OpKind::If { then, otherwise, .. } = &op.kind {
                if depth == SHALLOW {
                    return true;
                }
                open.extend([(&then.0, depth + 1), (&otherwise.0, depth + 1)]);
            }
        }
    }
    false
}

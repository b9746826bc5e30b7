//! Checks whether an engine can be a straight pipeline, and determines the order of its steps.

use wireloom_compile::analysis::effects::successors;
use wireloom_compile::analysis::loops::Loops;
use wireloom_ir::{
    Code, Engine, EngineId, EngineKind, Exit, Loc, OffloadTarget, OpKind, Program, Step,
};
use wireloom_offloads::{Delay, registry};

use crate::core::Refusal;
use crate::core::calls::TimeUse;
use crate::core::kinds;

/// Returns the order of the steps. Each follows all steps that jump to it.
///
/// # Errors
/// If the engine cannot be a pipeline. The refusal names the step and the line.
pub fn order(program: &Program, engine: EngineId) -> Result<Vec<usize>, Refusal> {
    let body = &program.engines[engine.index()];
    let refuse =
        |step: &Step, loc: Loc, reason: String| Refusal::at(program, body, step, loc, reason);
    let first = &body.steps[0];
    if body.kind == EngineKind::Packet {
        let reason = "the engine takes packets, for which a pipeline has no memory; only called \
                      engines can be pipelined";
        return Err(refuse(first, first.loc, reason.into()));
    }
    if let Some((step, loc, reason)) = backward_jump(body) {
        return Err(refuse(step, loc, reason));
    }
    for step in &body.steps {
        if matches!(step.code, Code::Sequential(_)) {
            return Err(refuse(step, step.loc, "its code is not split into regions".into()));
        }
        let mut wrong = None;
        step.for_each_op(|op| {
            if let OpKind::Call { offload, method, .. } = op.kind
                && let Some(reason) = unsuitable(body, offload.index(), method)
            {
                wrong.get_or_insert((op.loc, reason));
            }
        });
        if let Some((loc, reason)) = wrong {
            return Err(refuse(step, loc, reason));
        }
    }
    let time = TimeUse::of(program, body);
    if time.arrival || time.sequence {
        let reason = "the engine reads the arrival time or the number of its packet, which a \
                      pipeline does not have";
        return Err(refuse(first, first.loc, reason.into()));
    }
    Ok(topological(body))
}

/// Returns the last step of a loop, the location of its backward jump and the reason for the
/// refusal, or `None` if all jumps go forward.
pub(super) fn backward_jump(body: &Engine) -> Option<(&Step, Loc, String)> {
    let loops = Loops::of(body);
    let latest = loops.iter().next()?.iter().max().expect("a loop has steps");
    let step = &body.steps[latest.index()];
    let back = successors(step).into_iter().find(|to| *to <= latest.index());
    let to = &body.steps[back.expect("the last step of a loop jumps back")].name;
    Some((
        step,
        jump_loc(step),
        format!("it jumps back to `{to}`: a pipeline has forward jumps only"),
    ))
}

/// Returns the reason why a pipeline cannot call a method, if there is one.
fn unsuitable(body: &Engine, offload: usize, method: usize) -> Option<String> {
    let called = &body.offloads[offload];
    let config = match &called.target {
        OffloadTarget::Engine(_) => {
            return Some(format!("`{}` is an engine: a pipeline calls memories only", called.name));
        }
        OffloadTarget::Kind(config) => config,
    };
    let kind = registry::kind(&config.kind).expect("verified programs use kinds of the registry");
    let name = kind.methods[method].name;
    if kinds::in_pipeline(kind.name, name) {
        return None;
    }
    let call = format!("`{}.{name}`", called.name);
    Some(match kind.methods[method].delay {
        Delay::Variable => {
            format!("{call} takes a varying time: a pipeline needs constant delays")
        }
        Delay::Constant => format!("{call} is no read of a memory: a pipeline only reads"),
    })
}

fn jump_loc(step: &Step) -> Loc {
    let mut found = step.loc;
    step.for_each_op(|op| {
        if matches!(op.kind, OpKind::Exit(Exit::Next(_) | Exit::Emit(..))) && op.loc.line > 0 {
            found = op.loc;
        }
    });
    found
}

/// Returns the steps that are reachable from the first one. Each follows all steps that jump to it.
pub(super) fn topological(engine: &Engine) -> Vec<usize> {
    fn visit(engine: &Engine, step: usize, seen: &mut [bool], done: &mut Vec<usize>) {
        if std::mem::replace(&mut seen[step], true) {
            return;
        }
        // Steps that come later in the source are visited first, so that the reversed order is the
        // order of the source where possible.
        let mut next = successors(&engine.steps[step]);
        next.sort_unstable_by(|a, b| b.cmp(a));
        next.into_iter().for_each(|next| visit(engine, next, seen, done));
        done.push(step);
    }
    let mut done = Vec::new();
    visit(engine, 0, &mut vec![false; engine.steps.len()], &mut done);
    done.reverse();
    done
}

//! An engine that takes packets as a straight pipeline, with a throughput of up to one packet per
//! cycle.
//!
//! Gorilla (section 3.3): the steps form a chain. A packet passes through all of them with its
//! header window, its state and its current step. A step changes the packets that are at it and
//! passes the others on unchanged. If a step calls offloads, the packet waits in a queue, in order,
//! for its replies. No step waits for a later one: each queue has room for all packets that the
//! entrance admits (`hardware/engine/wl_pipeline_*`).
//!
//! - [`check`] decides whether an engine can be built this way, and the order of its steps;
//! - `logic` makes the modules of a step; `assemble` inserts them into the templates and chains the
//!   templates.

mod assemble;
pub mod check;
mod logic;

use wireloom_ir::{EngineId, Program};

use crate::core::offload::BodyChanges;
use crate::core::{Core, Options, Refusal};
use crate::engine::{ChainedStep, EngineModule};
use logic::Frame;

/// Builds an engine, whose steps are in regions, as a pipeline: the module `NAME_engine`, which
/// receives and sends beats of headers.
///
/// The ports, after clock and reset, are `header_*`, `beat_*` and the offloads' ports as in
/// [`EngineModule`]. A request's thread is the number of the call site, and replies must arrive in
/// the order of the requests.
///
/// # Errors
/// If the engine cannot be a pipeline.
pub fn build(
    program: &Program,
    engine: EngineId,
    options: &Options,
) -> Result<EngineModule, Refusal> {
    let order = check::order(program, engine)?;
    let frame = Frame::new(program, engine, options);
    let steps = frame.logic(&order, options)?;
    let pushed: u64 = steps.iter().map(|step| step.pushed).sum();
    let Some(headroom) = assemble::headroom(pushed) else {
        let step = steps.iter().max_by_key(|step| step.pushed).expect("an engine has steps");
        let body = &frame.engine.steps[step.step];
        let reason = format!(
            "all steps together may push up to {pushed} bytes, as far as the compiler can tell: \
             the header windows of a pipeline have room for 128 bytes before the packet"
        );
        return Err(Refusal::at(program, frame.engine, body, body.loc, reason));
    };
    let top = assemble::module(&frame, &steps, headroom);
    let name = top.name.clone();
    let mut modules = Vec::new();
    for step in &steps {
        modules.extend(step.address.clone());
        modules.extend(step.request.clone());
        modules.push(step.edit.clone());
    }
    modules.push(top);
    let bodies = BodyChanges::of(frame.engine).map_err(|(step, reason)| {
        let step = &frame.engine.steps[step];
        Refusal::at(program, frame.engine, step, step.loc, reason)
    })?;
    let core = Core {
        name: frame.name.clone(),
        bodies,
        emits: false,
        pieces: false,
        clears: steps.iter().any(|step| step.clears),
        read_ports: steps.iter().map(|step| step.reads).max().unwrap_or(0).max(1),
        write_ports: steps.iter().map(|step| step.writes).max().unwrap_or(0).max(1),
        core_stages: steps.iter().map(|step| step.stages.0 + step.stages.1).sum(),
        depth: (steps.iter().map(|step| step.depth).max().unwrap_or(0), 0),
        steps: frame.engine.steps.iter().map(|step| step.name.clone()).collect(),
        modules: modules.clone(),
        ports: frame.ports.clone(),
        layout: frame.layout.clone(),
    };
    let chain = steps.iter().map(|step| ChainedStep {
        prefix: frame.steps[step.step].clone(),
        step: step.step,
        request_stages: step.stages.0,
        calls: step.calls.iter().map(|call| call.port).collect(),
    });
    Ok(EngineModule { name, modules, core, chain: chain.collect() })
}

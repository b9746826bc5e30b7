//! Plans the execution of a packet engine's steps: which of them wait on a list, and which calls
//! keep packets in order.

use std::collections::BTreeSet;

use wireloom_codegen::steps::next_step;
use wireloom_compile::analysis::order;
use wireloom_ir::{Block, Code, Engine, EngineId, OpKind, Program, Step};

use super::calls::split_phase;

/// Returns the regions of a step, if it is in the form of regions.
pub fn regions(step: &Step) -> Option<[&Block; 3]> {
    match &step.code {
        Code::Regions { request, edit, jump } => Some([request, edit, jump]),
        Code::Sequential(_) => None,
    }
}

/// Returns the successors of a step, including jumps back to it or an earlier one.
pub fn successors(step: &Step) -> impl Iterator<Item = usize> {
    step.ops().filter_map(next_step)
}

/// The properties of a step that the generator needs before it writes any step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepPlan {
    /// Whether threads wait here: the step has calls worth a prefetch, has calls that must keep the
    /// order of arrival, begins a loop, or follows a long chain of steps that do not wait. Any
    /// other step executes as part of the step that jumps to it.
    pub waits: bool,
    /// The order-sensitive offloads that the step calls, one bit each.
    pub ordered: u64,
    /// The offloads that a thread waiting here may still call, in this step or a later one.
    pub reach: u64,
}

/// Returns the plan of an engine's steps.
///
/// Order-sensitive offloads (see [`order`]) must see the calls of packets in order of arrival. A
/// thread may execute a step that calls some of them only when no earlier thread can still reach a
/// call of any of them. Offloads beyond the 63rd share a bit.
pub fn plan(program: &Program, id: EngineId) -> Vec<StepPlan> {
    let engine = &program.engines[id.index()];
    let mut sensitive = vec![0; engine.offloads.len()];
    for offload in order::sensitive(program, id) {
        sensitive[offload.index()] = 1 << offload.index().min(63);
    }
    let calls = engine.steps.iter().flat_map(Step::ops);
    let prefetches =
        calls.filter(|op| split_phase(engine, &op.kind).is_some()).count() <= MOST_PREFETCHED;
    let mut plans: Vec<StepPlan> = engine
        .steps
        .iter()
        .map(|step| {
            let mut plan = StepPlan::default();
            for op in step.ops() {
                if let OpKind::Call { offload, .. } = &op.kind {
                    plan.ordered |= sensitive[offload.index()];
                    plan.waits |= prefetches && split_phase(engine, &op.kind).is_some();
                }
            }
            plan.waits |= plan.ordered != 0;
            plan.reach = plan.ordered;
            plan
        })
        .collect();
    for (from, step) in engine.steps.iter().enumerate() {
        for to in successors(step).filter(|&to| to <= from) {
            plans[to].waits = true;
        }
    }
    break_chains(engine, &mut plans);
    let mut predecessors = vec![Vec::new(); plans.len()];
    for (from, step) in engine.steps.iter().enumerate() {
        successors(step).for_each(|to| predecessors[to].push(from));
    }
    // Visit the last step first, since most jumps lead forward.
    let mut open: BTreeSet<usize> = (0..plans.len()).collect();
    while let Some(step) = open.pop_last() {
        let reach = plans[step].reach;
        for &from in &predecessors[step] {
            if plans[from].reach | reach != plans[from].reach {
                plans[from].reach |= reach;
                open.insert(from);
            }
        }
    }
    plans
}

/// The most calls of an engine whose memory is fetched while other packets are executed. Each call
/// needs functions and lists. Engines with more calls are compiled without optimisation, and their
/// calls wait for memory.
const MOST_PREFETCHED: usize = 256;

/// The longest chain of steps that do not wait. Each step is a call from the previous one, on the
/// thread's stack if the C compiler does not optimise.
const LONGEST_CHAIN: u32 = 64;

/// Makes threads wait within long chains of steps that do not wait.
fn break_chains(engine: &Engine, plans: &mut [StepPlan]) {
    let mut before = vec![0; plans.len()];
    for (from, step) in engine.steps.iter().enumerate() {
        if before[from] >= LONGEST_CHAIN {
            plans[from].waits = true;
        }
        let length = if plans[from].waits { 0 } else { before[from] };
        for to in successors(step).filter(|to| *to > from) {
            before[to] = before[to].max(length + 1);
        }
    }
}

//! Checks that a step with regions calls no offload twice, whatever the packet (docs/ir.md).

use wireloom_ir::{Moment, Observer, OffloadId, OpKind, Program};

/// An observer that records the calls of each step.
pub struct Calls<'a> {
    program: &'a Program,
    /// For each engine, step and operation, the offload that the operation calls, if any.
    called: Vec<Vec<Vec<Option<OffloadId>>>>,
    /// The offloads that the current step has called. One entry for the running thread, and one for
    /// each thread that waits for its callee.
    open: Vec<Vec<OffloadId>>,
    /// The first offload that a step called twice.
    pub twice: Option<String>,
}

impl<'a> Calls<'a> {
    pub fn new(program: &'a Program) -> Self {
        let of_step = |step: &wireloom_ir::Step| {
            let mut called = Vec::new();
            step.for_each_op(|op| {
                called.push(match op.kind {
                    OpKind::Call { offload, .. } => Some(offload),
                    _ => None,
                });
            });
            called
        };
        let called =
            program.engines.iter().map(|engine| engine.steps.iter().map(of_step).collect());
        Self { program, called: called.collect(), open: vec![Vec::new()], twice: None }
    }

    fn offload(&self, operation: u32, now: &Moment<'_>) -> Option<OffloadId> {
        self.called[now.engine.index()][now.step.index()][operation as usize]
    }
}

impl Observer for Calls<'_> {
    fn step(&mut self, _: &Moment<'_>) {
        self.open.last_mut().expect("the main thread").clear();
    }

    fn before(&mut self, operation: u32, now: &Moment<'_>) {
        let Some(offload) = self.offload(operation, now) else { return };
        let open = self.open.last_mut().expect("the main thread");
        if open.contains(&offload) {
            let engine = &self.program.engines[now.engine.index()];
            let step = &engine.steps[now.step.index()].name;
            let name = &engine.offloads[offload.index()].name;
            self.twice.get_or_insert(format!("step `{step}` calls `{name}` twice"));
        }
        open.push(offload);
        self.open.push(Vec::new());
    }

    fn after(&mut self, operation: u32, now: &Moment<'_>) {
        if self.offload(operation, now).is_some() {
            self.open.pop();
        }
    }
}

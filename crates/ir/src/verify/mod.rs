//! The verifier: the rules that every pass may rely on and must preserve. docs/ir.md lists them.

mod offload;
mod paths;
mod scope;
mod step;
#[cfg(test)]
mod tests;

use std::fmt;

use wireloom_bits::MAX_WIDTH;

use self::step::MOST_ELEMENTS;
use crate::{Engine, EngineKind, Loc, OffloadTarget, Op, Program, Step, print_op};

/// A violated rule and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub engine: String,
    pub step: Option<String>,
    /// The operation as printed.
    pub op: Option<String>,
    /// The position of the operation or step; unknown if the problem concerns neither.
    pub loc: Loc,
    /// The message: a sentence without a full stop.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "engine {}", self.engine)?;
        if let Some(step) = &self.step {
            write!(f, ", step {step}")?;
        }
        if let Some(op) = &self.op {
            write!(f, ", `{op}`")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// Checks every rule of the step IR.
///
/// # Errors
/// Returns all violations in program order.
pub fn verify(program: &Program) -> Result<(), Vec<Problem>> {
    let mut problems = Vec::new();
    for (index, engine) in program.engines.iter().enumerate() {
        Checker { program, engine, index, problems: &mut problems }.engine();
    }
    match program.engines.get(program.main.index()) {
        Some(engine) if engine.kind == EngineKind::Packet => {}
        main => problems.push(Problem {
            engine: main.map_or_else(|| format!("#{}", program.main.0), |e| e.name.clone()),
            step: None,
            op: None,
            loc: Loc::default(),
            message: "the main engine must be one that takes packets".to_owned(),
        }),
    }
    if problems.is_empty() { Ok(()) } else { Err(problems) }
}

struct Checker<'a> {
    program: &'a Program,
    engine: &'a Engine,
    index: usize,
    problems: &'a mut Vec<Problem>,
}

impl Checker<'_> {
    fn problem(&mut self, message: impl Into<String>) {
        self.problems.push(Problem {
            engine: self.engine.name.clone(),
            step: None,
            op: None,
            loc: Loc::default(),
            message: message.into(),
        });
    }

    fn step_problem(&mut self, step: &Step, message: impl Into<String>) {
        self.problems.push(Problem {
            engine: self.engine.name.clone(),
            step: Some(step.name.clone()),
            op: None,
            loc: step.loc,
            message: message.into(),
        });
    }

    fn op_problem(&mut self, step: &Step, op: &Op, message: impl Into<String>) {
        self.problems.push(Problem {
            engine: self.engine.name.clone(),
            step: Some(step.name.clone()),
            op: Some(print_op(self.program, self.engine, step, op)),
            loc: op.loc,
            message: message.into(),
        });
    }

    fn engine(&mut self) {
        let engine = self.engine;
        for var in &engine.context {
            if !is_width(var.width) {
                self.problem(format!(
                    "context variable {} has {} bits; it must have 1 to {MAX_WIDTH}",
                    var.name, var.width
                ));
            }
        }
        for array in &engine.arrays {
            if !is_width(array.width) {
                self.problem(format!(
                    "the elements of context array {} have {} bits; they must have 1 to {MAX_WIDTH}",
                    array.name, array.width
                ));
            }
            if !(1..=MOST_ELEMENTS).contains(&(array.count as usize)) {
                self.problem(format!(
                    "context array {} has {} elements; it must have 1 to {MOST_ELEMENTS}",
                    array.name, array.count
                ));
            }
        }
        if let EngineKind::Call { params, reply } = &engine.kind {
            if !is_width(*reply) {
                self.problem(format!("the reply has {reply} bits; it must have 1 to {MAX_WIDTH}"));
            }
            for (i, param) in params.iter().enumerate() {
                if param.index() >= engine.context.len() {
                    self.problem(format!(
                        "parameter {i} is context variable #{}, which does not exist",
                        param.0
                    ));
                } else if params[..i].contains(param) {
                    self.problem(format!("two parameters are context variable #{}", param.0));
                }
            }
        }
        for offload in &engine.offloads {
            match &offload.target {
                OffloadTarget::Kind(config) => self.config(&offload.name, config),
                OffloadTarget::Engine(id) if id.index() >= self.index => self.problem(format!(
                    "offload {} is engine #{}, which does not precede this one",
                    offload.name, id.0
                )),
                OffloadTarget::Engine(id) => {
                    if self.program.engines[id.index()].kind == EngineKind::Packet {
                        self.problem(format!(
                            "offload {} is an engine that takes packets",
                            offload.name
                        ));
                    }
                }
            }
        }
        if engine.steps.is_empty() {
            self.problem("the engine has no step");
        }
        for step in &engine.steps {
            self.step(step);
        }
    }
}

fn is_width(width: u32) -> bool {
    (1..=MAX_WIDTH).contains(&width)
}

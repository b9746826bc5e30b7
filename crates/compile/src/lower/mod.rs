//! Lowering from the checked program to sequential step IR.
//!
//! Functions are inlined and loops unrolled. Aggregates are split into their leaves ([`leaves`])
//! or, if they are long and indexed at run time, into context arrays ([`arrays`]). Variables become
//! SSA values. A context variable is read once, at the step's beginning, and written where control
//! leaves the step for another one. `if`, `switch`, `&&`, `||` and `?:` become structured `if`s.
//! Code after a statement that may leave (end the step, return, break) moves into the arm that
//! stays. If leaving is decided deeper inside, the code moves under an `if` on a flag
//! ([`state::Flow`]). So no effect follows an exit on the same path.

mod arrays;
mod builder;
mod expr;
mod leaves;
mod merge;
mod place;
mod state;
mod stmt;
mod tidy;
mod whole;

use std::collections::HashMap;
use std::rc::Rc;

use wireloom_ir as ir;
use wireloom_ir::{Code, Loc, OpKind, Value};
use wireloom_lang::hir;
use wireloom_lang::source::Span;

use arrays::Arrays;
use builder::Builder;
use state::{Flow, State};

/// Lowers a checked program: every engine, in the same order.
pub fn lower(program: &hir::Program) -> ir::Program {
    crate::deep::call(|| lower_program(program))
}

fn lower_program(program: &hir::Program) -> ir::Program {
    let mut reasons = Reasons { sets: Vec::new(), ids: HashMap::new() };
    let lines = Lines::new(program);
    let engines = program
        .engines
        .iter()
        .map(|engine| lower_engine(program, engine, &lines, &mut reasons))
        .collect();
    ir::Program {
        files: program.sources.files.iter().map(|f| f.path.display().to_string()).collect(),
        reasons: reasons.sets,
        engines,
        main: ir::EngineId(program.main.0),
    }
}

/// The reason sets that exits have used so far.
struct Reasons {
    sets: Vec<ir::ReasonSet>,
    ids: HashMap<hir::EnumId, ir::ReasonSetId>,
}

impl Reasons {
    fn of(&mut self, program: &hir::Program, id: hir::EnumId) -> ir::ReasonSetId {
        *self.ids.entry(id).or_insert_with(|| {
            let declared = &program.enums[id.index()];
            let members = declared
                .members
                .iter()
                .map(|(name, value)| (value.low_u64(), name.clone()))
                .collect();
            self.sets.push(ir::ReasonSet { name: declared.name.clone(), members });
            ir::ReasonSetId(self.sets.len() as u32 - 1)
        })
    }
}

/// The start of each line of each file. The line of a span is found without another pass over the
/// text.
pub(crate) struct Lines(Vec<Vec<u32>>);

impl Lines {
    pub(crate) fn new(program: &hir::Program) -> Self {
        let starts = |text: &str| {
            text.bytes().zip(1..).filter(|(b, _)| *b == b'\n').map(|(_, next)| next).collect()
        };
        Self(program.sources.files.iter().map(|f| starts(&f.text)).collect())
    }

    pub(crate) fn loc(&self, span: Span) -> Loc {
        let starts = &self.0[span.file.0 as usize];
        Loc {
            file: span.file.0,
            line: 1 + starts.partition_point(|&start| start <= span.start) as u32,
        }
    }
}

/// The context variables: one for each leaf of each variable.
struct Context {
    vars: Vec<ir::ContextVar>,
    /// The index of the first leaf of each context variable.
    first: HashMap<hir::VarId, usize>,
}

fn lower_context(program: &hir::Program, engine: &hir::TypedEngine, arrays: &Arrays) -> Context {
    let mut context = Context { vars: Vec::new(), first: HashMap::new() };
    for (i, var) in engine.vars.iter().enumerate() {
        let id = hir::VarId(i as u32);
        if var.kind != hir::VarKind::Context || arrays.hold(id) {
            continue;
        }
        context.first.insert(id, context.vars.len());
        let leaves = leaves::of(program, &var.ty).into_iter();
        context.vars.extend(
            leaves
                .map(|(suffix, width)| ir::ContextVar { name: var.name.clone() + &suffix, width }),
        );
    }
    context
}

fn lower_engine(
    program: &hir::Program,
    engine: &hir::TypedEngine,
    lines: &Lines,
    reasons: &mut Reasons,
) -> ir::Engine {
    let arrays = Arrays::of(program, engine);
    let context = lower_context(program, engine, &arrays);
    let kind = match &engine.kind {
        hir::EngineKind::Packet => ir::EngineKind::Packet,
        hir::EngineKind::Call { params, reply } => ir::EngineKind::Call {
            params: params
                .iter()
                .flat_map(|p| {
                    let first = context.first[p];
                    let count = leaves::count(program, &engine.vars[p.index()].ty);
                    (first..first + count).map(|i| ir::ContextId(i as u32))
                })
                .collect(),
            reply: program.width(reply),
        },
    };
    let offloads = engine
        .offloads
        .iter()
        .map(|offload| ir::Offload {
            name: offload.name.clone(),
            target: match &offload.target {
                hir::OffloadTarget::Kind(config) => ir::OffloadTarget::Kind(config.clone()),
                hir::OffloadTarget::Engine(id) => ir::OffloadTarget::Engine(ir::EngineId(id.0)),
            },
        })
        .collect();
    let steps = engine
        .steps
        .iter()
        .map(|step| {
            let mut lowering =
                StepLowering::new(program, engine, (&context, &arrays), lines, reasons);
            lowering.step(step);
            let (values, body) = lowering.b.finish();
            let (values, body) = tidy::tidy(values, body);
            ir::Step {
                name: step.name.clone(),
                loc: lines.loc(step.span),
                split: None,
                values,
                code: Code::Sequential(body),
            }
        })
        .collect();
    let (context, arrays) = (context.vars, arrays.all);
    ir::Engine { name: engine.name.clone(), kind, context, arrays, offloads, steps }
}

/// The lowering of one step.
struct StepLowering<'a> {
    program: &'a hir::Program,
    engine: &'a hir::TypedEngine,
    context: &'a Context,
    arrays: &'a Arrays,
    lines: &'a Lines,
    reasons: &'a mut Reasons,
    b: Builder,
    state: State,
    /// The value of each context variable at the beginning of the step.
    initial: Vec<Value>,
    /// The steps assigned to `Next_step` so far.
    assigned: Vec<hir::StepId>,
}

impl<'a> StepLowering<'a> {
    fn new(
        program: &'a hir::Program,
        engine: &'a hir::TypedEngine,
        (context, arrays): (&'a Context, &'a Arrays),
        lines: &'a Lines,
        reasons: &'a mut Reasons,
    ) -> Self {
        let state = State {
            vars: vec![None; engine.vars.len()],
            result: Rc::new([]),
            next: None,
            flow: Flow::STRAIGHT,
        };
        Self {
            program,
            engine,
            context,
            arrays,
            lines,
            reasons,
            b: Builder::new(),
            state,
            initial: Vec::new(),
            assigned: Vec::new(),
        }
    }

    /// Reads the whole context. Unused reads are removed later.
    fn read_context(&mut self) {
        for (i, var) in self.context.vars.iter().enumerate() {
            let value = self.b.value(var.width, OpKind::ReadContext(ir::ContextId(i as u32)));
            self.b.name(value, &var.name);
            self.initial.push(value);
        }
        for (&var, &first) in &self.context.first {
            let count = leaves::count(self.program, &self.engine.vars[var.index()].ty);
            self.state.vars[var.index()] = Some(self.initial[first..first + count].into());
        }
    }

    /// Writes back the context variables that have changed.
    fn write_context(&mut self) {
        let mut first: Vec<(usize, hir::VarId)> =
            self.context.first.iter().map(|(v, f)| (*f, *v)).collect();
        first.sort_unstable();
        for (first, var) in first {
            let values =
                self.state.vars[var.index()].clone().expect("the context always has a value");
            for (i, &value) in values.iter().enumerate() {
                if value != self.initial[first + i] {
                    self.b.effect(OpKind::WriteContext(ir::ContextId((first + i) as u32), value));
                }
            }
        }
    }
}

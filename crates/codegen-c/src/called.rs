//! A called engine: one C function, which runs to its end for each call, with a separate context.

use wireloom_compile::analysis::Definitions;
use wireloom_ir::{ContextArray, ContextVar, Engine, EngineKind, Exit, Op, OpKind, Program};

use super::call::Surroundings;
use super::calls;
use super::emitter::{Effects, Emitter, Scope};
use super::names::Names;
use super::tree::{
    self, Aggregate, Binary, Declaration, Expr, Field, Item, Signature, Stmt, Type, jumps_to, uses,
};
use super::types::{Class, Model};
use super::{effects, exits};

/// A called engine.
pub struct Called<'a> {
    pub program: &'a Program,
    pub engine: &'a Engine,
    /// The name of the C function.
    pub function: String,
    /// The first slot of each offload, relative to the engine's first slot.
    pub slot_index: Vec<usize>,
    /// The C function of each offload that is an engine.
    pub functions: Vec<Option<String>>,
    /// Whether calls of its offloads are counted.
    pub counts: bool,
}

/// The variable that counts jumps back.
const BACKWARD: &str = "backward";

impl Called<'_> {
    /// Writes the function.
    pub fn items(&self) -> Vec<Item> {
        let EngineKind::Call { params, reply } = &self.engine.kind else {
            unreachable!("only engines that are called become functions");
        };
        let mut names = Names::default();
        let fields: Vec<String> =
            self.engine.context.iter().map(|var| names.give(&var.name)).collect();
        let arrays: Vec<String> =
            self.engine.arrays.iter().map(|array| names.give(&array.name)).collect();
        let context = Expr::name("context");
        let variables: Vec<Expr> = fields.iter().map(|name| context.clone().member(name)).collect();
        let elements: Vec<Expr> = arrays.iter().map(|name| context.clone().member(name)).collect();
        let steps: Vec<Vec<Stmt>> = (0..self.engine.steps.len())
            .map(|step| self.step(step, &variables, &elements))
            .collect();

        let mut body = Vec::new();
        if !fields.is_empty() || !arrays.is_empty() {
            let variables = self.engine.context.iter().zip(&fields);
            let variables = variables.map(|(variable, name)| variable_field(variable, name));
            let all = variables.chain(array_fields(self.engine, &arrays)).collect();
            let aggregate = Aggregate { is_union: false, tag: None, fields: all };
            let size = Expr::SizeOf(Box::new(context.clone()));
            body.push(Stmt::DeclareStruct(aggregate, "context".into()));
            body.push(Stmt::call("memset", [context.address(), Expr::number(0), size]));
        }
        let all: Vec<Stmt> = steps.iter().flatten().cloned().collect();
        if uses(&all, BACKWARD) {
            body.push(Declaration::new("uint32_t", BACKWARD).with(Expr::number(0)).into());
        }
        let unused = ["slots", "env"].into_iter().filter(|name| !uses(&all, name));
        body.extend(unused.map(|name| Expr::name(name).unused()));
        let argument = |param: usize| format!("arg_{}", fields[param]);
        for param in params.iter().map(|param| param.index()) {
            body.push(Stmt::Assign(variables[param].clone(), Expr::name(argument(param))));
        }
        for (index, (step, statements)) in self.engine.steps.iter().zip(steps).enumerate() {
            body.push(Stmt::Comment(format!("Step `{}`.", step.name)));
            body.extend(jumps_to(&all, &label(index)).then(|| Stmt::Label(label(index))));
            body.push(Stmt::Block(statements));
        }

        let pointer = |tag: &str| Type::structure(tag).constant().pointer();
        let mut parameters =
            vec![(pointer("wl_slot"), "slots".to_owned()), (pointer("wl_env"), "env".to_owned())];
        parameters.extend(params.iter().map(|param| {
            let width = self.engine.context[param.index()].width;
            (Model::Bits64.c_type(width), argument(param.index()))
        }));
        let signature = Signature {
            storage: "WL_FUNCTION",
            returns: Model::Bits64.c_type(*reply),
            name: self.function.clone(),
            parameters,
        };
        let comment = Item::Comment(format!("Engine `{}`: one call.", self.engine.name));
        vec![comment, Item::Function(signature, body), Item::Blank]
    }

    fn step(&self, index: usize, context: &[Expr], arrays: &[Expr]) -> Vec<Stmt> {
        let step = &self.engine.steps[index];
        let ops = exits::arrange(&step.ops().collect::<Vec<_>>(), &Definitions::of(step));
        let scope = Scope {
            program: self.program,
            engine: self.engine,
            step,
            context,
            arrays,
            packet: Expr::name("NULL"),
            window: Expr::name("NULL"),
            model: Model::Bits64,
            proves_indices: false,
        };
        let mut emitter = Emitter::new(scope, ops.iter().collect(), &[]);
        emitter.run(&mut CallEffects { called: self, from: index });
        let mut statements = emitter.finish();
        if !tree::leaves(&statements) {
            statements.push(self.zero());
        }
        statements
    }

    fn reply_class(&self) -> Class {
        match &self.engine.kind {
            EngineKind::Call { reply, .. } => Model::Bits64.class(*reply),
            EngineKind::Packet => unreachable!("only engines that are called become functions"),
        }
    }

    /// Returns the statement that ends a stopped thread: its reply is zero.
    fn zero(&self) -> Stmt {
        Stmt::Return(self.reply_class().zero_value())
    }
}

/// Returns the field of a context variable, by its C name.
pub fn variable_field(variable: &ContextVar, name: &str) -> Field {
    let ty = Model::Bits64.c_type(variable.width);
    Declaration::new(ty, name).commented(format!("u{}", variable.width)).into()
}

/// Returns the fields of an engine's context arrays, by their C names. Each array has a zero after
/// its last element, which out-of-range indices read.
pub fn array_fields(engine: &Engine, names: &[String]) -> Vec<Field> {
    let field = |(array, name): (&ContextArray, &String)| {
        let ty = Model::Bits64.c_type(array.width);
        let size = Expr::number(array.count + 1);
        let comment = format!("u{}, and a zero", array.width);
        Declaration::new(ty, name).sized([size]).commented(comment).into()
    };
    engine.arrays.iter().zip(names).map(field).collect()
}

fn label(step: usize) -> String {
    format!("step_{step}")
}

struct CallEffects<'a> {
    called: &'a Called<'a>,
    from: usize,
}

impl Effects for CallEffects<'_> {
    fn effect(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&Expr>) -> Vec<Stmt> {
        if let Some(edit) = effects::edit(emitter, op, result) {
            return vec![edit];
        }
        match &op.kind {
            OpKind::Call { .. } => {
                let around = Surroundings {
                    slot_index: &self.called.slot_index,
                    functions: &self.called.functions,
                    packet: None,
                    counts: self.called.counts,
                };
                calls::call(&around, emitter, op, result, None)
            }
            OpKind::Exit(Exit::Reply(value)) => vec![Stmt::Return(emitter.operand(*value).c)],
            OpKind::Exit(Exit::Next(to)) => {
                let mut statements = Vec::new();
                if to.index() <= self.from {
                    statements.push(Stmt::If(
                        last_jump_back(Expr::name(BACKWARD)),
                        vec![self.called.zero()],
                    ));
                }
                statements.push(Stmt::Goto(label(to.index())));
                statements
            }
            _ => vec![self.called.zero()],
        }
    }
}

/// Counts a jump back, and tests whether the thread has already made the maximum number.
pub fn last_jump_back(count: Expr) -> Expr {
    count.increment().binary(Binary::Equal, Expr::name("WL_MAX_BACKWARD_JUMPS"))
}

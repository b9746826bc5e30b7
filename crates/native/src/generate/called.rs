//! An engine that is called: one C function, run to its end for each call, with a context of its own.

use wireloom_ir::{Engine, EngineKind, Exit, Op, OpKind, Program};

use super::calls::{self, Surroundings};
use super::emitter::{Effects, Emitter, Scope};
use super::names::Names;
use super::types::{Class, Model};
use super::writer::{Writer, mentions};
use super::{effects, exits, plan};

/// An engine that is called.
pub struct Called<'a> {
    /// The program.
    pub program: &'a Program,
    /// The engine.
    pub engine: &'a Engine,
    /// The function's name.
    pub function: String,
    /// For each offload: its first slot, from those of the engine.
    pub slot_index: Vec<usize>,
    /// For each offload that is an engine: its function.
    pub functions: Vec<Option<String>>,
}

impl Called<'_> {
    /// Writes the function.
    pub fn write(&self, out: &mut Writer) {
        let EngineKind::Call { params, reply } = &self.engine.kind else {
            unreachable!("only engines that are called become functions");
        };
        let mut fields = Names::default();
        let context: Vec<String> = self.engine.context.iter().map(|var| fields.give(&var.name)).collect();
        let mut parameters =
            vec!["const struct wl_slot *slots".to_owned(), "const struct wl_env *env".to_owned()];
        parameters.extend(params.iter().map(|p| {
            format!(
                "{} arg_{}",
                Model::Bits64.c_type(self.engine.context[p.index()].width),
                context[p.index()]
            )
        }));
        let mut body = Vec::new();
        for param in params {
            body.push(format!("c->{} = arg_{};", context[param.index()], context[param.index()]));
        }
        let steps: Vec<Vec<String>> =
            (0..self.engine.steps.len()).map(|step| self.step(step, &context)).collect();
        for (index, lines) in steps.iter().enumerate() {
            let step = &self.engine.steps[index];
            let label = label(index);
            body.push(format!("/* Step `{}`. */", step.name.replace("*/", "* /")));
            if steps.iter().flatten().any(|line| mentions(line, &label)) {
                body.push(format!("{label}:;"));
            }
            body.push("{".into());
            body.extend(lines.iter().map(|line| format!("    {line}")));
            body.push("}".into());
        }

        out.comment(&format!("Engine `{}`: one call.", self.engine.name));
        out.line(format!(
            "WL_FUNCTION {} {}({})",
            Model::Bits64.c_type(*reply),
            self.function,
            parameters.join(", ")
        ));
        out.line("{");
        if !self.engine.context.is_empty() {
            out.line("    struct {");
            for (var, name) in self.engine.context.iter().zip(&context) {
                out.line(format!("        {} {name}; /* u{} */", Model::Bits64.c_type(var.width), var.width));
            }
            out.line("    } context, *const c = &context;");
            out.line("    memset(&context, 0, sizeof context);");
        }
        if body.iter().any(|line| mentions(line, "backward")) {
            out.line("    uint32_t backward = 0;");
        }
        for unused in ["slots", "env"] {
            if !body.iter().any(|line| mentions(line, unused)) {
                out.line(format!("    (void){unused};"));
            }
        }
        body.iter().for_each(|line| out.line(format!("    {line}")));
        out.line("}");
        out.blank();
    }

    fn step(&self, index: usize, context: &[String]) -> Vec<String> {
        let step = &self.engine.steps[index];
        let texts: Vec<String> = context.iter().map(|name| format!("c->{name}")).collect();
        let ops = exits::arrange(&plan::ops(step).collect::<Vec<_>>());
        let scope = Scope {
            program: self.program,
            engine: self.engine,
            step,
            context: &texts,
            packet: "NULL",
            model: Model::Bits64,
        };
        let mut emitter = Emitter::new(scope, ops.iter().collect(), &[]);
        emitter.run(&mut CallEffects { called: self, from: index });
        let mut lines = emitter.finish();
        if !lines.last().is_some_and(|line| line.starts_with("return ") || line.starts_with("goto ")) {
            lines.push(self.zero());
        }
        lines
    }

    fn reply_class(&self) -> Class {
        match &self.engine.kind {
            EngineKind::Call { reply, .. } => Model::Bits64.class(*reply),
            EngineKind::Packet => unreachable!("only engines that are called become functions"),
        }
    }

    /// What a runaway thread replies.
    fn zero(&self) -> String {
        let class = self.reply_class();
        match class {
            Class::Wide(_) => format!("return ({}){};", class.c_type(), class.zero()),
            _ => format!("return {};", class.zero()),
        }
    }
}

fn label(step: usize) -> String {
    format!("step_{step}")
}

struct CallEffects<'a> {
    called: &'a Called<'a>,
    from: usize,
}

impl Effects for CallEffects<'_> {
    fn effect(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&str>) -> Vec<String> {
        if let Some(lines) = effects::edit(emitter, op, result) {
            return lines;
        }
        match &op.kind {
            OpKind::Call { .. } => {
                let around = Surroundings {
                    slots: "slots",
                    slot_index: &self.called.slot_index,
                    functions: &self.called.functions,
                    env: "env",
                    packet: None,
                };
                calls::call(&around, emitter, op, result, None)
            }
            OpKind::Exit(Exit::Reply(value)) => vec![format!("return {};", emitter.text(*value).c)],
            OpKind::Exit(Exit::Next(to)) => {
                let mut lines = Vec::new();
                if to.index() <= self.from {
                    lines.push("if (backward++ == WL_MAX_BACKWARD_JUMPS)".into());
                    lines.push(format!("    {}", self.called.zero()));
                }
                lines.push(format!("goto {};", label(to.index())));
                lines
            }
            _ => vec![self.called.zero()],
        }
    }
}

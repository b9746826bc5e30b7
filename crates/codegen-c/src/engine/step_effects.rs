//! Writes the effects of a step as statements: calls, edits and exits.

use wireloom_compile::analysis::resources::{Resource, changes};
use wireloom_ir::{Copied, Exit, Meta, Op, OpKind, Value};

use super::super::emitter::{Effects, Emitter};
use super::super::tree::{Expr, Stmt};
use super::super::{calls, effects};
use super::{PacketEngine, machine, open, packet_to_end, set_aside};

/// The effects of the step `from`.
pub struct StepEffects<'a> {
    pub engine: &'a PacketEngine<'a>,
    pub from: usize,
}

impl Effects for StepEffects<'_> {
    fn effect(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&Expr>) -> Vec<Stmt> {
        let again = self.opens_again(op).then(|| Stmt::Assign(Expr::name("w"), open()));
        if let Some(edit) = effects::edit(emitter, op, result) {
            return std::iter::once(edit).chain(again).collect();
        }
        match &op.kind {
            OpKind::Call { .. } => {
                let engine = self.engine;
                let all: Vec<&Op> = engine.engine.steps[self.from].ops().collect();
                let walk = engine.splits[self.from]
                    .walk(&all, op)
                    .map(|name| engine.kept(self.from, name));
                let around = engine.surroundings();
                let begin = engine.begun(self.from, op, walk.as_ref()).and_then(|begun| {
                    let begin = calls::advance(&around, emitter, op, 0, walk.as_ref()?)?;
                    Some(Stmt::If(begun.not(), vec![begin]))
                });
                let call = calls::call(&around, emitter, op, result, walk);
                begin.into_iter().chain(call).chain(again).collect()
            }
            OpKind::Exit(exit) => self.exit(emitter, exit),
            _ => unreachable!("edits are written"),
        }
    }
}

impl StepEffects<'_> {
    /// Returns whether an operation moves the window, and a later operation of the step reads or
    /// writes the window.
    fn opens_again(&self, op: &Op) -> bool {
        let moves = changes(self.engine.engine, &op.kind)
            .iter()
            .any(|changed| changed.covers(Resource::Meta(Meta::Window)));
        let is_field =
            |op: &Op| matches!(op.kind, OpKind::ReadPacket { .. } | OpKind::WritePacket { .. });
        let ops = self.engine.engine.steps[self.from].ops();
        let later = ops.skip_while(|own| own.results != op.results || own.kind != op.kind);
        moves && later.skip(1).any(is_field)
    }

    fn exit(&self, emitter: &mut Emitter<'_>, exit: &Exit) -> Vec<Stmt> {
        let mut aside = |verdict: &str, reasons: u32, reason: Value| {
            let arguments = set_aside(verdict, reasons, emitter.operand(reason).c);
            vec![Stmt::call("wl_end_aside", arguments), self.engine.end()]
        };
        match exit {
            Exit::Next(to) => self.engine.jump(self.from, *to),
            Exit::Emit(to, copied) => {
                let mut arguments = vec![machine().address()];
                arguments.extend(packet_to_end());
                let mut function = "wl_emit";
                if *copied != Copied::default() {
                    function = "wl_emit_bytes";
                    arguments.extend(match copied.bytes {
                        None => [Expr::number(0), Expr::name("WL_ALL_BYTES")],
                        Some((offset, count)) => {
                            [offset, count].map(|value| emitter.operand(value).c)
                        }
                    });
                    let port = emitter.scope.packet.clone().arrow("egress");
                    arguments.extend(match copied.cpu {
                        None => [Expr::name("WL_SENT"), Expr::number(0), port],
                        Some((reason, set)) => {
                            let reason = emitter.operand(reason).c;
                            [Expr::name("WL_TO_CPU"), Expr::number(set.0), reason]
                        }
                    });
                }
                let mut statements = vec![Stmt::call(function, arguments)];
                statements.extend(self.engine.jump(self.from, *to));
                statements
            }
            Exit::Finish => vec![Stmt::call("wl_end_sent", packet_to_end()), self.engine.end()],
            Exit::Drop(reason, set) => aside("WL_DROPPED", set.0, *reason),
            Exit::ToCpu(reason, set) => aside("WL_TO_CPU", set.0, *reason),
            Exit::Done | Exit::Reply(_) => vec![self.engine.end()],
        }
    }
}

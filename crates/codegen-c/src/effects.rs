//! Effects that every engine writes in the same way: edits of the context and of the packet.

use wireloom_ir::{Op, OpKind};

use super::emitter::Emitter;
use super::ops;
use super::tree::{Binary, Expr, Stmt};

/// Writes an edit. Returns nothing for calls and exits, which depend on the engine.
pub fn edit(emitter: &mut Emitter<'_>, op: &Op, result: Option<&Expr>) -> Option<Stmt> {
    let packet = emitter.scope.packet.clone();
    Some(match &op.kind {
        OpKind::WriteContext(id, value) => {
            let value = emitter.operand(*value);
            Stmt::Assign(emitter.scope.context[id.index()].clone(), value.c)
        }
        OpKind::WriteElement { array, index, value } => {
            let (index, value) = (emitter.kept_operand(*index), emitter.operand(*value));
            let elements = emitter.scope.arrays[array.index()].clone();
            let count = u64::from(emitter.scope.engine.arrays[array.index()].count);
            match index.constant {
                Some(constant) if constant < count => {
                    Stmt::Assign(elements.index(index.c), value.c)
                }
                _ => {
                    let at = emitter.proved_index(index.c.clone(), count);
                    let write = Stmt::Assign(elements.index(at), value.c);
                    let count = Expr::number(format!("{count}u"));
                    Stmt::If(index.c.binary(Binary::Less, count), vec![write])
                }
            }
        }
        OpKind::WritePacket { base, bit, value } => {
            let value = emitter.kept_operand(*value);
            let place = emitter.place(*base, *bit);
            ops::write_packet(&place, &value)
        }
        OpKind::WriteMeta(_, value) => {
            Stmt::Assign(packet.arrow("egress"), emitter.operand(*value).c)
        }
        OpKind::Insert { offset, count } => {
            let (offset, count) = (emitter.operand(*offset), emitter.operand(*count));
            Stmt::set(result, Expr::call("wl_insert", [packet, offset.c, count.c]))
        }
        OpKind::Remove { offset, count } => {
            let (offset, count) = (emitter.operand(*offset), emitter.operand(*count));
            Stmt::set(result, Expr::call("wl_remove", [packet, offset.c, count.c]))
        }
        OpKind::Reset { count } => {
            let count = emitter.operand(*count);
            Stmt::set(result, Expr::call("wl_reset", [packet, count.c]))
        }
        _ => return None,
    })
}

//! Effects that are written alike in every engine: edits of the context and of the packet.

use wireloom_ir::{Op, OpKind};

use super::emitter::Emitter;
use super::ops;

/// Writes an edit; `None` for calls and exits, which depend on the engine.
pub fn edit(emitter: &mut Emitter<'_>, op: &Op, result: Option<&str>) -> Option<Vec<String>> {
    let packet = emitter.scope.packet.to_owned();
    let assign = result.map_or(String::new(), |r| format!("{r} = "));
    Some(vec![match &op.kind {
        OpKind::WriteContext(id, value) => {
            let value = emitter.text(*value);
            format!("{} = {};", emitter.scope.context[id.index()], value.c)
        }
        OpKind::WritePacket { base, bit, value } => {
            let value = emitter.text_kept(*value);
            let at = emitter.byte_offset(*base, *bit);
            ops::write_packet(&packet, &at, bit % 8, &value)
        }
        OpKind::WriteMeta(_, value) => {
            let value = emitter.text(*value);
            format!("{packet}->egress = {};", value.c)
        }
        OpKind::Insert { offset, count } => {
            let (offset, count) = (emitter.text(*offset), emitter.text(*count));
            format!("{assign}wl_insert({packet}, {}, {});", offset.c, count.c)
        }
        OpKind::Remove { offset, count } => {
            let (offset, count) = (emitter.text(*offset), emitter.text(*count));
            format!("{assign}wl_remove({packet}, {}, {});", offset.c, count.c)
        }
        OpKind::Reset { count } => {
            let count = emitter.text(*count);
            format!("{assign}wl_reset({packet}, {});", count.c)
        }
        _ => return None,
    }])
}

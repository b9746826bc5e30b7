//! Calls of offloads, in the memory of the tile.

use wireloom_codegen::refused::Refused;
use wireloom_ir::{EngineKind, OffloadId, OffloadTarget, Value};
use wireloom_offloads::registry;

use super::kinds::kind::{Call, Unsupported, refusal};
use super::layout::Place;
use super::lower::Lower;
use super::words::{self, Words};

/// Writes a call; returns the reply.
///
/// # Errors
/// If tiles do not support the method, or if the owner of the offload's state cannot be asked.
pub fn call(
    lower: &mut Lower<'_>,
    offload: OffloadId,
    method: usize,
    args: &[Value],
    width: u32,
) -> Result<Option<Words>, Refused> {
    let instance = lower.instance;
    let called = &instance.engine.offloads[offload.index()];
    let (config, placed) = match (&called.target, &instance.offloads[offload.index()]) {
        (OffloadTarget::Engine(_), Place::Engine(number)) => {
            return Ok(Some(engine(lower, *number, args)));
        }
        (OffloadTarget::Kind(config), Place::Kind(placed)) => (config, placed),
        _ => unreachable!("the layout suits the program"),
    };
    if let Some(reply) = lower.ask(offload, method, args, width)? {
        return Ok(reply);
    }
    let kind = registry::kind(&config.kind).expect("a verified program");
    let method = &kind.methods[method];
    if method.writes_packet {
        lower.forget();
    }
    placed.call(lower, &Call { config, method, args, width }).map_err(|Unsupported| {
        let message = refusal(&called.name, Some(method.name), kind.name);
        lower.refuse(Some(&called.name), message)
    })
}

/// Calls an engine: its parameters are variables of its context.
fn engine(lower: &mut Lower<'_>, number: usize, args: &[Value]) -> Words {
    let layout = lower.layout;
    let called = &layout.instances[number];
    let EngineKind::Call { params, reply } = &called.engine.kind else {
        unreachable!("only called engines are called")
    };
    for (param, arg) in params.iter().zip(args) {
        let words = lower.get(*arg);
        lower.store(called.variables[param.index()], &words);
    }
    lower.code.call_engine(&called.label);
    lower.load(called.reply, words::count(*reply))
}

//! Finds the parts of a program that a BPF program cannot execute.

use std::collections::BTreeSet;

use wireloom_codegen::refused::Refused;
use wireloom_ir::{BinaryOp, Engine, Exit, OffloadTarget, Op, OpKind, Program, Step};
use wireloom_offloads::{Config, registry};

use super::super::emitter::proved_room;
use super::super::kinds;

/// The widest value in bits. Wide values are on the stack, which has 512 bytes for all active
/// functions together.
const WIDEST: u32 = 512;
/// The widest operands in bits of a multiplication or division: BPF has no instructions for more.
const WIDEST_PRODUCT: u32 = 64;
/// The largest context in bytes.
const LARGEST_CONTEXT: u64 = 16 << 10;

/// Returns the parts of a program that a BPF program cannot execute.
///
/// # Panics
/// If a step is not in the form of regions, or the program does not verify.
pub fn refusals(program: &Program) -> Vec<Refused> {
    let engine = &program.engines[program.main.index()];
    let mut refused: Vec<Refused> = Refused::ticks(program).err().into_iter().collect();
    let context: u64 = engine
        .arrays
        .iter()
        .map(|array| {
            u64::from(array.width.div_ceil(8).next_power_of_two()) * proved_room(array.count.into())
        })
        .sum();
    if context > LARGEST_CONTEXT {
        refused.push(Refused {
            step: None,
            offload: None,
            message: format!(
                "engine `{}`: the arrays of its context take {context} bytes; a thread in the \
                 kernel has {LARGEST_CONTEXT}: make them smaller",
                engine.name
            ),
        });
    }
    for step in &engine.steps {
        let mut reasons = BTreeSet::new();
        let mut wide: Vec<u32> = step.values.iter().map(|value| value.width).collect();
        wide.retain(|width| *width > WIDEST);
        if let Some(width) = wide.iter().max() {
            reasons.insert((
                None,
                format!(
                    "it has values of {width} bits, and the kernel's stack has room for values of \
                     {WIDEST}: use smaller ones"
                ),
            ));
        }
        reasons.extend(step.ops().filter_map(|op| refusal(engine, step, op)));
        refused.extend(reasons.into_iter().map(|(offload, why)| match offload {
            Some(offload) => Refused::offload(engine, step, &offload, &why),
            None => Refused::step(engine, step, &why),
        }));
    }
    refused
}

/// Returns the offload, if one is concerned, and the reason why an operation is refused.
fn refusal(engine: &Engine, step: &Step, op: &Op) -> Option<(Option<String>, String)> {
    let why = match &op.kind {
        OpKind::Exit(Exit::Emit(..)) => {
            "`emit` sends a copy, and an XDP program cannot copy frames: finish the packet instead"
                .to_owned()
        }
        OpKind::Binary(operator @ (BinaryOp::Mul | BinaryOp::Udiv | BinaryOp::Urem), a, _) => {
            let width = step.values[a.index()].width;
            if width <= WIDEST_PRODUCT {
                return None;
            }
            let what = if *operator == BinaryOp::Mul { "multiplies" } else { "divides" };
            format!(
                "it {what} values of {width} bits, and BPF has instructions for {WIDEST_PRODUCT}: \
                 use smaller ones"
            )
        }
        OpKind::Call { offload, method, .. } | OpKind::Evaluate { offload, method, .. } => {
            let offload = &engine.offloads[offload.index()];
            let why = match &offload.target {
                OffloadTarget::Engine(_) => {
                    "calls of engines are not supported in the kernel: make a function of it"
                        .to_owned()
                }
                OffloadTarget::Kind(config) => call_refusal(config, *method, &op.kind)?,
            };
            return Some((Some(offload.name.clone()), why));
        }
        _ => return None,
    };
    Some((None, why))
}

fn call_refusal(config: &Config, method: usize, op: &OpKind) -> Option<String> {
    let methods = registry::kind(&config.kind).expect("a verified program").methods;
    let (kind, method) = (kinds::in_kernel(config), &methods[method]);
    if matches!(op, OpKind::Evaluate { .. }) {
        return (!kind.evaluates)
            .then(|| format!("`{}` is not supported in the kernel", config.kind));
    }
    if (kind.calls)(method) {
        return (kind.refusal)(config, method);
    }
    let has_other_calls = methods.iter().any(kind.calls);
    let called = match has_other_calls {
        true => format!("{}.{}", config.kind, method.name),
        false => config.kind.clone(),
    };
    Some(format!("`{called}` is not supported in the kernel: use --on native"))
}

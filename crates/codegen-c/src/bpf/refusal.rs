//! Finds the parts of a program that a BPF program cannot execute.

use std::collections::BTreeSet;

use wireloom_ir::{BinaryOp, Engine, Exit, OffloadTarget, Op, OpKind, Program, Step};
use wireloom_offloads::{Config, Layout, registry};

use super::super::emitter::proved_room;
use super::super::plan;
use super::calls;

/// The widest value in bits. Wide values are on the stack, which has 512 bytes for all active
/// functions together.
const WIDEST: u32 = 512;
/// The widest operands in bits of a multiplication or division: BPF has no instructions for more.
const WIDEST_PRODUCT: u32 = 64;
/// The widest key of a prefix table in bits.
const WIDEST_PREFIX: u32 = 128;
/// The largest context in bytes.
const LARGEST_CONTEXT: u64 = 16 << 10;

/// A part of a program that a BPF program cannot execute.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    /// The step, if the reason concerns one.
    pub step: Option<String>,
    /// The offload, if the reason concerns one.
    pub offload: Option<String>,
    /// A sentence that names the engine, the step and the offload.
    pub message: String,
}

/// Returns the parts of a program that a BPF program cannot execute.
///
/// # Panics
/// If a step is not in the form of regions, or the program does not verify.
pub fn refusals(program: &Program) -> Vec<Refused> {
    let engine = &program.engines[program.main.index()];
    let mut refused = Vec::new();
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
        reasons.extend(plan::ops(step).filter_map(|op| refusal(engine, step, op)));
        refused.extend(
            reasons
                .into_iter()
                .map(|(offload, why)| super::refused(&engine.name, step, offload.as_deref(), &why)),
        );
    }
    refused
}

/// Returns the offload, if one is concerned, and the reason why an operation is refused.
fn refusal(engine: &Engine, step: &Step, op: &Op) -> Option<(Option<String>, String)> {
    let why = match &op.kind {
        OpKind::Exit(Exit::Emit(_)) => {
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
                    "calls of engines have no place in the kernel yet: make a function of it"
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
    let method = &registry::kind(&config.kind).expect("a verified program").methods[method];
    let width = |layout: &Option<Layout>| layout.as_ref().map_or(0, Layout::width);
    if matches!(op, OpKind::Evaluate { .. }) {
        let is_there = ["clock", "random"].contains(&config.kind.as_str());
        return (!is_there).then(|| format!("`{}` has no place in the kernel", config.kind));
    }
    if !calls::is_written(config, method) {
        return Some(format!(
            "`{}` has no place in the kernel: use --on native",
            match config.kind.as_str() {
                "array" | "lpm" | "counter" | "payload" =>
                    format!("{}.{}", config.kind, method.name),
                kind => kind.to_owned(),
            }
        ));
    }
    if config.kind == "lpm" && width(&config.key) > WIDEST_PREFIX {
        return Some(format!(
            "prefixes of {} bits: tables in the kernel have keys of at most {WIDEST_PREFIX}",
            width(&config.key)
        ));
    }
    if ["add", "fetch_add", "accumulate"].contains(&method.name) {
        let layout = config.value.as_ref()?;
        let mut top = layout.width();
        for (_, width) in &layout.fields {
            top -= width;
            if top / 64 != (top + width - 1) / 64 {
                return Some(format!(
                    "a field of {width} bits crosses a word of 64: additions in the kernel are to \
                     fields within a word"
                ));
            }
        }
    }
    None
}

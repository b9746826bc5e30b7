//! Step IR to C for one hardware thread of a 32-bit processor. A thread executes one packet after
//! another, each from its first step to its end, and makes calls through a message passing engine.
//!
//! There is no batch and no prefetch: while a thread waits for a reply, the processor runs others.
//! An engine is therefore one C function with steps as labels, and the compiler keeps values that
//! pass from one step to the next in registers. [`replies`] splits a call into a launch and a wait;
//! [`engine`] writes the function; [`message`] defines the format of calls on the network. An
//! engine that is cut ([`partition`]) has one function for each part. Jumps between the parts are
//! messages ([`handover`]).

mod elements;
mod engine;
mod handover;
pub mod message;
mod order;
mod partition;
mod replies;
mod resident;

use std::collections::BTreeSet;

use wireloom_ir::{EngineId, OffloadTarget, Op, OpKind, Program, Step};
use wireloom_offloads::{Config, Method, registry};

use self::elements::Caller;
use self::engine::EngineFunction;
use self::handover::Handovers;
use super::names::{Names, identifier};
use super::preamble::{IGNORED_WARNINGS, declare_wide, ignored, opening, wide_sizes, widths};
use super::tree::Item;
use super::types::Model;
use super::{kinds, print};

pub use self::elements::{Elements, Messages};
pub use self::order::ordered_objects;
pub use self::partition::{PARTS, Partition};
pub use super::print::Located;
pub use wireloom_codegen::refused::Refused;

/// The names and texts of the runtime's headers and of the linker script.
pub const RUNTIME: &[(&str, &str)] = &[
    ("thread.h", include_str!("../../runtime/thread/thread.h")),
    ("bits.h", include_str!("../../runtime/bits.h")),
    ("counts.h", include_str!("../../runtime/counts.h")),
    ("bounds.h", include_str!("../../runtime/bounds.h")),
    ("copies.h", include_str!("../../runtime/thread/copies.h")),
    ("wide.h", include_str!("../../runtime/wide.h")),
    ("messages.h", include_str!("../../runtime/thread/messages.h")),
    ("packet.h", include_str!("../../runtime/thread/packet.h")),
    ("start.h", include_str!("../../runtime/thread/start.h")),
    (LINKER_SCRIPT, include_str!("../../runtime/thread/program.ld")),
];

/// The name of the linker script in [`RUNTIME`].
pub const LINKER_SCRIPT: &str = "program.ld";

/// The number of words in a thread's local memory for a call's arguments: all words but the last.
const ARGUMENT_WORDS: u32 = 36;
/// The number of objects that the address of a call can name. The platform uses three more numbers.
const OBJECTS: usize = 125;
/// The number of sets of reasons that a verdict can name.
const REASON_SETS: usize = 256;

/// Returns one C file for a program whose steps are in the form of regions. The file
/// includes `thread.h` of [`RUNTIME`]. The main engine is cut according to `partition`. Calls of
/// `elements` are messages. Both must belong to this program. The result depends only on the
/// arguments.
///
/// # Errors
/// If the program does something that such threads cannot execute.
///
/// # Panics
/// If a step is not in that form or the program does not verify.
pub fn generate(
    program: &Program,
    partition: &Partition,
    elements: &Elements,
) -> Result<Located, Refused> {
    check(program, elements)?;
    let mut names = Names::default();
    let own: Vec<String> = program.engines.iter().map(|engine| names.give(&engine.name)).collect();
    let called = elements.functions(program);

    let mut items = opening(program, "docs/machines/mpsoc-programs.md");
    items.push(Item::Directive("include \"thread.h\"".into()));
    items.push(Item::Blank);
    items.extend(IGNORED_WARNINGS.iter().map(|warning| ignored(warning)));
    items.push(Item::Blank);
    items.extend(wide_sizes_with_messages(program).into_iter().map(declare_wide));
    items.push(Item::Blank);
    let tickets = first_tickets(program, elements);
    for (index, engine) in program.engines.iter().enumerate() {
        let is_main = index == program.main.index();
        if is_main || called.contains(&index) {
            let caller = Caller { program, id: EngineId(index as u32), elements };
            let function =
                if is_main { "wl_main".to_owned() } else { format!("{}_call", own[index]) };
            let callees =
                (0..program.engines.len()).map(|engine| format!("{}_call", own[engine])).collect();
            let handovers = if is_main { Handovers::new(engine, partition)? } else { None };
            let function =
                EngineFunction::new(caller, function, callees, tickets[index], handovers)?;
            items.extend(function.items());
        }
    }
    Ok(print::located(&items))
}

/// Returns whether the thread executes a call itself.
fn is_local(config: &Config, method: &Method) -> bool {
    kinds::by_thread(config, method).is_some()
}

fn check(program: &Program, elements: &Elements) -> Result<(), Refused> {
    let main = &program.engines[program.main.index()];
    let objects = message::objects(program, elements).len();
    if objects > OBJECTS {
        let why = format!("has {objects} offloads; calls can name {OBJECTS}: share some");
        return Err(Refused::engine(main, &why));
    }
    if program.reasons.len() > REASON_SETS {
        let why = format!(
            "has {} sets of reasons; a verdict can name {REASON_SETS}: put some into one",
            program.reasons.len()
        );
        return Err(Refused::engine(main, &why));
    }
    for index in elements.functions(program).into_iter().chain([program.main.index()]) {
        let caller = Caller { program, id: EngineId(index as u32), elements };
        for step in &caller.engine().steps {
            step.ops().try_for_each(|op| check_call(&caller, step, op))?;
        }
    }
    Ok(())
}

fn check_call(caller: &Caller<'_>, step: &Step, op: &Op) -> Result<(), Refused> {
    if let OpKind::Evaluate { offload, method, .. } = &op.kind {
        return check_function(caller, step, offload.index(), *method);
    }
    let OpKind::Call { offload, .. } = &op.kind else { return Ok(()) };
    let Some(messages) = caller.messages(op) else { return Ok(()) };
    let engine = caller.engine();
    let offload = &engine.offloads[offload.index()];
    let words = messages.arguments.words();
    if words > ARGUMENT_WORDS + 1 {
        let why = format!(
            "the arguments take {words} words, and a call carries {}: pass less",
            ARGUMENT_WORDS + 1
        );
        return Err(Refused::offload(engine, step, &offload.name, &why));
    }
    Ok(())
}

fn check_function(
    caller: &Caller<'_>,
    step: &Step,
    offload: usize,
    method: usize,
) -> Result<(), Refused> {
    let offload = &caller.engine().offloads[offload];
    let OffloadTarget::Kind(config) = &offload.target else { return Ok(()) };
    let kind = registry::kind(&config.kind).expect("a verified program");
    if is_local(config, &kind.methods[method]) {
        return Ok(());
    }
    let why = format!(
        "`{}` is evaluated within the step; threads call it: keep its calls with `PassOptions::served`",
        kind.name
    );
    Err(Refused::offload(caller.engine(), step, &offload.name, &why))
}

/// Returns the first ticket of each engine. It follows all tickets that may be in use while the
/// engine runs.
fn first_tickets(program: &Program, elements: &Elements) -> Vec<u32> {
    let mut first = vec![0; program.engines.len()];
    // Called engines precede their callers in this list.
    for (index, engine) in program.engines.iter().enumerate().rev() {
        let caller = Caller { program, id: EngineId(index as u32), elements };
        let behind = first[index] + replies::tickets_used(&caller);
        for (number, offload) in engine.offloads.iter().enumerate() {
            if let OffloadTarget::Engine(id) = &offload.target
                && !elements.contains(caller.id, number)
            {
                first[id.index()] = first[id.index()].max(behind);
            }
        }
    }
    first
}

/// Returns the sizes in words of all values that are not scalars, including fields of keys and
/// replies.
fn wide_sizes_with_messages(program: &Program) -> BTreeSet<u32> {
    let mut widths = widths(program);
    for offload in program.engines.iter().flat_map(|engine| &engine.offloads) {
        let OffloadTarget::Kind(config) = &offload.target else { continue };
        let layouts = [&config.key, &config.value].into_iter().flatten();
        widths.extend(layouts.flat_map(|layout| layout.fields.iter().map(|(_, width)| *width)));
    }
    wide_sizes(widths, Model::Bits32)
}

/// Returns the name of a step's symbols, without the `step.` prefix and the number at the end.
fn symbol(step: &Step) -> String {
    identifier(&step.name)
}

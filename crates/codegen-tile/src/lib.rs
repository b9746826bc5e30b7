//! Translates step IR to programs of the tiles of a tiled processor, and to schedules of its
//! switches. Instructions of a tile are MIPS-like, and its networks are registers.
//!
//! A tile reads a packet from its first static network into a buffer in memory, executes the steps
//! of an engine, and sends the packet over the same network (runtime.s). `placing` places tables in
//! memory. `operations` writes the steps: `words` values of any width, `packet` fields of the
//! packet, and `kinds` calls of offloads. `schedule` orders the instructions, and `allocate`
//! assigns registers. The result is text for the assembler.
//!
//! A message on a static network begins with the number of its words minus one. At least two words
//! follow. A packet arrives as a first word, `port << 16 | length in bytes`, the words that the
//! program asks for ([`Needs`]), [`ALIGN`] bytes that align, and its own bytes. A word has four
//! bytes, the first in its highest bits. Each packet leaves as a side word with its verdict
//! ([`Way`]), followed by its first word and its bytes if it is sent. A 0 before a message says
//! that the tile sends another message for the same packet. [`IDLE`] is a message without a packet.
//!
//! If the tails of long packets stay outside the tiles ([`head`]), a packet arrives with the bytes
//! of its head, which its first word counts, and with a word that identifies the tail. The lower
//! half of that word is the number of bytes of the tail. The word leaves next to the side word.

mod aligned;
mod allocate;
mod calls;
mod code;
mod exits;
mod fast;
mod frame;
pub mod head;
mod kinds;
mod layout;
mod lower;
mod memory;
mod needs;
mod operations;
mod packet;
mod placing;
mod ports;
mod queue;
mod reach;
mod requests;
mod routines;
mod schedule;
mod stages;
mod state_owner;
mod switches;
#[cfg(test)]
mod testing;
mod view;
mod words;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use wireloom_codegen::context;
use wireloom_codegen::steps::next_step;
use wireloom_compile::analysis::Definitions;
use wireloom_compile::analysis::conditions::exits::forwarded;
use wireloom_ir::{Copied, Engine, EngineKind, Exit, Op, OpKind, Program, Step};

use self::aligned::Aligned;
use self::code::{Code, FRAME, RETURN, ZERO};
pub use exits::{IDLE, LAST, RUNAWAY, STEPS, Way};
pub use frame::{ALIGN, FRAME_BYTES};
pub use kinds::ticks::ChipMemory;
pub use layout::{Layout, Place};
use lower::Lower;
pub use memory::Memories;
pub use needs::Needs;
pub use placing::{next_due, pass_tick, place, read_back};
pub use ports::{Ports, uses_general};
pub use queue::{Link, QUEUED, Queue, Ready};
pub use reach::{Reach, StateOwner};
use routines::Passage;
pub use schedule::{Latencies, ordered};
pub use stages::Stages;
pub use state_owner::{TURN, generate_state_owner, room};
pub use switches::{RestWay, Switch, Turn, hand_on};
pub use wireloom_codegen::refused::Refused;

/// A program of a tile.
#[derive(Clone, Debug)]
pub struct TileCode {
    /// The assembly of the tile processor.
    pub text: String,
    /// The words about packets that it needs.
    pub needs: Needs,
    /// The steps of the packet engine that the tile executes: the index of the step, and the number
    /// of its instructions.
    pub steps: Vec<(usize, usize)>,
}

/// Options of the generated code.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Whether steps have fast ways. These need more instructions, and packets that are not dropped
    /// need fewer cycles.
    pub has_fast_ways: bool,
    /// The latencies of the processor, for which instructions are ordered.
    pub latencies: Latencies,
}

/// The maximum number of words of a message on a dynamic network.
const MESSAGE_WORDS: usize = 31;
/// Returns the program of a tile that executes the steps of a stage. The frames of all tiles are at
/// the beginning of memory, in the order of the tiles' numbers. If `reach` has ports, the last tile
/// sends packets there instead of to its switch.
///
/// # Errors
/// The refusals, if steps or messages do not fit.
pub fn generate(
    program: &Program,
    layout: &Layout<'_>,
    tile: u32,
    stages: &Stages,
    stage: usize,
    style: Style,
    reach: Reach,
) -> Result<TileCode, Vec<Refused>> {
    let frame = tile * FRAME_BYTES;
    let mut refused = Vec::new();
    let (mut bodies, mut sizes, mut needed) = (Vec::new(), Vec::new(), Vec::new());
    // Callers precede the engines that they call. Going backwards gives each engine spill slots
    // after the slots of all engines that it may call.
    let mut end = layout.end;
    let used = layout.used(|step| stages.of[step] == stage);
    let instances: Vec<_> = layout.instances.iter().map(|one| one.of_tile(tile)).collect();
    for (number, instance) in instances.iter().enumerate().rev() {
        if !used[number] {
            continue;
        }
        let (mut body, base) = (String::new(), end);
        if number > 0 {
            body += &enter(instance);
        }
        let unwritten = unwritten(instance.engine);
        let begins = |variable| begins(instance.engine, &unwritten, variable);
        let aligned = Aligned::of(instance.engine, begins);
        let fronts = fronts(instance.engine, (number == 0).then_some(stages), &aligned);
        for (at, step) in instance.engine.steps.iter().enumerate() {
            if number == 0 && stages.of[at] != stage {
                continue;
            }
            let code = |prefix: &str| Code::new(&format!("{prefix}{number}_{at}"));
            let lower = |prefix: &str, ops, facts| Lower {
                stages: (number == 0).then_some(stages),
                state_owner: reach.state_owner,
                number: at,
                ops,
                facts,
                front: fronts[at],
                base,
                ..Lower::new(program, layout, tile, instance, step, &aligned, code(prefix))
            };
            let (label, all) = (instance.step(at), format!("{}_all", instance.step(at)));
            let facts = forwarded(step);
            let (ops, early) = fast::ordered(instance.engine, &step.ops().collect::<Vec<_>>());
            let mut ways = Vec::new();
            if style.has_fast_ways && !facts.is_empty() {
                let implied = fast::implied(&Definitions::of(step), &ops[..early], &facts);
                let mut way = Lower { implied, ..lower("f", ops.clone(), facts) };
                match way.step(&label, early, &all) {
                    Ok(()) if way.has_tests => ways.push(way),
                    _ => {}
                }
            }
            let mut whole = lower("l", ops, HashMap::new());
            let begin = if ways.is_empty() { &label } else { &all };
            if let Err(why) = whole.step(begin, usize::MAX, "") {
                refused.push(why);
                continue;
            }
            ways.push(whole);
            for (way, lower) in ways.iter_mut().enumerate() {
                let spills = base + lower.views;
                lower.code.clean();
                schedule::schedule(&mut lower.code, &all, &style.latencies);
                let (text, slots) = allocate::write(&lower.code, spills);
                end = end.max(spills + 4 * slots);
                if spills + 4 * slots > frame::MOST {
                    refused.push(lower.refuse(
                        None,
                        format!("the values of step `{}` do not fit a tile's frame", step.name),
                    ));
                }
                // Most packets take the first way.
                if number == 0 && way == 0 {
                    sizes.push((at, routines::instructions(&text)));
                }
                needed.extend(&lower.code.routines);
                body += &text;
            }
        }
        bodies.push(body);
    }
    if !refused.is_empty() {
        return Err(refused);
    }
    let main = &instances[0];
    let needs =
        Needs { takes: layout.takes, rest: layout.has_rest, ..Needs::of(program, main.engine) };
    // A state owner makes calls in the order of the packets' numbers.
    let needs = Needs { sequence: needs.sequence || reach.state_owner.is_some(), ..needs };
    // Packets arrive at the beginning of a word. They are still there if the steps of this stage
    // move them by whole words only.
    let own_steps = || (0..main.engine.steps.len()).filter(|step| stages.of[*step] == stage);
    let unwritten = unwritten(main.engine);
    let aligned = Aligned::of(main.engine, |variable| begins(main.engine, &unwritten, variable));
    let is_aligned = own_steps().all(|number| {
        let step = &main.engine.steps[number];
        let ops: Vec<&Op> = step.ops().collect();
        ops.iter().all(|op| keeps_front(step, &ops, op, &aligned))
    });
    let mut text =
        format!("# Engine `{}`, written by Wireloom from the step IR.\n", main.engine.name);
    let mut carried: Vec<u32> =
        goes_back(main.engine).then_some(main.backward).into_iter().collect();
    for variable in stages.carried(main.engine) {
        let count = words::count(main.engine.context[variable].width) as u32;
        carried.extend((0..count).map(|word| main.variables[variable] + 4 * word));
    }
    let entries = stages.entries(main.engine, stage);
    let passage = Passage {
        base: frame,
        needs,
        clear: &clear(main, stages, stage),
        entries: entries.into_iter().map(|step| (step, main.step(step))).collect(),
        carried,
        is_first: stage == 0,
        is_last: stage + 1 == stages.count,
        idles: stages.is_replicated(),
        emits: bodies.iter().any(|body| body.contains("send_to_port")),
        is_aligned,
        ports: reach.ports.filter(|_| stage + 1 == stages.count),
        hop: reach.hop,
    };
    let before = routines::before_count(&passage);
    if reach.hop.is_some() && before > MESSAGE_WORDS {
        let message = format!(
            "packets do not fit a message to stage {stage}: they have {before} words of state, and a message of the \
             general network has {MESSAGE_WORDS}: cut the steps elsewhere, or let chains go over the static network"
        );
        return Err(vec![Refused { offload: None, step: None, message }]);
    }
    text += &routines::runtime(&passage);
    // The runtime runs into the first step instead of jumping to it.
    let first = bodies.pop().unwrap_or_default();
    let label = first.lines().find_map(|line| line.strip_suffix(':')).unwrap_or_default();
    if let Some(rest) = text.strip_suffix(&format!("        j {label}\n")) {
        text.truncate(rest.len());
    }
    text += &first;
    text.extend(bodies.into_iter().rev());
    text += &routines::needed(frame, &needed);
    Ok(TileCode { text, needs, steps: sizes })
}

/// Returns the entry of a called engine. It saves the return address and clears the context except
/// for the parameters.
fn enter(instance: &layout::Instance<'_>) -> String {
    let mut code = Code::new(&instance.label);
    code.place(&instance.label);
    code.memory(wireloom_isa::raw::tile::Op::Sw, RETURN, FRAME, instance.link as i32);
    let (text, _) = allocate::write(&code, 0);
    let arrays = clear_arrays(instance, |_| true);
    text + &clear_variables(instance) + &arrays + &format!("        j {}\n", instance.step(0))
}

/// Returns the code that clears the context that the steps of a stage may read before they write
/// it. The first stage clears the variables, which messages carry on. Messages carry no arrays:
/// each array is used by a single stage, which clears it.
fn clear(instance: &layout::Instance<'_>, stages: &Stages, stage: usize) -> String {
    let variables = if stage == 0 { clear_variables(instance) } else { String::new() };
    variables + &clear_arrays(instance, |array| stages.uses(instance.engine, stage, array))
}

/// Returns the code that clears the context variables that an engine may read before it writes
/// them.
fn clear_variables(instance: &layout::Instance<'_>) -> String {
    let engine = instance.engine;
    let params = match &engine.kind {
        EngineKind::Packet => &[][..],
        EngineKind::Call { params, .. } => params,
    };
    let mut code = Code::new(&format!("{}_clear", instance.label));
    let mut zero = |offset: u32| {
        code.memory(wireloom_isa::raw::tile::Op::Sw, ZERO, FRAME, offset as i32);
    };
    if goes_back(engine) {
        zero(instance.backward);
    }
    for variable in unwritten(engine) {
        if !params.iter().any(|param| param.index() == variable) {
            let count = words::count(engine.context[variable].width) as u32;
            (0..count).for_each(|at| zero(instance.variables[variable] + 4 * at));
        }
    }
    allocate::write(&code, 0).0
}

/// Returns the code that clears the used arrays of the context.
fn clear_arrays(instance: &layout::Instance<'_>, is_used: impl Fn(usize) -> bool) -> String {
    let mut text = String::new();
    let arrays = instance.engine.arrays.iter().zip(&instance.arrays).enumerate();
    for (number, (array, (base, stride))) in arrays.filter(|(number, _)| is_used(*number)) {
        let label = format!("{}_clear{number}", instance.label);
        let _ = write!(
            text,
            "        li $a0, {base}\n        li $a1, {}\n{label}:\n        sw $zero, 0($a0)\n        \
             addiu $a0, $a0, 4\n        bne $a0, $a1, {label}\n",
            base + array.count * stride
        );
    }
    text
}

/// Whether a step may read a context variable that the engine has not written.
fn begins(engine: &Engine, unwritten: &BTreeSet<usize>, variable: usize) -> bool {
    let is_param = match &engine.kind {
        EngineKind::Packet => false,
        EngineKind::Call { params, .. } => params.iter().any(|param| param.index() == variable),
    };
    is_param || unwritten.contains(&variable)
}

/// Returns the context variables that a step may read before another step writes them. Dropped
/// packets reach no further step.
fn unwritten(engine: &Engine) -> BTreeSet<usize> {
    let facts: Vec<_> = engine.steps.iter().map(forwarded).collect();
    context::read_unwritten_if(engine, &|step, _, guard| facts[step].get(&guard) == Some(&true))
}

/// Returns, for each step, the address modulo 4 of the window's first byte when a packet reaches
/// the step, if it is the same for all packets.
fn fronts(engine: &Engine, stages: Option<&Stages>, aligned: &Aligned) -> Vec<Option<u32>> {
    // Packets arrive at the same place on each tile. Inserting and removing whole words keeps the
    // front's address modulo 4.
    let is_passed = |from: usize, to: usize| stages.is_some_and(|all| all.of[from] != all.of[to]);
    let mut is_known = vec![true; engine.steps.len()];
    loop {
        let mut is_stable = true;
        for (number, step) in engine.steps.iter().enumerate() {
            let ops: Vec<&Op> = step.ops().collect();
            let mut own = is_known[number];
            for op in &ops {
                own &= keeps_front(step, &ops, op, aligned);
                if let Some(to) = next_step(op)
                    && !own
                    && is_known[to]
                    && !is_passed(number, to)
                {
                    is_known[to] = false;
                    is_stable = false;
                }
            }
        }
        if is_stable {
            return is_known.into_iter().map(|is_known| is_known.then_some(frame::ALIGN)).collect();
        }
    }
}

/// Whether an engine has jumps to the same or an earlier step, which are counted.
fn goes_back(engine: &Engine) -> bool {
    let mut steps = engine.steps.iter().enumerate();
    steps.any(|(number, step)| stages::next_steps(step).any(|to| to <= number))
}

/// Whether an operation moves the front of the packet by whole words or not at all.
fn keeps_front(step: &Step, ops: &[&Op], op: &Op, aligned: &Aligned) -> bool {
    match &op.kind {
        OpKind::Insert { count, .. } | OpKind::Remove { count, .. } | OpKind::Reset { count } => {
            aligned.value(step, ops, *count) == Some(0)
        }
        // A copy of some bytes leaves from where they begin.
        OpKind::Exit(Exit::Emit(_, Copied { bytes: Some((offset, _)), .. })) => {
            aligned.value(step, ops, *offset) == Some(0)
        }
        _ => true,
    }
}

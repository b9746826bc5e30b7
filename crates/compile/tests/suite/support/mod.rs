//! Runs programs on the golden model and returns everything observable.

use wireloom_bits::Bits;
use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::analysis::ports::misfit;
use wireloom_ir::{
    Block, Code, Engine, EngineKind, Execute, Exit, Golden, Op, OpKind, Program, Step, StepId,
    Value, ValueInfo, print, store,
};
use wireloom_net::Packet;
use wireloom_offloads::{Content, Store};

/// Returns a few packets of different lengths, always the same ones.
pub fn packets() -> Vec<Packet> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut byte = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    [0usize, 1, 14, 60, 64, 128, 200, 64, 64]
        .iter()
        .enumerate()
        .map(|(i, &length)| Packet {
            ingress: (i % 3) as u16,
            arrival_ns: 1_000 * i as u64,
            // Every other packet consists of few values, so that comparisons are sometimes true.
            bytes: (0..length).map(|_| if i % 2 == 0 { byte() } else { byte() % 4 }).collect(),
        })
        .collect()
}

/// Returns outputs and final state of the offloads, line by line.
pub fn observe(program: &Program, packets: &[Packet]) -> Vec<String> {
    let store = store(program).unwrap_or_else(|e| panic!("{}", e.0));
    let mut golden = Golden::new(program.clone(), store);
    let mut lines = Vec::new();
    golden.execute(packets, &mut |o| {
        lines.push(format!("{} {} {:?} {:02x?}", o.sequence, o.ingress, o.verdict, o.bytes));
    });
    state(golden.store(), "", &mut lines);
    lines
}

fn state(store: &Store, prefix: &str, lines: &mut Vec<String>) {
    for slot in &store.slots {
        match &slot.content {
            Content::Kind { instance, .. } => {
                lines.extend(
                    instance.rows().iter().map(|row| format!("{prefix}{}: {row:?}", slot.name)),
                );
            }
            Content::Engine(inner) => state(inner, &format!("{prefix}{}.", slot.name), lines),
        }
    }
}

/// Checks every step against the limits of the header ports.
///
/// # Panics
/// If a step exceeds them.
pub fn fits(program: &Program, header: &HeaderPorts, what: &str) {
    for engine in &program.engines {
        let late = engine
            .steps
            .iter()
            .find_map(|step| Some(format!("step {} {}", step.name, reads_late(step)?)));
        if let Some(why) = misfit(engine, header).or(late) {
            panic!("{what}, {header:?}: {why}\n{}", print(program));
        }
    }
}

/// Returns the error in the order of a step's packet changes, if there is one. Guards that exclude
/// each other are not considered.
fn reads_late(step: &Step) -> Option<&'static str> {
    if matches!(step.code, Code::Sequential(_)) {
        return Some("has no regions");
    }
    let is_resize = |op: &Op| {
        matches!(op.kind, OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. })
    };
    let mut resized = false;
    let mut written = false;
    for op in step.code.blocks().flat_map(|b: &Block| &b.ops) {
        match op.kind {
            OpKind::ReadPacket { .. } if resized => return Some("reads after a resize"),
            OpKind::WritePacket { .. } => written |= op.guard.is_none(),
            _ if is_resize(op) && (written || resized && op.guard.is_none()) => {
                return Some("resizes after a change");
            }
            _ => resized |= is_resize(op),
        }
    }
    None
}

/// Makes every jump lead forward, so that no thread runs 65,535 rounds, and gives every jump region
/// one exit. The generator's guards are arbitrary, but exactly one has to be true.
pub fn tame(mut program: Program) -> Program {
    for engine in &mut program.engines {
        let count = engine.steps.len();
        for index in 0..count {
            tame_step(engine, index, index + 1 == count);
        }
    }
    program
}

fn tame_step(engine: &mut Engine, index: usize, is_last: bool) {
    let reply = match engine.kind {
        EngineKind::Call { reply, .. } => Some(reply),
        EngineKind::Packet => None,
    };
    let step = &mut engine.steps[index];
    let zero = Value(step.values.len() as u32);
    if let Some(width) = reply {
        step.values.push(ValueInfo { width, name: None });
    }
    if let Code::Regions { jump, .. } = &mut step.code {
        let mut exits = 0;
        jump.ops.retain(|op| {
            exits += usize::from(matches!(op.kind, OpKind::Exit(_)));
            exits < 2 || !matches!(op.kind, OpKind::Exit(_))
        });
    }
    let last_block = step.code.blocks_mut().last().expect("code has a block");
    for op in &mut last_block.ops {
        tame_exits(op, index, is_last, reply.map(|_| zero));
    }
    if let Code::Regions { jump, .. } = &mut step.code {
        jump.ops
            .iter_mut()
            .filter(|op| matches!(op.kind, OpKind::Exit(_)))
            .for_each(|op| op.guard = None);
    }
    if let Some(width) = reply {
        let block: &mut Block = step.code.blocks_mut().next().expect("code has a block");
        let kind = OpKind::Const(Bits::zero(width));
        block.ops.insert(0, Op { kind, results: vec![zero], guard: None, loc: Default::default() });
    }
}

fn tame_exits(op: &mut Op, index: usize, is_last: bool, reply: Option<Value>) {
    match &mut op.kind {
        OpKind::Exit(exit @ (Exit::Next(_) | Exit::Emit(..))) if is_last => {
            *exit = reply.map_or(Exit::Done, Exit::Reply);
        }
        OpKind::Exit(Exit::Next(to) | Exit::Emit(to, _)) if to.index() <= index => {
            *to = StepId(index as u32 + 1)
        }
        OpKind::If { then, otherwise, .. } => {
            for arm in [then, otherwise] {
                arm.0.ops.iter_mut().for_each(|op| tame_exits(op, index, is_last, reply));
            }
        }
        _ => {}
    }
}

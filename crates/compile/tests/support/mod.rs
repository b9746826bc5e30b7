//! Runs programs on the golden model and says everything that could be observed of them.

use wireloom_compile::analysis::ports::misfit;
use wireloom_compile::passes::HeaderPorts;
use wireloom_ir::{Block, Code, Execute, Golden, Op, OpKind, Program, Step, print, store};
use wireloom_net::Packet;
use wireloom_offloads::{Content, Store};

/// A few packets of different lengths, repeatable.
pub fn packets() -> Vec<Packet> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut byte = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    [0usize, 1, 14, 60, 64, 128, 200, 64, 64]
        .iter()
        .enumerate()
        .map(|(i, &length)| Packet {
            ingress: (i % 3) as u16,
            arrival_ns: 1_000 * i as u64,
            // Every other packet of few values, so that comparisons sometimes hold.
            bytes: (0..length).map(|_| if i % 2 == 0 { byte() } else { byte() % 4 }).collect(),
        })
        .collect()
}

/// Outputs and final state of the offloads, line by line.
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
                lines.extend(instance.rows().iter().map(|row| format!("{prefix}{}: {row:?}", slot.name)));
            }
            Content::Engine(inner) => state(inner, &format!("{prefix}{}.", slot.name), lines),
        }
    }
}

/// Holds every step to what header ports can do.
///
/// # Panics
/// If a step asks for more.
#[allow(dead_code)]
pub fn fits(program: &Program, header: &HeaderPorts, what: &str) {
    for engine in &program.engines {
        let late =
            engine.steps.iter().find_map(|step| Some(format!("step {} {}", step.name, reads_late(step)?)));
        if let Some(why) = misfit(engine, header).or(late) {
            panic!("{what}, {header:?}: {why}\n{}", print(program));
        }
    }
}

/// What is wrong with the order of a step's changes of the packet, apart from guards that exclude each other.
fn reads_late(step: &Step) -> Option<&'static str> {
    if matches!(step.code, Code::Sequential(_)) {
        return Some("has no regions");
    }
    let is_resize =
        |op: &Op| matches!(op.kind, OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. });
    let mut resized = false;
    let mut written = false;
    for op in step.code.blocks().flat_map(|b: &Block| &b.ops) {
        match op.kind {
            OpKind::ReadPacket { .. } if resized => return Some("reads behind a resize"),
            OpKind::WritePacket { .. } => written |= op.guard.is_none(),
            _ if is_resize(op) && (written || resized && op.guard.is_none()) => {
                return Some("resizes behind a change");
            }
            _ => resized |= is_resize(op),
        }
    }
    None
}

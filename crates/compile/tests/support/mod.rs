//! Runs programs on the golden model and says everything that could be observed of them.

use wireloom_ir::{Execute, Golden, Program, store};
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

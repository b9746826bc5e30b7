//! Analyses on which hardware generation relies: header ports and context storage.

use wireloom_compile::analysis::ports::{Group, ports};
use wireloom_ir::{Program, parse, verify};

fn program(body: &str) -> Program {
    let text = format!("loom_ir 1\nengine e {{\n{body}\n}}\nmain e\n");
    let program = parse(&text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    verify(&program).unwrap_or_else(|p| panic!("{text}: {p:?}"));
    program
}

/// Returns root, offset, length and number of accesses of each group.
fn shape(groups: &[Group]) -> Vec<(Option<u32>, i64, u32, usize)> {
    groups.iter().map(|g| (g.root.map(|v| v.0), g.offset, g.bytes, g.accesses.len())).collect()
}

#[test]
fn accesses_within_a_run_of_bytes_share_a_port_at_any_alignment() {
    let program = program(
        "step a {\n request {\n %0:u16 = const 5\n %1:u32 = packet.read %0 + 0\n %2:u4 = packet.read %0 + 116\n \
         %3:u8 = packet.read %0 + 128\n } edit {\n packet.write %0 + 0, %1\n packet.write %0 + 9, %2\n \
         packet.write %0 + 248, %3\n } jump {\n finish\n }\n }",
    );
    let found = &ports(&program.engines[0], 16)[0];
    assert_eq!(shape(&found.reads), [(None, 5, 15, 2), (None, 21, 1, 1)]);
    assert_eq!(found.reads[0].accesses[1].bit, 116);
    assert_eq!(shape(&found.writes), [(None, 5, 4, 2), (None, 36, 1, 1)]);
    assert_eq!(
        found.writes[0].accesses.iter().map(|a| (a.block, a.op, a.bit)).collect::<Vec<_>>(),
        [(1, 0, 0), (1, 1, 9)]
    );
}

#[test]
fn a_constant_distance_from_one_root_counts_only_if_it_cannot_wrap() {
    let at = |width: u32| {
        program(&format!(
            "context at : u{width}\nstep a {{\n request {{\n %0:u{width} = context.read at\n %1:u16 = {} %0{}\n \
             %2:u16 = const 4\n %3:u16 = add %1, %2\n %4:u8 = packet.read %1 + 0\n %5:u8 = packet.read %3 + 0\n }} \
             edit {{\n context.write at, %0\n }} jump {{\n next b\n }}\n }}\n step b {{\n %0:u{width} = const {}\n \
             context.write at, %0\n next a\n }}",
            if width < 16 { "extend" } else { "slice" },
            if width < 16 { "" } else { " from 0" },
            (1u64 << width) - 1,
        ))
    };
    let groups = |width| shape(&ports(&at(width).engines[0], 16)[0].reads);
    // The sum of a 12-bit value and 4 stays below 2^16.
    assert_eq!(groups(12), [(Some(0), 0, 5, 2)]);
    assert_eq!(groups(20).len(), 2);
}

#[test]
fn writes_that_overlap_stay_together() {
    let program = program(
        "step a {\n %0:u16 = const 0\n %1:u8 = const 1\n %2:u96 = const 2\n %3:u64 = const 3\n \
         packet.write %0 + 0, %1\n packet.write %0 + 32, %2\n packet.write %0 + 96, %3\n finish\n }",
    );
    // The second access would fit into the first group, but must stay with the third.
    assert_eq!(
        shape(&ports(&program.engines[0], 16)[0].writes),
        [(None, 0, 1, 1), (None, 4, 16, 2)]
    );
}

//! The order of evaluation (docs/language.md): operands from left to right, a place after its
//! view's offset and its indices, the place of an assignment before its value. Side effects in the
//! indices show the order. Golden, with and without passes and as for each kind of machine, and
//! native send the same packets.

use crate::support::{self, options, outputs};
use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::{lower, pipeline};
use wireloom_ir::{Golden, Program, store};
use wireloom_lang::{Options, check_source, render};
use wireloom_native::{Library, Native};
use wireloom_net::Packet;

/// Statements, and the value of `out` after them, worked out by hand. Before them `x` is 1, 2, 3, 4
/// and `long` is 0, 1, ..., 39; `at` is 1. `next_at()` increments `at` and returns its old value.
/// `change()` sets `x[1]` and `long[1]` to 9 and returns 1.
const CASES: [(&str, u32); 11] = [
    // The access sees the changes that evaluating its index makes.
    ("out = x[change()];", 9),
    ("out = long[change()];", 9),
    // Operands are evaluated from left to right: the first is read before the second changes it.
    ("out = x[1] * 100 + x[change()];", 209),
    ("out = long[1] * 100 + long[change()];", 109),
    ("out = x[next_at()] * 10 + x[next_at()];", 23),
    ("out = concat(long[next_at()], long[next_at()])[15:0];", 2),
    // The place of an assignment is evaluated before its value.
    ("x[next_at()] = next_at(); out = x[1] * 10 + x[2];", 23),
    ("long[next_at()] = next_at(); out = long[1] * 10 + long[2];", 22),
    // The indices of a place are evaluated once.
    ("x[next_at()] += 5; out = x[1] * 10 + at;", 72),
    ("long[next_at()]++; out = long[1] * 10 + at;", 22),
    // The offset of a view as well: the packet's byte at `at`, which is 0x21 at 1 and 0x32 at 2.
    ("out = (u32)moving.b[0] + next_at() + moving.b[0];", 0x21 + 1 + 0x32),
];

fn source(statements: &str) -> String {
    format!(
        "header In {{ u8 b[2]; }};
         header Out {{ u32 v; }};
         engine e() {{
             offload calls : array<u32, size = 4>;
             u32 x[4]; u32 long[40]; u8 at; u32 out;
             In moving @ at;
             Out result @ 8;
             u8 next_at() {{ u8 old = at; at += 1; return old; }}
             u8 change() {{ x[1] = 9; long[1] = 9; calls.write(0, calls.read(0) + 1); return 1; }}
             step s {{
                 for (u8 i = 0; i < 4; i++) x[i] = i + 1;
                 for (u8 i = 0; i < 40; i++) long[i] = i;
                 at = 1;
                 {statements}
                 next t;
             }}
             step t {{ result.v = out; packet.egress = (u16)calls.read(0); finish; }}
         }}"
    )
}

fn program(statements: &str) -> Program {
    let checked = check_source("order.loom", &source(statements), &Options::default());
    let program = checked
        .program
        .unwrap_or_else(|| panic!("{}", render(&checked.diagnostics, &checked.sources, false)));
    lower(&program)
}

fn golden(program: &Program, packets: &[Packet]) -> Vec<support::Sent> {
    let offloads = store(program).expect("offloads");
    outputs(&mut Golden::new(program.clone(), offloads), packets)
}

#[test]
fn side_effects_in_indices_happen_in_the_same_order_everywhere() {
    let bytes = (0..16u8).map(|i| 0x10u8.wrapping_add(i * 0x11)).collect();
    let packets = vec![Packet { ingress: 1, arrival_ns: 0, bytes }; 3];
    let optimised: Vec<Program> = CASES
        .iter()
        .map(|(statements, expected)| {
            let lowered = program(statements);
            let sent = golden(&lowered, &packets);
            let written = u32::from_be_bytes(sent[0].bytes[8..12].try_into().expect("4 bytes"));
            assert_eq!(written, *expected, "{statements}");
            let served = PassOptions { served: &["hash", "random"], scalars: true, header: None };
            let hardware = PassOptions::hardware(HeaderPorts::new(1, 1));
            for passes in [PassOptions::default(), served, hardware] {
                let mut program = lowered.clone();
                pipeline::optimise(&mut program, &passes);
                assert_eq!(golden(&program, &packets), sent, "{statements} {passes:?}");
            }
            let mut program = lowered;
            pipeline::optimise(&mut program, &PassOptions::default());
            program
        })
        .collect();
    let libraries = Library::build_many(&optimised, &options()).expect("it builds");
    for ((library, program), (statements, _)) in libraries.into_iter().zip(&optimised).zip(CASES) {
        let mut native = Native::new(library, store(program).expect("offloads"));
        assert_eq!(outputs(&mut native, &packets), golden(program, &packets), "{statements}");
    }
}

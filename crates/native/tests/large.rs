//! Programs that would become very much C if arrays were choices. The size of the C, on which the
//! time of a build depends, is bounded.

mod support;

use support::{options, outputs};
use wireloom_codegen::c::unit;
use wireloom_ir::{Golden, Program, store};
use wireloom_native::{Library, Native};
use wireloom_net::Packet;

const HEADER: &str = "header H { u16 a; u16 b; u32 c; u8 d; u8 e; };";

fn compile(source: &str) -> Program {
    let checked = wireloom_lang::check_source("large.loom", source, &Default::default());
    let program = checked.program.unwrap_or_else(|| {
        panic!("{}", wireloom_lang::render(&checked.diagnostics, &checked.sources, false))
    });
    let mut program = wireloom_compile::lower(&program);
    wireloom_compile::pipeline::optimise(&mut program, &Default::default());
    program
}

fn engine(before: &str, context: &str, body: &str) -> String {
    format!("{HEADER} {before} engine e() {{ {context} step s {{ H h @ 0; {body} finish; }} }}")
}

fn packets() -> Vec<Packet> {
    let bytes = |seed: u64| (0..14).map(move |i| (seed * (i + 3) * 37 % 251) as u8).collect();
    let packet = |seed| Packet { ingress: 1, arrival_ns: seed, bytes: bytes(seed) };
    (0..40).map(packet).collect()
}

/// Native and golden agree, and the C has at most so many bytes.
fn holds(source: &str, most: usize) {
    let program = compile(source);
    let size = unit(&program, "").text.len();
    assert!(size <= most, "{size} bytes of C for {source:.300}");
    let offloads = || store(&program).expect("offloads");
    let library = Library::build(&program, &options()).unwrap_or_else(|error| panic!("{error}"));
    let mut native = Native::new(library, offloads());
    let mut golden = Golden::new(program.clone(), offloads());
    let packets = packets();
    assert_eq!(outputs(&mut native, &packets), outputs(&mut golden, &packets), "{source:.300}");
}

#[test]
fn arrays_indexed_at_run_time_are_arrays_in_c() {
    let flip = "a[(u12)h.a] = h.b[0]; packet.egress = (u16)a[(u12)h.b] + (u16)a[(u12)h.a];";
    holds(&engine("", "u1 a[4096];", flip), 8_000);
    let pair = "struct P { u4 x; u2 y[2]; };";
    let mixed = "t[(u9)h.a].x = h.b[3:0]; t[(u9)h.b].y[h.c[0:0]] = 2;
                 packet.egress = (u16)t[(u9)h.b].y[1] + (u16)t[(u9)h.a].x;";
    holds(&engine(pair, "P t[512];", mixed), 8_000);
    let grid = "t[(u4)h.a][(u5)h.b] = h.d; packet.egress = (u16)t[(u4)h.a][(u5)h.c];";
    holds(&engine("", "u8 t[16][32];", grid), 8_000);
    // One effect for each element of a local array, which its declaration clears.
    let local = "u8 t[512]; t[(u9)h.a] = h.d; packet.egress = (u16)t[(u9)h.b];";
    holds(&engine("", "", local), 40_000);
}

//! Checks large programs. The time of a build depends on the size of the C and, more than linearly,
//! on the length of its functions. Both are bounded. A test's thread has a stack of 2 MB, which no
//! program exceeds, and native and golden agree.

use crate::support::{options, outputs};
use wireloom_codegen_c::unit;
use wireloom_ir::{Golden, Program, store};
use wireloom_native::{Library, Native};
use wireloom_net::Packet;

const HEADER: &str = "header H { u16 a; u16 b; u32 c; u8 d; u8 e; };";

pub fn compile(source: &str) -> Program {
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

/// Checks that native and golden agree, and that the C has at most `most` bytes.
fn holds(source: &str, most: usize) {
    let program = compile(source);
    let text = unit(&program, "", false).text;
    let size = text.len();
    assert!(size <= most, "{size} bytes of C for {source:.300}");
    let body = |function: &str| function.len() - function.rfind("\n{\n").unwrap_or(0);
    let longest = text.split("\n}\n").map(body).max().unwrap_or(0);
    assert!(longest <= 200_000, "a function of {longest} bytes for {source:.300}");
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
    // There is one effect for each element of a local array, which its declaration clears.
    let local = "u8 t[512]; t[(u9)h.a] = h.d; packet.egress = (u16)t[(u9)h.b];";
    holds(&engine("", "", local), 40_000);
}

#[test]
fn long_chains_of_operations_become_short_functions() {
    let chain = "u32 s = h.c; for (u16 j = 0; j < 2; j++)
                 for (u16 i = 0; i < 4000; i++) s = (s ^ i) + (s >> 5);
                 packet.egress = (u16)s;";
    holds(&engine("", "", chain), 700_000);
    let choices = "u32 s = h.c; for (u16 i = 0; i < 1000; i++) {
                       if (s[0:0] == 1) s = s * 3 + 1; else s = s >> 1;
                   } packet.egress = (u16)s;";
    holds(&engine("", "", choices), 250_000);
}

#[test]
#[ignore = "takes long: make test-all"]
fn loops_that_end_early_nest_on_any_stack() {
    let ends = "u32 s = h.c; for (u16 i = 0; i < 1500; i++) {
                    if (s[7:0] == 7) break;
                    if (s[3:0] == 1) { s = s + 9; continue; }
                    s = s * 5 + 3; h.b += 1;
                } packet.egress = (u16)s;";
    holds(&engine("", "", ends), 850_000);
}

#[test]
#[ignore = "takes long: make test-all"]
fn many_exits_and_cases_stay_linear() {
    let drops: String =
        (0..1000).map(|i| format!("h.c = h.c * 5 + {i}; if (h.a == {i}) drop(R);\n")).collect();
    holds(&engine("enum Why : u8 { R };", "", &drops), 750_000);
    let cases: String = (0..1000)
        .map(|i| format!("case {i}: x{} = h.c + {i}; packet.egress = {i}; break;\n", i % 20))
        .collect();
    let variables: Vec<String> = (0..20).map(|i| format!("x{i}")).collect();
    let context = format!("u32 {};", variables.join(", "));
    let sum = variables.join(" + ");
    let switch = format!(
        "switch (h.a) {{ {cases} default: break; }} next t; }} step t {{ H h @ 0; h.c = {sum};"
    );
    holds(&engine("", &context, &switch), 1_000_000);
    let calls: String =
        (0..500).map(|i| format!("case {i}: x = t.search(h.c ^ {i}); break;\n")).collect();
    let switch = format!("u32 x = 0; switch (h.a) {{ {calls} default: break; }} h.c = x;");
    holds(&engine("", "offload t : lpm<u32, u32, miss = 7>;", &switch), 350_000);
}

#[test]
fn long_chains_of_steps_do_not_grow_the_stack() {
    let steps: String =
        (0..2000).map(|i| format!("step s{i} {{ x = x * 3 + {i}; next s{}; }}\n", i + 1)).collect();
    let source = format!(
        "{HEADER} engine e() {{ u32 x; {steps}
         step s2000 {{ H h @ 0; packet.egress = (u16)x; h.c = x; finish; }} }}"
    );
    holds(&source, 800_000);
}

/// The words that the generated code puts behind the name of an engine or a step.
#[test]
fn names_of_steps_clash_with_no_name_of_the_generated_code() {
    let words = [
        "in_order",
        "wait",
        "machine",
        "thread",
        "pass",
        "passing",
        "context",
        "lanes",
        "way1",
        "way1_2",
        "version",
        "undo",
        "turn",
        "call",
        "ENDED",
        "STATES",
        "AT_call",
        "list",
        "wait_list",
        "wait_ahead",
        "wait_reply",
        "wait_fetch1",
        "wait_further",
        "wait_rest",
    ];
    let step = |(number, word): (usize, &&str)| {
        let next = words.get(number + 1).map_or("finish".to_owned(), |word| format!("next {word}"));
        format!(
            "step {word} {{ h.c += seen.accumulate(h.a % 7, {{ h.b }}).value.sum;
             if (h.c[7:0] == {number}) drop(EARLY); {next}; }}\n"
        )
    };
    let steps: String = words.iter().enumerate().map(step).collect();
    holds(
        &format!(
            "{HEADER} enum Why : u8 {{ EARLY }}; struct Sum {{ u32 sum; }};
             engine E() {{ offload seen : exact<u16, Sum, size = 16>; H h @ 0; {steps} }}",
            steps = steps.replace("{ h.b }", "{ (u32)h.b }")
        ),
        400_000,
    );
}

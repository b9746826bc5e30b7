//! Tests the meaning of Loom C, construct by construct: source, a packet, and the expected output
//! bytes.
//!
//! All other tests compare machines with each other, and all machines build on the same lowering.
//! Here its results are compared with values worked out by hand.

use wireloom_compile::passes::PassOptions;
use wireloom_ir::{Execute, Golden, Verdict};
use wireloom_net::Packet;

/// Runs an engine on one packet, as sequential and as optimised code. Returns the verdicts and the
/// bytes of the packets that leave.
fn run(source: &str, packet: &[u8]) -> Vec<(Verdict, Vec<u8>)> {
    let checked =
        wireloom_lang::check_source("test.loom", source, &wireloom_lang::Options::default());
    let program = checked.program.unwrap_or_else(|| {
        panic!("{}", wireloom_lang::render(&checked.diagnostics, &checked.sources, false))
    });
    let sequential = wireloom_compile::lower(&program);
    let mut optimised = sequential.clone();
    wireloom_compile::pipeline::optimise(&mut optimised, &Default::default());
    let [first, second] = [sequential, optimised].map(|program| {
        wireloom_ir::verify(&program)
            .unwrap_or_else(|p| panic!("{p:?}\n{}", wireloom_ir::print(&program)));
        let store = wireloom_ir::store(&program).expect("the offloads can be made");
        let mut out = Vec::new();
        let arriving = Packet { ingress: 3, arrival_ns: 1_000, bytes: packet.to_vec() };
        Golden::new(program, store)
            .execute(&[arriving], &mut |o| out.push((o.verdict, o.bytes.to_vec())));
        out
    });
    assert_eq!(first, second, "optimisation changes what the program means");
    first
}

/// Runs statements that see the packet as `u8 in[16]` and `u32 w[4]`, and returns `u64 out`.
fn eval(statements: &str) -> u64 {
    let source = format!(
        "header In {{ u8 b[16]; }};
         header Wide {{ u32 w; }};
         header Out {{ u64 v; }};
         struct Pair {{ u8 a; u16 b; }};
         struct Nest {{ Pair p; u4 c; bool d; }};
         enum Colour : u8 {{ RED, GREEN = 5, BLUE }};
         enum Why : u8 {{ BAD }};
         const u16 TABLE[4] = {{ 10, 20, 30, 40 }};
         u8 twice(u8 x) {{ return x + x; }}
         u8 clamp(u8 x) {{ if (x > 100) return 100; return x; }}
         u8 first_above(u8 limit) {{
             for (u8 i = 0; i < 4; i++) {{ if (TABLE[i] > limit) return i; }}
             return 99;
         }}
         engine test() {{
             In in @ 0;
             Out result @ 0;
             u64 out;
             step work {{ {statements} next send; }}
             step send {{ packet.reset(8); next fill; }}
             step fill {{ result.v = out; finish; }}
         }}"
    );
    // Bytes 0x10, 0x21, 0x32, ... 0xff, 0x00 (the last wraps).
    let packet: Vec<u8> = (0..16u32).map(|i| (0x10 + 0x11 * i) as u8).collect();
    let out = run(&source, &packet);
    let [(Verdict::Sent { port: 0 }, bytes)] = out.as_slice() else {
        panic!("{statements}: {out:?}")
    };
    u64::from_be_bytes(bytes.as_slice().try_into().expect("eight bytes"))
}

#[test]
fn statements_mean_what_c_programmers_expect() {
    let cases: &[(&str, u64)] = &[
        // Arithmetic wraps at the operands' width; a cast widens first.
        ("u8 a = 200; out = a + 100;", 44),
        ("u8 a = 200; out = (u9)a + 100;", 300),
        ("u8 a = 5; out = (u8)(a - 6);", 255),
        ("u16 a = in.b[0]; out = a * a * a;", 4096),
        ("u8 z = in.b[0] - 16; out = (u32)(7 / z) * 1000 + 7 % z;", 255_007),
        ("u32 z = in.b[0]; out = z / 3 * 100 + z % 3;", 501),
        ("u8 s = in.b[0]; u16 x = 1; out = x << (s - 1);", 1 << 15),
        ("u8 s = in.b[0]; u16 x = 1; out = x << s;", 0),
        ("u8 s = in.b[0]; u32 x = 0x80000000; out = x >> (s + 15);", 1),
        ("u8 a = in.b[0]; out = (u8)~a; out = out * 256 + (u8)-a;", 0xeff0),
        // Comparison, logic.
        ("u8 a = in.b[0]; out = concat(a < 16, a <= 16, a > 15, a >= 17);", 6),
        ("u8 a = in.b[0]; out = (a == 16 && a != 17) ? 1 : 2;", 1),
        ("u8 a = in.b[0]; if (a) out = 3; else out = 4;", 3),
        ("u8 a = in.b[0]; out = !a; out = out * 2 + !!a;", 1),
        ("u8 a = in.b[0]; out = a == 1 || a == 16 ? 11 : 12;", 11),
        // Slices, bits, concatenation.
        ("u16 a = 0xabcd; a += in.b[15] - 15; out = a[11:4];", 0xbc),
        ("u16 a = 0; a[11:4] = in.b[1]; a[0:0] = 1; out = a;", 0x211),
        ("u16 a = 0x8001; out = concat(a[15], a[1], a[0]);", 5),
        ("u8 i = in.b[0] - 13; u8 a = 0; a[i] = 1; out = a * 2 + a[i];", 17),
        ("u8 i = in.b[0]; u8 a = 7; a[i] = 1; out = a * 2 + a[i];", 14),
        ("out = concat(in.b[0], (u4)5, in.b[2][3:0]);", 0x1052),
        // Structures, arrays, casts by packed bits.
        ("Pair p = { .b = 7, .a = 1 }; out = (u24)p;", 0x0001_0007),
        ("Pair p = (Pair)(u24)0x123456; out = p.b;", 0x3456),
        (
            "Nest n = { { 1, 2 }, 3, true }; n.p.b += in.b[0]; out = (u29)n;",
            (1 << 21) | (18 << 5) | (3 << 1) | 1,
        ),
        ("Pair p = { 1, 2 }; Pair q = p; q.b = 3; out = concat(p == q, p != q);", 1),
        ("u8 a[4] = { 1, 2, 3, 4 }; u8 i = in.b[0] - 14; a[i] = 9; out = (u32)a;", 0x0102_0904),
        ("u8 a[4] = { 1, 2, 3, 4 }; u8 i = in.b[0]; a[i] = 9; out = (u32)a;", 0x0102_0304),
        ("u8 i = in.b[0] - 15; out = TABLE[i];", 20),
        ("u8 i = in.b[0]; out = TABLE[i];", 0),
        ("u8 a[4]; for (u8 i = 0; i < 4; i++) a[i] = in.b[i]; out = (u32)a;", 0x1021_3243),
        // Enumerations.
        ("Colour c = BLUE; out = c;", 6),
        ("Colour c = (Colour)(in.b[0] - 11); out = c == GREEN ? 1 : 0;", 1),
        // switch
        (
            "switch (in.b[0]) { case 15: out = 1; break; case 16: case 17: out = 2; break; default: out = 3; }",
            2,
        ),
        ("switch (in.b[0]) { case 1: out = 1; break; default: out = 3; break; } out += 1;", 4),
        (
            "Colour c = GREEN; switch (c) { case RED: out = 1; break; case GREEN: out = 2; break; default: out = 9; break; }",
            2,
        ),
        // Loops, break, continue.
        (
            "u8 n = 0; for (u8 i = 0; i < 10; i++) { if (i == 3) continue; if (i == 6) break; n += i; } out = n;",
            12,
        ),
        ("for (u8 i = 0; i < 8; i++) { if (in.b[i] > 0x40) { out = i; break; } }", 3),
        ("for (u8 i = 10; i > 0; i -= 2) { out = out * 10 + i / 2; }", 54321),
        (
            "for (u8 i = 0; i < 3; i++) for (u8 j = 0; j < 3; j++) { if (j > i) break; out += 1; }",
            6,
        ),
        ("for (u8 i = 0; i < 3; i++) { if (in.b[i] == 0x21) continue; out += in.b[i]; }", 0x42),
        // Functions.
        ("out = twice(twice(in.b[0]));", 64),
        ("out = (u32)clamp(in.b[0]) * 1000 + clamp(in.b[10]);", 16_100),
        ("out = first_above(in.b[0]) * 100 + first_above(35);", 103),
        ("out = first_above(250);", 99),
        ("out = (in.b[0] == 16 && twice(in.b[0]) == 32) ? twice(1) : twice(2);", 2),
        // Compound assignment and increments.
        (
            "u8 a = in.b[0]; a += 1; a -= 2; a *= 3; a |= 0x40; a ^= 1; a &= 0xfe; a <<= 1; a >>= 2; out = a;",
            0x36,
        ),
        ("u8 a = in.b[0]; a++; ++a; a--; out = a;", 17),
        // Scopes.
        ("u8 a = 1; { u8 a = 2; out = a; } out = out * 10 + a;", 21),
        // Views: reads, writes, at run-time offsets, outside the window.
        ("In late @ (u16)in.b[0] - 8; out = late.b[0];", 0x98),
        ("In late @ (u16)in.b[0] - 1; out = concat(late.b[0], late.b[1]);", 0x0f00),
        ("In late @ 200; out = late.b[0];", 0),
        ("in.b[1] = 7; in.b[2] += 1; out = concat(in.b[1], in.b[2]);", 0x0733),
        // A field partly outside the window is not written; a slice of it inside the window is.
        ("Wide edge @ 14; edge.w = 0; out = concat(in.b[14], in.b[15]);", 0xfe0f),
        ("Wide edge @ 14; edge.w[31:16] = 0x1234; out = concat(in.b[14], in.b[15]);", 0x1234),
        ("Wide edge @ 14; edge.w[23:8] = 0; out = concat(in.b[14], in.b[15]);", 0xfe0f),
        ("Wide edge @ 14; edge.w[31] = 0; out = concat(in.b[14], in.b[15]);", 0xfe0f),
        ("out = packet.length * 100 + packet.ingress;", 1603),
        ("out = packet.arrival;", 1000),
        (
            "packet.push(4); In fresh @ 0; fresh.b[0] = 9; out = concat(packet.length, fresh.b[0], fresh.b[4]);",
            0x0014_0910,
        ),
        ("packet.pop(3); out = in.b[0];", 0x43),
        ("packet.insert(1, 2); packet.remove(0, 2); out = concat(in.b[0], in.b[1]);", 0x21),
        ("out = concat(packet.pop(17), packet.pop(16)); out += packet.length;", 1),
    ];
    let mut wrong = Vec::new();
    for (statements, expected) in cases {
        let got = eval(statements);
        if got != *expected {
            wrong.push(format!("{statements}\n    expected {expected:#x}, got {got:#x}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn engine(body: &str) -> String {
    format!(
        "enum Why : u8 {{ BAD = 7, WORSE }}; header H {{ u8 a; u8 b; }}; engine test() {{ H h @ 0; {body} }}"
    )
}

#[test]
fn every_way_to_end_a_step() {
    let sent = |port, bytes: &[u8]| vec![(Verdict::Sent { port }, bytes.to_vec())];
    assert_eq!(run(&engine("step s { packet.egress = 4; finish; }"), &[1, 2]), sent(4, &[1, 2]));
    assert_eq!(run(&engine("step s { if (h.a == 1) done; finish; }"), &[1, 2]), []);
    let out = run(&engine("step s { if (h.a == 1) drop(WORSE); finish; }"), &[1, 2]);
    assert!(
        matches!(out[..], [(Verdict::Dropped(wireloom_ir::Reason::Program(_, 8)), _)]),
        "{out:?}"
    );
    let out = run(&engine("step s { Why w = h.b == 2 ? BAD : WORSE; to_cpu(w); }"), &[1, 2]);
    assert!(
        matches!(out[..], [(Verdict::ToCpu(wireloom_ir::Reason::Program(_, 7)), _)]),
        "{out:?}"
    );
    let both = run(&engine("step s { h.a = 9; emit(t); } step t { h.b = 8; finish; }"), &[1, 2]);
    assert_eq!(both, [sent(0, &[9, 2]), sent(0, &[9, 8])].concat());
}

#[test]
fn next_step_is_named_before_the_end_is_reached() {
    let source = |body: &str| {
        engine(&format!(
            "step s {{ {body} }} x() {{ packet.egress = 1; finish; }} y() {{ packet.egress = 2; finish; }} z() {{ packet.egress = 3; finish; }}"
        ))
    };
    let port = |body: &str, a: u8| match run(&source(body), &[a, 0])[..] {
        [(Verdict::Sent { port }, _)] => port,
        ref other => panic!("{other:?}"),
    };
    for (a, expected) in [(1, 1), (2, 2), (3, 3)] {
        let chain =
            "if (h.a == 1) Next_step = x; else if (h.a == 2) Next_step = y; else Next_step = z;";
        assert_eq!(port(chain, a), expected);
        assert_eq!(
            port("Next_step = z; if (h.a == 1) Next_step = x; if (h.a == 2) next y;", a),
            expected
        );
    }
}

#[test]
fn what_follows_a_conditional_end_happens_only_if_the_step_goes_on() {
    let source = engine(
        "step s {
             for (u8 i = 0; i < 3; i++) {
                 if (h.a == i) { h.b = i; if (i == 1) drop(BAD); if (i == 2) next t; }
                 h.b += 10;
             }
             packet.egress = 5;
             finish;
         }
         step t { packet.egress = 6; finish; }",
    );
    assert_eq!(run(&source, &[0, 50]), [(Verdict::Sent { port: 5 }, vec![0, 30])]);
    assert!(
        matches!(run(&source, &[1, 50])[..], [(Verdict::Dropped(_), ref b)] if b[..] == [1, 1])
    );
    assert_eq!(run(&source, &[2, 50]), [(Verdict::Sent { port: 6 }, vec![2, 2])]);
    assert_eq!(run(&source, &[9, 50]), [(Verdict::Sent { port: 5 }, vec![9, 80])]);
}

#[test]
fn context_lives_across_steps_and_locals_do_not() {
    let source = engine(
        "u8 kept; u8 round;
         step s { u8 local; local += 1; kept += local; round += 1; if (round < 4) next s; next t; }
         step t { h.a = kept; h.b = round; finish; }",
    );
    assert_eq!(run(&source, &[0, 0]), [(Verdict::Sent { port: 0 }, vec![4, 4])]);
    // No state survives into the next packet: a second run starts from zero.
    assert_eq!(run(&source, &[0, 0]), [(Verdict::Sent { port: 0 }, vec![4, 4])]);
}

#[test]
fn functions_write_through_views_that_they_are_given() {
    let source = engine(
        "void bump(H x) { x.a += 1; if (x.b == 0) return; x.b -= 1; }
         u8 sum(H x) { return x.a + x.b; }
         step s { H later @ 2; bump(h); bump(later); h.b = sum(later) + sum((H){ 3, 4 }); finish; }",
    );
    assert_eq!(run(&source, &[1, 2, 3, 0]), [(Verdict::Sent { port: 0 }, vec![2, 11, 4, 0])]);
}

#[test]
fn a_place_is_read_after_its_indices_are_evaluated() {
    let source = |read: &str| {
        engine(&format!(
            "u8 bits; u8 list[2]; u8 calls;
             u8 set() {{ bits = 0x80; list[1] = 9; calls += 1; return calls; }}
             u8 seven() {{ bits = 0x80; return 7; }}
             u8[2] whole() {{ calls += 1; return list; }}
             step s {{ h.a = {read}; h.b = bits + calls; finish; }}"
        ))
    };
    let result = |read: &str| match run(&source(read), &[1, 2]).remove(0) {
        (Verdict::Sent { .. }, bytes) => bytes,
        other => panic!("{read}: {other:?}"),
    };
    assert_eq!(result("bits[seven()]"), [1, 0x80]);
    assert_eq!(result("list[set()]"), [9, 0x81]);
    // An expression that is not a place is evaluated before the index.
    assert_eq!(result("whole()[set() - 1]"), [0, 0x82]);
    assert_eq!(result("bits + seven()"), [7, 0x80]);
}

#[test]
fn a_called_engine_replies() {
    let source = "
        struct Answer { u8 low; u16 sum; };
        engine add(u8 a, u16 b) -> Answer {
            u8 rounds;
            step go { rounds += 1; if (rounds < 3) next go; next reply; }
            step reply { Answer r = { a, a + b + rounds }; finish(r); }
        }
        header H { u8 a; u16 b; };
        engine test() {
            offload adder : engine add;
            H h @ 0;
            step s { auto r = adder.call(h.a, 1000); h.a = r.low + 1; h.b = r.sum; finish; }
        }";
    assert_eq!(run(source, &[5, 0, 0]), [(Verdict::Sent { port: 0 }, vec![6, 3, 240])]);
}

#[test]
fn calls_that_depend_on_each_other_are_made_in_order() {
    let source = engine(
        "offload cells : array<u8, size = 8>;
         step s {
             cells.write(1, h.a);
             u8 old = cells.exchange(1, 77);
             if (cells.read(1) == 77) { cells.add(2, old); h.b = cells.fetch_add(2, 1); }
             finish;
         }",
    );
    assert_eq!(run(&source, &[5, 0]), [(Verdict::Sent { port: 0 }, vec![5, 5])]);
}

#[test]
fn a_thread_that_never_ends_is_stopped() {
    let source = engine("u32 n; step s { n += 1; if (n == 0) finish; next s; }");
    assert_eq!(
        run(&source, &[1, 2]),
        [(Verdict::Dropped(wireloom_ir::Reason::Runaway), vec![1, 2])]
    );
}

#[test]
fn choices_have_the_lines_of_their_statements() {
    let source = "\
enum Why : u8 { BAD };
header H { u8 a; };
engine test() {
    H h @ 0;
    step s {
        if (h.a == 1) {
            if (h.a == 2) drop(BAD);
        }
        switch (h.a) {
            case 3:
                drop(BAD);
            case 4:
                done;
        }
        finish;
    }
}
";
    let checked = wireloom_lang::check_source("test.loom", source, &Default::default());
    let program = wireloom_compile::lower(&checked.program.expect("a program"));
    let mut lines = Vec::new();
    program.engines[0].steps[0].for_each_op(|op| {
        if matches!(op.kind, wireloom_ir::OpKind::If { .. }) {
            lines.push(op.loc.line);
        }
    });
    // Line 0 stands for the test whether the second `if` has dropped the packet, which no statement
    // makes.
    assert_eq!(lines, [6, 7, 0, 9, 9]);
}

#[test]
fn a_constant_array_is_one_table_and_reads_zero_outside() {
    let source = "
        struct Pair { u8 a; u200 b; };
        const u16 LONG[10] = { 100, 101, 102, 103, 104, 105, 106, 107, 108, 109 };
        const Pair PAIRS[8] = { { 1, 11 }, { 2, 12 }, { 3, 13 }, { 4, 14 },
                                { 5, 15 }, { 6, 16 }, { 7, 17 }, { 8, 18 } };
        header In { u8 i; u40 wide; u3 three; u5 rest; };
        header Out { u16 a; u16 b; u16 c; u8 d; u8 e; };
        engine tables() {
            In in @ 0;
            Out out @ 0;
            u16 a; u16 b; u16 c; u8 d; u8 e;
            step read {
                a = LONG[in.i];
                b = LONG[in.wide];
                c = LONG[in.three];
                Pair pair = PAIRS[in.three];
                d = pair.a;
                e = (u8)pair.b;
                packet.reset(8);
                next fill;
            }
            step fill { out.a = a; out.b = b; out.c = c; out.d = d; out.e = e; finish; }
        }";
    let cases: [([u8; 7], [u8; 8]); 3] = [
        ([9, 0, 0, 0, 0, 2, 7 << 5], [0, 109, 0, 102, 0, 107, 8, 18]),
        ([10, 1, 0, 0, 0, 2, 0], [0, 0, 0, 0, 0, 100, 1, 11]),
        ([255, 0, 0, 1, 0, 0, 3 << 5], [0, 0, 0, 0, 0, 103, 4, 14]),
    ];
    for (packet, expected) in cases {
        let out = run(source, &packet);
        assert_eq!(out[0].1, expected, "{packet:?}");
    }
    let checked =
        wireloom_lang::check_source("test.loom", source, &wireloom_lang::Options::default());
    let lowered = wireloom_compile::lower(&checked.program.expect("a program without errors"));
    let text = wireloom_ir::print(&lowered);
    assert_eq!(text.matches(" = table ").count(), 5, "one for each leaf that is read: {text}");
    assert_eq!(wireloom_ir::parse(&text).as_ref(), Ok(&lowered), "printed and parsed");
}

#[test]
fn functions_split_no_step_unless_a_service_computes_them() {
    let source = "
        header In { u32 key; u16 port; };
        engine functions() {
            offload crc : hash<u32>;
            offload dice : random;
            offload time : clock;
            In in @ 0;
            step only {
                u32 twice = crc.crc32(crc.crc32(in.key));
                u32 drawn = dice.next(dice.next(twice));
                packet.egress = (u16)(twice ^ drawn ^ (u32)time.now());
                finish;
            }
        }";
    let checked =
        wireloom_lang::check_source("test.loom", source, &wireloom_lang::Options::default());
    let lowered = wireloom_compile::lower(&checked.program.expect("a program without errors"));
    let steps = |served| {
        let mut program = lowered.clone();
        wireloom_compile::pipeline::optimise(
            &mut program,
            &PassOptions { served, ..PassOptions::default() },
        );
        program.engines[0].steps.len()
    };
    assert_eq!(steps(&[]), 1);
    assert_eq!(steps(&["random"]), 2, "one for each draw");
    assert_eq!(steps(&["hash", "random"]), 4);
}

/// Returns a program whose statements read and write arrays.
fn with_arrays(body: &str) -> String {
    format!(
        "struct Pair {{ u4 a; u3 b[2]; }};
        header In {{ u8 i; u8 j; u16 wide; u8 v; }};
        header Out {{ u8 x[6]; }};
        engine arrays() {{
            u8 bytes[40]; Pair pairs[20]; u5 grid[6][7];
            In in @ 0;
            Out out @ 0;
            u8 x[6];
            step work {{ {body} packet.reset(6); next fill; }}
            step fill {{ out.x = x; finish; }}
        }}"
    )
}

#[test]
fn long_arrays_indexed_at_run_time_are_memory_with_the_meaning_of_choices() {
    // i = 3, j = 41, wide = 0x1_02 (258), v = 9.
    let packet = [3, 41, 1, 2, 9];
    let cases = [
        // Elements of scalars: writes out of range have no effect, and reads there return zero.
        ("bytes[in.i] = in.v; bytes[in.j] = 7; x[0] = bytes[in.i]; x[1] = bytes[in.j];", [9, 0]),
        // A wide index is not truncated: 258 is out of range, although its low byte is 2.
        ("bytes[2] = 5; bytes[in.wide] = 6; x[0] = bytes[2]; x[1] = bytes[in.wide];", [5, 0]),
        // Structures of arrays: an index past the end of a row does not reach the next row.
        ("pairs[in.i].b[in.i - 2] = 5; x[0] = pairs[3].b[1]; x[1] = pairs[in.i].b[in.i];", [5, 0]),
        (
            "grid[in.i][in.v] = 5; grid[in.i - 1][6] = 8; x[0] = grid[3][2]; x[1] = grid[2][in.i + 3];",
            [0, 8],
        ),
        // A part of an element, and bits out of its range.
        (
            "bytes[in.i] = 0xf0; bytes[in.i][1:0] = 2; bytes[in.i][in.v] = 1; x[0] = bytes[3];",
            [0xf2, 0],
        ),
        // An arm that is not taken changes nothing.
        (
            "if (in.v == 9) bytes[in.i] = 1; else bytes[in.i] = 2; x[0] = bytes[in.i]; x[1] = bytes[0];",
            [1, 0],
        ),
        // A value that was read before a write does not change. A copy of an array does not change
        // either.
        ("u8 old = bytes[in.i]; bytes[in.i] = 4; x[0] = old; x[1] = bytes[in.i];", [0, 4]),
        (
            "bytes[in.i] = 4; Pair all[20] = pairs; all[in.i].a = 3; x[0] = all[3].a; x[1] = pairs[in.i].a;",
            [3, 0],
        ),
        // Whenever its declaration is reached, a local array is set to zero or to its initialiser.
        (
            "for (u8 k = 0; k < 2; k++) { u8 t[33]; x[k] = t[in.i]; t[in.i] = 6 + k; x[k] += t[3]; }",
            [6, 7],
        ),
    ];
    for (body, expected) in cases {
        let out = run(&with_arrays(body), &packet);
        assert_eq!(out[0].1[..2], expected, "{body}");
    }
}

#[test]
fn machines_without_arrays_get_choices() {
    let source = with_arrays("bytes[in.i] = in.v; x[0] = bytes[in.j];");
    let checked = wireloom_lang::check_source("test.loom", &source, &Default::default());
    let mut program = wireloom_compile::lower(&checked.program.expect("a program"));
    assert_eq!(program.engines[0].arrays.len(), 1, "one array is indexed at run time");
    let options = PassOptions { scalars: true, ..PassOptions::default() };
    wireloom_compile::pipeline::optimise(&mut program, &options);
    assert!(program.engines[0].arrays.is_empty());
    let mut reads = 0;
    for step in &program.engines[0].steps {
        step.for_each_op(|op| {
            reads += u32::from(matches!(op.kind, wireloom_ir::OpKind::ReadElement { .. }));
        });
    }
    assert_eq!(reads, 0);
}

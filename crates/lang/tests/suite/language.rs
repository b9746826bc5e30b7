//! Tests of the checker's output for each construct: the example of the reference, conversions, and
//! the form of the checked program.

use wireloom_bits::Bits;
use wireloom_lang::hir::{
    BinaryOp, EngineKind, Exit, Expr, ExprKind, OffloadTarget, Program, Projection, Resize, Root,
    StmtKind, Type, TypedEngine, VarKind,
};
use wireloom_lang::{Checked, Options, check_source, render};

fn checked(text: &str) -> Checked {
    check_source("test.loom", text, &Options::default())
}

/// Checks a program that must have no diagnostics.
fn program(text: &str) -> Program {
    let checked = checked(text);
    assert_eq!(render(&checked.diagnostics, &checked.sources, false), "");
    checked.program.expect("no diagnostics")
}

/// Returns the codes of a program's diagnostics in source order.
fn codes(text: &str) -> Vec<&'static str> {
    checked(text).diagnostics.iter().map(|d| d.code).collect()
}

/// Returns a program of one step with this body.
fn step(body: &str) -> String {
    format!("enum R {{ BAD }};\nengine e() {{ step s {{ {body} finish; }} }}")
}

/// Returns the main engine.
fn main(program: &Program) -> &TypedEngine {
    &program.engines[program.main.index()]
}

/// Returns the value that the first step assigns first to `packet.egress`.
fn egress(text: &str) -> Expr {
    let program = program(text);
    let body = &main(&program).steps[0].body;
    let assigned = body.iter().find_map(|s| match &s.kind {
        StmtKind::Assign(place, value) if matches!(place.root, Root::Meta(_)) => {
            Some(value.clone())
        }
        _ => None,
    });
    assigned.expect("an assignment of packet.egress")
}

/// Returns the constant value of an expression.
fn constant(expr: &str) -> Bits {
    match egress(&step(&format!("packet.egress = {expr};"))).kind {
        ExprKind::Const(bits) => bits,
        other => panic!("{expr} is not folded: {other:?}"),
    }
}

const REFERENCE: &str = include_str!("../../../../docs/language.md");

/// Returns the programs of the reference, which include headers of `programs/include`.
fn reference_examples() -> Vec<&'static str> {
    let blocks = REFERENCE.split("```c\n").skip(1);
    blocks.map(|rest| rest.split_once("```").expect("its end").0).collect()
}

fn check_reference(text: &str) -> Checked {
    let programs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs");
    let options = Options { include_dirs: vec![programs.into()], ..Options::default() };
    check_source("reference.loom", text, &options)
}

#[test]
fn addresses_are_constants_with_the_width_of_their_kind() {
    assert_eq!(constant("(u16)10.0.0.1"), Bits::new(16, 1));
    assert_eq!(constant("sizeof(2001:db8::1)"), Bits::new(16, 16));
    assert_eq!(constant("bitsof(02:00:00:00:00:01)"), Bits::new(16, 48));
    assert_eq!(constant("192.0.2.255[15:0]"), Bits::new(16, 0x02ff));
    assert_eq!(constant("concat(10.0.0.1, ff02::)[127:112]"), Bits::new(16, 0xff02));
    assert_eq!(codes(&step("u16 x = 10.0.0.1; packet.egress = x;")), ["W0601"]);
    assert_eq!(codes(&step("if (02:00:00:00:00:01 > 7) packet.egress = 1;")), [""; 0]);
    let wide = "switch (packet.arrival[47:0]) { case 2:0:0:0:0:1: break; default: finish; }";
    assert_eq!(codes(&step(wide)), [""; 0]);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    assert_eq!(codes(&format!("\u{feff}{}", step(""))), [""; 0]);
    assert_eq!(codes(&step("\u{feff}"))[0], "E0101");
}

#[test]
fn a_constant_can_be_set_to_an_address() {
    let options = Options {
        sets: vec![("GATEWAY".to_owned(), "192.0.2.9".to_owned())],
        ..Options::default()
    };
    let text = format!(
        "const u32 GATEWAY = 192.0.2.1;\n{}",
        step("static_assert(GATEWAY == 0xc0000209); packet.egress = GATEWAY[15:0];")
    );
    let checked = check_source("test.loom", &text, &options);
    assert_eq!(render(&checked.diagnostics, &checked.sources, false), "");
}

#[test]
fn every_example_of_the_reference_compiles() {
    for text in reference_examples() {
        let checked = check_reference(text);
        assert_eq!(render(&checked.diagnostics, &checked.sources, false), "", "{text}");
    }
}

#[test]
fn the_first_example_of_the_reference_means_what_it_says() {
    let checked = check_reference(reference_examples()[0]);
    let shown = render(&checked.diagnostics, &checked.sources, false);
    let program = checked.program.unwrap_or_else(|| panic!("{shown}"));
    assert_eq!(shown, "");
    let engine = main(&program);
    assert_eq!(engine.name, "forward");
    assert_eq!(engine.steps.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["parse", "look"]);
    let OffloadTarget::Kind(config) = &engine.offloads[0].target else { panic!("an lpm") };
    let value = config.value.as_ref().expect("routes have values");
    assert_eq!(value.fields, [("port".to_owned(), 8), ("class".to_owned(), 8)]);
    assert_eq!(config.param("miss"), &Bits::new(16, 255));
    assert!(matches!(&engine.views[1].offset.kind, ExprKind::Const(b) if *b == Bits::new(16, 14)));
}

#[test]
fn constants_are_folded_with_the_width_of_their_place() {
    assert_eq!(constant("1 + 2 * 3"), Bits::new(16, 7));
    assert_eq!(constant("~0"), Bits::new(16, 0xffff));
    assert_eq!(constant("-1"), Bits::new(16, 0xffff));
    assert_eq!(constant("0x1_0000 >> 4"), Bits::new(16, 0x1000));
    assert_eq!(constant("(u8)300"), Bits::new(16, 44));
    assert_eq!(constant("(u8)((u8)200 + (u8)100)"), Bits::new(16, 44));
    assert_eq!(constant("(u9)200 + (u8)100"), Bits::new(16, 300));
    assert_eq!(constant("'A'"), Bits::new(16, 65));
    assert_eq!(constant("concat((u4)1, (u8)2)"), Bits::new(16, 0x102));
    assert_eq!(constant("((u16)0x1234)[11:4]"), Bits::new(16, 0x23));
    assert_eq!(constant("((u16)0x8000)[15]"), Bits::new(16, 1));
    assert_eq!(constant("bitsof(u12) + sizeof(u12)"), Bits::new(16, 14));
    assert_eq!(constant("true ? 1 : 2"), Bits::new(16, 1));
    assert_eq!(constant("1 << 4 | 1"), Bits::new(16, 17));
}

#[test]
fn division_by_a_constant_zero_is_defined_and_warned_of() {
    assert_eq!(codes(&step("packet.egress = packet.ingress / 0;")), ["W0604"]);
    assert_eq!(codes(&step("packet.egress = 1 / 0;")), ["E0412"]);
}

#[test]
fn operators_follow_the_precedence_of_c() {
    let text = step("packet.egress = (bool)packet.ingress & packet.length == 3 ? 1 : 2;");
    let ExprKind::Conditional(condition, ..) = egress(&text).kind else { panic!("a choice") };
    // `&` binds less tightly than `==`, as in C: ((bool)ingress & (length == 3)) != 0.
    let ExprKind::Binary(BinaryOp::Ne, left, _) = condition.kind else {
        panic!("made a condition")
    };
    assert!(matches!(left.kind, ExprKind::Binary(BinaryOp::And, ..)));
}

#[test]
fn narrower_operands_are_extended_and_casts_stand_for_it() {
    let value = egress(&step("u8 x = (u8)packet.length; packet.egress = x + packet.ingress;"));
    let ExprKind::Binary(BinaryOp::Add, a, b) = value.kind else { panic!("a sum") };
    assert_eq!((&a.ty, &b.ty), (&Type::Bits(16), &Type::Bits(16)));
    assert!(matches!(a.kind, ExprKind::Cast(inner) if inner.ty == Type::Bits(8)));
}

#[test]
fn narrowing_is_silent_where_the_value_provably_fits() {
    for fits in [
        "packet.length & 0xff",
        "packet.length >> 8",
        "packet.length % 200",
        "packet.length[15:8]",
        "packet.length / 256",
        "(u16)(u8)packet.length",
        "packet.length > 5 ? packet.ingress[3:0] : 7",
        "(u16)packet.ingress[3:0] * 15 + packet.length[2:0]",
        "sizeof(u64)",
        "packet.length == 4",
    ] {
        assert_eq!(
            codes(&step(&format!("u8 x = {fits}; packet.egress = x;"))),
            Vec::<&str>::new(),
            "{fits}"
        );
    }
    for loses in [
        "packet.length",
        "packet.length & 0x1ff",
        "packet.length >> 7",
        "packet.length % 257",
        "~packet.length[7:0] + packet.length",
    ] {
        assert_eq!(
            codes(&step(&format!("u8 x = {loses}; packet.egress = x;"))),
            ["W0601"],
            "{loses}"
        );
    }
}

#[test]
fn wrapping_before_widening_is_silent_where_it_is_impossible_invisible_or_intended() {
    let of = |value: &str| {
        codes(&step(&format!(
            "u8 a = packet.ingress[7:0]; u8 b = packet.length[7:0]; u64 x = {value}; packet.egress = x[15:0] ^ b;"
        )))
    };
    for silent in [
        "(u16)a * b",
        "(a >> 1) + (b >> 1)",
        "(a & 15) * (b & 15)",
        "a % 16 << 4",
        "a % 16 + 240",
        "255 - a",
        "(a + b) & 0x7f",
        "(u8)(a + b)",
        "(u4)(a * b)",
        "(a * b)[3:0]",
        "a > 3 ? 255 - b : b / 2",
    ] {
        assert_eq!(of(silent), Vec::<&str>::new(), "{silent}");
    }
    for wraps in [
        "a + b",
        "a - b",
        "a * b + packet.arrival",
        "(u64)(a << 1)",
        "(a + b) >> 1",
        "(a + b) | 1",
        "~(a + b)",
        "-a",
        "a > 3 ? a + 1 : 0",
        "packet.arrival << a * 2",
    ] {
        assert_eq!(of(wraps), ["W0606"], "{wraps}");
    }
    // A value that keeps its width may wrap.
    assert_eq!(codes(&step("packet.egress = packet.ingress * 3 - 1;")), Vec::<&str>::new());
    // In a loop, the values of the variable are known.
    let round = |value: &str| {
        codes(&step(&format!("u16 x; for (u4 i = 1; i < 8; i++) x += {value}; packet.egress = x;")))
    };
    assert_eq!(round("i * 2 + (7 - i)"), ["W0606"]);
    assert_eq!(round("i * 2 + 1"), Vec::<&str>::new());
    assert_eq!(round("7 - i"), Vec::<&str>::new());
    assert_eq!(round("6 - i"), ["W0606"]);
}

#[test]
fn offsets_and_lengths_that_may_wrap_are_refused() {
    let of = |body: &str| {
        codes(&format!(
            "header I {{ u4 a, ihl; }}; header T {{ u16 p; }};
             engine e() {{ offload sum : checksum; I ip @ 14; u4 at; T late @ {}; step s {{ {body} finish; }} }}",
            if body.contains("late") { "at + 8" } else { "(u16)at + 8" },
        ))
        .into_iter()
        .filter(|c| !c.starts_with("W07"))
        .collect::<Vec<_>>()
    };
    for refused in [
        "T t @ ip.ihl * 4; packet.egress = t.p;",
        "T t @ packet.ingress + ip.ihl * 4; packet.egress = t.p;",
        "packet.egress = sum.sum(0, ip.ihl * 4, 0);",
        "packet.push(ip.ihl + 3);",
        "packet.remove(ip.ihl * 4, 1);",
        "packet.egress = late.p;",
    ] {
        assert_eq!(of(refused), ["E0418"], "{refused}");
    }
    for accepted in [
        "T t @ (u16)ip.ihl * 4; packet.egress = t.p;",
        "T t @ (u4)(ip.ihl * 4); packet.egress = t.p;",
        "T t @ packet.ingress + 4; packet.egress = t.p;",
        "packet.remove(packet.length - 4, 4);",
    ] {
        assert_eq!(of(accepted), Vec::<&str>::new(), "{accepted}");
    }
    // The start value of a checksum is neither an offset nor a length. A cast widens explicitly, if
    // perhaps too late.
    assert_eq!(of("packet.egress = sum.sum(0, 8, ip.ihl + 1);"), ["W0606"]);
    assert_eq!(of("T t @ (u16)(ip.ihl * 4); packet.egress = t.p;"), ["W0606"]);
}

#[test]
fn literals_are_compared_and_chosen_by_their_exact_values() {
    let holds = |condition: &str| codes(&format!("static_assert({condition});\n{}", step("")));
    for yes in [
        "sizeof(u32) - 100 < 0",
        "-1 < 0 && 1 - 2 != 1",
        "~0 == -1",
        "(1 << 80) > 1",
        "(1<2?3:4) == 3",
        "(1 > 2 ? 1 / 0 : -5) < -4",
        "!(0 > 1)",
    ] {
        assert_eq!(holds(yes), Vec::<&str>::new(), "{yes}");
    }
    for no in ["sizeof(u32) - 100 >= 0", "-1 > 0", "(1<2?3:4) == 4"] {
        assert_eq!(holds(no), ["E0404"], "{no}");
    }
    assert_eq!(constant("(1<2?3:4)"), Bits::new(16, 3));
    assert_eq!(constant("concat((u8)(1<2?300:4))"), Bits::new(16, 44));
}

#[test]
fn what_a_machine_refuses_is_found_in_the_text() {
    let text = "engine inner(u8 a) -> u8 { offload cells : array<u8, size = 4>; step go { finish(cells.read(a)); } }
        engine e() { offload deep : engine inner; u8 x;
            step s { x = deep.call((u8)packet.length); next s_late; }
            step s_late { packet.egress = x; finish; } }";
    let program = program(text);
    let at = |offload: Option<&str>, step: Option<&str>| {
        let span = program.declared(offload, step);
        &text[span.start as usize..span.end as usize]
    };
    assert_eq!(at(Some("deep"), Some("s")), "deep");
    assert_eq!(at(Some("deep.cells"), None), "cells");
    assert_eq!(at(Some("none"), Some("s_late")), "s_late");
    assert_eq!(at(None, Some("s_2")), "s");
    assert_eq!(at(None, Some("go")), "go");
    assert_eq!(at(None, None), "e");
}

#[test]
fn rounds_without_operations_count_as_operations() {
    let rounds = |n: u32| {
        codes(&step(&format!("for (u12 a = 0; a < {n}; a++) for (u12 b = 0; b < {n}; b++) {{ }}")))
    };
    assert_eq!(rounds(500), Vec::<&str>::new());
    assert_eq!(rounds(600), ["E0521"]);
}

#[test]
fn an_index_known_at_run_time_only_counts_as_a_choice_among_all_elements() {
    let rounds = |index: &str| {
        codes(&step(&format!(
            "u1 seen[4096]; for (u12 k = 0; k < 4000; k++) seen[{index}] = 1;
             packet.egress = (u16)seen[7];"
        )))
    };
    assert_eq!(rounds("k ^ 5"), Vec::<&str>::new());
    assert_eq!(rounds("(u12)packet.length ^ k"), ["E0521"]);
    let once = "u1 seen[4096]; seen[(u12)packet.length] = 1; packet.egress = (u16)seen[7];";
    assert_eq!(codes(&step(once)), Vec::<&str>::new());
}

#[test]
fn an_index_into_a_header_counts_eight_times_as_many() {
    let rounds = |n: u32| {
        codes(&format!(
            "header H {{ u8 a[128]; }};
             engine e() {{
                 step s {{
                     H h @ 0;
                     for (u16 k = 0; k < {n}; k++) h.a[(u7)packet.length ^ (u7)k] = 1;
                     finish;
                 }}
             }}"
        ))
    };
    assert_eq!(rounds(200), Vec::<&str>::new());
    assert_eq!(rounds(300), ["E0521"]);
}

#[test]
fn an_engine_of_very_many_steps_is_refused() {
    let steps = |n: u32| {
        let all: String =
            (0..n).map(|k| format!("step s{k} {{ x += {k}; next s{}; }} ", k + 1)).collect();
        codes(&format!("engine e() {{ u16 x; {all} step s{n} {{ packet.egress = x; finish; }} }}"))
    };
    assert_eq!(steps(4000), Vec::<&str>::new());
    assert_eq!(steps(8000), ["E0521"]);
}

#[test]
fn enumerations_become_numbers_but_not_the_other_way() {
    let with = |body: &str| format!("enum T : u16 {{ A = 7, B, C = A + 3 }};\n{}", step(body));
    let value = egress(&with("packet.egress = C;"));
    assert!(matches!(value.kind, ExprKind::Const(b) if b == Bits::new(16, 10)));
    assert_eq!(codes(&with("if (packet.ingress == B) packet.egress = 1;")), Vec::<&str>::new());
    assert_eq!(codes(&with("T t = 7; packet.egress = t;")), ["E0307"]);
    assert_eq!(codes(&with("T t = (T)7; packet.egress = t;")), Vec::<&str>::new());
    assert_eq!(codes(&with("if (A == BAD) packet.egress = 1;")), ["E0306"]);
}

#[test]
fn names_may_be_used_before_they_are_declared() {
    program(
        "engine e() { step s { packet.egress = twice(FIRST) + (u16)o.call(1); finish; } offload o : engine later; }
         engine later(u8 x) -> u8 { step s { finish(table[x]); } }
         u16 twice(Small x) { return (u16)x.a << 1; }
         const Small FIRST = { .a = LAST };
         const u8 table[SIZE] = { 1, 2, LAST };
         struct Small { u8 a; };
         const u8 SIZE = LAST + 1; const u8 LAST = 2;"
            .replace("engine e() {", "engine e() { ")
            .as_str(),
    );
}

#[test]
fn the_last_engine_that_takes_packets_runs_and_callees_come_first() {
    let text = "engine first() { step s { finish; } }
        engine second() { offload o : engine callee; step s { packet.egress = o.call(packet.ingress); finish; } }
        engine callee(u16 x) -> u16 { step s { finish(x + 1); } }";
    let p = program(text);
    assert_eq!(main(&p).name, "second");
    let names: Vec<&str> = p.engines.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["first", "callee", "second"]);
    assert!(
        matches!(&p.engines[1].kind, EngineKind::Call { params, reply: Type::Bits(16) } if params.len() == 1)
    );
    let options = Options { engine: Some("first".into()), ..Options::default() };
    let p = check_source("test.loom", text, &options).program.expect("it runs");
    assert_eq!(main(&p).name, "first");
}

#[test]
fn constants_are_set_from_the_command_line() {
    let text = "const u16 PORT = 1; const u16 OTHER = PORT + 1; engine e() { step s { packet.egress = OTHER; finish; } }";
    let value = |sets: &[(&str, &str)]| {
        let sets = sets.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let checked = check_source("test.loom", text, &Options { sets, ..Options::default() });
        let p = checked.program?;
        let StmtKind::Assign(_, value) = &main(&p).steps[0].body[0].kind else {
            panic!("an assignment")
        };
        let ExprKind::Const(bits) = &value.kind else { panic!("a constant") };
        bits.to_u64()
    };
    assert_eq!(value(&[]), Some(2));
    assert_eq!(value(&[("PORT", "0x10")]), Some(17));
    assert_eq!(value(&[("PORT", "3"), ("PORT", "2 * 2")]), Some(5), "the later one counts");
    assert_eq!(value(&[("PORT", "70000")]), None);
    assert_eq!(value(&[("PORT", "1 +")]), None);
    assert_eq!(value(&[("PROT", "1")]), None);
}

#[test]
fn a_header_parameter_is_a_view_or_a_value_as_the_call_gives_it() {
    let p = program(
        "header H { u8 a; u8 b; };
         u8 bump(H h) { h.a += 1; return h.a; }
         engine e() {
             u16 at;
             H outer @ at + 1;
             step s {
                 at = packet.ingress;
                 H inner @ 4;
                 H copy = inner;
                 packet.egress = (u16)bump(outer) + bump(inner) + bump(copy);
                 finish;
             }
         }",
    );
    let engine = main(&p);
    assert_eq!(engine.functions.len(), 2, "one instance for views, one for values");
    let (by_view, by_value) = (&engine.functions[0], &engine.functions[1]);
    let param = |f: &wireloom_lang::hir::Function| engine.vars[f.params[0].index()].ty.clone();
    assert_eq!(param(by_view), Type::Bits(16), "a view's byte offset");
    assert!(matches!(param(by_value), Type::Struct(_)));
    let root = |f: &wireloom_lang::hir::Function| match &f.body[0].kind {
        StmtKind::Assign(place, _) => place.root.clone(),
        other => panic!("an assignment: {other:?}"),
    };
    assert!(matches!(root(by_view), Root::Local(var, _) if var == by_view.params[0]));
    assert!(matches!(root(by_value), Root::Var(var) if var == by_value.params[0]));
}

#[test]
fn file_level_functions_are_instantiated_for_each_engine() {
    let p = program(
        "u16 inc(u16 x) { return x + 1; }
         engine callee(u16 x) -> u16 { step s { finish(inc(x)); } }
         engine e() { offload o : engine callee; step s { packet.egress = o.call(inc(2)); finish; } }",
    );
    assert!(p.engines.iter().all(|e| e.functions.len() == 1 && e.functions[0].name == "inc"));
}

#[test]
fn switch_cases_lose_their_breaks_and_early_breaks_leave_a_loop_of_one_round() {
    let p = program(&step(
        "switch (packet.ingress) {
             case 0: case 1: packet.egress = 1; break;
             case 2: { packet.egress = 3; break; }
             default: packet.egress = 2;
         }",
    ));
    let StmtKind::Switch { cases, default, .. } = &main(&p).steps[0].body[0].kind else {
        panic!("a switch")
    };
    assert_eq!(cases[0].0, [Bits::new(16, 0), Bits::new(16, 1)]);
    assert_eq!((cases[0].1.len(), default.len()), (1, 1));

    let p = program(&step(
        "switch (packet.ingress) {
             case 0: if (packet.length > 60) break; packet.egress = 1; break;
             default: break;
         }",
    ));
    let StmtKind::For { values, body, .. } = &main(&p).steps[0].body[0].kind else {
        panic!("a loop")
    };
    assert_eq!(values.len(), 1);
    assert!(matches!(body[0].kind, StmtKind::Switch { .. }));
}

#[test]
fn loops_take_their_values_from_their_head() {
    let values = |head: &str| {
        let p =
            program(&step(&format!("u16 sum = 0; for ({head}) sum += i; packet.egress = sum;")));
        let found = main(&p).steps[0].body.iter().find_map(|s| match &s.kind {
            StmtKind::For { values, .. } => {
                Some(values.iter().map(|v| v.low_u64()).collect::<Vec<_>>())
            }
            _ => None,
        });
        found.expect("a loop")
    };
    assert_eq!(values("u8 i = 0; i < 4; i++"), [0, 1, 2, 3]);
    assert_eq!(values("u8 i = 12; i != 0; i -= 4"), [12, 8, 4]);
    assert_eq!(values("u16 i = 1; i <= 100; i <<= 2"), [1, 4, 16, 64]);
    assert_eq!(values("u8 i = 3; i > 0 && i < 9; i = i * 2 + 1"), [3, 7]);
}

#[test]
fn indices_of_compound_assignments_are_evaluated_once() {
    let p = program(
        "engine e() {
             offload r : random;
             u8 a[4];
             step s { a[r.next(1)] += 3; a[2] += 1; packet.egress = a[0]; finish; }
         }",
    );
    let engine = main(&p);
    let StmtKind::Local(index, Some(value)) = &engine.steps[0].body[0].kind else {
        panic!("the index first")
    };
    assert!(matches!(value.kind, ExprKind::Offload(..)));
    let StmtKind::Assign(place, _) = &engine.steps[0].body[1].kind else { panic!("then the sum") };
    let Projection::Index(used) = &place.path[0] else { panic!("an element") };
    assert!(
        matches!(&used.kind, ExprKind::Read(p) if matches!(p.root, Root::Var(v) if v == *index))
    );
}

#[test]
fn bits_of_a_place_can_be_assigned_and_updated() {
    let p = program(
        "engine e() { u16 x; step s { x[7:4] = 3; x[0] = 1; x[15:8] += 1; packet.egress = x; finish; } }",
    );
    let body = &main(&p).steps[0].body;
    let last = |i: usize| match &body[i].kind {
        StmtKind::Assign(place, value) => {
            (place.path.last().cloned().expect("bits"), value.clone())
        }
        other => panic!("an assignment: {other:?}"),
    };
    assert!(matches!(last(0).0, Projection::Slice(7, 4)));
    assert!(matches!(last(1).0, Projection::Run(_, 1)));
    let (slice, value) = last(2);
    assert!(matches!(slice, Projection::Slice(15, 8)));
    let ExprKind::Binary(BinaryOp::Add, old, _) = value.kind else { panic!("a sum") };
    let ExprKind::Slice(whole, 15, 8) = old.kind else { panic!("the old bits") };
    assert_eq!(whole.ty, Type::Bits(16));
}

#[test]
fn replies_of_several_parts_are_structures_named_after_the_method() {
    let p = program(
        "engine e() {
             offload cache : exact<u32, u16, size = 64>;
             step s {
                 auto r = cache.lookup(1);
                 if (r.found) packet.egress = r.value;
                 if (cache.lookup(2).found) packet.egress = 9;
                 finish;
             }
         }",
    );
    let records: Vec<_> = p.structs.iter().filter(|s| s.name == "cache.lookup").collect();
    assert_eq!(records.len(), 1, "one structure for all calls of the method");
    let fields: Vec<_> =
        records[0].fields.iter().map(|f| (f.name.as_str(), f.ty.clone())).collect();
    assert_eq!(fields, [("found", Type::Bool), ("value", Type::Bits(16))]);
}

#[test]
fn packet_operations_have_an_offset_and_a_count() {
    let p = program(&step("packet.push(4); if (!packet.remove(12, 4)) drop(BAD);"));
    let StmtKind::Expr(push) = &main(&p).steps[0].body[0].kind else { panic!("a statement") };
    let ExprKind::Resize(Resize::Insert(offset, count)) = &push.kind else {
        panic!("an insertion")
    };
    assert!(matches!(&offset.kind, ExprKind::Const(b) if *b == Bits::new(16, 0)));
    assert!(matches!(&count.kind, ExprKind::Const(b) if *b == Bits::new(16, 4)));
    assert_eq!(push.ty, Type::Bool);
}

#[test]
fn every_ending_of_a_step_is_there() {
    let p = program(
        "enum R : u8 { BAD };
         engine e() {
             step a {
                 switch (packet.ingress) {
                     case 0: next b;
                     case 1: emit(b);
                     case 2: drop(BAD);
                     case 3: to_cpu(BAD);
                     case 4: done;
                     case 5: to_cpu(BAD, b);
                     case 6: to_cpu(BAD, b, 14, packet.length - 14);
                     case 7: emit(b, 2, 60);
                     default: finish;
                 }
             }
             step b { Next_step = a; if (packet.length > 60) finish; }
         }",
    );
    let StmtKind::Switch { cases, default, .. } = &main(&p).steps[0].body[0].kind else {
        panic!("a switch")
    };
    let exit = |i: usize| match &cases[i].1[0].kind {
        StmtKind::Exit(exit) => exit.clone(),
        other => panic!("an ending: {other:?}"),
    };
    assert!(matches!(exit(0), Exit::Next(s) if s.0 == 1));
    assert!(matches!(exit(1), Exit::Emit(s, c) if s.0 == 1 && c.parts().next().is_none()));
    assert!(matches!(exit(2), Exit::Drop(_)));
    assert!(matches!(exit(3), Exit::ToCpu(_)));
    assert!(matches!(exit(4), Exit::Done));
    let copied = |i: usize| match exit(i) {
        Exit::Emit(step, copied) if step.0 == 1 => (copied.cpu.is_some(), copied.bytes.is_some()),
        other => panic!("a copy: {other:?}"),
    };
    assert_eq!([5, 6, 7].map(copied), [(true, false), (true, true), (false, true)]);
    assert!(matches!(default[0].kind, StmtKind::Exit(Exit::Finish)));
    assert!(matches!(main(&p).steps[1].body[0].kind, StmtKind::SetNext(s) if s.0 == 0));
}

#[test]
fn parameters_of_called_engines_are_context() {
    let p = program(
        "struct Key { u32 a; u8 b; };
         engine walk(Key key, u8 kind) -> u32 { step s { key.a += kind; finish(key.a + key.b); } }
         engine e() { offload w : engine walk; step s { packet.egress = (u16)w.call({ 1, 2 }, 3); finish; } }",
    );
    let EngineKind::Call { params, .. } = &p.engines[0].kind else { panic!("called") };
    assert!(params.iter().all(|v| p.engines[0].vars[v.index()].kind == VarKind::Context));
}

#[test]
fn several_errors_are_told_in_one_run() {
    let text = "enum R { BAD }; engine e() {
        u8 x
        step a { y = 1; next c; }
        step b { x = 1 +; packet.egress = x; z(); finish; }
        wrong w;
    }";
    let found = codes(text);
    for code in ["E0106", "E0201", "E0204", "E0205", "E0202"] {
        assert!(found.contains(&code), "{code} among {found:?}");
    }
}

#[test]
fn what_follows_from_an_error_is_not_told_again() {
    assert_eq!(codes(&step("Unknown x = 1; x.a = 2; packet.egress = x + 1;")), ["E0202"]);
    assert_eq!(
        codes("struct S { Unknown u; }; engine e() { S s; step a { s.u = 1; finish; } }"),
        ["E0202"]
    );
    assert_eq!(codes(&step("packet.egress = nothing(1); u8 unused;")), ["E0205"]);
    // Unused declarations are reported only without errors, wherever the error is.
    for error in ["", "packet.egress = port;"] {
        let text = format!(
            "const u8 K = 3; u8 f(u8 a) {{ return a; }}
             header H {{ u8 a; }};
             engine e() {{
                 offload t : counter<size = 4>; u8 idle; H h @ 0;
                 step a {{ u16 port = 7; next b; }}
                 step b {{ {error} finish; }}
             }}"
        );
        let found = codes(&text);
        let all = ["W0707", "W0706", "W0702", "W0703", "W0714", "W0712"];
        assert_eq!(found, if error.is_empty() { &all[..] } else { &["E0201"] });
    }
}

#[test]
fn included_files_are_read_in_place_once_for_each_scope() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/include");
    let checked = wireloom_lang::check(&folder.join("main.loom"), &Options::default());
    assert_eq!(render(&checked.diagnostics, &checked.sources, false), "");
    let p = checked.program.expect("no diagnostics");
    assert_eq!(p.engines.len(), 2);
    assert!(p.engines.iter().all(|e| e.steps.iter().filter(|s| s.name == "send").count() == 1));
    assert_eq!(checked.sources.files.len(), 3, "each file is kept once");
}

/// A library of two folders.
fn library(name: &str) -> Option<Result<String, String>> {
    let text = match name {
        "programs/main.loom" => {
            "#include \"parts/a.loom\"\nengine main() { step only { packet.egress = A; finish; } }"
        }
        "programs/parts/a.loom" => "#include \"../b.loom\"\nconst u16 A = B;",
        "programs/b.loom" => "const u16 B = 3;",
        "programs/damaged.loom" => return Some(Err("damaged".to_owned())),
        _ => return None,
    };
    Some(Ok(text.to_owned()))
}

#[test]
fn a_librarys_files_include_each_other_without_a_disk() {
    let options = Options { library: Some(library), ..Options::default() };
    let checked =
        wireloom_lang::check(std::path::Path::new("wireloom:programs/main.loom"), &options);
    assert!(checked.program.is_some(), "{}", render(&checked.diagnostics, &checked.sources, false));
    let paths: Vec<_> =
        checked.sources.files.iter().map(|file| file.path.display().to_string()).collect();
    assert_eq!(
        paths,
        [
            "wireloom:programs/main.loom",
            "wireloom:programs/parts/a.loom",
            "wireloom:programs/b.loom"
        ]
    );
    for wrong in ["none.loom", "damaged.loom", "../../b.loom"] {
        let path = format!("wireloom:programs/{wrong}");
        let checked = wireloom_lang::check(std::path::Path::new(&path), &options);
        assert_eq!(checked.diagnostics[0].code, "E0109", "{wrong}");
    }
}

#[test]
fn a_file_on_disk_comes_before_the_librarys() {
    let folder = tempfile::tempdir().expect("a folder");
    let main = folder.path().join("main.loom");
    let text =
        "#include \"programs/b.loom\"\nengine main() { step only { packet.egress = B; finish; } }";
    std::fs::write(&main, text).expect("a file");
    let second = |library| {
        let options = Options { library, ..Options::default() };
        let checked = wireloom_lang::check(&main, &options);
        checked.sources.files.get(1).map(|file| file.path.clone())
    };
    assert_eq!(second(None), None);
    assert_eq!(
        second(Some(library)).as_deref(),
        Some(std::path::Path::new("wireloom:programs/b.loom"))
    );
    std::fs::create_dir(folder.path().join("programs")).expect("a folder");
    std::fs::write(folder.path().join("programs/b.loom"), "const u16 B = 4;").expect("a file");
    assert_eq!(second(Some(library)), Some(folder.path().join("programs/b.loom")));
}

#[test]
fn counts_choices_and_runs_of_bits_are_computed_where_they_can_be() {
    for (expr, value) in [
        ("popcount((u8)0xf1)", 5),
        ("clz((u16)1)", 15),
        ("clz((u16)0)", 16),
        ("min((u16)3, 0x1000)", 3),
        ("max((u8)3, (u16)0x1000)", 0x1000),
        ("((u16)0x1234)[4 +: 4]", 3),
        ("((u16)0x1234)[(u8)8 +: 8]", 0x12),
    ] {
        assert_eq!(constant(expr).to_u64(), Some(value), "{expr}");
    }
    assert_eq!(
        codes(
            "const u8 N = max(popcount(7), 2); static_assert(N == 3); engine e() { step s { finish; } }"
        ),
        [""; 0]
    );
}

#[test]
fn runs_of_bits_lie_inside_the_number() {
    let codes = |body: &str| codes(&step(&format!("u32 x = packet.length; u8 i = 3; {body}")));
    assert_eq!(codes("packet.egress = x[i +: 16];"), [""; 0]);
    assert_eq!(codes("x[i +: 33] = 1; packet.egress = (u16)x;"), ["E0405"]);
    assert_eq!(codes("packet.egress = x[i +: 0];"), ["E0405"]);
    assert_eq!(codes("packet.egress = x[i +: i];"), ["E0402"]);
    assert_eq!(codes("packet.egress = x[30 +: 4] ^ i;"), ["W0605"]);
    assert_eq!(codes("x[7:0][i +: 2] = 1; packet.egress = (u16)x;"), ["E0409"]);
    // The width of the selection or of the count bounds the value.
    assert_eq!(codes("u3 three = x[i +: 3]; packet.egress = three;"), [""; 0]);
    assert_eq!(codes("u6 ones = popcount(x); packet.egress = ones ^ i;"), [""; 0]);
    assert_eq!(codes("u5 ones = popcount(x); packet.egress = ones ^ i;"), ["W0601"]);
    assert_eq!(codes("u4 least = min(x, 15); packet.egress = least ^ i;"), [""; 0]);
}

#[test]
fn functions_of_the_program_hide_those_of_the_language() {
    let with = |call: &str| {
        codes(&format!(
            "u16 min(u16 a) {{ return a + 1; }}\n{}",
            step(&format!("packet.egress = {call};"))
        ))
    };
    assert_eq!(with("min(packet.length)"), [""; 0]);
    assert_eq!(with("min(packet.length, 2)"), ["E0519"]);
    assert_eq!(with("max(packet.length)"), ["E0519"]);
    assert_eq!(with("mix(packet.length, 2)"), ["E0205"]);
}

use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline::optimise;
use wireloom_ir::Program;

use super::*;

/// A program of the repository, in regions.
fn program(name: &str) -> Program {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join("programs").join(name);
    let checked = wireloom_lang::check(&path, &wireloom_lang::Options::default());
    regions(wireloom_compile::lower(&checked.program.expect("a program without errors")))
}

fn regions(mut program: Program) -> Program {
    optimise(&mut program, &PassOptions::hardware(HeaderPorts::new(3, 2)));
    program
}

/// A program in step IR.
fn parsed(text: &str) -> Program {
    wireloom_ir::parse(text).expect("step IR")
}

/// Builds the only engine.
fn built(text: &str) -> Result<Core, Refusal> {
    let program = parsed(text);
    build(&program, program.main, &Options::default())
}

#[test]
fn a_small_engine_needs_few_ports_and_no_stages() {
    let text = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests/small.ir"));
    let module = built(text).expect("the machine can do that");
    assert_eq!((module.read_ports, module.write_ports, module.core_stages), (1, 1, 0));
}

#[test]
fn what_the_machine_lacks_is_said_with_its_place() {
    let refusal = |body: &str| {
        let text = format!(
            "loom_ir 1 file \"a.loom\" engine e {{ offload bytes : payload value u8 offload find : match value u8 offload held : stream key u8 value u8 {{ age = 64'0x0, bytes = 32'0x8, nocase = 32'0x0, size = 32'0x4 }} step s @a.loom:3 {{ {body} }} }} main e"
        );
        built(&text).expect_err("the machine cannot do that").to_string()
    };
    let start = "a.loom:4: step `s` of `e`: ";
    let insert = refusal(
        "request {} edit { %0:u16 = const 4 packet.insert %0, %0 @a.loom:4 } jump { done }",
    );
    assert!(insert.starts_with(start) && insert.contains("at their front only"), "{insert}");
    let keep =
        refusal("request { %0:u8 = const 4 call held.close(%0) @a.loom:4 } edit {} jump { done }");
    assert!(
        keep.starts_with(start) && keep.contains("`stream` keeps the bytes of many packets"),
        "{keep}"
    );
    let search = "request { %0:u16 = const 4 %1:u25 = call find.scan(%0, %0) }";
    let write = "edit { %2:u16 = const 0 %3:u8 = const 1 packet.write %2 + 0, %3 }";
    let changed = refusal(&format!("{search} {write} jump {{ next s }}"));
    assert!(changed.contains("the packet has been changed before it is searched"), "{changed}");
    let append =
        "request { %0:u8 = const 4 %1:u16 = const 1 %2:u1 = call bytes.append(%0, %1) } edit {}";
    let endless = refusal(&format!("{append} jump {{ next s }}"));
    assert!(endless.contains("appended in a loop"), "{endless}");
    let late = refusal(
        "request {} edit { %0:u16 = const 4 %1:u16 = packet.read %0 + 0 @a.loom:4
         %2:u8 = packet.read %1 + 0 @a.loom:4 packet.write %0 + 0, %2 } jump { done }",
    );
    assert!(late.contains("when a step begins"), "{late}");
}

#[test]
fn threads_wait_for_their_copies_if_they_change_bodies_after_them() {
    let holds = |first: &str, second: &str| {
        let write = "request { %0:u8 = const 4 %1:u16 = const 1 %2:u1 = call bytes.write(%1, %0, %1) } edit {}";
        let text = format!(
            "loom_ir 1 file \"a.loom\" engine e {{ offload bytes : payload value u8 step a {{ {first} }} step b {{ {write} jump {{ {second} }} }} }} main e"
        );
        built(&text).expect("it compiles").bodies.after_copies
    };
    let copies = "request {} edit {} jump { emit b }";
    let goes_on = "request {} edit {} jump { next b }";
    assert!(holds(copies, "finish"));
    assert!(holds(goes_on, "emit b"));
    assert!(!holds(goes_on, "emit c } } step c { request {} edit {} jump { finish"));
}

/// Returns the program of an engine whose step looks up a value and then runs these statements.
fn after_a_lookup(code: &str) -> Program {
    let text = format!(
        "header H {{ u8 a; u8 b; }};
         enum R : u8 {{ NO }};
         engine e() {{
             offload pairs : exact<u8, u8, size = 16>;
             offload seen : exact<u8, u8, size = 64>;
             offload first : array<u8, size = 64>;
             H h @ 0;
             step s {{
                 auto p = pairs.lookup(h.a);
                 if (!p.found) finish;
                 {code}
                 finish;
             }}
         }}"
    );
    let checked = wireloom_lang::check_source("e.loom", &text, &wireloom_lang::Options::default());
    regions(wireloom_compile::lower(&checked.program.expect("a program without errors")))
}

#[test]
fn calls_on_different_branches_share_a_step() {
    for code in [
        // Calls of different methods.
        "if (p.value == 0) { seen.insert(h.b, 1); finish; }
         if (!seen.lookup(h.b).found) drop(NO);",
        // Calls of one method, with nested branches.
        "if (p.value < 9) {
             if (h.b == 1) { first.write(h.a, 1); finish; }
             h.b = first.read(h.b);
             finish;
         }
         if (p.value < 20) first.write(h.b, p.value);
         else if (p.value < 30) h.a = first.fetch_add(h.b, 1);
         else if (first.read(p.value) == 3) drop(NO);",
    ] {
        let program = after_a_lookup(code);
        let core = build(&program, program.main, &Options::default());
        assert!(core.is_ok(), "{code}\n{}\n{}", core.unwrap_err(), wireloom_ir::print(&program));
        let name = |step: &wireloom_ir::Step| step.name.clone();
        let steps: Vec<_> = program.engines[0].steps.iter().map(name).collect();
        assert!(steps.len() <= 3, "{code}\n{steps:?}");
    }
}

#[test]
fn the_routers_fit_their_ports() {
    for name in ["ipv4", "ipv6", "mpls", "router", "figure2"] {
        let program = program(&format!("{name}.loom"));
        let module = build(&program, program.main, &Options::default())
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(module.read_ports <= 3 && module.write_ports <= 2, "{name}");
        assert!(module.depth.0 <= Options::default().levels, "{name}: {:?}", module.depth);
        assert_eq!(
            module,
            build(&program, program.main, &Options::default()).expect("as before"),
            "{name}"
        );
    }
}

use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline::optimise;
use wireloom_lang::check_source;

use super::*;

fn compiled(source: &str) -> Program {
    let checked = check_source("small.loom", source, &Default::default());
    let mut program = wireloom_compile::lower(&checked.program.expect("a program without errors"));
    optimise(&mut program, &PassOptions::default());
    program
}

const SMALL: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests/small.loom"));

#[test]
fn functions_and_maps_are_those_of_the_text() {
    let written = generate(&compiled(SMALL)).expect("it has a place");
    let names: Vec<&str> = written.functions.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["small_look", "small_send", "small_pass"]);
    assert!(names.iter().all(|name| written.text.contains(&format!("uint64_t {name}("))));
    let maps: Vec<_> = written.maps.iter().map(|map| (map.symbol.as_str(), map.content)).collect();
    let keys = Content::Keys { count: 16, key: 1, words: 1 };
    assert_eq!(
        maps,
        [
            ("wl_map_of_routes", Content::Prefixes { stride: 1, part_bits: 21 }),
            ("wl_map_of_flows", keys)
        ]
    );
}

#[test]
fn only_jumps_back_make_a_loop() {
    let text = |source: &str| generate(&compiled(source)).expect("it has a place").text;
    assert!(!text(SMALL).contains("WL_JUMPS_BACK"));
    let loops = "\
        engine loops() {\n\
            u8 turns;\n\
            step first { next again; }\n\
            step again { turns = turns + 1; if (turns < 9) next again; finish; }\n\
        }\n";
    assert!(text(loops).contains("WL_JUMPS_BACK"));
}

#[test]
fn what_is_not_supported_is_named() {
    let refused = |body: &str| {
        let source =
            format!("enum R : u8 {{ A }};\nengine e() {{\n{body}\nstep last {{ drop(A); }} }}\n");
        let refused = generate(&compiled(&source)).expect_err(body);
        assert_eq!(refused.len(), 1, "{refused:?}");
        refused[0].clone()
    };
    let copies = refused("step s { emit(last); }");
    assert_eq!((copies.step.as_deref(), copies.offload), (Some("s"), None));
    assert!(copies.message.contains("an XDP program cannot copy frames"), "{}", copies.message);
    let parks =
        refused("offload p : park<u8, size = 9, age = 9>; step s { p.keep(1); next last; }");
    assert_eq!(parks.offload.as_deref(), Some("p"));
    let wide = "offload a : array<u128, size = 4>; step s { u128 x = a.read(0); a.write(1, x * x); next last; }";
    assert!(refused(wide).message.contains("multiplies values of 128 bits"));
}

#[test]
fn calls_without_a_place_are_refused_in_the_words_of_their_kind() {
    let why = |offload: &str, call: &str| {
        let source = format!(
            "enum R : u8 {{ A }};\nstruct V {{ u64 a; u32 b; }};\nengine e() {{\nu64 x;\n\
             offload o : {offload};\nstep s {{ {call} next last; }}\n\
             step last {{ if (x > 1) drop(A); finish; }} }}\n"
        );
        let refused = generate(&compiled(&source)).expect_err(call);
        let (place, why) = refused[0].message.split_once(": ").expect("a place and a reason");
        assert_eq!(place, "engine `e`, step `s`, offload `o`");
        why.to_owned()
    };
    let other =
        |called: &str| format!("`{called}` is not supported in the kernel: use --on native");
    assert_eq!(
        why("meter<size = 4, cir = 1, cbs = 1, ebs = 1>", "x = o.color(0, 9);"),
        other("meter")
    );
    assert_eq!(why("payload<u64>", "x = o.read(0);"), other("payload.read"));
    assert_eq!(why("hash<u64>", "x = o.hash48(x);"), "`hash` is not supported in the kernel");
    assert_eq!(
        why("lpm<u256, u64>", "u256 key = x; x = o.search(key);"),
        "prefixes of 256 bits: tables in the kernel have keys of at most 128"
    );
    let crossing = "a field of 64 bits crosses a word of 64: additions in the kernel are to fields within a \
         word";
    assert_eq!(why("array<V, size = 4>", "o.add(0, { .a = x, .b = 1 });"), crossing);
    let accumulate = "x = o.accumulate(x, { .a = x, .b = 1 }).value.a;";
    assert_eq!(why("exact<u64, V, size = 4>", accumulate), crossing);
}

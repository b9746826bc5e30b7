//! Texts that are rejected, and their messages.

use proptest::prelude::*;
use wireloom_sidl::read;

/// Returns the first line of the message for a text, and the line of the text that it refers to.
fn refused(text: &str) -> (String, usize) {
    let refused = read("a.sidl", text).expect_err("it is refused");
    let place = refused.faults[0].place.start;
    let line = text[..place].matches('\n').count() + 1;
    assert!(refused.to_string().contains(&format!("a.sidl:{line}:")), "{refused}");
    (refused.faults[0].message.clone(), line)
}

#[track_caller]
fn says(text: &str, message: &str, line: usize) {
    assert_eq!(refused(text), (message.to_owned(), line));
}

#[test]
fn syntax_says_what_was_expected() {
    says("struct A { u8 a; }", "expected `;`, found the end of the file", 1);
    says("struct A {\n u8 a\n};", "expected `;`, found `}`", 3);
    says("interface I { void f(u8 a u8 b); };", "expected `,` or `)`, found `u8`", 1);
    says("service s;", "expected `:` and the interface of the service, found `;`", 1);
    says("u8 a;", "expected `struct`, `interface` or `service`, found `u8`", 1);
    says("struct A { u8 a[x]; };", "expected a number, found `x`", 1);
    says("struct A { u8 a[99999999999999999999]; };", "this number does not fit in 64 bits", 1);
    says("\n/* open", "this comment is not closed", 2);
    says("struct A { u8 a; }; $", "`$` is not expected here", 1);
}

#[test]
fn a_program_has_as_many_services_as_calls_can_name() {
    let services =
        |count: u32| (0..count).map(|k| format!("service s{k} : I;\n")).collect::<String>();
    let text = |count| format!("interface I {{ void f(); }};\n{}", services(count));
    assert!(read("a.sidl", &text(112)).is_ok());
    says(&text(113), "service `s112` is one more than 112", 114);
}

#[test]
fn names_must_be_known_and_unlike() {
    says("interface I { void f(u9 a); };", "there is no type `u9`", 1);
    says("struct A { B b; };\nstruct B { u8 a; };", "there is no type `B`", 1);
    says("service s : I;", "there is no interface `I`", 1);
    says("struct A { u8 a; };\ninterface A { void f(); };", "`A` is declared twice", 2);
    says("struct A { u8 a; u8 a; };", "`a` is declared twice", 1);
    says("interface I { void f(); void f(); };", "`f` is declared twice", 1);
    says("interface I { void f(u8 while); };", "`while` is reserved in the generated code", 1);
    says("interface I { void wl_f(); };", "`wl_f` is reserved in the generated code", 1);
}

#[test]
fn what_no_message_could_bring_is_refused() {
    let oneway = "`f` is one-way, so it has no reply that could return a value";
    says("interface I { oneway u8 f(); };", oneway, 1);
    says("interface I { oneway void f(out u8 a); };", oneway, 1);
    says("struct A { };", "struct `A` has no field", 1);
    says("interface I { };", "interface `I` has no method", 1);
    says("interface I { void f(u8 a[0]); };", "an array cannot have 0 elements", 1);
    says(
        "interface I { void f(u32 a[18]); };",
        "the request of `f` has 18 words of 32 bits; it can have 17",
        1,
    );
    says(
        "interface I { void f(out u64 a[17]); };",
        "the reply of `f` has 34 words of 32 bits; it can have 32",
        1,
    );
    let many: String = (0..17).map(|n| format!("void f{n}();")).collect();
    says(&format!("interface I {{ {many} }};"), "interface `I` has 17 methods", 1);
}

#[test]
fn everything_that_is_wrong_is_told_in_order() {
    let text = "service s : I;\nstruct A { u9 a; };\nstruct A { u8 b; };";
    let refused = read("a.sidl", text).expect_err("three faults");
    let messages: Vec<&str> = refused.faults.iter().map(|fault| fault.message.as_str()).collect();
    assert_eq!(
        messages,
        ["there is no interface `I`", "there is no type `u9`", "`A` is declared twice"]
    );
    assert!(
        refused.to_string().contains("help: declare the interface before its services"),
        "{refused}"
    );
}

#[test]
fn structs_of_structs_cannot_grow_without_bound() {
    let mut text = "struct A0 { u64 a[1024]; };".to_owned();
    for n in 1..20 {
        text += &format!("struct A{n} {{ A{} a[1024]; }};", n - 1);
    }
    text += "interface I { void f(A19 a); };";
    assert!(refused(&text).0.starts_with("struct `A1` has"), "{}", refused(&text).0);
}

/// Fragments from which random texts are assembled.
const PIECES: [&str; 24] = [
    "struct ",
    "interface ",
    "service ",
    "oneway ",
    "in ",
    "out ",
    "{ ",
    "} ",
    "( ",
    ") ",
    "[ ",
    "] ",
    ", ",
    ": ",
    "; ",
    "u8 ",
    "u64 ",
    "bool ",
    "void ",
    "A ",
    "b ",
    "3 ",
    "0x7f ",
    "// ",
];

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: proptest::test_runner::RngSeed::Fixed(7), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_ends_in_a_panic(text in "\\PC{0,80}") {
        let _ = read("a.sidl", &text);
    }

    #[test]
    fn no_row_of_tokens_ends_in_a_panic(pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60)) {
        let _ = read("a.sidl", &pieces.concat());
    }
}

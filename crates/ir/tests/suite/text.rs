//! Tests that the textual form round-trips, and that no text makes the parser panic.

use crate::support;

use proptest::prelude::*;
use wireloom_ir::{Program, parse, print, verify};

const EXAMPLE: &str = include_str!("../example.ir");

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printed_programs_read_back_as_they_were(program in support::programs()) {
        prop_assert_eq!(verify(&program), Ok(()));
        let text = print(&program);
        match parse(&text) {
            Ok(back) => prop_assert_eq!(&back, &program, "{}", text),
            Err(error) => prop_assert!(false, "{error}\n{text}"),
        }
    }

    #[test]
    fn damaged_texts_are_refused_or_read_but_never_panic(
        program in support::programs(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..6, "[ -~]{0,3}"), 1..6),
    ) {
        let mut text: Vec<char> = print(&program).chars().collect();
        for (at, remove, insert) in cuts {
            let at = at.index(text.len() + 1);
            let end = (at + remove).min(text.len());
            text.splice(at..end, insert.chars());
        }
        let text: String = text.into_iter().collect();
        // A text that parses need not verify, but both functions must terminate.
        if let Ok(program) = parse(&text) {
            let _ = verify(&program);
            print(&program);
        }
    }

    #[test]
    fn arbitrary_texts_never_panic(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }
}

fn example() -> Program {
    parse(EXAMPLE).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn the_example_of_the_documentation_verifies_and_prints_as_it_is() {
    let program = example();
    assert_eq!(verify(&program), Ok(()));
    assert_eq!(print(&program), EXAMPLE);
    let page = include_str!("../../../../docs/ir.md");
    assert!(page.contains(EXAMPLE), "docs/ir.md shows tests/example.ir");
}

#[test]
fn errors_say_where() {
    let cases = [
        ("", 1, 1, "expected `loom_ir`, found the end of the text"),
        ("loom_ir 2", 1, 9, "only version 1"),
        (
            "loom_ir 1\nengine e {\n  step s {\n    fnish\n  }\n}\nmain e\n",
            4,
            5,
            "no operation `fnish`",
        ),
        (
            "loom_ir 1\nengine e {\n  step s {\n    next t\n  }\n}\nmain e\n",
            4,
            10,
            "one step named `t`",
        ),
        (
            "loom_ir 1\nengine e {\n  step s {\n    %1:u8 = const 5\n    finish\n  }\n}\nmain e\n",
            6,
            3,
            "value %0",
        ),
        (
            "loom_ir 1\nengine e {\n  step s {\n    %0:u8 = const 256\n  }\n}\nmain e\n",
            4,
            19,
            "does not fit in 8 bits",
        ),
        (
            "loom_ir 1\nengine e {\n  offload o : clock\n  step s {\n    call o.then()\n  }\n}\nmain e",
            5,
            10,
            "no method `then`",
        ),
        ("loom_ir 1\nmain f", 2, 6, "one engine is named `f`"),
        ("loom_ir 1 file \"x", 1, 16, "the string is not closed"),
        ("loom_ir 1 ~", 1, 11, "unexpected character '~'"),
    ];
    for (text, line, column, message) in cases {
        let error = parse(text).expect_err(text);
        assert_eq!((error.line, error.column), (line, column), "{text}\n{error}");
        assert!(error.message.contains(message), "{text}\n{error}");
    }
}

#[test]
fn deep_nesting_is_refused_not_a_stack_overflow() {
    let mut text = String::from("loom_ir 1\nengine e {\n  step s {\n    %0:u1 = const 1\n");
    text.push_str(&"if %0 {\n".repeat(100_000));
    let error = parse(&text).expect_err("too deep");
    assert!(error.message.contains("nest deeper"), "{error}");
}

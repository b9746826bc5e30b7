//! Tests that no input, however malformed, makes the compiler panic or run forever.
//!
//! The seed is fixed. `WIRELOOM_FUZZ_CASES` sets the number of inputs of each test (default 300).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use wireloom_lang::{Options, check_source, render};
use wireloom_testkit::filetest;

/// The time limit for one input. It is far more than any input of this size needs, even on a busy
/// machine without optimisation.
const PATIENCE: Duration = Duration::from_secs(20);

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")
}

/// Returns text and include folder of the repository's engines and of the cases of the diagnostics
/// tests.
fn samples() -> Vec<(String, PathBuf)> {
    let diagnostics = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics");
    let mut paths: Vec<(PathBuf, PathBuf)> = Vec::new();
    for (folder, includes) in [
        (programs(), programs()),
        (programs().join("parts"), programs()),
        (programs().join("include"), programs().join("include")),
        (diagnostics.clone(), diagnostics.join("include")),
    ] {
        for entry in std::fs::read_dir(&folder).expect("a folder of samples") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|e| e == "loom") {
                paths.push((path, includes.clone()));
            }
        }
    }
    paths.sort();
    let input = |path| {
        let text = std::fs::read_to_string(path).expect("a sample is text");
        filetest::input(&text).to_owned()
    };
    paths.into_iter().map(|(path, includes)| (input(path), includes)).collect()
}

/// Checks a text, and everything that must hold for the result.
fn survives(text: &str, includes: &Path) -> Result<(), TestCaseError> {
    let options = Options { include_dirs: vec![includes.to_owned()], ..Options::default() };
    let begun = Instant::now();
    let checked = check_source("fuzz.loom", text, &options);
    let refused = checked.diagnostics.iter().any(|d| d.code.starts_with('E'));
    prop_assert_eq!(checked.program.is_none(), refused, "a program there is iff there is no error");
    let shown = render(&checked.diagnostics, &checked.sources, false);
    prop_assert_eq!(shown.is_empty(), checked.diagnostics.is_empty());
    prop_assert!(begun.elapsed() < PATIENCE, "took {:?}", begun.elapsed());
    Ok(())
}

/// Runs a property with a fixed seed.
fn hold<S: Strategy>(strategy: &S, property: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let cases =
        std::env::var("WIRELOOM_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let config =
        Config { cases, failure_persistence: None, max_shrink_iters: 2000, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, b"wireloom: no input may panic us.");
    if let Err(failure) = TestRunner::new_with_rng(config, rng).run(strategy, property) {
        panic!("{failure}");
    }
}

/// Splits a text into the pieces that mutations move: words, numbers, single characters and spaces.
fn pieces(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let alike = |c: char| match first {
            c0 if c0.is_alphanumeric() || c0 == '_' => c.is_alphanumeric() || c == '_',
            c0 if c0.is_whitespace() => c.is_whitespace(),
            _ => false,
        };
        let end = first.len_utf8()
            + rest[first.len_utf8()..]
                .find(|c| !alike(c))
                .unwrap_or_else(|| rest[first.len_utf8()..].len());
        let (piece, behind) = rest.split_at(end);
        out.push(piece);
        rest = behind;
    }
    out
}

#[derive(Clone, Debug)]
enum Mutation {
    Delete,
    Duplicate,
    SwapWith(prop::sample::Index),
    ReplaceBy(prop::sample::Index),
    Truncate,
    Noise(char),
}

fn mutation() -> impl Strategy<Value = (prop::sample::Index, Mutation)> {
    let kind = prop_oneof![
        4 => Just(Mutation::Delete),
        3 => Just(Mutation::Duplicate),
        3 => any::<prop::sample::Index>().prop_map(Mutation::SwapWith),
        4 => any::<prop::sample::Index>().prop_map(Mutation::ReplaceBy),
        1 => Just(Mutation::Truncate),
        2 => any::<char>().prop_map(Mutation::Noise),
    ];
    (any::<prop::sample::Index>(), kind)
}

#[test]
fn mutated_programs_are_refused_or_compiled() {
    let samples = samples();
    let strategy = (any::<prop::sample::Index>(), prop::collection::vec(mutation(), 1..12));
    hold(&strategy, |(sample, mutations)| {
        let (text, includes) = sample.get(&samples);
        let mut pieces: Vec<String> = pieces(text).into_iter().map(str::to_owned).collect();
        for (at, mutation) in mutations {
            if pieces.is_empty() {
                break;
            }
            let at = at.index(pieces.len());
            match mutation {
                Mutation::Delete => {
                    pieces.remove(at);
                }
                Mutation::Duplicate => pieces.insert(at, pieces[at].clone()),
                Mutation::SwapWith(other) => {
                    let other = other.index(pieces.len());
                    pieces.swap(at, other);
                }
                Mutation::ReplaceBy(other) => {
                    pieces[at] = pieces[other.index(pieces.len())].clone()
                }
                Mutation::Truncate => pieces.truncate(at),
                Mutation::Noise(c) => pieces.insert(at, c.to_string()),
            }
        }
        survives(&pieces.concat(), includes)
    });
}

#[test]
fn noise_between_bytes_is_survived() {
    let samples = samples();
    let strategy = (
        any::<prop::sample::Index>(),
        prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    );
    hold(&strategy, |(sample, noise)| {
        let (text, includes) = sample.get(&samples);
        let mut bytes = text.clone().into_bytes();
        for (at, byte) in noise {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        survives(&String::from_utf8_lossy(&bytes), includes)
    });
}

/// Words and characters of the language, and some that are not part of it.
const WORDS: &[&str] = &[
    "engine",
    "step",
    "offload",
    "header",
    "struct",
    "enum",
    "const",
    "if",
    "else",
    "switch",
    "case",
    "default",
    "for",
    "break",
    "continue",
    "return",
    "void",
    "bool",
    "auto",
    "true",
    "false",
    "sizeof",
    "bitsof",
    "concat",
    "static_assert",
    "next",
    "finish",
    "emit",
    "drop",
    "to_cpu",
    "done",
    "Next_step",
    "packet",
    "u8",
    "u16",
    "u32",
    "u1024",
    "u0",
    "u99999999999",
    "a",
    "b",
    "c",
    "e",
    "x",
    "lpm",
    "exact",
    "array",
    "engine e()",
    "step s {",
    "engine e(u8 x) -> u8 {",
    "u8 f(u8 x) {",
    "packet.egress",
    "packet.push",
    "offload o : lpm<u32, u16>;",
    "o.search(",
    "0",
    "1",
    "255",
    "0xffff",
    "1_000",
    "99999999999999999999999999",
    "'a'",
    "\"text\"",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ";",
    ";",
    ";",
    ",",
    ".",
    ":",
    "?",
    "@",
    "->",
    "++",
    "--",
    "+=",
    "<<=",
    "=",
    "==",
    "!=",
    "<",
    ">",
    "<<",
    ">>",
    "+",
    "-",
    "*",
    "/",
    "%",
    "&",
    "|",
    "^",
    "&&",
    "||",
    "!",
    "~",
    "#include \"a.loom\"\n",
    "#pragma once\n",
    "/*",
    "*/",
    "//",
    "\n",
    "int",
    "while",
    "$",
    "é",
];

#[test]
fn random_words_are_survived() {
    let strategy = prop::collection::vec(prop::sample::select(WORDS), 0..200);
    hold(&strategy, |words| survives(&words.join(" "), &programs()));
}

#[test]
fn deep_and_long_inputs_are_survived() {
    let nest = |open: &str, inner: &str, close: &str| {
        format!("const u8 A = {}{inner}{};", open.repeat(50_000), close.repeat(50_000))
    };
    let in_step = |body: String| format!("engine e() {{ step s {{ {body} }} }}");
    let inputs = [
        nest("(", "1", ")"),
        nest("-", "1", ""),
        nest("{", "1", "}"),
        nest("1 + ", "1", ""),
        nest("(u8)", "1", ""),
        nest("1 ? 1 : ", "1", ""),
        nest("a[", "1", "]"),
        nest("a.", "b", ""),
        nest("f(", "1", ")"),
        nest("sizeof(", "u8", ")"),
        in_step("{".repeat(50_000)),
        in_step(format!("{}x", "if (1) ".repeat(50_000))),
        in_step(format!("{} x = 1;", "if (1) x = 1; else ".repeat(20_000))),
        in_step(format!("u8 x; {}", "for (u8 i = 0; i < 2; i++) ".repeat(50_000))),
        in_step("switch (1) { case 1: ".repeat(20_000)),
        "engine e() { ".repeat(50_000),
        format!("const u8 A = u8{}x;", "[1]".repeat(50_000)),
        format!("struct S {{ u8 x{}; }};", "[2]".repeat(5_000)),
        (0..3000).map(|i| format!("struct S{i} {{ S{} x; }};", i + 1)).collect(),
        (0..3000).map(|i| format!("const u8 C{i} = C{} + 1;", i + 1)).collect(),
        (0..3000).map(|i| format!("u8 f{i}(u8 x) {{ return f{}(x); }}", i + 1)).collect(),
        (0..300)
            .map(|i| format!("engine e{i}(u8 x) -> u8 {{ offload o : engine e{}; }}", i + 1))
            .collect(),
        (0..40)
            .map(|i| format!("u8 f{i}(u8 x) {{ return f{0}(x) + f{0}(x); }}", i + 1))
            .collect::<String>()
            + "u8 f40(u8 x) { return x; } engine e() { step s { packet.egress = f0(1); finish; } }",
        "\u{feff}engine e() { step s { finish; } }".to_owned(),
        "/".repeat(100_000),
        "\"".repeat(10_000),
        "'".repeat(10_000),
        "9".repeat(100_000),
        "#".repeat(10_000),
        String::new(),
    ];
    for input in inputs {
        if let Err(failure) = survives(&input, &programs()) {
            panic!("{failure}: {:.80}", input);
        }
    }
}

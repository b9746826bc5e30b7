use std::path::Path;

use super::*;

/// A target that returns the words of the input, one a line, and its options.
fn words(case: &Case) -> Result<String, String> {
    match case.target {
        "words" => Ok(case.input.split(' ').collect::<Vec<_>>().join("\n") + case.options),
        _ => case.unknown(),
    }
}

fn blessed(text: &str) -> (String, Vec<String>) {
    compare(Path::new("a.loom"), text, true, &mut words)
}

fn failures(text: &str) -> Vec<String> {
    compare(Path::new("a.loom"), text, false, &mut words).1
}

/// Returns the only failure of a text.
fn failure(text: &str) -> String {
    let mut failures = failures(text);
    assert_eq!(failures.len(), 1, "{failures:?}");
    failures.remove(0)
}

#[test]
fn equal_sections_pass() {
    let text = "one two\n\n//~ words\n// one\n// two\n\n//~ words  three four\n// one\n// two\n// three four\n";
    assert_eq!(failures(text), [""; 0]);
}

#[test]
fn a_difference_is_reported_with_its_line() {
    let text = "a b c d e f g h\n\n//~ words\n// a\n// b\n// c\n// d\n// e\n// x\n// g\n// h\n";
    let expected = "a.loom:9: the text differs from the section (`-` expected, `+` produced):\n\
        \x20 ...\n    c\n    d\n    e\n  - x\n  + f\n    g\n    h\n";
    assert_eq!(failure(text), expected);
    let longer = failure("a\n\n//~ words\n// a\n//\n// b\n");
    assert!(
        longer.starts_with("a.loom:5: ") && longer.ends_with("\n    a\n  -\n  - b\n"),
        "{longer}"
    );
}

#[test]
fn blessing_writes_what_is_compared() {
    for text in [
        "one two\n\n//~ words\n",
        "one two\n\n//~ words\n// three\n// four",
        "one   two\n// a comment\n\n\n//~ words with options\n\n//~   words\n// one\n",
        "one two \n//~ words\n",
        "//~ words\n",
        "//~ words of no input\n\n\n",
        "one \t two\n\n//~ words\n",
    ] {
        let (blessed, failed) = blessed(text);
        assert_eq!((failed, failures(&blessed)), (vec![], vec![]), "{text:?}: {blessed:?}");
        let end = text.find("//~").expect("a section");
        assert_eq!(blessed[..end], text[..end], "the input is not changed");
        assert_eq!(super::tests::blessed(&blessed).0, blessed, "a second time");
    }
    assert_eq!(
        blessed("a  b\n\n//~  words  1\n// old\n").0,
        "a  b\n\n//~ words 1\n// a\n//\n// b\n// 1\n"
    );
}

#[test]
fn the_empty_line_before_a_section_does_not_belong_to_the_input() {
    for (text, expected) in [
        ("a\n\n//~ t\n", "a\n"),
        ("a\n\n\n//~ t\n", "a\n\n"),
        ("a\n//~ t\n", "a\n"),
        ("a\r\n\r\n//~ t\r\n", "a\r\n"),
        ("\n//~ t\n", "\n"),
        ("//~ t\n", ""),
        ("a //~ t\n", "a //~ t\n"),
    ] {
        assert_eq!(input(text), expected, "{text:?}");
    }
}

#[test]
fn files_with_carriage_returns_keep_them() {
    let text = "one two\r\n\r\n//~ words\r\n// old\r\n";
    let (blessed, failed) = blessed(text);
    assert_eq!(failed, [""; 0]);
    assert_eq!(blessed, "one two\r\n\r\n//~ words\r\n// one\r\n// two\r\n");
    assert_eq!(failures(&blessed), [""; 0]);
}

#[test]
fn files_that_are_no_tests_are_refused_with_the_line() {
    for (text, expected) in [
        ("", "a.loom:1: the file has no section: end it with a line `//~ TARGET`"),
        ("a\nb\n", "a.loom:2: the file has no section: end it with a line `//~ TARGET`"),
        ("a\n//~ \n", "a.loom:2: a section begins with `//~ TARGET`"),
        ("a\n//~ words\nb\n", "a.loom:3: a line of a section is `// TEXT`, or `//` if it is empty"),
        (
            "a\n//~ words\n// a\n\n\n// b\n",
            "a.loom:4: the section ends here: write an empty line of its text as `//`",
        ),
        (
            "a\n//~ words\n// a\n\n//~ letters all\n",
            "a.loom:5: the test has no target `letters all`",
        ),
    ] {
        assert_eq!(failure(text), expected);
        let (blessed, failed) = blessed(text);
        assert_eq!((blessed.as_str(), failed.len()), (text, 1), "nothing is written");
    }
}

#[test]
fn long_sections_are_refused() {
    let text = |words: usize| vec!["a"; words].join(" ") + "\n\n//~ words\n// a\n";
    assert_eq!(failures(&blessed(&text(MOST_LINES)).0), [""; 0]);
    let (_, failed) = blessed(&text(MOST_LINES + 1));
    assert_eq!(failed, ["a.loom:3: a section has at most 300 lines, not 301"]);
}

//! Numbers of the documentation: `wireloom bench --write-docs`.

use crate::workplace::Workplace;

const STORED: &str = r#"{
  "command": "wireloom bench check", "built": "router", "class": "host", "cost": "dear",
  "measured": {"date": "2026-11-20", "commit": "abc"}, "values": {"median": 4.724, "share": 0.5}
}"#;

/// Creates a checkout whose README has this text.
fn checkout(readme: &str) -> Workplace {
    let place = Workplace::new();
    std::fs::create_dir_all(place.path("docs/figures")).expect("a folder");
    place.write("docs/figures/check.json", STORED.as_bytes());
    place.write("README.md", readme.as_bytes());
    place
}

#[test]
fn pages_are_written_from_what_is_kept_without_measuring() {
    let place = checkout("It takes 9.99<!-- check median --> ms, 1<!-- check share x100 --> %.\n");
    place.wireloom("bench --write-docs").status(0).says(&["README.md has new numbers"]);
    let readme = String::from_utf8(place.read("README.md")).expect("text");
    assert_eq!(readme, "It takes 4.72<!-- check median --> ms, 50<!-- check share x100 --> %.\n");
    let again = place.wireloom("bench --write-docs");
    again.status(0);
    assert_eq!(again.out, "", "no page changes twice");
}

#[test]
fn a_number_that_is_not_kept_is_refused_with_its_line() {
    let place = checkout("One.\nIt takes 9.99<!-- check medium --> ms.\n");
    let complaints = ["README.md: line 2: check: there is no value 'medium'"];
    place.wireloom("bench --write-docs").status(2).complains(&complaints);
    place.wireloom("bench --write-docs --on np-2-2-4 np-area").status(2).complains(&["--on"]);
    place.wireloom("bench").status(2).complains(&["<NAME>"]);
}

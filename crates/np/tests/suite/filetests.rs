//! Compares the sections of a README that explain how to integrate a processor, for designs with
//! different lanes, ports, memories and registers. `NAME.toml` describes the machine of `NAME.loom`.

use std::path::Path;

use wireloom_testkit::filetest;

use crate::folder::folder;

/// The option of a section is a heading of the README.
#[test]
fn a_readme_explains_how_to_integrate_the_processor() {
    filetest::check(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests"), |case| {
        if case.target != "readme" {
            return case.unknown();
        }
        let machine = std::fs::read_to_string(case.path.with_extension("toml"));
        let files = folder(&machine.expect("a description"), "demo.loom", case.input);
        let (_, readme) = files.into_iter().find(|(name, _)| name == "README.md").expect("a page");
        let heading = format!("\n## {}\n", case.options);
        let Some((_, rest)) = readme.split_once(&heading) else { return case.unknown() };
        let section = rest.split("\n## ").next().expect("the text up to the next heading");
        Ok(section.trim_start().to_owned())
    });
}

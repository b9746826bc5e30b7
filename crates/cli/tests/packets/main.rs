//! The packet tests of the programs, `programs/tests/*.packets`: each file on golden, before and after optimisation, and on
//! native.

mod file;
mod machine;
mod notation;

use std::path::{Path, PathBuf};

use file::TestFile;
use machine::Machine;

/// Each file is a test, so that they run side by side and fail by name.
macro_rules! files {
    ($($name:ident)*) => {
        $(#[test] fn $name() { run(stringify!($name)); })*

        #[test]
        fn every_file_is_run() {
            let mut there: Vec<String> = std::fs::read_dir(directory())
                .expect("programs/tests")
                .filter_map(|entry| {
                    let name = entry.expect("an entry of programs/tests").file_name();
                    Some(name.to_str()?.strip_suffix(".packets")?.to_owned())
                })
                .collect();
            there.sort();
            assert_eq!(there, [$(stringify!($name)),*]);
        }
    };
}

files! { figure2 flowcount ipv4 ipv6 md4 mpls nat nat_full nat_pool router unchecked_source url }

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/tests")
}

fn run(name: &str) {
    let path = directory().join(format!("{name}.packets"));
    let tests = TestFile::read(&path).unwrap_or_else(|problem| panic!("{problem}"));
    let mut failures = Vec::new();
    for mut machine in Machine::all(&tests) {
        for action in &tests.actions {
            if let Err(difference) = machine.act(&action.kind) {
                let (line, test, on) = (action.line, &action.test, machine.name);
                failures.push(format!("{name}.packets:{line}: {test}: on {on}:\n{difference}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures.join("\n\n"));
}

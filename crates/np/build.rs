//! Lists the templates of `hardware/`, so that they are part of the library.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let hardware =
        Path::new(&env::var("CARGO_MANIFEST_DIR").expect("set by cargo")).join("../../hardware");
    let mut files = Vec::new();
    for folder in ["", "engine", "flow", "memory", "np", "rig"] {
        let folder = hardware.join(folder);
        println!("cargo:rerun-if-changed={}", folder.display());
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        files.extend(
            entries
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|e| e == "sv")),
        );
    }
    files.sort();
    let mut list = String::from(
        "/// Name and text of each template.\npub const TEMPLATES: &[(&str, &str)] = &[\n",
    );
    for path in files {
        println!("cargo:rerun-if-changed={}", path.display());
        let name = path.file_stem().expect("it has an ending").to_string_lossy();
        let _ = writeln!(
            list,
            "    ({name:?}, include_str!({:?})),",
            path.canonicalize().expect("it was listed")
        );
    }
    list.push_str("];\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo")).join("templates.rs");
    fs::write(out, list).expect("the build folder can be written");
}

//! Lists the files of the repository that become part of the command.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Folders, and the extension of the embedded files in them and their subfolders.
const FOLDERS: [(&str, &str); 3] = [("machines", "toml"), ("programs", "loom"), ("scripts", "sh")];
/// Single files.
const FILES: [&str; 1] = ["hardware/requirements.txt"];

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let root = Path::new(&manifest).join("../..").canonicalize().expect("the repository");
    let mut files: Vec<PathBuf> = FILES.iter().map(|name| root.join(name)).collect();
    for (folder, ending) in FOLDERS {
        collect(&root.join(folder), ending, &mut files);
    }
    let mut list = String::from("&[\n");
    let mut named: Vec<(String, PathBuf)> =
        files.into_iter().map(|path| (name(&root, &path), path)).collect();
    named.sort();
    for (name, path) in named {
        println!("cargo:rerun-if-changed={}", path.display());
        let _ = writeln!(list, "    ({name:?}, include_str!({path:?})),");
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo")).join("embedded.rs");
    fs::write(out, list).expect("the build folder can be written");
}

/// Adds the files of a folder and its subfolders.
fn collect(folder: &Path, ending: &str, files: &mut Vec<PathBuf>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).expect("a folder of the repository").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, ending, files);
        } else if path.extension().is_some_and(|e| e == ending) {
            files.push(path);
        }
    }
}

/// Returns the path from the root of the repository, with slashes on every system.
fn name(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).expect("a file of the repository");
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

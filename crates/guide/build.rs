//! Compresses the documentation and the files of examples, which become part of the command.
//! Programs in Loom C are embedded by `wireloom-install`: here they are only listed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Folders whose files, with all subfolders, are embedded.
const FOLDERS: [&str; 2] = ["docs", "programs"];
/// Single files.
const FILES: [&str; 5] = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"];

fn main() {
    let manifest = env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let root = Path::new(&manifest).join("../..").canonicalize().expect("the repository");
    let mut files: Vec<PathBuf> = FILES.iter().map(|name| root.join(name)).collect();
    for folder in FOLDERS {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
        collect(&root.join(folder), &mut files);
    }
    let mut named: Vec<(String, PathBuf)> =
        files.into_iter().map(|path| (name(&root, &path), path)).collect();
    named.retain(|(name, _)| is_listed(name));
    named.sort();
    let out = PathBuf::from(env::var("OUT_DIR").expect("set by cargo"));
    let mut list = String::from("&[\n");
    for (number, (name, path)) in named.iter().enumerate() {
        if name.starts_with("programs/") && name.ends_with(".loom") {
            let _ = writeln!(list, "    ({name:?}, None),");
            continue;
        }
        println!("cargo:rerun-if-changed={}", path.display());
        let bytes = fs::read(path).expect("a file of the repository");
        let packed = out.join(format!("{number}.deflate"));
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&bytes).expect("memory takes it");
        fs::write(&packed, encoder.finish().expect("memory takes it")).expect("a built file");
        let _ = writeln!(list, "    ({name:?}, Some(include_bytes!({packed:?}))),");
    }
    list.push_str("]\n");
    fs::write(out.join("files.rs"), list).expect("a built file");
}

/// Returns whether a file is listed. Figures are not: the pages contain their measurements.
fn is_listed(name: &str) -> bool {
    let is_hidden = name.split('/').any(|part| part.starts_with('.'));
    !is_hidden && !name.starts_with("docs/figures/")
}

/// Adds the files of a folder and its subfolders.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the repository").flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
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

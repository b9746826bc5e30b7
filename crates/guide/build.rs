//! Compresses the documentation and the files of examples, which become part of the command.
//! `wireloom-install` has the programs in Loom C: they are only listed here.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Folders whose files are embedded, with those below them.
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

/// Whether a file is listed. The measurements are in the pages.
fn is_listed(name: &str) -> bool {
    let is_hidden = name.split('/').any(|part| part.starts_with('.'));
    !is_hidden && !name.starts_with("docs/figures/")
}

/// Adds the files of a folder and those below it.
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

/// The path from the root of the repository, with slashes on every system.
fn name(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).expect("a file of the repository");
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

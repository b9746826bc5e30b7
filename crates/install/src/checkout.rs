//! The checkout of this project to which a command belongs, if there is one.

use std::path::{Path, PathBuf};

use crate::owner;

/// Files that identify a checkout.
const MARKS: [&str; 2] = ["crates/cli/Cargo.toml", "hardware/requirements.txt"];

/// Returns the checkout in which the running program was built, or else the checkout that contains
/// the current folder, provided that no other user could have written to it.
pub fn checkout() -> Option<PathBuf> {
    let program = std::env::current_exe().and_then(|path| path.canonicalize()).ok();
    let built_in = program.and_then(|program| enclosing(&program));
    let here = || enclosing(&std::env::current_dir().ok()?).filter(|folder| owner::is_safe(folder));
    built_in.or_else(here)
}

/// Returns the checkout that contains a path.
fn enclosing(path: &Path) -> Option<PathBuf> {
    let is_one = |folder: &&Path| MARKS.iter().all(|mark| folder.join(mark).is_file());
    path.ancestors().find(is_one).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checkout_is_found_from_below_and_nowhere_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let below = folder.path().join("crates/cli/src");
        std::fs::create_dir_all(&below).expect("folders");
        std::fs::create_dir(folder.path().join("hardware")).expect("a folder");
        std::fs::write(folder.path().join(MARKS[0]), "").expect("a file");
        assert_eq!(enclosing(&below), None);
        std::fs::write(folder.path().join(MARKS[1]), "").expect("a file");
        assert_eq!(enclosing(&below).as_deref(), Some(folder.path()));
        assert_eq!(enclosing(Path::new("/")), None);
    }
}

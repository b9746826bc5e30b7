//! Where what was built is kept from one run to the next.

use std::path::{Path, PathBuf};

use crate::tools;

/// The folder of what was built for a kind of machine, such as `np`: `WIRELOOM_CACHE/np` if that is set, else `.cache/np` of the repository that the command
/// was built from, or where that is gone, `wireloom/np` in the user's cache folder.
pub fn folder(kind: &str) -> PathBuf {
    if let Some(folder) = std::env::var_os("WIRELOOM_CACHE") {
        return PathBuf::from(folder).join(kind);
    }
    if tools::repository().join("Cargo.toml").exists() {
        return tools::repository().join(".cache").join(kind);
    }
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let user = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    user.unwrap_or_else(std::env::temp_dir).join("wireloom").join(kind)
}

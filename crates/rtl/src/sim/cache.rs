//! Where translated models are kept from one run to the next.

use std::path::{Path, PathBuf};

use crate::tools;

/// The folder of the models: `WIRELOOM_CACHE` if it is set, else `.cache/np` of the repository that the command was built
/// from, or where that is gone, `wireloom/np` in the user's cache folder.
pub fn folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("WIRELOOM_CACHE") {
        return PathBuf::from(folder).join("np");
    }
    if tools::repository().join("Cargo.toml").exists() {
        return tools::repository().join(".cache/np");
    }
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let user = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    user.unwrap_or_else(std::env::temp_dir).join("wireloom/np")
}

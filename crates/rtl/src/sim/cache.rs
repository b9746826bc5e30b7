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

/// What a model was built from, as a number: FNV-1a of 128 bits over everything that was added, each with its length.
pub struct Key(u128);

impl Key {
    const PRIME: u128 = (1 << 88) + 0x13b;
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;

    /// Of nothing.
    pub fn new() -> Self {
        Self(Self::OFFSET)
    }

    /// Adds something.
    pub fn add(&mut self, bytes: impl AsRef<[u8]>) -> &mut Self {
        let bytes = bytes.as_ref();
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(Self::PRIME);
        }
        self
    }

    /// The number in hexadecimal.
    pub fn text(&self) -> String {
        format!("{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: &[&str]) -> String {
        let mut key = Key::new();
        for part in parts {
            key.add(part);
        }
        key.text()
    }

    #[test]
    fn keys_tell_apart_what_differs_only_in_how_it_is_divided() {
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_ne!(key(&["ab"]), key(&["ab", ""]));
        assert_ne!(key(&["ab"]), key(&["ba"]));
    }
}

//! The sizes and widths in the declaration of an offload.

use wireloom_offloads::{Config, Layout};

/// Returns the number of elements or entries.
pub fn size(config: &Config) -> u64 {
    config.param("size").low_u64()
}

/// Returns the width of keys in bits.
pub fn key_width(config: &Config) -> u32 {
    config.key.as_ref().map_or(0, Layout::width)
}

/// Returns the width of values in bits.
pub fn value_width(config: &Config) -> u32 {
    config.value.as_ref().map_or(0, Layout::width)
}

//! Assembles microcode in a test's text.

use std::path::Path;

use wireloom_isa::microengine::Image;

/// Assembles a program that includes no file.
pub fn assembled(text: &str) -> Image {
    let mut read = |_: &Path| Err("no file".to_owned());
    let options = wireloom_microcode::Options::default();
    wireloom_microcode::assemble("test.uc", text, &options, &mut read)
        .unwrap_or_else(|refused| panic!("{text}{}", refused.render(false)))
}

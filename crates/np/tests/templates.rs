//! Tests that numbers repeated in the templates of `hardware/` match the generator.

use wireloom_codegen::hardware::core::{MAX_LENGTH, ROW_BYTES, WINDOW_BYTES, WINDOW_LOADED};
use wireloom_net::packet::HEADROOM;
use wireloom_np::realisation::RATE_BITS;

const PACKAGE: &str = include_str!("../../../hardware/wl_pkg.sv");
const PREPROCESSOR: &str = include_str!("../../../hardware/np/wl_preprocessor.sv");
const METER: &str = include_str!("../../../hardware/memory/wl_meter.sv");

/// Returns the value of a constant, or the default of a parameter.
fn number(template: &str, name: &str) -> u32 {
    let found = template.split_once(&format!(" {name} = "));
    let (_, rest) = found.unwrap_or_else(|| panic!("there is no `{name}`"));
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("`{name}` is no number"))
}

#[test]
fn numbers_of_the_templates_are_those_of_the_generator() {
    for (template, name, expected) in [
        (PACKAGE, "WindowBytes", WINDOW_BYTES),
        (PACKAGE, "WindowLoaded", WINDOW_LOADED),
        (PACKAGE, "WindowFront", HEADROOM as u32),
        (PACKAGE, "WordBytes", ROW_BYTES),
        (PREPROCESSOR, "MaxBytes", MAX_LENGTH),
        (METER, "RateBits", RATE_BITS),
    ] {
        assert_eq!(number(template, name), expected, "{name}");
    }
}

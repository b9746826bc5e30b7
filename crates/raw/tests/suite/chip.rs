//! The chip compared with closed forms, and properties that hold for all programs.

mod assembler;
mod by_hand;
mod c;
mod cards;
mod dynamic;
mod energy;
mod memory;
mod null;
mod ordered;
mod processor;
mod speed;
mod static_networks;
mod versions;

use wireloom_raw::asm::assemble;
use wireloom_raw::{Chip, Spec};

/// Returns a chip of a size that runs a source.
fn chip(columns: u32, rows: u32, source: &str) -> Chip {
    let spec = Spec { columns, rows, ..Spec::built_in() };
    let program = assemble("test.raw", source).unwrap_or_else(|error| panic!("{}", error.render()));
    Chip::new(&spec, &program).unwrap()
}

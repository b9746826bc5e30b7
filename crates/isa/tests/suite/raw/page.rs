//! docs/machines/raw-instructions.md is generated from the tables. The test compares the page,
//! `make pages` writes it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use wireloom_isa::raw::register::PORTS;
use wireloom_isa::raw::switch::{self, CONTROL};
use wireloom_isa::raw::tile::{SPECIAL, Slot, TABLE};

/// If this variable is set, the test writes the page instead of comparing it.
const WRITE: &str = "WIRELOOM_WRITE_PAGES";

const INTRODUCTION: &str = "\
# Instructions of the tiled processor

This page is written from the tables of `crates/isa/src/raw` by `make pages`. Encoder, decoder,
disassembler, assembler and simulator use the same tables.

## Tile processor
The encodings are those of MIPS32, big-endian, without delay slots; that RAW has them is assumed.
Its manual was not available. The instructions from `mfsr` to `eret` and `wbinv` are assumed
altogether. A branch counts instructions from the next one.

| instruction | word | meaning |
|---|---|---|
";

fn slot(slot: Slot) -> &'static str {
    match slot {
        Slot::Rd | Slot::Clz => "rd",
        Slot::Rs => "rs",
        Slot::Rt => "rt",
        Slot::Amount => "amount",
        Slot::Signed | Slot::Unsigned => "constant",
        Slot::Memory => "constant(rs)",
        Slot::Branch | Slot::Jump => "target",
        Slot::Sr => "special",
    }
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for row in TABLE {
        let operands: Vec<_> = row.slots.iter().map(|operand| slot(*operand)).collect();
        let text = format!("{} {}", row.mnemonic, operands.join(", "));
        let _ = writeln!(
            page,
            "| `{}` | `{:#010x}` of `{:#010x}` | {} |",
            text.trim_end(),
            row.code,
            row.mask(),
            row.meaning
        );
    }
    page.push_str("\n### Network registers\n\nThe names are public, the numbers assumed.\n\n");
    page.push_str("| number | read | written | network |\n|---|---|---|---|\n");
    for (number, input, output, network) in PORTS {
        let _ = writeln!(page, "| {number} | `{input}` | `{output}` | {} |", network.name());
    }
    page.push_str("\n### Special registers\n\nAll are assumed.\n\n");
    page.push_str("| number | name | meaning |\n|---|---|---|\n");
    for (number, (_, name, meaning)) in SPECIAL.iter().enumerate() {
        let _ = writeln!(page, "| {number} | `{name}` | {meaning} |");
    }
    page.push_str(
        "\n## Switch processor\n\nWords of 64 bits: a control operation and a set of routes. \
         The routes happen together, when all\nsources have a word and all destinations have \
         room. The codes are assumed.\n\n| code | operation | meaning |\n|---|---|---|\n",
    );
    for (number, (_, name, slots, meaning)) in CONTROL.iter().enumerate() {
        let slot = |slot: &switch::Slot| match slot {
            switch::Slot::Destination => "destination",
            switch::Slot::Source => "source",
            switch::Slot::Target => "target",
            switch::Slot::Value => "constant",
        };
        let operands: Vec<_> = slots.iter().map(slot).collect();
        let text = format!("{name} {}", operands.join(", "));
        let _ = writeln!(page, "| {number} | `{}` | {meaning} |", text.trim_end());
    }
    page.push_str("\n| port | network 1: source, destination | network 2 |\n|---|---|---|\n");
    for (port, name) in ["north", "east", "south", "west", "tile"].into_iter().enumerate() {
        let (one, two) = (switch::port_names(0, port), switch::port_names(1, port));
        let _ = writeln!(page, "| {name} | `{}`, `{}` | `{}`, `{}` |", one.0, one.1, two.0, two.1);
    }
    let _ = writeln!(page, "| switch | none, `{}` | |", switch::SWITCH);
    page
}

#[test]
fn the_page_is_that_of_the_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
    let path = root.join("docs/machines/raw-instructions.md");
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, page()).expect("the page is written");
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == page(), "run `make pages`");
}

//! docs/machines/ixp-instructions.md is generated from the tables.
//!
//! The test compares the page, `make pages` writes it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use wireloom_isa::microengine::Version;
use wireloom_isa::microengine::csr::{self, Csr};
use wireloom_isa::microengine::table::{Field, Known, OPERATIONS, Parsed};

/// If this variable is set, the test writes the page instead of comparing it.
const WRITE: &str = "WIRELOOM_WRITE_PAGES";

const INTRODUCTION: &str = "\
# Instructions of the microengines

This page is written from the tables of `crates/isa/src/microengine` by `make pages`. The assembler,
the disassembler and the simulator use the same tables.

The IXP2800 Hardware Reference Manual (public) describes the units that instructions of version 2 use:
local memory, CAM, byte alignment, CRC unit, hash unit and rings. Encodings and the full syntax are in a
programmer's manual that is not public, and no manual of the IXP1200 is. The third column shows what
public documents state:

| known | meaning |
|---|---|
| code | name, purpose and operation code; the places of the operands are assumed |
| name | name and purpose; the encoding is assumed |
| assumed | nothing; the instruction is assumed |

In a pattern, digits stand for themselves and `name:width` is a field, from the top of the word; the
rest is 0.

## Rules
- One instruction reads at most one general-purpose register of each bank (public), at most one
  transfer register of each file, and at most one word of local memory (assumed).
- `ld_field` and the `immed_b` and `immed_w` instructions read their destination. It must be a
  general-purpose register, or local memory, and the source must be of the other bank (assumed).
- `alu`, `alu_shf` and `dbl_shf` set N, Z, V and C; shifts and logical operations clear V and C.
  Other instructions leave them (assumed).
- `-` sets C if there is no borrow (assumed).
- `>>indirect` and `<<indirect` take the distance from the low five bits of operand A of the
  instruction before (assumed).
- `ctx_arb` and a command with `ctx_swap` abort one instruction. On version 1, so do `br`, `br=ctx`,
  `br_inp_state` and `br_!signal`; branches on condition codes abort two; branches on registers, `jump`
  and `rtn` abort three. That 1 to 3 are aborted is public, the classes are assumed. `defer[n]` executes
  up to as many.
- On version 2, `br` can defer two instructions, and branches on condition codes and `jump` three
  (public). As many are aborted if fewer are deferred; `br=ctx`, `br_inp_state` and branches on signals
  are taken to be as `br`, those on registers and `rtn` as `jump` (assumed). The assembler knows
  `beq`, `bne`, `bmi`, `bpl`, `bcs`, `bhs`, `bcc`, `blo`, `bvs`, `bvc`, `bge`, `blt`, `bgt` and `ble` as
  other names of branches.
- `byte_align_be` takes the other four bytes from operand B of the instruction before, `byte_align_le`
  from its operand A, whatever instruction that is (public); an operand that it does not have counts
  as 0 (assumed).
- What `crc_be`, `crc_le` and commands on queues of SRAM (`rd_qdesc_head` to `dequeue`) do is public, and their
  names are assumed. The address of a command on a queue has the channel in bits 31 and 30, the entry of the Q_array
  in bits 29 to 24, and an address in words in the others (assumed).
- `crc_be` and `crc_le` name a polynomial: `crc_ccitt`, `crc_32`, `crc_10`, `crc_5` or `crc_iscsi`
  (public). The tokens `bytes_0_2`, `bytes_0_1`, `byte_0`, `bytes_1_3`, `bytes_2_3` and `byte_3` choose
  bytes of the source, and `bit_swap` takes the bits of each byte from the lowest on. The remainder is in
  the low bits of `crc_remainder`, and there at once (assumed).
- `cam_lookup` with the token `lm_addr0[n]` or `lm_addr1[n]` also sets that pointer into local memory to
  16 words of the entry in block n of 256 words, as late as a write to its register (public).
- `ctx_arb[bpt]` stops all contexts of the engine. Nothing starts them again, since there is no processor
  core.
- A context has one signal for each unit on version 1, and 15 signals on version 2. A signal is one
  bit; starting a context that waits for it clears it (assumed).
- Version 1 counts addresses in words (SRAM, scratchpad) or 8 bytes (SDRAM); version 2 counts bytes
  (assumed).
- `local_csr_rd` gives its value to the `immed` after it (assumed).
- `indirect_ref` takes parts of the command from the result of the instruction before; the layout is
  that of `Override` in crates/isa/src/microengine/command.rs (assumed).

";

fn known(known: Known) -> &'static str {
    match known {
        Known::Name => "name",
        Known::Code => "code",
        Known::Nothing => "assumed",
    }
}

fn tokens(row: &Parsed) -> String {
    let mut tokens = Vec::new();
    if row.width(Field::Completion) > 0 {
        tokens.push("`sig_done`, `ctx_swap`".to_owned());
    }
    if row.width(Field::Order) > 0 {
        tokens.push("`optimize_mem`, `ordered`, `priority`".to_owned());
    }
    if row.width(Field::Indirect) > 0 {
        tokens.push("`indirect_ref`".to_owned());
    }
    if row.most_deferred() > 0 {
        tokens.push(format!("`defer[{}]`", row.most_deferred()));
    }
    tokens.join(", ")
}

fn registers(page: &mut String, title: &str, registers: &[Csr]) {
    let _ = writeln!(page, "### {title}\n\n| number | name | meaning |\n|---|---|---|");
    for Csr { number, name, meaning } in registers {
        let _ = writeln!(page, "| {number} | `{name}` | {meaning} |");
    }
    page.push('\n');
}

fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (version, title) in [
        (Version::One, "Version 1: IXP1200, words of 32 bits"),
        (Version::Two, "Version 2: IXP2400 and IXP2800, words of 40 bits"),
    ] {
        let _ = writeln!(page, "## {title}\n");
        page.push_str("| instruction | word | known | tokens | meaning |\n|---|---|---|---|---|\n");
        for row in version.rows() {
            let _ = writeln!(
                page,
                "| `{}` | `{}` | {} | {} | {} |",
                row.row.syntax,
                row.row.pattern,
                known(row.row.known),
                tokens(row),
                row.row.meaning
            );
        }
        page.push('\n');
    }
    page.push_str("## Operations of the ALU\n\n");
    page.push_str(
        "The codes of version 2 are public except those of `+8` and `B-A`; the others are assumed.\n\n",
    );
    page.push_str("| operation | version 1 | version 2 | in `alu_shf` |\n|---|---|---|---|\n");
    let number = |code: Option<u8>| code.map_or_else(String::new, |code| format!("{code:#x}"));
    for (name, _, codes, shifted) in OPERATIONS {
        let [one, two, shifted] = [codes[0], codes[1], shifted].map(number);
        let _ = writeln!(page, "| `{name}` | {one} | {two} | {shifted} |");
    }
    page.push_str("\n## Control and status registers\n\nAll numbers are assumed.\n\n");
    registers(&mut page, "Of an engine, version 1", csr::LOCAL_1);
    registers(&mut page, "Of an engine, version 2", csr::LOCAL_2);
    registers(&mut page, "Of the FBI and the chip", csr::FBI);
    registers(&mut page, "Of the media switch fabric, version 2", csr::MSF);
    format!("{}\n", page.trim_end())
}

#[test]
fn the_page_is_that_of_the_tables() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
    let path = root.join("docs/machines/ixp-instructions.md");
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, page()).expect("the page is written");
    }
    let text = fs::read_to_string(&path).unwrap_or_default();
    assert!(text == page(), "run `make pages`");
}

//! Commands move words only to and from the consecutive transfer registers that begin with the one
//! they name.

use std::path::Path;

use wireloom_isa::microengine::table::{Field, Form, Parsed, Slot};
use wireloom_isa::microengine::{Image, Operation, Unit, Version};
use wireloom_microcode::{Options, Refused, assemble};

fn try_assemble(text: &str) -> Result<Image, Refused> {
    let mut read = |_: &Path| Err("no such file".to_owned());
    assemble("test.uc", text, &Options::default(), &mut read)
}

fn assembled(text: &str) {
    if let Err(refused) = try_assemble(text) {
        panic!("{text}{}", refused.render(false));
    }
}

/// The code, the marked text and the message of the only error.
fn refused(text: &str) -> (&'static str, String, String) {
    let Err(refused) = try_assemble(text) else { panic!("{text}: it is not refused") };
    assert_eq!(refused.diagnostics.len(), 1, "{}", refused.render(false));
    let error = &refused.diagnostics[0];
    let marked = &refused.files[error.place.file].text[error.place.bytes.clone()];
    (error.code, marked.to_owned(), error.message.clone())
}

fn overrun(words: usize, declared: usize, name: &str) -> String {
    let registers = if declared == 1 { "register is" } else { "registers are" };
    format!("the command moves {words} words, and {declared} {registers} declared from `{name}` on")
}

/// A command of a row that moves words from or to transfer register `$t0` or `$$t0` on.
fn command(row: &Parsed, mark: &str, count: usize) -> String {
    let operand = |slot: &Slot| match slot {
        Slot::Word(word) => (*word).to_owned(),
        Slot::Transfer => format!("{mark}t0"),
        Slot::Count => count.to_string(),
        Slot::UnitCsr => "mailbox".to_owned(),
        _ => "0".to_owned(),
    };
    let operands: Vec<String> = row.slots.iter().map(operand).collect();
    format!("{}[{}]\n", row.mnemonic, operands.join(", "))
}

/// The number of words that the row moves for each granule, or in all if it has no count.
fn words_each(unit: Unit, operation: Operation) -> usize {
    match (unit, operation) {
        (_, Operation::Hash { keys, bits: 128 }) => 4 * usize::from(keys),
        (_, Operation::Hash { keys, .. }) => 2 * usize::from(keys),
        (Unit::Sdram, _) | (_, Operation::ReceiveFifoRead | Operation::TransmitFifoWrite) => 2,
        _ => 1,
    }
}

#[test]
fn every_command_stays_within_the_registers_that_are_declared() {
    for version in [Version::One, Version::Two] {
        let share = version.sizes().transfer / version.sizes().contexts;
        let has_registers = |row: &&Parsed| row.slots.contains(&Slot::Transfer);
        for row in version.rows().iter().filter(has_registers) {
            let Form::Command(unit, operation) = row.row.form else { continue };
            let mark = if unit == Unit::Sdram { "$$" } else { "$" };
            let most = if row.width(Field::Count) > 0 { share } else { 1 };
            for count in 1..=most {
                let words = count * words_each(unit, operation);
                let with = |registers: usize| {
                    let names: Vec<String> =
                        (0..registers).map(|n| format!("{mark}t{n}")).collect();
                    let before = if version == Version::One { "" } else { ".version 2\n" };
                    let command = command(row, mark, count);
                    // A consecutive register of another declaration does not count.
                    format!("{before}.reg {}\n.reg {mark}next\n{command}", names.join(" "))
                };
                if words < share {
                    assembled(&with(words));
                }
                for declared in [1, words - 1] {
                    if (1..words).contains(&declared) && declared < share {
                        let error = ("U0308", format!("{mark}t0"));
                        let (code, marked, message) = refused(&with(declared));
                        assert_eq!((code, marked), error);
                        assert_eq!(message, overrun(words, declared, &format!("{mark}t0")));
                    }
                }
            }
        }
    }
}

#[test]
fn declarations_that_follow_each_other_can_be_joined() {
    let text = |order: &str| format!(".reg $a\n.reg $b $c\n{order}sram[read, $a, 0, 0, 3]\n");
    assert_eq!(refused(&text("")).2, overrun(3, 1, "$a"));
    assembled(&text(".xfer_order $a $b $c\n"));
    assert_eq!(refused(&text(".xfer_order $b $c\n")).2, overrun(3, 1, "$a"));
    // A command that names a register in the middle reaches only the later registers.
    assembled(".reg $a $b $c\nsram[read, $b, 0, 0, 2]\n");
    assert_eq!(refused(".reg $a $b $c\nsram[read, $b, 0, 0, 3]\n").2, overrun(3, 2, "$b"));
}

#[test]
fn registers_of_a_scope_that_has_ended_do_not_count() {
    let text = ".reg $a\n.begin\n.reg $b $c\n.end\n.reg $d\nsram[read, $a, 0, 0, 2]\n";
    assert_eq!(refused(text).2, overrun(2, 1, "$a"));
    assert_eq!(
        refused(".begin\n.reg $b $c\n.end\n.reg $d\n.reg $e\nsram[write, $d, 0, 0, 2]\n").2,
        overrun(2, 1, "$d")
    );
}

/// Registers by number are for disassembled programs, whose declarations are unknown. The simulator
/// rejects a command that goes beyond the registers of its context.
#[test]
fn registers_by_number_are_not_declared() {
    assembled("sram[read, $1, 0, 0, 8]\n");
    assembled(".reg $a\nsram[read, $0, 0, 0, 2]\n");
}

#[test]
fn counts_of_indirect_references_that_are_constants_are_known() {
    // Bit 31: bits 30 to 26 hold the count, less 1.
    let text = |count: u32| {
        let word = 1_u32 << 31 | (count - 1) << 26;
        format!(".reg x $a $b\nimmed[x, {word:#x}]\nsram[read, $a, 0, 0, 1], indirect_ref\n")
    };
    assembled(&text(2));
    let (code, marked, message) = refused(&text(3));
    assert_eq!((code, marked.as_str()), ("U0308", "$a"));
    assert_eq!(message, overrun(3, 2, "$a"));
    // The reference also overrides the register, so the declared ones do not matter.
    let other = ".reg x $a\nimmed[x, 0xfe000000]\nsram[read, $a, 0, 0, 1], indirect_ref\n";
    assembled(other);
}

//! Tests of the assembler.

use wireloom_raw::asm::{Program, assemble, assemble_with, listing, read_object, write_object};

const SOURCE: &str = "
# Every form of an operand.
.tile 0 0
start:  li $t0, 0x12345678
        li $csto, -3
        move $cgno, $csti2
        sll $t1, $t0, 4
        lw $t2, -4($sp)
        sw $csti, ($a0)
        mfsr $v0, cycle
        clz $t3, $t0
        bne $t0, $t1, start
        jal end
        jr $ra
        b start
end:    la $t4, last
.switch 0 0
        movei $1, 100
again:  bnezd $1, $1, again route $csto->$cEo, $cWi->$csti, $csto2->$cN2o
        recv $3
        jr $3
        route $cSi->$cNo, $cSi->$csti
        halt
.equ MASK, 0xff00
.data 0x1000
words:  .word 1, -1, MASK, last
        .half -2
        .byte 0x7f
        .align 8
        .space 4
last:   .byte 9";

#[test]
fn data_is_big_endian_with_constants_and_labels() {
    let program = assemble("a.rasm", SOURCE).unwrap_or_else(|error| panic!("{}", error.render()));
    let data: Vec<_> = program.data().collect();
    let words: &[u32] = &[1, u32::MAX, 0xff00, 0x101c, 0xfffe_7f00, 0, 0, 0x0900_0000];
    assert_eq!(data, [(0x1000, words)]);
}

#[test]
fn the_address_of_a_near_label_is_one_word() {
    let words = |text: &str| assemble("a.rasm", text).map(|program| program.of((0, 0)).0.to_vec());
    let near = words(".tile 0 0\n li $t0, near\nnear: la $t1, near\n").unwrap();
    assert_eq!(near.len(), 3);
    // `ori $t0, $zero, 4`
    assert_eq!(near[0], 0x3408_0004);
    // A constant takes precedence over a label with the same name.
    let both = words(".equ both, 7\n.tile 0 0\nboth: li $t0, both\n").unwrap();
    assert_eq!(both, [0x3408_0007]);
    let far = format!(".tile 0 0\n li $t0, far\n{}far: nop\n", " nop\n".repeat(0x4000 - 1));
    let error = words(&far).unwrap_err().render();
    assert!(error.contains("past 65,535 bytes") && error.contains("`la` loads"), "{error}");
}

#[test]
fn an_object_file_is_read_as_the_program_that_was_written() {
    let program = assemble("a.rasm", SOURCE).unwrap();
    assert_eq!(read_object(&write_object(&program)).unwrap(), program);
    for (text, message) in [
        ("wireloom microcode 1\n", "line 1: no object file"),
        ("wireloom raw 1\ntile 0 x\n", "line 2: malformed: tile 0 x"),
        ("wireloom raw 1\ndata 2 0\n", "line 2: malformed"),
        ("wireloom raw 1\nswitch 0 0 zz\n", "line 2: malformed"),
        ("wireloom raw 1\nother\n", "line 2: malformed"),
    ] {
        let error = read_object(text).unwrap_err();
        assert!(error.starts_with(message), "{text}: {error}");
    }
}

#[test]
fn a_section_of_a_range_is_the_program_of_each_tile() {
    let text = ".tile 1-2 0-1\n nop\n.switch 0 0\n halt";
    let program = assemble("a.rasm", text).unwrap();
    let tiles: Vec<_> = program.tiles().filter(|place| !program.of(*place).0.is_empty()).collect();
    assert_eq!(tiles, [(1, 0), (1, 1), (2, 0), (2, 1)]);
}

#[test]
fn a_listing_assembles_to_the_same_words() {
    let program = assemble("a.raw", SOURCE).unwrap_or_else(|error| panic!("{}", error.render()));
    let (tile, switch) = program.of((0, 0));
    assert_eq!((tile.len(), switch.len()), (15, 6));
    let text = listing(&program).unwrap();
    let again =
        assemble("b.raw", &text).unwrap_or_else(|error| panic!("{}\n{text}", error.render()));
    assert_eq!(again, program, "{text}");
}

#[test]
fn a_listing_refuses_words_that_are_no_instructions() {
    let mut program = Program::default();
    program.set_tile((1, 0), vec![0xffff_ffff]);
    let error = listing(&program).unwrap_err();
    assert_eq!(error, "tile (1,0): 0xffffffff is no instruction of the tile processor");
}

#[test]
fn errors_have_a_line_and_a_caret() {
    let text = ".tile 0 0\n  addu $t0, $csto, $t1\n";
    let shown = assemble("a.raw", text).unwrap_err().render();
    assert!(shown.contains("a.raw:2:13"), "{shown}");
    assert!(shown.contains("^^^^^"), "{shown}");
    assert!(shown.starts_with("error: $csto can only be written"), "{shown}");
}

#[test]
fn wrong_sources_are_refused_with_the_reason() {
    for (text, message) in [
        ("nop", "statement outside a section"),
        (".tile 0", "column and row of a tile"),
        (".tile 16 0", "column and row of a tile"),
        (".text", "unknown directive"),
        (".tile 2-1 0", "column and row of a tile"),
        (".tile 0-3 0\n.tile 2 0-1", "begun before"),
        (".data", "a number from 0 to 4294967295"),
        (".data 2", "data begins at a multiple of 4"),
        (".data 0\n nop", "no directive of data"),
        (".data 0\n .byte 1\n .word 2", "address 0x1 is no multiple of 4"),
        (".data 0\n .byte 256", "a number from -128 to 255"),
        (".data 0\n .word", "numbers are needed"),
        (".data 0\n .align 3", "a power of two"),
        (".data 0\n .space 8\n.data 4\n .word 1", "over that of another section"),
        (".data 0xfffffffc\n .space 8", "past the last address"),
        (".data 0\na: .word 1\n.data 4\na: .word 1", "label `a` is declared twice"),
        (".tile 0 0\n la $t0, a\n.tile 1 0\na: nop", "no label `a` here or in `.data`"),
        (".tile 0 0\n .word 1", "there is no instruction `.word`"),
        (".equ A, 1\n.equ A, 2", "constant `A` is declared twice"),
        (".equ A", "a constant is `.equ NAME, NUMBER`"),
        (".tile 0 0\n.tile 0 0", "begun before"),
        (".tile 0 0\na: nop\na: nop", "label `a` is declared twice"),
        (".tile 0 0\n foo", "there is no instruction `foo`"),
        (".tile 0 0\n addu $t0, $t1", "`addu` has 3 operands"),
        (".tile 0 0\n addiu $t0, $t1, 32768", "a number from -32768 to 32767"),
        (".tile 0 0\n addiu $t0, $t1, 1e", "a number from -32768 to 32767"),
        (".tile 0 0\n j nowhere", "there is no label `nowhere`"),
        (".tile 0 0\n lw $t0, 4", "an address is needed"),
        (".tile 0 0\n mfsr $t0, clock", "unknown special register"),
        (".switch 0 0\n foo", "unknown control operation"),
        (".switch 0 0\n move $4, $0", "a register of the switch"),
        (".switch 0 0\n route", "routes are needed"),
        (".switch 0 0\n route $cWi", "malformed route"),
        (".switch 0 0\n route $cWo->$csti", "no source"),
        (".switch 0 0\n route $cWi->$csto", "no destination"),
        (".switch 0 0\n route $cWi->$csti2", "of two networks"),
        (".switch 0 0\n route $cWi->$csti, $cEi->$csti", "a source already"),
        (".switch 0 0\n recv $1 route $csto->$cNo", "`recv` takes"),
        (".switch 0 0\n movei $1, 8192", "a number from 0 to 8191"),
        (".tile 0 0\n äö(", "there is no instruction"),
    ] {
        let error = assemble("a.raw", text).unwrap_err();
        assert_eq!(error.diagnostics.len(), 1, "{text}");
        let found = &error.diagnostics[0].message;
        assert!(found.contains(message), "{text}: {found}");
        assert!(!error.render().is_empty());
    }
}

/// Reads a file of a test by name.
fn file(name: &str) -> Result<String, String> {
    match name {
        "add.rasm" => Ok("{LABEL}: addiu $t0, $t0, {NUMBER} # twice\n".to_owned()),
        "twice.rasm" => {
            let lines = [
                ".include add.rasm LABEL={FIRST} NUMBER=1",
                ".include add.rasm LABEL=second NUMBER=\"-2\"",
            ];
            Ok(lines.join("\n"))
        }
        "wrong.rasm" => Ok("# a comment\n addiu $t0, $t0, {NUMBER}\n".to_owned()),
        "itself.rasm" => Ok(".include itself.rasm\n".to_owned()),
        "secret" | "rasm" => panic!("a file that is no source was read"),
        _ => Err("there is none".to_owned()),
    }
}

#[test]
fn included_files_are_assembled_with_their_parameters() {
    let including = ".tile 0 0\n.include twice.rasm FIRST=first\n b first\n";
    let plain = ".tile 0 0\nfirst: addiu $t0, $t0, 1\nsecond: addiu $t0, $t0, -2\n b first\n";
    let (program, labels) = assemble_with("test.rasm", including, &file).unwrap();
    assert_eq!(program, assemble("test.rasm", plain).unwrap());
    assert_eq!(labels[&((0, 0), "second".to_owned())], 4);
}

#[test]
fn errors_in_included_files_have_their_file_and_line() {
    for (line, message) in [
        (".include wrong.rasm NUMBER=70000", "wrong.rasm:2:18"),
        (".include wrong.rasm NUMBER=70000", "addiu $t0, $t0, 70000"),
        (".include none.rasm", "none.rasm: there is none"),
        (".include none.rasm", "test.rasm:2:2"),
        (".include secret", "`secret` is not named as a source file is"),
        (".include rasm", "`rasm` is not named as a source file is"),
        (".include wrong.rasm", "needs a parameter `NUMBER`"),
        (".include wrong.rasm NUMBER", "malformed parameter"),
        (".include", "the name of a file is needed"),
        (".include itself.rasm", "files inside each other"),
    ] {
        let text = format!(".tile 0 0\n {line}\n break\n");
        let refused = assemble_with("test.rasm", &text, &file).unwrap_err().render();
        assert!(refused.contains(message), "{line}: {refused}");
    }
}
